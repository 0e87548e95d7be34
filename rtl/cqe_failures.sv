// SPDX-License-Identifier: Apache-2.0
// QPs of cqe_generator that fail (R6, R7, R17): what is written of their contexts, requests to flush, and notices to
// the requester. A failure (3) makes them, which may leave at once, or a packet (6).
module cqe_failures #(
  parameter int unsigned ContextLines = 1
) (
  input  logic                                      clk_i,
  input  logic                                      rst_ni,
  output logic                                      empty_o,
  input  logic                                      takes_3_i,
  input  logic                                      fails_3_i,   // it was not in error before
  input  logic [23:0]                               line_3_i,
  input  rxnic_link_pkg::completion_qp_t            qp_3_i,
  input  logic                                      flushes_6_i,
  input  logic                                      notifies_6_i,
  input  logic                                      last_wqe_6_i,
  input  logic [23:0]                               line_6_i,
  input  rxnic_link_pkg::completion_qp_t            qp_6_i,
  output logic                                      context_write_valid_o,
  output rxnic_link_pkg::completion_context_write_t context_write_o,
  output logic                                      flushes_valid_o,
  input  logic                                      flushes_ready_i,
  output rxnic_link_pkg::flush_request_t            flushes_o,
  output logic                                      failed_valid_o,
  input  logic                                      failed_ready_i,
  output rxnic_link_pkg::failed_qp_t                failed_o,
  output logic                                      unpinned_valid_o,
  output rxnic_link_pkg::context_line_t             unpinned_o
);

  localparam int unsigned FlushBits = rxnic_link_pkg::FlushRequestBits;

  logic [$clog2(ContextLines+1)-1:0] flush_count, failed_count;
  logic flush_leaves, notice_leaves;
  logic [FlushBits-1:0] first_flush;
  logic [47:0] first_notice, front_notice;  // line, QPN

  rxnic_fifo #(.Bits(FlushBits), .Depth(ContextLines)) flush_list (
    .clk_i, .rst_ni, .push_i(fails_3_i || flushes_6_i), .words_i(fails_3_i ? qp_3_i.flush : qp_6_i.flush),
    .pop_i(flush_leaves), .count_o(flush_count), .words_o(first_flush)
  );
  rxnic_fifo #(.Bits(48), .Depth(ContextLines)) failed_list (
    .clk_i, .rst_ni, .push_i(fails_3_i || notifies_6_i),
    .words_i(fails_3_i ? {qp_3_i.flush.line, qp_3_i.flush.qpn} : {qp_6_i.flush.line, qp_6_i.flush.qpn}),
    .pop_i(notice_leaves), .count_o(failed_count), .words_o(first_notice)
  );
  assign empty_o = flush_count == '0 && failed_count == '0;
  assign flushes_valid_o = flush_count != '0 || fails_3_i;
  assign flushes_o = flush_count != '0 ? first_flush : qp_3_i.flush;
  assign flush_leaves = flushes_valid_o && flushes_ready_i;
  assign failed_valid_o = failed_count != '0 || fails_3_i;
  assign front_notice = failed_count != '0 ? first_notice : {qp_3_i.flush.line, qp_3_i.flush.qpn};
  assign failed_o = front_notice[23:0];
  assign notice_leaves = failed_valid_o && failed_ready_i;
  assign unpinned_valid_o = notice_leaves;
  assign unpinned_o = front_notice[47:24];

  always_comb begin : write_context
    context_write_valid_o = takes_3_i || flushes_6_i || last_wqe_6_i;
    context_write_o = '0;
    if (takes_3_i) begin
      context_write_o.line = line_3_i;
      context_write_o.part = qp_3_i.part;
      context_write_o.part.flush_requested = 1'b1;
      context_write_o.pins = fails_3_i ? 2'd2 : 2'd0;
      context_write_o.unpins = 1'b1;
    end else begin
      context_write_o.line = line_6_i;
      context_write_o.part = qp_6_i.part;
      if (last_wqe_6_i) context_write_o.part.last_wqe_event_sent = 1'b1;
      else context_write_o.part.flush_requested = 1'b1;
      context_write_o.pins = {notifies_6_i, flushes_6_i && !notifies_6_i};
    end
  end

endmodule : cqe_failures
