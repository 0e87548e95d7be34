// SPDX-License-Identifier: Apache-2.0
// A set of a cache of contexts when one of its contexts is used (model/core/memory/context_cache.h): its way becomes
// the one that was used last. No state in here.
module context_use #(
  parameter int unsigned Ways    = 1,
  parameter int unsigned AgeBits = 1,
  parameter int unsigned WayBits = 28 + AgeBits
) (
  input  logic [Ways*WayBits-1:0] set_i,
  input  logic [AgeBits-1:0]      way_i,
  input  logic                    dirty_i,  // whoever uses it changes it
  output logic [Ways*WayBits-1:0] set_o
);

  typedef struct packed {
    logic [1:0]         state;
    logic               dirty;
    logic               ahead;   // read ahead, and not used yet
    logic [AgeBits-1:0] age;     // ways of its set that were used since
    logic [23:0]        number;
  } way_t;

  way_t used;
  logic [Ways*AgeBits-1:0] ages, used_ages;

  for (genvar n = 0; n < Ways; n++) begin : gen_ages
    assign ages[n*AgeBits+:AgeBits] = set_i[n*WayBits+24+:AgeBits];
  end
  // verilator lint_off PINCONNECTEMPTY
  rxnic_lru_set #(.Ways(Ways), .AgeBits(AgeBits)) order (
    .ages_i(ages), .among_i('0), .valid_o(), .oldest_o(), .used_i(way_i), .ages_o(used_ages)
  );
  // verilator lint_on PINCONNECTEMPTY

  always_comb begin : use_it
    for (int unsigned n = 0; n < Ways; n++) begin
      used = set_i[n*WayBits+:WayBits];
      if (AgeBits'(n) == way_i) begin
        used.ahead = 1'b0;
        used.dirty = used.dirty || dirty_i;
      end
      used.age = used_ages[n*AgeBits+:AgeBits];
      set_o[n*WayBits+:WayBits] = used;
    end
  end

endmodule : context_use
