// Which type a tensor of a file has: by the file's own word, by its metadata, by the name the user
// gives it, or by what the reader needs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "host/tensor_file.h"
#include "tests/host/temp_dir.h"

namespace bwmm::host {
namespace {

using testing::HasSubstr;

// An .npy file of version 1, put together by hand.
std::string Npy(const std::string& descr, const std::string& shape, const std::string& data) {
  const std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header +
         data;
}

std::string Safetensors(const std::string& header, const std::string& data) {
  return std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header + data;
}

TEST(TensorType, NpyTypesByTheirNames) {
  const TempDir dir;
  const std::pair<const char*, DType> names[] = {{"bfloat16", DType::kBf16},
                                                 {"float8_e4m3fn", DType::kFp8E4M3Fn},
                                                 {"float8_e4m3", DType::kFp8E4M3},
                                                 {"float8_e5m2", DType::kFp8E5M2},
                                                 {"float8_e8m0fnu", DType::kE8M0},
                                                 {"float4_e2m1fn_x4", DType::kFp4E2M1FnX4},
                                                 {"float8_e4m3fn_x4", DType::kFp8E4M3FnX4},
                                                 {"float8_e5m2_x4", DType::kFp8E5M2X4}};
  for (const auto& [name, dtype] : names) {
    const std::string data = std::string("\x80\x3f\x11\x22").substr(0, SizeOf(dtype));
    const HostTensor tensor = LoadTensor(dir.Write("t.npy", Npy(name, "(1,)", data)));
    EXPECT_EQ(tensor.dtype, dtype);
    EXPECT_EQ(std::to_integer<int>(tensor.data[0]), 0x80) << name;
  }
}

TEST(TensorType, OpaqueWordsOfMlDtypesAreCarriers) {
  const TempDir dir;
  for (const char* descr : {"|V2", "<V2", "<u2"}) {
    dir.Write("t.npy", Npy(descr, "(1,)", "\x80\x3f"));
    EXPECT_EQ(LoadTensor(dir / "t.npy", "", DType::kBf16).words<std::uint16_t>()[0], 0x3f80);
    EXPECT_THAT(ErrorOf([&] { LoadTensor(dir / "t.npy"); }), HasSubstr("only a carrier"));
  }
  for (const char* descr : {"|V1", "<V1", "<f1", "|u1"}) {
    dir.Write("t.npy", Npy(descr, "(1,)", "8"));
    EXPECT_EQ(LoadTensor(dir / "t.npy", "", DType::kFp8E5M2).dtype, DType::kFp8E5M2);
  }
}

TEST(TensorType, ACarrierHoldsTheFirstTypeTheReaderCanUse) {
  const TempDir dir;
  const auto load = [&](std::vector<DType> carried) {
    return LoadTensor(TensorSpec{.path = dir / "t.npy"}, std::move(carried)).dtype;
  };
  dir.Write("t.npy", Npy("<u2", "(1,)", "ab"));
  EXPECT_EQ(load({DType::kBf16}), DType::kBf16);
  EXPECT_EQ(load({DType::kFp8E4M3FnX4, DType::kFp4E2M1FnX4, DType::kBf16}), DType::kFp4E2M1FnX4);
  EXPECT_THAT(ErrorOf([&] { load({DType::kFp32}); }), HasSubstr("say which type it holds"));
  // A type of its own is never another one.
  dir.Write("t.npy", Npy("<f2", "(1,)", "ab"));
  EXPECT_EQ(load({DType::kBf16}), DType::kFp16);
}

TEST(TensorType, ASpecNamesFileTensorAndType) {
  const auto parsed = [](const std::string& text) {
    const TensorSpec spec = ParseTensorSpec(text);
    return std::tuple(spec.path.string(), spec.tensor, spec.dtype);
  };
  using None = std::optional<DType>;
  EXPECT_EQ(parsed("a/w.npy"), std::tuple("a/w.npy", "", None()));
  EXPECT_EQ(parsed("a/w.npy:bfloat16"), std::tuple("a/w.npy", "", None(DType::kBf16)));
  EXPECT_EQ(parsed("w.safetensors#x.y"), std::tuple("w.safetensors", "x.y", None()));
  EXPECT_EQ(parsed("w.safetensors#x:float4_e2m1fn_x4"),
            std::tuple("w.safetensors", "x", None(DType::kFp4E2M1FnX4)));
  // Colons and hashes of folders are theirs.
  EXPECT_EQ(parsed("12:30/#1/w.npy"), std::tuple("12:30/#1/w.npy", "", None()));
  EXPECT_EQ(parsed("w.bin"), std::tuple("w.bin", "", None()));
}

TEST(TensorType, RejectsASpecWithAnUnknownType) {
  EXPECT_THAT(ErrorOf([] { ParseTensorSpec("w.npy:bfloat15"); }),
              testing::AllOf(HasSubstr("type 'bfloat15'"), HasSubstr("bfloat16, float16"),
                             HasSubstr("float8_e8m0fnu"), HasSubstr("float4_e2m1fn_x4")));
}

TEST(TensorType, SafetensorsOfOursNameWhatTheyCarry) {
  const TempDir dir;
  for (const DType dtype : {DType::kFp8E4M3, DType::kE8M0, DType::kFp4E2M1FnX4, DType::kFp8E4M3FnX4,
                            DType::kFp8E5M2X4, DType::kUint8}) {
    const HostTensor tensor = HostTensor::Zeros("w", dtype, {3});
    SaveTensor(dir / "t.safetensors", tensor);
    EXPECT_EQ(LoadTensor(dir / "t.safetensors").dtype, dtype) << NameOf(dtype);
  }
  // Words named as one type are never read as another.
  SaveTensor(dir / "t.safetensors", HostTensor::Zeros("w", DType::kFp8E5M2X4, {3}));
  EXPECT_THAT(ErrorOf([&] { LoadTensor(dir / "t.safetensors", "", DType::kFp8E4M3FnX4); }),
              HasSubstr("dtype float8_e5m2_x4 cannot be read as float8_e4m3fn_x4"));
}

TEST(TensorType, ReadsTheScaleTypeOfSafetensors) {
  const TempDir dir;
  dir.Write(
      "t.safetensors",
      Safetensors(R"({"s":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[0,2]}})", "\x7f\x80"));
  EXPECT_EQ(LoadTensor(dir / "t.safetensors").dtype, DType::kE8M0);
}

TEST(TensorType, RejectsMetadataThatDoesNotFit) {
  const TempDir dir;
  const auto error = [&](const std::string& type) {
    dir.Write("t.safetensors",
              Safetensors(R"({"__metadata__":{"bwmm.dtype.s":")" + type +
                              R"("},"s":{"dtype":"U16","shape":[1],)" + R"("data_offsets":[0,2]}})",
                          "ab"));
    return ErrorOf([&] { LoadTensor(dir / "t.safetensors"); });
  };
  EXPECT_THAT(error("float3"), HasSubstr(R"(bwmm.dtype.s is "float3")"));
  EXPECT_THAT(error("float8_e5m2_x4"), HasSubstr("dtype U16 does not hold float8_e5m2_x4"));
}

}  // namespace
}  // namespace bwmm::host
