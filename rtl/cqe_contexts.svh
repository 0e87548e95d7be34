// SPDX-License-Identifier: Apache-2.0
// The cache of CQ contexts of cqe_generator: sets of lines, records, who waits for which (R11, R12, R16).

// A set: `set_used_q` is 0 while it is as after reset. What has an entry for each line or set is a memory; of those,
// what is written and read counts.
// verilator coverage_off
logic [SetVectorBits-1:0] sets_q [Sets];
logic [CqBits-1:0]        records_q [CqContexts];
logic [Sets-1:0]          set_used_q;
logic [CqContexts-1:0]    open_q, open_1, open_4, open_6;  // lines with an open session
// verilator coverage_on
logic [31:0]              reading_q, reading_0;
logic [Askers-1:0]        waits_q, waits_0, waits_1, waits_2, waits_5, waits_6;  // for `numbers`
logic [Askers-1:0]        absent_q, absent_0, absent_1, absent_2, absent_5, absent_6;
logic                     yields_q, yields_6;  // the packet
logic [Askers*24-1:0]     numbers_q, numbers_0, numbers_1, numbers_2, numbers_5, numbers_6;

// What a step writes: a set, and the record of a line in it.
logic                     writes_0, writes_1, writes_2, writes_5, writes_6, writes_7;
logic [SetBits-1:0]       set_0, set_1, set_2, set_5, set_6, set_7;
logic [SetVectorBits-1:0] row_0, row_1, row_2, row_5, row_6, row_7;
logic [SetVectorBits-1:0] old_1, old_2, old_5, old_6, old_7;  // the set as it is opened
logic                     keeps_0, keeps_1, keeps_2, keeps_4, keeps_5, keeps_6;
logic [LineBits-1:0]      line_0, line_1, line_2, line_4, line_5, line_6;
rxnic_link_pkg::stored_cq_t cq_0, cq_1, cq_2, cq_4, cq_5, cq_6;          // as they are written ...
rxnic_link_pkg::stored_cq_t found_1, found_2, found_4, found_5, found_6;  // ... and as they were found

function automatic logic [SetVectorBits-1:0] stored_set(input logic [SetBits-1:0] set);
  stored_set = sets_q[set];
  for (int unsigned n = 0; n < Ways; n++) begin
    if (!set_used_q[set]) stored_set[n*WayBits+:WayBits] = {4'd0, AgeBits'(n), 24'd0};
  end
endfunction

// (0) A context that has come
typedef struct packed {
  logic [1:0]         state;
  logic               dirty;
  logic               ahead;
  logic [AgeBits-1:0] age;
  logic [23:0]        number;
} line_t;
// verilator lint_off UNUSEDSIGNAL
line_t come, line_of_come;
// verilator lint_on UNUSEDSIGNAL
logic [AgeBits-1:0] way_0;
logic exists_0;
always_comb begin : arrival
  writes_0 = context_dma_done_valid_i;
  exists_0 = context_dma_done_i.ok && fetched_i.valid;
  keeps_0 = writes_0 && exists_0;
  line_0 = context_dma_done_i.cookie[LineBits-1:0];
  set_0 = SetBits'(32'(line_0) / Ways);
  way_0 = Ways > 1 ? line_0[AgeBits-1:0] : '0;
  cq_0 = fetched_i;
  row_0 = stored_set(set_0);
  come = '0;
  line_of_come = '0;
  for (int unsigned n = 0; n < Ways; n++) begin
    line_of_come = row_0[n*WayBits+:WayBits];
    if (AgeBits'(n) == way_0) begin
      come = line_of_come;
      line_of_come.state = exists_0 ? context_cache_pkg::LineHere : context_cache_pkg::LineEmpty;
    end
    row_0[n*WayBits+:WayBits] = line_of_come;
  end
  reading_0 = writes_0 ? reading_q - 32'd1 : reading_q;
  waits_0 = waits_q;
  numbers_0 = numbers_q;
  absent_0 = absent_q;
  for (int unsigned a = 0; a < Askers; a++) begin
    if (writes_0 && !exists_0 && waits_q[a] && numbers_q[a*24+:24] == come.number) absent_0[a] = 1'b1;
  end
end
assign context_dma_done_ready_o = 1'b1;

// The sets and records that the steps find
assign old_1 = writes_0 && set_0 == set_1 ? row_0 : stored_set(set_1);
assign old_2 = writes_1 && set_1 == set_2 ? row_1 : writes_0 && set_0 == set_2 ? row_0 : stored_set(set_2);
assign old_5 = writes_2 && set_2 == set_5 ? row_2 : writes_1 && set_1 == set_5 ? row_1 :
               writes_0 && set_0 == set_5 ? row_0 : stored_set(set_5);
assign old_6 = writes_5 && set_5 == set_6 ? row_5 : writes_2 && set_2 == set_6 ? row_2 :
               writes_1 && set_1 == set_6 ? row_1 : writes_0 && set_0 == set_6 ? row_0 : stored_set(set_6);
assign old_7 = writes_6 && set_6 == set_7 ? row_6 : writes_5 && set_5 == set_7 ? row_5 :
               writes_2 && set_2 == set_7 ? row_2 : writes_1 && set_1 == set_7 ? row_1 :
               writes_0 && set_0 == set_7 ? row_0 : stored_set(set_7);
assign found_1 = keeps_0 && line_0 == line_1 ? cq_0 : records_q[line_1];
assign found_2 = keeps_1 && line_1 == line_2 ? cq_1 : keeps_0 && line_0 == line_2 ? cq_0 : records_q[line_2];
assign found_4 = keeps_2 && line_2 == line_4 ? cq_2 : keeps_1 && line_1 == line_4 ? cq_1 :
                 keeps_0 && line_0 == line_4 ? cq_0 : records_q[line_4];
assign found_5 = keeps_4 && line_4 == line_5 ? cq_4 : keeps_2 && line_2 == line_5 ? cq_2 :
                 keeps_1 && line_1 == line_5 ? cq_1 : keeps_0 && line_0 == line_5 ? cq_0 : records_q[line_5];
assign found_6 = keeps_5 && line_5 == line_6 ? cq_5 : keeps_4 && line_4 == line_6 ? cq_4 :
                 keeps_2 && line_2 == line_6 ? cq_2 : keeps_1 && line_1 == line_6 ? cq_1 :
                 keeps_0 && line_0 == line_6 ? cq_0 : records_q[line_6];

// Looks of the askers. `started_`: a read has started before in this cycle.
logic here_1, here_2, here_5, here_6, here_7, coming_1, coming_6, coming_7;
logic [AgeBits-1:0] way_1, way_2, way_5, way_6, way_7, free_way_1;
logic free_1;
logic looks_1, looks_2, looks_5, looks_6, looks_7;  // the step looks a context up
logic may_1, may_2, may_5, may_6, may_7, fetches_1, fetches_2, fetches_5, fetches_6, fetches_7;
logic back_1, back_2, back_5, back_6, back_7;
logic [23:0] number_1, number_2, number_5, number_6, number_7;
logic [23:0] evicted_1, evicted_2, evicted_5, evicted_6, evicted_7;
logic [SetVectorBits-1:0] fetched_row_1, fetched_row_2, fetched_row_5, fetched_row_6, fetched_row_7;
logic [SetVectorBits-1:0] used_row_1, used_row_2, used_row_5, used_row_6;
logic [Ways-1:0] kept_1, kept_2, kept_5, kept_6;
logic [Askers-1:0] held_1, held_2, held_5, held_6, held_7;  // contexts that other askers wait for (R11)
logic absence_1, absence_2, absence_5, absence_6;

always_comb begin : keep_open_sessions
  for (int unsigned n = 0; n < Ways; n++) begin
    kept_1[n] = open_q[line_of(set_1, AgeBits'(n))];
    kept_2[n] = open_1[line_of(set_2, AgeBits'(n))];
    kept_5[n] = open_4[line_of(set_5, AgeBits'(n))];
    kept_6[n] = open_4[line_of(set_6, AgeBits'(n))];
  end
end
logic [Ways-1:0] kept_7;
always_comb for (int unsigned n = 0; n < Ways; n++) kept_7[n] = open_4[line_of(set_7, AgeBits'(n))];

assign set_1 = set_of(number_1);
assign set_2 = set_of(number_2);
assign set_5 = set_of(number_5);
assign set_6 = set_of(number_6);
assign set_7 = set_of(number_7);
assign may_1 = looks_1 && reading_0 < CqMissesInFlight;
assign may_2 = looks_2 && reading_0 < CqMissesInFlight && !fetches_1;
assign may_5 = looks_5 && reading_0 < CqMissesInFlight && !fetches_1 && !fetches_2;
assign may_6 = looks_6 && reading_0 < CqMissesInFlight && !fetches_1 && !fetches_2 && !fetches_5;
assign may_7 = looks_7 && reading_0 < CqMissesInFlight && !fetches_1 && !fetches_2 && !fetches_5 && !fetches_6;
// Somebody who looks another number up than before has forgotten that it was absent.
assign absence_1 = waits_0[Command] && absent_0[Command] && numbers_0[Command*24+:24] == number_1;
assign absence_2 = waits_1[Doorbell] && absent_1[Doorbell] && numbers_1[Doorbell*24+:24] == number_2;
assign absence_5 = waits_2[Timer] && absent_2[Timer] && numbers_2[Timer*24+:24] == number_5;
assign absence_6 = waits_5[Packet] && absent_5[Packet] && numbers_5[Packet*24+:24] == number_6;
assign held_1 = waits_0 & ~(4'd1 << Command) & ~({3'd0, yields_q} << Packet);
assign held_2 = waits_1 & ~(4'd1 << Doorbell) & ~({3'd0, yields_q} << Packet);
assign held_5 = waits_2 & ~(4'd1 << Timer) & ~({3'd0, yields_q} << Packet);
assign held_6 = waits_5 & ~(4'd1 << Packet);
assign held_7 = waits_6 & ~({3'd0, yields_6} << Packet);

// verilator lint_off PINCONNECTEMPTY
context_lookup #(.Ways(Ways), .AgeBits(AgeBits), .Askers(Askers)) look_1 (
  .number_i(number_1), .ahead_i(1'b0), .absent_i(absence_1), .may_read_i(may_1), .dirty_i(1'b1), .kept_i(kept_1),
  .held_i(held_1), .held_numbers_i(numbers_0), .set_i(old_1), .here_o(here_1), .coming_o(coming_1), .way_o(way_1),
  .fetches_o(fetches_1), .free_o(free_1), .free_way_o(free_way_1), .write_back_o(back_1), .evicted_o(evicted_1),
  .fetched_set_o(fetched_row_1), .used_set_o(used_row_1)
);
context_lookup #(.Ways(Ways), .AgeBits(AgeBits), .Askers(Askers)) look_2 (
  .number_i(number_2), .ahead_i(1'b0), .absent_i(absence_2), .may_read_i(may_2), .dirty_i(1'b1), .kept_i(kept_2),
  .held_i(held_2), .held_numbers_i(numbers_1), .set_i(old_2), .here_o(here_2), .coming_o(), .way_o(way_2),
  .fetches_o(fetches_2), .free_o(), .free_way_o(), .write_back_o(back_2), .evicted_o(evicted_2),
  .fetched_set_o(fetched_row_2), .used_set_o(used_row_2)
);
context_lookup #(.Ways(Ways), .AgeBits(AgeBits), .Askers(Askers)) look_5 (
  .number_i(number_5), .ahead_i(1'b0), .absent_i(absence_5), .may_read_i(may_5), .dirty_i(1'b1), .kept_i(kept_5),
  .held_i(held_5), .held_numbers_i(numbers_2), .set_i(old_5), .here_o(here_5), .coming_o(), .way_o(way_5),
  .fetches_o(fetches_5), .free_o(), .free_way_o(), .write_back_o(back_5), .evicted_o(evicted_5),
  .fetched_set_o(fetched_row_5), .used_set_o(used_row_5)
);
context_lookup #(.Ways(Ways), .AgeBits(AgeBits), .Askers(Askers)) look_6 (
  .number_i(number_6), .ahead_i(1'b0), .absent_i(absence_6), .may_read_i(may_6), .dirty_i(1'b1), .kept_i(kept_6),
  .held_i(held_6), .held_numbers_i(numbers_5), .set_i(old_6), .here_o(here_6), .coming_o(coming_6), .way_o(way_6),
  .fetches_o(fetches_6), .free_o(), .free_way_o(), .write_back_o(back_6), .evicted_o(evicted_6),
  .fetched_set_o(fetched_row_6), .used_set_o(used_row_6)
);
context_lookup #(.Ways(Ways), .AgeBits(AgeBits), .Askers(Askers)) look_7 (
  .number_i(number_7), .ahead_i(1'b1), .absent_i(1'b0), .may_read_i(may_7), .dirty_i(1'b0), .kept_i(kept_7),
  .held_i(held_7), .held_numbers_i(numbers_6), .set_i(old_7), .here_o(here_7), .coming_o(coming_7), .way_o(way_7),
  .fetches_o(fetches_7), .free_o(), .free_way_o(), .write_back_o(back_7), .evicted_o(evicted_7),
  .fetched_set_o(fetched_row_7), .used_set_o()
);
// verilator lint_on PINCONNECTEMPTY

// Requests for contexts: what is written back, and what is read.
localparam int unsigned Requests = 2 * CqMissesInFlight + 1;
localparam int unsigned RequestVectorBits = 1 + 24 + 32;
logic [$clog2(Requests+1)-1:0] request_count;
logic [RequestVectorBits-1:0] first_request;
logic removes, fetches, back, asks, request_writes;
logic [LineBits-1:0] fetch_line;
logic [23:0] fetch_number, back_number, request_number;
logic [31:0] request_line;
logic [RequestVectorBits-1:0] pushed_0, pushed_1, pushed_2, front_request;
logic [1:0] pushes;
rxnic_link_pkg::dma_request_t context_request;
rxnic_link_pkg::stored_cq_t leaving_record;

rxnic_fifo #(.Bits(RequestVectorBits), .Depth(Requests), .Pushes(3)) requests (
  .clk_i, .rst_ni, .push_i(pushes), .words_i({pushed_2, pushed_1, pushed_0}), .pop_i(asks), .count_o(request_count),
  .words_o(first_request)
);

always_comb begin : ask_for_contexts
  fetches = fetches_1 || fetches_2 || fetches_5 || fetches_6 || fetches_7;
  back = back_1 || back_2 || back_5 || back_6 || back_7;
  fetch_number = fetches_1 ? number_1 : fetches_2 ? number_2 : fetches_5 ? number_5 : fetches_6 ? number_6 : number_7;
  fetch_line = fetches_1 ? line_of(set_1, way_1) : fetches_2 ? line_of(set_2, way_2) :
               fetches_5 ? line_of(set_5, way_5) : fetches_6 ? line_of(set_6, way_6) : line_of(set_7, way_7);
  back_number = back_1 ? evicted_1 : back_2 ? evicted_2 : back_5 ? evicted_5 : back_6 ? evicted_6 : evicted_7;
  // In the order: a removal, a write-back, a read.
  pushed_0 = removes ? {1'b1, number_1, 32'(CqContexts)} :
             back ? {1'b1, back_number, 32'(fetch_line)} : {1'b0, fetch_number, 32'(fetch_line)};
  pushed_1 = removes && back ? {1'b1, back_number, 32'(fetch_line)} : {1'b0, fetch_number, 32'(fetch_line)};
  pushed_2 = {1'b0, fetch_number, 32'(fetch_line)};
  pushes = 2'(removes) + 2'(back) + 2'(fetches);
  // (8) one leaves
  front_request = request_count == '0 ? pushed_0 : first_request;
  {request_writes, request_number, request_line} = front_request;
  context_dma_valid_o = request_count != '0 || pushes != '0;
  asks = context_dma_valid_o && context_dma_ready_i;
  context_request = '0;
  context_request.kind = request_writes ? rxnic_link_pkg::DmaKindWrite : rxnic_link_pkg::DmaKindRead;
  context_request.cookie = request_line;
  context_request.address = CqContextsAt + 64'(request_number) * 64'(ContextCqBytes);
  context_request.bytes = ContextCqBytes;
  context_dma_o = context_request;
  written_back_valid_o = asks && request_writes;
  leaving_record = records_q[request_line[LineBits-1:0]];
  if (keeps_0 && 32'(line_0) == request_line) leaving_record = cq_0;
  if (keeps_1 && 32'(line_1) == request_line) leaving_record = cq_1;
  if (keeps_2 && 32'(line_2) == request_line) leaving_record = cq_2;
  if (keeps_4 && 32'(line_4) == request_line) leaving_record = cq_4;
  if (keeps_5 && 32'(line_5) == request_line) leaving_record = cq_5;
  if (keeps_6 && 32'(line_6) == request_line) leaving_record = cq_6;
  if (request_line == CqContexts) leaving_record = '0;
  written_back_o = {request_line, leaving_record};
end

always_ff @(posedge clk_i or negedge rst_ni) begin : context_state
  if (!rst_ni) begin
    set_used_q <= '0;
    open_q <= '0;
    reading_q <= '0;
    waits_q <= '0;
    absent_q <= '0;
    yields_q <= 1'b0;
    numbers_q <= '0;
  end else begin
    if (writes_0) set_used_q[set_0] <= 1'b1;
    if (writes_1) set_used_q[set_1] <= 1'b1;
    if (writes_2) set_used_q[set_2] <= 1'b1;
    if (writes_5) set_used_q[set_5] <= 1'b1;
    if (writes_6) set_used_q[set_6] <= 1'b1;
    if (writes_7) set_used_q[set_7] <= 1'b1;
    open_q <= open_6;
    reading_q <= fetches ? reading_0 + 32'd1 : reading_0;
    waits_q <= waits_6;
    absent_q <= absent_6 & waits_6;
    if (looks_6) yields_q <= yields_6;
    numbers_q <= numbers_6;
  end
end

always_ff @(posedge clk_i) begin : context_memories
  if (writes_0) sets_q[set_0] <= row_0;
  if (writes_1) sets_q[set_1] <= row_1;
  if (writes_2) sets_q[set_2] <= row_2;
  if (writes_5) sets_q[set_5] <= row_5;
  if (writes_6) sets_q[set_6] <= row_6;
  if (writes_7) sets_q[set_7] <= row_7;
  if (keeps_0) records_q[line_0] <= cq_0;
  if (keeps_1) records_q[line_1] <= cq_1;
  if (keeps_2) records_q[line_2] <= cq_2;
  if (keeps_4) records_q[line_4] <= cq_4;
  if (keeps_5) records_q[line_5] <= cq_5;
  if (keeps_6) records_q[line_6] <= cq_6;
end
