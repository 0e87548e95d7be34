// SPDX-License-Identifier: Apache-2.0
// Packets of cqe_generator. The first that waits, or the packet at the input, is taken (6), or waits for the context of
// its CQ. Then the packet behind it is looked at (7), so that the context of that one is read meanwhile (R2, R11, R12,
// R13).
module cqe_packets #(
  parameter int unsigned CyclesPerCqe = 1,
  parameter int unsigned QueueDepth   = 2,
  parameter int unsigned ContextLines = 1,
  parameter int unsigned WqeSlots     = 1,
  parameter int unsigned CountBits    = $clog2(QueueDepth + 1)
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic [63:0]                         now_i,
  input  logic                                in_valid_i,
  output logic                                in_ready_o,
  input  rxnic_link_pkg::completion_request_t in_i,
  input  rxnic_link_pkg::completion_qp_t      context_i,
  input  rxnic_link_pkg::data_segment_t       wqe_i,
  // What goes before it, and room behind
  input  logic                                failure_i,
  input  logic                                full_i,
  input  logic                                placed_ready_i,
  input  logic                                rendezvous_ready_i,
  input  logic                                late_i,         // a doorbell waits, or has waited (R13)
  output logic [CountBits-1:0]                count_o,        // packets that wait
  output logic                                considered_o,
  output logic                                stalled_o,      // there is no room
  // The context of its CQ
  output logic                                looks_o,
  output logic [23:0]                         number_o,
  input  logic                                here_i,
  input  logic                                absent_i,
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::stored_cq_t          record_i,       // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  input  logic [6:0]                          held_i,         // completions in its session
  output logic                                waits_o,
  output logic                                yields_o,       // so that the doorbell's context may come
  output logic                                enqueues_o,
  // It is taken, as `p_o`, with its QP and the first element of its WQE
  output logic                                takes_o,
  output logic                                occupied_o,     // ... and the block is in use behind this cycle
  output rxnic_link_pkg::completion_request_t p_o,
  output rxnic_link_pkg::completion_qp_t      qp_o,
  output rxnic_link_pkg::data_segment_t       wqe_o,
  output logic                                hands_over_o,   // a rendezvous, to the requester
  output logic                                places_data_o,  // of a response
  output logic                                refuses_o,
  output logic                                gives_up_o,
  output logic                                wqe_done_o,
  input  logic                                overrun_i,      // its QP fails by its CQ ...
  input  logic                                of_answer_i,    // ... with a request of our own
  input  logic                                part_valid_i,   // what is written of a QP
  input  logic [23:0]                         part_line_i,
  input  logic [1:0]                          part_i,
  // (7)
  output logic                                looks_7_o,
  output logic [23:0]                         number_7_o,
  input  logic                                here_7_i,
  input  logic                                coming_7_i,
  input  logic                                may_7_i
);

  rxnic_link_pkg::completion_request_t head, behind_packet;
  logic [63:0] next_accept_q, next_accept;
  logic queued, lacks_room, gives_up_behind, behind_valid, behind_needs, passes_7;

  cqe_packet_queue #(.Depth(QueueDepth)) queue (
    .clk_i, .rst_ni, .count_o, .enqueue_i(enqueues_o), .in_i, .context_i, .wqe_i, .head_o(head), .head_qp_o(qp_o),
    .head_wqe_o(wqe_o), .take_i(takes_o), .wait_i(waits_o), .behind_valid_o(behind_valid), .behind_o(behind_packet),
    .pass_i(passes_7), .part_valid_i, .part_line_i, .part_i
  );
  cqe_settle #(.ContextLines(ContextLines), .WqeSlots(WqeSlots)) settle (
    .clk_i, .rst_ni, .head_i(head), .p_o, .refuses_o, .gives_up_o, .wqe_done_o, .take_i(takes_o), .overrun_i,
    .of_answer_i, .behind_i(behind_packet), .gives_up_behind_o(gives_up_behind)
  );
  always_comb begin : consider
    queued = count_o != '0;
    hands_over_o = head.rendezvous && head.role == rxnic_link_pkg::PacketRoleReceived &&
                   rxnic_pkg::is_send(head.opcode) && head.wqe_slot != '1;
    places_data_o = head.role == rxnic_link_pkg::PacketRoleReceived &&
                    head.outcome == rxnic_link_pkg::OutcomeAnswer &&
                    (rxnic_pkg::is_read_response(head.opcode) || rxnic_pkg::is_atomic_ack(head.opcode));
    considered_o = !failure_i && now_i >= next_accept_q && (queued || in_valid_i);
    stalled_o = (places_data_o && !placed_ready_i) || (hands_over_o && !rendezvous_ready_i) || full_i;
    looks_o = considered_o && !stalled_o &&
              (head.completes || (head.releases_wqe && head.wqe_slot != '1) || gives_up_o);
  end
  assign number_o = head.cq;

  // (R11, R13)
  always_comb begin : decide
    lacks_room = !record_i.ignore_overrun &&
                 record_i.producer - record_i.consumer + 32'(cqe_pkg::block_slots(held_i)) + 32'd1 > record_i.slots;
    yields_o = looks_o && here_i && late_i && !record_i.dead && !record_i.closed && lacks_room;
    waits_o = looks_o && (yields_o || (!here_i && !absent_i));
    takes_o = considered_o && !stalled_o && !waits_o;
    enqueues_o = waits_o && in_valid_i && count_o != CountBits'(QueueDepth);
    in_ready_o = (takes_o && !queued) || enqueues_o;
  end
  assign next_accept = takes_o ? now_i + (p_o.completes ? 64'(CyclesPerCqe) : 64'd1) : next_accept_q;
  assign occupied_o = now_i < next_accept;

  // (7) One behind it
  assign number_7_o = behind_packet.cq;
  assign behind_needs = behind_packet.completes || (behind_packet.releases_wqe && behind_packet.wqe_slot != '1) ||
                        gives_up_behind;
  assign looks_7_o = waits_o && behind_valid && behind_needs;
  assign passes_7 = waits_o && behind_valid && (!behind_needs || here_7_i || coming_7_i || may_7_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) next_accept_q <= '0;
    else next_accept_q <= next_accept;
  end

endmodule : cqe_packets
