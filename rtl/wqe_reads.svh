// SPDX-License-Identifier: Apache-2.0
// Reads of WQEs (T R3, R8): those that packets wait for, and the line of prefetch contexts that may want one.

localparam int unsigned FreeReadBits = 16 << ReadBits;
logic [FreeReadBits-1:0] free_reads_q, free_reads_d;
logic [15:0] free_read_count_q, free_read_count_d;
logic flight_w;
logic [ReadBits-1:0] read_id;
logic wants_wqe;             // the oldest packet waits for a WQE of `wanted`
logic [31:0] wanted;
rxnic_link_pkg::dma_request_t read_request;

// For the prefetch context at hand.
task automatic start_read(input logic waited_for);
  logic [31:0] most, count;
  get_queue(x.owner);
  get_asked(x.owner);
  most = WqesPerRead * 32'(q.stride) > WqesPerRead * 528 ? most_of(32'd1, fit_in_read(q.stride)) : WqesPerRead;
  count = 32'(asked);
  if (waited_for) count = most_of(32'd1, count);
  if (Greedy) count = '0;
  next_run(q.producer, count, most);
  if (run_found) begin
    flight.number = x.fetch;
    flight.slot = x.fetch_slot;
    flight.count = run_count;
    flight.epoch = x.epoch;
    flight.of_context = context_at;
    flight.of_line = x.owner;
    flight_w = 1'b1;
    x.fetch = x.fetch + 32'(run_count);
    x.fetch_slot = (x.fetch_slot + 24'(run_count)) & x.mask;
    put_context(StepRead);
    free_read_count_d = free_read_count_d - 16'd1;
    read_id = free_reads_d[{free_read_count_d[ReadBits-1:0], 4'd0}+:ReadBits];
    get_reads(x.owner);
    reads = reads + 9'd1;
    put_reads(StepRead, x.owner);
    dma_valid_o = 1'b1;
    read_request.kind = rxnic_link_pkg::DmaKindRead;
    read_request.cookie = 32'(read_id);
    read_request.address = q.base + 64'(flight.slot) * 64'(q.stride);
    read_request.bytes = run_count > 7'd1 ? 32'(run_count) * 32'(q.stride) :
                         bytes_used(q.layout == rxnic_link_pkg::WqLayoutLinkedList, q.stride[12:0]);
  end
endtask

// Slots of this stride in the buffer of a read: a division by a power of two.
function automatic logic [31:0] fit_in_read(input logic [15:0] stride);
  fit_in_read = '0;
  for (int unsigned n = 5; n <= 12; n++) if (stride[n]) fit_in_read = (WqesPerRead * 528) >> n;
endfunction

// (R2)
task automatic next_read();
  logic [ContextBits-1:0] c;
  run_found = 1'b0;
  if (free_read_count_d != '0) begin
    if (wants_wqe) begin
      find(wanted);
      if (here) begin
        find_context(line_at);
        if (has_context) start_read(1'b1);
      end
    end
    if (!run_found && (line_size != '0 || line_pushes != '0)) begin
      c = line_size != '0 ? first_in_line : line_pushed[ContextBits-1:0];
      line_moves = 1'b1;
      line_size_d = line_size - 16'd1;
      lined_d[c] = 1'b0;
      get_context(c);
      if (bound_d[c]) start_read(1'b0);
      if (run_found) line_up(c);
    end
  end
endtask

// (T R7) WQEs that have come, unless their context has begun anew since.
task automatic take_read();
  flight = flights_q[dma_done_i.cookie[ReadBits-1:0]];
  get_reads(flight.of_line);
  reads = reads - 9'd1;
  put_reads(StepRequest, flight.of_line);
  get_context(flight.of_context);
  if (bound_d[context_at] && x.epoch == flight.epoch) begin
    unreadable = !dma_done_i.ok;
    take_wqes();
    put_context(StepRequest);
  end
  line_up(context_at);
  free_reads_d[{free_read_count_d[ReadBits-1:0], 4'd0}+:16] = 16'(dma_done_i.cookie[ReadBits-1:0]);
  free_read_count_d = free_read_count_d + 16'd1;
endtask
