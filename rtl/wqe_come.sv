// SPDX-License-Identifier: Apache-2.0
// WQEs that have come, and what becomes of their prefetch context (R3): P R5, R6, R7 of
// model/core/receive_queue/wqe_prefetch.h. Reads complete in their order: all before the run has come. In a linked list
// each WQE names the next one. When that is not in the next slot, what was read behind it was guessed wrongly. The rest
// of the run is thrown away then, and what is on its way, since the context begins anew with another epoch. No state in
// here.
module wqe_come #(
  parameter int unsigned PrefetchDepth = 1,
  parameter int unsigned WqesPerRead   = 1,
  parameter int unsigned ContextBits   = 1,
  parameter int unsigned DepthBits     = PrefetchDepth > 1 ? $clog2(PrefetchDepth) : 1,
  parameter int unsigned PlaceBits     = ContextBits + DepthBits
) (
  input  logic                             comes_i,
  input  logic                             ok_i,         // the memory is mapped
  // The read
  input  logic [31:0]                      number_i,     // of the first WQE
  input  logic [23:0]                      slot_i,
  input  logic [6:0]                       count_i,
  input  logic [ContextBits-1:0]           context_i,
  input  logic [WqesPerRead*16-1:0]        links_i,      // what each WQE of a linked list names
  input  wqe_pkg::prefetch_t               x_i,
  input  logic [31:0]                      next_epoch_i,
  output wqe_pkg::prefetch_t               x_o,
  output logic                             fails_o,      // a guess
  // Where each WQE is kept, its slot and the slot behind it
  output logic [WqesPerRead-1:0]           writes_o,
  output logic [WqesPerRead*PlaceBits-1:0] places_o,
  output logic [WqesPerRead*24-1:0]        slots_o,
  output logic [WqesPerRead*24-1:0]        nexts_o
);

  wqe_pkg::prefetch_t x;
  logic [31:0] number;
  logic [23:0] slot, next;

  always_comb begin : take_wqes
    x = x_i;
    fails_o = 1'b0;
    writes_o = '0;
    places_o = '0;
    slots_o = '0;
    nexts_o = '0;
    number = '0;
    slot = '0;
    next = '0;
    if (comes_i) begin
      for (int unsigned n = 0; n < WqesPerRead; n++) begin
        if (32'(n) < 32'(count_i)) begin
          number = number_i + 32'(n);
          slot = slot_i + 24'(n);
          next = wqe_pkg::after(slot, x.mask);
          if (ok_i && x.linked) next = 24'(links_i[n*16+:16]) & x.mask;
          writes_o[n] = 1'b1;
          places_o[n*PlaceBits+:PlaceBits] = {context_i, number[DepthBits-1:0]};
          slots_o[n*24+:24] = slot;
          nexts_o[n*24+:24] = next;
          if (!fails_o) begin
            x.confirmed = number + 32'd1;
            if (x.confirmed == x.fetch) begin
              x.fetch_slot = next;
            end else if (next != wqe_pkg::after(slot, x.mask)) begin
              fails_o = 1'b1;
              x.epoch = next_epoch_i;
              x.fetch = x.confirmed;
              x.fetch_slot = next;
            end
          end
        end
      end
    end
    x_o = x;
  end

endmodule : wqe_come
