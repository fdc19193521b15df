// Random programs of any number of cores over the whole instruction set, as data.
//
//   each core   loads every slot, PSUM and the control columns
//               phases of own steps, with sendrecvs between some, ended by a barrier
//               stores SBUF, PSUM and the control columns
//
// They are legal on the machine they are made for, read nothing unwritten, and the cores are
// ordered wherever they meet in HBM: each writes its own tensor and its share of a common one,
// which all read after a barrier.
#pragma once

#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "model/system/machine.h"
#include "tests/system/random_compute.h"
#include "tests/system/random_control.h"
#include "tests/system/random_dma.h"
#include "tests/system/random_matmul.h"

namespace bwmm::test {

class RandomProgram {
 public:
  RandomProgram(unsigned seed, const std::string& machine, int cores)
      : layout_(seed, cores, program_), shared_(seed), limits_(LimitsOf(LoadMachine(machine))) {
    limits_.cores = cores;
    program_.cores.resize(cores);
    for (int core = 0; core < cores; ++core)
      cores_.push_back(RandomCore{core, layout_, limits_,
                                  Dice(2 * seed + static_cast<unsigned>(core)),
                                  program_.cores[core]});
    program_.machine = machine;
    // A small SBUF is quick to make and to compare; some programs have all of it.
    if (seed % 20 != 0)
      program_.settings = {{"machine.sbuf.reserved_bytes", "0"},
                           {"machine.sbuf.bytes", std::to_string(kSbufBytes)}};
    if (cores != 2)
      program_.settings.push_back({"machine.cores", std::to_string(cores)});
    MakeControl();
  }

  replay::ReplayProgram Make() {
    constexpr int kPhases = 4;
    constexpr int kSegments = 3;
    for (RandomCore& core : cores_)
      Load(core);
    for (int phase = 0; phase < kPhases; ++phase) {
      for (int segment = 0; segment < kSegments; ++segment) {
        for (RandomCore& core : cores_)
          Segment(core);
        for (const auto& [a, b] : Pairs())
          SendRecv(cores_[a], cores_[b]);
      }
      Barrier();
    }
    for (RandomCore& core : cores_)
      Store(core);
    return program_;
  }

 private:
  // Column 0: rows of small tables. 1: some out of bounds. 2: a permutation. 3: loop counts.
  void MakeControl() {
    constexpr std::array kOut = {-1L, 1000L, std::int64_t{INT32_MIN}, std::int64_t{INT32_MAX}};
    for (int lane = 0; lane < 128; ++lane) {
      auto& row = loaded_[lane];
      row[0] = static_cast<std::int32_t>(shared_.Below(16));
      row[1] = static_cast<std::int32_t>(shared_.OneIn(4) ? shared_.Of(kOut) : shared_.Below(64));
      row[2] = (lane * 37 + 11) % 128;
      for (int column = 3; column < kControlColumns; ++column)
        row[column] = static_cast<std::int32_t>(shared_.Below(4));
    }
    replay::ReplayTensor& tensor = program_.tensors.back();
    tensor.contents = replay::Contents::kBytes;
    tensor.bytes.resize(sizeof loaded_);
    std::memcpy(tensor.bytes.data(), loaded_.data(), sizeof loaded_);
  }

  void Load(RandomCore& core) {
    for (int slot = 0; slot < kSlots; ++slot) {
      const DType type = kSlotTypes[slot];
      core.Emit(Engine::kSync, isa::DmaCopy{.dst = Tile(Memory::kSbuf, type, slot * kSlotBytes, 128,
                                                        kSlotBytes / SizeOf(type)),
                                            .src = DenseRows(layout_.inputs[slot], type, 128)});
    }
    core.Emit(Engine::kSync, isa::DmaCopy{.dst = Tile(Memory::kSbuf, DType::kInt32, kControlAt, 128,
                                                      kControlColumns),
                                          .src = DenseRows(layout_.control, DType::kInt32, 128)});
    for (int lane = 0; lane < 128; ++lane) {
      for (int column = 0; column < kControlColumns; ++column)
        core.control[lane][column] = loaded_[lane][column];
    }
    // All of PSUM from one slot, again and again.
    Operand slot = Tile(Memory::kSbuf, DType::kFp32, 0, 128, kSlotBytes / 4);
    slot.rank = 2;
    slot.dims[1] = slot.dims[0];
    slot.dims[0] = {.size = kPsumBytes / kSlotBytes, .stride = 0};
    core.Emit(Engine::kVector,
              isa::TensorCopy{.dst = Tile(Memory::kPsum, DType::kFp32, 0, 128, kPsumBytes / 4),
                              .src = slot});
  }

  void Segment(RandomCore& core) {
    for (std::int64_t n = 4 + core.dice.Below(4); n > 0; --n) {
      if (core.dice.OneIn(12))
        RandomControl(core).Loop(loaded_, [&] { Own(core); });
      else if (core.dice.OneIn(6))
        RandomControl(core).Step(loaded_);
      else
        Own(core);
    }
  }
  static void Own(RandomCore& core) {
    switch (core.dice.Below(5)) {
      case 0:
      case 1:
        return RandomCompute(core).Step();
      case 2:
        return RandomMatmul(core).Step();
      default:
        return RandomDma(core).Step();
    }
  }

  // Who exchanges with whom, one pair after the other: neighbours, in a ring of three and more.
  std::vector<std::pair<int, int>> Pairs() {
    const int cores = limits_.cores;
    std::vector<std::pair<int, int>> pairs;
    for (int core = 0; core + 1 < cores; ++core)
      pairs.emplace_back(core, core + 1);
    if (cores > 2)
      pairs.emplace_back(cores - 1, 0);
    return pairs;
  }
  void SendRecv(RandomCore& a, RandomCore& b) {
    if (shared_.OneIn(3))
      return;
    const int pipe = static_cast<int>(shared_.Below(4));
    if (shared_.OneIn(4))
      return ExchangeControl(a, b, pipe);
    const auto type = static_cast<DType>(shared_.Below(static_cast<int>(DType::kUint32) + 1));
    const std::int64_t rows = shared_.Of({1, 17, 32, 128}), free = shared_.Of({1, 6, 64, 100});
    for (const auto& [core, peer] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      const Operand src = core->Sbuf(type, rows, free, Use::kRead, false, true);
      Operand dst = core->Sbuf(type, rows, free, Use::kWrite, false, true);
      while (!Apart(src, dst))
        dst = core->Sbuf(type, rows, free, Use::kWrite, false, true);
      core->Emit(Engine::kSync,
                 isa::SendRecv{.dst = dst, .src = src, .peer = peer->core, .pipe_id = pipe});
    }
  }
  void ExchangeControl(RandomCore& a, RandomCore& b, int pipe) {
    const int from = static_cast<int>(shared_.Below(4));
    const int to = 4 + static_cast<int>(shared_.Below(4));
    for (const auto& [core, peer] : {std::pair(&a, &b), std::pair(&b, &a)})
      core->Emit(Engine::kSync, isa::SendRecv{.dst = core->Column(to),
                                              .src = core->Column(from),
                                              .peer = peer->core,
                                              .pipe_id = pipe});
    for (int lane = 0; lane < 128; ++lane) {
      a.SetControl(lane, to, b.control[lane][from]);
      b.SetControl(lane, to, a.control[lane][from]);
    }
  }

  void Barrier() {
    for (RandomCore& core : cores_) {
      core.Emit(Engine::kGpSimd,
                isa::CoreBarrier{.data = DenseRows(layout_.shared, DType::kBf16, 1)});
      core.share_is_mine = !core.share_is_mine;
    }
  }

  void Store(RandomCore& core) {
    const int c = core.core;
    core.Emit(Engine::kSync,
              isa::DmaCopy{.dst = DenseRows(layout_.sbuf_dump[c], DType::kUint32, 128),
                           .src = Tile(Memory::kSbuf, DType::kUint32, 0, 128, kDataBytes / 4)});
    core.Emit(
        Engine::kSync,
        isa::DmaCopy{.dst = DenseRows(layout_.control_dump[c], DType::kInt32, 128),
                     .src = Tile(Memory::kSbuf, DType::kInt32, kControlAt, 128, kControlColumns)});
    constexpr std::int64_t kBank = 512;
    const Operand staging = Tile(Memory::kSbuf, DType::kFp32, kStagingAt, 128, kBank);
    for (std::int64_t bank = 0; bank < kPsumBytes / 4 / kBank; ++bank) {
      core.Emit(Engine::kVector, isa::TensorCopy{.dst = staging,
                                                 .src = Tile(Memory::kPsum, DType::kFp32,
                                                             4 * kBank * bank, 128, kBank)});
      Operand rows = DenseRows(layout_.psum_dump[c], DType::kFp32, 128);
      rows.offset += static_cast<std::uint64_t>(4 * kBank * bank);
      rows.dims[0].size = kBank;
      core.Emit(Engine::kSync, isa::DmaCopy{.dst = rows, .src = staging});
    }
  }

  replay::ReplayProgram program_;
  RandomLayout layout_;
  Dice shared_;  // what all cores agree on
  isa::Limits limits_;
  std::array<std::array<std::int32_t, kControlColumns>, 128> loaded_{};
  std::deque<RandomCore> cores_;
};

inline replay::ReplayProgram MakeRandomProgram(unsigned seed, int cores = 2) {
  return RandomProgram(seed, seed % 4 == 3 ? "trn2" : "trn3", cores).Make();
}

}  // namespace bwmm::test
