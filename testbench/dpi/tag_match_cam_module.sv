// SPDX-License-Identifier: Apache-2.0
// rtl/tag_match_cam.sv in rxnic's traffic: its signals, listed once.
`include "rxnic_dpi.svh"

module tag_match_cam_module
  import rxnic_dpi_pkg::*;
#(
  parameter int unsigned Entries                = rxnic_params_pkg::TagMatchCamEntries,
  parameter int unsigned MaxTags                = rxnic_params_pkg::TagMatchCamMaxTags,
  parameter int unsigned Lists                  = rxnic_params_pkg::TagMatchCamLists,
  parameter int unsigned Organisation           = rxnic_params_pkg::TagMatchCamOrganisation,
  parameter int unsigned SearchCycles           = rxnic_params_pkg::TagMatchCamSearchCycles,
  parameter int unsigned Hazard                 = rxnic_params_pkg::TagMatchCamHazard,
  parameter int unsigned BankEntries            = rxnic_params_pkg::TagMatchCamBankEntries,
  parameter int unsigned BanksPerCycle          = rxnic_params_pkg::TagMatchCamBanksPerCycle,
  parameter int unsigned WildcardsPerCycle      = rxnic_params_pkg::TagMatchCamWildcardsPerCycle,
  parameter int unsigned AppendCycles           = rxnic_params_pkg::TagMatchCamAppendCycles,
  parameter int unsigned OverflowEntriesPerRead = rxnic_params_pkg::TagMatchCamOverflowEntriesPerRead,
  parameter int unsigned RefillReads            = rxnic_params_pkg::TagMatchCamRefillReads,
  parameter int unsigned UnexpectedStatus       = rxnic_params_pkg::TagMatchCamUnexpectedStatus,
  parameter int unsigned PipelineDepth          = rxnic_params_pkg::TagMatchCamPipelineDepth,
  parameter int unsigned DmaDepth               = rxnic_params_pkg::DmaEngineQueueDepth,
  parameter int unsigned MostReturns =
      rxnic_params_pkg::TagMatchCamPipelineDepth + rxnic_params_pkg::TagMatchCamQueueDepth +
      rxnic_params_pkg::SrqWqeFetcherPipelineDepth + rxnic_params_pkg::NicNoticeDepth
);

  logic clk_i, rst_ni, quiescent_o;
  logic in_valid_i, in_ready_o, context_write_valid_o, out_valid_o, out_ready_i, operations_valid_i,
        operations_ready_o, returned_valid_i, returned_ready_o, lists_valid_i, lists_ready_o, list_done_valid_o,
        list_done_ready_i, dma_valid_o, dma_ready_i, dma_done_valid_i, dma_done_ready_o, bursts_valid_o,
        written_valid_o;
  rxnic_link_pkg::wqe_request_t in_i, out_o;
  rxnic_link_pkg::tag_context_t context_i;
  rxnic_link_pkg::tag_context_write_t context_write_o;
  rxnic_link_pkg::tag_operation_t operations_i;
  rxnic_link_pkg::tag_return_t returned_i;
  rxnic_link_pkg::tag_list_command_t lists_i;
  rxnic_link_pkg::step_done_t list_done_o;
  rxnic_link_pkg::dma_request_t dma_o;
  rxnic_link_pkg::dma_completion_t dma_done_i;
  rxnic_link_pkg::tag_burst_read_t bursts_o;
  rxnic_link_pkg::stored_tag_t bursts_i;
  rxnic_link_pkg::tag_write_t written_o;

  tag_match_cam #(
    .Entries(Entries),
    .MaxTags(MaxTags),
    .Lists(Lists),
    .Organisation(Organisation),
    .SearchCycles(SearchCycles),
    .Hazard(Hazard),
    .BankEntries(BankEntries),
    .BanksPerCycle(BanksPerCycle),
    .WildcardsPerCycle(WildcardsPerCycle),
    .AppendCycles(AppendCycles),
    .OverflowEntriesPerRead(OverflowEntriesPerRead),
    .RefillReads(RefillReads),
    .UnexpectedStatus(UnexpectedStatus),
    .PipelineDepth(PipelineDepth),
    .DmaDepth(DmaDepth),
    .MostReturns(MostReturns)
  ) dut (.*);

  chandle module_h;

  task automatic pins(input rxnic_what_e what);
    int n;
    n = 0;
    `RXNIC_PARAMETER(Entries)
    `RXNIC_PARAMETER(MaxTags)
    `RXNIC_PARAMETER(Lists)
    `RXNIC_PARAMETER(Organisation)
    `RXNIC_PARAMETER(SearchCycles)
    `RXNIC_PARAMETER(Hazard)
    `RXNIC_PARAMETER(BankEntries)
    `RXNIC_PARAMETER(BanksPerCycle)
    `RXNIC_PARAMETER(WildcardsPerCycle)
    `RXNIC_PARAMETER(AppendCycles)
    `RXNIC_PARAMETER(OverflowEntriesPerRead)
    `RXNIC_PARAMETER(RefillReads)
    `RXNIC_PARAMETER(UnexpectedStatus)
    `RXNIC_PARAMETER(PipelineDepth)
    `RXNIC_PARAMETER(DmaDepth)
    `RXNIC_PARAMETER(MostReturns)
    `RXNIC_INPUT(clk_i)
    `RXNIC_INPUT(rst_ni)
    `RXNIC_OUTPUT(quiescent_o)
    `RXNIC_INPUT(in_valid_i)
    `RXNIC_OUTPUT(in_ready_o)
    `RXNIC_INPUT(in_i)
    `RXNIC_INPUT(context_i)
    `RXNIC_OUTPUT(context_write_valid_o)
    `RXNIC_OUTPUT(context_write_o)
    `RXNIC_OUTPUT(out_valid_o)
    `RXNIC_INPUT(out_ready_i)
    `RXNIC_OUTPUT(out_o)
    `RXNIC_INPUT(operations_valid_i)
    `RXNIC_OUTPUT(operations_ready_o)
    `RXNIC_INPUT(operations_i)
    `RXNIC_INPUT(returned_valid_i)
    `RXNIC_OUTPUT(returned_ready_o)
    `RXNIC_INPUT(returned_i)
    `RXNIC_INPUT(lists_valid_i)
    `RXNIC_OUTPUT(lists_ready_o)
    `RXNIC_INPUT(lists_i)
    `RXNIC_OUTPUT(list_done_valid_o)
    `RXNIC_INPUT(list_done_ready_i)
    `RXNIC_OUTPUT(list_done_o)
    `RXNIC_OUTPUT(dma_valid_o)
    `RXNIC_INPUT(dma_ready_i)
    `RXNIC_OUTPUT(dma_o)
    `RXNIC_INPUT(dma_done_valid_i)
    `RXNIC_OUTPUT(dma_done_ready_o)
    `RXNIC_INPUT(dma_done_i)
    `RXNIC_OUTPUT(bursts_valid_o)
    `RXNIC_OUTPUT(bursts_o)
    `RXNIC_INPUT(bursts_i)
    `RXNIC_OUTPUT(written_valid_o)
    `RXNIC_OUTPUT(written_o)
  endtask

endmodule : tag_match_cam_module
