// The block loop of the I-shard variants: all cores work on every block, each with its share of I.
//
//   static   n = 0..S-1: LoadRows(n + 1) | Compute(n), with the rows of n - 1 finished meanwhile |
//            Prepare(n + 1) | Exchange(n)
//   dynamic  n = S..live-1: the block number lives on the device; each trip loads, computes and
//            finishes its block before the next
#pragma once

#include "kernels/moe_cte/cross_core_rows.h"
#include "kernels/moe_cte/expert_ffn.h"

namespace bwmm::kernels {

class IShardBlocks {
 public:
  IShardBlocks(lang::Core& nki, const MoeCteArgs& args, ExpertFfn& ffn, CrossCoreRows& output)
      : nki_(nki), args_(args), ffn_(ffn), output_(output) {}

  // Blocks 0..count-1, into an output of zeros.
  void RunStatic(std::int64_t count);
  // Blocks first..live-1, where live is the sum of `conditions` as the device holds it. The live
  // blocks are a prefix of the layout.
  void RunDynamic(std::int64_t first, const lang::HbmTensor& conditions);

 private:
  void Compute(std::int64_t turn, bool next);

  lang::Core& nki_;
  const MoeCteArgs& args_;
  ExpertFfn& ffn_;
  CrossCoreRows& output_;
};

// How many blocks of a hybrid run in its static prefix: the given number, else N - E, in [0, N].
std::int64_t StaticPrefix(const MoeCteArgs& args, const std::optional<int>& given);

}  // namespace bwmm::kernels
