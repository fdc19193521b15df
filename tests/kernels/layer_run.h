// One layer on the sequential executor, for tests that change its tensors before the run and look
// at its program after it.
//
//   Layer, routes --> LayerJob --> Fill, Multiply, Set --> Run --> Out, Plane, programs, Compare
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <map>
#include <vector>

#include "host/routing.h"
#include "model/numerics/bf16.h"
#include "model/ops/executor.h"
#include "model/support/sim_error.h"
#include "tests/kernels/layers.h"

namespace bwmm::testing_layers {

// Passes instructions on and keeps a copy.
class RecordingSink final : public isa::Sink {
 public:
  RecordingSink(isa::Sink& sink, std::vector<isa::Instruction>& program)
      : sink_(sink), program_(program) {}
  int core() const override { return sink_.core(); }
  const isa::Limits& limits() const override { return sink_.limits(); }
  std::uint32_t Emit(isa::Engine engine, isa::Body body) override {
    program_.push_back({.id = 0, .core = core(), .engine = engine, .body = body});
    program_.back().id = sink_.Emit(engine, std::move(body));
    return program_.back().id;
  }
  std::int32_t RegisterValue(std::uint32_t id) override { return sink_.RegisterValue(id); }

 private:
  isa::Sink& sink_;
  std::vector<isa::Instruction>& program_;
};

// routes[t] are the experts of token t, -1 for none, each with weight 0.5; empty: the model's
// router decides.
using Routes = std::vector<std::vector<int>>;

inline workloads::LayerJobOptions OptionsOf(Layer layer, const Routes& routes) {
  if (routes.empty())
    return OptionsOf(layer);
  layer.tokens = static_cast<int>(routes.size());
  layer.top_k = static_cast<int>(routes[0].size());
  host::Routing routing{.tokens = layer.tokens, .experts = layer.experts, .top_k = layer.top_k};
  for (const auto& slots : routes) {
    for (const int expert : slots) {
      routing.expert.push_back(expert);
      routing.weight.push_back(expert < 0 ? 0.0f : 0.5f);
    }
  }
  static int files = 0;
  workloads::LayerJobOptions options = OptionsOf(layer);
  options.routing_csv = std::filesystem::temp_directory_path() /
                        fmt::format("bwmm_routes_{}_{}.csv", getpid(), files++);
  host::SaveRoutingCsv(options.routing_csv, routing);
  return options;
}

class LayerRun {
 public:
  explicit LayerRun(const Layer& layer, const Routes& routes = {}, const isa::Limits& limits = {})
      : LayerRun(OptionsOf(layer, routes), limits) {}

  workloads::LayerJob& job() { return job_; }

  void Fill(const std::string& name, float value) {
    Change(name, [=](float) { return value; });
  }
  void Multiply(const std::string& name, float factor) {
    Change(name, [=](float value) { return value * factor; });
  }
  // The first `rows` rows of [.., columns].
  void MultiplyRows(const std::string& name, std::int64_t columns, std::int64_t rows,
                    float factor) {
    std::int64_t i = 0;
    Change(name, [&](float value) { return i++ / columns < rows ? value * factor : value; });
  }
  // Row `row` of [rows, columns].
  void SetRow(const std::string& name, std::int64_t row, std::int64_t columns, float value) {
    std::int64_t i = 0;
    Change(name, [&](float old) { return i++ / columns == row ? value : old; });
  }

  void Run() {
    ops::RunSequentially(limits_, job_.hbm(), [&](isa::Sink& sink) {
      RecordingSink recording(sink, programs_[sink.core()]);
      job_.program()(recording);
    });
    output_ = job_.Output();
  }

  // After Run.
  float Out(std::int64_t token, std::int64_t h) const {
    return FromBf16(output_.words<std::uint16_t>()[token * hidden() + h]);
  }
  const host::HostTensor& output() const { return output_; }
  const std::vector<isa::Instruction>& program(int core) const { return programs_[core]; }
  std::int64_t hidden() const { return output_.shape[1]; }
  std::int64_t tokens() const { return output_.shape[0]; }

  static float FromBf16(std::uint16_t bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  }

  // The blocks a core asked for, in order: loads of 128 partitions from token_position_to_id. A
  // block number on the device is followed through memset and += 1.
  std::vector<std::int64_t> Blocks(int core) {
    const ops::HbmTensor& slots = job_.tensor("token_position_to_id");
    const std::int64_t block_bytes = std::int64_t{4} * job_.layout().block_size;
    std::map<std::uint64_t, std::int64_t> device;  // by SBUF offset
    std::vector<std::int64_t> blocks;
    for (const isa::Instruction& each : programs_[core]) {
      if (const auto* set = std::get_if<isa::Memset>(&each.body))
        device[set->dst.offset] = static_cast<std::int64_t>(set->value);
      if (const auto* op = std::get_if<isa::TensorScalar>(&each.body);
          op != nullptr && op->op0 == isa::AluOp::kAdd && op->dst.elements() == 1)
        ++device[op->dst.offset];
      const auto* copy = std::get_if<isa::DmaCopy>(&each.body);
      if (copy == nullptr || !IsIn(copy->src, slots) || copy->dst.partitions != 128)
        continue;
      blocks.push_back(copy->src_offset
                           ? device.at(copy->src_offset->index.offset)
                           : static_cast<std::int64_t>(copy->src.offset - slots.address) /
                                 block_bytes);
    }
    return blocks;
  }

  static bool IsIn(const isa::Operand& operand, const ops::HbmTensor& tensor) {
    return operand.memory == isa::Memory::kHbm && operand.offset >= tensor.address &&
           operand.offset < tensor.address + tensor.bytes;
  }

 private:
  LayerRun(const workloads::LayerJobOptions& options, const isa::Limits& limits)
      : limits_(limits), job_(options, limits, kHbmBytes, true), programs_(limits.cores) {
    if (!options.routing_csv.empty())
      std::filesystem::remove(options.routing_csv);
  }

  template <typename F>
  void Change(const std::string& name, F f) {
    ops::HbmTensor& tensor = job_.hbm().Find(name);
    if (tensor.dtype == DType::kFp32) {
      for (std::size_t i = 0; i < tensor.data.size(); i += 4) {
        float value = 0;
        std::memcpy(&value, &tensor.data[i], 4);
        value = f(value);
        std::memcpy(&tensor.data[i], &value, 4);
      }
      return;
    }
    if (tensor.dtype != DType::kBf16)
      throw SimError("{}: {}, allowed float32 and bfloat16", name, NameOf(tensor.dtype));
    for (std::size_t i = 0; i < tensor.data.size(); i += 2) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, &tensor.data[i], 2);
      bits = Bf16::RoundFrom(f(FromBf16(bits))).bits();
      std::memcpy(&tensor.data[i], &bits, 2);
    }
  }

  isa::Limits limits_;
  workloads::LayerJob job_;
  host::HostTensor output_;
  std::vector<std::vector<isa::Instruction>> programs_;  // by core
};

inline constexpr std::array kAllVariants = {kernels::MoECTEImplementation::shard_on_block,
                                            kernels::MoECTEImplementation::shard_on_i,
                                            kernels::MoECTEImplementation::shard_on_i_hybrid,
                                            kernels::MoECTEImplementation::shard_on_i_dropping,
                                            kernels::MoECTEImplementation::shard_on_block_mx,
                                            kernels::MoECTEImplementation::shard_on_i_mx,
                                            kernels::MoECTEImplementation::shard_on_i_mx_hybrid};

inline Layer LayerOf(kernels::MoECTEImplementation variant) {
  const bool mx = kernels::IsMx(variant);
  return {.name = std::string(NameOf(variant)),
          .variant = variant,
          .intermediate = mx ? 1024 : 32,
          .weights = mx ? host::WeightLayout::kMxfp4 : host::WeightLayout::kBf16};
}

// What a layer is refused with, or "accepted".
inline std::string RefusalOf(const Layer& layer, const isa::Limits& limits = {}) {
  try {
    workloads::LayerJob job(OptionsOf(layer), limits, kHbmBytes, false);
  } catch (const SimError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace bwmm::testing_layers
