// An operand as rows of values: resolves HBM, SBUF and PSUM to bytes and widens or rounds rows.
//
// PSUM is stored word-row by word-row in the TensorEngine; a view copies the words it needs to a
// partition-major mirror and writes them back in Commit.
#pragma once

#include <cstdint>
#include <vector>

#include "model/isa/operand.h"
#include "model/ops/execute.h"

namespace bwmm::ops {

class OperandView {
 public:
  OperandView(const isa::Operand& operand, CoreMemory& memory);

  std::int64_t partitions() const { return operand_.partitions; }
  std::int64_t free_size() const { return operand_.free_size(); }
  DType dtype() const { return operand_.dtype; }
  // First byte of row p; null when the tensor has no data.
  std::byte* Row(std::int64_t p);

  void Load(std::int64_t p, float* values);
  void Store(std::int64_t p, const float* values);
  void LoadInts(std::int64_t p, std::int64_t* values);
  void StoreInts(std::int64_t p, const std::int64_t* values);  // saturates to int32

  // Writes a PSUM mirror back; nothing to do elsewhere.
  void Commit();

 private:
  // Calls f(byte offset from the row's start, stride in bytes, count, index of first value).
  template <typename F>
  void ForEachRun(F f) const;

  isa::Operand operand_;
  CoreMemory& memory_;
  std::vector<std::uint32_t> mirror_;  // PSUM: [partitions][words]
  int first_word_ = 0;
  int words_ = 0;
};

}  // namespace bwmm::ops
