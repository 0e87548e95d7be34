// SPDX-License-Identifier: Apache-2.0
// The CQE of a packet of cqe_generator (6): what it says (model/core/completion/cqe_format.h), the session that it ends
// or joins (R5), room (R3).

// Bits of CqeFlag (model/types/completion.h)
localparam logic [15:0] CqeGrh = 16'h0001;
localparam logic [15:0] CqeImmediate = 16'h0002;
localparam logic [15:0] CqeInvalidated = 16'h0004;
localparam logic [15:0] CqeTags = 16'h0018;
localparam logic [15:0] CqeSolicited = 16'h0040;
localparam logic [15:0] CqeSrq = 16'h0080;

// verilator coverage_off
logic [23:0] srqs_q [Queues];
logic [Queues-1:0] srq_valid_q;
// verilator coverage_on
localparam int unsigned QueueIndexBits = Queues > 1 ? $clog2(Queues) : 1;
logic [511:0] cqe_6, same_6;
logic is_srq_6, success_6;
logic [15:0] flags_6;
logic [23:0] srqn_6;
always_comb begin : make_cqe
  is_srq_6 = p.queue_ < Queues && srq_valid_q[p.queue_[QueueIndexBits-1:0]];
  srqn_6 = srqs_q[p.queue_[QueueIndexBits-1:0]];
  if (begins_1 && command.queue_ == p.queue_ && p.queue_ < Queues) begin  // R9: a command goes first
    if (command.operation == rxnic_link_pkg::CqOperationAttachSrq) begin
      is_srq_6 = 1'b1;
      srqn_6 = command.srqn;
    end
    if (command.operation == rxnic_link_pkg::CqOperationDetachSrq) is_srq_6 = 1'b0;
  end
  success_6 = p.status == rxnic_link_pkg::WcStatusSuccess;
  flags_6 = is_srq_6 ? CqeSrq : '0;
  cqe_6 = '0;
  cqe_6[0*8+:32] = 32'(p.qpn);
  if (is_srq_6) cqe_6[4*8+:32] = 32'(srqn_6);
  cqe_6[8*8+:32] = p.wqe_index;
  cqe_6[31*8+:8] = 8'(p.cqe_opcode);
  cqe_6[32*8+:8] = 8'(p.status);
  cqe_6[40*8+:64] = now_i;
  if (!success_6) begin
    cqe_6[33*8+:8] = 8'(p.drop_reason);
    flags_6 = flags_6 | (p.cqe_flags & CqeTags);
  end else begin
    cqe_6[12*8+:32] = p.byte_count;
    flags_6 = flags_6 | p.cqe_flags;
    cqe_6[48*8+:64] = p.tag;
    cqe_6[56*8+:32] = p.tag_context;
    if (p.role == rxnic_link_pkg::PacketRoleReceived && rxnic_pkg::is_request(p.opcode)) begin
      if ((rxnic_pkg::has_immediate(p.opcode) || rxnic_pkg::has_ieth(p.opcode)) && p.ends_message) begin
        cqe_6[16*8+:32] = p.immediate;
        flags_6 = flags_6 | (rxnic_pkg::has_immediate(p.opcode) ? CqeImmediate : CqeInvalidated);
      end
      if (p.solicited) flags_6 = flags_6 | CqeSolicited;
      if (rxnic_pkg::has_deth(p.opcode)) begin
        cqe_6[20*8+:32] = 32'(p.source_qp);
        cqe_6[24*8+:16] = p.source_lid;
        cqe_6[30*8+:8] = 8'(p.service_level);
        if (p.network_header != rxnic_link_pkg::NetworkHeaderNone) flags_6 = flags_6 | CqeGrh;
      end
    end
  end
  cqe_6[28*8+:16] = flags_6;
end

// What happens to it. A session is written at most once: before a CQE that does not join it, or with its last one.
// Without back-pressure each CQE is the last one.
logic open_here_6, usable_6, discards_6, overruns_6, compressible_6, joins_title_6, ends_before_6, fills_6, joins_6;
logic plain_6, session_6, kills_6;
logic pressed_q, pressed_6;  // of the last packet that was taken; of this one
logic [6:0] limit_6, open_count_6, held_count_6, written_6;
logic [511:0] title_6;
logic [MaxHeld*64-1:0] minis_6, joined_minis_6;
logic [63:0] session_end_6;
rxnic_link_pkg::stored_cq_t before_6, after_session_6, after_plain_6;
logic [3:0] session_slots_6, next_slots_6;
logic raised_6a, added_6a, moved_6a, raised_6b, added_6b, moved_6b, solicited_6a, solicited_6b, room_6;

assign open_here_6 = open_4[line_6];
assign open_count_6 = open_here_6 ? helds_q[line_6] : '0;
always_comb begin : limit
  limit_6 = found_6.compress && Compression != 0 ? 7'd1 : '0;
  for (int unsigned n = 2; n <= MaxHeld; n++) begin
    if (found_6.compress && Compression != 0 && 32'(block_slots(7'(n))) <= found_6.slots) limit_6 = 7'(n);
  end
end
always_comb begin : session
  same_6 = cqe_6 ^ titles_q[line_6];
  same_6[8*8+:64] = '0;   // wqe_index, byte_count
  same_6[40*8+:64] = '0;  // timestamp
  joins_title_6 = same_6 == '0 && open_count_6 < limit_6;
  usable_6 = takes && p.completes && looks_6 && here_6 && !found_6.closed;
  discards_6 = takes && p.completes && !usable_6;
  compressible_6 = limit_6 > 7'd1 && success_6;
  pressed_6 = p.pressed || write_waits;
  ends_before_6 = usable_6 && open_here_6 && !(compressible_6 && joins_title_6);
  held_count_6 = ends_before_6 ? '0 : open_count_6;
  session_end_6 = now_i + 64'(CompressionTimeoutCycles);
end
always_comb begin : room_for_it
  before_6 = ends_before_6 ? after_session_6 : found_6;
  next_slots_6 = block_slots(held_count_6 + 7'd1);
  room_6 = before_6.ignore_overrun || before_6.producer - before_6.consumer + 32'(next_slots_6) <= before_6.slots;
  overruns_6 = usable_6 && (before_6.dead || !room_6);
  kills_6 = overruns_6 && !before_6.dead;
  joins_6 = usable_6 && !overruns_6 && compressible_6 && (pressed_6 || held_count_6 != '0);
  plain_6 = usable_6 && !overruns_6 && !joins_6;
  fills_6 = joins_6 && (held_count_6 + 7'd1 == limit_6 || !pressed_6);
  session_6 = ends_before_6 || fills_6;
end
always_comb begin : session_at_hand
  title_6 = titles_q[line_6];
  minis_6 = minis_q[line_6];
  joined_minis_6 = minis_q[line_6];
  for (int unsigned n = 0; n < MaxHeld; n++) begin
    if (7'(n) == held_count_6) joined_minis_6[n*64+:64] = {cqe_6[64+:32], cqe_6[96+:32]};
  end
  written_6 = open_count_6;
  if (!ends_before_6) begin
    written_6 = open_count_6 + 7'd1;
    if (!open_here_6) title_6 = cqe_6;
    for (int unsigned n = 0; n < MaxHeld; n++) begin
      if (7'(n) == open_count_6) minis_6[n*64+:64] = {cqe_6[64+:32], cqe_6[96+:32]};
    end
  end
  session_slots_6 = block_slots(written_6);
  solicited_6a = title_6[28*8+6];
  solicited_6b = !success_6 || cqe_6[28*8+6];
end
cq_event #(.ModerationUnitPs(ModerationUnitPs), .ClockPeriodPs(ClockPeriodPs)) event_6a (
  .now_i(now_i), .record_i(found_6), .arms_i(1'b0), .solicited_i(solicited_6a), .index_i(32'd0),
  .slots_i(32'(session_slots_6)), .completions_i(32'(written_6)), .timers_full_i(timers_full_6a),
  .record_o(after_session_6), .raises_o(raised_6a), .adds_timer_o(added_6a), .moves_timer_o(moved_6a)
);
cq_event #(.ModerationUnitPs(ModerationUnitPs), .ClockPeriodPs(ClockPeriodPs)) event_6b (
  .now_i(now_i), .record_i(before_6), .arms_i(1'b0), .solicited_i(solicited_6b), .index_i(32'd0),
  .slots_i(32'd1), .completions_i(32'd1), .timers_full_i(timers_full_6b),
  .record_o(after_plain_6), .raises_o(raised_6b), .adds_timer_o(added_6b), .moves_timer_o(moved_6b)
);
assign adds_6a = session_6 && added_6a;
assign moves_6a = session_6 && moved_6a;
assign adds_6b = plain_6 && added_6b;
assign moves_6b = plain_6 && moved_6b;
assign due_6a = after_session_6.timer;
assign due_6b = after_plain_6.timer;
assign keeps_6 = usable_6 && (session_6 || plain_6 || kills_6);
always_comb begin : record_of_packet
  cq_6 = plain_6 ? after_plain_6 : fills_6 ? after_session_6 : before_6;
  if (kills_6) begin
    cq_6.dead = 1'b1;
    cq_6.armed = rxnic_link_pkg::CqArmNot;
    cq_6.due = Never;
  end
  open_6 = open_4;
  if (session_6) open_6[line_6] = 1'b0;
  if (joins_6 && !fills_6) open_6[line_6] = 1'b1;
end

always_ff @(posedge clk_i or negedge rst_ni) begin : pressure_state
  if (!rst_ni) pressed_q <= 1'b0;
  else if (takes) pressed_q <= p.pressed;
end
always_ff @(posedge clk_i or negedge rst_ni) begin : srq_state
  if (!rst_ni) begin
    srq_valid_q <= Queues'(0);
  end else if (begins_1 && command.queue_ < Queues &&
               (command.operation == rxnic_link_pkg::CqOperationAttachSrq ||
                command.operation == rxnic_link_pkg::CqOperationDetachSrq)) begin
    srq_valid_q[command.queue_[QueueIndexBits-1:0]] <= command.operation == rxnic_link_pkg::CqOperationAttachSrq;
  end
end
always_ff @(posedge clk_i) begin : srq_memory
  if (begins_1 && command.operation == rxnic_link_pkg::CqOperationAttachSrq && command.queue_ < Queues) begin
    srqs_q[command.queue_[QueueIndexBits-1:0]] <= command.srqn;
  end
end
