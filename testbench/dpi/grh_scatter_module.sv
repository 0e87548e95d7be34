// SPDX-License-Identifier: Apache-2.0
// rtl/grh_scatter.sv in rxnic's traffic: its signals, listed once.
`include "rxnic_dpi.svh"

module grh_scatter_module
  import rxnic_dpi_pkg::*;
#(
  parameter int unsigned LatencyCycles = rxnic_params_pkg::GrhScatterLatencyCycles,
  parameter int unsigned SgesPerCycle  = rxnic_params_pkg::GrhScatterSgesPerCycle,
  parameter int unsigned BytesPerCycle = rxnic_params_pkg::GrhScatterBytesPerCycle,
  parameter int unsigned WqeSlots      = rxnic_params_pkg::SrqWqeFetcherWqeStoreEntries,
  parameter int unsigned ContextLines  = rxnic_params_pkg::QpContextCacheSets * rxnic_params_pkg::QpContextCacheWays
);

  logic clk_i, rst_ni, quiescent_o;
  logic in_valid_i, in_ready_o, lists_valid_o, refusals_valid_o;
  rxnic_link_pkg::scatter_job_t in_i;
  rxnic_link_pkg::scatter_list_read_t lists_o;
  logic [SgesPerCycle*rxnic_link_pkg::DataSegmentBits-1:0] lists_i;
  logic [SgesPerCycle-1:0] out_valid_o, out_ready_i;
  logic [SgesPerCycle*rxnic_link_pkg::ScatteredSegmentBits-1:0] out_o;
  rxnic_link_pkg::refusal_t refusals_o;

  grh_scatter #(
    .LatencyCycles(LatencyCycles),
    .SgesPerCycle(SgesPerCycle),
    .BytesPerCycle(BytesPerCycle),
    .WqeSlots(WqeSlots),
    .ContextLines(ContextLines)
  ) dut (.*);

  chandle module_h;

  task automatic pins(input rxnic_what_e what);
    int n;
    n = 0;
    `RXNIC_PARAMETER(LatencyCycles)
    `RXNIC_PARAMETER(SgesPerCycle)
    `RXNIC_PARAMETER(BytesPerCycle)
    `RXNIC_PARAMETER(WqeSlots)
    `RXNIC_PARAMETER(ContextLines)
    `RXNIC_INPUT(clk_i)
    `RXNIC_INPUT(rst_ni)
    `RXNIC_OUTPUT(quiescent_o)
    `RXNIC_INPUT(in_valid_i)
    `RXNIC_OUTPUT(in_ready_o)
    `RXNIC_INPUT(in_i)
    `RXNIC_OUTPUT(lists_valid_o)
    `RXNIC_OUTPUT(lists_o)
    `RXNIC_INPUT(lists_i)
    `RXNIC_OUTPUT(out_valid_o)
    `RXNIC_INPUT(out_ready_i)
    `RXNIC_OUTPUT(out_o)
    `RXNIC_OUTPUT(refusals_valid_o)
    `RXNIC_OUTPUT(refusals_o)
  endtask

endmodule : grh_scatter_module
