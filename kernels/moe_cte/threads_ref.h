// Host threads of the reference; each index is worked on once, and the pieces do not overlap.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace bwmm::reference {

template <typename Work>
void ForEachIndex(int threads, int count, const Work& work) {
  std::atomic<int> next = 0;
  const auto run = [&] {
    for (int i = next++; i < count; i = next++)
      work(i);
  };
  std::vector<std::jthread> helpers;
  for (int i = 1; i < threads && i < count; ++i)
    helpers.emplace_back(run);
  run();
}

}  // namespace bwmm::reference
