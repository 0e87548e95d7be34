// SPDX-License-Identifier: Apache-2.0
// A place beside a connection, for two ends of which one decides `valid` by `ready` and the other `ready` by `valid`.
//
//   R1  ready_o depends on registers alone.
//   R2  A word passes in the cycle in which it comes when the other end is ready. Otherwise the word is kept, and
//       passes before the next one. No word is lost, doubled, or passed by another.
//   R3  It costs no cycle: a word passes in each cycle in which the one end has a word, and the other is ready.
module rxnic_skid_buffer #(
  parameter int unsigned Bits = 1
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            valid_i,
  output logic            ready_o,
  input  logic [Bits-1:0] word_i,
  output logic            valid_o,
  input  logic            ready_i,
  output logic [Bits-1:0] word_o
);

  logic            kept_q;
  logic [Bits-1:0] word_q;

  assign ready_o = !kept_q;
  assign valid_o = kept_q || valid_i;
  assign word_o = kept_q ? word_q : word_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) kept_q <= 1'b0;
    else kept_q <= valid_o && !ready_i;
  end
  always_ff @(posedge clk_i) if (!kept_q) word_q <= word_i;

endmodule : rxnic_skid_buffer
