// SPDX-License-Identifier: Apache-2.0
// Slots of the store of WQEs in use: model/core/receive_queue/wqe_slots.h (S). (R13)

logic [WqeStoreEntries-1:0] slot_used_q, slot_used_d;
logic [31:0] in_shares_q, in_shares_d, in_pool_q, in_pool_d;
logic [31:0] open_q, open_d;  // slots of messages that have not ended
logic slot_w;
logic [SlotVectorBits-1:0] slot_as;
logic [31:0] slot_at;         // where it is written
logic slot_free;              // there is one for the queue
logic of_share;
// What is written of the shares: by a command, a release, a packet.
logic [2:0] shares_w;
logic [3*NumberBits-1:0] shares_at;
logic [3*7-1:0] shares_as;
logic [6:0] share;
logic [31:0] made_q, made_d;        // numbers that were ever given to queues

task automatic get_share(input logic [31:0] queue);
  share = shares_q[queue[NumberBits-1:0]];
  for (int unsigned k = 0; k < 3; k++) begin
    if (shares_w[k] && shares_at[k*NumberBits+:NumberBits] == queue[NumberBits-1:0]) share = shares_as[k*7+:7];
  end
  if (queue >= made_d) share = '0;
endtask
task automatic put_share(input int unsigned k, input logic [31:0] queue);
  for (int unsigned n = 0; n < 3; n++) begin
    if (n == k && queue < made_d) begin
      shares_w[n] = 1'b1;
      shares_at[n*NumberBits+:NumberBits] = queue[NumberBits-1:0];
      shares_as[n*7+:7] = share;
    end
  end
endtask

task automatic get_slot(input logic [31:0] at);
  slot = slot_w && slot_at == at ? slot_as : slots_q[at[SlotBits-1:0]];
endtask

task automatic release_slot(input int unsigned k, input logic [31:0] at);
  get_slot(at);
  slot_used_d[at[SlotBits-1:0]] = 1'b0;
  if (slot.of_share) begin
    get_share(slot.of_queue);
    share = share - 7'd1;
    put_share(k, slot.of_queue);
    in_shares_d = in_shares_d - 32'd1;
  end else begin
    in_pool_d = in_pool_d - 32'd1;
  end
endtask

task automatic look_for_slot(input logic [31:0] queue);
  get_share(queue);
  of_share = in_shares_d + 32'd1 <= Kept && 32'(share) + 32'd1 <= WqeStoreShare;
  slot_free = of_share || in_pool_d + 32'd1 <= WqeStoreEntries - Kept;
endtask

// (S R2) After look_for_slot().
task automatic allocate_slot(input logic [31:0] queue, input logic [31:0] wqe_index, input logic [31:0] bytes);
  logic chosen;
  if (of_share) begin
    share = share + 7'd1;
    put_share(2, queue);
    in_shares_d = in_shares_d + 32'd1;
  end else begin
    in_pool_d = in_pool_d + 32'd1;
  end
  chosen = 1'b0;
  for (int unsigned n = 0; n < WqeStoreEntries; n++) begin
    if (!chosen && !slot_used_d[n]) begin
      chosen = 1'b1;
      slot_at = n;
    end
  end
  slot_used_d[slot_at[SlotBits-1:0]] = 1'b1;
  slot_w = 1'b1;
  slot_as = {wqe_index, bytes, queue, of_share};
endtask
