// SPDX-License-Identifier: Apache-2.0
// A look at an entry of the overflow of tag_match_cam that was read (3). The entry goes into the CAM (R6), or is what a
// job looks for (R7, R8). A compaction moves it (R8), and so does a match that is put back behind it (R14). An entry
// that cannot be there fails its list (R9). No state in here.
module tag_match_look #(
  parameter int unsigned Slots = 2,  // of a list's overflow
  localparam int unsigned PositionBits = tag_match_pkg::PositionBits,
  localparam int unsigned SlotBits     = tag_match_pkg::SlotBits
) (
  input  logic                        look_i,
  // The entry, where its tag is, and its read, which leaves so many reserved entries of the CAM
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::stored_tag_t entry_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic [1:0]                  place_i,
  input  tag_match_pkg::burst_t       burst_i,
  output logic                        advances_o,
  output logic                        drops_o,     // the rest of it is not looked at
  output logic [31:0]                 released_o,
  // Its list
  input  tag_match_pkg::list_t        list_i,
  output logic                        keeps_o,
  output tag_match_pkg::list_t        list_o,
  output logic                        tidies_o,    // nothing is left in its overflow
  // The job, with its entry; whether it is of the same list
  input  logic                        own_i,
  input  tag_match_pkg::job_t         job_i,
  // verilator lint_off UNUSEDSIGNAL
  input  tag_match_pkg::entry_t       job_entry_i,  // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  output tag_match_pkg::job_t         job_o,
  output logic                        remembers_o,  // a search found it
  output tag_match_pkg::entry_t       found_o,
  output logic                        drops_return_o,
  // The CAM and memory
  input  logic                        room_i,
  input  logic                        free_i,       // a request would be taken
  output logic                        enters_o,
  output logic                        writes_place_o,
  output logic [1:0]                  place_o,
  output tag_match_pkg::request_t     request_o,
  output logic                        works_o
);

  // What is done, and what of the entry decides it
  logic goes, skips, compacts, moves, looks, is_wrong, is_there, hits, drops_head, fails;
  logic live, is_first, too_young, fits, copies, ends, lost;
  logic [SlotBits-1:0] slot;  // that is written
  logic [PositionBits-1:0] next, behind;

  always_comb begin : decide
    goes = look_i && burst_i.has_list && !list_i.failed &&
           ((burst_i.kind == tag_match_pkg::BurstRefill && !own_i) || free_i);
    skips = look_i && (!burst_i.has_list || list_i.failed);
    live = entry_i.live != '0;
    is_first = burst_i.position == list_i.head;  // no live one is before it
    // A search is decided also by an entry that is too young.
    too_young = job_i.kind == tag_match_pkg::JobSearch && job_i.has_match &&
                entry_i.sequence_ > job_entry_i.sequence_;
    fits = !too_young && (job_i.tag & entry_i.mask) == entry_i.tag && entry_i.sequence_ < job_i.held_from;
    if (job_i.kind == tag_match_pkg::JobRemove) fits = entry_i.handle == job_entry_i.handle;
    compacts = goes && burst_i.ok && burst_i.kind == tag_match_pkg::BurstCompaction;
    moves = goes && burst_i.ok && !compacts && job_i.kind == tag_match_pkg::JobPutBack;
    looks = goes && burst_i.ok && !compacts && !moves;
    is_wrong = looks && live && (entry_i.live != 32'd1 || place_i != tag_match_pkg::PlaceOverflow);
    is_there = looks && live && !is_wrong;
    hits = is_there && fits && own_i && !job_i.decided;
    enters_o = is_there && !hits && is_first && (burst_i.kind == tag_match_pkg::BurstRefill || room_i);
    drops_head = is_first && ((looks && !live) || hits || enters_o);
    fails = goes && (!burst_i.ok || is_wrong);
    next = tag_match_pkg::advance(burst_i.position, SlotBits'(1), SlotBits'(Slots));
  end

  always_comb begin : change
    list_o = list_i;
    job_o = job_i;
    behind = '0;
    copies = 1'b0;
    slot = burst_i.position[SlotBits-1:0];
    drops_return_o = 1'b0;
    tidies_o = 1'b0;
    if (compacts) begin  // a live entry goes to the end of those that are in front of the gap
      if (!list_o.in_gap) begin
        list_o.in_gap = 1'b1;
        list_o.gap_begin = list_o.head;
        list_o.gap_end = list_o.head;
      end
      copies = live && list_o.gap_begin != burst_i.position;
      slot = list_o.gap_begin[SlotBits-1:0];
      if (live) list_o.gap_begin = tag_match_pkg::advance(list_o.gap_begin, SlotBits'(1), SlotBits'(Slots));
      list_o.gap_end = tag_match_pkg::advance(list_o.gap_end, SlotBits'(1), SlotBits'(Slots));
      if (list_o.gap_end == list_o.tail) begin
        list_o.tail = list_o.gap_begin;
        list_o.in_gap = 1'b0;
      end else if (list_o.head == list_o.gap_begin) begin
        list_o.head = list_o.gap_end;
        list_o.unread = list_o.gap_end;
        list_o.in_gap = 1'b0;
      end
    end
    if (moves && entry_i.sequence_ >= job_entry_i.sequence_) begin
      job_o.decided = 1'b1;
    end else if (moves) begin  // an older entry goes one slot towards the head
      copies = 1'b1;
      slot = job_o.destination[SlotBits-1:0];
      job_o.destination = tag_match_pkg::advance(job_o.destination, SlotBits'(1), SlotBits'(Slots));
      job_o.position = tag_match_pkg::behind_gap(next, list_o.in_gap, list_o.gap_begin, list_o.gap_end);
    end
    if (is_there && own_i) job_o.decided = job_o.decided || hits || too_young;
    if (hits) job_o.taken = 1'b1;
    if (hits || enters_o) begin
      list_o.in_overflow = list_o.in_overflow - 32'd1;
      if (is_first) list_o.overflow_from = entry_i.sequence_ + 64'd1;
    end
    if (enters_o) list_o.in_cam = list_o.in_cam + 32'd1;
    if (drops_head) begin
      list_o.head = tag_match_pkg::behind_gap(tag_match_pkg::advance(list_o.head, SlotBits'(1), SlotBits'(Slots)),
                                              list_o.in_gap, list_o.gap_begin, list_o.gap_end);
      if (tag_match_pkg::is_before(list_o.unread, list_o.head)) list_o.unread = list_o.head;
      if (!tag_match_pkg::is_before(list_o.head, list_o.gap_end)) list_o.in_gap = 1'b0;
    end
    ends = goes && (burst_i.next + 8'd1 == burst_i.entries || fails ||
                    (burst_i.kind == tag_match_pkg::BurstJob && job_o.decided));
    // A read of a job is always its own. While a tag is put back nothing else is read.
    lost = ends && !fails && job_o.kind != tag_match_pkg::JobPutBack && list_o.head == list_o.tail &&
           list_o.in_overflow != '0;
    if (ends && !fails && job_o.kind == tag_match_pkg::JobPutBack) begin
      if (job_o.position == list_o.tail) job_o.decided = 1'b1;
    end else if (ends && !fails && !lost && burst_i.kind == tag_match_pkg::BurstJob) begin
      behind = tag_match_pkg::behind_gap(next, list_o.in_gap, list_o.gap_begin, list_o.gap_end);
      job_o.position = tag_match_pkg::is_before(behind, list_o.head) ? list_o.head : behind;
      if (job_o.kind == tag_match_pkg::JobRemove && job_o.position == list_o.tail) job_o.decided = 1'b1;
    end
    if (fails || lost) begin  // (R9)
      list_o.failed = 1'b1;
      if (own_i && job_o.kind == tag_match_pkg::JobRemove) job_o.decided = 1'b1;
      if (own_i && job_o.kind == tag_match_pkg::JobPutBack) begin
        job_o = '0;
        drops_return_o = 1'b1;
      end
    end
    if (ends || skips) begin
      list_o.in_flight = list_o.in_flight - 9'd1;
      if (list_o.spilled && list_o.in_overflow == '0 && list_o.in_flight == '0) begin  // its slots are free
        list_o.head = list_o.tail;
        list_o.unread = list_o.tail;
        list_o.in_gap = 1'b0;
        list_o.spilled = 1'b0;
        tidies_o = keeps_o;
      end
    end
  end
  assign keeps_o = burst_i.has_list && (goes || skips);
  assign works_o = goes || skips;

  assign advances_o = goes;
  assign drops_o = ends || skips;
  always_comb begin : release_entries
    released_o = '0;
    if (burst_i.kind == tag_match_pkg::BurstRefill) begin
      if (drops_o) released_o = 32'(burst_i.entries) - 32'(burst_i.next);
      else released_o = 32'(goes);
    end
  end

  assign found_o = {entry_i.sequence_, entry_i.handle, entry_i.tag, entry_i.mask, entry_i.buffer};
  assign remembers_o = hits && job_i.kind == tag_match_pkg::JobSearch;
  assign writes_place_o = hits || enters_o;
  assign place_o = enters_o ? tag_match_pkg::PlaceCam :
                   remembers_o ? tag_match_pkg::PlaceConsumed : tag_match_pkg::PlaceFree;
  always_comb begin : request
    request_o = '0;
    request_o.valid = copies || (hits && !is_first);
    request_o.kind = copies ? tag_match_pkg::RequestEntry : tag_match_pkg::RequestBury;
    request_o.srq = list_i.srq;
    request_o.slot = slot;
  end

endmodule : tag_match_look
