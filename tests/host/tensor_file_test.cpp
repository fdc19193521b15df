// .npy and .safetensors: what is written comes back, what NumPy and others write is read, and
// every defect is one line that names it.
#include "host/tensor_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tests/host/temp_dir.h"

namespace bwmm::host {
namespace {

using testing::HasSubstr;

template <typename T>
std::string BytesOfValues(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

HostTensor RandomTensor(DType dtype, std::vector<std::int64_t> shape) {
  HostTensor tensor = HostTensor::Zeros("weights.0", dtype, std::move(shape));
  std::mt19937 random(7);
  for (std::byte& byte : tensor.data)
    byte = static_cast<std::byte>(random());
  return tensor;
}

constexpr DType kAllTypes[] = {DType::kFp32,        DType::kBf16,      DType::kFp16,
                               DType::kFp8E4M3Fn,   DType::kFp8E4M3,   DType::kFp8E5M2,
                               DType::kFp8E4M3FnX4, DType::kFp8E5M2X4, DType::kFp4E2M1FnX4,
                               DType::kE8M0,        DType::kInt32,     DType::kUint8};

TEST(TensorFile, EveryTypeAndRankComesBackBitForBit) {
  const TempDir dir;
  for (const char* name : {"t.npy", "t.safetensors"}) {
    for (const DType dtype : kAllTypes) {
      for (const std::vector<std::int64_t>& shape :
           {std::vector<std::int64_t>{}, {5}, {0, 3}, {2, 3, 4}, {1, 1, 1, 1, 7}}) {
        const HostTensor tensor = RandomTensor(dtype, shape);
        SaveTensor(dir / name, tensor);
        const HostTensor loaded = LoadTensor(dir / name, "weights.0", dtype);
        EXPECT_EQ(loaded.name, tensor.name);
        EXPECT_EQ(loaded.dtype, dtype);
        EXPECT_EQ(loaded.shape, shape);
        EXPECT_EQ(loaded.data, tensor.data) << name << " " << NameOf(dtype);
      }
    }
  }
  EXPECT_EQ(dir.files(), 2) << "temporary files are left";
}

TEST(TensorFile, SafetensorsHoldsSeveralTensorsByName) {
  const TempDir dir;
  HostTensor first = RandomTensor(DType::kBf16, {3});
  HostTensor second = RandomTensor(DType::kFp32, {2, 2});
  second.name = "b";
  SaveTensors(dir / "t.safetensors", {first, second});
  EXPECT_EQ(LoadTensor(dir / "t.safetensors", "b").data, second.data);
  const std::vector<HostTensor> all = LoadTensors(dir / "t.safetensors");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].data, first.data);
  EXPECT_EQ(all[0].dtype, DType::kBf16);
  EXPECT_EQ(all[1].name, "b");
  EXPECT_THAT(ErrorOf([&] { LoadTensor(dir / "t.safetensors", "c"); }),
              HasSubstr("tensor 'c', the file has: weights.0, b"));
}

std::string Npy(std::string header, const std::string& data, int major = 1) {
  header += '\n';
  std::string text = "\x93NUMPY";
  text += static_cast<char>(major);
  text += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    text += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return text + header + data;
}

constexpr const char* kNpyHeader = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";

TEST(TensorFile, ReadsAllNpyVersionsAndSpellings) {
  const TempDir dir;
  const std::string data = BytesOfValues<float>({1.5f, -2});
  for (const int major : {1, 2, 3}) {
    for (const char* header :
         {kNpyHeader, "{\"shape\":(2,),\"descr\":\"<f4\",\"fortran_order\":False}",
          "{'shape': (2), 'fortran_order': False, 'descr': '<f4'}     "}) {
      const HostTensor tensor = LoadTensor(dir.Write("t.npy", Npy(header, data, major)));
      EXPECT_EQ(tensor.shape, std::vector<std::int64_t>{2});
      EXPECT_EQ(tensor.words<float>()[0], 1.5f);
      EXPECT_EQ(tensor.words<float>()[1], -2);
    }
  }
}

TEST(TensorFile, WidthsWithoutATypeOfOursAreConverted) {
  const TempDir dir;
  const auto load = [&](const char* descr, const std::string& data) {
    return LoadTensor(dir.Write("t.npy", Npy(std::string("{'descr': '") + descr +
                                                 "', 'fortran_order': False, 'shape': (2,), }",
                                             data)));
  };
  // 1 + 2^-24 is a tie and goes to the even 1.
  const HostTensor doubles = load("<f8", BytesOfValues<double>({1 + 0x1p-24, 1 + 0x1.8p-23}));
  EXPECT_EQ(doubles.dtype, DType::kFp32);
  EXPECT_EQ(doubles.words<float>()[0], 1.0f);
  EXPECT_EQ(doubles.words<float>()[1], 1 + 0x1p-22f);
  const HostTensor longs = load("<i8", BytesOfValues<std::int64_t>({-1, 2147483647}));
  EXPECT_EQ(longs.dtype, DType::kInt32);
  EXPECT_EQ(longs.words<std::int32_t>()[0], -1);
  EXPECT_EQ(longs.words<std::int32_t>()[1], 2147483647);
  EXPECT_THAT(ErrorOf([&] {
                load("<i8", BytesOfValues<std::int64_t>({0, 2147483648}));
              }),
              HasSubstr("element 1 is 2147483648, int32 is needed"));
}

TEST(TensorFile, RejectsACarrierWithoutAType) {
  const TempDir dir;
  SaveTensor(dir / "t.npy", RandomTensor(DType::kFp4E2M1FnX4, {4}));
  EXPECT_THAT(ErrorOf([&] { LoadTensor(dir / "t.npy"); }),
              HasSubstr("dtype <u2 is only a carrier, say which type it holds: bfloat16, "
                        "float4_e2m1fn_x4"));
  EXPECT_THAT(ErrorOf([&] { LoadTensor(dir / "t.npy", "", DType::kFp32); }),
              HasSubstr("dtype <u2 cannot be read as float32"));
}

TEST(TensorFile, RejectsBadNpy) {
  const TempDir dir;
  const std::string data = BytesOfValues<float>({1, 2});
  const std::string good = Npy(kNpyHeader, data);
  const auto header = [&](const char* text) { return Npy(text, data); };
  std::string unknown_version = good;
  unknown_version[6] = 4;
  std::string long_header = good;
  long_header[9] = 0x7f;
  const std::pair<std::string, std::string> cases[] = {
      {"", "magic"},
      {"PK\x03\x04", "magic"},
      {good.substr(0, 9), "9 bytes, truncated"},
      {good.substr(0, 40), "header is 58 bytes long, the file has 30 left"},
      {good.substr(0, good.size() - 1), "7 bytes of elements, shape and descr need 8"},
      {good + "x", "9 bytes of elements, shape and descr need 8"},
      {unknown_version, ".npy version 4, 1 to 3 are known"},
      {long_header, "header is 32570 bytes long"},
      {header("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }"), "only C order"},
      {header("{'descr': '<f4', 'fortran_order': false, 'shape': (2,), }"), "True or False"},
      {header("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }"), "descr '>f4', allowed"},
      {header("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }"), "descr '<c8', allowed"},
      {header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }"), "quoted text"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"), "need 12"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }"), "extent -2"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (2.0,), }"), "expected"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (a,), }"), "64-bit integer"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"),
       "64-bit integer"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }"),
       "overflows"},
      {header("{'descr': '<f4', 'fortran_order': False, }"), "lacks one of"},
      {header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}"), "twice"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}"), "key 'x'"},
      {header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } 1"), "after"},
      {header("[]"), "expected '{'"},
      {header("{'descr': '<f4"), "quoted text"},
  };
  for (const auto& [text, expected] : cases) {
    const auto path = dir.Write("bad.npy", text);
    const std::string error = ErrorOf([&] { LoadTensor(path); });
    EXPECT_THAT(error, HasSubstr(expected));
    EXPECT_THAT(error, HasSubstr("bad.npy"));
  }
}

std::string Safetensors(const std::string& header, const std::string& data) {
  const std::uint64_t size = header.size();
  return BytesOfValues<std::uint64_t>({size}) + header + data;
}

TEST(TensorFile, ReadsSafetensorsWithMetadataAndAnyOrder) {
  const TempDir dir;
  const auto path = dir.Write(
      "t.safetensors", Safetensors(R"({"__metadata__":{"format":"pt"},)"
                                   R"("late":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[2,4]},)"
                                   R"("early":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}  )",
                                   "\x80\x3f\x38\x7e"));
  const std::vector<HostTensor> tensors = LoadTensors(path);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "early");
  EXPECT_EQ(tensors[0].words<std::uint16_t>()[0], 0x3f80);
  EXPECT_EQ(tensors[1].dtype, DType::kFp8E4M3Fn);
  EXPECT_EQ(tensors[1].words<std::uint8_t>()[1], 0x7e);
}

TEST(TensorFile, RejectsBadSafetensors) {
  const TempDir dir;
  const std::string data(8, 'x');
  const auto header = [&](const char* text) { return Safetensors(text, data); };
  const std::pair<std::string, std::string> cases[] = {
      {"1234567", "7 bytes"},
      {BytesOfValues<std::uint64_t>({5}) + "{}", "header is 5 bytes long, the file has 2 left"},
      {BytesOfValues<std::uint64_t>({~std::uint64_t{0}}) + "{}", "the file has 2 left"},
      {header("{"), "not JSON"},
      {header("[]"), "not a JSON object"},
      {header("{}"), "cover 0 of 8"},
      {header(R"({"a":1})"), "dtype is missing"},
      {header(R"({"a":{"shape":[2],"data_offsets":[0,8]}})"), "dtype is missing"},
      {header(R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})"), "dtype F64, allowed"},
      {header(R"({"a":{"dtype":"F32","data_offsets":[0,8]}})"), "shape is missing"},
      {header(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})"), "shape holds -2"},
      {header(R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})"), "shape holds 2.0"},
      {header(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})"),
       "8 bytes, shape and dtype need 12"},
      {header(R"({"a":{"dtype":"F32","shape":[2]}})"), "data_offsets is missing"},
      {header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})"), "two ascending offsets"},
      {header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})"), "two ascending"},
      {header(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})"), "up to 8"},
      {header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"), "cover 4 of 8"},
      {header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"), "begins at byte 4"},
      {header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
              R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
       "'b' begins at byte 4, the one before ends at 8"},
      {header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
              R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"),
       "key 'a' comes twice"},
      {header(R"({"a":{"dtype":"F32","dtype":"I32","shape":[2],"data_offsets":[0,8]}})"),
       "key 'dtype' comes twice"},
      {header(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],)"
              R"("data_offsets":[0,8]}})"),
       "overflows"},
  };
  for (const auto& [text, expected] : cases) {
    const auto path = dir.Write("bad.safetensors", text);
    const std::string error = ErrorOf([&] { LoadTensor(path, "a"); });
    EXPECT_THAT(error, HasSubstr(expected));
    EXPECT_THAT(error, HasSubstr("bad.safetensors"));
  }
}

TEST(TensorFile, EveryTruncationIsAnError) {
  const TempDir dir;
  for (const char* name : {"t.npy", "t.safetensors"}) {
    SaveTensor(dir / name, RandomTensor(DType::kFp32, {2, 3}));
    const std::string whole = TempDir::Read(dir / name);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      dir.Write(name, whole.substr(0, size));
      EXPECT_THROW(LoadTensor(dir / name), SimError) << name << " " << size;
    }
  }
}

TEST(TensorFile, RejectsUnknownExtensionsMissingFilesAndTensorsWithoutData) {
  const TempDir dir;
  EXPECT_THAT(ErrorOf([&] { LoadTensor(dir / "t.pt"); }), HasSubstr("extension '.pt'"));
  EXPECT_THAT(ErrorOf([&] { LoadTensor(dir / "t.npy"); }), HasSubstr("cannot be read"));
  EXPECT_THAT(ErrorOf([&] { LoadTensor(dir / ""); }), HasSubstr("extension"));
  const HostTensor shape_only = HostTensor::Zeros("a", DType::kFp32, {2}, false);
  for (const char* name : {"t.npy", "t.safetensors"}) {
    EXPECT_THAT(ErrorOf([&] { SaveTensor(dir / name, shape_only); }), HasSubstr("0 of 8 bytes"));
  }
  const HostTensor tensor = RandomTensor(DType::kFp32, {1});
  EXPECT_THAT(ErrorOf([&] {
                SaveTensors(dir / "t.safetensors", {tensor, tensor});
              }),
              HasSubstr("two tensors are called"));
  EXPECT_THAT(ErrorOf([&] { SaveTensor(dir / "no_such_folder/t.npy", tensor); }),
              HasSubstr("cannot be written"));
  EXPECT_EQ(dir.files(), 0) << "a failed save leaves something behind";
}

}  // namespace
}  // namespace bwmm::host
