// What an instruction costs on the Vector, Scalar, GpSimd and Sync engines, in the engine's own
// clock cycles.
//
//   start |<---- occupancy ---->|<-- latency -->| result visible
//         |  next instruction may start here ---^ (if it does not depend on this one)
//
// N is the number of elements per partition, MIN the shortest occupancy (64). Sources as in
// model/presets/trn3.toml; ISA226 is the nki.isa reference of release 2.26.1.
//
//   instruction          occupancy                                                     source
//   activation           max(MIN, N)                                                   ISA226
//   tensor_scalar        max(MIN, N / mode)                                            ISA226, T2
//   tensor_copy          max(MIN, N / mode)                                            ISA226, T3
//   tensor_tensor        max(MIN, N): an operand in PSUM, or all 16-bit floats;
//                        else max(MIN, 2 N)                                            ISA226, T2
//   scalar_tensor_tensor max(MIN, N): 16-bit floats, subtract then multiply, N even;
//                        else max(MIN, 2 N)                                            ISA226
//   tensor_reduce        max(MIN, N / 2): bf16 in and out, add or max; else max(MIN, N) ISA226
//   memset               max(MIN, N / 2): zero into bf16 or fp16; else max(MIN, N)     ISA226
//   iota                 150 + N                                                       ISA226
//   quantize_mx          max(MIN, N / 4)                                               T3
//   register_load        64 from SBUF; from HBM one DMA start in addition              chosen
//   descriptors          fixed + rows * cycles per descriptor (gather, scatter)        chosen
//
//   mode, VectorEngine   4: in and out in SBUF, both 16-bit floats, contiguous         T2
//                        2: the same, not contiguous; or one side in PSUM, contiguous  T2
//   mode, ScalarEngine   2 on trn3: in and out both 16-bit floats                      T3
//   latency              access_cycles (60); quantize_mx: pipeline_cycles more         T1
#pragma once

#include <cstdint>

#include "model/isa/instruction.h"

namespace bwmm::units {

struct CostTable {
  std::int64_t min_interval = 64;
  std::int64_t access_cycles = 60;
  std::int64_t gpsimd_fixed = 150;
  bool vector_perf_modes = true;
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
