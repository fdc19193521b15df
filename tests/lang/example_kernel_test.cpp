// The worked example of docs/write_a_kernel.md on the sequential executor, against doubles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "model/ops/executor.h"
#include "model/support/sim_error.h"
#include "tests/lang/expert_rows.h"

namespace bwmm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int kRows = 77, kTokens = 384, kH = 256, kN = 96;
constexpr std::uint32_t kSeed = 20260101;

double Bf16At(const ops::HbmTensor& tensor, std::int64_t i) {
  std::uint16_t code;
  std::memcpy(&code, tensor.data.data() + 2 * i, 2);
  return std::bit_cast<float>(std::uint32_t{code} << 16);
}

struct ExampleKernel : testing::Test {
  ExampleKernel() {
    std::mt19937 random(kSeed);
    for (ops::HbmTensor* tensor : {&x, &w}) {
      for (std::size_t i = 0; i < tensor->data.size(); i += 2) {
        // Any sign and mantissa, magnitudes from 2^-6 to 2^2.
        const auto code =
            static_cast<std::uint16_t>((random() & 0x807f) | ((121 + random() % 8) << 7));
        std::memcpy(tensor->data.data() + i, &code, 2);
      }
    }
    for (int t = 0; t < kTokens; ++t)
      SetId(t, static_cast<std::int32_t>(random() % kRows));
  }

  void SetId(int t, std::int32_t id) { std::memcpy(ids.data.data() + 4 * t, &id, 4); }
  std::int32_t Id(int t) const {
    std::int32_t id;
    std::memcpy(&id, ids.data.data() + 4 * t, 4);
    return id;
  }

  void Run() {
    const auto view = [](const ops::HbmTensor& t) {
      return lang::HbmTensor{
          .name = t.name, .dtype = t.dtype, .shape = t.shape, .address = t.address};
    };
    const kernels::ExpertRowsArgs args{.x = view(x), .ids = view(ids), .w = view(w), .y = view(y)};
    ops::RunSequentially(isa::Limits{}, hbm, [&](isa::Sink& sink) {
      lang::Core nki(sink);
      kernels::ExpertRows(nki, args);
    });
  }

  ops::Hbm hbm;
  ops::HbmTensor& x = hbm.Allocate("x", DType::kBf16, {kRows, kH}, true);
  ops::HbmTensor& ids = hbm.Allocate("ids", DType::kInt32, {kTokens}, true);
  ops::HbmTensor& w = hbm.Allocate("w", DType::kBf16, {kH, kN}, true);
  ops::HbmTensor& y = hbm.Allocate("y", DType::kBf16, {kTokens, kN}, true);
};

TEST_F(ExampleKernel, StaysWithinTheRoundingsItMakes) {
  Run();
  for (int t = 0; t < kTokens; ++t) {
    for (int n = 0; n < kN; ++n) {
      double sum = 0, magnitude = 0;
      for (int h = 0; h < kH; ++h) {
        const double product = Bf16At(x, Id(t) * kH + h) * Bf16At(w, h * kN + n);
        sum += product;
        magnitude += std::fabs(product);
      }
      const double expected = sum / (1 + std::exp(-sum));
      // One fp32 rounding per PE row and K tile, SiLU's slope at most 1.1, one rounding to bf16.
      const double bound =
          1.1 * (kH + 2) * std::ldexp(magnitude, -24) + std::ldexp(std::fabs(expected), -8) + 1e-30;
      ASSERT_NEAR(Bf16At(y, t * kN + n), expected, bound)
          << "token " << t << " column " << n << " seed " << kSeed;
    }
  }
}

TEST_F(ExampleKernel, RejectsARowThatIsNotThereAndNamesIt) {
  SetId(200, kRows);
  EXPECT_THAT([&] { Run(); },
              ThrowsMessage<SimError>(AllOf(HasSubstr("(dma_copy) on core 1"), HasSubstr("lane 72"),
                                            HasSubstr("row index 77"), HasSubstr("0..76"))));
}

}  // namespace
}  // namespace bwmm
