// Programs of one instruction with its loads and stores, for waveform work: bwmm matmul and
// bwmm quantize. They run on core 0; core 1 has nothing to do.
//
//   Matmul    out [M, N] fp32 = stationary [K, M]^T moving [K, N], K <= 128
//   MatmulMx  the same, both operands quantised online to e4m3fn x4, K = 4 P <= 512;
//             contraction index k = lane * P + partition
//   Quantize  words [P, F/4] and scales [P/8, F/4] from source [P, F]
#pragma once

#include "kernels/lang/core.h"

namespace bwmm::kernels {

struct MatmulArgs {
  lang::HbmTensor stationary;  // [K, M]
  lang::HbmTensor moving;      // [K, N], of the same type
  lang::HbmTensor out;         // [M, N] fp32
};

void SingleMatmul(isa::Sink& sink, const MatmulArgs& args);

struct MatmulMxArgs {
  lang::HbmTensor stationary;  // [4 P, M] bf16
  lang::HbmTensor moving;      // [4 P, N] bf16
  lang::HbmTensor out;         // [M, N] fp32
  // What the PE array got, for the check.
  lang::HbmTensor stationary_words, stationary_scales;  // [P, M] x4, [P/8, M] E8M0
  lang::HbmTensor moving_words, moving_scales;          // [P, N] x4, [P/8, N] E8M0
};

void SingleMatmulMx(isa::Sink& sink, const MatmulMxArgs& args);

struct QuantizeArgs {
  lang::HbmTensor source;  // [P, F] bf16 or fp16
  lang::HbmTensor words;   // [P, F/4] x4
  lang::HbmTensor scales;  // [P/8, F/4] E8M0
  ScaleRule rule = ScaleRule::kX2;
};

void SingleQuantize(isa::Sink& sink, const QuantizeArgs& args);

}  // namespace bwmm::kernels
