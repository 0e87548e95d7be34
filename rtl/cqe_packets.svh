// SPDX-License-Identifier: Apache-2.0
// Packets of cqe_generator: the queue of those that wait for contexts (R12), what a packet is (R8, refusal.h), and what
// leaves with it beside its CQE.

// A packet with its QP and the first element of its WQE, as they stood at the inputs. What is written of a QP's part
// is written here, too.
localparam int unsigned QueueDepth = CqMissesInFlight + 1;
localparam int unsigned QueueBits = $clog2(QueueDepth + 1);
localparam int unsigned QueuePlaceBits = $clog2(QueueDepth);
localparam int unsigned LineIndexBits = ContextLines > 1 ? $clog2(ContextLines) : 1;
localparam int unsigned SlotIndexBits = WqeSlots > 1 ? $clog2(WqeSlots) : 1;
localparam int unsigned SegmentBits = rxnic_link_pkg::DataSegmentBits;
// verilator coverage_off
logic [PacketBits-1:0]  queue_q [QueueDepth];
logic [SegmentBits-1:0] queue_wqes_q [QueueDepth];
logic [QpBits-1:0]      queue_qps_q [QueueDepth];  // their parts as they came
logic [63:0]            refused_q [ContextLines];  // requests of a QP: residence, number of our request
logic [ContextLines-1:0] refused_valid_q, refused_answers_q;  // the latter: its answers, too
logic [WqeSlots-1:0]    wqe_done_q;
// verilator coverage_on
// verilator lint_off UNUSEDSIGNAL
logic [QueueBits-1:0] queue_first_q, queue_count_q, ahead_q, ahead_6, ahead_place;
// verilator lint_on UNUSEDSIGNAL
logic [63:0] next_accept_q, next_accept;

function automatic logic [QueueBits-1:0] queue_place(input logic [QueueBits-1:0] behind);
  logic [QueueBits:0] n;
  n = {1'b0, queue_first_q} + {1'b0, behind};
  if (n >= (QueueBits + 1)'(QueueDepth)) n = n - (QueueBits + 1)'(QueueDepth);
  queue_place = n[QueueBits-1:0];
endfunction

// verilator lint_off UNUSEDSIGNAL
rxnic_link_pkg::completion_request_t head, p, q, behind_packet;  // not all fields matter
// verilator lint_on UNUSEDSIGNAL
rxnic_link_pkg::completion_qp_t head_qp;
// verilator lint_off UNUSEDSIGNAL
rxnic_link_pkg::data_segment_t head_wqe;
// verilator lint_on UNUSEDSIGNAL
logic queued, considered, hands_over, places_data, stalled_6, may_complete_6, waits_for_cq, takes, enqueues;
logic refused_known, refuses_6, gives_up_6, releases_6;
logic [31:0] refused_residence, refused_request;
logic [LineIndexBits-1:0] head_line;
logic has_line;

always_comb begin : head_packet
  queued = queue_count_q != '0;
  head = queued ? queue_q[queue_first_q[QueuePlaceBits-1:0]] : in_i;
  head_qp = queued ? queue_qps_q[queue_first_q[QueuePlaceBits-1:0]] : context_i;
  for (int unsigned n = 0; n < QueueDepth; n++) begin
    if (queued && 32'(queue_first_q) == n) head_qp.part = queue_parts_q[n*2+:2];
  end
  head_wqe = queued ? queue_wqes_q[queue_first_q[QueuePlaceBits-1:0]] : wqe_i;
  head_line = head.line[LineIndexBits-1:0];
  has_line = head.line != '1;
  hands_over = head.rendezvous && head.role == rxnic_link_pkg::PacketRoleReceived &&
               rxnic_pkg::is_send(head.opcode) && head.wqe_slot != '1;
  places_data = head.role == rxnic_link_pkg::PacketRoleReceived && head.outcome == rxnic_link_pkg::OutcomeAnswer &&
                (rxnic_pkg::is_read_response(head.opcode) || rxnic_pkg::is_atomic_ack(head.opcode));
  {refused_residence, refused_request} = refused_q[head_line];
  refused_known = has_line && refused_valid_q[head_line] && refused_residence == head.residence;
  refuses_6 = refused_known && head.role == rxnic_link_pkg::PacketRoleReceived &&
              !rxnic_pkg::is_response(head.opcode);
  gives_up_6 = refused_known && refused_answers_q[head_line] &&
               ((head.role == rxnic_link_pkg::PacketRoleReceived && rxnic_pkg::is_response(head.opcode)) ||
                (head.role == rxnic_link_pkg::PacketRoleSendCompletion &&
                 head.status != rxnic_link_pkg::WcStatusFlushed));
  considered = !takes_failure && now_i >= next_accept_q && (queued || in_valid_i);
  stalled_6 = (places_data && !placed_ready_i) || (hands_over && !rendezvous_ready_i) ||
              pipe_room_0 == '0 || write_room_4 < WriteCountBits'(3) || event_room_5 < EventCountBits'(5);
  may_complete_6 = head.completes || (head.releases_wqe && head.wqe_slot != '1) || gives_up_6;
end
assign number_6 = head.cq;
assign looks_6 = considered && !stalled_6 && may_complete_6;
assign line_6 = line_of(set_6, way_6);

// (R11, R13)
logic lacks_room_6;
logic [3:0] room_slots_6;
always_comb begin : decide
  room_slots_6 = block_slots(open_count_6) + 4'd1;
  lacks_room_6 = !found_6.ignore_overrun && found_6.producer - found_6.consumer + 32'(room_slots_6) > found_6.slots;
  yields_6 = looks_6 && here_6 && late_2 && !found_6.dead && !found_6.closed && lacks_room_6;
  waits_for_cq = looks_6 && (yields_6 || (!here_6 && !absence_6));
  takes = considered && !stalled_6 && !waits_for_cq;
  enqueues = waits_for_cq && in_valid_i && queue_count_q != QueueBits'(QueueDepth);
  in_ready_o = (takes && !queued) || enqueues;
  waits_6 = waits_5;
  numbers_6 = numbers_5;
  absent_6 = absent_5;
  if (takes) begin
    waits_6[Packet] = 1'b0;
  end else if (waits_for_cq) begin
    waits_6[Packet] = 1'b1;
    numbers_6[Packet*24+:24] = number_6;
  end
end
assign writes_6 = fetches_6 || (takes && looks_6 && here_6);
assign row_6 = fetches_6 ? fetched_row_6 : used_row_6;

// (7) One behind it
logic behind_refused, behind_needs;
logic [LineIndexBits-1:0] behind_line;
logic [31:0] behind_residence;
logic [QueueBits-1:0] count_7;
always_comb begin : look_behind
  count_7 = queue_count_q + QueueBits'(enqueues);
  ahead_6 = ahead_q == '0 ? QueueBits'(1) : ahead_q;
  ahead_place = queue_place(ahead_6);
  behind_packet = ahead_6 < queue_count_q ? queue_q[ahead_place[QueuePlaceBits-1:0]] : in_i;
  behind_line = behind_packet.line[LineIndexBits-1:0];
  behind_residence = refused_q[behind_line][63:32];
  behind_refused = behind_packet.line != '1 && refused_valid_q[behind_line] && refused_answers_q[behind_line] &&
                   behind_residence == behind_packet.residence &&
                   ((behind_packet.role == rxnic_link_pkg::PacketRoleReceived &&
                     rxnic_pkg::is_response(behind_packet.opcode)) ||
                    (behind_packet.role == rxnic_link_pkg::PacketRoleSendCompletion &&
                     behind_packet.status != rxnic_link_pkg::WcStatusFlushed));
  behind_needs = behind_packet.completes || (behind_packet.releases_wqe && behind_packet.wqe_slot != '1) ||
                 behind_refused;
end
assign number_7 = behind_packet.cq;
assign looks_7 = waits_for_cq && ahead_6 < count_7 && behind_needs;
assign writes_7 = fetches_7;
assign row_7 = fetched_row_7;
logic passes_7;
assign passes_7 = waits_for_cq && ahead_6 < count_7 && (!behind_needs || here_7 || coming_7 || may_7);

// What the packet is when it is taken: squashed, given up; its WQE completes once (R8).
logic wqe_done, wqe_known, done_next;
always_comb begin : settle
  p = head;
  if (refuses_6 || gives_up_6) begin
    p.drop_reason = rxnic_link_pkg::DropReasonSquashed;
    p.outcome = rxnic_link_pkg::OutcomeDrop;
    p.syndrome = '0;
    p.status = rxnic_link_pkg::WcStatusFlushed;
    if (refuses_6) begin
      p.acknowledge = 1'b0;
      p.completes = 1'b0;
      p.fails_qp = 1'b0;
    end else begin
      p.completes = head.role == rxnic_link_pkg::PacketRoleSendCompletion ? head.completes :
                    head.ends_message && head.message_sequence != refused_request;
    end
  end
  wqe_known = p.wqe_slot != '1;
  wqe_done = wqe_known && wqe_done_q[p.wqe_slot[SlotIndexBits-1:0]];
  if (wqe_known) begin
    if (wqe_done) begin
      p.completes = 1'b0;
    end else if (p.releases_wqe && !p.completes) begin
      p.completes = 1'b1;
      if (p.status == rxnic_link_pkg::WcStatusSuccess) begin
        p.status = p.drop_reason == rxnic_link_pkg::DropReasonRemoteAccess ? rxnic_link_pkg::WcStatusRemoteAccess
                                                                            : rxnic_link_pkg::WcStatusFlushed;
      end
    end
  end
  done_next = !p.releases_wqe && (wqe_done || (p.completes && p.status != rxnic_link_pkg::WcStatusSuccess));
end

// The packet behind its completion: its CQ had no room (R3).
logic fails_by_overrun, refuses_by_overrun, is_request_6, reliable_6;
always_comb begin : overrun_packet
  q = p;
  is_request_6 = rxnic_pkg::is_request(p.opcode);
  reliable_6 = rxnic_pkg::on_reliable(p.transport) && !rxnic_pkg::is_response(p.opcode);
  refuses_by_overrun = overruns_6 && has_line && !p.fails_qp && !head_qp.part.flush_requested;
  fails_by_overrun = refuses_by_overrun && p.role == rxnic_link_pkg::PacketRoleReceived;
  if (fails_by_overrun) begin
    q.drop_reason = rxnic_link_pkg::DropReasonCqOverrun;
    q.outcome = reliable_6 ? rxnic_link_pkg::OutcomeNak : rxnic_link_pkg::OutcomeDrop;
    q.syndrome = NakRemoteOperation;
    q.status = rxnic_link_pkg::WcStatusGeneral;
    q.acknowledge = reliable_6 && is_request_6;
    q.answer_msn = p.msn_before;
    q.answer_psn = p.psn;
    q.fails_qp = 1'b1;
  end else if (refuses_by_overrun) begin
    q.drop_reason = rxnic_link_pkg::DropReasonCqOverrun;
  end
  if (overruns_6 || discards_6) q.completes = 1'b0;
  if (q.releases_wqe) q.wqe_slot = '1;
end
localparam logic [7:0] NakRemoteOperation = 8'h63;
localparam logic [7:0] NakRemoteAccess = 8'h62;

assign refusals_valid_o = takes && refuses_by_overrun;
assign refusals_o = {fails_by_overrun && rxnic_pkg::is_response(p.opcode) ? rxnic_link_pkg::RefusalKindRequestError
                                                                          : rxnic_link_pkg::RefusalKindError,
                     p.line, fails_by_overrun && rxnic_pkg::is_response(p.opcode) ? p.message_sequence : 32'd0,
                     32'hffff_ffff};
assign releases_6 = takes && p.releases_wqe && p.wqe_slot != '1;
assign released_valid_o = releases_6;
assign released_o = p.wqe_slot;
assign placed_valid_o = takes && places_data && q.outcome == rxnic_link_pkg::OutcomeAnswer;
assign placed_o = {p.qpn, p.psn, rxnic_link_pkg::AnswerKindReadResponse, 8'd0};
assign rendezvous_valid_o = takes && hands_over;
assign rendezvous_o = {q.completes && q.outcome == rxnic_link_pkg::OutcomeExecute &&
                       q.status == rxnic_link_pkg::WcStatusSuccess,
                       q.qpn, q.wqe_index, q.pd, head_wqe.address, head_wqe.lkey, q.local_bytes, q.local_va,
                       q.local_key, q.tag, q.tag_context};

// Its QP in error (R6, R7, R17)
logic asked_for_6, by_requester_6, flushes_6, notifies_6, raises_error_6, last_wqe_6;
rxnic_link_pkg::event_type_e error_type_6;
always_comb begin : qp_error
  asked_for_6 = q.role == rxnic_link_pkg::PacketRoleFailure;
  by_requester_6 = q.role == rxnic_link_pkg::PacketRoleSendCompletion && rxnic_pkg::on_reliable(q.transport) &&
                   q.status != rxnic_link_pkg::WcStatusSuccess && q.status != rxnic_link_pkg::WcStatusFlushed;
  last_wqe_6 = takes && has_line && q.role == rxnic_link_pkg::PacketRoleLastWqe && !head_qp.part.last_wqe_event_sent;
  flushes_6 = takes && has_line && q.role != rxnic_link_pkg::PacketRoleLastWqe && !head_qp.part.flush_requested &&
              (asked_for_6 || q.fails_qp || q.drop_reason == rxnic_link_pkg::DropReasonCqOverrun || by_requester_6);
  notifies_6 = flushes_6 && !asked_for_6 && !by_requester_6;
  raises_error_6 = last_wqe_6 || (flushes_6 && !asked_for_6 && !q.completes);
  error_type_6 = last_wqe_6 ? rxnic_link_pkg::EventTypeQpLastWqeReached :
                 q.fails_qp && q.syndrome == rxnic_pkg::NakInvalidRequest ? rxnic_link_pkg::EventTypeQpRequestError :
                 q.fails_qp && q.syndrome == NakRemoteAccess ? rxnic_link_pkg::EventTypeQpAccessError
                                                              : rxnic_link_pkg::EventTypeQpFatal;
  context_write_valid_o = takes_failure || flushes_6 || last_wqe_6;
  context_write_o = '0;
  if (takes_failure) begin
    context_write_o.line = failures_i.line;
    context_write_o.part = failure_context_i.part;
    context_write_o.part.flush_requested = 1'b1;
    context_write_o.pins = fails_qp_3 ? 2'd2 : 2'd0;
    context_write_o.unpins = 1'b1;
  end else begin
    context_write_o.line = q.line;
    context_write_o.part = head_qp.part;
    if (last_wqe_6) context_write_o.part.last_wqe_event_sent = 1'b1;
    else context_write_o.part.flush_requested = 1'b1;
    context_write_o.pins = {notifies_6, flushes_6 && !notifies_6};
  end
end

// verilator lint_off UNUSEDSIGNAL
logic [QueueBits-1:0] enqueue_place;
// verilator lint_on UNUSEDSIGNAL
assign enqueue_place = queue_place(queue_count_q);
logic [QueueDepth*2-1:0] queue_parts_q, queue_parts;  // of their QPs, as they are now
always_comb begin : follow_parts
  queue_parts = queue_parts_q;
  for (int unsigned n = 0; n < QueueDepth; n++) begin
    if (enqueues && 32'(enqueue_place) == n) queue_parts[n*2+:2] = context_i.part;
    if (context_write_valid_o && context_write_o.line ==
        (enqueues && 32'(enqueue_place) == n ? in_i.line : queue_qps_q[n][QpBits-3-:24])) begin
      queue_parts[n*2+:2] = context_write_o.part;
    end
  end
end
assign next_accept = takes ? now_i + (p.completes ? 64'(CyclesPerCqe) : 64'd1) : next_accept_q;
always_ff @(posedge clk_i or negedge rst_ni) begin : packet_state
  if (!rst_ni) begin
    queue_first_q <= '0;
    queue_count_q <= '0;
    ahead_q <= '0;
    refused_valid_q <= '0;
    refused_answers_q <= '0;
    wqe_done_q <= WqeSlots'(0);
    next_accept_q <= '0;
  end else begin
    if (takes && queued) queue_first_q <= queue_place(QueueBits'(1));
    queue_count_q <= queue_count_q + QueueBits'(enqueues) - QueueBits'(takes && queued);
    if (takes) ahead_q <= ahead_q == '0 ? '0 : ahead_q - QueueBits'(1);
    else if (waits_for_cq) ahead_q <= passes_7 ? ahead_6 + QueueBits'(1) : ahead_6;
    next_accept_q <= next_accept;
    if (takes && wqe_known) wqe_done_q[p.wqe_slot[SlotIndexBits-1:0]] <= done_next;
    if (takes && refuses_by_overrun) begin
      refused_valid_q[head_line] <= 1'b1;
      refused_answers_q[head_line] <= (refused_known && refused_answers_q[head_line]) ||
                                      (fails_by_overrun && rxnic_pkg::is_response(p.opcode));
    end
  end
end

always_ff @(posedge clk_i) begin : packet_memories
  queue_parts_q <= queue_parts;
  if (takes && refuses_by_overrun) begin
    refused_q[head_line] <= {p.residence, fails_by_overrun && rxnic_pkg::is_response(p.opcode) ? p.message_sequence
                                          : refused_known ? refused_request : 32'd0};
  end
  if (enqueues) begin
    queue_q[enqueue_place[QueuePlaceBits-1:0]] <= in_i;
    queue_wqes_q[enqueue_place[QueuePlaceBits-1:0]] <= wqe_i;
    queue_qps_q[enqueue_place[QueuePlaceBits-1:0]] <= context_i;
  end
end
