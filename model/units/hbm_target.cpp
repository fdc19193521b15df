#include "model/units/hbm_target.h"

#include <algorithm>

namespace bwmm::units {

HbmTarget::HbmTarget(sc_core::sc_module_name name, const Config& config, const TimeBase& time)
    : sc_module(name), config_(config), time_(time) {
  for (int core = 0; core < config.cores; ++core) {
    sockets_.push_back(std::make_unique<Socket>(fmt::format("core{}_socket", core).c_str()));
    sockets_.back()->register_b_transport(this, &HbmTarget::Transport);
  }
}

void HbmTarget::Transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t bytes = payload.get_data_length();
  if (payload.get_address() + bytes > config_.capacity_bytes) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  (payload.is_read() ? stats_.read_bytes : stats_.write_bytes) += bytes;
  const Tick service = time_.FromBytes(static_cast<std::int64_t>(bytes), config_.bandwidth_mb_s);
  const Tick begin = std::max<Tick>(EvenPhase() + delay.value(), free_at_);
  free_at_ = begin + service;
  busy_ += service;
  delay = sc_core::sc_time::from_value(free_at_ - EvenPhase());
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

}  // namespace bwmm::units
