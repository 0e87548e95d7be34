// SPDX-License-Identifier: Apache-2.0
// What leaves cqe_generator: writes of CQEs, packets behind them (R1), events (R4), requests to flush and notices (R6).

localparam int unsigned WriteCountBits = $clog2(WriteDepth + 6);
localparam int unsigned WritePlaceBits = $clog2(WriteDepth + 6);
localparam int unsigned WriteIndexBits = $clog2(WriteDepth);
localparam int unsigned PipeCountBits = $clog2(LatencyCycles + 1);
localparam int unsigned EventCountBits = $clog2(EventDepth + 10);
localparam int unsigned BlockBits = BlockSlots * 512;
localparam int unsigned WriteBits = WritePlaceBits + 8 + 64 + 32 + 16 + 1 + 24 + 64;

// Writes. A block that wraps has two of them, with its CQEs in the place of the second one.
// verilator coverage_off
// Place of the CQEs, first of them, number, address, bytes, cqes, notify, CQN, due
logic [WriteBits-1:0] writes_q [WriteDepth];
logic [BlockBits-1:0] blocks_q [WriteDepth];
// verilator coverage_on
logic [WritePlaceBits-1:0] first_write_q;
logic [WriteCountBits-1:0] write_count_q, write_count_0, write_count_4, write_count_6, write_room_0, write_room_4;
logic write_is_due, write_leaves, write_waits, wraps_4, wraps_6;
logic [3:0] run_4, run_6;
logic [63:0] address_4, address_6, address_6b;
logic [31:0] bytes_4, bytes_6, bytes_6b, start_4, start_6;
logic [BlockBits-1:0] block_4, block_6;
logic [511:0] block_6b;
logic [3:0] slots_of_4, slots_of_6;
logic [WriteBits-1:0] front_write;
// verilator lint_off UNUSEDSIGNAL
logic [WritePlaceBits-1:0] leaving_place;
// verilator lint_on UNUSEDSIGNAL
logic [3:0] first_slot, slots_left;
logic [63:0] write_address, write_due;
logic [31:0] write_bytes;
logic [15:0] write_cqes;
logic write_notify;
logic [23:0] write_cq;
logic [BlockBits-1:0] front_block;
logic [511:0] lane_cqe;
logic [13:0] lane_slot;
logic [15:0] place_q;
rxnic_link_pkg::dma_request_t write_request;

cqe_block #(.MaxHeld(MaxHeld), .Slots(BlockSlots), .CqeBytes(CqeBytes)) session_block (
  .title_i(titles_q[line_4]), .minis_i(minis_q[line_4]), .held_i(helds_q[line_4]), .record_i(found_4),
  .block_o(block_4), .slots_o(slots_of_4), .wraps_o(wraps_4), .run_o(run_4), .address_o(address_4), .bytes_o(bytes_4),
  .bytes_at_start_o(start_4)
);
cqe_block #(.MaxHeld(MaxHeld), .Slots(BlockSlots), .CqeBytes(CqeBytes)) packet_block (
  .title_i(title_6), .minis_i(minis_6), .held_i(written_6), .record_i(found_6), .block_o(block_6),
  .slots_o(slots_of_6), .wraps_o(wraps_6), .run_o(run_6), .address_o(address_6), .bytes_o(bytes_6),
  .bytes_at_start_o(start_6)
);
// verilator lint_off PINCONNECTEMPTY
cqe_block #(.MaxHeld(2), .Slots(1), .CqeBytes(CqeBytes)) plain_block (
  .title_i(cqe_6), .minis_i('0), .held_i(7'd1), .record_i(before_6), .block_o(block_6b), .slots_o(),
  .wraps_o(), .run_o(), .address_o(address_6b), .bytes_o(bytes_6b), .bytes_at_start_o()
);
// verilator lint_on PINCONNECTEMPTY

function automatic logic [WritePlaceBits-1:0] write_place(input logic [WritePlaceBits-1:0] from,
                                                          input logic [WriteCountBits-1:0] behind);
  logic [WritePlaceBits:0] n;
  n = {1'b0, from} + {1'b0, behind};
  if (n >= (WritePlaceBits + 1)'(WriteDepth)) n = n - (WritePlaceBits + 1)'(WriteDepth);
  write_place = n[WritePlaceBits-1:0];
endfunction

always_comb begin : leave
  front_write = writes_q[first_write_q[WriteIndexBits-1:0]];
  {leaving_place, first_slot, slots_left, write_address, write_bytes, write_cqes, write_notify, write_cq, write_due} =
      front_write;
  write_is_due = write_count_q != '0 && write_due <= now_i;
  dma_valid_o = write_is_due;
  write_leaves = write_is_due && dma_ready_i;
  write_waits = write_is_due && !dma_ready_i;
  write_request = '0;
  write_request.kind = rxnic_link_pkg::DmaKindWrite;
  write_request.notify = write_notify;
  write_request.cqes = write_cqes;
  write_request.cookie = 32'(write_cq);
  write_request.address = write_address;
  write_request.bytes = write_bytes;
  dma_o = write_request;
  front_block = blocks_q[leaving_place[WriteIndexBits-1:0]];
  written_valid_o = '0;
  written_o = '0;
  lane_cqe = '0;
  lane_slot = '0;
  for (int unsigned n = 0; n < BlockSlots; n++) begin
    lane_cqe = '0;
    for (int unsigned m = 0; m < BlockSlots; m++) begin
      if (32'(first_slot) + n == m) lane_cqe = front_block[m*512+:512];
    end
    lane_slot = place_q[13:0] + 14'(n);
    written_valid_o[n] = write_leaves && n < 32'(slots_left);
    written_o[n*rxnic_link_pkg::CqeWriteBits+:rxnic_link_pkg::CqeWriteBits] = {lane_slot, lane_cqe};
  end
end
assign write_count_0 = write_count_q - WriteCountBits'(write_leaves);
assign write_room_0 = WriteCountBits'(WriteDepth) - write_count_0;
assign write_count_4 = !ends_4 ? write_count_0 : write_count_0 + (wraps_4 ? WriteCountBits'(2) : WriteCountBits'(1));
assign write_room_4 = WriteCountBits'(WriteDepth) - write_count_4;
logic [WriteCountBits-1:0] write_count_6a;
assign write_count_6a = !session_6 ? write_count_4 :
                        write_count_4 + (wraps_6 ? WriteCountBits'(2) : WriteCountBits'(1));
assign write_count_6 = plain_6 ? write_count_6a + WriteCountBits'(1) : write_count_6a;
assign left_count_0 = made_q - 32'(write_count_0);

logic [63:0] due_now;
logic [WritePlaceBits-1:0] at_4, at_4b, at_6, at_6b, at_plain, after_leave;
assign due_now = now_i + 64'(LatencyCycles);
assign at_4 = write_place(first_write_q, write_leaves ? write_count_0 + WriteCountBits'(1) : write_count_0);
assign at_4b = write_place(at_4, WriteCountBits'(1));
assign at_6 = write_place(at_4, write_count_4 - write_count_0);
assign at_6b = write_place(at_6, WriteCountBits'(1));
assign at_plain = write_place(at_4, write_count_6a - write_count_0);
logic [WritePlaceBits-1:0] place_4, place_6;
assign place_4 = wraps_4 ? at_4b : at_4;
assign place_6 = wraps_6 ? at_6b : at_6;
assign after_leave = write_place(first_write_q, WriteCountBits'(1));

always_ff @(posedge clk_i) begin : write_memories
  if (ends_4) begin
    if (wraps_4) begin
      writes_q[at_4[WriteIndexBits-1:0]] <= {at_4b, run_4, slots_of_4 - run_4, found_4.base, start_4, 16'd0,
                                             1'b0, 24'd0, due_now};
    end
    writes_q[place_4[WriteIndexBits-1:0]] <= {place_4, 4'd0, run_4, address_4, bytes_4, 16'(helds_q[line_4]),
                                         !found_4.polled_only, found_4.number, due_now};
    blocks_q[place_4[WriteIndexBits-1:0]] <= block_4;
  end
  if (session_6) begin
    if (wraps_6) begin
      writes_q[at_6[WriteIndexBits-1:0]] <= {at_6b, run_6, slots_of_6 - run_6, found_6.base, start_6, 16'd0,
                                             1'b0, 24'd0, due_now};
    end
    writes_q[place_6[WriteIndexBits-1:0]] <= {place_6, 4'd0, run_6, address_6, bytes_6, 16'(written_6),
                                         !found_6.polled_only, found_6.number, due_now};
    blocks_q[place_6[WriteIndexBits-1:0]] <= block_6;
  end
  if (plain_6) begin
    writes_q[at_plain[WriteIndexBits-1:0]] <= {at_plain, 4'd0, 4'd1, address_6b, bytes_6b, 16'd1,
                                               !found_6.polled_only, found_6.number,
                           due_now};
    blocks_q[at_plain[WriteIndexBits-1:0]] <= BlockBits'(block_6b);
  end
end

// Packets
localparam int unsigned AckBits = rxnic_link_pkg::AckRequestBits;
logic [PipeCountBits-1:0] pipe_count, pipe_count_0, pipe_room_0;
logic [63:0] packet_due;
logic packet_leaves, next_write_is_due;
// verilator lint_off UNUSEDSIGNAL
logic [WriteBits-1:0] next_write;  // when it is due
// verilator lint_on UNUSEDSIGNAL
assign next_write = writes_q[after_leave[WriteIndexBits-1:0]];
assign next_write_is_due = write_leaves ? write_count_q > WriteCountBits'(1) && next_write[63:0] <= now_i
                                        : write_is_due;
rxnic_fifo #(.Bits(AckBits + 64), .Depth(LatencyCycles)) pipe (
  .clk_i, .rst_ni, .push_i(takes), .words_i({q[PacketBits-1-:AckBits], due_now}), .pop_i(packet_leaves),
  .count_o(pipe_count), .words_o({out_o, packet_due})
);
assign out_valid_o = pipe_count != '0 && packet_due <= now_i && !next_write_is_due;
assign packet_leaves = out_valid_o && out_ready_i;
assign pipe_count_0 = pipe_count - PipeCountBits'(packet_leaves);
assign pipe_room_0 = PipeCountBits'(LatencyCycles) - pipe_count_0;

// Events, in the order of the steps. The first `released` of them wait for nothing that has not landed.
localparam int unsigned Raises = 8;
localparam int unsigned EventBits = 4 + 24 + 32 + 64;
// verilator coverage_off
logic [EventBits-1:0] events_q [EventDepth];  // type, number, blocks before it, not before
logic [63:0]          event_due_q [EventDepth];
// verilator coverage_on
localparam int unsigned EventPlaceBits = EventDepth > 1 ? $clog2(EventDepth) : 1;
logic [EventPlaceBits-1:0] first_event_q, first_held_q, event_place;
logic [EventCountBits-1:0] event_count_q, event_held_q, event_held_0, event_count_0, event_room_0;
logic [EventCountBits-1:0] event_room_1, event_room_2,
                           event_room_3, event_room_4, event_room_5, raise_count;
logic [31:0] landed_q, landed_0, blocks_q_made, blocks_4, blocks_6a, blocks_6b;
logic releases_event, event_leaves, event_is_due;
logic [31:0] held_behind;
logic [63:0] held_not_before, released_due, first_due;
logic [Raises-1:0] raised;
logic [Raises*28-1:0] raised_what;
logic [Raises*32-1:0] raised_behind;
logic [Raises*64-1:0] raised_not_before;
rxnic_link_pkg::event_t event_out;
// verilator lint_off UNUSEDSIGNAL
logic [EventBits-1:0] held_event, front_event;
// verilator lint_on UNUSEDSIGNAL
logic [3:0] front_type;
logic [23:0] front_number;

assign dma_done_ready_o = 1'b1;
assign landed_0 = landed_q + 32'(dma_done_valid_i);
always_comb begin : release_events
  held_event = events_q[first_held_q];
  held_behind = held_event[95:64];
  held_not_before = held_event[63:0];
  releases_event = event_held_q != '0 && landed_0 - held_behind < 32'h8000_0000;
  released_due = now_i + 64'(EventLatencyCycles) - 64'd1;
  if (released_due < held_not_before) released_due = held_not_before;
  event_held_0 = event_held_q - EventCountBits'(releases_event);
  first_due = releases_event && first_held_q == first_event_q ? released_due : event_due_q[first_event_q];
  event_is_due = event_count_q > event_held_0 && first_due <= now_i;
  front_event = events_q[first_event_q];
  {front_type, front_number} = front_event[EventBits-1:96];
  event_out = '0;
  event_out.number = front_number;
  events_valid_o = event_is_due;
  events_o = event_out;
  events_o[rxnic_link_pkg::EventBits-1-:4] = front_type;  // a cast of an enumeration would not be read by yosys
  event_leaves = event_is_due && events_ready_i;
  event_count_0 = event_count_q - EventCountBits'(event_leaves);
end
assign event_room_0 = EventCountBits'(EventDepth) - event_count_0;
assign event_room_1 = event_room_0;
assign event_room_2 = event_room_1 - EventCountBits'(raises_2);
assign event_room_3 = event_room_2 - EventCountBits'(fails_qp_3);
assign event_room_4 = event_room_3 - EventCountBits'(raises_4);
assign event_room_5 = event_room_4 - EventCountBits'(raises_5);
assign blocks_4 = blocks_q_made + 32'(ends_4 && !found_4.polled_only);
assign blocks_6a = blocks_4 + 32'(session_6 && !found_6.polled_only);
assign blocks_6b = blocks_6a + 32'(plain_6 && !found_6.polled_only);
logic [63:0] at_once;
assign at_once = now_i + 64'(LatencyCycles) + 64'(EventLatencyCycles);
always_comb begin : raise_events
  raised = {raises_error_6, kills_6, plain_6 && raised_6b, session_6 && raised_6a, takes && p.establishes, raises_5,
            raises_4, fails_qp_3};
  raised_what = {4'(error_type_6), q.qpn, 4'(rxnic_link_pkg::EventTypeCqError), number_6,
                 4'(rxnic_link_pkg::EventTypeCompletion), number_6, 4'(rxnic_link_pkg::EventTypeCompletion), number_6,
                 4'(rxnic_link_pkg::EventTypeQpCommunicationEstablished), p.qpn,
                 4'(rxnic_link_pkg::EventTypeCompletion), number_5, 4'(rxnic_link_pkg::EventTypeCompletion),
                 found_4.number, 4'(failures_i.event_), failure_context_i.flush.qpn};
  raised_behind = {blocks_6b, blocks_6b, blocks_6b, blocks_6a, blocks_4, blocks_4, blocks_4, blocks_q_made};
  for (int unsigned n = 0; n < Raises; n++) begin
    raised_not_before[n*64+:64] = raised_behind[n*32+:32] == landed_0 ? at_once : '0;
  end
  raise_count = EventCountBits'(raises_2);
  for (int unsigned n = 0; n < Raises; n++) raise_count = raise_count + EventCountBits'(raised[n]);
end
function automatic logic [EventPlaceBits-1:0] event_place_of(input logic [EventPlaceBits-1:0] from,
                                                             input logic [EventCountBits-1:0] behind);
  logic [EventCountBits:0] n;
  n = (EventCountBits + 1)'(from) + {1'b0, behind};
  if (n >= (EventCountBits + 1)'(EventDepth)) n = n - (EventCountBits + 1)'(EventDepth);
  event_place_of = n[EventPlaceBits-1:0];
endfunction
logic [EventCountBits-1:0] raised_before;
always_ff @(posedge clk_i) begin : event_memories
  if (releases_event) event_due_q[first_held_q] <= released_due;
  if (raises_2) begin
    events_q[event_place_of(first_event_q, event_count_q)] <=
        {4'(rxnic_link_pkg::EventTypeCompletion), number_2, blocks_q_made, blocks_q_made == landed_0 ? at_once : 64'd0};
  end
  for (int unsigned n = 0; n < Raises; n++) begin
    if (raised[n]) begin
      events_q[event_place_of(first_event_q, event_count_q + raises_until[n*EventCountBits+:EventCountBits])] <=
          {raised_what[n*28+:28], raised_behind[n*32+:32], raised_not_before[n*64+:64]};
    end
  end
end
logic [Raises*EventCountBits-1:0] raises_until;
always_comb begin : count_raises
  raised_before = EventCountBits'(raises_2);
  for (int unsigned n = 0; n < Raises; n++) begin
    raises_until[n*EventCountBits+:EventCountBits] = raised_before;
    raised_before = raised_before + EventCountBits'(raised[n]);
  end
end
assign event_place = event_place_of(first_event_q, EventCountBits'(1));

// Requests to flush, and notices to the requester: by a failure, which may leave at once, or by a packet.
localparam int unsigned FlushBits = rxnic_link_pkg::FlushRequestBits;
logic [$clog2(ContextLines+1)-1:0] flush_count, failed_count;
logic flush_leaves, notice_leaves;
logic [FlushBits-1:0] first_flush;
logic [47:0] first_notice, front_notice;  // line, QPN
rxnic_fifo #(.Bits(FlushBits), .Depth(ContextLines)) flush_list (
  .clk_i, .rst_ni, .push_i(fails_qp_3 || flushes_6),
  .words_i(fails_qp_3 ? failure_context_i.flush : head_qp.flush), .pop_i(flush_leaves), .count_o(flush_count),
  .words_o(first_flush)
);
rxnic_fifo #(.Bits(48), .Depth(ContextLines)) failed_list (
  .clk_i, .rst_ni, .push_i(fails_qp_3 || notifies_6),
  .words_i(fails_qp_3 ? {failure_context_i.flush.line, failure_context_i.flush.qpn}
                      : {head_qp.flush.line, head_qp.flush.qpn}),
  .pop_i(notice_leaves), .count_o(failed_count), .words_o(first_notice)
);
assign flushes_valid_o = flush_count != '0 || fails_qp_3;
assign flushes_o = flush_count != '0 ? first_flush : failure_context_i.flush;
assign flush_leaves = flushes_valid_o && flushes_ready_i;
assign failed_valid_o = failed_count != '0 || fails_qp_3;
assign front_notice = failed_count != '0 ? first_notice
                                         : {failure_context_i.flush.line, failure_context_i.flush.qpn};
assign failed_o = front_notice[23:0];
assign notice_leaves = failed_valid_o && failed_ready_i;
assign unpinned_valid_o = notice_leaves;
assign unpinned_o = front_notice[47:24];

assign quiescent_o = write_count_q == '0 && pipe_count == '0 && event_count_q == '0 && flush_count == '0 &&
                     failed_count == '0 && request_count == '0 && queue_count_q == '0 && timer_count_q == '0 &&
                     open_q == '0 && reading_q == '0 && !begun_q && !late_q;

logic blocked, lacks_way_6;
assign blocked = (dma_valid_o && !dma_ready_i) || (out_valid_o && !out_ready_i) || (considered && stalled_6);
assign lacks_way_6 = may_6 && !here_6 && !absence_6 && !coming_6 && !fetches_6;
assign activity_o = blocked      ? rxnic_link_pkg::ActivityBlocked :
                    waits_for_cq ? (lacks_way_6 ? rxnic_link_pkg::ActivityWaitContextWay
                                                : rxnic_link_pkg::ActivityWaitCqContext) :
                    takes || write_count_6 != '0 || pipe_count_0 != '0 || now_i < next_accept
                                 ? rxnic_link_pkg::ActivityBusy : rxnic_link_pkg::ActivityStarved;

always_ff @(posedge clk_i or negedge rst_ni) begin : output_state
  if (!rst_ni) begin
    first_write_q <= '0;
    write_count_q <= '0;
    made_q <= '0;
    place_q <= '0;
    first_event_q <= '0;
    first_held_q <= '0;
    event_count_q <= '0;
    event_held_q <= '0;
    landed_q <= '0;
    blocks_q_made <= '0;
  end else begin
    if (write_leaves) begin
      first_write_q <= after_leave;
      place_q <= place_q == 16'(DmaDepth * BlockSlots) ? '0 : place_q + 16'(BlockSlots);
    end
    write_count_q <= write_count_6;
    made_q <= made_q + 32'(write_count_6) - 32'(write_count_0);
    if (event_leaves) first_event_q <= event_place;
    if (releases_event) first_held_q <= event_place_of(first_held_q, EventCountBits'(1));
    event_count_q <= event_count_0 + raise_count;
    event_held_q <= event_held_0 + raise_count;
    landed_q <= landed_0;
    blocks_q_made <= blocks_6b;
  end
end
