#include "kernels/moe_cte/mx_weights.h"

#include "model/support/sim_error.h"

namespace bwmm::kernels {

using lang::AluOp;
using lang::Engine;
using lang::View;

namespace {

constexpr int kTile = kMxGroup.tile_elements();         // columns of H or I in a pass
constexpr int kScaleRows = kMxGroup.tile_scale_rows();  // of one expert

DType CarriedType(const lang::HbmTensor& weight, const std::optional<DType>& weight_dtype) {
  switch (weight.dtype) {
    case DType::kUint16:
    case DType::kInt16:
      return DType::kFp4E2M1FnX4;
    case DType::kUint32:
    case DType::kInt32:
      return weight_dtype.value_or(DType::kFp8E4M3FnX4);
    default:
      return weight.dtype;
  }
}

}  // namespace

MxShare WholeShare(const MoeCteArgs& args) {
  MxShare share{.tiles = kMxGroup.TilesOf(args.intermediate())};
  // Clamps can make something of a padded zero, which then counts in the scale of its block.
  const ClampLimits& clamp = args.clamp;
  const bool stays_zero = clamp.up_lower.value_or(0) <= 0 && clamp.up_upper.value_or(0) >= 0;
  if (args.used_intermediate && stays_zero)
    share.sub_tiles = (*args.used_intermediate + 127) / 128;
  return share;
}

MxShare HalfShare(const MoeCteArgs& args, int core) {
  const std::int64_t all = kMxGroup.TilesOf(args.intermediate());
  const std::int64_t half = (all + 1) / 2;
  return core == 0 ? MxShare{.tiles = half} : MxShare{.first = half, .tiles = all - half};
}

MoeCteArgs WithMxWeights(const MoeCteArgs& args) {
  const auto& wanted = args.weight_dtype;
  if (wanted && *wanted != DType::kFp8E4M3FnX4 && *wanted != DType::kFp8E5M2X4)
    throw SimError("weight_dtype {}, allowed float8_e4m3fn_x4, float8_e5m2_x4", NameOf(*wanted));
  MoeCteArgs result = args;
  const DType type = CarriedType(args.gate_up_proj_weight, wanted);
  for (lang::HbmTensor* weight : {&result.gate_up_proj_weight, &result.down_proj_weight}) {
    if (SizeOf(weight->dtype) != SizeOf(type))
      throw SimError("tensor {} is {}, allowed a carrier as wide as {}", weight->name,
                     NameOf(weight->dtype), NameOf(type));
    weight->dtype = type;
  }
  return result;
}

MxWeights::MxWeights(lang::Core& nki, const MoeCteArgs& args, const MxShare& share,
                     int gate_up_depth, int down_depth)
    : nki_(nki),
      args_(args),
      share_(share),
      scale_base_(nki.Sbuf("scale_base", DType::kInt32, 128, {1})),
      scale_step_(nki.Sbuf("scale_step", DType::kInt32, 128, {1})) {
  const std::int64_t h_tiles = kMxGroup.TilesOf(args.hidden());
  const DType type = args.gate_up_proj_weight.dtype;
  gate_up_index_ = nki.RotatingSbuf("gate_up_scale_index", 2, DType::kInt32, 128, {1});
  down_index_ = nki.RotatingSbuf("down_scale_index", 2, DType::kInt32, 128, {1});
  gate_up_ =
      nki.RotatingSbuf("gate_up_x4", gate_up_depth, type, 128, {2, h_tiles, share_.tiles * kTile});
  gate_up_scale_ = nki.RotatingSbuf("gate_up_scale", gate_up_depth, DType::kE8M0, 128,
                                    {2, h_tiles, share_.tiles * kTile});
  down_ = nki.RotatingSbuf("down_x4", down_depth, type, 128, {share_.tiles, args.hidden()});
  down_scale_ =
      nki.RotatingSbuf("down_scale", down_depth, DType::kE8M0, 128, {share_.tiles, args.hidden()});
  if (args.gate_and_up_bias)
    bias_ =
        nki.RotatingSbuf("gate_up_bias", 2, DType::kBf16, 128, {2, share_.tiles, kMxGroup.lanes});
  if (args.down_bias)
    down_bias_ = nki.RotatingSbuf("down_bias", 2, DType::kBf16, 128, {args.hidden()});

  nki.memset(scale_base_, -1.0f, Engine::kGpSimd);
  nki.memset(scale_step_, 0.0f, Engine::kGpSimd);
  kMxGroup.ForEachScaleRun(kTilePartitions, [&](const ScaleRun& run) {
    nki.iota(scale_base_->Slice(0, run.partition, run.count), run.row, 1);
    nki.memset(scale_step_->Slice(0, run.partition, run.count), kScaleRows, Engine::kGpSimd);
  });
}

const View& MxWeights::ScaleIndex(const lang::RotatingTile& tiles, std::int64_t block,
                                  const View& expert) {
  const View& index = tiles[block];
  nki_.scalar_tensor_tensor(index, expert, AluOp::kMultiply, scale_step_.view(), AluOp::kAdd,
                            scale_base_, Engine::kGpSimd);
  return index;
}

void MxWeights::LoadGateUp(std::int64_t block, const View& weight_expert, const View& expert) {
  const std::int64_t first = share_.first * kTile, count = share_.sub_tiles * 128;
  const View one = weight_expert.Slice(0, 0, 1);
  const lang::HbmTensor& words = args_.gate_up_proj_weight;
  nki_.dma_copy(gate_up_[block].Slice(3, 0, count), words.At({0}).Slice(3, first, count),
                {.src_offset = words.Offset(one, isa::OutOfBounds::kSkip)});
  const View scales = args_.gate_up_proj_scale
                          ->Reshaped({args_.experts() * kScaleRows, 2,
                                      kMxGroup.TilesOf(args_.hidden()), args_.intermediate()})
                          .At();
  const View& index = ScaleIndex(gate_up_index_, block, weight_expert);
  nki_.dma_copy(gate_up_scale_[block].Slice(3, 0, count), scales.Slice(3, first, count),
                {.gather = scales.RowsAt(index, isa::OutOfBounds::kSkip)});
  if (const auto& bias = args_.gate_and_up_bias)
    nki_.dma_copy(bias_[block], bias->At({0}).Slice(2, share_.first, share_.tiles),
                  {.src_offset = bias->Offset(expert.Slice(0, 0, 1))});
}

void MxWeights::LoadDown(std::int64_t block, const View& weight_expert, const View& expert) {
  const View one = weight_expert.Slice(0, 0, 1);
  const lang::HbmTensor& words = args_.down_proj_weight;
  nki_.dma_copy(down_[block], words.At({0}).Slice(1, share_.first, share_.tiles),
                {.src_offset = words.Offset(one, isa::OutOfBounds::kSkip)});
  const View scales = args_.down_proj_scale
                          ->Reshaped({args_.experts() * kScaleRows,
                                      kMxGroup.TilesOf(args_.intermediate()), args_.hidden()})
                          .At();
  const View& index = ScaleIndex(down_index_, block, weight_expert);
  nki_.dma_copy(down_scale_[block], scales.Slice(1, share_.first, share_.tiles),
                {.gather = scales.RowsAt(index, isa::OutOfBounds::kSkip)});
  if (const auto& bias = args_.down_bias)
    nki_.dma_copy(down_bias_[block], bias->At().Slice(0, 0, 1),
                  {.src_offset = bias->Offset(expert.Slice(0, 0, 1))});
}

std::optional<View> MxWeights::gate_up_bias(std::int64_t block, int gate_or_up, std::int64_t tile,
                                            int lane) const {
  if (!args_.gate_and_up_bias)
    return std::nullopt;
  return bias_[block].Pick(1, gate_or_up).Pick(1, tile).Slice(1, lane, 1);
}

std::optional<View> MxWeights::down_bias(std::int64_t block) const {
  if (!args_.down_bias)
    return std::nullopt;
  return down_bias_[block];
}

}  // namespace bwmm::kernels
