#include "host/npy.h"

#include "host/file_io.h"
#include "host/npy_dictionary.h"
#include "model/support/sim_error.h"

namespace bwmm::host {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// NumPy has no word for bf16, fp8 and the x4 types. They come as unsigned integers, as the opaque
// words that ml_dtypes saves (V2, V1, f1), or under the names of ml_dtypes and of NKI.
constexpr std::array kTypes = std::to_array<FileType>({
    {"<f4", 4, DType::kFp32, {}},
    {"<f2", 2, DType::kFp16, {}},
    {kNpyFloat64, 8, DType::kFp32, {}},
    {"<i4", 4, DType::kInt32, {}},
    {kNpyInt64, 8, DType::kInt32, {}},
    {"|u1", 1, DType::kUint8, kIn8Bits},
    {"<u2", 2, std::nullopt, kIn16Bits},
    {"<u4", 4, std::nullopt, kIn32Bits},
    {"|V1", 1, std::nullopt, kIn8Bits},
    {"<V1", 1, std::nullopt, kIn8Bits},
    {"<f1", 1, std::nullopt, kIn8Bits},
    {"|V2", 2, std::nullopt, kIn16Bits},
    {"<V2", 2, std::nullopt, kIn16Bits},
    {"|V4", 4, std::nullopt, kIn32Bits},
    {"<V4", 4, std::nullopt, kIn32Bits},
    {"bfloat16", 2, DType::kBf16, {}},
    {"float8_e4m3fn", 1, DType::kFp8E4M3Fn, {}},
    {"float8_e4m3", 1, DType::kFp8E4M3, {}},
    {"float8_e5m2", 1, DType::kFp8E5M2, {}},
    {"float8_e8m0fnu", 1, DType::kE8M0, {}},
    {"float8_e4m3fn_x4", 4, DType::kFp8E4M3FnX4, {}},
    {"float8_e5m2_x4", 4, DType::kFp8E5M2X4, {}},
    {"float4_e2m1fn_x4", 2, DType::kFp4E2M1FnX4, {}},
});

std::string_view NameInNpy(DType dtype) {
  switch (dtype) {
    case DType::kFp32:
      return "<f4";
    case DType::kFp16:
      return "<f2";
    case DType::kInt32:
      return "<i4";
    default:
      return SizeOf(dtype) == 1 ? "|u1" : SizeOf(dtype) == 2 ? "<u2" : "<u4";
  }
}

const FileType& TypeOf(std::string_view descr, const std::string& place) {
  std::string allowed;
  for (const FileType& type : kTypes) {
    if (type.name == descr)
      return type;
    allowed += fmt::format("{}{}", allowed.empty() ? "" : " ", type.name);
  }
  throw SimError("{}: descr '{}', allowed: {}", place, descr, allowed);
}

}  // namespace

RawTensor ParseNpy(std::span<const std::byte> file, const std::string& place) {
  if (!TextOf(file).starts_with(kMagic))
    throw SimError("{}: does not begin with the .npy magic \\x93NUMPY", place);
  if (file.size() < 10)
    throw SimError("{}: {} bytes, truncated inside the .npy preamble", place, file.size());
  const int major = std::to_integer<int>(file[6]);
  if (major < 1 || major > 3)
    throw SimError("{}: .npy version {}, 1 to 3 are known", place, major);
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t header_at = 8 + length_bytes;
  if (file.size() < header_at)
    throw SimError("{}: {} bytes, truncated inside the .npy preamble", place, file.size());
  std::size_t header_bytes = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    header_bytes |= std::to_integer<std::size_t>(file[8 + i]) << (8 * i);
  if (file.size() - header_at < header_bytes) {
    throw SimError("{}: header is {} bytes long, the file has {} left", place, header_bytes,
                   file.size() - header_at);
  }
  const NpyDictionary header =
      ReadNpyDictionary(TextOf(file.subspan(header_at, header_bytes)), place);
  if (header.fortran_order)
    throw SimError("{}: fortran_order is True, only C order is read", place);
  RawTensor raw{.name = "",
                .type = &TypeOf(header.descr, place),
                .shape = header.shape,
                .bytes = file.subspan(header_at + header_bytes)};
  const std::int64_t wanted = BytesOfShape(raw.shape, raw.type->bytes, place);
  if (std::ssize(raw.bytes) != wanted) {
    throw SimError("{}: {} bytes of elements, shape and descr need {}", place, raw.bytes.size(),
                   wanted);
  }
  return raw;
}

std::string NpyHeader(const HostTensor& tensor) {
  std::string shape;
  for (const std::int64_t extent : tensor.shape)
    shape += fmt::format("{},", extent);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 NameInNpy(tensor.dtype), shape);
  constexpr std::size_t kPreamble = 10;
  text.append(63 - (kPreamble + text.size()) % 64, ' ');
  text += '\n';
  Check(text.size() <= 0xffff, "a version 1 header fits 16 bits");
  std::string header(kMagic);
  header += '\x01';
  header += '\x00';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace bwmm::host
