// Programs of one operation with its loads and stores, for waveform work and to replay a tile of a
// layer: bwmm matmul and bwmm quantize. They run on core 0; core 1 has nothing to do.
//
//   Matmul    out [M, N] = stationary^T moving, one pass through the PE array after the other into
//             the same PSUM tile: 128 rows of K each, of x4 words 128 rows of words
//   Quantize  words [P, F/4] and scales [P/8, F/4] from source [P, F]
#pragma once

#include <optional>

#include "kernels/lang/core.h"

namespace bwmm::kernels {

// Tensors have C columns, M or N.
struct MatmulOperand {
  // [K, C] elements; x4: [K/4, C] words, or with `online` a bf16 source [K, C].
  lang::HbmTensor tensor;
  std::optional<lang::HbmTensor> scales = std::nullopt;  // x4 words that are given: [K/32, C] E8M0
  // Quantises tensor on the way in. Of every 512 rows (fewer at the end) with P = rows / 4, row
  // lane * P + partition is lane `lane` of the word in that partition. What the PE array got is
  // stored here for the check.
  struct Online {
    lang::HbmTensor words, scales;  // [K/4, C] x4, [K/32, C] E8M0
  };
  std::optional<Online> online = std::nullopt;

  std::int64_t columns() const { return tensor.shape[1]; }
};

struct MatmulArgs {
  MatmulOperand stationary, moving;  // both x4, or neither
  lang::HbmTensor out;               // [M, N], fp32 or bf16: PSUM's type too
};

void SingleMatmul(isa::Sink& sink, const MatmulArgs& args);

struct QuantizeArgs {
  lang::HbmTensor source;  // [P, F] bf16 or fp16
  lang::HbmTensor words;   // [P, F/4] x4
  lang::HbmTensor scales;  // [P/8, F/4] E8M0
  ScaleRule rule = ScaleRule::kX2;
};

void SingleQuantize(isa::Sink& sink, const QuantizeArgs& args);

}  // namespace bwmm::kernels
