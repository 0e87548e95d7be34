// SPDX-License-Identifier: Apache-2.0
// The table of moderated events of cqe_generator (R14): numbers of CQs, each with the cycle in which it is looked at.
// The steps of a cycle change the table one after another. They are a command (1), a doorbell (2), a session that ends
// (4), and an event that is due (5). A packet is two of them: behind the session that the packet ends (6a), and behind
// the packet's own CQE (6b).
module cqe_timers #(
  parameter int unsigned ModerationTimers = 1
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic [63:0]                now_i,
  output logic [31:0]                count_o,
  // (1) the CQ is made anew, closed or removed
  input  logic                       forgets_1_i,
  input  logic [23:0]                number_1_i,
  // (2), (4) the CQ is added, or is in the table, with another due cycle
  output logic                       full_2_o,
  input  logic                       adds_2_i,
  input  logic                       moves_2_i,
  input  logic [23:0]                number_2_i,
  input  logic [63:0]                due_2_i,
  output logic                       full_4_o,
  input  logic                       adds_4_i,
  input  logic                       moves_4_i,
  input  logic [23:0]                number_4_i,
  input  logic [63:0]                due_4_i,
  // (5) the first that is due: its CQ is looked up, and it goes, with an event, or is due later
  input  logic                       room_5_i,
  output logic                       looks_5_o,
  output logic [23:0]                number_5_o,
  input  logic                       here_5_i,
  input  logic                       absent_5_i,
  input  rxnic_link_pkg::stored_cq_t record_5_i,
  output logic                       goes_5_o,
  output logic                       keeps_5_o,
  output rxnic_link_pkg::stored_cq_t record_5_o,
  output logic                       raises_5_o,
  output logic                       removes_5_o,
  // (6)
  input  logic [23:0]                number_6_i,
  output logic                       full_6a_o,
  input  logic                       adds_6a_i,
  input  logic                       moves_6a_i,
  input  logic [63:0]                due_6a_i,
  output logic                       full_6b_o,
  input  logic                       adds_6b_i,
  input  logic                       moves_6b_i,
  input  logic [63:0]                due_6b_i
);

  localparam logic [63:0] Never = cqe_pkg::Never;
  localparam int unsigned TimerBits = ModerationTimers > 1 ? $clog2(ModerationTimers) : 1;
  localparam int unsigned TimerVectorBits = 24 + 64;

  // verilator coverage_off
  logic [TimerVectorBits-1:0] timers_q [ModerationTimers];
  // verilator coverage_on
  // `timer_k`: step k writes `entry_k` to the place `timer_at_k`, behind which there are `timer_count_k`.
  logic [31:0] timer_count_q, timer_count_1, timer_count_2, timer_count_4, timer_count_5;
  logic [31:0] timer_count_6a, timer_count_6b;
  logic [63:0] timer_bound_q, timer_bound_5;
  logic timer_1, timer_2, timer_4, timer_5, timer_6a, timer_6b, due, later_5;
  // verilator lint_off UNUSEDSIGNAL
  logic [31:0] timer_at_1, timer_at_2, timer_at_4, timer_at_5, timer_at_6a, timer_at_6b;
  // verilator lint_on UNUSEDSIGNAL
  logic [TimerVectorBits-1:0] entry_1, entry_2, entry_4, entry_5, entry_6a, entry_6b;
  logic [31:0] due_at;
  // verilator lint_off UNUSEDSIGNAL
  logic [TimerVectorBits-1:0] entry, entry_s, entry_m, entry_p, due_entry;  // of some only the number
  logic [31:0] at, at_s, at_m, at_p;  // of it; with a constant yosys would take the function for a constant one
  // verilator lint_on UNUSEDSIGNAL

  function automatic logic [TimerVectorBits-1:0] entry_until_1(input int unsigned n);
    entry_until_1 = timer_1 && 32'(n) == timer_at_1 ? entry_1 : timers_q[n[TimerBits-1:0]];
  endfunction
  function automatic logic [TimerVectorBits-1:0] entry_until_2(input int unsigned n);
    entry_until_2 = timer_2 && 32'(n) == timer_at_2 ? entry_2 : entry_until_1(n);
  endfunction
  function automatic logic [TimerVectorBits-1:0] entry_until_4(input int unsigned n);
    entry_until_4 = timer_4 && 32'(n) == timer_at_4 ? entry_4 : entry_until_2(n);
  endfunction
  function automatic logic [TimerVectorBits-1:0] entry_until_5(input int unsigned n);
    entry_until_5 = timer_5 && 32'(n) == timer_at_5 ? entry_5 : entry_until_4(n);
  endfunction
  function automatic logic [63:0] sooner(input logic [63:0] a, input logic [63:0] b);
    sooner = a < b ? a : b;
  endfunction

  assign count_o = timer_count_q;
  assign timer_count_1 = timer_count_q - 32'(timer_1);
  assign timer_count_2 = timer_count_1 + 32'(adds_2_i);
  assign timer_count_4 = timer_count_2 + 32'(adds_4_i);
  assign timer_count_5 = timer_count_4 - 32'(removes_5_o);
  assign timer_count_6a = timer_count_5 + 32'(adds_6a_i);
  assign timer_count_6b = timer_count_6a + 32'(adds_6b_i);
  assign full_2_o = timer_count_1 == ModerationTimers;
  assign full_4_o = timer_count_2 == ModerationTimers;
  assign full_6a_o = timer_count_5 == ModerationTimers;
  assign full_6b_o = timer_count_6a == ModerationTimers;

  // (1) The last one takes the place of the one that goes.
  always_comb begin : forget_timer
    timer_1 = 1'b0;
    timer_at_1 = '0;
    if (forgets_1_i) begin
      for (int unsigned n = 0; n < ModerationTimers; n++) begin
        if (32'(n) < timer_count_q && timers_q[n][TimerVectorBits-1:64] == number_1_i) begin
          timer_1 = 1'b1;
          timer_at_1 = n;
        end
      end
    end
    entry_1 = timers_q[TimerBits'(timer_count_q - 32'd1)];
  end

  always_comb begin : timer_of_doorbell
    timer_2 = adds_2_i || moves_2_i;
    timer_at_2 = timer_count_1;
    entry_2 = {number_2_i, due_2_i};
    entry = '0;
    at = '0;
    if (moves_2_i) begin
      for (int unsigned n = 0; n < ModerationTimers; n++) begin
        at = n;
        entry = entry_until_1(at);
        if (32'(n) < timer_count_1 && entry[TimerVectorBits-1:64] == number_2_i) timer_at_2 = n;
      end
    end
  end

  always_comb begin : timer_of_session
    timer_4 = adds_4_i || moves_4_i;
    timer_at_4 = timer_count_2;
    entry_4 = {number_4_i, due_4_i};
    entry_s = '0;
    at_s = '0;
    if (moves_4_i) begin
      for (int unsigned n = 0; n < ModerationTimers; n++) begin
        at_s = n;
        entry_s = entry_until_2(at_s);
        if (32'(n) < timer_count_2 && entry_s[TimerVectorBits-1:64] == number_4_i) timer_at_4 = n;
      end
    end
  end

  // (5)
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
  rxnic_first_one #(.Bits(ModerationTimers)) first_due (
    .of_i(are_due), .valid_o(due), .index_o(first_due_at)
  );
  assign due_at = 32'(first_due_at);
  assign due_entry = entry_until_4(due_at);
  assign number_5_o = due_entry[TimerVectorBits-1:64];
  assign looks_5_o = due && room_5_i;
  assign goes_5_o = looks_5_o && (here_5_i || absent_5_i);
  assign keeps_5_o = goes_5_o && here_5_i;
  assign raises_5_o = keeps_5_o && record_5_i.due <= now_i;
  assign later_5 = keeps_5_o && !raises_5_o && record_5_i.due != Never;
  assign removes_5_o = goes_5_o && !later_5;
  always_comb begin : record_of_event
    record_5_o = record_5_i;
    if (raises_5_o) begin
      record_5_o.armed = rxnic_link_pkg::CqArmNot;
      record_5_o.due = Never;
    end
    record_5_o.timer = record_5_o.due;
  end
  always_comb begin : look_at_it
    timer_5 = goes_5_o;
    timer_at_5 = due_at;
    entry_5 = later_5 ? {number_5_o, record_5_i.due} : entry_until_4(timer_count_4 - 32'd1);
  end

  // (6)
  always_comb begin : timers_of_packet
    timer_6a = adds_6a_i || moves_6a_i;
    timer_6b = adds_6b_i || moves_6b_i;
    timer_at_6a = timer_count_5;
    timer_at_6b = timer_count_6a;
    entry_6a = {number_6_i, due_6a_i};
    entry_6b = {number_6_i, due_6b_i};
    entry_p = '0;
    at_p = '0;
    if (moves_6a_i) begin
      for (int unsigned n = 0; n < ModerationTimers; n++) begin
        at_p = n;
        entry_p = entry_until_5(at_p);
        if (32'(n) < timer_count_5 && entry_p[TimerVectorBits-1:64] == number_6_i) timer_at_6a = n;
      end
    end
    if (moves_6b_i) begin
      for (int unsigned n = 0; n < ModerationTimers; n++) begin
        at_p = n;
        entry_p = entry_until_5(at_p);
        if (timer_6a && 32'(n) == timer_at_6a) entry_p = entry_6a;
        if (32'(n) < timer_count_6a && entry_p[TimerVectorBits-1:64] == number_6_i) timer_at_6b = n;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      timer_count_q <= '0;
      timer_bound_q <= Never;
    end else begin
      timer_count_q <= timer_count_6b;
      timer_bound_q <= sooner(sooner(sooner(timer_2 ? due_2_i : Never, timer_4 ? due_4_i : Never),
                                     sooner(timer_6a ? due_6a_i : Never, timer_6b ? due_6b_i : Never)),
                              timer_5 ? now_i : timer_bound_5);
    end
  end

  always_ff @(posedge clk_i) begin : memory
    if (timer_1) timers_q[timer_at_1[TimerBits-1:0]] <= entry_1;
    if (timer_2) timers_q[timer_at_2[TimerBits-1:0]] <= entry_2;
    if (timer_4) timers_q[timer_at_4[TimerBits-1:0]] <= entry_4;
    if (timer_5) timers_q[timer_at_5[TimerBits-1:0]] <= entry_5;
    if (timer_6a) timers_q[timer_at_6a[TimerBits-1:0]] <= entry_6a;
    if (timer_6b) timers_q[timer_at_6b[TimerBits-1:0]] <= entry_6b;
  end

endmodule : cqe_timers
