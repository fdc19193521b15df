// One MoE layer ready to run: tensors in HBM, the kernel's arguments, and the judge of its result.
//
//   model + routing --> block layout --> layer tensors --> HBM --> MoeCte program
//                                                           |
//                 output [T, H] --checksum, comparison with the reference
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "host/block_layout.h"
#include "host/layer_config.h"
#include "host/layer_data.h"
#include "kernels/moe_cte/kernel_options.h"
#include "kernels/moe_cte/moe_cte.h"
#include "kernels/moe_cte/moe_cte_ref.h"
#include "model/ops/executor.h"
#include "model/ops/memory.h"

namespace bwmm::workloads {

enum class Fit { kFits, kBuffersTooLarge, kRefused };

struct LayerJobOptions {
  host::LayerConfig model;
  kernels::MoECTEImplementation variant = kernels::MoECTEImplementation::shard_on_i_mx;
  int tokens = 256;
  int block_size = 256;
  std::filesystem::path routing_csv = {};  // empty: generated from the model's router and `seed`
  std::uint64_t seed = 1;
  kernels::KernelOptions kernel = {};
};

class LayerJob {
 public:
  // Refuses what can be refused before tensors are filled: routing, shapes, variant, and buffers
  // that do not fit (a dry run of the kernel). Without data only control tensors are filled.
  LayerJob(const LayerJobOptions& options, const isa::Limits& limits, std::uint64_t hbm_bytes,
           bool with_data);

  ops::Hbm& hbm() { return hbm_; }
  ops::Program program() const;
  void Run(isa::Sink& sink) const;

  const host::LayerShape& shape() const { return tensors_.shape; }
  const host::BlockLayout& layout() const { return layout_; }
  const host::LayerTensors& tensors() const { return tensors_; }
  host::WeightLayout weights() const { return tensors_.layout; }
  std::int64_t weight_bytes() const { return tensors_.weight_bytes(); }
  // Instructions of all cores, as the dry run counted them.
  std::uint64_t instructions() const { return instructions_; }

  // Whether the kernel takes the layer, without the rest of a job.
  static Fit DryRunOf(const LayerJobOptions& options, const isa::Limits& limits);

  // The layer's result without padding, bf16 [T, H].
  host::HostTensor Output();
  // Any tensor the kernel wrote, whole: checkpoints.
  const ops::HbmTensor& tensor(const std::string& name) { return hbm_.Find(name); }
  // Rows of tokens, each with its expert, that the layer computes.
  std::int64_t rows() const;
  // Multiply-adds of those rows without any padding, and with that of H and I: the reference's.
  double UsefulWork() const;
  double ReferenceWork() const;
  // What the result must be. Takes the tensors out of HBM, which can run no more. `worst_case`: a
  // bound of magnitudes alone, without statistics.
  reference::MoeCteResult Expected(bool worst_case = false);
  reference::Comparison CompareWith(const reference::MoeCteResult& expected);
  reference::Comparison Compare(bool worst_case = false) {
    return CompareWith(Expected(worst_case));
  }

 private:
  // Shapes only, not yet dry run.
  LayerJob(const LayerJobOptions& options, int cores);

  struct Placed {
    host::HostTensor* host = nullptr;
    ops::HbmTensor* hbm = nullptr;
  };

  void PlaceTensors(bool with_data);
  lang::HbmTensor Place(host::HostTensor& tensor, bool with_data);
  DType PlacedType(DType type) const;
  lang::HbmTensor PlaceResult(const std::string& name, std::vector<std::int64_t> shape,
                              bool with_data);
  void PlaceControl();
  void PlaceResults(bool with_data);
  void SetOptions();
  kernels::MoECTESpec spec() const { return options_.kernel.SpecFor(options_.variant); }
  // Row t of the result, in plane 0 where there are several.
  const std::byte* ResultRow(int t);
  // No token is routed, or all with weight 0: the right output is zero.
  bool NothingHasWeight() const;

  LayerJobOptions options_;
  int cores_;
  host::Routing routing_;
  host::BlockLayout layout_;
  host::LayerTensors tensors_;
  ops::Hbm hbm_;
  kernels::MoeCteArgs args_;
  std::vector<Placed> placed_;
  std::uint64_t instructions_ = 0;
};

}  // namespace bwmm::workloads
