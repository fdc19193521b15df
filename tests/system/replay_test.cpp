// Programs as text: what is written is read back, a wrong file is refused where it is wrong, and a
// fault put into the machine is found and cut down to what shows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <regex>

#include "model/engine/make_engines.h"
#include "model/support/sim_error.h"
#include "replay/replay_file.h"
#include "tests/system/random_check.h"
#include "tests/system/random_program.h"

namespace bwmm {
namespace {

using replay::ReplayMode;
using ::testing::HasSubstr;

TEST(Replay, GivesBackWhatWasWritten) {
  for (const unsigned seed : {1U, 3U, 20U}) {
    const std::string text = replay::ToText(test::MakeRandomProgram(seed));
    const replay::ReplayProgram read = replay::ParseReplay(text, "file");
    EXPECT_EQ(replay::ToText(read), text) << "seed " << seed;
    EXPECT_EQ(read.steps(), test::MakeRandomProgram(seed).steps());
  }
}

constexpr std::string_view kText = R"(bwmm replay 1
machine trn3
set machine.sbuf.bytes=16384
# Two values and a sum.
tensor x float32 [1,2] at 0x40 hex 0000803f00000040
tensor n int32 [1,1] at 0x80 hex 02000000
tensor y float32 [1,2] at 0xc0 unwritten
     0 core0 sync register_load src=hbm+0x80 int32[1,1]
     1 core0 sync dma_copy dst=TILE src=hbm+0x40 float32[1,2]
when core0 0 > 0
     2 core0 vector tensor_tensor op=add dst=TILE a=TILE b=TILE
when core0 0 > 1
     3 core0 vector tensor_tensor op=add dst=TILE a=TILE b=TILE
when core0 0 > 2
     4 core0 vector tensor_tensor op=add dst=TILE a=TILE b=TILE
always core0
     5 core0 sync dma_copy dst=hbm+0xc0 float32[1,2] src=TILE
)";

// TILE is one tile of two values.
const std::string kProgram =
    std::regex_replace(std::string(kText), std::regex("TILE"), "sbuf[0:1]+0x0 float32[1,2]");

TEST(Replay, RunsWhatTheRegisterSays) {
  // [1, 2] doubled twice: a third time would need a value above 2.
  const replay::ReplayProgram program = replay::ParseReplay(kProgram, "file");
  const std::vector<float> expected = {4.0f, 8.0f};
  for (const ReplayMode mode : {ReplayMode::kExecutor, ReplayMode::kFast}) {
    const replay::ReplayOutcome outcome = replay::RunReplay(program, mode);
    ASSERT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.emitted[0], (std::vector<std::size_t>{0, 1, 2, 3, 5}));
    std::vector<float> y(2);
    std::memcpy(y.data(), outcome.tensors[2].data(), 8);
    EXPECT_EQ(y, expected) << NameOf(mode);
  }
}

TEST(Replay, RejectsAWrongFileWithItsLine) {
  struct Refusal {
    std::string line;  // instead of line 5, the first tensor
    std::string text;
  };
  const Refusal kRefusals[] = {
      {"tensor x float33 [1,2] at 0x40 seed 1", "file:5: column 10: float33, allowed float32"},
      {"tensor x float32 [0] at 0x40 seed 1", "file:5: column 19: 0], allowed 1 to"},
      {"tensor x float32 [99999,99999] at 0x40 seed 1", "file:5: column 25: 99999], allowed 1 to"},
      {"tensor x float32 [1,2] at 64 hex 00", "16 hexadecimal digits, here are 2"},
      {"tensor x float32 [1] at 64 hex 0000803g", "column 38: 3g, allowed hexadecimal digits"},
      {"tensor x float32 [1] at 64 ones", "ones, allowed seed, edges, hex, unwritten"},
      {"tensor n float32 [1] at 64 seed 1", "file:6: column 8: n, allowed a name no tensor has"},
      {"set sbuf=3", "file:5: column 5: sbuf=3, allowed machine.key=value"},
      {"when core0 7 > 1", "file:5: column 12: 7, allowed the id of an earlier register_load"},
      {"always core8", "file:5: column 12: 8, allowed 0 to 7"},
      {"machine trn3", "file:5: column 9: trn3, allowed one machine line"},
      {"tensors", "file:5: column 1: tensors, allowed machine, set, tensor, when, always"},
      {"9 core0 sync register_load src=hbm+0x80 int32[1,1]",
       "file:8: instruction 0 on core 0, "
       "allowed an id above 9"},
      {"9 core8 sync register_load src=hbm+0x80 int32[1,1]",
       "file:5: core8, allowed core0 to core7"},
  };
  for (const Refusal& refusal : kRefusals) {
    std::string text = kProgram;
    const std::size_t at = text.find("tensor x");
    text.replace(at, text.find('\n', at) - at, refusal.line);
    try {
      replay::ParseReplay(text, "file");
      ADD_FAILURE() << "accepted: " << refusal.line;
    } catch (const SimError& error) {
      EXPECT_THAT(error.what(), HasSubstr(refusal.text)) << refusal.line;
    }
  }
}

TEST(Replay, RejectsAListing) {
  try {
    replay::ParseReplay("     0 core0 sync   register_load        src=hbm+0x40 int32[1,1]\n",
                        "list");
    ADD_FAILURE() << "accepted";
  } catch (const SimError& error) {
    EXPECT_THAT(error.what(), HasSubstr("list:1: no replay file"));
    EXPECT_THAT(error.what(), HasSubstr("a listing has none"));
  }
}

TEST(Replay, RejectsDamagedFilesInOrder) {
  std::mt19937 random(5);
  const std::string whole = replay::ToText(test::MakeRandomProgram(2)).substr(0, 30000);
  int refused = 0;
  for (int n = 0; n < 300; ++n) {
    std::string text = whole.substr(0, n % 2 == 0 ? whole.size() : random() % whole.size());
    for (int damage = 0; damage < 3 && !text.empty(); ++damage)
      text[random() % text.size()] = static_cast<char>(random());
    try {
      replay::ParseReplay(text, "file");
    } catch (const SimError& error) {
      EXPECT_THAT(error.what(), HasSubstr("file:"));
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

// A TensorEngine that clears what accumulating adds to: the bits are wrong, the cycles right.
class Forgetful final : public engine::TensorEngine {
 public:
  explicit Forgetful(const engine::TensorEngineConfig& config)
      : engine_(engine::MakeFastTensorEngine(config)) {}
  bool CanPush() const override { return engine_->CanPush(); }
  void Push(engine::LoadCommand command) override { engine_->Push(std::move(command)); }
  void Push(engine::MoveCommand command) override {
    command.accumulate = false;
    engine_->Push(std::move(command));
  }
  engine::Cycle cycle() const override { return engine_->cycle(); }
  std::optional<engine::Cycle> NextEventCycle() const override { return engine_->NextEventCycle(); }
  void AdvanceTo(engine::Cycle cycle) override { engine_->AdvanceTo(cycle); }
  std::vector<engine::Event> TakeEvents() override { return engine_->TakeEvents(); }
  void ReadPsum(int word, std::span<std::uint32_t> lanes) const override {
    engine_->ReadPsum(word, lanes);
  }
  void WritePsum(int word, std::span<const std::uint32_t> lanes) override {
    engine_->WritePsum(word, lanes);
  }

 private:
  std::unique_ptr<engine::TensorEngine> engine_;
};

TEST(Replay, AFaultIsCutDownToWhatShowsIt) {
  RunOptions faulty;
  faulty.make_engine = [](int, const engine::TensorEngineConfig& config) {
    return std::make_unique<Forgetful>(config);
  };
  const std::vector<test::Way> ways = {{ReplayMode::kExecutor}, {ReplayMode::kFast, faulty}};
  const replay::ReplayProgram program = test::MakeRandomProgram(4);
  const auto found = test::Differs(program, ways);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, replay::DivergenceKind::kBytes);
  EXPECT_THAT(found->text, HasSubstr("tensor "));
  const replay::ReplayProgram small = test::ShrinkFailure(program, ways, found->kind);
  EXPECT_LT(8 * small.steps(), program.steps()) << replay::ToText(small);
  EXPECT_THAT(replay::ToText(small), HasSubstr("accumulate=true"));
  // The short program still shows it after a way through a file, and only with the fault.
  const replay::ReplayProgram read = replay::ParseReplay(replay::ToText(small), "file");
  EXPECT_TRUE(test::Differs(read, ways));
  EXPECT_FALSE(test::Differs(read, {{ReplayMode::kExecutor}, {ReplayMode::kFast}}));
}

TEST(Replay, ShrinkingTakesMeetingsFromBothCores) {
  const replay::ReplayProgram program = test::MakeRandomProgram(8);
  const auto barriers = [](const replay::ReplayProgram& p, int core) {
    return std::ranges::count_if(p.cores[core], [](const replay::ReplayStep& step) {
      return std::holds_alternative<isa::CoreBarrier>(step.instruction.body);
    });
  };
  const replay::ReplayProgram small = replay::Shrink(program, [&](const replay::ReplayProgram& p) {
    EXPECT_EQ(barriers(p, 0), barriers(p, 1));
    return barriers(p, 0) >= 2;
  });
  EXPECT_EQ(small.steps(), 4U);
  EXPECT_TRUE(small.tensors.empty());
}

TEST(Replay, ADifferenceNamesInstructionUnitAndCycles) {
  const replay::ReplayProgram program = replay::ParseReplay(kProgram, "file");
  const replay::ReplayOutcome fast = replay::RunReplay(program, ReplayMode::kFast);
  replay::ReplayOutcome other = replay::RunReplay(program, ReplayMode::kTiming);
  EXPECT_FALSE(replay::FirstDivergence(program, fast, other));
  for (InstructionRecord& record : other.records)
    record.end += record.id == 2 ? 1 : 0;
  auto found = replay::FirstDivergence(program, fast, other);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, replay::DivergenceKind::kRecord);
  EXPECT_THAT(found->text, HasSubstr("core 0 instruction 2 (tensor_tensor) on vector: fast "));
  EXPECT_THAT(found->text, HasSubstr("     2 core0 vector tensor_tensor"));
  other = replay::RunReplay(program, ReplayMode::kTiming);
  auto& vector = other.result.cores[0].units[static_cast<int>(Unit::kVector)];
  ++vector.cycles[static_cast<int>(TimeClass::kDma)];
  found = replay::FirstDivergence(program, fast, other);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, replay::DivergenceKind::kClass);
  EXPECT_THAT(found->text, HasSubstr("core 0 vector cycles of class dma: fast "));
}

}  // namespace
}  // namespace bwmm
