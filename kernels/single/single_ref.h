// What one matmul or one quantize_mx must give, in double precision, standard library only.
//
// Matmul: sums of exact products in double; the machine may differ by one fp32 rounding per PE row
// (ordinary mode) or two per scale group (MX mode), each at most 2^-24 of the sum of magnitudes,
// plus 2^-149 each where results are subnormal.
// Quantize: every code must be the nearest one of its format (the even one in a tie) for the scale
// the rule gives; there is no tolerance.
#pragma once

#include <cstdint>
#include <vector>

namespace bwmm::reference {

struct Judgement {
  double max_rel = 0;  // largest |difference| / largest |expected|
  // Largest |difference| in fp32 units of the last place; values below 1/256 of their row's largest
  // count as that, for cancellation leaves nothing to be exact about.
  double max_ulp = 0;
  double max_bound_ratio = 0;  // largest |difference| / bound; quantize: 0 or infinity
  std::int64_t count = 0;
  bool pass = false;
};

enum class Element { kBf16, kFp16, kE4M3Fn, kE4M3, kE5M2, kE2M1 };

// Element codes as values; `codes` in the low bits.
std::vector<double> Decode(Element element, const std::vector<std::uint32_t>& codes);

// out [m][n] against stationary [k][m] and moving [k][n]; `roundings` per output of the machine.
Judgement JudgeMatmul(const std::vector<double>& stationary, const std::vector<double>& moving,
                      int k, int m, int n, int roundings, const float* out);

// x4 words [p][columns] (fp8, 32 bits) and scales [p/8][columns] as the values they stand for, in
// contraction order [4 p][columns]: row lane * p_count + partition.
std::vector<double> DecodeMx(Element element, const std::uint32_t* words,
                             const std::uint8_t* scales, int partitions, int columns);

// source: values [p][4 * columns].
Judgement JudgeQuantize(Element element, bool ocp_rule, const std::vector<double>& source,
                        const std::uint32_t* words, const std::uint8_t* scales, int partitions,
                        int columns);

}  // namespace bwmm::reference
