#include "workloads/registry.h"

#include <algorithm>
#include <utility>

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

void CheckEntry(const Entry& entry) {
  const auto fits = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  if (entry.name.empty() || !std::ranges::all_of(entry.name, fits))
    throw SimError("workload {}: allowed are names of a to z, 0 to 9 and _", entry.name);
  if (entry.make == nullptr)
    throw SimError("workload {}: has no make, allowed is Make<..>", entry.name);
}

std::unique_ptr<Workload> MakeWorkload(const Entry& entry) {
  auto workload = InWorkload(entry.name, entry.make);
  if (workload == nullptr)
    throw SimError("workload {}: make gives none, allowed is Make<..>", entry.name);
  return workload;
}

std::vector<Entry> Workloads() {
  std::vector<Entry> entries = Registered();
  std::ranges::for_each(entries, CheckEntry);
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
