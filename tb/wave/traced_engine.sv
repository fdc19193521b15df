// The TensorEngine with a probe beside it: the top module of the traced build.
//
//   tensor_engine --hierarchy--> control, pe, dequant, psum: one PE, its group, its column
//
// What the machine's engines do is added when the dump is finished (model/engine/merge_trace.h).
//
// Only the probe is dumped, because the arrays would be too much; which PE it shows is chosen by
// probe_row_i and probe_col_i. Operands are sampled at the falling edge, so that after
// a rising edge operands and result of the same step stand side by side. `_real` signals are the
// same bits as numbers. Nothing here feeds back: bits and cycles are those of tensor_engine.

module traced_engine
  import bwmm_pkg::*;
  import operand_decode_pkg::*;
  import wave_pkg::*;
#(
  parameter int unsigned Rows = 128,
  parameter int unsigned Cols = 128,
  parameter int unsigned PsumWords = 4096
) (
  // Probe
  input  logic [$clog2(Rows)-1:0] probe_row_i,
  input  logic [$clog2(Cols)-1:0] probe_col_i,
  // As tensor_engine
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

  tensor_engine #(.Rows(Rows), .Cols(Cols), .PsumWords(PsumWords)) u_engine (.*);

  // Control: what the next edge does, and what waits

  if (1) begin : control
    logic load_waits, load_take, load_last;
    logic move_waits, move_waits_to_swap, move_take, move_last;
    logic [31:0] load_id, move_id, waiting_load_id, waiting_move_id;
    logic [15:0] load_column, move_row, port_hold, drain;

    assign load_waits = u_engine.u_ctrl.load_slot_q.valid;
    assign waiting_load_id = u_engine.u_ctrl.load_slot_q.command.id;
    assign load_take = load_take_o;
    assign load_last = load_last_o;
    assign load_id = load_id_o;
    assign load_column = load_index_o;
    assign move_waits = u_engine.u_ctrl.move_slot_q.valid;
    assign move_waits_to_swap = move_waits && u_engine.u_ctrl.move_slot_q.swap;
    assign waiting_move_id = u_engine.u_ctrl.move_slot_q.command.id;
    assign move_take = move_take_o;
    assign move_last = move_last_o;
    assign move_id = move_id_o;
    assign move_row = move_index_o;
    assign port_hold = u_engine.u_ctrl.hold_q;
    assign drain = u_engine.u_ctrl.drain_q;
  end

  // One PE

  if (1) begin : pe
    move_token_t token;
    logic [31:0] x_word;
    logic [31:0] p_in;
    logic [31:0] p_out;
    logic        active;
    logic        swap;
    logic        mx;
    logic        wide;
    logic [31:0] w [LANES];
    real w_real, w0_real, w1_real, w2_real, w3_real;
    real x_real, x0_real, x1_real, x2_real, x3_real;
    real p_in_real, p_out_real, group_sum_real;

    always_ff @(negedge clk_i) begin
      token <= u_engine.move_tokens[probe_row_i];
      x_word <= u_engine.x_word[probe_row_i];
      p_in <= u_engine.u_array.p[{1'b0, probe_row_i}][probe_col_i];
    end

    assign active = token.valid && 32'(probe_row_i) < 32'(token.rows);
    assign swap = token.valid && token.swap;
    assign mx = token.mode == PeMx;
    assign wide = token.w_fmt == FmtE5M2X4;
    assign p_out = u_engine.u_array.p[32'(probe_row_i)+1][probe_col_i];
    assign w[0] = u_engine.u_array.active0[probe_row_i][probe_col_i];
    assign w[1] = u_engine.u_array.active1[probe_row_i][probe_col_i];
    assign w[2] = u_engine.u_array.active2[probe_row_i][probe_col_i];
    assign w[3] = u_engine.u_array.active3[probe_row_i][probe_col_i];

    always_comb begin
      w_real = mx ? 0.0 : scalar_real(w[0]);
      w0_real = mx ? lane_real(wide, w[0]) : 0.0;
      w1_real = mx ? lane_real(wide, w[1]) : 0.0;
      w2_real = mx ? lane_real(wide, w[2]) : 0.0;
      w3_real = mx ? lane_real(wide, w[3]) : 0.0;
      x_real = mx ? 0.0 : scalar_real(decode_scalar(token.x_fmt, x_word));
      x0_real = mx ? moving_real(token.x_fmt, x_word, 0) : 0.0;
      x1_real = mx ? moving_real(token.x_fmt, x_word, 1) : 0.0;
      x2_real = mx ? moving_real(token.x_fmt, x_word, 2) : 0.0;
      x3_real = mx ? moving_real(token.x_fmt, x_word, 3) : 0.0;
      p_in_real = fp32_real(p_in);
      p_out_real = fp32_real(p_out);
      group_sum_real = mx ? group_real(wide, token.x_fmt == FmtE5M2X4,
          u_engine.u_array.sum_high[32'(probe_row_i)+1][probe_col_i],
          u_engine.u_array.sum_low[32'(probe_row_i)+1][probe_col_i],
          group_special(32'(probe_row_i)+1)) : 0.0;
    end
  end

  function automatic real moving_real(input pe_fmt_e fmt, input logic [31:0] word,
                                      input int unsigned lane);
    return x_lane_real(fmt == FmtE5M2X4, decode_lane_x(fmt, lane_code(fmt, word, lane)));
  endfunction

  function automatic logic [2:0] group_special(input int unsigned row);
    return u_engine.u_array.special_live[row] ?
        u_engine.u_array.special[row][probe_col_i][2:0] : 3'd0;
  endfunction

  // The dequant unit of the PE's group: row 7 of 8

  if (1) begin : dequant
    logic [$clog2(Rows)-1:0] row;
    move_token_t token;
    logic [7:0]  x_scale;
    logic [7:0]  w_scale;
    logic [31:0] p_in;
    logic [31:0] p_out;
    logic        active;
    real p_in_real, p_out_real, sum_real, scale_real;

    assign row = probe_row_i | ($clog2(Rows))'(GROUP_ROWS - 1);

    always_ff @(negedge clk_i) begin
      token <= u_engine.move_tokens[row];
      x_scale <= u_engine.x_scale[32'(row)/GROUP_ROWS];
      p_in <= u_engine.u_array.p[{1'b0, row}][probe_col_i];
    end

    assign active = token.valid && token.mode == PeMx && 32'(row) < 32'(token.rows);
    assign w_scale = u_engine.u_array.active_scale[32'(row)/GROUP_ROWS][probe_col_i][7:0];
    assign p_out = u_engine.u_array.p[32'(row)+1][probe_col_i];

    always_comb begin
      sum_real = active ? group_real(token.w_fmt == FmtE5M2X4, token.x_fmt == FmtE5M2X4,
          u_engine.u_array.sum_high[32'(row)+1][probe_col_i],
          u_engine.u_array.sum_low[32'(row)+1][probe_col_i], group_special(32'(row)+1)) : 0.0;
      scale_real = active ? scales_real(w_scale, x_scale) : 0.0;
      p_in_real = fp32_real(p_in);
      p_out_real = fp32_real(p_out);
    end
  end

  // The foot of the column and what PSUM does with it at the next edge

  if (1) begin : psum
    logic        write;
    logic        last;
    logic        accumulate;
    logic        half;
    logic [31:0] instruction_id;
    logic [15:0] word;
    logic [31:0] column;
    logic [31:0] before_word;
    real column_real, before_real;

    assign write = u_engine.foot_token.valid;
    assign last = u_engine.foot_token.last;
    assign accumulate = u_engine.foot_token.accumulate;
    assign half = u_engine.foot_token.half;
    assign instruction_id = u_engine.foot_token.id;
    assign word = u_engine.foot_token.address >> 1;
    assign column = u_engine.foot[probe_col_i];
    assign before_word = u_engine.u_psum.words[word[$clog2(PsumWords)-1:0]][probe_col_i];

    always_comb begin
      column_real = fp32_real(column);
      before_real = fp32_real(before_word);
    end
  end

endmodule : traced_engine
