// Commands on the Verilated engine's command port: the numbers are bwmm_pkg's.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "model/engine/tensor_engine.h"
#include "model/support/check.h"

namespace bwmm::engine {

// pe_mode_e
constexpr std::uint8_t RtlModeOf(PeMode mode) {
  switch (mode) {
    case PeMode::kOrdinary:
      return 0;
    case PeMode::kMx:
      return 1;
    case PeMode::kTranspose:
      return 2;
    case PeMode::kDoubleRow:
      return 3;
  }
  return 0;
}

// pe_fmt_e; transpose mode moves bits and has one format for all types.
inline std::uint8_t RtlFormatOf(PeMode mode, DType dtype, std::optional<PePart> part) {
  if (mode == PeMode::kTranspose)
    return 0;
  switch (dtype) {
    case DType::kBf16:
      return 1;
    case DType::kFp16:
      return 2;
    case DType::kFp8E4M3Fn:
      return 3;
    case DType::kFp8E4M3:
      return 4;
    case DType::kFp8E5M2:
      return 5;
    case DType::kFp8E4M3FnX4:
      return 6;
    case DType::kFp8E5M2X4:
      return 7;
    case DType::kFp4E2M1FnX4:
      return 8;
    case DType::kFp32:
      return part == PePart::kHigh ? 9 : 10;
    default:
      Check(false, "CommandCheck lets only operand types through");
      return 0;
  }
}

template <typename Model>
void DriveCommand(const std::variant<LoadCommand, MoveCommand>& command, Model& model) {
  std::visit(
      [&model](const auto& fields) {
        model.command_id_i = fields.id;
        model.command_mode_i = RtlModeOf(fields.mode);
        model.command_fmt_i = RtlFormatOf(fields.mode, fields.dtype, fields.part);
        model.command_rows_i = static_cast<std::uint16_t>(fields.rows);
      },
      command);
  const auto* load = std::get_if<LoadCommand>(&command);
  const auto* move = std::get_if<MoveCommand>(&command);
  model.command_is_move_i = move != nullptr;
  model.command_cols_i = static_cast<std::uint16_t>(load != nullptr ? load->cols : 0);
  if (move == nullptr)
    return;
  model.command_n_i = static_cast<std::uint16_t>(move->n);
  model.command_psum_address_i = static_cast<std::uint16_t>(move->psum_address);
  model.command_psum_half_i = SizeOf(move->psum_dtype) == 2;
  model.command_accumulate_i = move->accumulate;
}

}  // namespace bwmm::engine
