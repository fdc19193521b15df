// What DMAs cost each other, and what they do not.
#include <gtest/gtest.h>

#include "model/system/machine.h"
#include "model/system/records.h"
#include "tests/system/program_parts.h"

namespace bwmm {
namespace {

using isa::Operand;
using test::Rows;
using test::SbufTile;

struct Outcome {
  RunResult result;
  std::vector<InstructionRecord> records;

  std::uint64_t EndOf(std::uint32_t id) const {
    for (const InstructionRecord& record : records) {
      if (record.id == id)
        return record.end;
    }
    return 0;
  }
};

Outcome RunOnOneCore(const std::string& preset, ops::Hbm& hbm,
                     const std::function<void(isa::Sink&)>& program) {
  MachineConfig machine = LoadMachine(preset);
  machine.cores = 1;
  Records records;
  Outcome run;
  run.result = RunMachine(machine, Fidelity::kTiming, hbm, program, {.observers = {&records}});
  run.records = records.Sorted();
  return run;
}

// Stores of 64 tiles of 128 rows x 512 bytes: tile i goes to rows 128 i of a narrow tensor, or to
// slice i % 8 of the columns of 128 rows of a wide one.
std::uint64_t CyclesOfStores(const std::string& preset, bool slices) {
  ops::Hbm hbm;
  const auto& narrow = hbm.Allocate("narrow", DType::kBf16, {8192, 256}, false);
  const auto& wide = hbm.Allocate("wide", DType::kBf16, {1024, 2048}, false);
  return RunOnOneCore(preset, hbm,
                      [&](isa::Sink& sink) {
                        for (int i = 0; i < 64; ++i) {
                          Operand dst = Rows(narrow, 128 * i, 128);
                          if (slices) {
                            dst = Rows(wide, i / 8 * 128, 128);
                            dst.offset += static_cast<std::uint64_t>(i % 8 * 512);
                            dst.dims[0].size = 256;
                          }
                          sink.Emit(
                              isa::Engine::kSync,
                              isa::DmaCopy{.dst = dst, .src = SbufTile(DType::kBf16, 0, 128, 256)});
                        }
                      })
      .result.cycles;
}

TEST(DmaSharing, SlicesOfColumnsAreAsFastAsRows) {
  for (const std::string preset : {"trn2", "trn3"})
    EXPECT_EQ(CyclesOfStores(preset, true), CyclesOfStores(preset, false)) << preset;
}

// A load of [128, 32 KiB], which takes 8 us and more, and one of [128, 256 B] that the VectorEngine
// triggers behind it.
TEST(DmaSharing, ASmallCopyBehindALongLoadTakesAtMostTwiceItsTime) {
  for (const std::string preset : {"trn2", "trn3"}) {
    ops::Hbm hbm;
    const auto& weights = hbm.Allocate("weights", DType::kBf16, {128, 16384}, false);
    const auto& bias = hbm.Allocate("bias", DType::kBf16, {128, 128}, false);
    const isa::DmaCopy large{.dst = SbufTile(DType::kBf16, 0, 128, 16384),
                             .src = Rows(weights, 0, 128)};
    const isa::DmaCopy small{.dst = SbufTile(DType::kBf16, 65536, 128, 128),
                             .src = Rows(bias, 0, 128)};
    const Outcome alone =
        RunOnOneCore(preset, hbm, [&](isa::Sink& sink) { sink.Emit(isa::Engine::kVector, small); });
    const Outcome behind = RunOnOneCore(preset, hbm, [&](isa::Sink& sink) {
      sink.Emit(isa::Engine::kSync, large);
      sink.Emit(isa::Engine::kVector, small);
    });
    EXPECT_LE(behind.EndOf(1), 2 * alone.EndOf(0)) << preset;
    EXPECT_GT(behind.EndOf(1), alone.EndOf(0)) << preset << ": it waits for its generator";
    EXPECT_GT(behind.EndOf(0), 3 * behind.EndOf(1)) << preset;
  }
}

}  // namespace
}  // namespace bwmm
