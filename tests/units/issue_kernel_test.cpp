// The kernel's side of the issue stage: its window, its registers, what it is refused; and what a
// completion does.
#include "model/support/check.h"
#include "tests/units/issue_stage_harness.h"

namespace bwmm::units {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(IssueStageTest, WaitsForRoomUntilAQuarterOfTheWindowIsFree) {
  Build(
      [](isa::Sink& sink) {
        for (std::uint64_t i = 0; i < 10; ++i)
          sink.Emit(Engine::kVector, Write(1024 * i));
      },
      8);
  Complete(100, 0);
  Complete(200, 1);
  Run();
  ASSERT_EQ(works.size(), 10u);
  EXPECT_EQ(works.at(7)->emitted_at, 0u);
  EXPECT_EQ(works.at(8)->emitted_at, 200u) << "6 of 8 in flight";
  EXPECT_EQ(works.at(9)->emitted_at, 200u);
}

TEST_F(IssueStageTest, SaysWhatItsKernelWaitsFor) {
  Build(
      [](isa::Sink& sink) {
        const auto load = sink.Emit(Engine::kSync,
                                    isa::RegisterLoad{.src = SbufTile(DType::kInt32, 16384, 1, 1)});
        sink.RegisterValue(load);
        sink.Emit(Engine::kVector, Write(kA));
        sink.Emit(Engine::kVector, Write(kB));
        sink.Emit(Engine::kVector, Write(kC));
      },
      2);
  std::vector<std::string> states;
  for (const Tick tick : {10, 110, 310})
    script.At(tick, [&] { states.push_back(stage->KernelState()); });
  Complete(100, 0);
  Complete(300, 1);
  Run();
  EXPECT_THAT(states, ElementsAre("waits for the register of instruction 0",
                                  "waits for room among 2 instructions in flight",
                                  "has emitted all its instructions"));
}

TEST_F(IssueStageTest, AnswersTheRegisterWhenItsLoadCompletes) {
  std::int32_t value = 0;
  Tick answered = 0;
  const std::int32_t stored = 42;
  std::memcpy(sbuf.At(0, 16384, 4), &stored, sizeof stored);
  Build([&](isa::Sink& sink) {
    const auto load =
        sink.Emit(Engine::kSync, isa::RegisterLoad{.src = SbufTile(DType::kInt32, 16384, 1, 1)});
    value = sink.RegisterValue(load);
    answered = Now();
  });
  Complete(100, 0);
  Run();
  EXPECT_EQ(value, 42);
  EXPECT_EQ(answered, 100u);
  EXPECT_TRUE(stage->done());
  EXPECT_EQ(stage->last_completion(), 100u);
}

TEST_F(IssueStageTest, ExecutesAtCompletion) {
  Build([](isa::Sink& sink) { sink.Emit(Engine::kVector, Write(kA)); });
  float before = 0, after = 0;
  script.At(99, [&] { std::memcpy(&before, sbuf.At(0, kA, 4), 4); });
  Complete(100, 0);
  script.At(101, [&] { std::memcpy(&after, sbuf.At(0, kA, 4), 4); });
  Run();
  EXPECT_EQ(before, 0.0f);
  EXPECT_EQ(after, 1.0f);
}

TEST_F(IssueStageTest, RejectsCompletingTwice) {
  Build([](isa::Sink& sink) { sink.Emit(Engine::kVector, Write(kA)); });
  Complete(100, 0);
  script.At(200, [&] { EXPECT_THROW(stage->Complete(*works.at(0)), CheckFailure); });
  Run();
  EXPECT_EQ(stage->stats().completed, 1u);
}

TEST_F(IssueStageTest, RejectsARegisterThatNobodyLoads) {
  Build([](isa::Sink& sink) {
    const auto id = sink.Emit(Engine::kVector, Write(kA));
    sink.RegisterValue(id);
  });
  EXPECT_EQ(ErrorOfRun(),
            "core 1: register_value of instruction 0, allowed that of a register_load");
}

TEST_F(IssueStageTest, RejectsAnInstructionTheMachineCannotRun) {
  Build([](isa::Sink& sink) {
    sink.Emit(Engine::kVector, Write(kA));
    sink.Emit(Engine::kVector, isa::Memset{.dst = SbufTile(DType::kFp32, 0, 129, 4)});
  });
  EXPECT_THAT(ErrorOfRun(), HasSubstr("instruction 1 (memset) on core 1"));
  EXPECT_EQ(works.size(), 1u) << "it reaches no unit";
}

}  // namespace
}  // namespace bwmm::units
