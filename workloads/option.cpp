#include "workloads/option.h"

#include <algorithm>
#include <string_view>

#include "model/support/sim_error.h"

namespace bwmm::workloads {
namespace {

bool IsName(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto fits = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return name.size() > 2 && name.starts_with("--") && letter(name[2]) &&
         std::ranges::all_of(name, fits);
}

}  // namespace

void CheckOption(const std::string& workload, const Option& option) {
  const auto refuse = [&](std::string_view why) {
    throw SimError("workload {}: option {}{}", workload, option.name, why);
  };
  if (!IsName(option.name))
    refuse(", allowed one name: -- and a letter, then letters, digits, - and _");
  if (std::visit([](const auto* field) { return field == nullptr; }, option.field))
    refuse(": null as its field, allowed a pointer to one");
  if (option.kind != Option::Kind::kValue && !std::holds_alternative<std::string*>(option.field))
    refuse(": a field that holds no text, allowed a std::string: its value is a file");
}

}  // namespace bwmm::workloads
