// What an instruction costs on the Vector, Scalar, GpSimd and Sync engines, in the engine's own
// clock cycles.
//
//   start |<---- occupancy ---->|<-- latency -->| result visible
//         |  next instruction may start here ---^ (if it does not depend on this one)
//
// Every line of the table, with its source, is at the top of cost_table.cpp.
#pragma once

#include <cstdint>

#include "model/isa/instruction.h"

namespace bwmm::units {

struct CostTable {
  std::int64_t min_interval = 64;
  std::int64_t vector_latency_cycles = 144;
  std::int64_t scalar_latency_cycles = 200;
  std::int64_t access_cycles = 60;  // the latency of GpSimd and Sync
  std::int64_t gpsimd_fixed = 150;
  bool vector_perf_modes = true;
  bool fp8_modes = true;
  bool scalar_2x = true;
  std::int64_t quantize_pipeline_cycles = 3;
  std::int64_t register_load_cycles = 64;
  std::int64_t descriptors_fixed_cycles = 150;
  std::int64_t descriptor_cycles = 4;
};

struct Cost {
  std::int64_t occupancy = 0;
  std::int64_t latency = 0;
};

// Cost of a compute instruction or a register_load; a Check fails for any other.
Cost CostOf(const isa::Instruction& instruction, const CostTable& table);

// Occupancy of GpSimd while it writes the descriptors of a gather or scatter.
std::int64_t DescriptorCycles(std::int64_t descriptors, const CostTable& table);

// Cycles the quantize_mx unit itself needs, first column in to last column out.
std::int64_t QuantizeMxCycles(std::int64_t columns, const CostTable& table);

}  // namespace bwmm::units
