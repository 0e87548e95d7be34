// SPDX-License-Identifier: Apache-2.0
// What holds in every cycle of cqe_generator, and what a test should have seen. Bound to it from outside: the ports,
// and those of its signals that carry the same names.
`include "checker_macros.svh"

module cqe_generator_checker #(
  parameter int unsigned WriteDepth       = 1,
  parameter int unsigned EventDepth       = 1,
  parameter int unsigned LatencyCycles    = 1,
  parameter int unsigned CyclesPerCqe     = 1,
  parameter int unsigned CqMissesInFlight = 1,
  parameter int unsigned ModerationTimers = 1,
  parameter int unsigned Compression      = 0,
  parameter logic        Scarce           = 1'b0,  // contexts, reads and timers are few enough to run out in a test
  parameter logic        FewWays          = 1'b0  // reads in flight may have all of a set
) (
  input logic                                clk_i,
  input logic                                rst_ni,
  input logic                                quiescent_o,
  input rxnic_link_pkg::activity_e           activity_o,
  input logic                                in_valid_i,
  input logic                                in_ready_o,
  input rxnic_link_pkg::completion_request_t in_i,
  input logic                                out_valid_o,
  input logic                                out_ready_i,
  input rxnic_link_pkg::ack_request_t        out_o,
  input logic                                dma_valid_o,
  input logic                                dma_ready_i,
  input logic                                dma_done_valid_i,
  input logic                                context_dma_valid_o,
  input logic                                context_dma_ready_i,
  input logic                                written_back_valid_o,
  input logic                                context_dma_done_valid_i,
  input logic                                failures_valid_i,
  input logic                                failures_ready_o,
  input logic                                context_write_valid_o,
  input logic                                flushes_valid_o,
  input logic                                flushes_ready_i,
  input logic                                failed_valid_o,
  input logic                                refusals_valid_o,
  input logic                                placed_valid_o,
  input logic                                rendezvous_valid_o,
  input logic                                released_valid_o,
  input logic                                events_valid_o,
  input logic                                events_ready_i,
  input logic                                doorbells_valid_i,
  input logic                                doorbells_ready_o,
  input logic                                commands_valid_i,
  input logic                                commands_ready_o,
  input logic                                command_replies_ready_i,
  // Its state and its steps
  input logic [31:0]                         write_count,
  input logic [31:0]                         event_count,
  input logic [31:0]                         pipe_count,
  input logic [31:0]                         queue_count,
  input logic [31:0]                         reading_q,
  input logic [31:0]                         timer_count,
  input logic                                lanes,          // of `written`
  input logic                                takes,
  input logic                                considered,
  input logic                                stalled_6,
  input logic                                waits_for_cq,
  input logic                                enqueues,
  input logic                                yields_6,
  input logic                                looks_6,
  input logic                                here_6,
  input logic                                fetches_7,
  input logic                                squashes,
  input logic                                gives_up_6,
  input logic                                usable_6,
  input logic                                discards_6,
  input logic                                overruns_6,
  input logic                                plain_6,
  input logic                                session_6,
  input logic                                ends_before_6,
  input logic                                fills_6,
  input logic                                joins_6,
  input logic                                pressed_6,
  input logic                                unpressed_4,
  input logic                                may_end_4,      // there is a session, and room
  input logic                                wraps_6,
  input logic                                ends_4,
  input logic                                goes_2,
  input logic                                rings_2,
  input logic                                arms_2,
  input logic                                raises_2,
  input logic                                raises_5,
  input logic                                removes_5,
  input logic                                moves_timer,
  input logic                                lacks_timer,
  input logic                                fails_qp_3,
  input logic                                flushes_6,
  input logic                                notifies_6,
  input logic                                last_wqe_6,
  input logic                                places_1,
  input logic                                destroys_1,
  input logic                                closes_1,
  input logic                                resizes_1,
  input logic                                fits_1,
  input logic                                in_session_1,   // the command's CQ
  input logic                                fetches_1,
  input logic                                establishes,
  input logic                                back,
  input logic                                fetches,
  input logic                                exists_0,
  input logic                                holds_back,
  input logic [63:0]                         held_session,   // of the packet's CQ
  input logic                                wqe_done
);

  logic in_reset, running_q;
  assign in_reset = !rst_ni;
  always_ff @(posedge clk_i or negedge rst_ni) running_q <= rst_ni;

  // Properties use narrow signals, kept apart from the wide ones that they come from (grh_scatter_checker.sv).
  rxnic_link_pkg::completion_request_t in_q;
  rxnic_link_pkg::ack_request_t out_q;
  logic in_stable /* verilator public_flat_rd */;
  logic out_stable /* verilator public_flat_rd */;
  always_ff @(posedge clk_i) begin
    in_q <= in_i;
    out_q <= out_o;
  end
  always_comb begin
    in_stable = in_q == in_i;
    out_stable = out_q == out_o;
  end
  logic leaves, writes, events;
  assign leaves = out_valid_o && out_ready_i;
  assign writes = dma_valid_o && dma_ready_i;
  assign events = events_valid_o && events_ready_i;
  logic offered, gives;  // some input, some output
  assign offered = in_valid_i || dma_done_valid_i || context_dma_done_valid_i || failures_valid_i ||
                   doorbells_valid_i || commands_valid_i;
  assign gives = out_valid_o || dma_valid_o || context_dma_valid_o || flushes_valid_o || failed_valid_o ||
                 events_valid_o || context_write_valid_o || refusals_valid_o || placed_valid_o || rendezvous_valid_o ||
                 released_valid_o;

  // The environment
  `RXNIC_ASSERT_NEXT(env_in_holds, in_valid_i && !in_ready_o, in_valid_i && in_stable)

  // R1; a write that has fallen due meanwhile goes first
  `RXNIC_ASSERT_NEXT(r1_out_holds, out_valid_o && !out_ready_i, out_stable && (out_valid_o || dma_valid_o))
  `RXNIC_ASSERT(r1_writes, write_count <= WriteDepth)
  `RXNIC_ASSERT(r1_packets, pipe_count <= LatencyCycles)
  // R4
  `RXNIC_ASSERT(r4_events, event_count <= EventDepth)
  // R5
  `RXNIC_ASSERT(r5_one_session_a_packet, !(ends_before_6 && fills_6))
  `RXNIC_ASSERT(r5_held_by_pressure, joins_6 && !fills_6 |-> pressed_6)
  `RXNIC_ASSERT(r5_ends_without_pressure, unpressed_4 && may_end_4 |-> ends_4)
  `RXNIC_ASSERT(r5_only_when_compressing, session_6 || joins_6 || ends_4 |-> Compression != 0)
  // R6
  `RXNIC_ASSERT(r6_written_once, flushes_6 || last_wqe_6 |-> !fails_qp_3 && context_write_valid_o)
  // R9
  `RXNIC_ASSERT(r9_failure_or_packet, !(failures_valid_i && failures_ready_o && (takes || enqueues)))
  // R11
  `RXNIC_ASSERT(r11_reads, reading_q <= CqMissesInFlight)
  `RXNIC_ASSERT(r11_evicted_for_another, back |-> fetches)
  `RXNIC_ASSERT(r11_written_back_with_its_request, written_back_valid_o |-> context_dma_valid_o && context_dma_ready_i)
  // R12
  `RXNIC_ASSERT(r12_queue, queue_count <= CqMissesInFlight + 1)
  `RXNIC_ASSERT(r12_only_while_one_waits, enqueues |-> waits_for_cq)
  // R14
  `RXNIC_ASSERT(r14_timers, timer_count <= ModerationTimers)
  `RXNIC_ASSERT(r14_at_once_without_one, lacks_timer |-> timer_count + 32'd3 >= ModerationTimers)  // three in a cycle
  // R21
  `RXNIC_ASSERT(r21_written_with_its_request, lanes == writes)
  `RXNIC_ASSERT(quiescent_has_no_output, quiescent_o && !offered |-> !gives)
  `RXNIC_ASSERT_NEXT(quiescent_stays_so, quiescent_o && !offered, quiescent_o)

  `RXNIC_COVER(r1_blocked, out_valid_o && !out_ready_i)
  `RXNIC_COVER(r1_write_waits, dma_valid_o && !dma_ready_i)
  `RXNIC_COVER(r1_packet_behind_its_write, leaves && writes)
  `RXNIC_COVER(r1_several_writes, write_count > 32'd1)
  `RXNIC_COVER(r3_overrun, overruns_6)
  `RXNIC_COVER(r3_refused, refusals_valid_o)
  `RXNIC_COVER(r4_event_of_a_packet, takes && usable_6 && event_count == '0)
  `RXNIC_COVER(r4_landing, dma_done_valid_i)
  `RXNIC_COVER(r4_at_arming, raises_2)
  `RXNIC_COVER(r4_armed, arms_2 && !raises_2)
  `RXNIC_COVER(r4_event_waits, events_valid_o && !events_ready_i)
  `RXNIC_COVER(r6_flush_with_notice, flushes_6 && notifies_6)
  `RXNIC_COVER(r6_flush_alone, flushes_6 && !notifies_6)
  `RXNIC_COVER(r6_failure, fails_qp_3)
  `RXNIC_COVER(r6_failure_again, failures_valid_i && failures_ready_o && !fails_qp_3)
  `RXNIC_COVER(r6_flush_waits, flushes_valid_o && !flushes_ready_i)
  `RXNIC_COVER(r6_notice, failed_valid_o)
  `RXNIC_COVER(r7_last_wqe, last_wqe_6)
  `RXNIC_COVER(r8_squashed, takes && squashes)
  `RXNIC_COVER(r8_given_up, takes && gives_up_6)
  `RXNIC_COVER(r8_done_before, takes && wqe_done)
  `RXNIC_COVER(r8_released, released_valid_o)
  `RXNIC_COVER(r9_packet_with_a_doorbell, takes && goes_2)
  `RXNIC_COVER(r9_packet_with_a_command, takes && commands_valid_i && commands_ready_o)
  `RXNIC_COVER(r10_discarded, discards_6)
  `RXNIC_COVER(r11_miss, looks_6 && !here_6)
  `RXNIC_COVER(r11_doorbell_waits, rings_2 && !goes_2)
  `RXNIC_COVER(r11_absent, context_dma_done_valid_i && !exists_0)
  `RXNIC_COVER(r12_read_ahead, fetches_7)
  `RXNIC_COVER(r12_queue_full, queue_count == CqMissesInFlight + 1 && in_valid_i)
  `RXNIC_COVER(r13_waits_for_doorbells, yields_6)
  `RXNIC_COVER(r14_moderated, raises_5)
  `RXNIC_COVER(r14_timer_for_nothing, removes_5 && !raises_5)
  `RXNIC_COVER(r14_sooner, moves_timer)
  `RXNIC_COVER(r15_closed, closes_1)
  `RXNIC_COVER(r15_resized, resizes_1 && fits_1)
  `RXNIC_COVER(r15_does_not_fit, resizes_1 && !fits_1)
  `RXNIC_COVER(r15_waits_for_doorbells, holds_back)
  `RXNIC_COVER(r15_waits_for_writes, commands_valid_i && !commands_ready_o)
  `RXNIC_COVER(r15_reply_waits, commands_valid_i && !command_replies_ready_i)
  `RXNIC_COVER(r16_created, places_1)
  `RXNIC_COVER(r16_created_in_anothers_line, fetches_1)
  `RXNIC_COVER(r16_destroyed, destroys_1)
  `RXNIC_COVER(r18_rendezvous, rendezvous_valid_o)
  `RXNIC_COVER(r19_placed, placed_valid_o)
  `RXNIC_COVER(r20_established, takes && establishes)
  `RXNIC_COVER(stalled, considered && stalled_6)
  `RXNIC_COVER(doorbell_taken, doorbells_valid_i && doorbells_ready_o)
  `RXNIC_COVER(event_leaves, events)
  `RXNIC_COVER(quiescent, quiescent_o && !in_valid_i)
  `RXNIC_COVER(activity_blocked, activity_o == rxnic_link_pkg::ActivityBlocked)
  `RXNIC_COVER(activity_wait_cq_context, activity_o == rxnic_link_pkg::ActivityWaitCqContext)
  if (Scarce && FewWays) begin : runs_out_of_ways
    `RXNIC_COVER(activity_wait_context_way, activity_o == rxnic_link_pkg::ActivityWaitContextWay)
  end
  if (Scarce) begin : runs_out
    `RXNIC_COVER(r11_evicted_and_written, fetches && back)
    `RXNIC_COVER(r11_all_reads, reading_q == CqMissesInFlight)
    `RXNIC_COVER(r14_no_timer, lacks_timer)
  end
  if (CyclesPerCqe > 1) begin : takes_time
    `RXNIC_COVER(r2_occupied, in_valid_i && !considered && !(failures_valid_i && failures_ready_o))
  end
  if (Compression == 0) begin : without_sessions
    `RXNIC_ASSERT(r5_no_session, held_session == '0 && !in_session_1 && !(session_6 && wraps_6))
    `RXNIC_COVER(r1_plain, plain_6)
  end else begin : with_sessions
    `RXNIC_COVER(r5_joins, joins_6 && held_session != '0)
    `RXNIC_COVER(r5_begins, joins_6 && held_session == '0)
    `RXNIC_COVER(r5_full, fills_6)
    `RXNIC_COVER(r5_ends_before_a_session, ends_before_6 && joins_6)
    `RXNIC_COVER(r5_ends_before_a_plain_one, ends_before_6 && plain_6)
    `RXNIC_COVER(r5_timeout, ends_4 && !unpressed_4)
    `RXNIC_COVER(r5_pressure_ends, ends_4 && unpressed_4)
    `RXNIC_COVER(r5_last_without_pressure, fills_6 && !pressed_6)
    `RXNIC_COVER(r5_at_once, plain_6 && !pressed_6)
    `RXNIC_COVER(r5_wraps, session_6 && wraps_6)
    `RXNIC_COVER(r5_closed_in_a_session, closes_1 && in_session_1)
    `RXNIC_COVER(r5_resized_in_a_session, resizes_1 && fits_1 && in_session_1)
    `RXNIC_COVER(r5_created_anew_in_a_session, places_1 && in_session_1)
    `RXNIC_COVER(r5_destroyed_in_a_session, destroys_1 && in_session_1)
    `RXNIC_COVER(r3_overrun_behind_a_session, ends_before_6 && overruns_6)
  end

endmodule : cqe_generator_checker

bind cqe_generator cqe_generator_checker #(
  .WriteDepth      (WriteDepth),
  .EventDepth      (EventDepth),
  .LatencyCycles   (LatencyCycles),
  .CyclesPerCqe    (CyclesPerCqe),
  .CqMissesInFlight(CqMissesInFlight),
  .ModerationTimers(ModerationTimers),
  .Compression     (Compression),
  .Scarce          (CqContexts < 16),
  .FewWays         (CqContextWays < CqMissesInFlight)
) checker_i (
  .write_count (32'(write_count)),
  .event_count (32'(event_count)),
  .pipe_count  (32'(pipe_count)),
  .queue_count (32'(queue_count)),
  .lanes       (written_valid_o[0]),
  .squashes    (refuses_6),
  .moves_timer (moves_2 || moves_4 || moves_6a || moves_6b),
  .lacks_timer ((timers_full_2 && raises_2) || (timers_full_6a && raises_6a) ||
                (timers_full_6b && raises_6b)),
  .establishes (p.establishes),
  .holds_back  (holds_back_1),
  .in_session_1(here_1 && open_q[line_1]),
  .held_session(64'(held_count_6)),
  .may_end_4   (Compression != 0 && open_1 != '0 && write_room_0 >= WriteCountBits'(3) && event_room_3 != '0),
  .*
);
