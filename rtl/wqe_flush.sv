// SPDX-License-Identifier: Apache-2.0
// A flushed WQE leaves, or a flush ends (R9). First goes the WQE that a message of the QP has in use, then go those of
// its RQ. Behind the last one the QP's pin is given back; a QP of an SRQ tells so with a packet. A late flush has no
// request: its WQEs name what the RQ's context does. No state in here: `_i` is what the steps before have left.
module wqe_flush (
  input  logic                           runs_i,
  // What is to be flushed: at hand, or the next one; and what is left of it
  input  logic                           asked_i,
  input  rxnic_link_pkg::flush_request_t request_i,
  input  logic [31:0]                    queue_i,
  input  logic                           next_valid_i,
  input  rxnic_link_pkg::flush_request_t next_i,
  input  logic                           late_valid_i,
  input  logic [31:0]                    late_i,
  output logic                           takes_next_o,
  output logic                           takes_late_o,
  output logic                           asked_o,
  output rxnic_link_pkg::flush_request_t request_o,
  output logic [31:0]                    queue_o,
  // The WQE of the QP's message, and the RQ
  output logic [23:0]                    line_o,
  input  rxnic_link_pkg::open_wqe_t      open_i,
  input  logic [31:0]                    index_i,         // of that WQE
  input  logic [31:0]                    bytes_i,
  output logic                           closes_o,
  output logic [31:0]                    id_o,
  output logic                           asks_o,
  input  logic                           here_i,
  input  logic                           waits_i,
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::stored_queue_t  record_i,        // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  output logic                           keeps_o,
  output rxnic_link_pkg::stored_queue_t  record_o,
  // What is done
  output logic                           moves_o,
  output logic                           leaves_o,        // packet_o
  output logic                           of_wqe_o,        // a WQE is flushed
  output rxnic_link_pkg::wqe_request_t   packet_o,
  output logic                           pins_o,          // the QP's context: once more with each WQE ...
  output rxnic_link_pkg::context_pin_t   pin_o            // ... that is flushed for a request
);

  logic begins, asked, has_open, of_rq, ends, last;
  logic [31:0] queue;
  rxnic_link_pkg::flush_request_t request;

  assign begins = runs_i && queue_i == wqe_pkg::NoWq && !asked_i;
  assign takes_next_o = begins && next_valid_i;
  assign takes_late_o = begins && !next_valid_i && late_valid_i;
  assign asked = asked_i || takes_next_o;
  assign request = takes_next_o ? next_i : request_i;
  assign queue = takes_next_o ? next_i.receive_queue : takes_late_o ? late_i : queue_i;

  assign line_o = request.line;
  assign has_open = asked && open_i.wqe_slot != wqe_pkg::NoSlot;
  assign id_o = queue;
  assign asks_o = runs_i && queue != wqe_pkg::NoWq;
  assign of_rq = here_i && record_i.failed && record_i.producer != record_i.taken;
  assign moves_o = runs_i && (queue != wqe_pkg::NoWq || asked) && !waits_i;
  assign of_wqe_o = moves_o && (has_open || of_rq);
  assign ends = moves_o && !has_open && !of_rq;
  assign last = ends && asked && request.uses_srq;
  assign leaves_o = of_wqe_o || last;
  assign closes_o = of_wqe_o && has_open;
  assign keeps_o = of_wqe_o && !has_open;
  assign pins_o = (of_wqe_o && asked) || (ends && asked && !request.uses_srq);
  assign pin_o = {request.line, of_wqe_o};
  assign asked_o = asked && !ends;
  assign request_o = request;
  assign queue_o = ends ? wqe_pkg::NoWq : queue;
  always_comb begin : take_wqe
    record_o = record_i;
    record_o.taken = record_i.taken + 32'd1;
  end

  always_comb begin : describe
    packet_o = '0;
    packet_o.buffer = '1;
    packet_o.role = last ? rxnic_link_pkg::PacketRoleLastWqe : rxnic_link_pkg::PacketRoleFlush;
    packet_o.outcome = rxnic_link_pkg::OutcomeDrop;
    packet_o.status = last ? rxnic_link_pkg::WcStatusSuccess : rxnic_link_pkg::WcStatusFlushed;
    packet_o.transport = rxnic_link_pkg::TransportNone;
    packet_o.line = wqe_pkg::NoLine;
    packet_o.wqe_slot = wqe_pkg::NoSlot;
    packet_o.cqe_opcode = rxnic_link_pkg::CqeOpcodeReceive;
    packet_o.completes = !last;
    packet_o.ends_message = !last;
    packet_o.queue_ = last ? wqe_pkg::NoWq : queue;
    packet_o.receive_queue = wqe_pkg::NoWq;
    packet_o.cq = record_i.flush_cq;
    packet_o.qpn = record_i.number[23:0];
    if (asked) begin
      packet_o.line = request.line;
      packet_o.residence = request.residence;
      packet_o.transport = request.transport;
      packet_o.uses_srq = request.uses_srq;
      packet_o.receive_queue = request.receive_queue;
      packet_o.cq = request.receive_cq;
      packet_o.qpn = request.qpn;
    end
    if (has_open) begin
      packet_o.wqe_slot = open_i.wqe_slot;
      packet_o.wqe_index = index_i;
      packet_o.wqe_bytes = bytes_i;
      packet_o.queue_ = open_i.wqe_queue;
      packet_o.cq = open_i.wqe_cq;
      if (open_i.wqe_matched) begin
        packet_o.cqe_opcode = rxnic_link_pkg::CqeOpcodeTagReceive;
        packet_o.cqe_flags = wqe_pkg::CqeTagDataValid;
      end
      packet_o.releases_wqe = 1'b1;
    end else if (!last) begin
      packet_o.wqe_index = record_i.taken & (record_i.slots - 32'd1);
    end
  end

endmodule : wqe_flush
