// SPDX-License-Identifier: Apache-2.0
// The queue whose context a packet needs here (R14). Its message may take a WQE from that queue, or its response counts
// the WQEs of it for the credits (R12). An RQ's QP takes its WQEs from that RQ. No state in here.
module wqe_needed #(
  parameter logic CountsCredits = 1'b0
) (
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::wqe_request_t p_i,        // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  output logic                         executes_o, // a packet that was received is carried out
  output logic                         sends_o,    // it is one of a SEND
  output logic [31:0]                  queue_o     // NoWq: none
);

  assign executes_o = p_i.role == rxnic_link_pkg::PacketRoleReceived &&
                      p_i.outcome == rxnic_link_pkg::OutcomeExecute;
  assign sends_o = rxnic_pkg::is_send(p_i.opcode);
  assign queue_o = executes_o && (p_i.takes_wqe || sends_o) ? p_i.queue_ :
                   p_i.acknowledge && !p_i.uses_srq && CountsCredits ? p_i.receive_queue : wqe_pkg::NoWq;

endmodule : wqe_needed
