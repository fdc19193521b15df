// Sizes, formats and the payloads the TensorEngine's parts send each other.
//
// The numbers of the enums are the encoding of the command port; model/engine/rtl_command.h maps
// the C++ types to them.

package bwmm_pkg;

  // The scale group, as kMxGroup of model/numerics/scale_group.h has it: rtl.pe_arith compares.
  parameter int unsigned GROUP_ROWS = 8;   // PE rows that share one scale
  parameter int unsigned GROUP_LANES = 4;  // elements of an x4 word
  parameter int unsigned GROUP_ELEMENTS = GROUP_ROWS * GROUP_LANES;
  parameter logic [31:0] SCALE_BIAS = 32'd127;  // E8M0: 2^(code - SCALE_BIAS)
  parameter logic [7:0] SCALE_NAN = 8'hff;

  parameter int unsigned LOAD_COLUMNS = 4;  // columns LoadStationary takes per cycle
  parameter logic [31:0] FP32_NAN = 32'h7fc0_0000;
  parameter logic [31:0] FP32_INF = 32'h7f80_0000;

  typedef enum logic [1:0] {
    PeOrdinary = 2'd0,
    PeMx = 2'd1,
    PeTranspose = 2'd2,
    PeDoubleRow = 2'd3
  } pe_mode_e;

  typedef enum logic [3:0] {
    FmtTranspose = 4'd0,  // bits
    FmtBf16 = 4'd1,
    FmtFp16 = 4'd2,
    FmtE4M3Fn = 4'd3,
    FmtE4M3 = 4'd4,
    FmtE5M2 = 4'd5,
    FmtE4M3FnX4 = 4'd6,
    FmtE5M2X4 = 4'd7,
    FmtE2M1X4 = 4'd8,
    FmtFp32High = 4'd9,  // the upper or lower 12 bits of an fp32 significand
    FmtFp32Low = 4'd10
  } pe_fmt_e;

  // One command. `cols` is of LoadStationary; `n` and the psum fields are of MultiplyMoving.
  typedef struct packed {
    logic [31:0] id;
    logic        is_move;
    pe_mode_e    mode;
    pe_fmt_e     fmt;
    logic [15:0] rows;
    logic [15:0] cols;
    logic [15:0] n;
    logic [15:0] psum_address;  // in units of 2 bytes
    logic        psum_half;     // 2-byte rows
    logic        accumulate;
  } command_t;

  // Travels down the rows with 4 columns of the stationary operand.
  typedef struct packed {
    logic        valid;
    logic        first;   // columns 0..3
    pe_mode_e    mode;
    pe_fmt_e     fmt;
    logic [15:0] rows;
    logic [15:0] column;  // of the first of the 4
  } load_token_t;

  // Travels down the rows with one moving row.
  typedef struct packed {
    logic        valid;
    logic        swap;   // shadow weights become active as this row passes
    pe_mode_e    mode;
    pe_fmt_e     w_fmt;
    pe_fmt_e     x_fmt;
    logic [15:0] rows;
    logic [15:0] index;  // 0..n-1; transpose: the PE row whose weights this one carries away
  } move_token_t;

  // Arrives at the foot together with the moving row: where its result goes.
  typedef struct packed {
    logic        valid;
    logic        last;
    logic        half;
    logic        accumulate;
    logic        transpose;  // a 2-byte row keeps its bits
    logic [15:0] cols;
    logic [15:0] address;
    logic [31:0] id;
  } psum_token_t;

  // What the engine did at this edge, for the sequencer in front of it.
  typedef struct packed {
    logic        take;   // an operand slice is taken
    logic        first;
    logic        last;
    logic [15:0] index;  // LoadStationary: first column; MultiplyMoving: row
    logic [31:0] id;
  } port_status_t;

endpackage : bwmm_pkg
