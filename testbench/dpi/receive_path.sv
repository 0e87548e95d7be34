// SPDX-License-Identifier: Apache-2.0
// The blocks of one NIC's receive path that rtl/ has, in rxnic's traffic.
module receive_path;
  import rxnic_dpi_pkg::*;

  tag_match_cam_module matcher ();
  grh_scatter_module scatter ();

  task automatic describe(input chandle server_h);
    matcher.module_h = rxnic_module(server_h, "tag_match_cam");
    matcher.pins(RXNIC_DESCRIBE);
    scatter.module_h = rxnic_module(server_h, "grh_scatter");
    scatter.pins(RXNIC_DESCRIBE);
  endtask

  // Answers for the module whose turn it is when it is one of these.
  task automatic exchange(input chandle turn_h);
    if (turn_h == matcher.module_h) begin
      matcher.pins(RXNIC_DRIVE);
      #1;
      matcher.pins(RXNIC_SAMPLE);
      rxnic_answer(turn_h);
    end
    if (turn_h == scatter.module_h) begin
      scatter.pins(RXNIC_DRIVE);
      #1;
      scatter.pins(RXNIC_SAMPLE);
      rxnic_answer(turn_h);
    end
  endtask

  // What an engineer's own testbench looks at: no piece crosses a page (model/core/memory/scatter_plan.h).
  localparam int unsigned PieceBits = rxnic_link_pkg::ScatteredSegmentBits;
  longint unsigned packets = 0, pieces = 0;
  int unsigned page_bytes = 4096;
  rxnic_link_pkg::scattered_segment_t piece;
  assign piece = scatter.out_o[PieceBits-1:0];

  always @(posedge scatter.clk_i) begin
    if (scatter.in_valid_i && scatter.in_ready_o) packets++;
    if (scatter.out_valid_o[0] && scatter.out_ready_i[0]) begin
      pieces++;
      if (piece.va % 64'(page_bytes) + 64'(piece.bytes) > 64'(page_bytes)) begin
        rxnic_fail(scatter.module_h, $sformatf("piece %0d: %0d bytes at %h cross a page of %0d bytes", pieces,
                                               piece.bytes, piece.va, page_bytes));
      end
    end
  end

endmodule : receive_path
