// SPDX-License-Identifier: Apache-2.0
// Twin of model/blocks/srq_wqe_fetcher. Rules R1..R21 are stated there.
//
// A cycle is a chain of steps (wqe_step.svh), in the order of R2. Each works on what the steps before it have left: of
// a register `..._d`, of a memory what they have written (wqe_memories.svh). All is written at the end of the cycle.
module srq_wqe_fetcher #(
  parameter int unsigned Prefetch           = rxnic_params_pkg::SrqWqeFetcherPrefetch,
  parameter int unsigned PrefetchDepth      = rxnic_params_pkg::SrqWqeFetcherPrefetchDepth,
  parameter int unsigned Queues             = rxnic_params_pkg::SrqWqeFetcherQueues,
  parameter int unsigned WqesPerRead        = rxnic_params_pkg::SrqWqeFetcherWqesPerRead,
  parameter int unsigned ReadsInFlight      = rxnic_params_pkg::SrqWqeFetcherReadsInFlight,
  parameter int unsigned HitCycles          = rxnic_params_pkg::SrqWqeFetcherHitCycles,
  parameter int unsigned SequentialPrefetch = 32'(rxnic_params_pkg::SrqWqeFetcherSequentialPrefetch),
  parameter int unsigned PipelineDepth      = rxnic_params_pkg::SrqWqeFetcherPipelineDepth,
  parameter int unsigned WqeStoreEntries    = rxnic_params_pkg::SrqWqeFetcherWqeStoreEntries,
  parameter int unsigned WqeStoreShare      = rxnic_params_pkg::SrqWqeFetcherWqeStoreShare,
  parameter int unsigned LateFlushes        = rxnic_params_pkg::SrqWqeFetcherLateFlushes,
  parameter int unsigned QueueContexts      = rxnic_params_pkg::SrqWqeFetcherQueueContexts,
  parameter int unsigned QueueContextWays   = rxnic_params_pkg::SrqWqeFetcherQueueContextWays,
  parameter int unsigned QueueMissesInFlight = rxnic_params_pkg::SrqWqeFetcherQueueMissesInFlight,
  parameter int unsigned UdTooLong          = rxnic_params_pkg::TransportCheckerUdTooLong,
  parameter int unsigned WqeError           = rxnic_params_pkg::TransportCheckerWqeErrorStatus,
  parameter int unsigned Credits            = rxnic_params_pkg::AckGeneratorCredits,
  parameter int unsigned Rendezvous         = rxnic_params_pkg::RequesterRendezvous,
  parameter int unsigned DoorbellDepth      = 2,
  // Bounds: queues that exist at the same time, lines of the cache of QP contexts.
  parameter int unsigned Numbers = rxnic_params_pkg::RequesterSendQueues + rxnic_params_pkg::DeviceMaxSrqs,
  parameter int unsigned ContextLines = rxnic_params_pkg::QpContextCacheSets * rxnic_params_pkg::QpContextCacheWays,
  localparam int unsigned ReadWords = WqesPerRead * 33 > 34 ? WqesPerRead * 33 : 34  // data segments of a read
) (
  input  logic                                              clk_i,
  input  logic                                              rst_ni,
  output logic                                              quiescent_o,
  output rxnic_link_pkg::activity_e                         activity_o,
  // Packets, and what stands beside them
  input  logic                                              in_valid_i,
  output logic                                              in_ready_o,
  input  rxnic_link_pkg::wqe_request_t                      in_i,
  input  rxnic_link_pkg::open_wqe_t                         context_i,
  input  logic                                              tagged_valid_i,
  output logic                                              tagged_ready_o,
  input  rxnic_link_pkg::wqe_request_t                      tagged_i,
  input  rxnic_link_pkg::open_wqe_t                         tagged_context_i,
  output logic                                              out_valid_o,
  input  logic                                              out_ready_i,
  output rxnic_link_pkg::scatter_job_t                      out_o,
  output logic                                              context_write_valid_o,
  output rxnic_link_pkg::open_wqe_write_t                   context_write_o,
  output logic                                              lists_valid_o,
  output rxnic_link_pkg::scatter_list_write_t               lists_o,
  output logic                                              refusals_valid_o,
  output rxnic_link_pkg::refusal_t                          refusals_o,
  output logic                                              returned_valid_o,
  input  logic                                              returned_ready_i,
  output rxnic_link_pkg::tag_return_t                       returned_o,
  input  logic                                              rendezvous_places_valid_i,
  output logic                                              rendezvous_places_ready_o,
  input  rxnic_link_pkg::rendezvous_places_t                rendezvous_places_i,
  input  logic                                              released_valid_i,
  output logic                                              released_ready_o,
  input  rxnic_link_pkg::wqe_slot_t                         released_i,
  // QPs in error
  input  logic                                              flushes_valid_i,
  output logic                                              flushes_ready_o,
  input  rxnic_link_pkg::flush_request_t                    flushes_i,
  input  rxnic_link_pkg::open_wqe_t                         flush_context_i,
  output logic                                              pins_valid_o,
  output rxnic_link_pkg::context_pin_t                      pins_o,
  // WQEs
  output logic                                              dma_valid_o,
  input  logic                                              dma_ready_i,
  output rxnic_link_pkg::dma_request_t                      dma_o,
  input  logic                                              dma_done_valid_i,
  output logic                                              dma_done_ready_o,
  input  rxnic_link_pkg::dma_completion_t                   dma_done_i,
  input  logic [ReadWords*rxnic_link_pkg::DataSegmentBits-1:0] fetched_wqes_i,
  // Contexts of queues
  output logic                                              context_dma_valid_o,
  input  logic                                              context_dma_ready_i,
  output rxnic_link_pkg::dma_request_t                      context_dma_o,
  output logic                                              written_back_valid_o,
  output rxnic_link_pkg::queue_write_t                      written_back_o,
  input  logic                                              context_dma_done_valid_i,
  output logic                                              context_dma_done_ready_o,
  input  rxnic_link_pkg::dma_completion_t                   context_dma_done_i,
  input  rxnic_link_pkg::stored_queue_t                     fetched_i,
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
  input  rxnic_link_pkg::wq_command_t                       commands_i,
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::open_wqe_t                         command_context_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic                                              command_replies_valid_o,
  input  logic                                              command_replies_ready_i,
  output rxnic_link_pkg::wq_reply_t                         command_replies_o
);

  // Widths, each of one bit at least.
  localparam int unsigned Ways = QueueContextWays < QueueContexts ? QueueContextWays : QueueContexts;
  localparam int unsigned Sets = QueueContexts / Ways;
  localparam int unsigned AgeBits = Ways > 1 ? $clog2(Ways) : 1;
  localparam int unsigned WayBits = 28 + AgeBits;
  localparam int unsigned RowBits = Ways * WayBits;
  localparam int unsigned SetBits = Sets > 1 ? $clog2(Sets) : 1;
  localparam int unsigned LineBits = QueueContexts > 1 ? $clog2(QueueContexts) : 1;
  localparam int unsigned ContextBits = Queues > 1 ? $clog2(Queues) : 1;
  localparam int unsigned DepthBits = PrefetchDepth > 1 ? $clog2(PrefetchDepth) : 1;
  localparam int unsigned ReadBits = ReadsInFlight > 1 ? $clog2(ReadsInFlight) : 1;
  localparam int unsigned SlotBits = WqeStoreEntries > 1 ? $clog2(WqeStoreEntries) : 1;
  localparam int unsigned NumberBits = Numbers > 1 ? $clog2(Numbers) : 1;
  localparam int unsigned QpLineBits = ContextLines > 1 ? $clog2(ContextLines) : 1;
  localparam int unsigned PipeCountBits = $clog2(PipelineDepth + 1);
  localparam int unsigned RequestDepth = 2 * QueueMissesInFlight + 2;
  localparam int unsigned RequestCountBits = $clog2(RequestDepth + 1);
  localparam int unsigned Kept = WqeStoreShare * Queues < WqeStoreEntries ? WqeStoreShare * Queues : WqeStoreEntries;
  localparam logic LooksAhead = Queues > PipelineDepth;
  localparam logic CountsCredits = Credits == rxnic_params_pkg::AckCreditsCounted;
  localparam logic Greedy = Prefetch == rxnic_params_pkg::PrefetchPolicyGreedy;
  localparam int unsigned SegmentBits = rxnic_link_pkg::DataSegmentBits;
  localparam int unsigned PacketBits = rxnic_link_pkg::WqeRequestBits;
  localparam int unsigned JobBits = rxnic_link_pkg::ScatterJobBits;
  localparam int unsigned OpenBits = rxnic_link_pkg::OpenWqeBits;
  localparam int unsigned FlushBits = rxnic_link_pkg::FlushRequestBits;
  localparam int unsigned QueueBits = rxnic_link_pkg::StoredQueueBits;
  localparam int unsigned MaxSge = 32;
  localparam int unsigned MaxStride = 4096;
  localparam int unsigned SegmentsHeld = MaxSge + 1;
  localparam logic [15:0] NoContext = '1;
  localparam logic [31:0] NoWq = '1;
  localparam logic [31:0] NoSlot = '1;
  localparam logic [23:0] NoLine = '1;
  localparam logic [31:0] InvalidKey = 32'h100;
  localparam logic [7:0] NakRemoteOperation = 8'h63;
  localparam logic [15:0] CqeTagDataValid = 16'h10;
  localparam logic [63:0] QueueContextsAt = 64'h4c00_0000_0000_0000;
  localparam int unsigned ContextBytes = 64;

  // Who waits for contexts (R14).
  localparam int unsigned Askers = 5;
  localparam int unsigned Command = 0, Doorbell = 1, Packet = 2, Flush = 3, FlushAsker = 4;

  `include "wqe_memories.svh"
  `include "wqe_contexts.svh"
  `include "wqe_prefetch.svh"
  `include "wqe_queues.svh"
  `include "wqe_reads.svh"
  `include "wqe_slots.svh"
  `include "wqe_control.svh"
  `include "wqe_flush.svh"
  `include "wqe_packets.svh"
  `include "wqe_messages.svh"
  `include "wqe_step.svh"

endmodule : srq_wqe_fetcher
