// SPDX-License-Identifier: Apache-2.0
// What becomes of a CQE of cqe_generator (6): the session that it ends or joins (R5), and whether its CQ has room (R3).
// Also what the CQE makes of the CQ's record. A session is written at most once: before a CQE that does not join it, or
// with its last one. Without back-pressure each CQE is the last one.
module cqe_completion #(
  parameter int unsigned Compression              = 0,
  parameter int unsigned CompressionTimeoutCycles = 1,
  parameter int unsigned ModerationUnitPs         = 1,
  parameter int unsigned ClockPeriodPs            = 1,
  parameter int unsigned MaxHeld                  = 2
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic [63:0]                now_i,
  // The packet that is taken, its CQE, and the CQ that was found for it
  input  logic                       take_i,
  input  logic                       completes_i,
  input  logic                       success_i,
  input  logic                       press_i,         // it was sent under back-pressure
  input  logic                       write_waits_i,   // there is back-pressure here
  input  logic [511:0]               cqe_i,
  input  logic                       found_i,
  input  rxnic_link_pkg::stored_cq_t record_i,
  // The open session of the CQ
  input  logic                       open_i,
  input  logic [511:0]               open_title_i,
  input  logic [MaxHeld*64-1:0]      open_minis_i,
  input  logic [6:0]                 open_held_i,
  input  logic                       full_a_i,        // no timer is free: behind the session, behind the CQE
  input  logic                       full_b_i,
  // What happens: the CQ is full, its session is written, the CQE joins one or is written plain
  output logic                       pressed_o,       // this one's ...
  output logic                       pressed_q_o,     // ... and the last one's back-pressure
  output logic                       usable_o,
  output logic                       discards_o,
  output logic                       overruns_o,
  output logic                       kills_o,
  output logic                       ends_before_o,
  output logic                       session_o,
  output logic                       joins_o,
  output logic                       fills_o,
  output logic                       plain_o,
  // The session that is written, and the one that is kept
  output logic [511:0]               title_o,
  output logic [MaxHeld*64-1:0]      minis_o,
  output logic [6:0]                 written_o,
  output logic [6:0]                 held_count_o,    // completions in the one that it joins
  output logic [MaxHeld*64-1:0]      joined_minis_o,
  output logic [63:0]                end_o,
  output rxnic_link_pkg::stored_cq_t before_o,        // the record as the CQE finds it, ...
  output logic                       keeps_o,         // ... and as it is written
  output rxnic_link_pkg::stored_cq_t record_o,
  // Events and timers of the session (a) and of the CQE (b)
  output logic                       raises_a_o,
  output logic                       adds_a_o,
  output logic                       moves_a_o,
  output logic [63:0]                due_a_o,
  output logic                       raises_b_o,
  output logic                       adds_b_o,
  output logic                       moves_b_o,
  output logic [63:0]                due_b_o
);

  logic pressed_q, compressible_6, joins_title_6, room_6, solicited_6a, solicited_6b;
  logic raised_6a, added_6a, moved_6a, raised_6b, added_6b, moved_6b;
  logic [511:0] same_6;
  logic [6:0] limit_6, open_count_6;
  logic [3:0] session_slots_6, next_slots_6;
  rxnic_link_pkg::stored_cq_t after_session_6, after_plain_6;

  assign pressed_q_o = pressed_q;
  assign open_count_6 = open_i ? open_held_i : '0;
  always_comb begin : limit
    limit_6 = record_i.compress && Compression != 0 ? 7'd1 : '0;
    for (int unsigned n = 2; n <= MaxHeld; n++) begin
      if (record_i.compress && Compression != 0 && 32'(cqe_pkg::block_slots(7'(n))) <= record_i.slots) begin
        limit_6 = 7'(n);
      end
    end
  end
  always_comb begin : session
    same_6 = cqe_i ^ open_title_i;
    same_6[8*8+:64] = '0;   // wqe_index, byte_count
    same_6[40*8+:64] = '0;  // timestamp
    joins_title_6 = same_6 == '0 && open_count_6 < limit_6;
    usable_o = take_i && completes_i && found_i && !record_i.closed;
    discards_o = take_i && completes_i && !usable_o;
    compressible_6 = limit_6 > 7'd1 && success_i;
    pressed_o = press_i || write_waits_i;
    ends_before_o = usable_o && open_i && !(compressible_6 && joins_title_6);
    held_count_o = ends_before_o ? '0 : open_count_6;
    end_o = now_i + 64'(CompressionTimeoutCycles);
  end
  always_comb begin : room_for_it
    before_o = ends_before_o ? after_session_6 : record_i;
    next_slots_6 = cqe_pkg::block_slots(held_count_o + 7'd1);
    room_6 = before_o.ignore_overrun || before_o.producer - before_o.consumer + 32'(next_slots_6) <= before_o.slots;
    overruns_o = usable_o && (before_o.dead || !room_6);
    kills_o = overruns_o && !before_o.dead;
    joins_o = usable_o && !overruns_o && compressible_6 && (pressed_o || held_count_o != '0);
    plain_o = usable_o && !overruns_o && !joins_o;
    fills_o = joins_o && (held_count_o + 7'd1 == limit_6 || !pressed_o);
    session_o = ends_before_o || fills_o;
  end
  always_comb begin : session_at_hand
    title_o = open_title_i;
    minis_o = open_minis_i;
    joined_minis_o = open_minis_i;
    for (int unsigned n = 0; n < MaxHeld; n++) begin
      if (7'(n) == held_count_o) joined_minis_o[n*64+:64] = {cqe_i[64+:32], cqe_i[96+:32]};
    end
    written_o = open_count_6;
    if (!ends_before_o) begin
      written_o = open_count_6 + 7'd1;
      if (!open_i) title_o = cqe_i;
      for (int unsigned n = 0; n < MaxHeld; n++) begin
        if (7'(n) == open_count_6) minis_o[n*64+:64] = {cqe_i[64+:32], cqe_i[96+:32]};
      end
    end
    session_slots_6 = cqe_pkg::block_slots(written_o);
    solicited_6a = title_o[28*8+6];
    solicited_6b = !success_i || cqe_i[28*8+6];
  end
  cq_event #(.ModerationUnitPs(ModerationUnitPs), .ClockPeriodPs(ClockPeriodPs)) event_6a (
    .now_i(now_i), .record_i(record_i), .arms_i(1'b0), .solicited_i(solicited_6a), .index_i(32'd0),
    .slots_i(32'(session_slots_6)), .completions_i(32'(written_o)), .timers_full_i(full_a_i),
    .record_o(after_session_6), .raises_o(raised_6a), .adds_timer_o(added_6a), .moves_timer_o(moved_6a)
  );
  cq_event #(.ModerationUnitPs(ModerationUnitPs), .ClockPeriodPs(ClockPeriodPs)) event_6b (
    .now_i(now_i), .record_i(before_o), .arms_i(1'b0), .solicited_i(solicited_6b), .index_i(32'd0),
    .slots_i(32'd1), .completions_i(32'd1), .timers_full_i(full_b_i),
    .record_o(after_plain_6), .raises_o(raised_6b), .adds_timer_o(added_6b), .moves_timer_o(moved_6b)
  );
  assign raises_a_o = session_o && raised_6a;
  assign adds_a_o = session_o && added_6a;
  assign moves_a_o = session_o && moved_6a;
  assign raises_b_o = plain_o && raised_6b;
  assign adds_b_o = plain_o && added_6b;
  assign moves_b_o = plain_o && moved_6b;
  assign due_a_o = after_session_6.timer;
  assign due_b_o = after_plain_6.timer;
  assign keeps_o = usable_o && (session_o || plain_o || kills_o);
  always_comb begin : record_of_packet
    record_o = plain_o ? after_plain_6 : fills_o ? after_session_6 : before_o;
    if (kills_o) begin
      record_o.dead = 1'b1;
      record_o.armed = rxnic_link_pkg::CqArmNot;
      record_o.due = cqe_pkg::Never;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : pressure
    if (!rst_ni) pressed_q <= 1'b0;
    else if (take_i) pressed_q <= press_i;
  end

endmodule : cqe_completion
