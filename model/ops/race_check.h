// Finds races between the cores: two accesses to the same bytes of HBM, one of them a write, that
// nothing puts in order. HBM is all the cores share; a sendrecv reads and writes each core's own
// SBUF, as any instruction does.
//
//   core 0   scatter out[7] ------ core_barrier out ------ ...
//                                       |
//   core 1                         core_barrier out ------ gather out[7]      in order
//
// Accesses come in the order in which they happen in this run, but what is asked is whether every
// run must have that order. The k-th core_barrier on a tensor of one core meets the k-th of all
// others, so counting them answers nearly always:
//
//   an access behind k barriers on its tensor is over before an access of another core that
//   stands behind more than k of them
//
// Only where that fails, OrderGraph looks for another way: sendrecv, hazards, registers. Addresses
// are enough, so it works at every fidelity.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/isa/operand_use.h"
#include "model/isa/sink.h"
#include "model/ops/execute.h"
#include "model/ops/order_graph.h"
#include "model/support/sim_error.h"

namespace bwmm::ops {

class Race : public SimError {
 public:
  using SimError::SimError;
};

class RaceChecker {
 public:
  RaceChecker(int cores, Hbm& hbm) : cores_(cores), hbm_(hbm), order_(cores) {}

  // In each core's program order.
  void Emitted(const isa::Instruction& instruction, std::vector<isa::Access> accesses);
  void RegisterRead(int core, std::uint32_t register_load);

  // Operands are about to be read. Race, naming both instructions, the bytes and what is missing;
  // SimError for a write to a tensor that is the program's input.
  void Observe(const isa::Instruction& instruction, CoreMemory& memory);

 private:
  static constexpr int kCoreReads = 8;  // kept of a core's reads of one place, at least

  struct Record {
    int core = 0;
    std::uint32_t id = 0;
    std::uint32_t barriers = 0;  // on the tensor, of its core, before it
    std::string_view opcode;
  };
  // The last write of these bytes and the reads since that a later write may race with.
  struct Cell {
    std::uint64_t end = 0;
    bool written = false;
    Record write;
    std::vector<Record> reads;
  };
  struct Tensor {
    std::vector<std::uint32_t> barriers;  // by core
    std::map<std::uint64_t, Cell> cells;  // by first byte
  };
  using Cells = std::map<std::uint64_t, Cell>;

  void Use(const isa::OperandUse& use, bool write, CoreMemory& memory);
  void Access(const isa::Operand& operand, bool write);
  void AccessBytes(const HbmTensor& tensor, Tensor& shadow, std::uint64_t begin, std::uint64_t end,
                   bool write);
  void Barrier(const isa::Operand& data);
  Tensor& ShadowOf(const HbmTensor& tensor);
  // Makes [begin, end) a whole number of cells and answers the first.
  static Cells::iterator Cut(Cells& cells, std::uint64_t begin, std::uint64_t end);
  void Read(const HbmTensor& tensor, const Tensor& shadow, std::uint64_t begin, Cell& cell);
  void Thin(const Tensor& shadow, std::vector<Record>& reads) const;
  void Write(const HbmTensor& tensor, std::uint64_t begin, Cell& cell);
  void Require(const HbmTensor& tensor, std::uint64_t begin, const Cell& cell,
               const Record& earlier, bool earlier_writes, bool writes);

  int cores_;
  Hbm& hbm_;
  OrderGraph order_;
  std::map<std::uint64_t, Tensor> tensors_;  // by address
  Record now_;                               // the instruction being observed
};

}  // namespace bwmm::ops
