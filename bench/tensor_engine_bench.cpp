// Speed of the TensorEngine's twins, as a table:
//
//   RTL      kHz with every row of the array busy, per mode; microseconds per idle cycle
//   fast     MAC/s of the same commands
//
// Each figure is the median of several runs, in processor time, so that a busy host disturbs less.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "model/engine/make_engines.h"
#include "model/ops/matmul.h"
#include "model/ops/matmul_mx.h"

namespace bwmm::engine {
namespace {

constexpr int kRuns = 5;
constexpr int kRows = 128;
constexpr int kMovingRows = 512;

double Seconds(const auto& work) {
  std::vector<double> seconds;
  for (int run = 0; run < kRuns; ++run) {
    const std::clock_t begin = std::clock();
    work();
    seconds.push_back(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[kRuns / 2];
}

struct Workload {
  std::string name;
  PeMode mode;
  DType w_type;
  DType x_type;
};

const Workload kWorkloads[] = {
    {"bf16", PeMode::kOrdinary, DType::kBf16, DType::kBf16},
    {"fp8 e4m3fn", PeMode::kOrdinary, DType::kFp8E4M3Fn, DType::kFp8E4M3Fn},
    {"mx fp4 x e4m3fn", PeMode::kMx, DType::kFp4E2M1FnX4, DType::kFp8E4M3FnX4},
    {"mx e4m3fn", PeMode::kMx, DType::kFp8E4M3FnX4, DType::kFp8E4M3FnX4},
    {"mx e5m2", PeMode::kMx, DType::kFp8E5M2X4, DType::kFp8E5M2X4},
};

// Element bits without Inf or NaN in any of the types.
std::vector<std::uint32_t> Elements(std::size_t count) {
  std::vector<std::uint32_t> elements(count);
  std::uint32_t state = 1;
  for (std::uint32_t& element : elements) {
    state = state * 1664525 + 1013904223;
    element = (state >> 1) & 0x3b3b3b3b;
  }
  return elements;
}

struct Operands {
  LoadCommand load;
  MoveCommand move;
};

Operands OperandsOf(const Workload& workload) {
  Operands operands;
  operands.load.mode = operands.move.mode = workload.mode;
  operands.load.dtype = workload.w_type;
  operands.load.rows = operands.load.cols = operands.move.rows = kRows;
  operands.load.data = Elements(std::size_t{kRows} * kRows);
  operands.move.dtype = workload.x_type;
  operands.move.n = kMovingRows;
  operands.move.data = Elements(std::size_t{kRows} * kMovingRows);
  if (workload.mode == PeMode::kMx) {
    operands.load.scales.assign(kRows / 8 * kRows, 0x7f);
    operands.move.scales.assign(kRows / 8 * kMovingRows, 0x7f);
  }
  return operands;
}

// Cycles per second while rows enter and leave the array at every edge.
double RtlKilohertz(const Workload& workload) {
  const auto engine = MakeRtlTensorEngine({});
  const Operands operands = OperandsOf(workload);
  const auto feed = [&](Cycle until) {
    while (engine->cycle() < until) {
      if (engine->CanPush())
        engine->Push(operands.move);
      engine->AdvanceTo(engine->cycle() + 1);
    }
  };
  engine->Push(operands.load);
  feed(400);
  constexpr Cycle kCycles = 2000;
  return kCycles / Seconds([&] { feed(engine->cycle() + kCycles); }) / 1e3;
}

// A clocked cycle with one live row: an upper bound for a clocked cycle with none.
double RtlOneRowMicroseconds() {
  const auto engine = MakeRtlTensorEngine({.min_interval = kRows});
  Operands operands = OperandsOf(kWorkloads[0]);
  operands.move.n = 1;
  operands.move.data.resize(kRows);
  engine->Push(operands.load);
  engine->AdvanceTo(100);
  // One row enters per kRows edges, because a matmul holds the port that long.
  constexpr int kCycles = 4 * kRows;
  return Seconds([&] {
           for (int i = 0; i < kCycles; ++i) {
             if (i % kRows == 0)
               engine->Push(operands.move);
             engine->AdvanceTo(engine->cycle() + 1);
           }
         }) /
         kCycles * 1e6;
}

// AdvanceTo over an idle engine, per cycle skipped.
double RtlIdleMicroseconds() {
  const auto engine = MakeRtlTensorEngine({});
  constexpr Cycle kCycles = 1000000;
  return Seconds([&] { engine->AdvanceTo(engine->cycle() + kCycles); }) / kCycles * 1e6;
}

double FastMacsPerSecond(const Workload& workload) {
  const Operands operands = OperandsOf(workload);
  std::vector<float> out(std::size_t{kMovingRows} * kRows);
  const double lanes = workload.mode == PeMode::kMx ? 4 : 1;
  constexpr int kRepeat = 8;
  const double seconds = Seconds([&] {
    for (int i = 0; i < kRepeat; ++i) {
      if (workload.mode == PeMode::kMx)
        ops::MatmulMx(workload.w_type, operands.load.data.data(), operands.load.scales.data(),
                      workload.x_type, operands.move.data.data(), operands.move.scales.data(),
                      kRows, kRows, kMovingRows, out.data());
      else
        ops::Matmul(workload.w_type, operands.load.data.data(), workload.x_type,
                    operands.move.data.data(), kRows, kRows, kMovingRows, out.data());
    }
  });
  return lanes * kRepeat * kRows * kRows * kMovingRows / seconds;
}

}  // namespace

int Main() {
  fmt::print("{:<18}{:>12}{:>14}{:>16}\n", "operands", "RTL kHz", "RTL GMAC/s", "fast GMAC/s");
  for (const Workload& workload : kWorkloads) {
    const double kilohertz = RtlKilohertz(workload);
    const double lanes = workload.mode == PeMode::kMx ? 4 : 1;
    fmt::print("{:<18}{:>12.1f}{:>14.2f}{:>16.2f}\n", workload.name, kilohertz,
               kilohertz * 1e3 * kRows * kRows * lanes / 1e9, FastMacsPerSecond(workload) / 1e9);
  }
  fmt::print("RTL cycle with one live row: {:.2f} us\n", RtlOneRowMicroseconds());
  fmt::print("RTL idle cycle: {:.6f} us\n", RtlIdleMicroseconds());
  return 0;
}

}  // namespace bwmm::engine

int main() {
  return bwmm::engine::Main();
}
