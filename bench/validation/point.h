// A published measurement and the small kernel that asks the model the same question.
//
//   Point: what was published --> Stage: a core of the preset, HBM, one program, timing
//                                              |
//                    cycles and instruction records --> the model's figure, in the point's unit
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/lang/core.h"
#include "model/system/machine.h"
#include "model/system/records.h"

namespace bwmm::validation {

// Chosen: a constant of the presets was chosen to meet the point, so that it says nothing more.
enum class Role { kChecks, kChosen };

struct Point {
  std::string id;
  std::string group;  // dma, tensor, vector_scalar, kernels
  std::string preset;
  std::string what;  // with shape and type
  std::string unit;
  double published = 0;
  char grade = 'A';
  std::string source;
  Role role = Role::kChecks;
  bool at_most = false;    // the published figure is a threshold
  std::string taken_from;  // which times the model's figure is
  std::function<double()> measure;
};

struct Trial {
  std::uint64_t cycles = 0;
  double ns_per_cycle = 0;
  double first_byte_ns = 0;  // the first DMA engine to start
  double last_byte_ns = 0;   // the last one to be through
  CoreResult core;
  std::vector<InstructionRecord> records;

  double ns() const { return static_cast<double>(cycles) * ns_per_cycle; }
  // The only instruction of this kind.
  const InstructionRecord& Only(isa::Unit unit) const;
  double Duration(isa::Unit unit) const {
    return static_cast<double>(Only(unit).end - Only(unit).start) * ns_per_cycle;
  }
};

// One core of a preset with an HBM of its own.
class Stage {
 public:
  explicit Stage(const std::string& preset);
  lang::HbmTensor Tensor(const std::string& name, DType dtype, std::vector<std::int64_t> shape);
  Trial Run(const std::function<void(lang::Core&)>& kernel);

 private:
  MachineConfig machine_;
  ops::Hbm hbm_;
};

// What one more repetition costs in a steady stream: from `count` and from twice as many.
template <typename KernelOf>
double NsEach(Stage& stage, int count, const KernelOf& kernel_of) {
  const Trial once = stage.Run(kernel_of(count));
  const Trial twice = stage.Run(kernel_of(2 * count));
  return (twice.ns() - once.ns()) / count;
}

std::vector<Point> DmaPoints();
std::vector<Point> TensorPoints();
std::vector<Point> VectorScalarPoints();
std::vector<Point> KernelPoints();
std::vector<Point> Fp32KernelPoints();
std::vector<Point> Trn1Points();

}  // namespace bwmm::validation
