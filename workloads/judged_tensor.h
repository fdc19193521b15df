// Between the tensors of a run and a reference: options checked, codes and values as the judge
// takes them, its words as the report has them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "host/host_tensor.h"
#include "kernels/single/decode_ref.h"
#include "kernels/single/judgement_ref.h"
#include "workloads/run_report.h"

namespace bwmm::workloads {

void CheckSize(std::string_view name, int value, int step, int max);
// The type called `text`, one of `allowed`.
DType DTypeOf(std::string_view option, const std::string& text,
              std::initializer_list<DType> allowed);

reference::Element ElementOf(DType type);
// Words of 1, 2 or 4 bytes as integers.
std::vector<std::uint32_t> CodesOf(const host::HostTensor& tensor);
std::vector<std::uint8_t> ScaleCodesOf(const host::HostTensor& tensor);
// The elements as numbers. SimError for packed words and for scales.
std::vector<double> ValuesOf(const host::HostTensor& tensor);

ErrorReport ErrorOf(const reference::Judgement& judged);

}  // namespace bwmm::workloads
