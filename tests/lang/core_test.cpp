// What each call of the kernel language emits, seen by a sink that records.
#include "kernels/lang/core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/lang/fits.h"
#include "model/isa/validate.h"
#include "model/support/sim_error.h"

namespace bwmm::lang {
namespace {

using isa::Engine;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Recorder final : public isa::Sink {
 public:
  int core() const override { return 1; }
  const isa::Limits& limits() const override { return limits_; }
  std::uint32_t Emit(Engine engine, isa::Body body) override {
    const auto id = static_cast<std::uint32_t>(instructions.size());
    instructions.push_back({.id = id, .core = 1, .engine = engine, .body = std::move(body)});
    isa::Validate(instructions.back(), limits_);
    return id;
  }
  std::int32_t RegisterValue(std::uint32_t id) override { return 1000 + static_cast<int>(id); }
  void Allocated(isa::Memory memory, std::uint64_t begin, std::uint64_t bytes,
                 const std::string& name) override {
    lives.push_back(fmt::format("+{} {} {} {}", memory == isa::Memory::kSbuf ? "sbuf" : "psum",
                                begin, bytes, name));
  }
  void Freed(isa::Memory memory, std::uint64_t begin) override {
    lives.push_back(fmt::format("-{} {}", memory == isa::Memory::kSbuf ? "sbuf" : "psum", begin));
  }

  template <typename Op>
  const Op& Get(int i) const {
    return std::get<Op>(instructions.at(i).body);
  }

  std::vector<isa::Instruction> instructions;
  std::vector<std::string> lives;

 private:
  isa::Limits limits_;
};

struct CoreTest : testing::Test {
  // Whether exactly so many bytes of a partition of SBUF are free.
  bool AreFree(std::int64_t bytes) {
    const auto fits = [&](std::int64_t size) {
      return Fits(nki, [&](Core& trial) { trial.Sbuf("all", DType::kUint8, 128, {size}); });
    };
    return fits(bytes) && !fits(bytes + 1);
  }

  Recorder sink;
  Core nki{sink};
};

TEST_F(CoreTest, TilesAreDenseAndFreeTheirBytes) {
  const std::int64_t all = nki.limits().sbuf_bytes;
  {
    const Tile tile = nki.Sbuf("t", DType::kBf16, 96, {3, 100});
    EXPECT_EQ(tile->operand().partitions, 96);
    EXPECT_EQ(tile->operand().contiguous_run(), 300);
    EXPECT_TRUE(AreFree(all - 640));
  }
  EXPECT_TRUE(AreFree(all));
}

TEST_F(CoreTest, AMovedTileFreesOnce) {
  const std::int64_t all = nki.limits().sbuf_bytes;
  {
    Tile tile = nki.Sbuf("t", DType::kBf16, 128, {32});
    const Tile other = std::move(tile);
    EXPECT_TRUE(AreFree(all - 64));
  }
  EXPECT_TRUE(AreFree(all));
}

TEST_F(CoreTest, TellsTheSinkOfEveryTile) {
  {
    const Tile a = nki.Sbuf("a", DType::kBf16, 96, {50});  // 100 bytes in granules of 64
    Tile p = nki.Psum("p", DType::kFp32, 128, {512});
    const Tile moved = std::move(p);
  }
  nki.Sbuf("b", DType::kInt32, 1, {1});
  EXPECT_THAT(sink.lives, ElementsAre("+sbuf 0 128 a", "+psum 0 2048 p", "-psum 0", "-sbuf 0",
                                      "+sbuf 0 64 b", "-sbuf 0"));
}

TEST_F(CoreTest, RejectsAViewThatOutlivesItsTile) {
  View rows;
  {
    const Tile tile = nki.Sbuf("short", DType::kBf16, 128, {64});
    rows = tile->Slice(1, 0, 32);
    EXPECT_NO_THROW(nki.memset(rows, 0.0f));
  }
  const Tile other = nki.Sbuf("other", DType::kBf16, 128, {64});  // the same bytes
  EXPECT_THAT(
      [&] { nki.memset(rows, 0.0f); },
      ThrowsMessage<SimError>(AllOf(HasSubstr("view of short"), HasSubstr("after its tile"))));
  EXPECT_THAT([&] { nki.tensor_copy(other, rows.Slice(0, 0, 64)); },
              ThrowsMessage<SimError>(HasSubstr("view of short")));
}

TEST_F(CoreTest, RejectsRotatingTilesWithoutBuffers) {
  EXPECT_THAT([&] { nki.RotatingSbuf("r", 0, DType::kBf16, 128, {64}); },
              ThrowsMessage<SimError>(HasSubstr("tile r: 0 rotating buffers")));
  EXPECT_THAT([&] { nki.RotatingPsum("r", -1, DType::kFp32, 128, {64}); },
              ThrowsMessage<SimError>(HasSubstr("tile r: -1 rotating buffers")));
  EXPECT_ANY_THROW(RotatingTile()[0]);
}

TEST_F(CoreTest, RotatingTilesComeInTurn) {
  const RotatingTile tiles = nki.RotatingSbuf("t", 3, DType::kBf16, 128, {32});
  ASSERT_EQ(tiles.count(), 3);
  std::set<std::uint64_t> offsets;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(tiles[i].name(), fmt::format("t.{}", i));
    offsets.insert(tiles[i].operand().offset);
    EXPECT_EQ(&tiles[i], &tiles[i + 3]);
    EXPECT_EQ(&tiles[i], &tiles[i + 300]);
  }
  EXPECT_EQ(offsets.size(), 3u);
}

TEST_F(CoreTest, AMatmulIsALoadAndAMultiply) {
  const Tile w = nki.Sbuf("w", DType::kBf16, 128, {64});
  const Tile x = nki.Sbuf("x", DType::kBf16, 128, {256});
  const Tile acc = nki.Psum("acc", DType::kFp32, 64, {256});
  nki.nc_matmul(acc, w, x, {.accumulate = true});
  nki.nc_transpose(nki.Psum("t", DType::kBf16, 64, {128}), w);
  ASSERT_EQ(sink.instructions.size(), 4u);
  EXPECT_EQ(sink.instructions[0].engine, Engine::kTensor);
  EXPECT_EQ(sink.Get<isa::LoadStationary>(0).stationary.offset, w->operand().offset);
  EXPECT_TRUE(sink.Get<isa::MultiplyMoving>(1).accumulate);
  EXPECT_EQ(sink.Get<isa::MultiplyMoving>(1).moving.offset, x->operand().offset);
  EXPECT_EQ(sink.Get<isa::LoadStationary>(2).mode, PeMode::kTranspose);
  EXPECT_EQ(sink.Get<isa::MultiplyMoving>(3).mode, PeMode::kTranspose);
}

TEST_F(CoreTest, AMatmulOfFloat32IsFourPassesOfParts) {
  const Tile w = nki.Sbuf("w", DType::kFp32, 128, {64});
  const Tile x = nki.Sbuf("x", DType::kFp32, 128, {256});
  const Tile acc = nki.Psum("acc", DType::kFp32, 64, {256});
  for (const bool accumulate : {false, true}) {
    sink.instructions.clear();
    nki.nc_matmul(acc, w, x, {.accumulate = accumulate});
    ASSERT_EQ(sink.instructions.size(), 6u);
    for (const int load : {0, 3}) {
      const PePart own = load == 0 ? PePart::kLow : PePart::kHigh;
      EXPECT_EQ(sink.Get<isa::LoadStationary>(load).part, own);
      EXPECT_EQ(sink.Get<isa::MultiplyMoving>(load + 1).part, PePart::kLow);
      EXPECT_EQ(sink.Get<isa::MultiplyMoving>(load + 2).part, PePart::kHigh);
    }
    EXPECT_EQ(sink.Get<isa::MultiplyMoving>(1).accumulate, accumulate);
    for (const int later : {2, 4, 5})
      EXPECT_TRUE(sink.Get<isa::MultiplyMoving>(later).accumulate);
    for (const isa::Instruction& instruction : sink.instructions)
      isa::Validate(instruction, sink.limits());
  }
}

TEST_F(CoreTest, ADoubleRowContractsTwiceThePartitions) {
  const Tile w = nki.Sbuf("w", DType::kFp8E5M2, 128, {2, 64});
  const Tile x = nki.Sbuf("x", DType::kFp8E5M2, 128, {2, 256});
  const Tile acc = nki.Psum("acc", DType::kFp32, 64, {256});
  nki.nc_matmul(acc, w, x, {.accumulate = true, .double_row = true});
  ASSERT_EQ(sink.instructions.size(), 2u);
  for (const isa::Instruction& instruction : sink.instructions)
    isa::Validate(instruction, sink.limits());
  EXPECT_EQ(sink.Get<isa::LoadStationary>(0).mode, PeMode::kDoubleRow);
  EXPECT_EQ(sink.Get<isa::MultiplyMoving>(1).mode, PeMode::kDoubleRow);
  EXPECT_TRUE(sink.Get<isa::MultiplyMoving>(1).accumulate);
}

TEST_F(CoreTest, AnActivationMaySumItsRows) {
  const Tile x = nki.Sbuf("x", DType::kBf16, 128, {256});
  const Tile sums = nki.Sbuf("sums", DType::kFp32, 128, {1});
  nki.activation(x, Activation::kExp, x, 2.0f, nullptr, &sums.view());
  nki.activation(x, Activation::kExp, x);
  const auto& op = sink.Get<isa::ActivationOp>(0);
  isa::Validate(sink.instructions[0], sink.limits());
  ASSERT_TRUE(op.reduce_res);
  EXPECT_EQ(op.reduce_res->offset, sums->operand().offset);
  EXPECT_FALSE(op.bias);
  EXPECT_FALSE(sink.Get<isa::ActivationOp>(1).reduce_res);
}

TEST_F(CoreTest, AMax8IsTheVectorEngines) {
  const Tile scores = nki.Sbuf("scores", DType::kFp32, 128, {256});
  const Tile top = nki.Sbuf("top", DType::kFp32, 128, {8});
  nki.max8(top, scores);
  ASSERT_EQ(sink.instructions.size(), 1u);
  const isa::Instruction& instruction = sink.instructions[0];
  isa::Validate(instruction, sink.limits());
  EXPECT_EQ(instruction.engine, Engine::kVector);
  const auto& op = std::get<isa::Max8>(instruction.body);
  EXPECT_EQ(op.dst.offset, top->operand().offset);
  EXPECT_EQ(op.src.offset, scores->operand().offset);
}

TEST_F(CoreTest, AGatherHasOneRowPerIndexAndRunsOnGpSimd) {
  const HbmTensor table{.name = "h", .dtype = DType::kBf16, .shape = {1000, 64}, .address = 4096};
  const Tile rows = nki.Sbuf("rows", DType::kBf16, 128, {64});
  const Tile ids = nki.Sbuf("ids", DType::kInt32, 128, {1});
  nki.dma_copy(rows, table.At(), {.gather = table.At().RowsAt(ids)});
  nki.dma_copy(table.At(), rows, {.scatter = table.At().RowsAt(ids)});
  nki.dma_copy(rows, table.At().Slice(0, 0, 128));
  const auto& gather = sink.Get<isa::DmaCopy>(0);
  EXPECT_EQ(gather.src.partitions, 128);
  EXPECT_EQ(gather.gather->rows, 1000);
  EXPECT_EQ(sink.Get<isa::DmaCopy>(1).dst.partitions, 128);
  std::vector<Engine> engines;
  for (const isa::Instruction& instruction : sink.instructions)
    engines.push_back(instruction.engine);
  EXPECT_THAT(engines, ElementsAre(Engine::kGpSimd, Engine::kGpSimd, Engine::kSync));
}

TEST_F(CoreTest, ARegisterLoadReturnsWhatTheSinkLoaded) {
  const HbmTensor conditions{.name = "c", .dtype = DType::kInt32, .shape = {5}, .address = 64};
  nki.memset(nki.Sbuf("t", DType::kFp32, 128, {1}), 0.0f);
  EXPECT_EQ(nki.register_load(conditions.At().Slice(0, 3, 1)), 1001);
}

TEST_F(CoreTest, RejectsTilesThatCannotExist) {
  const auto refuses = [&](int partitions, std::initializer_list<std::int64_t> dims,
                           const char* value) {
    EXPECT_THAT([&] { nki.Sbuf("t", DType::kFp32, partitions, dims); },
                ThrowsMessage<SimError>(AllOf(HasSubstr("tile t"), HasSubstr(value))));
  };
  refuses(0, {1}, "0 partitions");
  refuses(129, {1}, "129 partitions");
  refuses(128, {4, 0}, "size 0");
  refuses(128, {1, 1, 1, 1, 1}, "5 free dimensions");
  refuses(128, {std::int64_t{1} << 62}, "over 1099511627776 elements");
  refuses(128, {std::int64_t{1} << 32, std::int64_t{1} << 32}, "over 1099511627776 elements");
  EXPECT_THROW(nki.Sbuf("t", DType::kFp32, 128, {64 * 1024 + 1}), SimError);
}

}  // namespace
}  // namespace bwmm::lang
