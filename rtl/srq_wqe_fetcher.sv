// SPDX-License-Identifier: Apache-2.0
// Twin of model/blocks/srq_wqe_fetcher. Rules R1..R21 are stated there.
//
// The steps of a cycle follow each other in the order of R2. First a context of a queue comes (0). Then follow a
// command (1), a doorbell (2), and what comes from others (3): WQEs, a request to flush, a slot that is free again. A
// flushed WQE leaves in its turn (4), else the oldest packet (5), else a flushed WQE (6). The last steps take a packet
// (7) and start a read of WQEs (8). Each sees what those before it make of the memories; all is written at the end of
// the cycle. What has a state of its own, or decides much, is a module, `wqe_...`.
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
  localparam int unsigned AgeBits = Ways > 1 ? $clog2(Ways) : 1;
  localparam int unsigned LineBits = QueueContexts > 1 ? $clog2(QueueContexts) : 1;
  localparam int unsigned ContextBits = Queues > 1 ? $clog2(Queues) : 1;
  localparam int unsigned QpLineBits = ContextLines > 1 ? $clog2(ContextLines) : 1;
  localparam int unsigned RequestDepth = 2 * QueueMissesInFlight + 2;
  localparam logic LooksAhead = Queues > PipelineDepth;
  localparam logic CountsCredits = Credits == rxnic_params_pkg::AckCreditsCounted;
  localparam logic Greedy = Prefetch == rxnic_params_pkg::PrefetchPolicyGreedy;
  localparam int unsigned PacketBits = rxnic_link_pkg::WqeRequestBits;
  localparam int unsigned JobBits = rxnic_link_pkg::ScatterJobBits;

  // Looks of the steps at contexts: the queue is here, or comes; its line; its record as it is found, and is left.
  logic [31:0] id_1, id_4, id_5, id_6, id_7, id_7a, id_5a;
  logic asks_1, asks_2, asks_3, asks_4, asks_5, asks_6, asks_7, found_1, here_1, absent_1, coming_1, free_1, reads_1;
  logic here_2, here_3, here_4, here_5, here_5a, here_5b, here_6, here_7a, waits_2, waits_3, waits_4, waits_5;
  logic waits_6, evicts_1, evicts_2, evicts_3, evicts_4, evicts_5, evicts_6, evicts_7;
  logic keeps_1, keeps_2, keeps_3, keeps_4, keeps_5, keeps_6;
  logic [LineBits-1:0] line_0, line_1, line_2, line_3, line_4, line_5, line_5a, line_6, line_7, line_7a;
  logic [LineBits-1:0] line_8b;
  logic [LineBits-1:0] line_8, come_line_3;
  rxnic_link_pkg::stored_queue_t found_queue_1, found_queue_2, found_queue_3, found_queue_4, found_queue_5;
  rxnic_link_pkg::stored_queue_t found_queue_6;
  rxnic_link_pkg::stored_queue_t queue_1, queue_2, queue_3, queue_4, queue_5, queue_5b, queue_6, queue_7a, queue_8a;
  rxnic_link_pkg::stored_queue_t queue_8b;
  logic [31:0] request_count, reading;
  logic more_requests, started, deferred, lacks_way, lacks_way_5, evicts, exists_0, ahead_0, reads_ahead;
  wqe_contexts #(
    .QueueContexts(QueueContexts), .Misses(QueueMissesInFlight), .RequestDepth(RequestDepth), .Ways(Ways),
    .AgeBits(AgeBits)
  ) contexts (
    .clk_i, .rst_ni, .context_dma_valid_o, .context_dma_ready_i, .context_dma_o, .written_back_valid_o,
    .written_back_o, .context_dma_done_valid_i, .context_dma_done_i, .fetched_i, .request_count_o(request_count),
    .more_requests_o(more_requests), .reading_o(reading), .started_o(started), .deferred_o(deferred),
    .lacks_way_o(lacks_way), .lacks_way_5_o(lacks_way_5), .evicts_o(evicts), .exists_0_o(exists_0),
    .ahead_0_o(ahead_0), .line_0_o(line_0),
    .id_1_i(id_1), .asks_1_i(asks_1), .found_1_o(found_1), .here_1_o(here_1), .absent_1_o(absent_1),
    .coming_1_o(coming_1), .free_1_o(free_1), .has_reads_1_o(reads_1), .line_1_o(line_1), .evicts_1_o(evicts_1),
    .queue_1_o(found_queue_1), .uses_1_i(uses_1), .dirty_1_i(dirty_1), .places_1_i(places),
    .destroying_1_i(destroying_1), .removes_1_i(destroys), .forgets_1_i(forgets_1), .ends_flush_1_i(ends_flush_1),
    .keeps_1_i(keeps_1), .queue_1_i(queue_1),
    .id_2_i(doorbells_i.number), .asks_2_i(asks_2), .here_2_o(here_2), .waits_2_o(waits_2), .line_2_o(line_2),
    .evicts_2_o(evicts_2), .queue_2_o(found_queue_2), .goes_2_i(rung), .dirty_2_i(dirty_2), .keeps_2_i(keeps_2),
    .queue_2_i(queue_2),
    .id_3_i(flushes_i.receive_queue), .asks_3_i(asks_3), .here_3_o(here_3), .waits_3_o(waits_3), .line_3_o(line_3),
    .evicts_3_o(evicts_3), .queue_3_o(found_queue_3), .keeps_3_i(keeps_3), .queue_3_i(queue_3),
    .comes_3_i(dma_done_valid_i), .come_line_3_i(come_line_3),
    .id_4_i(id_4), .asks_4_i(asks_4), .here_4_o(here_4), .waits_4_o(waits_4), .line_4_o(line_4), .evicts_4_o(evicts_4),
    .queue_4_o(found_queue_4), .keeps_4_i(keeps_4), .queue_4_i(queue_4),
    .id_6_i(id_6), .asks_6_i(asks_6), .here_6_o(here_6), .waits_6_o(waits_6), .line_6_o(line_6), .evicts_6_o(evicts_6),
    .queue_6_o(found_queue_6), .keeps_6_i(keeps_6), .queue_6_i(queue_6),
    .id_5_i(id_5), .asks_5_i(asks_5), .here_5_o(here_5), .waits_5_o(waits_5), .line_5_o(line_5), .evicts_5_o(evicts_5),
    .queue_5_o(found_queue_5), .leaves_5_i(packet_leaves), .yields_5_i(yields_5), .keeps_5_i(keeps_5),
    .queue_5_i(queue_5), .id_5a_i(id_5a), .here_5a_o(here_5a), .line_5a_o(line_5a), .id_5b_i(p.receive_queue),
    .here_5b_o(here_5b), .queue_5b_o(queue_5b),
    .id_7a_i(id_7a), .here_7a_o(here_7a), .line_7a_o(line_7a), .queue_7a_o(queue_7a), .id_7_i(id_7), .asks_7_i(asks_7),
    .fetches_7_o(reads_ahead), .evicts_7_o(evicts_7), .line_7_o(line_7),
    .queue_8a_o(queue_8a), .line_8b_i(line_8b),
    .queue_8b_o(queue_8b), .starts_8_i(dma_valid_o), .start_line_8_i(line_8)
  );
  assign context_dma_done_ready_o = 1'b1;

  // WQEs of the queues (R3): what packets find of them, and reads
  logic posts_2, uses_5, asks_7a, serves_5, takes_context, takes_run, guess_fails, begins_to_wait, wants_wqe;
  logic may_read_on;
  logic [(1<<ContextBits)-1:0] bound;
  logic [$clog2(Queues+1)-1:0] free_contexts, lined;
  logic [$clog2(ReadsInFlight+1)-1:0] free_reads;
  logic [6:0] run_count;
  wqe_pkg::prefetch_t x_5;
  wqe_pkg::entry_t front;
  wqe_supply #(
    .Queues(Queues), .QueueContexts(QueueContexts), .PrefetchDepth(PrefetchDepth), .WqesPerRead(WqesPerRead),
    .ReadsInFlight(ReadsInFlight), .SequentialPrefetch(SequentialPrefetch), .Greedy(Greedy), .LooksAhead(LooksAhead)
  ) supply (
    .clk_i, .rst_ni, .lined_o(lined), .more_o(may_read_on), .comes_0_i(context_dma_done_valid_i && exists_0),
    .ahead_0_i(ahead_0), .line_0_i(line_0), .queue_0_i(fetched_i), .begins_1_i(places && !found_1),
    .frees_1_i(frees_1 || evicts_1), .line_1_i(line_1), .frees_2_i(evicts_2), .posts_2_i(posts_2), .line_2_i(line_2),
    .queue_2_i(queue_2), .dma_done_valid_i, .dma_done_i, .fetched_wqes_i, .come_line_3_o(come_line_3),
    .frees_3_i(keeps_3 || evicts_3), .line_3_i(line_3), .frees_4_i(evicts_4), .line_4_i(line_4), .frees_6_i(evicts_6),
    .line_6_i(line_6), .frees_5_i(evicts_5), .uses_5_i(uses_5), .line_5_i(line_5), .queue_5_i(found_queue_5),
    .x_5_o(x_5), .front_5_o(front), .takes_5_i(takes_front), .waits_5_i(begins_to_wait),
    .serves_5_i(serves_5 && here_5a), .served_line_5_i(line_5a), .asks_7_i(asks_7a && here_7a),
    .asked_line_7_i(line_7a), .queue_7_i(queue_7a), .frees_7_i(evicts_7), .line_7_i(line_7),
    .wants_8_i(wants_wqe), .wanted_line_8_i(line_5), .wanted_queue_8_i(queue_8a),
    .first_line_8_o(line_8b), .first_queue_8_i(queue_8b), .dma_valid_o, .dma_ready_i, .dma_o, .line_8_o(line_8),
    .bound_o(bound), .free_contexts_o(free_contexts), .free_reads_o(free_reads), .takes_context_o(takes_context),
    .takes_run_o(takes_run), .guess_fails_o(guess_fails), .run_count_o(run_count)
  );
  assign dma_done_ready_o = 1'b1;

  // (1) A command
  logic uses_1, dirty_1, places, destroying_1, destroys, forgets_1, ends_flush_1, frees_1, makes_1, forgets_message;
  logic holds_back;
  logic [31:0] made;
  wqe_command #(.DoorbellDepth(DoorbellDepth), .Numbers(Numbers)) command (
    .clk_i, .rst_ni, .commands_valid_i, .commands_ready_o, .commands_i, .message_slot_i(command_context_i.wqe_slot),
    .command_replies_valid_o, .command_replies_ready_i, .command_replies_o, .doorbell_i(doorbells_valid_i),
    .rings_2_i(rung), .idle_i(request_count == '0), .leaves_i(out_valid_o), .id_o(id_1), .asks_o(asks_1),
    .found_i(found_1), .here_i(here_1), .absent_i(absent_1), .coming_i(coming_1), .free_i(free_1),
    .has_reads_i(reads_1), .queue_i(found_queue_1), .uses_o(uses_1), .dirty_o(dirty_1), .places_o(places),
    .destroying_o(destroying_1), .removes_o(destroys), .forgets_o(forgets_1), .keeps_o(keeps_1), .queue_o(queue_1),
    .frees_o(frees_1), .makes_o(makes_1), .made_o(made), .ends_flush_o(ends_flush_1),
    .forgets_message_o(forgets_message), .holds_back_o(holds_back)
  );

  // (2) A doorbell. A packet that finds no WQE waits while one waits (R16).
  logic rung, dirty_2, of_failed, will_be_flushed, late_full, late_flush, no_room, late_q, late_2;
  wqe_doorbell doorbell (
    .valid_i(doorbells_valid_i), .doorbell_i(doorbells_i), .rings_o(rung), .asks_o(asks_2), .here_i(here_2),
    .waits_i(waits_2), .queue_i(found_queue_2), .dirty_o(dirty_2), .keeps_o(keeps_2), .queue_o(queue_2),
    .posts_o(posts_2), .of_failed_o(of_failed), .will_be_flushed_i(will_be_flushed), .late_full_i(late_full),
    .flushes_again_o(late_flush), .no_room_o(no_room)
  );
  assign doorbells_ready_o = rung;
  assign late_2 = (late_q || waits_2) && doorbells_valid_i;

  // (3) A request to flush, and the requests that wait; (4), (6) a flushed WQE
  logic flush_turn, flush_asked, flush_idle, flush_pending, next_valid, late_valid, asked_3, asked_4, asked_6, next_4;
  logic next_6, frees_4, frees_6, closes_4, closes_6, moves_4, moves_6, leaves_4, leaves_6, wqe_4, wqe_6, pins_4;
  logic pins_6;
  logic [31:0] late_count, late_queue, flush_3, flush_4, flush_6, open_index_4, open_bytes_4, open_index_6;
  logic [31:0] open_bytes_6;
  // verilator lint_off UNUSEDSIGNAL
  logic [23:0] qp_line_4, qp_line_6, taken_line;
  // verilator lint_on UNUSEDSIGNAL
  rxnic_link_pkg::flush_request_t next_request, request_3, request_4, request_6;
  rxnic_link_pkg::open_wqe_t open_4, open_5, open_6, left_5, taken_open;
  rxnic_link_pkg::wqe_request_t p_4, p_5, p_6;
  rxnic_link_pkg::context_pin_t pin_4, pin_6;
  wqe_flushes #(.LateFlushes(LateFlushes), .ContextLines(ContextLines), .Numbers(Numbers)) flushes (
    .clk_i, .rst_ni, .turn_o(flush_turn), .asked_o(flush_asked), .late_count_o(late_count), .idle_o(flush_idle),
    .pending_o(flush_pending), .ends_1_i(ends_flush_1), .id_1_i(id_1), .makes_1_i(makes_1), .made_i(made),
    .of_failed_2_i(of_failed), .number_2_i(doorbells_i.number), .will_be_flushed_2_o(will_be_flushed),
    .late_full_2_o(late_full), .again_2_i(late_flush), .flushes_valid_i, .flushes_ready_o, .flushes_i,
    .asks_3_o(asks_3), .here_3_i(here_3), .waits_3_i(waits_3), .queue_3_i(found_queue_3), .fails_3_o(keeps_3),
    .queue_3_o(queue_3), .next_valid_o(next_valid), .next_o(next_request), .late_valid_o(late_valid),
    .late_o(late_queue), .asked_4_o(asked_3), .request_4_o(request_3), .queue_4_o(flush_3),
    .takes_next_i(next_4 || next_6), .takes_late_i(frees_4 || frees_6), .asked_6_i(asked_6), .request_6_i(request_6),
    .queue_6_i(flush_6), .leaves_4_i(moves_4), .leaves_5_i(packet_leaves)
  );
  wqe_flush flush_in_step_4 (
    .runs_i(out_ready_i && flush_turn), .asked_i(asked_3), .request_i(request_3), .queue_i(flush_3),
    .next_valid_i(next_valid), .next_i(next_request), .late_valid_i(late_valid), .late_i(late_queue),
    .takes_next_o(next_4), .takes_late_o(frees_4), .asked_o(asked_4), .request_o(request_4), .queue_o(flush_4),
    .line_o(qp_line_4), .open_i(open_4), .index_i(open_index_4), .bytes_i(open_bytes_4), .closes_o(closes_4),
    .id_o(id_4), .asks_o(asks_4), .here_i(here_4), .waits_i(waits_4), .record_i(found_queue_4), .keeps_o(keeps_4),
    .record_o(queue_4), .moves_o(moves_4), .leaves_o(leaves_4), .of_wqe_o(wqe_4), .packet_o(p_4), .pins_o(pins_4),
    .pin_o(pin_4)
  );
  wqe_flush flush_in_step_6 (
    .runs_i(out_ready_i && !moves_4 && !packet_leaves), .asked_i(asked_4), .request_i(request_4), .queue_i(flush_4),
    .next_valid_i(next_valid), .next_i(next_request), .late_valid_i(late_valid), .late_i(late_queue),
    .takes_next_o(next_6), .takes_late_o(frees_6), .asked_o(asked_6), .request_o(request_6), .queue_o(flush_6),
    .line_o(qp_line_6), .open_i(open_6), .index_i(open_index_6), .bytes_i(open_bytes_6), .closes_o(closes_6),
    .id_o(id_6), .asks_o(asks_6), .here_i(here_6), .waits_i(waits_6), .record_i(found_queue_6), .keeps_o(keeps_6),
    .record_o(queue_6), .moves_o(moves_6), .leaves_o(leaves_6), .of_wqe_o(wqe_6), .packet_o(p_6), .pins_o(pins_6),
    .pin_o(pin_6)
  );
  assign pins_valid_o = pins_4 || pins_6;
  assign pins_o = pins_4 ? pin_4 : pin_6;

  // (5) The oldest packet
  logic [31:0] pipe_count, in_shares, in_pool, open_count, open_5_count, slots_used, free_slot, slot_5, index_5;
  logic [31:0] bytes_5;
  logic [31:0] taken_index, taken_bytes;
  logic takes_front, head_is_ready, packet_leaves, yields_5, changes_5, refuses_5, slot_free, takes_slot, blocked;
  logic lacks_context;
  logic lacks_slot, waiting, too_long, keeps_wqe;
  rxnic_link_pkg::wqe_request_t p;
  wqe_pkg::refused_t found_refused, refused_5;
  wqe_pkg::verdict_e verdict;
  assign takes_front = keeps_5;
  wqe_packet #(
    .UdTooLong(UdTooLong), .WqeError(WqeError), .Rendezvous(Rendezvous), .LooksAhead(LooksAhead),
    .CountsCredits(CountsCredits)
  ) packet (
    .clk_i, .rst_ni, .valid_i(out_ready_i && !moves_4 && head_is_ready), .p_i(p), .late_i(late_2), .id_o(id_5),
    .asks_o(asks_5), .here_i(here_5), .waits_i(waits_5), .queue_i(found_queue_5), .yields_o(yields_5),
    .keeps_o(keeps_5), .queue_o(queue_5), .uses_o(uses_5), .x_i(x_5), .front_i(front),
    .begins_to_wait_o(begins_to_wait), .slot_free_i(slot_free), .free_slot_i(free_slot),
    .slots_come_i(slots_used > open_5_count), .takes_slot_o(takes_slot), .taken_index_o(taken_index),
    .taken_bytes_o(taken_bytes),
    .more_places_i(rendezvous_places_valid_i ? 32'(rendezvous_places_i.count) : '0), .slot_o(slot_5),
    .index_i(index_5), .bytes_i(bytes_5), .open_i(open_5), .open_o(left_5), .refused_i(found_refused),
    .refused_o(refused_5), .refuses_o(refuses_5), .asked_id_o(id_5a), .serves_o(serves_5), .rq_here_i(here_5b),
    .rq_i(queue_5b), .leaves_o(packet_leaves), .p_o(p_5), .lists_valid_o, .lists_o, .refusals_valid_o, .refusals_o,
    .returned_valid_o, .returned_ready_i, .returned_o, .events_valid_o, .events_ready_i, .events_o,
    .blocked_o(blocked), .lacks_context_o(lacks_context), .lacks_slot_o(lacks_slot), .wants_wqe_o(wants_wqe),
    .has_waited_o(waiting), .verdict_o(verdict), .too_long_o(too_long), .keeps_wqe_o(keeps_wqe)
  );
  assign rendezvous_places_ready_o = 1'b1;

  // (7) A packet that is taken
  logic takes, from_tagged, brings_open;
  wqe_packets #(
    .PipelineDepth(PipelineDepth), .HitCycles(HitCycles), .LooksAhead(LooksAhead), .CountsCredits(CountsCredits)
  ) packets (
    .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .in_i, .context_i, .tagged_valid_i, .tagged_ready_o, .tagged_i,
    .tagged_context_i, .count_o(pipe_count), .ready_o(head_is_ready), .first_o(p), .leaves_i(packet_leaves),
    .takes_o(takes), .from_tagged_o(from_tagged), .asked_id_o(id_7a), .asks_o(asks_7a), .needed_id_o(id_7),
    .needs_o(asks_7), .brings_o(brings_open), .line_o(taken_line), .open_o(taken_open)
  );

  // WQEs in use: their slots (R13), and those of messages on QPs (R20); what is refused of QPs
  wqe_slots #(
    .WqeStoreEntries(WqeStoreEntries), .WqeStoreShare(WqeStoreShare), .Queues(Queues), .Numbers(Numbers)
  ) slots (
    .clk_i, .rst_ni, .in_shares_o(in_shares), .in_pool_o(in_pool), .makes_1_i(makes_1), .number_1_i(id_1),
    .made_i(made), .releases_1_i(forgets_message), .slot_1_i(command_context_i.wqe_slot),
    .releases_3_i(released_valid_i), .slot_3_i(released_i.wqe_slot), .slot_4_i(open_4.wqe_slot),
    .index_4_o(open_index_4), .bytes_4_o(open_bytes_4), .slot_6_i(open_6.wqe_slot), .index_6_o(open_index_6),
    .bytes_6_o(open_bytes_6), .queue_5_i(p.queue_), .free_5_o(slot_free), .free_slot_5_o(free_slot),
    .used_5_o(slots_used), .takes_5_i(takes_slot), .taken_index_5_i(taken_index), .taken_bytes_5_i(taken_bytes),
    .slot_5_i(slot_5), .index_5_o(index_5), .bytes_5_o(bytes_5)
  );
  assign released_ready_o = 1'b1;
  wqe_open_wqes #(.ContextLines(ContextLines)) open_wqes (
    .clk_i, .rst_ni, .count_o(open_count), .count_5_o(open_5_count), .forgets_1_i(forgets_message),
    .brings_3_i(flushes_ready_o), .line_3_i(flushes_i.line[QpLineBits-1:0]), .open_3_i(flush_context_i),
    .line_4_i(qp_line_4[QpLineBits-1:0]), .open_4_o(open_4), .closes_4_i(closes_4),
    .line_5_i(p.line[QpLineBits-1:0]), .open_5_o(open_5), .leaves_5_i(packet_leaves && p.line != wqe_pkg::NoLine),
    .open_5_i(left_5), .changes_5_o(changes_5), .line_6_i(qp_line_6[QpLineBits-1:0]), .open_6_o(open_6),
    .closes_6_i(closes_6),
    .brings_7_i(brings_open && !(context_write_valid_o && context_write_o.line == taken_line)),
    .line_7_i(taken_line[QpLineBits-1:0]), .open_7_i(taken_open)
  );
  assign context_write_valid_o = closes_4 || changes_5 || closes_6;
  assign context_write_o = closes_4  ? {qp_line_4, wqe_pkg::NoOpenWqe} :
                           changes_5 ? {p.line, left_5} : {qp_line_6, wqe_pkg::NoOpenWqe};
  wqe_refused #(.ContextLines(ContextLines)) refused (
    .clk_i, .rst_ni, .refuses_3_i(flushes_valid_i), .line_3_i(flushes_i.line[QpLineBits-1:0]),
    .residence_3_i(flushes_i.residence), .line_5_i(p.line[QpLineBits-1:0]), .residence_5_i(p.residence),
    .refused_5_o(found_refused), .refuses_5_i(refuses_5), .refused_5_i(refused_5)
  );

  // What leaves
  // verilator lint_off UNUSEDSIGNAL
  rxnic_link_pkg::wqe_request_t leaving;
  // verilator lint_on UNUSEDSIGNAL
  assign out_valid_o = leaves_4 || packet_leaves || leaves_6;
  assign leaving = moves_4 ? p_4 : packet_leaves ? p_5 : p_6;
  assign out_o = leaving[PacketBits-1-:JobBits];

  logic flushed, background;
  assign flushed = moves_4 || moves_6;
  assign background = context_dma_done_valid_i || rung || dma_done_valid_i || (flushes_valid_i && flushes_ready_o) ||
                      dma_valid_o || may_read_on ||
                      (context_dma_valid_o && context_dma_ready_i && more_requests) || lacks_way || deferred ||
                      ((frees_4 || frees_6) && no_room);
  assign activity_o = flushed || packet_leaves || takes ? rxnic_link_pkg::ActivityBusy :
                      blocked || (!out_ready_i && (head_is_ready || flush_pending))
                                                      ? rxnic_link_pkg::ActivityBlocked :
                      lacks_context && lacks_way_5    ? rxnic_link_pkg::ActivityWaitContextWay :
                      lacks_context                   ? rxnic_link_pkg::ActivityWaitQueueContext :
                      lacks_slot                      ? rxnic_link_pkg::ActivityWaitWqeStore :
                      wants_wqe                       ? rxnic_link_pkg::ActivityWaitWqe :
                      background || pipe_count != '0  ? rxnic_link_pkg::ActivityBusy :
                                                        rxnic_link_pkg::ActivityStarved;
  assign quiescent_o = pipe_count == '0 && flush_idle && lined == '0 && request_count == '0 && !late_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) late_q <= 1'b0;
    else late_q <= late_2;
  end

endmodule : srq_wqe_fetcher
