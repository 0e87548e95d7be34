// SPDX-License-Identifier: Apache-2.0
// The oldest packet as it leaves, by what becomes of it (wqe_verdict): its WQE, its response and its completion. Also
// what its QP has in use then (R6, R7, R11, R20), and what is refused of its QP from now on (core/responder/refusal.h).
// No state in here.
module wqe_message #(
  parameter int unsigned WqeError = rxnic_params_pkg::TransportCheckerWqeErrorStatus
) (
  input  wqe_pkg::verdict_e            verdict_i,
  input  rxnic_link_pkg::wqe_request_t p_i,
  input  logic [31:0]                  slot_i,         // of the WQE that it uses ...
  input  logic [31:0]                  index_i,        // ... which has this index ...
  input  logic [31:0]                  bytes_i,        // ... and so many bytes
  input  logic                         has_queue_i,    // the context of its queue is here, with this protection domain
  input  logic [31:0]                  pd_i,
  input  logic [31:0]                  credits_i,      // WQEs posted to its RQ, when its response counts them
  input  logic                         counts_i,
  input  rxnic_link_pkg::open_wqe_t    open_i,         // what its QP has in use
  output rxnic_link_pkg::open_wqe_t    open_o,
  input  wqe_pkg::refused_t            refused_i,
  output wqe_pkg::refused_t            refused_o,
  output logic                         refuses_o,      // refused_o is new
  output logic                         tells_o,        // the checker, with refusal_o
  output rxnic_link_pkg::refusal_t     refusal_o,
  output rxnic_link_pkg::wqe_request_t p_o,
  // What the checker of the rules counts
  output logic                         too_long_o,
  output logic                         keeps_wqe_o
);

  localparam logic [7:0] NakRemoteOperation = 8'h63;

  rxnic_link_pkg::open_wqe_t open, held;
  wqe_pkg::refused_t refused;
  logic answer, reliable, has_open, holds;

  assign answer = rxnic_pkg::is_response(p_i.opcode);
  assign reliable = rxnic_pkg::on_reliable(p_i.transport);
  assign has_open = open_i.wqe_slot != wqe_pkg::NoSlot;
  assign holds = verdict_i == wqe_pkg::VerdictMatched || verdict_i == wqe_pkg::VerdictTakes ||
                 verdict_i == wqe_pkg::VerdictBeginsAnew || verdict_i == wqe_pkg::VerdictGoesOn;

  task automatic fail(input rxnic_link_pkg::drop_reason_e reason, input rxnic_link_pkg::outcome_e outcome,
                      input logic [7:0] syndrome, input rxnic_link_pkg::wc_status_e status);
    p_o.drop_reason = reason;
    p_o.outcome = outcome;
    p_o.syndrome = syndrome;
    p_o.status = status;
  endtask

  task automatic fail_qp(input rxnic_link_pkg::drop_reason_e reason, input logic [7:0] syndrome,
                         input rxnic_link_pkg::wc_status_e status);
    fail(reason, reliable && !answer ? rxnic_link_pkg::OutcomeNak : rxnic_link_pkg::OutcomeDrop, syndrome, status);
    p_o.acknowledge = reliable && !answer;
    p_o.answer_msn = p_i.msn_before;
    p_o.answer_psn = p_i.psn;
    p_o.completes = answer || p_o.wqe_slot != wqe_pkg::NoSlot;
    p_o.fails_qp = 1'b1;
    refuses_o = 1'b1;
    refused.requests = 1'b1;
    tells_o = 1'b1;
    refusal_o = {answer ? rxnic_link_pkg::RefusalKindRequestError : rxnic_link_pkg::RefusalKindError, p_i.line,
                 answer ? p_i.message_sequence : 32'd0, 32'hffff_ffff};
  endtask

  task automatic fail_message(input rxnic_link_pkg::drop_reason_e reason);
    fail(reason, rxnic_link_pkg::OutcomeDrop, 8'd0, rxnic_link_pkg::WcStatusSuccess);
    p_o.acknowledge = 1'b0;
    p_o.completes = 1'b0;
    refuses_o = 1'b1;
    refused.message = p_i.message_sequence;
  endtask

  // (R4)
  task automatic refuse(input rxnic_link_pkg::drop_reason_e reason);
    if (!reliable) begin
      fail_message(reason);
    end else begin
      fail(reason, rxnic_link_pkg::OutcomeNak, {3'b001, p_i.min_rnr_timer}, rxnic_link_pkg::WcStatusSuccess);
      p_o.acknowledge = 1'b1;
      p_o.completes = 1'b0;
      p_o.answer_psn = p_i.psn;
      p_o.answer_msn = p_i.msn_before;
      refuses_o = 1'b1;
      refused.epoch = p_i.epoch;
      refused.has_epoch = 1'b1;
      tells_o = 1'b1;
      refusal_o = {rxnic_link_pkg::RefusalKindNotReady, p_i.line, 32'd0, p_i.buffer};
    end
  endtask

  // Marks the packet as the last that uses its WQE. (R11)
  task automatic close_wqe();
    p_o.releases_wqe = 1'b1;
    open = wqe_pkg::NoOpenWqe;
  endtask

  // It completes the WQE that its QP's message has in use, whatever its operation is. (R6)
  task automatic complete_open();
    p_o.completes = has_open;
    if (has_open) begin
      p_o.wqe_slot = slot_i;
      p_o.wqe_index = index_i;
      p_o.queue_ = open_i.wqe_queue;
      p_o.cq = open_i.wqe_cq;
      if (open_i.wqe_matched) begin
        p_o.cqe_opcode = rxnic_link_pkg::CqeOpcodeTagReceive;
        p_o.cqe_flags = p_i.cqe_flags | wqe_pkg::CqeTagDataValid;
      end
      close_wqe();
      if (p_i.fails_qp && p_i.status == rxnic_link_pkg::WcStatusSuccess) p_o.status = rxnic_link_pkg::WcStatusFlushed;
    end
  endtask

  // It has a WQE: the QP remembers it for the message's later packets, and the message is checked against it.
  task automatic hold_wqe();
    p_o.wqe_slot = slot_i;
    p_o.wqe_index = index_i;
    if (verdict_i == wqe_pkg::VerdictMatched) p_o.takes_wqe = 1'b1;
    if (rxnic_pkg::is_send(p_i.opcode) && has_queue_i) p_o.pd = pd_i;
    held = {slot_i, p_i.queue_, p_i.cq,
            p_o.takes_wqe ? p_i.tag_verdict == rxnic_link_pkg::TagVerdictMatched : open_i.wqe_matched};
    open = held;
    if (p_i.ends_message || p_i.bad_length) close_wqe();
    if (p_i.bad_length && p_i.transport == rxnic_link_pkg::TransportUc) begin
      fail_message(rxnic_link_pkg::DropReasonInvalidRequest);
      p_o.completes = 1'b1;
      p_o.status = rxnic_link_pkg::WcStatusRemoteInvalidRequest;
    end else if (p_i.bad_length) begin
      fail_qp(rxnic_link_pkg::DropReasonInvalidRequest, rxnic_pkg::NakInvalidRequest,
              rxnic_link_pkg::WcStatusRemoteInvalidRequest);
    end else if (p_i.transport == rxnic_link_pkg::TransportUc && rxnic_pkg::is_send(p_i.opcode) &&
                 p_i.message_bytes > 64'(bytes_i)) begin  // (R7)
      too_long_o = 1'b1;
      fail_message(rxnic_link_pkg::DropReasonMessageTooLong);
      if (p_i.uses_srq) begin
        p_o.completes = 1'b1;
        p_o.status = rxnic_link_pkg::WcStatusLocalLength;
        close_wqe();
      end else begin
        p_o.wqe_slot = wqe_pkg::NoSlot;
        p_o.releases_wqe = 1'b0;
        open = held;
        keeps_wqe_o = 1'b1;
      end
    end
  endtask

  always_comb begin : leave
    p_o = p_i;
    open = open_i;
    held = open_i;
    refused = refused_i;
    {refuses_o, tells_o, too_long_o, keeps_wqe_o} = '0;
    refusal_o = '0;
    case (verdict_i)
      wqe_pkg::VerdictSquashed: begin
        fail(rxnic_link_pkg::DropReasonSquashed, rxnic_link_pkg::OutcomeDrop, 8'd0, rxnic_link_pkg::WcStatusFlushed);
        p_o.acknowledge = 1'b0;
        p_o.completes = 1'b0;
        p_o.fails_qp = 1'b0;
      end
      wqe_pkg::VerdictCompletesOpen: complete_open();
      wqe_pkg::VerdictTagFailed: begin
        fail_qp(rxnic_link_pkg::DropReasonHostMemory, NakRemoteOperation, rxnic_link_pkg::WcStatusLocalQpOperation);
      end
      wqe_pkg::VerdictLacksOpen: begin
        p_o.wqe_slot = wqe_pkg::NoSlot;
        fail_qp(rxnic_link_pkg::DropReasonLocalOperation, NakRemoteOperation, rxnic_link_pkg::WcStatusLocalQpOperation);
      end
      wqe_pkg::VerdictNoWqe: refuse(rxnic_link_pkg::DropReasonNoReceiveWqe);
      wqe_pkg::VerdictStoreFull: refuse(rxnic_link_pkg::DropReasonWqeStoreFull);
      wqe_pkg::VerdictNoPlace: refuse(rxnic_link_pkg::DropReasonRendezvousFull);
      wqe_pkg::VerdictTooLong: begin
        too_long_o = 1'b1;  // (R7)
        fail(rxnic_link_pkg::DropReasonMessageTooLong, rxnic_link_pkg::OutcomeDrop, 8'd0,
             rxnic_link_pkg::WcStatusSuccess);
        p_o.acknowledge = 1'b0;
        p_o.completes = 1'b0;
      end
      wqe_pkg::VerdictBadWqe: begin  // (R5)
        p_o.wqe_slot = slot_i;
        p_o.wqe_index = index_i;
        p_o.releases_wqe = 1'b1;
        fail_qp(rxnic_link_pkg::DropReasonLocalOperation, NakRemoteOperation,
                WqeError == rxnic_params_pkg::WqeErrorStatusLocProt ? rxnic_link_pkg::WcStatusLocalProtection
                                                                    : rxnic_link_pkg::WcStatusLocalQpOperation);
      end
      default: if (holds) hold_wqe();
    endcase
    // (R12)
    if (p_o.acknowledge && !p_i.uses_srq && counts_i) p_o.posted_wqes = credits_i;
    if (p_o.wqe_slot != wqe_pkg::NoSlot) p_o.wqe_bytes = bytes_i;
    open_o = open;
    refused_o = refused;
  end

endmodule : wqe_message
