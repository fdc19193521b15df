// The part of docs/deviations.md that is refused with a reason, where the original runs on into
// wrong results, and what the memory checker holds against the kernels.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "model/system/machine_config.h"
#include "tests/kernels/layer_run.h"

namespace bwmm {
namespace {

using kernels::MoECTEImplementation;
using kernels::MoECTESpec;
using testing::HasSubstr;
using testing_layers::kAllVariants;
using testing_layers::Layer;
using testing_layers::LayerOf;
using testing_layers::LayerRun;
using testing_layers::RefusalOf;
using enum MoECTEImplementation;

constexpr std::array kIShardWithBlocks = {shard_on_i, shard_on_i_hybrid, shard_on_i_mx,
                                          shard_on_i_mx_hybrid};

// Shapes of a layer that every variant but dropping runs: E = N = 4, B = 256.
kernels::MoeCteArgs ArgsOf(MoECTEImplementation variant) {
  const bool mx = kernels::IsMx(variant);
  const auto tensor = [](const std::string& name, DType dtype, std::vector<std::int64_t> shape) {
    return lang::HbmTensor{name, dtype, std::move(shape), 0};
  };
  kernels::MoeCteArgs args;
  args.hidden_states = tensor("hidden", DType::kBf16, {41, 512});
  args.expert_affinities_masked = tensor("affinities", DType::kFp32, {41 * 4, 1});
  args.gate_up_proj_weight = mx ? tensor("gate_up", DType::kFp4E2M1FnX4, {4, 128, 2, 1, 1024})
                                : tensor("gate_up", DType::kBf16, {4, 512, 2, 32});
  args.down_proj_weight = mx ? tensor("down", DType::kFp4E2M1FnX4, {4, 128, 2, 512})
                             : tensor("down", DType::kBf16, {4, 32, 512});
  if (mx) {
    args.gate_up_proj_scale = tensor("gate_up_scale", DType::kE8M0, {4, 16, 2, 1, 1024});
    args.down_proj_scale = tensor("down_scale", DType::kE8M0, {4, 16, 2, 512});
  }
  args.token_position_to_id = tensor("ids", DType::kInt32, {4 * 256});
  args.block_to_expert = tensor("block_to_expert", DType::kInt32, {4});
  args.output = tensor("output", DType::kBf16, {41, 512});
  return args;
}

std::string RefusalOf(const MoECTESpec& spec, const kernels::MoeCteArgs& args) {
  try {
    kernels::CheckMoeCte(spec, args, {});
  } catch (const SimError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(DeviationLimits, RejectsConditionsOfTheWrongLength) {
  for (const auto& [variant, extra] :
       {std::pair(shard_on_i_hybrid, 1), std::pair(shard_on_i_mx_hybrid, 1),
        std::pair(shard_on_block_mx, 2)}) {
    for (const int length : {0, 4, 5, 6, 7}) {
      kernels::MoeCteArgs args = ArgsOf(variant);
      args.conditions = {"conditions", DType::kInt32, {length}, 0};
      const std::string why = RefusalOf(MoECTESpec(variant), args);
      if (length == 4 + extra)
        EXPECT_EQ(why, "accepted") << NameOf(variant);
      else
        EXPECT_THAT(why, HasSubstr(fmt::format("conditions has shape [{}], allowed [{}]", length,
                                               4 + extra)));
    }
    EXPECT_THAT(RefusalOf(MoECTESpec(variant), ArgsOf(variant)),
                HasSubstr("conditions are missing"));
  }
}

TEST(DeviationLimits, RejectsAffinitiesBeyondAnInt32Address) {
  const auto refusal = [](std::int64_t rows) {
    kernels::MoeCteArgs args = ArgsOf(shard_on_i);
    args.hidden_states.shape = args.output.shape = {rows, 512};
    args.expert_affinities_masked.shape = {rows * 4, 1};
    return RefusalOf(MoECTESpec(shard_on_i), args);
  };
  EXPECT_EQ(refusal(std::int64_t{1} << 29), "accepted");
  EXPECT_THAT(refusal((std::int64_t{1} << 29) + 1),
              HasSubstr("536870913 rows of 4 experts exceed an int32 affinity address"));
}

TEST(DeviationLimits, RejectsStaticPrefixesOutsideTheBlocks) {
  for (const int wrong : {-1, 5}) {
    for (const auto variant : {shard_on_i_hybrid, shard_on_i_mx_hybrid}) {
      kernels::MoeCteArgs args = ArgsOf(variant);
      args.conditions = {"conditions", DType::kInt32, {5}, 0};
      MoECTESpec spec(variant);
      spec.shard_on_I.emplace().num_static_block = wrong;
      EXPECT_THAT(RefusalOf(spec, args),
                  HasSubstr(fmt::format("num_static_block {}, allowed 0 to the 4 blocks", wrong)));
    }
  }
}

TEST(DeviationLimits, RejectsCheckpointsOfTheHybrid) {
  Layer layer = LayerOf(shard_on_i_hybrid);
  layer.kernel.shard_on_I.checkpoint_activation = true;
  EXPECT_THAT(RefusalOf(layer), HasSubstr("checkpoint_activation needs blocks the kernel counts; "
                                          "use shard_on_i"));
}

TEST(DeviationLimits, RejectsBlocksThatCannotBeHalvedIntoTiles) {
  for (const auto variant : kIShardWithBlocks) {
    for (const int size : {128, 384}) {
      Layer layer = LayerOf(variant);
      layer.block_size = size;
      EXPECT_THAT(RefusalOf(layer),
                  HasSubstr(fmt::format("block size {}, allowed multiples of 256: each core owns "
                                        "half of a block's tiles",
                                        size)));
    }
  }
}

TEST(DeviationLimits, RejectsAccumulationOffWhereThereAreTwoPlanes) {
  Layer layer = LayerOf(shard_on_block_mx);
  layer.kernel.is_tensor_update_accumulating = false;
  layer.top_k = 1;
  EXPECT_THAT(RefusalOf(layer), HasSubstr("use shard_on_block"));
}

// The others run on any number of cores: kernels.cores.
TEST(DeviationLimits, RejectsMxSharesOfIOnOtherThanTwoCores) {
  for (const int cores : {1, 3, 4, 8}) {
    isa::Limits limits;
    limits.cores = cores;
    for (const auto variant : {shard_on_i_mx, shard_on_i_mx_hybrid}) {
      EXPECT_THAT(RefusalOf(LayerOf(variant), limits),
                  HasSubstr(fmt::format("{}: runs on 2 cores, which share the tiles of 512 of I; "
                                        "the machine has {}, on which shard_on_block_mx runs",
                                        NameOf(variant), cores)));
    }
  }
}

TEST(DeviationLimits, RejectsSharesThatAreNoMultiples) {
  isa::Limits limits;
  limits.cores = 4;
  for (const auto variant : {shard_on_i, shard_on_i_hybrid, shard_on_i_dropping}) {
    Layer layer = LayerOf(variant);
    layer.block_size = 256;
    if (variant != shard_on_i_dropping) {
      EXPECT_THAT(RefusalOf(layer, limits),
                  HasSubstr("block size 256, allowed multiples of 512: each core owns 1/4 of a "
                            "block's tiles"));
    }
    layer.block_size = 512;
    layer.intermediate = 48;
    EXPECT_THAT(RefusalOf(layer, limits), HasSubstr("intermediate 48, allowed multiples of 32"));
  }
}

TEST(DeviationLimits, RejectsWrongMultiples) {
  for (const auto variant : kAllVariants) {
    kernels::MoeCteArgs args = ArgsOf(variant);
    args.hidden_states.shape[1] = 500;
    EXPECT_THAT(RefusalOf(MoECTESpec(variant), args), HasSubstr("hidden 500, allowed multiples"));
    args = ArgsOf(variant);
    args.gate_up_proj_weight.shape.back() = 1000;
    EXPECT_THAT(RefusalOf(MoECTESpec(variant), args),
                HasSubstr("intermediate 1000, allowed multiples"));
  }
}

TEST(DeviationLimits, RejectsImplementationsThatDoNotExist) {
  for (const int number : {-1, 7}) {
    try {
      MoECTESpec spec(static_cast<MoECTEImplementation>(number));
      FAIL() << number;
    } catch (const SimError& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr(fmt::format("implementation: {}, allowed 0 to 6", number)));
    }
  }
}

TEST(DeviationLimits, B16EveryImplementationWritesItsOutput) {
  for (const auto variant : kAllVariants) {
    LayerRun run(LayerOf(variant));
    run.Run();
    const ops::HbmTensor& output = run.job().tensor("output");
    ASSERT_FALSE(output.written.empty());
    EXPECT_TRUE(std::ranges::all_of(output.written, [](bool word) { return word; }))
        << NameOf(variant);
    EXPECT_TRUE(std::ranges::any_of(run.output().data, [](std::byte b) {
      return b != std::byte{};
    })) << NameOf(variant);
  }
}

// The checker that every kernel test runs under does see a scale that was never written.
TEST(DeviationLimits, B14ReadingAScaleNeverWrittenIsAnError) {
  const isa::Limits limits;
  for (const int scale_rows_written : {128, 2}) {
    ops::Hbm hbm(1 << 20);
    const auto kernel = [&](isa::Sink& sink) {
      lang::Core nki(sink);
      const lang::Tile words = nki.Sbuf("words", DType::kFp8E4M3FnX4, 128, {128});
      const lang::Tile bytes = nki.Sbuf("bytes", DType::kBf16, 128, {128, 4});
      const lang::Tile scale = nki.Sbuf("scale", DType::kE8M0, 128, {128});
      const lang::Tile quantized = nki.Sbuf("quantized", DType::kE8M0, 128, {128});
      const lang::Tile psum = nki.Psum("psum", DType::kFp32, 128, {128});
      nki.memset(bytes, 0.0f);
      nki.quantize_mx(words, quantized, bytes->Flat());
      nki.memset(scale->Slice(0, 0, scale_rows_written), 0.0f);
      nki.nc_matmul_mx(psum, words, quantized, words, scale, {});
    };
    if (scale_rows_written == 128) {
      EXPECT_NO_THROW(ops::RunSequentially(limits, hbm, kernel));
    } else {
      try {
        ops::RunSequentially(limits, hbm, kernel);
        FAIL();
      } catch (const SimError& error) {
        EXPECT_THAT(error.what(), HasSubstr("never written"));
      }
    }
  }
}

TEST(DeviationLimits, B14PaddedIReadsNoScaleNeverWritten) {
  for (const auto variant : {shard_on_block_mx, shard_on_i_mx, shard_on_i_mx_hybrid}) {
    for (const int intermediate : {8, 232, 1000, 1032}) {
      Layer layer = LayerOf(variant);
      layer.intermediate = intermediate;
      LayerRun run(layer);
      EXPECT_NO_THROW(run.Run()) << NameOf(variant);
      EXPECT_TRUE(run.job().Compare().pass) << NameOf(variant) << ", I " << intermediate;
    }
  }
}

std::string Page(const std::string& name) {
  std::ifstream file(std::string(BWMM_DOCS) + "/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(DeviationLimits, EveryTestThatThePageNamesExistsAndEveryTestIsNamed) {
  const std::string page = Page("deviations.md");
  std::set<std::string> named, existing;
  const std::regex name("`([DL])\\.([A-Za-z0-9]+)`");
  for (std::sregex_iterator it(page.begin(), page.end(), name), end; it != end; ++it)
    named.insert(((*it)[1] == "D" ? "Deviations." : "DeviationLimits.") + (*it)[2].str());
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const std::string test = suite.GetTestInfo(t)->name();
      if (!test.starts_with("Every"))  // about the pages themselves
        existing.insert(std::string(suite.name()) + "." + test);
    }
  }
  EXPECT_EQ(named, existing);
}

TEST(DeviationLimits, EveryKernelOptionIsInThePageOfTheVariants) {
  kernels::KernelOptions options;
  std::string known;
  try {
    kernels::ApplySetting(options, "kernel.", "");
  } catch (const SimError& error) {
    known = error.what();
  }
  const std::string page = Page("variants.md");
  const std::regex key("kernel\\.([A-Za-z_]+)");
  int keys = 0;
  for (std::sregex_iterator it(known.begin(), known.end(), key), end; it != end; ++it, ++keys)
    EXPECT_THAT(page, HasSubstr("| `" + (*it)[1].str() + "` |"));
  EXPECT_GT(keys, 5);
}

}  // namespace
}  // namespace bwmm
