// SPDX-License-Identifier: Apache-2.0
// The overflow of the lists of tag_match_cam in memory: what is read, what its bytes decide, what is written.

// Writes an entry into a slot of the list at hand: `bytes` of it, those from byte `from` on.
task automatic request_write(input logic [SlotNumberBits-1:0] slot, input logic [31:0] from, input logic [31:0] bytes);
  written_valid_o = 1'b1;
  written = {leaving_q, stored};
  leaving_d = leaving_q == 11'(DmaDepth) ? '0 : leaving_q + 11'd1;
  request(slot, from, bytes, 32'(leaving_q));
  dma.kind = rxnic_link_pkg::DmaKindWrite;
endtask

task automatic request(input logic [SlotNumberBits-1:0] slot, input logic [31:0] from, input logic [31:0] bytes,
                       input logic [31:0] cookie);
  dma_valid_o = 1'b1;
  dma.kind = rxnic_link_pkg::DmaKindRead;
  dma.cookie = cookie;
  dma.address = tag_match_pkg::OverflowBase + 64'(from) +
                (64'(l.srq) * 64'(Slots) + 64'(slot)) * 64'(tag_match_pkg::EntryBytes);
  dma.bytes = bytes;
endtask

task automatic write_entry(input logic [tag_match_pkg::EntryBits-1:0] entry,
                           input logic [SlotNumberBits-1:0] slot);
  compared = entry;
  stored = {compared.tag, compared.mask, compared.buffer, compared.sequence_, compared.handle, 32'd1};
  request_write(slot, 32'd0, 32'(tag_match_pkg::EntryBytes));
endtask

// Marks an entry as dead. (R8)
task automatic bury(input logic [SlotNumberBits-1:0] slot);
  stored = '0;
  stored.handle = '1;
  request_write(slot, 32'(tag_match_pkg::LiveOffset), 32'd4);
endtask

task automatic note_spilled();
  if (!l.spilled) begin
    l.spilled = 1'b1;
    for (int unsigned n = 0; n < Lists; n++) begin
      if (ListCountBits'(n) == spilled_d) order_d[n*ListBits+:ListBits] = at;
    end
    spilled_d = spilled_d + ListCountBits'(1);
  end
endtask

task automatic forget_spilled();
  logic gone;
  gone = 1'b0;
  for (int unsigned n = 0; n < Lists; n++) begin
    if (ListCountBits'(n) < spilled_d && order_d[n*ListBits+:ListBits] == at) gone = 1'b1;
    if (gone) order_d[n*ListBits+:ListBits] = order_d[(n+1)*ListBits+:ListBits];
  end
  if (gone) spilled_d = spilled_d - ListCountBits'(1);
endtask

// Nothing is left in the overflow: its slots are free.
task automatic tidy();
  if (l.spilled && l.in_overflow == '0 && l.in_flight == '0) begin
    l.head = l.tail;
    l.unread = l.tail;
    l.in_gap = 1'b0;
    l.spilled = 1'b0;
    forget_spilled();
  end
endtask

task automatic drop_return();
  back_valid_d = back_valid_d >> 1;
  back_lists_d = back_lists_d >> ListBits;
  back_handles_d = back_handles_d >> 32;
  returns_d = returns_d - ReturnCountBits'(1);
endtask

task automatic fail();  // (R9)
  l.failed = 1'b1;
  if (job.has_list && job.of_list == at) begin
    if (job.kind == tag_match_pkg::JobRemove) job.decided = 1'b1;
    if (job.kind == tag_match_pkg::JobPutBack) begin
      job = '0;
      drop_return();
    end
  end
endtask

// The n-th burst, the oldest one first: into `burst`, and back.
task automatic open_burst(input logic [BurstCountBits-1:0] n);
  find_burst(n);
  burst = '0;
  for (int unsigned k = 0; k < RefillReads; k++) begin
    if (BurstBits'(k) == burst_at) burst = bursts_d[k*BurstVectorBits+:BurstVectorBits];
  end
endtask

task automatic find_burst(input logic [BurstCountBits-1:0] n);
  logic [BurstCountBits-1:0] k;
  k = BurstCountBits'(first_burst_d) + n;
  if (k >= BurstCountBits'(RefillReads)) k = k - BurstCountBits'(RefillReads);
  burst_at = k[BurstBits-1:0];
endtask

task automatic close_burst();
  for (int unsigned k = 0; k < RefillReads; k++) begin
    if (BurstBits'(k) == burst_at) bursts_d[k*BurstVectorBits+:BurstVectorBits] = burst;
  end
endtask

// A read of the list at hand.
task automatic read(input logic [PositionBits-1:0] p, input logic [1:0] kind);
  find_burst(bursts_used_d);
  burst = '0;
  burst.has_list = 1'b1;
  burst.of_list = at;
  burst.kind = kind;
  burst.entries = burst_entries;
  burst.position = p;
  close_burst();
  bursts_used_d = bursts_used_d + BurstCountBits'(1);
  l.in_flight = l.in_flight + 9'd1;
  request(p[SlotNumberBits-1:0], 32'd0, 32'(burst_entries) * 32'(tag_match_pkg::EntryBytes), 32'(burst_at));
endtask

// The rest of the oldest burst, which is at hand, is not looked at.
task automatic drop_burst();
  if (burst.kind == tag_match_pkg::BurstRefill) cam_reserved_d = cam_reserved_d - 32'(burst.entries) + 32'(burst.next);
  find_burst(BurstCountBits'(1));
  first_burst_d = burst_at;
  bursts_used_d = bursts_used_d - BurstCountBits'(1);
  bursts_landed_d = bursts_landed_d - BurstCountBits'(1);
  at_hand_d = 1'b0;
endtask

// Looks at the entry at hand. (R6)
task automatic look();
  logic own;
  open_burst('0);
  if (burst.has_list) open_list(burst.of_list);
  own = burst.has_list && job.has_list && job.of_list == burst.of_list;
  if (!burst.has_list) begin
    worked = 1'b1;
    drop_burst();
  end else if (l.failed) begin
    worked = 1'b1;
    l.in_flight = l.in_flight - 9'd1;
    drop_burst();
    tidy();
    close_list();
  end else if ((burst.kind == tag_match_pkg::BurstRefill && !own) || (!dma_valid_o && dma_ready_i)) begin
    worked = 1'b1;
    if (!burst.ok) fail();
    else if (burst.kind == tag_match_pkg::BurstCompaction) compact_entry();
    else if (job.kind == tag_match_pkg::JobPutBack) put_back_between();
    else look_at(own);
    at_hand_d = 1'b0;
    burst.next = burst.next + 8'd1;
    burst.position = tag_match_pkg::advance(burst.position, SlotNumberBits'(1), SlotNumberBits'(Slots));
    if (burst.kind == tag_match_pkg::BurstRefill) cam_reserved_d = cam_reserved_d - 32'd1;
    close_burst();
    if (burst.next == burst.entries || l.failed || (burst.kind == tag_match_pkg::BurstJob && job.decided)) begin
      if (!l.failed) end_burst();
      l.in_flight = l.in_flight - 9'd1;
      drop_burst();
      tidy();
    end
    close_list();
  end
endtask

// (R6, R7, R8) `own`: the job is of its list.
task automatic look_at(input logic own);
  logic first, hit, too_young;
  first = burst.position == l.head;
  looked = {at_hand.sequence_, at_hand.handle, at_hand.tag, at_hand.mask, at_hand.buffer};
  // A search is decided also by an entry that is too young.
  too_young = job.kind == tag_match_pkg::JobSearch && job.has_match && at_hand.sequence_ > job_entry.sequence_;
  hit = !too_young && (job.tag & at_hand.mask) == at_hand.tag && at_hand.sequence_ < job.held_from;
  if (job.kind == tag_match_pkg::JobRemove) hit = at_hand.handle == job_entry.handle;
  hit = hit && own && !job.decided;
  find_place(at_hand.handle);
  if (at_hand.live == '0) begin
    if (first) drop_head();
  end else if (at_hand.live != 32'd1 || place_found != tag_match_pkg::PlaceOverflow) begin
    fail();
  end else begin
    if (own) job.decided = job.decided || hit || too_young;
    if (hit) begin
      leave_overflow(at_hand.sequence_, first);
      place_tag(at_hand.handle[HandleBits-1:0],
                job.kind == tag_match_pkg::JobSearch ? tag_match_pkg::PlaceConsumed : tag_match_pkg::PlaceFree);
      if (job.kind == tag_match_pkg::JobSearch) begin
        remember(looked);
        job_entry = looked;
      end
      job.taken = 1'b1;
      if (first) drop_head();
      else bury(burst.position[SlotNumberBits-1:0]);
    end else if (first && (burst.kind == tag_match_pkg::BurstRefill || cam_used_d + cam_reserved_d != Entries)) begin
      leave_overflow(at_hand.sequence_, 1'b1);
      enter_cam(looked, looked.handle[HandleBits-1:0]);
      drop_head();
      cam_free_d = now_q + 48'(AppendCycles);  // (R3)
    end
  end
endtask

// The job at hand ends with its last read: a read of a job is always its own.
task automatic end_burst();
  if (job.kind == tag_match_pkg::JobPutBack) begin  // nothing else is read meanwhile
    if (job.position == l.tail) job.decided = 1'b1;
  end else if (l.head == l.tail && l.in_overflow != '0) begin
    fail();
  end else if (burst.kind == tag_match_pkg::BurstJob) begin
    get_after(burst.position);
    job.position = position;
    if (position[PositionBits-1:SlotNumberBits] < l.head[PositionBits-1:SlotNumberBits]) job.position = l.head;
    if (job.kind == tag_match_pkg::JobRemove && job.position == l.tail) job.decided = 1'b1;
  end
endtask

// A live entry goes to the end of those that are in front of the gap.
task automatic compact_entry();
  begin_compaction();
  if (at_hand.live != '0 && l.gap_begin != burst.position) begin
    stored = at_hand;
    request_write(l.gap_begin[SlotNumberBits-1:0], 32'd0, 32'(tag_match_pkg::EntryBytes));
  end
  move_gap(at_hand.live != '0);
endtask

// An entry that is older than the one to be put back goes one slot towards the head. (R14)
task automatic put_back_between();
  if (at_hand.sequence_ >= job_entry.sequence_) begin
    job.decided = 1'b1;
  end else begin
    stored = at_hand;
    request_write(job.destination[SlotNumberBits-1:0], 32'd0, 32'(tag_match_pkg::EntryBytes));
    job.destination = tag_match_pkg::advance(job.destination, SlotNumberBits'(1), SlotNumberBits'(Slots));
    get_after(tag_match_pkg::advance(burst.position, SlotNumberBits'(1), SlotNumberBits'(Slots)));
    job.position = position;
  end
endtask

// It follows the older ones.
task automatic end_put_back();
  if (job.decided && !dma_valid_o && dma_ready_i) begin
    worked = 1'b1;
    open_list(job.of_list);
    position = tag_match_pkg::advance(job.destination, SlotNumberBits'(1), SlotNumberBits'(Slots));
    if (position == l.head) begin
      l.overflow_from = job_entry.sequence_ + 64'd1;  // none is older: put_back() goes on
    end else begin
      write_entry(job_entry, job.destination[SlotNumberBits-1:0]);
      enter_overflow(job_entry.sequence_);
      place_tag(job_entry.handle[HandleBits-1:0], tag_match_pkg::PlaceOverflow);
      insert(position, job.position);
      drop_return();
    end
    job = '0;
    close_list();
  end
endtask

// The match that came back first goes where its age belongs. (R14)
task automatic put_back();
  logic room;
  logic [ReturnCountBits-1:0] returns_before;
  returns_before = returns_d;
  open_list(back_lists_d[ListBits-1:0]);
  find_place(back_handles_d[31:0]);
  find_remembered(back_handles_d[31:0]);
  get_settled(remembered.sequence_);
  get_full();
  room = cam_used_d + cam_reserved_d != Entries;
  if (!back_valid_d[0]) begin  // its list is gone
    drop_return();
  end else if (place_found == tag_match_pkg::PlaceConsumed && is_settled && room) begin
    enter_cam(remembered, remembered.handle[HandleBits-1:0]);
    cam_free_d = now_q + 48'(AppendCycles);
    drop_return();
  end else if (place_found != tag_match_pkg::PlaceConsumed || l.failed) begin
    drop_return();
  end else if (job.kind == tag_match_pkg::JobNone && bursts_used_d == '0 && !is_full) begin
    if (!is_settled) begin
      job.kind = tag_match_pkg::JobPutBack;
      job.has_list = 1'b1;
      job.of_list = at;
      job_entry = remembered;
      job.reads = 1'b1;
      job.position = l.head;
      job.destination = tag_match_pkg::retreat(l.head, SlotNumberBits'(Slots));
    end else if (!dma_valid_o && dma_ready_i) begin
      l.head = tag_match_pkg::retreat(l.head, SlotNumberBits'(Slots));
      l.unread = l.head;
      if (!cam_youngest || youngest_entry.sequence_ < remembered.sequence_) begin
        write_entry(remembered, l.head[SlotNumberBits-1:0]);
        enter_overflow(remembered.sequence_);
        place_tag(remembered.handle[HandleBits-1:0], tag_match_pkg::PlaceOverflow);
      end else begin
        write_entry(youngest_entry, l.head[SlotNumberBits-1:0]);
        leave_cam(youngest_entry.handle[HandleBits-1:0], tag_match_pkg::PlaceOverflow);
        enter_overflow(youngest_entry.sequence_);
        enter_cam(remembered, remembered.handle[HandleBits-1:0]);
        cam_free_d = now_q + 48'(AppendCycles);
      end
      note_spilled();
      drop_return();
    end
  end
  worked = worked || returns_d != returns_before || job.kind == tag_match_pkg::JobPutBack;
  close_list();
endtask

// (R6, R7, R8)
task automatic read_overflow();
  logic waits;
  waits = returns_d != '0 || operation_waits_q;
  open_burst('0);
  if (job.kind != tag_match_pkg::JobNone) begin
    if (job.has_list && job.reads && !job.decided && bursts_used_d == '0) begin
      open_list(job.of_list);
      get_burst(job.position, OverflowEntriesPerRead);
      read(job.position, tag_match_pkg::BurstJob);
      close_list();
    end
  end else if (!waits && cam_used_d + cam_reserved_d != Entries) begin
    if (bursts_used_d == '0 || burst.kind != tag_match_pkg::BurstCompaction) read_for_cam();
  end else if (bursts_used_d == '0) begin
    compact(waits);
  end
endtask

task automatic read_for_cam();
  logic chosen;
  logic [ListCountBits-1:0] turn;
  logic [31:0] room;
  logic [PositionBits-1:0] from;
  chosen = 1'b0;
  turn = turn_q;
  for (int unsigned tried = 0; tried < Lists; tried++) begin
    if (!chosen && ListCountBits'(tried) < spilled_d) begin
      if (turn >= spilled_d) turn = '0;
      open_ordered(turn);
      turn = turn + ListCountBits'(1);
      chosen = !l.failed && l.unread != l.tail;
    end
  end
  if (chosen) begin
    turn_d = turn;
    room = Entries - cam_used_d - cam_reserved_d;
    from = l.unread;
    get_burst(from, room < OverflowEntriesPerRead ? room : OverflowEntriesPerRead);
    get_after(tag_match_pkg::advance(from, SlotNumberBits'(burst_entries), SlotNumberBits'(Slots)));
    l.unread = position;
    cam_reserved_d = cam_reserved_d + 32'(burst_entries);
    read(from, tag_match_pkg::BurstRefill);
    close_list();
  end
endtask

// The n-th of the lists with an overflow.
task automatic open_ordered(input logic [ListCountBits-1:0] n);
  logic [ListBits-1:0] list;
  list = '0;
  for (int unsigned k = 0; k < Lists; k++) if (ListCountBits'(k) == n) list = order_d[k*ListBits+:ListBits];
  open_list(list);
endtask

// The next read of a list that is to be compacted; `urgent`: only of one all of whose slots are in use.
task automatic compact(input logic urgent);
  logic chosen;
  chosen = 1'b0;
  for (int unsigned n = 0; n < Lists; n++) begin
    if (!chosen && ListCountBits'(n) < spilled_d) begin
      open_ordered(ListCountBits'(n));
      get_sparse();
      chosen = !l.failed && is_sparse && (!urgent || is_full);
    end
  end
  if (chosen) begin
    begin_compaction();
    get_burst(l.gap_end, OverflowEntriesPerRead);
    read(l.gap_end, tag_match_pkg::BurstCompaction);
    close_list();
  end
endtask
