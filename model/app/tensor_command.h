// bwmm matmul and bwmm quantize: one instruction on the machine with given or random tensors.
#pragma once

#include <string>

#include "model/app/run_options.h"

namespace bwmm::app {

struct MatmulCommand {
  CommonOptions common;
  int k = 128, m = 128, n = 512;
  std::string dtype = "bfloat16";  // or float8_e4m3fn_x4 / float8_e5m2_x4: quantised online
  std::string stationary, moving;  // .npy or .safetensors [K, M], [K, N]; empty: seeded
  std::string output;              // [M, N] fp32
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

}  // namespace bwmm::app
