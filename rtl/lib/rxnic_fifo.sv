// SPDX-License-Identifier: Apache-2.0
// A FIFO of Depth words.
//
//   R1  Words leave in the order in which they came. When several come in one cycle the word of lane 0 is the first.
//   R2  A word that comes in cycle n is shown from cycle n + 1 on: outputs depend on registers alone.
//   R3  A place is free in the cycle in which its word goes: a full FIFO takes a word while another one goes. A word
//       may also go in the cycle in which it comes: whoever hands it on at once pushes and pops it.
//   R4  Whoever uses it pushes no more words than there is room for, and pops no more than there are.
module rxnic_fifo #(
  parameter int unsigned Bits   = 1,
  parameter int unsigned Depth  = 1,
  parameter int unsigned Pushes = 1,  // most words that come in a cycle
  parameter int unsigned Pops   = 1,  // most words that go in a cycle
  localparam int unsigned PushBits  = $clog2(Pushes + 1),
  localparam int unsigned PopBits   = $clog2(Pops + 1),
  localparam int unsigned CountBits = $clog2(Depth + 1)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic [PushBits-1:0]    push_i,   // so many words come, those of the first lanes of words_i
  input  logic [Pushes*Bits-1:0] words_i,
  input  logic [PopBits-1:0]     pop_i,    // so many of the first words go
  output logic [CountBits-1:0]   count_o,  // words that are here
  output logic [Pops*Bits-1:0]   words_o   // the first of them; what stands in lanes from count_o on has no meaning
);

  localparam int unsigned PlaceBits = Depth > 1 ? $clog2(Depth) : 1;
  localparam int unsigned SumBits = $clog2(2 * Depth + Pushes + Pops + 1);

  logic [PlaceBits-1:0] first_q, next;  // the place of the first word, and of the next one that comes
  logic [CountBits-1:0] count_q;
  // What is written to a memory and read from it counts.
  // verilator coverage_off
  logic [Bits-1:0]      words_q [Depth];
  // verilator coverage_on

  // The n-th place behind one; n is no more than Depth.
  function automatic logic [PlaceBits-1:0] place_at(input logic [PlaceBits-1:0] from, input logic [SumBits-1:0] n);
    // verilator lint_off UNUSEDSIGNAL
    logic [SumBits-1:0] place;
    // verilator lint_on UNUSEDSIGNAL
    place = SumBits'(from) + n;
    if (place >= SumBits'(Depth)) place = place - SumBits'(Depth);
    place_at = place[PlaceBits-1:0];
  endfunction

  assign count_o = count_q;
  assign next = place_at(first_q, SumBits'(count_q));
  always_comb begin : show
    for (int unsigned n = 0; n < Pops; n++) words_o[n*Bits+:Bits] = words_q[place_at(first_q, SumBits'(n))];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_q <= '0;
      count_q <= '0;
    end else begin
      first_q <= place_at(first_q, SumBits'(pop_i));
      count_q <= CountBits'(SumBits'(count_q) + SumBits'(push_i) - SumBits'(pop_i));
    end
  end

  always_ff @(posedge clk_i) begin : write
    for (int unsigned n = 0; n < Pushes; n++) begin
      if (PushBits'(n) < push_i) words_q[place_at(next, SumBits'(n))] <= words_i[n*Bits+:Bits];
    end
  end

`ifndef SYNTHESIS
  logic in_reset;  // checkers/checker_macros.svh says why
  assign in_reset = !rst_ni;
  r4_room: assert property (@(posedge clk_i) disable iff (in_reset)
                            SumBits'(count_q) + SumBits'(push_i) <= SumBits'(Depth) + SumBits'(pop_i));
  r4_words: assert property (@(posedge clk_i) disable iff (in_reset)
                             SumBits'(pop_i) <= SumBits'(count_q) + SumBits'(push_i));
`endif

endmodule : rxnic_fifo
