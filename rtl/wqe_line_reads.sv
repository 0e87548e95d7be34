// SPDX-License-Identifier: Apache-2.0
// Reads of WQEs in flight for the queue of each line (R14): its context is not evicted, and its destruction waits. A
// step sees what the steps before it count. A line begins anew with a context that has come (0) or a command (1). WQEs
// that have come count down (3), a read that starts counts up (8). Steps 1 to 7 look contexts up.
module wqe_line_reads #(
  parameter int unsigned QueueContexts = 1,
  parameter int unsigned Ways          = 1,
  parameter int unsigned Sets          = QueueContexts / Ways,
  parameter int unsigned SetBits       = Sets > 1 ? $clog2(Sets) : 1,
  parameter int unsigned LineBits      = QueueContexts > 1 ? $clog2(QueueContexts) : 1
) (
  input  logic                clk_i,
  input  logic                clears_0_i,  // the line of another queue than before
  input  logic [LineBits-1:0] line_0_i,
  input  logic                clears_1_i,
  input  logic [LineBits-1:0] line_1_i,
  output logic                has_1_o,     // the line has some
  input  logic                comes_3_i,
  input  logic [LineBits-1:0] line_3_i,
  input  logic                starts_8_i,
  input  logic [LineBits-1:0] line_8_i,
  // Those of a set that have some
  input  logic [SetBits-1:0]  set_1_i,
  output logic [Ways-1:0]     kept_1_o,
  input  logic [SetBits-1:0]  set_2_i,
  output logic [Ways-1:0]     kept_2_o,
  input  logic [SetBits-1:0]  set_3_i,
  output logic [Ways-1:0]     kept_3_o,
  input  logic [SetBits-1:0]  set_4_i,
  output logic [Ways-1:0]     kept_4_o,
  input  logic [SetBits-1:0]  set_5_i,
  output logic [Ways-1:0]     kept_5_o,
  input  logic [SetBits-1:0]  set_6_i,
  output logic [Ways-1:0]     kept_6_o,
  input  logic [SetBits-1:0]  set_7_i,
  output logic [Ways-1:0]     kept_7_o
);

  localparam int unsigned CountBits = 9;

  // verilator coverage_off
  logic [CountBits-1:0] reads_q [QueueContexts];
  // verilator coverage_on
  logic [CountBits-1:0] come_3, before_8, started_8;

  function automatic logic [LineBits-1:0] line_of(input logic [SetBits-1:0] set, input int unsigned way);
    line_of = LineBits'(32'(set) * Ways + way);
  endfunction
  // What a line has behind the steps up to 0, 1, 3.
  function automatic logic [CountBits-1:0] behind_0(input logic [LineBits-1:0] line);
    behind_0 = clears_0_i && line_0_i == line ? '0 : reads_q[line];
  endfunction
  function automatic logic [CountBits-1:0] behind_1(input logic [LineBits-1:0] line);
    behind_1 = clears_1_i && line_1_i == line ? '0 : behind_0(line);
  endfunction
  function automatic logic [CountBits-1:0] behind_3(input logic [LineBits-1:0] line);
    behind_3 = comes_3_i && line_3_i == line ? come_3 : behind_1(line);
  endfunction

  assign has_1_o = behind_0(line_1_i) != '0;
  assign come_3 = behind_1(line_3_i) - CountBits'(1);
  assign before_8 = behind_3(line_8_i);
  assign started_8 = before_8 + CountBits'(1);
  always_comb for (int unsigned n = 0; n < Ways; n++) kept_1_o[n] = behind_0(line_of(set_1_i, n)) != '0;
  always_comb for (int unsigned n = 0; n < Ways; n++) kept_2_o[n] = behind_1(line_of(set_2_i, n)) != '0;
  always_comb for (int unsigned n = 0; n < Ways; n++) kept_3_o[n] = behind_3(line_of(set_3_i, n)) != '0;
  always_comb for (int unsigned n = 0; n < Ways; n++) kept_4_o[n] = behind_3(line_of(set_4_i, n)) != '0;
  always_comb for (int unsigned n = 0; n < Ways; n++) kept_5_o[n] = behind_3(line_of(set_5_i, n)) != '0;
  always_comb for (int unsigned n = 0; n < Ways; n++) kept_6_o[n] = behind_3(line_of(set_6_i, n)) != '0;
  always_comb for (int unsigned n = 0; n < Ways; n++) kept_7_o[n] = behind_3(line_of(set_7_i, n)) != '0;

  always_ff @(posedge clk_i) begin : memory
    if (clears_0_i) reads_q[line_0_i] <= '0;
    if (clears_1_i) reads_q[line_1_i] <= '0;
    if (comes_3_i) reads_q[line_3_i] <= come_3;
    if (starts_8_i) reads_q[line_8_i] <= started_8;
  end

endmodule : wqe_line_reads
