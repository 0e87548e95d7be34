// SPDX-License-Identifier: Apache-2.0
// Memories of the prefetch contexts (R3): of each context what is here and on its way (wqe_prefetch.h), and the WQEs
// that are here. A step sees what the steps before it have left; all is written at the end of the cycle. Steps have the
// numbers of srq_wqe_fetcher. A context begins in steps 0, 2, 5 and 7. WQEs come in step 3, one is taken in step 5, a
// read starts in step 8. Epochs of all contexts are counted together.
module wqe_prefetches #(
  parameter int unsigned Queues        = 1,
  parameter int unsigned PrefetchDepth = 1,
  parameter int unsigned WqesPerRead   = 1,
  parameter logic        Greedy        = 1'b0,
  parameter int unsigned ContextBits   = Queues > 1 ? $clog2(Queues) : 1,
  localparam int unsigned ReadWords = WqesPerRead * 33 > 34 ? WqesPerRead * 33 : 34
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          begins_0_i,
  input  logic [ContextBits-1:0]        context_0_i,
  input  rxnic_link_pkg::stored_queue_t queue_0_i,
  input  logic                          begins_2_i,
  input  logic [ContextBits-1:0]        context_2_i,
  input  rxnic_link_pkg::stored_queue_t queue_2_i,
  // (3) WQEs that have come, for a context that is still bound
  input  logic                          comes_3_i,
  input  logic                          ok_3_i,
  input  logic [ReadWords*wqe_pkg::SegmentBits-1:0] fetched_3_i,
  input  logic [ContextBits-1:0]        context_3_i,
  input  logic [31:0]                   number_3_i,
  input  logic [23:0]                   slot_3_i,
  input  logic [6:0]                    count_3_i,
  input  logic [31:0]                   epoch_3_i,
  output logic                          takes_3_o,    // it has not begun anew since
  output logic                          guess_fails_3_o,
  // (5) the oldest packet: the context of its queue, and the first WQE in it
  input  logic                          uses_5_i,
  input  logic                          begins_5_i,
  input  logic [ContextBits-1:0]        context_5_i,
  input  rxnic_link_pkg::stored_queue_t queue_5_i,
  output wqe_pkg::prefetch_t            x_5_o,
  output wqe_pkg::entry_t               front_5_o,
  input  logic                          takes_5_i,    // it takes the WQE
  input  logic                          waits_5_i,    // it begins to wait for one
  input  logic                          begins_7_i,
  input  logic [ContextBits-1:0]        context_7_i,
  input  rxnic_link_pkg::stored_queue_t queue_7_i,
  // (8) a read, for the queue that a packet waits for, or for the first in the line
  input  logic [ContextBits-1:0]        context_8a_i,
  output wqe_pkg::prefetch_t            x_8a_o,
  input  logic [ContextBits-1:0]        context_8b_i,
  output wqe_pkg::prefetch_t            x_8b_o,
  input  logic                          starts_8_i,
  input  logic [ContextBits-1:0]        context_8_i,
  input  wqe_pkg::prefetch_t            x_8_i         // behind it
);

  localparam int unsigned DepthBits = PrefetchDepth > 1 ? $clog2(PrefetchDepth) : 1;
  localparam int unsigned PlaceBits = ContextBits + DepthBits;
  localparam int unsigned XBits = wqe_pkg::PrefetchBits;
  localparam int unsigned EntryBits = wqe_pkg::EntryBits;
  localparam int unsigned SegmentBits = wqe_pkg::SegmentBits;
  localparam int unsigned SegmentsBits = wqe_pkg::SegmentsHeld * SegmentBits;

  // verilator coverage_off
  logic [XBits-1:0]     contexts_q [Queues];
  logic [EntryBits-1:0] entries_q [1 << PlaceBits];
  // verilator coverage_on
  logic [31:0] epoch_q, epoch_0, epoch_2, epoch_3, epoch_5, epoch_7;
  wqe_pkg::prefetch_t new_0, new_2, x_3, come_3, new_5, x_5, new_7;
  logic [WqesPerRead-1:0] entry_writes;
  logic [WqesPerRead*PlaceBits-1:0] entry_places;
  logic [WqesPerRead*24-1:0] entry_slots, entry_nexts;
  logic [WqesPerRead*16-1:0] links;
  logic writes_5;

  assign epoch_0 = epoch_q + 32'(begins_0_i);
  assign epoch_2 = epoch_0 + 32'(begins_2_i);
  assign epoch_3 = epoch_2 + 32'(guess_fails_3_o);
  assign epoch_5 = epoch_3 + 32'(begins_5_i);
  assign epoch_7 = epoch_5 + 32'(begins_7_i);
  wqe_new_prefetch #(.PrefetchDepth(PrefetchDepth), .WqesPerRead(WqesPerRead), .Greedy(Greedy)) begin_0 (
    .queue_i(queue_0_i), .posted_i(1'b0), .epoch_i(epoch_0), .x_o(new_0)
  );
  wqe_new_prefetch #(.PrefetchDepth(PrefetchDepth), .WqesPerRead(WqesPerRead), .Greedy(Greedy)) begin_2 (
    .queue_i(queue_2_i), .posted_i(1'b1), .epoch_i(epoch_2), .x_o(new_2)
  );
  wqe_new_prefetch #(.PrefetchDepth(PrefetchDepth), .WqesPerRead(WqesPerRead), .Greedy(Greedy)) begin_5 (
    .queue_i(queue_5_i), .posted_i(1'b0), .epoch_i(epoch_5), .x_o(new_5)
  );
  wqe_new_prefetch #(.PrefetchDepth(PrefetchDepth), .WqesPerRead(WqesPerRead), .Greedy(Greedy)) begin_7 (
    .queue_i(queue_7_i), .posted_i(1'b0), .epoch_i(epoch_7), .x_o(new_7)
  );

  // (3)
  always_comb begin : find_3
    x_3 = contexts_q[context_3_i];
    if (begins_0_i && context_0_i == context_3_i) x_3 = new_0;
    if (begins_2_i && context_2_i == context_3_i) x_3 = new_2;
  end
  assign takes_3_o = comes_3_i && x_3.epoch == epoch_3_i;
  // Slots have a power of two of bytes, so that a WQE begins at one of few places in the buffer of a read.
  always_comb begin : find_links
    links = '0;
    if (takes_3_o) begin
      for (int unsigned n = 0; n < WqesPerRead; n++) begin
        for (int unsigned s = 5; s <= 12 && (n << s) < ReadWords * 16; s++) begin
          if (x_3.stride[s]) links[n*16+:16] = fetched_3_i[(n<<s)*8+96+:16];
        end
      end
    end
  end
  function automatic logic [SegmentsBits-1:0] segments_of(input int unsigned n, input logic [12:0] stride,
                                                          input logic linked);
    segments_of = '0;
    for (int unsigned s = 5; s <= 12; s++) begin
      for (int unsigned k = 0; k < wqe_pkg::SegmentsHeld && (n << (s - 4)) + k + 1 < ReadWords; k++) begin
        if (stride[s]) begin
          segments_of[k*SegmentBits+:SegmentBits] = linked ? fetched_3_i[((n<<(s-4))+k+1)*SegmentBits+:SegmentBits]
                                                           : fetched_3_i[((n<<(s-4))+k)*SegmentBits+:SegmentBits];
        end
      end
    end
  endfunction
  wqe_come #(.PrefetchDepth(PrefetchDepth), .WqesPerRead(WqesPerRead), .ContextBits(ContextBits)) take_3 (
    .comes_i(takes_3_o), .ok_i(ok_3_i), .number_i(number_3_i), .slot_i(slot_3_i), .count_i(count_3_i),
    .context_i(context_3_i), .links_i(links), .x_i(x_3), .next_epoch_i(epoch_2 + 32'd1), .x_o(come_3),
    .fails_o(guess_fails_3_o), .writes_o(entry_writes), .places_o(entry_places), .slots_o(entry_slots),
    .nexts_o(entry_nexts)
  );

  // (5)
  logic [PlaceBits-1:0] front_place;
  always_comb begin : find_5
    x_5_o = contexts_q[context_5_i];
    if (begins_0_i && context_0_i == context_5_i) x_5_o = new_0;
    if (begins_2_i && context_2_i == context_5_i) x_5_o = new_2;
    if (takes_3_o && context_3_i == context_5_i) x_5_o = come_3;
    if (begins_5_i) x_5_o = new_5;
  end
  assign front_place = {context_5_i, x_5_o.first[DepthBits-1:0]};
  always_comb begin : find_front
    front_5_o = '0;
    if (uses_5_i) front_5_o = entries_q[front_place];
    for (int unsigned n = 0; n < WqesPerRead; n++) begin
      if (uses_5_i && entry_writes[n] && entry_places[n*PlaceBits+:PlaceBits] == front_place) begin
        front_5_o = {ok_3_i, entry_slots[n*24+:24], entry_nexts[n*24+:24],
                     segments_of(n, x_3.stride, x_3.linked)};
      end
    end
  end
  assign writes_5 = begins_5_i || takes_5_i || waits_5_i;
  always_comb begin : leave_5
    x_5 = x_5_o;
    if (takes_5_i) begin
      x_5.taken = 1'b1;
      x_5.first = x_5_o.first + 32'd1;
    end else if (waits_5_i && x_5_o.taken) begin  // (P R1)
      x_5.window = 9'(wqe_pkg::least_of(PrefetchDepth, wqe_pkg::most_of(32'd1, 32'(x_5_o.window) << 1)));
    end
  end

  // (8)
  always_comb begin : find_8a
    x_8a_o = contexts_q[context_8a_i];
    if (begins_0_i && context_0_i == context_8a_i) x_8a_o = new_0;
    if (begins_2_i && context_2_i == context_8a_i) x_8a_o = new_2;
    if (takes_3_o && context_3_i == context_8a_i) x_8a_o = come_3;
    if (writes_5 && context_5_i == context_8a_i) x_8a_o = x_5;
    if (begins_7_i && context_7_i == context_8a_i) x_8a_o = new_7;
  end
  always_comb begin : find_8b
    x_8b_o = contexts_q[context_8b_i];
    if (begins_0_i && context_0_i == context_8b_i) x_8b_o = new_0;
    if (begins_2_i && context_2_i == context_8b_i) x_8b_o = new_2;
    if (takes_3_o && context_3_i == context_8b_i) x_8b_o = come_3;
    if (writes_5 && context_5_i == context_8b_i) x_8b_o = x_5;
    if (begins_7_i && context_7_i == context_8b_i) x_8b_o = new_7;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) epoch_q <= '0;
    else epoch_q <= epoch_7;
  end

  for (genvar n = 0; n < WqesPerRead; n++) begin : write_entries
    always_ff @(posedge clk_i) begin
      if (entry_writes[n]) begin
        entries_q[entry_places[n*PlaceBits+:PlaceBits]] <= {ok_3_i, entry_slots[n*24+:24], entry_nexts[n*24+:24],
                                                            segments_of(n, x_3.stride, x_3.linked)};
      end
    end
  end

  always_ff @(posedge clk_i) begin : memories  // in the order of the steps
    if (begins_0_i) contexts_q[context_0_i] <= new_0;
    if (begins_2_i) contexts_q[context_2_i] <= new_2;
    if (takes_3_o) contexts_q[context_3_i] <= come_3;
    if (writes_5) contexts_q[context_5_i] <= x_5;
    if (begins_7_i) contexts_q[context_7_i] <= new_7;
    if (starts_8_i) contexts_q[context_8_i] <= x_8_i;
  end

endmodule : wqe_prefetches
