// The machine with the Verilated TensorEngine and quantize_mx: same bits, cycles and stall
// classes as `fast`, instruction by instruction.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/system/machine.h"
#include "model/system/records.h"
#include "tests/system/error_of.h"
#include "tests/system/mx_program.h"
#include "tests/system/two_core_program.h"

namespace bwmm {
namespace {

template <typename Tensors, typename Program>
void ExpectRtlEqualsFast(Tensors& rtl_tensors, Tensors& fast_tensors, Program program,
                         const std::vector<std::string>& outputs) {
  Records rtl_records, fast_records;
  const RunResult a = RunMachine(LoadMachine("trn3"), Fidelity::kRtl, rtl_tensors.hbm,
                                 [&](isa::Sink& sink) { program(rtl_tensors, sink); },
                                 {.observers = {&rtl_records}});
  const RunResult b = RunMachine(LoadMachine("trn3"), Fidelity::kFast, fast_tensors.hbm,
                                 [&](isa::Sink& sink) { program(fast_tensors, sink); },
                                 {.observers = {&fast_records}});
  const auto rtl = rtl_records.Sorted(), fast = fast_records.Sorted();
  EXPECT_EQ(a.cycles, b.cycles);
  ASSERT_EQ(rtl.size(), fast.size());
  for (std::size_t i = 0; i < rtl.size(); ++i) {
    EXPECT_EQ(rtl[i].id, fast[i].id);
    EXPECT_EQ(rtl[i].start, fast[i].start) << rtl[i].opcode << " " << rtl[i].id;
    EXPECT_EQ(rtl[i].end, fast[i].end) << rtl[i].opcode << " " << rtl[i].id;
    EXPECT_EQ(NameOf(rtl[i].stall), NameOf(fast[i].stall)) << rtl[i].opcode << " " << rtl[i].id;
  }
  for (std::size_t core = 0; core < a.cores.size(); ++core) {
    for (int unit = 0; unit < units::kUnits; ++unit)
      EXPECT_EQ(a.cores[core].units[unit].cycles, b.cores[core].units[unit].cycles)
          << "core " << core << " " << NameOf(static_cast<Unit>(unit));
  }
  for (const std::string& name : outputs) {
    const auto& data = rtl_tensors.hbm.Find(name).data;
    EXPECT_TRUE(data == fast_tensors.hbm.Find(name).data) << name;
    EXPECT_FALSE(
        std::all_of(data.begin(), data.end(), [](std::byte b) { return b == std::byte{}; }))
        << name << " is all zero";
  }
}

TEST(RtlMachine, EqualsFastOnTheTwoCoreProgram) {
  test::TwoCoreTensors rtl(true), fast(true);
  ExpectRtlEqualsFast(rtl, fast, test::TwoCoreProgram, {"y", "z"});
}

TEST(RtlMachine, EqualsFastOnMxAndTransposes) {
  test::MxTensors rtl(true), fast(true);
  ExpectRtlEqualsFast(rtl, fast, test::MxProgram, {"product", "transposed"});
}

// 128 columns through 3 stages take 127 + 3 cycles.
TEST(RtlMachine, RejectsAQuantizePipelineThatIsNotTheRtls) {
  for (const auto& [cycles, table] : {std::pair{2, 129}, std::pair{4, 131}}) {
    MachineConfig config = LoadMachine("trn3");
    config.quantize_mx.pipeline_cycles = cycles;
    test::MxTensors tensors(true);
    EXPECT_EQ(test::ErrorOf([&] {
                RunMachine(config, Fidelity::kRtl, tensors.hbm,
                           [&](isa::Sink& sink) { test::MxProgram(tensors, sink); });
              }),
              fmt::format("instruction 2 (quantize_mx) on core 0: quantize_mx: the RTL took 130 "
                          "cycles for 128 columns, the cost table "
                          "says {} (machine.quantize_mx.pipeline_cycles)",
                          table));
  }
}

}  // namespace
}  // namespace bwmm
