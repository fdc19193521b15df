// What bwmm matmul and bwmm quantize share: the run and the judge's words.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/inputs/host_tensor.h"
#include "kernels/single/decode_ref.h"
#include "kernels/single/judgement_ref.h"
#include "model/app/run_options.h"
#include "model/app/run_report.h"

namespace bwmm::app {

void CheckSize(std::string_view name, int value, int step, int max);
// The type called `text`, one of `allowed`.
DType DTypeOf(std::string_view option, const std::string& text,
              std::initializer_list<DType> allowed);

reference::Element ElementOf(DType type);
// Words of 1, 2 or 4 bytes as integers.
std::vector<std::uint32_t> CodesOf(const inputs::HostTensor& tensor);
std::vector<std::uint8_t> ScaleCodesOf(const inputs::HostTensor& tensor);
// The elements of a float tensor of at most 16 bits.
std::vector<double> ValuesOf(const inputs::HostTensor& tensor);

ErrorReport ErrorOf(const reference::Judgement& judged);

RunReport RunSingle(const CommonOptions& common, std::string command, ops::Hbm& hbm,
                    const ops::Program& program);
}  // namespace bwmm::app
