#include "replay/replay_tensor.h"

#include <cstring>
#include <initializer_list>
#include <random>
#include <span>

#include "model/support/check.h"

namespace bwmm::replay {
namespace {

using Random = std::mt19937_64;

// Layout of a float type in the low bits of a code.
struct FloatLayout {
  int exponent_bits;
  int mantissa_bits;
};

// Sign and mantissa anywhere, the exponent within 3 of that of 1.
std::uint32_t Moderate(const FloatLayout& f, Random& random) {
  const auto word = static_cast<std::uint32_t>(random());
  const std::uint32_t mantissa = word & ((1U << f.mantissa_bits) - 1);
  const std::uint32_t bias = (1U << (f.exponent_bits - 1)) - 1;
  const std::uint32_t low = bias > 3 ? bias - 3 : 0;
  const std::uint32_t exponent = low + (word >> 24) % (bias > 3 ? 6 : 4);
  return ((word >> 31) << (f.exponent_bits + f.mantissa_bits)) | (exponent << f.mantissa_bits) |
         mantissa;
}

// Signed zeros, subnormals, the largest codes, Inf and NaNs with payloads, where the type has them.
std::uint32_t Edge(const FloatLayout& f, Random& random) {
  const int sign = f.exponent_bits + f.mantissa_bits;
  const std::uint32_t top = ((1U << f.exponent_bits) - 1) << f.mantissa_bits;
  const std::uint32_t ones = (1U << f.mantissa_bits) - 1;
  const std::uint32_t magnitudes[] = {0,
                                      1,
                                      ones,
                                      1U << f.mantissa_bits,
                                      top - 1,
                                      top,
                                      top | 1,
                                      top | ((ones + 1) / 2),
                                      top | (ones - 1),  // of e4m3fn the largest number
                                      top | ones};
  const std::uint64_t pick = random();
  return magnitudes[pick % std::size(magnitudes)] | static_cast<std::uint32_t>((pick >> 32) & 1)
                                                        << sign;
}

std::uint32_t FloatCode(const FloatLayout& layout, bool edge, Random& random) {
  return edge ? Edge(layout, random) : Moderate(layout, random);
}

std::uint32_t OneOf(std::initializer_list<std::uint32_t> codes, Random& random) {
  return codes.begin()[random() % codes.size()];
}

// Four lanes of `bits` bits each.
std::uint32_t Word(const FloatLayout& layout, int bits, bool edge, Random& random) {
  std::uint32_t word = 0;
  for (int lane = 0; lane < 4; ++lane)
    word |= FloatCode(layout, edge && random() % 2 == 0, random) << (lane * bits);
  return word;
}

std::uint32_t Code(DType dtype, bool edge, Random& random) {
  switch (dtype) {
    case DType::kFp32:
      return FloatCode({8, 23}, edge, random);
    case DType::kBf16:
      return FloatCode({8, 7}, edge, random);
    case DType::kFp16:
      return FloatCode({5, 10}, edge, random);
    case DType::kFp8E4M3Fn:
    case DType::kFp8E4M3:
      return FloatCode({4, 3}, edge, random);
    case DType::kFp8E5M2:
      return FloatCode({5, 2}, edge, random);
    case DType::kFp8E4M3FnX4:
      return Word({4, 3}, 8, edge, random);
    case DType::kFp8E5M2X4:
      return Word({5, 2}, 8, edge, random);
    case DType::kFp4E2M1FnX4:
      return Word({2, 1}, 4, edge, random);
    case DType::kE8M0:
      return edge ? OneOf({0x00, 0x01, 0xfe, 0xff}, random)
                  : static_cast<std::uint32_t>(120 + random() % 14);
    case DType::kInt32:
      return edge ? OneOf({0x80000000, 0x7fffffff, 0xffffffff, 0}, random)
                  : static_cast<std::uint32_t>(random() % 2001) - 1000;
    case DType::kUint8:
    case DType::kInt16:
    case DType::kUint16:
    case DType::kUint32:
      return static_cast<std::uint32_t>(random());
  }
  Check(false, "every type has codes");
  return 0;
}

}  // namespace

std::vector<std::byte> Filled(DType dtype, std::size_t bytes, std::uint64_t seed, bool edges) {
  constexpr std::size_t kEdgeColumns = 16;
  Random random(seed);
  const std::size_t size = SizeOf(dtype);
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i + size <= bytes; i += size) {
    const bool edge = edges && i / size % kEdgeColumns == 5 && random() % 2 == 0;
    const std::uint32_t code = Code(dtype, edge, random);
    std::memcpy(&data[i], &code, size);
  }
  return data;
}

void PlaceTensor(ops::Hbm& hbm, const ReplayTensor& tensor, bool control_only) {
  const bool with_data = !control_only || tensor.dtype == DType::kInt32;
  ops::HbmTensor& placed =
      hbm.AllocateAt(tensor.address, tensor.name, tensor.dtype, tensor.shape, with_data);
  if (tensor.contents == Contents::kUnwritten)
    placed.written.assign((placed.bytes + 3) / 4, false);
  else if (with_data && tensor.contents == Contents::kBytes)
    placed.data = tensor.bytes;
  else if (with_data)
    placed.data =
        Filled(tensor.dtype, placed.bytes, tensor.seed, tensor.contents == Contents::kEdges);
}

}  // namespace bwmm::replay
