// SPDX-License-Identifier: Apache-2.0
// A WQE as the device reads it (R5): model/core/receive_queue/wqe_format.h (F). Its list are the segments with a
// length, up to one that ends it. It is bad when it could not be read, or when it holds more than 2 GiB. A list that is
// too long or names no key makes it bad, too. No state in here.
module wqe_parse (
  input  logic                               runs_i,   // entry_i is one
  input  logic                               linked_i,
  input  logic [12:0]                        stride_i,
  // verilator lint_off UNUSEDSIGNAL
  input  wqe_pkg::entry_t                    entry_i,  // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  output logic                               valid_o,
  output logic [5:0]                         count_o,  // of its list
  output logic [wqe_pkg::SegmentsHeld-1:0]   keeps_o,  // the segments that are of its list
  output logic [37:0]                        bytes_o
);

  localparam logic [31:0] InvalidKey = 32'h100;

  // verilator lint_off UNUSEDSIGNAL
  rxnic_link_pkg::data_segment_t segment;
  // verilator lint_on UNUSEDSIGNAL
  logic [31:0] fit;
  logic ended, bad;

  always_comb begin : parse
    fit = (wqe_pkg::bytes_used(linked_i, stride_i) >> 4) - (linked_i ? 32'd1 : 32'd0);
    ended = 1'b0;
    bad = 1'b0;
    count_o = '0;
    bytes_o = '0;
    keeps_o = '0;
    segment = '0;
    if (runs_i) begin
      for (int unsigned n = 0; n < wqe_pkg::SegmentsHeld; n++) begin
        segment = entry_i.segments[n*wqe_pkg::SegmentBits+:wqe_pkg::SegmentBits];
        if (32'(n) >= fit || segment.lkey == InvalidKey) begin
          ended = 1'b1;
        end else if (!ended && !bad) begin
          if (n == wqe_pkg::MaxSge || (segment.length != '0 && segment.lkey == '0)) begin
            bad = 1'b1;
          end else if (segment.length != '0) begin
            keeps_o[n] = 1'b1;
            count_o = count_o + 6'd1;
            bytes_o = bytes_o + 38'(segment.length);
          end
        end
      end
    end
    valid_o = entry_i.readable && !bad && bytes_o <= 38'h8000_0000;
    if (!valid_o) begin
      keeps_o = '0;
      count_o = '0;
      bytes_o = '0;
    end
  end

endmodule : wqe_parse
