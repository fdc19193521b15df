#include "model/engine/command_check.h"

#include <string_view>

#include "model/numerics/scale_group.h"
#include "model/support/sim_error.h"

namespace bwmm::engine {
namespace {

void RequireRange(std::string_view command, std::uint32_t id, std::string_view what, int value,
                  int low, int high) {
  if (value < low || value > high)
    throw SimError("{} {}: {} is {}, allowed {} to {}", command, id, what, value, low, high);
}

void RequireSize(std::string_view command, std::uint32_t id, std::string_view what,
                 std::size_t size, std::size_t expected) {
  if (size != expected)
    throw SimError("{} {}: {} has {} entries, expected {}", command, id, what, size, expected);
}

void RequireType(std::string_view command, std::uint32_t id, PeMode mode, DType dtype,
                 std::optional<PePart> part) {
  bool fits = true;
  switch (mode) {
    case PeMode::kOrdinary:
      fits = dtype == DType::kBf16 || dtype == DType::kFp16 || dtype == DType::kFp8E4M3Fn ||
             dtype == DType::kFp8E4M3 || dtype == DType::kFp8E5M2 || dtype == DType::kFp32;
      break;
    case PeMode::kMx:
      fits = IsX4(dtype);
      break;
    case PeMode::kDoubleRow:
      fits = dtype == DType::kFp8E4M3Fn || dtype == DType::kFp8E4M3 || dtype == DType::kFp8E5M2;
      break;
    case PeMode::kTranspose:
      break;
  }
  if (!fits)
    throw SimError("{} {}: {} is not an operand type of {} mode", command, id, NameOf(dtype),
                   NameOf(mode));
  const bool parts = mode == PeMode::kOrdinary && dtype == DType::kFp32;
  if (part.has_value() != parts)
    throw SimError("{} {}: {} in {} mode {} a part, allowed of ordinary float32 and needed there",
                   command, id, NameOf(dtype), NameOf(mode), part ? "with" : "without");
}

}  // namespace

void CommandCheck::Accept(const LoadCommand& command) {
  constexpr std::string_view kName = "LoadStationary";
  RequireRange(kName, command.id, "rows", command.rows, 1, config_.rows);
  RequireRange(kName, command.id, "cols", command.cols, 1, config_.cols);
  RequireType(kName, command.id, command.mode, command.dtype, command.part);
  const bool mx = command.mode == PeMode::kMx;
  if (mx && !kMxGroup.IsWhole(command.rows))
    throw SimError("{} {}: rows is {}, MX mode needs a multiple of {}", kName, command.id,
                   command.rows, kMxGroup.rows);
  if (data_) {
    const std::size_t cols = command.cols;
    RequireSize(kName, command.id, "data", command.data.size(), command.rows * cols);
    RequireSize(kName, command.id, "scales", command.scales.size(),
                mx ? kMxGroup.ScaleRows(command.rows) * cols : 0);
  }
  loaded_ = true;
  mode_ = command.mode;
  rows_ = command.rows;
  parts_ = command.part.has_value();
}

void CommandCheck::Accept(const MoveCommand& command) {
  constexpr std::string_view kName = "MultiplyMoving";
  if (!loaded_)
    throw SimError("{} {}: no stationary operand was loaded before it", kName, command.id);
  if (command.mode != mode_)
    throw SimError("{} {}: mode {}, the stationary operand was loaded in {} mode", kName,
                   command.id, NameOf(command.mode), NameOf(mode_));
  RequireRange(kName, command.id, "rows", command.rows, rows_, rows_);
  const bool half = SizeOf(command.psum_dtype) == 2;
  const int units = 2 * config_.psum_words;
  RequireRange(kName, command.id, "n", command.n, 1, half ? units : units / 2);
  RequireType(kName, command.id, command.mode, command.dtype, command.part);
  if (command.part.has_value() != parts_)
    throw SimError("{} {}: {} beside a stationary operand {} float32, allowed together only", kName,
                   command.id, NameOf(command.dtype), parts_ ? "of" : "other than");
  RequireRange(kName, command.id, "psum_address", command.psum_address, 0,
               units - command.n * (half ? 1 : 2));
  if (!half && command.psum_address % 2 != 0)
    throw SimError("{} {}: psum_address is {}, a 4-byte row starts even", kName, command.id,
                   command.psum_address);
  const bool transpose = command.mode == PeMode::kTranspose;
  if (transpose ? SizeOf(command.psum_dtype) < 2
                : command.psum_dtype != DType::kFp32 && command.psum_dtype != DType::kBf16)
    throw SimError("{} {}: psum_dtype is {}, allowed {}", kName, command.id,
                   NameOf(command.psum_dtype),
                   transpose ? "any 2 or 4-byte type" : "float32 and bfloat16");
  if (transpose && (command.n != command.rows || command.accumulate))
    throw SimError("{} {}: a transpose has n equal to rows ({}, not {}) and does not accumulate",
                   kName, command.id, command.rows, command.n);
  if (data_ && !transpose) {
    const std::size_t n = command.n;
    RequireSize(kName, command.id, "data", command.data.size(), command.rows * n);
    RequireSize(kName, command.id, "scales", command.scales.size(),
                command.mode == PeMode::kMx ? kMxGroup.ScaleRows(command.rows) * n : 0);
  }
}

}  // namespace bwmm::engine
