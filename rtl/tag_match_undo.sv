// SPDX-License-Identifier: Apache-2.0
// Matches of tag_match_cam that may still come back: the last MostReturns ones, as the WQE fetcher has no more of them
// (R10, R14). In a cycle one match is remembered at most. What step 3 finds in the overflow may be put back in the same
// cycle (4).
module tag_match_undo #(
  parameter int unsigned Lists       = 1,
  parameter int unsigned MostReturns = 1,
  localparam int unsigned ListBits = Lists > 1 ? $clog2(Lists) : 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  // (3) a match in the overflow
  input  logic                  remembers_3_i,
  input  logic [ListBits-1:0]   at_3_i,
  input  tag_match_pkg::entry_t entry_3_i,
  // (4) the youngest of a list with this handle; 0 when there is none
  input  logic                  looks_4_i,
  input  logic [ListBits-1:0]   at_4_i,
  input  logic [31:0]           handle_4_i,
  output tag_match_pkg::entry_t entry_4_o,
  // (5), (7) a match in the CAM
  input  logic                  remembers_7_i,
  input  logic [ListBits-1:0]   at_7_i,
  input  tag_match_pkg::entry_t entry_7_i
);

  localparam int unsigned EntryBits = tag_match_pkg::EntryBits;
  localparam int unsigned PlaceBits = MostReturns > 1 ? $clog2(MostReturns) : 1;

  // What is written to memories and read from them counts.
  // verilator coverage_off
  logic [EntryBits-1:0] undo_q [MostReturns];
  logic [ListBits-1:0]  lists_q [MostReturns];
  // verilator coverage_on
  logic [PlaceBits-1:0] next_q, n;
  tag_match_pkg::entry_t compared;

  always_comb begin : find
    entry_4_o = '0;
    compared = '0;
    n = next_q;
    if (looks_4_i) begin
      for (int unsigned k = 0; k < MostReturns; k++) begin  // the youngest last
        compared = undo_q[n];
        if (lists_q[n] == at_4_i && compared.handle == handle_4_i) entry_4_o = compared;
        n = n == PlaceBits'(MostReturns - 1) ? '0 : n + PlaceBits'(1);
      end
      if (remembers_3_i && at_3_i == at_4_i && entry_3_i.handle == handle_4_i) entry_4_o = entry_3_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) next_q <= '0;
    else if (remembers_3_i || remembers_7_i) begin
      next_q <= next_q == PlaceBits'(MostReturns - 1) ? '0 : next_q + PlaceBits'(1);
    end
  end
  always_ff @(posedge clk_i) begin : memory
    if (remembers_3_i || remembers_7_i) begin
      undo_q[next_q] <= remembers_3_i ? entry_3_i : entry_7_i;
      lists_q[next_q] <= remembers_3_i ? at_3_i : at_7_i;
    end
  end

endmodule : tag_match_undo
