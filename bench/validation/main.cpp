// Prints every point with the model's figure as JSON; bench/validate.py makes a page of it.
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

#include "bench/validation/point.h"

int main() {
  using namespace bwmm::validation;
  try {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const auto& points : {DmaPoints(), TensorPoints(), VectorScalarPoints(), KernelPoints(),
                               Fp32KernelPoints(), Trn1Points()})
      for (const Point& point : points)
        all.push_back({{"id", point.id},
                       {"class", point.group},
                       {"preset", point.preset},
                       {"what", point.what},
                       {"unit", point.unit},
                       {"published", point.published},
                       {"grade", std::string(1, point.grade)},
                       {"source", point.source},
                       {"role", point.role == Role::kChosen ? "chosen" : "checks"},
                       {"at_most", point.at_most},
                       {"taken_from", point.taken_from},
                       {"model", point.measure()}});
    std::puts(all.dump(1).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bwmm_validation: %s\n", error.what());
    return 1;
  }
  return 0;
}
