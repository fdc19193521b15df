// What one engine of the machine is doing, as text: a scope of the waveform. The SystemC machine
// drives it; nothing in the RTL reads it.

module machine_engine (
  input logic [31:0]  instruction_id_i,
  input logic [127:0] opcode_i,  // 16 characters
  input logic [127:0] stall_i    // empty while busy or idle
);

  logic [31:0]  instruction_id;
  logic [127:0] opcode;
  logic [127:0] stall;

  assign instruction_id = instruction_id_i;
  assign opcode = opcode_i;
  assign stall = stall_i;

endmodule : machine_engine
