#include "workloads/judged_tensor.h"

#include <fmt/format.h>

#include <cstring>

#include "model/support/sim_error.h"

namespace bwmm::workloads {

using reference::Element;

void CheckSize(std::string_view name, int value, int step, int max) {
  if (value < step || value > max || value % step != 0) {
    throw SimError("{}: {}, allowed {} to {}{}", name, value, step, max,
                   step == 1 ? "" : fmt::format(" in steps of {}", step));
  }
}

DType DTypeOf(std::string_view option, const std::string& text,
              std::initializer_list<DType> allowed) {
  std::string names;
  for (const DType type : allowed) {
    if (NameOf(type) == text)
      return type;
    names.append(names.empty() ? "" : ", ").append(NameOf(type));
  }
  throw SimError("{}: {}, allowed {}", option, text, names);
}

Element ElementOf(DType type) {
  switch (type) {
    case DType::kFp16:
      return Element::kFp16;
    case DType::kFp8E4M3Fn:
    case DType::kFp8E4M3FnX4:
      return Element::kE4M3Fn;
    case DType::kFp8E4M3:
      return Element::kE4M3;
    case DType::kFp8E5M2:
    case DType::kFp8E5M2X4:
      return Element::kE5M2;
    case DType::kFp4E2M1FnX4:
      return Element::kE2M1;
    default:
      return Element::kBf16;
  }
}

std::vector<std::uint32_t> CodesOf(const host::HostTensor& tensor) {
  const std::size_t bytes = SizeOf(tensor.dtype);
  std::vector<std::uint32_t> codes(tensor.elements());
  for (std::size_t i = 0; i < codes.size(); ++i)
    std::memcpy(&codes[i], &tensor.data[i * bytes], bytes);
  return codes;
}

std::vector<std::uint8_t> ScaleCodesOf(const host::HostTensor& tensor) {
  const auto bytes = tensor.words<std::uint8_t>();
  return {bytes.begin(), bytes.end()};
}

namespace {

template <typename Word>
std::vector<double> NumbersOf(const host::HostTensor& tensor) {
  const auto words = tensor.words<Word>();
  return {words.begin(), words.end()};
}

}  // namespace

std::vector<double> ValuesOf(const host::HostTensor& tensor) {
  switch (tensor.dtype) {
    case DType::kFp32:
      return NumbersOf<float>(tensor);
    case DType::kInt32:
      return NumbersOf<std::int32_t>(tensor);
    case DType::kUint32:
      return NumbersOf<std::uint32_t>(tensor);
    case DType::kInt16:
      return NumbersOf<std::int16_t>(tensor);
    case DType::kUint16:
      return NumbersOf<std::uint16_t>(tensor);
    case DType::kUint8:
      return NumbersOf<std::uint8_t>(tensor);
    case DType::kFp8E4M3FnX4:
    case DType::kFp8E5M2X4:
    case DType::kFp4E2M1FnX4:
    case DType::kE8M0:
      throw SimError("tensor {}: {} has no values alone, allowed a type of one number", tensor.name,
                     NameOf(tensor.dtype));
    default:
      break;
  }
  return reference::Decode(ElementOf(tensor.dtype), CodesOf(tensor));
}

ErrorReport ErrorOf(const reference::Judgement& judged) {
  ErrorReport report{.max_row_rel = judged.max_rel,
                     .max_ulp_bf16 = judged.max_ulp,
                     .max_bound_ratio = judged.max_bound_ratio,
                     .compared = judged.count,
                     .failed_rule = judged.failed_rule,
                     .pass = judged.pass};
  if (judged.worst) {
    report.worst =
        ErrorReport::Element{judged.worst->row, judged.worst->column, judged.worst->value,
                             judged.worst->expected, judged.worst->bound};
  }
  return report;
}

}  // namespace bwmm::workloads
