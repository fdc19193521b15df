#include "kernels/moe_cte/mx_weights.h"

namespace bwmm::kernels {

using lang::AluOp;
using lang::Engine;
using lang::View;

namespace {

constexpr int kScaleRows = 16;  // per expert: 128 partitions / 8
constexpr int kLanes = 4;

}  // namespace

std::int64_t MxWeights::GateUpBytes(const MoeCteArgs& args) {
  const std::int64_t columns = 2 * (args.hidden() / 512) * (args.intermediate() / 2);
  return columns * (SizeOf(args.gate_up_proj_weight.dtype) + 1);
}

std::int64_t MxWeights::DownBytes(const MoeCteArgs& args) {
  const std::int64_t columns = args.intermediate() / 1024 * args.hidden();
  return columns * (SizeOf(args.down_proj_weight.dtype) + 1);
}

MxWeights::MxWeights(lang::Core& nki, const MoeCteArgs& args, int gate_up_depth, int down_depth)
    : nki_(nki),
      args_(args),
      tiles_(args.intermediate() / 1024),
      scale_base_(nki.Sbuf("scale_base", DType::kInt32, 128, {1})),
      scale_step_(nki.Sbuf("scale_step", DType::kInt32, 128, {1})) {
  const std::int64_t h_tiles = args.hidden() / 512;
  const DType type = args.gate_up_proj_weight.dtype;
  scale_index_ = nki.RotatingSbuf("scale_index", 2, DType::kInt32, 128, {1});
  gate_up_ = nki.RotatingSbuf("gate_up_x4", gate_up_depth, type, 128, {2, h_tiles, tiles_ * 512});
  gate_up_scale_ = nki.RotatingSbuf("gate_up_scale", gate_up_depth, DType::kE8M0, 128,
                                    {2, h_tiles, tiles_ * 512});
  down_ = nki.RotatingSbuf("down_x4", down_depth, type, 128, {tiles_, args.hidden()});
  down_scale_ =
      nki.RotatingSbuf("down_scale", down_depth, DType::kE8M0, 128, {tiles_, args.hidden()});
  if (args.gate_and_up_bias)
    bias_ = nki.RotatingSbuf("gate_up_bias", 2, DType::kBf16, 128, {2, tiles_, kLanes});
  if (args.down_bias)
    down_bias_ = nki.RotatingSbuf("down_bias", 2, DType::kBf16, 128, {args.hidden()});

  nki.memset(scale_base_, -1.0f, Engine::kGpSimd);
  nki.memset(scale_step_, 0.0f, Engine::kGpSimd);
  for (int q = 0; q < 4; ++q) {
    nki.iota(scale_base_->Slice(0, 32 * q, 4), 4 * q, 1);
    nki.memset(scale_step_->Slice(0, 32 * q, 4), kScaleRows, Engine::kGpSimd);
  }
}

void MxWeights::Load(std::int64_t block, const View& expert) {
  const View one = expert.Slice(0, 0, 1);
  const std::int64_t first_tile = nki_.program_id() * tiles_;
  const std::int64_t half = tiles_ * 512;
  const std::int64_t h_tiles = args_.hidden() / 512;
  const auto skip = isa::OutOfBounds::kSkip;

  const lang::HbmTensor& gate_up = args_.gate_up_proj_weight;
  nki_.dma_copy(gate_up_[block], gate_up.At({0}).Slice(3, first_tile * 512, half),
                {.src_offset = gate_up.Offset(one)});
  const View& index = scale_index_[block];
  nki_.scalar_tensor_tensor(index, expert, AluOp::kMultiply, scale_step_.view(), AluOp::kAdd,
                            scale_base_, Engine::kGpSimd);
  const std::int64_t scale_rows = args_.experts() * kScaleRows;
  const View gate_up_table =
      args_.gate_up_proj_scale->Reshaped({scale_rows, 2, h_tiles, args_.intermediate()}).At();
  nki_.dma_copy(gate_up_scale_[block], gate_up_table.Slice(3, first_tile * 512, half),
                {.gather = gate_up_table.RowsAt(index, skip)});
  if (args_.gate_and_up_bias) {
    nki_.dma_copy(bias_[block], args_.gate_and_up_bias->At({0}).Slice(2, first_tile, tiles_),
                  {.src_offset = args_.gate_and_up_bias->Offset(one)});
  }

  const lang::HbmTensor& down = args_.down_proj_weight;
  nki_.dma_copy(down_[block], down.At({0}).Slice(1, first_tile, tiles_),
                {.src_offset = down.Offset(one)});
  const View down_table =
      args_.down_proj_scale->Reshaped({scale_rows, args_.intermediate() / 512, args_.hidden()})
          .At();
  nki_.dma_copy(down_scale_[block], down_table.Slice(1, first_tile, tiles_),
                {.gather = down_table.RowsAt(index, skip)});
  if (args_.down_bias) {
    nki_.dma_copy(down_bias_[block], args_.down_bias->At({}).Slice(0, 0, 1),
                  {.src_offset = args_.down_bias->Offset(one)});
  }
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
