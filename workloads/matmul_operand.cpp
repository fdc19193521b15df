#include "workloads/matmul_operand.h"

#include "host/random.h"
#include "host/tensor_file.h"
#include "kernels/single/decode_ref.h"
#include "kernels/single/quantize_ref.h"
#include "model/numerics/scale_group.h"
#include "model/support/sim_error.h"
#include "workloads/judged_tensor.h"
#include "workloads/tensors.h"

namespace bwmm::workloads {

using host::HostTensor;

MatmulOperand::MatmulOperand(const OperandOptions& options, const Setup& setup)
    : options_(options) {
  const auto& [name, dtype, tensor, scales, k, columns] = options_;
  if (IsX4(dtype)) {
    LoadX4(setup);
    return;
  }
  if (!scales.empty())
    throw SimError("--{}-scales {}: {} has no scales, allowed with x4 types", name, scales,
                   NameOf(dtype));
  tensor_ = TensorFrom(name, tensor, dtype, {k, columns}, setup);
}

void MatmulOperand::LoadX4(const Setup& setup) {
  const auto& [name, dtype, tensor, scales, k, columns] = options_;
  const bool fp4 = dtype == DType::kFp4E2M1FnX4;
  if (tensor.empty()) {
    if (!scales.empty())
      throw SimError("--{0}-scales {1}: needs x4 words in --{0}", name, scales);
    if (fp4)
      MakeWords(setup);
    else
      tensor_ = TensorFrom(name, "", DType::kBf16, {k, columns}, setup);
    return;
  }
  // Words if the file has them, else values to quantise.
  HostTensor loaded = host::LoadTensor(host::ParseTensorSpec(tensor), {dtype, DType::kBf16});
  if (loaded.dtype != dtype) {
    if (fp4)
      throw SimError("--{} {}: dtype {}, allowed {} words, for quantize_mx makes none", name,
                     tensor, NameOf(loaded.dtype), NameOf(dtype));
    if (!scales.empty())
      throw SimError("--{0}-scales {1}: needs x4 words in --{0}, {2} has {3}", name, scales, tensor,
                     NameOf(loaded.dtype));
    CheckUsed(tensor, setup);
    tensor_ = Fitted(std::move(loaded), DType::kBf16, {k, columns}, tensor);
    tensor_.name = name;
    return;
  }
  if (scales.empty())
    throw SimError("--{0} {1}: {2} words need --{0}-scales", name, tensor, NameOf(dtype));
  tensor_ = Fitted(std::move(loaded), dtype, {kMxGroup.WordRows(k), columns}, tensor);
  tensor_.name = name;
  scales_ = Fitted(host::LoadTensor(host::ParseTensorSpec(scales), {DType::kE8M0}), DType::kE8M0,
                   {kMxGroup.ScalesOf(k), columns}, scales);
  scales_->name = name + "_scales";
}

// Every fp4 code occurs; scales are within a factor of 4 of 1.
void MatmulOperand::MakeWords(const Setup& setup) {
  const auto& [name, dtype, tensor, scales, k, columns] = options_;
  tensor_ = HostTensor::Zeros(name, dtype, {kMxGroup.WordRows(k), columns});
  scales_ = HostTensor::Zeros(name + "_scales", DType::kE8M0, {kMxGroup.ScalesOf(k), columns});
  if (!setup.with_data)
    return;
  host::Random random(setup.seed.Draw(), name.size());
  for (std::uint16_t& word : tensor_.words<std::uint16_t>())
    word = static_cast<std::uint16_t>(random.Bits());
  for (std::uint8_t& scale : scales_->words<std::uint8_t>())
    scale = static_cast<std::uint8_t>(125 + random.Bits() % 5);
}

kernels::MatmulOperand MatmulOperand::Place(Tensors& tensors) const {
  const auto& [name, dtype, tensor, scales, k, columns] = options_;
  kernels::MatmulOperand placed{.tensor = tensors.Input(tensor_)};
  if (scales_)
    placed.scales = tensors.Input(*scales_);
  if (online()) {
    placed.online = kernels::MatmulOperand::Online{
        .words = tensors.Output(name + "_words", dtype, {kMxGroup.WordRows(k), columns}),
        .scales = tensors.Output(name + "_scales", DType::kE8M0, {kMxGroup.ScalesOf(k), columns})};
  }
  return placed;
}

std::vector<double> MatmulOperand::Values(Tensors& tensors) const {
  if (!IsX4(options_.dtype))
    return ValuesOf(tensor_);
  const HostTensor words = online() ? tensors.Fetch(options_.name + "_words") : tensor_;
  const HostTensor scales = online() ? tensors.Fetch(options_.name + "_scales") : *scales_;
  return reference::DecodeMx(ElementOf(options_.dtype), CodesOf(words), ScaleCodesOf(scales),
                             static_cast<int>(options_.k / 4), static_cast<int>(options_.columns));
}

std::optional<reference::Judgement> MatmulOperand::JudgeOnline(Tensors& tensors) const {
  if (!online())
    return std::nullopt;
  const int k = static_cast<int>(options_.k);
  const int columns = static_cast<int>(options_.columns);
  reference::Judgement judged =
      reference::JudgeQuantize({.element = ElementOf(options_.dtype),
                                .source = reference::LanesOf(ValuesOf(tensor_), k, columns),
                                .partitions = k / 4,
                                .columns = columns},
                               CodesOf(tensors.Fetch(options_.name + "_words")),
                               ScaleCodesOf(tensors.Fetch(options_.name + "_scales")));
  if (!judged.pass)
    judged.failed_rule = options_.name + " quantised: " + judged.failed_rule;
  return judged;
}

}  // namespace bwmm::workloads
