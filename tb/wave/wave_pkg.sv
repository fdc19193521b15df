// Bits to real numbers, for a waveform that a person reads. Simulation only.

package wave_pkg;

  parameter int unsigned LANES = 4;
  parameter int unsigned MACHINE_ENGINES = 6;  // tensor, vector, scalar, gpsimd, sync, dma

  function automatic real fp32_real(input logic [31:0] bits);
    logic [10:0] exponent;
    if (bits[30:23] == 8'd0) return (bits[31] ? -1.0 : 1.0) * $itor({9'd0, bits[22:0]}) * 2.0**-149;
    exponent = (bits[30:23] == 8'hff) ? 11'h7ff : 11'(bits[30:23]) + 11'd896;
    return $bitstoreal({bits[31], exponent, bits[22:0], 29'd0});
  endfunction

  // What operand_decode_pkg::decode_scalar made.
  function automatic real scalar_real(input logic [31:0] word);
    real magnitude;
    magnitude = $itor({21'd0, word[10:0]}) * 2.0**($itor({22'd0, word[20:11]}) - 522.0);
    return word[21] ? -magnitude : magnitude;
  endfunction

  // A stationary lane as the PE holds it.
  function automatic real lane_real(input logic wide, input logic [31:0] lane);
    if (wide) return $itor({{5{lane[31]}}, lane[31:5]}) * 2.0**($itor({27'd0, lane[4:0]}) - 16.0);
    return $itor(lane) * 2.0**-9;
  endfunction

  // A 64-bit integer; $itor takes 32 bits.
  function automatic real wide_real(input logic [63:0] value);
    return $itor(value[63:32]) * 2.0**32 + $itor({16'd0, value[31:16]}) * 2.0**16 +
        $itor({16'd0, value[15:0]});
  endfunction

endpackage : wave_pkg
