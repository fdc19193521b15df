#include "kernels/single/single_ref.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace bwmm::reference {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// | sign | exponent | mantissa | with subnormals, no code kept for Inf or NaN.
double Fields(std::uint32_t code, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(code >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double fraction = code & ((1u << mantissa_bits) - 1);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa_bits)
                    : std::ldexp(fraction + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  return (code >> (exponent_bits + mantissa_bits) & 1) != 0 ? -magnitude : magnitude;
}

// The same with the largest exponent kept for Inf and NaN.
double Ieee(std::uint32_t code, int exponent_bits, int mantissa_bits) {
  const std::uint32_t all = (1u << exponent_bits) - 1;
  if ((code >> mantissa_bits & all) != all)
    return Fields(code, exponent_bits, mantissa_bits);
  if ((code & ((1u << mantissa_bits) - 1)) != 0)
    return kNan;
  return (code >> (exponent_bits + mantissa_bits) & 1) != 0 ? -kInf : kInf;
}

double DecodeOne(Element element, std::uint32_t code) {
  switch (element) {
    case Element::kBf16:
      return Ieee(code, 8, 7);
    case Element::kFp16:
      return Ieee(code, 5, 10);
    case Element::kE4M3Fn:
      return (code & 0x7f) == 0x7f ? kNan : Fields(code, 4, 3);
    case Element::kE4M3:
      return Ieee(code, 4, 3);
    case Element::kE5M2:
      return Ieee(code, 5, 2);
    case Element::kE2M1:
      return Fields(code, 2, 1);
  }
  return kNan;
}

double Scale(std::uint8_t code) {
  return code == 0xff ? kNan : std::ldexp(1.0, code - 127);
}

std::uint32_t LaneOf(std::uint32_t word, int lane) {
  return word >> (8 * lane) & 0xff;
}

// The exact expected scale code: exponent of the largest magnitude, moved by the rule, at least 0.
int ExpectedScale(double amax, Element element, bool ocp_rule) {
  if (amax == 0)
    return 0;
  const int emax = element == Element::kE5M2 ? 15 : 8;
  int exponent = 0;
  std::frexp(amax, &exponent);  // amax = f * 2^exponent, f in [1/2, 1)
  return std::clamp(exponent - 1 - (ocp_rule ? emax : emax - 1) + 127, 0, 254);
}

// Nearest finite code by trying all of one sign; ties to the even code.
std::uint32_t NearestCode(Element element, double value) {
  const std::uint32_t sign = std::signbit(value) ? 0x80 : 0;
  std::uint32_t best = 0;
  double least = kInf;
  for (std::uint32_t code = 0; code < 0x80; ++code) {
    const double candidate = DecodeOne(element, code);
    if (!std::isfinite(candidate))
      continue;
    const double distance = std::fabs(candidate - std::fabs(value));
    if (distance < least || (distance == least && code % 2 == 0)) {
      least = distance;
      best = code;
    }
  }
  return best | sign;
}

}  // namespace

std::vector<double> Decode(Element element, const std::vector<std::uint32_t>& codes) {
  std::vector<double> values(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i)
    values[i] = DecodeOne(element, codes[i]);
  return values;
}

Judgement JudgeMatmul(const std::vector<double>& stationary, const std::vector<double>& moving,
                      int k, int m, int n, int roundings, const float* out) {
  Judgement result;
  double largest = 0;
  double worst = 0;
  for (int i = 0; i < m; ++i) {
    double row_largest = 0;
    for (int j = 0; j < n; ++j)
      row_largest = std::max<double>(row_largest, std::fabs(out[std::size_t{1} * i * n + j]));
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      double magnitude = 0;
      for (int r = 0; r < k; ++r) {
        const double product =
            stationary[std::size_t{1} * r * m + i] * moving[std::size_t{1} * r * n + j];
        sum += product;
        magnitude += std::fabs(product);
      }
      const double got = out[std::size_t{1} * i * n + j];
      ++result.count;
      if (std::isnan(sum) || std::isnan(got)) {
        if (std::isnan(sum) != std::isnan(got))
          result.max_bound_ratio = kInf;
        continue;
      }
      if (std::isinf(sum) || std::isinf(got)) {
        // Finite sums beyond fp32's range are Inf on the machine.
        const bool same =
            std::signbit(sum) == std::signbit(got) && std::fabs(sum) >= 0x1.fffffep127;
        if (!same)
          result.max_bound_ratio = kInf;
        continue;
      }
      const double difference = std::fabs(got - sum);
      const double bound = roundings * (0x1p-24 * (1 + 0x1p-20) * magnitude + 0x1p-149);
      int exponent = 0;
      std::frexp(std::max(std::fabs(sum), row_largest / 256), &exponent);
      result.max_ulp =
          std::max(result.max_ulp, difference / std::ldexp(1.0, std::max(exponent - 24, -149)));
      result.max_bound_ratio = std::max(result.max_bound_ratio, difference / bound);
      largest = std::max(largest, std::fabs(sum));
      worst = std::max(worst, difference);
    }
  }
  result.max_rel = largest > 0 ? worst / largest : 0;
  result.pass = result.count > 0 && result.max_bound_ratio <= 1;
  return result;
}

std::vector<double> DecodeMx(Element element, const std::uint32_t* words,
                             const std::uint8_t* scales, int partitions, int columns) {
  std::vector<double> values(std::size_t{4} * partitions * columns);
  for (int p = 0; p < partitions; ++p) {
    for (int c = 0; c < columns; ++c) {
      const double scale = Scale(scales[p / 8 * columns + c]);
      for (int lane = 0; lane < 4; ++lane) {
        values[(std::size_t{1} * lane * partitions + p) * columns + c] =
            DecodeOne(element, LaneOf(words[p * columns + c], lane)) * scale;
      }
    }
  }
  return values;
}

Judgement JudgeQuantize(Element element, bool ocp_rule, const std::vector<double>& source,
                        const std::uint32_t* words, const std::uint8_t* scales, int partitions,
                        int columns) {
  Judgement result;
  const auto at = [&](int p, int c, int lane) {
    return source[(std::size_t{1} * p * columns + c) * 4 + lane];
  };
  bool right = true;
  for (int g = 0; g < partitions / 8; ++g) {
    for (int c = 0; c < columns; ++c) {
      double amax = 0;
      bool finite = true;
      for (int i = 0; i < 32; ++i) {
        const double value = at(8 * g + i / 4, c, i % 4);
        finite = finite && std::isfinite(value);
        amax = std::max(amax, std::fabs(value));
      }
      const int scale = finite ? ExpectedScale(amax, element, ocp_rule) : 0xff;
      right = right && scales[g * columns + c] == scale;
      for (int i = 0; i < 32; ++i) {
        const int p = 8 * g + i / 4;
        const std::uint32_t expected =
            finite ? NearestCode(element, at(p, c, i % 4) / std::ldexp(1.0, scale - 127)) : 0x7f;
        right = right && LaneOf(words[p * columns + c], i % 4) == expected;
        ++result.count;
        if (finite && amax > 0) {
          const double back = DecodeOne(element, LaneOf(words[p * columns + c], i % 4)) *
                              std::ldexp(1.0, scale - 127);
          result.max_rel = std::max(result.max_rel, std::fabs(back - at(p, c, i % 4)) / amax);
        }
      }
    }
  }
  result.max_bound_ratio = right ? 0 : kInf;
  result.pass = right && result.count > 0;
  return result;
}

}  // namespace bwmm::reference
