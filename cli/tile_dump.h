// bwmm run --dump-tile: one tile of a layer as files that bwmm matmul replays.
//
//   load_stationary, multiply_moving, multiply_moving (accumulate), ..   into one PSUM tile
//            operands as the PE array reads them -> stationary, moving and their scales
//            PSUM after the named multiply       -> psum
//
// A multiply that accumulates is worth nothing without the ones before it, so the whole chain since
// the last overwrite is kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cli/run_options.h"
#include "model/ops/observer.h"
#include "model/ops/pe_operands.h"

namespace bwmm::cli {

class TileDump final : public ops::Observer {
 public:
  // `option`: core,instruction id,directory. SimError when it is none, or when the directory
  // cannot be made or written to.
  explicit TileDump(const std::string& option);

  // What Write and the script it writes may write to, for CheckDistinct.
  std::vector<NamedFile> Files() const;

  bool Wants(ops::Event event) const override {
    return event == ops::Event::kReading || event == ops::Event::kCompleted;
  }
  void ReadsOperands(const ops::Reading& reading) override;
  void Completed(const ops::Completion& completion) override;

  // After the run: writes the files, and the line that replays them. SimError when the core had no
  // such instruction.
  void Write(const CommonOptions& common) const;

 private:
  // One pass through the PE array.
  struct Pass {
    DType stationary_dtype, moving_dtype;
    ops::PeOperand stationary, moving;
  };
  using PsumTile = std::tuple<std::uint64_t, DType, std::int64_t, std::int64_t>;

  // The chain of its PSUM tile with this pass at the end.
  std::vector<Pass>& Multiply(const isa::MultiplyMoving& multiply, const ops::MemoryView& memory);
  void WriteOperand(const std::string& name, DType dtype,
                    const std::vector<const ops::PeOperand*>& passes) const;
  std::string ReplayLine(const CommonOptions& common) const;

  std::string option_;
  int core_ = 0;
  std::uint32_t id_ = 0;
  std::filesystem::path folder_;

  isa::LoadStationary load_;
  ops::PeOperand stationary_;
  std::map<PsumTile, std::vector<Pass>> chains_;
  std::optional<isa::MultiplyMoving> tile_;  // the named multiply, once it has been read
  std::vector<Pass> passes_;                 // its chain
  std::vector<std::uint32_t> psum_;          // [M][N], bits of its type
};

}  // namespace bwmm::cli
