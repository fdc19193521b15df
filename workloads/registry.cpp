#include "workloads/registry.h"

#include <algorithm>
#include <utility>

#include "model/support/sim_error.h"

namespace bwmm::workloads {
namespace {

// Filled by static objects of several files, so it makes itself when the first of them asks.
std::vector<Entry>& Registered() {
  static std::vector<Entry> entries;
  return entries;
}

}  // namespace

Registration::Registration(Entry entry) {
  Registered().push_back(std::move(entry));
}

std::vector<Entry> Workloads() {
  std::vector<Entry> entries = Registered();
  std::ranges::sort(entries, {}, &Entry::name);
  const auto twice = std::ranges::adjacent_find(entries, {}, &Entry::name);
  if (twice != entries.end())
    throw SimError("workload {}: registered twice, allowed once: another file has the name",
                   twice->name);
  return entries;
}

Entry FindWorkload(const std::string& name) {
  std::string known;
  for (Entry& entry : Workloads()) {
    if (entry.name == name)
      return std::move(entry);
    known.append(known.empty() ? "" : ", ").append(entry.name);
  }
  throw SimError("--workload {}: allowed {}", name, known);
}

}  // namespace bwmm::workloads
