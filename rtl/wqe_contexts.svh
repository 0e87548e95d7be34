// SPDX-License-Identifier: Apache-2.0
// The cache of queue contexts of srq_wqe_fetcher: model/core/memory/context_cache.h (C) and context_waits.h (W).

logic [Askers-1:0] waits_q, waits_d, absent_q, absent_d, yields_q, yields_d;
logic [Askers*24-1:0] wait_numbers_q, wait_numbers_d;  // that they wait for
logic packet_found_q, packet_found_d;             // the packet's context was found in `packet_line`
logic [LineBits-1:0] packet_line_q, packet_line_d;
logic [31:0] reading_q, reading_d;
logic started;                                    // a read, in this cycle (W R4)
logic look_here, look_absent, look_waits;         // what an asker has found
logic fetched_one, fetch_needed;
logic [Askers-1:0] lacks_way;                     // that have found no line for their context
logic deferred;                                   // a read waits for the next cycle, since another one has started

logic [RequestCountBits-1:0] requests_here;
logic [31:0] request_count, request_count_d;
logic [56:0] first_request;
logic request_leaves;
logic [1:0] request_pushes;
logic [3*57-1:0] request_pushed;
logic [56:0] front_request;
rxnic_link_pkg::dma_request_t context_request;

function automatic logic [SetBits-1:0] set_of(input logic [23:0] number);
  // verilator lint_off UNUSEDSIGNAL
  logic [23:0] n;
  // verilator lint_on UNUSEDSIGNAL
  n = number;
  set_of = Sets > 1 ? n[SetBits-1:0] : '0;
endfunction

// Looks for a queue: `found` here, or `coming`; `here` is one that may be used.
task automatic find(input logic [31:0] id);
  set_at = set_of(id[23:0]);
  get_row();
  found = 1'b0;
  coming = 1'b0;
  has_free = 1'b0;
  free_way = '0;
  way_at = '0;
  for (int unsigned n = Ways; n > 0; n--) begin
    way = row[(n-1)*WayBits+:WayBits];
    if (way.state == context_cache_pkg::LineEmpty) begin
      has_free = 1'b1;
      free_way = AgeBits'(n - 1);
    end else if (way.number == id[23:0] && id != NoWq) begin
      found = way.state == context_cache_pkg::LineHere;
      coming = way.state == context_cache_pkg::LineReading;
      way_at = AgeBits'(n - 1);
    end
  end
  line_at = line_of(set_at, way_at);
  here = found && !(closing_d && closing_line_d == line_at);
endtask

task automatic open_line(input logic [LineBits-1:0] line);
  line_at = line;
  set_at = SetBits'(32'(line) / Ways);
  way_at = AgeBits'(32'(line) % Ways);
  get_row();
endtask

task automatic get_way();
  way = '0;
  for (int unsigned n = 0; n < Ways; n++) if (AgeBits'(n) == way_at) way = row[n*WayBits+:WayBits];
endtask
task automatic set_way();
  for (int unsigned n = 0; n < Ways; n++) if (AgeBits'(n) == way_at) row[n*WayBits+:WayBits] = way;
endtask

// The way at hand becomes the most recently used one.
task automatic touch();
  get_way();
  for (int unsigned n = 0; n < Ways; n++) begin
    other = row[n*WayBits+:WayBits];
    if (other.age < way.age) other.age = other.age + AgeBits'(1);
    row[n*WayBits+:WayBits] = other;
  end
  way.age = '0;
  set_way();
endtask

task automatic use_line(input logic changes);
  touch();
  get_way();
  way.ahead = 1'b0;
  way.dirty = way.dirty || changes;
  set_way();
endtask

task automatic push_request(input logic writes, input logic [23:0] number, input logic [31:0] line);
  for (int unsigned n = 0; n < 3; n++) begin
    if (2'(n) == request_pushes) request_pushed[n*57+:57] = {writes, number, line};
  end
  request_pushes = request_pushes + 2'd1;
endtask

// The read of a context that is neither here nor coming, if there is a line for it. (C R1, R2, R5; W R2)
task automatic fetch(input int unsigned asker, input logic ahead, input logic [23:0] number, input int unsigned step);
  logic [AgeBits-1:0] oldest;
  fetched_one = has_free;
  oldest = '0;
  way_at = free_way;
  if (!has_free) begin
    for (int unsigned n = 0; n < Ways; n++) begin
      other = row[n*WayBits+:WayBits];
      get_reads(line_of(set_at, AgeBits'(n)));
      fetch_needed = 1'b0;
      for (int unsigned a = 0; a < Askers; a++) begin
        if ((a != asker || ahead) && waits_d[a] && !yields_d[a] && wait_numbers_d[a*24+:24] == other.number) begin
          fetch_needed = 1'b1;
        end
      end
      if (other.state == context_cache_pkg::LineHere && !(ahead && other.ahead) && reads == '0 && !fetch_needed &&
          (!fetched_one || other.age > oldest)) begin
        fetched_one = 1'b1;
        oldest = other.age;
        way_at = AgeBits'(n);
      end
    end
  end
  if (fetched_one) begin
    line_at = line_of(set_at, way_at);
    get_way();
    if (!has_free) begin
      evicts = 1'b1;
      unbind(line_at);
      if (way.dirty) push_request(1'b1, way.number, 32'(line_at));
    end
    push_request(1'b0, number, 32'(line_at));
    touch();
    way.state = context_cache_pkg::LineReading;
    way.number = number;
    way.dirty = 1'b0;
    way.ahead = ahead;
    set_way();
    put_row(step);
    reading_d = reading_d + 32'd1;
    started = 1'b1;
  end
endtask

// (R14) `look_here`: its line is at hand, and whoever goes on says so with use_line().
task automatic look_up(input int unsigned asker, input logic [31:0] id, input int unsigned step);
  find(id);
  look_here = here;
  look_absent = 1'b0;
  for (int unsigned a = 0; a < Askers; a++) begin
    if (a == asker) begin
      if (!waits_d[a] || wait_numbers_d[a*24+:24] != id[23:0]) absent_d[a] = 1'b0;
      waits_d[a] = 1'b1;
      wait_numbers_d[a*24+:24] = id[23:0];
      yields_d[a] = 1'b0;
      look_absent = !here && (absent_d[a] || id == NoWq || found);
    end
  end
  look_waits = !look_here && !look_absent;
  if (look_waits && !coming && reading_d < QueueMissesInFlight) begin
    if (started) begin
      deferred = 1'b1;
    end else begin
      fetch(asker, 1'b0, id[23:0], step);
      for (int unsigned a = 0; a < Askers; a++) if (a == asker && !fetched_one) lacks_way[a] = 1'b1;
    end
  end
endtask

task automatic forget(input int unsigned asker);
  for (int unsigned a = 0; a < Askers; a++) if (a == asker) waits_d[a] = 1'b0;
endtask

task automatic read_ahead(input logic [31:0] id);  // (R15)
  find(id);
  if (!found && !coming && reading_d < QueueMissesInFlight) begin
    if (started) begin
      deferred = 1'b1;
    end else begin
      fetch(Packet, 1'b1, id[23:0], StepAccept);
      reads_ahead = fetched_one;
    end
  end
endtask

// A context has come. (C R4, W R3)
task automatic take_context();
  logic ahead;
  exists = context_dma_done_i.ok && fetched_i.valid;
  open_line(context_dma_done_i.cookie[LineBits-1:0]);
  get_way();
  ahead = way.ahead;
  reading_d = reading_d - 32'd1;
  way.state = exists ? context_cache_pkg::LineHere : context_cache_pkg::LineEmpty;
  set_way();
  put_row(StepArrival);
  if (exists) begin
    get_queue(line_at);
    q = fetched_i;
    put_queue(StepArrival);
    settle(StepArrival, line_at);
    if (LooksAhead && ahead) ask(StepArrival);  // (R15)
  end else begin
    for (int unsigned a = 0; a < Askers; a++) if (wait_numbers_d[a*24+:24] == way.number) absent_d[a] = waits_d[a];
  end
endtask

// The line of another queue than before.
task automatic settle(input int unsigned step, input logic [LineBits-1:0] line);
  if (closing_line_d == line) closing_d = 1'b0;
  asked = '0;
  put_asked(step, line);
  reads = '0;
  put_reads(step, line);
endtask

// (R21) A request leaves, with what it writes.
task automatic request_context();
  front_request = request_count == '0 ? request_pushed[56:0] : first_request;
  request_count_d = request_count + 32'(request_pushes);
  context_dma_valid_o = request_count_d != '0;
  context_request = '0;
  context_request.kind = front_request[56] ? rxnic_link_pkg::DmaKindWrite : rxnic_link_pkg::DmaKindRead;
  context_request.cookie = front_request[31:0];
  context_request.address = QueueContextsAt + 64'(front_request[55:32]) * 64'(ContextBytes);
  context_request.bytes = ContextBytes;
  context_dma_o = context_request;
  written_back_valid_o = context_dma_valid_o && context_dma_ready_i && front_request[56];
  get_queue(front_request[LineBits-1:0]);
  if (front_request[31:0] == QueueContexts) q = '0;
  written_back_o = {front_request[31:0], q};
  request_leaves = context_dma_valid_o && context_dma_ready_i;
  if (request_leaves) request_count_d = request_count_d - 32'd1;
endtask
