#include "model/system/progress.h"

namespace bwmm {

void ProgressMeter::Completed(const ops::Completion& completion) {
  ++now_.instructions_done;
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> since = now - last_;
  if (since.count() < seconds_)
    return;
  const std::uint64_t cycle = clock_.Cycles(completion.at);
  now_.khz = static_cast<double>(cycle - now_.cycle) / since.count() / 1e3;
  now_.cycle = cycle;
  last_ = now;
  report_(now_);
}

}  // namespace bwmm
