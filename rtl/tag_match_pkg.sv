// SPDX-License-Identifier: Apache-2.0
// What the parts of tag_match_cam have in common: a tag list, an entry, what goes from step to step of a cycle. And the
// decisions of model/core/tag_matching about one list, of tag_match_list.h (L) and tag_overflow.h (O).
package tag_match_pkg;

  localparam int unsigned EntryBytes = 64;  // of an entry in memory
  localparam int unsigned LiveOffset = 44;  // of `live` in it
  localparam logic [63:0] OverflowBase = 64'h7000_0000_0000_0000;
  localparam logic [15:0] MostUnacknowledged = 16'h3fff;
  localparam int unsigned TmhBytes = 16;
  localparam logic [7:0] TmhRendezvous = 8'd1;
  localparam logic [7:0] TmhFinish = 8'd2;
  localparam logic [7:0] TmhEager = 8'd3;
  localparam logic [15:0] CqeTagMatch = 16'h0008;
  localparam logic [15:0] CqeTagDataValid = 16'h0010;
  localparam logic [15:0] CqeTagSyncRequest = 16'h0020;
  localparam logic [15:0] CqeSrq = 16'h0080;

  // Place of a tag, by its handle.
  localparam logic [1:0] PlaceFree = 2'd0;
  localparam logic [1:0] PlaceCam = 2'd1;
  localparam logic [1:0] PlaceOverflow = 2'd2;
  localparam logic [1:0] PlaceConsumed = 2'd3;

  // A position in an overflow: its number, and in the low SlotBits the slot that it is in (tag_overflow.h, R1).
  localparam int unsigned SlotBits = 22;
  localparam int unsigned PositionBits = 64 + SlotBits;

  typedef struct packed {
    logic [31:0]             srq;
    logic [31:0]             pd;
    logic [23:0]             cq;
    logic [31:0]             in_cam;
    logic [31:0]             in_overflow;
    logic [63:0]             appended;
    logic [63:0]             overflow_from;  // no entry of the overflow is older
    logic [63:0]             phase_began;
    logic [15:0]             unexpected;
    logic [15:0]             acknowledged;
    logic [PositionBits-1:0] head;
    logic [PositionBits-1:0] tail;
    logic [PositionBits-1:0] unread;
    logic                    in_gap;
    logic [PositionBits-1:0] gap_begin;
    logic [PositionBits-1:0] gap_end;
    logic [8:0]              in_flight;      // reads
    logic                    spilled;
    logic                    failed;
    logic [47:0]             result_at;      // of the last search
  } list_t;

  // An entry, as it is in the CAM; behind `sequence_` the fields of a tag_entry_t.
  typedef struct packed {
    logic [63:0]  sequence_;
    logic [31:0]  handle;
    logic [63:0]  tag;
    logic [63:0]  mask;
    logic [127:0] buffer;
  } entry_t;
  localparam int unsigned EntryBits = 352;

  // What tag_store is made of.
  localparam int unsigned StoreSerial = 0;  // tag_store_serial
  localparam int unsigned StoreAges = 1;    // tag_store_age

  // What becomes of a packet (tag_match_message).
  typedef enum logic [2:0] {MessageAsItIs, MessageForgotten, MessageFailed, MessageEnd, MessageOwn, MessageMatch,
                            MessageMiss} message_kind_e;

  // What is put into the completion of a message, by tag_match_message: of its list, and what was found.
  typedef struct packed {
    logic [2:0]   kind;            // message_kind_e
    logic [31:0]  pd;
    logic [23:0]  cq;
    logic [15:0]  unacknowledged;  // unexpected messages, with this one
    logic [31:0]  handle;
    logic [127:0] buffer;
    logic [7:0]   opcode;          // nothing was found: of its header
  } label_t;

  typedef enum logic [1:0] {JobNone, JobSearch, JobRemove, JobPutBack} job_kind_e;
  typedef enum logic [1:0] {BurstRefill, BurstJob, BurstCompaction} burst_kind_e;
  typedef enum logic [1:0] {RequestRead, RequestEntry, RequestBury} request_kind_e;

  // What has to read the overflow before anything else is taken. Beside it stand the number of its list and its entry.
  typedef struct packed {
    logic [1:0]              kind;       // job_kind_e
    logic                    has_list;   // it is not removed
    logic                    decided;
    logic                    reads;
    logic                    taken;      // its entry was found in the overflow
    logic                    has_match;  // search: in the CAM
    logic [63:0]             tag;
    logic [63:0]             held_from;
    logic [PositionBits-1:0] position;
    logic [PositionBits-1:0] destination;
  } job_t;

  // A read of the overflow, in flight or to be looked through. Beside it stands the number of its list.
  typedef struct packed {
    logic                    has_list;  // it is not removed
    logic [1:0]              kind;      // burst_kind_e
    logic                    ok;
    logic [7:0]              entries;
    logic [7:0]              next;      // entry to be looked at ...
    logic [PositionBits-1:0] position;  // ... and where it is
  } burst_t;

  // What a step asks of memory: entries are read, one is written, or one is marked as dead.
  typedef struct packed {
    logic                valid;
    logic [1:0]          kind;     // request_kind_e
    logic [31:0]         srq;
    logic [SlotBits-1:0] slot;
    logic [7:0]          entries;  // that are read
  } request_t;

  function automatic logic [PositionBits-1:0] advance(input logic [PositionBits-1:0] p, input logic [SlotBits-1:0] by,
                                                      input logic [SlotBits-1:0] slots);
    logic [SlotBits:0] slot;
    slot = {1'b0, p[SlotBits-1:0]} + {1'b0, by};
    if (slot >= {1'b0, slots}) slot = slot - {1'b0, slots};
    advance = {p[PositionBits-1:SlotBits] + 64'(by), slot[SlotBits-1:0]};
  endfunction

  function automatic logic [PositionBits-1:0] retreat(input logic [PositionBits-1:0] p,
                                                      input logic [SlotBits-1:0] slots);
    retreat = {p[PositionBits-1:SlotBits] - 64'd1, (p[SlotBits-1:0] == '0 ? slots : p[SlotBits-1:0]) - SlotBits'(1)};
  endfunction

  // The first append of the phase: the first one behind an unexpected message, while none was before. (L R3)
  function automatic logic [63:0] phase_of(input logic [15:0] unexpected, input logic [15:0] acknowledged,
                                           input logic [15:0] new_unexpected, input logic [15:0] new_acknowledged,
                                           input logic [63:0] began, input logic [63:0] appended);
    phase_of = unexpected == acknowledged && new_unexpected != new_acknowledged ? appended : began;
  endfunction

  // Entries of this number and younger ones are held: they do not match. (L R3)
  function automatic logic [63:0] first_held(input logic [15:0] unexpected, input logic [15:0] acknowledged,
                                             input logic [63:0] began);
    first_held = unexpected == acknowledged ? '1 : began;
  endfunction

  // Whether no entry of the overflow is older. (L R7)
  function automatic logic is_settled(input logic [31:0] in_overflow, input logic [63:0] overflow_from,
                                      input logic [63:0] number);
    is_settled = in_overflow == '0 || number < overflow_from;
  endfunction

  // Its `overflow_from` with one more entry in the overflow.
  function automatic logic [63:0] oldest_with(input logic [31:0] in_overflow, input logic [63:0] overflow_from,
                                              input logic [63:0] number);
    oldest_with = in_overflow == '0 || number < overflow_from ? number : overflow_from;
  endfunction

  // The first position at or after `p` that holds an entry, or the tail.
  function automatic logic [PositionBits-1:0] behind_gap(input logic [PositionBits-1:0] p, input logic in_gap,
                                                         input logic [PositionBits-1:0] gap_begin,
                                                         input logic [PositionBits-1:0] gap_end);
    behind_gap = in_gap && p == gap_begin ? gap_end : p;
  endfunction

  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [63:0] distance(input logic [PositionBits-1:0] from, input logic [PositionBits-1:0] to);
    // verilator lint_on UNUSEDSIGNAL
    distance = to[PositionBits-1:SlotBits] - from[PositionBits-1:SlotBits];
  endfunction

  // Whether one position is in front of another.
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic is_before(input logic [PositionBits-1:0] p, input logic [PositionBits-1:0] other);
    // verilator lint_on UNUSEDSIGNAL
    is_before = p[PositionBits-1:SlotBits] < other[PositionBits-1:SlotBits];
  endfunction

  // Entries of a read from `p`: of one piece of memory, and not of the gap. (O R4)
  function automatic logic [7:0] read_length(input logic [PositionBits-1:0] p, input logic [PositionBits-1:0] tail,
                                             input logic in_gap, input logic [PositionBits-1:0] gap_begin,
                                             input logic [31:0] most, input logic [SlotBits-1:0] slots);
    logic [63:0] left;
    logic [SlotBits-1:0] to_end;
    to_end = slots - p[SlotBits-1:0];
    left = distance(p, tail);
    if (in_gap && is_before(p, gap_begin)) left = distance(p, gap_begin);
    if (64'(most) < left) left = 64'(most);
    if (64'(to_end) < left) left = 64'(to_end);
    read_length = left[7:0];
  endfunction

  // Whether all slots are in use.
  function automatic logic is_full(input logic [PositionBits-1:0] head, input logic [PositionBits-1:0] tail,
                                   input logic [SlotBits-1:0] slots);
    is_full = distance(head, tail) == 64'(slots);
  endfunction

  // Whether dead entries are to be moved out from between live ones. (O R3)
  function automatic logic is_sparse(input logic failed, input logic in_gap, input logic [31:0] in_overflow,
                                     input logic [PositionBits-1:0] head, input logic [PositionBits-1:0] tail,
                                     input logic [31:0] entries_per_read, input logic [SlotBits-1:0] slots);
    logic [63:0] idle;
    idle = distance(head, tail) - 64'(in_overflow);
    is_sparse = !failed && (in_gap || (idle > 64'(in_overflow) &&
                                       (idle >= 64'(entries_per_read) || is_full(head, tail, slots))));
  endfunction

endpackage : tag_match_pkg
