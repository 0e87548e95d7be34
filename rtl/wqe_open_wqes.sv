// SPDX-License-Identifier: Apache-2.0
// WQEs that messages on QPs have in use (R6, R20), by the line of the QP's context. They are kept here for the packets
// and the requests to flush that are here. A request brings what its QP has (3), as a packet that is taken does (7).
// What leaves finds it and may change it: a flushed WQE (4, 6) or the oldest packet (5). One of these leaves in a
// cycle, so that none of them sees what another one changes.
module wqe_open_wqes #(
  parameter int unsigned ContextLines = 1,
  parameter int unsigned LineBits     = ContextLines > 1 ? $clog2(ContextLines) : 1
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  output logic [31:0]               count_o,      // messages that have one, at the beginning of the cycle
  output logic [31:0]               count_5_o,
  input  logic                      forgets_1_i,  // a command forgets a message
  input  logic                      brings_3_i,
  input  logic [LineBits-1:0]       line_3_i,
  input  rxnic_link_pkg::open_wqe_t open_3_i,
  input  logic [LineBits-1:0]       line_4_i,
  output rxnic_link_pkg::open_wqe_t open_4_o,
  input  logic                      closes_4_i,
  input  logic [LineBits-1:0]       line_5_i,
  output rxnic_link_pkg::open_wqe_t open_5_o,
  input  logic                      leaves_5_i,
  input  rxnic_link_pkg::open_wqe_t open_5_i,
  output logic                      changes_5_o,
  input  logic [LineBits-1:0]       line_6_i,
  output rxnic_link_pkg::open_wqe_t open_6_o,
  input  logic                      closes_6_i,
  input  logic                      brings_7_i,
  input  logic [LineBits-1:0]       line_7_i,
  input  rxnic_link_pkg::open_wqe_t open_7_i
);

  localparam int unsigned OpenBits = rxnic_link_pkg::OpenWqeBits;

  // verilator coverage_off
  logic [OpenBits-1:0] open_wqes_q [ContextLines];
  // verilator coverage_on
  logic [31:0] count_q;

  always_comb begin : find_4
    open_4_o = open_wqes_q[line_4_i];
    if (brings_3_i && line_3_i == line_4_i) open_4_o = open_3_i;
  end
  always_comb begin : find_5
    open_5_o = open_wqes_q[line_5_i];
    if (brings_3_i && line_3_i == line_5_i) open_5_o = open_3_i;
  end
  assign changes_5_o = leaves_5_i && open_5_i != open_5_o;
  always_comb begin : find_6
    open_6_o = open_wqes_q[line_6_i];
    if (brings_3_i && line_3_i == line_6_i) open_6_o = open_3_i;
  end
  assign count_5_o = count_q - 32'(forgets_1_i);
  assign count_o = count_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      count_q <= '0;
    end else begin
      count_q <= count_5_o - 32'(closes_4_i || closes_6_i) +
                 32'(changes_5_o && open_5_i.wqe_slot != wqe_pkg::NoSlot) -
                 32'(changes_5_o && open_5_o.wqe_slot != wqe_pkg::NoSlot);
    end
  end

  always_ff @(posedge clk_i) begin : memory  // in the order of the steps
    if (brings_3_i) open_wqes_q[line_3_i] <= open_3_i;
    if (closes_4_i) open_wqes_q[line_4_i] <= wqe_pkg::NoOpenWqe;
    if (changes_5_o) open_wqes_q[line_5_i] <= open_5_i;
    if (closes_6_i) open_wqes_q[line_6_i] <= wqe_pkg::NoOpenWqe;
    if (brings_7_i) open_wqes_q[line_7_i] <= open_7_i;
  end

endmodule : wqe_open_wqes
