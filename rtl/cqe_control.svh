// SPDX-License-Identifier: Apache-2.0
// What is not a packet, in the steps of cqe_generator: a command (1), a doorbell (2), a failure (3), a session that
// ends (4), a moderated event (5); and the timers of moderated events (R14).

localparam int unsigned TimerBits = ModerationTimers > 1 ? $clog2(ModerationTimers) : 1;
localparam int unsigned TimerVectorBits = 24 + 64;

// (1) A command
logic begun_q, begun_1, begins_1, done_1, places_1, destroys_1, changes_1, closes_1, holds_back_1, found_cq_1;
logic [31:0] behind_q, behind_1, passed_q, made_q, left_count_0, unseen_1;
rxnic_link_pkg::cq_reply_t reply_q, reply_1;
rxnic_link_pkg::cq_command_t command;
logic resizes_1, fits_1;
logic [3:0] held_slots_1;
line_t placed_1;
logic [AgeBits-1:0] place_way_1;

assign command = commands_i;
assign number_1 = command.number;
assign begins_1 = commands_valid_i && !begun_q;
assign holds_back_1 = doorbells_valid_i && passed_q < DoorbellDepth;
assign places_1 = begins_1 && command.operation == rxnic_link_pkg::CqOperationCreate &&
                  (here_1 || (free_1 && !coming_1));
assign destroys_1 = begins_1 && command.operation == rxnic_link_pkg::CqOperationDestroy && request_count == '0 &&
                    !coming_1;
assign removes = destroys_1;
assign changes_1 = begins_1 && (command.operation == rxnic_link_pkg::CqOperationSetModeration ||
                                ((command.operation == rxnic_link_pkg::CqOperationResize ||
                                  command.operation == rxnic_link_pkg::CqOperationClose) && !holds_back_1));
assign looks_1 = changes_1 ||
                 (begins_1 && command.operation == rxnic_link_pkg::CqOperationCreate && !places_1);
assign found_cq_1 = changes_1 && here_1;
assign resizes_1 = found_cq_1 && command.operation == rxnic_link_pkg::CqOperationResize;
assign closes_1 = found_cq_1 && command.operation == rxnic_link_pkg::CqOperationClose;
assign place_way_1 = here_1 ? way_1 : free_way_1;
assign line_1 = line_of(set_1, places_1 ? place_way_1 : way_1);
assign keeps_1 = places_1 || found_cq_1;
assign writes_1 = places_1 || (destroys_1 && here_1) || fetches_1 || found_cq_1;

always_comb begin : command_step
  // The set
  row_1 = fetches_1 ? fetched_row_1 : found_cq_1 ? used_row_1 : old_1;
  for (int unsigned n = 0; n < Ways; n++) begin
    placed_1 = old_1[n*WayBits+:WayBits];
    if (places_1 && AgeBits'(n) == place_way_1) begin
      placed_1.state = context_cache_pkg::LineHere;
      placed_1.number = number_1;
      placed_1.dirty = !command.stored;
      placed_1.ahead = 1'b0;
      row_1[n*WayBits+:WayBits] = placed_1;
    end
    if (destroys_1 && here_1 && AgeBits'(n) == way_1) begin
      placed_1.state = context_cache_pkg::LineEmpty;
      row_1[n*WayBits+:WayBits] = placed_1;
    end
  end
  if (places_1 && !here_1) begin  // it is the youngest of its set
    for (int unsigned n = 0; n < Ways; n++) begin
      placed_1 = row_1[n*WayBits+:WayBits];
      if (AgeBits'(n) == place_way_1) placed_1.age = '0;
      else if (placed_1.age < old_1[place_way_1*WayBits+24+:AgeBits]) placed_1.age = placed_1.age + AgeBits'(1);
      row_1[n*WayBits+:WayBits] = placed_1;
    end
  end
  // The record
  cq_1 = found_1;
  unseen_1 = found_1.producer - command.consumer;
  held_slots_1 = open_q[line_1] ? block_slots(helds_q[line_1]) : '0;
  fits_1 = 33'(unseen_1) + 33'(held_slots_1) <= {1'b0, command.slots < found_1.slots ? command.slots : found_1.slots};
  if (places_1) begin
    cq_1 = '0;
    cq_1.base = command.base;
    cq_1.number = command.number;
    cq_1.slots = command.slots;
    cq_1.moderation_count = command.moderation_count;
    cq_1.moderation_period_us = command.moderation_period_us;
    cq_1.valid = 1'b1;
    cq_1.ignore_overrun = command.ignore_overrun;
    cq_1.compress = command.compress;
    cq_1.polled_only = command.polled_only;
    cq_1.due = Never;
    cq_1.timer = Never;
  end else if (closes_1) begin
    cq_1.closed = 1'b1;
    cq_1.armed = rxnic_link_pkg::CqArmNot;
    cq_1.due = Never;
    cq_1.timer = Never;
  end else if (resizes_1 && fits_1) begin
    cq_1.base = command.base;
    cq_1.slots = command.slots;
    cq_1.any_solicited = found_1.any_solicited &&
                         found_1.last_solicited - (found_1.producer - unseen_1) - 32'd1 < unseen_1;
    cq_1.last_solicited = found_1.last_solicited - (found_1.producer - unseen_1);
    cq_1.consumer = '0;
    cq_1.producer = unseen_1;
  end else if (!resizes_1) begin
    cq_1.moderation_count = command.moderation_count;
    cq_1.moderation_period_us = command.moderation_period_us;
  end
  // The reply
  reply_1 = reply_q;
  behind_1 = behind_q;
  begun_1 = begun_q;
  if (begins_1) begin
    reply_1 = '0;
    reply_1.found = 1'b1;
    reply_1.fits = 1'b1;
    behind_1 = '0;
    case (command.operation)
      rxnic_link_pkg::CqOperationCreate: begun_1 = places_1;
      rxnic_link_pkg::CqOperationDestroy: begun_1 = destroys_1;
      rxnic_link_pkg::CqOperationSettle: begun_1 = 1'b1;
      rxnic_link_pkg::CqOperationAttachSrq, rxnic_link_pkg::CqOperationDetachSrq: begun_1 = 1'b1;
      default: begun_1 = changes_1 && (here_1 || absence_1);
    endcase
    if (command.operation == rxnic_link_pkg::CqOperationSettle || closes_1 || (resizes_1 && fits_1)) behind_1 = made_q;
    if (changes_1) reply_1.found = here_1;
    if (resizes_1) begin
      reply_1.fits = fits_1;
      if (fits_1) begin
        reply_1.from = found_1.base;
        reply_1.from_slots = found_1.slots;
        reply_1.stride = 16'(CqeBytes);
        reply_1.first = found_1.producer - unseen_1;
        reply_1.count = unseen_1;
      end
    end
  end
  done_1 = commands_valid_i && begun_1 && !(left_count_0 - behind_1 >= 32'h8000_0000) && command_replies_ready_i;
  commands_ready_o = done_1;
  command_replies_valid_o = done_1;
  command_replies_o = reply_1;
  // Who waits
  waits_1 = waits_0;
  numbers_1 = numbers_0;
  absent_1 = absent_0;
  if (looks_1 && !here_1 && !absence_1) begin
    waits_1[Command] = 1'b1;
    numbers_1[Command*24+:24] = number_1;
    absent_1[Command] = 1'b0;
  end else if (looks_1 || places_1 || (begins_1 && holds_back_1 &&
               (command.operation == rxnic_link_pkg::CqOperationResize ||
                command.operation == rxnic_link_pkg::CqOperationClose))) begin
    waits_1[Command] = 1'b0;
  end
  if ((places_1 || destroys_1 || closes_1) && numbers_0[Timer*24+:24] == number_1) waits_1[Timer] = 1'b0;
  open_1 = open_q;
  if (places_1 || destroys_1 || closes_1) begin
    if (here_1) open_1[line_1] = 1'b0;
  end
end

// (2) A doorbell
logic late_q, late_1, late_2, rings_2, goes_2, usable_2, arms_2, raises_2, adds_2, moves_2;
rxnic_link_pkg::stored_cq_t armed_2;
assign number_2 = doorbells_i.number[23:0];
assign rings_2 = doorbells_valid_i && event_room_1 != '0;
assign looks_2 = rings_2;
assign goes_2 = rings_2 && (here_2 || absence_2);
assign doorbells_ready_o = goes_2;
assign line_2 = line_of(set_2, way_2);
assign usable_2 = goes_2 && here_2 && !found_2.dead && !found_2.closed;
assign keeps_2 = usable_2;
assign arms_2 = usable_2 && doorbells_i.kind == rxnic_link_pkg::DoorbellKindCqArm;
assign writes_2 = fetches_2 || (goes_2 && here_2);
assign row_2 = fetches_2 ? fetched_row_2 : used_row_2;
assign late_1 = late_q && doorbells_valid_i;
assign late_2 = late_1 || (rings_2 && !goes_2);
logic timers_full_2, timers_full_4, timers_full_6a, timers_full_6b;
logic raised_2, added_2, moved_2;
cq_event #(.ModerationUnitPs(ModerationUnitPs), .ClockPeriodPs(ClockPeriodPs)) event_2 (
  .now_i(now_i), .record_i(found_2), .arms_i(1'b1), .solicited_i(doorbells_i.solicited_only),
  .index_i(doorbells_i.value), .slots_i(32'd0), .completions_i(32'd0), .timers_full_i(timers_full_2),
  .record_o(armed_2), .raises_o(raised_2), .adds_timer_o(added_2), .moves_timer_o(moved_2)
);
assign raises_2 = arms_2 && raised_2;
assign adds_2 = arms_2 && added_2;
assign moves_2 = arms_2 && moved_2;
always_comb begin : doorbell_step
  cq_2 = arms_2 ? armed_2 : found_2;
  if (doorbells_i.kind == rxnic_link_pkg::DoorbellKindCqConsumer &&
      doorbells_i.value - found_2.consumer <= found_2.producer - found_2.consumer) begin
    cq_2.consumer = doorbells_i.value;
  end
  waits_2 = waits_1;
  numbers_2 = numbers_1;
  absent_2 = absent_1;
  if (goes_2) begin
    waits_2[Doorbell] = 1'b0;
  end else if (rings_2) begin
    waits_2[Doorbell] = 1'b1;
    numbers_2[Doorbell*24+:24] = number_2;
    absent_2[Doorbell] = 1'b0;
  end
end

// (3) A failure: it moves its QP to the error state.
logic takes_failure, fails_qp_3;
assign takes_failure = failures_valid_i && event_room_2 != '0;
assign failures_ready_o = takes_failure;
assign fails_qp_3 = takes_failure && !failure_context_i.part.flush_requested;

// (4) The session that is due first (R5)
// verilator coverage_off
logic [511:0]        titles_q [CqContexts];
logic [MaxHeld*64-1:0] minis_q [CqContexts];
logic [6:0]          helds_q [CqContexts];
logic [63:0]         ends_q [CqContexts];
// verilator coverage_on
logic [63:0] session_bound_q, session_bound_4, first_end;
logic unpressed_4;  // nothing holds the path to host memory up
logic session_due, ends_4, raised_4, raises_4, added_4, adds_4, moved_4, moves_4, solicited_4;
logic [3:0] slots_4;
rxnic_link_pkg::stored_cq_t produced_4;
always_comb begin : find_session
  session_due = 1'b0;
  first_end = Never;
  line_4 = '0;
  session_bound_4 = session_bound_q;
  unpressed_4 = !pressed_q && !write_waits;
  if (Compression != 0 && (session_bound_q <= now_i || unpressed_4)) begin
    for (int unsigned n = 0; n < CqContexts; n++) begin
      if (open_1[n] && ends_q[n] < first_end) begin
        first_end = ends_q[n];
        line_4 = LineBits'(n);
      end
    end
    session_due = first_end <= now_i || (unpressed_4 && first_end != Never);
    session_bound_4 = first_end;
  end
end
assign ends_4 = session_due && write_room_0 >= WriteCountBits'(3) && event_room_3 != '0;
assign solicited_4 = titles_q[line_4][28*8+6];
assign slots_4 = block_slots(helds_q[line_4]);
cq_event #(.ModerationUnitPs(ModerationUnitPs), .ClockPeriodPs(ClockPeriodPs)) event_4 (
  .now_i(now_i), .record_i(found_4), .arms_i(1'b0), .solicited_i(solicited_4), .index_i(32'd0),
  .slots_i(32'(slots_4)), .completions_i(32'(helds_q[line_4])), .timers_full_i(timers_full_4),
  .record_o(produced_4), .raises_o(raised_4), .adds_timer_o(added_4), .moves_timer_o(moved_4)
);
assign keeps_4 = ends_4;
assign cq_4 = produced_4;
assign raises_4 = ends_4 && raised_4;
assign adds_4 = ends_4 && added_4;
assign moves_4 = ends_4 && moved_4;
always_comb begin : end_session
  open_4 = open_1;
  if (ends_4) open_4[line_4] = 1'b0;
end

// (5) A moderated event: the first in the table that is due. `timer_k`: what step k writes into the table.
// verilator coverage_off
logic [TimerVectorBits-1:0] timers_q [ModerationTimers];
// verilator coverage_on
logic [31:0] timer_count_q, timer_count_1, timer_count_2, timer_count_4, timer_count_5, timer_count_6a, timer_count_6b;
logic [63:0] timer_bound_q, timer_bound_5;
logic timer_1, timer_2, timer_4, timer_5, timer_6a, timer_6b;
// verilator lint_off UNUSEDSIGNAL
logic [31:0] timer_at_1, timer_at_2, timer_at_4, timer_at_5, timer_at_6a, timer_at_6b;
// verilator lint_on UNUSEDSIGNAL
logic [TimerVectorBits-1:0] entry_1, entry_2, entry_4, entry_5, entry_6a, entry_6b;
logic forgets_1, timer_due, raises_5, removes_5, looked_5, later_5;
logic adds_6a, moves_6a, adds_6b, moves_6b;
logic [31:0] due_at;
logic [63:0] due_6a, due_6b;
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
function automatic logic [TimerVectorBits-1:0] entry_until_6a(input int unsigned n);
  entry_until_6a = timer_6a && 32'(n) == timer_at_6a ? entry_6a : entry_until_5(n);
endfunction

always_comb begin : forget_timer
  forgets_1 = 1'b0;
  timer_at_1 = '0;
  if (places_1 || destroys_1 || closes_1) begin
    for (int unsigned n = 0; n < ModerationTimers; n++) begin
      if (32'(n) < timer_count_q && timers_q[n][TimerVectorBits-1:64] == number_1) begin
        forgets_1 = 1'b1;
        timer_at_1 = n;
      end
    end
  end
  timer_1 = forgets_1;
  entry_1 = timers_q[TimerBits'(timer_count_q - 32'd1)];
end
assign timer_count_1 = timer_count_q - 32'(forgets_1);
assign timer_count_2 = timer_count_1 + 32'(adds_2);
assign timer_count_4 = timer_count_2 + 32'(adds_4);
assign timer_count_5 = timer_count_4 - 32'(removes_5);
assign timer_count_6a = timer_count_5 + 32'(adds_6a);
assign timer_count_6b = timer_count_6a + 32'(adds_6b);
assign timers_full_2 = timer_count_1 == ModerationTimers;
assign timers_full_4 = timer_count_2 == ModerationTimers;
assign timers_full_6a = timer_count_5 == ModerationTimers;
assign timers_full_6b = timer_count_6a == ModerationTimers;

always_comb begin : timer_of_doorbell
  timer_2 = adds_2 || moves_2;
  timer_at_2 = timer_count_1;
  entry_2 = {number_2, cq_2.timer};
  entry = '0;
  at = '0;
  if (moves_2) begin
    for (int unsigned n = 0; n < ModerationTimers; n++) begin
      at = n;
      entry = entry_until_1(at);
      if (32'(n) < timer_count_1 && entry[TimerVectorBits-1:64] == number_2) timer_at_2 = n;
    end
  end
end
