// SPDX-License-Identifier: Apache-2.0
// One asker's look at the set of its context, in a cache of contexts: model/core/memory/context_cache.h (C) and
// context_waits.h (W). The cache is a memory of sets; the owner reads the set, and writes it back as it was looked up
// or used. No state in here.
module context_lookup #(
  parameter int unsigned Ways    = 1,
  parameter int unsigned AgeBits = 1,
  parameter int unsigned Askers  = 1,
  parameter int unsigned WayBits = 28 + AgeBits
) (
  input  logic [23:0]             number_i,
  input  logic                    ahead_i,        // it is read ahead (C R5)
  input  logic                    absent_i,       // a read has shown that there is none (W R3)
  input  logic                    may_read_i,     // a read may start now
  input  logic                    dirty_i,        // whoever uses it changes it
  input  logic [Ways-1:0]         kept_i,         // by way: the owner does not let it be evicted
  input  logic [Askers-1:0]       held_i,         // contexts that other askers wait for (W R2)
  input  logic [Askers*24-1:0]    held_numbers_i,
  input  logic [Ways*WayBits-1:0] set_i,
  output logic                    here_o,
  output logic                    coming_o,
  output logic [AgeBits-1:0]      way_o,          // here: where
  output logic                    fetches_o,      // a read starts: it comes to way_o
  output logic                    free_o,         // a way is free: free_way_o
  output logic [AgeBits-1:0]      free_way_o,
  output logic                    write_back_o,   // before: the evicted one is written
  output logic [23:0]             evicted_o,
  output logic [Ways*WayBits-1:0] fetched_set_o,  // fetches: the set behind the fetch
  output logic [Ways*WayBits-1:0] used_set_o      // here: the set when it is used
);

  typedef struct packed {
    logic [1:0]         state;
    logic               dirty;
    logic               ahead;   // read ahead, and not used yet
    logic [AgeBits-1:0] age;     // ways of its set that were used since
    logic [23:0]        number;
  } way_t;

  // verilator lint_off UNUSEDSIGNAL
  way_t looked, victim, placed;
  // verilator lint_on UNUSEDSIGNAL
  logic has_victim, needed;
  logic [AgeBits-1:0] here_way, victim_way;
  logic [Ways-1:0] evictable;
  logic [Ways*AgeBits-1:0] ages, fetched_ages;

  context_find #(.Ways(Ways), .AgeBits(AgeBits)) find (
    .number_i, .set_i, .here_o, .coming_o, .way_o(here_way), .free_o, .free_way_o
  );
  always_comb begin : spare
    for (int unsigned n = 0; n < Ways; n++) begin
      looked = set_i[n*WayBits+:WayBits];
      needed = 1'b0;
      for (int unsigned a = 0; a < Askers; a++) begin
        if (held_i[a] && held_numbers_i[a*24+:24] == looked.number) needed = 1'b1;
      end
      ages[n*AgeBits+:AgeBits] = looked.age;
      evictable[n] = looked.state == context_cache_pkg::LineHere && !(ahead_i && looked.ahead) && !kept_i[n] && !needed;
    end
  end
  always_comb begin : evict
    victim = '0;
    for (int unsigned n = 0; n < Ways; n++) if (AgeBits'(n) == victim_way) victim = set_i[n*WayBits+:WayBits];
  end
  assign fetches_o = !here_o && !coming_o && !absent_i && may_read_i && (free_o || has_victim);
  assign write_back_o = fetches_o && !free_o && victim.dirty;
  assign evicted_o = victim.number;
  assign way_o = !fetches_o ? here_way : free_o ? free_way_o : victim_way;

  rxnic_lru_set #(.Ways(Ways), .AgeBits(AgeBits)) order_of_fetch (
    .ages_i(ages), .among_i(evictable), .valid_o(has_victim), .oldest_o(victim_way), .used_i(way_o),
    .ages_o(fetched_ages)
  );
  context_use #(.Ways(Ways), .AgeBits(AgeBits)) use_way (
    .set_i(set_i), .way_i(here_way), .dirty_i(dirty_i), .set_o(used_set_o)
  );

  always_comb begin : replace
    for (int unsigned n = 0; n < Ways; n++) begin
      placed = set_i[n*WayBits+:WayBits];
      if (AgeBits'(n) == way_o) begin
        placed.state = context_cache_pkg::LineReading;
        placed.number = number_i;
        placed.dirty = 1'b0;
        placed.ahead = ahead_i;
      end
      placed.age = fetched_ages[n*AgeBits+:AgeBits];
      fetched_set_o[n*WayBits+:WayBits] = placed;
    end
  end

endmodule : context_lookup
