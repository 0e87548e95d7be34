// SPDX-License-Identifier: Apache-2.0
// An arbiter of fixed priority: which of the set bits is the lowest. No state in here; the path grows with the
// logarithm of Bits.
module rxnic_first_one #(
  parameter int unsigned Bits = 1,
  localparam int unsigned IndexBits = Bits > 1 ? $clog2(Bits) : 1
) (
  input  logic [Bits-1:0]      of_i,
  output logic                 valid_o,  // a bit is set
  output logic [IndexBits-1:0] index_o   // the lowest one; 0 when none is
);

  logic [Bits-1:0] alone;

  assign alone = of_i & (~of_i + Bits'(1));
  assign valid_o = |of_i;
  rxnic_encoder #(.Bits(Bits)) encoder (.of_i(alone), .index_o(index_o));

endmodule : rxnic_first_one
