// What a trial may do to the core it asks for: nothing.
#include "kernels/lang/fits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/support/sim_error.h"

namespace bwmm::lang {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class CountingSink final : public isa::Sink {
 public:
  int core() const override { return 1; }
  const isa::Limits& limits() const override { return limits_; }
  std::uint32_t Emit(Engine, isa::Body) override { return emitted++; }
  std::int32_t RegisterValue(std::uint32_t) override { return 7; }
  void Allocated(isa::Memory, std::uint64_t, std::uint64_t, const std::string&) override {
    ++allocated;
  }

  std::uint32_t emitted = 0;
  int allocated = 0;

 private:
  isa::Limits limits_{.sbuf_bytes = 1024, .psum_banks = 2, .psum_bank_bytes = 2048};
};

struct FitsTest : testing::Test {
  bool Bytes(std::int64_t bytes) {
    return Fits(nki, [&](Core& trial) { trial.Sbuf("t", DType::kUint8, 128, {bytes}); });
  }

  CountingSink sink;
  Core nki{sink};
};

TEST_F(FitsTest, WhatIsFreeFitsToTheLastGranule) {
  const Tile held = nki.Sbuf("held", DType::kUint8, 128, {100});  // two granules of 64
  EXPECT_TRUE(Bytes(1024 - 128));
  EXPECT_FALSE(Bytes(1024 - 128 + 1));
}

TEST_F(FitsTest, TilesThatLiveTogetherAreCountedTogether) {
  const auto both = [](Core& trial) {
    const Tile a = trial.Sbuf("a", DType::kUint8, 128, {512});
    const Tile b = trial.Sbuf("b", DType::kUint8, 128, {576});
  };
  const auto in_turn = [](Core& trial) {
    { const Tile a = trial.Sbuf("a", DType::kUint8, 128, {512}); }
    const Tile b = trial.Sbuf("b", DType::kUint8, 128, {576});
  };
  EXPECT_FALSE(Fits(nki, both));
  EXPECT_TRUE(Fits(nki, in_turn));
}

TEST_F(FitsTest, PsumIsAskedToo) {
  const auto banks = [&](int count) {
    return Fits(nki, [&](Core& trial) {
      const auto tiles = trial.RotatingPsum("p", count, DType::kFp32, 128, {512});
    });
  };
  EXPECT_TRUE(banks(2));
  EXPECT_FALSE(banks(3));
}

TEST_F(FitsTest, ATrialLeavesNoTraceInTheProgram) {
  EXPECT_TRUE(Fits(nki, [](Core& trial) {
    EXPECT_EQ(trial.program_id(), 1);
    EXPECT_EQ(trial.limits().sbuf_bytes, 1024);
    const Tile tile = trial.Sbuf("t", DType::kFp32, 128, {256});
    trial.memset(tile, 1.0f);
  }));
  EXPECT_EQ(sink.emitted, 0u);
  EXPECT_EQ(sink.allocated, 0);
  const Tile all = nki.Sbuf("all", DType::kUint8, 128, {1024});
  EXPECT_EQ(all->operand().offset, 0u);
}

TEST_F(FitsTest, AnotherErrorIsNoAnswer) {
  EXPECT_THAT([&] { Fits(nki, [](Core& trial) { trial.Sbuf("t", DType::kUint8, 129, {1}); }); },
              ThrowsMessage<SimError>(HasSubstr("tile t: 129 partitions")));
}

TEST_F(FitsTest, RejectsALoadOfARegister) {
  EXPECT_THROW(
      Fits(nki, [](Core& trial) { trial.register_load(trial.Sbuf("r", DType::kInt32, 1, {1})); }),
      CheckFailure);
}

}  // namespace
}  // namespace bwmm::lang
