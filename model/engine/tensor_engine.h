// The TensorEngine as the machine sees it: commands in, cycle-stamped events out, PSUM inside.
//
//   Push --> [ command queue ] --> LoadStationary port --> shadow weights --(swap token)--+
//                             \--> MultiplyMoving port --> skew --> PE rows 0..Rows-1 <---+
//                                                                      |
//                     ReadPsum / WritePsum <--> PSUM (8 banks) <-- overwrite or accumulate
//
// Two implementations give the same events, at the same cycles, and the same PSUM bits for any
// sequence of commands: FastTensorEngine (C++) and RtlTensorEngine (the Verilated rtl/core).
//
// Time is counted in TensorEngine clock cycles. cycle() is the next clock edge to be processed; a
// command pushed now is visible to that edge. The owner skips time by calling AdvanceTo, which is
// cheap while the engine is idle.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/isa/pe_mode.h"
#include "model/numerics/dtype.h"

namespace bwmm::engine {

using Cycle = std::uint64_t;

struct TensorEngineConfig {
  int rows = 128;            // PE rows = SBUF partitions feeding the array
  int cols = 128;            // PE columns = PSUM partitions
  int psum_words = 8 * 512;  // 32-bit words per PSUM partition: 8 banks x 512
  int min_interval = 64;     // a MultiplyMoving holds the moving port for max(N, min(this, M))
  int queue_depth = 4;       // commands waiting in front of the engine; no event depends on it
};

// Loads the stationary operand [rows, cols] into the shadow weights, 4 columns per cycle.
struct LoadCommand {
  std::uint32_t id = 0;
  PeMode mode = PeMode::kOrdinary;
  DType dtype = DType::kBf16;  // element type; x4 in MX mode; transpose: any 1, 2 or 4-byte type
  int rows = 0;                // K; whole scale groups in MX mode
  int cols = 0;                // M
  // [rows][cols], raw bits in the low end of each word; double_row: two elements, the first lowest
  std::vector<std::uint32_t> data;
  std::vector<std::uint8_t> scales;  // MX: [scale groups][cols], E8M0
  std::optional<PePart> part;        // of fp32 elements, in ordinary mode
};

// Streams the moving operand [rows, n] and writes n PSUM rows of `cols` words, where `cols` is M of
// the stationary operand in use. In transpose mode there is no data: the engine feeds an identity
// and n must equal the stationary operand's rows.
struct MoveCommand {
  std::uint32_t id = 0;
  PeMode mode = PeMode::kOrdinary;
  DType dtype = DType::kBf16;
  int rows = 0;  // K; equal to the stationary operand's
  int n = 0;     // moving rows
  // PSUM destination. Units are 2 bytes: word w of a partition is address 2 * w. A 4-byte row takes
  // two units and must start even; a 2-byte row takes one.
  int psum_address = 0;
  DType psum_dtype = DType::kFp32;   // fp32 or bf16; transpose: any 2 or 4-byte type
  bool accumulate = false;           // transpose never accumulates
  std::vector<std::uint32_t> data;   // [rows][n]
  std::vector<std::uint8_t> scales;  // MX: [scale groups][n], E8M0
  std::optional<PePart> part;        // of fp32 elements, in ordinary mode
};

enum class EventKind : std::uint8_t {
  kStarted,   // the first row (LoadStationary: first 4 columns) is taken at this edge
  kReadDone,  // the last operand element is taken at this edge: SBUF may be overwritten after it
  kWritten,   // MultiplyMoving only: the last PSUM row is written at this edge
};

struct Event {
  std::uint32_t id = 0;
  EventKind kind = EventKind::kStarted;
  Cycle cycle = 0;

  friend bool operator==(const Event&, const Event&) = default;
};

class TensorEngine {
 public:
  virtual ~TensorEngine() = default;

  virtual bool CanPush() const = 0;  // the command queue has room
  virtual void Push(LoadCommand command) = 0;
  virtual void Push(MoveCommand command) = 0;

  virtual Cycle cycle() const = 0;
  // The next edge at which an event can happen or the queue can free a place; none when idle. A
  // cycle-by-cycle implementation answers cycle() while it is busy.
  virtual std::optional<Cycle> NextEventCycle() const = 0;
  // Processes all edges before `cycle`.
  virtual void AdvanceTo(Cycle cycle) = 0;
  // Events since the last call, ordered by cycle, then kind (started, read done, written), then id.
  virtual std::vector<Event> TakeEvents() = 0;

  // Engine port: one PSUM word row (all columns) at 32-bit word index `word`. The caller orders
  // accesses against commands in flight.
  virtual void ReadPsum(int word, std::span<std::uint32_t> lanes) const = 0;
  virtual void WritePsum(int word, std::span<const std::uint32_t> lanes) = 0;
};

}  // namespace bwmm::engine
