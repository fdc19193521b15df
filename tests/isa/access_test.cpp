// Access regions against the bytes found by counting elements.
#include "model/isa/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/isa/text.h"
#include "tests/isa/address_oracle.h"

namespace bwmm::isa {
namespace {

using test::BytePlaces;
using test::Dense;
using test::Place;
using ::testing::UnorderedElementsAreArray;

constexpr std::uint32_t kSeed = 20260101;

std::set<Place> BytesOf(const std::vector<Region>& regions) {
  std::set<Place> bytes;
  for (const Region& region : regions) {
    for (int p = region.partition; p < region.partition_end; ++p) {
      for (std::uint64_t b = region.begin; b < region.end; ++b)
        bytes.insert({p, static_cast<std::int64_t>(b)});
    }
  }
  return bytes;
}

std::vector<Region> RegionsOf(const Operand& operand) {
  std::vector<Region> regions;
  AppendRegions(operand, regions);
  return regions;
}

std::set<Place> BoundingBox(const std::set<Place>& bytes, const Operand& operand) {
  std::int64_t first = bytes.begin()->byte, last = first;
  for (const Place& place : bytes) {
    first = std::min(first, place.byte);
    last = std::max(last, place.byte);
  }
  std::set<Place> box;
  const int partitions = operand.memory == Memory::kHbm ? 1 : static_cast<int>(operand.partitions);
  for (int p = 0; p < partitions; ++p) {
    for (std::int64_t b = first; b <= last; ++b)
      box.insert({operand.partition + p, b});
  }
  return box;
}

TEST(Access, RegionsAreTheBytesOfTheElementsOrTheirBox) {
  std::mt19937 random(kSeed);
  int exact = 0, boxes = 0;
  for (int i = 0; i < 20000; ++i) {
    const Operand operand = test::RandomOperand(random);
    const std::set<Place> expected = BytePlaces(operand);
    const std::set<Place> actual = BytesOf(RegionsOf(operand));
    if (actual == expected) {
      ++exact;
      continue;
    }
    ++boxes;
    ASSERT_EQ(actual, BoundingBox(expected, operand))
        << ToText(operand) << " case " << i << " seed " << kSeed;
  }
  EXPECT_GT(exact, 10000);
  EXPECT_GT(boxes, 100);
}

TEST(Access, SixteenRunsAreExactAndSeventeenBecomeTheirBox) {
  Operand operand = Dense(Memory::kSbuf, DType::kBf16, 2, {16, 3});
  operand.dims[0].stride = 5;
  EXPECT_EQ(BytesOf(RegionsOf(operand)), BytePlaces(operand));
  operand.dims[0].size = 17;
  EXPECT_EQ(BytesOf(RegionsOf(operand)), BoundingBox(BytePlaces(operand), operand));
}

// However often a pattern reads the same bytes, they are the same few runs.
TEST(Access, RepeatedRunsCountOnce) {
  Operand operand{.memory = Memory::kSbuf, .dtype = DType::kUint8, .rank = 3};
  operand.dims = {{{20, 0}, {2, 100}, {3, 1}}};
  EXPECT_EQ(RegionsOf(operand).size(), 2u);
  EXPECT_EQ(BytesOf(RegionsOf(operand)), BytePlaces(operand));
}

TEST(Access, ADenseTileIsOneRegion) {
  const Operand operand = Dense(Memory::kPsum, DType::kFp32, 128, {4, 8, 2}, 256);
  EXPECT_THAT(RegionsOf(operand), UnorderedElementsAreArray({Region{.memory = Memory::kPsum,
                                                                    .partition = 0,
                                                                    .partition_end = 128,
                                                                    .begin = 256,
                                                                    .end = 512}}));
}

// One tile per role, told apart by its offset: 64 bytes at 64 * n of 32 partitions.
Operand Tile(int n) {
  return Dense(Memory::kSbuf, DType::kFp32, 32, {16}, 64 * n);
}
Operand Column(int n) {
  return Dense(Memory::kSbuf, DType::kInt32, 32, {1}, 64 * n);
}

struct Role {
  int n;
  char kind;  // 'r'ead, 'w'rite, 'i'ndex
  friend bool operator==(const Role&, const Role&) = default;
  friend void PrintTo(const Role& role, std::ostream* out) { *out << role.kind << role.n; }
};

std::vector<Role> RolesOf(Body body) {
  std::vector<Role> roles;
  for (const Access& access : AccessesOf({.body = std::move(body)}))
    roles.push_back({static_cast<int>(access.region.begin / 64), access.index   ? 'i'
                                                                 : access.write ? 'w'
                                                                                : 'r'});
  return roles;
}

void ExpectRoles(Body body, std::vector<Role> roles) {
  const auto name = OpcodeOf({.body = body});
  EXPECT_THAT(RolesOf(std::move(body)), UnorderedElementsAreArray(roles)) << name;
}

TEST(Access, EveryInstructionReadsItsSourcesAndWritesItsDestination) {
  const auto e8m0 = [](int n) { return Dense(Memory::kSbuf, DType::kE8M0, 32, {64}, 64 * n); };
  ExpectRoles(LoadStationary{.stationary = Tile(1)}, {{1, 'r'}});
  ExpectRoles(LoadStationary{.mode = PeMode::kMx, .stationary = Tile(1), .scale = e8m0(2)},
              {{1, 'r'}, {2, 'r'}});
  ExpectRoles(MultiplyMoving{.dst = Tile(1), .moving = Tile(2)}, {{2, 'r'}, {1, 'w'}});
  ExpectRoles(MultiplyMoving{.dst = Tile(1), .moving = Tile(2), .accumulate = true},
              {{2, 'r'}, {1, 'r'}, {1, 'w'}});
  ExpectRoles(MultiplyMoving{.mode = PeMode::kTranspose, .dst = Tile(1), .moving = Tile(2)},
              {{1, 'w'}});
  ExpectRoles(QuantizeMx{.dst = Tile(1), .dst_scale = e8m0(2), .src = Tile(3)},
              {{1, 'w'}, {2, 'w'}, {3, 'r'}});
  ExpectRoles(ActivationOp{.dst = Tile(1), .src = Tile(2), .bias = Column(3)},
              {{1, 'w'}, {2, 'r'}, {3, 'r'}});
  ExpectRoles(ActivationOp{.dst = Tile(1), .src = Tile(2), .reduce_res = Column(3)},
              {{1, 'w'}, {2, 'r'}, {3, 'w'}});
  ExpectRoles(TensorTensor{.dst = Tile(1), .a = Tile(2), .b = Tile(3)},
              {{1, 'w'}, {2, 'r'}, {3, 'r'}});
  ExpectRoles(TensorScalar{.dst = Tile(1),
                           .src = Tile(2),
                           .scalar0 = Column(3),
                           .op1 = AluOp::kAdd,
                           .scalar1 = Column(4)},
              {{1, 'w'}, {2, 'r'}, {3, 'r'}, {4, 'r'}});
  ExpectRoles(
      ScalarTensorTensor{.dst = Tile(1), .data = Tile(2), .scalar = Column(3), .tensor = Tile(4)},
      {{1, 'w'}, {2, 'r'}, {3, 'r'}, {4, 'r'}});
  ExpectRoles(TensorReduce{.dst = Column(1), .src = Tile(2)}, {{1, 'w'}, {2, 'r'}});
  ExpectRoles(TensorCopy{.dst = Tile(1), .src = Tile(2)}, {{1, 'w'}, {2, 'r'}});
  ExpectRoles(Memset{.dst = Tile(1)}, {{1, 'w'}});
  ExpectRoles(Iota{.dst = Tile(1)}, {{1, 'w'}});
  ExpectRoles(Max8{.dst = Tile(1), .src = Tile(2)}, {{1, 'w'}, {2, 'r'}});
  ExpectRoles(DmaCopy{.dst = Tile(1), .src = Tile(2)}, {{1, 'w'}, {2, 'r'}});
  ExpectRoles(DmaCompute{.dst = Tile(1), .sources = {Tile(2), Tile(3)}},
              {{1, 'w'}, {2, 'r'}, {3, 'r'}});
  ExpectRoles(SendRecv{.dst = Tile(1), .src = Tile(2)}, {{1, 'w'}, {2, 'r'}});
  ExpectRoles(CoreBarrier{.data = Dense(Memory::kHbm, DType::kFp32, 1, {16}, 64)},
              {{1, 'r'}, {1, 'w'}});
  ExpectRoles(RegisterLoad{.src = Column(1)}, {{1, 'r'}});
}

TEST(Access, AScaleIsFourRowsOfEachQuadrant) {
  Operand scale = Dense(Memory::kSbuf, DType::kE8M0, 64, {10}, 128);
  scale.partition = 4;
  const auto accesses = AccessesOf(
      {.body = LoadStationary{.mode = PeMode::kMx, .stationary = Tile(1), .scale = scale}});
  std::vector<Region> regions;
  for (const Access& access : accesses) {
    if (access.region.begin == 128)
      regions.push_back(access.region);
  }
  const Region quadrant{.memory = Memory::kSbuf, .begin = 128, .end = 138};
  std::vector<Region> expected(2, quadrant);
  expected[0].partition = 4, expected[0].partition_end = 8;
  expected[1].partition = 36, expected[1].partition_end = 40;
  EXPECT_THAT(regions, UnorderedElementsAreArray(expected));
}

TEST(Access, AGatherReadsItsIndexAndTheWholeTable) {
  const Operand row = Dense(Memory::kHbm, DType::kFp32, 32, {16}, 4096);
  const VectorOffset rows{.index = Column(2), .rows = 100, .row_stride = 24};
  const auto accesses = AccessesOf({.body = DmaCopy{.dst = Tile(1), .src = row, .gather = rows}});
  std::set<Place> table;
  int indices = 0;
  for (const Access& access : accesses) {
    indices += access.index ? 1 : 0;
    if (access.region.memory == Memory::kHbm) {
      EXPECT_FALSE(access.write);
      table.merge(BytesOf({access.region}));
    }
  }
  EXPECT_EQ(indices, 1);
  EXPECT_EQ(table.begin()->byte, 4096);
  EXPECT_EQ(table.rbegin()->byte, 4096 + (99 * 24 + 16) * 4 - 1);
}

TEST(Access, AScalarOffsetReachesFromTheFirstToTheLastAllowedPlace) {
  const Operand row = Dense(Memory::kHbm, DType::kBf16, 32, {16}, 4096);
  const ScalarOffset offset{.index = Column(2), .limit = 8, .stride = 1000};
  const auto accesses =
      AccessesOf({.body = DmaCopy{.dst = row, .src = Tile(1), .dst_offset = offset}});
  const auto written = std::find_if(accesses.begin(), accesses.end(),
                                    [](const Access& access) { return access.write; });
  ASSERT_NE(written, accesses.end());
  EXPECT_EQ(written->region.begin, 4096u);
  EXPECT_EQ(written->region.end, 4096u + 7 * 1000 * 2 + 32 * 16 * 2);
}

}  // namespace
}  // namespace bwmm::isa
