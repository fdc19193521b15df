// One timed unit alone: fakes in place of its neighbours, and a script of what happens when.
//
//   [ script ] --at tick t--> unit under test --Started, Complete, ...--> [ log ]
//
// Time has 2 ticks per ns. Each test has a SystemC context of its own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

#include "model/ops/execute.h"
#include "model/ops/quantize_mx.h"
#include "model/support/sim_error.h"
#include "model/system/sim_context.h"
#include "model/units/run_state.h"
#include "model/units/stack_bounds.h"
#include "model/units/streams.h"
#include "tests/system/program_parts.h"

namespace bwmm::units {

using isa::Engine;
using isa::Memory;
using isa::Operand;
using test::PsumTile;
using test::SbufTile;

// What a fake was told, and when.
struct Seen {
  Tick at = 0;
  std::string what;
  std::uint32_t id = 0;

  friend bool operator==(const Seen&, const Seen&) = default;
};
inline std::ostream& operator<<(std::ostream& os, const Seen& seen) {
  return os << seen.what << " " << seen.id << " at " << seen.at;
}

class Log {
 public:
  void Add(std::string what, std::uint32_t id) { seen_.push_back({Now(), std::move(what), id}); }
  const std::vector<Seen>& seen() const { return seen_; }
  // When `what` was said of `id` first; kNever if it was not.
  Tick At(std::string_view what, std::uint32_t id) const {
    for (const Seen& seen : seen_) {
      if (seen.what == what && seen.id == id)
        return seen.at;
    }
    return kNever;
  }
  // Everything said in these words.
  std::vector<Seen> Of(std::string_view what) const {
    std::vector<Seen> found;
    for (const Seen& seen : seen_) {
      if (seen.what == what)
        found.push_back(seen);
    }
    return found;
  }

 private:
  std::vector<Seen> seen_;
};

// Does things at given ticks, in the order they were given for one tick.
class Script final : public sc_core::sc_module {
 public:
  explicit Script(sc_core::sc_module_name name) : sc_module(name) {
    SC_HAS_PROCESS(Script);
    SC_METHOD(Run);
    sensitive << alarm_.event();
  }
  void At(Tick tick, std::function<void()> action) { actions_.emplace(tick, std::move(action)); }

 private:
  void Run() {
    OnOwnStack();  // for an action that expects an exception
    while (!actions_.empty() && actions_.begin()->first <= Now()) {
      const auto action = actions_.begin()->second;
      actions_.erase(actions_.begin());
      action();
    }
    if (!actions_.empty())
      alarm_.At(actions_.begin()->first);
  }

  std::multimap<Tick, std::function<void()>> actions_;
  Alarm alarm_{"script"};
};

// PSUM as plain rows.
class FakePsum final : public ops::PsumPort {
 public:
  void Read(int word, std::span<std::uint32_t> lanes) const override {
    const auto found = rows_.find(word);
    for (std::size_t i = 0; i < lanes.size(); ++i)
      lanes[i] = found == rows_.end() ? 0 : found->second[i];
  }
  void Write(int word, std::span<const std::uint32_t> lanes) override {
    rows_[word].assign(lanes.begin(), lanes.end());
  }

 private:
  std::map<int, std::vector<std::uint32_t>> rows_;
};

class FakeRetire final : public RetireIf {
 public:
  explicit FakeRetire(Log& log) : log_(log) {}

  void Started(const Work& work) override { log_.Add("started", work.instruction.id); }
  void PartsWaiting(std::int64_t parts) override { parts_waiting.emplace_back(Now(), parts); }
  void Observe(const Work& work) override { log_.Add("observe", work.instruction.id); }
  void ReadDone(Work& work) override { log_.Add("read done", work.instruction.id); }
  void Complete(Work& work) override {
    log_.Add("complete", work.instruction.id);
    if (on_complete)
      on_complete(work);
  }

  std::function<void(Work&)> on_complete;
  std::vector<std::pair<Tick, std::int64_t>> parts_waiting;

 private:
  Log& log_;
};

class FakeMeeting final : public MeetingIf {
 public:
  explicit FakeMeeting(Log& log) : log_(log) {}

  void Arrive(Work& work) override { log_.Add("arrive", work.instruction.id); }
  void Sent(Work& work) override { log_.Add("sent", work.instruction.id); }

 private:
  Log& log_;
};

class UnitTest : public testing::Test {
 protected:
  static constexpr std::array<std::int64_t, 1> kClocks = {1000};

  // An instruction whose gates wait until Open.
  Work& Add(std::uint32_t id, Engine engine, isa::Body body, Tick emitted_at = 0) {
    Work& work = works_.emplace_back();
    work.instruction = {id, 0, engine, std::move(body)};
    work.emitted_at = emitted_at;
    for (GateState& gate : work.gates) {
      gate.waiting = 1;
      gate.open_at = emitted_at;
    }
    if (const auto* copy = std::get_if<isa::DmaCopy>(&work.instruction.body))
      work.software_descriptors = copy->gather || copy->scatter;
    return work;
  }
  // At tick `now` the unit hears that the gate opens at `open_at`, for `cause`.
  void OpenAt(Tick now, WorkIf& unit, Work& work, Tick open_at,
              TimeClass cause = TimeClass::kStructural, Gate gate = Gate::kStart) {
    script.At(now, [&unit, &work, open_at, cause, gate] {
      work.gate(gate) = {.waiting = 0, .open_at = open_at, .cause = cause};
      unit.GateOpened(work, gate);
    });
  }
  void Run() {
    context_.Run();
    if (run.error())
      std::rethrow_exception(run.error());
  }
  // Runs and answers the error's text.
  std::string ErrorOfRun() {
    try {
      Run();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "no error";
  }

 private:
  SimContext context_;  // before everything that lives in it
  std::deque<Work> works_;

 protected:
  const TimeBase time{kClocks};
  RunState run;
  Log log;
  Script script{"script"};
  FakeRetire retire{log};
  FakeMeeting meeting{log};
  ops::Sbuf sbuf{128, 32768};
  FakePsum psum;
  ops::Hbm hbm;
  ops::CoreMemory memory{
      .core = 0, .sbuf = sbuf, .psum = psum, .hbm = hbm, .quantize = ops::QuantizeMx};
};

}  // namespace bwmm::units
