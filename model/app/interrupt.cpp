#include "model/app/interrupt.h"

#include <csignal>

namespace bwmm::app {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void Remember(int signal) {
  interrupted = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void CatchInterrupts() {
  for (const int signal : {SIGINT, SIGTERM})
    std::signal(signal, Remember);
}

void ThrowIfInterrupted() {
  if (interrupted != 0)
    throw Interrupted(interrupted);
}

}  // namespace bwmm::app
