// SPDX-License-Identifier: Apache-2.0
// Twin of model/blocks/cqe_generator. Rules R1..R21 are stated there.
//
// The steps of a cycle follow each other in the order of R9. What has come is step 0. Then follow a command (1), a
// doorbell (2), a failure (3), a session (4) and a moderated event (5). The last steps are a packet (6) and the packet
// behind it (7). Each sees what those before it make of sets of lines, records and open sessions: `..._0` to `..._7`.
// All is written at the end of the cycle. What has a state of its own, or decides much, is a module, `cqe_...`.

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

  localparam int unsigned Ways = CqContextWays < CqContexts ? CqContextWays : CqContexts;
  localparam int unsigned AgeBits = Ways > 1 ? $clog2(Ways) : 1;
  localparam int unsigned SetVectorBits = Ways * (28 + AgeBits);
  localparam int unsigned LineBits = CqContexts > 1 ? $clog2(CqContexts) : 1;
  localparam int unsigned PacketBits = rxnic_link_pkg::CompletionRequestBits;
  localparam int unsigned AckBits = rxnic_link_pkg::AckRequestBits;
  localparam int unsigned WriteCountBits = $clog2(WriteDepth + 6);
  localparam int unsigned EventCountBits = $clog2(EventDepth + 10);
  localparam int unsigned PipeCountBits = $clog2(LatencyCycles + 1);
  localparam int unsigned QueueDepth = CqMissesInFlight + 1;
  localparam int unsigned QueueBits = $clog2(QueueDepth + 1);

  // Looks of the steps at contexts: the CQ is here, absent, or comes; its record as it is found, and as it is left.
  // verilator coverage_off
  logic [CqContexts-1:0] open_q, open_1, open_4, open_6;  // lines with an open session
  // verilator coverage_on
  logic looks_1, looks_2, looks_5, looks_6, looks_7;
  logic here_1, here_2, here_5, here_6, here_7, absence_1, absence_2, absence_5, absence_6;
  logic coming_1, coming_6, coming_7, free_1, fetches_1, fetches_6, fetches_7, may_6, may_7;
  logic [23:0] number_1, number_2, number_5, number_6;
  logic [AgeBits-1:0] way_1, free_way_1, way_of_command;
  logic [LineBits-1:0] line_1, line_4, line_6;
  logic writes_1, keeps_1, keeps_2, keeps_5, keeps_6;
  logic [SetVectorBits-1:0] old_1, fetched_row_1, used_row_1, row_1;
  rxnic_link_pkg::stored_cq_t found_1, found_2, found_4, found_5, found_6, cq_1, cq_2, cq_4, cq_5, cq_6;
  logic [31:0] reading_q;
  logic requests_empty, exists_0, fetches, back;  // the latter for the checker
  cqe_contexts #(
    .CqContexts(CqContexts), .CqMissesInFlight(CqMissesInFlight), .Ways(Ways), .AgeBits(AgeBits)
  ) contexts (
    .clk_i, .rst_ni, .open_q_i(open_q), .open_1_i(open_1), .open_4_i(open_4), .context_dma_valid_o,
    .context_dma_ready_i, .context_dma_o, .written_back_valid_o, .written_back_o, .context_dma_done_valid_i,
    .context_dma_done_i, .fetched_i, .requests_empty_o(requests_empty), .reading_o(reading_q),
    .looks_1_i(looks_1), .number_1_i(number_1), .here_1_o(here_1), .absence_1_o(absence_1), .coming_1_o(coming_1),
    .fetches_1_o(fetches_1), .free_1_o(free_1), .free_way_1_o(free_way_1), .way_1_o(way_1), .old_1_o(old_1),
    .fetched_row_1_o(fetched_row_1), .used_row_1_o(used_row_1), .way_1_i(way_of_command), .line_1_o(line_1),
    .found_1_o(found_1), .writes_1_i(writes_1), .row_1_i(row_1), .keeps_1_i(keeps_1), .cq_1_i(cq_1),
    .removes_1_i(destroys_1), .waits_1_i(waits_1), .forgets_1_i(forgets_1), .ends_1_i(ends_1),
    .looks_2_i(looks_2), .number_2_i(number_2), .here_2_o(here_2), .absence_2_o(absence_2), .found_2_o(found_2),
    .goes_2_i(goes_2), .keeps_2_i(keeps_2), .cq_2_i(cq_2),
    .line_4_i(line_4), .found_4_o(found_4), .keeps_4_i(ends_4), .cq_4_i(cq_4),
    .looks_5_i(looks_5), .number_5_i(number_5), .here_5_o(here_5), .absence_5_o(absence_5), .found_5_o(found_5),
    .goes_5_i(looked_5), .keeps_5_i(keeps_5), .cq_5_i(cq_5),
    .looks_6_i(looks_6), .number_6_i(number_6), .here_6_o(here_6), .absence_6_o(absence_6), .coming_6_o(coming_6),
    .may_6_o(may_6), .fetches_6_o(fetches_6), .line_6_o(line_6), .found_6_o(found_6), .takes_6_i(takes),
    .waits_6_i(waits_for_cq), .yields_6_i(yields_6), .keeps_6_i(keeps_6), .cq_6_i(cq_6),
    .looks_7_i(looks_7), .number_7_i(number_7), .here_7_o(here_7), .coming_7_o(coming_7), .may_7_o(may_7),
    .fetches_7_o(fetches_7), .exists_0_o(exists_0), .fetches_o(fetches), .back_o(back)
  );
  assign context_dma_done_ready_o = 1'b1;
  assign dma_done_ready_o = 1'b1;

  // (1) A command
  logic begun, begins_1, places_1, destroys_1, closes_1, resizes_1, fits_1, holds_back_1, waits_1, forgets_1, ends_1;
  logic [31:0] made, left_count_0;  // writes of CQEs: made, and left
  logic [6:0] held_in_1;
  cqe_command #(.CqeBytes(CqeBytes), .DoorbellDepth(DoorbellDepth), .Ways(Ways), .AgeBits(AgeBits)) commands (
    .clk_i, .rst_ni, .commands_valid_i, .commands_ready_o, .commands_i, .command_replies_valid_o,
    .command_replies_ready_i, .command_replies_o, .begun_o(begun), .doorbell_i(doorbells_valid_i),
    .doorbell_goes_i(goes_2), .requests_empty_i(requests_empty), .made_i(made), .left_i(left_count_0),
    .number_o(number_1), .looks_o(looks_1), .here_i(here_1), .absent_i(absence_1), .coming_i(coming_1),
    .fetches_i(fetches_1), .free_i(free_1), .free_way_i(free_way_1), .way_i(way_1), .set_i(old_1),
    .fetched_set_i(fetched_row_1), .used_set_i(used_row_1), .record_i(found_1), .in_session_i(open_q[line_1]),
    .held_i(held_in_1), .way_o(way_of_command), .writes_o(writes_1), .set_o(row_1), .keeps_o(keeps_1),
    .record_o(cq_1), .begins_o(begins_1), .places_o(places_1), .destroys_o(destroys_1), .closes_o(closes_1),
    .resizes_o(resizes_1), .fits_o(fits_1), .holds_back_o(holds_back_1), .waits_o(waits_1), .forgets_o(forgets_1)
  );
  assign ends_1 = places_1 || destroys_1 || closes_1;
  always_comb begin : command_ends_session
    open_1 = open_q;
    if (ends_1 && here_1) open_1[line_1] = 1'b0;
  end

  // (2) A doorbell
  logic late_q, late_2, rings_2, goes_2, arms_2, raises_2, adds_2, moves_2;
  logic [EventCountBits-1:0] event_count, event_room_1, event_room_2, event_room_3, event_room_4, event_room_5;
  logic timers_full_2, timers_full_4, timers_full_6a, timers_full_6b;
  assign number_2 = doorbells_i.number[23:0];
  assign rings_2 = doorbells_valid_i && event_room_1 != '0;
  assign looks_2 = rings_2;
  assign goes_2 = rings_2 && (here_2 || absence_2);
  assign doorbells_ready_o = goes_2;
  assign late_2 = (late_q && doorbells_valid_i) || (rings_2 && !goes_2);
  cqe_doorbell #(.ModerationUnitPs(ModerationUnitPs), .ClockPeriodPs(ClockPeriodPs)) doorbell (
    .now_i, .doorbell_i(doorbells_i), .goes_i(goes_2 && here_2), .record_i(found_2), .timers_full_i(timers_full_2),
    .keeps_o(keeps_2), .record_o(cq_2), .arms_o(arms_2), .raises_o(raises_2), .adds_timer_o(adds_2),
    .moves_timer_o(moves_2)
  );

  // (3) A failure: it moves its QP to the error state.
  logic takes_failure, fails_qp_3;
  assign takes_failure = failures_valid_i && event_room_2 != '0;
  assign failures_ready_o = takes_failure;
  assign fails_qp_3 = takes_failure && !failure_context_i.part.flush_requested;

  // (4) The session that is due first (R5)
  logic unpressed_4;  // nothing holds the path to host memory up
  logic session_due, ends_4, raised_4, raises_4, added_4, adds_4, moved_4, moves_4;
  logic [511:0] title_4, open_title_6;
  logic [MaxHeld*64-1:0] minis_4, open_minis_6;
  logic [6:0] held_4, open_held_6;
  assign unpressed_4 = !pressed_q && !write_waits;
  cqe_sessions #(.CqContexts(CqContexts), .MaxHeld(MaxHeld), .Compression(Compression)) sessions (
    .clk_i, .rst_ni, .now_i, .line_1_i(line_1), .held_1_o(held_in_1), .open_4_i(open_1), .unpressed_4_i(unpressed_4),
    .due_o(session_due), .line_4_o(line_4), .title_4_o(title_4), .minis_4_o(minis_4), .held_4_o(held_4),
    .line_6_i(line_6), .title_6_o(open_title_6), .minis_6_o(open_minis_6), .held_6_o(open_held_6),
    .joins_6_i(joins_6), .begins_6_i(held_count_6 == '0), .joined_title_6_i(cqe_6),
    .joined_minis_6_i(joined_minis_6), .joined_held_6_i(held_count_6 + 7'd1), .end_6_i(session_end_6)
  );
  assign ends_4 = session_due && write_room_0 >= WriteCountBits'(3) && event_room_3 != '0;
  cq_event #(.ModerationUnitPs(ModerationUnitPs), .ClockPeriodPs(ClockPeriodPs)) event_4 (
    .now_i(now_i), .record_i(found_4), .arms_i(1'b0), .solicited_i(title_4[28*8+6]), .index_i(32'd0),
    .slots_i(32'(cqe_pkg::block_slots(held_4))), .completions_i(32'(held_4)), .timers_full_i(timers_full_4),
    .record_o(cq_4), .raises_o(raised_4), .adds_timer_o(added_4), .moves_timer_o(moved_4)
  );
  assign raises_4 = ends_4 && raised_4;
  assign adds_4 = ends_4 && added_4;
  assign moves_4 = ends_4 && moved_4;
  always_comb begin : end_session
    open_4 = open_1;
    if (ends_4) open_4[line_4] = 1'b0;
  end

  // (5) A moderated event: the first in the table that is due (R14)
  logic looked_5, raises_5, removes_5, adds_6a, moves_6a, adds_6b, moves_6b;
  logic [31:0] timer_count;
  logic [63:0] due_6a, due_6b;
  cqe_timers #(.ModerationTimers(ModerationTimers)) timers (
    .clk_i, .rst_ni, .now_i, .count_o(timer_count), .forgets_1_i(ends_1), .number_1_i(number_1),
    .full_2_o(timers_full_2), .adds_2_i(adds_2), .moves_2_i(moves_2), .number_2_i(number_2), .due_2_i(cq_2.timer),
    .full_4_o(timers_full_4), .adds_4_i(adds_4), .moves_4_i(moves_4), .number_4_i(found_4.number),
    .due_4_i(cq_4.timer), .room_5_i(event_room_4 != '0), .looks_5_o(looks_5), .number_5_o(number_5),
    .here_5_i(here_5), .absent_5_i(absence_5), .record_5_i(found_5), .goes_5_o(looked_5), .keeps_5_o(keeps_5),
    .record_5_o(cq_5), .raises_5_o(raises_5), .removes_5_o(removes_5), .number_6_i(number_6),
    .full_6a_o(timers_full_6a), .adds_6a_i(adds_6a), .moves_6a_i(moves_6a), .due_6a_i(due_6a),
    .full_6b_o(timers_full_6b), .adds_6b_i(adds_6b), .moves_6b_i(moves_6b), .due_6b_i(due_6b)
  );

  // (6) A packet: the first that waits, or the one at the input; (7) one behind it
  // verilator lint_off UNUSEDSIGNAL
  rxnic_link_pkg::completion_request_t p, q;  // not all fields matter
  rxnic_link_pkg::data_segment_t head_wqe;
  // verilator lint_on UNUSEDSIGNAL
  rxnic_link_pkg::completion_qp_t head_qp;
  logic [QueueBits-1:0] queue_count;
  logic [23:0] number_7;
  logic full_6, occupied, considered, hands_over, places_data, stalled_6, waits_for_cq, takes, enqueues, yields_6;
  logic refuses_6, gives_up_6, wqe_done;  // for the checker
  assign full_6 = pipe_room_0 == '0 || write_room_4 < WriteCountBits'(3) || event_room_5 < EventCountBits'(5);
  cqe_packets #(
    .CyclesPerCqe(CyclesPerCqe), .QueueDepth(QueueDepth), .ContextLines(ContextLines), .WqeSlots(WqeSlots)
  ) packets (
    .clk_i, .rst_ni, .now_i, .in_valid_i, .in_ready_o, .in_i, .context_i, .wqe_i, .failure_i(takes_failure),
    .full_i(full_6), .placed_ready_i, .rendezvous_ready_i, .late_i(late_2), .count_o(queue_count),
    .considered_o(considered), .stalled_o(stalled_6), .looks_o(looks_6), .number_o(number_6), .here_i(here_6),
    .absent_i(absence_6), .record_i(found_6), .held_i(open_here_6 ? open_held_6 : '0), .waits_o(waits_for_cq),
    .yields_o(yields_6), .enqueues_o(enqueues), .takes_o(takes), .occupied_o(occupied), .p_o(p), .qp_o(head_qp),
    .wqe_o(head_wqe), .hands_over_o(hands_over), .places_data_o(places_data), .refuses_o(refuses_6),
    .gives_up_o(gives_up_6), .wqe_done_o(wqe_done), .overrun_i(refuses_by_overrun), .of_answer_i(of_answer),
    .part_valid_i(context_write_valid_o), .part_line_i(context_write_o.line), .part_i(context_write_o.part),
    .looks_7_o(looks_7), .number_7_o(number_7), .here_7_i(here_7), .coming_7_i(coming_7), .may_7_i(may_7)
  );

  // Its CQE (cqe_format), the session of its CQ, and what it becomes
  logic is_srq_6, pressed_q, pressed_6, usable_6, discards_6, overruns_6, kills_6, ends_before_6, session_6, joins_6;
  logic fills_6, plain_6, raises_6a, raises_6b, wraps_6, open_here_6;
  logic [23:0] srqn_6;
  logic [511:0] cqe_6, title_6;
  logic [MaxHeld*64-1:0] minis_6, joined_minis_6;
  logic [6:0] written_6, held_count_6;
  logic [63:0] session_end_6;
  rxnic_link_pkg::stored_cq_t before_6;
  assign open_here_6 = open_4[line_6];
  cqe_srqs #(.Queues(Queues)) srqs (
    .clk_i, .rst_ni, .begins_i(begins_1), .command_i(commands_i), .queue_i(p.queue_), .is_srq_o(is_srq_6),
    .srqn_o(srqn_6)
  );
  cqe_format format (.p_i(p), .is_srq_i(is_srq_6), .srqn_i(srqn_6), .now_i, .cqe_o(cqe_6));
  cqe_completion #(
    .Compression(Compression), .CompressionTimeoutCycles(CompressionTimeoutCycles),
    .ModerationUnitPs(ModerationUnitPs), .ClockPeriodPs(ClockPeriodPs), .MaxHeld(MaxHeld)
  ) completion (
    .clk_i, .rst_ni, .now_i, .take_i(takes), .completes_i(p.completes),
    .success_i(p.status == rxnic_link_pkg::WcStatusSuccess), .press_i(p.pressed), .write_waits_i(write_waits),
    .cqe_i(cqe_6), .found_i(looks_6 && here_6), .record_i(found_6), .open_i(open_here_6), .open_title_i(open_title_6),
    .open_minis_i(open_minis_6), .open_held_i(open_held_6), .full_a_i(timers_full_6a), .full_b_i(timers_full_6b),
    .pressed_o(pressed_6), .pressed_q_o(pressed_q), .usable_o(usable_6), .discards_o(discards_6),
    .overruns_o(overruns_6), .kills_o(kills_6), .ends_before_o(ends_before_6), .session_o(session_6),
    .joins_o(joins_6), .fills_o(fills_6), .plain_o(plain_6), .title_o(title_6), .minis_o(minis_6),
    .written_o(written_6), .held_count_o(held_count_6), .joined_minis_o(joined_minis_6), .end_o(session_end_6),
    .before_o(before_6), .keeps_o(keeps_6), .record_o(cq_6), .raises_a_o(raises_6a), .adds_a_o(adds_6a),
    .moves_a_o(moves_6a), .due_a_o(due_6a), .raises_b_o(raises_6b), .adds_b_o(adds_6b), .moves_b_o(moves_6b),
    .due_b_o(due_6b)
  );
  always_comb begin : sessions_of_packet
    open_6 = open_4;
    if (session_6) open_6[line_6] = 1'b0;
    if (joins_6 && !fills_6) open_6[line_6] = 1'b1;
  end
  logic refuses_by_overrun, of_answer, flushes_6, notifies_6, raises_error_6, last_wqe_6;
  rxnic_link_pkg::refusal_t refusal_6;
  rxnic_link_pkg::event_type_e error_type_6;
  cqe_outcome outcome (
    .p_i(p), .take_i(takes), .overruns_i(overruns_6), .discards_i(discards_6),
    .flush_requested_i(head_qp.part.flush_requested), .last_wqe_event_sent_i(head_qp.part.last_wqe_event_sent),
    .q_o(q), .refuses_by_overrun_o(refuses_by_overrun), .of_answer_o(of_answer), .refusal_o(refusal_6),
    .flushes_o(flushes_6), .notifies_o(notifies_6), .last_wqe_o(last_wqe_6), .raises_error_o(raises_error_6),
    .error_type_o(error_type_6)
  );
  assign refusals_valid_o = takes && refuses_by_overrun;
  assign refusals_o = refusal_6;
  assign released_valid_o = takes && p.releases_wqe && p.wqe_slot != '1;
  assign released_o = p.wqe_slot;
  assign placed_valid_o = takes && places_data && q.outcome == rxnic_link_pkg::OutcomeAnswer;
  assign placed_o = {p.qpn, p.psn, rxnic_link_pkg::AnswerKindReadResponse, 8'd0};
  assign rendezvous_valid_o = takes && hands_over;
  assign rendezvous_o = {q.completes && q.outcome == rxnic_link_pkg::OutcomeExecute &&
                         q.status == rxnic_link_pkg::WcStatusSuccess,
                         q.qpn, q.wqe_index, q.pd, head_wqe.address, head_wqe.lkey, q.local_bytes, q.local_va,
                         q.local_key, q.tag, q.tag_context};

  // What leaves: writes, packets behind them (R1), events (R4), what is asked for QPs that fail (R6)
  logic [WriteCountBits-1:0] write_count, write_count_6, write_room_0, write_room_4;
  logic write_waits, next_write_is_due, packet_leaves;
  logic [PipeCountBits-1:0] pipe_count, pipe_count_0, pipe_room_0;
  logic [63:0] packet_due;
  cqe_writes #(
    .CqeBytes(CqeBytes), .LatencyCycles(LatencyCycles), .WriteDepth(WriteDepth), .DmaDepth(DmaDepth),
    .MaxHeld(MaxHeld), .BlockSlots(BlockSlots)
  ) writes (
    .clk_i, .rst_ni, .now_i, .count_o(write_count), .count_6_o(write_count_6), .made_o(made), .left_o(left_count_0),
    .waits_o(write_waits), .next_is_due_o(next_write_is_due), .dma_valid_o, .dma_ready_i, .dma_o, .written_valid_o,
    .written_o, .room_0_o(write_room_0), .ends_4_i(ends_4), .title_4_i(title_4), .minis_4_i(minis_4),
    .held_4_i(held_4), .record_4_i(found_4), .room_4_o(write_room_4), .session_6_i(session_6), .title_6_i(title_6),
    .minis_6_i(minis_6), .held_6_i(written_6), .record_6a_i(found_6), .wraps_6_o(wraps_6), .plain_6_i(plain_6),
    .cqe_6_i(cqe_6), .record_6b_i(before_6)
  );
  rxnic_fifo #(.Bits(AckBits + 64), .Depth(LatencyCycles)) pipe (
    .clk_i, .rst_ni, .push_i(takes), .words_i({q[PacketBits-1-:AckBits], now_i + 64'(LatencyCycles)}),
    .pop_i(packet_leaves), .count_o(pipe_count), .words_o({out_o, packet_due})
  );
  assign out_valid_o = pipe_count != '0 && packet_due <= now_i && !next_write_is_due;
  assign packet_leaves = out_valid_o && out_ready_i;
  assign pipe_count_0 = pipe_count - PipeCountBits'(packet_leaves);
  assign pipe_room_0 = PipeCountBits'(LatencyCycles) - pipe_count_0;
  cqe_events #(
    .LatencyCycles(LatencyCycles), .EventLatencyCycles(EventLatencyCycles), .EventDepth(EventDepth)
  ) events (
    .clk_i, .rst_ni, .now_i, .count_o(event_count), .landed_i(dma_done_valid_i), .events_valid_o, .events_ready_i,
    .events_o, .room_1_o(event_room_1), .raises_2_i(raises_2), .number_2_i(number_2), .room_2_o(event_room_2),
    .raises_3_i(fails_qp_3), .type_3_i(failures_i.event_), .qpn_3_i(failure_context_i.flush.qpn),
    .room_3_o(event_room_3), .writes_4_i(ends_4 && !found_4.polled_only), .raises_4_i(raises_4),
    .number_4_i(found_4.number), .room_4_o(event_room_4), .raises_5_i(raises_5), .number_5_i(number_5),
    .room_5_o(event_room_5), .establishes_6_i(takes && p.establishes), .qpn_6_i(p.qpn),
    .writes_6a_i(session_6 && !found_6.polled_only), .raises_6a_i(raises_6a),
    .writes_6b_i(plain_6 && !found_6.polled_only), .raises_6b_i(raises_6b), .kills_6_i(kills_6),
    .number_6_i(number_6), .raises_error_6_i(raises_error_6), .error_type_6_i(error_type_6)
  );
  logic failures_empty;
  cqe_failures #(.ContextLines(ContextLines)) failed (
    .clk_i, .rst_ni, .empty_o(failures_empty), .takes_3_i(takes_failure), .fails_3_i(fails_qp_3),
    .line_3_i(failures_i.line), .qp_3_i(failure_context_i), .flushes_6_i(flushes_6), .notifies_6_i(notifies_6),
    .last_wqe_6_i(last_wqe_6), .line_6_i(q.line), .qp_6_i(head_qp), .context_write_valid_o, .context_write_o,
    .flushes_valid_o, .flushes_ready_i, .flushes_o, .failed_valid_o, .failed_ready_i, .failed_o, .unpinned_valid_o,
    .unpinned_o
  );

  assign quiescent_o = write_count == '0 && pipe_count == '0 && event_count == '0 && failures_empty && requests_empty &&
                       queue_count == '0 && timer_count == '0 && open_q == '0 && reading_q == '0 && !begun && !late_q;

  logic blocked, lacks_way_6;
  assign blocked = (dma_valid_o && !dma_ready_i) || (out_valid_o && !out_ready_i) || (considered && stalled_6);
  assign lacks_way_6 = may_6 && !here_6 && !absence_6 && !coming_6 && !fetches_6;
  assign activity_o = blocked      ? rxnic_link_pkg::ActivityBlocked :
                      waits_for_cq ? (lacks_way_6 ? rxnic_link_pkg::ActivityWaitContextWay
                                                  : rxnic_link_pkg::ActivityWaitCqContext) :
                      takes || write_count_6 != '0 || pipe_count_0 != '0 || occupied
                                   ? rxnic_link_pkg::ActivityBusy : rxnic_link_pkg::ActivityStarved;

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      open_q <= '0;
      late_q <= 1'b0;
    end else begin
      open_q <= open_6;
      late_q <= late_2;
    end
  end

endmodule : cqe_generator
