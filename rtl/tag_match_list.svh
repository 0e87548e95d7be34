// SPDX-License-Identifier: Apache-2.0
// The list at hand, `l`: the decisions of model/core/tag_matching, tag_match_list.h (L) and tag_overflow.h (O).

task automatic set_counts(input logic [15:0] unexpected, input logic [15:0] acknowledged);  // (L R3)
  if (l.unexpected == l.acknowledged && unexpected != acknowledged) l.phase_began = l.appended;
  l.unexpected = unexpected;
  l.acknowledged = acknowledged;
endtask

// Entries of this number and younger ones are held.
task automatic get_held_from();
  held_from = l.unexpected == l.acknowledged ? '1 : l.phase_began;
endtask

// Whether no entry of the overflow is older (L R7).
task automatic get_settled(input logic [63:0] number);
  is_settled = l.in_overflow == '0 || number < l.overflow_from;
endtask

task automatic get_full();
  is_full = l.tail[PositionBits-1:SlotNumberBits] - l.head[PositionBits-1:SlotNumberBits] == 64'(Slots);
endtask

// The first position at or after `p` that holds an entry, or the tail.
task automatic get_after(input logic [PositionBits-1:0] p);
  position = l.in_gap && p == l.gap_begin ? l.gap_end : p;
endtask

// Entries of a burst from `p` (O R4).
task automatic get_burst(input logic [PositionBits-1:0] p, input logic [31:0] most);
  logic [63:0] left;
  logic [SlotNumberBits-1:0] to_end;
  to_end = SlotNumberBits'(Slots) - p[SlotNumberBits-1:0];
  left = l.tail[PositionBits-1:SlotNumberBits] - p[PositionBits-1:SlotNumberBits];
  if (l.in_gap && p[PositionBits-1:SlotNumberBits] < l.gap_begin[PositionBits-1:SlotNumberBits]) begin
    left = l.gap_begin[PositionBits-1:SlotNumberBits] - p[PositionBits-1:SlotNumberBits];
  end
  if (64'(most) < left) left = 64'(most);
  if (64'(to_end) < left) left = 64'(to_end);
  burst_entries = left[7:0];
endtask

task automatic drop_head();
  get_after(tag_match_pkg::advance(l.head, SlotNumberBits'(1), SlotNumberBits'(Slots)));
  l.head = position;
  if (l.unread[PositionBits-1:SlotNumberBits] < l.head[PositionBits-1:SlotNumberBits]) l.unread = l.head;
  if (l.in_gap && l.head[PositionBits-1:SlotNumberBits] >= l.gap_end[PositionBits-1:SlotNumberBits]) l.in_gap = 1'b0;
endtask

// An entry of the overflow was read, and goes on elsewhere. `first`: no live one is before it.
task automatic leave_overflow(input logic [63:0] number, input logic first);
  l.in_overflow = l.in_overflow - 32'd1;
  if (first) l.overflow_from = number + 64'd1;
endtask

task automatic enter_overflow(input logic [63:0] number);
  if (l.in_overflow == '0 || number < l.overflow_from) l.overflow_from = number;
  l.in_overflow = l.in_overflow + 32'd1;
endtask

// (O R3)
task automatic get_sparse();
  logic [63:0] idle;
  idle = l.tail[PositionBits-1:SlotNumberBits] - l.head[PositionBits-1:SlotNumberBits] - 64'(l.in_overflow);
  get_full();
  is_sparse = l.in_gap ||
              (idle > 64'(l.in_overflow) && (idle >= 64'(OverflowEntriesPerRead) || is_full));
endtask

task automatic begin_compaction();
  if (!l.in_gap) begin
    l.in_gap = 1'b1;
    l.gap_begin = l.head;
    l.gap_end = l.head;
  end
endtask

// The entry behind the gap was looked at, and copied in front of it when `copied`.
task automatic move_gap(input logic copied);
  if (copied) l.gap_begin = tag_match_pkg::advance(l.gap_begin, SlotNumberBits'(1), SlotNumberBits'(Slots));
  l.gap_end = tag_match_pkg::advance(l.gap_end, SlotNumberBits'(1), SlotNumberBits'(Slots));
  if (l.gap_end == l.tail) begin
    l.tail = l.gap_begin;
    l.in_gap = 1'b0;
  end else if (l.head == l.gap_begin) begin
    l.head = l.gap_end;
    l.unread = l.gap_end;
    l.in_gap = 1'b0;
  end
endtask

// An entry was put back among the others; it ends before `end_`, and the next one is at `next` (tag_overflow.h).
task automatic insert(input logic [PositionBits-1:0] end_, input logic [PositionBits-1:0] next);
  l.head = tag_match_pkg::retreat(l.head, SlotNumberBits'(Slots));
  l.unread = l.head;
  if (l.in_gap && next[PositionBits-1:SlotNumberBits] >= l.gap_end[PositionBits-1:SlotNumberBits]) begin
    l.gap_begin = end_;
    l.gap_end = next;
    if (next == l.tail) begin
      l.tail = end_;
      l.in_gap = 1'b0;
    end
  end
endtask
