// SPDX-License-Identifier: Apache-2.0
// Packets of cqe_generator that wait for contexts of CQs (R12). Each waits with its QP and the first element of its WQE
// as they stood at the inputs. What is written of a QP's part is written here, too. While the first one waits, those
// behind it are looked at one after another.
module cqe_packet_queue #(
  parameter int unsigned Depth     = 2,
  parameter int unsigned CountBits = $clog2(Depth + 1)
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  output logic [CountBits-1:0]                count_o,
  // One comes
  input  logic                                enqueue_i,
  input  rxnic_link_pkg::completion_request_t in_i,
  input  rxnic_link_pkg::completion_qp_t      context_i,
  input  rxnic_link_pkg::data_segment_t       wqe_i,
  // The first one, or the one at the inputs; it goes (take_i), or waits (wait_i)
  output rxnic_link_pkg::completion_request_t head_o,
  output rxnic_link_pkg::completion_qp_t      head_qp_o,
  output rxnic_link_pkg::data_segment_t       head_wqe_o,
  input  logic                                take_i,
  input  logic                                wait_i,
  // The one behind it that is to be looked at, and was (pass_i)
  output logic                                behind_valid_o,
  output rxnic_link_pkg::completion_request_t behind_o,
  input  logic                                pass_i,
  // What is written of a QP
  input  logic                                part_valid_i,
  input  logic [23:0]                         part_line_i,
  input  logic [1:0]                          part_i
);

  localparam int unsigned PacketBits = rxnic_link_pkg::CompletionRequestBits;
  localparam int unsigned QpBits = rxnic_link_pkg::CompletionQpBits;
  localparam int unsigned SegmentBits = rxnic_link_pkg::DataSegmentBits;
  localparam int unsigned PlaceBits = $clog2(Depth);

  // verilator coverage_off
  logic [PacketBits-1:0]  queue_q [Depth];
  logic [SegmentBits-1:0] queue_wqes_q [Depth];
  logic [QpBits-1:0]      queue_qps_q [Depth];  // their parts as they came
  // verilator coverage_on
  logic [Depth*2-1:0]     queue_parts_q, queue_parts;  // ... and as they are now
  // verilator lint_off UNUSEDSIGNAL
  logic [CountBits-1:0]   queue_first_q, ahead, ahead_place, enqueue_place;
  // verilator lint_on UNUSEDSIGNAL
  logic [CountBits-1:0]   queue_count_q, ahead_q;
  logic                   queued;

  function automatic logic [CountBits-1:0] queue_place(input logic [CountBits-1:0] first,
                                                       input logic [CountBits-1:0] behind);
    logic [CountBits:0] n;
    n = {1'b0, first} + {1'b0, behind};
    if (n >= (CountBits + 1)'(Depth)) n = n - (CountBits + 1)'(Depth);
    queue_place = n[CountBits-1:0];
  endfunction

  assign count_o = queue_count_q;
  assign queued = queue_count_q != '0;
  always_comb begin : first_packet
    head_o = queued ? queue_q[queue_first_q[PlaceBits-1:0]] : in_i;
    head_qp_o = queued ? queue_qps_q[queue_first_q[PlaceBits-1:0]] : context_i;
    for (int unsigned n = 0; n < Depth; n++) begin
      if (queued && 32'(queue_first_q) == n) head_qp_o.part = queue_parts_q[n*2+:2];
    end
    head_wqe_o = queued ? queue_wqes_q[queue_first_q[PlaceBits-1:0]] : wqe_i;
  end
  always_comb begin : packet_behind
    ahead = ahead_q == '0 ? CountBits'(1) : ahead_q;
    ahead_place = queue_place(queue_first_q, ahead);
    behind_o = ahead < queue_count_q ? queue_q[ahead_place[PlaceBits-1:0]] : in_i;
  end
  assign behind_valid_o = ahead < queue_count_q + CountBits'(enqueue_i);

  assign enqueue_place = queue_place(queue_first_q, queue_count_q);
  always_comb begin : follow_parts
    queue_parts = queue_parts_q;
    for (int unsigned n = 0; n < Depth; n++) begin
      if (enqueue_i && 32'(enqueue_place) == n) queue_parts[n*2+:2] = context_i.part;
      if (part_valid_i &&
          part_line_i == (enqueue_i && 32'(enqueue_place) == n ? in_i.line : queue_qps_q[n][QpBits-3-:24])) begin
        queue_parts[n*2+:2] = part_i;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      queue_first_q <= '0;
      queue_count_q <= '0;
      ahead_q <= '0;
    end else begin
      if (take_i && queued) queue_first_q <= queue_place(queue_first_q, CountBits'(1));
      queue_count_q <= queue_count_q + CountBits'(enqueue_i) - CountBits'(take_i && queued);
      if (take_i) ahead_q <= ahead_q == '0 ? '0 : ahead_q - CountBits'(1);
      else if (wait_i) ahead_q <= pass_i ? ahead + CountBits'(1) : ahead;
    end
  end

  always_ff @(posedge clk_i) begin : memories
    queue_parts_q <= queue_parts;
    if (enqueue_i) begin
      queue_q[enqueue_place[PlaceBits-1:0]] <= in_i;
      queue_wqes_q[enqueue_place[PlaceBits-1:0]] <= wqe_i;
      queue_qps_q[enqueue_place[PlaceBits-1:0]] <= context_i;
    end
  end

endmodule : cqe_packet_queue
