// The Verilated PSUM alone against model/ops on random rows, addresses and modes.
#include <gtest/gtest.h>
#include <verilated.h>

#include <random>
#include <vector>

#include "VPsum.h"
#include "model/ops/psum.h"

namespace bwmm::tb {
namespace {

constexpr int kCols = 16;
constexpr int kWords = 32;

class PsumTest : public testing::Test {
 protected:
  PsumTest() {
    psum_.enable_i = 1;
    psum_.eval();  // the clock must have been low for its first rise to count
    for (int word = 0; word < kWords; ++word) {
      std::vector<std::uint32_t> lanes(kCols);
      for (std::uint32_t& lane : lanes)
        lane = Word();
      PortWrite(word, lanes);
    }
  }

  // A tame fp32 word, rarely anything.
  std::uint32_t Word() {
    const auto bits = static_cast<std::uint32_t>(random_());
    return random_() % 8 == 0 ? bits : (bits & 0x80ffffff) | 0x3f000000;
  }

  void Tick() {
    psum_.clk_i = 1;
    psum_.eval();
    psum_.clk_i = 0;
    psum_.eval();
  }

  void PortWrite(int word, const std::vector<std::uint32_t>& lanes) {
    psum_.port_word_i = static_cast<std::uint8_t>(word);
    psum_.port_write_i = 1;
    for (int c = 0; c < kCols; ++c)
      psum_.port_data_i[c] = lanes[c];
    Tick();
    psum_.port_write_i = 0;
    model_[word] = lanes;
  }

  void ExpectSame(int step) {
    for (int word = 0; word < kWords; ++word) {
      psum_.port_word_i = static_cast<std::uint8_t>(word);
      psum_.eval();
      for (int c = 0; c < kCols; ++c)
        ASSERT_EQ(psum_.port_data_o[c], model_[word][c])
            << "step " << step << " word " << word << " column " << c;
    }
  }

  // psum_token_t, last field in the low bits: id 32, address 16, cols 16, then one bit each.
  void SetToken(const ops::PsumRowWrite& write, int address, int cols) {
    psum_.token_i[0] = 0;
    psum_.token_i[1] =
        static_cast<std::uint32_t>(address) | (static_cast<std::uint32_t>(cols) << 16);
    psum_.token_i[2] = 1U << 4 | static_cast<std::uint32_t>(write.half) << 2 |
                       static_cast<std::uint32_t>(write.accumulate) << 1 |
                       static_cast<std::uint32_t>(write.transpose);
  }

  VerilatedContext context_;
  VPsum psum_{&context_};
  std::mt19937_64 random_{7};
  std::vector<std::vector<std::uint32_t>> model_{kWords};
};

TEST_F(PsumTest, RowsDoWhatTheOpsSay) {
  for (int step = 0; step < 3000; ++step) {
    ops::PsumRowWrite write;
    write.half = random_() % 2 == 0;
    write.transpose = random_() % 4 == 0;
    write.accumulate = !write.transpose && random_() % 3 != 0;
    write.which = write.half ? static_cast<int>(random_() % 2) : 0;
    const int word = static_cast<int>(random_() % kWords);
    const int cols = 1 + static_cast<int>(random_() % kCols);
    std::vector<std::uint32_t> row(kCols);
    for (int c = 0; c < kCols; ++c)
      psum_.row_i[c] = row[c] = Word();
    SetToken(write, 2 * word + write.which, cols);
    Tick();
    ops::WritePsumRow(write, row.data(), cols, model_[word].data());
    psum_.token_i[2] = 0;
    ASSERT_NO_FATAL_FAILURE(ExpectSame(step));
  }
}

TEST_F(PsumTest, FrozenArraySideStillServesTheEnginePort) {
  SetToken({.accumulate = true}, 4, kCols);
  psum_.enable_i = 0;
  PortWrite(9, std::vector<std::uint32_t>(kCols, 0x12345678));
  ASSERT_NO_FATAL_FAILURE(ExpectSame(0));
}

}  // namespace
}  // namespace bwmm::tb
