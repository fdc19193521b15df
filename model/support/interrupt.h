// SIGINT, SIGTERM and SIGHUP end a run in order and within a second, whatever it is doing.
//
//   signal --> [ watcher thread ] --flag--> ThrowIfInterrupted, where loops ask --> main
//                     |
//                     +-- nobody answered, or a second signal --> remove parts, end the process
//
// Loops that ask let dumps be closed and the caller decide; the watcher is for all code that does
// not ask.
#pragma once

#include <atomic>
#include <stdexcept>

namespace bwmm {

class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(int signal) : std::runtime_error("interrupted"), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

namespace interrupt_internal {
extern std::atomic<int> signal;  // 0: none has come
[[noreturn]] void Throw(int signal);
}  // namespace interrupt_internal

// From now on signals come to the watcher. To be called by main before any other thread runs. A
// signal that was ignored before (nohup) stays ignored.
void CatchInterrupts();

// Throws Interrupted once a signal has come. Cheap enough for an inner loop.
inline void ThrowIfInterrupted() {
  if (const int signal = interrupt_internal::signal.load(std::memory_order_relaxed); signal != 0)
      [[unlikely]] {
    interrupt_internal::Throw(signal);
  }
}

}  // namespace bwmm
