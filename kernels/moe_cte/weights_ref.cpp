#include "kernels/moe_cte/weights_ref.h"

#include <algorithm>

#include "kernels/moe_cte/formats_ref.h"

namespace bwmm::reference {
namespace {

constexpr std::size_t kPartitions = 128;
constexpr std::size_t kScaleRows = 16;
constexpr int kLanes = 4;

void Clear(Panel& panel) {
  std::fill_n(&panel.weight[0][0], kPassRows * kColumns, 0.0);
}

}  // namespace

WeightReader::WeightReader(const MoeCteProblem& problem)
    : problem_(problem), mx_(IsMx(problem.weights)), scale_(TableOfE8M0()) {
  switch (problem.weights) {
    case Weights::kBf16:
      break;
    case Weights::kMxE2M1:
      lane_bits_ = 4;
      element_ = TableOfE2M1();
      break;
    case Weights::kFp8E4M3Fn:
    case Weights::kMxE4M3Fn:
      lane_bits_ = 8;
      element_ = TableOfE4M3Fn();
      break;
    case Weights::kMxE5M2:
      lane_bits_ = 8;
      element_ = TableOfE5M2();
      break;
  }
}

int WeightReader::OrderOfHidden(int h) const {
  if (!mx_)
    return h;
  const int quarter = problem_.hidden / kLanes;
  const int inside = h % quarter;
  return inside / 128 * kPassRows + inside % 128 * kLanes + h / quarter;
}

int WeightReader::OrderOfIntermediate(int i) const {
  if (!mx_)
    return i;
  return i / kPassRows * kPassRows + i % 128 * kLanes + i % kPassRows / 128;
}

void WeightReader::DecodeMxRow(const void* words, std::size_t at, const void* scales,
                               std::size_t scale_at, int columns, double (*rows)[kColumns]) const {
  const auto* scale_bytes = static_cast<const std::uint8_t*>(scales) + scale_at;
  const std::uint32_t mask = (1u << lane_bits_) - 1;
  for (int c = 0; c < columns; ++c) {
    const std::uint32_t word = lane_bits_ == 4 ? static_cast<const std::uint16_t*>(words)[at + c]
                                               : static_cast<const std::uint32_t*>(words)[at + c];
    const double scale = scale_[scale_bytes[c]];
    for (int w = 0; w < kLanes; ++w)
      rows[w][c] = element_[word >> (lane_bits_ * w) & mask] * scale;
  }
}

void WeightReader::DecodePlainRow(const void* words, std::size_t at, const float* scales,
                                  int columns, double* row) const {
  for (int c = 0; c < columns; ++c) {
    row[c] = problem_.weights == Weights::kBf16
                 ? DecodeBf16(static_cast<const std::uint16_t*>(words)[at + c])
                 : element_[static_cast<const std::uint8_t*>(words)[at + c]] *
                       (scales != nullptr ? double{scales[c]} : 1.0);
  }
}

// Null with MX weights, whose scales belong to blocks, and where there are none.
const float* WeightReader::GateUpScales(int expert, int half) const {
  const auto* scales = static_cast<const float*>(mx_ ? nullptr : problem_.gate_up_scale);
  return scales == nullptr
             ? nullptr
             : scales + (static_cast<std::size_t>(expert) * 2 + half) * problem_.intermediate;
}

const float* WeightReader::DownScales(int expert) const {
  const auto* scales = static_cast<const float*>(mx_ ? nullptr : problem_.down_scale);
  return scales == nullptr ? nullptr : scales + static_cast<std::size_t>(expert) * problem_.hidden;
}

std::optional<double> WeightReader::GateUpScale(int expert, int half, int column) const {
  const float* scales = GateUpScales(expert, half);
  return scales == nullptr ? std::nullopt : std::optional<double>(scales[column]);
}

std::optional<double> WeightReader::DownScale(int expert, int column) const {
  const float* scales = DownScales(expert);
  return scales == nullptr ? std::nullopt : std::optional<double>(scales[column]);
}

void WeightReader::ReadMxTile(const Matrices& from, int tile, int column, Panel& panel) const {
  const std::size_t tiles = from.height / kPassRows;
  const int columns = std::min<int>(kColumns, static_cast<int>(from.width) - column);
  for (std::size_t p = 0; p < kPartitions; ++p) {
    const auto row = [&](std::size_t rows, std::size_t at) {
      return (((from.expert * rows + at) * from.halves + from.half) * tiles + tile) * from.width +
             column;
    };
    DecodeMxRow(from.words, row(kPartitions, p), from.scales, row(kScaleRows, p / 8), columns,
                &panel.weight[p * kLanes]);
  }
}

void WeightReader::ReadRows(const Matrices& from, int first, int depth, int column,
                            const float* scales, Panel& panel) const {
  const int columns = std::min<int>(kColumns, static_cast<int>(from.width) - column);
  for (int k = 0; k < depth; ++k) {
    const std::size_t row = (from.expert * from.height + first + k) * from.halves + from.half;
    DecodePlainRow(from.words, row * from.width + column,
                   scales == nullptr ? nullptr : scales + column, columns, panel.weight[k]);
  }
}

int WeightReader::ReadGateUp(int expert, int half, int pass, int column, Panel& panel,
                             Channel channel) const {
  Clear(panel);
  const Matrices from{.words = problem_.gate_up_weight,
                      .scales = problem_.gate_up_scale,
                      .expert = static_cast<std::size_t>(expert),
                      .half = static_cast<std::size_t>(half),
                      .halves = 2,
                      .height = static_cast<std::size_t>(problem_.hidden),
                      .width = static_cast<std::size_t>(problem_.intermediate)};
  if (mx_) {
    ReadMxTile(from, pass, column, panel);
    return kPassRows;
  }
  const int first = pass * kPassRows;
  const int depth = std::min(kPassRows, problem_.hidden - first);
  ReadRows(from, first, depth, column, channel == kRaw ? nullptr : GateUpScales(expert, half),
           panel);
  return depth;
}

void WeightReader::ReadDown(int expert, int first, int depth, int column, Panel& panel,
                            Channel channel) const {
  Clear(panel);
  const Matrices from{.words = problem_.down_weight,
                      .scales = problem_.down_scale,
                      .expert = static_cast<std::size_t>(expert),
                      .half = 0,
                      .halves = 1,
                      .height = static_cast<std::size_t>(problem_.intermediate),
                      .width = static_cast<std::size_t>(problem_.hidden)};
  if (mx_)
    ReadMxTile(from, first / kPassRows, column, panel);
  else
    ReadRows(from, first, depth, column, channel == kRaw ? nullptr : DownScales(expert), panel);
}

}  // namespace bwmm::reference
