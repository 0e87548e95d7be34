// SPDX-License-Identifier: Apache-2.0
// The cache of CQ contexts of cqe_generator: sets of lines (context_lookup), and the record of each line. A step of the
// cycle finds a set or a record as the steps before it have left it. All is written at the end of the cycle. Steps: a
// context that has come (0), a command (1), a doorbell (2), a session (4), a moderated event (5). The last steps are a
// packet (6) and the packet behind it (7).
module cqe_context_store #(
  parameter int unsigned CqContexts    = 1,
  parameter int unsigned Ways          = 1,
  parameter int unsigned AgeBits       = 1,
  parameter int unsigned WayBits       = 28 + AgeBits,
  parameter int unsigned Sets          = CqContexts / Ways,
  parameter int unsigned SetBits       = Sets > 1 ? $clog2(Sets) : 1,
  parameter int unsigned SetVectorBits = Ways * WayBits,
  parameter int unsigned LineBits      = CqContexts > 1 ? $clog2(CqContexts) : 1
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  // Sets: what a step finds, and writes
  input  logic [SetBits-1:0]         set_0_i,
  output logic [SetVectorBits-1:0]   set_0_o,
  input  logic                       writes_0_i,
  input  logic [SetVectorBits-1:0]   row_0_i,
  input  logic [SetBits-1:0]         set_1_i,
  output logic [SetVectorBits-1:0]   set_1_o,
  input  logic                       writes_1_i,
  input  logic [SetVectorBits-1:0]   row_1_i,
  input  logic [SetBits-1:0]         set_2_i,
  output logic [SetVectorBits-1:0]   set_2_o,
  input  logic                       writes_2_i,
  input  logic [SetVectorBits-1:0]   row_2_i,
  input  logic [SetBits-1:0]         set_5_i,
  output logic [SetVectorBits-1:0]   set_5_o,
  input  logic                       writes_5_i,
  input  logic [SetVectorBits-1:0]   row_5_i,
  input  logic [SetBits-1:0]         set_6_i,
  output logic [SetVectorBits-1:0]   set_6_o,
  input  logic                       writes_6_i,
  input  logic [SetVectorBits-1:0]   row_6_i,
  input  logic [SetBits-1:0]         set_7_i,
  output logic [SetVectorBits-1:0]   set_7_o,
  input  logic                       writes_7_i,
  input  logic [SetVectorBits-1:0]   row_7_i,
  // Records, by line
  input  logic                       keeps_0_i,
  input  logic [LineBits-1:0]        line_0_i,
  input  rxnic_link_pkg::stored_cq_t cq_0_i,
  input  logic [LineBits-1:0]        line_1_i,
  output rxnic_link_pkg::stored_cq_t found_1_o,
  input  logic                       keeps_1_i,
  input  rxnic_link_pkg::stored_cq_t cq_1_i,
  input  logic [LineBits-1:0]        line_2_i,
  output rxnic_link_pkg::stored_cq_t found_2_o,
  input  logic                       keeps_2_i,
  input  rxnic_link_pkg::stored_cq_t cq_2_i,
  input  logic [LineBits-1:0]        line_4_i,
  output rxnic_link_pkg::stored_cq_t found_4_o,
  input  logic                       keeps_4_i,
  input  rxnic_link_pkg::stored_cq_t cq_4_i,
  input  logic [LineBits-1:0]        line_5_i,
  output rxnic_link_pkg::stored_cq_t found_5_o,
  input  logic                       keeps_5_i,
  input  rxnic_link_pkg::stored_cq_t cq_5_i,
  input  logic [LineBits-1:0]        line_6_i,
  output rxnic_link_pkg::stored_cq_t found_6_o,
  input  logic                       keeps_6_i,
  input  rxnic_link_pkg::stored_cq_t cq_6_i,
  // Behind all steps: the one that is written back
  input  logic [LineBits-1:0]        line_back_i,
  output rxnic_link_pkg::stored_cq_t found_back_o
);

  localparam int unsigned CqBits = rxnic_link_pkg::StoredCqBits;

  // A set: `set_used_q` is 0 while it is as after reset. What has an entry for each line or set is a memory; of those,
  // what is written and read counts.
  // verilator coverage_off
  logic [SetVectorBits-1:0] sets_q [Sets];
  logic [CqBits-1:0]        records_q [CqContexts];
  logic [Sets-1:0]          set_used_q;
  // verilator coverage_on

  function automatic logic [SetVectorBits-1:0] stored_set(input logic [SetBits-1:0] set);
    stored_set = sets_q[set];
    for (int unsigned n = 0; n < Ways; n++) begin
      if (!set_used_q[set]) stored_set[n*WayBits+:WayBits] = {4'd0, AgeBits'(n), 24'd0};
    end
  endfunction

  assign set_0_o = stored_set(set_0_i);
  assign set_1_o = writes_0_i && set_0_i == set_1_i ? row_0_i : stored_set(set_1_i);
  assign set_2_o = writes_1_i && set_1_i == set_2_i ? row_1_i : writes_0_i && set_0_i == set_2_i ? row_0_i :
                   stored_set(set_2_i);
  assign set_5_o = writes_2_i && set_2_i == set_5_i ? row_2_i : writes_1_i && set_1_i == set_5_i ? row_1_i :
                   writes_0_i && set_0_i == set_5_i ? row_0_i : stored_set(set_5_i);
  assign set_6_o = writes_5_i && set_5_i == set_6_i ? row_5_i : writes_2_i && set_2_i == set_6_i ? row_2_i :
                   writes_1_i && set_1_i == set_6_i ? row_1_i : writes_0_i && set_0_i == set_6_i ? row_0_i :
                   stored_set(set_6_i);
  assign set_7_o = writes_6_i && set_6_i == set_7_i ? row_6_i : writes_5_i && set_5_i == set_7_i ? row_5_i :
                   writes_2_i && set_2_i == set_7_i ? row_2_i : writes_1_i && set_1_i == set_7_i ? row_1_i :
                   writes_0_i && set_0_i == set_7_i ? row_0_i : stored_set(set_7_i);
  assign found_1_o = keeps_0_i && line_0_i == line_1_i ? cq_0_i : records_q[line_1_i];
  assign found_2_o = keeps_1_i && line_1_i == line_2_i ? cq_1_i : keeps_0_i && line_0_i == line_2_i ? cq_0_i :
                     records_q[line_2_i];
  assign found_4_o = keeps_2_i && line_2_i == line_4_i ? cq_2_i : keeps_1_i && line_1_i == line_4_i ? cq_1_i :
                     keeps_0_i && line_0_i == line_4_i ? cq_0_i : records_q[line_4_i];
  assign found_5_o = keeps_4_i && line_4_i == line_5_i ? cq_4_i : keeps_2_i && line_2_i == line_5_i ? cq_2_i :
                     keeps_1_i && line_1_i == line_5_i ? cq_1_i : keeps_0_i && line_0_i == line_5_i ? cq_0_i :
                     records_q[line_5_i];
  assign found_6_o = keeps_5_i && line_5_i == line_6_i ? cq_5_i : keeps_4_i && line_4_i == line_6_i ? cq_4_i :
                     keeps_2_i && line_2_i == line_6_i ? cq_2_i : keeps_1_i && line_1_i == line_6_i ? cq_1_i :
                     keeps_0_i && line_0_i == line_6_i ? cq_0_i : records_q[line_6_i];
  assign found_back_o = keeps_6_i && line_6_i == line_back_i ? cq_6_i : keeps_5_i && line_5_i == line_back_i ? cq_5_i :
                        keeps_4_i && line_4_i == line_back_i ? cq_4_i : keeps_2_i && line_2_i == line_back_i ? cq_2_i :
                        keeps_1_i && line_1_i == line_back_i ? cq_1_i : keeps_0_i && line_0_i == line_back_i ? cq_0_i :
                        records_q[line_back_i];

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      set_used_q <= '0;
    end else begin
      if (writes_0_i) set_used_q[set_0_i] <= 1'b1;
      if (writes_1_i) set_used_q[set_1_i] <= 1'b1;
      if (writes_2_i) set_used_q[set_2_i] <= 1'b1;
      if (writes_5_i) set_used_q[set_5_i] <= 1'b1;
      if (writes_6_i) set_used_q[set_6_i] <= 1'b1;
      if (writes_7_i) set_used_q[set_7_i] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin : memories
    if (writes_0_i) sets_q[set_0_i] <= row_0_i;
    if (writes_1_i) sets_q[set_1_i] <= row_1_i;
    if (writes_2_i) sets_q[set_2_i] <= row_2_i;
    if (writes_5_i) sets_q[set_5_i] <= row_5_i;
    if (writes_6_i) sets_q[set_6_i] <= row_6_i;
    if (writes_7_i) sets_q[set_7_i] <= row_7_i;
    if (keeps_0_i) records_q[line_0_i] <= cq_0_i;
    if (keeps_1_i) records_q[line_1_i] <= cq_1_i;
    if (keeps_2_i) records_q[line_2_i] <= cq_2_i;
    if (keeps_4_i) records_q[line_4_i] <= cq_4_i;
    if (keeps_5_i) records_q[line_5_i] <= cq_5_i;
    if (keeps_6_i) records_q[line_6_i] <= cq_6_i;
  end

endmodule : cqe_context_store
