// fp32 arithmetic of the array, written branch-free on 32-bit words: the loops that call it run
// over columns, and a C++ compiler turns them into SIMD code only if every lane does the same.
//
//   a, b --> [ align, sticky ] --> [ + ] --> [ lzc, normalise ] --> [ round, pack ] --> fp32
//
// A magnitude here has its unit bit at bit 26: 24 bits of significand and 3 guard bits below, room
// for a product in [1, 4) and a carry above. That is enough for one correct rounding, because a
// product of two operands has only 24 bits, the lowest at bit 4: a shift that loses bits makes its
// operand less than an eighth of the other, which leaves at most one bit of cancellation.
//
// Same answer as std::fma and + on float; tb/pe/pe_arith_tb.cpp compares.

package pe_arith_pkg;
  import bwmm_pkg::*;

  // Right shift that keeps "something was lost" in bit 0.
  function automatic logic [31:0] shift_jam(input logic [31:0] value, input logic [31:0] amount);
    logic [31:0] count;
    logic [31:0] shifted;
    count = (amount > 32'd31) ? 32'd31 : amount;
    shifted = value >> count[4:0];
    return shifted | {31'd0, (shifted << count[4:0]) != value};
  endfunction

  // magnitude * 2^(exponent - 153) with sign, rounded to nearest even; `exponent` is biased by 127.
  function automatic logic [31:0] round_fp32(input logic sign, input logic [31:0] exponent,
                                             input logic [31:0] magnitude);
    logic [31:0] norm;
    logic [31:0] left;
    logic [31:0] biased;
    logic [31:0] low;
    logic [31:0] base;
    logic [31:0] packed_value;
    norm = magnitude;
    left = 32'd0;
    left = left | ((norm < 32'h0001_0000) ? 32'd16 : 32'd0);
    norm = (norm < 32'h0001_0000) ? norm << 16 : norm;
    left = left | ((norm < 32'h0100_0000) ? 32'd8 : 32'd0);
    norm = (norm < 32'h0100_0000) ? norm << 8 : norm;
    left = left | ((norm < 32'h1000_0000) ? 32'd4 : 32'd0);
    norm = (norm < 32'h1000_0000) ? norm << 4 : norm;
    left = left | ((norm < 32'h4000_0000) ? 32'd2 : 32'd0);
    norm = (norm < 32'h4000_0000) ? norm << 2 : norm;
    left = left | ((norm < 32'h8000_0000) ? 32'd1 : 32'd0);
    norm = (norm < 32'h8000_0000) ? norm << 1 : norm;
    biased = exponent + 32'd5 - left;
    // Gradual underflow: a biased exponent below 1 shifts right instead.
    low = ($signed(biased) < 32'sd1) ? 32'd1 - biased : 32'd0;
    norm = shift_jam(norm, low);
    base = ($signed(biased) < 32'sd1) ? 32'd0 : biased - 32'd1;
    packed_value = (base << 23) + (norm >> 8) +
        ((norm & 32'h0000_00ff) + ((norm >> 8) & 32'd1) > 32'h0000_0080 ? 32'd1 : 32'd0);
    packed_value = (packed_value > FP32_INF) ? FP32_INF : packed_value;
    packed_value = (magnitude == 32'd0) ? 32'd0 : packed_value;
    return packed_value | {sign, 31'd0};
  endfunction

  // Sum of two aligned-to-bit-26 operands with biased exponents, rounded once.
  function automatic logic [31:0] add_round(
      input logic sign_a, input logic [31:0] exponent_a, input logic [31:0] magnitude_a,
      input logic sign_b, input logic [31:0] exponent_b, input logic [31:0] magnitude_b);
    logic [31:0] gap;
    logic        a_leads;
    logic [31:0] exponent;
    logic [31:0] aligned_a;
    logic [31:0] aligned_b;
    logic [31:0] sum;
    logic        sign;
    gap = exponent_a - exponent_b;
    a_leads = $signed(gap) >= 32'sd0;
    exponent = a_leads ? exponent_a : exponent_b;
    aligned_a = shift_jam(magnitude_a, a_leads ? 32'd0 : 32'd0 - gap);
    aligned_b = shift_jam(magnitude_b, a_leads ? gap : 32'd0);
    sum = (sign_a ? 32'd0 - aligned_a : aligned_a) + (sign_b ? 32'd0 - aligned_b : aligned_b);
    sign = (sum == 32'd0) ? sign_a & sign_b : sum[31];
    return round_fp32(sign, exponent, sum[31] ? 32'd0 - sum : sum);
  endfunction

  // One PE: fma(w, x, p) for finite w and x, operands as pe_operand_pkg decodes them. p may be
  // anything; an Inf or NaN passes.
  function automatic logic [31:0] fma_finite(input logic [31:0] w, input logic [31:0] x,
                                             input logic [31:0] p);
    logic [31:0] product;
    logic [31:0] product_exponent;
    logic [31:0] p_field;
    logic [31:0] p_exponent;
    logic [31:0] p_magnitude;
    logic [31:0] result;
    product = (w & 32'hfff) * (x & 32'hfff);
    product_exponent = ((w >> 12) & 32'h3ff) + ((x >> 12) & 32'h3ff) - 32'd897;
    p_field = (p >> 23) & 32'hff;
    p_exponent = (p_field == 32'd0) ? 32'd1 : p_field;
    p_magnitude = ((p & 32'h007f_ffff) | ((p_field == 32'd0) ? 32'd0 : 32'h0080_0000)) << 3;
    result = add_round(p[31], p_exponent, p_magnitude,
                       w[22] ^ x[22], product_exponent, product << 4);
    return (p_field == 32'hff) ? p : result;
  endfunction

  // Corrects `finite`, fma_finite's answer, where w or x is Inf or NaN.
  function automatic logic [31:0] fma_special(input logic [31:0] w, input logic [31:0] x,
                                              input logic [31:0] p, input logic [31:0] finite);
    logic        nan;
    logic        inf;
    logic        sign;
    logic [31:0] result;
    inf = w[23] || x[23];
    sign = w[22] ^ x[22];
    nan = w[24] || x[24] || (w[23] && x[11:0] == 12'd0) || (x[23] && w[11:0] == 12'd0) ||
        p[30:0] > FP32_INF[30:0] || (inf && p[30:0] == FP32_INF[30:0] && p[31] != sign);
    result = inf ? FP32_INF | {sign, 31'd0} : finite;
    return nan ? FP32_NAN : result;
  endfunction

  // a + b for any two fp32 words.
  function automatic logic [31:0] add_fp32(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] a_field;
    logic [31:0] b_field;
    logic [31:0] a_magnitude;
    logic [31:0] b_magnitude;
    logic [31:0] result;
    logic        a_nan;
    logic        b_nan;
    logic        opposite;
    a_field = (a >> 23) & 32'hff;
    b_field = (b >> 23) & 32'hff;
    a_magnitude = ((a & 32'h007f_ffff) | ((a_field == 32'd0) ? 32'd0 : 32'h0080_0000)) << 3;
    b_magnitude = ((b & 32'h007f_ffff) | ((b_field == 32'd0) ? 32'd0 : 32'h0080_0000)) << 3;
    result = add_round(a[31], (a_field == 32'd0) ? 32'd1 : a_field, a_magnitude,
                       b[31], (b_field == 32'd0) ? 32'd1 : b_field, b_magnitude);
    a_nan = (a & 32'h7fff_ffff) > FP32_INF;
    b_nan = (b & 32'h7fff_ffff) > FP32_INF;
    opposite = (a_field == 32'hff) & (b_field == 32'hff) & (a[31] ^ b[31]);
    result = (b_field == 32'hff) ? b : result;
    result = (a_field == 32'hff) ? a : result;
    return (a_nan | b_nan | opposite) ? FP32_NAN : result;
  endfunction

  // fp32 to bf16 in the low half, round to nearest even.
  function automatic logic [31:0] round_bf16(input logic [31:0] a);
    logic [31:0] rounded;
    rounded = (a + 32'h7fff + ((a >> 16) & 32'd1)) >> 16;
    return ((a & 32'h7fff_ffff) > FP32_INF) ? 32'h0000_7fc0 : rounded;
  endfunction

endpackage : pe_arith_pkg
