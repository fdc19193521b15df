#include "kernels/inputs/npy.h"

#include <charconv>
#include <cstring>
#include <utility>

#include "kernels/inputs/file_io.h"
#include "model/support/sim_error.h"

namespace bwmm::inputs {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

constexpr std::array<FileType, 8> kTypes = {{
    {"<f4", 4, DType::kFp32, {}},
    {"<f2", 2, DType::kFp16, {}},
    {kNpyFloat64, 8, DType::kFp32, {}},
    {"<i4", 4, DType::kInt32, {}},
    {kNpyInt64, 8, DType::kInt32, {}},
    {"|u1", 1, DType::kUint8, kIn8Bits},
    {"<u2", 2, std::nullopt, kIn16Bits},
    {"<u4", 4, std::nullopt, kIn32Bits},
}};

std::string_view NameInNpy(DType dtype) {
  switch (dtype) {
    case DType::kFp32:
      return "<f4";
    case DType::kFp16:
      return "<f2";
    case DType::kInt32:
      return "<i4";
    default:
      return SizeOf(dtype) == 1 ? "|u1" : SizeOf(dtype) == 2 ? "<u2" : "<u4";
  }
}

// Reads the Python literal of the header: one flat dictionary with exactly three known keys.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& place) : text_(text), place_(place) {}

  void Read() {
    Expect('{');
    while (!TryTake('}')) {
      const std::string_view key = QuotedText();
      Expect(':');
      if (key == "descr") {
        Once(seen_descr_, key);
        descr = QuotedText();
      } else if (key == "fortran_order") {
        Once(seen_order_, key);
        fortran_order = Boolean();
      } else if (key == "shape") {
        Once(seen_shape_, key);
        ReadShape();
      } else {
        throw SimError("{}: header key '{}', descr, fortran_order and shape are known", place_,
                       key);
      }
      if (!TryTake(',')) {
        Expect('}');
        break;
      }
    }
    SkipSpace();
    if (at_ != text_.size())
      throw SimError("{}: header has text after its dictionary", place_);
    if (!seen_descr_ || !seen_order_ || !seen_shape_)
      throw SimError("{}: header lacks one of descr, fortran_order, shape", place_);
  }

  std::string_view descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;

 private:
  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }
  bool TryTake(char wanted) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != wanted)
      return false;
    ++at_;
    return true;
  }
  void Expect(char wanted) {
    if (!TryTake(wanted))
      throw SimError("{}: header byte {} is not the expected '{}'", place_, at_, wanted);
  }
  void Once(bool& seen, std::string_view key) {
    if (std::exchange(seen, true))
      throw SimError("{}: header key '{}' comes twice", place_, key);
  }
  std::string_view QuotedText() {
    SkipSpace();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end =
        quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos)
      throw SimError("{}: header byte {} should begin a quoted text", place_, at_);
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inside;
  }
  bool Boolean() {
    SkipSpace();
    for (const auto& [word, value] :
         {std::pair{std::string_view("True"), true}, std::pair{std::string_view("False"), false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    throw SimError("{}: header fortran_order must be True or False", place_);
  }
  void ReadShape() {
    Expect('(');
    while (!TryTake(')')) {
      SkipSpace();
      std::int64_t extent = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (error != std::errc())
        throw SimError("{}: header shape has something that is not a 64-bit integer", place_);
      at_ += static_cast<std::size_t>(end - begin);
      shape.push_back(extent);
      if (!TryTake(',')) {
        Expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  const std::string& place_;
  std::size_t at_ = 0;
  bool seen_descr_ = false;
  bool seen_order_ = false;
  bool seen_shape_ = false;
};

const FileType& TypeOf(std::string_view descr, const std::string& place) {
  std::string allowed;
  for (const FileType& type : kTypes) {
    if (type.name == descr)
      return type;
    allowed += fmt::format("{}{}", allowed.empty() ? "" : " ", type.name);
  }
  throw SimError("{}: descr '{}', allowed: {}", place, descr, allowed);
}

}  // namespace

RawTensor ParseNpy(std::span<const std::byte> file, const std::string& place) {
  if (!TextOf(file).starts_with(kMagic))
    throw SimError("{}: does not begin with the .npy magic \\x93NUMPY", place);
  if (file.size() < 10)
    throw SimError("{}: {} bytes, truncated inside the .npy preamble", place, file.size());
  const int major = std::to_integer<int>(file[6]);
  if (major < 1 || major > 3)
    throw SimError("{}: .npy version {}, 1 to 3 are known", place, major);
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t header_at = 8 + length_bytes;
  if (file.size() < header_at)
    throw SimError("{}: {} bytes, truncated inside the .npy preamble", place, file.size());
  std::size_t header_bytes = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    header_bytes |= std::to_integer<std::size_t>(file[8 + i]) << (8 * i);
  if (file.size() - header_at < header_bytes) {
    throw SimError("{}: header is {} bytes long, the file has {} left", place, header_bytes,
                   file.size() - header_at);
  }
  HeaderReader header(TextOf(file.subspan(header_at, header_bytes)), place);
  header.Read();
  if (header.fortran_order)
    throw SimError("{}: fortran_order is True, only C order is read", place);
  RawTensor raw{.name = "",
                .type = &TypeOf(header.descr, place),
                .shape = header.shape,
                .bytes = file.subspan(header_at + header_bytes)};
  const std::int64_t wanted = BytesOfShape(raw.shape, raw.type->bytes, place);
  if (std::ssize(raw.bytes) != wanted) {
    throw SimError("{}: {} bytes of elements, shape and descr need {}", place, raw.bytes.size(),
                   wanted);
  }
  return raw;
}

std::string NpyHeader(const HostTensor& tensor) {
  std::string shape;
  for (const std::int64_t extent : tensor.shape)
    shape += fmt::format("{},", extent);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 NameInNpy(tensor.dtype), shape);
  constexpr std::size_t kPreamble = 10;
  text.append(63 - (kPreamble + text.size()) % 64, ' ');
  text += '\n';
  Check(text.size() <= 0xffff, "a version 1 header fits 16 bits");
  std::string header(kMagic);
  header += '\x01';
  header += '\x00';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace bwmm::inputs
