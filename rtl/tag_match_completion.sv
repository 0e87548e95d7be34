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

  rxnic_link_pkg::wqe_request_t result;

  always_comb begin : complete_operation
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
    result.status = ok_i ? rxnic_link_pkg::WcStatusSuccess : rxnic_link_pkg::WcStatusTagMatch;
    result.cq = cq_i;
    result.queue_ = operation_i.srq;
    result.wqe_index = operation_i.wqe_index;
    result.cqe_opcode = operation_i.opcode == rxnic_link_pkg::TagOpcodeAdd ? rxnic_link_pkg::CqeOpcodeTagAdd :
                        operation_i.opcode == rxnic_link_pkg::TagOpcodeDelete ? rxnic_link_pkg::CqeOpcodeTagDelete :
                                                                                rxnic_link_pkg::CqeOpcodeTagSync;
    result.cqe_flags = tag_match_pkg::CqeSrq;
    if (asks_sync_i) result.cqe_flags = result.cqe_flags | tag_match_pkg::CqeTagSyncRequest;  // (R12)
    packet_o = result;
  end

endmodule : tag_match_completion
