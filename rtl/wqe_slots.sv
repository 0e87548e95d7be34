// SPDX-License-Identifier: Apache-2.0
// Slots of the store of WQEs in use (R13): model/core/receive_queue/wqe_slots.h. Some are kept for a share of each
// queue, the others are a pool. A command makes a queue or releases the slot of a message (1). The blocks behind
// release one (3), the oldest packet takes one (5). Slots of WQEs are looked at by flushes (4, 6) and by that packet.
module wqe_slots #(
  parameter int unsigned WqeStoreEntries = 1,
  parameter int unsigned WqeStoreShare   = 0,
  parameter int unsigned Queues          = 1,
  parameter int unsigned Numbers         = 1,
  parameter int unsigned NumberBits      = Numbers > 1 ? $clog2(Numbers) : 1
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic [31:0] in_shares_o,  // slots in use, at the beginning of the cycle
  output logic [31:0] in_pool_o,
  // (1)
  input  logic        makes_1_i,    // a queue with a number that there has not been
  // verilator lint_off UNUSEDSIGNAL
  input  logic [31:0] number_1_i,
  input  logic [31:0] made_i,       // so many numbers there are
  input  logic        releases_1_i,
  input  logic [31:0] slot_1_i,
  // (3)
  input  logic        releases_3_i,
  input  logic [31:0] slot_3_i,
  // (4), (6): which WQE a slot has
  input  logic [31:0] slot_4_i,
  output logic [31:0] index_4_o,
  output logic [31:0] bytes_4_o,
  input  logic [31:0] slot_6_i,
  output logic [31:0] index_6_o,
  output logic [31:0] bytes_6_o,
  // (5)
  input  logic [31:0] queue_5_i,
  output logic        free_5_o,     // there is a slot for the queue: free_slot_5_o
  output logic [31:0] free_slot_5_o,
  output logic [31:0] used_5_o,     // slots in use, then
  input  logic        takes_5_i,
  input  logic [31:0] taken_index_5_i,
  input  logic [31:0] taken_bytes_5_i,
  input  logic [31:0] slot_5_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic [31:0] index_5_o,
  output logic [31:0] bytes_5_o
);

  localparam int unsigned Kept = WqeStoreShare * Queues < WqeStoreEntries ? WqeStoreShare * Queues : WqeStoreEntries;
  localparam int unsigned SlotBits = WqeStoreEntries > 1 ? $clog2(WqeStoreEntries) : 1;
  localparam int unsigned WordBits = 32 + 32 + 32 + 1;  // index, bytes, queue, of its share
  localparam int unsigned ShareBits = 7;

  // verilator coverage_off
  logic [WordBits-1:0]  slots_q [WqeStoreEntries];
  logic [ShareBits-1:0] shares_q [Numbers];  // slots that a queue has of its share
  // verilator coverage_on
  logic [WqeStoreEntries-1:0] used_q, used_3, used_5;
  logic [31:0] in_shares_q, in_shares_1, in_shares_3, in_pool_q, in_pool_1, in_pool_3;
  // verilator lint_off UNUSEDSIGNAL
  logic [WordBits-1:0] word_1, word_3, word_4, word_5, word_6;
  // verilator lint_on UNUSEDSIGNAL
  logic [31:0] queue_1, queue_3;
  logic of_share_1, of_share_3, of_share_5, shares_1, shares_3, shares_5, has_free;
  logic [NumberBits-1:0] share_at_1, share_at_3, share_at_5;
  logic [ShareBits-1:0] share_1, found_3, share_3, found_5, share_5;
  logic [SlotBits-1:0] free_slot;

  // (1)
  assign word_1 = slots_q[slot_1_i[SlotBits-1:0]];
  assign {queue_1, of_share_1} = word_1[32:0];
  assign share_at_1 = makes_1_i ? number_1_i[NumberBits-1:0] : queue_1[NumberBits-1:0];
  assign share_1 = makes_1_i ? '0 : shares_q[share_at_1] - ShareBits'(1);
  assign shares_1 = makes_1_i || (releases_1_i && of_share_1 && queue_1 < made_i);
  assign in_shares_1 = in_shares_q - 32'(releases_1_i && of_share_1);
  assign in_pool_1 = in_pool_q - 32'(releases_1_i && !of_share_1);

  // (3)
  assign word_3 = slots_q[slot_3_i[SlotBits-1:0]];
  assign {queue_3, of_share_3} = word_3[32:0];
  assign share_at_3 = queue_3[NumberBits-1:0];
  assign found_3 = shares_1 && share_at_1 == share_at_3 ? share_1 : shares_q[share_at_3];
  assign share_3 = found_3 - ShareBits'(1);
  assign shares_3 = releases_3_i && of_share_3 && queue_3 < made_i;
  assign in_shares_3 = in_shares_1 - 32'(releases_3_i && of_share_3);
  assign in_pool_3 = in_pool_1 - 32'(releases_3_i && !of_share_3);
  always_comb begin : release_slots
    used_3 = used_q;
    if (releases_1_i) used_3[slot_1_i[SlotBits-1:0]] = 1'b0;
    if (releases_3_i) used_3[slot_3_i[SlotBits-1:0]] = 1'b0;
  end

  // (5)
  rxnic_first_one #(.Bits(WqeStoreEntries)) first_free (.of_i(~used_3), .valid_o(has_free), .index_o(free_slot));
  assign share_at_5 = queue_5_i[NumberBits-1:0];
  always_comb begin : share_of_queue
    found_5 = shares_q[share_at_5];
    if (shares_1 && share_at_1 == share_at_5) found_5 = share_1;
    if (shares_3 && share_at_3 == share_at_5) found_5 = share_3;
    if (queue_5_i >= made_i) found_5 = '0;
  end
  assign of_share_5 = in_shares_3 + 32'd1 <= Kept && 32'(found_5) + 32'd1 <= WqeStoreShare;
  assign free_5_o = of_share_5 || in_pool_3 + 32'd1 <= WqeStoreEntries - Kept;
  assign free_slot_5_o = has_free ? 32'(free_slot) : '0;
  assign used_5_o = in_shares_3 + in_pool_3;
  assign share_5 = found_5 + ShareBits'(1);
  assign shares_5 = takes_5_i && of_share_5 && queue_5_i < made_i;
  always_comb begin : take_slot
    used_5 = used_3;
    if (takes_5_i) used_5[free_slot] = 1'b1;
  end

  // Looks at slots
  assign word_4 = slots_q[slot_4_i[SlotBits-1:0]];
  assign word_5 = slots_q[slot_5_i[SlotBits-1:0]];
  assign word_6 = slots_q[slot_6_i[SlotBits-1:0]];
  assign {index_4_o, bytes_4_o} = word_4[WordBits-1:33];
  assign {index_5_o, bytes_5_o} = takes_5_i ? {taken_index_5_i, taken_bytes_5_i} : word_5[WordBits-1:33];
  assign {index_6_o, bytes_6_o} = word_6[WordBits-1:33];
  assign in_shares_o = in_shares_q;
  assign in_pool_o = in_pool_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      {used_q, in_shares_q, in_pool_q} <= '0;
    end else begin
      used_q <= used_5;
      in_shares_q <= in_shares_3 + 32'(takes_5_i && of_share_5);
      in_pool_q <= in_pool_3 + 32'(takes_5_i && !of_share_5);
    end
  end

  always_ff @(posedge clk_i) begin : memories  // in the order of the steps
    if (takes_5_i) slots_q[free_slot] <= {taken_index_5_i, taken_bytes_5_i, queue_5_i, of_share_5};
    if (shares_1) shares_q[share_at_1] <= share_1;
    if (shares_3) shares_q[share_at_3] <= share_3;
    if (shares_5) shares_q[share_at_5] <= share_5;
  end

endmodule : wqe_slots
