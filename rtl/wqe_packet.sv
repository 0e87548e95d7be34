// SPDX-License-Identifier: Apache-2.0
// The oldest packet (5): what it needs, what becomes of it (wqe_verdict), and how it leaves (wqe_message).
module wqe_packet #(
  parameter int unsigned UdTooLong     = rxnic_params_pkg::TransportCheckerUdTooLong,
  parameter int unsigned WqeError      = rxnic_params_pkg::TransportCheckerWqeErrorStatus,
  parameter int unsigned Rendezvous    = 1,
  parameter logic        LooksAhead    = 1'b0,
  parameter logic        CountsCredits = 1'b0
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                valid_i,          // it may leave now
  input  rxnic_link_pkg::wqe_request_t        p_i,
  input  logic                                late_i,           // a doorbell waits for its queue
  // What it needs: the context of a queue
  output logic [31:0]                         id_o,
  output logic                                asks_o,
  input  logic                                here_i,
  input  logic                                waits_i,
  input  rxnic_link_pkg::stored_queue_t       queue_i,
  output logic                                yields_o,
  output logic                                keeps_o,          // it takes a WQE of the queue
  output rxnic_link_pkg::stored_queue_t       queue_o,
  // ... the queue's prefetch context, with the WQE in front
  output logic                                uses_o,
  // verilator lint_off UNUSEDSIGNAL
  input  wqe_pkg::prefetch_t                  x_i,              // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  input  wqe_pkg::entry_t                     front_i,
  output logic                                begins_to_wait_o,
  // ... a slot for it
  input  logic                                slot_free_i,
  input  logic [31:0]                         free_slot_i,
  input  logic                                slots_come_i,     // one will be free without this packet
  output logic                                takes_slot_o,
  output logic [31:0]                         taken_index_o,
  output logic [31:0]                         taken_bytes_o,
  // ... a place for a rendezvous
  input  logic [31:0]                         more_places_i,
  // The slot of its WQE
  output logic [31:0]                         slot_o,
  input  logic [31:0]                         index_i,
  input  logic [31:0]                         bytes_i,
  // Its QP: the WQE in use, and what is refused
  input  rxnic_link_pkg::open_wqe_t           open_i,
  output rxnic_link_pkg::open_wqe_t           open_o,
  input  wqe_pkg::refused_t                   refused_i,
  output wqe_pkg::refused_t                   refused_o,
  output logic                                refuses_o,
  // The queue that it has asked; its RQ, whose WQEs are counted
  output logic [31:0]                         asked_id_o,
  output logic                                serves_o,
  input  logic                                rq_here_i,
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::stored_queue_t       rq_i,             // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  // How it leaves, and what goes along
  output logic                                leaves_o,
  output rxnic_link_pkg::wqe_request_t        p_o,
  output logic                                lists_valid_o,
  output rxnic_link_pkg::scatter_list_write_t lists_o,
  output logic                                refusals_valid_o,
  output rxnic_link_pkg::refusal_t            refusals_o,
  output logic                                returned_valid_o,
  input  logic                                returned_ready_i,
  output rxnic_link_pkg::tag_return_t         returned_o,
  output logic                                events_valid_o,
  input  logic                                events_ready_i,
  output rxnic_link_pkg::event_t              events_o,
  // Why it does not
  output logic                                blocked_o,
  output logic                                lacks_context_o,
  output logic                                lacks_slot_o,
  output logic                                wants_wqe_o,
  // What the checker of the rules counts
  output logic                                has_waited_o,
  output wqe_pkg::verdict_e                   verdict_o,
  output logic                                too_long_o,
  output logic                                keeps_wqe_o
);

  logic waiting_q;
  logic [31:0] places_q, places_3;  // for rendezvous that are free (R19)
  logic executes, sends, has_open, reaches_limit, returns, parsed_valid, takes_open, tells, refuses, too_long;
  logic takes_match;
  logic [5:0] parsed_count;
  logic [wqe_pkg::SegmentsHeld-1:0] parsed_keeps;
  logic [37:0] parsed_bytes;
  wqe_pkg::verdict_e verdict;
  rxnic_link_pkg::refusal_t refusal;
  rxnic_link_pkg::open_wqe_t open;
  logic keeps_wqe;
  rxnic_link_pkg::event_t limit_event;

  wqe_needed #(.CountsCredits(CountsCredits)) need (
    .p_i, .executes_o(executes), .sends_o(sends), .queue_o(id_o)
  );
  wqe_parse parse (
    .runs_i(uses_o), .linked_i(x_i.linked), .stride_i(x_i.stride), .entry_i(front_i), .valid_o(parsed_valid),
    .count_o(parsed_count), .keeps_o(parsed_keeps), .bytes_o(parsed_bytes)
  );
  assign has_open = open_i.wqe_slot != wqe_pkg::NoSlot;
  assign places_3 = places_q + more_places_i;
  wqe_verdict #(.UdTooLong(UdTooLong)) decide (
    .valid_i, .p_i, .refused_i, .has_open_i(has_open), .executes_i(executes), .sends_i(sends), .needed_i(id_o), .asks_o,
    .here_i, .waits_i, .queue_i, .late_i, .yields_o, .has_waited_i(waiting_q), .uses_o,
    .ready_i(x_i.first != x_i.confirmed), .bad_i(!parsed_valid), .bytes_i(parsed_bytes), .slot_free_i, .slots_come_i,
    .place_free_i(places_3 != '0), .events_ready_i, .returned_ready_i, .verdict_o(verdict), .leaves_o,
    .reaches_limit_o(reaches_limit), .returns_o(returns), .blocked_o, .lacks_context_o, .lacks_slot_o, .wants_wqe_o
  );

  // What it takes
  assign takes_match = verdict == wqe_pkg::VerdictMatched;
  assign keeps_o = leaves_o && (verdict == wqe_pkg::VerdictTakes || verdict == wqe_pkg::VerdictBadWqe);
  assign takes_slot_o = keeps_o || takes_match;
  assign taken_index_o = takes_match ? p_i.wqe_index : 32'(front_i.slot);
  assign taken_bytes_o = takes_match ? p_i.tag_buffer.length : parsed_bytes[31:0];
  assign takes_open = verdict == wqe_pkg::VerdictBeginsAnew || verdict == wqe_pkg::VerdictGoesOn ||
                      (verdict == wqe_pkg::VerdictCompletesOpen && has_open);
  assign slot_o = takes_slot_o ? free_slot_i : takes_open ? open_i.wqe_slot : p_i.wqe_slot;
  always_comb begin : take_wqe
    queue_o = queue_i;
    queue_o.taken = queue_i.taken + 32'd1;
    queue_o.next_slot = 32'(front_i.next);
    if (reaches_limit) queue_o.limit = '0;
  end

  wqe_message #(.WqeError(WqeError)) message (
    .verdict_i(verdict), .p_i, .slot_i(slot_o), .index_i, .bytes_i, .has_queue_i(here_i), .pd_i(queue_i.pd),
    .credits_i(rq_i.producer - rq_i.taken), .counts_i(rq_here_i && CountsCredits), .open_i, .open_o(open), .refused_i,
    .refused_o, .refuses_o(refuses), .tells_o(tells), .refusal_o(refusal), .p_o, .too_long_o(too_long),
    .keeps_wqe_o(keeps_wqe)
  );
  wqe_list write_list (
    .slot_i(slot_o), .matched_i(takes_match), .buffer_i(p_i.tag_buffer), .has_buffer_i(p_i.tag_buffer.length != '0),
    .takes_i(keeps_o), .count_i(parsed_count), .keeps_i(parsed_keeps), .entry_i(front_i), .list_o(lists_o)
  );

  assign open_o = open;
  assign refuses_o = leaves_o && refuses;
  assign refusals_valid_o = leaves_o && tells;
  assign refusals_o = refusal;
  assign lists_valid_o = takes_slot_o;
  assign returned_valid_o = returns && returned_ready_i;
  assign returned_o = {p_i.queue_, p_i.tag_verdict == rxnic_link_pkg::TagVerdictMatched ? p_i.wqe_index
                                                                                       : 32'hffff_ffff};
  assign events_valid_o = keeps_o && reaches_limit;  // (R8)
  always_comb begin : tell_limit
    limit_event = '0;
    limit_event.type_ = rxnic_link_pkg::EventTypeSrqLimitReached;
    limit_event.number = queue_i.number[23:0];
    events_o = limit_event;
  end
  assign asked_id_o = p_i.queue_;
  assign serves_o = leaves_o && LooksAhead && p_i.takes_wqe && p_i.outcome == rxnic_link_pkg::OutcomeExecute;
  assign begins_to_wait_o = wants_wqe_o && !waiting_q;
  assign has_waited_o = waiting_q;
  assign verdict_o = verdict;
  assign too_long_o = leaves_o && too_long;
  assign keeps_wqe_o = leaves_o && keeps_wqe;

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      waiting_q <= 1'b0;
      places_q <= Rendezvous;
    end else begin
      if (leaves_o) waiting_q <= 1'b0;
      else if (wants_wqe_o) waiting_q <= 1'b1;
      places_q <= places_3 - 32'(takes_match && p_i.rendezvous);
    end
  end

endmodule : wqe_packet
