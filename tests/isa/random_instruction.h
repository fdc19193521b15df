// Any instruction, legal or not: every field takes values that a careless text form would lose.
#pragma once

#include <bit>
#include <random>
#include <utility>

#include "model/isa/instruction.h"

namespace bwmm::test {

class RandomInstruction {
 public:
  explicit RandomInstruction(std::mt19937& random) : random_(random) {}

  isa::Instruction Next() {
    isa::Instruction i{.id = static_cast<std::uint32_t>(random_()),
                       .core = Pick(2),
                       .engine = static_cast<isa::Engine>(Pick(isa::kEngines)),
                       .body = {}};
    i.body = AnyBody(Pick(std::variant_size_v<isa::Body>),
                     std::make_index_sequence<std::variant_size_v<isa::Body>>());
    std::visit([this](auto& body) { Fill(body); }, i.body);
    return i;
  }

  isa::Operand Operand() {
    isa::Operand o{.memory = static_cast<isa::Memory>(Pick(3)),
                   .dtype = static_cast<DType>(Pick(15)),
                   .partitions = Pick(4) == 0 ? 1 : Pick(129),
                   .offset = random_() % (std::uint64_t{1} << (1 + Pick(48))),
                   .rank = Pick(5)};
    std::int64_t dense = 1;
    for (int d = o.rank - 1; d >= 0; --d) {
      o.dims[d].size = Pick(3) == 0 ? 1 : Pick(70);
      o.dims[d].stride = Pick(2) == 0 ? dense : Pick(9) - 2;
      dense *= o.dims[d].size;
    }
    if (o.memory == isa::Memory::kHbm)
      o.partition_stride = Pick(2) == 0 ? dense : Pick(5000) - 100;
    else
      o.partition = Pick(128);
    return o;
  }

 private:
  int Pick(int count) { return static_cast<int>(random_() % count); }
  template <std::size_t... kIndex>
  isa::Body AnyBody(int index, std::index_sequence<kIndex...>) {
    isa::Body body;
    ((static_cast<int>(kIndex) == index ? void(body.emplace<kIndex>()) : void()), ...);
    return body;
  }
  float Float() {
    constexpr std::uint32_t kEdges[] = {0,          0x80000000, 1,          0x807fffff,
                                        0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
                                        0xffc00000, 0x7f800001, 0x3f800000, 0x3dcccccd};
    return std::bit_cast<float>(Pick(2) == 0 ? kEdges[Pick(12)]
                                             : static_cast<std::uint32_t>(random_()));
  }
  std::int32_t Int() { return static_cast<std::int32_t>(random_()); }
  isa::ScalarArg Scalar() {
    return Pick(2) == 0 ? isa::ScalarArg(Float()) : isa::ScalarArg(Operand());
  }
  std::optional<isa::Operand> MaybeOperand() {
    return Pick(2) == 0 ? std::nullopt : std::optional(Operand());
  }
  isa::AluOp Alu() { return static_cast<isa::AluOp>(Pick(6)); }
  PeMode Mode() { return static_cast<PeMode>(Pick(4)); }
  isa::OutOfBounds Oob() { return static_cast<isa::OutOfBounds>(Pick(2)); }
  std::optional<isa::VectorOffset> Rows() {
    if (Pick(2) == 0)
      return std::nullopt;
    return isa::VectorOffset{Operand(), Pick(1 << 20), Pick(1 << 16) - 9, Oob()};
  }
  std::optional<isa::ScalarOffset> Offset() {
    if (Pick(2) == 0)
      return std::nullopt;
    return isa::ScalarOffset{Operand(), Pick(1 << 20), Pick(1 << 16) - 9, Oob()};
  }
  std::optional<PePart> Part() {
    return Pick(2) == 0 ? std::nullopt : std::optional(static_cast<PePart>(Pick(2)));
  }

  void Fill(isa::LoadStationary& i) { i = {Mode(), Operand(), MaybeOperand(), Part()}; }
  void Fill(isa::MultiplyMoving& i) {
    i = {Mode(), Operand(), Operand(), MaybeOperand(), Pick(2) == 0, Part()};
  }
  void Fill(isa::QuantizeMx& i) {
    i = {Operand(), Operand(), Operand(), static_cast<ScaleRule>(Pick(2))};
  }
  void Fill(isa::ActivationOp& i) {
    i = {static_cast<Activation>(Pick(8)),
         Operand(),
         Operand(),
         Float(),
         MaybeOperand(),
         MaybeOperand()};
  }
  void Fill(isa::TensorTensor& i) { i = {Alu(), Operand(), Operand(), Operand()}; }
  void Fill(isa::TensorScalar& i) {
    i = {Operand(), Operand(), Alu(), Scalar(), std::nullopt, Scalar()};
    if (Pick(2) == 0)
      i.op1 = Alu();
  }
  void Fill(isa::ScalarTensorTensor& i) {
    i = {Operand(), Operand(), Alu(), Scalar(), Alu(), Operand()};
  }
  void Fill(isa::TensorReduce& i) { i = {Alu(), Operand(), Operand()}; }
  void Fill(isa::TensorCopy& i) { i = {Operand(), Operand()}; }
  void Fill(isa::Memset& i) { i = {Operand(), Float()}; }
  void Fill(isa::Iota& i) { i = {Operand(), Int(), Int(), Int()}; }
  void Fill(isa::Max8& i) { i = {Operand(), Operand()}; }
  void Fill(isa::DmaCopy& i) { i = {Operand(), Operand(), Rows(), Rows(), Offset(), Offset()}; }
  void Fill(isa::DmaCompute& i) {
    i.dst = Operand();
    i.sources.clear();
    for (int n = Pick(5); n > 0; --n)
      i.sources.push_back(Operand());
  }
  void Fill(isa::SendRecv& i) { i = {Operand(), Operand(), Pick(3) - 1, Pick(200) - 100}; }
  void Fill(isa::CoreBarrier& i) { i = {Operand()}; }
  void Fill(isa::RegisterLoad& i) { i = {Operand()}; }

  std::mt19937& random_;
};

}  // namespace bwmm::test
