#include "host/packed_experts.h"

#include <algorithm>
#include <cstring>

#include "host/file_io.h"
#include "host/join.h"
#include "host/safetensors.h"
#include "host/tensor_file.h"
#include "model/support/sim_error.h"

namespace bwmm::host {
namespace {

// Whether one byte, or one element of 2 or 4 bytes, stands for a number.
bool IsFinite(DType dtype, std::uint32_t bits) {
  switch (dtype) {
    case DType::kE8M0:
      return bits != 0xff;
    case DType::kFp8E4M3Fn:
    case DType::kFp8E4M3FnX4:
      return (bits & 0x7f) != 0x7f;
    case DType::kFp8E5M2:
    case DType::kFp8E5M2X4:
      return (bits & 0x7f) < 0x7c;
    case DType::kBf16:
      return (bits & 0x7f80) != 0x7f80;
    case DType::kFp32:
      return (bits & 0x7f800000) != 0x7f800000;
    default:
      return true;
  }
}

void RequireFinite(const HostTensor& tensor, const std::string& place) {
  const std::size_t step = IsX4(tensor.dtype) ? 1 : SizeOf(tensor.dtype);
  for (std::size_t at = 0; at < tensor.data.size(); at += step) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &tensor.data[at], step);
    if (!IsFinite(tensor.dtype, bits)) {
      throw SimError("{}: element {} is the {} code {:0{}x}, finite weights are needed", place,
                     at / step, NameOf(tensor.dtype), bits, 2 * step);
    }
  }
}

void Fill(HostTensor& declared, const std::filesystem::path& path) {
  HostTensor tensor = LoadTensor(path, declared.name, declared.dtype);
  const std::string place = fmt::format("{}: tensor '{}'", path.string(), declared.name);
  if (tensor.shape != declared.shape) {
    throw SimError("{}: shape [{}], packed weights of this layer have [{}]", place,
                   Join(tensor.shape), Join(declared.shape));
  }
  RequireFinite(tensor, place);
  declared.data = std::move(tensor.data);
}

}  // namespace

bool HoldsPackedExperts(const std::filesystem::path& path) {
  if (path.extension() != ".safetensors")
    return false;
  const std::vector<std::byte> file = ReadFile(path);
  return std::ranges::any_of(ParseSafetensors(file, path.string()),
                             [](const RawTensor& raw) { return raw.name == "gate_up_weight"; });
}

void LoadPackedExperts(LayerTensors& layer, const std::filesystem::path& path) {
  Fill(layer.gate_up_weight, path);
  Fill(layer.down_weight, path);
  for (auto* tensor :
       {&layer.gate_up_scale, &layer.down_scale, &layer.gate_up_bias, &layer.down_bias}) {
    if (*tensor)
      Fill(**tensor, path);
  }
}

}  // namespace bwmm::host
