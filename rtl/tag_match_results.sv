// SPDX-License-Identifier: Apache-2.0
// What became of packets and operations of tag_match_cam, in the order in which they were taken, until it is due and
// leaves (R4). The oldest packet's search may go on in the overflow. Then the packet waits for the end of the search
// (5). When a packet (7) and an operation (8) are taken in one cycle the packet is first.
module tag_match_results #(
  parameter int unsigned PipelineDepth    = 1,
  parameter int unsigned UnexpectedStatus = rxnic_params_pkg::TagMatchCamUnexpectedStatus,
  localparam int unsigned CountBits = $clog2(PipelineDepth + 1)
) (
  input  logic                               clk_i,
  input  logic                               rst_ni,
  input  logic [47:0]                        now_i,
  output logic [CountBits-1:0]               count_o,
  output logic                               out_valid_o,
  input  logic                               out_ready_i,
  output rxnic_link_pkg::wqe_request_t       out_o,
  // What was kept of the message of the packet at the input, and what is kept of one that was decided
  input  rxnic_link_pkg::tag_context_t       context_i,
  output rxnic_link_pkg::tag_context_write_t context_write_o,
  // (5) the oldest one's search goes on; it has ended
  output logic                               walks_5_o,
  output logic                               rendezvous_5_o,
  input  logic                               ends_5_i,
  input  tag_match_pkg::label_t              label_5_i,
  // (7) a packet
  output logic                               room_7_o,
  input  logic                               takes_7_i,
  input  rxnic_link_pkg::wqe_request_t       packet_7_i,
  input  logic                               starts_7_i,  // it begins a message of a list, which completes to its CQ
  input  tag_match_pkg::label_t              label_7_i,
  input  logic [47:0]                        due_7_i,
  input  logic                               walks_7_i,
  // (8) the completion of an operation
  output logic                               room_8_o,
  input  rxnic_link_pkg::tag_operation_t     operation_8_i,
  input  logic                               completes_8_i,
  input  logic                               ok_8_i,
  input  logic [23:0]                        cq_8_i,
  input  logic                               asks_sync_8_i,
  input  logic [47:0]                        due_8_i,
  output logic                               empty_o  // behind all steps
);

  localparam int unsigned PacketBits = rxnic_link_pkg::WqeRequestBits;

  rxnic_link_pkg::wqe_request_t first, packet, labelled, result, pushed;
  tag_match_pkg::label_t label;
  logic [CountBits-1:0] count, count_5, count_7;
  logic [47:0] first_due;
  logic first_walks, is_due, leaves, walked_q, walked_5;  // walked_q: the search of the oldest one has ended: ...
  logic [PacketBits-1:0] walked_packet_q, front;          // ... what it has become

  rxnic_fifo #(.Bits(1 + 48 + PacketBits), .Depth(PipelineDepth), .Pushes(2)) pipeline (
    .clk_i, .rst_ni, .push_i(2'(takes_7_i) + 2'(completes_8_i)),
    .words_i({1'b0, due_8_i, result, takes_7_i && walks_7_i, takes_7_i ? due_7_i : due_8_i, pushed}),
    .pop_i(leaves), .count_o(count), .words_o({first_walks, first_due, first})
  );
  always_comb begin : choose
    packet = packet_7_i;
    label = label_7_i;
    if (starts_7_i) packet.cq = label_7_i.cq;
    if (ends_5_i) begin
      packet = first;
      label = label_5_i;
    end
  end
  tag_match_message #(.UnexpectedStatus(UnexpectedStatus)) becomes (
    .packet_i(packet), .kind_i(label.kind), .message_i(context_i), .pd_i(label.pd), .cq_i(label.cq),
    .unacknowledged_i(label.unacknowledged), .handle_i(label.handle), .buffer_i(label.buffer),
    .opcode_i(label.opcode), .packet_o(labelled)
  );
  always_comb begin : push
    if (takes_7_i) pushed = labelled;
    else pushed = result;
  end
  tag_match_completion completion (
    .operation_i(operation_8_i), .ok_i(ok_8_i), .cq_i(cq_8_i), .asks_sync_i(asks_sync_8_i), .packet_o(result)
  );
  assign context_write_o = {labelled.line, labelled.tag_verdict, labelled.tag_context, labelled.tag};

  assign count_o = count;
  assign is_due = count != '0 && first_due <= now_i;
  assign walks_5_o = is_due && first_walks && !walked_q;
  assign rendezvous_5_o = first.rendezvous;
  assign walked_5 = walked_q || ends_5_i;
  assign out_valid_o = is_due && (!first_walks || walked_5);
  always_comb begin : show
    if (ends_5_i) front = labelled;
    else if (walked_q) front = walked_packet_q;
    else front = first;
  end
  assign out_o = front;
  assign leaves = out_valid_o && out_ready_i;
  assign count_5 = count - CountBits'(leaves);
  assign room_7_o = count_5 != CountBits'(PipelineDepth);
  assign count_7 = count_5 + CountBits'(takes_7_i);
  assign room_8_o = count_7 != CountBits'(PipelineDepth);
  assign empty_o = count_7 == '0 && !completes_8_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) walked_q <= 1'b0;
    else walked_q <= walked_5 && !leaves;
  end
  always_ff @(posedge clk_i) walked_packet_q <= front;

endmodule : tag_match_results
