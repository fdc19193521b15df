// The RTL engine and its C++ twin get the same random commands at the same cycles: every event and
// every PSUM bit must agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <string>

#include "model/engine/make_engines.h"
#include "tb/common/stimulus.h"

namespace bwmm::engine {

void PrintTo(const Event& event, std::ostream* out) {
  constexpr const char* kKinds[] = {"started", "read done", "written"};
  *out << "id " << event.id << " " << kKinds[static_cast<int>(event.kind)] << " at " << event.cycle;
}

namespace {

struct Setup {
  TensorEngineConfig config;
  int x_seed;  // what uninitialised RTL state holds
};

class TensorEngineTwins : public testing::TestWithParam<Setup> {
 protected:
  TensorEngineTwins()
      : rtl_(MakeRtlTensorEngine(config_, GetParam().x_seed)),
        fast_(MakeFastTensorEngine(config_)),
        timing_(MakeTimingTensorEngine(config_)) {}

  void FillPsum(tb::Stimulus& stimulus) {
    std::vector<std::uint32_t> lanes(config_.cols);
    for (int word = 0; word < config_.psum_words; ++word) {
      for (std::uint32_t& lane : lanes)
        lane = stimulus.OneIn(20) ? stimulus.Bits() : (stimulus.Bits() & 0x80ffffffU) | 0x3f000000U;
      rtl_->WritePsum(word, lanes);
      fast_->WritePsum(word, lanes);
      std::copy(lanes.begin(), lanes.end(), &last_[std::size_t{1} * word * config_.cols]);
    }
  }

  template <typename Command>
  void Push(const Command& command) {
    while (!fast_->CanPush()) {
      ASSERT_FALSE(rtl_->CanPush());
      Advance(1);
    }
    ASSERT_TRUE(rtl_->CanPush());
    ASSERT_TRUE(timing_->CanPush());
    rtl_->Push(command);
    fast_->Push(command);
    Command bare = command;
    bare.data.clear();
    bare.scales.clear();
    timing_->Push(bare);
  }

  void Advance(Cycle cycles) {
    for (TensorEngine* engine : {rtl_.get(), fast_.get(), timing_.get()})
      engine->AdvanceTo(engine->cycle() + cycles);
    const std::vector<Event> expected = fast_->TakeEvents();
    events_ += expected.size();
    ASSERT_THAT(rtl_->TakeEvents(), testing::ElementsAreArray(expected));
    ASSERT_THAT(timing_->TakeEvents(), testing::ElementsAreArray(expected));
  }

  void Drain() {
    while (fast_->NextEventCycle())
      ASSERT_NO_FATAL_FAILURE(Advance(*fast_->NextEventCycle() - fast_->cycle() + 1));
  }

  void ComparePsum() {
    std::vector<std::uint32_t> rtl(config_.cols);
    std::vector<std::uint32_t> fast(config_.cols);
    for (int word = 0; word < config_.psum_words; ++word) {
      rtl_->ReadPsum(word, rtl);
      fast_->ReadPsum(word, fast);
      for (int c = 0; c < config_.cols; ++c) {
        std::uint32_t& last = last_[std::size_t{1} * word * config_.cols + c];
        changed_ += fast[c] != last;
        finite_ += fast[c] != last && std::isfinite(std::bit_cast<float>(fast[c]));
        last = fast[c];
        ASSERT_EQ(rtl[c], fast[c]) << std::hex << "word " << word << " column " << c << ": RTL 0x"
                                   << rtl[c] << ", fast 0x" << fast[c];
      }
    }
  }

  const TensorEngineConfig config_ = GetParam().config;
  std::unique_ptr<TensorEngine> rtl_;
  std::unique_ptr<TensorEngine> fast_;
  std::unique_ptr<TensorEngine> timing_;
  std::size_t events_ = 0;
  // PSUM at the last comparison, to count what the commands between changed.
  std::vector<std::uint32_t> last_ =
      std::vector<std::uint32_t>(std::size_t{1} * config_.psum_words * config_.cols);
  std::size_t changed_ = 0;
  std::size_t finite_ = 0;
};

TEST_P(TensorEngineTwins, AgreeOnRandomCommands) {
  constexpr int kSequences = 120;
  constexpr PeMode kModes[] = {PeMode::kOrdinary, PeMode::kMx, PeMode::kTranspose,
                               PeMode::kDoubleRow};
  std::uint32_t id = 0;
  for (int seed = 1; seed <= kSequences; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    tb::Stimulus stimulus(seed);
    if (seed % 8 == 1)
      FillPsum(stimulus);
    for (int pair = 0; pair < 6; ++pair) {
      LoadCommand load = stimulus.Load(++id, kModes[stimulus.Between(0, 3)], config_);
      ASSERT_NO_FATAL_FAILURE(Push(load));
      // Sometimes a load is overtaken by another before anything uses it.
      if (stimulus.OneIn(6)) {
        load = stimulus.Load(++id, kModes[stimulus.Between(0, 3)], config_);
        ASSERT_NO_FATAL_FAILURE(Push(load));
      }
      for (int moves = stimulus.Between(1, 3); moves > 0; --moves) {
        if (stimulus.OneIn(3)) {
          ASSERT_NO_FATAL_FAILURE(Advance(stimulus.Between(1, stimulus.OneIn(4) ? 400 : 12)));
        }
        ASSERT_NO_FATAL_FAILURE(Push(stimulus.Move(++id, load, config_.rows + 20, config_)));
      }
    }
    ASSERT_NO_FATAL_FAILURE(Drain());
    ASSERT_NO_FATAL_FAILURE(ComparePsum());
    ASSERT_NO_FATAL_FAILURE(Advance(stimulus.Between(0, 50)));
  }
  EXPECT_GT(events_, 4U * kSequences * 6);
  // The comparison means something: most of what was written is a number.
  EXPECT_GT(finite_, changed_ / 2) << changed_ << " words changed";
}

TEST_P(TensorEngineTwins, ReachTheArrayPeakBackToBack) {
  const int n = 512;
  tb::Stimulus stimulus(99);
  FillPsum(stimulus);
  std::uint32_t id = 0;
  for (int tile = 0; tile < 12; ++tile) {
    LoadCommand load;
    load.id = ++id;
    load.mode = tile < 6 ? PeMode::kOrdinary : PeMode::kMx;
    load.dtype = tile < 6 ? DType::kBf16 : DType::kFp8E4M3FnX4;
    load.rows = config_.rows;
    load.cols = config_.cols;
    load.data = stimulus.Elements(load.dtype, load.rows * load.cols);
    MoveCommand move;
    move.id = ++id;
    move.mode = load.mode;
    move.dtype = load.dtype;
    move.rows = load.rows;
    move.n = n;
    move.data = stimulus.Elements(load.dtype, load.rows * n);
    if (tile >= 6) {
      load.scales = stimulus.Scales(load.rows / 8 * load.cols);
      move.scales = stimulus.Scales(load.rows / 8 * n);
    }
    ASSERT_NO_FATAL_FAILURE(Push(load));
    ASSERT_NO_FATAL_FAILURE(Push(move));
  }
  ASSERT_NO_FATAL_FAILURE(Drain());
  ASSERT_NO_FATAL_FAILURE(ComparePsum());
  // 12 matmuls of n rows; fill, drain and the first load are the rest.
  EXPECT_GT(12.0 * n / static_cast<double>(rtl_->cycle()), 0.95);
}

constexpr TensorEngineConfig kSmall = {.rows = 32, .cols = 64};
constexpr TensorEngineConfig kNarrow = {
    .rows = 32, .cols = 64, .min_interval = 7, .queue_depth = 1};

INSTANTIATE_TEST_SUITE_P(Arrays, TensorEngineTwins,
                         testing::Values(Setup{{}, 0}, Setup{{}, 1}, Setup{kSmall, 0},
                                         Setup{kSmall, 2}, Setup{kNarrow, 3}));

}  // namespace
}  // namespace bwmm::engine
