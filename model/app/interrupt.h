// SIGINT and SIGTERM end a run in order: the machine stops, dumps are closed, main decides the exit
// code.
#pragma once

#include <stdexcept>

namespace bwmm::app {

class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(int signal) : std::runtime_error("interrupted"), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

// From now on the two signals are remembered instead of ending the process at once; a second one
// ends it.
void CatchInterrupts();

// Throws Interrupted once a signal has come.
void ThrowIfInterrupted();

}  // namespace bwmm::app
