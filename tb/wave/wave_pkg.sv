// Bits to real numbers, for a waveform that a person reads. Simulation only.

package wave_pkg;
  import operand_decode_pkg::*;

  parameter int unsigned LANES = 4;

  function automatic real fp32_real(input logic [31:0] bits);
    logic [10:0] exponent;
    if (bits[30:23] == 8'd0) return (bits[31] ? -1.0 : 1.0) * $itor({9'd0, bits[22:0]}) * 2.0**-149;
    exponent = (bits[30:23] == 8'hff) ? 11'h7ff : 11'(bits[30:23]) + 11'd896;
    return $bitstoreal({bits[31], exponent, bits[22:0], 29'd0});
  endfunction

  function automatic real inf_real(input logic negative);
    return $bitstoreal({negative, 11'h7ff, 52'd0});
  endfunction

  // With a payload, because Verilator cannot write a NaN that is a constant.
  function automatic real nan_real(input logic [31:0] payload);
    return $bitstoreal({12'h7ff, 1'b1, 19'd0, payload});
  endfunction

  // What operand_decode_pkg::decode_scalar made.
  function automatic real scalar_real(input logic [31:0] word);
    real magnitude;
    if (word[24]) return nan_real(word);
    if (word[23]) return inf_real(word[22]);
    magnitude = $itor({20'd0, word[11:0]}) * 2.0**($itor({22'd0, word[21:12]}) - 523.0);
    return word[22] ? -magnitude : magnitude;
  endfunction

  // A stationary lane as the PE holds it: an integer, or {integer, shift} when wide.
  function automatic real lane_real(input logic wide, input logic [31:0] lane);
    if (lane_is_nan(wide, lane)) return nan_real(lane);
    if (lane_is_inf(wide, lane)) return inf_real(lane[31]);
    if (wide) return wide_real(lane_value(lane)) * 2.0**-16;
    return wide_real({{32{lane[31]}}, lane}) * 2.0**-9;
  endfunction

  // A moving lane as the array's left edge decodes it.
  function automatic real x_lane_real(input logic wide, input lane_x_t x);
    if (x.nan) return nan_real(x.value[31:0]);
    if (x.inf) return inf_real(x.sign);
    return wide_real(x.value) * (wide ? 2.0**-16 : 2.0**-9);
  endfunction

  // The sum of a group as the array holds it; `special` is {nan, +inf, -inf} of what went in.
  function automatic real group_real(input logic w_wide, input logic x_wide,
                                     input logic [63:0] high, input logic [63:0] low,
                                     input logic [2:0] special);
    if (special[2] || special[1:0] == 2'b11) return nan_real({29'd0, special});
    if (special[1:0] != 2'b00) return inf_real(special[0]);
    return ((w_wide ? wide_real(high) * 2.0**16 : 0.0) + wide_real(low)) *
        (w_wide ? 2.0**-16 : 2.0**-9) * (x_wide ? 2.0**-16 : 2.0**-9);
  endfunction

  // The product of two E8M0 scales, 2^(w - 127) * 2^(x - 127).
  function automatic real scales_real(input logic [7:0] w, input logic [7:0] x);
    if (w == 8'hff || x == 8'hff) return nan_real({16'd0, w, x});
    return 2.0**($itor({24'd0, w}) + $itor({24'd0, x}) - 254.0);
  endfunction

  // A 64-bit integer in two's complement. $itor takes 32 bits and reads them without a sign, so the
  // sign bit is taken out and subtracted.
  function automatic real wide_real(input logic [63:0] value);
    return ($itor({1'b0, value[62:32]}) - (value[63] ? 2.0**31 : 0.0)) * 2.0**32 +
        $itor({16'd0, value[31:16]}) * 2.0**16 + $itor({16'd0, value[15:0]});
  endfunction

endpackage : wave_pkg
