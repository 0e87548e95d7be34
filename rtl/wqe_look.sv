// SPDX-License-Identifier: Apache-2.0
// One asker's look at the context of a queue (R14, R15): model/core/memory/context_cache.h (C), context_waits.h (W). It
// finds the context, or waits for it and perhaps starts the read, or learns that there is no such queue. No state in
// here: looks_i is what the looks before have left, looks_o what this one leaves.
module wqe_look #(
  parameter int unsigned Asker         = 0,
  parameter logic        Ahead         = 1'b0,  // it reads ahead, and waits for nothing
  parameter int unsigned QueueContexts = 1,
  parameter int unsigned Misses        = 1,     // in flight
  parameter int unsigned Ways          = 1,
  parameter int unsigned AgeBits       = 1,
  parameter int unsigned SetVectorBits = Ways * (28 + AgeBits),
  parameter int unsigned Sets          = QueueContexts / Ways,
  parameter int unsigned SetBits       = Sets > 1 ? $clog2(Sets) : 1,
  parameter int unsigned LineBits      = QueueContexts > 1 ? $clog2(QueueContexts) : 1
) (
  input  wqe_pkg::looks_t          looks_i,
  input  logic [31:0]              id_i,
  output logic [SetBits-1:0]       set_o,          // where its context belongs
  input  logic [SetVectorBits-1:0] set_i,
  input  logic [Ways-1:0]          kept_i,         // by way: WQEs are read for it
  input  logic                     asks_i,         // it wants the context
  input  logic                     dirty_i,        // it changes the context
  input  logic                     forgets_i,      // it waits no longer
  input  logic                     yields_i,       // it waits, and others go first
  output logic                     found_o,        // in the set, perhaps of a queue that is being destroyed
  output logic                     here_o,         // what it wants
  output logic                     absent_o,
  output logic                     waits_o,
  output logic                     coming_o,
  output logic                     free_o,         // a way of the set is free: free_way_o
  output logic [AgeBits-1:0]       free_way_o,
  output logic [AgeBits-1:0]       way_o,          // where it is, or where it comes to
  output logic [LineBits-1:0]      line_o,         // ... as a line
  output logic                     fetches_o,      // a read starts
  output logic                     evicts_o,       // ... for which another context goes,
  output logic                     write_back_o,   // ... which is written
  output logic [23:0]              evicted_o,
  output logic [SetVectorBits-1:0] fetched_set_o,  // the set with the read
  output logic [SetVectorBits-1:0] used_set_o,     // the set when it is used
  output wqe_pkg::looks_t          looks_o
);

  logic remembers, known_absent, may_read, wants;
  logic [wqe_pkg::Askers-1:0] held;
  logic [wqe_pkg::Askers*24-1:0] numbers, numbers_behind;
  logic [wqe_pkg::Askers-1:0] waits, absent, yields, lacks_way;
  logic [23:0] number;

  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [SetBits-1:0] set_of(input logic [23:0] of);
    // verilator lint_on UNUSEDSIGNAL
    set_of = Sets > 1 ? of[SetBits-1:0] : '0;
  endfunction

  assign number = id_i[23:0];
  assign numbers = looks_i.numbers;
  assign set_o = set_of(number);
  assign line_o = LineBits'(32'(set_o) * Ways + 32'(way_o));
  // Somebody who looks another queue up than before has forgotten that it was absent.
  assign remembers = looks_i.waits[Asker] && looks_i.absent[Asker] && numbers[Asker*24+:24] == number;
  assign known_absent = id_i == wqe_pkg::NoWq || (!Ahead && remembers);
  assign wants = asks_i && !found_o && !coming_o && !known_absent && looks_i.reading < Misses;
  assign may_read = wants && !looks_i.started;
  // Contexts that other askers wait for (W R2); a read ahead spares that of the packet in front, too.
  assign held = looks_i.waits & ~looks_i.yields & ~(Ahead ? 5'd0 : 5'd1 << Asker);

  context_lookup #(.Ways(Ways), .AgeBits(AgeBits), .Askers(wqe_pkg::Askers)) lookup (
    .number_i(number), .ahead_i(Ahead), .absent_i(known_absent), .may_read_i(may_read), .dirty_i, .kept_i,
    .held_i(held), .held_numbers_i(numbers), .set_i, .here_o(found_o), .coming_o, .way_o, .fetches_o, .free_o,
    .free_way_o, .write_back_o, .evicted_o, .fetched_set_o, .used_set_o
  );
  assign evicts_o = fetches_o && !free_o;
  assign here_o = asks_i && found_o && id_i != wqe_pkg::NoWq &&
                  !(looks_i.closing && looks_i.closing_line == 20'(line_o));
  assign absent_o = asks_i && !here_o && (known_absent || found_o);
  assign waits_o = asks_i && !here_o && !absent_o;

  always_comb begin : leave
    looks_o = looks_i;
    waits = looks_i.waits;
    absent = looks_i.absent;
    yields = looks_i.yields;
    lacks_way = looks_i.lacks_way;
    numbers_behind = numbers;
    if (asks_i && !Ahead) begin
      absent[Asker] = remembers;
      waits[Asker] = 1'b1;
      yields[Asker] = yields_i;
      numbers_behind[Asker*24+:24] = number;
      lacks_way[Asker] = may_read && !fetches_o;
    end
    if (forgets_i) waits[Asker] = 1'b0;
    looks_o.waits = waits;
    looks_o.absent = absent;
    looks_o.yields = yields;
    looks_o.numbers = numbers_behind;
    looks_o.lacks_way = lacks_way;
    if (fetches_o) looks_o.reading = looks_i.reading + 32'd1;
    looks_o.started = looks_i.started || fetches_o;
    looks_o.deferred = looks_i.deferred || (wants && looks_i.started);
  end

endmodule : wqe_look
