// What random programs hold: each instruction is taken apart into facts, which are counted.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>

#include "model/isa/instruction.h"
#include "replay/replay_program.h"

namespace bwmm::test {

class Coverage {
 public:
  void Add(const replay::ReplayProgram& program) {
    for (const auto& steps : program.cores) {
      for (const replay::ReplayStep& step : steps) {
        opcode_ = isa::OpcodeOf(step.instruction);
        Count(fmt::format("{} on {}", opcode_, NameOf(step.instruction.engine)));
        if (step.when)
          Count("under a register");
        std::visit([this](const auto& body) { Body(body); }, step.instruction.body);
      }
    }
  }

  int Of(const std::string& fact) const {
    const auto found = counts_.find(fact);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  void Count(const std::string& fact) { ++counts_[fact]; }
  void Say(std::string_view fact) { Count(fmt::format("{} {}", opcode_, fact)); }

  static std::string_view NameOf(isa::Memory memory) {
    return memory == isa::Memory::kHbm ? "hbm" : memory == isa::Memory::kSbuf ? "sbuf" : "psum";
  }
  static std::string_view NameOf(isa::Engine engine) { return isa::NameOf(engine); }

  // The type of each role of each instruction; the form of each operand.
  void Operand(std::string_view role, const isa::Operand& o) {
    Say(fmt::format("{} {}", role, bwmm::NameOf(o.dtype)));
    Say(fmt::format("{} in {}", role, NameOf(o.memory)));
    Count(fmt::format("{} rank {}", role, o.rank));
    if (o.memory != isa::Memory::kHbm && o.partition > 0)
      Count(fmt::format("{} at another partition", role));
    std::int64_t dense = 1;
    bool strided = false, permuted = false, repeated = false;
    for (int i = o.rank - 1; i >= 0; --i) {
      const isa::Dim& dim = o.dims[i];
      if (dim.size == 1)
        continue;
      repeated |= dim.stride == 0;
      strided |= dim.stride > dense;
      permuted |= dim.stride > 0 && dim.stride < dense;
      dense *= dim.size;
    }
    if (repeated)
      Count(fmt::format("{} repeated", role));
    if (strided)
      Count(fmt::format("{} strided", role));
    if (permuted)
      Count(fmt::format("{} permuted", role));
  }
  void Scalar(const isa::ScalarArg& scalar, std::int64_t partitions) {
    if (std::holds_alternative<float>(scalar))
      return Say("scalar constant");
    const auto& operand = std::get<isa::Operand>(scalar);
    Operand("scalar", operand);
    if (partitions > 1)
      Say(operand.partitions == 1 ? "scalar for all partitions" : "scalar per partition");
  }

  void Body(const isa::LoadStationary& i) {
    Say(bwmm::NameOf(i.mode));
    Say(fmt::format("{} {}", bwmm::NameOf(i.mode), bwmm::NameOf(i.stationary.dtype)));
    if (i.part)
      Say(fmt::format("part {}", bwmm::NameOf(*i.part)));
    Operand("src", i.stationary);
    if (i.scale)
      Operand("scale", *i.scale);
  }
  void Body(const isa::MultiplyMoving& i) {
    const auto mode = bwmm::NameOf(i.mode);
    Say(fmt::format("{} into {}{}", mode, bwmm::NameOf(i.dst.dtype),
                    i.accumulate ? " accumulating" : ""));
    Say(fmt::format("{} {}", mode, bwmm::NameOf(i.moving.dtype)));
    if (i.part)
      Say(fmt::format("part {}", bwmm::NameOf(*i.part)));
    const std::int64_t n = i.dst.free_size();
    Say(n == 1 ? "one row" : n < 64 ? "short" : n <= 512 ? "up to a bank" : "beyond a bank");
    if (i.scale)
      Operand("scale", *i.scale);
  }
  void Body(const isa::QuantizeMx& i) {
    Say(i.rule == ScaleRule::kX2 ? "x2" : "ocp");
    Operand("src", i.src);
    Operand("dst", i.dst);
    Operand("scale", i.dst_scale);
  }
  void Body(const isa::ActivationOp& i) {
    Say(bwmm::NameOf(i.function));
    Operand("src", i.src);
    Operand("dst", i.dst);
    if (i.bias)
      Scalar(*i.bias, i.dst.partitions);
    if (!(i.scale == 1.0f))
      Say("scaled");
    if (i.reduce_res) {
      Say("with sums");
      Operand("dst", *i.reduce_res);
    }
  }
  void Body(const isa::TensorTensor& i) {
    Say(isa::NameOf(i.op));
    Operand("dst", i.dst);
    Operand("src", i.a);
    Operand("src", i.b);
    Whole(i.dst, i.a, i.b);
  }
  void Body(const isa::TensorScalar& i) {
    Say(isa::NameOf(i.op0));
    Say(i.op1 ? "two operations" : "one operation");
    Operand("dst", i.dst);
    Operand("src", i.src);
    Scalar(i.scalar0, i.dst.partitions);
    Whole(i.dst, i.src, i.src);
  }
  void Body(const isa::ScalarTensorTensor& i) {
    Say(isa::NameOf(i.op0));
    Operand("dst", i.dst);
    Operand("src", i.data);
    Operand("src", i.tensor);
    Scalar(i.scalar, i.dst.partitions);
    Whole(i.dst, i.data, i.tensor);
  }
  void Body(const isa::TensorReduce& i) {
    Say(isa::NameOf(i.op));
    Operand("dst", i.dst);
    Operand("src", i.src);
    Whole(i.dst, i.src, i.src);
  }
  void Body(const isa::TensorCopy& i) {
    Operand("dst", i.dst);
    Operand("src", i.src);
    Say(i.dst.dtype == i.src.dtype ? "of bits" : "converting");
  }
  void Body(const isa::Max8& i) {
    Operand("dst", i.dst);
    Operand("src", i.src);
    Whole(i.dst, i.src, i.src);
  }
  void Body(const isa::Memset& i) {
    Operand("dst", i.dst);
    Say(i.value != i.value ? "NaN" : i.value - i.value != 0 ? "Inf" : "a number");
  }
  void Body(const isa::Iota& i) { Operand("dst", i.dst); }
  void Body(const isa::DmaCopy& i) {
    Operand("dst", i.dst);
    Operand("src", i.src);
    Say(fmt::format("{} to {}", NameOf(i.src.memory), NameOf(i.dst.memory)));
    Say(i.dst.dtype == i.src.dtype ? "of bits" : "converting");
    if (i.src.partitions == 1 && i.dst.partitions > 1)
      Say("broadcast");
    const auto dynamic = [this](std::string_view name, const auto& part) {
      if (part)
        Say(fmt::format("{} {}", name, part->oob == isa::OutOfBounds::kSkip ? "skip" : "error"));
    };
    dynamic("gather", i.gather);
    dynamic("scatter", i.scatter);
    dynamic("src_offset", i.src_offset);
    dynamic("dst_offset", i.dst_offset);
    if (i.gather && i.src_offset)
      Say("gather with src_offset");
    if (i.scatter && i.dst_offset)
      Say("scatter with dst_offset");
  }
  void Body(const isa::DmaCompute& i) {
    Operand("dst", i.dst);
    for (const isa::Operand& source : i.sources)
      Operand("src", source);
    Say(fmt::format("of {}", i.sources.size()));
  }
  void Body(const isa::SendRecv& i) {
    Operand("src", i.src);
    Say(fmt::format("pipe {}", i.pipe_id));
  }
  void Body(const isa::CoreBarrier&) {}
  void Body(const isa::RegisterLoad& i) { Operand("src", i.src); }

  void Whole(const isa::Operand& a, const isa::Operand& b, const isa::Operand& c) {
    if (a.dtype == DType::kInt32 && b.dtype == DType::kInt32 && c.dtype == DType::kInt32)
      Say("of integers");
  }

  std::string_view opcode_;
  std::map<std::string, int> counts_;
};

}  // namespace bwmm::test
