// Which accesses of cores are races, and what counts as order between them. Every program here
// runs on the sequential executor.
#include "model/ops/race_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/ops/executor.h"
#include "tests/system/program_parts.h"

namespace bwmm::ops {
namespace {

using isa::Engine;
using isa::Operand;
using test::Rows;
using test::SbufTile;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kColumns = 64;

struct RaceTest : testing::Test {
  RaceTest() { test::FillInt32(numbers, {0, 1, 2, 3, 4, 5, 6, 7}); }

  // What the program is refused with, or "".
  std::string Run(const Program& program) {
    try {
      RunSequentially({}, hbm, program);
    } catch (const SimError& error) {
      return error.what();
    }
    return "";
  }
  // Core 0 does `first`, both do `between`, core 1 does `second`.
  std::string Run(const Program& first, const Program& between, const Program& second) {
    return Run([&](isa::Sink& sink) {
      sink.Emit(Engine::kVector, isa::Memset{.dst = tile});
      if (sink.core() == 0)
        first(sink);
      between(sink);
      if (sink.core() == 1)
        second(sink);
    });
  }
  Program Store(std::int64_t row, std::int64_t rows = 1) {
    return [=, this](isa::Sink& sink) {
      Operand src = tile;
      src.partitions = rows;
      sink.Emit(Engine::kSync, isa::DmaCopy{.dst = Rows(table, row, rows), .src = src});
    };
  }
  Program Load(std::int64_t row, std::int64_t rows = 1) {
    return [=, this](isa::Sink& sink) {
      Operand dst = tile;
      dst.partitions = rows;
      sink.Emit(Engine::kSync, isa::DmaCopy{.dst = dst, .src = Rows(table, row, rows)});
    };
  }
  Program Barrier(const HbmTensor& tensor) {
    return [&](isa::Sink& sink) {
      sink.Emit(Engine::kGpSimd, isa::CoreBarrier{.data = Rows(tensor, 0, tensor.shape[0])});
    };
  }
  static void Nothing(isa::Sink&) {}

  Hbm hbm;
  HbmTensor& table = hbm.Allocate("table", DType::kBf16, {128, kColumns}, true);
  HbmTensor& other = hbm.Allocate("other", DType::kBf16, {128, kColumns}, true);
  HbmTensor& numbers = hbm.Allocate("numbers", DType::kInt32, {8, 1}, true);
  const Operand tile = SbufTile(DType::kBf16, 0, 32, kColumns);
};

TEST_F(RaceTest, RejectsAWriteAndAReadOfOneByte) {
  const std::string text = Run(Store(4, 4), Nothing, Load(7, 2));
  EXPECT_THAT(text, AllOf(HasSubstr("race on bytes 896..1023 of tensor table"),
                          HasSubstr("core 0 instruction 1 (dma_copy) writes them"),
                          HasSubstr("core 1 instruction 1 (dma_copy) reads them"),
                          HasSubstr("a core_barrier on table (or a sendrecv)")));
}

TEST_F(RaceTest, RejectsTwoWritesAndAReadBeforeAWrite) {
  EXPECT_THAT(Run(Store(3), Nothing, Store(3)),
              HasSubstr("core 1 instruction 1 (dma_copy) writes"));
  EXPECT_THAT(Run(Load(3), Nothing, Store(3)),
              AllOf(HasSubstr("core 0 instruction 1 (dma_copy) reads"),
                    HasSubstr("core 1 instruction 1 (dma_copy) writes")));
}

TEST_F(RaceTest, NeighboursAndReadsAreNoRace) {
  EXPECT_EQ(Run(Store(4, 4), Nothing, Load(8, 2)), "");
  EXPECT_EQ(Run(Store(4, 4), Nothing, Store(3)), "");
  EXPECT_EQ(Run(Load(4, 4), Nothing, Load(4, 4)), "");
}

TEST_F(RaceTest, ABarrierOnTheTensorOrders) {
  EXPECT_EQ(Run(Store(4), Barrier(table), Load(4)), "");
  EXPECT_EQ(Run(Load(4), Barrier(table), Store(4)), "");
}

// A transfer may still be under way when its core passes a barrier on something else.
TEST_F(RaceTest, RejectsABarrierOnAnotherTensor) {
  EXPECT_THAT(Run(Store(4), Barrier(other), Load(4)), HasSubstr("race on bytes"));
}

TEST_F(RaceTest, RejectsWhatStandsBeforeTheBarrierOnOneCoreAndBehindItOnNone) {
  const std::string text = Run([&](isa::Sink& sink) {
    sink.Emit(Engine::kVector, isa::Memset{.dst = tile});
    if (sink.core() == 1)
      Load(4)(sink);
    if (sink.core() == 0)
      Store(4)(sink);
    Barrier(table)(sink);
  });
  EXPECT_THAT(text, HasSubstr("race on bytes"));
}

TEST_F(RaceTest, ABarrierOnItsRowsOrdersThem) {
  const auto barrier = [&](isa::Sink& sink) {
    sink.Emit(Engine::kGpSimd, isa::CoreBarrier{.data = Rows(table, 0, 8)});
  };
  EXPECT_EQ(Run(Store(4), barrier, Load(4)), "");
  EXPECT_THAT(Run(Store(9), barrier, Load(9)), HasSubstr("race on bytes"));
}

// store --(the tile is written again)--> memset --> sendrecv --> load into what came
TEST_F(RaceTest, ASendRecvOrdersWhatLeadsToItAndFromIt) {
  const Operand in = SbufTile(DType::kBf16, 4096, 32, kColumns);
  const auto meet = [&](bool chained) {
    return [=, this](isa::Sink& sink) {
      const Operand src = chained ? tile : SbufTile(DType::kBf16, 8192, 32, kColumns);
      sink.Emit(Engine::kVector, isa::Memset{.dst = src});
      sink.Emit(Engine::kSync, isa::SendRecv{.dst = in, .src = src, .peer = 1 - sink.core()});
    };
  };
  const auto load_over = [&](const Operand& place) {
    return [=, this](isa::Sink& sink) {
      Operand dst = place;
      dst.partitions = 1;
      sink.Emit(Engine::kSync, isa::DmaCopy{.dst = dst, .src = Rows(table, 4, 1)});
    };
  };
  EXPECT_EQ(Run(Store(4), meet(true), load_over(in)), "");
  // The sendrecv does not wait for the store; the load does not wait for the sendrecv.
  EXPECT_THAT(Run(Store(4), meet(false), load_over(in)), HasSubstr("race on bytes"));
  EXPECT_THAT(Run(Store(4), meet(true), load_over(SbufTile(DType::kBf16, 16384, 32, kColumns))),
              HasSubstr("race on bytes"));
}

// The store stands between two meetings; its order comes from the second.
TEST_F(RaceTest, TheSecondOfTwoSendRecvsOrdersWhatLeadsToIt) {
  const Operand in = SbufTile(DType::kBf16, 4096, 32, kColumns);
  const Operand fresh = SbufTile(DType::kBf16, 8192, 32, kColumns);
  const std::string text = Run([&](isa::Sink& sink) {
    const auto swap = [&](const Operand& src) {
      sink.Emit(Engine::kSync, isa::SendRecv{.dst = in, .src = src, .peer = 1 - sink.core()});
    };
    sink.Emit(Engine::kVector, isa::Memset{.dst = tile});
    sink.Emit(Engine::kVector, isa::Memset{.dst = fresh});
    swap(fresh);
    if (sink.core() == 0) {
      Store(4)(sink);
      sink.Emit(Engine::kVector, isa::Memset{.dst = tile});
    }
    swap(tile);
    if (sink.core() == 1) {
      Operand dst = in;
      dst.partitions = 1;
      sink.Emit(Engine::kSync, isa::DmaCopy{.dst = dst, .src = Rows(table, 4, 1)});
    }
  });
  EXPECT_EQ(text, "");
}

// What is emitted behind a register was not there before its value.
TEST_F(RaceTest, ARegisterTheProgramWaitsForOrders) {
  const auto second = [&](bool waits) {
    return [=, this](isa::Sink& sink) {
      const auto id = sink.Emit(Engine::kSync, isa::RegisterLoad{.src = Rows(numbers, 0, 1)});
      if (waits)
        sink.RegisterValue(id);
      Load(4)(sink);
    };
  };
  // The barrier orders the numbers alone; the table's store is behind it through its tile.
  const auto between = [&](isa::Sink& sink) {
    sink.Emit(Engine::kGpSimd, isa::Memset{.dst = tile});
    Barrier(numbers)(sink);
  };
  EXPECT_EQ(Run(Store(4), between, second(true)), "");
  EXPECT_THAT(Run(Store(4), between, second(false)), HasSubstr("race on bytes"));
}

// GpSimd writes the descriptors of a gather in its turn, and stands still in a barrier. The index
// is there from before, so nothing else holds the gather back.
TEST_F(RaceTest, AGatherIsBehindTheBarrierThatGpSimdComesFrom) {
  const Operand index = SbufTile(DType::kInt32, 2048, 4, 1);
  const auto run = [&](bool behind) {
    return Run([&](isa::Sink& sink) {
      const auto meet = [&] {
        sink.Emit(Engine::kGpSimd, isa::Memset{.dst = tile});
        Barrier(numbers)(sink);
      };
      sink.Emit(Engine::kVector, isa::Memset{.dst = tile});
      if (sink.core() == 0) {
        Store(4)(sink);
        meet();
        return;
      }
      isa::DmaCopy gather{.dst = SbufTile(DType::kBf16, 4096, 4, kColumns),
                          .src = Rows(table, 0, 4)};
      gather.gather = isa::VectorOffset{.index = index, .rows = 128, .row_stride = kColumns};
      sink.Emit(Engine::kSync, isa::DmaCopy{.dst = index, .src = Rows(numbers, 4, 4)});
      if (behind)
        meet();
      sink.Emit(Engine::kGpSimd, gather);
      if (!behind)
        meet();
    });
  };
  EXPECT_EQ(run(true), "");
  EXPECT_THAT(run(false), HasSubstr("race on bytes 512..639 of tensor table"));
}

TEST_F(RaceTest, GatheredRowsAreTheRowsOfTheirIndices) {
  const auto scatter = [&](std::int64_t first) {
    return [=, this](isa::Sink& sink) {
      const Operand index = SbufTile(DType::kInt32, 2048, 4, 1);
      sink.Emit(Engine::kSync, isa::DmaCopy{.dst = index, .src = Rows(numbers, first, 4)});
      Operand src = tile;
      src.partitions = 4;
      isa::DmaCopy copy{.dst = Rows(table, 0, 4), .src = src};
      copy.scatter = isa::VectorOffset{.index = index, .rows = 128, .row_stride = kColumns};
      sink.Emit(Engine::kGpSimd, copy);
    };
  };
  EXPECT_EQ(Run(scatter(0), Nothing, scatter(4)), "");
  EXPECT_THAT(Run(scatter(0), Nothing, scatter(3)), HasSubstr("race on bytes 384..511"));
}

// However many reads there were, by either core, the write behind them races with.
TEST_F(RaceTest, RejectsAWriteBehindManyReads) {
  for (const int writer : {0, 1}) {
    const std::string text = Run([&](isa::Sink& sink) {
      sink.Emit(Engine::kVector, isa::Memset{.dst = tile});
      if (sink.core() != writer)
        Load(4)(sink);
      else
        for (int i = 0; i < 500; ++i)
          Load(4)(sink);
      Barrier(other)(sink);
      if (sink.core() == writer)
        Store(4)(sink);
    });
    EXPECT_THAT(text, HasSubstr(fmt::format("core {} instruction 1 (dma_copy) reads", 1 - writer)));
  }
}

TEST_F(RaceTest, PaddingRowsAreNobodys) {
  table.padding_from = 100 * kColumns * 2;
  EXPECT_EQ(Run(Store(100, 8), Nothing, Store(100, 8)), "");
  EXPECT_THAT(Run(Store(99, 8), Nothing, Store(99, 8)), HasSubstr("race on bytes 12672..12799"));
}

TEST_F(RaceTest, RejectsAWriteToAnInput) {
  table.read_only = true;
  EXPECT_EQ(Run(Load(4), Nothing, Load(4)), "");
  EXPECT_THAT(Run(Store(4), Nothing, Nothing),
              AllOf(HasSubstr("instruction 1 (dma_copy) on core 0"),
                    HasSubstr("writes tensor table, which is an input")));
}

// Core c of n does what steps[c] says, in one program.
struct RaceOfManyTest : RaceTest {
  std::string RunOn(int cores, const Program& program) {
    try {
      RunSequentially({.cores = cores, .sbuf_bytes = 32768}, hbm, [&](isa::Sink& sink) {
        sink.Emit(Engine::kVector, isa::Memset{.dst = tile});
        program(sink);
      });
    } catch (const SimError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(RaceOfManyTest, RejectsARaceOfAnyTwoCores) {
  for (int writer = 0; writer < 4; ++writer) {
    for (int reader = 0; reader < 4; ++reader) {
      if (reader == writer)
        continue;
      const std::string text = RunOn(4, [&](isa::Sink& sink) {
        if (sink.core() == writer)
          Store(4)(sink);
        if (sink.core() == reader)
          Load(4)(sink);
      });
      const std::string write = fmt::format("core {} instruction 1 (dma_copy) writes them", writer);
      const std::string read = fmt::format("core {} instruction 1 (dma_copy) reads them", reader);
      EXPECT_THAT(text, HasSubstr(writer < reader ? write + ", " + read : read + ", " + write));
    }
  }
}

TEST_F(RaceOfManyTest, ABarrierOrdersAllCores) {
  for (int writer = 0; writer < 4; ++writer) {
    EXPECT_EQ(RunOn(4,
                    [&](isa::Sink& sink) {
                      if (sink.core() == writer)
                        Store(4)(sink);
                      Barrier(table)(sink);
                      Load(4)(sink);
                    }),
              "");
  }
}

// What core 0 stored goes on to core 2 through core 1, each step behind the one before.
TEST_F(RaceOfManyTest, SendRecvsOrderFromCoreToCore) {
  const Operand in = SbufTile(DType::kBf16, 4096, 32, kColumns);
  const auto relay = [&](bool passed_on) {
    return [=, this](isa::Sink& sink) {
      const auto swap = [&](const Operand& dst, const Operand& src, int peer) {
        sink.Emit(Engine::kSync, isa::SendRecv{.dst = dst, .src = src, .peer = peer});
      };
      const Operand fresh = SbufTile(DType::kBf16, 8192, 32, kColumns);
      sink.Emit(Engine::kVector, isa::Memset{.dst = fresh});
      if (sink.core() == 0) {
        Store(4)(sink);
        sink.Emit(Engine::kVector, isa::Memset{.dst = tile});
        swap(in, tile, 1);
      } else if (sink.core() == 1) {
        swap(in, fresh, 0);
        swap(SbufTile(DType::kBf16, 16384, 32, kColumns), passed_on ? in : tile, 2);
      } else {
        swap(in, fresh, 1);
        Operand dst = in;
        dst.partitions = 1;
        sink.Emit(Engine::kSync, isa::DmaCopy{.dst = dst, .src = Rows(table, 4, 1)});
      }
    };
  };
  EXPECT_EQ(RunOn(3, relay(true)), "");
  EXPECT_THAT(RunOn(3, relay(false)), HasSubstr("race on bytes"));
}

// More reads than are kept, of every core, and a write behind them that one core's reads race with.
TEST_F(RaceOfManyTest, RejectsAWriteBehindManyReadsOfManyCores) {
  for (int writer = 0; writer < 4; ++writer) {
    const std::string text = RunOn(4, [&](isa::Sink& sink) {
      for (int i = 0; i < 100; ++i)
        Load(4)(sink);
      Barrier(other)(sink);
      if (sink.core() == writer)
        Store(4)(sink);
    });
    EXPECT_THAT(text, HasSubstr(fmt::format("core {} instruction 102 (dma_copy) writes", writer)));
    EXPECT_THAT(text, HasSubstr("(dma_copy) reads"));
  }
}

TEST_F(RaceTest, UncheckedProgramsRun) {
  EXPECT_NO_THROW(RunSequentially(
      {}, hbm,
      [&](isa::Sink& sink) {
        sink.Emit(Engine::kVector, isa::Memset{.dst = tile});
        Store(4)(sink);
      },
      false));
}

}  // namespace
}  // namespace bwmm::ops
