// SPDX-License-Identifier: Apache-2.0
// A set of a cache of contexts when a context has come that was read for it (model/core/memory/context_cache.h R4). No
// state in here.
module context_arrival #(
  parameter int unsigned Ways    = 1,
  parameter int unsigned AgeBits = 1,
  parameter int unsigned WayBits = 28 + AgeBits
) (
  input  logic [Ways*WayBits-1:0] set_i,
  input  logic [AgeBits-1:0]      way_i,     // where it has come to
  input  logic                    exists_i,  // memory has such a context
  output logic [23:0]             number_o,
  output logic                    ahead_o,   // it was read ahead
  output logic [Ways*WayBits-1:0] set_o
);

  typedef struct packed {
    logic [1:0]         state;
    logic               dirty;
    logic               ahead;   // read ahead, and not used yet
    logic [AgeBits-1:0] age;     // ways of its set that were used since
    logic [23:0]        number;
  } way_t;

  way_t come;

  always_comb begin : arrive
    number_o = '0;
    ahead_o = 1'b0;
    for (int unsigned n = 0; n < Ways; n++) begin
      come = set_i[n*WayBits+:WayBits];
      if (AgeBits'(n) == way_i) begin
        number_o = come.number;
        ahead_o = come.ahead;
        come.state = exists_i ? context_cache_pkg::LineHere : context_cache_pkg::LineEmpty;
      end
      set_o[n*WayBits+:WayBits] = come;
    end
  end

endmodule : context_arrival
