// Host threads for work whose pieces do not touch each other; the result never depends on them.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "model/support/interrupt.h"

namespace bwmm::host {

// Calls work(0) .. work(count - 1), each once, on all host threads. The first exception is thrown
// again here, after all threads have ended.
template <typename Work>
void ParallelFor(int count, const Work& work) {
  std::atomic<int> next = 0;
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto run = [&] {
    try {
      for (int i = next++; i < count; i = next++) {
        ThrowIfInterrupted();
        work(i);
      }
    } catch (...) {
      const std::scoped_lock lock(failure_mutex);
      if (!failure)
        failure = std::current_exception();
      next = count;
    }
  };
  const int threads =
      std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, std::max(count, 1));
  std::vector<std::jthread> helpers;
  for (int i = 1; i < threads; ++i)
    helpers.emplace_back(run);
  run();
  helpers.clear();
  if (failure)
    std::rethrow_exception(failure);
}

}  // namespace bwmm::host
