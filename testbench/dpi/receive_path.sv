// SPDX-License-Identifier: Apache-2.0
// The blocks of one NIC's receive path, in rxnic's traffic. scripts/dpi_module makes the modules.

// Answers for the block whose turn it is.
`define RXNIC_TURN(block) \
  if (turn_h == block.module_h) begin \
    block.pins(RXNIC_DRIVE); \
    #1; \
    block.pins(RXNIC_SAMPLE); \
    rxnic_answer(turn_h); \
  end

`define RXNIC_OFFER(block, name) \
  block.module_h = rxnic_module(server_h, name); \
  block.pins(RXNIC_DESCRIBE);

module receive_path;
  import rxnic_dpi_pkg::*;

  // As many QP contexts on the chip as any configuration asks for: they only address memories.
  localparam int unsigned ContextLines = 8192;

  tag_match_cam_module matcher ();
  grh_scatter_module #(.ContextLines(ContextLines)) scatter ();
  cqe_generator_module #(.ContextLines(ContextLines)) completions ();
  srq_wqe_fetcher_module #(.ContextLines(ContextLines)) fetcher ();

  task automatic describe(input chandle server_h);
    `RXNIC_OFFER(matcher, "tag_match_cam")
    `RXNIC_OFFER(scatter, "grh_scatter")
    `RXNIC_OFFER(completions, "cqe_generator")
    `RXNIC_OFFER(fetcher, "srq_wqe_fetcher")
  endtask

  task automatic exchange(input chandle turn_h);
    `RXNIC_TURN(matcher)
    `RXNIC_TURN(scatter)
    `RXNIC_TURN(completions)
    `RXNIC_TURN(fetcher)
  endtask

  // What an engineer's own testbench looks at: no piece crosses a page (model/core/memory/scatter_plan.h).
  localparam int unsigned PieceBits = rxnic_link_pkg::ScatteredSegmentBits;
  longint unsigned packets = 0, pieces = 0, cqes = 0;
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

  always @(posedge completions.clk_i) begin
    if (completions.dma_valid_o && completions.dma_ready_i) cqes += 64'(completions.dma_o.cqes);
  end

endmodule : receive_path
