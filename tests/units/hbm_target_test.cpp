// The HBM stack alone. At 1000 MB/s a byte takes 1 ns, which is 2 ticks.
#include "model/units/hbm_target.h"

#include <tlm_utils/simple_initiator_socket.h>

#include "tests/units/unit_harness.h"

namespace bwmm::units {
namespace {

using testing::ElementsAre;

class Initiator final : public sc_core::sc_module {
 public:
  explicit Initiator(sc_core::sc_module_name name) : sc_module(name) {}
  tlm_utils::simple_initiator_socket<Initiator> socket{"socket"};
};

class HbmTargetTest : public UnitTest {
 protected:
  HbmTargetTest() {
    for (int core = 0; core < 2; ++core)
      initiators[core].socket.bind(hbm_target.socket(core));
  }
  // Moves `bytes` for `core` at `tick`, logs "done" with the annotated delay.
  void Move(Tick tick, int core, unsigned bytes, bool write = false, std::uint64_t address = 0,
            Tick delay = 0) {
    script.At(tick, [=, this] {
      tlm::tlm_generic_payload payload;
      payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
      payload.set_address(address);
      payload.set_data_length(bytes);
      sc_core::sc_time annotated = sc_core::sc_time::from_value(delay);
      initiators[core].socket->b_transport(payload, annotated);
      log.Add(payload.is_response_ok() ? "done" : "refused",
              static_cast<std::uint32_t>(annotated.value()));
    });
  }

  HbmTarget hbm_target{"hbm", {.cores = 2, .bandwidth_mb_s = 1000, .capacity_bytes = 4096}, time};
  std::array<Initiator, 2> initiators{Initiator{"core0"}, Initiator{"core1"}};
};

TEST_F(HbmTargetTest, TakesTheBytesOverTheBandwidth) {
  Move(100, 0, 64);
  Run();
  EXPECT_THAT(log.seen(), ElementsAre(Seen{100, "done", 128}));
  EXPECT_EQ(hbm_target.busy(), 128u);
}

TEST_F(HbmTargetTest, ServesBothCoresOneAfterTheOther) {
  Move(100, 0, 64);
  Move(100, 1, 32);
  Move(140, 0, 16);
  Move(1000, 1, 8);  // the stack is idle again
  Run();
  EXPECT_THAT(log.seen(), ElementsAre(Seen{100, "done", 128}, Seen{100, "done", 192},
                                      Seen{140, "done", 184}, Seen{1000, "done", 16}));
  EXPECT_EQ(hbm_target.busy(), 2u * (64 + 32 + 16 + 8));
}

TEST_F(HbmTargetTest, CountsFromTheEvenPhaseAndTheDelayOfTheCaller) {
  Move(101, 0, 64);
  Move(501, 0, 64, false, 0, 40);
  Run();
  EXPECT_THAT(log.seen(), ElementsAre(Seen{101, "done", 128}, Seen{501, "done", 168}));
}

TEST_F(HbmTargetTest, CountsReadsAndWritesApart) {
  Move(0, 0, 64);
  Move(0, 1, 32, true);
  Move(0, 1, 8, true);
  Run();
  EXPECT_EQ(hbm_target.stats().read_bytes, 64u);
  EXPECT_EQ(hbm_target.stats().write_bytes, 40u);
}

TEST_F(HbmTargetTest, RejectsWhatLiesBeyondTheCapacity) {
  Move(0, 0, 64, false, 4096 - 64);
  Move(0, 0, 64, false, 4096 - 63);
  Run();
  EXPECT_THAT(log.seen(), ElementsAre(Seen{0, "done", 128}, Seen{0, "refused", 0}));
  EXPECT_EQ(hbm_target.stats().read_bytes, 64u) << "what is refused takes no time and no bytes";
  EXPECT_EQ(hbm_target.busy(), 128u);
}

}  // namespace
}  // namespace bwmm::units
