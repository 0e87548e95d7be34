// SPDX-License-Identifier: Apache-2.0
// The completion of an operation of tag_match_cam (R12, R13): a packet without anything of a packet. No state in here.
module tag_match_completion (
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::tag_operation_t operation_i,  // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  input  logic                           ok_i,
  input  logic [23:0]                    cq_i,         // of its list
  input  logic                           asks_sync_i,  // messages of its list are not acknowledged
  output rxnic_link_pkg::wqe_request_t   packet_o
);

  always_comb begin : complete_operation
    packet_o = '0;
    packet_o.buffer = '1;
    packet_o.transport = rxnic_link_pkg::TransportNone;
    packet_o.line = '1;
    packet_o.wqe_slot = '1;
    packet_o.receive_queue = '1;
    packet_o.role = rxnic_link_pkg::PacketRoleTagOperation;
    packet_o.outcome = rxnic_link_pkg::OutcomeExecute;
    packet_o.completes = 1'b1;
    packet_o.ends_message = 1'b1;
    packet_o.status = ok_i ? rxnic_link_pkg::WcStatusSuccess : rxnic_link_pkg::WcStatusTagMatch;
    packet_o.cq = cq_i;
    packet_o.queue_ = operation_i.srq;
    packet_o.wqe_index = operation_i.wqe_index;
    packet_o.cqe_opcode = operation_i.opcode == rxnic_link_pkg::TagOpcodeAdd ? rxnic_link_pkg::CqeOpcodeTagAdd :
                        operation_i.opcode == rxnic_link_pkg::TagOpcodeDelete ? rxnic_link_pkg::CqeOpcodeTagDelete :
                                                                                rxnic_link_pkg::CqeOpcodeTagSync;
    packet_o.cqe_flags = tag_match_pkg::CqeSrq;
    if (asks_sync_i) packet_o.cqe_flags = packet_o.cqe_flags | tag_match_pkg::CqeTagSyncRequest;  // (R12)
  end

endmodule : tag_match_completion
