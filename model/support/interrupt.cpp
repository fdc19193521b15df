#include "model/support/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <ctime>
#include <initializer_list>
#include <string_view>
#include <thread>

#include "model/support/part_file.h"

namespace bwmm {
namespace interrupt_internal {

std::atomic<int> signal = 0;

}  // namespace interrupt_internal

namespace {

constexpr timespec kToAnswer = {.tv_sec = 0, .tv_nsec = 500'000'000};
constexpr timespec kToClose = {.tv_sec = 10, .tv_nsec = 0};  // a long dump, once answered

std::atomic<bool> answered = false;

[[noreturn]] void EndNow(int signal) {
  RemoveAllParts();
  constexpr std::string_view kClearLine = "\r\033[K";  // of the progress bar
  constexpr std::string_view kText = "bwmm: interrupted\n";
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  if ((terminal && ::write(STDERR_FILENO, kClearLine.data(), kClearLine.size()) < 0) ||
      ::write(STDERR_FILENO, kText.data(), kText.size()) < 0) {
    // Nobody reads it; the exit code says the same.
  }
  ::_exit(128 + signal);
}

void Watch(const sigset_t& signals) {
  int signal = 0;
  while (::sigwait(&signals, &signal) != 0) {
  }
  interrupt_internal::signal = signal;
  // Times out unless a second signal comes.
  if (::sigtimedwait(&signals, nullptr, &kToAnswer) < 0 && answered)
    ::sigtimedwait(&signals, nullptr, &kToClose);
  EndNow(signal);
}

}  // namespace

void interrupt_internal::Throw(int signal) {
  answered = true;
  throw Interrupted(signal);
}

void CatchInterrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
      sigaddset(&signals, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] { Watch(signals); }).detach();
}

}  // namespace bwmm
