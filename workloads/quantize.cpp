// The workload quantize: one quantize_mx of one tile.
#include <fmt/format.h>

#include "kernels/single/quantize_ref.h"
#include "kernels/single/single.h"
#include "model/numerics/scale_group.h"
#include "model/support/sim_error.h"
#include "workloads/judged_tensor.h"
#include "workloads/registry.h"
#include "workloads/tensors.h"

namespace bwmm::workloads {
namespace {

class QuantizeWorkload final : public Workload {
 public:
  std::vector<Option> options() override {
    return {
        {"--partitions", "32, 64, 96 or 128", &partitions_},
        {"--columns", "source elements per partition", &columns_},
        {"--dtype", "bfloat16 or float16", &dtype_},
        {"--target", "float8_e4m3fn_x4 or float8_e5m2_x4", &target_name_},
        {"--rule", "x2 or ocp", &rule_},
        InputTensor("--input", "FILE[#TENSOR][:TYPE]: [P, F]; seeded without", input_file_),
        OutputTensor("--output", "write the x4 words", output_, "words"),
        OutputTensor("--scales", "write the E8M0 scales", scales_output_, "scales"),
    };
  }

  void Prepare(const Setup& setup) override {
    const DType source = DTypeOf("--dtype", dtype_, {DType::kBf16, DType::kFp16});
    target_ = DTypeOf("--target", target_name_, {DType::kFp8E4M3FnX4, DType::kFp8E5M2X4});
    if (rule_ != "x2" && rule_ != "ocp")
      throw SimError("--rule {}: allowed x2, ocp", rule_);
    CheckSize("--partitions", partitions_, kQuadrantPartitions, kTilePartitions);
    CheckSize("--columns", columns_, 4, 16384);
    const std::int64_t p = partitions_, words = columns_ / kMxGroup.lanes;
    input_ = TensorFrom("source", input_file_, source, {p, columns_}, setup);
    tensors_ = Tensors(setup.hbm_bytes(), setup.with_data);
    args_ = {.source = tensors_.Input(input_),
             .words = tensors_.Output("words", target_, {p, words}),
             .scales = tensors_.Output("scales", DType::kE8M0, {p / kMxGroup.rows, words}),
             .rule = rule_ == "x2" ? ScaleRule::kX2 : ScaleRule::kOcp};
  }
  ops::Hbm& hbm() override { return tensors_.hbm(); }
  void Run(isa::Sink& sink) const override { kernels::SingleQuantize(sink, args_); }

  Facts facts() const override {
    return {.rows = {{"quantize", fmt::format("[{}, {}] {} to {}, rule {}", partitions_, columns_,
                                              dtype_, target_name_, rule_)}}};
  }
  std::vector<host::HostTensor> Outputs() override {
    return {tensors_.Fetch("words"), tensors_.Fetch("scales")};
  }
  Verdict Judge() override {
    return {.error = ErrorOf(reference::JudgeQuantize({.element = ElementOf(target_),
                                                       .ocp_rule = args_.rule == ScaleRule::kOcp,
                                                       .source = ValuesOf(input_),
                                                       .partitions = partitions_,
                                                       .columns = columns_ / kMxGroup.lanes},
                                                      CodesOf(tensors_.Fetch("words")),
                                                      ScaleCodesOf(tensors_.Fetch("scales"))))};
  }

 private:
  int partitions_ = 128, columns_ = 512;  // of the source
  std::string dtype_ = "bfloat16", target_name_ = "float8_e4m3fn_x4", rule_ = "x2";
  std::string input_file_, output_, scales_output_;

  DType target_ = DType::kFp8E4M3FnX4;
  host::HostTensor input_;
  Tensors tensors_;
  kernels::QuantizeArgs args_;
};

const Registration kRegistered({.name = "quantize",
                                .help = "one quantize_mx",
                                .make = Make<QuantizeWorkload>,
                                .subcommand = true});

}  // namespace
}  // namespace bwmm::workloads
