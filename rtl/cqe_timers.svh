// SPDX-License-Identifier: Apache-2.0
// The table of moderated events of cqe_generator, from step 4 on (R14); the steps before are in cqe_control.svh.

always_comb begin : timer_of_session
  timer_4 = adds_4 || moves_4;
  timer_at_4 = timer_count_2;
  entry_4 = {found_4.number, cq_4.timer};
  entry_s = '0;
  at_s = '0;
  if (moves_4) begin
    for (int unsigned n = 0; n < ModerationTimers; n++) begin
      at_s = n;
      entry_s = entry_until_2(at_s);
      if (32'(n) < timer_count_2 && entry_s[TimerVectorBits-1:64] == found_4.number) timer_at_4 = n;
    end
  end
end

// (5) The first that is due is looked at.
logic [ModerationTimers-1:0] are_due;
logic [TimerBits-1:0] first_due_at;
always_comb begin : find_due
  are_due = '0;
  entry_m = '0;
  at_m = '0;
  timer_bound_5 = timer_bound_q;
  if (timer_bound_q <= now_i) begin
    timer_bound_5 = Never;
    for (int unsigned n = ModerationTimers; n > 0; n--) begin
      at_m = n - 1;
      entry_m = entry_until_4(at_m);
      if (32'(n - 1) < timer_count_4 && entry_m[63:0] <= now_i) are_due[n-1] = 1'b1;
      if (32'(n - 1) < timer_count_4 && entry_m[63:0] < timer_bound_5) timer_bound_5 = entry_m[63:0];
    end
  end
end
rxnic_first_one #(.Bits(ModerationTimers)) first_due_timer (
  .of_i(are_due), .valid_o(timer_due), .index_o(first_due_at)
);
assign due_at = 32'(first_due_at);
assign due_entry = entry_until_4(due_at);
assign number_5 = due_entry[TimerVectorBits-1:64];
assign looks_5 = timer_due && event_room_4 != '0;
assign looked_5 = looks_5 && (here_5 || absence_5);
assign line_5 = line_of(set_5, way_5);
assign keeps_5 = looked_5 && here_5;
assign writes_5 = fetches_5 || keeps_5;
assign row_5 = fetches_5 ? fetched_row_5 : used_row_5;
assign raises_5 = keeps_5 && found_5.due <= now_i;
assign later_5 = keeps_5 && !raises_5 && found_5.due != Never;
assign removes_5 = looked_5 && !later_5;
always_comb begin : moderated_step
  cq_5 = found_5;
  if (raises_5) begin
    cq_5.armed = rxnic_link_pkg::CqArmNot;
    cq_5.due = Never;
  end
  cq_5.timer = cq_5.due;
  timer_5 = looked_5;
  timer_at_5 = due_at;
  entry_5 = later_5 ? {number_5, found_5.due} : entry_until_4(timer_count_4 - 32'd1);
  waits_5 = waits_2;
  numbers_5 = numbers_2;
  absent_5 = absent_2;
  if (looked_5) begin
    waits_5[Timer] = 1'b0;
  end else if (looks_5) begin
    waits_5[Timer] = 1'b1;
    numbers_5[Timer*24+:24] = number_5;
    absent_5[Timer] = 1'b0;
  end
end

// (6) Of a packet: behind the session that it ends (a), and behind its own CQE (b).
always_comb begin : timers_of_packet
  timer_6a = adds_6a || moves_6a;
  timer_6b = adds_6b || moves_6b;
  timer_at_6a = timer_count_5;
  timer_at_6b = timer_count_6a;
  entry_6a = {number_6, due_6a};
  entry_6b = {number_6, due_6b};
  entry_p = '0;
  at_p = '0;
  if (moves_6a) begin
    for (int unsigned n = 0; n < ModerationTimers; n++) begin
      at_p = n;
      entry_p = entry_until_5(at_p);
      if (32'(n) < timer_count_5 && entry_p[TimerVectorBits-1:64] == number_6) timer_at_6a = n;
    end
  end
  if (moves_6b) begin
    for (int unsigned n = 0; n < ModerationTimers; n++) begin
      at_p = n;
      entry_p = entry_until_5(at_p);
      if (timer_6a && 32'(n) == timer_at_6a) entry_p = entry_6a;
      if (32'(n) < timer_count_6a && entry_p[TimerVectorBits-1:64] == number_6) timer_at_6b = n;
    end
  end
end

function automatic logic [63:0] sooner(input logic [63:0] a, input logic [63:0] b);
  sooner = a < b ? a : b;
endfunction

always_ff @(posedge clk_i or negedge rst_ni) begin : control_state
  if (!rst_ni) begin
    begun_q <= 1'b0;
    behind_q <= '0;
    passed_q <= '0;
    reply_q <= '0;
    late_q <= 1'b0;
    session_bound_q <= Never;
    timer_count_q <= '0;
    timer_bound_q <= Never;
  end else begin
    begun_q <= begun_1 && !done_1 && commands_valid_i;
    behind_q <= behind_1;
    reply_q <= reply_1;
    passed_q <= commands_valid_i && !done_1 ? passed_q + 32'(goes_2) : '0;
    late_q <= late_2;
    session_bound_q <= joins_6 ? sooner(session_bound_4, session_end_6) : session_bound_4;
    timer_count_q <= timer_count_6b;
    timer_bound_q <= sooner(sooner(sooner(timer_2 ? cq_2.timer : Never, timer_4 ? cq_4.timer : Never),
                                   sooner(timer_6a ? due_6a : Never, timer_6b ? due_6b : Never)),
                            timer_5 ? now_i : timer_bound_5);
  end
end

always_ff @(posedge clk_i) begin : control_memories
  if (timer_1) timers_q[timer_at_1[TimerBits-1:0]] <= entry_1;
  if (timer_2) timers_q[timer_at_2[TimerBits-1:0]] <= entry_2;
  if (timer_4) timers_q[timer_at_4[TimerBits-1:0]] <= entry_4;
  if (timer_5) timers_q[timer_at_5[TimerBits-1:0]] <= entry_5;
  if (timer_6a) timers_q[timer_at_6a[TimerBits-1:0]] <= entry_6a;
  if (timer_6b) timers_q[timer_at_6b[TimerBits-1:0]] <= entry_6b;
  if (joins_6) begin
    if (held_count_6 == '0) titles_q[line_6] <= cqe_6;
    minis_q[line_6] <= joined_minis_6;
    helds_q[line_6] <= held_count_6 + 7'd1;
    ends_q[line_6] <= session_end_6;
  end
end
