#include "host/routing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "host/file_io.h"
#include "host/join.h"
#include "model/support/setting.h"
#include "model/support/sim_error.h"
#include "model/support/write_file.h"

namespace bwmm::host {
namespace {

constexpr std::array<std::string_view, 4> kColumns = {"token", "slot", "expert", "weight"};
// For traces that number tokens otherwise or are no such table.
constexpr std::string_view kConverter = "sim_scripts/convert_routing.py converts other traces";
// UTF-8; spreadsheets begin a CSV file with it.
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view Trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string_view> SplitFields(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t at = 0;;) {
    const std::size_t comma = line.find(',', at);
    fields.push_back(Trim(line.substr(at, comma - at)));
    if (comma == std::string_view::npos)
      return fields;
    at = comma + 1;
  }
}

template <typename T>
T ParseField(std::string_view text, std::string_view column, const std::string& place) {
  T value{};
  if (ParseWhole(text, value) != Parsed::kNumber)
    throw SimError("{}: {} '{}' is not a number in range", place, column, text);
  return value;
}

// Where each of kColumns is in the file.
std::array<std::size_t, 4> ReadHeader(std::string_view line, const std::string& place) {
  const std::vector<std::string_view> fields = SplitFields(line);
  std::array<std::size_t, 4> at{};
  for (std::size_t c = 0; c < kColumns.size(); ++c) {
    const auto found = std::ranges::find(fields, kColumns[c]);
    if (found == fields.end()) {
      throw SimError("{}: header has no column '{}', needed: {}; {}", place, kColumns[c],
                     Join(kColumns, ","), kConverter);
    }
    if (std::ranges::count(fields, kColumns[c]) > 1)
      throw SimError("{}: header has column '{}' twice", place, kColumns[c]);
    at[c] = static_cast<std::size_t>(found - fields.begin());
  }
  return at;
}

class Reader {
 public:
  Reader(int tokens, int experts, int top_k) {
    routing_.tokens = tokens;
    routing_.experts = experts;
    routing_.top_k = top_k;
    routing_.expert.assign(static_cast<std::size_t>(tokens) * top_k, kUnusedSlot);
    routing_.weight.assign(routing_.expert.size(), 0.0f);
    seen_.assign(routing_.expert.size(), false);
  }

  // Checks the whole line, also of a token beyond the wanted ones.
  void AddLine(const std::array<std::string_view, 4>& fields, const std::string& place) {
    const auto token = ParseField<std::int64_t>(fields[0], kColumns[0], place);
    const auto slot = ParseField<int>(fields[1], kColumns[1], place);
    const auto expert = ParseField<int>(fields[2], kColumns[2], place);
    const auto weight = ParseField<float>(fields[3], kColumns[3], place);
    if (token < 0)
      throw SimError("{}: token {}, 0 or more is needed", place, token);
    if (slot < 0 || slot >= routing_.top_k)
      throw SimError("{}: slot {}, allowed 0 to {} (top_k - 1)", place, slot, routing_.top_k - 1);
    if (expert != kUnusedSlot && (expert < 0 || expert >= routing_.experts)) {
      throw SimError("{}: expert {}, allowed 0 to {}, or -1 for an unused slot", place, expert,
                     routing_.experts - 1);
    }
    if (!std::isfinite(weight) || weight < 0)
      throw SimError("{}: weight {}, a finite number from 0 is needed", place, fields[3]);
    if (token >= routing_.tokens)
      return;
    Place(static_cast<std::size_t>(token), slot, expert, weight, place);
  }

  Routing Finish(const std::string& path) {
    for (int t = 0; t < routing_.tokens; ++t) {
      const auto first = seen_.begin() + static_cast<std::ptrdiff_t>(t) * routing_.top_k;
      if (std::find(first, first + routing_.top_k, true) == first + routing_.top_k)
        throw SimError("{}: no line for token {}, {} tokens are wanted; {}", path, t,
                       routing_.tokens, kConverter);
    }
    return std::move(routing_);
  }

 private:
  void Place(std::size_t token, int slot, int expert, float weight, const std::string& place) {
    const std::size_t first = token * routing_.top_k;
    if (seen_[first + slot])
      throw SimError("{}: token {} has slot {} twice; {}", place, token, slot, kConverter);
    for (int s = 0; s < routing_.top_k; ++s) {
      if (expert != kUnusedSlot && routing_.expert[first + s] == expert)
        throw SimError("{}: token {} has expert {} twice", place, token, expert);
    }
    seen_[first + slot] = true;
    routing_.expert[first + slot] = expert;
    routing_.weight[first + slot] = expert == kUnusedSlot ? 0.0f : weight;
  }

  Routing routing_;
  std::vector<bool> seen_;
};

}  // namespace

Routing LoadRoutingCsv(const std::filesystem::path& path, int tokens, int experts, int top_k) {
  if (tokens <= 0)
    throw SimError("{}: tokens {}, 1 or more is needed", path.string(), tokens);
  if (top_k < 1 || top_k > experts)
    throw SimError("{}: top_k {}, allowed 1 to {} (experts)", path.string(), top_k, experts);
  const std::vector<std::byte> file = ReadFile(path);
  std::string_view text = TextOf(file);
  if (text.starts_with(kByteOrderMark))
    text.remove_prefix(kByteOrderMark.size());
  Reader reader(tokens, experts, top_k);
  std::array<std::size_t, 4> columns{};
  bool header_seen = false;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.starts_with('#'))
      continue;
    const std::string place = fmt::format("{}:{}", path.string(), number);
    if (!header_seen) {
      columns = ReadHeader(line, place);
      header_seen = true;
      continue;
    }
    const std::vector<std::string_view> fields = SplitFields(line);
    std::array<std::string_view, 4> ordered;
    for (std::size_t c = 0; c < kColumns.size(); ++c) {
      if (columns[c] >= fields.size())
        throw SimError("{}: {} fields, column '{}' is missing", place, fields.size(), kColumns[c]);
      ordered[c] = fields[columns[c]];
    }
    reader.AddLine(ordered, place);
  }
  if (!header_seen)
    throw SimError("{}: empty, needed: a header {}", path.string(), Join(kColumns, ","));
  return reader.Finish(path.string());
}

void SaveRoutingCsv(const std::filesystem::path& path, const Routing& routing) {
  std::string text = fmt::format("{}\n", Join(kColumns, ","));
  for (std::size_t i = 0; i < routing.expert.size(); ++i) {
    text += fmt::format("{},{},{},{}\n", i / routing.top_k, i % routing.top_k, routing.expert[i],
                        routing.weight[i]);
  }
  WriteFileAtomically(path, {BytesOf(text)});
}

}  // namespace bwmm::host
