#include "kernels/moe_cte/moe_cte.h"

#include "kernels/moe_cte/mx_weights.h"

namespace bwmm::kernels {

void MoeCte(isa::Sink& sink, const MoECTESpec& spec, const MoeCteArgs& given) {
  const MoeCteArgs args = IsMx(spec.implementation) ? WithMxWeights(given) : given;
  CheckMoeCte(spec, args, sink.limits());
  lang::Core nki(sink);
  switch (spec.implementation) {
    case MoECTEImplementation::shard_on_block:
      return BwmmShardOnBlock(nki, spec, args);
    case MoECTEImplementation::shard_on_block_mx:
      return BwmmShardOnBlockMx(nki, spec, args);
    case MoECTEImplementation::shard_on_i:
    case MoECTEImplementation::shard_on_i_hybrid:
    case MoECTEImplementation::shard_on_i_dropping:
      return BwmmShardOnI(nki, spec, args);
    case MoECTEImplementation::shard_on_i_mx:
    case MoECTEImplementation::shard_on_i_mx_hybrid:
      return BwmmShardOnIMx(nki, spec, args);
  }
}

}  // namespace bwmm::kernels
