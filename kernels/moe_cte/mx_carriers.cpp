#include "kernels/moe_cte/mx_carriers.h"

#include "model/support/sim_error.h"

namespace bwmm::kernels {
namespace {

DType CarriedType(const lang::HbmTensor& weight, const std::optional<DType>& weight_dtype) {
  switch (weight.dtype) {
    case DType::kUint16:
    case DType::kInt16:
      return DType::kFp4E2M1FnX4;
    case DType::kUint32:
    case DType::kInt32:
      return weight_dtype.value_or(DType::kFp8E4M3FnX4);
    default:
      return weight.dtype;
  }
}

}  // namespace

MoeCteArgs WithMxWeights(const MoeCteArgs& args) {
  const auto& wanted = args.weight_dtype;
  if (wanted && *wanted != DType::kFp8E4M3FnX4 && *wanted != DType::kFp8E5M2X4)
    throw SimError("weight_dtype {}, allowed float8_e4m3fn_x4, float8_e5m2_x4", NameOf(*wanted));
  MoeCteArgs result = args;
  const DType type = CarriedType(args.gate_up_proj_weight, wanted);
  for (lang::HbmTensor* weight : {&result.gate_up_proj_weight, &result.down_proj_weight}) {
    if (SizeOf(weight->dtype) != SizeOf(type))
      throw SimError("tensor {} is {}, allowed a carrier as wide as {}", weight->name,
                     NameOf(weight->dtype), NameOf(type));
    weight->dtype = type;
  }
  return result;
}

}  // namespace bwmm::kernels
