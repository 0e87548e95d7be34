// SPDX-License-Identifier: Apache-2.0
// Reads of WQEs (T R3, R8 of model/core/receive_queue/work_queue_table.h): those in flight, of which one comes (3), and
// the one that starts (8). The queue that a packet waits for goes first, then the line of prefetch contexts.
module wqe_reads #(
  parameter int unsigned PrefetchDepth      = 1,
  parameter int unsigned WqesPerRead        = 1,
  parameter int unsigned ReadsInFlight      = 1,
  parameter int unsigned SequentialPrefetch = 1,
  parameter logic        Greedy             = 1'b0,
  parameter int unsigned ContextBits        = 1,
  parameter int unsigned LineBits           = 1,
  parameter int unsigned CountBits          = $clog2(ReadsInFlight + 1)
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  output logic [CountBits-1:0]          free_count_o,    // at the beginning of the cycle
  output logic                          more_o,          // another one might start behind it
  // (3) one that comes
  input  logic                          comes_3_i,
  // verilator lint_off UNUSEDSIGNAL
  input  logic [31:0]                   cookie_3_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic [31:0]                   number_3_o,      // of its first WQE, which is in this slot,
  output logic [23:0]                   slot_3_o,
  output logic [6:0]                    count_3_o,       // ... so many WQEs,
  output logic [31:0]                   epoch_3_o,
  output logic [ContextBits-1:0]        context_3_o,     // ... for this prefetch context
  output logic [LineBits-1:0]           line_3_o,        // ... of the queue in this line
  // (8) the queue that a packet waits for, when its context and a prefetch context are here
  input  logic                          may_8a_i,
  input  logic [ContextBits-1:0]        context_8a_i,
  input  logic [LineBits-1:0]           line_8a_i,
  input  wqe_pkg::prefetch_t            x_8a_i,
  input  rxnic_link_pkg::stored_queue_t queue_8a_i,
  input  logic [10:0]                   asked_8a_i,
  // ... the first in the line, when it is bound
  input  logic                          any_8b_i,
  output logic                          takes_8b_o,
  output logic                          joins_8b_o,      // it may want another one
  input  logic                          bound_8b_i,
  input  logic [ContextBits-1:0]        context_8b_i,
  input  logic [LineBits-1:0]           line_8b_i,
  input  wqe_pkg::prefetch_t            x_8b_i,
  input  rxnic_link_pkg::stored_queue_t queue_8b_i,
  input  logic [10:0]                   asked_8b_i,
  // ... and what starts
  output logic                          starts_8_o,
  output logic [6:0]                    run_count_8_o,
  output logic [ContextBits-1:0]        context_8_o,
  output logic [LineBits-1:0]           line_8_o,
  output wqe_pkg::prefetch_t            x_8_o,
  input  logic                          dma_ready_i,
  output rxnic_link_pkg::dma_request_t  dma_o
);

  localparam int unsigned ReadBits = ReadsInFlight > 1 ? $clog2(ReadsInFlight) : 1;
  localparam int unsigned LinkShift = $clog2(ReadBits);  // a place in the stack has a power of two of bits
  localparam int unsigned LinkBits = 1 << LinkShift;
  localparam int unsigned FreeBits = LinkBits << ReadBits;
  localparam int unsigned FlightBits = 32 + 24 + 7 + 32 + ContextBits + LineBits;

  // verilator coverage_off
  logic [FlightBits-1:0] flights_q [ReadsInFlight];
  // verilator coverage_on
  logic [FreeBits-1:0] free_q, free_3;  // numbers of reads; the one that became free last starts first
  logic [CountBits-1:0] count_q, count_3, count_8;
  logic [ReadBits-1:0] come, read_id;
  logic may_8b, found_8a, found_8b, of_8a;
  logic [6:0] run_count_8a, run_count_8b;
  // verilator lint_off UNUSEDSIGNAL
  rxnic_link_pkg::stored_queue_t queue;
  // verilator lint_on UNUSEDSIGNAL
  wqe_pkg::prefetch_t x;
  rxnic_link_pkg::dma_request_t read_request;

  function automatic logic [31:0] place(input logic [ReadBits-1:0] n);
    place = 32'(n) << LinkShift;
  endfunction

  // (3) (T R7)
  assign come = cookie_3_i[ReadBits-1:0];
  assign {number_3_o, slot_3_o, count_3_o, epoch_3_o, context_3_o, line_3_o} = flights_q[come];
  always_comb begin : free_read
    free_3 = free_q;
    if (comes_3_i) free_3[place(ReadBits'(count_q))+:LinkBits] = LinkBits'(come);
    count_3 = count_q + CountBits'(comes_3_i);
  end

  // (8)
  wqe_next_run #(
    .PrefetchDepth(PrefetchDepth), .WqesPerRead(WqesPerRead), .SequentialPrefetch(SequentialPrefetch), .Greedy(Greedy)
  ) run_8a (
    .x_i(x_8a_i), .queue_i(queue_8a_i), .asked_i(asked_8a_i), .waits_i(1'b1), .found_o(found_8a),
    .count_o(run_count_8a)
  );
  wqe_next_run #(
    .PrefetchDepth(PrefetchDepth), .WqesPerRead(WqesPerRead), .SequentialPrefetch(SequentialPrefetch), .Greedy(Greedy)
  ) run_8b (
    .x_i(x_8b_i), .queue_i(queue_8b_i), .asked_i(asked_8b_i), .waits_i(1'b0), .found_o(found_8b),
    .count_o(run_count_8b)
  );
  assign may_8b = dma_ready_i && count_3 != '0;
  assign of_8a = may_8b && may_8a_i && found_8a;
  assign takes_8b_o = may_8b && !of_8a && any_8b_i;
  assign joins_8b_o = takes_8b_o && bound_8b_i && found_8b;
  assign starts_8_o = of_8a || joins_8b_o;
  assign run_count_8_o = of_8a ? run_count_8a : run_count_8b;
  assign context_8_o = of_8a ? context_8a_i : context_8b_i;
  assign line_8_o = of_8a ? line_8a_i : line_8b_i;
  assign read_id = free_3[place(ReadBits'(count_8))+:ReadBits];
  assign count_8 = count_3 - CountBits'(starts_8_o);
  assign free_count_o = count_q;
  assign more_o = count_8 != '0;
  always_comb begin : start_read
    x = of_8a ? x_8a_i : x_8b_i;
    queue = of_8a ? queue_8a_i : queue_8b_i;
    x_8_o = x;
    x_8_o.fetch = x.fetch + 32'(run_count_8_o);
    x_8_o.fetch_slot = (x.fetch_slot + 24'(run_count_8_o)) & x.mask;
    read_request = '0;
    read_request.kind = rxnic_link_pkg::DmaKindRead;
    read_request.cookie = 32'(read_id);
    read_request.address = queue.base + 64'(x.fetch_slot) * 64'(queue.stride);
    read_request.bytes = run_count_8_o > 7'd1 ? 32'(run_count_8_o) * 32'(queue.stride) :
                         wqe_pkg::bytes_used(queue.layout == rxnic_link_pkg::WqLayoutLinkedList, queue.stride[12:0]);
    dma_o = read_request;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      free_q <= '0;
      for (int unsigned n = 0; n < ReadsInFlight; n++) begin
        free_q[n*LinkBits+:LinkBits] <= LinkBits'(ReadsInFlight - 1 - n);
      end
      count_q <= CountBits'(ReadsInFlight);
    end else begin
      free_q <= free_3;
      count_q <= count_8;
    end
  end

  always_ff @(posedge clk_i) begin : memory
    if (starts_8_o) begin
      flights_q[read_id] <= {x.fetch, x.fetch_slot, run_count_8_o, x.epoch, context_8_o, line_8_o};
    end
  end

endmodule : wqe_reads
