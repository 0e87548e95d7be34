// SPDX-License-Identifier: Apache-2.0
// What holds in every cycle of srq_wqe_fetcher, and what a test should have seen. Bound to it from outside: the ports,
// and those of its signals that carry the same names.
`include "checker_macros.svh"

module srq_wqe_fetcher_checker #(
  parameter int unsigned PipelineDepth       = 1,
  parameter int unsigned Queues              = 1,
  parameter int unsigned ReadsInFlight       = 1,
  parameter int unsigned WqeStoreEntries     = 1,
  parameter int unsigned WqeStoreShare       = 0,
  parameter int unsigned LateFlushes         = 1,
  parameter int unsigned QueueMissesInFlight = 1,
  parameter int unsigned RequestDepth        = 1,
  parameter int unsigned WqesPerRead         = 1,
  parameter int unsigned SequentialPrefetch  = 1,
  parameter int unsigned Rendezvous          = 1,
  parameter logic        LooksAhead          = 1'b0,
  parameter logic        CountsCredits       = 1'b0,
  parameter logic        Scarce              = 1'b0,  // queues, slots and places are few enough to run out in a test
  parameter logic        FewWays             = 1'b0  // reads in flight may have all of a set
) (
  input logic                              clk_i,
  input logic                              rst_ni,
  input logic                              quiescent_o,
  input rxnic_link_pkg::activity_e         activity_o,
  input logic                              in_valid_i,
  input logic                              in_ready_o,
  input rxnic_link_pkg::wqe_request_t      in_i,
  input logic                              tagged_valid_i,
  input logic                              tagged_ready_o,
  input logic                              out_valid_o,
  input logic                              out_ready_i,
  input logic                              context_write_valid_o,
  input logic                              lists_valid_o,
  input logic                              refusals_valid_o,
  input logic                              returned_valid_o,
  input logic                              pins_valid_o,
  input logic                              dma_valid_o,
  input logic                              dma_done_valid_i,
  input logic                              context_dma_valid_o,
  input logic                              context_dma_ready_i,
  input logic                              written_back_valid_o,
  input logic                              context_dma_done_valid_i,
  input logic                              events_valid_o,
  input logic                              flushes_valid_i,
  input logic                              flushes_ready_o,
  input logic                              doorbells_valid_i,
  input logic                              doorbells_ready_o,
  input logic                              commands_valid_i,
  input logic                              commands_ready_o,
  input logic                              command_replies_ready_i,
  // Its state and its steps
  input logic [31:0]                       pipe_count,
  input logic [31:0]                       bound_count,
  input logic [15:0]                       free_count_q,
  input logic [15:0]                       free_read_count_q,
  input logic [15:0]                       line_size,
  input logic [31:0]                       in_shares_q,
  input logic [31:0]                       in_pool_q,
  input logic [31:0]                       open_q,
  input logic [31:0]                       reading_q,
  input logic [31:0]                       request_count,
  input logic [31:0]                       late_count_q,
  input logic                              head_is_ready,
  input logic                              flushed,
  input logic                              packet_leaves,
  input logic                              blocked,
  input logic                              lacks_slot,
  input logic                              lacks_context,
  input logic                              wants_wqe,
  input logic                              waiting_q,
  input logic                              takes,
  input logic                              from_tagged,
  input logic                              flush_turn_q,
  input logic                              flushes_wqe,
  input logic                              flush_asked_q,
  input logic                              late_flush,
  input logic                              no_room,
  input logic                              evicts,
  input logic                              takes_context,
  input logic                              guess_fails,
  input logic                              too_long,
  input logic                              takes_front,
  input logic                              bad_wqe,
  input logic                              squashes,
  input logic                              refuses,
  input logic                              store_full,
  input logic                              no_place,
  input logic                              takes_match,
  input logic                              begins_anew,
  input logic                              keeps_wqe,
  input logic                              completes_open,
  input logic                              unreadable,
  input logic                              late_q,
  input logic                              late_d,
  input logic                              places,
  input logic                              destroys,
  input logic                              closing,
  input logic                              forgets_message,
  input logic                              holds_back,
  input logic                              started,
  input logic                              exists,
  input logic                              reads_ahead,
  input logic                              run_found,
  // What leaves and what is asked for
  input logic                              of_releases,
  input logic                              of_has_wqe,
  input logic                              of_last_wqe,
  input logic                              of_counts,
  input logic                              of_tag_received,
  input logic                              of_pins,
  input rxnic_link_pkg::wq_operation_e     of_operation,
  input logic [6:0]                        run_count
);

  logic in_reset, running_q;
  assign in_reset = !rst_ni;
  always_ff @(posedge clk_i or negedge rst_ni) running_q <= rst_ni;

  // Properties use narrow signals, kept apart from the wide ones that they come from (grh_scatter_checker.sv).
  rxnic_link_pkg::wqe_request_t in_q;
  logic in_stable /* verilator public_flat_rd */;
  logic releases /* verilator public_flat_rd */;
  logic has_wqe /* verilator public_flat_rd */;
  logic last_wqe /* verilator public_flat_rd */;
  logic counts /* verilator public_flat_rd */;
  logic tag_received /* verilator public_flat_rd */;
  logic pins /* verilator public_flat_rd */;
  rxnic_link_pkg::wq_operation_e operation /* verilator public_flat_rd */;
  always_ff @(posedge clk_i) in_q <= in_i;
  always_comb begin
    in_stable = in_q == in_i;
    releases = of_releases;
    has_wqe = of_has_wqe;
    last_wqe = of_last_wqe;
    counts = of_counts;
    tag_received = of_tag_received;
    pins = of_pins;
    operation = of_operation;
  end
  logic leaves, answers, rung;
  assign leaves = out_valid_o && out_ready_i;
  assign answers = commands_valid_i && commands_ready_o;
  assign rung = doorbells_valid_i && doorbells_ready_o;

  // The environment
  `RXNIC_ASSERT_NEXT(env_in_holds, in_valid_i && !in_ready_o, in_valid_i && in_stable)

  // R1
  `RXNIC_ASSERT(r1_one_is_taken, !((in_valid_i && in_ready_o) && (tagged_valid_i && tagged_ready_o)))
  `RXNIC_ASSERT(r1_pipeline, pipe_count <= PipelineDepth)
  `RXNIC_ASSERT(r1_moves_with_room, out_valid_o |-> out_ready_i)
  // R3, core/receive_queue/work_queue_table.h R2, R3
  `RXNIC_ASSERT(r3_contexts, bound_count + 32'(free_count_q) == Queues)
  `RXNIC_ASSERT(r3_guess, guess_fails |-> dma_done_valid_i && SequentialPrefetch != 0)
  `RXNIC_ASSERT(r3_taken_when_there_is_no_other, takes_context |-> 32'(free_count_q) < 32'd4)
  `RXNIC_ASSERT(r3_line, 32'(line_size) <= Queues)
  `RXNIC_ASSERT(r3_reads, 32'(free_read_count_q) <= ReadsInFlight)
  `RXNIC_ASSERT(r3_run, run_found |-> run_count != '0 && 32'(run_count) <= WqesPerRead)
  // R9
  `RXNIC_ASSERT(r9_late, late_count_q <= LateFlushes)
  `RXNIC_ASSERT(r9_pins, pins_valid_o |-> flushed)
  // R11
  `RXNIC_ASSERT(r11_released_once, leaves && releases |-> has_wqe)
  // R12
  `RXNIC_ASSERT(r12_only_when_counted, leaves && counts |-> CountsCredits)
  // R13
  `RXNIC_ASSERT(r13_waits_for_a_slot, lacks_slot |-> !packet_leaves && open_q < in_shares_q + in_pool_q)
  `RXNIC_ASSERT(r13_slots, in_shares_q + in_pool_q <= WqeStoreEntries)
  `RXNIC_ASSERT(r13_open, open_q <= in_shares_q + in_pool_q)
  `RXNIC_ASSERT(r13_list_with_its_packet, lists_valid_o |-> leaves)
  // R14
  `RXNIC_ASSERT(r14_reads, reading_q <= QueueMissesInFlight)
  `RXNIC_ASSERT(r14_one_read, evicts || reads_ahead |-> started)
  `RXNIC_ASSERT(r14_requests, request_count < RequestDepth)
  // R20
  `RXNIC_ASSERT(r20_written_when_it_leaves, context_write_valid_o |-> leaves)
  // R21
  `RXNIC_ASSERT(r21_written_back_with_its_request, written_back_valid_o |-> context_dma_valid_o && context_dma_ready_i)
  `RXNIC_ASSERT(quiescent_has_no_output, quiescent_o && !flushes_valid_i && !doorbells_valid_i |-> !out_valid_o)

  `RXNIC_COVER(r1_blocked, head_is_ready && !out_ready_i)
  `RXNIC_COVER(r1_full, pipe_count == PipelineDepth && in_valid_i)
  `RXNIC_COVER(r1_turns, takes && from_tagged && in_valid_i)
  `RXNIC_COVER(r1_tagged_waits, takes && !from_tagged && tagged_valid_i)
  `RXNIC_COVER(r2_doorbell_with_a_packet, rung && takes_front)
  `RXNIC_COVER(r2_wqe_comes_and_leaves, dma_done_valid_i && takes_front && waiting_q)
  `RXNIC_COVER(r3_waits, wants_wqe)
  `RXNIC_COVER(r3_all_reads, free_read_count_q == '0)
  `RXNIC_COVER(r3_read_waits, dma_valid_o && line_size != '0)
  `RXNIC_COVER(r3_several_in_a_read, run_found && run_count > 7'd1)
  `RXNIC_COVER(r3_unreadable, unreadable)
  `RXNIC_COVER(r4_no_wqe, refuses && !store_full && !no_place)
  `RXNIC_COVER(r5_bad_wqe, bad_wqe)
  `RXNIC_COVER(r6_completes_the_open_one, completes_open && !flushes_wqe)
  `RXNIC_COVER(r7_used_again, begins_anew)
  `RXNIC_COVER(r7_too_long, too_long)
  `RXNIC_COVER(r7_kept, keeps_wqe)
  `RXNIC_COVER(r8_limit, events_valid_o)
  `RXNIC_COVER(r9_flushed, flushes_wqe && !completes_open && flush_asked_q)
  `RXNIC_COVER(r9_flushed_open, flushes_wqe && completes_open)
  `RXNIC_COVER(r9_late_flush, late_flush)
  `RXNIC_COVER(r9_flushed_again, flushes_wqe && !flush_asked_q)
  `RXNIC_COVER(r9_last_wqe, leaves && last_wqe)
  `RXNIC_COVER(r9_ends, pins_valid_o && !pins)
  `RXNIC_COVER(r9_in_turn, flush_turn_q && flushed && head_is_ready)
  `RXNIC_COVER(r9_before_a_packet, flushed && head_is_ready && !flush_turn_q)
  `RXNIC_COVER(r10_returned, returned_valid_o)
  `RXNIC_COVER(r10_squashed, squashes)
  `RXNIC_COVER(r10_matched, takes_match)
  `RXNIC_COVER(r10_matched_and_completed_in_error, completes_open && tag_received)
  `RXNIC_COVER(r10_blocked, blocked)
  `RXNIC_COVER(r11_refused, refusals_valid_o)
  `RXNIC_COVER(r14_waits, lacks_context)
  `RXNIC_COVER(r14_doorbell_waits, doorbells_valid_i && !doorbells_ready_o && !no_room)
  `RXNIC_COVER(r14_flush_waits, flushes_valid_i && !flushes_ready_o)
  `RXNIC_COVER(r14_absent, context_dma_done_valid_i && !exists)
  `RXNIC_COVER(r14_read_with_a_packet, started && packet_leaves)
  `RXNIC_COVER(r16_late, late_q && !late_d)
  `RXNIC_COVER(r17_holds_back, holds_back)
  `RXNIC_COVER(r17_destroy_waits, closing)
  `RXNIC_COVER(r17_forgets, forgets_message)
  `RXNIC_COVER(r17_reply_waits, commands_valid_i && !command_replies_ready_i)
  `RXNIC_COVER(r17_queried, answers && operation == rxnic_link_pkg::WqOperationQuery)
  `RXNIC_COVER(r17_armed, answers && operation == rxnic_link_pkg::WqOperationArmLimit)
  `RXNIC_COVER(r17_closed, answers && operation == rxnic_link_pkg::WqOperationClose)
  `RXNIC_COVER(r17_reset, answers && operation == rxnic_link_pkg::WqOperationReset)
  `RXNIC_COVER(r18_created, places)
  `RXNIC_COVER(r18_refused, answers && operation == rxnic_link_pkg::WqOperationCreate && !places)
  `RXNIC_COVER(r18_destroyed, destroys)
  `RXNIC_COVER(r20_written, context_write_valid_o)
  `RXNIC_COVER(quiescent, quiescent_o && !in_valid_i)
  `RXNIC_COVER(activity_blocked, activity_o == rxnic_link_pkg::ActivityBlocked)
  `RXNIC_COVER(activity_wait_queue_context, activity_o == rxnic_link_pkg::ActivityWaitQueueContext)
  `RXNIC_COVER(activity_wait_wqe, activity_o == rxnic_link_pkg::ActivityWaitWqe)
  if (SequentialPrefetch != 0) begin : guesses
    `RXNIC_COVER(r3_guess_fails, guess_fails)
  end
  if (LooksAhead) begin : looks_ahead
    `RXNIC_COVER(r15_asked, takes && LooksAhead)
  end
  if (CountsCredits) begin : counts_credits
    `RXNIC_COVER(r12_counted, leaves && counts)
  end
  if (WqeStoreShare != 0) begin : has_shares
    `RXNIC_COVER(r13_of_a_share, in_shares_q != '0)
  end
  if (Rendezvous < 16) begin : has_few_places
    `RXNIC_COVER(r19_no_place, no_place)
  end
  if (Scarce && FewWays) begin : runs_out_of_ways
    `RXNIC_COVER(activity_wait_context_way, activity_o == rxnic_link_pkg::ActivityWaitContextWay)
  end
  if (Scarce) begin : runs_out
    `RXNIC_COVER(activity_wait_wqe_store, activity_o == rxnic_link_pkg::ActivityWaitWqeStore)
    `RXNIC_COVER(r9_doorbell_waits, no_room)
    `RXNIC_COVER(r2_takes_a_context, takes_context)
    `RXNIC_COVER(r13_waits, lacks_slot)
    `RXNIC_COVER(r13_refused, store_full)
    `RXNIC_COVER(r14_evicts, evicts)
    `RXNIC_COVER(r14_all_reads, reading_q == QueueMissesInFlight)
    `RXNIC_COVER(r15_read_ahead, reads_ahead)
    `RXNIC_COVER(r18_in_anothers_line, commands_valid_i && operation == rxnic_link_pkg::WqOperationCreate && started)
    `RXNIC_COVER(r21_written_back, written_back_valid_o)
  end

endmodule : srq_wqe_fetcher_checker

bind srq_wqe_fetcher srq_wqe_fetcher_checker #(
  .PipelineDepth      (PipelineDepth),
  .Queues             (Queues),
  .ReadsInFlight      (ReadsInFlight),
  .WqeStoreEntries    (WqeStoreEntries),
  .WqeStoreShare      (WqeStoreShare),
  .LateFlushes        (LateFlushes),
  .QueueMissesInFlight(QueueMissesInFlight),
  .RequestDepth       (RequestDepth),
  .WqesPerRead        (WqesPerRead),
  .SequentialPrefetch (SequentialPrefetch),
  .Rendezvous         (Rendezvous),
  .LooksAhead         (LooksAhead),
  .CountsCredits      (CountsCredits),
  .Scarce             (QueueContexts < 16),
  .FewWays            (QueueContextWays <= QueueMissesInFlight)
) checker_i (
  .bound_count      (32'($countones(bound))),
  .free_count_q     (16'(free_contexts)),
  .free_read_count_q(16'(free_reads)),
  .line_size        (16'(lined)),
  .in_shares_q      (in_shares),
  .in_pool_q        (in_pool),
  .open_q           (open_count),
  .reading_q        (reading),
  .late_count_q     (late_count),
  .waiting_q        (waiting),
  .flush_turn_q     (flush_turn),
  .flush_asked_q    (flush_asked),
  .flushes_wqe      (wqe_4 || wqe_6),
  .bad_wqe          (packet_leaves && verdict == wqe_pkg::VerdictBadWqe),
  .squashes         (packet_leaves && verdict == wqe_pkg::VerdictSquashed),
  .refuses          (packet_leaves && (verdict == wqe_pkg::VerdictNoWqe || verdict == wqe_pkg::VerdictStoreFull ||
                                       verdict == wqe_pkg::VerdictNoPlace)),
  .store_full       (verdict == wqe_pkg::VerdictStoreFull),
  .no_place         (verdict == wqe_pkg::VerdictNoPlace),
  .takes_match      (verdict == wqe_pkg::VerdictMatched),
  .begins_anew      (verdict == wqe_pkg::VerdictBeginsAnew),
  .completes_open   (closes_4 || closes_6 || (verdict == wqe_pkg::VerdictCompletesOpen && open_5.wqe_slot != '1)),
  .unreadable       (takes_run && !dma_done_i.ok),
  .late_d           (late_2),
  .closing          (destroying_1 && found_1 && reads_1),
  .exists           (exists_0),
  .run_found        (dma_valid_o),
  .of_releases(out_o.releases_wqe),
  .of_has_wqe(out_o.wqe_slot != '1),
  .of_last_wqe(out_o.role == rxnic_link_pkg::PacketRoleLastWqe),
  .of_counts(out_o.posted_wqes != '0),
  .of_tag_received(out_o.cqe_opcode == rxnic_link_pkg::CqeOpcodeTagReceive),
  .of_pins(pins_o.pins),
  .of_operation(commands_i.operation),
  .*
);
