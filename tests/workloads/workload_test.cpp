// What a workload is given: tensors that know what kind of run it is, a dry run that counts and
// refuses, a name in the registry.
#include "workloads/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/tensor_file.h"
#include "kernels/lang/core.h"
#include "model/ops/executor.h"
#include "model/support/sim_error.h"
#include "workloads/dry_run.h"
#include "workloads/judged_tensor.h"
#include "workloads/registry.h"
#include "workloads/tensors.h"

namespace bwmm::workloads {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Throws;
using ::testing::ThrowsMessage;

// Copies its input, 4 rows of 8, through SBUF; writes nothing when told so.
class Copy final : public Workload {
 public:
  explicit Copy(bool writes = true) : writes_(writes) {}

  void Prepare(const Setup& setup) override {
    tensors_ = Tensors(setup.hbm_bytes(), setup.with_data);
    x_ = tensors_.Input(TensorFrom("x", "", DType::kBf16, {4, 8}, setup));
    ids_ = tensors_.Control(host::HostTensor::Zeros("ids", DType::kInt32, {4}));
    y_ = tensors_.Output("y", DType::kBf16, {4, 8});
  }
  ops::Hbm& hbm() override { return tensors_.hbm(); }
  void Run(isa::Sink& sink) const override {
    lang::Core nki(sink);
    if (nki.program_id() != 0)
      return;
    const lang::Tile tile = nki.Sbuf("tile", DType::kBf16, 4, {8});
    nki.dma_copy(tile, (writes_ ? x_ : y_).At());
    if (writes_)
      nki.dma_copy(y_.At(), tile);
  }
  Facts facts() const override { return {}; }
  std::vector<host::HostTensor> Outputs() override { return {tensors_.Fetch("y")}; }
  Verdict Judge() override { return {.skipped = "a copy"}; }

 private:
  bool writes_;
  Tensors tensors_;
  lang::HbmTensor x_, ids_, y_;
};

Setup SetupFor(bool with_data) {
  return {.machine = LoadMachine("trn3"), .with_data = with_data};
}

ops::Program ProgramOf(const Workload& workload) {
  return [&](isa::Sink& sink) { workload.Run(sink); };
}

TEST(Workload, ItsResultIsWhatItsProgramWrote) {
  Copy copy;
  const auto setup = SetupFor(true);
  copy.Prepare(setup);
  const std::vector<std::byte> before = copy.hbm().Find("x").data;
  EXPECT_EQ(ops::RunSequentially(setup.limits(), copy.hbm(), ProgramOf(copy)).instructions, 2u);
  EXPECT_EQ(copy.Outputs()[0].data, before);
}

TEST(Workload, OnlyControlTensorsHaveDataWithoutIt) {
  Copy copy;
  copy.Prepare(SetupFor(false));
  EXPECT_EQ(copy.hbm().Find("x").data.size(), 0u);
  EXPECT_EQ(copy.hbm().Find("y").data.size(), 0u);
  EXPECT_EQ(copy.hbm().Find("ids").data.size(), 16u);
}

TEST(Workload, RejectsReadingAnOutputThatNothingWrote) {
  Copy copy(false);
  const auto setup = SetupFor(true);
  copy.Prepare(setup);
  EXPECT_THAT([&] { ops::RunSequentially(setup.limits(), copy.hbm(), ProgramOf(copy)); },
              ThrowsMessage<SimError>(HasSubstr("never written")));
}

TEST(Workload, ADryRunCountsAllCoresAndRefusesWhatDoesNotFit) {
  Copy copy;
  const auto setup = SetupFor(false);
  copy.Prepare(setup);
  EXPECT_EQ(DryRun(ProgramOf(copy), setup.limits()), 2u);
  isa::Limits small = setup.limits();
  small.sbuf_bytes = 8;
  EXPECT_THAT([&] { DryRun(ProgramOf(copy), small); }, Throws<lang::DoesNotFit>());
}

TEST(Tensors, SeededValuesDifferByNameAndBySeed) {
  const auto values = [](const std::string& name, std::uint64_t seed) {
    return TensorFrom(name, "", DType::kBf16, {4, 8}, {.seed = Seed(seed)}).data;
  };
  EXPECT_EQ(values("a", 1), values("a", 1));
  EXPECT_NE(values("a", 1), values("b", 1));  // names of one length
  EXPECT_NE(values("a", 1), values("a", 2));
}

TEST(Tensors, ASeedIsDrawnWhereValuesAre) {
  const auto data = SetupFor(true), timing = SetupFor(false);
  EXPECT_FALSE(data.seed.drawn());
  TensorFrom("w", "", DType::kBf16, {4, 8}, data);
  TensorFrom("w", "", DType::kBf16, {4, 8}, timing);
  EXPECT_TRUE(data.seed.drawn());
  EXPECT_FALSE(timing.seed.drawn());
}

TEST(Tensors, RejectsAFileWhereThereIsNoData) {
  EXPECT_THAT(
      [] {
        TensorFrom("w", "w.npy", DType::kBf16, {4, 8}, SetupFor(false));
      },
      ThrowsMessage<SimError>(HasSubstr("w.npy: timing has no tensor data")));
}

// Words of four, scales and carriers of either.
TEST(Tensors, RejectsATypeThatHoldsNoNumberWithoutAFile) {
  for (const bool data : {true, false}) {
    for (const DType type : {DType::kFp8E4M3FnX4, DType::kFp8E5M2X4, DType::kFp4E2M1FnX4,
                             DType::kE8M0, DType::kInt16, DType::kUint16, DType::kUint32}) {
      EXPECT_THAT(
          [&] {
            TensorFrom("w", "", type, {4, 8}, SetupFor(data));
          },
          ThrowsMessage<SimError>(AllOf(HasSubstr("tensor w: " + std::string(NameOf(type))),
                                        HasSubstr("allowed a file"))));
    }
  }
}

TEST(Tensors, RejectsAFileOfNumbersForATypeThatHoldsNone) {
  const std::string file = ::testing::TempDir() + "workload_values.npy";
  host::SaveTensor(file, host::HostTensor::Zeros("w", DType::kFp32, {4, 8}));
  for (const DType type : {DType::kFp8E4M3FnX4, DType::kE8M0, DType::kUint16, DType::kUint32}) {
    EXPECT_THAT(
        [&] {
          TensorFrom("w", file, type, {4, 8}, SetupFor(true));
        },
        ThrowsMessage<SimError>(EndsWith("dtype float32, allowed " + std::string(NameOf(type)))));
  }
  auto words = host::HostTensor::Zeros("w", DType::kFp8E4M3FnX4, {4, 8});
  words.words<std::uint32_t>()[3] = 0x38393a3b;
  host::SaveTensor(file, words);
  EXPECT_EQ(TensorFrom("w", file, DType::kFp8E4M3FnX4, {4, 8}, SetupFor(true)).data, words.data);
}

TEST(Tensors, RejectsControlThatIsNoInt32) {
  EXPECT_THAT(
      [] { Tensors(1 << 20, true).Control(host::HostTensor::Zeros("ids", DType::kUint32, {4})); },
      ThrowsMessage<SimError>(HasSubstr("tensor ids: uint32 for control, allowed int32")));
}

TEST(ValuesOf, ReadsIntegersAsWhatTheyAre) {
  auto tensor = host::HostTensor::Zeros("n", DType::kInt32, {3});
  const auto words = tensor.words<std::int32_t>();
  words[0] = -7, words[1] = 2147483647, words[2] = -2147483647 - 1;
  EXPECT_THAT(ValuesOf(tensor), ElementsAre(-7.0, 2147483647.0, -2147483648.0));
  tensor.dtype = DType::kUint32;
  EXPECT_THAT(ValuesOf(tensor), ElementsAre(4294967289.0, 2147483647.0, 2147483648.0));
  auto bytes = host::HostTensor::Zeros("b", DType::kUint8, {2});
  bytes.data = {std::byte{0}, std::byte{255}};
  EXPECT_THAT(ValuesOf(bytes), ElementsAre(0.0, 255.0));
  auto halves = host::HostTensor::Zeros("h", DType::kUint16, {1});
  halves.data = {std::byte{0xff}, std::byte{0xff}};
  EXPECT_THAT(ValuesOf(halves), ElementsAre(65535.0));
  halves.dtype = DType::kInt16;
  EXPECT_THAT(ValuesOf(halves), ElementsAre(-1.0));
}

TEST(ValuesOf, RejectsWordsOfFourAndScales) {
  for (const DType type :
       {DType::kFp8E4M3FnX4, DType::kFp8E5M2X4, DType::kFp4E2M1FnX4, DType::kE8M0}) {
    EXPECT_THAT([&] { ValuesOf(host::HostTensor::Zeros("w", type, {4})); },
                ThrowsMessage<SimError>(
                    HasSubstr("tensor w: " + std::string(NameOf(type)) + " has no values alone")));
  }
}

TEST(Tensors, RejectsMoreElementsThanAnIntCounts) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{1 << 16, 1 << 15}, {2'000'000'000, 2'000'000'000, 4, 4}}) {
    EXPECT_THAT([&] { TensorFrom("w", "", DType::kBf16, shape, SetupFor(true)); },
                ThrowsMessage<SimError>(AllOf(HasSubstr("w: shape ["),
                                              HasSubstr("allowed up to 2147483647 elements"))));
  }
}

TEST(Tensors, RejectsTwoOfOneName) {
  Tensors tensors(1 << 20, true);
  tensors.Input(host::HostTensor::Zeros("y", DType::kBf16, {4}));
  EXPECT_THAT([&] { tensors.Output("y", DType::kBf16, {4}); },
              ThrowsMessage<SimError>(HasSubstr("tensor y: there is one of this name")));
}

TEST(Tensors, RejectsDataThatDoNotFillTheShape) {
  Tensors tensors(1 << 20, true);
  auto short_one = host::HostTensor::Zeros("x", DType::kFp32, {4, 8});
  short_one.data.resize(127);
  EXPECT_THAT([&] { tensors.Input(short_one); },
              ThrowsMessage<SimError>(HasSubstr("tensor x: 127 bytes of data, allowed 128")));
  auto ids = host::HostTensor::Zeros("ids", DType::kInt32, {4});
  ids.data.clear();
  EXPECT_THAT([&] { Tensors(1 << 20, false).Control(ids); },
              ThrowsMessage<SimError>(HasSubstr("tensor ids: 0 bytes of data, allowed 16")));
  EXPECT_THAT(
      [&] {
        tensors.Output("z", DType::kBf16, {-4, -4});
      },
      ThrowsMessage<SimError>(HasSubstr("z: shape [-4, -4], allowed sizes from 0")));
}

TEST(Registry, RejectsAnUnknownNameWithThoseThereAre) {
  const Registration copy({.name = "copy", .help = "y = x", .make = [] {
                             return std::unique_ptr<Workload>(std::make_unique<Copy>());
                           }});
  EXPECT_EQ(FindWorkload("copy").help, "y = x");
  EXPECT_THAT([] { FindWorkload("cope"); },
              ThrowsMessage<SimError>(HasSubstr("--workload cope: allowed copy")));
}

}  // namespace
}  // namespace bwmm::workloads
