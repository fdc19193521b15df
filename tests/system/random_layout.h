// Where a random program keeps its data.
//
//   SBUF partition   [ 12 slots of 1 KiB, each of a type | control columns | staging of the dump ]
//   HBM              an input for each slot, what each core may write, and a tensor all share
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "replay/replay_program.h"

namespace bwmm::test {

inline constexpr std::array kSlotTypes = {
    DType::kFp32,      DType::kBf16,        DType::kBf16,    DType::kFp16,
    DType::kFp8E4M3Fn, DType::kFp8E4M3,     DType::kFp8E5M2, DType::kFp8E4M3FnX4,
    DType::kFp8E5M2X4, DType::kFp4E2M1FnX4, DType::kInt32,   DType::kE8M0};
inline constexpr int kSlots = static_cast<int>(kSlotTypes.size());
inline constexpr std::int64_t kSlotBytes = 1024;
inline constexpr std::int64_t kDataBytes = kSlots * kSlotBytes;
inline constexpr std::int64_t kPsumBytes = 16384;

// Columns of int32 that indices and registers come from. Only integer instructions write them, and
// the generator knows every value.
inline constexpr int kControlColumns = 8;
inline constexpr std::uint64_t kControlAt = kDataBytes;
inline constexpr std::uint64_t kStagingAt = kControlAt + 1024;
inline constexpr std::int64_t kSbufBytes = 16384;

// A range of HBM.
struct Area {
  std::uint64_t begin = 0;
  std::int64_t bytes = 0;
};

inline constexpr std::int64_t kInputBytes = 128 * kSlotBytes;
inline constexpr std::int64_t kWorkBytes = 1 << 17;
inline constexpr std::int64_t kShareBytes = 1 << 17;

struct RandomLayout {
  RandomLayout(unsigned seed, int cores, replay::ReplayProgram& program) {
    for (int slot = 0; slot < kSlots; ++slot)
      inputs[slot] = Add(program, "in" + std::to_string(slot), kSlotTypes[slot], kInputBytes,
                         slot % 2 == 0 ? replay::Contents::kEdges : replay::Contents::kSeed,
                         std::uint64_t{100} * seed + slot);
    for (int core = 0; core < cores; ++core) {
      const std::string name = std::to_string(core);
      work.push_back(Add(program, "work" + name, DType::kBf16, kWorkBytes, replay::Contents::kSeed,
                         std::uint64_t{100} * seed + 50 + core));
      sbuf_dump.push_back(Add(program, "sbuf" + name, DType::kUint32, 128 * kDataBytes));
      control_dump.push_back(
          Add(program, "indices" + name, DType::kInt32, std::int64_t{128} * 4 * kControlColumns));
      psum_dump.push_back(Add(program, "psum" + name, DType::kFp32, 128 * kPsumBytes));
    }
    shared = Add(program, "shared", DType::kBf16, cores * kShareBytes, replay::Contents::kSeed,
                 std::uint64_t{100} * seed + 60);
    control = Add(program, "control", DType::kInt32, std::int64_t{128} * 4 * kControlColumns);
  }

  Area Share(int core) const {
    return {shared.begin + static_cast<std::uint64_t>(core * kShareBytes), kShareBytes};
  }

  std::array<Area, kSlots> inputs;
  std::vector<Area> work, sbuf_dump, control_dump, psum_dump;  // by core
  Area shared;
  Area control;  // the last tensor; the generator gives it its bytes

 private:
  Area Add(replay::ReplayProgram& program, std::string name, DType dtype, std::int64_t bytes,
           replay::Contents contents = replay::Contents::kUnwritten, std::uint64_t seed = 0) {
    const Area area{next_, bytes};
    next_ += static_cast<std::uint64_t>(bytes);
    program.tensors.push_back({.name = std::move(name),
                               .dtype = dtype,
                               .shape = {128, bytes / 128 / SizeOf(dtype)},
                               .address = area.begin,
                               .contents = contents,
                               .seed = seed,
                               .bytes = {}});
    return area;
  }

  std::uint64_t next_ = 64;
};

}  // namespace bwmm::test
