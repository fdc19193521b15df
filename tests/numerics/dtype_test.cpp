// Sizes and names of the data types.
#include "model/numerics/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace bwmm {
namespace {

constexpr DType kAll[] = {
    DType::kFp32,    DType::kBf16,        DType::kFp16,      DType::kFp8E4M3Fn,   DType::kFp8E4M3,
    DType::kFp8E5M2, DType::kFp8E4M3FnX4, DType::kFp8E5M2X4, DType::kFp4E2M1FnX4, DType::kE8M0,
    DType::kInt32,   DType::kUint8,       DType::kInt16,     DType::kUint16,      DType::kUint32};

TEST(DType, EveryNameIsItsOwnAndParsesBack) {
  std::set<std::string_view> names;
  for (const DType type : kAll) {
    names.insert(NameOf(type));
    EXPECT_EQ(ParseDType(NameOf(type)), type);
  }
  EXPECT_EQ(names.size(), std::size(kAll));
}

TEST(DType, RejectsUnknownNames) {
  EXPECT_EQ(ParseDType("float64"), std::nullopt);
  EXPECT_EQ(ParseDType(""), std::nullopt);
  EXPECT_EQ(ParseDType("Float32"), std::nullopt);
}

TEST(DType, AnX4WordHoldsFourLanes) {
  for (const DType type : kAll)
    EXPECT_EQ(IsX4(type), NameOf(type).ends_with("_x4"));
  EXPECT_EQ(SizeOf(DType::kFp8E4M3FnX4), 4 * SizeOf(DType::kFp8E4M3Fn));
  EXPECT_EQ(SizeOf(DType::kFp8E5M2X4), 4 * SizeOf(DType::kFp8E5M2));
  EXPECT_EQ(SizeOf(DType::kFp4E2M1FnX4) * 8, 4 * 4);
}

TEST(DType, ACarrierIsAsWideAsTheWordItCarries) {
  EXPECT_EQ(SizeOf(DType::kUint16), SizeOf(DType::kFp4E2M1FnX4));
  EXPECT_EQ(SizeOf(DType::kInt16), SizeOf(DType::kFp4E2M1FnX4));
  EXPECT_EQ(SizeOf(DType::kUint32), SizeOf(DType::kFp8E4M3FnX4));
  EXPECT_TRUE(IsBytesOnly(DType::kUint16) && IsBytesOnly(DType::kFp8E5M2X4));
  EXPECT_FALSE(IsBytesOnly(DType::kInt32) || IsBytesOnly(DType::kUint8));
}

}  // namespace
}  // namespace bwmm
