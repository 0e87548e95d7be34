// SPDX-License-Identifier: Apache-2.0
// A scatter engine for the tests of a user's own RTL, for one lane. It is the engine of rtl/, which own_rtl_check.py
// calls grh_scatter_inside, with a longer delay line, and with a fault when it is asked for. It does not say what it
// does.
module grh_scatter #(
  parameter int unsigned LatencyCycles = rxnic_params_pkg::GrhScatterLatencyCycles,
  parameter int unsigned SgesPerCycle  = rxnic_params_pkg::GrhScatterSgesPerCycle,
  parameter int unsigned BytesPerCycle = rxnic_params_pkg::GrhScatterBytesPerCycle,
  parameter int unsigned WqeSlots      = rxnic_params_pkg::SrqWqeFetcherWqeStoreEntries,
  parameter int unsigned ContextLines  = rxnic_params_pkg::QpContextCacheSets * rxnic_params_pkg::QpContextCacheWays,
  parameter int unsigned ExtraCycles   = 1,
  parameter int unsigned WrongPiece    = 0  // number of the piece whose lowest bit is wrong; 0: none
) (
  input  logic                                                                clk_i,
  input  logic                                                                rst_ni,
  output logic                                                                quiescent_o,
  input  logic                                                                in_valid_i,
  output logic                                                                in_ready_o,
  input  logic [$bits(rxnic_link_pkg::scatter_job_t)-1:0]                     in_i,
  output logic                                                                lists_valid_o,
  output logic [$bits(rxnic_link_pkg::scatter_list_read_t)-1:0]               lists_o,
  input  logic [SgesPerCycle*$bits(rxnic_link_pkg::data_segment_t)-1:0]       lists_i,
  output logic [SgesPerCycle-1:0]                                             out_valid_o,
  input  logic [SgesPerCycle-1:0]                                             out_ready_i,
  output logic [SgesPerCycle*$bits(rxnic_link_pkg::scattered_segment_t)-1:0]  out_o,
  output logic                                                                refusals_valid_o,
  output logic [$bits(rxnic_link_pkg::refusal_t)-1:0]                         refusals_o
);

  logic [SgesPerCycle*$bits(rxnic_link_pkg::scattered_segment_t)-1:0] pieces;
  logic [31:0] left_q;  // pieces that have left

  grh_scatter_inside #(
    .LatencyCycles(LatencyCycles + ExtraCycles),
    .SgesPerCycle (SgesPerCycle),
    .BytesPerCycle(BytesPerCycle),
    .WqeSlots     (WqeSlots),
    .ContextLines (ContextLines)
  ) inside_i (
    .activity_o(),
    .out_o(pieces),
    .*
  );

  always_comb begin
    out_o = pieces;
    if (left_q + 32'd1 == WrongPiece) out_o[0] = !pieces[0];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) left_q <= '0;
    else if (out_valid_o[0] && out_ready_i[0]) left_q <= left_q + 32'd1;
  end

endmodule : grh_scatter
