// SPDX-License-Identifier: Apache-2.0
// A set of a cache of contexts when a command makes or removes a context (model/core/memory/context_cache.h). One that
// is made is put in a way, where it is the youngest; one that is removed leaves its way free. No state in here.
module context_place #(
  parameter int unsigned Ways    = 1,
  parameter int unsigned AgeBits = 1,
  parameter int unsigned WayBits = 28 + AgeBits
) (
  input  logic [Ways*WayBits-1:0] set_i,
  input  logic [AgeBits-1:0]      way_i,
  input  logic                    places_i,
  input  logic [23:0]             number_i,   // of the one that is made
  input  logic                    is_here_i,  // it has been in this way before: as old as it was
  input  logic                    dirty_i,    // memory does not have it
  input  logic                    removes_i,
  output logic [Ways*WayBits-1:0] set_o
);

  typedef struct packed {
    logic [1:0]         state;
    logic               dirty;
    logic               ahead;   // read ahead, and not used yet
    logic [AgeBits-1:0] age;     // ways of its set that were used since
    logic [23:0]        number;
  } way_t;

  way_t placed;
  logic [Ways*AgeBits-1:0] ages, placed_ages;

  for (genvar n = 0; n < Ways; n++) begin : gen_ages
    assign ages[n*AgeBits+:AgeBits] = set_i[n*WayBits+24+:AgeBits];
  end
  // verilator lint_off PINCONNECTEMPTY
  rxnic_lru_set #(.Ways(Ways), .AgeBits(AgeBits)) order (
    .ages_i(ages), .among_i('0), .valid_o(), .oldest_o(), .used_i(way_i), .ages_o(placed_ages)
  );
  // verilator lint_on PINCONNECTEMPTY

  always_comb begin : place
    for (int unsigned n = 0; n < Ways; n++) begin
      placed = set_i[n*WayBits+:WayBits];
      if (places_i && AgeBits'(n) == way_i) begin
        placed.state = context_cache_pkg::LineHere;
        placed.number = number_i;
        placed.dirty = dirty_i;
        placed.ahead = 1'b0;
      end
      if (removes_i && AgeBits'(n) == way_i) placed.state = context_cache_pkg::LineEmpty;
      if (places_i && !is_here_i) placed.age = placed_ages[n*AgeBits+:AgeBits];
      set_o[n*WayBits+:WayBits] = placed;
    end
  end

endmodule : context_place
