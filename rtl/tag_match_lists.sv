// SPDX-License-Identifier: Apache-2.0
// The tag lists of tag_match_cam, each with the SRQ that it is of. A command makes or removes one (R15). The steps of a
// cycle open a list one after another, and leave it changed: each sees what the steps before it have left.
//
// Which lists have something to be read, dead entries to be moved, or no slot, stands beside the lists. So step 6 does
// not look at each of them.
module tag_match_lists #(
  parameter int unsigned Lists                  = 1,
  parameter int unsigned Slots                  = 2,  // of a list's overflow
  parameter int unsigned OverflowEntriesPerRead = 1,
  localparam int unsigned ListBits = Lists > 1 ? $clog2(Lists) : 1
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  // At the beginning of the cycle: the list of the packet that a search of the CAM is for, and what it leaves out
  input  logic                              searches_0_i,
  input  logic [31:0]                       srq_0_i,
  output logic                              found_0_o,
  output logic [ListBits-1:0]               at_0_o,
  output logic [63:0]                       held_from_0_o,
  // (1) a command: the list of its SRQ goes, with so many entries of the CAM; one is made
  input  logic                              commands_1_i,
  input  rxnic_link_pkg::tag_list_command_t command_1_i,
  output logic                              forgets_1_o,
  output logic [ListBits-1:0]               forgotten_1_o,
  output logic [31:0]                       in_cam_1_o,
  output logic                              makes_1_o,
  output logic [ListBits-1:0]               made_1_o,
  // (2) a message that came back, by its SRQ
  input  logic                              looks_2_i,
  input  logic [31:0]                       srq_2_i,
  output logic                              found_2_o,
  output logic [ListBits-1:0]               at_2_o,
  output tag_match_pkg::list_t              list_2_o,
  input  logic                              keeps_2_i,
  input  tag_match_pkg::list_t              list_2_i,
  // (3) to (6), by its number
  input  logic [ListBits-1:0]               at_3_i,
  output tag_match_pkg::list_t              list_3_o,
  input  logic                              keeps_3_i,
  input  tag_match_pkg::list_t              list_3_i,
  input  logic [ListBits-1:0]               at_4_i,
  output tag_match_pkg::list_t              list_4_o,
  input  logic                              keeps_4_i,
  input  tag_match_pkg::list_t              list_4_i,
  input  logic [ListBits-1:0]               at_5_i,
  output tag_match_pkg::list_t              list_5_o,
  input  logic                              keeps_5_i,
  input  tag_match_pkg::list_t              list_5_i,
  output logic [Lists-1:0]                  unread_6_o,
  output logic [Lists-1:0]                  sparse_6_o,
  output logic [Lists-1:0]                  full_6_o,
  input  logic [ListBits-1:0]               at_6_i,
  output tag_match_pkg::list_t              list_6_o,
  input  logic                              keeps_6_i,
  input  tag_match_pkg::list_t              list_6_i,
  // (7) a packet, (8) an operation, by their SRQs
  input  logic                              looks_7_i,
  input  logic [31:0]                       srq_7_i,
  output logic                              found_7_o,
  output logic [ListBits-1:0]               at_7_o,
  output tag_match_pkg::list_t              list_7_o,
  input  logic                              keeps_7_i,
  input  tag_match_pkg::list_t              list_7_i,
  input  logic                              looks_8_i,
  input  logic [31:0]                       srq_8_i,
  output logic                              found_8_o,
  output logic [ListBits-1:0]               at_8_o,
  output tag_match_pkg::list_t              list_8_o,
  input  logic                              keeps_8_i,
  input  tag_match_pkg::list_t              list_8_i
);

  localparam int unsigned PositionBits = tag_match_pkg::PositionBits;
  localparam int unsigned SlotBits = tag_match_pkg::SlotBits;
  localparam int unsigned ListVectorBits = $bits(list_2_o);

  // What is written to memories and read from them counts.
  // verilator coverage_off
  logic [ListVectorBits-1:0] lists_q [Lists];
  logic [31:0]               srqs_q [Lists];  // by which they are found
  // verilator coverage_on
  logic [Lists-1:0] used_q, used_0, used_1, unread_q, unread_d, sparse_q, sparse_d, full_q, full_d;

  // verilator lint_off UNUSEDSIGNAL
  tag_match_pkg::list_t asked, forgotten;  // of some fields only
  // verilator lint_on UNUSEDSIGNAL
  tag_match_pkg::list_t made;

  always_comb begin : find_for_search
    found_0_o = 1'b0;
    at_0_o = '0;
    if (searches_0_i) begin
      for (int unsigned n = 0; n < Lists; n++) begin
        if (used_q[n] && srqs_q[n] == srq_0_i) begin
          found_0_o = 1'b1;
          at_0_o = ListBits'(n);
        end
      end
    end
    asked = lists_q[at_0_o];
    held_from_0_o = tag_match_pkg::first_held(asked.unexpected, asked.acknowledged, asked.phase_began);
  end

  // (1) The list that is made takes the first place that is free, if only that of the one that goes.
  logic has_free;
  logic [ListBits-1:0] free_at;
  rxnic_first_one #(.Bits(Lists)) first_free (.of_i(~used_0), .valid_o(has_free), .index_o(free_at));
  always_comb begin : forget
    forgets_1_o = 1'b0;
    forgotten_1_o = '0;
    if (commands_1_i) begin
      for (int unsigned n = 0; n < Lists; n++) begin
        if (used_q[n] && srqs_q[n] == command_1_i.queue_) begin
          forgets_1_o = 1'b1;
          forgotten_1_o = ListBits'(n);
        end
      end
    end
    used_0 = used_q;
    if (forgets_1_o) used_0[forgotten_1_o] = 1'b0;
    forgotten = lists_q[forgotten_1_o];
    in_cam_1_o = forgotten.in_cam;
  end
  assign makes_1_o = commands_1_i && command_1_i.create && has_free;
  assign made_1_o = free_at;
  always_comb begin : make
    used_1 = used_0;
    if (makes_1_o) used_1[made_1_o] = 1'b1;
    made = '0;
    made.srq = command_1_i.queue_;
    made.pd = command_1_i.pd;
    made.cq = command_1_i.cq;
    made.head = PositionBits'(Slots) << (32 + SlotBits);
    made.tail = made.head;
    made.unread = made.head;
  end

  // Who knows a list by its SRQ: the one that was made, or one of those that stayed.
  always_comb begin : find_2
    found_2_o = looks_2_i && makes_1_o && command_1_i.queue_ == srq_2_i;
    at_2_o = made_1_o;
    if (looks_2_i) begin
      for (int unsigned n = 0; n < Lists; n++) begin
        if (used_0[n] && srqs_q[n] == srq_2_i) begin
          found_2_o = 1'b1;
          at_2_o = ListBits'(n);
        end
      end
    end
  end
  always_comb begin : find_7
    found_7_o = looks_7_i && makes_1_o && command_1_i.queue_ == srq_7_i;
    at_7_o = made_1_o;
    if (looks_7_i) begin
      for (int unsigned n = 0; n < Lists; n++) begin
        if (used_0[n] && srqs_q[n] == srq_7_i) begin
          found_7_o = 1'b1;
          at_7_o = ListBits'(n);
        end
      end
    end
  end
  always_comb begin : find_8
    found_8_o = looks_8_i && makes_1_o && command_1_i.queue_ == srq_8_i;
    at_8_o = made_1_o;
    if (looks_8_i) begin
      for (int unsigned n = 0; n < Lists; n++) begin
        if (used_0[n] && srqs_q[n] == srq_8_i) begin
          found_8_o = 1'b1;
          at_8_o = ListBits'(n);
        end
      end
    end
  end

  // What the steps find: what the last one before has left of this list
  always_comb begin : open_2
    if (makes_1_o && made_1_o == at_2_o) list_2_o = made;
    else list_2_o = lists_q[at_2_o];
  end
  always_comb begin : open_3
    if (keeps_2_i && at_2_o == at_3_i) list_3_o = list_2_i;
    else if (makes_1_o && made_1_o == at_3_i) list_3_o = made;
    else list_3_o = lists_q[at_3_i];
  end
  always_comb begin : open_4
    if (keeps_3_i && at_3_i == at_4_i) list_4_o = list_3_i;
    else if (keeps_2_i && at_2_o == at_4_i) list_4_o = list_2_i;
    else if (makes_1_o && made_1_o == at_4_i) list_4_o = made;
    else list_4_o = lists_q[at_4_i];
  end
  always_comb begin : open_5
    if (keeps_4_i && at_4_i == at_5_i) list_5_o = list_4_i;
    else if (keeps_3_i && at_3_i == at_5_i) list_5_o = list_3_i;
    else if (keeps_2_i && at_2_o == at_5_i) list_5_o = list_2_i;
    else if (makes_1_o && made_1_o == at_5_i) list_5_o = made;
    else list_5_o = lists_q[at_5_i];
  end
  always_comb begin : open_6
    if (keeps_5_i && at_5_i == at_6_i) list_6_o = list_5_i;
    else if (keeps_4_i && at_4_i == at_6_i) list_6_o = list_4_i;
    else if (keeps_3_i && at_3_i == at_6_i) list_6_o = list_3_i;
    else if (keeps_2_i && at_2_o == at_6_i) list_6_o = list_2_i;
    else if (makes_1_o && made_1_o == at_6_i) list_6_o = made;
    else list_6_o = lists_q[at_6_i];
  end
  always_comb begin : open_7
    if (keeps_6_i && at_6_i == at_7_o) list_7_o = list_6_i;
    else if (keeps_5_i && at_5_i == at_7_o) list_7_o = list_5_i;
    else if (keeps_4_i && at_4_i == at_7_o) list_7_o = list_4_i;
    else if (keeps_3_i && at_3_i == at_7_o) list_7_o = list_3_i;
    else if (keeps_2_i && at_2_o == at_7_o) list_7_o = list_2_i;
    else if (makes_1_o && made_1_o == at_7_o) list_7_o = made;
    else list_7_o = lists_q[at_7_o];
  end
  always_comb begin : open_8
    if (keeps_7_i && at_7_o == at_8_o) list_8_o = list_7_i;
    else if (keeps_6_i && at_6_i == at_8_o) list_8_o = list_6_i;
    else if (keeps_5_i && at_5_i == at_8_o) list_8_o = list_5_i;
    else if (keeps_4_i && at_4_i == at_8_o) list_8_o = list_4_i;
    else if (keeps_3_i && at_3_i == at_8_o) list_8_o = list_3_i;
    else if (keeps_2_i && at_2_o == at_8_o) list_8_o = list_2_i;
    else if (makes_1_o && made_1_o == at_8_o) list_8_o = made;
    else list_8_o = lists_q[at_8_o];
  end

  // What stands beside the lists. Steps 3, 4, 6 and 8 change an overflow; the others only count messages and entries.
  always_comb begin : rings_until_6
    unread_6_o = unread_q;
    sparse_6_o = sparse_q;
    full_6_o = full_q;
    if (makes_1_o) begin
      unread_6_o[made_1_o] = 1'b0;
      sparse_6_o[made_1_o] = 1'b0;
      full_6_o[made_1_o] = 1'b0;
    end
    if (keeps_3_i) begin
      unread_6_o[at_3_i] = !list_3_i.failed && list_3_i.unread != list_3_i.tail;
      sparse_6_o[at_3_i] = tag_match_pkg::is_sparse(
          list_3_i.failed, list_3_i.in_gap, list_3_i.in_overflow, list_3_i.head, list_3_i.tail, OverflowEntriesPerRead,
          SlotBits'(Slots));
      full_6_o[at_3_i] = tag_match_pkg::is_full(list_3_i.head, list_3_i.tail, SlotBits'(Slots));
    end
    if (keeps_4_i) begin
      unread_6_o[at_4_i] = !list_4_i.failed && list_4_i.unread != list_4_i.tail;
      sparse_6_o[at_4_i] = tag_match_pkg::is_sparse(
          list_4_i.failed, list_4_i.in_gap, list_4_i.in_overflow, list_4_i.head, list_4_i.tail, OverflowEntriesPerRead,
          SlotBits'(Slots));
      full_6_o[at_4_i] = tag_match_pkg::is_full(list_4_i.head, list_4_i.tail, SlotBits'(Slots));
    end
  end
  always_comb begin : rings_behind
    unread_d = unread_6_o;
    sparse_d = sparse_6_o;
    full_d = full_6_o;
    if (keeps_6_i) begin
      unread_d[at_6_i] = !list_6_i.failed && list_6_i.unread != list_6_i.tail;
      sparse_d[at_6_i] = tag_match_pkg::is_sparse(
          list_6_i.failed, list_6_i.in_gap, list_6_i.in_overflow, list_6_i.head, list_6_i.tail, OverflowEntriesPerRead,
          SlotBits'(Slots));
      full_d[at_6_i] = tag_match_pkg::is_full(list_6_i.head, list_6_i.tail, SlotBits'(Slots));
    end
    if (keeps_8_i) begin
      unread_d[at_8_o] = !list_8_i.failed && list_8_i.unread != list_8_i.tail;
      sparse_d[at_8_o] = tag_match_pkg::is_sparse(
          list_8_i.failed, list_8_i.in_gap, list_8_i.in_overflow, list_8_i.head, list_8_i.tail, OverflowEntriesPerRead,
          SlotBits'(Slots));
      full_d[at_8_o] = tag_match_pkg::is_full(list_8_i.head, list_8_i.tail, SlotBits'(Slots));
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      used_q <= '0;
      unread_q <= '0;
      sparse_q <= '0;
      full_q <= '0;
    end else begin
      used_q <= used_1;
      unread_q <= unread_d;
      sparse_q <= sparse_d;
      full_q <= full_d;
    end
  end

  always_ff @(posedge clk_i) begin : memories
    if (makes_1_o) lists_q[made_1_o] <= made;
    if (makes_1_o) srqs_q[made_1_o] <= command_1_i.queue_;
    if (keeps_2_i) lists_q[at_2_o] <= list_2_i;
    if (keeps_3_i) lists_q[at_3_i] <= list_3_i;
    if (keeps_4_i) lists_q[at_4_i] <= list_4_i;
    if (keeps_5_i) lists_q[at_5_i] <= list_5_i;
    if (keeps_6_i) lists_q[at_6_i] <= list_6_i;
    if (keeps_7_i) lists_q[at_7_o] <= list_7_i;
    if (keeps_8_i) lists_q[at_8_o] <= list_8_i;
  end

endmodule : tag_match_lists
