#include "model/engine/merge_trace.h"

#include <gtkwave/fstapi.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>

#include "model/support/sim_error.h"

namespace bwmm::engine {
namespace {

constexpr int kTextBits = 128;  // 16 characters
// The scope of the RTL in which the machine's engines have theirs.
constexpr std::string_view kScope = "traced_engine";

// The number's binary digits, as FST takes values.
std::string Digits(std::uint32_t value) {
  std::string digits;
  for (int bit = 31; bit >= 0; --bit)
    digits += ((value >> bit) & 1) != 0 ? '1' : '0';
  return digits;
}

// First character in the top byte that is not zero, zeros above: how a viewer reads ASCII.
std::string Digits(std::string_view text) {
  text = text.substr(0, kTextBits / 8);
  std::string digits(kTextBits - 8 * text.size(), '0');
  for (const char c : text) {
    for (int bit = 7; bit >= 0; --bit)
      digits += ((static_cast<unsigned char>(c) >> bit) & 1) != 0 ? '1' : '0';
  }
  return digits;
}

using Reader = std::unique_ptr<void, decltype(&fstReaderClose)>;
using Writer = std::unique_ptr<void, decltype(&fstWriterClose)>;

class Merger {
 public:
  Merger(void* reader, void* writer, const std::vector<UnitChange>& machine)
      : reader_(reader), writer_(writer), machine_(machine) {}

  void Run() {
    fstWriterSetPackType(writer_, FST_WR_PT_LZ4);
    fstWriterSetVersion(writer_, fstReaderGetVersionString(reader_));
    fstWriterSetTimescale(writer_, fstReaderGetTimescale(reader_));
    CopyHierarchy();
    fstReaderSetFacProcessMaskAll(reader_);
    fstReaderIterBlocksSetNativeDoublesOnCallback(reader_, 1);
    fstReaderIterBlocks2(
        reader_,
        [](void* merger, std::uint64_t time, fstHandle signal, const unsigned char* value) {
          static_cast<Merger*>(merger)->Take(time, signal, value);
        },
        [](void*, std::uint64_t, fstHandle, const unsigned char*, std::uint32_t) {}, this, nullptr);
    while (next_ < machine_.size())
      EmitMachine();
  }

 private:
  struct Handles {
    fstHandle busy = 0, id = 0, opcode = 0, stall = 0;
  };

  void CopyHierarchy() {
    handles_.resize(fstReaderGetMaxHandle(reader_) + 1);
    while (const fstHier* entry = fstReaderIterateHier(reader_)) {
      switch (entry->htyp) {
        case FST_HT_SCOPE:
          fstWriterSetScope(writer_, static_cast<fstScopeType>(entry->u.scope.typ),
                            entry->u.scope.name, entry->u.scope.component);
          if (entry->u.scope.name == kScope)
            CreateMachine();
          break;
        case FST_HT_UPSCOPE:
          fstWriterSetUpscope(writer_);
          break;
        case FST_HT_VAR: {
          const auto& var = entry->u.var;
          const fstHandle made = fstWriterCreateVar(
              writer_, static_cast<fstVarType>(var.typ), static_cast<fstVarDir>(var.direction),
              var.length, var.name, var.is_alias ? handles_[var.handle] : 0);
          if (!var.is_alias)
            handles_[var.handle] = made;
          break;
        }
        case FST_HT_ATTRBEGIN:
          fstWriterSetAttrBegin(writer_, static_cast<fstAttrType>(entry->u.attr.typ),
                                entry->u.attr.subtype, entry->u.attr.name, entry->u.attr.arg);
          break;
        case FST_HT_ATTREND:
          fstWriterSetAttrEnd(writer_);
          break;
        default:
          break;
      }
    }
  }

  void CreateMachine() {
    const auto signal = [this](const char* name, int bits) {
      return fstWriterCreateVar(writer_, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, bits, name, 0);
    };
    for (int u = 0; u < kTracedUnits; ++u) {
      fstWriterSetScope(writer_, FST_ST_VCD_MODULE, kTracedUnitNames[u].data(), "");
      machine_handles_[u] = {signal("busy", 1), signal("instruction_id [31:0]", 32),
                             signal("opcode [127:0]", kTextBits),
                             signal("stall [127:0]", kTextBits)};
      fstWriterSetUpscope(writer_);
    }
  }

  void Take(std::uint64_t time, fstHandle signal, const unsigned char* value) {
    while (next_ < machine_.size() && machine_[next_].time_ps < time)
      EmitMachine();
    At(time);
    fstWriterEmitValueChange(writer_, handles_[signal], value);
  }

  void EmitMachine() {
    const UnitChange& change = machine_[next_++];
    const Handles& to = machine_handles_[static_cast<int>(change.unit)];
    At(change.time_ps);
    const auto emit = [this](fstHandle handle, const std::string& digits) {
      fstWriterEmitValueChange(writer_, handle, digits.c_str());
    };
    emit(to.busy, change.signals.busy ? "1" : "0");
    emit(to.id, Digits(change.signals.id));
    emit(to.opcode, Digits(std::string_view(change.signals.opcode)));
    emit(to.stall, Digits(std::string_view(change.signals.waiting)));
  }

  void At(std::uint64_t time) {
    if (any_ && time == time_)
      return;
    any_ = true;
    time_ = time;
    fstWriterEmitTimeChange(writer_, time);
  }

  void* reader_;
  void* writer_;
  const std::vector<UnitChange>& machine_;
  std::size_t next_ = 0;
  std::vector<fstHandle> handles_;  // by the reader's
  std::array<Handles, kTracedUnits> machine_handles_{};
  bool any_ = false;
  std::uint64_t time_ = 0;
};

}  // namespace

void MergeTrace(const std::filesystem::path& rtl, const std::vector<UnitChange>& machine,
                const std::filesystem::path& merged) {
  const Reader reader(fstReaderOpen(rtl.c_str()), &fstReaderClose);
  const Writer writer(fstWriterCreate(merged.c_str(), 1), &fstWriterClose);
  if (!reader || !writer)
    throw SimError("{}: the dump cannot be finished", merged.string());
  Merger(reader.get(), writer.get(), machine).Run();
}

}  // namespace bwmm::engine
