// The options a workload has on the command line, as data: parsing, help, the man page, completion
// and what a run reads and writes all come from the list.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/support/setting.h"

namespace bwmm::workloads {

struct Option {
  enum class Kind {
    kValue,
    kInputFile,
    kInputTensor,   // FILE[#TENSOR][:TYPE] (host::TensorSpec)
    kOutputTensor,  // .npy or .safetensors
  };

  std::string name;  // "--tokens"
  std::string help;
  // The field that takes the value and holds its default; a bool is a flag.
  std::variant<int*, double*, std::string*, bool*> field;
  Kind kind = Kind::kValue;
  std::string tensor = {};  // kOutputTensor: the name of one of the workload's outputs
  // The smallest integer an int* takes; what the workload refuses itself, by its own limits, it
  // need not say here.
  int least = std::numeric_limits<int>::min();
};

// SimError for a name that is not one `--x`, which a report could not tell among the arguments, and
// for a field that is null or of another type than the kind takes.
void CheckOption(const std::string& workload, const Option& option);

// An integer from 1.
inline Option Count(std::string name, std::string help, int& field) {
  return {std::move(name), std::move(help), &field, Option::Kind::kValue, {}, 1};
}

inline Option InputFile(std::string name, std::string help, std::string& field) {
  return {std::move(name), std::move(help), &field, Option::Kind::kInputFile};
}
inline Option InputTensor(std::string name, std::string help, std::string& field) {
  return {std::move(name), std::move(help), &field, Option::Kind::kInputTensor};
}
inline Option OutputTensor(std::string name, std::string help, std::string& field,
                           std::string tensor) {
  return {std::move(name), std::move(help), &field, Option::Kind::kOutputTensor, std::move(tensor)};
}

// A file and what names it: an option, or a setting.
struct NamedFile {
  std::string name, path;  // the path is empty when not given
};

}  // namespace bwmm::workloads
