// Delays each lane of a vector by its own number of cycles: one vector in per cycle, lane j out
// First + j * Step cycles after the vector that went in one cycle ago.
//
//   data_i --> [ ring of Depth vectors ] --> diagonal --> data_o
//
// One rotating buffer instead of a triangle of registers: a vector is written once and never moves.

module skew_buffer #(
  parameter int unsigned Depth = 128,
  parameter int unsigned Lanes = 128,
  parameter int unsigned Words = 1,   // per lane
  parameter int unsigned Width = 32,
  parameter int unsigned First = 0,
  parameter int unsigned Step = 1
) (
  input  logic                     clk_i,
  input  logic                     enable_i,
  input  logic                     write_i,
  input  logic [$clog2(Depth)-1:0] head_i,  // the entry this cycle may write
  input  logic [Width-1:0]         data_i [Lanes*Words],
  output logic [Width-1:0]         data_o [Lanes*Words]
);

  logic [Width-1:0] ring_q [Depth][Lanes*Words];

  always_ff @(posedge clk_i) begin
    if (enable_i && write_i) ring_q[head_i] <= data_i;
  end

  always_comb begin : read_diagonal
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      for (int unsigned word = 0; word < Words; word++) begin
        data_o[lane*Words+word] =
            ring_q[head_i - ($clog2(Depth))'(1 + First + lane * Step)][lane*Words+word];
      end
    end
  end

  if (Depth != 1 << $clog2(Depth) || First + (Lanes - 1) * Step >= Depth) begin : gen_check
    $error("skew_buffer: Depth must be a power of two above the longest delay");
  end

endmodule : skew_buffer
