// SPDX-License-Identifier: Apache-2.0
// Messages of tag_match_cam: what a match, or that there is none, makes of the packet at hand, `packet`, and of the
// counts of its list, `l`; what the completion of an operation says. It knows nothing of where tags are kept.

task automatic set_counts(input logic [15:0] unexpected, input logic [15:0] acknowledged);  // (L R3)
  if (l.unexpected == l.acknowledged && unexpected != acknowledged) l.phase_began = l.appended;
  l.unexpected = unexpected;
  l.acknowledged = acknowledged;
endtask

// Entries of this number and younger ones are held.
task automatic get_held_from();
  held_from = l.unexpected == l.acknowledged ? '1 : l.phase_began;
endtask

task automatic forget_rvh();
  packet.rendezvous = 1'b0;
  packet.local_va = '0;
  packet.local_key = '0;
  packet.local_bytes = '0;
endtask

// The tag fields of a completion of a message, of which `message` was kept.
task automatic label_end();
  packet.cq = l.cq;
  packet.tag = message.tag;
  packet.tag_context = message.tag_context;
  case (message.tag_verdict)
    rxnic_link_pkg::TagVerdictMatched: begin
      packet.cqe_opcode = rxnic_link_pkg::CqeOpcodeTagReceive;
      packet.cqe_flags = packet.cqe_flags | tag_match_pkg::CqeTagDataValid;
    end
    rxnic_link_pkg::TagVerdictUnexpected: begin
      packet.cqe_opcode = UnexpectedStatus == rxnic_params_pkg::UnexpectedStatusTmRecv ?
                          rxnic_link_pkg::CqeOpcodeTagReceive : rxnic_link_pkg::CqeOpcodeReceive;
      unacknowledged = l.unexpected - l.acknowledged;
      if (unacknowledged > tag_match_pkg::MostUnacknowledged) begin  // (R12)
        packet.cqe_flags = packet.cqe_flags | tag_match_pkg::CqeTagSyncRequest;
      end
    end
    rxnic_link_pkg::TagVerdictNoTag: packet.cqe_opcode = rxnic_link_pkg::CqeOpcodeTagNoTag;
    default: ;
  endcase
endtask

// What the device sends of itself for a rendezvous (R17).
task automatic label_own();
  packet.pd = l.pd;
  packet.cq = l.cq;
  packet.queue_ = packet.receive_queue;
  if (packet.cqe_opcode == rxnic_link_pkg::CqeOpcodeRdmaRead) begin
    packet.cqe_opcode = rxnic_link_pkg::CqeOpcodeTagReceive;
    packet.cqe_flags = packet.cqe_flags | tag_match_pkg::CqeTagDataValid;
  end else begin
    packet.completes = 1'b0;
  end
endtask

// (R10, R16)
task automatic match(input logic [31:0] handle, input logic [127:0] buffer);
  packet.wqe_index = handle;
  packet.takes_wqe = 1'b0;
  packet.strip_bytes = 13'(tag_match_pkg::TmhBytes);
  packet.pd = l.pd;
  packet.tag_buffer = buffer;
  packet.cqe_opcode = rxnic_link_pkg::CqeOpcodeTagReceive;
  packet.cqe_flags = packet.cqe_flags | tag_match_pkg::CqeTagMatch;
  if (packet.ends_message) packet.cqe_flags = packet.cqe_flags | tag_match_pkg::CqeTagDataValid;
  packet.completes = 1'b1;
  packet.tag_verdict = rxnic_link_pkg::TagVerdictMatched;
  if (packet.rendezvous && packet.local_bytes <= buffer[127:96]) begin
    packet.strip_bytes = packet.payload_bytes;
    packet.cqe_flags = packet.cqe_flags & ~tag_match_pkg::CqeTagDataValid;
  end else if (packet.rendezvous) begin
    forget_rvh();
    packet.strip_bytes = '0;
    packet.status = rxnic_link_pkg::WcStatusRendezvousIncomplete;
  end
endtask

// (R11)
task automatic miss(input logic [7:0] opcode);
  forget_rvh();
  if (opcode == tag_match_pkg::TmhEager || opcode == tag_match_pkg::TmhRendezvous) begin
    set_counts(l.unexpected + 16'd1, l.acknowledged);
    packet.tag_verdict = rxnic_link_pkg::TagVerdictUnexpected;
  end else begin
    packet.tag_verdict = opcode == tag_match_pkg::TmhFinish ? rxnic_link_pkg::TagVerdictOrdinary :
                                                              rxnic_link_pkg::TagVerdictNoTag;
  end
  message = {packet.tag_verdict, packet.tag_context, packet.tag};
  label_end();
endtask

// The completion of an operation: a packet without anything of a packet.
task automatic complete_operation(input logic ok);
  result = '0;
  result.buffer = '1;
  result.transport = rxnic_link_pkg::TransportNone;
  result.line = '1;
  result.wqe_slot = '1;
  result.receive_queue = '1;
  result.role = rxnic_link_pkg::PacketRoleTagOperation;
  result.outcome = rxnic_link_pkg::OutcomeExecute;
  result.completes = 1'b1;
  result.ends_message = 1'b1;
  result.status = ok ? rxnic_link_pkg::WcStatusSuccess : rxnic_link_pkg::WcStatusTagMatch;
  result.cq = l.cq;
  result.queue_ = operation.srq;
  result.wqe_index = operation.wqe_index;
  result.cqe_opcode = operation.opcode == rxnic_link_pkg::TagOpcodeAdd    ? rxnic_link_pkg::CqeOpcodeTagAdd :
                      operation.opcode == rxnic_link_pkg::TagOpcodeDelete ? rxnic_link_pkg::CqeOpcodeTagDelete :
                                                                            rxnic_link_pkg::CqeOpcodeTagSync;
  result.cqe_flags = tag_match_pkg::CqeSrq;
  if (l.unexpected != l.acknowledged) result.cqe_flags = result.cqe_flags | tag_match_pkg::CqeTagSyncRequest;  // (R12)
endtask
