#include "replay/replay_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "model/isa/access.h"
#include "model/isa/text.h"
#include "model/support/check.h"

namespace bwmm::replay {
namespace {

using isa::Memory;

class Comparison {
 public:
  Comparison(const ReplayProgram& program, const ReplayOutcome& a, const ReplayOutcome& b)
      : program_(program), a_(a), b_(b) {}

  std::optional<Divergence> First() {
    if (a_.error.empty() && b_.error.empty()) {
      Emitted();
      if (a_.mode != ReplayMode::kExecutor && b_.mode != ReplayMode::kExecutor) {
        Records();
        Classes();
        Totals();
      }
      if (a_.mode != ReplayMode::kTiming && b_.mode != ReplayMode::kTiming)
        Bytes();
    } else if (a_.error != b_.error) {
      Differ(DivergenceKind::kError, "", a_.error.empty() ? "accepts it" : a_.error,
             b_.error.empty() ? "accepts it" : b_.error);
    }
    return first_;
  }

 private:
  template <typename T>
  void Differ(DivergenceKind kind, const std::string& where, const T& a, const T& b,
              const std::string& listing = "") {
    if (!first_)
      first_ = Divergence{kind, fmt::format("{}{}{} {}, {} {}{}", where, where.empty() ? "" : ": ",
                                            NameOf(a_.mode), a, NameOf(b_.mode), b, listing)};
  }

  // The listing line of instruction `id`, whose number may not be that of its step.
  std::string Line(int core, std::size_t id) const {
    if (id >= a_.emitted[core].size())
      return "";
    isa::Instruction instruction = program_.cores[core][a_.emitted[core][id]].instruction;
    instruction.id = static_cast<std::uint32_t>(id);
    return fmt::format("\n{}", isa::ToText(instruction));
  }

  void Emitted() {
    for (int core = 0; core < std::ssize(a_.emitted); ++core) {
      const auto& a = a_.emitted[core];
      const auto& b = b_.emitted[core];
      const auto [x, y] = std::ranges::mismatch(a, b);
      if (x == a.end() && y == b.end())
        continue;
      const auto name = [&](const std::vector<std::size_t>& steps, auto at) {
        return at == steps.end()
                   ? "ends"
                   : fmt::format("emits a {}", OpcodeOf(program_.cores[core][*at].instruction));
      };
      Differ(DivergenceKind::kEmitted,
             fmt::format("core {} instruction {}: a register steers it elsewhere", core,
                         x - a.begin()),
             name(a, x), name(b, y));
    }
  }

  void Records() {
    const std::size_t count = std::min(a_.records.size(), b_.records.size());
    for (std::size_t i = 0; i < count && !first_; ++i) {
      const InstructionRecord& x = a_.records[i];
      // What differs is the first to end in one of the runs; its record in the other is elsewhere.
      const auto y = std::ranges::find_if(b_.records, [&](const InstructionRecord& record) {
        return record.core == x.core && record.id == x.id;
      });
      Check(y != b_.records.end(), "both runs completed the same instructions");
      if (std::tie(x.start, x.end, x.stall, x.unit) ==
          std::tie(y->start, y->end, y->stall, y->unit))
        continue;
      const auto text = [](const InstructionRecord& r) {
        return fmt::format("cycles {} to {} after {}", r.start, r.end,
                           r.stall == TimeClass::kBusy ? "no wait" : NameOf(r.stall));
      };
      Differ(
          DivergenceKind::kRecord,
          fmt::format("core {} instruction {} ({}) on {}", x.core, x.id, x.opcode, NameOf(x.unit)),
          text(x), text(*y), Line(x.core, x.id));
    }
  }

  void Classes() {
    for (std::size_t core = 0; core < a_.result.cores.size(); ++core) {
      for (int unit = 0; unit < units::kUnits; ++unit) {
        const UnitResult& x = a_.result.cores[core].units[unit];
        const UnitResult& y = b_.result.cores[core].units[unit];
        const std::string where = fmt::format("core {} {}", core, NameOf(static_cast<Unit>(unit)));
        if (x.instructions != y.instructions)
          Differ(DivergenceKind::kTotal, fmt::format("{} instructions", where), x.instructions,
                 y.instructions);
        for (int c = 0; c < units::kTimeClasses; ++c) {
          if (x.cycles[c] != y.cycles[c])
            Differ(DivergenceKind::kClass,
                   fmt::format("{} cycles of class {}", where, NameOf(static_cast<TimeClass>(c))),
                   x.cycles[c], y.cycles[c]);
        }
      }
    }
  }

  void Totals() {
    const auto total = [this](std::string_view name, std::uint64_t a, std::uint64_t b) {
      if (a != b)
        Differ(DivergenceKind::kTotal, std::string(name), a, b);
    };
    const RunResult& a = a_.result;
    const RunResult& b = b_.result;
    total("cycles", a.cycles, b.cycles);
    total("hbm_busy_cycles", a.hbm_busy_cycles, b.hbm_busy_cycles);
    for (std::size_t core = 0; core < a.cores.size(); ++core) {
      const CoreResult& x = a.cores[core];
      const CoreResult& y = b.cores[core];
      total("moving_rows", x.moving_rows, y.moving_rows);
      total("multiply_adds", x.multiply_adds, y.multiply_adds);
      total("hbm_read", x.hbm_read, y.hbm_read);
      total("hbm_write", x.hbm_write, y.hbm_write);
      total("sendrecv", x.sendrecv, y.sendrecv);
      total("dma_descriptors", x.dma_descriptors, y.dma_descriptors);
      total("dma_transfers", x.dma_transfers, y.dma_transfers);
      total("dma_engine_cycles", x.dma_engine_cycles, y.dma_engine_cycles);
    }
  }

  void Bytes() {
    for (std::size_t t = 0; t < program_.tensors.size(); ++t) {
      const auto& a = a_.tensors[t];
      const auto& b = b_.tensors[t];
      const auto [x, y] = std::ranges::mismatch(a, b);
      if (x == a.end())
        continue;
      const ReplayTensor& tensor = program_.tensors[t];
      const std::size_t size = SizeOf(tensor.dtype);
      const std::size_t element = static_cast<std::size_t>(x - a.begin()) / size;
      const auto code = [&](const std::vector<std::byte>& bytes) {
        std::string text = "0x";
        for (std::size_t i = size; i-- > 0;)
          text += fmt::format("{:02x}", static_cast<unsigned>(bytes[element * size + i]));
        return text;
      };
      Differ(DivergenceKind::kBytes, fmt::format("tensor {} element {}", tensor.name, element),
             code(a), code(b), LastWriters(tensor.address + element * size));
    }
  }

  // Of each core, the last instruction that may have written the byte.
  std::string LastWriters(std::uint64_t address) const {
    std::string lines;
    for (int core = 0; core < std::ssize(a_.emitted); ++core) {
      for (std::size_t id = a_.emitted[core].size(); id-- > 0;) {
        const auto accesses =
            isa::AccessesOf(program_.cores[core][a_.emitted[core][id]].instruction);
        const bool writes = std::ranges::any_of(accesses, [&](const isa::Access& access) {
          return access.write && access.region.memory == Memory::kHbm &&
                 access.region.begin <= address && address < access.region.end;
        });
        if (writes && !std::holds_alternative<isa::CoreBarrier>(
                          program_.cores[core][a_.emitted[core][id]].instruction.body)) {
          lines += Line(core, id);
          break;
        }
      }
    }
    return lines;
  }

  const ReplayProgram& program_;
  const ReplayOutcome& a_;
  const ReplayOutcome& b_;
  std::optional<Divergence> first_;
};

}  // namespace

std::optional<Divergence> FirstDivergence(const ReplayProgram& program, const ReplayOutcome& a,
                                          const ReplayOutcome& b) {
  return Comparison(program, a, b).First();
}

}  // namespace bwmm::replay
