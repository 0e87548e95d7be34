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
  way_t looked, victim, placed, used;
  // verilator lint_on UNUSEDSIGNAL
  logic has_victim, needed;
  logic [AgeBits-1:0] here_way, victim_way;
  logic [Ways-1:0] evictable;
  logic [Ways*AgeBits-1:0] ages, fetched_ages, used_ages;

  always_comb begin : find
    here_o = 1'b0;
    coming_o = 1'b0;
    free_o = 1'b0;
    free_way_o = '0;
    here_way = '0;
    for (int unsigned n = Ways; n > 0; n--) begin
      looked = set_i[(n-1)*WayBits+:WayBits];
      if (looked.state == context_cache_pkg::LineEmpty) begin
        free_o = 1'b1;
        free_way_o = AgeBits'(n - 1);
      end else if (looked.number == number_i) begin
        here_o = looked.state == context_cache_pkg::LineHere;
        coming_o = looked.state == context_cache_pkg::LineReading;
        here_way = AgeBits'(n - 1);
      end
      needed = 1'b0;
      for (int unsigned a = 0; a < Askers; a++) begin
        if (held_i[a] && held_numbers_i[a*24+:24] == looked.number) needed = 1'b1;
      end
      ages[(n-1)*AgeBits+:AgeBits] = looked.age;
      evictable[n-1] = looked.state == context_cache_pkg::LineHere && !(ahead_i && looked.ahead) &&
                       !kept_i[n-1] && !needed;
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
  // verilator lint_off PINCONNECTEMPTY
  rxnic_lru_set #(.Ways(Ways), .AgeBits(AgeBits)) order_of_use (
    .ages_i(ages), .among_i('0), .valid_o(), .oldest_o(), .used_i(here_way), .ages_o(used_ages)
  );
  // verilator lint_on PINCONNECTEMPTY

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

  always_comb begin : use_it
    for (int unsigned n = 0; n < Ways; n++) begin
      used = set_i[n*WayBits+:WayBits];
      if (AgeBits'(n) == here_way) begin
        used.ahead = 1'b0;
        used.dirty = used.dirty || dirty_i;
      end
      used.age = used_ages[n*AgeBits+:AgeBits];
      used_set_o[n*WayBits+:WayBits] = used;
    end
  end

endmodule : context_lookup
