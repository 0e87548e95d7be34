// SPDX-License-Identifier: Apache-2.0
// The number of the one bit that is set. No state in here; the path grows with the logarithm of Bits.
module rxnic_encoder #(
  parameter int unsigned Bits = 1,
  localparam int unsigned IndexBits = Bits > 1 ? $clog2(Bits) : 1
) (
  input  logic [Bits-1:0]      of_i,    // one bit at most
  output logic [IndexBits-1:0] index_o  // 0 when none is set
);

  for (genvar n = 0; n < IndexBits; n++) begin : gen_index
    localparam int unsigned Run = 1 << n;
    localparam int unsigned Runs = Bits / (2 * Run) + 1;
    // The bits whose number has bit n: runs of ones and zeros in turn. (No loop, which a tool would have to unroll.)
    localparam logic [2*Run*Runs-1:0] WithBit = {Runs{{Run{1'b1}}, {Run{1'b0}}}};
    assign index_o[n] = |(of_i & WithBit[Bits-1:0]);
  end

endmodule : rxnic_encoder
