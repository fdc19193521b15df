// The depths a variant chooses are the deepest that fit: a choice stands on a machine with exactly
// the bytes it takes, and is another on one with a granule less.

#include <gtest/gtest.h>

#include "kernels/lang/allocator.h"
#include "tests/kernels/layer_run.h"

namespace bwmm {
namespace {

using testing_layers::kAllVariants;
using testing_layers::kHbmBytes;
using testing_layers::Layer;
using testing_layers::LayerOf;

constexpr std::int64_t kGranule = 64;  // the allocator's

// Notes the SBUF tiles of a program and the most bytes that live at once.
class MemorySink final : public isa::Sink {
 public:
  explicit MemorySink(const isa::Limits& limits) : limits_(limits) {}
  int core() const override { return 0; }
  const isa::Limits& limits() const override { return limits_; }
  std::uint32_t Emit(isa::Engine, isa::Body) override { return 0; }
  std::int32_t RegisterValue(std::uint32_t) override { return 0; }
  void Allocated(isa::Memory memory, std::uint64_t begin, std::uint64_t bytes,
                 const std::string& name) override {
    if (memory != isa::Memory::kSbuf)
      return;
    tiles.push_back(fmt::format("{} {}", name, bytes));
    live_[begin] = static_cast<std::int64_t>(bytes);
    in_use_ += static_cast<std::int64_t>(bytes);
    peak = std::max(peak, in_use_);
  }
  void Freed(isa::Memory memory, std::uint64_t begin) override {
    if (memory == isa::Memory::kSbuf)
      in_use_ -= live_.at(begin);
  }

  std::vector<std::string> tiles;
  std::int64_t peak = 0;

 private:
  const isa::Limits& limits_;
  std::map<std::uint64_t, std::int64_t> live_;
  std::int64_t in_use_ = 0;
};

struct Choice {
  std::vector<std::string> tiles;
  std::int64_t peak = 0;  // bytes per partition; 0 where nothing fits
};

Choice ChoiceWith(const workloads::LayerJob& job, std::int64_t sbuf_bytes) {
  const isa::Limits limits{.sbuf_bytes = sbuf_bytes};
  MemorySink sink(limits);
  try {
    job.program()(sink);
  } catch (const lang::DoesNotFit&) {
    return {};
  }
  return {.tiles = sink.tiles, .peak = sink.peak};
}

// The choices from the deepest down, each looked at with exactly the bytes it takes.
int Choices(const Layer& layer) {
  const workloads::LayerJob job(OptionsOf(layer), {}, kHbmBytes, false);
  int count = 0;
  Choice choice = ChoiceWith(job, std::int64_t{1} << 20);
  while (choice.peak > 0) {
    EXPECT_EQ(ChoiceWith(job, choice.peak).tiles, choice.tiles) << layer.name;
    const Choice next = ChoiceWith(job, choice.peak - kGranule);
    EXPECT_LT(next.peak, choice.peak) << layer.name;
    choice = next;
    ++count;
  }
  return count;
}

TEST(BufferDepth, OfAnMxVariantIsTheDeepestOfFourThatFits) {
  for (const auto variant : kAllVariants) {
    Layer layer = LayerOf(variant);
    if (!IsMx(variant))
      continue;
    layer.hidden = 1024;
    EXPECT_EQ(Choices(layer), 4) << layer.name;
    layer.kernel.skip_dma.skip_weight = true;
    EXPECT_EQ(Choices(layer), 3) << layer.name << ": words that may be skipped have one buffer";
  }
}

// I is eight tiles of 128 columns on a core of shard_on_block and four elsewhere: all at once, or
// in chunks of seven tiles, of six, .. of one.
TEST(BufferDepth, OfADenseVariantIsTheLargestChunkOfIThatFits) {
  for (const auto variant : kAllVariants) {
    Layer layer = LayerOf(variant);
    if (IsMx(variant))
      continue;
    layer.intermediate = 1024;
    const bool all_of_I = variant == kernels::MoECTEImplementation::shard_on_block;
    EXPECT_EQ(Choices(layer), all_of_I ? 8 : 4) << layer.name;
  }
}

// The conditions of 200 blocks and more are a KiB: they have room before the weights take the rest.
TEST(BufferDepth, AHybridOfManyBlocksFitsWhereverFewerBytesFit) {
  Layer layer = LayerOf(kernels::MoECTEImplementation::shard_on_i_hybrid);
  layer.intermediate = 1024;
  layer.experts = 256;
  layer.tokens = 300;
  const workloads::LayerJob job(OptionsOf(layer), {}, kHbmBytes, false);
  ASSERT_GT(job.layout().blocks, 200);
  std::int64_t least = 1 << 20;
  for (Choice choice = ChoiceWith(job, least); choice.peak > 0;
       choice = ChoiceWith(job, least - kGranule))
    least = choice.peak;
  for (std::int64_t bytes = least; bytes < least + 8192; bytes += kGranule)
    EXPECT_GT(ChoiceWith(job, bytes).peak, 0) << bytes << " bytes, " << least << " fit";
}

}  // namespace
}  // namespace bwmm
