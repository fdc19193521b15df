#include "host/normal_table.h"

#include "host/portable_math.h"

namespace bwmm::host {
namespace {

// Walks the density in small steps from 0 upwards and notes where each quantile is passed.
std::array<float, kQuantiles> Integrate() {
  constexpr double kStep = 1.0 / 8192;
  constexpr double kDensityAtZero = 0.3989422804014327;
  const auto density = [](double x) { return kDensityAtZero * PortableExp(-0.5 * x * x); };
  std::array<float, kQuantiles> table{};
  double x = 0;
  double below = 0.5;
  for (int i = kQuantiles / 2; i < kQuantiles; ++i) {
    const double wanted = (i + 0.5) / kQuantiles;
    double next = below;
    while ((next = below + density(x + 0.5 * kStep) * kStep) < wanted) {
      below = next;
      x += kStep;
    }
    const double value = x + kStep * (wanted - below) / (next - below);
    table[i] = static_cast<float>(value);
    table[kQuantiles - 1 - i] = -table[i];
  }
  return table;
}

}  // namespace

const std::array<float, kQuantiles>& NormalQuantiles() {
  static const std::array<float, kQuantiles> kTable = Integrate();
  return kTable;
}

}  // namespace bwmm::host
