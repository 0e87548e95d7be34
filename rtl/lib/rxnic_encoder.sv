// SPDX-License-Identifier: Apache-2.0
// The number of the one bit that is set. No state in here; the path grows with the logarithm of Bits.
module rxnic_encoder #(
  parameter int unsigned Bits = 1,
  localparam int unsigned IndexBits = Bits > 1 ? $clog2(Bits) : 1
) (
  input  logic [Bits-1:0]      of_i,    // one bit at most
  output logic [IndexBits-1:0] index_o  // 0 when none is set
);

  localparam int unsigned Numbers = 1 << IndexBits;

  for (genvar n = 0; n < IndexBits; n++) begin : gen_index
    // The bits whose number has bit n: as many ones as zeros, by turns.
    localparam logic [Numbers-1:0] Mask = {(Numbers >> (n + 1)){{(1 << n){1'b1}}, {(1 << n){1'b0}}}};
    assign index_o[n] = |(of_i & Mask[Bits-1:0]);
  end

endmodule : rxnic_encoder
