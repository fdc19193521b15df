// Throughput of the loops every simulated byte goes through: bulk conversion, activations and
// quantize_mx. items_per_second counts elements.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "model/isa/activation.h"
#include "model/numerics/convert.h"
#include "model/ops/activation.h"
#include "model/ops/quantize_mx.h"

namespace bwmm {
namespace {

constexpr int kElements = 4096;  // one partition's worth: stays in the first-level cache

std::vector<float> Values(int count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  std::vector<float> values(count);
  for (float& value : values)
    value = normal(random);
  return values;
}

void BenchWiden(benchmark::State& state, DType type) {
  const std::vector<float> values = Values(kElements);
  std::vector<std::byte> bytes(kElements * SizeOf(type));
  RoundTo(type, values.data(), kElements, bytes.data(), SizeOf(type));
  std::vector<float> out(kElements);
  for (auto _ : state) {
    Widen(type, bytes.data(), SizeOf(type), kElements, out.data());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kElements);
}

void BenchRoundTo(benchmark::State& state, DType type) {
  const std::vector<float> values = Values(kElements);
  std::vector<std::byte> bytes(kElements * SizeOf(type));
  for (auto _ : state) {
    RoundTo(type, values.data(), kElements, bytes.data(), SizeOf(type));
    benchmark::DoNotOptimize(bytes.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kElements);
}

void BenchActivate(benchmark::State& state, Activation function) {
  const std::vector<float> values = Values(kElements);
  std::vector<float> out(kElements);
  for (auto _ : state) {
    ops::Activate(function, values.data(), kElements, out.data());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kElements);
}

void BenchQuantizeMx(benchmark::State& state, DType source, DType target) {
  constexpr int kRows = 128, kColumns = 512;
  const std::vector<float> values = Values(kRows * 4 * kColumns);
  std::vector<std::uint16_t> data(values.size());
  RoundTo(source, values.data(), static_cast<int>(values.size()),
          reinterpret_cast<std::byte*>(data.data()), 2);
  std::vector<std::uint32_t> words(kRows * kColumns);
  std::vector<std::uint8_t> scales(kRows / 8 * kColumns);
  for (auto _ : state) {
    ops::QuantizeMx(source, target, ScaleRule::kX2, data.data(), kRows, kColumns, words.data(),
                    scales.data());
    benchmark::DoNotOptimize(words.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kRows * 4 * kColumns);
}

void RegisterAll() {
  for (const DType type : {DType::kFp32, DType::kBf16, DType::kFp16, DType::kFp8E4M3Fn,
                           DType::kFp8E5M2, DType::kInt32}) {
    const std::string name(NameOf(type));
    benchmark::RegisterBenchmark(("widen/" + name).c_str(), BenchWiden, type);
    benchmark::RegisterBenchmark(("round_to/" + name).c_str(), BenchRoundTo, type);
  }
  for (const Activation function :
       {Activation::kIdentity, Activation::kSilu, Activation::kSwish, Activation::kGelu,
        Activation::kGeluTanh, Activation::kReluSquared, Activation::kSigmoid, Activation::kExp}) {
    benchmark::RegisterBenchmark(("activate/" + std::string(NameOf(function))).c_str(),
                                 BenchActivate, function);
  }
  for (const DType source : {DType::kBf16, DType::kFp16}) {
    for (const DType target : {DType::kFp8E4M3FnX4, DType::kFp8E5M2X4}) {
      const std::string name = std::string(NameOf(source)) + "/" + std::string(NameOf(target));
      benchmark::RegisterBenchmark(("quantize_mx/" + name).c_str(), BenchQuantizeMx, source,
                                   target);
    }
  }
}

}  // namespace
}  // namespace bwmm

int main(int argc, char** argv) {
  bwmm::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
