// Model presets and a user's own layer file.
#include "host/layer_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/host/temp_dir.h"

namespace bwmm::host {
namespace {

using testing::HasSubstr;

struct Published {
  const char* name;
  int hidden, intermediate, experts, top_k;
};

TEST(LayerPreset, HasThePublishedShapes) {
  const Published models[] = {
      {"gpt-oss-20b", 2880, 2880, 32, 4},   {"gpt-oss-120b", 2880, 2880, 128, 4},
      {"qwen3-30b-a3b", 2048, 768, 128, 8}, {"mixtral-8x7b", 4096, 14336, 8, 2},
      {"deepseek-v3", 7168, 2048, 256, 8},  {"olmoe-1b-7b", 2048, 1024, 64, 8},
      {"stories260k", 64, 172, 5, 2},
  };
  EXPECT_EQ(LayerPresetNames().size(), std::size(models));
  for (const Published& model : models) {
    const LayerConfig config = LayerPreset(model.name);
    EXPECT_EQ(config.name, model.name);
    EXPECT_EQ(config.hidden, model.hidden) << model.name;
    EXPECT_EQ(config.intermediate, model.intermediate) << model.name;
    EXPECT_EQ(config.experts, model.experts) << model.name;
    EXPECT_EQ(config.top_k, model.top_k) << model.name;
  }
}

TEST(LayerPreset, GptOssFoldsItsPlusOneIntoBiasAndLimits) {
  const LayerConfig config = LayerPreset("gpt-oss-20b");
  EXPECT_EQ(config.activation, Activation::kSwish);
  EXPECT_EQ(config.up_offset, 1);
  EXPECT_EQ(config.gate_clamp_upper, 7);
  EXPECT_FALSE(config.gate_clamp_lower);
  // clamp(u, -7, 7) + 1 == clamp(u + 1, -6, 8) for every u.
  for (float u = -9; u <= 9; u += 0.25f) {
    EXPECT_EQ(std::clamp(u, -7.0f, 7.0f) + 1,
              std::clamp(u + config.up_offset, *config.up_clamp_lower, *config.up_clamp_upper));
  }
  EXPECT_EQ(config.weights, WeightLayout::kMxfp4);
}

TEST(LayerPreset, RoutersAreTheModels) {
  EXPECT_EQ(LayerPreset("olmoe-1b-7b").router, RouterKind::kSoftmax);
  const LayerConfig deepseek = LayerPreset("deepseek-v3");
  EXPECT_EQ(deepseek.router, RouterKind::kSigmoidRenorm);
  const RoutingOptions options = deepseek.RoutingFor(100, 7);
  EXPECT_EQ(options.tokens, 100);
  EXPECT_EQ(options.scale, 2.5);
  EXPECT_EQ(options.groups, 8);
  EXPECT_EQ(options.groups_kept, 4);
  EXPECT_EQ(options.seed, 7u);
}

TEST(LayerPreset, RejectsAnUnknownModelAndListsTheKnown) {
  EXPECT_THAT(ErrorOf([] { LayerPreset("gpt-5"); }),
              HasSubstr("unknown model 'gpt-5', allowed: deepseek-v3, gpt-oss-120b, gpt-oss-20b"));
}

constexpr const char* kMinimal =
    "[model]\nhidden = 64\nintermediate = 32\nexperts = 4\ntop_k = 2\n";

TEST(LayerConfig, FileSetsWhatItNamesAndKeepsDefaults) {
  const TempDir dir;
  const auto path = dir.Write("layer.toml", std::string(kMinimal) +
                                                "activation = \"gelu\"\n"
                                                "gate_clamp_upper = 7\n"
                                                "up_clamp_lower = -0.5\n"
                                                "router_scale = 2.5\n"
                                                "down_bias = true\n"
                                                "weights = \"mxfp8_e5m2\"\n"
                                                "weights_file = \"w.safetensors\"\n");
  const LayerConfig config = LoadLayerConfig(path);
  EXPECT_EQ(config.hidden, 64);
  EXPECT_EQ(config.activation, Activation::kGelu);
  EXPECT_EQ(config.gate_clamp_upper, 7.0f);
  EXPECT_EQ(config.up_clamp_lower, -0.5f);
  EXPECT_FALSE(config.up_clamp_upper);
  EXPECT_TRUE(config.down_bias);
  EXPECT_FALSE(config.gate_up_bias);
  EXPECT_EQ(config.weights, WeightLayout::kMxfp8E5M2);
  EXPECT_EQ(config.affinity_scaling, AffinityScaling::kPostScale);
  EXPECT_EQ(config.weights_file, (dir / "w.safetensors").string());
}

TEST(LayerConfig, RejectsBadFilesByLine) {
  const TempDir dir;
  const std::pair<std::string, const char*> cases[] = {
      {"", "no table [model]"},
      {"hidden = 1\n", "'hidden', only the table [model] is known"},
      {"[machine]\n", "'machine', only the table"},
      {"[model]\nhidden = \n", "layer.toml:2: "},
      {std::string(kMinimal) + "colour = 1\n", "layer.toml:6: unknown key 'model.colour', allowed"},
      {std::string(kMinimal) + "hidden = 1\n", "layer.toml:6: "},
      {std::string(kMinimal) + "activation = \"relu\"\n",
       "layer.toml:6: model.activation: 'relu', allowed: identity, silu"},
      {std::string(kMinimal) + "weights = \"int4\"\n", "allowed: bf16, fp8, mxfp4"},
      {std::string(kMinimal) + "weights = \"nvfp4\"\n",
       "model.weights: 'nvfp4', allowed: bf16, fp8"},
      {std::string(kMinimal) + "down_bias = 1\n", "model.down_bias: '1', allowed: true, false"},
      {std::string(kMinimal) + "router_scale = \"x\"\n", "'x', a number is needed"},
      {std::string(kMinimal) + "router_scale = [1]\n", "a text, a number or a truth value"},
      {std::string(kMinimal) + "router_scale = 0\n", "router_scale: 0"},
      {std::string(kMinimal) + "routing_sigma = -1.0\n", "routing_sigma: -1"},
      {std::string(kMinimal) + "router_groups = 3\n", "router_groups"},
      {std::string(kMinimal) + "gate_clamp_upper = 7.01\n", "limit 7.01, a finite bf16 value"},
      {std::string(kMinimal) + "up_clamp_upper = nan\n", "finite bf16 value"},
      {std::string(kMinimal) + "up_clamp_upper = 1.0\nup_clamp_lower = 2.0\n", "is above"},
      {std::string(kMinimal) + "up_offset = 1.0\n", "needs gate_up_bias = true"},
      {"[model]\nhidden = 64.5\n", "layer.toml:2: model.hidden: '64.5', an integer is needed"},
      {"[model]\nhidden = 0\nintermediate = 1\nexperts = 1\ntop_k = 1\n",
       "model.hidden: 0, allowed 1 to 65536"},
      {"[model]\nhidden = 64\nintermediate = 1\nexperts = 513\ntop_k = 1\n",
       "model.experts: 513, allowed 1 to 512"},
      {"[model]\nhidden = 64\nintermediate = 1\nexperts = 4\ntop_k = 5\n",
       "model.top_k: 5, allowed 1 to 4"},
      {"[model]\nhidden = 64\nintermediate = 1\nexperts = 4\n", "model.top_k: 0"},
  };
  for (const auto& [text, expected] : cases) {
    const auto path = dir.Write("layer.toml", text);
    EXPECT_THAT(ErrorOf([&] { LoadLayerConfig(path); }), HasSubstr(expected)) << text;
  }
}

TEST(LayerConfig, SettingsOverrideOneByOne) {
  LayerConfig config = LayerPreset("gpt-oss-20b");
  ApplySetting(config, "model.experts", "4");
  ApplySetting(config, "model.top_k", "2");
  ApplySetting(config, "model.gate_clamp_upper", "none");
  ApplySetting(config, "model.affinity_scaling", "pre_scale");
  ValidateLayerConfig(config);
  EXPECT_EQ(config.experts, 4);
  EXPECT_FALSE(config.gate_clamp_upper);
  EXPECT_EQ(config.affinity_scaling, AffinityScaling::kPreScale);
}

TEST(LayerConfig, RejectsSettingsThatMeanNothing) {
  LayerConfig config = LayerPreset("gpt-oss-20b");
  EXPECT_THAT(ErrorOf([&] { ApplySetting(config, "experts", "4"); }),
              HasSubstr("unknown key 'experts', allowed: model. followed by one of name, hidden"));
  EXPECT_THAT(ErrorOf([&] { ApplySetting(config, "model.expert", "4"); }),
              HasSubstr("unknown key 'model.expert'"));
  EXPECT_THAT(ErrorOf([&] { ApplySetting(config, "model.experts", "4x"); }),
              HasSubstr("model.experts: '4x', an integer is needed"));
  EXPECT_THAT(ErrorOf([&] { ApplySetting(config, "model.experts", ""); }), HasSubstr("''"));
  ApplySetting(config, "model.top_k", "33");
  EXPECT_THAT(ErrorOf([&] { ValidateLayerConfig(config); }), HasSubstr("allowed 1 to 32"));
}

}  // namespace
}  // namespace bwmm::host
