// bwmm matmul and bwmm quantize: one operation on the machine with given or random tensors.
#pragma once

#include <string>

#include "cli/run_options.h"

namespace bwmm::cli {

struct MatmulCommand {
  CommonOptions common;
  int k = 128, m = 128, n = 512;
  std::string dtype = "bfloat16";              // of both operands
  std::string stationary_dtype, moving_dtype;  // of one of them; empty: dtype
  std::string psum_dtype = "float32";
  // Tensors (host::TensorSpec); empty: seeded. x4 types take words [K/4, C] with scales
  // [K/32, C], or, but for fp4, a float tensor [K, C], which is quantised online.
  std::string stationary, moving;
  std::string stationary_scales, moving_scales;
  std::string output;  // [M, N] in psum_dtype
};

struct QuantizeCommand {
  CommonOptions common;
  int partitions = 128, columns = 512;  // of the source
  std::string dtype = "bfloat16";
  std::string target = "float8_e4m3fn_x4";
  std::string rule = "x2";
  std::string input;           // [P, F]; empty: seeded
  std::string output, scales;  // x4 words [P, F/4], E8M0 [P/8, F/4]
};

// Print the report; false when the check fails.
bool RunMatmul(const MatmulCommand& command);
bool RunQuantize(const QuantizeCommand& command);

}  // namespace bwmm::cli
