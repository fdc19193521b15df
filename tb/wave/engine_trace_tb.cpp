// The traced engine: same events and bits as the untraced one, and a waveform that holds what it
// promises, read back as VCD text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "model/engine/engine_trace.h"
#include "model/engine/make_engines.h"
#include "model/support/sim_error.h"
#include "tb/common/stimulus.h"
#include "tb/wave/vcd.h"

namespace bwmm::engine {
namespace {

using tb::VcdOf;

void RunRandomCommands(TensorEngine& engine) {
  tb::Stimulus stimulus(3);
  constexpr PeMode kModes[] = {PeMode::kOrdinary, PeMode::kMx, PeMode::kTranspose};
  std::uint32_t id = 0;
  for (const PeMode mode : kModes) {
    const LoadCommand load = stimulus.Load(++id, mode, {});
    engine.Push(load);
    engine.Push(stimulus.Move(++id, load, 40, {}));
    engine.AdvanceTo(engine.cycle() + 900);
  }
}

TEST(EngineTrace, ChangesNeitherBitsNorCycles) {
  const std::string path = testing::TempDir() + "twins.fst";
  const auto plain = MakeRtlTensorEngine({});
  const TracedTensorEngine traced = MakeTracedRtlTensorEngine({}, {.path = path, .row = 5});
  RunRandomCommands(*plain);
  RunRandomCommands(*traced.engine);
  const std::vector<Event> expected = plain->TakeEvents();
  EXPECT_EQ(expected.size(), 15U);
  EXPECT_THAT(traced.engine->TakeEvents(), testing::ElementsAreArray(expected));
  std::vector<std::uint32_t> a(128), b(128);
  for (int word = 0; word < 4096; ++word) {
    plain->ReadPsum(word, a);
    traced.engine->ReadPsum(word, b);
    ASSERT_EQ(a, b) << "word " << word;
  }
  std::filesystem::remove(path);
}

TEST(EngineTrace, ShowsOnePeInNumbers) {
  const std::string path = testing::TempDir() + "numbers.fst";
  {
    TracedTensorEngine traced = MakeTracedRtlTensorEngine({}, {.path = path, .row = 1, .col = 3});
    traced.trace->machine().Started(1000, TracedUnit::kVector, 77, "quantize_mx");
    traced.trace->machine().Spent(0, 1000, TracedUnit::kVector, "dma");
    traced.trace->machine().Spent(1000, 5000, TracedUnit::kVector, "");
    LoadCommand load;
    load.id = 41;
    load.rows = 2;
    load.cols = 4;
    load.data = {0, 0, 0, 0x3f80, 0, 0, 0, 0x4040};  // column 3: 1, 3
    MoveCommand move;
    move.id = 42;
    move.rows = 2;
    move.n = 1;
    move.data = {0x40a0, 0xc000};  // 5, -2
    traced.engine->Push(load);
    traced.engine->Push(move);
    traced.engine->AdvanceTo(300);
  }  // the destructor finishes the file
  const std::string vcd = VcdOf(path);
  for (const char* name : {"w_real", "x_real", "p_in_real", "p_out_real", "sum_real", "column_real",
                           "instruction_id", "opcode", "load_waits", "port_hold"})
    EXPECT_THAT(vcd, testing::HasSubstr(name));
  // p: 1 * 5 = 5 from the row above, then 3 * -2 + 5 = -1.
  for (const char* value : {"\nr3 ", "\nr-2 ", "\nr5 ", "\nr-1 "})
    EXPECT_THAT(vcd, testing::HasSubstr(value));
  std::filesystem::remove(path);
}

TEST(EngineTrace, ShowsOrdinaryInfAndNanAsSuch) {
  const std::string path = testing::TempDir() + "specials.fst";
  const std::pair<std::uint32_t, std::string> codes[] = {
      {0x7f80, "inf"}, {0xff80, "-inf"}, {0x7fc0, "nan"}};
  for (const auto& [code, text] : codes) {
    {
      TracedTensorEngine traced = MakeTracedRtlTensorEngine({}, {.path = path});
      LoadCommand load;
      load.rows = load.cols = 1;
      load.data = {code};
      MoveCommand move;
      move.rows = move.n = 1;
      move.data = {code};
      traced.engine->Push(load);
      traced.engine->Push(move);
      traced.engine->AdvanceTo(300);
    }
    tb::Vcd vcd(path);
    int seen = 0;
    while (vcd.Next()) {
      if (vcd.Text("pe.active") != "1" || vcd.Text("traced_engine.clk_i") != "1")
        continue;
      ++seen;
      EXPECT_EQ(vcd.Text("pe.w_real"), text);
      EXPECT_EQ(vcd.Text("pe.x_real"), text);
    }
    EXPECT_EQ(seen, 1);
  }
  std::filesystem::remove(path);
}

TEST(EngineTrace, DumpsOnlyTheWindow) {
  const std::string path = testing::TempDir() + "window.fst";
  TracedTensorEngine traced =
      MakeTracedRtlTensorEngine({}, {.path = path, .from = 100, .to = 120, .cycle_ps = 1000});
  RunRandomCommands(*traced.engine);
  traced.trace->Close();
  std::istringstream vcd(VcdOf(path));
  int times = 0;
  for (std::string line; std::getline(vcd, line);) {
    if (line.size() < 2 || line[0] != '#')
      continue;
    ++times;
    EXPECT_GE(std::stol(line.substr(1)), 100000);
    EXPECT_LT(std::stol(line.substr(1)), 120000);
  }
  EXPECT_GE(times, 20);
  std::filesystem::remove(path);
}

TEST(EngineTrace, RejectsProbeOutsideTheArrayAndUnwritableFile) {
  EXPECT_THROW(MakeTracedRtlTensorEngine({}, {.path = "x.fst", .row = 128}), SimError);
  EXPECT_THROW(MakeTracedRtlTensorEngine({}, {.path = "/no/such/folder/x.fst"}), SimError);
}

}  // namespace
}  // namespace bwmm::engine
