// SPDX-License-Identifier: Apache-2.0
// One asker's look at the set of its context, in a cache of contexts: model/core/memory/context_cache.h (C) and
// context_waits.h (W). The cache is a memory of sets; the owner reads the set, and writes it back as it was looked up
// or used. No state in here.
`ifndef RXNIC_CONTEXT_LOOKUP
`define RXNIC_CONTEXT_LOOKUP

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
  way_t looked, placed, used, older, turned;
  // verilator lint_on UNUSEDSIGNAL
  logic has_victim, needed, writes_back;
  logic [AgeBits-1:0] here_way, place, victim_age, here_age;
  logic [23:0] victim;

  always_comb begin : find
    here_o = 1'b0;
    coming_o = 1'b0;
    free_o = 1'b0;
    free_way_o = '0;
    here_way = '0;
    here_age = '0;
    has_victim = 1'b0;
    place = '0;
    victim_age = '0;
    victim = '0;
    writes_back = 1'b0;
    for (int unsigned n = Ways; n > 0; n--) begin
      looked = set_i[(n-1)*WayBits+:WayBits];
      if (looked.state == context_cache_pkg::LineEmpty) begin
        free_o = 1'b1;
        free_way_o = AgeBits'(n - 1);
      end else if (looked.number == number_i) begin
        here_o = looked.state == context_cache_pkg::LineHere;
        coming_o = looked.state == context_cache_pkg::LineReading;
        here_way = AgeBits'(n - 1);
        here_age = looked.age;
      end
      needed = 1'b0;
      for (int unsigned a = 0; a < Askers; a++) begin
        if (held_i[a] && held_numbers_i[a*24+:24] == looked.number) needed = 1'b1;
      end
      if (looked.state == context_cache_pkg::LineHere && !(ahead_i && looked.ahead) && !kept_i[n-1] && !needed &&
          (!has_victim || looked.age > victim_age)) begin
        has_victim = 1'b1;
        place = AgeBits'(n - 1);
        victim_age = looked.age;
        victim = looked.number;
        writes_back = looked.dirty;
      end
    end
  end
  assign fetches_o = !here_o && !coming_o && !absent_i && may_read_i && (free_o || has_victim);
  assign write_back_o = fetches_o && !free_o && writes_back;
  assign evicted_o = victim;
  assign way_o = !fetches_o ? here_way : free_o ? free_way_o : place;

  always_comb begin : replace
    older = '0;
    for (int unsigned n = 0; n < Ways; n++) begin
      if (AgeBits'(n) == way_o) older = set_i[n*WayBits+:WayBits];
    end
    for (int unsigned n = 0; n < Ways; n++) begin
      placed = set_i[n*WayBits+:WayBits];
      if (AgeBits'(n) == way_o) begin
        placed.state = context_cache_pkg::LineReading;
        placed.number = number_i;
        placed.dirty = 1'b0;
        placed.ahead = ahead_i;
        placed.age = '0;
      end else if (placed.age < older.age) begin
        placed.age = placed.age + AgeBits'(1);
      end
      fetched_set_o[n*WayBits+:WayBits] = placed;
    end
  end

  always_comb begin : use_it
    for (int unsigned n = 0; n < Ways; n++) begin
      turned = set_i[n*WayBits+:WayBits];
      used = turned;
      if (AgeBits'(n) == here_way) begin
        used.age = '0;
        used.ahead = 1'b0;
        used.dirty = turned.dirty || dirty_i;
      end else if (turned.age < here_age) begin
        used.age = turned.age + AgeBits'(1);
      end
      used_set_o[n*WayBits+:WayBits] = used;
    end
  end

endmodule : context_lookup

`endif
