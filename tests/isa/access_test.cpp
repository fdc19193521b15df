// Access regions against the bytes found by counting elements.
#include "model/isa/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/isa/text.h"
#include "tests/isa/address_oracle.h"
#include "tests/isa/region_bytes.h"

namespace bwmm::isa {
namespace {

using test::BytePlaces;
using test::Dense;
using test::Place;
using ::testing::UnorderedElementsAreArray;

constexpr std::uint32_t kSeed = 20260101;

std::set<Place> BytesOf(const Region& region) {
  std::set<Place> bytes;
  for (int p = region.partition; p < region.partition_end; ++p) {
    for (const std::int64_t byte : test::BytesOf(region))
      bytes.insert({p, byte});
  }
  return bytes;
}

TEST(Access, ARegionIsTheBytesOfTheElements) {
  std::mt19937 random(kSeed);
  int with_gaps = 0;
  for (int i = 0; i < 20000; ++i) {
    const Operand operand = test::RandomOperand(random);
    const Region region = RegionOf(operand);
    with_gaps += region.dense() ? 0 : 1;
    ASSERT_EQ(BytesOf(region), BytePlaces(operand))
        << ToText(operand) << " case " << i << " seed " << kSeed;
  }
  EXPECT_GT(with_gaps, 5000);
}

TEST(Access, AnyNumberOfRunsIsExact) {
  Operand operand = Dense(Memory::kSbuf, DType::kBf16, 2, {1000, 3});
  operand.dims[0].stride = 5;
  EXPECT_EQ(BytesOf(RegionOf(operand)), BytePlaces(operand));
}

// However often a pattern reads the same bytes, they are the same runs.
TEST(Access, RepeatedRunsCountOnce) {
  Operand operand{.memory = Memory::kSbuf, .dtype = DType::kUint8, .rank = 3};
  operand.dims = {{{20, 0}, {2, 100}, {3, 1}}};
  EXPECT_EQ(RegionOf(operand).repeats.size(), 1u);
  EXPECT_EQ(BytesOf(RegionOf(operand)), BytePlaces(operand));
}

TEST(Access, ADenseTileIsDenseInAnyOrderOfItsDimensions) {
  Operand operand = Dense(Memory::kPsum, DType::kFp32, 128, {4, 8, 2}, 256);
  const Region tile{
      .memory = Memory::kPsum, .partition = 0, .partition_end = 128, .begin = 256, .end = 512};
  EXPECT_EQ(RegionOf(operand), tile);
  std::swap(operand.dims[0], operand.dims[2]);
  EXPECT_EQ(RegionOf(operand), tile);
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
      table.merge(BytesOf(access.region));
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
