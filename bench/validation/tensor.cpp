// TensorEngine: one pass in a stream, as a blocked matmul feeds the array.
#include "bench/validation/point.h"

namespace bwmm::validation {
namespace {

// Half of a matmul: it is two instructions on the hardware.
double InstructionNs() {
  Stage stage("trn2");
  return NsEach(stage, 32,
                [](int count) {
                  return [count](lang::Core& nki) {
                    const lang::Tile left = nki.Sbuf("left", DType::kFp32, 128, {128});
                    const lang::Tile right = nki.Sbuf("right", DType::kFp32, 128, {512});
                    const lang::Tile acc = nki.Psum("acc", DType::kFp32, 128, {512});
                    for (int k = 0; k < count; ++k)
                      nki.nc_matmul(acc, left, right, {.accumulate = k > 0});
                  };
                }) /
         2;
}

}  // namespace

std::vector<Point> TensorPoints() {
  return {
      {"T2", "tensor", "trn2", "FP32_LO_HI [128x128] x [128x512], half of an fp32 matmul", "ns",
       429.7, 'A', "S2 v5", Role::kChecks, false, "half of 32 more matmuls in a stream",
       InstructionNs},
  };
}

}  // namespace bwmm::validation
