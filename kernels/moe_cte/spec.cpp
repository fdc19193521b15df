#include "kernels/moe_cte/spec.h"

#include <string>

#include "model/support/sim_error.h"

namespace bwmm::kernels {

MoECTEImplementation ParseImplementation(std::string_view name) {
  for (std::size_t i = 0; i < kImplementationNames.size(); ++i) {
    if (kImplementationNames[i] == name || std::to_string(i) == name)
      return static_cast<MoECTEImplementation>(i);
  }
  std::string allowed;
  for (const std::string_view each : kImplementationNames)
    allowed.append(allowed.empty() ? "" : ", ").append(each);
  throw SimError("variant: {}, allowed {}, or a number from 0 to {}", name, allowed,
                 kImplementationNames.size() - 1);
}

MoECTESpec::MoECTESpec(MoECTEImplementation chosen) : implementation(chosen) {
  switch (chosen) {
    case MoECTEImplementation::shard_on_block:
    case MoECTEImplementation::shard_on_block_mx:
      shard_on_block.emplace();
      return;
    case MoECTEImplementation::shard_on_i:
    case MoECTEImplementation::shard_on_i_hybrid:
    case MoECTEImplementation::shard_on_i_dropping:
      shard_on_I.emplace();
      return;
    case MoECTEImplementation::shard_on_i_mx:
    case MoECTEImplementation::shard_on_i_mx_hybrid:
      return;
  }
  throw SimError("implementation: {}, allowed 0 to {}", static_cast<int>(chosen),
                 kImplementationNames.size() - 1);
}

}  // namespace bwmm::kernels
