// SPDX-License-Identifier: Apache-2.0
// A cycle of tag_match_cam.

always_comb begin : step
  list_used_d = list_used_q;
  lists_d = lists_q;
  order_d = order_q;
  spilled_d = spilled_q;
  turn_d = turn_q;
  cam_used_d = cam_used_q;
  cam_reserved_d = cam_reserved_q;
  back_valid_d = back_valid_q;
  back_lists_d = back_lists_q;
  back_handles_d = back_handles_q;
  returns_d = returns_q;
  bursts_d = bursts_q;
  first_burst_d = first_burst_q;
  bursts_used_d = bursts_used_q;
  bursts_landed_d = bursts_landed_q;
  at_hand_d = at_hand_q;
  at_hand = fresh_q ? bursts_i : at_hand_entry_q;
  leaving_d = leaving_q;
  job = job_q;
  job_entry = job_entry_q;
  walked_d = walked_q;
  pipe_count_d = pipe_count;
  cam_free_d = cam_free_q;
  search_free_d = search_free_q;
  operation_waits_d = operation_waits_q;
  enters = 1'b0;
  enter_list = '0;
  enter_entry = '0;
  leaves = 1'b0;
  leave_list = '0;
  leave_handle = '0;
  removes = 1'b0;
  remove_list = '0;
  undo_write = 1'b0;
  undo_write_list = '0;
  undo_write_entry = '0;
  clear_places = 1'b0;
  clear_list = '0;
  place_writes = '0;
  place_lists = '0;
  place_handles = '0;
  place_values = '0;
  push = 1'b0;
  push_due = '0;
  result_push = 1'b0;
  result_due = '0;
  walks = 1'b0;
  leaves_pipe = 1'b0;
  l = '0;
  at = '0;
  burst = '0;
  compared = '0;
  looked = '0;
  remembered = '0;
  packet = '0;
  label_kind = tag_match_pkg::MessageAsItIs;
  label_pd = '0;
  label_cq = '0;
  label_handle = '0;
  label_buffer = '0;
  label_opcode = '0;
  result_ok = 1'b0;
  result_cq = '0;
  result_asks_sync = 1'b0;
  operation = operations_i;
  posted = operation.entry;
  stored = '0;
  dma = '0;
  found_list = 1'b0;
  begins = 1'b0;
  starts = 1'b0;
  kept = 1'b0;
  worked = 1'b0;
  lacks_dma = 1'b0;
  match_found = 1'b0;
  is_settled = 1'b0;
  is_full = 1'b0;
  is_sparse = 1'b0;
  held_from = '0;
  unacknowledged = '0;
  position = '0;
  burst_entries = '0;
  burst_at = '0;
  row = '0;
  place_found = '0;
  due = '0;
  written = '0;
  dma_valid_o = 1'b0;
  written_valid_o = 1'b0;
  context_write_valid_o = 1'b0;
  list_done_valid_o = 1'b0;
  list_done_o = '0;
  operations_ready_o = 1'b0;

  // (1) a command; a returned match or unexpected message
  if (lists_valid_i && lists_ready_o) carry_out_command();
  returned_ready_o = returns_d < ReturnCountBits'(MostReturns);
  came_back = returned_valid_i && returned_ready_o;
  worked = list_done_valid_o || came_back || dma_done_valid_i;
  if (came_back) take_back();
  // (2) a read of the overflow has come; one of its entries is looked at
  dma_done_ready_o = 1'b1;
  if (dma_done_valid_i) begin
    open_burst(bursts_landed_d);
    burst.ok = dma_done_i.ok;
    close_burst();
    bursts_landed_d = bursts_landed_d + BurstCountBits'(1);
  end
  if (at_hand_q && now_q >= cam_free_d && cam_ready) look();
  if (job.kind == tag_match_pkg::JobPutBack) end_put_back();
  else if (returns_d != '0 && now_q >= cam_free_d && cam_ready && cam_answered) put_back();
  // (3) the oldest result walks on, or leaves
  head_is_ready = pipe_count != '0 && first_due <= now_q;
  if (head_is_ready && first_walks && !walked_q && cam_ready) search_on();
  out_valid_o = head_is_ready && (!first_walks || walked_d);
  if (out_valid_o && out_ready_i) begin
    leaves_pipe = 1'b1;
    walked_d = 1'b0;
    pipe_count_d = pipe_count_d - PipeCountBits'(1);
    worked = 1'b1;
  end
  // (4) a read of the overflow
  if (spilled_d != '0 && bursts_used_d != BurstCountBits'(RefillReads) && !dma_valid_o && dma_ready_i) begin
    read_overflow();
    worked = worked || dma_valid_o;
  end
  // (5) a packet and an operation, the packet first (R2)
  takes_packet = now_q >= cam_free_d && cam_ready && (!cam_search || cam_searched) && !came_back &&
                 now_q >= search_free_d && !kept && returns_d == '0 &&
                 job.kind == tag_match_pkg::JobNone && !operation_waits_q &&
                 pipe_count_d != PipeCountBits'(PipelineDepth) && in_valid_i;
  if (takes_packet && Hazard == rxnic_params_pkg::SearchHazardStall) begin
    packet = in_i;
    open_list_of(packet.receive_queue);
    find_starts();
    if (starts && l.result_at > now_q) begin
      search_free_d = l.result_at;
      takes_packet = 1'b0;
    end
  end
  in_ready_o = takes_packet;
  if (takes_packet) accept_packet();
  worked = worked || takes_packet;
  if (now_q >= cam_free_d && cam_ready && !came_back && operations_valid_i &&
      pipe_count_d != PipeCountBits'(PipelineDepth)) begin
    accept_operation();
  end
  // (6) the next entry of a read
  bursts_valid_o = !at_hand_d && bursts_landed_d != '0;
  open_burst('0);
  bursts_o = {8'(first_burst_d), burst.next[5:0]};
  if (bursts_valid_o) at_hand_d = 1'b1;
  dma_o = dma;
  written_o = written;
  // (7) rest
  activity_o = rxnic_link_pkg::ActivityStarved;
  if (worked) activity_o = rxnic_link_pkg::ActivityBusy;
  else if (lacks_dma || (out_valid_o && !out_ready_i)) activity_o = rxnic_link_pkg::ActivityBlocked;
  else if (pipe_count_d != '0) activity_o = rxnic_link_pkg::ActivityWaitTag;
  else if (now_q < cam_free_d || now_q < search_free_d || !cam_ready || (cam_search && !cam_searched)) begin
    activity_o = rxnic_link_pkg::ActivityBusy;
  end
end

assign quiescent_o = pipe_count == '0 && now_q >= cam_free_q && now_q >= search_free_q && !at_hand_q &&
                     bursts_landed_q == '0 && returns_q == '0 && job_q.kind == tag_match_pkg::JobNone && !dma_valid_o &&
                     cam_ready;

always_ff @(posedge clk_i or negedge rst_ni) begin
  if (!rst_ni) begin
    now_q <= '0;
    cam_free_q <= '0;
    search_free_q <= '0;
    list_used_q <= '0;
    order_q <= '0;
    spilled_q <= '0;
    turn_q <= '0;
    cam_used_q <= '0;
    cam_reserved_q <= '0;
    back_valid_q <= '0;
    back_lists_q <= '0;
    back_handles_q <= '0;
    returns_q <= '0;
    bursts_q <= '0;
    first_burst_q <= '0;
    bursts_used_q <= '0;
    bursts_landed_q <= '0;
    at_hand_q <= 1'b0;
    fresh_q <= 1'b0;
    at_hand_entry_q <= '0;
    leaving_q <= '0;
    job_q <= '0;
    job_entry_q <= '0;
    walked_q <= 1'b0;
    operation_waits_q <= 1'b0;
    undo_next_q <= '0;
  end else begin
    now_q <= now_q + 48'd1;
    cam_free_q <= cam_free_d;
    search_free_q <= search_free_d;
    list_used_q <= list_used_d;
    order_q <= order_d;
    spilled_q <= spilled_d;
    turn_q <= turn_d;
    cam_used_q <= cam_used_d;
    cam_reserved_q <= cam_reserved_d;
    back_valid_q <= back_valid_d;
    back_lists_q <= back_lists_d;
    back_handles_q <= back_handles_d;
    returns_q <= returns_d;
    bursts_q <= bursts_d;
    first_burst_q <= first_burst_d;
    bursts_used_q <= bursts_used_d;
    bursts_landed_q <= bursts_landed_d;
    at_hand_q <= at_hand_d;
    fresh_q <= bursts_valid_o;
    at_hand_entry_q <= at_hand;
    leaving_q <= leaving_d;
    job_q <= job;
    job_entry_q <= job_entry;
    walked_q <= walked_d;
    operation_waits_q <= operation_waits_d;
    if (undo_write) undo_next_q <= undo_next_q == ReturnBits'(MostReturns - 1) ? '0 : undo_next_q + ReturnBits'(1);
  end
end

always_ff @(posedge clk_i) begin : memories
  lists_q <= lists_d;
  if (undo_write) begin
    undo_q[undo_next_q] <= undo_write_entry;
    undo_lists_q[undo_next_q] <= undo_write_list;
  end
  if (clear_places) places_q[clear_list] <= '0;
  for (int unsigned n = 0; n < PlaceWrites; n++) begin
    if (3'(n) < place_writes) begin
      places_q[place_lists[n*ListBits+:ListBits]][{place_handles[n*HandleBits+:HandleBits], 1'b0}+:2] <=
          place_values[n*2+:2];
    end
  end
  walked_packet_q <= front_packet;
end
