// What one quantize_mx must give: every code the nearest one of its format (the even one in a tie)
// for the scale the rule gives. There is no tolerance. Standard library only.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/single/decode_ref.h"
#include "kernels/single/judgement_ref.h"

namespace bwmm::reference {

struct QuantizeCase {
  Element element = Element::kE4M3Fn;
  bool ocp_rule = false;
  std::vector<double> source = {};  // [partitions][4 * columns]
  int partitions = 0, columns = 0;
};

// words [partitions][columns], scales [partitions / 8][columns].
Judgement JudgeQuantize(const QuantizeCase& given, const std::vector<std::uint32_t>& words,
                        const std::vector<std::uint8_t>& scales);

// The source of quantize_mx from operand rows [k][columns]: of every 512 rows (fewer at the end)
// with P = rows / 4, row lane * P + partition is lane `lane` of that partition.
std::vector<double> LanesOf(const std::vector<double>& rows, int k, int columns);

}  // namespace bwmm::reference
