// SPDX-License-Identifier: Apache-2.0
// Twin of model/blocks/cqe_generator. Rules R1..R21 are stated there.
//
// The steps of a cycle follow each other in the order of R9: what has come (0), a command (1), a doorbell (2), a
// failure (3), a session (4), a moderated event (5), a packet (6), one behind it (7). Each sees what those before it
// make of sets of lines, records and open sessions: `..._0` to `..._7`. All is written at the end of the cycle.

module cqe_generator #(
  parameter int unsigned CqeBytes                 = rxnic_params_pkg::CqeGeneratorCqeBytes,
  parameter int unsigned CyclesPerCqe             = rxnic_params_pkg::CqeGeneratorCyclesPerCqe,
  parameter int unsigned LatencyCycles            = rxnic_params_pkg::CqeGeneratorLatencyCycles,
  parameter int unsigned Compression              = 32'(rxnic_params_pkg::CqeGeneratorCompression),
  parameter int unsigned CompressionMax           = rxnic_params_pkg::CqeGeneratorCompressionMax,
  parameter int unsigned CompressionTimeoutCycles = rxnic_params_pkg::CqeGeneratorCompressionTimeoutCycles,
  parameter int unsigned ModerationUnitPs         = rxnic_params_pkg::CqeGeneratorModerationUnitPs,
  parameter int unsigned ClockPeriodPs            = rxnic_params_pkg::NicClockPeriodPs,
  parameter int unsigned EventLatencyCycles       = rxnic_params_pkg::CqeGeneratorEventLatencyCycles,
  parameter int unsigned WriteDepth               = rxnic_params_pkg::CqeGeneratorWriteDepth,
  parameter int unsigned EventDepth               = rxnic_params_pkg::CqeGeneratorEventDepth,
  parameter int unsigned CqContexts               = rxnic_params_pkg::CqeGeneratorCqContexts,
  parameter int unsigned CqContextWays            = rxnic_params_pkg::CqeGeneratorCqContextWays,
  parameter int unsigned CqMissesInFlight         = rxnic_params_pkg::CqeGeneratorCqMissesInFlight,
  parameter int unsigned ModerationTimers         = rxnic_params_pkg::CqeGeneratorModerationTimers,
  parameter int unsigned Queues = rxnic_params_pkg::RequesterSendQueues + rxnic_params_pkg::DeviceMaxSrqs,
  parameter int unsigned WqeSlots                 = rxnic_params_pkg::SrqWqeFetcherWqeStoreEntries,
  parameter int unsigned ContextLines = rxnic_params_pkg::QpContextCacheSets * rxnic_params_pkg::QpContextCacheWays,
  parameter int unsigned DmaDepth                 = rxnic_params_pkg::DmaEngineQueueDepth,
  parameter int unsigned DoorbellDepth            = 2,
  localparam int unsigned MaxHeld    = Compression == 0 ? 2 : CompressionMax < 64 ? CompressionMax : 64,
  localparam int unsigned BlockSlots = Compression == 0 ? 1 : 1 + (MaxHeld + 6) / 7
) (
  input  logic                                              clk_i,
  input  logic                                              rst_ni,
  input  logic [63:0]                                       now_i,
  output logic                                              quiescent_o,
  output rxnic_link_pkg::activity_e                         activity_o,
  // Packets, and what stands beside them
  input  logic                                              in_valid_i,
  output logic                                              in_ready_o,
  input  rxnic_link_pkg::completion_request_t               in_i,
  input  rxnic_link_pkg::completion_qp_t                    context_i,
  input  rxnic_link_pkg::data_segment_t                     wqe_i,
  output logic                                              out_valid_o,
  input  logic                                              out_ready_i,
  output rxnic_link_pkg::ack_request_t                      out_o,
  output logic                                              released_valid_o,
  output rxnic_link_pkg::wqe_slot_t                         released_o,
  // CQEs
  output logic                                              dma_valid_o,
  input  logic                                              dma_ready_i,
  output rxnic_link_pkg::dma_request_t                      dma_o,
  output logic [BlockSlots-1:0]                             written_valid_o,
  output logic [BlockSlots*rxnic_link_pkg::CqeWriteBits-1:0] written_o,
  input  logic                                              dma_done_valid_i,
  output logic                                              dma_done_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::dma_completion_t                   dma_done_i,  // in the order of the requests
  // verilator lint_on UNUSEDSIGNAL
  // Contexts of CQs
  output logic                                              context_dma_valid_o,
  input  logic                                              context_dma_ready_i,
  output rxnic_link_pkg::dma_request_t                      context_dma_o,
  output logic                                              written_back_valid_o,
  output rxnic_link_pkg::cq_write_back_t                    written_back_o,
  input  logic                                              context_dma_done_valid_i,
  output logic                                              context_dma_done_ready_o,
  input  rxnic_link_pkg::dma_completion_t                   context_dma_done_i,
  input  rxnic_link_pkg::stored_cq_t                        fetched_i,
  // QPs in error
  input  logic                                              failures_valid_i,
  output logic                                              failures_ready_o,
  input  rxnic_link_pkg::qp_failure_t                       failures_i,
  input  rxnic_link_pkg::completion_qp_t                    failure_context_i,
  output logic                                              context_write_valid_o,
  output rxnic_link_pkg::completion_context_write_t         context_write_o,
  output logic                                              flushes_valid_o,
  input  logic                                              flushes_ready_i,
  output rxnic_link_pkg::flush_request_t                    flushes_o,
  output logic                                              failed_valid_o,
  input  logic                                              failed_ready_i,
  output rxnic_link_pkg::failed_qp_t                        failed_o,
  output logic                                              unpinned_valid_o,
  output rxnic_link_pkg::context_line_t                     unpinned_o,
  output logic                                              refusals_valid_o,
  output rxnic_link_pkg::refusal_t                          refusals_o,
  // The requester
  output logic                                              placed_valid_o,
  input  logic                                              placed_ready_i,
  output rxnic_link_pkg::answer_notice_t                    placed_o,
  output logic                                              rendezvous_valid_o,
  input  logic                                              rendezvous_ready_i,
  output rxnic_link_pkg::rendezvous_request_t               rendezvous_o,
  // Software
  output logic                                              events_valid_o,
  input  logic                                              events_ready_i,
  output rxnic_link_pkg::event_t                            events_o,
  input  logic                                              doorbells_valid_i,
  output logic                                              doorbells_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::doorbell_t                         doorbells_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic                                              commands_valid_i,
  output logic                                              commands_ready_o,
  input  rxnic_link_pkg::cq_command_t                       commands_i,
  output logic                                              command_replies_valid_o,
  input  logic                                              command_replies_ready_i,
  output rxnic_link_pkg::cq_reply_t                         command_replies_o
);

  localparam logic [63:0] Never = '1;
  localparam int unsigned Ways = CqContextWays < CqContexts ? CqContextWays : CqContexts;
  localparam int unsigned Sets = CqContexts / Ways;
  localparam int unsigned AgeBits = Ways > 1 ? $clog2(Ways) : 1;
  localparam int unsigned WayBits = 28 + AgeBits;
  localparam int unsigned SetVectorBits = Ways * WayBits;
  localparam int unsigned SetBits = Sets > 1 ? $clog2(Sets) : 1;
  localparam int unsigned LineBits = CqContexts > 1 ? $clog2(CqContexts) : 1;
  localparam int unsigned CqBits = rxnic_link_pkg::StoredCqBits;
  localparam int unsigned PacketBits = rxnic_link_pkg::CompletionRequestBits;
  localparam int unsigned QpBits = rxnic_link_pkg::CompletionQpBits;
  localparam int unsigned Askers = 4;
  localparam int unsigned Command = 0, Doorbell = 1, Timer = 2, Packet = 3;
  localparam int unsigned ContextCqBytes = 64;
  localparam logic [63:0] CqContextsAt = 64'h4800_0000_0000_0000;

  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [SetBits-1:0] set_of(input logic [23:0] number);
    // verilator lint_on UNUSEDSIGNAL
    set_of = Sets > 1 ? number[SetBits-1:0] : '0;
  endfunction
  function automatic logic [LineBits-1:0] line_of(input logic [SetBits-1:0] set, input logic [AgeBits-1:0] way);
    line_of = LineBits'(32'(set) * Ways + 32'(way));
  endfunction
  function automatic logic [3:0] block_slots(input logic [6:0] held);
    block_slots = held < 7'd2 ? held[3:0] : 4'd11;
    for (int unsigned n = 10; n > 0; n--) if (held >= 7'd2 && 32'(held) <= n * 7) block_slots = 4'(n + 1);
  endfunction

  `include "cqe_contexts.svh"
  `include "cqe_control.svh"
  `include "cqe_timers.svh"
  `include "cqe_packets.svh"
  `include "cqe_completions.svh"
  `include "cqe_output.svh"

endmodule : cqe_generator
