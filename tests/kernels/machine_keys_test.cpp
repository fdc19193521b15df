// Every key of the machine shows somewhere: another value changes cycles or a refusal of at least
// one workload. Keys that only move time change nothing else.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>

#include "model/system/machine.h"
#include "tests/kernels/layer_run.h"
#include "tests/system/program_parts.h"

namespace bwmm {
namespace {

using kernels::MoECTEImplementation;
using testing_layers::Layer;
using testing_layers::LayerOf;
using testing_layers::OptionsOf;

struct Outcome {
  std::string refusal = {};
  std::uint64_t cycles = 0;
  std::uint64_t instructions = 0;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome RunLayer(const MachineConfig& machine, const Layer& layer) {
  workloads::LayerJob job(OptionsOf(layer), LimitsOf(machine),
                          static_cast<std::uint64_t>(machine.hbm.capacity_mib) << 20, false);
  const RunResult result = RunMachine(machine, Fidelity::kTiming, job.hbm(), job.program());
  return {.cycles = result.cycles, .instructions = result.instructions};
}

// Moving operands of 2 rows, shorter than any interval, with loads that are as short.
Outcome RunShortMatmuls(const MachineConfig& machine, int columns) {
  ops::Hbm hbm;
  const RunResult result = RunMachine(machine, Fidelity::kTiming, hbm, [columns](isa::Sink& sink) {
    lang::Core nki(sink);
    const lang::Tile w = nki.Sbuf("w", DType::kBf16, 64, {columns});
    const lang::Tile x = nki.Sbuf("x", DType::kBf16, 64, {2});
    const lang::Tile sum = nki.Psum("sum", DType::kFp32, columns, {2});
    nki.memset(w, 0.0f);
    nki.memset(x, 0.0f);
    for (int i = 0; i < 20; ++i)
      nki.nc_matmul(sum, w, x, {.accumulate = i > 0});
  });
  return {.cycles = result.cycles, .instructions = result.instructions};
}

// Small loads that both sequencers with a descriptor generator trigger in turn.
Outcome RunTwoTriggers(const MachineConfig& machine) {
  ops::Hbm hbm;
  const ops::HbmTensor& x = hbm.Allocate("x", DType::kBf16, {64, 64}, false);
  const RunResult result = RunMachine(machine, Fidelity::kTiming, hbm, [&x](isa::Sink& sink) {
    for (int i = 0; i < 8; ++i)
      sink.Emit(i % 2 == 0 ? isa::Engine::kSync : isa::Engine::kScalar,
                isa::DmaCopy{.dst = test::SbufTile(DType::kBf16, 128 * i, 64, 64),
                             .src = test::Rows(x, 0, 64)});
  });
  return {.cycles = result.cycles, .instructions = result.instructions};
}

// Copies of fp8, longer than any interval.
Outcome RunFp8Copies(const MachineConfig& machine) {
  ops::Hbm hbm;
  const RunResult result = RunMachine(machine, Fidelity::kTiming, hbm, [](isa::Sink& sink) {
    lang::Core nki(sink);
    const lang::Tile from = nki.Sbuf("from", DType::kFp8E5M2, 8, {512});
    const lang::Tile to = nki.Sbuf("to", DType::kBf16, 8, {512});
    nki.memset(from, 0.0f);
    nki.tensor_copy(to, from);
  });
  return {.cycles = result.cycles, .instructions = result.instructions};
}

std::vector<Outcome> Outcomes(const MachineConfig& machine) {
  Layer block = LayerOf(MoECTEImplementation::shard_on_block);
  block.hidden = 1536;
  block.intermediate = 512;
  Layer dynamic = LayerOf(MoECTEImplementation::shard_on_i_mx_hybrid);
  dynamic.kernel.shard_on_I.num_static_block = 0;
  const std::function<Outcome()> workloads[] = {
      [&] { return RunLayer(machine, block); },     [&] { return RunLayer(machine, dynamic); },
      [&] { return RunShortMatmuls(machine, 64); }, [&] { return RunShortMatmuls(machine, 4); },
      [&] { return RunTwoTriggers(machine); },      [&] { return RunFp8Copies(machine); },
  };
  std::vector<Outcome> outcomes;
  for (const auto& run : workloads) {
    try {
      outcomes.push_back(run());
    } catch (const SimError& error) {
      outcomes.push_back({.refusal = error.what()});
    }
  }
  return outcomes;
}

// Values to try instead of the preset's.
std::vector<std::int64_t> OthersOf(const Setting& setting) {
  std::vector<std::int64_t> values;
  for (const std::int64_t value :
       {setting.value * 2, setting.value / 2, setting.value + 200'000, setting.min, setting.max}) {
    if (value != setting.value && value >= setting.min && value <= setting.max)
      values.push_back(value);
  }
  return values;
}

class MachineKey : public testing::TestWithParam<Setting> {};

TEST_P(MachineKey, ShowsInSomeWorkload) {
  const Setting& setting = GetParam();
  const std::vector<Outcome> usual = Outcomes(LoadMachine("trn3"));
  const bool joined =
      setting.key == "machine.tensor.rows" || setting.key == "machine.sbuf.partitions";
  for (const std::int64_t value : OthersOf(setting)) {
    MachineConfig machine = LoadMachine("trn3");
    const auto set = [&](std::string_view key) {
      ApplySetting(machine, key, std::to_string(value));
    };
    set(setting.key);
    if (joined) {
      set("machine.tensor.rows");
      set("machine.sbuf.partitions");
    }
    if (machine.sbuf.reserved_bytes >= machine.sbuf.bytes)
      continue;  // no machine
    ValidateMachine(machine);
    const std::vector<Outcome> other = Outcomes(machine);
    if (IsTimeOnly(setting.key)) {
      for (std::size_t i = 0; i < usual.size(); ++i) {
        EXPECT_EQ(other[i].refusal, "");
        EXPECT_EQ(other[i].instructions, usual[i].instructions);
      }
    }
    if (other != usual)
      return;
  }
  FAIL() << setting.key << " shows nowhere";
}

INSTANTIATE_TEST_SUITE_P(All, MachineKey, testing::ValuesIn(SettingsOf(LoadMachine("trn3"))),
                         [](const auto& info) {
                           std::string name = info.param.key.substr(8);
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

// Rows "| `tensor.rows` | unit | 32 to 128 | ..." under the key without "machine.".
TEST(MachinePage, NamesEveryKeyWithItsRangeAndPresets) {
  std::ifstream file(std::string(BWMM_DOCS) + "/machine.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> expected;
  const std::vector<Setting> trn3 = SettingsOf(LoadMachine("trn3"));
  const std::vector<Setting> trn2 = SettingsOf(LoadMachine("trn2"));
  for (std::size_t i = 0; i < trn3.size(); ++i)
    expected.push_back(fmt::format("{}: {} to {}, {}, {}", trn3[i].key.substr(8), trn3[i].min,
                                   trn3[i].max, trn3[i].value, trn2[i].value));
  std::vector<std::string> named;
  const std::regex row(
      R"(\n\| `([a-z0-9_.]+)` \| [^|]+ \| (\d+ to \d+) \| (\d+) \| (\d+) \| [^|]+ \| [^|]+ \|)");
  for (std::sregex_iterator it(page.begin(), page.end(), row), end; it != end; ++it)
    named.push_back(fmt::format("{}: {}, {}, {}", (*it)[1].str(), (*it)[2].str(), (*it)[3].str(),
                                (*it)[4].str()));
  EXPECT_EQ(named, expected);
}

}  // namespace
}  // namespace bwmm
