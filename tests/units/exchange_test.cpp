// The meeting place alone. A barrier ends 100 ticks after all cores are there, a sendrecv starts
// to move 30 ticks after.
#include "model/units/exchange.h"

#include <memory>

#include "tests/units/unit_harness.h"

namespace bwmm::units {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Core c's engine: what it hears goes into the log with "core c".
class FakeMeet final : public MeetIf {
 public:
  FakeMeet(Log& log, std::string name) : log_(log), name_(std::move(name)) {}
  void Met(Work& work, Tick at) override {
    log_.Add(name_ + " met until " + std::to_string(at), work.instruction.id);
  }
  void Exchanged(Work& work, Tick at) override {
    log_.Add(name_ + " exchanged at " + std::to_string(at), work.instruction.id);
  }

 private:
  Log& log_;
  std::string name_;
};

class ExchangeTest : public UnitTest {
 protected:
  static constexpr Tick kBarrier = 100, kSendRecv = 30;

  void Build(int cores = 2) {
    exchange = std::make_unique<Exchange>(
        "exchange", Exchange::Config{.cores = cores, .barrier = kBarrier, .sendrecv = kSendRecv},
        run, std::vector<ops::CoreMemory*>{&memory, &memory1, &memory, &memory1}, observers);
    for (int core = 0; core < cores; ++core) {
      exchange->gpsimd[core](gpsimd[core]);
      exchange->dma[core](dma[core]);
    }
  }
  Work& Barrier(std::uint32_t id, int core, std::uint32_t nth = 0) {
    Operand data = test::Tile(Memory::kHbm, DType::kBf16, 64, 4, 4);
    Work& work = Add(id, Engine::kGpSimd, isa::CoreBarrier{.data = data});
    work.instruction.core = core;
    work.meeting = nth;
    return work;
  }
  // With the neighbour of a pair of cores, unless another peer is named.
  Work& Send(std::uint32_t id, int core, isa::SendRecv body, std::uint32_t nth = 0, int peer = -1) {
    body.peer = peer < 0 ? core ^ 1 : peer;
    Work& work = Add(id, Engine::kSync, std::move(body));
    work.instruction.core = core;
    work.meeting = nth;
    return work;
  }
  static isa::SendRecv Body(DType dtype = DType::kFp32, int pipe = 0) {
    return {.dst = SbufTile(dtype, 64, 4, 4), .src = SbufTile(dtype, 0, 4, 4), .pipe_id = pipe};
  }
  void Arrive(Tick tick, Work& work) {
    script.At(tick, [this, &work] { run.Guard(*exchange, [&] { exchange->Arrive(work); }); });
  }
  void Sent(Tick tick, Work& work) {
    script.At(tick, [this, &work] { run.Guard(*exchange, [&] { exchange->Sent(work); }); });
  }
  static void Fill(ops::Sbuf& sbuf, std::uint64_t offset, std::int32_t first) {
    for (int p = 0; p < 4; ++p) {
      for (int i = 0; i < 4; ++i) {
        const std::int32_t value = first + 4 * p + i;
        std::memcpy(sbuf.At(p, offset + 4 * i, 4), &value, 4);
      }
    }
  }
  static std::int32_t Word(ops::Sbuf& sbuf, int p, int i) {
    std::int32_t value = 0;
    std::memcpy(&value, sbuf.At(p, 64 + 4 * i, 4), 4);
    return value;
  }

  ops::Sbuf sbuf1{128, 4096};
  FakePsum psum1;
  ops::CoreMemory memory1{
      .core = 1, .sbuf = sbuf1, .psum = psum1, .hbm = hbm, .quantize = ops::QuantizeMx};
  std::deque<FakeMeet> Meets(const std::string& unit) {
    std::deque<FakeMeet> meets;
    for (int core = 0; core < 4; ++core)
      meets.emplace_back(log, fmt::format("{} {}", unit, core));
    return meets;
  }
  std::deque<FakeMeet> gpsimd = Meets("gpsimd"), dma = Meets("dma");
  const ops::Observers observers;
  std::unique_ptr<Exchange> exchange;
};

TEST_F(ExchangeTest, EndsABarrierItsLatencyAfterTheSecondArrival) {
  Build();
  Arrive(20, Barrier(7, 1));
  Arrive(50, Barrier(3, 0));
  Run();
  EXPECT_THAT(log.seen(), ElementsAre(Seen{50, "gpsimd 0 met until 150", 3},
                                      Seen{50, "gpsimd 1 met until 150", 7}));
}

TEST_F(ExchangeTest, StartsASendRecvItsLatencyAfterTheSecondArrival) {
  Build();
  Arrive(20, Send(7, 0, Body()));
  Arrive(50, Send(3, 1, Body()));
  Run();
  EXPECT_THAT(log.seen(),
              ElementsAre(Seen{50, "dma 0 met until 80", 7}, Seen{50, "dma 1 met until 80", 3}));
}

TEST_F(ExchangeTest, PairsTheNthBarrierWithTheNth) {
  Build();
  Arrive(10, Barrier(1, 0, 0));
  Arrive(20, Barrier(2, 0, 1));
  Arrive(30, Barrier(9, 1, 0));
  Run();
  EXPECT_THAT(log.seen(), ElementsAre(Seen{30, "gpsimd 0 met until 130", 1},
                                      Seen{30, "gpsimd 1 met until 130", 9}));
}

TEST_F(ExchangeTest, PairsSendRecvsByPipeAndPlaceOnIt) {
  Build();
  Arrive(10, Send(1, 0, Body(DType::kFp32, 0)));
  Arrive(20, Send(2, 1, Body(DType::kFp32, 1)));
  Arrive(30, Send(3, 1, Body(DType::kFp32, 0), 1));
  Run();
  EXPECT_TRUE(log.seen().empty()) << "another pipe, and another place on the pipe";
}

TEST_F(ExchangeTest, EndsABarrierOfFourCoresAfterTheLastArrival) {
  Build(4);
  const std::array<Tick, 4> at = {40, 10, 70, 20};
  for (int core = 0; core < 4; ++core)
    Arrive(at[core], Barrier(static_cast<std::uint32_t>(core), core));
  Run();
  EXPECT_THAT(
      log.seen(),
      ElementsAre(Seen{70, "gpsimd 0 met until 170", 0}, Seen{70, "gpsimd 1 met until 170", 1},
                  Seen{70, "gpsimd 2 met until 170", 2}, Seen{70, "gpsimd 3 met until 170", 3}));
}

// All on pipe 0, each the first of its core with that peer.
TEST_F(ExchangeTest, PairsASendRecvWithItsPeerAmongFour) {
  Build(4);
  Arrive(10, Send(1, 0, Body(), 0, 2));
  Arrive(20, Send(2, 1, Body(), 0, 3));
  Arrive(30, Send(3, 0, Body(), 0, 1));
  Arrive(40, Send(4, 3, Body(), 0, 1));
  Arrive(50, Send(5, 2, Body(), 0, 0));
  Run();
  EXPECT_THAT(log.seen(),
              ElementsAre(Seen{40, "dma 1 met until 70", 2}, Seen{40, "dma 3 met until 70", 4},
                          Seen{50, "dma 0 met until 80", 1}, Seen{50, "dma 2 met until 80", 5}));
}

TEST_F(ExchangeTest, KnowsWhichCoresABarrierWaitsFor) {
  Build(4);
  Work& first = Barrier(1, 2);
  Arrive(10, first);
  Arrive(20, Barrier(2, 0));
  script.At(30, [&] { EXPECT_THAT(exchange->AbsentFrom(first), ElementsAre(1, 3)); });
  Run();
}

TEST_F(ExchangeTest, KnowsWhoWaitsForThePeer) {
  Build();
  Work& first = Send(1, 0, Body());
  Work& second = Send(2, 1, Body());
  Arrive(10, first);
  script.At(20, [&] {
    EXPECT_THAT(exchange->AbsentFrom(first), ElementsAre(1));
    EXPECT_THAT(exchange->AbsentFrom(second), IsEmpty());
  });
  Arrive(30, second);
  script.At(40, [&] { EXPECT_THAT(exchange->AbsentFrom(first), IsEmpty()); });
  Run();
  EXPECT_FALSE(log.seen().empty());
}

TEST_F(ExchangeTest, CopiesBothWaysWhenBothHalvesHaveMoved) {
  Build();
  Fill(sbuf, 0, 100);
  Fill(sbuf1, 0, 200);
  Work& first = Send(1, 0, Body());
  Work& second = Send(2, 1, Body());
  Arrive(0, first);
  Arrive(0, second);
  Sent(60, second);
  script.At(70, [&] { EXPECT_EQ(Word(sbuf, 0, 0), 0) << "the other half is still under way"; });
  Sent(80, first);
  Run();
  EXPECT_EQ(log.At("dma 0 exchanged at 80", 1), 80u);
  EXPECT_EQ(log.At("dma 1 exchanged at 80", 2), 80u);
  for (int p = 0; p < 4; ++p) {
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(Word(sbuf, p, i), 200 + 4 * p + i);
      EXPECT_EQ(Word(sbuf1, p, i), 100 + 4 * p + i);
    }
  }
}

TEST_F(ExchangeTest, MovesOnlyIndicesWithoutData) {
  for (const DType dtype : {DType::kInt32, DType::kFp32}) {
    memory.control_only = memory1.control_only = true;
    sc_core::sc_module_name name(sc_core::sc_gen_unique_name("exchange"));
    Exchange one(name, {.barrier = kBarrier, .sendrecv = kSendRecv}, run, {&memory, &memory1},
                 observers);
    for (int core = 0; core < 2; ++core) {
      one.gpsimd[core](gpsimd[core]);
      one.dma[core](dma[core]);
    }
    Fill(sbuf1, 0, 200);
    Fill(sbuf, 64, 0);
    Work& first = Send(1, 0, Body(dtype));
    Work& second = Send(2, 1, Body(dtype));
    one.Arrive(first);
    one.Arrive(second);
    one.Sent(first);
    one.Sent(second);
    EXPECT_EQ(Word(sbuf, 0, 1), dtype == DType::kInt32 ? 201 : 1);
  }
}

TEST_F(ExchangeTest, LetsASingleCorePassABarrier) {
  Build(1);
  Arrive(20, Barrier(7, 0));
  Run();
  EXPECT_THAT(log.seen(), ElementsAre(Seen{20, "gpsimd 0 met until 120", 7}));
}

TEST_F(ExchangeTest, RejectsASendRecvOfASingleCore) {
  Build(1);
  Arrive(0, Send(7, 0, Body()));
  EXPECT_EQ(ErrorOfRun(), "instruction 7 core 0: sendrecv needs 2 cores, the machine has 1");
}

}  // namespace
}  // namespace bwmm::units
