// SPDX-License-Identifier: Apache-2.0
// The scatter list of a WQE that comes into use: the segments that are of its list close up, zeros are behind them. A
// matched tag's buffer is a list of one element. No state in here.
module wqe_list (
  input  logic [31:0]                         slot_i,
  input  logic                                matched_i,
  input  logic [wqe_pkg::SegmentBits-1:0]     buffer_i,      // of the tag; without a length it is no element
  input  logic                                has_buffer_i,
  input  logic                                takes_i,       // a WQE
  input  logic [5:0]                          count_i,       // of its list
  input  logic [wqe_pkg::SegmentsHeld-1:0]    keeps_i,       // those of its segments that are of the list
  // verilator lint_off UNUSEDSIGNAL
  input  wqe_pkg::entry_t                     entry_i,       // that WQE
  // verilator lint_on UNUSEDSIGNAL
  output rxnic_link_pkg::scatter_list_write_t list_o
);

  localparam int unsigned SegmentBits = wqe_pkg::SegmentBits;
  localparam int unsigned ListBits = wqe_pkg::MaxSge * SegmentBits;

  always_comb begin : close_up
    list_o = '0;
    list_o.wqe_slot = slot_i;
    list_o.count = takes_i ? count_i : 6'(has_buffer_i);
    if (takes_i) begin
      for (int unsigned n = wqe_pkg::SegmentsHeld; n > 0; n--) begin
        if (keeps_i[n-1]) begin
          list_o.sge = {list_o.sge[ListBits-SegmentBits-1:0], entry_i.segments[(n-1)*SegmentBits+:SegmentBits]};
        end
      end
    end else if (matched_i && has_buffer_i) begin
      list_o.sge = ListBits'(buffer_i);
    end
  end

endmodule : wqe_list
