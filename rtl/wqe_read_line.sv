// SPDX-License-Identifier: Apache-2.0
// The line of prefetch contexts that may want a read (R3): T R3 of model/core/receive_queue/work_queue_table.h. A step
// may put one at its end, unless it is in the line already. Step 8 takes the first one, and may put it back. One that
// was put there in a cycle may be taken in the same one. Steps have the numbers of srq_wqe_fetcher.
module wqe_read_line #(
  parameter int unsigned Queues      = 1,
  parameter int unsigned ContextBits = Queues > 1 ? $clog2(Queues) : 1,
  parameter int unsigned CountBits   = $clog2(Queues + 1),
  parameter int unsigned Places      = 1 << ContextBits
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  output logic [CountBits-1:0]   count_o,     // at the beginning of the cycle
  output logic [CountBits-1:0]   count_8_o,   // at its end
  input  logic                   joins_0_i,
  input  logic [ContextBits-1:0] context_0_i,
  input  logic                   joins_2_i,
  input  logic [ContextBits-1:0] context_2_i,
  input  logic                   joins_3_i,
  input  logic [ContextBits-1:0] context_3_i,
  input  logic                   joins_5_i,
  input  logic [ContextBits-1:0] context_5_i,
  input  logic                   joins_7_i,
  input  logic [ContextBits-1:0] context_7_i,
  output logic                   any_8_o,
  output logic [ContextBits-1:0] first_8_o,
  input  logic                   takes_8_i,
  input  logic                   joins_8_i    // the one that is taken joins again
);

  localparam int unsigned Pushes = 6;  // five joined before the last one
  localparam int unsigned WordsBits = Pushes * ContextBits;

  logic [Places-1:0] lined_q, lined_7, lined_8;  // they are in the line
  logic [2:0] pushes_7, pushes_8;
  logic [WordsBits-1:0] words_7, words_8;
  logic [ContextBits-1:0] first;
  logic [4:0] joins;
  logic [5*ContextBits-1:0] contexts;

  assign joins = {joins_7_i, joins_5_i, joins_3_i, joins_2_i, joins_0_i};
  assign contexts = {context_7_i, context_5_i, context_3_i, context_2_i, context_0_i};
  always_comb begin : join_line
    lined_7 = lined_q;
    pushes_7 = '0;
    words_7 = '0;
    for (int unsigned n = 0; n < 5; n++) begin
      if (joins[n] && !lined_7[contexts[n*ContextBits+:ContextBits]]) begin
        lined_7[contexts[n*ContextBits+:ContextBits]] = 1'b1;
        for (int unsigned w = 0; w < 5; w++) begin
          if (3'(w) == pushes_7) words_7[w*ContextBits+:ContextBits] = contexts[n*ContextBits+:ContextBits];
        end
        pushes_7 = pushes_7 + 3'd1;
      end
    end
  end
  assign any_8_o = count_o != '0 || pushes_7 != '0;
  assign first_8_o = count_o != '0 ? first : words_7[ContextBits-1:0];

  always_comb begin : leave_line
    lined_8 = lined_7;
    pushes_8 = pushes_7;
    words_8 = words_7;
    if (takes_8_i && !joins_8_i) lined_8[first_8_o] = 1'b0;
    if (takes_8_i && joins_8_i) begin
      for (int unsigned w = 0; w < Pushes; w++) begin
        if (3'(w) == pushes_7) words_8[w*ContextBits+:ContextBits] = first_8_o;
      end
      pushes_8 = pushes_7 + 3'd1;
    end
  end

  rxnic_fifo #(.Bits(ContextBits), .Depth(Queues), .Pushes(Pushes)) line (
    .clk_i, .rst_ni, .push_i(pushes_8), .words_i(words_8), .pop_i(takes_8_i), .count_o, .words_o(first)
  );
  assign count_8_o = CountBits'(32'(count_o) + 32'(pushes_8) - 32'(takes_8_i));

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) lined_q <= '0;
    else lined_q <= lined_8;
  end

endmodule : wqe_read_line
