// SPDX-License-Identifier: Apache-2.0
// Which queue each prefetch context belongs to. The context of a line is kept, and the line of that context. When the
// latter is another line, the former has no meaning any more. A step sees what the steps before it have bound; their
// numbers are those of srq_wqe_fetcher.
module wqe_owners #(
  parameter int unsigned Queues        = 1,
  parameter int unsigned QueueContexts = 1,
  parameter int unsigned ContextBits   = Queues > 1 ? $clog2(Queues) : 1,
  parameter int unsigned LineBits      = QueueContexts > 1 ? $clog2(QueueContexts) : 1
) (
  input  logic                   clk_i,
  input  logic [LineBits-1:0]    line_0_i,
  output logic [ContextBits-1:0] context_0_o,    // its context ...
  output logic                   owned_0_o,      // ... if that is not another line's
  input  logic                   binds_0_i,      // it gets this one
  input  logic [ContextBits-1:0] bound_0_i,
  input  logic [LineBits-1:0]    line_1_i,
  output logic [ContextBits-1:0] context_1_o,
  output logic                   owned_1_o,
  input  logic [LineBits-1:0]    line_2_i,
  output logic [ContextBits-1:0] context_2_o,
  output logic                   owned_2_o,
  input  logic                   binds_2_i,
  input  logic [ContextBits-1:0] bound_2_i,
  input  logic [LineBits-1:0]    line_3_i,
  output logic [ContextBits-1:0] context_3_o,
  output logic                   owned_3_o,
  input  logic [LineBits-1:0]    line_4_i,
  output logic [ContextBits-1:0] context_4_o,
  output logic                   owned_4_o,
  input  logic [LineBits-1:0]    line_5_i,
  output logic [ContextBits-1:0] context_5_o,
  output logic                   owned_5_o,
  input  logic                   binds_5_i,
  input  logic [ContextBits-1:0] bound_5_i,
  input  logic [LineBits-1:0]    line_6_i,
  output logic [ContextBits-1:0] context_6_o,
  output logic                   owned_6_o,
  input  logic [LineBits-1:0]    line_7a_i,
  output logic [ContextBits-1:0] context_7a_o,
  output logic                   owned_7a_o,
  input  logic                   binds_7a_i,
  input  logic [ContextBits-1:0] bound_7a_i,
  input  logic [LineBits-1:0]    line_7_i,
  output logic [ContextBits-1:0] context_7_o,
  output logic                   owned_7_o,
  input  logic [LineBits-1:0]    line_8a_i,
  output logic [ContextBits-1:0] context_8a_o,
  output logic                   owned_8a_o,
  input  logic [ContextBits-1:0] context_8b_i,
  output logic [LineBits-1:0]    line_8b_o
);

  // verilator coverage_off
  logic [ContextBits-1:0] contexts_of_q [QueueContexts];
  logic [LineBits-1:0]    owners_q [Queues];
  // verilator coverage_on

  function automatic logic [ContextBits-1:0] context_behind_0(input logic [LineBits-1:0] line);
    context_behind_0 = binds_0_i && line_0_i == line ? bound_0_i : contexts_of_q[line];
  endfunction
  function automatic logic [ContextBits-1:0] context_behind_2(input logic [LineBits-1:0] line);
    context_behind_2 = binds_2_i && line_2_i == line ? bound_2_i : context_behind_0(line);
  endfunction
  function automatic logic [ContextBits-1:0] context_behind_5(input logic [LineBits-1:0] line);
    context_behind_5 = binds_5_i && line_5_i == line ? bound_5_i : context_behind_2(line);
  endfunction
  function automatic logic [ContextBits-1:0] context_behind_7a(input logic [LineBits-1:0] line);
    context_behind_7a = binds_7a_i && line_7a_i == line ? bound_7a_i : context_behind_5(line);
  endfunction
  function automatic logic [LineBits-1:0] line_behind_0(input logic [ContextBits-1:0] of);
    line_behind_0 = binds_0_i && bound_0_i == of ? line_0_i : owners_q[of];
  endfunction
  function automatic logic [LineBits-1:0] line_behind_2(input logic [ContextBits-1:0] of);
    line_behind_2 = binds_2_i && bound_2_i == of ? line_2_i : line_behind_0(of);
  endfunction
  function automatic logic [LineBits-1:0] line_behind_5(input logic [ContextBits-1:0] of);
    line_behind_5 = binds_5_i && bound_5_i == of ? line_5_i : line_behind_2(of);
  endfunction
  function automatic logic [LineBits-1:0] line_behind_7a(input logic [ContextBits-1:0] of);
    line_behind_7a = binds_7a_i && bound_7a_i == of ? line_7a_i : line_behind_5(of);
  endfunction

  assign context_0_o = contexts_of_q[line_0_i];
  assign owned_0_o = owners_q[context_0_o] == line_0_i;
  assign context_1_o = context_behind_0(line_1_i);
  assign owned_1_o = line_behind_0(context_1_o) == line_1_i;
  assign context_2_o = context_behind_0(line_2_i);
  assign owned_2_o = line_behind_0(context_2_o) == line_2_i;
  assign context_3_o = context_behind_2(line_3_i);
  assign owned_3_o = line_behind_2(context_3_o) == line_3_i;
  assign context_4_o = context_behind_2(line_4_i);
  assign owned_4_o = line_behind_2(context_4_o) == line_4_i;
  assign context_5_o = context_behind_2(line_5_i);
  assign owned_5_o = line_behind_2(context_5_o) == line_5_i;
  assign context_6_o = context_behind_5(line_6_i);
  assign owned_6_o = line_behind_5(context_6_o) == line_6_i;
  assign context_7a_o = context_behind_5(line_7a_i);
  assign owned_7a_o = line_behind_5(context_7a_o) == line_7a_i;
  assign context_7_o = context_behind_7a(line_7_i);
  assign owned_7_o = line_behind_7a(context_7_o) == line_7_i;
  assign context_8a_o = context_behind_7a(line_8a_i);
  assign owned_8a_o = line_behind_7a(context_8a_o) == line_8a_i;
  assign line_8b_o = line_behind_7a(context_8b_i);

  always_ff @(posedge clk_i) begin : memories  // in the order of the steps
    if (binds_0_i) contexts_of_q[line_0_i] <= bound_0_i;
    if (binds_0_i) owners_q[bound_0_i] <= line_0_i;
    if (binds_2_i) contexts_of_q[line_2_i] <= bound_2_i;
    if (binds_2_i) owners_q[bound_2_i] <= line_2_i;
    if (binds_5_i) contexts_of_q[line_5_i] <= bound_5_i;
    if (binds_5_i) owners_q[bound_5_i] <= line_5_i;
    if (binds_7a_i) contexts_of_q[line_7a_i] <= bound_7a_i;
    if (binds_7a_i) owners_q[bound_7a_i] <= line_7a_i;
  end

endmodule : wqe_owners
