// Of several failures at one time, which is reported depends on nothing but core and instruction:
// not on the order in which SystemC runs processes.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "model/support/sim_error.h"
#include "model/system/machine.h"
#include "tests/system/program_parts.h"

namespace bwmm {
namespace {

using isa::Engine;
using test::SbufTile;

// VectorE and GpSimd run at one clock rate on trn3; here they have one latency too.
MachineConfig MachineOfEqualEngines() {
  MachineConfig config = LoadMachine("trn3");
  config.compute.vector_latency_cycles = config.compute.access_cycles;
  return config;
}

std::string ErrorOf(const ops::Program& program, bool reverse) {
  ops::Hbm hbm;
  RunOptions options;
  options.build_in_reverse = reverse;
  try {
    RunMachine(MachineOfEqualEngines(), Fidelity::kFast, hbm, program, options);
  } catch (const SimError& error) {
    return error.what();
  }
  return "no error";
}

void ExpectError(const ops::Program& program, const std::string& part) {
  for (const bool reverse : {false, true}) {
    const std::string error = ErrorOf(program, reverse);
    EXPECT_NE(error.find(part), std::string::npos) << error << (reverse ? " (reverse)" : "");
  }
}

// A copy of `columns` columns whose source nobody wrote.
void CopyUnwritten(isa::Sink& sink, Engine engine, std::uint64_t at, std::int64_t columns = 64) {
  sink.Emit(engine, isa::TensorCopy{.dst = SbufTile(DType::kFp32, at + 4096, 128, columns),
                                    .src = SbufTile(DType::kFp32, at, 128, columns)});
}

TEST(FailuresAtOneTime, RejectsTheLowestCoresReadOfUnwrittenBytes) {
  ExpectError([](isa::Sink& sink) { CopyUnwritten(sink, Engine::kVector, 0); },
              "instruction 0 (tensor_copy) on core 0");
}

TEST(FailuresAtOneTime, RejectsTheLowestInstructionOfACore) {
  // Both copies end at one tick. GpSimd's comes first in the program, VectorE is built first.
  const MachineConfig config = MachineOfEqualEngines();
  ASSERT_EQ(config.clock.vector_mhz, config.clock.gpsimd_mhz);
  for (const Engine first : {Engine::kVector, Engine::kGpSimd}) {
    const Engine second = first == Engine::kVector ? Engine::kGpSimd : Engine::kVector;
    ExpectError(
        [&](isa::Sink& sink) {
          CopyUnwritten(sink, first, 0);
          CopyUnwritten(sink, second, 16384);
        },
        "instruction 0 (tensor_copy) on core 0");
  }
}

TEST(FailuresAtOneTime, RejectsTheEarlierFailureOfTheHigherCore) {
  ExpectError(
      [](isa::Sink& sink) {
        CopyUnwritten(sink, Engine::kVector, 0, sink.core() == 0 ? 256 : 128);
      },
      "instruction 0 (tensor_copy) on core 1");
}

TEST(FailuresAtOneTime, RejectsTheLowestCoresInvalidInstruction) {
  ExpectError(
      [](isa::Sink& sink) {
        for (int i = 0; i <= 1 - sink.core(); ++i)
          sink.Emit(Engine::kVector, isa::Memset{.dst = SbufTile(DType::kFp32, 0, 128, 4)});
        sink.Emit(Engine::kVector, isa::Memset{.dst = SbufTile(DType::kFp32, 0, 129, 4)});
      },
      "instruction 2 (memset) on core 0");
}

}  // namespace
}  // namespace bwmm
