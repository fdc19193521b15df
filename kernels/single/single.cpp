#include "kernels/single/single.h"

#include <algorithm>

namespace bwmm::kernels {

using lang::Tile;
using lang::View;

namespace {

constexpr std::int64_t kBank = 512;  // fp32 columns of a PSUM bank

// One scale row per 8 partitions, four at the start of each 32-partition quadrant.
void StoreScales(lang::Core& nki, const lang::HbmTensor& out, const View& scales) {
  for (std::int64_t row = 0; row < out.shape[0]; row += 4) {
    const std::int64_t count = std::min<std::int64_t>(4, out.shape[0] - row);
    nki.dma_copy(out.At().Slice(0, row, count), scales.Slice(0, row * 8, count));
  }
}

void StoreResult(lang::Core& nki, const lang::HbmTensor& out, const View& psum) {
  const Tile result =
      nki.Sbuf("result", DType::kFp32, static_cast<int>(psum.size(0)), {psum.free_size()});
  nki.tensor_copy(result, psum);
  nki.dma_copy(out.At(), result);
}

struct Quantized {
  Tile words, scales;
};

// source [4 P, columns] to x4 [P, columns]: lane q of partition p is row q * P + p.
Quantized LoadQuantized(lang::Core& nki, const lang::HbmTensor& source, DType target) {
  const int partitions = static_cast<int>(source.shape[0] / 4);
  const std::int64_t columns = source.shape[1];
  const Tile lanes = nki.Sbuf(source.name + ".lanes", source.dtype, partitions, {columns, 4});
  for (int q = 0; q < 4; ++q)
    nki.dma_copy(lanes->Pick(2, q), source.At().Slice(0, q * partitions, partitions));
  Quantized result{nki.Sbuf(source.name + ".x4", target, partitions, {columns}),
                   nki.Sbuf(source.name + ".scale", DType::kE8M0, partitions, {columns})};
  nki.quantize_mx(result.words, result.scales, lanes->Flat());
  return result;
}

}  // namespace

void SingleMatmul(isa::Sink& sink, const MatmulArgs& args) {
  lang::Core nki(sink);
  if (nki.program_id() != 0)
    return;
  const int k = static_cast<int>(args.stationary.shape[0]);
  const int m = static_cast<int>(args.stationary.shape[1]);
  const std::int64_t n = args.moving.shape[1];
  const Tile stationary = nki.Sbuf("stationary", args.stationary.dtype, k, {m});
  const Tile moving = nki.Sbuf("moving", args.moving.dtype, k, {n});
  const Tile psum = nki.Psum("psum", DType::kFp32, m, {n});
  nki.dma_copy(stationary, args.stationary.At());
  nki.dma_copy(moving, args.moving.At());
  for (std::int64_t column = 0; column < n; column += kBank) {
    const std::int64_t count = std::min(kBank, n - column);
    nki.nc_matmul(psum->Slice(1, column, count), stationary, moving->Slice(1, column, count), {});
  }
  StoreResult(nki, args.out, psum);
}

void SingleMatmulMx(isa::Sink& sink, const MatmulMxArgs& args) {
  lang::Core nki(sink);
  if (nki.program_id() != 0)
    return;
  const int m = static_cast<int>(args.stationary.shape[1]);
  const std::int64_t n = args.moving.shape[1];
  const Quantized stationary = LoadQuantized(nki, args.stationary, args.stationary_words.dtype);
  const Quantized moving = LoadQuantized(nki, args.moving, args.moving_words.dtype);
  const Tile psum = nki.Psum("psum", DType::kFp32, m, {n});
  for (std::int64_t column = 0; column < n; column += kBank) {
    const std::int64_t count = std::min(kBank, n - column);
    nki.nc_matmul_mx(psum->Slice(1, column, count), stationary.words, stationary.scales,
                     moving.words->Slice(1, column, count), moving.scales->Slice(1, column, count),
                     {});
  }
  StoreResult(nki, args.out, psum);
  nki.dma_copy(args.stationary_words.At(), stationary.words);
  nki.dma_copy(args.moving_words.At(), moving.words);
  StoreScales(nki, args.stationary_scales, stationary.scales);
  StoreScales(nki, args.moving_scales, moving.scales);
}

void SingleQuantize(isa::Sink& sink, const QuantizeArgs& args) {
  lang::Core nki(sink);
  if (nki.program_id() != 0)
    return;
  const int partitions = static_cast<int>(args.source.shape[0]);
  const std::int64_t columns = args.words.shape[1];
  const Tile source = nki.Sbuf("source", args.source.dtype, partitions, {4 * columns});
  const Tile words = nki.Sbuf("words", args.words.dtype, partitions, {columns});
  const Tile scales = nki.Sbuf("scales", DType::kE8M0, partitions, {columns});
  nki.dma_copy(source, args.source.At());
  nki.quantize_mx(words, scales, source, args.rule);
  nki.dma_copy(args.words.At(), words);
  StoreScales(nki, args.scales, scales);
}

}  // namespace bwmm::kernels
