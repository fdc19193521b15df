// The DMA of one core alone, on a real arbiter and HBM target. By hand:
//   generator 20 ticks, start 100, HBM latency 40; an engine moves a byte in 2 ticks and a
//   descriptor costs as much as 64 bytes; HBM is fast, unless a test makes it 20 ticks per byte.
// A block of 8 partitions x 16 fp32 is 512 bytes and 8 descriptors of one engine: 2048 ticks.
#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "model/units/dma_unit.h"
#include "model/units/hbm_target.h"
#include "tests/units/unit_harness.h"

namespace bwmm::units {

inline constexpr Tick kGenerator = 20, kStart = 100, kLatency = 40, kBlock = 2048;
inline constexpr std::int64_t kFast = 1'000'000, kSlow = 100;  // MB/s

class DmaUnitTest : public UnitTest {
 protected:
  void Build(int generators = 2, std::int64_t hbm_mb_s = kFast,
             const std::function<void(DmaUnit::Config&)>& change = {}) {
    target = std::make_unique<HbmTarget>(
        "hbm", HbmTarget::Config{.cores = 1, .bandwidth_mb_s = hbm_mb_s, .capacity_bytes = 65536},
        time);
    DmaUnit::Config config{.shape = {},
                           .engine_mb_s = 1000,
                           .descriptor_bytes = 64,
                           .dge_instances = generators,
                           .dge = kGenerator,
                           .start = kStart,
                           .hbm_latency = kLatency};
    if (change)
      change(config);
    dma = std::make_unique<DmaUnit>("dma", config, time, run, arbiter, memory);
    dma->retire(retire);
    dma->meeting(meeting);
    dma->hbm_socket.bind(target->socket(0));
  }
  Work& Accept(std::uint32_t id, isa::Body body, Tick emitted_at = 0,
               Engine engine = Engine::kSync) {
    Work& work = Add(id, engine, std::move(body), emitted_at);
    script.At(emitted_at, [this, &work] { dma->Accept(work); });
    return work;
  }
  // Accepted and open from the start.
  Work& Ready(std::uint32_t id, isa::Body body, Engine engine = Engine::kSync) {
    Work& work = Accept(id, std::move(body), 0, engine);
    OpenAt(0, *dma, work, 0);
    return work;
  }
  static Operand Block(int partition = 0, std::int64_t partitions = 8) {
    return SbufTile(DType::kFp32, 0, partitions, 16, partition);
  }
  static Operand InHbm(std::uint64_t address = 64, std::int64_t rows = 8) {
    Operand operand = test::Tile(Memory::kHbm, DType::kFp32, address, rows, 16);
    operand.partition_stride = 16;
    return operand;
  }
  // Within SBUF, so that HBM takes no part: `partitions` of the engine of `partition`.
  static isa::DmaCopy Within(int partition, std::int64_t partitions = 8) {
    isa::DmaCopy copy{.dst = Block(partition, partitions), .src = Block(partition, partitions)};
    copy.dst.offset = 1024;
    return copy;
  }
  static isa::DmaCopy Gather() {
    isa::DmaCopy copy{.dst = Block(), .src = InHbm()};
    copy.gather = isa::VectorOffset{
        .index = SbufTile(DType::kInt32, 4096, 8, 1), .rows = 8, .row_stride = 16};
    return copy;
  }
  void WriteDescriptors(Tick tick, Work& work, std::int64_t rows) {
    std::vector<int> lanes(rows);
    std::iota(lanes.begin(), lanes.end(), 0);
    script.At(tick, [=, this, &work] { dma->DescriptorsWritten(work, lanes); });
  }
  Tick Of(TimeClass time_class) { return dma->ledger().ticks(time_class); }
  Tick DoneAt(std::uint32_t id) const { return log.At("complete", id); }

  PhaseArbiter arbiter{"arbiter", run};
  std::unique_ptr<HbmTarget> target;
  std::unique_ptr<DmaUnit> dma;
};

}  // namespace bwmm::units
