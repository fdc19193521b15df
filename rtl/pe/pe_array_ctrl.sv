// Control of the PE array: takes commands in order and decides, edge by edge, what moves.
//
//   command --> load slot --> LoadStationary port, 4 columns per edge --> load_token_o
//          \--> move slot --> MultiplyMoving port, 1 row per edge    --> move_token_o, psum_token_o
//
// Rules (docs/units/tensor_engine.md derives the timing from them):
//  - At most one command is accepted per edge, in order, into the slot of its kind.
//  - A LoadStationary starts at the earliest one edge after that, when its port is free and no
//    earlier MultiplyMoving waits; it may start at the very edge such a one starts, because the
//    swap happens before the shadow write.
//  - A MultiplyMoving starts at the earliest one edge after that, when its port is free and every
//    earlier LoadStationary has taken its last columns.
//  - It holds its port max(n, min(min_interval_i, columns of its stationary operand)) edges.
//  - The first MultiplyMoving after a LoadStationary carries the swap.
//
// The same rules in closed form: model/engine/engine_schedule.h; tb/core compares every event.

module pe_array_ctrl
  import bwmm_pkg::*;
#(
  parameter int unsigned Rows = 128
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         enable_i,
  input  logic [15:0]  min_interval_i,
  // Commands
  input  logic         command_valid_i,
  output logic         command_ready_o,
  input  command_t     command_i,
  // What happens at this edge
  output port_status_t load_o,
  output port_status_t move_o,
  output load_token_t  load_token_o,
  output move_token_t  move_token_o,
  output psum_token_t  psum_token_o,
  output logic [$clog2(Rows)-1:0] head_o,
  output logic         busy_o
);

  typedef struct packed {
    logic     valid;
    logic     after_move;  // an earlier MultiplyMoving still waits
    command_t command;
  } load_slot_t;

  typedef struct packed {
    logic        valid;
    logic        swap;
    pe_fmt_e     w_fmt;
    logic [15:0] cols;
    command_t    command;
  } move_slot_t;

  load_slot_t load_slot_q;
  move_slot_t move_slot_q;
  load_slot_t load_run_q;  // the command on the port; `valid` means columns are left
  move_slot_t move_run_q;
  logic [15:0] load_column_q;
  logic [15:0] move_index_q;
  logic [15:0] hold_q;   // edges the moving port stays taken
  logic [15:0] drain_q;  // edges until the last row taken has reached PSUM
  logic [$clog2(Rows)-1:0] head_q;

  // The newest LoadStationary accepted, and whether a MultiplyMoving came after it.
  pe_fmt_e     newest_fmt_q;
  logic [15:0] newest_cols_q;
  logic        newest_unused_q;

  ////////////
  // Starts //
  ////////////

  logic load_go, move_go, accept;
  command_t load_now;
  move_slot_t move_now;
  logic [15:0] floor_interval, hold;

  assign move_go = move_slot_q.valid && hold_q == 16'd0 && !load_run_q.valid &&
      !(load_slot_q.valid && !load_slot_q.after_move);
  assign load_go = load_slot_q.valid && !load_run_q.valid && (!load_slot_q.after_move || move_go);

  assign command_ready_o = command_i.is_move ? !move_slot_q.valid || move_go
                                             : !load_slot_q.valid || load_go;
  assign accept = command_valid_i && command_ready_o;

  assign load_now = load_go ? load_slot_q.command : load_run_q.command;
  assign move_now = move_go ? move_slot_q : move_run_q;

  assign floor_interval = (min_interval_i < move_now.cols) ? min_interval_i : move_now.cols;
  assign hold = (move_now.command.n > floor_interval) ? move_now.command.n : floor_interval;

  ////////////////
  // This edge //
  ////////////////

  always_comb begin : describe_load
    load_o.take = load_go || load_run_q.valid;
    load_o.first = load_go;
    load_o.index = load_go ? 16'd0 : load_column_q;
    load_o.last = load_o.take && load_o.index + 16'(LOAD_COLUMNS) >= load_now.cols;
    load_o.id = load_now.id;
    load_token_o.valid = load_o.take;
    load_token_o.first = load_go;
    load_token_o.mode = load_now.mode;
    load_token_o.fmt = load_now.fmt;
    load_token_o.rows = load_now.rows;
    load_token_o.column = load_o.index;
  end

  always_comb begin : describe_move
    move_o.take = move_go || move_run_q.valid;
    move_o.first = move_go;
    move_o.index = move_go ? 16'd0 : move_index_q;
    move_o.last = move_o.take && move_o.index + 16'd1 >= move_now.command.n;
    move_o.id = move_now.command.id;
    move_token_o.valid = move_o.take;
    move_token_o.swap = move_go && move_now.swap;
    move_token_o.mode = move_now.command.mode;
    move_token_o.w_fmt = move_now.w_fmt;
    move_token_o.x_fmt = move_now.command.fmt;
    move_token_o.rows = move_now.command.rows;
    move_token_o.index = move_o.index;
    psum_token_o.valid = move_o.take;
    psum_token_o.last = move_o.last;
    psum_token_o.half = move_now.command.psum_half;
    psum_token_o.accumulate = move_now.command.accumulate;
    psum_token_o.transpose = move_now.command.mode == PeTranspose;
    psum_token_o.cols = move_now.cols;
    psum_token_o.address = move_now.command.psum_address +
        (move_now.command.psum_half ? move_o.index : move_o.index << 1);
    psum_token_o.id = move_o.id;
  end

  assign head_o = head_q;
  assign busy_o = load_slot_q.valid || move_slot_q.valid || load_run_q.valid ||
      move_run_q.valid || hold_q != 16'd0 || drain_q != 16'd0;

  ///////////
  // State //
  ///////////

  always_ff @(posedge clk_i) begin : update
    if (!rst_ni) begin
      load_slot_q <= '0;
      move_slot_q <= '0;
      load_run_q <= '0;
      move_run_q <= '0;
      load_column_q <= '0;
      move_index_q <= '0;
      hold_q <= '0;
      drain_q <= '0;
      head_q <= '0;
      newest_fmt_q <= FmtTranspose;
      newest_cols_q <= '0;
      newest_unused_q <= 1'b0;
    end else if (enable_i) begin
      head_q <= head_q + 1'b1;
      drain_q <= (load_o.take || move_o.take) ? 16'(Rows + 1)
          : (drain_q == 16'd0) ? 16'd0 : drain_q - 16'd1;

      if (load_go) begin
        load_run_q <= load_slot_q;
        load_slot_q.valid <= 1'b0;
      end
      if (load_o.take) begin
        load_run_q.valid <= !load_o.last;
        load_column_q <= load_o.index + 16'(LOAD_COLUMNS);
      end

      if (move_go) begin
        move_run_q <= move_slot_q;
        move_slot_q.valid <= 1'b0;
        load_slot_q.after_move <= 1'b0;
      end
      if (move_o.take) begin
        move_run_q.valid <= !move_o.last;
        move_index_q <= move_o.index + 16'd1;
      end
      hold_q <= move_go ? hold - 16'd1 : (hold_q == 16'd0) ? 16'd0 : hold_q - 16'd1;

      if (accept && !command_i.is_move) begin
        load_slot_q <= '{valid: 1'b1, after_move: move_slot_q.valid && !move_go,
                         command: command_i};
        newest_fmt_q <= command_i.fmt;
        newest_cols_q <= command_i.cols;
        newest_unused_q <= 1'b1;
      end
      if (accept && command_i.is_move) begin
        move_slot_q <= '{valid: 1'b1, swap: newest_unused_q, w_fmt: newest_fmt_q,
                         cols: newest_cols_q, command: command_i};
        newest_unused_q <= 1'b0;
      end
    end
  end

endmodule : pe_array_ctrl
