// Where a kernel's instructions go. The sequential executor and the timed machine are sinks; a
// listing is one too. One sink serves one core.
#pragma once

#include <cstdint>
#include <string>

#include "model/isa/instruction.h"

namespace bwmm::isa {

// What a kernel may rely on; from the machine preset.
struct Limits {
  int generation = 4;  // 3 = trn2, 4 = trn3; MX needs 4
  int cores = 2;
  int partitions = 128;                  // of SBUF: PE rows
  int psum_partitions = 128;             // PE columns
  std::int64_t sbuf_bytes = 256 * 1024;  // usable per partition
  int psum_banks = 8;
  std::int64_t psum_bank_bytes = 2 * 1024;
};

class Sink {
 public:
  virtual ~Sink() = default;

  virtual int core() const = 0;  // program_id
  virtual const Limits& limits() const = 0;
  // Takes the instruction in program order and gives it its id. The call takes no machine time.
  virtual std::uint32_t Emit(Engine engine, Body body) = 0;
  // The value of a RegisterLoad emitted earlier; waits, in machine time, until it is there.
  virtual std::int32_t RegisterValue(std::uint32_t register_load_id) = 0;

  // For checkers and observers: a tile takes bytes of every partition of SBUF or PSUM, and gives
  // them back. What is emitted in between may use them. Freed must not throw.
  virtual void Allocated(Memory /*memory*/, std::uint64_t /*begin*/, std::uint64_t /*bytes*/,
                         const std::string& /*name*/) {}
  virtual void Freed(Memory /*memory*/, std::uint64_t /*begin*/) {}
};

}  // namespace bwmm::isa
