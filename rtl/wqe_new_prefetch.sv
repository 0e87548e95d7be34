// SPDX-License-Identifier: Apache-2.0
// A prefetch context that begins: P of model/core/receive_queue/wqe_prefetch.h. It has no WQE, and reads from the one
// on that its queue takes next. No state in here.
module wqe_new_prefetch #(
  parameter int unsigned PrefetchDepth = 1,
  parameter int unsigned WqesPerRead   = 1,
  parameter logic        Greedy        = 1'b0
) (
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::stored_queue_t queue_i,   // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  input  logic                          posted_i,  // by a doorbell: no packet has asked for it
  input  logic [31:0]                   epoch_i,
  output wqe_pkg::prefetch_t            x_o
);

  wqe_pkg::prefetch_t x;

  always_comb begin : begin_it
    x.linked = queue_i.layout == rxnic_link_pkg::WqLayoutLinkedList;
    x.mask = 24'(queue_i.slots - 32'd1);
    x.stride = queue_i.stride[12:0];
    x.taken = 1'b0;
    x.window = Greedy ? 9'(PrefetchDepth) : posted_i ? 9'(WqesPerRead) : 9'd0;
    x.first = queue_i.taken;
    x.confirmed = queue_i.taken;
    x.fetch = queue_i.taken;
    x.fetch_slot = x.linked ? queue_i.next_slot[23:0] : queue_i.taken[23:0] & x.mask;
    x.epoch = epoch_i;
    x_o = x;
  end

endmodule : wqe_new_prefetch
