// SPDX-License-Identifier: Apache-2.0
// The next read of a queue's WQEs, if there is one (R3): P R1, R2, R4 of model/core/receive_queue/wqe_prefetch.h. It
// asks for what packets need and for the window behind that, of slots that follow each other, as many as fit in a
// read. No state in here.
module wqe_next_run #(
  parameter int unsigned PrefetchDepth      = 1,
  parameter int unsigned WqesPerRead        = 1,
  parameter int unsigned SequentialPrefetch = 1,
  parameter logic        Greedy             = 1'b0
) (
  // verilator lint_off UNUSEDSIGNAL
  input  wqe_pkg::prefetch_t            x_i,
  input  rxnic_link_pkg::stored_queue_t queue_i,  // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  input  logic [10:0]                   asked_i,  // packets here that need a WQE
  input  logic                          waits_i,  // one of them waits for it
  output logic                          found_o,
  output logic [6:0]                    count_o   // WQEs
);

  logic [31:0] count, fits, most, posted, wanted, held, room, least;

  always_comb begin : find_run
    count = 32'(asked_i);
    if (waits_i) count = wqe_pkg::most_of(32'd1, count);
    if (Greedy) count = '0;
    // Slots of this stride in the buffer of a read: a division by a power of two.
    fits = '0;
    for (int unsigned n = 5; n <= 12; n++) if (queue_i.stride[n]) fits = (WqesPerRead * 528) >> n;
    most = WqesPerRead * 32'(queue_i.stride) > WqesPerRead * 528 ? wqe_pkg::most_of(32'd1, fits) : WqesPerRead;

    posted = queue_i.producer - x_i.fetch;
    wanted = wqe_pkg::least_of(PrefetchDepth, wqe_pkg::least_of(count, PrefetchDepth) + 32'(x_i.window));
    held = x_i.fetch - x_i.first;
    found_o = posted != '0 && held < wanted;
    most = wqe_pkg::least_of(most, PrefetchDepth / 2 > 1 ? PrefetchDepth / 2 : 1);
    if (x_i.linked && SequentialPrefetch == 0) begin
      if (x_i.fetch != x_i.confirmed) found_o = 1'b0;
      most = 32'd1;
    end
    most = wqe_pkg::least_of(most, wqe_pkg::least_of(posted, 32'(x_i.mask) + 32'd1 - 32'(x_i.fetch_slot)));
    room = wanted - held;
    least = held < count ? 32'd1 : wqe_pkg::least_of(most, wqe_pkg::most_of(32'd1, 32'(x_i.window) >> 1));
    if (room < least) found_o = 1'b0;
    count_o = 7'(wqe_pkg::least_of(most, room));
  end

endmodule : wqe_next_run
