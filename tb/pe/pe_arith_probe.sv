// The functions of pe_arith_pkg, operand_decode_pkg and mx_dequant_pkg as ports, for their bench.

module pe_arith_probe
  import bwmm_pkg::*;
  import pe_arith_pkg::*;
  import operand_decode_pkg::*;
  import mx_dequant_pkg::*;
(
  // Fused multiply-add of decoded operands, and fp32 addition
  input  logic [3:0]  w_fmt_i,
  input  logic [3:0]  x_fmt_i,
  input  logic [31:0] w_i,
  input  logic [31:0] x_i,
  input  logic [31:0] p_i,
  output logic [31:0] w_decoded_o,
  output logic [31:0] fma_o,
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  output logic [31:0] sum_o,
  output logic [31:0] bf16_o,
  // One lane of an x4 word, as stationary and as moving operand
  input  logic [31:0] lane_i,
  output logic [63:0] w_lane_o,
  output logic [1:0]  w_special_o,  // {nan, inf}
  output logic [63:0] x_lane_o,
  output logic [1:0]  x_special_o,
  // Dequantisation
  input  logic [63:0] high_i,
  input  logic [63:0] low_i,
  input  logic [31:0] scale_sum_i,
  input  logic [31:0] units_i,
  input  logic        nan_i,
  output logic [31:0] dequant_o,
  // The scale group of bwmm_pkg
  output logic [31:0] group_rows_o,
  output logic [31:0] group_lanes_o,
  output logic [31:0] scale_bias_o,
  output logic [7:0]  scale_nan_o
);

  logic [31:0] w, x, finite, lane;
  logic [7:0]  code;
  logic        wide;
  lane_x_t     moving;

  always_comb begin
    w = decode_scalar(pe_fmt_e'(w_fmt_i), w_i);
    x = decode_scalar(pe_fmt_e'(x_fmt_i), x_i);
    w_decoded_o = w;
    finite = fma_finite(w, x, p_i);
    fma_o = fma_special(w, x, p_i, finite);
    sum_o = add_fp32(a_i, b_i);
    bf16_o = round_bf16(a_i);

    wide = pe_fmt_e'(w_fmt_i) == FmtE5M2X4;
    code = lane_code(pe_fmt_e'(w_fmt_i), w_i, lane_i);
    lane = decode_lane(pe_fmt_e'(w_fmt_i), code);
    w_lane_o = wide ? lane_value(lane) : {{32{lane[31]}}, lane};
    w_special_o = {lane_is_nan(wide, lane), lane_is_inf(wide, lane)};
    moving = decode_lane_x(pe_fmt_e'(w_fmt_i), code);
    x_lane_o = moving.value;
    x_special_o = {moving.nan, moving.inf};

    group_rows_o = GROUP_ROWS;
    group_lanes_o = GROUP_LANES;
    scale_bias_o = SCALE_BIAS;
    scale_nan_o = SCALE_NAN;

    dequant_o = dequantize(high_i, low_i, scale_sum_i, nan_i, units_i);
  end

endmodule : pe_arith_probe
