// Every meeting of the two cores carries weight: without a core_barrier the race checker names a
// race, in the executor and on the machine; without a sendrecv the result is another one. What a
// barrier between two blocks orders depends on their tokens, so each is also seen not to be missed
// where they share none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "model/isa/unit.h"
#include "model/ops/race_check.h"
#include "model/system/machine.h"
#include "tests/kernels/layer_run.h"

namespace bwmm {
namespace {

using kernels::MoECTEImplementation;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing_layers::Layer;

// Passes a program on, but for its meeting number `dropped`, and counts meetings.
class DroppingSink final : public isa::Sink {
 public:
  struct Meetings {
    int dropped = -1;
    std::vector<bool> is_barrier;  // of core 0
  };

  DroppingSink(isa::Sink& sink, Meetings& meetings) : sink_(sink), meetings_(meetings) {}
  int core() const override { return sink_.core(); }
  const isa::Limits& limits() const override { return sink_.limits(); }
  std::uint32_t Emit(isa::Engine engine, isa::Body body) override {
    if (isa::IsMeeting(body)) {
      if (core() == 0)
        meetings_.is_barrier.push_back(std::holds_alternative<isa::CoreBarrier>(body));
      if (count_++ == meetings_.dropped)
        return 0;
    }
    return sink_.Emit(engine, std::move(body));
  }
  std::int32_t RegisterValue(std::uint32_t id) override { return sink_.RegisterValue(id); }

 private:
  isa::Sink& sink_;
  Meetings& meetings_;
  int count_ = 0;
};

// Experts share their tokens, at other places of their blocks: rows one core adds to in one block
// are the other core's in the next.
Layer SharedTokens(MoECTEImplementation variant) {
  Layer layer = testing_layers::LayerOf(variant);
  layer.tokens = 300;
  layer.experts = 4;
  layer.top_k = 3;
  layer.block_size =
      kernels::IsMx(variant) || variant != MoECTEImplementation::shard_on_block ? 256 : 128;
  return layer;
}

struct Outcome {
  std::string error;
  std::vector<std::byte> output;
};

template <typename Run>
Outcome OutcomeOf(const Layer& layer, bool with_data, DroppingSink::Meetings& meetings, Run run) {
  workloads::LayerJob job(testing_layers::OptionsOf(layer), {}, testing_layers::kHbmBytes,
                          with_data);
  Outcome outcome;
  try {
    run(job.hbm(), [&](isa::Sink& sink) {
      DroppingSink dropping(sink, meetings);
      job.program()(dropping);
    });
    if (with_data)
      outcome.output = job.Output().data;
  } catch (const SimError& error) {
    outcome.error = error.what();
  }
  return outcome;
}

Outcome OnTheExecutor(const Layer& layer, DroppingSink::Meetings& meetings) {
  return OutcomeOf(layer, true, meetings, [](ops::Hbm& hbm, const ops::Program& program) {
    ops::RunSequentially({}, hbm, program);
  });
}

Outcome OnTheMachine(const Layer& layer, DroppingSink::Meetings& meetings) {
  return OutcomeOf(layer, false, meetings, [](ops::Hbm& hbm, const ops::Program& program) {
    RunMachine(LoadMachine("trn3"), Fidelity::kTiming, hbm, program);
  });
}

// Whose half of block `n` each token is in.
std::map<int, int> OwnersOf(const host::BlockLayout& layout, int n) {
  std::map<int, int> owners;
  for (int slot = 0; slot < layout.block_size; ++slot) {
    const int token = layout.token_position_to_id[n * layout.block_size + slot];
    if (token >= 0 && token < layout.tokens)
      owners[token] = slot / (layout.block_size / 2);
  }
  return owners;
}

// The barrier between two blocks of an I-shard variant orders something when a token's rows are one
// core's in one block and the other's in the next.
bool Share(const host::BlockLayout& layout, int n) {
  const std::map<int, int> now = OwnersOf(layout, n), next = OwnersOf(layout, n + 1);
  return std::ranges::any_of(next, [&](const auto& row) {
    const auto before = now.find(row.first);
    return before != now.end() && before->second != row.second;
  });
}

// What each meeting is for in this layer: I-shard variants zero the output and meet, then exchange
// each block's rows, and meet again between two blocks; the others meet once.
std::vector<bool> WeightsOf(const Layer& layer, const std::vector<bool>& is_barrier) {
  if (is_barrier.size() == 1)
    return {true};
  const workloads::LayerJob job(testing_layers::OptionsOf(layer), {}, testing_layers::kHbmBytes,
                                false);
  const host::BlockLayout& layout = job.layout();
  std::vector<bool> carries;
  int block = -1, barriers = 0;
  for (const bool barrier : is_barrier) {
    if (barrier)
      carries.push_back(barriers++ == 0 || Share(layout, block));
    else
      carries.push_back(!OwnersOf(layout, ++block).empty());
  }
  return carries;
}

// How many of its barriers the layer needs.
int ExpectWeights(const Layer& layer) {
  DroppingSink::Meetings all, again;
  const Outcome whole = OnTheExecutor(layer, all);
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(OnTheMachine(layer, again).error, "");
  const std::vector<bool> carries = WeightsOf(layer, all.is_barrier);
  int needed = 0;
  for (std::size_t i = 0; i < all.is_barrier.size(); ++i) {
    SCOPED_TRACE(fmt::format("{} without meeting {} of {}", layer.name, i, all.is_barrier.size()));
    DroppingSink::Meetings without{.dropped = static_cast<int>(i), .is_barrier = {}};
    const Outcome executed = OnTheExecutor(layer, without);
    if (!all.is_barrier[i]) {
      EXPECT_EQ(!executed.error.empty() || executed.output != whole.output, carries[i]);
      continue;
    }
    if (!carries[i]) {
      EXPECT_EQ(executed.error, "");
      EXPECT_TRUE(executed.output == whole.output);
      continue;
    }
    ++needed;
    const auto names_the_race = AllOf(
        HasSubstr("race on bytes"), HasSubstr("of tensor output"), HasSubstr("core 0 instruction"),
        HasSubstr("core 1 instruction"), HasSubstr("core_barrier on"));
    // The executor runs one core after the other, so a read may come before the write it races
    // with.
    EXPECT_THAT(executed.error, AnyOf(names_the_race, HasSubstr("reads bytes never written")));
    EXPECT_THAT(OnTheMachine(layer, without).error, names_the_race);
  }
  return needed;
}

class Meetings : public ::testing::TestWithParam<MoECTEImplementation> {};

TEST_P(Meetings, CarryWeight) {
  const bool i_shard = GetParam() != MoECTEImplementation::shard_on_block &&
                       GetParam() != MoECTEImplementation::shard_on_block_mx;
  // Zeroing, and between the blocks of the four experts; or the one before the planes are summed.
  EXPECT_GE(ExpectWeights(SharedTokens(GetParam())), i_shard ? 4 : 1);
}

INSTANTIATE_TEST_SUITE_P(Variants, Meetings, ::testing::ValuesIn(testing_layers::kAllVariants),
                         [](const auto& info) { return std::string(NameOf(info.param)); });

TEST(Meetings, CarryWeightBehindAStaticPrefix) {
  for (const auto variant :
       {MoECTEImplementation::shard_on_i_hybrid, MoECTEImplementation::shard_on_i_mx_hybrid}) {
    Layer layer = SharedTokens(variant);
    layer.kernel.shard_on_I.num_static_block = 2;
    EXPECT_GE(ExpectWeights(layer), 4);
  }
}

TEST(Meetings, CarryWeightWithoutAccumulation) {
  Layer layer = SharedTokens(MoECTEImplementation::shard_on_block);
  layer.top_k = 1;
  layer.kernel.is_tensor_update_accumulating = false;
  EXPECT_EQ(ExpectWeights(layer), 1);
}

}  // namespace
}  // namespace bwmm
