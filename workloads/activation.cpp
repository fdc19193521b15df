// The workload activation: y = f(scale x), element by element, f one of the ScalarEngine's
// functions. The cores take every other tile of 128 rows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "host/join.h"
#include "kernels/lang/core.h"
#include "kernels/moe_cte/activation_ref.h"
#include "kernels/moe_cte/reference_problem.h"
#include "kernels/single/elements_ref.h"
#include "model/support/sim_error.h"
#include "workloads/judged_tensor.h"
#include "workloads/registry.h"
#include "workloads/tensors.h"

namespace bwmm::workloads {
namespace {

constexpr std::int64_t kTileRows = 128;

struct Args {
  lang::HbmTensor x, y;  // [R, C] bf16
  Activation function = Activation::kSilu;
  float scale = 1;
};

void Kernel(lang::Core& nki, const Args& args) {
  const std::int64_t rows = args.x.shape[0], columns = args.x.shape[1];
  const auto x = nki.RotatingSbuf("x", 2, DType::kBf16, kTileRows, {columns});
  const auto y = nki.RotatingSbuf("y", 2, DType::kBf16, kTileRows, {columns});
  int turn = 0;
  for (std::int64_t row = nki.program_id() * kTileRows; row < rows;
       row += nki.num_programs() * kTileRows, ++turn) {
    const std::int64_t count = std::min(kTileRows, rows - row);
    const lang::View in = x[turn].Slice(0, 0, count), out = y[turn].Slice(0, 0, count);
    nki.dma_copy(in, args.x.At().Slice(0, row, count));
    nki.activation(out, args.function, in, args.scale);
    nki.dma_copy(args.y.At().Slice(0, row, count), out);
  }
}

Activation ParseFunction(const std::string& text) {
  std::array<std::string_view, kActivations> names;
  for (int i = 0; i < kActivations; ++i) {
    names[i] = NameOf(static_cast<Activation>(i));
    if (names[i] == text)
      return static_cast<Activation>(i);
  }
  throw SimError("--function {}: allowed {}", text, host::Join(names));
}

class ActivationWorkload final : public Workload {
 public:
  std::vector<Option> options() override {
    return {Count("--rows", "rows of x, up to 65536", rows_),
            Count("--columns", "columns of x, up to 16384", columns_),
            {"--function", "silu, gelu, .. (docs/numerics.md)", &function_},
            {"--scale", "of x, before the function", &scale_},
            InputTensor("--input", "FILE[#TENSOR][:TYPE]: [R, C]; seeded without", input_file_),
            OutputTensor("--output", "write y [R, C]", output_, "y")};
  }

  void Prepare(const Setup& setup) override {
    CheckSize("--rows", rows_, 1, 65536);
    CheckSize("--columns", columns_, 1, 16384);
    args_.function = ParseFunction(function_);
    args_.scale = static_cast<float>(scale_);
    if (!std::isfinite(args_.scale) || (args_.scale == 0) != (scale_ == 0))
      throw SimError("--scale {}: allowed 0 or a finite float32", scale_);
    x_ = TensorFrom("x", input_file_, DType::kBf16, {rows_, columns_}, setup);
    tensors_ = Tensors(setup.hbm_bytes(), setup.with_data);
    args_.x = tensors_.Input(x_);
    args_.y = tensors_.Output("y", DType::kBf16, x_.shape);
  }
  ops::Hbm& hbm() override { return tensors_.hbm(); }
  void Run(isa::Sink& sink) const override {
    lang::Core nki(sink);
    Kernel(nki, args_);
  }

  Facts facts() const override {
    return {.rows = {{"activation", fmt::format("{}({} x), x [{}, {}] bfloat16", function_, scale_,
                                                rows_, columns_)}}};
  }
  std::vector<host::HostTensor> Outputs() override { return {tensors_.Fetch("y")}; }
  // fp32 roundings of scale x and of the function, which is exact to less than one ulp.
  Verdict Judge() override {
    const reference::Function function = FunctionOf(args_.function);
    reference::ElementsCase given{.columns = columns_};
    for (const double x : ValuesOf(x_)) {
      const double scaled = x * double{args_.scale};
      const double value = Evaluate(function, scaled);
      given.expected.push_back(value);
      // Inf is scaled without a rounding.
      const double delta = std::isinf(scaled) ? 0 : std::ldexp(std::fabs(scaled), -24);
      given.bound.push_back(SpreadBound(function, scaled, delta) +
                            std::ldexp(std::fabs(value), -23) + 0x1p-149);
    }
    return {.error = ErrorOf(JudgeElements(given, ValuesOf(tensors_.Fetch("y"))))};
  }

 private:
  int rows_ = 256, columns_ = 512;
  std::string function_ = "silu";
  double scale_ = 1;
  std::string input_file_, output_;
  host::HostTensor x_;
  Tensors tensors_;
  Args args_;
};

const Registration kRegistered({.name = "activation",
                                .help = "y = f(scale x), element by element",
                                .make = Make<ActivationWorkload>});

}  // namespace
}  // namespace bwmm::workloads
