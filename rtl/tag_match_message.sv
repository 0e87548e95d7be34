// SPDX-License-Identifier: Apache-2.0
// What a match, or that there is none, makes of a packet of tag_match_cam (R9 to R12, R16, R17). It knows nothing of
// where tags are kept. No state in here.
module tag_match_message #(
  parameter int unsigned UnexpectedStatus = rxnic_params_pkg::TagMatchCamUnexpectedStatus
) (
  input  rxnic_link_pkg::wqe_request_t packet_i,
  input  logic [2:0]                   kind_i,            // tag_match_pkg::message_kind_e
  input  rxnic_link_pkg::tag_context_t message_i,         // what was kept of the message, of its last packet
  // Its list, with this message
  input  logic [31:0]                  pd_i,
  input  logic [23:0]                  cq_i,
  input  logic [15:0]                  unacknowledged_i,  // unexpected messages
  // What was found
  input  logic [31:0]                  handle_i,
  input  logic [127:0]                 buffer_i,
  input  logic [7:0]                   opcode_i,          // nothing: of its header
  output rxnic_link_pkg::wqe_request_t packet_o
);

  rxnic_link_pkg::wqe_request_t packet;
  rxnic_link_pkg::tag_context_t message;

  task automatic forget_rvh();
    packet.rendezvous = 1'b0;
    packet.local_va = '0;
    packet.local_key = '0;
    packet.local_bytes = '0;
  endtask

  // The tag fields of a completion of a message, of which `message` was kept.
  task automatic label_end();
    packet.cq = cq_i;
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
        if (unacknowledged_i > tag_match_pkg::MostUnacknowledged) begin  // (R12)
          packet.cqe_flags = packet.cqe_flags | tag_match_pkg::CqeTagSyncRequest;
        end
      end
      rxnic_link_pkg::TagVerdictNoTag: packet.cqe_opcode = rxnic_link_pkg::CqeOpcodeTagNoTag;
      default: ;
    endcase
  endtask

  // What the device sends of itself for a rendezvous (R17).
  task automatic label_own();
    packet.pd = pd_i;
    packet.cq = cq_i;
    packet.queue_ = packet.receive_queue;
    if (packet.cqe_opcode == rxnic_link_pkg::CqeOpcodeRdmaRead) begin
      packet.cqe_opcode = rxnic_link_pkg::CqeOpcodeTagReceive;
      packet.cqe_flags = packet.cqe_flags | tag_match_pkg::CqeTagDataValid;
    end else begin
      packet.completes = 1'b0;
    end
  endtask

  // (R10, R16)
  task automatic match();
    packet.wqe_index = handle_i;
    packet.takes_wqe = 1'b0;
    packet.strip_bytes = 13'(tag_match_pkg::TmhBytes);
    packet.pd = pd_i;
    packet.tag_buffer = buffer_i;
    packet.cqe_opcode = rxnic_link_pkg::CqeOpcodeTagReceive;
    packet.cqe_flags = packet.cqe_flags | tag_match_pkg::CqeTagMatch;
    if (packet.ends_message) packet.cqe_flags = packet.cqe_flags | tag_match_pkg::CqeTagDataValid;
    packet.completes = 1'b1;
    packet.tag_verdict = rxnic_link_pkg::TagVerdictMatched;
    if (packet.rendezvous && packet.local_bytes <= buffer_i[127:96]) begin
      packet.strip_bytes = packet.payload_bytes;
      packet.cqe_flags = packet.cqe_flags & ~tag_match_pkg::CqeTagDataValid;
    end else if (packet.rendezvous) begin
      forget_rvh();
      packet.strip_bytes = '0;
      packet.status = rxnic_link_pkg::WcStatusRendezvousIncomplete;
    end
  endtask

  // (R11)
  task automatic miss();
    forget_rvh();
    if (opcode_i == tag_match_pkg::TmhEager || opcode_i == tag_match_pkg::TmhRendezvous) begin
      packet.tag_verdict = rxnic_link_pkg::TagVerdictUnexpected;
    end else begin
      packet.tag_verdict = opcode_i == tag_match_pkg::TmhFinish ? rxnic_link_pkg::TagVerdictOrdinary :
                                                                  rxnic_link_pkg::TagVerdictNoTag;
    end
    message = {packet.tag_verdict, packet.tag_context, packet.tag};
    label_end();
  endtask

  always_comb begin : label
    packet = packet_i;
    message = message_i;
    case (kind_i)
      tag_match_pkg::MessageMatch: match();
      tag_match_pkg::MessageMiss: miss();
      tag_match_pkg::MessageEnd: label_end();
      tag_match_pkg::MessageOwn: label_own();
      tag_match_pkg::MessageForgotten: forget_rvh();
      tag_match_pkg::MessageFailed: begin  // (R9)
        forget_rvh();
        packet.tag_verdict = rxnic_link_pkg::TagVerdictFailed;
      end
      default: ;
    endcase
    packet_o = packet;
  end

endmodule : tag_match_message
