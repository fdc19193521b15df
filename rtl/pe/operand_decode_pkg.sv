// Operand decode at the array's left edge: raw element bits to what a PE multiplies.
//
//   raw --> decode_scalar --> {nan, inf, sign, exponent + 512, significand}    ordinary mode
//   raw --> decode_lane   --> integer in units of 2^-9, or {integer, shift}    MX mode, stationary
//   raw --> decode_lane_x --> 64-bit integer and flags                         MX mode, moving
//
// Ordinary: 12-bit significands hold bf16, fp16, every fp8 and each half of an fp32 significand
// exactly. What has no leading bit (subnormals, lower halves) is normalised here, so that a PE sees
// one; exponent 0 stands for zero. Both halves keep the sign; the lower half of Inf is NaN.
// MX: E2M1 is widened to E4M3 first. An E5M2 integer needs 33 bits, so the stationary one stays
// {significand, shift} in its 32-bit word and a PE shifts it.

package operand_decode_pkg;
  import bwmm_pkg::*;

  // Integers that no finite lane has.
  parameter logic [31:0] LANE_NAN_E4M3 = 32'h4000_0000;
  parameter logic [4:0] SHIFT_INF = 5'd30;
  parameter logic [4:0] SHIFT_NAN = 5'd31;

  typedef struct packed {
    logic               nan;
    logic               inf;
    logic               zero;
    logic               sign;
    logic signed [63:0] value;  // units of 2^-9 (E4M3) or 2^-16 (E5M2)
  } lane_x_t;

  function automatic logic [31:0] decode_scalar(input pe_fmt_e fmt, input logic [31:0] raw);
    logic        sign;
    logic [31:0] field;
    logic [31:0] mantissa;  // 11 bits, left aligned
    logic [31:0] bias;
    logic [31:0] top;       // largest exponent field
    logic        nan;
    logic        inf;
    logic [31:0] exponent;
    logic [31:0] significand;
    logic        fp32;
    fp32 = fmt == FmtFp32High || fmt == FmtFp32Low;
    sign = fp32 ? raw[31] : (fmt == FmtBf16 || fmt == FmtFp16) ? raw[15] : raw[7];
    unique case (fmt)
      FmtFp32High: begin
        field = {24'd0, raw[30:23]};
        mantissa = {21'd0, raw[22:12]};
        bias = 32'd127;
        top = 32'd255;
      end
      FmtFp32Low: begin
        field = {24'd0, raw[30:23]};
        mantissa = {20'd0, raw[11:0]};
        bias = 32'd139;  // 12 places below the upper half
        top = 32'd255;
      end
      FmtBf16: begin
        field = {24'd0, raw[14:7]};
        mantissa = {21'd0, raw[6:0], 4'd0};
        bias = 32'd127;
        top = 32'd255;
      end
      FmtFp16: begin
        field = {27'd0, raw[14:10]};
        mantissa = {21'd0, raw[9:0], 1'b0};
        bias = 32'd15;
        top = 32'd31;
      end
      FmtE5M2: begin
        field = {27'd0, raw[6:2]};
        mantissa = {21'd0, raw[1:0], 9'd0};
        bias = 32'd15;
        top = 32'd31;
      end
      default: begin
        field = {28'd0, raw[6:3]};
        mantissa = {21'd0, raw[2:0], 8'd0};
        bias = 32'd7;
        top = 32'd15;
      end
    endcase
    nan = (fmt == FmtE4M3Fn) ? (raw[6:0] == 7'h7f)
        : field == top && (fmt == FmtFp32Low || (fp32 ? raw[22:0] != 23'd0 : mantissa != 32'd0));
    inf = (fmt != FmtE4M3Fn) && field == top && !nan;
    exponent = ((field == 32'd0) ? 32'd1 : field) + 32'd512 - bias;
    significand = mantissa | ((field == 32'd0 || fmt == FmtFp32Low) ? 32'd0 : 32'h800);
    for (int unsigned i = 0; i < 11; i++) begin
      if (!significand[11]) begin
        significand = significand << 1;
        exponent = exponent - 32'd1;
      end
    end
    if (significand == 32'd0) exponent = 32'd0;
    return {7'd0, nan, inf, sign, exponent[9:0], significand[11:0]};
  endfunction

  // One lane of an x4 word as its own 8-bit code; E2M1 becomes E4M3.
  function automatic logic [7:0] lane_code(input pe_fmt_e fmt, input logic [31:0] raw,
                                           input int unsigned lane);
    logic [3:0] nibble;
    logic [7:0] wide;
    nibble = 4'((raw >> (4 * lane)) & 32'hf);
    unique case (nibble[2:0])
      3'd0: wide = {nibble[3], 7'h00};
      3'd1: wide = {nibble[3], 7'h30};  // 0.5
      default: wide = {nibble[3], 4'd6 + {2'd0, nibble[2:1]}, nibble[0], 2'd0};
    endcase
    return (fmt == FmtE2M1X4) ? wide : 8'((raw >> (8 * lane)) & 32'hff);
  endfunction

  function automatic logic [31:0] decode_lane(input pe_fmt_e fmt, input logic [7:0] code);
    logic [31:0] magnitude;
    logic [4:0]  shift;
    logic [31:0] signed_value;
    if (fmt == FmtE5M2X4) begin
      magnitude = {29'd0, code[6:2] != 5'd0, code[1:0]};
      shift = (code[6:2] == 5'd0) ? 5'd0 : code[6:2] - 5'd1;  // 31 - 1 = 30 marks Inf
      if (code[6:2] == 5'd31 && code[1:0] != 2'd0) shift = SHIFT_NAN;
      signed_value = code[7] ? 32'd0 - magnitude : magnitude;
      return {signed_value[26:0], shift};
    end
    magnitude = {28'd0, code[6:3] != 4'd0, code[2:0]};
    magnitude = magnitude << ((code[6:3] == 4'd0) ? 4'd0 : code[6:3] - 4'd1);
    signed_value = code[7] ? 32'd0 - magnitude : magnitude;
    return (code[6:0] == 7'h7f) ? LANE_NAN_E4M3 : signed_value;
  endfunction

  function automatic lane_x_t decode_lane_x(input pe_fmt_e fmt, input logic [7:0] code);
    lane_x_t     lane;
    logic [63:0] magnitude;
    lane.sign = code[7];
    if (fmt == FmtE5M2X4) begin
      lane.nan = code[6:2] == 5'd31 && code[1:0] != 2'd0;
      lane.inf = code[6:2] == 5'd31 && code[1:0] == 2'd0;
      magnitude = {61'd0, code[6:2] != 5'd0, code[1:0]};
      magnitude = magnitude << ((code[6:2] == 5'd0) ? 5'd0 : code[6:2] - 5'd1);
    end else begin
      lane.nan = code[6:0] == 7'h7f;
      lane.inf = 1'b0;
      magnitude = {60'd0, code[6:3] != 4'd0, code[2:0]};
      magnitude = magnitude << ((code[6:3] == 4'd0) ? 4'd0 : code[6:3] - 4'd1);
    end
    lane.zero = magnitude == 64'd0;
    lane.value = code[7] ? 64'd0 - magnitude : magnitude;
    return lane;
  endfunction

  // Inf or NaN in a stationary word as the PE holds it.
  function automatic logic lane_is_nan(input logic wide, input logic [31:0] lane);
    return wide ? lane[4:0] == SHIFT_NAN : lane == LANE_NAN_E4M3;
  endfunction

  function automatic logic lane_is_inf(input logic wide, input logic [31:0] lane);
    return wide && lane[4:0] == SHIFT_INF;
  endfunction

  function automatic logic lane_is_special(input logic wide, input logic [31:0] lane);
    return lane_is_nan(wide, lane) || lane_is_inf(wide, lane);
  endfunction

  // An E5M2 stationary lane as the integer it stands for.
  function automatic logic [63:0] lane_value(input logic [31:0] lane);
    return {{37{lane[31]}}, lane[31:5]} << lane[4:0];
  endfunction

  // What one product adds to the group when an operand is Inf or NaN: {nan, +inf, -inf}.
  function automatic logic [31:0] product_special(input logic wide, input logic [31:0] lane,
                                                  input lane_x_t x);
    logic w_inf;
    logic w_zero;
    logic nan;
    logic inf;
    logic sign;
    w_inf = lane_is_inf(wide, lane);
    w_zero = wide ? lane[31:5] == 27'd0 : lane == 32'd0;
    nan = lane_is_nan(wide, lane) || x.nan || (w_inf && x.zero) || (x.inf && w_zero);
    inf = !nan && (w_inf || x.inf);
    sign = lane[31] ^ x.sign;
    return {29'd0, nan, inf && !sign, inf && sign};
  endfunction

endpackage : operand_decode_pkg
