// What each variant runs, and why it refuses the rest.

#include <algorithm>

#include "kernels/moe_cte/moe_cte.h"
#include "model/numerics/scale_group.h"
#include "model/support/sim_error.h"

namespace bwmm::kernels {
namespace {

using Variant = MoECTEImplementation;

class Checker {
 public:
  Checker(const MoECTESpec& spec, const MoeCteArgs& args, const isa::Limits& limits)
      : spec_(spec), args_(args), limits_(limits) {}

  void Check() const {
    Common();
    if (IsMx(spec_.implementation))
      Mx();
    else
      Dense();
    OnI() ? IShard() : BlockShard();
  }

 private:
  bool Is(Variant variant) const { return spec_.implementation == variant; }
  // Cores share I, not blocks.
  bool OnI() const { return !Is(Variant::shard_on_block) && !Is(Variant::shard_on_block_mx); }

  // What a core has of a block's tiles.
  std::string Share() const {
    return limits_.cores == 2 ? "half" : fmt::format("1/{}", limits_.cores);
  }

  template <typename... Args>
  void Require(bool holds, fmt::format_string<Args...> format, Args&&... args) const {
    if (!holds) {
      throw SimError("{}: {}", NameOf(spec_.implementation),
                     fmt::format(format, std::forward<Args>(args)...));
    }
  }

  void Shape(const lang::HbmTensor& tensor, const std::vector<std::int64_t>& shape) const {
    Require(tensor.shape == shape, "tensor {} has shape [{}], allowed [{}]", tensor.name,
            Joined(tensor.shape), Joined(shape));
  }
  static std::string Joined(const std::vector<std::int64_t>& shape) {
    std::string text;
    for (const std::int64_t size : shape)
      text += (text.empty() ? "" : ", ") + std::to_string(size);
    return text;
  }

  void Common() const {
    Require(limits_.cores == 2 || !OnI() || !IsMx(spec_.implementation),
            "runs on 2 cores, which share the tiles of 512 of I; the machine has {}, on which {} "
            "runs",
            limits_.cores, NameOf(Variant::shard_on_block_mx));
    Require(limits_.partitions == 128 && limits_.psum_partitions == 128,
            "runs on 128 partitions and a 128 x 128 array, the machine has {} and {} x {}; matmul "
            "and quantize run on it",
            limits_.partitions, limits_.partitions, limits_.psum_partitions);
    BlockSize();
    Require(args_.hidden() % 512 == 0, "hidden {}, allowed multiples of 512", args_.hidden());
    Shape(args_.token_position_to_id, {args_.blocks() * args_.block_size});
    Require(args_.rows() * args_.experts() <= std::int64_t{1} << 31,
            "{} rows of {} experts exceed an int32 affinity address", args_.rows(),
            args_.experts());
  }

  // One rule for each variant, so that a size that follows the message is taken.
  void BlockSize() const {
    const int step = OnI() ? 128 * limits_.cores : 128;
    const int most = IsMx(spec_.implementation) ? 1024 : 4096;
    const int size = args_.block_size;
    Require(size % step == 0 && size >= step && size <= most,
            "block size {}, allowed multiples of {}{}, up to {}{}", size, step,
            step > 128 ? fmt::format(": each core owns {} of a block's tiles", Share()) : "", most,
            Is(Variant::shard_on_i_dropping)
                ? "; it is an expert's capacity: lower capacity_factor, or fewer tokens"
                : "");
  }

  void Mx() const {
    Require(limits_.generation >= 4,
            "MX needs generation 4 (trn3), this machine is generation {}; use shard_on_block or "
            "shard_on_i",
            limits_.generation);
    Require(IsX4(args_.gate_up_proj_weight.dtype) &&
                args_.gate_up_proj_weight.dtype == args_.down_proj_weight.dtype,
            "weights are {} and {}, allowed one x4 type for both",
            NameOf(args_.gate_up_proj_weight.dtype), NameOf(args_.down_proj_weight.dtype));
    Require(args_.gate_up_proj_scale && args_.down_proj_scale, "weight scales are missing");
    constexpr int kTile = kMxGroup.tile_elements();
    const int least = Is(Variant::shard_on_block_mx) ? kTile : 2 * kTile;
    Require(args_.intermediate() % kTile == 0 && args_.intermediate() >= least,
            "intermediate {}, allowed multiples of {} from {} on", args_.intermediate(), kTile,
            least);
    const std::int64_t used = args_.used_intermediate.value_or(args_.intermediate());
    Require(used >= 1 && used <= args_.intermediate() &&
                (used > args_.intermediate() - kTile || args_.intermediate() == least),
            "used_intermediate {}, allowed less than {} below intermediate {}", used, kTile,
            args_.intermediate());
  }

  void Dense() const {
    const DType type = args_.gate_up_proj_weight.dtype;
    const bool fp8 =
        type == DType::kFp8E4M3Fn || type == DType::kFp8E4M3 || type == DType::kFp8E5M2;
    Require(type == args_.down_proj_weight.dtype && (type == DType::kBf16 || fp8),
            "weights are {} and {}, allowed bfloat16 or fp8 for both", NameOf(type),
            NameOf(args_.down_proj_weight.dtype));
    Require(type != DType::kFp8E4M3Fn || limits_.generation >= 4,
            "float8_e4m3fn weights need generation 4 (trn3), this machine is generation {}; use "
            "float8_e4m3",
            limits_.generation);
    Require(fp8 == args_.gate_up_proj_scale.has_value() && fp8 == args_.down_proj_scale.has_value(),
            "fp8 weights come with per-channel scales, bfloat16 weights without");
    const int columns = OnI() ? std::max(16, 8 * limits_.cores) : 16;
    Require(args_.intermediate() % columns == 0, "intermediate {}, allowed multiples of {}",
            args_.intermediate(), columns);
  }

  void BlockShard() const {
    Require(args_.is_tensor_update_accumulating || Is(Variant::shard_on_block),
            "is_tensor_update_accumulating=false has no meaning with a plane per core; use "
            "shard_on_block");
    if (Is(Variant::shard_on_block_mx)) {
      Require(args_.conditions.has_value(), "conditions are missing");
      Shape(*args_.conditions, {args_.blocks() + 2});
      const int fixed = spec_.shard_on_block->n_static_blocks;
      Require(fixed >= -1 && fixed <= args_.blocks(),
              "n_static_blocks {}, allowed -1 to the {} blocks", fixed, args_.blocks());
    }
  }

  void IShard() const {
    if (IsHybrid(spec_.implementation)) {
      Require(args_.conditions.has_value(), "conditions are missing");
      Shape(*args_.conditions, {args_.blocks() + 1});
      const auto& given = spec_.shard_on_I ? spec_.shard_on_I->num_static_block : std::nullopt;
      Require(!given || (*given >= 0 && *given <= args_.blocks()),
              "num_static_block {}, allowed 0 to the {} blocks", given.value_or(0), args_.blocks());
    }
    if (Is(Variant::shard_on_i_dropping)) {
      Require(args_.blocks() == args_.experts(), "{} blocks, allowed one per expert, {}",
              args_.blocks(), args_.experts());
    }
    const bool on_I = spec_.shard_on_I && spec_.shard_on_I->expert_affinity_multiply_on_I;
    Require(!on_I || args_.expert_affinities_scaling_mode == AffinityScalingMode::kPostScale,
            "expert_affinity_multiply_on_I replaces POST_SCALE; other scaling modes have no place "
            "for it");
    Require(!spec_.shard_on_I || !spec_.shard_on_I->checkpoint_activation ||
                !Is(Variant::shard_on_i_hybrid),
            "checkpoint_activation needs blocks the kernel counts; use shard_on_i");
    const bool checkpoints = Is(Variant::shard_on_i_dropping) ||
                             (Is(Variant::shard_on_i) && spec_.shard_on_I->checkpoint_activation);
    Require(!checkpoints || (args_.gate_up_activations_T && (on_I || args_.down_activations)),
            "checkpoint tensors are missing");
  }

  const MoECTESpec& spec_;
  const MoeCteArgs& args_;
  const isa::Limits& limits_;
};

}  // namespace

void CheckMoeCte(const MoECTESpec& spec, const MoeCteArgs& args, const isa::Limits& limits) {
  Checker(spec, args, limits).Check();
}

}  // namespace bwmm::kernels
