// Prints every point with the model's figure as JSON; bench/validate.py makes a page of it.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "bench/validation/point.h"

int main() {
  using namespace bwmm::validation;
  try {
    const char* separator = "[\n";
    for (const auto& points : {DmaPoints(), TensorPoints(), VectorScalarPoints(), KernelPoints()})
      for (const Point& point : points) {
        fmt::print(
            R"({}{{"id": "{}", "class": "{}", "preset": "{}", "what": "{}", "unit": "{}", )"
            R"("published": {}, "grade": "{}", "source": "{}", "role": "{}", "at_most": {}, )"
            R"("taken_from": "{}", "model": {:.6g}}})",
            separator, point.id, point.group, point.preset, point.what, point.unit, point.published,
            point.grade, point.source, point.role == Role::kChosen ? "chosen" : "checks",
            point.at_most, point.taken_from, point.measure());
        separator = ",\n";
      }
    fmt::print("\n]\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bwmm_validation: %s\n", error.what());
    return 1;
  }
  return 0;
}
