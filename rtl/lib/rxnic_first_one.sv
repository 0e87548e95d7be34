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

  // The bits whose number has this bit.
  function automatic logic [Bits-1:0] with_bit(input int unsigned bit_);
    for (int unsigned n = 0; n < Bits; n++) with_bit[n] = ((n >> bit_) & 1) != 0;
  endfunction

  assign alone = of_i & (~of_i + Bits'(1));
  assign valid_o = |of_i;
  for (genvar n = 0; n < IndexBits; n++) begin : gen_index
    localparam logic [Bits-1:0] Mask = with_bit(n);
    assign index_o[n] = |(alone & Mask);
  end

endmodule : rxnic_first_one
