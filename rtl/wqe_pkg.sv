// SPDX-License-Identifier: Apache-2.0
// What the parts of srq_wqe_fetcher have in common. Numbers of lines and of prefetch contexts have the bits of any
// configuration here.
package wqe_pkg;

  localparam int unsigned MaxSge = 32;
  localparam int unsigned SegmentsHeld = MaxSge + 1;
  localparam int unsigned SegmentBits = 128;  // of a data_segment_t; yosys lets no package look into another one
  localparam logic [31:0] NoWq = '1;
  localparam logic [31:0] NoSlot = '1;
  localparam logic [23:0] NoLine = '1;
  localparam logic [15:0] CqeTagDataValid = 16'h10;
  localparam logic [88:0] NoOpenWqe = {NoSlot, NoWq, 24'd0, 1'b0};  // an open_wqe_t

  // Who waits for contexts of queues (R14)
  localparam int unsigned Askers = 5;
  localparam int unsigned Command = 0;
  localparam int unsigned Doorbell = 1;
  localparam int unsigned Packet = 2;
  localparam int unsigned Flush = 3;
  localparam int unsigned FlushAsker = 4;  // a request to flush

  // What the looks of a cycle leave to those behind them: model/core/memory/context_waits.h (W).
  typedef struct packed {
    logic [Askers-1:0]    waits;
    logic [Askers-1:0]    absent;        // a read has shown that there is no such queue
    logic [Askers-1:0]    yields;        // its context may be evicted nevertheless
    logic [Askers*24-1:0] numbers;       // that they wait for
    logic [31:0]          reading;       // contexts
    logic                 closing;       // a queue that is destroyed has reads in flight
    logic [19:0]          closing_line;  // its line
    logic                 started;       // a read, in this cycle (W R4)
    logic                 deferred;      // a read waits for the next cycle, since another one has started
    logic [Askers-1:0]    lacks_way;     // they have found no line for their context
  } looks_t;

  // A prefetch context: the WQEs of one queue that are here or on their way (wqe_prefetch.h).
  typedef struct packed {
    logic        linked;      // a linked list
    logic [23:0] mask;        // slots - 1
    logic [12:0] stride;
    logic        taken;       // a WQE, since it was bound
    logic [8:0]  window;
    logic [31:0] first;
    logic [31:0] confirmed;
    logic [31:0] fetch;
    logic [23:0] fetch_slot;
    logic [31:0] epoch;
  } prefetch_t;
  localparam int unsigned PrefetchBits = 200;

  // A WQE that is here; segments behind the NextSegment of a linked list.
  typedef struct packed {
    logic                                readable;
    logic [23:0]                         slot;
    logic [23:0]                         next;
    logic [SegmentsHeld*SegmentBits-1:0] segments;
  } entry_t;
  localparam int unsigned EntryBits = 1 + 24 + 24 + SegmentsHeld * SegmentBits;

  // What is refused of a QP (core/responder/refusal.h)
  typedef struct packed {
    logic [31:0] residence;
    logic [31:0] message;
    logic [15:0] epoch;
    logic        has_epoch;
    logic        requests;
  } refused_t;
  localparam int unsigned RefusedBits = 82;

  // What becomes of the oldest packet when it leaves (wqe_verdict). It passes as it is, is squashed, or completes the
  // WQE of its message. It takes the buffer of its tag, the front of its queue, or goes on with a WQE in use. Or its QP
  // fails, its message does, or it is refused.
  typedef enum logic [3:0] {VerdictPasses, VerdictSquashed, VerdictCompletesOpen, VerdictTagFailed, VerdictMatched,
                            VerdictTakes, VerdictBadWqe, VerdictTooLong, VerdictBeginsAnew, VerdictGoesOn,
                            VerdictLacksOpen, VerdictNoWqe, VerdictStoreFull, VerdictNoPlace} verdict_e;

  function automatic logic [31:0] least_of(input logic [31:0] a, input logic [31:0] b);
    least_of = a < b ? a : b;
  endfunction
  function automatic logic [31:0] most_of(input logic [31:0] a, input logic [31:0] b);
    most_of = a > b ? a : b;
  endfunction

  // The slot behind one.
  function automatic logic [23:0] after(input logic [23:0] at, input logic [23:0] mask);
    after = (at + 24'd1) & mask;
  endfunction

  // Bytes of a slot that the device looks at. (wqe_format.h R4)
  function automatic logic [31:0] bytes_used(input logic linked, input logic [12:0] stride);
    bytes_used = least_of(32'(stride), 32'(SegmentsHeld * 16) + (linked ? 32'd16 : 32'd0));
  endfunction

endpackage : wqe_pkg
