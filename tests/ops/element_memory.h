// One core's memories for tests, read and written element by element at addresses found by
// counting, with values from format tables: nothing here comes from model/ops or convert.h.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "model/ops/execute.h"
#include "model/ops/psum_array.h"
#include "tests/isa/address_oracle.h"
#include "tests/numerics/format_oracle.h"

namespace bwmm::test {

inline constexpr std::int64_t kSbufBytes = 4096;
inline constexpr int kPsumWords = 1024;

// The value a code of `dtype` stands for; int32 codes are exact in double.
inline double ValueOf(DType dtype, std::uint32_t code) {
  switch (dtype) {
    case DType::kFp32:
      return std::bit_cast<float>(code);
    case DType::kBf16:
      return Bf16Oracle().Value(static_cast<int>(code));
    case DType::kFp16:
      return Fp16Oracle().Value(static_cast<int>(code));
    case DType::kFp8E5M2:
      return E5M2Oracle().Value(static_cast<int>(code));
    case DType::kInt32:
      return static_cast<std::int32_t>(code);
    default:
      return code;
  }
}

// The code of `value`, an fp32 value, rounded to `dtype`.
inline std::uint32_t CodeOf(DType dtype, double value) {
  const auto round = [&](const FormatOracle& oracle) {
    return static_cast<std::uint32_t>(oracle.Round(value, oracle.format.inf_code));
  };
  switch (dtype) {
    case DType::kFp32:
      return std::isnan(value) ? 0x7fc00000u
                               : std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case DType::kBf16:
      return round(Bf16Oracle());
    case DType::kFp16:
      return round(Fp16Oracle());
    case DType::kFp8E5M2:
      return round(E5M2Oracle());
    case DType::kInt32: {
      using Int = std::numeric_limits<std::int32_t>;
      const double whole = std::isnan(value) ? 0 : std::nearbyint(value);
      return static_cast<std::uint32_t>(
          static_cast<std::int32_t>(std::clamp<double>(whole, Int::min(), Int::max())));
    }
    default:
      return static_cast<std::uint32_t>(std::clamp(std::nearbyint(value), 0.0, 255.0));
  }
}

class ElementMemory {
 public:
  explicit ElementMemory(std::uint32_t seed) : random_(seed) {
    for (int p = 0; p < 128; ++p) {
      for (std::int64_t b = 0; b < kSbufBytes; ++b)
        *sbuf_.At(p, b, 1) = static_cast<std::byte>(random_());
    }
    std::vector<std::uint32_t> lanes(128);
    for (int w = 0; w < kPsumWords; ++w) {
      std::generate(lanes.begin(), lanes.end(), [&] { return random_(); });
      psum_.Write(w, lanes);
    }
  }

  ops::CoreMemory& core() { return core_; }
  ops::Hbm& hbm() { return hbm_; }
  std::mt19937& random() { return random_; }

  std::uint32_t Get(const isa::Operand& o, const Place& place) const {
    std::uint32_t code = 0;
    for (int i = 0; i < SizeOf(o.dtype); ++i)
      code |= std::uint32_t{GetByte(o.memory, {place.partition, place.byte + i})} << (8 * i);
    return code;
  }
  void Set(const isa::Operand& o, const Place& place, std::uint32_t code) {
    for (int i = 0; i < SizeOf(o.dtype); ++i) {
      SetByte(o.memory, {place.partition, place.byte + i},
              static_cast<std::uint8_t>(code >> (8 * i)));
    }
  }

  // All elements in row-major order.
  std::vector<std::uint32_t> Codes(const isa::Operand& o) const {
    std::vector<std::uint32_t> codes;
    for (const Place& place : ElementPlaces(o))
      codes.push_back(Get(o, place));
    return codes;
  }
  std::vector<double> Values(const isa::Operand& o) const {
    std::vector<double> values;
    for (const std::uint32_t code : Codes(o))
      values.push_back(ValueOf(o.dtype, code));
    return values;
  }
  void Fill(const isa::Operand& o, const std::vector<std::uint32_t>& codes) {
    const std::vector<Place> places = ElementPlaces(o);
    for (std::size_t i = 0; i < places.size(); ++i)
      Set(o, places[i], codes.at(i));
  }

  // Everything in SBUF and PSUM, to see what an instruction changed.
  std::vector<std::uint32_t> Snapshot() const {
    std::vector<std::uint32_t> words(128 * (kSbufBytes / 4 + kPsumWords));
    for (int p = 0; p < 128; ++p)
      std::memcpy(&words[p * kSbufBytes / 4], sbuf_.At(p, 0, kSbufBytes), kSbufBytes);
    for (int w = 0; w < kPsumWords; ++w)
      psum_.Read(w, std::span(words).subspan(128 * (kSbufBytes / 4 + w), 128));
    return words;
  }

 private:
  std::uint8_t GetByte(isa::Memory memory, const Place& place) const {
    if (memory == isa::Memory::kHbm)
      return std::to_integer<std::uint8_t>(*hbm_.At(place.byte, 1));
    if (memory == isa::Memory::kSbuf)
      return std::to_integer<std::uint8_t>(*sbuf_.At(place.partition, place.byte, 1));
    std::array<std::uint32_t, 128> lanes;
    psum_.Read(static_cast<int>(place.byte / 4), lanes);
    return static_cast<std::uint8_t>(lanes[place.partition] >> (8 * (place.byte % 4)));
  }
  void SetByte(isa::Memory memory, const Place& place, std::uint8_t value) {
    if (memory == isa::Memory::kHbm) {
      *hbm_.At(place.byte, 1) = std::byte{value};
    } else if (memory == isa::Memory::kSbuf) {
      *sbuf_.At(place.partition, place.byte, 1) = std::byte{value};
    } else {
      std::array<std::uint32_t, 128> lanes;
      const int word = static_cast<int>(place.byte / 4);
      const int shift = static_cast<int>(8 * (place.byte % 4));
      psum_.Read(word, lanes);
      std::uint32_t& lane = lanes[place.partition];
      lane = (lane & ~(0xffu << shift)) | (std::uint32_t{value} << shift);
      psum_.Write(word, lanes);
    }
  }

  std::mt19937 random_;
  mutable ops::Sbuf sbuf_{128, kSbufBytes};
  ops::PsumArray psum_{kPsumWords};
  mutable ops::Hbm hbm_{1 << 20};
  ops::CoreMemory core_{.core = 0, .sbuf = sbuf_, .psum = psum_, .hbm = hbm_, .quantize = nullptr};
};

}  // namespace bwmm::test
