// Views against brute force: each operation is repeated on the list of the tensor's element
// addresses, kept as an explicit array with an index computed by hand.
#include "kernels/lang/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>

#include "model/support/sim_error.h"
#include "tests/isa/address_oracle.h"

namespace bwmm::lang {
namespace {

using test::Dense;
using test::ElementPlaces;
using test::Place;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// A tensor as a shape and the place of each element in row-major order.
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<Place> places;

  friend bool operator==(const Array&, const Array&) = default;
};

using Index = std::vector<std::int64_t>;

Array ArrayOf(const View& view) {
  Array array{.shape = {}, .places = ElementPlaces(view.operand())};
  for (int dim = 0; dim < view.rank(); ++dim)
    array.shape.push_back(view.size(dim));
  return array;
}

// The array of `shape` whose element at index i is element source(i) of `from`.
Array Rearranged(const Array& from, std::vector<std::int64_t> shape,
                 const std::function<Index(const Index&)>& source) {
  Array result{.shape = std::move(shape), .places = {}};
  std::int64_t count = 1;
  for (const std::int64_t size : result.shape)
    count *= size;
  for (std::int64_t n = 0; n < count; ++n) {
    Index index(result.shape.size());
    std::int64_t rest = n;
    for (int dim = static_cast<int>(index.size()) - 1; dim >= 0; --dim) {
      index[dim] = rest % result.shape[dim];
      rest /= result.shape[dim];
    }
    const Index at = source(index);
    std::int64_t flat = 0;
    for (std::size_t dim = 0; dim < at.size(); ++dim)
      flat = flat * from.shape[dim] + at[dim];
    result.places.push_back(from.places.at(flat));
  }
  return result;
}

// [4, 3, 6, 5] in each memory; two with gaps between rows or runs.
std::vector<View> Sources() {
  std::vector<View> views;
  for (const auto memory : {isa::Memory::kHbm, isa::Memory::kSbuf, isa::Memory::kPsum}) {
    isa::Operand o = Dense(memory, DType::kBf16, 4, {3, 6, 5}, 64);
    if (memory == isa::Memory::kHbm)
      o.partition_stride += 7;
    else
      o.partition = 32;
    views.emplace_back("t", o);
    o.dims[0].stride += 3;
    o.dims[1].stride += 1;
    views.emplace_back("t", o);
  }
  return views;
}

TEST(View, SliceKeepsAWindowOfOneDimension) {
  for (const View& view : Sources()) {
    const Array all = ArrayOf(view);
    for (int dim = 0; dim < 4; ++dim) {
      std::vector<std::int64_t> shape = all.shape;
      shape[dim] = 2;
      const Array expected = Rearranged(all, shape, [dim](Index i) {
        i[dim] += 1;
        return i;
      });
      EXPECT_EQ(ArrayOf(view.Slice(dim, 1, 2)), expected) << "dimension " << dim;
    }
  }
}

TEST(View, PickRemovesItsDimension) {
  for (const View& view : Sources()) {
    const Array all = ArrayOf(view);
    for (int dim = 1; dim < 4; ++dim) {
      std::vector<std::int64_t> shape = all.shape;
      shape.erase(shape.begin() + dim);
      const Array expected = Rearranged(all, shape, [dim](Index i) {
        i.insert(i.begin() + dim, 2);
        return i;
      });
      EXPECT_EQ(ArrayOf(view.Pick(dim, 2)), expected) << "dimension " << dim;
    }
  }
}

TEST(View, PermutedReordersFreeDimensions) {
  for (const View& view : Sources()) {
    const Array expected = Rearranged(ArrayOf(view), {4, 5, 3, 6}, [](const Index& i) {
      return Index{i[0], i[2], i[3], i[1]};
    });
    EXPECT_EQ(ArrayOf(view.Permuted({3, 1, 2})), expected);
  }
}

TEST(View, SplitMakesTwoDimensionsOfOne) {
  for (const View& view : Sources()) {
    const Array expected = Rearranged(ArrayOf(view), {4, 3, 2, 3, 5}, [](const Index& i) {
      return Index{i[0], i[1], 3 * i[2] + i[3], i[4]};
    });
    EXPECT_EQ(ArrayOf(view.Split(2, 3)), expected);
  }
}

TEST(View, FlatIsOneDenseFreeDimension) {
  const View view("t", Dense(isa::Memory::kSbuf, DType::kBf16, 4, {3, 6, 5}, 64));
  const Array expected = Rearranged(ArrayOf(view), {4, 90}, [](const Index& i) {
    return Index{i[0], i[1] / 30, i[1] / 5 % 6, i[1] % 5};
  });
  EXPECT_EQ(ArrayOf(view.Flat()), expected);
}

TEST(View, SplitRowsDealsGroupsOfRowsToTheSamePartitions) {
  isa::Operand o = Dense(isa::Memory::kHbm, DType::kFp32, 12, {3, 5}, 128);
  o.partition_stride += 2;
  const View view("t", o);
  const Array expected = Rearranged(ArrayOf(view), {4, 3, 3, 5}, [](const Index& i) {
    return Index{4 * i[1] + i[0], i[2], i[3]};
  });
  EXPECT_EQ(ArrayOf(view.SplitRows(4)), expected);
}

TEST(View, AsKeepsTheBytes) {
  const View view("t", Dense(isa::Memory::kSbuf, DType::kFp32, 4, {6}, 64));
  EXPECT_EQ(view.As(DType::kInt32).dtype(), DType::kInt32);
  EXPECT_EQ(ArrayOf(view.As(DType::kInt32)), ArrayOf(view));
}

const HbmTensor kTensor{.name = "w", .dtype = DType::kBf16, .shape = {3, 4, 5, 6}, .address = 640};

TEST(HbmTensor, AtLeadingIndicesIsTheSubTensor) {
  const Array all = ArrayOf(kTensor.At());
  EXPECT_EQ(all.shape, (std::vector<std::int64_t>{3, 4, 5, 6}));
  for (std::size_t n = 0; n < all.places.size(); ++n)
    ASSERT_EQ(all.places[n].byte, 640 + 2 * static_cast<std::int64_t>(n));
  EXPECT_EQ(ArrayOf(kTensor.At({2})), Rearranged(all, {4, 5, 6}, [](const Index& i) {
              return Index{2, i[0], i[1], i[2]};
            }));
  EXPECT_EQ(ArrayOf(kTensor.At({1, 3})), Rearranged(all, {5, 6}, [](const Index& i) {
              return Index{1, 3, i[0], i[1]};
            }));
}

TEST(HbmTensor, RowsAndReshapedKeepTheElementOrder) {
  EXPECT_EQ(ArrayOf(kTensor.Rows(8)).places, ArrayOf(kTensor.At()).places);
  EXPECT_EQ(kTensor.Rows(8).size(0), 45);
  EXPECT_EQ(ArrayOf(kTensor.Reshaped({12, 30}).At()).places, ArrayOf(kTensor.At()).places);
}

TEST(HbmTensor, ColumnsReadAWindowColumnByColumn) {
  const HbmTensor vector{.name = "v", .dtype = DType::kInt32, .shape = {20}, .address = 64};
  const Array expected = Rearranged(ArrayOf(vector.At()), {4, 3},
                                    [](const Index& i) { return Index{2 + 4 * i[1] + i[0]}; });
  const View columns = vector.Columns(2, 4, 3);
  EXPECT_EQ(ElementPlaces(columns.operand()), expected.places);
  EXPECT_EQ(columns.size(0), 4);
  EXPECT_EQ(columns.size(1), 3);
}

TEST(HbmTensor, DynamicOffsetsCountTheTensorsOwnRows) {
  const View index("i", Dense(isa::Memory::kSbuf, DType::kInt32, 1, {1}));
  const isa::ScalarOffset offset = kTensor.Offset(index);
  EXPECT_EQ(offset.limit, 3);
  EXPECT_EQ(kTensor.address + offset.stride * 2, kTensor.At({1}).operand().offset);
  const isa::VectorOffset rows = kTensor.At({1}).RowsAt(index);
  EXPECT_EQ(rows.rows, 4);
  EXPECT_EQ(rows.row_stride, 30);
}

template <typename F>
void ExpectRefused(F f, const char* name, const std::string& value) {
  EXPECT_THAT(f, ThrowsMessage<SimError>(AllOf(HasSubstr(name), HasSubstr(value))));
}

TEST(View, RejectsRangesAndShapesItDoesNotHave) {
  const View view = Sources()[2];
  ExpectRefused([&] { view.size(4); }, "view of t", "dimension 4 of 4");
  ExpectRefused([&] { view.Slice(1, 2, 2); }, "view of t", "slice 2..3 of dimension 1 of size 3");
  ExpectRefused([&] { view.Slice(1, -1, 2); }, "view of t", "slice -1..0");
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  ExpectRefused([&] { view.Slice(1, kHuge, kHuge); }, "view of t", "dimension 1 of size 3");
  ExpectRefused([&] { view.Slice(2, 0, 0); }, "view of t", "dimension 2");
  ExpectRefused([&] { view.Pick(1, 3); }, "view of t", "slice 3..3");
  ExpectRefused([&] { view.Split(2, 4); }, "view of t", "runs of 4");
  ExpectRefused([&] { view.Split(2, 0); }, "view of t", "runs of 0");
  ExpectRefused([&] { view.Split(2, 3).Split(1, 1); }, "view of t", "4 free dimensions");
  ExpectRefused([&] { view.Permuted({1, 2, 2}); }, "view of t", "order");
  ExpectRefused([&] { view.Permuted({1, 2, 4}); }, "view of t", "order");
  ExpectRefused([&] { view.As(DType::kFp32); }, "view of t", "float32");
  ExpectRefused([&] { view.As(DType::kUint8); }, "view of t", "uint8");
  ExpectRefused([&] { view.SplitRows(2); }, "view of t", "groups of 2");
  ExpectRefused([&] { Sources()[3].Flat(); }, "view of t", "not dense");
  ExpectRefused([&] { Sources()[0].SplitRows(3); }, "view of t", "groups of 3");
  ExpectRefused([&] { Sources()[0].SplitRows(0); }, "view of t", "groups of 0");
}

TEST(HbmTensor, RejectsIndicesItDoesNotHave) {
  ExpectRefused([] { kTensor.At({3}); }, "tensor w", "index 3 of dimension 0, allowed 0..2");
  ExpectRefused([] { kTensor.At({0, 0, -1}); }, "tensor w", "index -1");
  ExpectRefused([] { kTensor.At({0, 0, 0, 0}); }, "tensor w", "view at 4 indices");
  ExpectRefused([] { kTensor.At({0, 0, 0, 0, 0}); }, "tensor w", "view at 5 indices");
}

TEST(HbmTensor, RejectsRowsThatDoNotDivideIt) {
  for (const std::int64_t columns : {7, 0, -1})
    ExpectRefused([=] { kTensor.Rows(columns); }, "tensor w", fmt::format("rows of {}, ", columns));
}

TEST(HbmTensor, RejectsViewsOfATensorWithoutDimensions) {
  const HbmTensor scalar{.name = "s", .dtype = DType::kFp32, .shape = {}, .address = 64};
  ExpectRefused([&] { scalar.At(); }, "tensor s", "has dimensions, 0; its shape is []");
  ExpectRefused([&] { scalar.Columns(0, 1, 1); }, "tensor s", "a window of a vector");
  ExpectRefused([&] { scalar.Offset(View()); }, "tensor s", "at least one dimension");
  ExpectRefused([&] { scalar.Reshaped({2}); }, "tensor s", "its 1 elements");
  EXPECT_EQ(scalar.Reshaped({1}).At().size(0), 1);
  EXPECT_EQ(scalar.Rows(1).size(0), 1);
  ExpectRefused([] { kTensor.Reshaped({}); }, "tensor w", "reshaped to [], allowed");
}

TEST(HbmTensor, RejectsAWindowThatIsNotInTheVector) {
  const HbmTensor vector{.name = "v", .dtype = DType::kFp32, .shape = {12}, .address = 64};
  EXPECT_EQ(vector.Columns(2, 5, 2).size(0), 5);
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  for (const auto& [begin, rows, columns] : std::vector<std::array<std::int64_t, 3>>{
           {3, 5, 2}, {-1, 1, 1}, {0, 0, 1}, {0, 1, 0}, {13, 1, 1}, {0, kHuge, kHuge}, {0, -1, -1}})
    ExpectRefused([=] { vector.Columns(begin, rows, columns); }, "tensor v",
                  "a window of a vector");
  ExpectRefused([] { kTensor.Columns(0, 1, 1); }, "tensor w", "a window of a vector");
}

TEST(HbmTensor, RejectsMoreFreeDimensionsThanAViewHas) {
  const HbmTensor deep{.name = "d", .shape = {2, 2, 2, 2, 2, 2}};
  ExpectRefused([&] { deep.At(); }, "tensor d", "view of 5 free dimensions, allowed up to 4");
  ExpectRefused([&] { deep.At({0}).SplitRows(1); }, "view of d", "4 free dimensions");
  ExpectRefused([&] { deep.At({0}).Pick(0, 1); }, "view of d", "dimension 0 is not picked");
}

}  // namespace
}  // namespace bwmm::lang
