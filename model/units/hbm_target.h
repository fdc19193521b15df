// The HBM stack all cores share: one TLM-2.0 target socket per core, one bandwidth.
//
//   core 0 DMA --socket 0--> [ one server, `bandwidth_mb_s` ]
//   core 1 DMA --socket 1-->
//
// Loosely timed: b_transport answers at once and annotates, from the even phase on, when the bytes
// have been moved. Requests
// are served in the order of the calls, which the phase arbiter fixes. Payloads carry address,
// length and direction; the data itself moves when the DMA completes (ops::Execute), so the data
// pointer is null.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

#include "model/units/tick.h"

namespace bwmm::units {

class HbmTarget final : public sc_core::sc_module {
 public:
  struct Config {
    int cores = 2;
    std::int64_t bandwidth_mb_s = 1'175'000;
    std::uint64_t capacity_bytes = std::uint64_t{36} << 30;
  };
  struct Stats {
    std::uint64_t read_bytes = 0;
    std::uint64_t write_bytes = 0;
  };
  using Socket = tlm_utils::simple_target_socket<HbmTarget>;

  HbmTarget(sc_core::sc_module_name name, const Config& config, const TimeBase& time);

  Socket& socket(int core) { return *sockets_[core]; }
  const Stats& stats() const { return stats_; }
  Tick busy() const { return busy_; }

 private:
  void Transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);

  const Config config_;
  const TimeBase time_;
  std::vector<std::unique_ptr<Socket>> sockets_;
  Tick free_at_ = 0;
  Tick busy_ = 0;
  Stats stats_;
};

}  // namespace bwmm::units
