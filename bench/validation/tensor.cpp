// TensorEngine: one pass in a stream, as a blocked matmul feeds the array.
#include "bench/validation/point.h"

namespace bwmm::validation {
namespace {

double PassNs() {
  Stage stage("trn2");
  return NsEach(stage, 32, [](int count) {
    return [count](lang::Core& nki) {
      const lang::Tile left = nki.Sbuf("left", DType::kBf16, 128, {128});
      const lang::Tile right = nki.Sbuf("right", DType::kBf16, 128, {512});
      const lang::Tile acc = nki.Psum("acc", DType::kFp32, 128, {512});
      for (int k = 0; k < count; ++k)
        nki.nc_matmul(acc, left, right, {.accumulate = k > 0});
    };
  });
}

}  // namespace

std::vector<Point> TensorPoints() {
  return {
      {"T2", "tensor", "trn2", "one pass [128x128] x [128x512], half of an fp32 pass of two halves",
       "ns", 214.9, 'A', "S2 v5", Role::kChecks, false, "32 more bf16 passes in a stream", PassNs},
  };
}

}  // namespace bwmm::validation
