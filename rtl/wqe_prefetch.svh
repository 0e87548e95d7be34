// SPDX-License-Identifier: Apache-2.0
// The WQEs of one queue that are here or on their way, of the prefetch context at hand, `x`:
// model/core/receive_queue/wqe_prefetch.h (P). WQEs as bytes: wqe_format.h (F).

logic [31:0] epoch_q, epoch_d;  // of prefetch contexts, counted together
// The next read (P R1, R2, R4)
logic run_found;
logic [6:0] run_count;
// A WQE as it is parsed (F R1..R4)
// verilator lint_off UNUSEDSIGNAL
rxnic_link_pkg::data_segment_t segment;
// verilator lint_on UNUSEDSIGNAL
logic parsed_valid;
logic [5:0] parsed_count;
logic [SegmentsHeld-1:0] parsed_keeps;  // the segments that are of its list
logic [37:0] parsed_bytes;
localparam int unsigned ComeBits = (ReadWords + SegmentsHeld + 1) * SegmentBits;
// Entries that are written
logic [WqesPerRead-1:0] entries_w;
logic [WqesPerRead*EntryPlaceBits-1:0] entries_at;
logic [WqesPerRead*EntryBits-1:0] entries_as;

function automatic logic [31:0] least_of(input logic [31:0] a, input logic [31:0] b);
  least_of = a < b ? a : b;
endfunction
function automatic logic [31:0] most_of(input logic [31:0] a, input logic [31:0] b);
  most_of = a > b ? a : b;
endfunction
function automatic logic [23:0] after(input logic [23:0] at, input logic [23:0] mask);
  after = (at + 24'd1) & mask;
endfunction

// Bytes of a slot that the device looks at. (F R4)
function automatic logic [31:0] bytes_used(input logic linked, input logic [12:0] stride);
  bytes_used = least_of(32'(stride), 32'(SegmentsHeld * 16) + (linked ? 32'd16 : 32'd0));
endfunction

task automatic next_run(input logic [31:0] producer, input logic [31:0] wanted_by_packets, input logic [31:0] most);
  logic [31:0] posted, wanted, held, most_here, room, least;
  posted = producer - x.fetch;
  wanted = least_of(PrefetchDepth, least_of(wanted_by_packets, PrefetchDepth) + 32'(x.window));
  held = x.fetch - x.first;
  run_found = posted != '0 && held < wanted;
  most_here = least_of(most, PrefetchDepth / 2 > 1 ? PrefetchDepth / 2 : 1);
  if (x.linked && SequentialPrefetch == 0) begin
    if (x.fetch != x.confirmed) run_found = 1'b0;
    most_here = 32'd1;
  end
  most_here = least_of(most_here, least_of(posted, 32'(x.mask) + 32'd1 - 32'(x.fetch_slot)));
  room = wanted - held;
  least = held < wanted_by_packets ? 32'd1 : least_of(most_here, most_of(32'd1, 32'(x.window) >> 1));
  if (room < least) run_found = 1'b0;
  run_count = 7'(least_of(most_here, room));
endtask

// (P R5, R6, R7) Reads complete in their order: all before the run has come.
task automatic take_wqes();
  logic [31:0] number;
  logic goes_on;
  logic [ComeBits-1:0] come;  // from the WQE at hand on
  come = ComeBits'(fetched_wqes_i);
  goes_on = 1'b1;
  number = '0;
  for (int unsigned n = 0; n < WqesPerRead; n++) begin
    if (32'(n) < 32'(flight.count)) begin
      number = flight.number + 32'(n);
      entry.readable = dma_done_i.ok;
      entry.slot = flight.slot + 24'(n);
      entry.next = after(entry.slot, x.mask);
      entry.segments = x.linked ? come[(SegmentsHeld+1)*SegmentBits-1:SegmentBits] : come[SegmentsHeld*SegmentBits-1:0];
      if (dma_done_i.ok && x.linked) entry.next = 24'(come[111:96]) & x.mask;
      entries_w[n] = 1'b1;
      entries_at[n*EntryPlaceBits+:EntryPlaceBits] = {context_at, number[DepthBits-1:0]};
      entries_as[n*EntryBits+:EntryBits] = entry;
      if (goes_on) begin
        x.confirmed = number + 32'd1;
        if (x.confirmed == x.fetch) begin
          x.fetch_slot = entry.next;
        end else if (entry.next != after(entry.slot, x.mask)) begin
          guess_fails = 1'b1;
          goes_on = 1'b0;
          epoch_d = epoch_d + 32'd1;
          x.epoch = epoch_d;
          x.fetch = x.confirmed;
          x.fetch_slot = entry.next;
        end
      end
      come = come >> {x.stride, 3'd0};
    end
  end
endtask

task automatic get_front();
  logic [EntryPlaceBits-1:0] place;
  place = {context_at, x.first[DepthBits-1:0]};
  entry = entries_q[place];
  for (int unsigned n = 0; n < WqesPerRead; n++) begin
    if (entries_w[n] && entries_at[n*EntryPlaceBits+:EntryPlaceBits] == place) begin
      entry = entries_as[n*EntryBits+:EntryBits];
    end
  end
endtask

task automatic parse_front();
  logic [31:0] fit;
  logic ended, bad;
  fit = (bytes_used(x.linked, x.stride) >> 4) - (x.linked ? 32'd1 : 32'd0);
  ended = 1'b0;
  bad = 1'b0;
  parsed_count = '0;
  parsed_bytes = '0;
  parsed_keeps = '0;
  for (int unsigned n = 0; n < SegmentsHeld; n++) begin
    segment = entry.segments[n*SegmentBits+:SegmentBits];
    if (32'(n) >= fit || segment.lkey == InvalidKey) begin
      ended = 1'b1;
    end else if (!ended && !bad) begin
      if (n == MaxSge || (segment.length != '0 && segment.lkey == '0)) begin
        bad = 1'b1;
      end else if (segment.length != '0) begin
        parsed_keeps[n] = 1'b1;
        parsed_count = parsed_count + 6'd1;
        parsed_bytes = parsed_bytes + 38'(segment.length);
      end
    end
  end
  parsed_valid = entry.readable && !bad && parsed_bytes <= 38'h8000_0000;
  if (!parsed_valid) begin
    parsed_keeps = '0;
    parsed_count = '0;
    parsed_bytes = '0;
  end
endtask

task automatic note_wait();  // (P R1)
  if (x.taken) x.window = 9'(least_of(PrefetchDepth, most_of(32'd1, 32'(x.window) << 1)));
endtask
