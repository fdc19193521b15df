// Number formats for the reference, from their fields by ldexp, in double.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace bwmm::reference {

// | sign | exponent | mantissa | with subnormals; a format says itself which codes are not finite.
double DecodeFields(unsigned code, int exponent_bits, int mantissa_bits, int bias);

double DecodeBf16(std::uint16_t word);
std::array<double, 256> TableOfE4M3Fn();
std::array<double, 256> TableOfE5M2();
std::array<double, 256> TableOfE2M1();  // of the low four bits
std::array<double, 256> TableOfE8M0();

// Nearest even on a grid of `mantissa_bits` after the leading one, subnormal below
// 2^min_exponent. No overflow: the caller saturates.
double RoundTo(double value, int mantissa_bits, int min_exponent);

// Nearest even to fp32 or to bf16, overflow to Inf.
double RoundToFp32(double value);
double RoundToBf16(double value);

// Elements under one scale.
inline constexpr int kGroupElements = 32;

// Exponent of the E8M0 scale of a group whose largest magnitude is `amax` (finite): x2 rule or OCP
// floor, for e4m3fn elements.
int ScaleExponent(double amax, bool ocp_rule);

// Half the distance of neighbouring e4m3fn values around `magnitude` in units of 2^scale_exponent.
double HalfStepE4M3Fn(double magnitude, int scale_exponent);

// Replaces the values of a scale group by what they are after quantisation to e4m3fn; all NaN if
// one is not finite.
void QuantizeGroup(std::span<double, kGroupElements> values, bool ocp_rule);

}  // namespace bwmm::reference
