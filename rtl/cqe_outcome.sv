// SPDX-License-Identifier: Apache-2.0
// What a packet of cqe_generator becomes behind its completion: its CQ had no room (R3), its QP fails (R6, R7, R17). No
// state in here.
module cqe_outcome (
  input  rxnic_link_pkg::completion_request_t p_i,
  input  logic                                take_i,
  input  logic                                overruns_i,
  input  logic                                discards_i,
  input  logic                                flush_requested_i,      // of its QP, before
  input  logic                                last_wqe_event_sent_i,
  output rxnic_link_pkg::completion_request_t q_o,
  output logic                                refuses_by_overrun_o,
  output logic                                of_answer_o,            // ... with a request of our own
  output rxnic_link_pkg::refusal_t            refusal_o,
  // Its QP
  output logic                                flushes_o,
  output logic                                notifies_o,
  output logic                                last_wqe_o,
  output logic                                raises_error_o,
  output rxnic_link_pkg::event_type_e         error_type_o
);

  localparam logic [7:0] NakRemoteOperation = 8'h63;
  localparam logic [7:0] NakRemoteAccess = 8'h62;

  logic fails_by_overrun, reliable, has_line, asked_for, by_requester;

  assign has_line = p_i.line != '1;
  always_comb begin : overrun_packet
    q_o = p_i;
    reliable = rxnic_pkg::on_reliable(p_i.transport) && !rxnic_pkg::is_response(p_i.opcode);
    refuses_by_overrun_o = overruns_i && has_line && !p_i.fails_qp && !flush_requested_i;
    fails_by_overrun = refuses_by_overrun_o && p_i.role == rxnic_link_pkg::PacketRoleReceived;
    of_answer_o = fails_by_overrun && rxnic_pkg::is_response(p_i.opcode);
    if (fails_by_overrun) begin
      q_o.drop_reason = rxnic_link_pkg::DropReasonCqOverrun;
      q_o.outcome = reliable ? rxnic_link_pkg::OutcomeNak : rxnic_link_pkg::OutcomeDrop;
      q_o.syndrome = NakRemoteOperation;
      q_o.status = rxnic_link_pkg::WcStatusGeneral;
      q_o.acknowledge = reliable && rxnic_pkg::is_request(p_i.opcode);
      q_o.answer_msn = p_i.msn_before;
      q_o.answer_psn = p_i.psn;
      q_o.fails_qp = 1'b1;
    end else if (refuses_by_overrun_o) begin
      q_o.drop_reason = rxnic_link_pkg::DropReasonCqOverrun;
    end
    if (overruns_i || discards_i) q_o.completes = 1'b0;
    if (q_o.releases_wqe) q_o.wqe_slot = '1;
    refusal_o = {of_answer_o ? rxnic_link_pkg::RefusalKindRequestError : rxnic_link_pkg::RefusalKindError, p_i.line,
                 of_answer_o ? p_i.message_sequence : 32'd0, 32'hffff_ffff};
  end

  always_comb begin : qp_error
    asked_for = q_o.role == rxnic_link_pkg::PacketRoleFailure;
    by_requester = q_o.role == rxnic_link_pkg::PacketRoleSendCompletion && rxnic_pkg::on_reliable(q_o.transport) &&
                   q_o.status != rxnic_link_pkg::WcStatusSuccess && q_o.status != rxnic_link_pkg::WcStatusFlushed;
    last_wqe_o = take_i && has_line && q_o.role == rxnic_link_pkg::PacketRoleLastWqe && !last_wqe_event_sent_i;
    flushes_o = take_i && has_line && q_o.role != rxnic_link_pkg::PacketRoleLastWqe && !flush_requested_i &&
                (asked_for || q_o.fails_qp || q_o.drop_reason == rxnic_link_pkg::DropReasonCqOverrun || by_requester);
    notifies_o = flushes_o && !asked_for && !by_requester;
    raises_error_o = last_wqe_o || (flushes_o && !asked_for && !q_o.completes);
    error_type_o = last_wqe_o ? rxnic_link_pkg::EventTypeQpLastWqeReached :
                   q_o.fails_qp && q_o.syndrome == rxnic_pkg::NakInvalidRequest
                       ? rxnic_link_pkg::EventTypeQpRequestError :
                   q_o.fails_qp && q_o.syndrome == NakRemoteAccess ? rxnic_link_pkg::EventTypeQpAccessError
                                                                    : rxnic_link_pkg::EventTypeQpFatal;
  end

endmodule : cqe_outcome
