// Points of the first generation, on its own preset.
#include "bench/validation/point.h"

namespace bwmm::validation {
namespace {

// What one engine takes for its 8 rows of 4 KiB in a stream of [128, 4 KiB].
double EngineNs() {
  constexpr std::int64_t kRowBytes = 4096;
  Stage stage("trn1");
  const lang::HbmTensor x = stage.Tensor("x", DType::kFp8E5M2, {128, kRowBytes});
  return NsEach(stage, 32, [&x](int count) {
    return [&x, count](lang::Core& nki) {
      const auto tile = nki.RotatingSbuf("tile", 16, DType::kFp8E5M2, 128, {kRowBytes});
      for (int i = 0; i < count; ++i)
        nki.dma_copy(tile[i], x.At());
    };
  });
}

// One element, each instruction on the result of the one before.
double DependentNs() {
  Stage stage("trn1");
  return NsEach(stage, 32, [](int count) {
    return [count](lang::Core& nki) {
      const lang::Tile x = nki.Sbuf("x", DType::kFp32, 128, {1});
      for (int i = 0; i < count; ++i)
        nki.activation(x, Activation::kExp, x);
    };
  });
}

}  // namespace

std::vector<Point> Trn1Points() {
  return {
      {"D15", "dma", "trn1", "32 KiB of each engine in a stream of [128, 4 KiB]", "ns", 1810, 'A',
       "S3 fig 30", Role::kChecks, false, "32 more copies in a stream", EngineNs},
      {"V8", "vector_scalar", "trn1", "dependent chain of activations [128,1]", "ns", 189, 'A',
       "S3", Role::kChosen, false, "32 more instructions in a chain", DependentNs},
  };
}

}  // namespace bwmm::validation
