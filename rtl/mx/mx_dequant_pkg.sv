// E8M0 dequantisation: the exact integer sum of a scale group to fp32, rounded once.
//
//   high * 2^16 + low --> [ 72-bit magnitude ] --> [ lzc ] --> [ * 2^exponent, round ] --> fp32
//
// The sum comes in two 64-bit halves because E5M2 x E5M2 needs 71 bits. `exponent` is
// ss + sm - 2 SCALE_BIAS minus the units of both formats: the sum counts 2^-9 (E4M3) or 2^-16
// (E5M2) per operand. Gradual underflow, overflow to Inf, an exactly zero sum gives +0, a NaN scale
// NaN.
//
// Branch-free, because it runs over the columns of every eighth row.
// Same answer as model/ops/matmul_mx.h; tb/pe/pe_arith_tb.cpp compares.

package mx_dequant_pkg;
  import bwmm_pkg::*;
  import pe_arith_pkg::*;

  function automatic logic [31:0] dequantize(input logic [63:0] high, input logic [63:0] low,
                                             input logic [31:0] scale_sum, input logic nan,
                                             input logic [31:0] unit_exponent);
    logic [63:0] top;     // floor(sum / 2^16)
    logic [63:0] bottom;  // sum mod 2^16
    logic        sign;
    logic        big;
    logic [63:0] magnitude;
    logic [31:0] left;
    logic [31:0] exponent;
    logic [31:0] result;
    top = high + {{16{low[63]}}, low[63:16]};
    bottom = low & 64'hffff;
    sign = top[63];
    // -(top:bottom) in two words.
    top = sign ? ~top + ((bottom == 64'd0) ? 64'd1 : 64'd0) : top;
    bottom = sign ? (64'd0 - bottom) & 64'hffff : bottom;
    big = top >= 64'h0000_0100_0000_0000;
    magnitude = big ? (top << 8) | (bottom >> 8) | (((bottom & 64'hff) != 64'd0) ? 64'd1 : 64'd0)
                    : (top << 16) | bottom;
    // Normalise to bit 63, then keep 32 bits and a sticky one.
    left = 32'd0;
    left = left + ((magnitude < 64'h0000_0001_0000_0000) ? 32'd32 : 32'd0);
    magnitude = (magnitude < 64'h0000_0001_0000_0000) ? magnitude << 32 : magnitude;
    left = left + ((magnitude < 64'h0001_0000_0000_0000) ? 32'd16 : 32'd0);
    magnitude = (magnitude < 64'h0001_0000_0000_0000) ? magnitude << 16 : magnitude;
    left = left + ((magnitude < 64'h0100_0000_0000_0000) ? 32'd8 : 32'd0);
    magnitude = (magnitude < 64'h0100_0000_0000_0000) ? magnitude << 8 : magnitude;
    left = left + ((magnitude < 64'h1000_0000_0000_0000) ? 32'd4 : 32'd0);
    magnitude = (magnitude < 64'h1000_0000_0000_0000) ? magnitude << 4 : magnitude;
    left = left + ((magnitude < 64'h4000_0000_0000_0000) ? 32'd2 : 32'd0);
    magnitude = (magnitude < 64'h4000_0000_0000_0000) ? magnitude << 2 : magnitude;
    left = left + ((magnitude < 64'h8000_0000_0000_0000) ? 32'd1 : 32'd0);
    magnitude = (magnitude < 64'h8000_0000_0000_0000) ? magnitude << 1 : magnitude;
    magnitude = (magnitude >> 35) | (((magnitude & 64'h7_ffff_ffff) != 64'd0) ? 64'd1 : 64'd0);
    // magnitude now has its top bit at 28, so it is worth 2^(exponent - 153) per unit.
    exponent = scale_sum - unit_exponent - 32'd2 * SCALE_BIAS + 32'd153 + 32'd35 - left +
        (big ? 32'd8 : 32'd0);
    result = round_fp32(sign, exponent, magnitude[31:0]);
    result = (magnitude == 64'd0) ? 32'd0 : result;
    return nan ? FP32_NAN : result;
  endfunction

endpackage : mx_dequant_pkg
