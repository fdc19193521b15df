// quantize_mx: a column of Rows partitions x 4 lanes per cycle, bf16 or fp16 in, fp8 x4 out with
// one E8M0 scale per scale group.
//
//   data_i --> s1 [ decode, largest exponent ] --> s2 [ scale code ] --> s3 [ V / X, round ] -> out
//
// X = 2^(floor(log2 amax) - (emax - 1)), the `x2` rule, or one less of headroom (`ocp`), where
// elements saturate. Dividing by a power of two is an exponent subtraction, so every element is
// rounded once, to nearest even. A group without a leading bit above the smallest scale takes
// scale 0x00; a group with Inf or NaN takes scale 0xff and codes 0x7f.
//
// Latency 3 edges, one column per edge, no back-pressure.
// Same answer as model/ops/quantize_mx.h; tb/mx/quantize_mx_tb.cpp compares.

module quantize_mx
  import bwmm_pkg::*;
  import operand_decode_pkg::*;
#(
  parameter int unsigned Rows = 128
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  // Column in
  input  logic        in_valid_i,
  input  logic        source_fp16_i,  // else bf16
  input  logic        target_e5m2_i,  // else e4m3fn
  input  logic        rule_ocp_i,     // else x2
  input  logic [15:0] data_i [GROUP_LANES*Rows],
  // Column out
  output logic        out_valid_o,
  output logic [31:0] words_o  [Rows],
  output logic [7:0]  scales_o [Rows/GROUP_ROWS]
);

  localparam int unsigned ELEMENTS = GROUP_LANES * Rows;
  localparam int unsigned GROUPS = Rows / GROUP_ROWS;

  typedef struct packed {
    logic valid;
    logic e5m2;
    logic ocp;
  } stage_t;

  stage_t      s1_q, s2_q, s3_q;
  logic [31:0] s1_elements_d [ELEMENTS], s1_elements_q [ELEMENTS], s2_elements_q [ELEMENTS];
  logic [31:0] s1_top_d [GROUPS], s1_top_q [GROUPS];  // largest exponent + 512; all ones: special
  logic [7:0]  s2_scale_d [GROUPS], s2_scale_q [GROUPS], s3_scale_q [GROUPS];
  logic [31:0] s3_words_d [Rows], s3_words_q [Rows];

  /////////////////////////////////
  // s1: decode, largest exponent //
  /////////////////////////////////

  always_comb begin : decode_column
    for (int unsigned i = 0; i < ELEMENTS; i++) begin
      s1_elements_d[i] = decode_scalar(source_fp16_i ? FmtFp16 : FmtBf16, {16'd0, data_i[i]});
    end
    for (int unsigned g = 0; g < GROUPS; g++) begin
      s1_top_d[g] = 32'd0;
      for (int unsigned i = 0; i < GROUP_ELEMENTS; i++) begin
        logic [31:0] element;
        logic [31:0] exponent;
        element = s1_elements_d[g*GROUP_ELEMENTS+i];
        exponent = (element[24:23] != 2'd0) ? '1 : {22'd0, element[21:12]};
        s1_top_d[g] = (exponent > s1_top_d[g]) ? exponent : s1_top_d[g];
      end
    end
  end

  ///////////////
  // s2: scale //
  ///////////////

  always_comb begin : choose_scale
    logic [31:0] headroom;
    // emax - 1 or emax, on a code biased by SCALE_BIAS and an exponent biased by 512.
    headroom = 32'd512 - SCALE_BIAS + (s1_q.e5m2 ? 32'd14 : 32'd7) + (s1_q.ocp ? 32'd1 : 32'd0);
    for (int unsigned g = 0; g < GROUPS; g++) begin
      if (s1_top_q[g] == '1) s2_scale_d[g] = SCALE_NAN;
      else if (s1_top_q[g] < headroom) s2_scale_d[g] = 8'h00;
      else s2_scale_d[g] = 8'(s1_top_q[g] - headroom);
    end
  end

  //////////////////
  // s3: elements //
  //////////////////

  // RNE(element / 2^(scale - SCALE_BIAS)) as an fp8 code, clamped to the largest finite one.
  function automatic logic [7:0] quantize_element(input logic e5m2, input logic [7:0] scale,
                                                  input logic [31:0] element);
    logic [31:0] exponent;   // of the quotient, above the smallest normal one
    logic [31:0] shift;
    logic [31:0] kept;
    logic [31:0] lost;
    logic [31:0] half;
    logic [31:0] code;
    logic [31:0] largest;
    exponent = {22'd0, element[21:12]} - 32'd512 + SCALE_BIAS - {24'd0, scale} +
        (e5m2 ? 32'd14 : 32'd6);
    shift = (e5m2 ? 32'd9 : 32'd8) + (exponent[31] ? 32'd0 - exponent : 32'd0);
    shift = (shift > 32'd20) ? 32'd20 : shift;
    kept = {20'd0, element[11:0]} >> shift[4:0];
    lost = {20'd0, element[11:0]} - (kept << shift[4:0]);
    half = 32'd1 << (shift[4:0] - 5'd1);
    code = (exponent[31] ? 32'd0 : exponent << (e5m2 ? 2 : 3)) + kept +
        ((lost + {31'd0, kept[0]} > half) ? 32'd1 : 32'd0);
    largest = e5m2 ? 32'h7b : 32'h7e;
    code = (code > largest) ? largest : code;
    return (scale == SCALE_NAN) ? 8'h7f : {element[22], code[6:0]};
  endfunction

  always_comb begin : quantize_column
    for (int unsigned r = 0; r < Rows; r++) begin
      s3_words_d[r] = 32'd0;
      for (int unsigned lane = 0; lane < GROUP_LANES; lane++) begin
        s3_words_d[r] = s3_words_d[r] | (32'(quantize_element(
            s2_q.e5m2, s2_scale_q[r/GROUP_ROWS], s2_elements_q[GROUP_LANES*r+lane]))
            << (8 * lane));
      end
    end
  end

  ////////////
  // Stages //
  ////////////

  always_ff @(posedge clk_i) begin : advance
    if (!rst_ni) begin
      s1_q <= '0;
      s2_q <= '0;
      s3_q <= '0;
    end else begin
      s1_q <= '{valid: in_valid_i, e5m2: target_e5m2_i, ocp: rule_ocp_i};
      s2_q <= s1_q;
      s3_q <= s2_q;
    end
  end

  always_ff @(posedge clk_i) begin : advance_column
    if (in_valid_i) begin
      s1_elements_q <= s1_elements_d;
      s1_top_q <= s1_top_d;
    end
    if (s1_q.valid) begin
      s2_elements_q <= s1_elements_q;
      s2_scale_q <= s2_scale_d;
    end
    if (s2_q.valid) begin
      s3_words_q <= s3_words_d;
      s3_scale_q <= s2_scale_q;
    end
  end

  assign out_valid_o = s3_q.valid;
  assign words_o = s3_words_q;
  assign scales_o = s3_scale_q;

endmodule : quantize_mx
