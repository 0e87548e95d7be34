// SPDX-License-Identifier: Apache-2.0
// Matches of tag_match_cam that came back (2) and are to be put back in their order (R14). When a list is removed (1)
// its matches keep only their places. The first match goes when its list fails (3), or when step 4 has dealt with it.
module tag_match_returns #(
  parameter int unsigned Lists       = 1,
  parameter int unsigned MostReturns = 1,
  localparam int unsigned ListBits  = Lists > 1 ? $clog2(Lists) : 1,
  localparam int unsigned CountBits = $clog2(MostReturns + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  output logic [CountBits-1:0] count_o,
  input  logic                 job_i,         // it puts the first one back
  output logic [ListBits-1:0]  next_list_o,   // of the next one that step 4 may put back without a job
  input  logic                 forgets_1_i,
  input  logic [ListBits-1:0]  at_1_i,
  input  logic                 comes_2_i,
  input  logic [ListBits-1:0]  at_2_i,
  input  logic [31:0]          handle_2_i,
  input  logic                 drops_3_i,
  // (4) the first one
  output logic                 any_4_o,
  output logic                 valid_4_o,     // its list is there
  output logic [ListBits-1:0]  at_4_o,
  output logic [31:0]          handle_4_o,
  input  logic                 drops_4_i,
  output logic                 any_5_o
);

  localparam int unsigned PlaceBits = MostReturns > 1 ? $clog2(MostReturns) : 1;

  logic [CountBits-1:0]   count_q, count_2, count_3, count_4;
  logic [PlaceBits-1:0]   first_q, first_3, first_4, next_q, next_without_job;
  logic [MostReturns-1:0] valid_q, valid_1;
  // What is written to memories and read from them counts.
  // verilator coverage_off
  logic [ListBits-1:0]    lists_q [MostReturns];
  logic [31:0]            handles_q [MostReturns];
  // verilator coverage_on

  assign count_o = count_q;
  always_comb begin : forget
    valid_1 = valid_q;
    if (forgets_1_i) begin
      for (int unsigned n = 0; n < MostReturns; n++) if (lists_q[n] == at_1_i) valid_1[n] = 1'b0;
    end
  end
  assign count_2 = count_q + CountBits'(comes_2_i);
  assign count_3 = count_2 - CountBits'(drops_3_i);
  assign count_4 = count_3 - CountBits'(drops_4_i);
  assign any_4_o = count_3 != '0;
  assign any_5_o = count_4 != '0;

  function automatic logic [PlaceBits-1:0] behind(input logic [PlaceBits-1:0] place);
    behind = place == PlaceBits'(MostReturns - 1) ? '0 : place + PlaceBits'(1);
  endfunction
  // When the first one's list fails (3) the second one may be put back in the same cycle.
  assign next_without_job = job_i ? behind(first_q) : first_q;
  assign next_list_o = comes_2_i && next_without_job == next_q ? at_2_i : lists_q[next_without_job];
  assign first_3 = drops_3_i ? behind(first_q) : first_q;
  assign first_4 = drops_4_i ? behind(first_3) : first_3;
  always_comb begin : first
    if (comes_2_i && first_3 == next_q) begin  // the one that has just come
      valid_4_o = 1'b1;
      at_4_o = at_2_i;
      handle_4_o = handle_2_i;
    end else begin
      valid_4_o = valid_1[first_3];
      at_4_o = lists_q[first_3];
      handle_4_o = handles_q[first_3];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      first_q <= '0;
      next_q <= '0;
      valid_q <= '0;
    end else begin
      count_q <= count_4;
      first_q <= first_4;
      valid_q <= valid_1;
      if (comes_2_i) begin
        next_q <= behind(next_q);
        valid_q[next_q] <= 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i) begin : memory
    if (comes_2_i) begin
      lists_q[next_q] <= at_2_i;
      handles_q[next_q] <= handle_2_i;
    end
  end

endmodule : tag_match_returns
