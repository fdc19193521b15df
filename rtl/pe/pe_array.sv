// The PE array: weights, partial sums and the skewed walk of a moving row through them.
//
//                    w_chunk (4 columns, skewed)          columns 0..Cols-1
//                       |                            +-----------------------+
//   x_word[k] (skewed) -+--> decode --> broadcast -->| row k:  p = fma(w,x,p)|--> row k + 1
//                                                    +-----------------------+
//   row Rows-1 --> foot_o, one row per cycle
//
// x is broadcast along a row: there is row skew only, and all columns of a row finish together.
//
// How it is written: one module holds the array-wide registers as unpacked arrays of words, and one
// always_ff updates them in place with blocking assignments, bottom row first, so that row k still
// reads what row k - 1 held before the edge. That is a plain register array in hardware, and rolled
// loops over columns for a compiler: Verilator 5.006 accepts no non-blocking assignment to an array
// inside a rolled loop, and unrolls whole-array copies element by element. No other process reads
// these arrays; what leaves the module goes through foot_o, a non-blocking register.
//
// Rows without a live token are skipped, which is also the array's clock gating.
// Inf and NaN take a second, slower loop, and only in rows that hold one.
// Same answer as model/ops/matmul.h and matmul_mx.h; tb/core compares.

module pe_array
  import bwmm_pkg::*;
  import pe_arith_pkg::*;
  import operand_decode_pkg::*;
  import mx_dequant_pkg::*;
#(
  parameter int unsigned Rows = 128,
  parameter int unsigned Cols = 128
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        enable_i,
  // Per row, skewed: the token and operand that reach row k at this edge
  input  logic [$bits(load_token_t)-1:0] load_token_i [Rows],
  input  logic [31:0] w_word_i     [LOAD_COLUMNS*Rows],
  input  logic [31:0] w_scale_i    [Rows/GROUP_ROWS],
  input  logic [$bits(move_token_t)-1:0] move_token_i [Rows],
  input  logic [31:0] x_word_i     [Rows],
  input  logic [7:0]  x_scale_i    [Rows/GROUP_ROWS],
  // Foot: what the last row made at the previous edge, and where it goes
  input  psum_token_t psum_token_i,
  output psum_token_t foot_token_o,
  output logic [31:0] foot_o       [Cols]
);

  localparam int unsigned GROUPS = Rows / GROUP_ROWS;

  // Weights: lane 0 also holds the ordinary operand and the raw word, lanes 0 and 1 those of a
  // double row.
  logic [31:0] active0 [Rows][Cols];
  logic [31:0] active1 [Rows][Cols];
  logic [31:0] active2 [Rows][Cols];
  logic [31:0] active3 [Rows][Cols];
  logic [31:0] shadow0 [Rows][Cols];
  logic [31:0] shadow1 [Rows][Cols];
  logic [31:0] shadow2 [Rows][Cols];
  logic [31:0] shadow3 [Rows][Cols];
  logic [31:0] active_scale [GROUPS][Cols];
  logic [31:0] shadow_scale [GROUPS][Cols];
  logic        active_special [Rows];  // some weight of the row is Inf or NaN
  logic        shadow_special [Rows];

  // What row k hands to row k + 1 sits at index k + 1; index 0 is what row 0 gets, zero.
  logic [31:0] p        [Rows+1][Cols];
  logic [63:0] sum_low  [Rows+1][Cols];
  logic [63:0] sum_high [Rows+1][Cols];
  logic [31:0] special  [Rows+1][Cols];  // {nan, +inf, -inf} of the group so far
  logic        special_live [Rows+1];

  psum_token_t foot_token_q;
  logic [31:0] foot_q [Cols];

  ///////////
  // Steps //
  ///////////

  // What one edge does to one row. `c` runs over columns in loops without branches.

  task automatic swap_row(input int unsigned row, input pe_mode_e mode);
    int unsigned c;
    int unsigned group;
    group = row / GROUP_ROWS;
    active_special[row] = shadow_special[row];
    for (c = 0; c < Cols; c++) active0[row][c] = shadow0[row][c];
    if (mode == PeDoubleRow) begin
      for (c = 0; c < Cols; c++) active1[row][c] = shadow1[row][c];
    end
    if (mode == PeMx) begin
      for (c = 0; c < Cols; c++) active1[row][c] = shadow1[row][c];
      for (c = 0; c < Cols; c++) active2[row][c] = shadow2[row][c];
      for (c = 0; c < Cols; c++) active3[row][c] = shadow3[row][c];
      if (row % GROUP_ROWS == GROUP_ROWS - 1) begin
        for (c = 0; c < Cols; c++) active_scale[group][c] = shadow_scale[group][c];
      end
    end
  endtask

  task automatic load_row(input int unsigned row, input load_token_t load);
    int unsigned c;
    int unsigned group;
    int unsigned column;
    logic [31:0] word;
    logic        wide;
    group = row / GROUP_ROWS;
    wide = load.fmt == FmtE5M2X4;
    if (load.first) shadow_special[row] = 1'b0;
    for (c = 0; c < LOAD_COLUMNS; c++) begin
      column = 32'(load.column) + c;
      word = w_word_i[LOAD_COLUMNS*row+c];
      if (load.mode == PeMx) begin
        shadow0[row][column] = decode_lane(load.fmt, lane_code(load.fmt, word, 0));
        shadow1[row][column] = decode_lane(load.fmt, lane_code(load.fmt, word, 1));
        shadow2[row][column] = decode_lane(load.fmt, lane_code(load.fmt, word, 2));
        shadow3[row][column] = decode_lane(load.fmt, lane_code(load.fmt, word, 3));
        shadow_special[row] = shadow_special[row] ||
            lane_is_special(wide, shadow0[row][column]) ||
            lane_is_special(wide, shadow1[row][column]) ||
            lane_is_special(wide, shadow2[row][column]) ||
            lane_is_special(wide, shadow3[row][column]);
        if (row % GROUP_ROWS == GROUP_ROWS - 1) begin
          shadow_scale[group][column] = (w_scale_i[group] >> (8 * c)) & 32'hff;
        end
      end else if (load.mode == PeOrdinary) begin
        shadow0[row][column] = decode_scalar(load.fmt, word);
        shadow_special[row] = shadow_special[row] || shadow0[row][column][24:23] != 2'd0;
      end else if (load.mode == PeDoubleRow) begin
        shadow0[row][column] = decode_scalar(load.fmt, word);
        shadow1[row][column] = decode_scalar(load.fmt, word >> 8);
        shadow_special[row] = shadow_special[row] ||
            shadow0[row][column][24:23] != 2'd0 || shadow1[row][column][24:23] != 2'd0;
      end else begin
        shadow0[row][column] = word;
      end
    end
  endtask

  task automatic pass_row(input int unsigned row);
    int unsigned c;
    for (c = 0; c < Cols; c++) p[row+1][c] = p[row][c];
  endtask

  task automatic take_weights(input int unsigned row);
    int unsigned c;
    for (c = 0; c < Cols; c++) p[row+1][c] = active0[row][c];
  endtask

  task automatic multiply_row(input int unsigned row, input logic [31:0] x);
    int unsigned c;
    for (c = 0; c < Cols; c++) begin
      p[row+1][c] = fma_finite(active0[row][c], x, p[row][c]);
    end
    if (active_special[row] || x[24:23] != 2'd0) begin
      for (c = 0; c < Cols; c++) begin
        p[row+1][c] = fma_special(active0[row][c], x, p[row][c], p[row+1][c]);
      end
    end
  endtask

  // The second product of a double row, added to what the first made.
  task automatic multiply_row_again(input int unsigned row, input logic [31:0] x);
    int unsigned c;
    logic [31:0] sum;
    if (!active_special[row] && x[24:23] == 2'd0) begin
      for (c = 0; c < Cols; c++) begin
        p[row+1][c] = fma_finite(active1[row][c], x, p[row+1][c]);
      end
    end else begin
      for (c = 0; c < Cols; c++) begin
        sum = p[row+1][c];
        p[row+1][c] = fma_special(active1[row][c], x, sum,
                                  fma_finite(active1[row][c], x, sum));
      end
    end
  endtask

  // The exact sum of the group so far; a wide (E5M2) stationary lane takes x in two parts.
  task automatic sum_row(input int unsigned row, input logic wide, input lane_x_t x0,
                         input lane_x_t x1, input lane_x_t x2, input lane_x_t x3);
    int unsigned c;
    logic [63:0] keep;  // zero in the first row of a group
    keep = (row % GROUP_ROWS == 0) ? 64'd0 : '1;
    if (wide) begin
      for (c = 0; c < Cols; c++) begin
        sum_low[row+1][c] = (sum_low[row][c] & keep) +
            lane_value(active0[row][c]) * (x0.value & 64'hffff) +
            lane_value(active1[row][c]) * (x1.value & 64'hffff) +
            lane_value(active2[row][c]) * (x2.value & 64'hffff) +
            lane_value(active3[row][c]) * (x3.value & 64'hffff);
      end
      for (c = 0; c < Cols; c++) begin
        sum_high[row+1][c] = (sum_high[row][c] & keep) +
            lane_value(active0[row][c]) * 64'(x0.value >>> 16) +
            lane_value(active1[row][c]) * 64'(x1.value >>> 16) +
            lane_value(active2[row][c]) * 64'(x2.value >>> 16) +
            lane_value(active3[row][c]) * 64'(x3.value >>> 16);
      end
    end else begin
      for (c = 0; c < Cols; c++) begin
        sum_low[row+1][c] = (sum_low[row][c] & keep) +
            64'($signed(active0[row][c])) * x0.value +
            64'($signed(active1[row][c])) * x1.value +
            64'($signed(active2[row][c])) * x2.value +
            64'($signed(active3[row][c])) * x3.value;
      end
    end
  endtask

  // Inf and NaN of the group so far, only where there are any.
  task automatic flag_row(input int unsigned row, input logic wide, input lane_x_t x0,
                          input lane_x_t x1, input lane_x_t x2, input lane_x_t x3);
    int unsigned c;
    logic        carry;
    logic [31:0] flags;
    carry = row % GROUP_ROWS != 0 && special_live[row];
    special_live[row+1] = carry || active_special[row] || x0.nan || x1.nan || x2.nan || x3.nan ||
        x0.inf || x1.inf || x2.inf || x3.inf;
    if (special_live[row+1]) begin
      for (c = 0; c < Cols; c++) begin
        flags = carry ? special[row][c] : 32'd0;
        flags = flags | product_special(wide, active0[row][c], x0);
        flags = flags | product_special(wide, active1[row][c], x1);
        flags = flags | product_special(wide, active2[row][c], x2);
        flags = flags | product_special(wide, active3[row][c], x3);
        special[row+1][c] = flags;
      end
    end
  endtask

  // The last row of a group: dequantise and add.
  task automatic close_group(input int unsigned row, input logic wide, input pe_fmt_e x_fmt);
    int unsigned c;
    int unsigned group;
    logic [31:0] scale_x;
    logic [31:0] scale_w;
    logic [31:0] units;
    logic [31:0] flags;
    logic [31:0] term;
    group = row / GROUP_ROWS;
    scale_x = 32'(x_scale_i[group]);
    units = (wide ? 32'd16 : 32'd9) + (x_fmt == FmtE5M2X4 ? 32'd16 : 32'd9);
    for (c = 0; c < Cols; c++) begin
      scale_w = active_scale[group][c];
      p[row+1][c] = add_fp32(p[row][c], dequantize(
          wide ? sum_high[row+1][c] : 64'd0, sum_low[row+1][c], scale_w + scale_x,
          (scale_w == 32'(SCALE_NAN)) | (scale_x == 32'(SCALE_NAN)), units));
    end
    if (special_live[row+1]) begin
      for (c = 0; c < Cols; c++) begin
        scale_w = active_scale[group][c];
        flags = special[row+1][c];
        term = flags[1] ? FP32_INF : FP32_INF | 32'h8000_0000;
        if (flags[2] || flags[1:0] == 2'd3 || scale_w == 32'(SCALE_NAN) ||
            scale_x == 32'(SCALE_NAN)) begin
          term = FP32_NAN;
        end
        p[row+1][c] = (flags != 32'd0) ? add_fp32(p[row][c], term) : p[row+1][c];
      end
    end
  endtask

  task automatic multiply_row_mx(input int unsigned row, input move_token_t move,
                                 input logic [31:0] word);
    logic    wide;
    lane_x_t x0, x1, x2, x3;
    wide = move.w_fmt == FmtE5M2X4;
    x0 = decode_lane_x(move.x_fmt, lane_code(move.x_fmt, word, 0));
    x1 = decode_lane_x(move.x_fmt, lane_code(move.x_fmt, word, 1));
    x2 = decode_lane_x(move.x_fmt, lane_code(move.x_fmt, word, 2));
    x3 = decode_lane_x(move.x_fmt, lane_code(move.x_fmt, word, 3));
    sum_row(row, wide, x0, x1, x2, x3);
    flag_row(row, wide, x0, x1, x2, x3);
    if (row % GROUP_ROWS == GROUP_ROWS - 1) close_group(row, wide, move.x_fmt);
    else pass_row(row);
  endtask

  //////////
  // Edge //
  //////////

  always_ff @(posedge clk_i) begin : step
    int unsigned row;
    int unsigned c;
    load_token_t load;
    move_token_t move;
    if (!rst_ni) begin
      for (c = 0; c < Cols; c++) p[0][c] = 32'd0;
      for (c = 0; c < Cols; c++) sum_low[0][c] = 64'd0;
      for (c = 0; c < Cols; c++) sum_high[0][c] = 64'd0;
      for (row = 0; row <= Rows; row++) special_live[row] = 1'b0;
    end else if (enable_i) begin
      row = Rows;
      while (row != 0) begin
        row = row - 1;
        move = move_token_i[row];
        load = load_token_i[row];
        if (move.valid && move.swap) swap_row(row, move.mode);
        if (load.valid && row < 32'(load.rows)) load_row(row, load);
        if (move.valid) begin
          if (row >= 32'(move.rows)) pass_row(row);
          else if (move.mode == PeMx) multiply_row_mx(row, move, x_word_i[row]);
          else if (move.mode == PeOrdinary) begin
            multiply_row(row, decode_scalar(move.x_fmt, x_word_i[row]));
          end else if (move.mode == PeDoubleRow) begin
            multiply_row(row, decode_scalar(move.x_fmt, x_word_i[row]));
            multiply_row_again(row, decode_scalar(move.x_fmt, x_word_i[row] >> 8));
          end else if (row == 32'(move.index)) take_weights(row);
          else pass_row(row);
        end
      end
      foot_q <= p[Rows];
    end
  end

  //////////
  // Foot //
  //////////

  always_ff @(posedge clk_i) begin : register_foot
    if (!rst_ni) begin
      foot_token_q <= '0;
    end else if (enable_i) begin
      foot_token_q <= psum_token_i;
    end
  end

  assign foot_token_o = foot_token_q;
  assign foot_o = foot_q;

endmodule : pe_array
