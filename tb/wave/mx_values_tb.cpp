// MX operands, group sums and scales as a person reads them in a waveform, for every pair of
// formats: what a code means is decoded here from the format's fields.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "model/engine/engine_trace.h"
#include "tb/wave/vcd.h"

namespace bwmm::engine {
namespace {

using tb::Vcd;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kLanes = 4;
constexpr int kRows = 8;  // one group
constexpr int kCols = 4;  // one slice of the load
constexpr int kProbeRow = 5;
constexpr int kProbeCol = 1;

struct Format {
  DType type;
  int bits, mantissa, bias;
  // Codes whose exponent field is all ones: none are numbers, one is not, or all are.
  enum { kIeee, kNanOnly, kFinite } top;
};

constexpr Format kFormats[] = {{DType::kFp8E4M3FnX4, 8, 3, 7, Format::kNanOnly},
                               {DType::kFp8E5M2X4, 8, 2, 15, Format::kIeee},
                               {DType::kFp4E2M1FnX4, 4, 1, 1, Format::kFinite}};

double Meaning(const Format& format, unsigned code) {
  const unsigned fraction = code & ((1u << format.mantissa) - 1);
  const int exponent_bits = format.bits - 1 - format.mantissa;
  const unsigned exponent = (code >> format.mantissa) & ((1u << exponent_bits) - 1);
  const double sign = (code >> (format.bits - 1)) != 0 ? -1 : 1;
  if (exponent == (1u << exponent_bits) - 1) {
    if (format.top == Format::kIeee)
      return fraction == 0 ? sign * kInf : kNan;
    if (format.top == Format::kNanOnly && fraction == (1u << format.mantissa) - 1)
      return kNan;
  }
  const int shift = format.bias + format.mantissa;
  if (exponent == 0)
    return sign * std::ldexp(fraction, 1 - shift);
  return sign * std::ldexp((1u << format.mantissa) + fraction, static_cast<int>(exponent) - shift);
}

// Codes of one lane each, four to a word.
std::uint32_t WordOf(const Format& format, const std::vector<unsigned>& codes, std::size_t first) {
  std::uint32_t word = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    word |= codes[(first + lane) % codes.size()] << (format.bits * lane);
  return word;
}

double Lane(const Format& format, std::uint32_t word, int lane) {
  return Meaning(format, (word >> (format.bits * lane)) & ((1u << format.bits) - 1));
}

// Both signs of everything; with `all` also Inf, NaN and values whose sums leave 53 bits.
std::vector<unsigned> CodesOf(const Format& format, bool all) {
  std::vector<unsigned> codes;
  for (unsigned code = 0; code < (1u << format.bits); ++code) {
    const double value = std::abs(Meaning(format, code));
    if (all || (value <= 512 && (value == 0 || value >= 0x1p-9)))
      codes.push_back(code);
  }
  return codes;
}

// Whether the waveform shows the number; VCD text has 16 digits.
bool Shows(const Vcd& vcd, const std::string& signal, double expected) {
  if (std::isnan(expected))
    return std::isnan(vcd.Real(signal));
  char text[32];
  std::snprintf(text, sizeof text, "%.16g", expected + 0.0);  // no -0: a lane is an integer
  return vcd.Text(signal) == text;
}

// A matmul of one group, all in flight at once: one load, then `n` moving rows.
struct Case {
  const Format* w;
  const Format* x;
  LoadCommand load;
  MoveCommand move;
};

Case CaseOf(const Format& w, const Format& x, std::size_t first, bool all) {
  const std::vector<unsigned> w_codes = CodesOf(w, all);
  const std::vector<unsigned> x_codes = CodesOf(x, all);
  const int n = static_cast<int>(x_codes.size() + kLanes - 1) / kLanes;
  Case c = {.w = &w, .x = &x, .load = {}, .move = {}};
  c.load.mode = c.move.mode = PeMode::kMx;
  c.load.dtype = w.type;
  c.move.dtype = x.type;
  c.load.rows = c.move.rows = kRows;
  c.load.cols = kCols;
  c.move.n = n;
  for (int row = 0; row < kRows; ++row) {
    for (int col = 0; col < kCols; ++col)
      c.load.data.push_back(WordOf(w, w_codes, first + kLanes * (3 * row + col)));
    for (int i = 0; i < n; ++i)
      c.move.data.push_back(WordOf(x, x_codes, kLanes * (i + 7 * row)));
  }
  c.load.scales = {125, 126, 127, 128};
  for (int i = 0; i < n; ++i)
    c.move.scales.push_back(static_cast<std::uint8_t>(i == 2 ? 255 : 120 + i % 16));
  return c;
}

// The sum of rows 0 to `last` at the probed column. Every term and sum fits 53 bits, or an Inf or
// NaN takes part and decides alone.
double SumOf(const Case& c, int i, int last) {
  double sum = 0;
  for (int row = 0; row <= last; ++row) {
    const std::uint32_t w = c.load.data[row * kCols + kProbeCol];
    const std::uint32_t x = c.move.data[row * c.move.n + i];
    for (int lane = 0; lane < kLanes; ++lane)
      sum += Lane(*c.w, w, lane) * Lane(*c.x, x, lane);
  }
  return sum;
}

void ExpectOperands(const Vcd& vcd, const Case& c, int i) {
  const std::uint32_t w = c.load.data[kProbeRow * kCols + kProbeCol];
  const std::uint32_t x = c.move.data[kProbeRow * c.move.n + i];
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::string w_real = "pe.w" + std::to_string(lane) + "_real";
    const std::string x_real = "pe.x" + std::to_string(lane) + "_real";
    ASSERT_TRUE(Shows(vcd, w_real, Lane(*c.w, w, lane)))
        << w_real << " of word " << std::hex << w << " is " << vcd.Text(w_real);
    ASSERT_TRUE(Shows(vcd, x_real, Lane(*c.x, x, lane)))
        << x_real << " of word " << std::hex << x << " is " << vcd.Text(x_real);
  }
}

// Runs the cases and looks at every step in which the probed PE or its dequant unit works.
void RunAndCompare(std::vector<Case> cases, bool sums) {
  const std::string path = testing::TempDir() + "mx_values.fst";
  {
    TracedTensorEngine traced =
        MakeTracedRtlTensorEngine({}, {.path = path, .row = kProbeRow, .col = kProbeCol});
    std::uint32_t id = 0;
    for (Case& c : cases) {
      c.load.id = ++id;
      c.move.id = ++id;
      traced.engine->Push(c.load);
      traced.engine->Push(c.move);
      traced.engine->AdvanceTo(traced.engine->cycle() + 400);
    }
  }
  std::vector<std::pair<const Case*, int>> steps;
  for (const Case& c : cases) {
    for (int i = 0; i < c.move.n; ++i)
      steps.emplace_back(&c, i);
  }
  Vcd vcd(path);
  std::size_t in_pe = 0, in_dequant = 0;
  double last_clock = 0;
  while (vcd.Next()) {
    const bool rose = vcd.Real("traced_engine.clk_i") > last_clock;
    last_clock = vcd.Real("traced_engine.clk_i");
    if (!rose)
      continue;
    if (vcd.Text("pe.active") == "1") {
      ASSERT_LT(in_pe, steps.size());
      const auto& [c, i] = steps[in_pe++];
      ExpectOperands(vcd, *c, i);
      if (sums) {
        ASSERT_TRUE(Shows(vcd, "pe.group_sum_real", SumOf(*c, i, kProbeRow)))
            << vcd.Text("pe.group_sum_real") << " for " << SumOf(*c, i, kProbeRow);
      }
    }
    if (vcd.Text("dequant.active") == "1") {
      ASSERT_LT(in_dequant, steps.size());
      const auto& [c, i] = steps[in_dequant++];
      if (sums) {
        ASSERT_TRUE(Shows(vcd, "dequant.sum_real", SumOf(*c, i, kRows - 1)))
            << vcd.Text("dequant.sum_real") << " for " << SumOf(*c, i, kRows - 1);
      }
      const int scale = c->move.scales[i];
      ASSERT_TRUE(Shows(vcd, "dequant.scale_real",
                        scale == 255 ? kNan : std::ldexp(1, 126 - 127 + scale - 127)));
    }
  }
  EXPECT_EQ(in_pe, steps.size());
  EXPECT_EQ(in_dequant, steps.size());
  std::filesystem::remove(path);
}

TEST(MxValues, EveryStationaryCodeIsShownAsItsNumber) {
  for (const Format& format : kFormats) {
    std::vector<Case> cases;
    for (std::size_t first = 0; first < (1u << format.bits); first += kLanes)
      cases.push_back(CaseOf(format, kFormats[2], first, true));
    RunAndCompare(std::move(cases), false);
  }
}

TEST(MxValues, EveryMovingCodeIsShownAsItsNumber) {
  std::vector<Case> cases;
  for (const Format& w : kFormats) {
    for (const Format& x : kFormats)
      cases.push_back(CaseOf(w, x, 0, true));
  }
  RunAndCompare(std::move(cases), false);
}

TEST(MxValues, GroupSumsOfBothSignsAreExact) {
  std::vector<Case> cases;
  for (const Format& w : kFormats) {
    for (const Format& x : kFormats) {
      for (const std::size_t first : {0, 9, 50, 101})
        cases.push_back(CaseOf(w, x, first, false));
    }
  }
  RunAndCompare(std::move(cases), true);
}

TEST(MxValues, GroupSumsWithInfAndNanAreInfAndNan) {
  const Format& e5m2 = kFormats[1];
  Case c = CaseOf(e5m2, kFormats[0], 0, false);
  const std::size_t w = kProbeRow * kCols + kProbeCol;
  for (const std::uint32_t special : {0x7cu, 0xfcu, 0x7du}) {
    c.load.data[w] = (c.load.data[w] & ~0xffu) | special;
    RunAndCompare({c}, true);
  }
}

}  // namespace
}  // namespace bwmm::engine
