// SPDX-License-Identifier: Apache-2.0
// What becomes of the oldest packet (R4 to R7, R10, R13, R16, R19), or why it does not leave. It may wait for a
// context, a WQE or a slot, or for room for what it sends along. No state in here.
module wqe_verdict #(
  parameter int unsigned UdTooLong = rxnic_params_pkg::TransportCheckerUdTooLong
) (
  input  logic                          valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::wqe_request_t  p_i,              // not all fields matter
  input  wqe_pkg::refused_t             refused_i,        // what is refused of its QP
  // verilator lint_on UNUSEDSIGNAL
  input  logic                          has_open_i,       // its message has a WQE in use
  input  logic                          executes_i,       // wqe_needed
  input  logic                          sends_i,
  input  logic [31:0]                   needed_i,
  // The context of the queue that it needs
  output logic                          asks_o,
  input  logic                          here_i,
  input  logic                          waits_i,
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::stored_queue_t queue_i,          // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  input  logic                          late_i,           // a doorbell waits for its queue
  output logic                          yields_o,         // so that the context of that one may come
  // WQEs of the queue: the packet uses its prefetch context, whose first WQE is here
  input  logic                          has_waited_i,
  output logic                          uses_o,
  input  logic                          ready_i,
  input  logic                          bad_i,
  input  logic [37:0]                   bytes_i,
  // Slots, places for rendezvous, room for what goes along
  input  logic                          slot_free_i,
  input  logic                          slots_come_i,     // one will be free without this packet
  input  logic                          place_free_i,
  input  logic                          events_ready_i,
  input  logic                          returned_ready_i,
  output wqe_pkg::verdict_e             verdict_o,
  output logic                          leaves_o,
  output logic                          reaches_limit_o,  // of the queue, with this WQE
  output logic                          returns_o,        // a match, or an unexpected message
  output logic                          blocked_o,
  output logic                          lacks_context_o,
  output logic                          lacks_slot_o,
  output logic                          wants_wqe_o
);

  logic received, has_qp, is_refused, completes_open, takes, supply_none, tells, matched, too_long;
  wqe_pkg::verdict_e verdict;

  assign received = p_i.role == rxnic_link_pkg::PacketRoleReceived;
  assign has_qp = valid_i && p_i.line != wqe_pkg::NoLine;
  assign is_refused = received && !rxnic_pkg::is_response(p_i.opcode) &&
                      (refused_i.requests || (refused_i.has_epoch && refused_i.epoch == p_i.epoch) ||
                       (refused_i.message != '0 && refused_i.message == p_i.message_sequence));
  assign asks_o = has_qp && !is_refused && needed_i != wqe_pkg::NoWq;
  assign completes_open = p_i.role == rxnic_link_pkg::PacketRoleTruncated ||
                          (received && (p_i.fails_qp ||
                                        (p_i.outcome == rxnic_link_pkg::OutcomeDrop && p_i.completes)));
  assign matched = p_i.tag_verdict == rxnic_link_pkg::TagVerdictMatched;
  // It takes a WQE of its queue, unless it uses that of the message before again (R7).
  assign takes = !completes_open && executes_i && p_i.tag_verdict != rxnic_link_pkg::TagVerdictFailed && !matched &&
                 p_i.takes_wqe && !(p_i.transport == rxnic_link_pkg::TransportUc && has_open_i);
  assign supply_none = !(here_i && needed_i == p_i.queue_) || queue_i.failed || queue_i.producer == queue_i.taken;
  assign uses_o = has_qp && !is_refused && !waits_i && (has_waited_i || takes) && !supply_none;
  assign reaches_limit_o = queue_i.limit != '0 && queue_i.producer - queue_i.taken - 32'd1 < queue_i.limit;
  assign too_long = rxnic_pkg::is_datagram(p_i.transport) && UdTooLong == rxnic_params_pkg::UdTooLongPolicyDrop &&
                    !bad_i && p_i.message_bytes + (p_i.transport == rxnic_link_pkg::TransportUd ? 64'd40 : 64'd0) >
                              64'(bytes_i);

  always_comb begin : decide
    verdict = wqe_pkg::VerdictPasses;
    lacks_context_o = 1'b0;
    lacks_slot_o = 1'b0;
    wants_wqe_o = 1'b0;
    yields_o = 1'b0;
    tells = 1'b0;
    if (!has_qp) begin
      verdict = wqe_pkg::VerdictPasses;
    end else if (is_refused) begin
      verdict = wqe_pkg::VerdictSquashed;
    end else if (waits_i) begin
      lacks_context_o = 1'b1;
    end else if (has_waited_i && !supply_none && !ready_i) begin
      wants_wqe_o = 1'b1;
    end else if (completes_open) begin
      verdict = wqe_pkg::VerdictCompletesOpen;  // (R6)
    end else if (executes_i && p_i.tag_verdict == rxnic_link_pkg::TagVerdictFailed) begin
      verdict = wqe_pkg::VerdictTagFailed;  // (R10)
    end else if (executes_i && matched) begin
      if (!slot_free_i && slots_come_i) lacks_slot_o = 1'b1;  // (R13)
      else if (!slot_free_i) verdict = wqe_pkg::VerdictStoreFull;
      else if (p_i.rendezvous && !place_free_i) verdict = wqe_pkg::VerdictNoPlace;  // (R19)
      else verdict = wqe_pkg::VerdictMatched;
    end else if (executes_i && p_i.takes_wqe && !takes) begin
      verdict = wqe_pkg::VerdictBeginsAnew;  // (R7)
    end else if (takes && supply_none && !late_i) begin
      verdict = wqe_pkg::VerdictNoWqe;  // (R4)
    end else if (takes && supply_none) begin
      yields_o = 1'b1;  // (R16)
      lacks_context_o = 1'b1;
    end else if (takes && !ready_i) begin
      wants_wqe_o = 1'b1;
    end else if (takes) begin
      if (!slot_free_i && slots_come_i) lacks_slot_o = 1'b1;
      else if (!slot_free_i) verdict = wqe_pkg::VerdictStoreFull;
      else if (reaches_limit_o && !events_ready_i) tells = 1'b1;
      else if (too_long) verdict = wqe_pkg::VerdictTooLong;  // (R7)
      else if (bad_i) verdict = wqe_pkg::VerdictBadWqe;  // (R5)
      else verdict = wqe_pkg::VerdictTakes;
    end else if (executes_i && sends_i) begin
      verdict = has_open_i ? wqe_pkg::VerdictGoesOn : wqe_pkg::VerdictLacksOpen;  // (R6)
    end
    // (R10)
    returns_o = (matched || p_i.tag_verdict == rxnic_link_pkg::TagVerdictUnexpected) &&
                (verdict == wqe_pkg::VerdictSquashed || verdict == wqe_pkg::VerdictNoWqe ||
                 verdict == wqe_pkg::VerdictStoreFull || verdict == wqe_pkg::VerdictNoPlace);
    blocked_o = tells || (returns_o && !returned_ready_i);
    leaves_o = valid_i && !blocked_o && !lacks_context_o && !lacks_slot_o && !wants_wqe_o;
    verdict_o = verdict;
  end

endmodule : wqe_verdict
