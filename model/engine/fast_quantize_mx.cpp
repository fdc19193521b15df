// quantize_mx in C++: bits from model/ops, cycles from the pipeline's depth.
#include <memory>

#include "model/engine/make_engines.h"
#include "model/engine/quantize_mx_job.h"
#include "model/numerics/scale_group.h"
#include "model/ops/quantize_mx.h"
#include "model/support/sim_error.h"

namespace bwmm::engine {
namespace {

class FastQuantizeMx final : public QuantizeMxEngine {
 public:
  QuantizeMxResult Run(const QuantizeMxJob& job) override {
    CheckQuantizeMxJob(job);
    QuantizeMxResult result;
    result.words.resize(std::size_t{1} * job.rows * job.columns);
    result.scales.resize(std::size_t{1} * kMxGroup.ScaleRows(job.rows) * job.columns);
    ops::QuantizeMx(job.source, job.target, job.rule, job.data.data(), job.rows, job.columns,
                    result.words.data(), result.scales.data());
    result.cycles = job.columns - 1 + kQuantizeMxLatency;
    return result;
  }
};

}  // namespace

void CheckQuantizeMxJob(const QuantizeMxJob& job) {
  if (job.source != DType::kBf16 && job.source != DType::kFp16)
    throw SimError("quantize_mx: source is {}, allowed bfloat16 and float16", NameOf(job.source));
  if (job.target != DType::kFp8E4M3FnX4 && job.target != DType::kFp8E5M2X4)
    throw SimError("quantize_mx: target is {}, allowed float8_e4m3fn_x4 and float8_e5m2_x4",
                   NameOf(job.target));
  if (job.rows < 1 || job.rows > kTilePartitions || job.rows % kQuadrantPartitions != 0)
    throw SimError("quantize_mx: rows is {}, allowed 32, 64, 96 and 128", job.rows);
  if (job.columns < 1)
    throw SimError("quantize_mx: columns is {}, allowed 1 and more", job.columns);
  const std::size_t elements = std::size_t{kMxGroup.lanes} * job.rows * job.columns;
  if (job.data.size() != elements)
    throw SimError("quantize_mx: data has {} elements, expected {}", job.data.size(), elements);
}

std::unique_ptr<QuantizeMxEngine> MakeFastQuantizeMx() {
  return std::make_unique<FastQuantizeMx>();
}

}  // namespace bwmm::engine
