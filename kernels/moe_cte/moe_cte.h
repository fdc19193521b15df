// moe_cte: the prefill Mixture-of-Experts FFN on blocks of B tokens, one expert per block.
//
//   per block n, expert e = block_to_expert[n], rows = token_position_to_id[n * B ..]:
//     out[rows] += affinity[rows, e] * (down(act(gate) * up) + down_bias)
//
// Dimensions: T tokens, H hidden, I intermediate, E experts, N blocks of B rows. Row T of hidden,
// affinities and output is the padding row; with skip_token there is none and padding ids are -1.
#pragma once

#include <array>
#include <optional>

#include "kernels/lang/core.h"
#include "kernels/moe_cte/spec.h"
#include "model/isa/activation.h"

namespace bwmm::kernels {

struct ClampLimits {
  std::optional<float> gate_upper, gate_lower, up_upper, up_lower;
};

struct MoeCteArgs {
  lang::HbmTensor hidden_states;             // [T + 1, H] bf16
  lang::HbmTensor expert_affinities_masked;  // [(T + 1) * E]; fp32 for MX, bf16 otherwise
  // MX weights may come in integer carriers; see mx_weights.h.
  lang::HbmTensor gate_up_proj_weight;   // [E, H, 2, I]; MX: [E, 128, 2, H/512, I] x4
  lang::HbmTensor down_proj_weight;      // [E, I, H];    MX: [E, 128, I/512, H] x4
  lang::HbmTensor token_position_to_id;  // [N * B] int32, padding T (skip_token: -1)
  lang::HbmTensor block_to_expert;       // [N] int32; shard_on_i_dropping does not read it
  // fp8: [E, 1, 2I] and [E, 1, H] fp32 per output channel. MX: [E, 16, 2, H/512, I] and
  // [E, 16, I/512, H] E8M0.
  std::optional<lang::HbmTensor> gate_up_proj_scale, down_proj_scale;
  std::optional<lang::HbmTensor> gate_and_up_bias;  // [E, 2, I]; MX: [E, 128, 2, I/512, 4]
  std::optional<lang::HbmTensor> down_bias;         // [E, H]
  // int32: shard_on_i_hybrid and shard_on_i_mx_hybrid [N + 1], a prefix of ones whose sum is the
  // number of live blocks; shard_on_block_mx [N + 2], 1 for a live block.
  std::optional<lang::HbmTensor> conditions;
  // Checkpoints, where the spec asks for them.
  std::optional<lang::HbmTensor> gate_up_activations_T;  // [N, 2, I, B] bf16
  std::optional<lang::HbmTensor> down_activations;       // [N, B, H] bf16
  // [T + 1, H] bf16; on C cores accumulating shard_on_block [T + 1, C, H] and shard_on_block_mx
  // [C, T + 1, H], the result in plane 0.
  lang::HbmTensor output;

  // Columns of I in front of the zeros that pad it; nullopt: all. shard_on_block_mx does not
  // compute sub-tiles of nothing but padding.
  std::optional<std::int64_t> used_intermediate;

  // The x4 type in 4-byte carriers; nullopt: float8_e4m3fn_x4.
  std::optional<DType> weight_dtype;

  int block_size = 256;
  Activation activation_function = Activation::kSilu;
  ClampLimits clamp;
  AffinityScalingMode expert_affinities_scaling_mode = AffinityScalingMode::kPostScale;
  SkipMode skip_dma;
  bool is_tensor_update_accumulating = true;

  std::int64_t rows() const { return hidden_states.shape[0]; }
  std::int64_t tokens() const { return skip_dma.skip_token ? rows() : rows() - 1; }
  std::int64_t hidden() const { return hidden_states.shape[1]; }
  std::int64_t experts() const { return gate_up_proj_weight.shape[0]; }
  std::int64_t intermediate() const { return gate_up_proj_weight.shape.back(); }
  std::int64_t blocks() const { return block_to_expert.shape[0]; }
};

// Refuses, with the reason and what works, any combination the variant does not support.
void CheckMoeCte(const MoECTESpec& spec, const MoeCteArgs& args, const isa::Limits& limits);

// The program of one core. Calls CheckMoeCte first.
void MoeCte(isa::Sink& sink, const MoECTESpec& spec, const MoeCteArgs& args);

// The kernels behind it: of block-shard and of all I-shard variants, and their MX ones.
void BwmmShardOnBlock(lang::Core& nki, const MoECTESpec& spec, const MoeCteArgs& args);
void BwmmShardOnBlockMx(lang::Core& nki, const MoECTESpec& spec, const MoeCteArgs& args);
void BwmmShardOnI(lang::Core& nki, const MoECTESpec& spec, const MoeCteArgs& args);
void BwmmShardOnIMx(lang::Core& nki, const MoECTESpec& spec, const MoeCteArgs& args);

}  // namespace bwmm::kernels
