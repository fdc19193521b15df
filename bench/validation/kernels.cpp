// Whole kernels: the 2,048^3 bf16 matmul, blocked, and with its loads in the innermost loop.
#include "bench/validation/point.h"

namespace bwmm::validation {
namespace {

constexpr int kSide = 2048;
constexpr int kTile = 128;
constexpr int kMoving = 512;
constexpr int kSteps = kSide / kTile;

struct Problem {
  Stage stage{"trn2"};
  lang::HbmTensor lhs = stage.Tensor("lhs", DType::kBf16, {kSide, kSide});  // [K, M]
  lang::HbmTensor rhs = stage.Tensor("rhs", DType::kBf16, {kSide, kSide});  // [K, N]
  lang::HbmTensor out = stage.Tensor("out", DType::kBf16, {kSide, kSide});
};

// K in two halves of eight passes; a block of 512 x 1024 stays in SBUF until both are added.
double Blocked() {
  constexpr int kRows = 512, kColumns = 1024, kHalf = kSteps / 2;
  Problem p;
  return p.stage
             .Run([&p](lang::Core& nki) {
               const auto lhs = nki.RotatingSbuf("lhs", 2, DType::kBf16, kTile, {kHalf, kRows});
               const auto rhs = nki.RotatingSbuf("rhs", 2, DType::kBf16, kTile, {kHalf, kColumns});
               const auto sum = nki.RotatingSbuf("sum", 16, DType::kBf16, kTile, {kMoving});
               const auto acc = nki.RotatingPsum("acc", 4, DType::kFp32, kTile, {kMoving});
               int use = 0, pass = 0;
               for (int m = 0; m < kSide; m += kRows)
                 for (int n = 0; n < kSide; n += kColumns)
                   for (int half = 0; half < 2; ++half, ++use) {
                     const int row = half * kSide / 2;
                     for (int k = 0; k < kHalf; ++k) {
                       const int at = row + k * kTile;
                       nki.dma_copy(lhs[use].Pick(1, k),
                                    p.lhs.At().Slice(0, at, kTile).Slice(1, m, kRows));
                       nki.dma_copy(rhs[use].Pick(1, k),
                                    p.rhs.At().Slice(0, at, kTile).Slice(1, n, kColumns));
                     }
                     int slot = use / 2 % 2 * 8;
                     for (int i = 0; i < kRows; i += kTile)
                       for (int j = 0; j < kColumns; j += kMoving, ++slot, ++pass) {
                         for (int k = 0; k < kHalf; ++k)
                           nki.nc_matmul(acc[pass], lhs[use].Pick(1, k).Slice(1, i, kTile),
                                         rhs[use].Pick(1, k).Slice(1, j, kMoving),
                                         {.accumulate = k > 0});
                         if (half == 0) {
                           nki.tensor_copy(sum[slot], acc[pass]);
                           continue;
                         }
                         nki.tensor_tensor(sum[slot], sum[slot], lang::AluOp::kAdd, acc[pass]);
                         nki.dma_copy(p.out.At().Slice(0, m + i, kTile).Slice(1, n + j, kMoving),
                                      sum[slot]);
                       }
                   }
             })
             .ns() /
         1e3;
}

// One buffer of each operand, loaded in front of every pass.
double LoadsInnermost() {
  Problem p;
  return p.stage
             .Run([&p](lang::Core& nki) {
               const lang::Tile lhs = nki.Sbuf("lhs", DType::kBf16, kTile, {kTile});
               const lang::Tile rhs = nki.Sbuf("rhs", DType::kBf16, kTile, {kMoving});
               const lang::Tile sum = nki.Sbuf("sum", DType::kBf16, kTile, {kMoving});
               const lang::Tile acc = nki.Psum("acc", DType::kFp32, kTile, {kMoving});
               for (int m = 0; m < kSide; m += kTile)
                 for (int n = 0; n < kSide; n += kMoving) {
                   for (int k = 0; k < kSide; k += kTile) {
                     nki.dma_copy(lhs, p.lhs.At().Slice(0, k, kTile).Slice(1, m, kTile));
                     nki.dma_copy(rhs, p.rhs.At().Slice(0, k, kTile).Slice(1, n, kMoving));
                     nki.nc_matmul(acc, lhs, rhs, {.accumulate = k > 0});
                   }
                   nki.tensor_copy(sum, acc);
                   nki.dma_copy(p.out.At().Slice(0, m, kTile).Slice(1, n, kMoving), sum);
                 }
             })
             .ns() /
         1e3;
}

}  // namespace

std::vector<Point> KernelPoints() {
  // 2 * 2048^3 / 78.6 TFLOPS = 218.5 us at full use.
  return {
      {"T6", "kernels", "trn2", "2048^3 bf16, K blocked by 8 (blocks of 512 x 1024 are ours)", "us",
       240.3, 'B', "S6", Role::kChecks, false, "the whole run", Blocked},
      {"T11", "kernels", "trn2", "2048^3 bf16, loads innermost, single buffers, ~16 % MFU", "us",
       1366, 'B', "S6", Role::kChecks, false, "the whole run", LoadsInnermost},
  };
}

}  // namespace bwmm::validation
