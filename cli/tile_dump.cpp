#include "cli/tile_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

#include "host/tensor_file.h"
#include "model/numerics/scale_group.h"
#include "model/support/part_file.h"
#include "model/support/setting.h"
#include "model/support/sim_error.h"
#include "model/support/write_file.h"

namespace bwmm::cli {
namespace {

constexpr int kPassRows = 128;
constexpr int kPsumLanes = 128;  // of a row, which is read whole

host::HostTensor TensorOf(const std::string& name, DType dtype, std::int64_t rows,
                          std::int64_t columns, const std::vector<std::uint32_t>& words) {
  auto tensor = host::HostTensor::Zeros(name, dtype, {rows, columns});
  const std::size_t bytes = SizeOf(dtype);
  for (std::size_t i = 0; i < words.size(); ++i)
    std::memcpy(&tensor.data[i * bytes], &words[i], bytes);
  return tensor;
}

// For a POSIX shell.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

TileDump::TileDump(const std::string& option) : option_(option) {
  const std::size_t first = option.find(',');
  const std::size_t second = option.find(',', first + 1);
  const bool whole =
      first != std::string::npos && second != std::string::npos && second + 1 < option.size() &&
      ParseWhole(option.substr(0, first), core_) == Parsed::kNumber &&
      ParseWhole(option.substr(first + 1, second - first - 1), id_) == Parsed::kNumber;
  if (!whole || core_ < 0)
    throw SimError("--dump-tile {}: allowed core,instruction,directory with core 0 or above",
                   option);
  const std::filesystem::path named = option.substr(second + 1);
  folder_ = FollowLinks(named.has_filename() ? named : named.parent_path());
  std::error_code ignored;
  const std::filesystem::path parent = std::filesystem::absolute(folder_, ignored).parent_path();
  const bool exists = std::filesystem::exists(folder_, ignored);
  if (!std::filesystem::is_directory(exists ? folder_ : parent, ignored))
    throw SimError("--dump-tile {}: {} cannot be made a directory", option, folder_.string());
  if (!exists) {
    CheckWritable(folder_);  // its parent takes a new name
    return;
  }
  for (const NamedFile& file : Files()) {
    if (file.path != folder_)
      CheckWritable(file.path);
  }
}

std::vector<NamedFile> TileDump::Files() const {
  std::vector<NamedFile> files = {{"--dump-tile", folder_.string()}};
  for (const char* name : {"stationary.npy", "stationary_scales.npy", "moving.npy",
                           "moving_scales.npy", "psum.npy", "replayed.npy", "replay.sh"})
    files.push_back({"--dump-tile", (folder_ / name).string()});
  return files;
}

void TileDump::ReadsOperands(const ops::Reading& reading) {
  const isa::Instruction& instruction = reading.instruction;
  if (instruction.core != core_ || instruction.id > id_)
    return;
  const auto* multiply = std::get_if<isa::MultiplyMoving>(&instruction.body);
  const bool transpose = multiply != nullptr && multiply->mode == PeMode::kTranspose;
  const bool paired = multiply != nullptr && multiply->mode == PeMode::kDoubleRow;
  const bool computes = multiply != nullptr && !transpose && !paired && !multiply->part;
  if (instruction.id == id_ && !computes) {
    throw SimError("--dump-tile {}: instruction {} of core {} is {}, allowed a multiply_moving{}",
                   option_, id_, core_,
                   multiply == nullptr ? isa::OpcodeOf(instruction)
                   : transpose         ? "a transpose"
                   : paired            ? "of double_row mode"
                                       : "a pass of float32 parts",
                   multiply == nullptr   ? ""
                   : transpose || paired ? " of another mode"
                                         : " of another type");
  }
  if (const auto* load = std::get_if<isa::LoadStationary>(&instruction.body)) {
    load_ = *load;
    stationary_ = ops::GatherPeOperand(load->stationary, load->scale, reading.memory.sbuf());
  } else if (computes) {
    std::vector<Pass>& chain = Multiply(*multiply, reading.memory);
    if (instruction.id == id_) {
      tile_ = *multiply;
      passes_ = std::move(chain);
      chains_.clear();
    }
  }
}

std::vector<TileDump::Pass>& TileDump::Multiply(const isa::MultiplyMoving& multiply,
                                                const ops::MemoryView& memory) {
  const isa::Operand& dst = multiply.dst;
  std::vector<Pass>& chain = chains_[{dst.offset, dst.dtype, dst.partitions, dst.free_size()}];
  if (!multiply.accumulate)
    chain.clear();
  chain.push_back({.stationary_dtype = load_.stationary.dtype,
                   .moving_dtype = multiply.moving.dtype,
                   .stationary = stationary_,
                   .moving = ops::GatherPeOperand(multiply.moving, multiply.scale, memory.sbuf())});
  return chain;
}

void TileDump::Completed(const ops::Completion& completion) {
  const isa::Instruction& instruction = completion.instruction;
  if (instruction.core != core_ || instruction.id != id_)
    return;
  Check(tile_.has_value(), "a multiply reads its operands before it completes");
  const isa::Operand& dst = std::get<isa::MultiplyMoving>(instruction.body).dst;
  const std::int64_t m = dst.partitions, n = dst.free_size();
  const bool half = SizeOf(dst.dtype) == 2;
  psum_.resize(m * n);
  std::vector<std::uint32_t> lanes(kPsumLanes);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t unit = ops::PsumAddressOf(dst) + (half ? i : 2 * i);
    completion.memory.psum().Read(static_cast<int>(unit / 2), lanes);
    for (std::int64_t p = 0; p < m; ++p)
      psum_[p * n + i] = half ? lanes[p] >> (16 * (unit % 2)) & 0xffff : lanes[p];
  }
}

void TileDump::WriteOperand(const std::string& name, DType dtype,
                            const std::vector<const ops::PeOperand*>& passes) const {
  std::vector<std::uint32_t> words, scales;
  std::int64_t rows = 0;
  for (const ops::PeOperand* pass : passes) {
    rows += pass->rows;
    words.insert(words.end(), pass->data.begin(), pass->data.end());
    scales.insert(scales.end(), pass->scales.begin(), pass->scales.end());
  }
  const std::int64_t columns = passes.front()->columns;
  host::SaveTensor(folder_ / (name + ".npy"), TensorOf(name, dtype, rows, columns, words));
  if (!scales.empty())
    host::SaveTensor(folder_ / (name + "_scales.npy"),
                     TensorOf(name, DType::kE8M0, kMxGroup.ScaleRows(rows), columns, scales));
}

std::string TileDump::ReplayLine(const CommonOptions& common) const {
  std::int64_t rows = 0;
  for (const Pass& pass : passes_)
    rows += pass.stationary.rows;
  const Pass& pass = passes_.front();
  const bool mx = tile_->mode == PeMode::kMx;
  std::string line = fmt::format(
      "${{BWMM:-bwmm}} matmul --k {} --m {} --n {} --stationary-dtype {} --moving-dtype {} "
      "--psum-dtype {} --stationary stationary.npy --moving moving.npy --output replayed.npy",
      rows * (mx ? 4 : 1), pass.stationary.columns, pass.moving.columns,
      NameOf(pass.stationary_dtype), NameOf(pass.moving_dtype), NameOf(tile_->dst.dtype));
  if (mx)
    line += " --stationary-scales stationary_scales.npy --moving-scales moving_scales.npy";
  const std::vector<std::string> presets = PresetNames();
  const bool preset = std::ranges::find(presets, common.machine) != presets.end();
  line += " --machine " +
          Quoted(preset ? common.machine : std::filesystem::absolute(common.machine).string());
  for (const std::string& setting : common.settings) {
    if (setting.starts_with("machine."))
      line += " --set " + Quoted(setting);
  }
  return line;
}

void TileDump::Write(const CommonOptions& common) const {
  if (!tile_)
    throw SimError("--dump-tile {}: core {} has no instruction {}", option_, core_, id_);
  for (std::size_t i = 0; i + 1 < passes_.size(); ++i) {
    if (passes_[i].stationary.rows != kPassRows)
      throw SimError("--dump-tile {}: pass {} of {} has {} rows, allowed {} in all but the last",
                     option_, i, passes_.size(), passes_[i].stationary.rows, kPassRows);
  }
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error)
    throw SimError("--dump-tile {}: {}", option_, error.message());
  std::vector<const ops::PeOperand*> stationary, moving;
  for (const Pass& pass : passes_) {
    stationary.push_back(&pass.stationary);
    moving.push_back(&pass.moving);
  }
  WriteOperand("stationary", passes_.front().stationary_dtype, stationary);
  WriteOperand("moving", passes_.front().moving_dtype, moving);
  host::SaveTensor(folder_ / "psum.npy", TensorOf("psum", tile_->dst.dtype, tile_->dst.partitions,
                                                  tile_->dst.free_size(), psum_));
  const std::string script = fmt::format(
      "#!/bin/sh\n"
      "# Core {}, instruction {}: {} passes into one PSUM tile. BWMM names the binary; options "
      "are\n"
      "# passed on (--fidelity rtl, --wave ..).\n"
      "cd \"$(dirname \"$0\")\" || exit 2\n"
      "rm -f replayed.npy\n"
      "{} \"$@\"\n"
      "cmp psum.npy replayed.npy && echo 'psum.npy and replayed.npy are the same bits'\n",
      core_, id_, passes_.size(), ReplayLine(common));
  WriteFileAtomically(folder_ / "replay.sh", {bwmm::BytesOf(script)});
}

}  // namespace bwmm::cli
