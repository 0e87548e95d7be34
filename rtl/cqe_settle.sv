// SPDX-License-Identifier: Apache-2.0
// What a packet of cqe_generator is when it is taken: squashed, given up (core/responder/refusal.h), or the second one
// to complete its WQE (R8). What is refused of a QP, and which WQEs have completed, is kept in here.
module cqe_settle #(
  parameter int unsigned ContextLines = 1,
  parameter int unsigned WqeSlots     = 1
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  rxnic_link_pkg::completion_request_t head_i,       // as it came
  output rxnic_link_pkg::completion_request_t p_o,          // as it is taken
  output logic                                refuses_o,
  output logic                                gives_up_o,
  output logic                                wqe_done_o,
  input  logic                                take_i,
  input  logic                                overrun_i,    // it is taken, and its QP fails by its CQ ...
  input  logic                                of_answer_i,  // ... with a request of our own
  // A packet behind it
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::completion_request_t behind_i,     // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  output logic                                gives_up_behind_o
);

  localparam int unsigned LineIndexBits = ContextLines > 1 ? $clog2(ContextLines) : 1;
  localparam int unsigned SlotIndexBits = WqeSlots > 1 ? $clog2(WqeSlots) : 1;

  // verilator coverage_off
  logic [63:0]             refused_q [ContextLines];  // requests of a QP: residence, number of our request
  logic [ContextLines-1:0] refused_valid_q, refused_answers_q;  // the latter: its answers, too
  logic [WqeSlots-1:0]     wqe_done_q;
  // verilator coverage_on
  logic refused_known, has_line, wqe_known, done_next;
  logic [31:0] refused_residence, refused_request, behind_residence;
  logic [LineIndexBits-1:0] head_line, behind_line;

  always_comb begin : find_refusal
    head_line = head_i.line[LineIndexBits-1:0];
    has_line = head_i.line != '1;
    {refused_residence, refused_request} = refused_q[head_line];
    refused_known = has_line && refused_valid_q[head_line] && refused_residence == head_i.residence;
    refuses_o = refused_known && head_i.role == rxnic_link_pkg::PacketRoleReceived &&
                !rxnic_pkg::is_response(head_i.opcode);
    gives_up_o = refused_known && refused_answers_q[head_line] &&
                 ((head_i.role == rxnic_link_pkg::PacketRoleReceived && rxnic_pkg::is_response(head_i.opcode)) ||
                  (head_i.role == rxnic_link_pkg::PacketRoleSendCompletion &&
                   head_i.status != rxnic_link_pkg::WcStatusFlushed));
  end
  always_comb begin : look_behind
    behind_line = behind_i.line[LineIndexBits-1:0];
    behind_residence = refused_q[behind_line][63:32];
    gives_up_behind_o = behind_i.line != '1 && refused_valid_q[behind_line] && refused_answers_q[behind_line] &&
                        behind_residence == behind_i.residence &&
                        ((behind_i.role == rxnic_link_pkg::PacketRoleReceived &&
                          rxnic_pkg::is_response(behind_i.opcode)) ||
                         (behind_i.role == rxnic_link_pkg::PacketRoleSendCompletion &&
                          behind_i.status != rxnic_link_pkg::WcStatusFlushed));
  end

  always_comb begin : settle
    p_o = head_i;
    if (refuses_o || gives_up_o) begin
      p_o.drop_reason = rxnic_link_pkg::DropReasonSquashed;
      p_o.outcome = rxnic_link_pkg::OutcomeDrop;
      p_o.syndrome = '0;
      p_o.status = rxnic_link_pkg::WcStatusFlushed;
      if (refuses_o) begin
        p_o.acknowledge = 1'b0;
        p_o.completes = 1'b0;
        p_o.fails_qp = 1'b0;
      end else begin
        p_o.completes = head_i.role == rxnic_link_pkg::PacketRoleSendCompletion ? head_i.completes :
                        head_i.ends_message && head_i.message_sequence != refused_request;
      end
    end
    wqe_known = p_o.wqe_slot != '1;
    wqe_done_o = wqe_known && wqe_done_q[p_o.wqe_slot[SlotIndexBits-1:0]];
    if (wqe_known) begin
      if (wqe_done_o) begin
        p_o.completes = 1'b0;
      end else if (p_o.releases_wqe && !p_o.completes) begin
        p_o.completes = 1'b1;
        if (p_o.status == rxnic_link_pkg::WcStatusSuccess) begin
          p_o.status = p_o.drop_reason == rxnic_link_pkg::DropReasonRemoteAccess ? rxnic_link_pkg::WcStatusRemoteAccess
                                                                                  : rxnic_link_pkg::WcStatusFlushed;
        end
      end
    end
    done_next = !p_o.releases_wqe && (wqe_done_o || (p_o.completes && p_o.status != rxnic_link_pkg::WcStatusSuccess));
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      refused_valid_q <= '0;
      refused_answers_q <= '0;
      wqe_done_q <= WqeSlots'(0);
    end else begin
      if (take_i && wqe_known) wqe_done_q[p_o.wqe_slot[SlotIndexBits-1:0]] <= done_next;
      if (take_i && overrun_i) begin
        refused_valid_q[head_line] <= 1'b1;
        refused_answers_q[head_line] <= (refused_known && refused_answers_q[head_line]) || of_answer_i;
      end
    end
  end
  always_ff @(posedge clk_i) begin : memory
    if (take_i && overrun_i) begin
      refused_q[head_line] <= {p_o.residence,
                               of_answer_i ? p_o.message_sequence : refused_known ? refused_request : 32'd0};
    end
  end

endmodule : cqe_settle
