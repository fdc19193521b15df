// Activations against MPFR over every bf16 input and seeded fp32 inputs. Prints the error table of
// docs/numerics.md. Built a second time for the plainest x86-64 to show that the bits stay.
#include "model/ops/activation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/ops/activation_oracle.h"

namespace bwmm {
namespace {

using ops::Activate;

constexpr std::array kAll = {Activation::kIdentity, Activation::kSilu,     Activation::kSwish,
                             Activation::kGelu,     Activation::kGeluTanh, Activation::kReluSquared,
                             Activation::kSigmoid,  Activation::kExp};
constexpr std::uint32_t kSeed = 20260101;
constexpr double kBound = 0.500001;  // ulps of fp32

std::uint32_t Bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

std::vector<float> Bf16Inputs() {
  std::vector<float> inputs;
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    inputs.push_back(std::bit_cast<float>(high << 16));
  return inputs;
}

// Half of them anywhere, half where the functions bend.
std::vector<float> RandomInputs(int count) {
  std::mt19937 random(kSeed);
  std::vector<float> inputs;
  for (int i = 0; i < count; ++i) {
    const float anywhere = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    const float bend = (static_cast<float>(random()) * 0x1p-32f - 0.55f) * 220.0f;
    inputs.push_back(i % 2 == 0 ? anywhere : i % 4 == 1 ? bend : bend * 0.06f);
  }
  return inputs;
}

struct Measured {
  double max_ulp = 0;
  float worst_input = 0;
  int misrounded = 0;
  int checked = 0;
};

Measured Measure(Activation function, const std::vector<float>& inputs) {
  Measured measured;
  test::Real exact;
  for (const float input : inputs) {
    if (!std::isfinite(input))
      continue;
    test::ExactActivation(function, input, exact);
    const float got = Activate(function, input);
    const double error = test::UlpError(got, exact);
    ++measured.checked;
    measured.misrounded += got != mpfr_get_flt(exact, MPFR_RNDN);
    if (error > measured.max_ulp) {
      measured.max_ulp = error;
      measured.worst_input = input;
    }
  }
  return measured;
}

TEST(Activation, StaysWithinTheDocumentedErrorOfTheExactFunction) {
  fmt::print("{:<14}{:>9}{:>12}{:>16}{:>12}\n", "function", "inputs", "max ulp", "at input",
             "misrounded");
  const std::vector<float> random = RandomInputs(100'000);
  for (const Activation function : kAll) {
    for (const auto& [set, inputs] : {std::pair{"bf16", Bf16Inputs()}, std::pair{"fp32", random}}) {
      const Measured measured = Measure(function, inputs);
      fmt::print("{:<14}{:>4}{:>6}{:>11.8f}{:>16.8g}{:>12}\n", NameOf(function), set,
                 measured.checked, measured.max_ulp, measured.worst_input, measured.misrounded);
      EXPECT_GT(measured.checked, 60'000);
      EXPECT_LE(measured.max_ulp, kBound)
          << NameOf(function) << " at " << measured.worst_input << ", seed " << kSeed;
    }
  }
}

TEST(Activation, NanGivesTheCanonicalNan) {
  for (const Activation function : kAll) {
    for (const std::uint32_t nan : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu})
      EXPECT_EQ(Bits(Activate(function, std::bit_cast<float>(nan))), 0x7fc00000u)
          << NameOf(function);
  }
}

TEST(Activation, InfinitiesAndZerosGiveTheLimits) {
  struct Limits {
    Activation function;
    float at_minus_inf;
    float at_minus_zero;
    float at_zero;
    float at_inf;
  };
  for (const Limits& limits : {Limits{Activation::kIdentity, -INFINITY, -0.0f, 0.0f, INFINITY},
                               Limits{Activation::kSilu, -0.0f, -0.0f, 0.0f, INFINITY},
                               Limits{Activation::kSwish, -0.0f, -0.0f, 0.0f, INFINITY},
                               Limits{Activation::kGelu, -0.0f, -0.0f, 0.0f, INFINITY},
                               Limits{Activation::kGeluTanh, -0.0f, -0.0f, 0.0f, INFINITY},
                               Limits{Activation::kReluSquared, 0.0f, 0.0f, 0.0f, INFINITY},
                               Limits{Activation::kSigmoid, 0.0f, 0.5f, 0.5f, 1.0f},
                               Limits{Activation::kExp, 0.0f, 1.0f, 1.0f, INFINITY}}) {
    const auto expect = [&](float input, float output) {
      EXPECT_EQ(Bits(Activate(limits.function, input)), Bits(output))
          << NameOf(limits.function) << " of " << input;
    };
    expect(-INFINITY, limits.at_minus_inf);
    expect(-0.0f, limits.at_minus_zero);
    expect(0.0f, limits.at_zero);
    expect(INFINITY, limits.at_inf);
    expect(-3e38f, limits.function == Activation::kIdentity ? -3e38f : limits.at_minus_inf);
  }
}

TEST(Activation, KeepsSubnormals) {
  EXPECT_EQ(Activate(Activation::kSilu, 0x1p-148f), 0x1p-149f);
  EXPECT_EQ(Activate(Activation::kExp, -103.0f), 0x1p-149f);
  EXPECT_EQ(Activate(Activation::kReluSquared, 0x1p-74f), 0x1p-148f);
}

TEST(Activation, TheArrayFormGivesTheBitsOfTheScalarForm) {
  const std::vector<float> inputs = RandomInputs(5'000);
  for (const Activation function : kAll) {
    for (const int count : {0, 1, 7, 8, 15, 16, 17, 63, 4999}) {
      for (const int first : {0, 1}) {
        std::vector<float> out(count + 1, 42.0f);
        Activate(function, inputs.data() + first, count, out.data());
        for (int i = 0; i < count; ++i)
          ASSERT_EQ(Bits(out[i]), Bits(Activate(function, inputs[first + i])))
              << NameOf(function) << " of " << inputs[first + i] << ", seed " << kSeed;
        EXPECT_EQ(out[count], 42.0f);
      }
    }
  }
}

TEST(Activation, WorksInPlace) {
  for (const Activation function : kAll) {
    std::vector<float> values = RandomInputs(1'000);
    std::vector<float> expected(values.size());
    Activate(function, values.data(), static_cast<int>(values.size()), expected.data());
    Activate(function, values.data(), static_cast<int>(values.size()), values.data());
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(Bits(values[i]), Bits(expected[i])) << NameOf(function);
  }
}

// FNV-1a over the result words of all bf16 inputs, in order. A change here is a change of the
// contract; the same words must come out of every compiler, flag and host.
TEST(Activation, BitsAreThePublishedOnes) {
  const std::vector<float> inputs = Bf16Inputs();
  constexpr std::array<std::uint64_t, kAll.size()> kPublished = {
      0xcf8e09175d8f5ba5, 0x9a1f9d7db20b697d, 0xfd0d3e3d5a45302a, 0x53244389505094c5,
      0xca9fee718eeea3a4, 0x49bfa5a3f1d0ef42, 0x88feb98241815e19, 0x9748938080659125};
  for (std::size_t i = 0; i < kAll.size(); ++i) {
    std::vector<float> out(inputs.size());
    Activate(kAll[i], inputs.data(), static_cast<int>(inputs.size()), out.data());
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const float value : out) {
      for (int shift = 0; shift < 32; shift += 8)
        hash = (hash ^ (Bits(value) >> shift & 0xff)) * 0x100000001b3;
    }
    EXPECT_EQ(hash, kPublished[i]) << fmt::format("{} hashes to {:#018x}", NameOf(kAll[i]), hash);
  }
}

}  // namespace
}  // namespace bwmm
