// The fp32 matmul of the kernel optimization tutorial, 4096 x 8192 x 8192: blocked, and with only
// the stationary strip hoisted out of the inner loops.
#include "bench/validation/point.h"

namespace bwmm::validation {
namespace {

constexpr int kRows = 4096, kInner = 8192, kColumns = 8192;
constexpr int kTile = 128;
constexpr int kMoving = 512;
constexpr DType kFp32 = DType::kFp32;

struct Problem {
  Stage stage{"trn2"};
  lang::HbmTensor lhs = stage.Tensor("lhs", kFp32, {kInner, kRows});  // transposed
  lang::HbmTensor rhs = stage.Tensor("rhs", kFp32, {kInner, kColumns});
  lang::HbmTensor out = stage.Tensor("out", kFp32, {kRows, kColumns});
};

void Store(lang::Core& nki, const Problem& p, int row, int column, const lang::View& tile) {
  nki.dma_copy(p.out.At().Slice(0, row, kTile).Slice(1, column, kMoving), tile);
}

// Blocks of 1024 in M, N and K; a block of sums stays in SBUF until all of K is added.
void Blocked(lang::Core& nki, const Problem& p) {
  constexpr int kBlock = 1024, kSteps = kBlock / kTile, kSums = kSteps * kBlock / kMoving;
  const auto lhs = nki.RotatingSbuf("lhs", 2, kFp32, kTile, {kSteps, kBlock});
  const auto rhs = nki.RotatingSbuf("rhs", 2, kFp32, kTile, {kSteps, kBlock});
  const auto sum = nki.RotatingSbuf("sum", 2 * kSums, kFp32, kTile, {kMoving});
  const auto acc = nki.RotatingPsum("acc", 4, kFp32, kTile, {kMoving});
  int use = 0, pass = 0, block = 0;
  for (int m = 0; m < kRows; m += kBlock)
    for (int n = 0; n < kColumns; n += kBlock, ++block)
      for (int at = 0; at < kInner; at += kBlock, ++use) {
        for (int k = 0; k < kSteps; ++k) {
          const int row = at + k * kTile;
          nki.dma_copy(lhs[use].Pick(1, k), p.lhs.At().Slice(0, row, kTile).Slice(1, m, kBlock));
          nki.dma_copy(rhs[use].Pick(1, k), p.rhs.At().Slice(0, row, kTile).Slice(1, n, kBlock));
        }
        int slot = block % 2 * kSums;
        for (int i = 0; i < kBlock; i += kTile)
          for (int j = 0; j < kBlock; j += kMoving, ++slot, ++pass) {
            for (int k = 0; k < kSteps; ++k)
              nki.nc_matmul(acc[pass], lhs[use].Pick(1, k).Slice(1, i, kTile),
                            rhs[use].Pick(1, k).Slice(1, j, kMoving), {.accumulate = k > 0});
            if (at == 0)
              nki.tensor_copy(sum[slot], acc[pass]);
            else
              nki.tensor_tensor(sum[slot], sum[slot], lang::AluOp::kAdd, acc[pass]);
            if (at + kBlock == kInner)
              Store(nki, p, m + i, n + j, sum[slot]);
          }
      }
}

// All of K of 128 rows stays in SBUF; every moving tile is loaded where it is used.
void Hoisted(lang::Core& nki, const Problem& p) {
  constexpr int kSteps = kInner / kTile;
  const auto lhs = nki.RotatingSbuf("lhs", 2, kFp32, kTile, {kSteps, kTile});
  const auto rhs = nki.RotatingSbuf("rhs", 8, kFp32, kTile, {kMoving});
  const auto result = nki.RotatingSbuf("result", 2, kFp32, kTile, {kMoving});
  const auto acc = nki.RotatingPsum("acc", 2, kFp32, kTile, {kMoving});
  int strip = 0, use = 0, tile = 0;
  for (int m = 0; m < kRows; m += kTile, ++strip) {
    for (int k = 0; k < kSteps; ++k)
      nki.dma_copy(lhs[strip].Pick(1, k), p.lhs.At().Slice(0, k * kTile, kTile).Slice(1, m, kTile));
    for (int n = 0; n < kColumns; n += kMoving, ++tile) {
      for (int k = 0; k < kSteps; ++k, ++use) {
        nki.dma_copy(rhs[use], p.rhs.At().Slice(0, k * kTile, kTile).Slice(1, n, kMoving));
        nki.nc_matmul(acc[tile], lhs[strip].Pick(1, k), rhs[use], {.accumulate = k > 0});
      }
      nki.tensor_copy(result[tile], acc[tile]);
      Store(nki, p, m, n, result[tile]);
    }
  }
}

template <typename Kernel>
std::function<double()> Milliseconds(const Kernel& kernel) {
  return [kernel] {
    Problem p;
    return p.stage.Run([&](lang::Core& nki) { kernel(nki, p); }).ns() / 1e6;
  };
}

}  // namespace

std::vector<Point> Fp32KernelPoints() {
  const std::string run = "the whole run";
  return {
      {"T1", "kernels", "trn2", "4096 x 8192 x 8192 fp32, blocked (blocks of 1024 are ours)", "ms",
       28.30, 'A', "S2 v5", Role::kChecks, false, run, Milliseconds(Blocked)},
      {"T4", "kernels", "trn2", "4096 x 8192 x 8192 fp32, stationary loads hoisted", "ms", 28.20,
       'A', "S2 v3", Role::kChecks, false, run, Milliseconds(Hoisted)},
  };
}

}  // namespace bwmm::validation
