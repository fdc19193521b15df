// DMA: single transfers, a stream of pairs of tiles, and throughput over bytes per partition.
#include <fmt/format.h>

#include <algorithm>

#include "bench/validation/point.h"

namespace bwmm::validation {
namespace {

using isa::Unit;

// x goes in, and a ScalarEngine instruction waits for it.
Trial LoadAndUse(int partitions, std::int64_t columns) {
  Stage stage("trn2");
  const lang::HbmTensor x = stage.Tensor("x", DType::kBf16, {partitions, columns});
  return stage.Run([&](lang::Core& nki) {
    const lang::Tile tile = nki.Sbuf("tile", DType::kBf16, partitions, {columns});
    const lang::Tile out = nki.Sbuf("out", DType::kBf16, partitions, {columns});
    nki.dma_copy(tile, x.At());
    nki.activation(out, Activation::kExp, tile);
  });
}

// From the trigger, which is the run's first cycle, until the consumer starts.
double UntilUsed(const Trial& trial) {
  return static_cast<double>(trial.Only(Unit::kScalar).start) * trial.ns_per_cycle;
}

double Moving(const Trial& trial) {
  return trial.last_byte_ns - trial.first_byte_ns;
}

Trial Store(int partitions, std::int64_t columns) {
  Stage stage("trn2");
  const lang::HbmTensor x = stage.Tensor("x", DType::kBf16, {partitions, columns});
  return stage.Run([&](lang::Core& nki) {
    const lang::Tile tile = nki.Sbuf("tile", DType::kBf16, partitions, {columns});
    nki.memset(tile, 0.0f);
    nki.dma_copy(x.At(), tile);
  });
}

// A stream of pairs of tiles, [128,128] and [128,512] fp32, which a matmul loads in its innermost
// loop.
struct PairStream {
  Stage stage{"trn2"};
  lang::HbmTensor lhs = stage.Tensor("lhs", DType::kFp32, {8192, 4096});
  lang::HbmTensor rhs = stage.Tensor("rhs", DType::kFp32, {8192, 8192});

  auto Kernel(int count) const {
    return [this, count](lang::Core& nki) {
      const auto left = nki.RotatingSbuf("left", 4, DType::kFp32, 128, {128});
      const auto right = nki.RotatingSbuf("right", 4, DType::kFp32, 128, {512});
      for (int k = 0; k < count; ++k) {
        const std::int64_t row = k % 64 * 128;
        nki.dma_copy(left[k], lhs.At().Slice(0, row, 128).Slice(1, 0, 128));
        nki.dma_copy(right[k], rhs.At().Slice(0, row, 128).Slice(1, 0, 512));
      }
    };
  }
};

double PairNs() {
  PairStream pairs;
  return NsEach(pairs.stage, 64, [&](int count) { return pairs.Kernel(count); });
}

// Bytes in the engines' own time.
double BytesPerEngineNs() {
  PairStream pairs;
  const Trial trial = pairs.stage.Run(pairs.Kernel(64));
  return static_cast<double>(trial.core.hbm_read) /
         (static_cast<double>(trial.core.dma_engine_cycles) * trial.ns_per_cycle);
}

// As many buffers as keep the destinations from limiting the stream: the published depth is
// unknown.
double BytesPerNs(std::int64_t bytes) {
  const int buffers = static_cast<int>(std::min<std::int64_t>(16, (192 << 10) / bytes));
  Stage stage("trn3");
  const lang::HbmTensor x = stage.Tensor("x", DType::kFp8E4M3Fn, {128, bytes});
  return 128.0 * static_cast<double>(bytes) / NsEach(stage, 32, [&](int count) {
           return [&x, bytes, buffers, count](lang::Core& nki) {
             const auto tile = nki.RotatingSbuf("tile", buffers, DType::kFp8E4M3Fn, 128, {bytes});
             for (int i = 0; i < count; ++i)
               nki.dma_copy(tile[i], x.At());
           };
         });
}

}  // namespace

std::vector<Point> DmaPoints() {
  const std::string until = "run's first cycle to the start of the ScalarE instruction";
  const std::string moving = "first engine's start to the last one's end";
  std::vector<Point> points = {
      {"D1", "dma", "trn2", "load [4,4096] bf16 by one engine", "ns", 1416, 'A', "S1",
       Role::kChecks, false, moving, [] { return Moving(LoadAndUse(4, 4096)); }},
      {"D2", "dma", "trn2", "store [4,4096] bf16 by one engine", "ns", 1220, 'C', "S1",
       Role::kChecks, false, moving, [] { return Moving(Store(4, 4096)); }},
      {"D4", "dma", "trn2", "load [128,128] bf16 by 16 engines", "ns", 468, 'A', "S1",
       Role::kChosen, false, moving, [] { return Moving(LoadAndUse(128, 128)); }},
      {"D6", "dma", "trn2", "D1, trigger by Sync to the first byte", "ns", 1000, 'C', "S1",
       Role::kChosen, false, "run's first cycle to the engine's start",
       [] { return LoadAndUse(4, 4096).first_byte_ns; }},
      {"D7", "dma", "trn2", "D1, last byte to the consumer", "ns", 311, 'C', "S1", Role::kChosen,
       false, "engine's end to the start of the ScalarE instruction",
       [] {
         const Trial trial = LoadAndUse(4, 4096);
         return UntilUsed(trial) - trial.last_byte_ns;
       }},
      {"D8", "dma", "trn2", "load [128,128] bf16, trigger (GpSimd; here Sync) to consumer", "ns",
       1500, 'C', "S1", Role::kChecks, false, until,
       [] { return UntilUsed(LoadAndUse(128, 128)); }},
      {"D9", "dma", "trn2", "load [4,4096] bf16, trigger to consumer: D6 + D1 + D7", "ns", 2730,
       'C', "S1", Role::kChosen, false, until, [] { return UntilUsed(LoadAndUse(4, 4096)); }},
      {"D11", "dma", "trn2", "stream of [128,128] + [128,512] fp32", "ns per pair", 1216.7, 'A',
       "S2 v2", Role::kChecks, false, "64 more pairs in a stream", PairNs},
      {"D12", "dma", "trn2", "D11, bytes by the engines' busy time", "B/ns per engine", 20.9, 'A',
       "S2 v2", Role::kChecks, false, "bytes read / DMA engine cycles", BytesPerEngineNs},
  };
  struct Share {
    std::int64_t bytes;
    double of_longest;
  };
  for (const Share& share : std::vector<Share>{{32, .013},
                                               {64, .025},
                                               {128, .050},
                                               {256, .103},
                                               {512, .206},
                                               {1024, .422},
                                               {2048, .813},
                                               {4096, .966},
                                               {8192, .983},
                                               {16384, .990}})
    points.push_back({fmt::format("D10/{}", share.bytes), "dma", "trn3",
                      fmt::format("stream of [128, {} B], generation not named", share.bytes),
                      "of the rate at 32 KiB", share.of_longest, 'C', "S1", Role::kChecks, false,
                      "32 more copies in a stream",
                      [bytes = share.bytes] { return BytesPerNs(bytes) / BytesPerNs(32 << 10); }});
  return points;
}

}  // namespace bwmm::validation
