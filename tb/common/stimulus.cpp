#include "tb/common/stimulus.h"

#include <algorithm>

namespace bwmm::tb {
namespace {

// Fields of one element: bits of exponent and mantissa, sign on top.
struct Fields {
  int exponent;
  int mantissa;
};

Fields FieldsOf(DType dtype) {
  switch (dtype) {
    case DType::kBf16:
      return {8, 7};
    case DType::kFp32:
      return {8, 23};
    case DType::kFp16:
      return {5, 10};
    case DType::kFp8E5M2:
    case DType::kFp8E5M2X4:
      return {5, 2};
    case DType::kFp4E2M1FnX4:
      return {2, 1};
    default:
      return {4, 3};
  }
}

}  // namespace

Stimulus::Flavour Stimulus::AnyFlavour() {
  constexpr Flavour kAll[] = {Flavour::kTame, Flavour::kTame, Flavour::kTiny, Flavour::kRareSpecial,
                              Flavour::kRaw};
  return kAll[Between(0, 4)];
}

std::uint32_t Stimulus::Element(DType dtype, Flavour flavour) {
  const auto [exponent_bits, mantissa_bits] = FieldsOf(dtype);
  const int width = 1 + exponent_bits + mantissa_bits;
  const int lanes = IsX4(dtype) ? 4 : 1;
  const int top = (1 << exponent_bits) - 1;
  const int middle = top / 2;
  std::uint32_t word = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    int field = 0;
    switch (flavour) {
      case Flavour::kTame:
        field = std::clamp(middle + Between(-4, 3), 0, top - 1);
        break;
      case Flavour::kTiny:
        field = Between(0, std::max(1, middle / 3));
        break;
      case Flavour::kRareSpecial:
        field = OneIn(400) ? top : std::clamp(middle + Between(-4, 3), 0, top - 1);
        break;
      case Flavour::kRaw:
        field = Between(0, top);
        break;
    }
    const std::uint32_t mantissa = OneIn(8) ? 0 : Bits() & ((1U << mantissa_bits) - 1);
    std::uint32_t element = (static_cast<std::uint32_t>(field) << mantissa_bits) | mantissa;
    if (OneIn(16))
      element = 0;
    element |= (Bits() & 1) << (width - 1);
    word |= element << (lane * width);
  }
  return word;
}

std::vector<std::uint32_t> Stimulus::Elements(DType dtype, int count) {
  const Flavour flavour = AnyFlavour();
  std::vector<std::uint32_t> elements(count);
  for (std::uint32_t& element : elements)
    element = Element(dtype, flavour);
  return elements;
}

std::vector<std::uint8_t> Stimulus::Scales(int count) {
  const bool wild = OneIn(3);
  std::vector<std::uint8_t> scales(count);
  for (std::uint8_t& scale : scales)
    scale = static_cast<std::uint8_t>(wild ? Between(0, 255) : Between(100, 140));
  return scales;
}

PePart Stimulus::Part() {
  return OneIn(2) ? PePart::kHigh : PePart::kLow;
}

DType Stimulus::OrdinaryType() {
  constexpr DType kTypes[] = {DType::kBf16, DType::kFp16, DType::kFp8E4M3Fn, DType::kFp8E4M3,
                              DType::kFp8E5M2};
  return kTypes[Between(0, 4)];
}

DType Stimulus::MxType() {
  constexpr DType kTypes[] = {DType::kFp8E4M3FnX4, DType::kFp8E5M2X4, DType::kFp4E2M1FnX4};
  return kTypes[Between(0, 2)];
}

DType Stimulus::Fp8Type() {
  constexpr DType kTypes[] = {DType::kFp8E4M3Fn, DType::kFp8E4M3, DType::kFp8E5M2};
  return kTypes[Between(0, 2)];
}

std::vector<std::uint32_t> Stimulus::Pairs(DType dtype, int count) {
  std::vector<std::uint32_t> pairs = Elements(dtype, count);
  const std::vector<std::uint32_t> second = Elements(dtype, count);
  for (int i = 0; i < count; ++i)
    pairs[i] |= second[i] << 8;
  return pairs;
}

engine::LoadCommand Stimulus::Load(std::uint32_t id, PeMode mode,
                                   const engine::TensorEngineConfig& config) {
  constexpr DType kTransposed[] = {DType::kFp32, DType::kBf16, DType::kUint8};
  engine::LoadCommand load;
  load.id = id;
  load.mode = mode;
  load.rows = OneIn(3) ? config.rows : Between(1, config.rows);
  load.cols = OneIn(3) ? config.cols : Between(1, config.cols);
  if (mode == PeMode::kMx) {
    load.rows = (load.rows + 7) / 8 * 8;
    load.dtype = MxType();
    load.data = Elements(load.dtype, load.rows * load.cols);
    load.scales = Scales(load.rows / 8 * load.cols);
  } else if (mode == PeMode::kOrdinary) {
    load.dtype = OneIn(4) ? DType::kFp32 : OrdinaryType();
    if (load.dtype == DType::kFp32)
      load.part = Part();
    load.data = Elements(load.dtype, load.rows * load.cols);
  } else if (mode == PeMode::kDoubleRow) {
    load.dtype = Fp8Type();
    load.data = Pairs(load.dtype, load.rows * load.cols);
  } else {
    load.dtype = kTransposed[Between(0, 2)];
    load.data.resize(std::size_t{1} * load.rows * load.cols);
    const std::uint32_t mask = static_cast<std::uint32_t>((1ULL << (8 * SizeOf(load.dtype))) - 1);
    for (std::uint32_t& element : load.data)
      element = Bits() & mask;
  }
  return load;
}

engine::MoveCommand Stimulus::Move(std::uint32_t id, const engine::LoadCommand& load, int max_n,
                                   const engine::TensorEngineConfig& config) {
  engine::MoveCommand move;
  move.id = id;
  move.mode = load.mode;
  move.rows = load.rows;
  const bool transpose = load.mode == PeMode::kTranspose;
  if (transpose) {
    move.n = load.rows;
    move.dtype = load.dtype;
    move.psum_dtype = SizeOf(load.dtype) == 4 ? load.dtype : DType::kBf16;
  } else {
    move.n = Between(1, OneIn(2) ? max_n : std::min(max_n, 8));
    move.dtype = load.mode == PeMode::kMx ? MxType() : load.part ? DType::kFp32 : OrdinaryType();
    if (load.part)
      move.part = Part();
    move.psum_dtype = OneIn(3) ? DType::kBf16 : DType::kFp32;
    move.accumulate = !OneIn(3);
    if (load.mode == PeMode::kDoubleRow)
      move.dtype = Fp8Type();
    move.data = load.mode == PeMode::kDoubleRow ? Pairs(move.dtype, move.rows * move.n)
                                                : Elements(move.dtype, move.rows * move.n);
    if (load.mode == PeMode::kMx)
      move.scales = Scales(move.rows / 8 * move.n);
  }
  // A few places only, so that commands accumulate on each other.
  const int units = 2 * config.psum_words;
  const int size = move.n * (SizeOf(move.psum_dtype) == 2 ? 1 : 2);
  move.psum_address = OneIn(4) ? (units - size) / 2 * 2 : Between(0, 3) * 64;
  if (SizeOf(move.psum_dtype) == 2 && move.psum_address + size < units)
    move.psum_address += Between(0, 1);
  return move;
}

}  // namespace bwmm::tb
