// PSUM: per column a memory of 32-bit words, each one fp32 value or two bf16 halves.
//
//   foot of the array --> [ overwrite | + ] --> words <--> engine port (one row of all columns)
//                              ^----------------|
//
// fp32 accumulate is RNE(psum + column); a bf16 half widens, adds in fp32 and rounds to bf16 every
// time. Transposed 2-byte rows keep their bits. An address counts halves: word a / 2, half
// a % 2 (low half first).
//
// One row per edge from the array, read, added and written in place (see pe_array for why the
// assignments are blocking). The engine port reads through and writes at the edge; the sequencer
// orders the two sides. Nothing here is reset: a word is written before it is used.
// Same answer as model/ops/psum.h; tb/psum/psum_tb.cpp compares.

module psum
  import bwmm_pkg::*;
  import pe_arith_pkg::*;
#(
  parameter int unsigned Cols = 128,
  parameter int unsigned Words = 4096
) (
  input  logic                     clk_i,
  // Array side
  input  logic                     enable_i,
  input  psum_token_t              token_i,
  input  logic [31:0]              row_i [Cols],
  // Engine port
  input  logic [$clog2(Words)-1:0] port_word_i,
  input  logic                     port_write_i,
  input  logic [31:0]              port_data_i [Cols],
  output logic [31:0]              port_data_o [Cols]
);

  logic [31:0] words [Words][Cols];

  always_ff @(posedge clk_i) begin : update
    int unsigned c;
    int unsigned cols;
    logic [$clog2(Words)-1:0] word;
    logic [4:0]  shift;
    logic [31:0] keep;
    logic [31:0] value;
    word = token_i.address[$clog2(Words):1];
    shift = {token_i.address[0], 4'd0};
    keep = token_i.address[0] ? 32'h0000_ffff : 32'hffff_0000;
    cols = 32'(token_i.cols);
    if (enable_i && token_i.valid) begin
      if (!token_i.half && !token_i.accumulate) begin
        for (c = 0; c < Cols; c++) words[word][c] = (c < cols) ? row_i[c] : words[word][c];
      end else if (!token_i.half) begin
        for (c = 0; c < Cols; c++) begin
          words[word][c] = (c < cols) ? add_fp32(words[word][c], row_i[c]) : words[word][c];
        end
      end else begin
        for (c = 0; c < Cols; c++) begin
          value = token_i.accumulate ? add_fp32((words[word][c] >> shift) << 16, row_i[c])
                                     : row_i[c];
          value = token_i.transpose ? row_i[c] & 32'h0000_ffff : round_bf16(value);
          words[word][c] = (c < cols) ? (words[word][c] & keep) | (value << shift)
                                      : words[word][c];
        end
      end
    end
    if (port_write_i) begin
      for (c = 0; c < Cols; c++) words[port_word_i][c] = port_data_i[c];
    end
  end

  always_comb begin : read_port
    for (int unsigned c = 0; c < Cols; c++) port_data_o[c] = words[port_word_i][c];
  end

endmodule : psum
