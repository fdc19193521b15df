// A SystemC simulation of its own: SystemC keeps everything in one global context, and this class
// makes a fresh one current for as long as it lives.
#pragma once

namespace bwmm {

class SimContext {
 public:
  SimContext();
  ~SimContext();
  SimContext(const SimContext&) = delete;
  SimContext& operator=(const SimContext&) = delete;

  // Runs until nothing can happen any more.
  void Run();
};

}  // namespace bwmm
