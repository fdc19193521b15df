// Where each element of an operand lies, by counting: one nested loop per dimension, no shortcuts.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "model/isa/operand.h"

namespace bwmm::test {

struct Place {
  int partition = 0;  // 0 in HBM
  std::int64_t byte = 0;

  friend auto operator<=>(const Place&, const Place&) = default;
};

// First byte of every element, in row-major order.
inline std::vector<Place> ElementPlaces(const isa::Operand& operand) {
  std::vector<Place> places;
  const bool hbm = operand.memory == isa::Memory::kHbm;
  const auto size = [&](int i) { return i < operand.rank ? operand.dims[i].size : 1; };
  const auto stride = [&](int i) { return i < operand.rank ? operand.dims[i].stride : 0; };
  for (std::int64_t p = 0; p < operand.partitions; ++p) {
    for (std::int64_t a = 0; a < size(0); ++a) {
      for (std::int64_t b = 0; b < size(1); ++b) {
        for (std::int64_t c = 0; c < size(2); ++c) {
          for (std::int64_t d = 0; d < size(3); ++d) {
            std::int64_t element = a * stride(0) + b * stride(1) + c * stride(2) + d * stride(3);
            if (hbm)
              element += p * operand.partition_stride;
            places.push_back(
                {hbm ? 0 : operand.partition + static_cast<int>(p),
                 static_cast<std::int64_t>(operand.offset) + element * SizeOf(operand.dtype)});
          }
        }
      }
    }
  }
  return places;
}

inline std::set<Place> BytePlaces(const isa::Operand& operand) {
  std::set<Place> bytes;
  for (const Place& place : ElementPlaces(operand)) {
    for (int i = 0; i < SizeOf(operand.dtype); ++i)
      bytes.insert({place.partition, place.byte + i});
  }
  return bytes;
}

// Any rank, dense or not, broadcast dimensions included; at most a few hundred elements.
inline isa::Operand RandomOperand(std::mt19937& random) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  constexpr std::array kTypes = {DType::kFp32, DType::kBf16, DType::kUint8, DType::kFp8E4M3FnX4};
  isa::Operand o;
  o.memory = static_cast<isa::Memory>(pick(0, 2));
  o.dtype = kTypes[pick(0, 3)];
  o.partitions = pick(1, 4);
  o.offset = 64 * pick(1, 8);
  o.rank = pick(0, isa::Operand::kMaxRank);
  std::int64_t dense = 1;
  for (int i = o.rank - 1; i >= 0; --i) {
    o.dims[i].size = pick(1, 4);
    const int kind = pick(0, 5);  // mostly dense, sometimes broadcast or with a gap
    o.dims[i].stride = kind == 0 ? 0 : kind == 1 ? dense + pick(1, 5) : dense;
    dense = std::max<std::int64_t>(dense, 1 + (o.dims[i].size - 1) * o.dims[i].stride);
  }
  if (o.memory == isa::Memory::kHbm)
    o.partition_stride = pick(0, 2) == 0 ? pick(1, 40) : dense;
  else
    o.partition = 32 * pick(0, 3);
  return o;
}

// A dense row-major operand.
inline isa::Operand Dense(isa::Memory memory, DType dtype, std::int64_t partitions,
                          std::initializer_list<std::int64_t> dims, std::uint64_t offset = 0) {
  isa::Operand o{.memory = memory, .dtype = dtype, .partitions = partitions, .offset = offset};
  for (const std::int64_t size : dims)
    o.dims[o.rank++].size = size;
  std::int64_t stride = 1;
  for (int i = o.rank - 1; i >= 0; --i) {
    o.dims[i].stride = stride;
    stride *= o.dims[i].size;
  }
  if (memory == isa::Memory::kHbm)
    o.partition_stride = stride;
  return o;
}

}  // namespace bwmm::test
