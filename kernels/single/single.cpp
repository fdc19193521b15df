#include "kernels/single/single.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "model/numerics/scale_group.h"

namespace bwmm::kernels {

using lang::HbmTensor;
using lang::Tile;
using lang::View;

namespace {

constexpr std::int64_t kBank = 512;  // fp32 columns of a PSUM bank
constexpr std::int64_t kPassRows = kTilePartitions;

void StoreScales(lang::Core& nki, const View& out, const View& scales) {
  kMxGroup.ForEachScaleRun(scales.size(0), [&](const ScaleRun& run) {
    nki.dma_copy(out.Slice(0, run.row, run.count), scales.Slice(0, run.partition, run.count));
  });
}

void LoadScales(lang::Core& nki, const View& scales, const View& in) {
  kMxGroup.ForEachScaleRun(scales.size(0), [&](const ScaleRun& run) {
    nki.dma_copy(scales.Slice(0, run.partition, run.count), in.Slice(0, run.row, run.count));
  });
}

// Scale rows in HBM of `count` partitions from `first` on.
View ScalesOf(const HbmTensor& scales, std::int64_t first, std::int64_t count) {
  return scales.At().Slice(0, first / kMxGroup.rows, count / kMxGroup.rows);
}

// What one pass needs of an operand.
struct Pass {
  Tile data;
  std::optional<Tile> scales = std::nullopt;
};

class Operand {
 public:
  // Names carry the pass where there are several.
  Operand(lang::Core& nki, const MatmulOperand& args, std::string name)
      : nki_(nki), args_(args), name_(std::move(name)) {}

  bool mx() const { return args_.scales || args_.online; }
  std::int64_t passes() const { return (partitions() + kPassRows - 1) / kPassRows; }

  void Load(std::int64_t pass) {
    const std::int64_t first = pass * kPassRows;
    const int count = static_cast<int>(std::min(kPassRows, partitions() - first));
    const std::string name = passes() == 1 ? name_ : name_ + std::to_string(pass);
    if (args_.online) {
      LoadQuantized(name, first, count);
      return;
    }
    Pass loaded{nki_.Sbuf(name, args_.tensor.dtype, count, {args_.columns()})};
    nki_.dma_copy(loaded.data, args_.tensor.At().Slice(0, first, count));
    if (args_.scales) {
      loaded.scales.emplace(nki_.Sbuf(name + ".scale", DType::kE8M0, count, {args_.columns()}));
      LoadScales(nki_, *loaded.scales, ScalesOf(*args_.scales, first, count));
    }
    loaded_.push_back(std::move(loaded));
  }

  const Pass& operator[](std::int64_t pass) const { return loaded_[pass]; }

  void StoreWords() const {
    for (std::int64_t pass = 0; args_.online && pass < passes(); ++pass) {
      const View& words = loaded_[pass].data;
      nki_.dma_copy(args_.online->words.At().Slice(0, pass * kPassRows, words.size(0)), words);
    }
  }
  void StoreScaleCodes() const {
    for (std::int64_t pass = 0; args_.online && pass < passes(); ++pass) {
      const View& scales = *loaded_[pass].scales;
      StoreScales(nki_, ScalesOf(args_.online->scales, pass * kPassRows, scales.size(0)), scales);
    }
  }

 private:
  // Of the operand, over all passes.
  std::int64_t partitions() const {
    return args_.tensor.shape[0] / (args_.online ? kMxGroup.lanes : 1);
  }

  void LoadQuantized(const std::string& name, std::int64_t first, int count) {
    const HbmTensor& source = args_.tensor;
    const std::int64_t columns = args_.columns();
    const Tile lanes = nki_.Sbuf(name + ".lanes", source.dtype, count, {columns, kMxGroup.lanes});
    for (int q = 0; q < kMxGroup.lanes; ++q) {
      const std::int64_t row = kMxGroup.lanes * first + q * count;
      nki_.dma_copy(lanes->Pick(2, q), source.At().Slice(0, row, count));
    }
    Pass result{nki_.Sbuf(name + ".x4", args_.online->words.dtype, count, {columns}),
                nki_.Sbuf(name + ".scale", DType::kE8M0, count, {columns})};
    nki_.quantize_mx(result.data, *result.scales, lanes->Flat());
    loaded_.push_back(std::move(result));
  }

  lang::Core& nki_;
  const MatmulOperand& args_;
  const std::string name_;
  std::vector<Pass> loaded_;
};

}  // namespace

void SingleMatmul(isa::Sink& sink, const MatmulArgs& args) {
  lang::Core nki(sink);
  if (nki.program_id() != 0)
    return;
  const std::int64_t n = args.moving.columns();
  Operand stationary(nki, args.stationary, "stationary");
  Operand moving(nki, args.moving, "moving");
  const int m = static_cast<int>(args.stationary.columns());
  const Tile psum = nki.Psum("psum", args.out.dtype, m, {n});
  for (std::int64_t pass = 0; pass < stationary.passes(); ++pass) {
    stationary.Load(pass);
    moving.Load(pass);
    const Pass& w = stationary[pass];
    const Pass& x = moving[pass];
    for (std::int64_t column = 0; column < n; column += kBank) {
      const std::int64_t count = std::min(kBank, n - column);
      const View dst = psum->Slice(1, column, count);
      if (stationary.mx()) {
        nki.nc_matmul_mx(dst, w.data, *w.scales, x.data->Slice(1, column, count),
                         (*x.scales)->Slice(1, column, count), {.accumulate = pass > 0});
      } else {
        nki.nc_matmul(dst, w.data, x.data->Slice(1, column, count), {.accumulate = pass > 0});
      }
    }
  }
  const Tile result = nki.Sbuf("result", args.out.dtype, m, {n});
  nki.tensor_copy(result, psum);
  nki.dma_copy(args.out.At(), result);
  stationary.StoreWords();
  moving.StoreWords();
  stationary.StoreScaleCodes();
  moving.StoreScaleCodes();
}

void SingleQuantize(isa::Sink& sink, const QuantizeArgs& args) {
  lang::Core nki(sink);
  if (nki.program_id() != 0)
    return;
  const int partitions = static_cast<int>(args.source.shape[0]);
  const std::int64_t columns = args.words.shape[1];
  const Tile source = nki.Sbuf("source", args.source.dtype, partitions, {kMxGroup.lanes * columns});
  const Tile words = nki.Sbuf("words", args.words.dtype, partitions, {columns});
  const Tile scales = nki.Sbuf("scales", DType::kE8M0, partitions, {columns});
  nki.dma_copy(source, args.source.At());
  nki.quantize_mx(words, scales, source, args.rule);
  nki.dma_copy(args.words.At(), words);
  StoreScales(nki, args.scales.At(), scales);
}

}  // namespace bwmm::kernels
