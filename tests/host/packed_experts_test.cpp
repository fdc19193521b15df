// Weights that come packed: the bytes of the file are the bytes of the layer, and what does not fit
// the layer is refused.
#include "host/packed_experts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/routing.h"
#include "host/tensor_file.h"
#include "tests/host/small_layer.h"
#include "tests/host/temp_dir.h"

namespace bwmm::host {
namespace {

using testing::HasSubstr;

LayerTensors Build(const LayerConfig& config, WeightLayout layout, std::uint64_t seed) {
  return BuildLayer(config, GenerateRouting(config.RoutingFor(2, 1)), layout, seed, true);
}

std::vector<HostTensor> WeightsOf(const LayerTensors& layer) {
  std::vector<HostTensor> tensors = {layer.gate_up_weight, layer.down_weight};
  for (const auto* tensor :
       {&layer.gate_up_scale, &layer.down_scale, &layer.gate_up_bias, &layer.down_bias}) {
    if (*tensor)
      tensors.push_back(**tensor);
  }
  return tensors;
}

TEST(PackedExperts, EveryByteOfTheFileIsInTheLayer) {
  const TempDir dir;
  for (const WeightLayout layout : kLayouts) {
    LayerConfig config = SmallConfig();
    const std::vector<HostTensor> given = WeightsOf(Build(config, layout, 7));
    SaveTensors(dir / "w.safetensors", given);
    config.weights_file = (dir / "w.safetensors").string();
    // Another seed: nothing but the file can make the tensors equal.
    const std::vector<HostTensor> loaded = WeightsOf(Build(config, layout, 8));
    ASSERT_EQ(loaded.size(), given.size());
    for (std::size_t i = 0; i < given.size(); ++i)
      EXPECT_EQ(loaded[i].data, given[i].data) << NameOf(layout) << " " << given[i].name;
  }
}

class PackedExpertsRefusal : public testing::Test {
 protected:
  std::string ErrorWith(const std::vector<HostTensor>& tensors) {
    SaveTensors(dir_ / "w.safetensors", tensors);
    LayerConfig config = SmallConfig();
    config.weights_file = (dir_ / "w.safetensors").string();
    return ErrorOf([&] { Build(config, WeightLayout::kMxfp8E4M3, 1); });
  }
  const TempDir dir_;
  std::vector<HostTensor> given_ = WeightsOf(Build(SmallConfig(), WeightLayout::kMxfp8E4M3, 7));
};

TEST_F(PackedExpertsRefusal, RejectsAScaleThatIsNoNumber) {
  given_[2].data[5] = std::byte{0xff};
  EXPECT_THAT(ErrorWith(given_), HasSubstr("'gate_up_scale': element 5 is the float8_e8m0fnu code "
                                           "ff, finite weights are needed"));
}

TEST_F(PackedExpertsRefusal, RejectsACodeThatIsNoNumber) {
  given_[1].data[9] = std::byte{0x7f};
  EXPECT_THAT(ErrorWith(given_), HasSubstr("'down_weight': element 9"));
}

TEST_F(PackedExpertsRefusal, RejectsAnotherShape) {
  given_[1].shape[0] = 1;
  given_[1].data.resize(given_[1].data.size() / 2);
  EXPECT_THAT(ErrorWith(given_), testing::AllOf(HasSubstr("'down_weight': shape [1, 128, 2, 1024]"),
                                                HasSubstr("[2, 128, 2, 1024]")));
}

TEST_F(PackedExpertsRefusal, RejectsAnotherType) {
  given_[0].dtype = DType::kFp8E5M2X4;
  EXPECT_THAT(ErrorWith(given_), HasSubstr("float8_e5m2_x4 cannot be read as float8_e4m3fn_x4"));
}

TEST_F(PackedExpertsRefusal, RejectsTheScalesOfAnotherGroup) {
  given_[2].dtype = DType::kFp8E4M3Fn;
  EXPECT_THAT(ErrorWith(given_), HasSubstr("dtype F8_E4M3 cannot be read as float8_e8m0fnu"));
}

TEST_F(PackedExpertsRefusal, RejectsAMissingScale) {
  given_.erase(given_.begin() + 3);
  EXPECT_THAT(ErrorWith(given_), HasSubstr("tensor 'down_scale', the file has"));
}

}  // namespace
}  // namespace bwmm::host
