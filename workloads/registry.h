// Every workload the binary knows, by name. A file adds its own with one line:
//
//   const Registration kRegistered({.name = "rms_norm", .help = "..", .make = Make<RmsNorm>});
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "model/support/sim_error.h"
#include "workloads/workload.h"

namespace bwmm::workloads {

struct Entry {
  std::string name;  // bwmm run --workload NAME
  std::string help;  // one line
  std::unique_ptr<Workload> (*make)() = nullptr;
  bool subcommand = false;  // also as bwmm NAME
};

template <typename T>
std::unique_ptr<Workload> Make() {
  return std::make_unique<T>();
}

// The workload. SimError when make gives none.
std::unique_ptr<Workload> MakeWorkload(const Entry& entry);

// What a workload does; anything else than an exception with words becomes a SimError.
template <typename F>
auto InWorkload(const std::string& name, F&& call) {
  try {
    return call();
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    throw SimError("workload {}: threw something without words, allowed SimError", name);
  }
}

class Registration {
 public:
  explicit Registration(Entry entry);
};

// Of what `bwmm run` runs without --workload.
inline constexpr const char* kDefaultWorkload = "moe_cte";

// SimError for a name that is no word of a to z, 0 to 9 and _, and for one without make.
void CheckEntry(const Entry& entry);
// By name. SimError when two have one name, or one does not pass CheckEntry.
std::vector<Entry> Workloads();
// SimError with the known names for any other.
Entry FindWorkload(const std::string& name);

}  // namespace bwmm::workloads
