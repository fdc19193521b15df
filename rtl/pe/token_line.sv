// A token that travels down the rows: written once per cycle, seen by row k after k cycles.
//
//   token_i --> [0] --> [1] --> ... --> [Depth-1]      taps_o[k] is what reaches row k
//
// A rotating buffer like skew_buffer, with every entry visible. `Token` must have its valid bit at
// the top, so that a reset line holds none.

module token_line #(
  parameter int unsigned Depth = 128,
  parameter int unsigned Width = 1
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     enable_i,
  input  logic [$clog2(Depth)-1:0] head_i,
  input  logic [Width-1:0]         token_i,
  output logic [Width-1:0]         taps_o [Depth]
);

  logic [Width-1:0] ring_q [Depth];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) ring_q <= '{default: '0};
    else if (enable_i) ring_q[head_i] <= token_i;
  end

  always_comb begin : read_taps
    for (int unsigned k = 0; k < Depth; k++) taps_o[k] = ring_q[head_i - ($clog2(Depth))'(1 + k)];
  end

endmodule : token_line
