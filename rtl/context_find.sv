// SPDX-License-Identifier: Apache-2.0
// Looks for a context in its set of a cache of contexts (model/core/memory/context_cache.h). No state in here.
module context_find #(
  parameter int unsigned Ways    = 1,
  parameter int unsigned AgeBits = 1,
  parameter int unsigned WayBits = 28 + AgeBits
) (
  input  logic [23:0]             number_i,
  input  logic [Ways*WayBits-1:0] set_i,
  output logic                    here_o,
  output logic                    coming_o,
  output logic [AgeBits-1:0]      way_o,      // where it is, or where it comes to
  output logic                    free_o,     // a way is free: free_way_o
  output logic [AgeBits-1:0]      free_way_o
);

  logic [1:0] state;

  always_comb begin : find
    here_o = 1'b0;
    coming_o = 1'b0;
    free_o = 1'b0;
    free_way_o = '0;
    way_o = '0;
    for (int unsigned n = Ways; n > 0; n--) begin
      state = set_i[(n-1)*WayBits+26+AgeBits+:2];
      if (state == context_cache_pkg::LineEmpty) begin
        free_o = 1'b1;
        free_way_o = AgeBits'(n - 1);
      end else if (set_i[(n-1)*WayBits+:24] == number_i) begin
        here_o = state == context_cache_pkg::LineHere;
        coming_o = state == context_cache_pkg::LineReading;
        way_o = AgeBits'(n - 1);
      end
    end
  end

endmodule : context_find
