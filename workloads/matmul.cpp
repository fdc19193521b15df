// The workload matmul: out = stationary^T moving, one tile of it on one core.
#include <fmt/format.h>

#include <optional>

#include "kernels/single/matmul_ref.h"
#include "kernels/single/single.h"
#include "model/numerics/scale_group.h"
#include "model/support/sim_error.h"
#include "workloads/judged_tensor.h"
#include "workloads/matmul_operand.h"
#include "workloads/registry.h"
#include "workloads/tensors.h"

namespace bwmm::workloads {
namespace {

// Passes through the PE array; SBUF, which holds all of them, sets a lower limit for wide ones.
constexpr int kMaxPasses = 32;

DType OperandType(std::string_view option, const std::string& own, const std::string& both) {
  return DTypeOf(own.empty() ? "--dtype" : option, own.empty() ? both : own,
                 {DType::kBf16, DType::kFp16, DType::kFp32, DType::kFp8E4M3Fn, DType::kFp8E4M3,
                  DType::kFp8E5M2, DType::kFp8E4M3FnX4, DType::kFp8E5M2X4, DType::kFp4E2M1FnX4});
}

class MatmulWorkload final : public Workload {
 public:
  std::vector<Option> options() override {
    return {
        {"--k", "contraction: passes of 128, MX of 512", &k_},
        {"--m", "stationary columns, up to 128", &m_},
        {"--n", "moving columns, up to 4096", &n_},
        {"--dtype", "type of both operands; floats are quantised to x4 types", &dtype_},
        {"--stationary-dtype", "type of the stationary operand", &stationary_dtype_},
        {"--moving-dtype", "type of the moving operand", &moving_dtype_},
        {"--psum-dtype", "float32 or bfloat16", &psum_dtype_},
        InputTensor("--stationary",
                    "FILE[#TENSOR][:TYPE]: [K, M], or x4 words [K/4, M]; seeded without",
                    stationary_file_),
        InputTensor("--moving", "[K, N], or x4 words [K/4, N]; seeded without", moving_file_),
        InputTensor("--stationary-scales", "[K/32, M] of x4 words", stationary_scales_),
        InputTensor("--moving-scales", "[K/32, N] of x4 words", moving_scales_),
        OutputTensor("--output", "write [M, N] in PSUM's type", output_, "out"),
    };
  }

  void Prepare(const Setup& setup) override;
  ops::Hbm& hbm() override { return tensors_.hbm(); }
  void Run(isa::Sink& sink) const override { kernels::SingleMatmul(sink, args_); }
  Facts facts() const override;
  std::vector<host::HostTensor> Outputs() override { return {tensors_.Fetch("out")}; }
  Verdict Judge() override { return {.error = ErrorOf(Judged())}; }

 private:
  bool mx() const { return IsX4(left_); }
  reference::Judgement Judged();

  int k_ = 128, m_ = 128, n_ = 512;
  std::string dtype_ = "bfloat16";               // of both operands
  std::string stationary_dtype_, moving_dtype_;  // of one of them; empty: dtype
  std::string psum_dtype_ = "float32";
  // x4 types take words [K/4, C] with scales [K/32, C], or, but for fp4, a float tensor [K, C],
  // which is quantised online.
  std::string stationary_file_, moving_file_, stationary_scales_, moving_scales_;
  std::string output_;

  DType left_ = DType::kBf16, right_ = DType::kBf16, psum_ = DType::kFp32;
  std::optional<MatmulOperand> stationary_, moving_;
  Tensors tensors_;
  kernels::MatmulArgs args_;
};

void MatmulWorkload::Prepare(const Setup& setup) {
  left_ = OperandType("--stationary-dtype", stationary_dtype_, dtype_);
  right_ = OperandType("--moving-dtype", moving_dtype_, dtype_);
  psum_ = DTypeOf("--psum-dtype", psum_dtype_, {DType::kFp32, DType::kBf16});
  if (IsX4(right_) != mx())
    throw SimError("--moving-dtype: {}, allowed {} beside {}", NameOf(right_),
                   mx() ? "x4 types" : "types that are not x4", NameOf(left_));
  if ((left_ == DType::kFp32) != (right_ == DType::kFp32))
    throw SimError("--moving-dtype: {}, allowed {} beside {}", NameOf(right_),
                   left_ == DType::kFp32 ? "float32" : "types other than float32", NameOf(left_));
  CheckSize("--k", k_, mx() ? kQuadrantPartitions * kMxGroup.lanes : 1,
            kMaxPasses * (mx() ? kMxGroup.tile_elements() : kTilePartitions));
  CheckSize("--m", m_, mx() ? 2 : 1, 128);
  CheckSize("--n", n_, 1, 4096);
  stationary_.emplace(OperandOptions{.name = "stationary",
                                     .dtype = left_,
                                     .tensor = stationary_file_,
                                     .scales = stationary_scales_,
                                     .k = k_,
                                     .columns = m_},
                      setup);
  moving_.emplace(OperandOptions{.name = "moving",
                                 .dtype = right_,
                                 .tensor = moving_file_,
                                 .scales = moving_scales_,
                                 .k = k_,
                                 .columns = n_},
                  setup);
  tensors_ = Tensors(setup.hbm_bytes(), setup.with_data);
  args_.stationary = stationary_->Place(tensors_);
  args_.moving = moving_->Place(tensors_);
  args_.out = tensors_.Output("out", psum_, {m_, n_});
}

Facts MatmulWorkload::facts() const {
  const std::string types = left_ == right_ ? std::string(NameOf(left_))
                                            : fmt::format("{} x {}", NameOf(left_), NameOf(right_));
  return {.rows = {{"matmul", fmt::format("[{}, {}]^T x [{}, {}], {}{}", k_, m_, k_, n_, types,
                                          psum_ == DType::kBf16 ? ", PSUM bfloat16" : "")}}};
}

reference::Judgement MatmulWorkload::Judged() {
  for (const auto* operand : {&stationary_, &moving_}) {
    const auto judged = (*operand)->JudgeOnline(tensors_);
    if (judged && !judged->pass)
      return *judged;
  }
  return reference::JudgeMatmul({.stationary = stationary_->Values(tensors_),
                                 .moving = moving_->Values(tensors_),
                                 .k = k_,
                                 .m = m_,
                                 .n = n_,
                                 .pass_rows = mx() ? 512 : 128,
                                 .group_rows = mx() ? 32 : 1,
                                 .bf16_psum = psum_ == DType::kBf16,
                                 .fp32 = left_ == DType::kFp32},
                                ValuesOf(tensors_.Fetch("out")));
}

const Registration kRegistered({.name = "matmul",
                                .help = "one matmul: out = stationary^T moving",
                                .make = Make<MatmulWorkload>,
                                .subcommand = true});

}  // namespace
}  // namespace bwmm::workloads
