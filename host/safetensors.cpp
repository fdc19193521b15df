#include "host/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "host/file_io.h"
#include "host/join.h"
#include "model/support/sim_error.h"

namespace bwmm::host {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kTypes = std::to_array<FileType>({
    {"F32", 4, DType::kFp32, {}},
    {"F16", 2, DType::kFp16, {}},
    {"BF16", 2, DType::kBf16, {}},
    {"I32", 4, DType::kInt32, {}},
    {kSafetensorsInt64, 8, DType::kInt32, {}},
    {"U8", 1, DType::kUint8, kIn8Bits},
    {"U16", 2, std::nullopt, kIn16Bits},
    {"U32", 4, std::nullopt, kIn32Bits},
    {"F8_E4M3", 1, DType::kFp8E4M3Fn, {}},
    {"F8_E5M2", 1, DType::kFp8E5M2, {}},
    {"F8_E8M0", 1, DType::kE8M0, {}},
});

// Metadata of a tensor in a carrier: which type the words hold.
constexpr std::string_view kTypeKey = "bwmm.dtype.";

std::string_view NameInSafetensors(DType dtype) {
  for (const FileType& type : kTypes) {
    if (type.plain == dtype && type.name != kSafetensorsInt64)
      return type.name;
  }
  return SizeOf(dtype) == 1 ? "U8" : SizeOf(dtype) == 2 ? "U16" : "U32";
}

const FileType& TypeOf(const std::string& name, const std::string& place) {
  std::string allowed;
  for (const FileType& type : kTypes) {
    if (type.name == name)
      return type;
    allowed += fmt::format("{}{}", allowed.empty() ? "" : " ", type.name);
  }
  throw SimError("{}: dtype {}, allowed: {}", place, name, allowed);
}

// nlohmann keeps the last of two equal keys without a word; a tensor must not vanish like that.
Json ParseHeader(std::string_view text, const std::string& place) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start)
      keys.emplace_back();
    if (event == Json::parse_event_t::object_end)
      keys.pop_back();
    if (event == Json::parse_event_t::key) {
      const std::string key = value.get<std::string>();
      if (!keys.back().insert(key).second)
        throw SimError("{}: header key '{}' comes twice", place, key);
    }
    return true;
  };
  try {
    Json header = Json::parse(text, watch);
    if (!header.is_object())
      throw SimError("{}: header is not a JSON object", place);
    return header;
  } catch (const Json::exception& error) {
    throw SimError("{}: header is not JSON: {}", place, error.what());
  }
}

// A list of non-negative integers under `key`.
std::vector<std::int64_t> Integers(const Json& entry, const char* key, const std::string& place) {
  if (!entry.contains(key) || !entry[key].is_array())
    throw SimError("{}: {} is missing or not a list", place, key);
  std::vector<std::int64_t> values;
  for (const Json& value : entry[key]) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX)
      throw SimError("{}: {} holds {}, integers from 0 are allowed", place, key, value.dump());
    values.push_back(value.get<std::int64_t>());
  }
  return values;
}

// The type that the metadata names for a tensor.
std::optional<DType> NamedType(const Json& header, const std::string& name,
                               const std::string& place) {
  const std::string key = std::string(kTypeKey) + name;
  if (!header.contains("__metadata__") || !header["__metadata__"].contains(key))
    return std::nullopt;
  const Json& value = header["__metadata__"][key];
  const auto type = value.is_string() ? ParseDType(value.get<std::string>()) : std::nullopt;
  if (!type)
    throw SimError("{}: metadata {} is {}, no type of ours", place, key, value.dump());
  return type;
}

struct Entry {
  RawTensor raw;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

Entry ParseEntry(const Json& header, const std::string& name, std::int64_t data_bytes,
                 const std::string& file) {
  const Json& json = header[name];
  const std::string place = fmt::format("{}: tensor '{}'", file, name);
  if (!json.is_object() || !json.contains("dtype") || !json["dtype"].is_string())
    throw SimError("{}: dtype is missing or not a text", place);
  Entry entry;
  entry.raw = {.name = name,
               .type = &TypeOf(json["dtype"].get<std::string>(), place),
               .named = NamedType(header, name, place),
               .shape = Integers(json, "shape", place)};
  const std::vector<std::int64_t> offsets = Integers(json, "data_offsets", place);
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes) {
    throw SimError("{}: data_offsets [{}], two ascending offsets up to {} are needed", place,
                   Join(offsets), data_bytes);
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  const std::int64_t wanted = BytesOfShape(entry.raw.shape, entry.raw.type->bytes, place);
  if (entry.end - entry.begin != wanted) {
    throw SimError("{}: {} bytes, shape and dtype need {}", place, entry.end - entry.begin, wanted);
  }
  return entry;
}

}  // namespace

std::vector<RawTensor> ParseSafetensors(std::span<const std::byte> file, const std::string& place) {
  if (file.size() < 8)
    throw SimError("{}: {} bytes, a safetensors file has at least 8", place, file.size());
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), sizeof header_bytes);
  if (header_bytes > file.size() - 8) {
    throw SimError("{}: header is {} bytes long, the file has {} left", place, header_bytes,
                   file.size() - 8);
  }
  const Json header = ParseHeader(TextOf(file.subspan(8, header_bytes)), place);
  const auto data = file.subspan(8 + header_bytes);

  std::vector<Entry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name != "__metadata__")
      entries.push_back(ParseEntry(header, name, std::ssize(data), place));
  }
  std::ranges::stable_sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  std::int64_t covered = 0;
  std::vector<RawTensor> tensors;
  for (Entry& entry : entries) {
    if (entry.begin != covered) {
      throw SimError("{}: tensor '{}' begins at byte {}, the one before ends at {}", place,
                     entry.raw.name, entry.begin, covered);
    }
    entry.raw.bytes = data.subspan(static_cast<std::size_t>(entry.begin),
                                   static_cast<std::size_t>(entry.end - entry.begin));
    covered = entry.end;
    tensors.push_back(std::move(entry.raw));
  }
  if (covered != std::ssize(data))
    throw SimError("{}: tensors cover {} of {} data bytes", place, covered, data.size());
  return tensors;
}

std::string SafetensorsHeader(const std::vector<HostTensor>& tensors) {
  Json header = Json::object();
  std::int64_t at = 0;
  for (const HostTensor& tensor : tensors) {
    const std::string_view word = NameInSafetensors(tensor.dtype);
    if (word.starts_with('U') && tensor.dtype != DType::kUint8)
      header["__metadata__"][std::string(kTypeKey) + tensor.name] = NameOf(tensor.dtype);
    header[tensor.name] = {
        {"dtype", word}, {"shape", tensor.shape}, {"data_offsets", {at, at + tensor.bytes()}}};
    at += tensor.bytes();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + text;
}

}  // namespace bwmm::host
