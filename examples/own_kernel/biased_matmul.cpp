// y^T = W^T x^T + b: a matmul whose result has a bias per row, in bf16. The worked example of
// docs/write_a_kernel.md.
//
//   x^T [K, T] --+
//                +--> PE array, K in tiles of 128 --> PSUM [128, 512] --+ b--> y^T [N, T]
//   W [K, N] ----+
//
// The cores take every other tile of [128, 512], so they never meet.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/lang/core.h"
#include "kernels/single/elements_ref.h"
#include "workloads/judged_tensor.h"
#include "workloads/registry.h"
#include "workloads/tensors.h"

namespace own_kernel {

using namespace bwmm;
using namespace bwmm::workloads;

constexpr std::int64_t kRows = 128;     // of the PE array: K and N in tiles of it
constexpr std::int64_t kColumns = 512;  // fp32 words of a PSUM bank: T in tiles of it

struct Args {
  lang::HbmTensor x_t;   // [K, T] bf16
  lang::HbmTensor w;     // [K, N] bf16
  lang::HbmTensor bias;  // [N] fp32
  lang::HbmTensor y_t;   // [N, T] bf16
};

void Kernel(lang::Core& nki, const Args& args) {
  const std::int64_t k_tiles = args.w.shape[0] / kRows, n_size = args.w.shape[1];
  const std::int64_t t_size = args.x_t.shape[1];
  const auto w = nki.RotatingSbuf("w", 2, DType::kBf16, kRows, {k_tiles, kRows});
  const auto x = nki.RotatingSbuf("x", 2, DType::kBf16, kRows, {k_tiles, kColumns});
  const auto bias = nki.RotatingSbuf("bias", 2, DType::kFp32, kRows, {1});
  const auto y = nki.RotatingSbuf("y", 2, DType::kBf16, kRows, {kColumns});
  const auto acc = nki.RotatingPsum("acc", 2, DType::kFp32, kRows, {kColumns});

  const lang::View all_w = args.w.At().SplitRows(kRows);  // [128, K/128, N]
  const lang::View all_x = args.x_t.At().SplitRows(kRows);
  int tile = 0, turn = 0;
  for (std::int64_t n = 0; n < n_size; n += kRows) {
    for (std::int64_t t = 0; t < t_size; t += kColumns, ++tile) {
      if (tile % nki.num_programs() != nki.program_id())
        continue;
      const std::int64_t count = std::min(kColumns, t_size - t);
      const lang::View x_tile = x[turn].Slice(2, 0, count);
      const lang::View sum = acc[turn].Slice(1, 0, count), result = y[turn].Slice(1, 0, count);
      nki.dma_copy(w[turn], all_w.Slice(2, n, kRows));
      nki.dma_copy(x_tile, all_x.Slice(2, t, count));
      nki.dma_copy(bias[turn], args.bias.Columns(n, kRows, 1));
      for (std::int64_t k = 0; k < k_tiles; ++k)
        nki.nc_matmul(sum, w[turn].Pick(1, k), x_tile.Pick(1, k), {.accumulate = k > 0});
      nki.activation(result, Activation::kIdentity, sum, 1.0f, &bias[turn]);
      nki.dma_copy(args.y_t.At().Slice(0, n, kRows).Slice(1, t, count), result);
      ++turn;
    }
  }
}

// In double precision. The machine rounds to fp32 once per row of K, once per tile joined in PSUM
// and once with the bias; the judge adds the rounding to bf16.
reference::ElementsCase Expected(const std::vector<double>& x_t, const std::vector<double>& w,
                                 const std::vector<double>& bias, int k_size, int n_size,
                                 int t_size) {
  reference::ElementsCase result{.columns = t_size, .bf16 = true};
  for (int n = 0; n < n_size; ++n) {
    for (int t = 0; t < t_size; ++t) {
      double sum = bias[n], magnitude = std::fabs(sum);
      for (int k = 0; k < k_size; ++k) {
        const double product = w[k * n_size + n] * x_t[k * t_size + t];
        sum += product;
        magnitude += std::fabs(product);
      }
      const double roundings = k_size + k_size / 128.0 + 1;
      result.expected.push_back(sum);
      result.bound.push_back(std::ldexp(roundings * magnitude, -24));
    }
  }
  return result;
}

class BiasedMatmul final : public Workload {
 public:
  std::vector<Option> options() override {
    return {{"--k", "contraction, in steps of 128", &k_},
            {"--n", "columns of W, in steps of 128", &n_},
            {"--tokens", "columns of x^T", &t_},
            InputTensor("--x", "FILE[#TENSOR][:TYPE]: [K, T]; seeded without", x_file_),
            OutputTensor("--output", "write y^T [N, T]", output_, "y_t")};
  }

  void Prepare(const Setup& setup) override {
    CheckSize("--k", k_, 128, 1 << 20);
    CheckSize("--n", n_, 128, 1 << 20);
    CheckSize("--tokens", t_, 1, 1 << 20);
    x_t_ = TensorFrom("x_t", x_file_, DType::kBf16, {k_, t_}, setup);
    w_ = TensorFrom("w", "", DType::kBf16, {k_, n_}, setup);
    bias_ = TensorFrom("bias", "", DType::kFp32, {n_}, setup);
    tensors_ = Tensors(setup.hbm_bytes(), setup.with_data);
    args_ = {.x_t = tensors_.Input(x_t_),
             .w = tensors_.Input(w_),
             .bias = tensors_.Input(bias_),
             .y_t = tensors_.Output("y_t", DType::kBf16, {n_, t_})};
  }
  ops::Hbm& hbm() override { return tensors_.hbm(); }

  void Run(isa::Sink& sink) const override {
    lang::Core nki(sink);
    Kernel(nki, args_);
  }
  std::string WhatWouldFit(const Setup& setup) const override {
    const std::int64_t fixed = 2 * (4 + 2 * kColumns);         // bias and y
    const std::int64_t per_tile = 2 * 2 * (kRows + kColumns);  // w and x
    const std::int64_t tiles = (setup.limits().sbuf_bytes - fixed) / per_tile;
    return fmt::format("it fits with --k up to {}", tiles * kRows);
  }

  Facts facts() const override {
    return {.rows = {{"biased_matmul",
                      fmt::format("[{1}, {0}]^T x [{1}, {2}] + [{0}], bfloat16", n_, k_, t_)}}};
  }
  std::vector<host::HostTensor> Outputs() override { return {tensors_.Fetch("y_t")}; }
  Verdict Judge() override {
    const auto expected = Expected(ValuesOf(x_t_), ValuesOf(w_), ValuesOf(bias_), k_, n_, t_);
    return {.error = ErrorOf(JudgeElements(expected, ValuesOf(tensors_.Fetch("y_t"))))};
  }

 private:
  int k_ = 256, n_ = 256, t_ = 640;
  std::string x_file_, output_;
  host::HostTensor x_t_, w_, bias_;
  Tensors tensors_;
  Args args_;
};

const Registration kRegistered({.name = "biased_matmul",
                                .help = "y^T = W^T x^T + b, a kernel of one's own",
                                .make = Make<BiasedMatmul>});

}  // namespace own_kernel
