// The TensorEngine: control, skew, PE array and PSUM wired together. Wires only.
//
//   commands --> pe_array_ctrl --tokens--> [ skew ] --> pe_array --foot--> psum <--> engine port
//   w_word_i, x_word_i ------------------> [ skew ] -----^
//
// The sequencer in front reads load_o and move_o, which say what the next edge takes, and puts that
// slice of the operand on w_word_i or x_word_i before the edge.
// enable_i low freezes everything but the engine port of PSUM, which serves another clock domain.
// Timing: docs/units/tensor_engine.md. Same answer and same cycles as
// model/engine/fast_tensor_engine.h.

module tensor_engine
  import bwmm_pkg::*;
#(
  parameter int unsigned Rows = 128,
  parameter int unsigned Cols = 128,
  parameter int unsigned PsumWords = 4096
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         enable_i,
  input  logic [15:0]  min_interval_i,
  // Commands
  input  logic         command_valid_i,
  output logic         command_ready_o,
  input  logic [31:0]  command_id_i,
  input  logic         command_is_move_i,
  input  logic [1:0]   command_mode_i,
  input  logic [3:0]   command_fmt_i,
  input  logic [15:0]  command_rows_i,
  input  logic [15:0]  command_cols_i,
  input  logic [15:0]  command_n_i,
  input  logic [15:0]  command_psum_address_i,
  input  logic         command_psum_half_i,
  input  logic         command_accumulate_i,
  // What the next edge does
  output logic         load_take_o,
  output logic         load_first_o,
  output logic         load_last_o,
  output logic [15:0]  load_index_o,
  output logic [31:0]  load_id_o,
  output logic         move_take_o,
  output logic         move_first_o,
  output logic         move_last_o,
  output logic [15:0]  move_index_o,
  output logic [31:0]  move_id_o,
  output logic         written_o,
  output logic [31:0]  written_id_o,
  output logic         busy_o,
  // Operands, all rows of one slice
  input  logic [31:0]  w_word_i  [LOAD_COLUMNS*Rows],
  input  logic [31:0]  w_scale_i [Rows/GROUP_ROWS],  // one byte per column
  input  logic [31:0]  x_word_i  [Rows],
  input  logic [7:0]   x_scale_i [Rows/GROUP_ROWS],
  // PSUM engine port
  input  logic [$clog2(PsumWords)-1:0] port_word_i,
  input  logic         port_write_i,
  input  logic [31:0]  port_data_i [Cols],
  output logic [31:0]  port_data_o [Cols]
);

  localparam int unsigned GROUPS = Rows / GROUP_ROWS;

  command_t     command;
  port_status_t load, move;
  load_token_t  load_token;
  move_token_t  move_token;
  psum_token_t  psum_token, foot_token;
  logic [$clog2(Rows)-1:0] head;

  logic [$bits(load_token_t)-1:0] load_tokens [Rows];
  logic [$bits(move_token_t)-1:0] move_tokens [Rows];
  logic [$bits(psum_token_t)-1:0] psum_tokens [Rows];
  logic [31:0] w_word  [LOAD_COLUMNS*Rows];
  logic [31:0] w_scale [GROUPS];
  logic [31:0] x_word  [Rows];
  logic [7:0]  x_scale [GROUPS];
  logic [31:0] foot    [Cols];

  assign command = '{
    id: command_id_i,
    is_move: command_is_move_i,
    mode: pe_mode_e'(command_mode_i),
    fmt: pe_fmt_e'(command_fmt_i),
    rows: command_rows_i,
    cols: command_cols_i,
    n: command_n_i,
    psum_address: command_psum_address_i,
    psum_half: command_psum_half_i,
    accumulate: command_accumulate_i
  };

  assign {load_take_o, load_first_o, load_last_o, load_index_o, load_id_o} = load;
  assign {move_take_o, move_first_o, move_last_o, move_index_o, move_id_o} = move;
  assign written_o = foot_token.valid && foot_token.last;
  assign written_id_o = foot_token.id;

  pe_array_ctrl #(.Rows(Rows)) u_ctrl (
    .clk_i, .rst_ni, .enable_i, .min_interval_i, .command_valid_i, .command_ready_o,
    .command_i(command), .load_o(load), .move_o(move), .load_token_o(load_token),
    .move_token_o(move_token), .psum_token_o(psum_token), .head_o(head), .busy_o
  );

  token_line #(.Depth(Rows), .Width($bits(load_token_t))) u_load_tokens (
    .clk_i, .rst_ni, .enable_i, .head_i(head), .token_i(load_token), .taps_o(load_tokens)
  );
  token_line #(.Depth(Rows), .Width($bits(move_token_t))) u_move_tokens (
    .clk_i, .rst_ni, .enable_i, .head_i(head), .token_i(move_token), .taps_o(move_tokens)
  );
  token_line #(.Depth(Rows), .Width($bits(psum_token_t))) u_psum_tokens (
    .clk_i, .rst_ni, .enable_i, .head_i(head), .token_i(psum_token), .taps_o(psum_tokens)
  );

  skew_buffer #(.Depth(Rows), .Lanes(Rows), .Words(LOAD_COLUMNS)) u_w_skew (
    .clk_i, .enable_i, .write_i(load.take), .head_i(head), .data_i(w_word_i), .data_o(w_word)
  );
  skew_buffer #(
    .Depth(Rows), .Lanes(GROUPS), .First(GROUP_ROWS - 1), .Step(GROUP_ROWS)
  ) u_w_scale_skew (
    .clk_i, .enable_i, .write_i(load.take), .head_i(head), .data_i(w_scale_i), .data_o(w_scale)
  );
  skew_buffer #(.Depth(Rows), .Lanes(Rows)) u_x_skew (
    .clk_i, .enable_i, .write_i(move.take), .head_i(head), .data_i(x_word_i), .data_o(x_word)
  );
  skew_buffer #(
    .Depth(Rows), .Lanes(GROUPS), .Width(8), .First(GROUP_ROWS - 1), .Step(GROUP_ROWS)
  ) u_x_scale_skew (
    .clk_i, .enable_i, .write_i(move.take), .head_i(head), .data_i(x_scale_i), .data_o(x_scale)
  );

  pe_array #(.Rows(Rows), .Cols(Cols)) u_array (
    .clk_i, .rst_ni, .enable_i, .load_token_i(load_tokens), .w_word_i(w_word),
    .w_scale_i(w_scale), .move_token_i(move_tokens), .x_word_i(x_word), .x_scale_i(x_scale),
    .psum_token_i(psum_tokens[Rows-1]), .foot_token_o(foot_token), .foot_o(foot)
  );

  psum #(.Cols(Cols), .Words(PsumWords)) u_psum (
    .clk_i, .enable_i, .token_i(foot_token), .row_i(foot), .port_word_i, .port_write_i,
    .port_data_i, .port_data_o
  );

endmodule : tensor_engine
