// SPDX-License-Identifier: Apache-2.0
// The message of the packet at hand, `p`: the WQE that it has in use (R6, R7, R11, R20), and matched tags (R10, R19).
// Also what is refused (core/responder/refusal.h).

logic [1:0] refused_w;  // by a request, by a packet
logic [2*QpLineBits-1:0] refused_at;
logic [2*RefusedBits-1:0] refused_as;
logic [ContextLines-1:0] refused_valid_q;
// The scatter list that is written
logic [31:0] list_slot;
logic [5:0] list_count;
logic [SegmentsHeld-1:0] list_keeps;
logic [MaxSge*SegmentBits-1:0] list;

task automatic get_refused(input logic [QpLineBits-1:0] line, input logic [31:0] residence);
  refused = refused_q[line];
  if (!refused_valid_q[line]) refused = '0;
  if (refused_w[0] && refused_at[QpLineBits-1:0] == line) refused = refused_as[RefusedBits-1:0];
  if (refused.residence != residence) refused = '0;
  refused.residence = residence;
endtask
task automatic put_refused(input int unsigned k, input logic [QpLineBits-1:0] line);
  for (int unsigned n = 0; n < 2; n++) begin
    if (n == k) begin
      refused_w[n] = 1'b1;
      refused_at[n*QpLineBits+:QpLineBits] = line;
      refused_as[n*RefusedBits+:RefusedBits] = refused;
    end
  end
endtask
task automatic refuse_requests(input logic [QpLineBits-1:0] line, input logic [31:0] residence);
  get_refused(line, residence);
  refused.requests = 1'b1;
  put_refused(0, line);
endtask

task automatic fail(input rxnic_link_pkg::drop_reason_e reason, input rxnic_link_pkg::outcome_e outcome,
                    input logic [7:0] syndrome, input rxnic_link_pkg::wc_status_e status);
  p.drop_reason = reason;
  p.outcome = outcome;
  p.syndrome = syndrome;
  p.status = status;
endtask

task automatic squash();
  squashes = 1'b1;
  fail(rxnic_link_pkg::DropReasonSquashed, rxnic_link_pkg::OutcomeDrop, 8'd0, rxnic_link_pkg::WcStatusFlushed);
  p.acknowledge = 1'b0;
  p.completes = 1'b0;
  p.fails_qp = 1'b0;
endtask

task automatic fail_qp(input rxnic_link_pkg::drop_reason_e reason, input logic [7:0] syndrome,
                       input rxnic_link_pkg::wc_status_e status);
  logic answer, reliable;
  answer = rxnic_pkg::is_response(p.opcode);
  reliable = rxnic_pkg::on_reliable(p.transport) && !answer;
  fail(reason, reliable ? rxnic_link_pkg::OutcomeNak : rxnic_link_pkg::OutcomeDrop, syndrome, status);
  p.acknowledge = reliable;
  p.answer_msn = p.msn_before;
  p.answer_psn = p.psn;
  p.completes = answer || p.wqe_slot != NoSlot;
  p.fails_qp = 1'b1;
  get_refused(p.line[QpLineBits-1:0], p.residence);
  refused.requests = 1'b1;
  put_refused(1, p.line[QpLineBits-1:0]);
  refusals_valid_o = 1'b1;
  refusals_o = {answer ? rxnic_link_pkg::RefusalKindRequestError : rxnic_link_pkg::RefusalKindError, p.line,
                answer ? p.message_sequence : 32'd0, 32'hffff_ffff};
endtask

task automatic fail_message(input rxnic_link_pkg::drop_reason_e reason);
  fail(reason, rxnic_link_pkg::OutcomeDrop, 8'd0, rxnic_link_pkg::WcStatusSuccess);
  p.acknowledge = 1'b0;
  p.completes = 1'b0;
  get_refused(p.line[QpLineBits-1:0], p.residence);
  refused.message = p.message_sequence;
  put_refused(1, p.line[QpLineBits-1:0]);
endtask

// (R4)
task automatic refuse(input rxnic_link_pkg::drop_reason_e reason);
  give_back();
  if (packet_leaves) begin
    refuses = 1'b1;
    if (!rxnic_pkg::on_reliable(p.transport)) begin
      fail_message(reason);
    end else begin
      fail(reason, rxnic_link_pkg::OutcomeNak, {3'b001, p.min_rnr_timer}, rxnic_link_pkg::WcStatusSuccess);
      p.acknowledge = 1'b1;
      p.completes = 1'b0;
      p.answer_psn = p.psn;
      p.answer_msn = p.msn_before;
      get_refused(p.line[QpLineBits-1:0], p.residence);
      refused.epoch = p.epoch;
      refused.has_epoch = 1'b1;
      put_refused(1, p.line[QpLineBits-1:0]);
      refusals_valid_o = 1'b1;
      refusals_o = {rxnic_link_pkg::RefusalKindNotReady, p.line, 32'd0, p.buffer};
    end
  end
endtask

// (R10)
task automatic give_back();
  logic match;
  match = p.tag_verdict == rxnic_link_pkg::TagVerdictMatched;
  if (match || p.tag_verdict == rxnic_link_pkg::TagVerdictUnexpected) begin
    blocked = !returned_ready_i;
    packet_leaves = returned_ready_i;
    returned_valid_o = returned_ready_i;
    returned_o = {p.queue_, match ? p.wqe_index : 32'hffff_ffff};
  end
endtask

// (R13)
task automatic lack_slot();
  if (in_shares_d + in_pool_d > open_d) begin
    lacks_slot = 1'b1;
    packet_leaves = 1'b0;
  end else begin
    store_full = 1'b1;
    refuse(rxnic_link_pkg::DropReasonWqeStoreFull);
  end
endtask

// The buffer of the matched tag becomes the WQE.
task automatic take_match();
  look_for_slot(p.queue_);
  if (!slot_free) begin
    lack_slot();
  end else if (p.rendezvous && places_d == '0) begin  // (R19)
    no_place = 1'b1;
    refuse(rxnic_link_pkg::DropReasonRendezvousFull);
  end else begin
    if (p.rendezvous) places_d = places_d - 32'd1;
    allocate_slot(p.queue_, p.wqe_index, p.tag_buffer.length);
    write_list('0, p.tag_buffer.length == '0 ? 6'd0 : 6'd1);
    p.wqe_slot = slot_at;
    p.takes_wqe = 1'b1;
    takes_match = 1'b1;
  end
endtask

// `keeps`: the segments of the WQE at hand that are its list; none for the buffer of a matched tag.
task automatic write_list(input logic [SegmentsHeld-1:0] keeps, input logic [5:0] count);
  lists_valid_o = 1'b1;
  list_slot = slot_at;
  list_count = count;
  list_keeps = keeps;
endtask

// The list closes up. Apart from the steps, which read nothing of it.
always_comb begin : write_scatter_list
  list = list_count != '0 && takes_match ? (MaxSge * SegmentBits)'(p.tag_buffer) : '0;
  for (int unsigned n = SegmentsHeld; n > 0; n--) begin
    if (list_keeps[n-1]) begin
      list = {list[(MaxSge-1)*SegmentBits-1:0], entry.segments[(n-1)*SegmentBits+:SegmentBits]};
    end
  end
  lists_o = {list_slot, list_count, list};
end

// The packet has a WQE: remembers it for the message's later packets and checks the message against it.
task automatic hold();
  attach();
  if (rxnic_pkg::is_send(p.opcode) && look_here) p.pd = q.pd;
  taken_wqe = {p.wqe_slot, p.queue_, p.cq,
               p.takes_wqe ? p.tag_verdict == rxnic_link_pkg::TagVerdictMatched : open_wqe.wqe_matched};
  open_wqe = taken_wqe;
  if (p.ends_message || p.bad_length) close();
  if (p.bad_length && p.transport == rxnic_link_pkg::TransportUc) begin
    fail_message(rxnic_link_pkg::DropReasonInvalidRequest);
    p.completes = 1'b1;
    p.status = rxnic_link_pkg::WcStatusRemoteInvalidRequest;
  end else if (p.bad_length) begin
    fail_qp(rxnic_link_pkg::DropReasonInvalidRequest, rxnic_pkg::NakInvalidRequest,
            rxnic_link_pkg::WcStatusRemoteInvalidRequest);
  end else if (p.transport == rxnic_link_pkg::TransportUc && rxnic_pkg::is_send(p.opcode) &&
               p.message_bytes > 64'(slot.bytes)) begin  // (R7)
    too_long = 1'b1;
    fail_message(rxnic_link_pkg::DropReasonMessageTooLong);
    if (p.uses_srq) begin
      p.completes = 1'b1;
      p.status = rxnic_link_pkg::WcStatusLocalLength;
      close();
    end else begin
      p.wqe_slot = NoSlot;
      p.releases_wqe = 1'b0;
      open_wqe = taken_wqe;
      keeps_wqe = 1'b1;
    end
  end
endtask

// Its completion reports the WQE.
task automatic attach();
  get_slot(p.wqe_slot);
  p.wqe_index = slot.wqe_index;
endtask

// Marks the packet as the last that uses its WQE. (R11)
task automatic close();
  p.releases_wqe = 1'b1;
  open_wqe = {NoSlot, NoWq, 24'd0, 1'b0};
endtask

task automatic use_open_wqe();
  p.completes = open_wqe.wqe_slot != NoSlot;
  if (p.completes) begin
    end_open_wqe();
    if (p.fails_qp && p.status == rxnic_link_pkg::WcStatusSuccess) p.status = rxnic_link_pkg::WcStatusFlushed;
  end
endtask

// The packet, of whichever operation, completes the WQE that its QP's message has in use.
task automatic end_open_wqe();
  completes_open = 1'b1;
  p.wqe_slot = open_wqe.wqe_slot;
  attach();
  p.queue_ = open_wqe.wqe_queue;
  p.cq = open_wqe.wqe_cq;
  if (open_wqe.wqe_matched) begin
    p.cqe_opcode = rxnic_link_pkg::CqeOpcodeTagReceive;
    p.cqe_flags = p.cqe_flags | CqeTagDataValid;
  end
  close();
endtask
