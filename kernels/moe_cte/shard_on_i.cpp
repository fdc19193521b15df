// The I-shard variants: each of C cores owns a share of I, every block is reduced across cores.
//
// Per block n of B tokens, expert e, core c with I' of the columns of I:
//   (1)  X   = hidden[ids]                      [B, H]     gather, on all cores
//   (2)  Xt  = X^T                              [H, B]     PE transpose
//   (3)  G   = Wg[e]^T Xt,  U = Wu[e]^T Xt      [I', B]    fp32 PSUM
//   (4)  A   = act(clamp(G + bg)) * clamp(U + bu)          fp32, then bf16 (* p on I)
//   (5)  Yc  = A^T Wd[e]                        [B, H]     fp32 PSUM, then bf16
//   (6)  Y   = Y0 + Y1 + ..                     [B/C, H]   sendrecv of the peers' rows, bf16 adds
//   (7)  out[ids] = p[ids, e] * (Y + bd) + out[ids]        fused in fp32, then bf16
// MX: quantize_mx(X^T) in (2), quantize_mx(A) in (5); PSUM and each operation of (4) and (7) in
// bf16.
//
//   shard_on_i           all blocks, counted by the kernel
//   shard_on_i_hybrid    a static prefix, then the live blocks the device counts
//   shard_on_i_dropping  block n is expert n, its whole capacity; checkpoints always
//   shard_on_i_mx, shard_on_i_mx_hybrid   on two cores, each half of the tiles of 512 of I
//
// Each core owns an equal share of a block's 128-row tiles, so every output row is reduced once,
// and the down bias is added once, after the sum. Loads of block n + 1 and its (2) are emitted
// before (6) and (7) of block n, and (7) of block n among (3) and (4) of block n + 1, so that they
// overlap.
//
// Files, in reading order:
//   moe_cte.h, spec                         what a kernel is given
//   block_tokens                            ids, expert and affinities of a block
//   expert_ffn.h                            (1) to (5) as this file sees them
//   dense_ffn, dense_hidden, dense_weights  .. of bf16 and fp8 weights
//   mx_ffn, mx_hidden, mx_weights           .. of MX weights
//   gated_activation                        (4)
//   cross_core_rows, output_rows            (6), (7)

#include <algorithm>

#include "kernels/moe_cte/cross_core_rows.h"
#include "kernels/moe_cte/dense_ffn.h"
#include "kernels/moe_cte/moe_cte.h"
#include "kernels/moe_cte/mx_ffn.h"

namespace bwmm::kernels {

using lang::AluOp;
using lang::Engine;
using lang::Tile;
using lang::View;

namespace {

// What a hybrid counts blocks with on the device.
struct DeviceBlocks {
  DeviceBlocks(lang::Core& nki, const lang::HbmTensor& conditions)
      : flags(nki.Sbuf("conditions", DType::kInt32, 1, {conditions.shape[0]})),
        live(nki.Sbuf("live_blocks", DType::kInt32, 1, {1})),
        index(nki.Sbuf("block_index", DType::kInt32, 1, {1})) {}

  Tile flags, live, index;
};

class Program {
 public:
  Program(lang::Core& nki, const MoeCteArgs& args, ExpertFfn& ffn, CrossCoreRows& output,
          const std::optional<DeviceBlocks>& device)
      : nki_(nki), args_(args), ffn_(ffn), output_(output), device_(device) {}

  void Run(const std::optional<ShardOnIConfig>& config) {
    if (!device_)
      return RunStatic(args_.blocks());
    const auto& given = config ? config->num_static_block : std::nullopt;
    const std::int64_t prefix = std::clamp<std::int64_t>(
        given ? *given : args_.blocks() - args_.experts(), 0, args_.blocks());
    RunStatic(prefix);
    RunDynamic(prefix);
  }

 private:
  // Blocks 0..count-1, into an output of zeros.
  void RunStatic(std::int64_t count) {
    if (count == 0)
      return;
    ffn_.LoadRows(0, {.number = 0});  // (1)
    ffn_.LoadWeights(0);
    ffn_.Prepare(0);  // (2)
    for (std::int64_t n = 0; n < count; ++n) {
      const bool more = n + 1 < count;
      if (more)
        ffn_.LoadRows(n + 1, {.number = n + 1});  // (1) of the next block
      Compute(n, more);                           // (3), (4), (5); (7) of the block before
      if (more)
        ffn_.Prepare(n + 1);                   // (2) of the next block
      output_.Exchange(n, ffn_.down_bias(n));  // (6)
    }
    output_.Finish(count == args_.blocks());  // (7)
  }

  // Blocks first..live-1, where live is the sum of the conditions as the device holds it: the live
  // blocks are a prefix of the layout. The block number lives on the device, and each trip ends its
  // block before the next.
  void RunDynamic(std::int64_t first) {
    const View flags = device_->flags, live = device_->live, index = device_->index;
    nki_.dma_copy(flags, args_.conditions->Rows(flags.free_size()));
    nki_.tensor_reduce(live, AluOp::kAdd, flags);
    const std::int64_t end = nki_.register_load(live);
    nki_.memset(index, static_cast<float>(first), Engine::kGpSimd);
    for (std::int64_t n = first; n < end; ++n) {
      ffn_.LoadRows(n, {.number = n, .device = index});  // (1)
      ffn_.LoadWeights(n);
      ffn_.Prepare(n);                         // (2)
      Compute(n, false);                       // (3), (4), (5)
      output_.Exchange(n, ffn_.down_bias(n));  // (6)
      output_.Finish(n + 1 == end);            // (7)
      nki_.tensor_scalar(index, index, AluOp::kAdd, 1.0f, Engine::kGpSimd);
    }
  }

  void Compute(std::int64_t turn, bool next) {
    const std::int64_t steps = 1 + output_.steps() / ffn_.sub_tiles();
    int copies = 0;
    ffn_.Compute(turn, next,
                 {.between = [&] { output_.Step(steps); },
                  .before_down = [&] { output_.Finish(false); },
                  .result =
                      [&](int t, std::int64_t h, const View& sum) {
                        nki_.tensor_copy(output_.partial(t).Slice(1, h, ExpertFfn::kChunk), sum,
                                         copies++ % 2 == 0 ? Engine::kScalar : Engine::kVector);
                      }});
  }

  lang::Core& nki_;
  const MoeCteArgs& args_;
  ExpertFfn& ffn_;
  CrossCoreRows& output_;
  const std::optional<DeviceBlocks>& device_;
};

const lang::HbmTensor* Checkpoint(bool wanted, const std::optional<lang::HbmTensor>& tensor) {
  return wanted ? &tensor.value() : nullptr;
}

struct MxParts {
  MxParts(lang::Core& nki, const MoeCteArgs& args, const MoECTESpec& spec, const MxDepths& depths)
      : tokens(nki, args, 3),
        ffn(nki, args, tokens, HalfShare(args, nki.program_id()), depths),
        output(nki, args, tokens, {.rounding = Rounding::kStepwise}) {
    if (IsHybrid(spec.implementation))
      device.emplace(nki, *args.conditions);
  }

  BlockTokens tokens;
  MxFfn ffn;
  CrossCoreRows output;
  std::optional<DeviceBlocks> device;
};

}  // namespace

void BwmmShardOnI(lang::Core& nki, const MoECTESpec& spec, const MoeCteArgs& args) {
  ZeroOutput(nki, args.output);
  const bool dropping = spec.implementation == MoECTEImplementation::shard_on_i_dropping;
  const bool checkpoint = dropping || spec.shard_on_I->checkpoint_activation;
  const bool affinity_on_I = spec.shard_on_I->expert_affinity_multiply_on_I;
  const std::int64_t share = args.intermediate() / nki.num_programs();
  BlockTokens tokens(nki, args, 3, dropping);
  CrossCoreRows output(
      nki, args, tokens,
      {.rounding = Rounding::kFused,
       .affinity_on_I = affinity_on_I,
       .checkpoint = Checkpoint(checkpoint && !affinity_on_I, args.down_activations)});
  std::optional<DeviceBlocks> device;
  if (IsHybrid(spec.implementation))
    device.emplace(nki, *args.conditions);
  // The weights take what SBUF has left.
  DenseFfn ffn(nki, args, tokens, nki.program_id() * share, share,
               {.hidden_depth = 2,
                .affinity_on_I = affinity_on_I,
                .checkpoint = Checkpoint(checkpoint, args.gate_up_activations_T)});
  Program(nki, args, ffn, output, device).Run(spec.shard_on_I);
}

void BwmmShardOnIMx(lang::Core& nki, const MoECTESpec& spec, const MoeCteArgs& args) {
  ZeroOutput(nki, args.output);
  const MxDepths depths = DeepestThatFit(nki, args, [&](lang::Core& trial, const MxDepths& given) {
    MxParts(trial, args, spec, given);
  });
  MxParts parts(nki, args, spec, depths);
  Program(nki, args, parts.ffn, parts.output, parts.device).Run(spec.shard_on_I);
}

}  // namespace bwmm::kernels
