#include "host/file_dtype.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "model/support/sim_error.h"

namespace bwmm::host {
namespace {

bool Carries(const FileType& type, DType dtype) {
  return std::ranges::find(type.also, dtype) != type.also.end();
}

DType ChooseType(const RawTensor& raw, const WantedType& wanted, const std::string& place) {
  const FileType& type = *raw.type;
  if (raw.named && !Carries(type, *raw.named))
    throw SimError("{}: dtype {} does not hold {}, which the file names", place, type.name,
                   NameOf(*raw.named));
  const std::optional<DType> own = raw.named ? raw.named : type.plain;
  if (wanted.as) {
    if (wanted.as == own || (!raw.named && Carries(type, *wanted.as)))
      return *wanted.as;
    throw SimError("{}: dtype {} cannot be read as {}", place, raw.named ? NameOf(*own) : type.name,
                   NameOf(*wanted.as));
  }
  if (raw.named)
    return *own;
  for (const DType dtype : wanted.carried) {
    if (Carries(type, dtype))
      return dtype;
  }
  if (own)
    return *own;
  std::string allowed;
  for (const DType dtype : type.also)
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", NameOf(dtype));
  throw SimError("{}: dtype {} is only a carrier, say which type it holds: {}", place, type.name,
                 allowed);
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

HostTensor Interpret(const RawTensor& raw, const WantedType& wanted, const std::string& place) {
  HostTensor tensor{.name = raw.name, .dtype = ChooseType(raw, wanted, place), .shape = raw.shape};
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

}  // namespace bwmm::host
