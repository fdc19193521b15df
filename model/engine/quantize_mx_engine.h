// quantize_mx as the machine sees it: one column of `rows` partitions x 4 elements per cycle, in
// order. FastQuantizeMx (C++) and RtlQuantizeMx (Verilated) agree in bits and cycles.
#pragma once

#include <cstdint>
#include <vector>

#include "model/isa/scale_rule.h"
#include "model/numerics/dtype.h"

namespace bwmm::engine {

struct QuantizeMxJob {
  DType source = DType::kBf16;         // bf16 or fp16
  DType target = DType::kFp8E4M3FnX4;  // e4m3fn x4 or e5m2 x4
  ScaleRule rule = ScaleRule::kX2;
  int rows = 0;                     // partitions: a multiple of 32, at most 128
  int columns = 0;                  // x4 words per partition = source elements / 4
  std::vector<std::uint16_t> data;  // [rows][4 * columns]
};

struct QuantizeMxResult {
  std::vector<std::uint32_t> words;  // [rows][columns]
  std::vector<std::uint8_t> scales;  // [scale groups of rows][columns], E8M0
  std::uint64_t cycles = 0;          // first column in to last column out
};

class QuantizeMxEngine {
 public:
  virtual ~QuantizeMxEngine() = default;
  virtual QuantizeMxResult Run(const QuantizeMxJob& job) = 0;
};

}  // namespace bwmm::engine
