// SPDX-License-Identifier: Apache-2.0
// Packets here that need a WQE of the queue of each line (R3). A packet that is taken asks (7), one that leaves is
// served (5). A line that another queue gets begins anew. It does so when the context has come (0), for which a packet
// may have waited, or when a command makes the queue (1). A read looks at two lines (8).
module wqe_asked #(
  parameter int unsigned QueueContexts = 1,
  parameter int unsigned CountBits     = 11,
  parameter int unsigned LineBits      = QueueContexts > 1 ? $clog2(QueueContexts) : 1
) (
  input  logic                 clk_i,
  input  logic                 begins_0_i,
  input  logic                 asks_0_i,
  input  logic [LineBits-1:0]  line_0_i,
  input  logic                 begins_1_i,
  input  logic [LineBits-1:0]  line_1_i,
  input  logic                 serves_5_i,
  input  logic [LineBits-1:0]  line_5_i,
  input  logic                 asks_7_i,
  input  logic [LineBits-1:0]  line_7_i,
  input  logic [LineBits-1:0]  line_8a_i,
  output logic [CountBits-1:0] asked_8a_o,
  input  logic [LineBits-1:0]  line_8b_i,
  output logic [CountBits-1:0] asked_8b_o
);

  // verilator coverage_off
  logic [CountBits-1:0] asked_q [QueueContexts];
  // verilator coverage_on
  logic [CountBits-1:0] before_5, served_5, asked_7;
  logic                 writes_5;

  function automatic logic [CountBits-1:0] behind_1(input logic [LineBits-1:0] line);
    behind_1 = begins_1_i && line_1_i == line ? '0 :
               begins_0_i && line_0_i == line ? CountBits'(asks_0_i) : asked_q[line];
  endfunction
  function automatic logic [CountBits-1:0] behind_5(input logic [LineBits-1:0] line);
    behind_5 = writes_5 && line_5_i == line ? served_5 : behind_1(line);
  endfunction
  function automatic logic [CountBits-1:0] behind_7(input logic [LineBits-1:0] line);
    behind_7 = asks_7_i && line_7_i == line ? asked_7 : behind_5(line);
  endfunction

  assign before_5 = behind_1(line_5_i);
  assign writes_5 = serves_5_i && before_5 != '0;
  assign served_5 = before_5 - CountBits'(1);
  assign asked_7 = behind_5(line_7_i) + CountBits'(1);
  assign asked_8a_o = behind_7(line_8a_i);
  assign asked_8b_o = behind_7(line_8b_i);

  always_ff @(posedge clk_i) begin : memory
    if (begins_0_i) asked_q[line_0_i] <= CountBits'(asks_0_i);
    if (begins_1_i) asked_q[line_1_i] <= '0;
    if (writes_5) asked_q[line_5_i] <= served_5;
    if (asks_7_i) asked_q[line_7_i] <= asked_7;
  end

endmodule : wqe_asked
