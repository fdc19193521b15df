#include "kernels/single/quantize_ref.h"

#include <algorithm>
#include <cmath>

namespace bwmm::reference {
namespace {

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
  double least = HUGE_VAL;
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

class Judge {
 public:
  Judge(const QuantizeCase& given, const std::vector<std::uint32_t>& words,
        const std::vector<std::uint8_t>& scales)
      : given_(given), words_(words), scales_(scales) {}

  Judgement Run() {
    result_.max_rel = 0;
    for (int g = 0; g < given_.partitions / 8; ++g) {
      for (int c = 0; c < given_.columns; ++c)
        Group(g, c);
    }
    if (result_.count == 0)
      result_.failed_rule = "nothing compared";
    result_.pass = result_.failed_rule.empty();
    result_.max_bound_ratio = result_.pass ? 0 : Judgement::kNone;
    return result_;
  }

 private:
  double Source(int p, int c, int lane) const {
    return given_.source[(std::size_t{1} * p * given_.columns + c) * 4 + lane];
  }

  void Group(int g, int c) {
    double amax = 0;
    bool finite = true;
    for (int i = 0; i < 32; ++i) {
      const double value = Source(8 * g + i / 4, c, i % 4);
      finite = finite && std::isfinite(value);
      amax = std::max(amax, std::fabs(value));
    }
    const int scale = finite ? ExpectedScale(amax, given_.element, given_.ocp_rule) : 0xff;
    const std::uint8_t got_scale = scales_[std::size_t{1} * g * given_.columns + c];
    Require("a scale code that the rule does not give", 8 * g, c, got_scale, scale);
    for (int i = 0; i < 32; ++i) {
      const int p = 8 * g + i / 4;
      const double value = Source(p, c, i % 4);
      const double factor = std::ldexp(1.0, scale - 127);
      const std::uint32_t expected = finite ? NearestCode(given_.element, value / factor) : 0x7f;
      const std::uint32_t code =
          LaneOf(given_.element, words_[std::size_t{1} * p * given_.columns + c], i % 4);
      Require("a code that is not the nearest", p, 4 * c + i % 4, code, expected);
      ++result_.count;
      if (finite && amax > 0) {
        const double back = DecodeOne(given_.element, code) * factor;
        result_.max_rel = std::max(result_.max_rel, std::fabs(back - value) / amax);
      }
    }
  }

  void Require(const char* rule, int row, int column, std::uint32_t got, std::uint32_t expected) {
    if (got == expected || !result_.failed_rule.empty())
      return;
    result_.failed_rule = rule;
    result_.worst = {row, column, static_cast<double>(got), static_cast<double>(expected), 0};
  }

  const QuantizeCase& given_;
  const std::vector<std::uint32_t>& words_;
  const std::vector<std::uint8_t>& scales_;
  Judgement result_;
};

}  // namespace

Judgement JudgeQuantize(const QuantizeCase& given, const std::vector<std::uint32_t>& words,
                        const std::vector<std::uint8_t>& scales) {
  return Judge(given, words, scales).Run();
}

std::vector<double> LanesOf(const std::vector<double>& rows, int k, int columns) {
  std::vector<double> lanes(rows.size());
  for (int r = 0; r < k; ++r) {
    const int first = r / 512 * 512;
    const int partitions = std::min(512, k - first) / 4;
    const int lane = (r - first) / partitions;
    const int p = first / 4 + (r - first) % partitions;
    for (int c = 0; c < columns; ++c) {
      lanes[(std::size_t{1} * p * columns + c) * 4 + lane] = rows[std::size_t{1} * r * columns + c];
    }
  }
  return lanes;
}

}  // namespace bwmm::reference
