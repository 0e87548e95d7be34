// SPDX-License-Identifier: Apache-2.0
// Operations on the lists of tag_match_cam: appends, removals, syncs; and lists that are made and removed.

task automatic accept_operation();
  logic waits, ok, overflows, adds, removing;
  operation_waits_d = 1'b0;
  removing = job.kind == tag_match_pkg::JobRemove;
  open_list_of(operation.srq);
  waits = 1'b0;
  ok = 1'b1;
  overflows = 1'b0;
  adds = operation.opcode == rxnic_link_pkg::TagOpcodeAdd;
  if (!found_list) begin
    operations_ready_o = 1'b1;
    worked = 1'b1;
  end else if (job.kind != tag_match_pkg::JobRemove &&
               (returns_d != '0 || (job.has_list && job.of_list == at))) begin
    operation_waits_d = 1'b1;
  end else begin
    find_place(posted.handle);
    get_full();
    if (adds) begin
      ok = posted.handle < MaxTags && place_found != tag_match_pkg::PlaceCam &&
           place_found != tag_match_pkg::PlaceOverflow;
      overflows = ok && (cam_used_d + cam_reserved_d == Entries ||
                         (l.in_overflow != '0 && (l.unread != l.tail || l.failed)));  // (R5)
      if (overflows && l.failed) begin
        ok = 1'b0;
      end else if (overflows) begin
        operation_waits_d = is_full;
        lacks_dma = !is_full && (dma_valid_o || !dma_ready_i);
        waits = is_full || lacks_dma;
      end
    end else if (operation.opcode == rxnic_link_pkg::TagOpcodeDelete) begin
      if (job.kind == tag_match_pkg::JobRemove) begin
        operation_waits_d = !job.decided;
        waits = !job.decided;
        ok = job.taken;
        if (job.decided) job = '0;
      end else if (place_found == tag_match_pkg::PlaceCam) begin
        removes = 1'b1;
        remove_list = at;
        count_in_cam(-32'd1);
        place_tag(posted.handle[HandleBits-1:0], tag_match_pkg::PlaceFree);
      end else if (place_found != tag_match_pkg::PlaceOverflow || l.failed) begin
        ok = 1'b0;
      end else begin
        operation_waits_d = 1'b1;
        waits = 1'b1;
        if (job.kind == tag_match_pkg::JobNone && bursts_used_d == '0) begin
          job.kind = tag_match_pkg::JobRemove;
          job.has_list = 1'b1;
          job.of_list = at;
          job.position = l.head;
          job.reads = 1'b1;
          job_entry.handle = posted.handle;
        end
      end
    end
    if (!waits) carry_out_operation(ok, ok && adds, overflows);
    // Packets may pass it from now on, or its removal begins.
    worked = worked || !waits || (operation_waits_q && !operation_waits_d) ||
             (!removing && job.kind == tag_match_pkg::JobRemove);
    close_list();
  end
endtask

task automatic carry_out_operation(input logic ok, input logic adds, input logic overflows);
  operations_ready_o = 1'b1;
  if (operation.tm_sync) set_counts(l.unexpected, operation.unexpected_count);
  if (adds) begin
    looked = {l.appended, posted.handle, posted.tag, posted.mask, posted.buffer};
    l.appended = l.appended + 64'd1;
    if (overflows) begin
      enter_overflow(looked.sequence_);
      place_tag(posted.handle[HandleBits-1:0], tag_match_pkg::PlaceOverflow);
      write_entry(looked, l.tail[SlotNumberBits-1:0]);
      l.tail = tag_match_pkg::advance(l.tail, SlotNumberBits'(1), SlotNumberBits'(Slots));
      note_spilled();
    end else begin
      enter_cam(looked, looked.handle[HandleBits-1:0]);
    end
  end
  cam_free_d = now_q + (operation.opcode == rxnic_link_pkg::TagOpcodeSync ? 48'd1 : 48'(AppendCycles));  // (R3)
  if (operation.signaled || !ok) begin  // (R13)
    result_ok = ok;
    result_cq = l.cq;
    result_asks_sync = l.unexpected != l.acknowledged;
    result_push = 1'b1;
    result_due = cam_free_d;
    pipe_count_d = pipe_count_d + PipeCountBits'(1);
  end
endtask

// A TM SRQ is made or removed. (R15)
task automatic carry_out_command();
  logic placed;
  list_done_valid_o = 1'b1;
  open_list_of(lists_i.queue_);
  if (found_list) forget_list();
  placed = 1'b0;
  if (lists_i.create) begin
    for (int unsigned n = 0; n < Lists; n++) begin
      if (!placed && !list_used_d[n]) begin
        placed = 1'b1;
        list_used_d[n] = 1'b1;
        at = ListBits'(n);
      end
    end
  end
  if (placed) begin
    l = '0;
    l.srq = lists_i.queue_;
    l.pd = lists_i.pd;
    l.cq = lists_i.cq;
    l.head = PositionBits'(Slots) << (32 + SlotNumberBits);
    l.tail = l.head;
    l.unread = l.head;
    clear_places = 1'b1;
    clear_list = at;
    close_list();
  end
  list_done_o.ok = placed || !lists_i.create;
endtask

// The list at hand, and all that is about it.
task automatic forget_list();
  cam_used_d = cam_used_d - l.in_cam;
  forget_spilled();
  if (job.has_list && job.of_list == at) begin
    job.has_list = 1'b0;
    if (job.kind != tag_match_pkg::JobSearch) job = '0;
  end
  for (int unsigned n = 0; n < RefillReads; n++) begin
    burst = bursts_d[n*BurstVectorBits+:BurstVectorBits];
    if (burst.of_list == at) burst.has_list = 1'b0;
    bursts_d[n*BurstVectorBits+:BurstVectorBits] = burst;
  end
  for (int unsigned n = 0; n < MostReturns; n++) if (back_lists_d[n*ListBits+:ListBits] == at) back_valid_d[n] = 1'b0;
  list_used_d[at] = 1'b0;
endtask

// A message that was refused comes back. (R14)
task automatic take_back();
  open_list_of(returned_i.srq);
  if (found_list && returned_i.handle == '1) begin
    set_counts(l.unexpected - 16'd1, l.acknowledged);
    close_list();
  end else if (found_list) begin
    for (int unsigned n = 0; n < MostReturns; n++) begin
      if (ReturnCountBits'(n) == returns_d) begin
        back_valid_d[n] = 1'b1;
        back_lists_d[n*ListBits+:ListBits] = at;
        back_handles_d[n*32+:32] = returned_i.handle;
      end
    end
    returns_d = returns_d + ReturnCountBits'(1);
  end
endtask
