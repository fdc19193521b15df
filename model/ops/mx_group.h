// Parts of MatmulMx: operands decoded for the double-precision loops, and the exact group sum for
// the groups those loops cannot hold.
#pragma once

#include <cstdint>
#include <vector>

#include "model/numerics/dtype.h"
#include "model/numerics/scale_group.h"

namespace bwmm::ops {

constexpr int kGroupRows = kMxGroup.rows;
constexpr int kGroupLanes = kMxGroup.lanes;
constexpr int kGroupElements = kMxGroup.elements();

// 53 bits of double minus 5 for the carries of 32 terms.
constexpr int kExactSpanBits = 48;

// [k][lanes][stride] doubles, and per group and column the scale and the bit span.
struct MxOperand {
  MxOperand(DType type, const std::uint32_t* words, const std::uint8_t* scales, int k, int columns,
            int first, int count, int stride);

  const double* lanes(int row) const {
    return values.data() + static_cast<std::size_t>(row) * kGroupLanes * stride;
  }

  int stride;
  std::vector<double> values;
  std::vector<double> scale;       // [group][stride]
  std::vector<std::uint8_t> span;  // [group][stride]
  bool finite = true;              // no Inf or NaN, and no 0xff scale
  bool zero = true;                // every element is zero
};

// S * scale rounded once to fp32, for group g of columns c of w and r of x.
// The elements are finite.
float ExactGroup(const MxOperand& w, int c, const MxOperand& x, int r, int g);

}  // namespace bwmm::ops
