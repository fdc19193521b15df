// Presets, user files, settings and their refusals.
#include "model/system/machine_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "model/support/sim_error.h"
#include "tests/system/error_of.h"

namespace bwmm {
namespace {

using test::ErrorOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MachineConfig, HasThreePresets) {
  EXPECT_THAT(PresetNames(), ElementsAre("trn3", "trn2", "trn1"));
  EXPECT_EQ(LoadMachine("trn1").generation, 2);
  EXPECT_EQ(LoadMachine("trn3").generation, 4);
  EXPECT_EQ(LoadMachine("trn2").generation, 3);
}

TEST(MachineConfig, SetsEveryFigureInEveryPreset) {
  // Nothing is left at the zero of an untouched member unless the preset says so.
  const std::vector<std::string> may_be_zero = {
      "machine.sbuf.reserved_bytes",       "machine.tensor.throttle_ns",
      "machine.compute.vector_perf_modes", "machine.dma.dge_ns",
      "machine.compute.fp8_modes",         "machine.compute.scalar_2x"};
  for (const std::string& name : PresetNames()) {
    for (const Setting& setting : SettingsOf(LoadMachine(name))) {
      EXPECT_GE(setting.value, setting.min) << name << " " << setting.key;
      EXPECT_LE(setting.value, setting.max) << name << " " << setting.key;
      if (std::find(may_be_zero.begin(), may_be_zero.end(), setting.key) == may_be_zero.end()) {
        EXPECT_NE(setting.value, 0) << name << " " << setting.key;
      }
    }
  }
}

TEST(MachineConfig, GivesKernelsTheirLimits) {
  const isa::Limits trn3 = LimitsOf(LoadMachine("trn3"));
  EXPECT_EQ(trn3.sbuf_bytes, 256 * 1024);
  EXPECT_EQ(trn3.generation, 4);
  EXPECT_EQ(trn3.psum_banks, 8);
  EXPECT_EQ(trn3.psum_bank_bytes, 2048);
  const isa::Limits trn2 = LimitsOf(LoadMachine("trn2"));
  EXPECT_EQ(trn2.sbuf_bytes, 224 * 1024 - 16384 - 8 - 256);
  EXPECT_EQ(trn2.generation, 3);
}

TEST(MachineConfig, AppliesASetting) {
  MachineConfig config = LoadMachine("trn3");
  ApplySetting(config, "machine.dma.start_ns", "900");
  EXPECT_EQ(config.dma.start_ns, 900);
}

TEST(MachineConfig, BuildsOnePresetOnAnother) {
  const MachineConfig trn1 = LoadMachine("trn1");
  EXPECT_EQ(trn1.clock.tensor_mhz, 2800);
  EXPECT_EQ(trn1.sbuf.bytes, 192 * 1024);
  // What trn1 does not name is trn2's, also below a user's file.
  EXPECT_EQ(trn1.sbuf.reserved_bytes, LoadMachine("trn2").sbuf.reserved_bytes);
  const MachineConfig mine = ParseMachine("base = \"trn1\"\n[machine]\ncores = 1\n", "mine.toml");
  EXPECT_EQ(mine.cores, 1);
  EXPECT_EQ(mine.clock.vector_mhz, 1120);
  EXPECT_EQ(mine.psum.banks, 8);
}

TEST(MachineConfig, ChangesOnlyWhatAFileNames) {
  const std::string path = ::testing::TempDir() + "machine.toml";
  std::ofstream(path) << "base = \"trn2\"\n[machine.hbm]\nlatency_ns = 7\n";
  const MachineConfig config = LoadMachine(path);
  EXPECT_EQ(config.hbm.latency_ns, 7);
  EXPECT_EQ(config.generation, 3);
  EXPECT_EQ(config.hbm.bandwidth_mb_s, LoadMachine("trn2").hbm.bandwidth_mb_s);
}

TEST(MachineConfig, RejectsUnknownKeysWithTheKnownOnes) {
  MachineConfig config = LoadMachine("trn3");
  const std::string error = ErrorOf([&] { ApplySetting(config, "machine.dma.stat_ns", "1"); });
  EXPECT_THAT(error, HasSubstr("unknown key machine.dma.stat_ns"));
  EXPECT_THAT(error, HasSubstr("machine.dma.start_ns"));
  EXPECT_THAT(ErrorOf([] { ParseMachine("[machine.dma]\nspeed = 3\n", "mine.toml"); }),
              HasSubstr("unknown key machine.dma.speed"));
}

TEST(MachineConfig, RejectsValuesOutOfRange) {
  MachineConfig config = LoadMachine("trn3");
  EXPECT_THAT(ErrorOf([&] { ApplySetting(config, "machine.cores", "9"); }),
              HasSubstr("machine.cores: 9, allowed 1 to 8"));
  EXPECT_THAT(ErrorOf([&] { ApplySetting(config, "machine.cores", "two"); }),
              HasSubstr("allowed an integer from 1 to 8"));
  ApplySetting(config, "machine.sbuf.reserved_bytes", "262144");
  EXPECT_THAT(ErrorOf([&] { ValidateMachine(config); }), HasSubstr("machine.sbuf.bytes"));
}

TEST(MachineConfig, SettingsThatBelongTogetherAreCheckedTogether) {
  MachineConfig config = LoadMachine("trn3");
  ApplySetting(config, "machine.tensor.rows", "64");
  EXPECT_THAT(ErrorOf([&] { ValidateMachine(config); }),
              HasSubstr("machine.tensor.rows: 64, allowed 128, machine.sbuf.partitions"));
  ApplySetting(config, "machine.sbuf.partitions", "64");
  EXPECT_EQ(ErrorOf([&] { ValidateMachine(config); }), "no error");
}

TEST(MachineConfig, RejectsWrongTypesAndBrokenFiles) {
  EXPECT_THAT(ErrorOf([] { ParseMachine("[machine]\ncores = \"2\"\n", "mine.toml"); }),
              HasSubstr("mine.toml: machine.cores: not an integer"));
  EXPECT_THAT(ErrorOf([] { ParseMachine("[machine\n", "mine.toml"); }),
              HasSubstr("mine.toml: line"));
  EXPECT_THAT(ErrorOf([] { ParseMachine("base = \"trn9\"\n", "mine.toml"); }),
              HasSubstr("base trn9, allowed trn3, trn2, trn1"));
  EXPECT_THAT(ErrorOf([] { LoadMachine("no_such_machine"); }),
              HasSubstr("neither a preset (trn3, trn2, trn1) nor a readable TOML file"));
}

}  // namespace
}  // namespace bwmm
