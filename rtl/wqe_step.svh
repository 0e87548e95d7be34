// SPDX-License-Identifier: Apache-2.0
// A cycle of srq_wqe_fetcher.

// What the checker looks at: what happens in the cycle.
logic evicts, takes_context, guess_fails, late_flush, flushes_wqe, too_long, takes_front, bad_wqe, squashes, refuses;
logic store_full, no_place, flushed, takes_match, begins_anew, keeps_wqe, completes_open, unreadable, exists;
logic reads_ahead;
// What it does in the cycle: something on packets (`moves`), something else; why not.
logic moves, background, flush_pending;

always_comb begin : begin_cycle_and_step
  // What is left as it was
  waits_d = waits_q;
  absent_d = absent_q;
  yields_d = yields_q;
  wait_numbers_d = wait_numbers_q;
  packet_found_d = packet_found_q;
  packet_line_d = packet_line_q;
  reading_d = reading_q;
  closing_d = closing_q;
  closing_line_d = closing_line_q;
  epoch_d = epoch_q;
  bound_d = bound_q;
  lined_d = lined_q;
  newer_d = newer_q;
  older_d = older_q;
  newest_d = newest_q;
  oldest_d = oldest_q;
  free_contexts_d = free_contexts_q;
  free_count_d = free_count_q;
  line_size_d = line_size;
  free_reads_d = free_reads_q;
  free_read_count_d = free_read_count_q;
  slot_used_d = slot_used_q;
  in_shares_d = in_shares_q;
  in_pool_d = in_pool_q;
  open_d = open_q;
  made_d = made_q;
  new_d = new_q;
  new_number_d = new_number_q;
  free_number_count_d = free_number_count_q;
  late_d = late_q;
  left_d = left_q;
  flush_d = flush_q;
  flush_asked_d = flush_asked_q;
  flush_turn_d = flush_turn_q;
  flush_queue_d = flush_queue_q;
  flush_count_d = flush_count;
  late_flushes_d = late_flushes_q;
  late_count_d = late_count_q;
  pipe_count_d = pipe_count;
  waiting_d = waiting_q;
  places_d = places_q;
  // Nothing is written. Alone: what is written at the place that a signal says (README.md, yosys)
  sets_w = '0;
  sets_at = '0;
  sets_as = '0;
  records_w = '0;
  records_at = '0;
  records_as = '0;
  contexts_w = '0;
  contexts_at = '0;
  contexts_as = '0;
  contexts_of_w = '0;
  contexts_of_at = '0;
  contexts_of_as = '0;
  asked_w = '0;
  asked_at = '0;
  asked_as = '0;
  reads_w = '0;
  reads_at = '0;
  reads_as = '0;
  {entries_w, entries_at} = '0;
  entries_as = (WqesPerRead * EntryBits)'(fetched_wqes_i);  // any value
  {flight_w, slot_w, slot_at, slot_as, shares_w, shares_at, shares_as} = '0;
  {pending_w, pending_at, pending_as, open_w, open_at, open_as, refused_w, refused_at, refused_as} = '0;
  {free_number_w, flush_request_taken, flush_request_leaves, line_moves} = '0;
  line_pushed = '0;
  {request_pushes, request_pushed, line_pushes} = '0;
  // Nothing happens, and nothing is at hand
  {started, look_here, look_absent, look_waits, fetched_one, fetch_needed, found, coming, has_free, here} = '0;
  {lacks_way, deferred, frees_late} = '0;
  {evicts, takes_context, guess_fails, late_flush, flushes_wqe, too_long, takes_front, bad_wqe, squashes} = '0;
  {takes_match, begins_anew, keeps_wqe, completes_open, unreadable, exists, reads_ahead} = '0;
  {refuses, store_full, no_place, flushed, places, destroys, forgets_message, holds_back, no_room} = '0;
  {set_at, row, way_at, free_way, line_at, asked, reads, context_at, has_context, queue_line} = '0;
  parsed_keeps = '0;
  {run_found, run_count, parsed_valid, parsed_count, parsed_bytes} = '0;
  {supply_none, supply_ready, reaches_limit, read_id, wants_wqe, wanted, slot_free, of_share, share} = '0;
  {command_done, command_waits, rung, will_be_flushed, flush_moves, flush_waits, pending} = '0;
  {takes, packet_leaves, leaves_pipe, blocked, lacks_slot, lacks_context, moved, needs, needed, asks} = '0;
  way = '0;
  other = '0;
  q = '0;
  x = '0;
  entry = '0;
  flight = '0;
  slot = '0;
  refused = '0;
  p = '0;
  taken = '0;
  looked = '0;
  open_wqe = '0;
  kept_wqe = '0;
  taken_wqe = '0;
  reply = '0;
  read_request = '0;
  {made, segment} = '0;
  {out_valid_o, context_write_valid_o, context_write_o} = '0;
  {lists_valid_o, list_slot, list_count, list_keeps} = '0;
  {refusals_valid_o, refusals_o, returned_valid_o, returned_o, pins_valid_o, pins_o, dma_valid_o} = '0;
  {events_valid_o, events_o, commands_ready_o, command_replies_valid_o, doorbells_ready_o, flushes_ready_o} = '0;

  // (1) a context comes; a command, a doorbell
  if (context_dma_done_valid_i) take_context();
  if (commands_valid_i && command_replies_ready_i) carry_out_command();
  command_waits = commands_valid_i && !command_done;
  if (doorbells_valid_i) ring();
  late_d = late_d && doorbells_valid_i;
  ahead_d = !command_waits ? DoorbellDepth : rung && ahead_q != '0 ? ahead_q - 32'd1 : ahead_q;
  // (2) WQEs that have come; a request to flush; places, and slots, that are free again
  if (dma_done_valid_i) take_read();
  if (flushes_valid_i) take_flush_request();
  if (rendezvous_places_valid_i) places_d = places_d + 32'(rendezvous_places_i.count);
  if (released_valid_i) release_slot(1, released_i.wqe_slot);
  // (3) the oldest packet, or a flushed WQE, leaves
  head_is_ready = pipe_count != '0 && first_due <= now_q;
  if (out_ready_i) begin
    if (flush_turn_q) begin
      flush_one(StepFlush);
      flushed = flush_moves;
      moved = flush_moves;
      if (moved) flush_turn_d = 1'b0;
    end
    if (!moved && head_is_ready) serve();
    if (!moved) begin
      flush_one(StepAgain);
      flushed = flush_moves;
    end
  end
  out_o = p[PacketBits-1-:JobBits];
  // (4) take a packet
  accept();
  // (5) a read
  if (dma_ready_i) next_read();
  dma_o = read_request;
  line_size_d = line_size_d + 16'(line_pushes);
  // (6) a request for a context
  request_context();
  command_replies_o = reply;
  // (7) rest
  moves = moved || flushed || takes;
  background = context_dma_done_valid_i || rung || dma_done_valid_i || (flushes_valid_i && flushes_ready_o) ||
               dma_valid_o || (dma_ready_i && line_size_d != '0 && free_read_count_d != '0) ||
               (context_dma_valid_o && context_dma_ready_i && request_count_d != '0) ||
               lacks_way != '0 || deferred || (frees_late && no_room);
  flush_pending = flush_queue_d != NoWq || flush_asked_d || flush_count_d != '0 || late_count_d != '0 ||
                  (flushes_valid_i && !flushes_ready_o);
  activity_o = rxnic_link_pkg::ActivityStarved;
  if (moves) activity_o = rxnic_link_pkg::ActivityBusy;
  else if (blocked || (!out_ready_i && (head_is_ready || flush_pending))) activity_o = rxnic_link_pkg::ActivityBlocked;
  else if (lacks_context && lacks_way[Packet]) activity_o = rxnic_link_pkg::ActivityWaitContextWay;
  else if (lacks_context) activity_o = rxnic_link_pkg::ActivityWaitQueueContext;
  else if (lacks_slot) activity_o = rxnic_link_pkg::ActivityWaitWqeStore;
  else if (wants_wqe) activity_o = rxnic_link_pkg::ActivityWaitWqe;
  else if (background || pipe_count_d != '0) activity_o = rxnic_link_pkg::ActivityBusy;
end

assign context_dma_done_ready_o = 1'b1;
assign dma_done_ready_o = 1'b1;
assign rendezvous_places_ready_o = 1'b1;
assign released_ready_o = 1'b1;
assign quiescent_o = pipe_count == '0 && flush_count == '0 && !flush_asked_q && flush_queue_q == NoWq &&
                     late_count_q == '0 && line_size == '0 && request_count == '0 && !late_q;

always_ff @(posedge clk_i or negedge rst_ni) begin : registers
  if (!rst_ni) begin
    now_q <= '0;
    set_used_q <= '0;
    {waits_q, absent_q, yields_q, wait_numbers_q, packet_found_q, packet_line_q, reading_q} <= '0;
    {closing_q, closing_line_q, epoch_q, bound_q, lined_q} <= '0;
    newer_q <= '0;
    older_q <= '0;
    newest_q <= NoContext;
    oldest_q <= NoContext;
    for (int unsigned n = 0; n < Queues; n++) free_contexts_q[n*16+:16] <= 16'(Queues - 1 - n);
    free_count_q <= 16'(Queues);
    for (int unsigned n = 0; n < ReadsInFlight; n++) free_reads_q[n*16+:16] <= 16'(ReadsInFlight - 1 - n);
    free_read_count_q <= 16'(ReadsInFlight);
    {slot_used_q, in_shares_q, in_pool_q, open_q, made_q, new_q, new_number_q, free_number_count_q} <= '0;
    ahead_q <= DoorbellDepth;
    {late_q, left_q, flush_q, flush_asked_q, flush_turn_q} <= '0;
    flush_queue_q <= NoWq;
    late_flushes_q <= '0;
    {late_count_q, waiting_q} <= '0;
    places_q <= Rendezvous;
    refused_valid_q <= '0;
  end else begin
    now_q <= now_q + 48'd1;
    for (int unsigned k = 0; k < Steps; k++) if (sets_w[k]) set_used_q[sets_at[k*SetBits+:SetBits]] <= 1'b1;
    waits_q <= waits_d;
    absent_q <= absent_d;
    yields_q <= yields_d;
    wait_numbers_q <= wait_numbers_d;
    packet_found_q <= packet_found_d;
    packet_line_q <= packet_line_d;
    reading_q <= reading_d;
    closing_q <= closing_d;
    closing_line_q <= closing_line_d;
    epoch_q <= epoch_d;
    bound_q <= bound_d;
    lined_q <= lined_d;
    newer_q <= newer_d;
    older_q <= older_d;
    newest_q <= newest_d;
    oldest_q <= oldest_d;
    free_contexts_q <= free_contexts_d;
    free_count_q <= free_count_d;
    free_reads_q <= free_reads_d;
    free_read_count_q <= free_read_count_d;
    slot_used_q <= slot_used_d;
    in_shares_q <= in_shares_d;
    in_pool_q <= in_pool_d;
    open_q <= open_d;
    made_q <= made_d;
    new_q <= new_d;
    new_number_q <= new_number_d;
    free_number_count_q <= free_number_count_d;
    ahead_q <= ahead_d;
    late_q <= late_d;
    left_q <= left_d;
    flush_q <= flush_d;
    flush_asked_q <= flush_asked_d;
    flush_turn_q <= flush_turn_d;
    flush_queue_q <= flush_queue_d;
    late_flushes_q <= late_flushes_d;
    late_count_q <= late_count_d;
    waiting_q <= waiting_d;
    places_q <= places_d;
    if (refused_w[0]) refused_valid_q[refused_at[QpLineBits-1:0]] <= 1'b1;
    if (refused_w[1]) refused_valid_q[refused_at[QpLineBits+:QpLineBits]] <= 1'b1;
  end
end

// What waits in the order in which it came.
rxnic_arbiter #(.Requests(2)) turn (
  .clk_i, .rst_ni, .requests_i({tagged_valid_i, in_valid_i}), .take_i(takes), .valid_o(is_offered),
  .index_o(from_tagged)
);
rxnic_fifo #(.Bits(PacketBits + 48), .Depth(PipelineDepth)) packets (
  .clk_i, .rst_ni, .push_i(takes), .words_i({taken, now_q + 48'(HitCycles)}), .pop_i(leaves_pipe),
  .count_o(packets_here), .words_o({first_packet, first_due})
);
rxnic_fifo #(.Bits(ContextBits), .Depth(Queues), .Pushes(8)) line (  // contexts that may want a read
  .clk_i, .rst_ni, .push_i(line_pushes), .words_i(line_words), .pop_i(line_moves), .count_o(lined_here),
  .words_o(first_in_line)
);
rxnic_fifo #(.Bits(57), .Depth(RequestDepth), .Pushes(3)) requests (  // for contexts: writes, number, line
  .clk_i, .rst_ni, .push_i(request_pushes), .words_i(request_pushed), .pop_i(request_leaves), .count_o(requests_here),
  .words_o(first_request)
);
rxnic_fifo #(.Bits(FlushBits), .Depth(ContextLines)) flush_requests (
  .clk_i, .rst_ni, .push_i(flush_request_taken), .words_i(flushes_i), .pop_i(flush_request_leaves),
  .count_o(flushes_here), .words_o(first_flush)
);
assign pipe_count = 32'(packets_here);
assign line_size = 16'(lined_here);
assign request_count = 32'(requests_here);
assign flush_count = (QpLineBits + 1)'(flushes_here);
for (genvar n = 0; n < 8; n++) begin : gen_line_words
  assign line_words[n*ContextBits+:ContextBits] = line_pushed[n*16+:ContextBits];
end

for (genvar n = 0; n < WqesPerRead; n++) begin : write_entries
  always_ff @(posedge clk_i) begin
    if (entries_w[n]) entries_q[entries_at[n*EntryPlaceBits+:EntryPlaceBits]] <= entries_as[n*EntryBits+:EntryBits];
  end
end

always_ff @(posedge clk_i) begin : memories
  for (int unsigned m = 0; m < 3; m++) begin  // in the order of the steps
    for (int unsigned n = 0; n < 3; n++) begin
      if (sets_w[m*3+n]) sets_q[sets_at[(m*3+n)*SetBits+:SetBits]] <= sets_as[(m*3+n)*RowBits+:RowBits];
      if (records_w[m*3+n]) begin
        records_q[records_at[(m*3+n)*LineBits+:LineBits]] <= records_as[(m*3+n)*QueueBits+:QueueBits];
      end
      if (asked_w[m*3+n]) asked_q[asked_at[(m*3+n)*LineBits+:LineBits]] <= asked_as[(m*3+n)*11+:11];
      if (reads_w[m*3+n]) reads_q[reads_at[(m*3+n)*LineBits+:LineBits]] <= reads_as[(m*3+n)*9+:9];
      if (contexts_w[m*3+n]) begin
        contexts_q[contexts_at[(m*3+n)*ContextBits+:ContextBits]] <=
            contexts_as[(m*3+n)*ContextVectorBits+:ContextVectorBits];
      end
      if (contexts_of_w[m*3+n]) begin
        contexts_of_q[contexts_of_at[(m*3+n)*LineBits+:LineBits]] <= contexts_of_as[(m*3+n)*ContextBits+:ContextBits];
      end
    end
  end
  if (flight_w) flights_q[read_id] <= flight;
  for (int unsigned n = 0; n < 3; n++) begin
    if (shares_w[n]) shares_q[shares_at[n*NumberBits+:NumberBits]] <= shares_as[n*7+:7];
    if (pending_w[n]) pending_q[pending_at[n*NumberBits+:NumberBits]] <= pending_as[n*(QpLineBits+1)+:QpLineBits+1];
    if (open_w[n]) open_wqes_q[open_at[n*QpLineBits+:QpLineBits]] <= open_as[n*OpenBits+:OpenBits];
  end
  if (slot_w) slots_q[slot_at[SlotBits-1:0]] <= slot_as;
  if (free_number_w) free_numbers_q[free_number_count_q[NumberBits-1:0]] <= commands_i.queue_[NumberBits-1:0];
  for (int unsigned n = 0; n < 2; n++) begin
    if (refused_w[n]) refused_q[refused_at[n*QpLineBits+:QpLineBits]] <= refused_as[n*RefusedBits+:RefusedBits];
  end
end
