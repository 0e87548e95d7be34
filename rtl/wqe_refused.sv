// SPDX-License-Identifier: Apache-2.0
// What is refused of each QP (R4, R9): core/responder/refusal.h. A request to flush refuses all requests of its QP (3);
// the oldest packet finds what is refused, and may add to it (5). What an earlier QP on the same line had does not
// count.
module wqe_refused #(
  parameter int unsigned ContextLines = 1,
  parameter int unsigned LineBits     = ContextLines > 1 ? $clog2(ContextLines) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                refuses_3_i,
  input  logic [LineBits-1:0] line_3_i,
  input  logic [31:0]         residence_3_i,
  input  logic [LineBits-1:0] line_5_i,
  input  logic [31:0]         residence_5_i,
  output wqe_pkg::refused_t   refused_5_o,
  input  logic                refuses_5_i,
  input  wqe_pkg::refused_t   refused_5_i
);

  localparam int unsigned RefusedBits = wqe_pkg::RefusedBits;

  // verilator coverage_off
  logic [RefusedBits-1:0]  refused_q [ContextLines];
  // verilator coverage_on
  logic [ContextLines-1:0] refused_valid_q;
  wqe_pkg::refused_t found_3, refused_3, found_5;

  always_comb begin : refuse_3
    found_3 = refused_q[line_3_i];
    if (!refused_valid_q[line_3_i]) found_3 = '0;
    refused_3 = found_3.residence != residence_3_i ? '0 : found_3;
    refused_3.residence = residence_3_i;
    refused_3.requests = 1'b1;
  end

  always_comb begin : find_5
    found_5 = refused_q[line_5_i];
    if (!refused_valid_q[line_5_i]) found_5 = '0;
    if (refuses_3_i && line_3_i == line_5_i) found_5 = refused_3;
    refused_5_o = found_5.residence != residence_5_i ? '0 : found_5;
    refused_5_o.residence = residence_5_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      refused_valid_q <= '0;
    end else begin
      if (refuses_3_i) refused_valid_q[line_3_i] <= 1'b1;
      if (refuses_5_i) refused_valid_q[line_5_i] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin : memory
    if (refuses_3_i) refused_q[line_3_i] <= refused_3;
    if (refuses_5_i) refused_q[line_5_i] <= refused_5_i;
  end

endmodule : wqe_refused
