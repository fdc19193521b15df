// Every key of the kernel options in every variant: it changes what the kernel gets or emits, or it
// is refused, and what is refused would have changed nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>

#include "model/isa/text.h"
#include "tests/kernels/layer_run.h"

namespace bwmm {
namespace {

using kernels::KernelOptions;
using kernels::MoECTEImplementation;
using testing::HasSubstr;
using testing_layers::kAllVariants;
using testing_layers::Layer;
using testing_layers::LayerOf;
using testing_layers::LayerRun;

// A value that differs from the default, on a layer where a variant that reads the key must show
// it.
struct Effect {
  std::string_view key, value;
  void (*shape)(Layer&) = [](Layer&) {};
};

constexpr Effect kEffects[] = {
    {"kernel.skip_token", "true"},
    {"kernel.skip_weight", "true"},
    {"kernel.is_tensor_update_accumulating", "false", [](Layer& l) { l.top_k = 1; }},
    {"kernel.block_sharding_strategy", "hi_lo"},
    {"kernel.n_static_blocks", "1"},
    {"kernel.n_dynamic_blocks", "0"},
    {"kernel.dynamic_prefetch", "true", [](Layer& l) { l.experts = 6; }},
    {"kernel.checkpoint_activation", "true"},
    {"kernel.expert_affinity_multiply_on_I", "true"},
    {"kernel.num_static_block", "1"},
    {"kernel.integer_carriers", "true"},
    {"kernel.capacity_factor", "2", [](Layer& l) { l.tokens = 600; }},
};

// Types and sizes of the tensors and all instructions of both cores; or the refusal.
std::string TraceOf(const Layer& layer) {
  try {
    LayerRun run(layer);
    std::string trace;
    for (const char* name : {"gate_up_weight", "down_weight", "token_position_to_id", "output"}) {
      const ops::HbmTensor& tensor = run.job().tensor(name);
      trace += fmt::format("{} {} {}\n", name, NameOf(tensor.dtype), tensor.bytes);
    }
    run.Run();
    for (const int core : {0, 1}) {
      for (const isa::Instruction& each : run.program(core))
        trace += isa::ToText(each) + "\n";
    }
    return trace;
  } catch (const SimError& error) {
    return std::string("refused: ") + error.what();
  }
}

std::string RefusalOf(std::string_view key, const KernelOptions& options,
                      MoECTEImplementation variant) {
  const std::string given[] = {std::string(key)};
  try {
    CheckKeys(given, options, variant);
  } catch (const SimError& error) {
    return error.what();
  }
  return "accepted";
}

const kernels::OptionKey& KeyOf(std::string_view name) {
  static const std::vector<kernels::OptionKey> kKeys = kernels::OptionKeys();
  return *std::ranges::find(kKeys, name, &kernels::OptionKey::name);
}

TEST(KernelOptionKeys, EachHasAnEffectHere) {
  const std::vector<kernels::OptionKey> keys = kernels::OptionKeys();
  ASSERT_EQ(keys.size(), std::size(kEffects));
  for (std::size_t i = 0; i < keys.size(); ++i)
    EXPECT_EQ(keys[i].name, kEffects[i].key);
}

class KernelOptionKey : public testing::TestWithParam<Effect> {};

TEST_P(KernelOptionKey, ChangesTheProgramOrIsRefused) {
  const Effect& effect = GetParam();
  for (const auto variant : kAllVariants) {
    SCOPED_TRACE(NameOf(variant));
    Layer layer = LayerOf(variant);
    effect.shape(layer);
    const std::string before = TraceOf(layer);
    ASSERT_THAT(before, testing::Not(HasSubstr("refused")));
    ApplySetting(layer.kernel, effect.key, effect.value);
    const std::string after = TraceOf(layer);
    const std::string refusal = RefusalOf(effect.key, layer.kernel, variant);
    if (KeyOf(effect.key).ConcernsVariant(variant)) {
      EXPECT_EQ(refusal, "accepted");
      EXPECT_NE(after, before);
      EXPECT_THAT(after, testing::Not(HasSubstr("refused")));
    } else {
      EXPECT_THAT(refusal, HasSubstr(std::string(effect.key) + ": changes nothing in " +
                                     std::string(NameOf(variant)) + ", allowed with shard_on_"));
      EXPECT_TRUE(after == before || after.starts_with("refused")) << "a key with an effect";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelOptionKey, testing::ValuesIn(kEffects), [](const auto& info) {
  return std::string(info.param.key.substr(info.param.key.find('.') + 1));
});

TEST(KernelOptionKeys, RejectsADynamicCountBesideAStaticOne) {
  KernelOptions options;
  options.shard_on_block.n_static_blocks = 2;
  EXPECT_THAT(RefusalOf("kernel.n_dynamic_blocks", options, kAllVariants[4]),
              HasSubstr("changes nothing beside kernel.n_static_blocks=2"));
  options.shard_on_block.n_static_blocks = -1;
  EXPECT_EQ(RefusalOf("kernel.n_dynamic_blocks", options, kAllVariants[4]), "accepted");
}

TEST(KernelOptionKeys, RejectsValuesOutOfRangeWithTheRange) {
  KernelOptions options;
  for (const auto& [key, value, allowed] : {
           std::tuple("kernel.capacity_factor", "1e10", "1e10, allowed 1e-06 to 1000000"),
           std::tuple("kernel.capacity_factor", "0", "0, allowed 1e-06 to 1000000"),
           std::tuple("kernel.capacity_factor", "nan", "nan, allowed 1e-06 to 1000000"),
           std::tuple("kernel.n_static_blocks", "-2", "-2, allowed -1 to 1073741824"),
           std::tuple("kernel.num_static_block", "-1", "-1, allowed 0 to 1073741824"),
           std::tuple("kernel.num_static_block", "99999999999", "allowed 0 to 1073741824"),
           std::tuple("kernel.skip_token", "yes", "yes, allowed true, false, 1, 0"),
       }) {
    try {
      ApplySetting(options, key, value);
      FAIL() << key;
    } catch (const SimError& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string(key) + ": ")) << key;
      EXPECT_THAT(error.what(), HasSubstr(allowed)) << key;
    }
  }
}

TEST(KernelOptionKeys, ThePageOfTheVariantsNamesWhoReadsEach) {
  std::ifstream file(std::string(BWMM_DOCS) + "/variants.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const kernels::OptionKey& key : kernels::OptionKeys()) {
    std::string numbers;
    for (const auto variant : key.variants)
      numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", static_cast<int>(variant));
    const std::string name(key.name.substr(key.name.find('.') + 1));
    std::smatch row;
    ASSERT_TRUE(
        std::regex_search(page, row, std::regex("\\| `" + name + "` \\|[^|]*\\| ([^|]*) \\|")))
        << name;
    EXPECT_EQ(row[1], key.variants.size() == kAllVariants.size() ? "all" : numbers) << name;
  }
}

// The rule in a refusal is the one applied: the largest multiple up to the limit it names is taken.
TEST(BlockSizes, RejectsWithARuleThatHolds) {
  for (const auto variant : kAllVariants) {
    if (variant == MoECTEImplementation::shard_on_i_dropping)
      continue;
    Layer layer = LayerOf(variant);
    layer.block_size = 129;
    const std::string why = testing_layers::RefusalOf(layer);
    std::smatch rule;
    ASSERT_TRUE(std::regex_search(
        why, rule, std::regex("block size 129, allowed multiples of (\\d+).*, up to (\\d+)")))
        << why;
    const int step = std::stoi(rule[1]);
    const int most = std::stoi(rule[2]);
    for (const int size : {step, most, most + step, 0, step / 2}) {
      layer.block_size = size;
      const bool taken = size >= step && size <= most;
      EXPECT_EQ(testing_layers::RefusalOf(layer).find(": block size") == std::string::npos, taken)
          << NameOf(variant) << " " << size;
    }
  }
}

TEST(Variants, HaveTheirNumbersAsNames) {
  for (const auto variant : kAllVariants) {
    EXPECT_EQ(kernels::ParseImplementation(std::to_string(static_cast<int>(variant))), variant);
    EXPECT_EQ(kernels::ParseImplementation(NameOf(variant)), variant);
  }
  for (const char* wrong : {"7", "-1", "05", "5 ", ""}) {
    try {
      kernels::ParseImplementation(wrong);
      FAIL() << wrong;
    } catch (const SimError& error) {
      EXPECT_THAT(error.what(), HasSubstr("or a number from 0 to 6"));
    }
  }
}

}  // namespace
}  // namespace bwmm
