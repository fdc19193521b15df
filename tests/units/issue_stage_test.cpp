// Where the issue stage sends an instruction, and when it sees what the instruction waits for.
#include "tests/units/issue_stage_harness.h"

namespace bwmm::units {
namespace {

using testing::ElementsAre;

TEST_F(IssueStageTest, GivesEveryInstructionToItsUnit) {
  Build([&](isa::Sink& sink) {
    const Operand w = SbufTile(DType::kBf16, kA, 32, 32);
    sink.Emit(Engine::kTensor, isa::LoadStationary{.stationary = w});
    sink.Emit(Engine::kVector, Write(4096));
    sink.Emit(Engine::kScalar, Write(5120));
    sink.Emit(Engine::kGpSimd, Write(6144));
    sink.Emit(Engine::kSync, isa::RegisterLoad{.src = SbufTile(DType::kInt32, 7168, 1, 1)});
    sink.Emit(Engine::kSync, DmaWithin(8192, 9216));
    sink.Emit(Engine::kGpSimd, DmaWithin(10240, 11264));
    sink.Emit(Engine::kVector, isa::CoreBarrier{.data = Shared()});
  });
  Run();
  EXPECT_THAT(log.seen(), ElementsAre(Seen{0, "tensor", 0}, Seen{0, "tensor start gate", 0},
                                      Seen{0, "vector", 1}, Seen{0, "vector start gate", 1},
                                      Seen{0, "scalar", 2}, Seen{0, "scalar start gate", 2},
                                      Seen{0, "gpsimd", 3}, Seen{0, "gpsimd start gate", 3},
                                      Seen{0, "sync", 4}, Seen{0, "sync start gate", 4},
                                      Seen{0, "dma", 5}, Seen{0, "dma start gate", 5},
                                      Seen{0, "dma", 6}, Seen{0, "dma start gate", 6},
                                      Seen{0, "gpsimd", 7}, Seen{0, "gpsimd start gate", 7}));
  EXPECT_EQ(works.at(0)->instruction.core, 1);
  EXPECT_EQ(stage->stats().emitted, 8u);
  EXPECT_EQ(stage->stats().per_unit, (std::array<std::uint64_t, kUnits>{1, 1, 1, 2, 1, 2}));
  EXPECT_FALSE(stage->done());
}

TEST_F(IssueStageTest, ShowsACompletionToOtherUnitsASemaphoreLater) {
  const std::vector<std::pair<Engine, TimeClass>> engines = {{Engine::kVector, TimeClass::kVector},
                                                             {Engine::kScalar, TimeClass::kScalar},
                                                             {Engine::kGpSimd, TimeClass::kGpSimd}};
  Build([&](isa::Sink& sink) {
    for (std::uint64_t i = 0; i < engines.size(); ++i) {
      sink.Emit(engines[i].first, Write(8192 * i));
      sink.Emit(engines[(i + 1) % 3].first, Copy(8192 * i + kB, 8192 * i));
    }
  });
  for (std::uint32_t i = 0; i < engines.size(); ++i)
    Complete(100 + 10 * i, 2 * i);
  Run();
  for (std::uint32_t i = 0; i < engines.size(); ++i) {
    EXPECT_EQ(GateOf(2 * i + 1).waiting, 0u);
    EXPECT_EQ(GateOf(2 * i + 1).open_at, 100 + 10 * i + kSemaphore);
    EXPECT_EQ(GateOf(2 * i + 1).cause, engines[i].second);
  }
  EXPECT_EQ(log.At("scalar start gate", 1), 100u) << "told at once when it will open";
}

TEST_F(IssueStageTest, ShowsACompletionToItsOwnEngineAtOnce) {
  Build([](isa::Sink& sink) {
    sink.Emit(Engine::kVector, Write(kA));
    sink.Emit(Engine::kVector, Copy(kB, kA));
  });
  Complete(100, 0);
  Run();
  EXPECT_EQ(GateOf(1).open_at, 100u);
  EXPECT_EQ(GateOf(1).cause, TimeClass::kVector);
}

TEST_F(IssueStageTest, ShowsATransferToTheNextASemaphoreLater) {
  Build([](isa::Sink& sink) {
    sink.Emit(Engine::kSync, DmaWithin(kB, kA));
    sink.Emit(Engine::kSync, DmaWithin(kC, kB));
  });
  Complete(100, 0);
  Run();
  EXPECT_EQ(GateOf(1).open_at, 100 + kSemaphore);
  EXPECT_EQ(GateOf(1).cause, TimeClass::kDma);
}

TEST_F(IssueStageTest, OpensTheGatesOfAGatherApart) {
  const Operand index = SbufTile(DType::kInt32, 4096, 32, 1);
  Build([&](isa::Sink& sink) {
    sink.Emit(Engine::kGpSimd, isa::Memset{.dst = index});
    sink.Emit(Engine::kGpSimd, Write(kA));
    sink.Emit(Engine::kGpSimd, Gather(Tile(kA), index));
  });
  Complete(100, 0);
  Complete(200, 1);
  Run();
  // GpSimd wrote the index itself and sees it at once; the DMA sees GpSimd's write later.
  EXPECT_EQ(GateOf(2).open_at, 100u);
  EXPECT_EQ(GateOf(2).cause, TimeClass::kGpSimd);
  EXPECT_EQ(GateOf(2, Gate::kData).open_at, 200 + kSemaphore);
  EXPECT_EQ(GateOf(2, Gate::kData).cause, TimeClass::kGpSimd);
  EXPECT_EQ(log.At("gpsimd start gate", 2), 100u);
  EXPECT_EQ(log.At("dma data gate", 2), 200u);
  EXPECT_EQ(log.At("dma", 2), 0u);
  EXPECT_EQ(log.At("gpsimd", 2), 0u);
}

TEST_F(IssueStageTest, ShowsAnIndexOfAnotherUnitASemaphoreLater) {
  const Operand index = SbufTile(DType::kInt32, 4096, 32, 1);
  ops::HbmTensor& source = hbm.Allocate("index", DType::kInt32, {32, 1}, true);
  Build([&](isa::Sink& sink) {
    sink.Emit(Engine::kSync, isa::DmaCopy{.dst = index, .src = test::Rows(source, 0, 32)});
    sink.Emit(Engine::kGpSimd, Gather(Tile(kA), index));
  });
  Complete(100, 0);
  Run();
  EXPECT_EQ(GateOf(1).open_at, 100 + kSemaphore);
  EXPECT_EQ(GateOf(1).cause, TimeClass::kDma);
  EXPECT_EQ(GateOf(1, Gate::kData).open_at, 0u);
  EXPECT_EQ(log.At("dma data gate", 1), 0u);
}

TEST_F(IssueStageTest, LetsAWriteFollowTheReadOfTheArray) {
  const Operand w = SbufTile(DType::kBf16, kA, 32, 32);
  const Operand x = SbufTile(DType::kBf16, kB, 32, 64);
  Build([&](isa::Sink& sink) {
    sink.Emit(Engine::kTensor, isa::LoadStationary{.stationary = w});
    sink.Emit(Engine::kTensor,
              isa::MultiplyMoving{.dst = PsumTile(DType::kFp32, 0, 32, 64), .moving = x});
    sink.Emit(Engine::kVector, isa::Memset{.dst = x});
    sink.Emit(Engine::kScalar, isa::TensorCopy{.dst = SbufTile(DType::kFp32, kC, 32, 64),
                                               .src = PsumTile(DType::kFp32, 0, 32, 64)});
  });
  Complete(50, 0);
  script.At(100, [&] { stage->ReadDone(*works.at(1)); });
  Complete(300, 1);
  Run();
  EXPECT_EQ(GateOf(2).open_at, 100 + kSemaphore) << "its operands were read";
  EXPECT_EQ(GateOf(3).open_at, 300 + kSemaphore) << "its result is there";
  EXPECT_EQ(log.At("vector start gate", 2), 100u);
  EXPECT_EQ(log.At("scalar start gate", 3), 300u);
}

TEST_F(IssueStageTest, NamesMeetingsAsWaitsForThePeer) {
  Build([](isa::Sink& sink) {
    sink.Emit(Engine::kGpSimd, isa::CoreBarrier{.data = Shared()});
    sink.Emit(Engine::kSync, isa::DmaCopy{.dst = Tile(kB), .src = Shared()});
    sink.Emit(Engine::kSync, isa::SendRecv{.dst = Tile(kC), .src = Tile(4096), .peer = 0});
    sink.Emit(Engine::kVector, Copy(5120, kC));
  });
  Complete(100, 0);
  Complete(200, 2);
  Run();
  EXPECT_EQ(GateOf(1).cause, TimeClass::kPeer);
  EXPECT_EQ(GateOf(3).cause, TimeClass::kPeer);
}

TEST_F(IssueStageTest, NumbersMeetingsByBarrierAndByPipe) {
  Build([](isa::Sink& sink) {
    for (const int pipe : {4, 7, 4}) {
      sink.Emit(Engine::kGpSimd, isa::CoreBarrier{.data = Shared()});
      sink.Emit(Engine::kSync,
                isa::SendRecv{.dst = Tile(kC), .src = Tile(kB), .peer = 0, .pipe_id = pipe});
    }
  });
  Run();
  std::vector<std::uint32_t> places;
  for (const auto& [id, work] : works)
    places.push_back(work->meeting);
  EXPECT_THAT(places, ElementsAre(0, 0, 1, 0, 2, 1));
}

TEST_F(IssueStageTest, NamesTheSameCauseInWhateverOrderDependenciesAreMet) {
  Build([](isa::Sink& sink) {
    for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{8192}}) {
      sink.Emit(Engine::kScalar, Write(at + kA));
      sink.Emit(Engine::kGpSimd, Write(at + kB));
      sink.Emit(Engine::kVector,
                isa::TensorTensor{.dst = Tile(at + kC), .a = Tile(at + kA), .b = Tile(at + kB)});
    }
  });
  Complete(100, 0);
  Complete(100, 1);
  Complete(100, 4);
  Complete(100, 3);
  Run();
  EXPECT_EQ(GateOf(2).cause, TimeClass::kGpSimd);
  EXPECT_EQ(GateOf(5).cause, TimeClass::kGpSimd);
}

TEST_F(IssueStageTest, RemembersACompletionUntilItIsVisible) {
  // Instruction 0 completes at 100 and is visible from 160 on; the copies are emitted at 120, 160
  // and 162.
  Build([](isa::Sink& sink) {
    sink.Emit(Engine::kVector, Write(kA));
    std::uint64_t to = kB;
    std::vector<std::uint32_t> loads;
    for (std::uint64_t i = 0; i < 3; ++i)
      loads.push_back(sink.Emit(
          Engine::kSync, isa::RegisterLoad{.src = SbufTile(DType::kInt32, 16384 + 64 * i, 1, 1)}));
    for (const std::uint32_t load : loads) {
      sink.RegisterValue(load);
      sink.Emit(Engine::kScalar, Copy(to, kA));
      to += 1024;
    }
  });
  Complete(100, 0);
  Complete(120, 1);
  Complete(160, 2);
  Complete(162, 3);
  Run();
  EXPECT_EQ(GateOf(4).open_at, 160u);
  EXPECT_EQ(GateOf(4).cause, TimeClass::kVector);
  EXPECT_EQ(GateOf(5).open_at, 160u);
  EXPECT_EQ(GateOf(6).open_at, 162u) << "nothing to wait for";
  EXPECT_EQ(GateOf(6).cause, TimeClass::kStructural);
  EXPECT_EQ(works.at(6)->emitted_at, 162u);
}

TEST_F(IssueStageTest, RemembersAReadThatIsOverWhenTheWriteIsEmitted) {
  const Operand w = SbufTile(DType::kBf16, kA, 32, 32);
  Build([&](isa::Sink& sink) {
    sink.Emit(Engine::kTensor, isa::LoadStationary{.stationary = w});
    const Operand x = SbufTile(DType::kBf16, kB, 32, 64);
    sink.Emit(Engine::kTensor,
              isa::MultiplyMoving{.dst = PsumTile(DType::kFp32, 0, 32, 64), .moving = x});
    const auto load =
        sink.Emit(Engine::kSync, isa::RegisterLoad{.src = SbufTile(DType::kInt32, 16384, 1, 1)});
    sink.RegisterValue(load);
    sink.Emit(Engine::kVector, isa::Memset{.dst = x});
  });
  script.At(90, [&] { stage->ReadDone(*works.at(1)); });
  Complete(120, 2);
  Run();
  EXPECT_EQ(GateOf(3).waiting, 0u) << "the move itself is not over";
  EXPECT_EQ(GateOf(3).open_at, 90 + kSemaphore);
  EXPECT_EQ(GateOf(3).cause, TimeClass::kTensor);
}

}  // namespace
}  // namespace bwmm::units
