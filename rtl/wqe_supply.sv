// SPDX-License-Identifier: Apache-2.0
// WQEs of the queues (R3): model/core/receive_queue/work_queue_table.h. A queue whose WQEs packets ask for, or to which
// some are posted, has a prefetch context (wqe_bindings). The context holds the WQEs that are here or on their way
// (wqe_prefetches). Contexts that may want a read wait in a line (wqe_read_line). Reads start one after another
// (wqe_reads), of as many WQEs as packets have asked for (wqe_asked), and some more. A queue is known by the line of
// its context; the numbers of steps are those of srq_wqe_fetcher.
module wqe_supply #(
  parameter int unsigned Queues             = 1,
  parameter int unsigned QueueContexts      = 1,
  parameter int unsigned PrefetchDepth      = 1,
  parameter int unsigned WqesPerRead        = 1,
  parameter int unsigned ReadsInFlight      = 1,
  parameter int unsigned SequentialPrefetch = 1,
  parameter logic        Greedy             = 1'b0,
  parameter logic        LooksAhead         = 1'b0,
  parameter int unsigned ContextBits        = Queues > 1 ? $clog2(Queues) : 1,
  parameter int unsigned LineBits           = QueueContexts > 1 ? $clog2(QueueContexts) : 1,
  parameter int unsigned QueueCountBits     = $clog2(Queues + 1),
  parameter int unsigned ReadCountBits      = $clog2(ReadsInFlight + 1),
  localparam int unsigned ReadWords = WqesPerRead * 33 > 34 ? WqesPerRead * 33 : 34
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  output logic [QueueCountBits-1:0]     lined_o,        // prefetch contexts in the line
  output logic                          more_o,         // another read may start in the next cycle
  // (0) the context of a queue that has come, perhaps read ahead for a packet
  input  logic                          comes_0_i,
  input  logic                          ahead_0_i,
  input  logic [LineBits-1:0]           line_0_i,
  input  rxnic_link_pkg::stored_queue_t queue_0_i,
  // (1) a command: the line is that of another queue than before; the queue loses its prefetch context
  input  logic                          begins_1_i,
  input  logic                          frees_1_i,
  input  logic [LineBits-1:0]           line_1_i,
  // (2) a doorbell, which posts WQEs
  input  logic                          frees_2_i,
  input  logic                          posts_2_i,
  input  logic [LineBits-1:0]           line_2_i,
  input  rxnic_link_pkg::stored_queue_t queue_2_i,
  // (3) WQEs that have come; a request to flush
  input  logic                          dma_done_valid_i,
  input  rxnic_link_pkg::dma_completion_t dma_done_i,
  input  logic [ReadWords*wqe_pkg::SegmentBits-1:0] fetched_wqes_i,
  output logic [LineBits-1:0]           come_line_3_o,
  input  logic                          frees_3_i,
  input  logic [LineBits-1:0]           line_3_i,
  // (4), (6) a flushed WQE
  input  logic                          frees_4_i,
  input  logic [LineBits-1:0]           line_4_i,
  input  logic                          frees_6_i,
  input  logic [LineBits-1:0]           line_6_i,
  // (5) the oldest packet: it uses the WQE in front, or begins to wait for one; the queue that it has asked
  input  logic                          frees_5_i,
  input  logic                          uses_5_i,
  input  logic [LineBits-1:0]           line_5_i,
  input  rxnic_link_pkg::stored_queue_t queue_5_i,
  output wqe_pkg::prefetch_t            x_5_o,
  output wqe_pkg::entry_t               front_5_o,
  input  logic                          takes_5_i,
  input  logic                          waits_5_i,
  input  logic                          serves_5_i,
  input  logic [LineBits-1:0]           served_line_5_i,
  // (7) a packet that is taken: the queue that it asks; what is read ahead for it
  input  logic                          asks_7_i,
  input  logic [LineBits-1:0]           asked_line_7_i,
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::stored_queue_t queue_7_i,      // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  input  logic                          frees_7_i,
  input  logic [LineBits-1:0]           line_7_i,
  // (8) a read, for the queue that a packet waits for, or for the first in the line
  input  logic                          wants_8_i,
  input  logic [LineBits-1:0]           wanted_line_8_i,
  input  rxnic_link_pkg::stored_queue_t wanted_queue_8_i,
  output logic [LineBits-1:0]           first_line_8_o,
  input  rxnic_link_pkg::stored_queue_t first_queue_8_i,
  output logic                          dma_valid_o,
  input  logic                          dma_ready_i,
  output rxnic_link_pkg::dma_request_t  dma_o,
  output logic [LineBits-1:0]           line_8_o,       // of its queue
  // For the checker
  output logic [(1<<ContextBits)-1:0]   bound_o,
  output logic [QueueCountBits-1:0]     free_contexts_o,
  output logic [ReadCountBits-1:0]      free_reads_o,
  output logic                          takes_context_o,
  output logic                          takes_run_o,
  output logic                          guess_fails_o,
  output logic [6:0]                    run_count_o
);

  logic asks_0, uses_0, uses_7, binds_0, binds_2, binds_5, binds_7, has_2, bound_3, has_8a, bound_8b, any, moves;
  logic rejoins, more_reads;
  logic [ContextBits-1:0] context_0, context_2, come_3, context_5, context_7, context_8a, context_8b, context_8;
  logic [QueueCountBits-1:0] lined_8;
  logic [10:0] asked_8a, asked_8b;
  logic [31:0] come_number, come_epoch;
  logic [23:0] come_slot;
  logic [6:0] come_count;
  wqe_pkg::prefetch_t x_8a, x_8b, x_8;

  assign asks_0 = LooksAhead && ahead_0_i;
  assign uses_0 = comes_0_i && asks_0 && !queue_0_i.failed && queue_0_i.producer != queue_0_i.taken;
  assign uses_7 = asks_7_i && !queue_7_i.failed && queue_7_i.producer != queue_7_i.taken;
  wqe_asked #(.QueueContexts(QueueContexts)) asked (
    .clk_i, .begins_0_i(comes_0_i), .asks_0_i(asks_0), .line_0_i, .begins_1_i(begins_1_i), .line_1_i,
    .serves_5_i(serves_5_i), .line_5_i(served_line_5_i), .asks_7_i(asks_7_i), .line_7_i(asked_line_7_i),
    .line_8a_i(wanted_line_8_i), .asked_8a_o(asked_8a), .line_8b_i(first_line_8_o), .asked_8b_o(asked_8b)
  );
  wqe_bindings #(.Queues(Queues), .QueueContexts(QueueContexts)) bindings (
    .clk_i, .rst_ni, .bound_o, .free_count_o(free_contexts_o), .takes_o(takes_context_o), .uses_0_i(uses_0), .line_0_i,
    .binds_0_o(binds_0), .context_0_o(context_0), .frees_1_i(frees_1_i), .line_1_i, .frees_2_i, .posts_2_i, .line_2_i,
    .has_2_o(has_2), .binds_2_o(binds_2), .context_2_o(context_2), .come_3_i(come_3), .bound_3_o(bound_3),
    .frees_3_i(frees_3_i), .line_3_i, .frees_4_i, .line_4_i, .frees_6_i, .line_6_i, .frees_5_i, .uses_5_i, .line_5_i,
    .binds_5_o(binds_5), .context_5_o(context_5), .uses_7a_i(uses_7), .line_7a_i(asked_line_7_i), .binds_7a_o(binds_7),
    .context_7a_o(context_7), .frees_7_i, .line_7_i, .line_8a_i(wanted_line_8_i), .has_8a_o(has_8a),
    .context_8a_o(context_8a), .context_8b_i(context_8b), .bound_8b_o(bound_8b), .line_8b_o(first_line_8_o)
  );
  wqe_prefetches #(
    .Queues(Queues), .PrefetchDepth(PrefetchDepth), .WqesPerRead(WqesPerRead), .Greedy(Greedy)
  ) prefetches (
    .clk_i, .rst_ni, .begins_0_i(binds_0), .context_0_i(context_0), .queue_0_i, .begins_2_i(binds_2),
    .context_2_i(context_2), .queue_2_i, .comes_3_i(dma_done_valid_i && bound_3), .ok_3_i(dma_done_i.ok),
    .fetched_3_i(fetched_wqes_i), .context_3_i(come_3), .number_3_i(come_number), .slot_3_i(come_slot),
    .count_3_i(come_count), .epoch_3_i(come_epoch), .takes_3_o(takes_run_o), .guess_fails_3_o(guess_fails_o), .uses_5_i,
    .begins_5_i(binds_5), .context_5_i(context_5), .queue_5_i, .x_5_o, .front_5_o, .takes_5_i, .waits_5_i,
    .begins_7_i(binds_7), .context_7_i(context_7), .queue_7_i, .context_8a_i(context_8a), .x_8a_o(x_8a),
    .context_8b_i(context_8b), .x_8b_o(x_8b), .starts_8_i(dma_valid_o), .context_8_i(context_8), .x_8_i(x_8)
  );
  wqe_read_line #(.Queues(Queues)) read_line (
    .clk_i, .rst_ni, .count_o(lined_o), .count_8_o(lined_8), .joins_0_i(uses_0), .context_0_i(context_0),
    .joins_2_i(posts_2_i && has_2), .context_2_i(context_2), .joins_3_i(dma_done_valid_i && bound_3),
    .context_3_i(come_3), .joins_5_i(binds_5 || takes_5_i || waits_5_i), .context_5_i(context_5), .joins_7_i(uses_7),
    .context_7_i(context_7), .any_8_o(any), .first_8_o(context_8b), .takes_8_i(moves), .joins_8_i(rejoins)
  );
  wqe_reads #(
    .PrefetchDepth(PrefetchDepth), .WqesPerRead(WqesPerRead), .ReadsInFlight(ReadsInFlight),
    .SequentialPrefetch(SequentialPrefetch), .Greedy(Greedy), .ContextBits(ContextBits), .LineBits(LineBits)
  ) reads (
    .clk_i, .rst_ni, .free_count_o(free_reads_o), .more_o(more_reads), .comes_3_i(dma_done_valid_i),
    .cookie_3_i(dma_done_i.cookie), .number_3_o(come_number), .slot_3_o(come_slot), .count_3_o(come_count),
    .epoch_3_o(come_epoch), .context_3_o(come_3), .line_3_o(come_line_3_o), .may_8a_i(wants_8_i && has_8a),
    .context_8a_i(context_8a), .line_8a_i(wanted_line_8_i), .x_8a_i(x_8a), .queue_8a_i(wanted_queue_8_i),
    .asked_8a_i(asked_8a), .any_8b_i(any), .takes_8b_o(moves), .joins_8b_o(rejoins), .bound_8b_i(bound_8b),
    .context_8b_i(context_8b), .line_8b_i(first_line_8_o), .x_8b_i(x_8b), .queue_8b_i(first_queue_8_i),
    .asked_8b_i(asked_8b), .starts_8_o(dma_valid_o), .run_count_8_o(run_count_o), .context_8_o(context_8), .line_8_o,
    .x_8_o(x_8), .dma_ready_i, .dma_o
  );
  assign more_o = dma_ready_i && lined_8 != '0 && more_reads;

endmodule : wqe_supply
