// The sequential executor: runs all cores' programs on ops alone, without SystemC and without
// time. Cores meet only at core_barrier and sendrecv. Program order is the meaning; the timed
// machine must give these bits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "model/isa/sink.h"
#include "model/ops/memory.h"
#include "model/ops/observer.h"

namespace bwmm::ops {

// One core's kernel; called once per core, each with its own sink.
using Program = std::function<void(isa::Sink&)>;

struct ExecutorResult {
  std::uint64_t instructions = 0;
};

// SimError on a deadlock (a core waits at a meeting another never reaches), a mismatched meeting,
// and anything ProgramCheck or Execute refuses; `checked`: also on a read of bytes never written
// and on a race between the cores. Observers are told without time.
ExecutorResult RunSequentially(const isa::Limits& limits, Hbm& hbm, const Program& program,
                               bool checked = true, std::span<Observer* const> observers = {});

}  // namespace bwmm::ops
