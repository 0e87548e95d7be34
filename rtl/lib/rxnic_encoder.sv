// SPDX-License-Identifier: Apache-2.0
// The number of the one bit that is set. No state in here; the path grows with the logarithm of Bits.
module rxnic_encoder #(
  parameter int unsigned Bits = 1,
  localparam int unsigned IndexBits = Bits > 1 ? $clog2(Bits) : 1
) (
  input  logic [Bits-1:0]      of_i,    // one bit at most
  output logic [IndexBits-1:0] index_o  // 0 when none is set
);

  // The bits whose number has this bit.
  function automatic logic [Bits-1:0] with_bit(input int unsigned bit_);
    for (int unsigned n = 0; n < Bits; n++) with_bit[n] = ((n >> bit_) & 1) != 0;
  endfunction

  for (genvar n = 0; n < IndexBits; n++) begin : gen_index
    localparam logic [Bits-1:0] Mask = with_bit(n);
    assign index_o[n] = |(of_i & Mask);
  end

endmodule : rxnic_encoder
