// The program as it was emitted: one line per instruction, core by core.
#pragma once

#include <string>
#include <vector>

#include "model/ops/observer.h"

namespace bwmm {

class Listing final : public ops::Observer {
 public:
  bool Wants(ops::Event event) const override { return event == ops::Event::kEmitted; }
  void Emitted(const ops::Emission& emission) override;

  // Writes the file whole or not at all: into a neighbour first, then renamed. SimError when the
  // file cannot be written.
  void WriteTo(const std::string& path) const;

 private:
  std::vector<std::string> lines_;  // per core
};

}  // namespace bwmm
