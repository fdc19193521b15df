// Codes as the numbers they stand for, from the table of formats in docs/numerics.md. Standard
// library only.
#pragma once

#include <cstdint>
#include <vector>

namespace bwmm::reference {

enum class Element { kBf16, kFp16, kE4M3Fn, kE4M3, kE5M2, kE2M1 };

// Bits of one element.
int BitsOf(Element element);

// Element codes as values; `code` in the low bits.
double DecodeOne(Element element, std::uint32_t code);
std::vector<double> Decode(Element element, const std::vector<std::uint32_t>& codes);

// Lane `lane` of an x4 word.
std::uint32_t LaneOf(Element element, std::uint32_t word, int lane);

// x4 words [partitions][columns] and scales [partitions / 8][columns] as the values they stand for,
// [4 * partitions][columns]: row 4 * partition + lane, so that 32 rows are a scale group.
std::vector<double> DecodeMx(Element element, const std::vector<std::uint32_t>& words,
                             const std::vector<std::uint8_t>& scales, int partitions, int columns);

}  // namespace bwmm::reference
