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

  rxnic_link_pkg::tag_context_t message;

  task automatic forget_rvh();
    packet_o.rendezvous = 1'b0;
    packet_o.local_va = '0;
    packet_o.local_key = '0;
    packet_o.local_bytes = '0;
  endtask

  // The tag fields of a completion of a message, of which `message` was kept.
  task automatic label_end();
    packet_o.cq = cq_i;
    packet_o.tag = message.tag;
    packet_o.tag_context = message.tag_context;
    case (message.tag_verdict)
      rxnic_link_pkg::TagVerdictMatched: begin
        packet_o.cqe_opcode = rxnic_link_pkg::CqeOpcodeTagReceive;
        packet_o.cqe_flags = packet_o.cqe_flags | tag_match_pkg::CqeTagDataValid;
      end
      rxnic_link_pkg::TagVerdictUnexpected: begin
        packet_o.cqe_opcode = UnexpectedStatus == rxnic_params_pkg::UnexpectedStatusTmRecv ?
                            rxnic_link_pkg::CqeOpcodeTagReceive : rxnic_link_pkg::CqeOpcodeReceive;
        if (unacknowledged_i > tag_match_pkg::MostUnacknowledged) begin  // (R12)
          packet_o.cqe_flags = packet_o.cqe_flags | tag_match_pkg::CqeTagSyncRequest;
        end
      end
      rxnic_link_pkg::TagVerdictNoTag: packet_o.cqe_opcode = rxnic_link_pkg::CqeOpcodeTagNoTag;
      default: ;
    endcase
  endtask

  // What the device sends of itself for a rendezvous (R17).
  task automatic label_own();
    packet_o.pd = pd_i;
    packet_o.cq = cq_i;
    packet_o.queue_ = packet_o.receive_queue;
    if (packet_o.cqe_opcode == rxnic_link_pkg::CqeOpcodeRdmaRead) begin
      packet_o.cqe_opcode = rxnic_link_pkg::CqeOpcodeTagReceive;
      packet_o.cqe_flags = packet_o.cqe_flags | tag_match_pkg::CqeTagDataValid;
    end else begin
      packet_o.completes = 1'b0;
    end
  endtask

  // (R10, R16)
  task automatic match();
    packet_o.wqe_index = handle_i;
    packet_o.takes_wqe = 1'b0;
    packet_o.strip_bytes = 13'(tag_match_pkg::TmhBytes);
    packet_o.pd = pd_i;
    packet_o.tag_buffer = buffer_i;
    packet_o.cqe_opcode = rxnic_link_pkg::CqeOpcodeTagReceive;
    packet_o.cqe_flags = packet_o.cqe_flags | tag_match_pkg::CqeTagMatch;
    if (packet_o.ends_message) packet_o.cqe_flags = packet_o.cqe_flags | tag_match_pkg::CqeTagDataValid;
    packet_o.completes = 1'b1;
    packet_o.tag_verdict = rxnic_link_pkg::TagVerdictMatched;
    if (packet_o.rendezvous && packet_o.local_bytes <= buffer_i[127:96]) begin
      packet_o.strip_bytes = packet_o.payload_bytes;
      packet_o.cqe_flags = packet_o.cqe_flags & ~tag_match_pkg::CqeTagDataValid;
    end else if (packet_o.rendezvous) begin
      forget_rvh();
      packet_o.strip_bytes = '0;
      packet_o.status = rxnic_link_pkg::WcStatusRendezvousIncomplete;
    end
  endtask

  // (R11)
  task automatic miss();
    forget_rvh();
    if (opcode_i == tag_match_pkg::TmhEager || opcode_i == tag_match_pkg::TmhRendezvous) begin
      packet_o.tag_verdict = rxnic_link_pkg::TagVerdictUnexpected;
    end else begin
      packet_o.tag_verdict = opcode_i == tag_match_pkg::TmhFinish ? rxnic_link_pkg::TagVerdictOrdinary :
                                                                  rxnic_link_pkg::TagVerdictNoTag;
    end
    message = {packet_o.tag_verdict, packet_o.tag_context, packet_o.tag};
    label_end();
  endtask

  always_comb begin : label
    packet_o = packet_i;
    message = message_i;
    case (kind_i)
      tag_match_pkg::MessageMatch: match();
      tag_match_pkg::MessageMiss: miss();
      tag_match_pkg::MessageEnd: label_end();
      tag_match_pkg::MessageOwn: label_own();
      tag_match_pkg::MessageForgotten: forget_rvh();
      tag_match_pkg::MessageFailed: begin  // (R9)
        forget_rvh();
        packet_o.tag_verdict = rxnic_link_pkg::TagVerdictFailed;
      end
      default: ;
    endcase
  end

endmodule : tag_match_message
