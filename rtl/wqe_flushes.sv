// SPDX-License-Identifier: Apache-2.0
// Which RQs are to be flushed (R9): the request at hand, those that wait, and RQs to which WQEs came after their flush.
// A command may end what is to be flushed of its queue (1). A doorbell may ask for a late flush (2). A QP in error asks
// for a flush (3), with which its RQ hands out nothing any more. A flushed WQE leaves in its turn (4), or when no
// packet does (6): wqe_flush. The requests that wait are counted by queue.
module wqe_flushes #(
  parameter int unsigned LateFlushes  = 1,
  parameter int unsigned ContextLines = 1,
  parameter int unsigned Numbers      = 1
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  // At the beginning of the cycle, and what is left at its end
  output logic                           turn_o,         // a flushed WQE goes before a packet
  output logic                           asked_o,
  output logic [31:0]                    late_count_o,
  output logic                           idle_o,
  output logic                           pending_o,
  // (1)
  input  logic                           ends_1_i,
  input  logic [31:0]                    id_1_i,
  input  logic                           makes_1_i,      // id_1_i is a number that there has not been
  input  logic [31:0]                    made_i,         // so many numbers there are
  // (2)
  input  logic                           of_failed_2_i,
  input  logic [31:0]                    number_2_i,
  output logic                           will_be_flushed_2_o,
  output logic                           late_full_2_o,
  input  logic                           again_2_i,
  // (3)
  input  logic                           flushes_valid_i,
  output logic                           flushes_ready_o,
  input  rxnic_link_pkg::flush_request_t flushes_i,
  output logic                           asks_3_o,       // for the context of the RQ
  input  logic                           here_3_i,
  input  logic                           waits_3_i,
  input  rxnic_link_pkg::stored_queue_t  queue_3_i,
  output logic                           fails_3_o,      // it hands out nothing any more
  output rxnic_link_pkg::stored_queue_t  queue_3_o,
  // (4), (6): what wqe_flush finds, and what it leaves
  output logic                           next_valid_o,   // a request waits: next_o
  output rxnic_link_pkg::flush_request_t next_o,
  output logic                           late_valid_o,   // a late flush waits: of queue late_o
  output logic [31:0]                    late_o,
  output logic                           asked_4_o,      // request_4_o is at hand
  output rxnic_link_pkg::flush_request_t request_4_o,
  output logic [31:0]                    queue_4_o,      // what is flushed
  input  logic                           takes_next_i,
  input  logic                           takes_late_i,
  input  logic                           asked_6_i,
  input  rxnic_link_pkg::flush_request_t request_6_i,
  input  logic [31:0]                    queue_6_i,
  input  logic                           leaves_4_i,     // a flushed WQE has left in its turn
  input  logic                           leaves_5_i      // a packet has left
);

  localparam int unsigned NumberBits = Numbers > 1 ? $clog2(Numbers) : 1;
  localparam int unsigned FlushBits = rxnic_link_pkg::FlushRequestBits;
  localparam int unsigned PendingBits = $clog2(ContextLines + 1);

  // verilator coverage_off
  logic [PendingBits-1:0]    pending_q [Numbers];  // requests to flush a queue that wait
  logic [LateFlushes*32-1:0] late_q;                // the oldest first
  // verilator coverage_on
  rxnic_link_pkg::flush_request_t request_q;
  logic asked_q, turn_q;
  logic [31:0] queue_q, queue_1;  // NoWq: none
  logic [31:0] late_count_q, late_count_1, late_count_2, late_count_6;
  logic [PendingBits-1:0] count, count_3, count_6;
  logic [FlushBits-1:0] first;
  logic [31:0] number_3, next_number;
  logic [PendingBits-1:0] pending_2, found_3, found_6;
  logic [31:0] late_at_1;
  logic is_late_1, is_late_2, counts_3, counts_6;

  // (1)
  assign queue_1 = ends_1_i && queue_q == id_1_i && !asked_q ? wqe_pkg::NoWq : queue_q;
  always_comb begin : find_late_1
    is_late_1 = 1'b0;
    late_at_1 = '0;
    if (ends_1_i) begin
      for (int unsigned n = 0; n < LateFlushes; n++) begin
        if (32'(n) < late_count_q && late_q[n*32+:32] == id_1_i) begin
          is_late_1 = 1'b1;
          late_at_1 = n;
        end
      end
    end
  end
  assign late_count_1 = late_count_q - 32'(is_late_1);

  // (2) A queue is among the late ones once.
  always_comb begin : find_late_2
    is_late_2 = 1'b0;
    if (of_failed_2_i) begin
      for (int unsigned n = 0; n < LateFlushes; n++) begin
        if (32'(n) < late_count_q && late_q[n*32+:32] == number_2_i) is_late_2 = 1'b1;
      end
    end
  end
  assign pending_2 = pending_q[number_2_i[NumberBits-1:0]];
  assign will_be_flushed_2_o = queue_1 == number_2_i || (number_2_i < made_i && pending_2 != '0) ||
                               (is_late_2 && !(ends_1_i && id_1_i == number_2_i));
  assign late_full_2_o = late_count_1 == LateFlushes;
  assign late_count_2 = late_count_1 + 32'(again_2_i);
  // (3)
  assign asks_3_o = flushes_valid_i && !flushes_i.uses_srq && flushes_i.receive_queue != wqe_pkg::NoWq;
  assign flushes_ready_o = flushes_valid_i && !waits_3_i;
  assign fails_3_o = here_3_i && queue_3_i.kind == rxnic_link_pkg::WqKindRq;
  always_comb begin : fail_queue
    queue_3_o = queue_3_i;
    queue_3_o.failed = 1'b1;
    queue_3_o.flush_cq = flushes_i.receive_cq;
  end
  rxnic_fifo #(.Bits(FlushBits), .Depth(ContextLines)) flush_requests (
    .clk_i, .rst_ni, .push_i(flushes_ready_o), .words_i(flushes_i), .pop_i(takes_next_i), .count_o(count),
    .words_o(first)
  );
  assign count_3 = count + PendingBits'(flushes_ready_o);
  assign number_3 = flushes_i.receive_queue;
  assign counts_3 = flushes_ready_o && number_3 < made_i;
  assign found_3 = makes_1_i && id_1_i[NumberBits-1:0] == number_3[NumberBits-1:0]
                       ? '0 : pending_q[number_3[NumberBits-1:0]];

  // (4), (6)
  assign next_valid_o = count_3 != '0;
  assign next_o = count == '0 ? flushes_i : first;
  assign late_valid_o = late_count_2 != '0;
  assign late_o = again_2_i && late_count_1 == '0 ? number_2_i :
                  is_late_1 && late_at_1 == '0 && LateFlushes > 1 ? late_q[32%(LateFlushes*32)+:32] : late_q[31:0];
  assign asked_4_o = asked_q;
  assign request_4_o = request_q;
  assign queue_4_o = queue_1;
  assign next_number = next_o.receive_queue;
  assign counts_6 = takes_next_i && next_number < made_i;
  always_comb begin : find_pending_6
    found_6 = pending_q[next_number[NumberBits-1:0]];
    if (makes_1_i && id_1_i[NumberBits-1:0] == next_number[NumberBits-1:0]) found_6 = '0;
    if (counts_3 && number_3[NumberBits-1:0] == next_number[NumberBits-1:0]) found_6 = found_3 + PendingBits'(1);
  end
  assign count_6 = count_3 - PendingBits'(takes_next_i);
  assign late_count_6 = late_count_2 - 32'(takes_late_i);

  assign turn_o = turn_q;
  assign asked_o = asked_q;
  assign late_count_o = late_count_q;
  assign idle_o = count == '0 && !asked_q && queue_q == wqe_pkg::NoWq && late_count_q == '0;
  assign pending_o = queue_6_i != wqe_pkg::NoWq || asked_6_i || count_6 != '0 || late_count_6 != '0 ||
                     (flushes_valid_i && !flushes_ready_o);

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      {request_q, asked_q, turn_q} <= '0;
      queue_q <= wqe_pkg::NoWq;
      late_q <= '0;
      late_count_q <= '0;
    end else begin
      request_q <= request_6_i;
      asked_q <= asked_6_i;
      queue_q <= queue_6_i;
      if (leaves_5_i) turn_q <= 1'b1;
      else if (leaves_4_i) turn_q <= 1'b0;
      // Those behind the one that a command has ended, and all behind the one that is taken, move up.
      if (is_late_1 || again_2_i || takes_late_i) begin
        for (int unsigned n = 0; n < LateFlushes; n++) begin
          if (again_2_i && n + 32'(takes_late_i) == late_count_1) late_q[n*32+:32] <= number_2_i;
          else if (takes_late_i && is_late_1 && n + 1 >= late_at_1)
            late_q[n*32+:32] <= late_q[(n+2)%LateFlushes*32+:32];
          else if (takes_late_i || (is_late_1 && n >= late_at_1)) late_q[n*32+:32] <= late_q[(n+1)%LateFlushes*32+:32];
        end
      end
      late_count_q <= late_count_6;
    end
  end

  always_ff @(posedge clk_i) begin : memory  // in the order of the steps
    if (makes_1_i) pending_q[id_1_i[NumberBits-1:0]] <= '0;
    if (counts_3) pending_q[number_3[NumberBits-1:0]] <= found_3 + PendingBits'(1);
    if (counts_6) pending_q[next_number[NumberBits-1:0]] <= found_6 - PendingBits'(1);
  end

endmodule : wqe_flushes
