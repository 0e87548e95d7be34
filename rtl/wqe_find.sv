// SPDX-License-Identifier: Apache-2.0
// Is the context of a queue here? Nothing else: nobody waits for it, and nothing is read. No state in here.
module wqe_find #(
  parameter int unsigned QueueContexts = 1,
  parameter int unsigned Ways          = 1,
  parameter int unsigned AgeBits       = 1,
  parameter int unsigned SetVectorBits = Ways * (28 + AgeBits),
  parameter int unsigned Sets          = QueueContexts / Ways,
  parameter int unsigned SetBits       = Sets > 1 ? $clog2(Sets) : 1,
  parameter int unsigned LineBits      = QueueContexts > 1 ? $clog2(QueueContexts) : 1
) (
  input  logic [31:0]              id_i,
  output logic [SetBits-1:0]       set_o,           // where its context belongs
  input  logic [SetVectorBits-1:0] set_i,
  input  logic                     closing_i,       // the queue of closing_line_i is being destroyed
  input  logic [19:0]              closing_line_i,
  output logic                     here_o,
  output logic [LineBits-1:0]      line_o
);

  logic found;
  logic [AgeBits-1:0] way;

  assign set_o = Sets > 1 ? id_i[SetBits-1:0] : '0;
  // verilator lint_off PINCONNECTEMPTY
  context_find #(.Ways(Ways), .AgeBits(AgeBits)) find (
    .number_i(id_i[23:0]), .set_i, .here_o(found), .coming_o(), .way_o(way), .free_o(), .free_way_o()
  );
  // verilator lint_on PINCONNECTEMPTY
  assign line_o = LineBits'(32'(set_o) * Ways + 32'(way));
  assign here_o = found && id_i != wqe_pkg::NoWq && !(closing_i && closing_line_i == 20'(line_o));

endmodule : wqe_find
