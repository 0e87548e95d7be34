// SPDX-License-Identifier: Apache-2.0
// What tag_match_cam knows of a tag list, of an entry, and where entries lie in memory.
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

  typedef enum logic [1:0] {JobNone, JobSearch, JobRemove, JobPutBack} job_kind_e;
  typedef enum logic [1:0] {BurstRefill, BurstJob, BurstCompaction} burst_kind_e;

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

endpackage : tag_match_pkg
