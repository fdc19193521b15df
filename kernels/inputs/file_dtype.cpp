#include "kernels/inputs/file_dtype.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "model/support/sim_error.h"

namespace bwmm::inputs {
namespace {

DType ChooseType(const RawTensor& raw, std::optional<DType> as, const std::string& place) {
  if (!as) {
    if (raw.type->plain)
      return *raw.type->plain;
    std::string allowed;
    for (const DType dtype : raw.type->also)
      allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", NameOf(dtype));
    throw SimError("{}: dtype {} is only a carrier, say which type it holds: {}", place,
                   raw.type->name, allowed);
  }
  if (as == raw.type->plain || std::ranges::find(raw.type->also, *as) != raw.type->also.end())
    return *as;
  throw SimError("{}: dtype {} cannot be read as {}", place, raw.type->name, NameOf(*as));
}

template <typename From, typename To>
void Convert(std::span<const std::byte> from, std::vector<std::byte>& to,
             const std::string& place) {
  const std::size_t count = from.size() / sizeof(From);
  to.resize(count * sizeof(To));
  for (std::size_t i = 0; i < count; ++i) {
    From wide;
    std::memcpy(&wide, from.data() + i * sizeof(From), sizeof(From));
    if constexpr (std::is_integral_v<From>) {
      if (wide < std::numeric_limits<To>::min() || wide > std::numeric_limits<To>::max())
        throw SimError("{}: element {} is {}, int32 is needed", place, i, wide);
    }
    const To narrow = static_cast<To>(wide);
    std::memcpy(to.data() + i * sizeof(To), &narrow, sizeof(To));
  }
}

}  // namespace

std::int64_t BytesOfShape(const std::vector<std::int64_t>& shape, int element_bytes,
                          const std::string& place) {
  std::int64_t total = element_bytes;
  for (const std::int64_t extent : shape) {
    if (extent < 0)
      throw SimError("{}: shape has extent {}, 0 or more is needed", place, extent);
    if (__builtin_mul_overflow(total, extent, &total))
      throw SimError("{}: shape overflows 64 bits", place);
  }
  return total;
}

HostTensor Interpret(const RawTensor& raw, std::optional<DType> as, const std::string& place) {
  HostTensor tensor{.name = raw.name, .dtype = ChooseType(raw, as, place), .shape = raw.shape};
  if (raw.type->name == kNpyFloat64) {
    Convert<double, float>(raw.bytes, tensor.data, place);
  } else if (raw.type->name == kNpyInt64 || raw.type->name == kSafetensorsInt64) {
    Convert<std::int64_t, std::int32_t>(raw.bytes, tensor.data, place);
  } else {
    tensor.data.assign(raw.bytes.begin(), raw.bytes.end());
  }
  Check(tensor.has_data(), "a tensor read from a file is complete");
  return tensor;
}

}  // namespace bwmm::inputs
