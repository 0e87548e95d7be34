// SPDX-License-Identifier: Apache-2.0
// Memories of the cache of queue contexts of srq_wqe_fetcher: sets of lines (context_lookup), and the record of each
// line. A step of the cycle finds a set or a record as the steps before it have left it. All is written at the end of
// the cycle. Steps have the numbers of srq_wqe_fetcher. Step 5 looks at two more queues, the one that its packet has
// asked (5a) and the one that it counts for credits (5b). Step 7 looks at the one that it asks, too (7a). Behind all
// steps one is written back.
module wqe_context_store #(
  parameter int unsigned QueueContexts = 1,
  parameter int unsigned Ways          = 1,
  parameter int unsigned AgeBits       = 1,
  parameter int unsigned WayBits       = 28 + AgeBits,
  parameter int unsigned Sets          = QueueContexts / Ways,
  parameter int unsigned SetBits       = Sets > 1 ? $clog2(Sets) : 1,
  parameter int unsigned SetVectorBits = Ways * WayBits,
  parameter int unsigned LineBits      = QueueContexts > 1 ? $clog2(QueueContexts) : 1
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  // Sets: what a step finds, and writes
  input  logic [SetBits-1:0]            set_0_i,
  output logic [SetVectorBits-1:0]      set_0_o,
  input  logic                          writes_0_i,
  input  logic [SetVectorBits-1:0]      row_0_i,
  input  logic [SetBits-1:0]            set_1_i,
  output logic [SetVectorBits-1:0]      set_1_o,
  input  logic                          writes_1_i,
  input  logic [SetVectorBits-1:0]      row_1_i,
  input  logic [SetBits-1:0]            set_2_i,
  output logic [SetVectorBits-1:0]      set_2_o,
  input  logic                          writes_2_i,
  input  logic [SetVectorBits-1:0]      row_2_i,
  input  logic [SetBits-1:0]            set_3_i,
  output logic [SetVectorBits-1:0]      set_3_o,
  input  logic                          writes_3_i,
  input  logic [SetVectorBits-1:0]      row_3_i,
  input  logic [SetBits-1:0]            set_4_i,
  output logic [SetVectorBits-1:0]      set_4_o,
  input  logic                          writes_4_i,
  input  logic [SetVectorBits-1:0]      row_4_i,
  input  logic [SetBits-1:0]            set_5_i,
  output logic [SetVectorBits-1:0]      set_5_o,
  input  logic                          writes_5_i,
  input  logic [SetVectorBits-1:0]      row_5_i,
  input  logic [SetBits-1:0]            set_5a_i,
  output logic [SetVectorBits-1:0]      set_5a_o,
  input  logic [SetBits-1:0]            set_5b_i,
  output logic [SetVectorBits-1:0]      set_5b_o,
  input  logic [SetBits-1:0]            set_6_i,
  output logic [SetVectorBits-1:0]      set_6_o,
  input  logic                          writes_6_i,
  input  logic [SetVectorBits-1:0]      row_6_i,
  input  logic [SetBits-1:0]            set_7a_i,
  output logic [SetVectorBits-1:0]      set_7a_o,
  input  logic [SetBits-1:0]            set_7_i,
  output logic [SetVectorBits-1:0]      set_7_o,
  input  logic                          writes_7_i,
  input  logic [SetVectorBits-1:0]      row_7_i,
  // Records, by line
  input  logic [LineBits-1:0]           line_0_i,
  input  logic                          keeps_0_i,
  input  rxnic_link_pkg::stored_queue_t queue_0_i,
  input  logic [LineBits-1:0]           line_1_i,
  output rxnic_link_pkg::stored_queue_t queue_1_o,
  input  logic                          keeps_1_i,
  input  rxnic_link_pkg::stored_queue_t queue_1_i,
  input  logic [LineBits-1:0]           line_2_i,
  output rxnic_link_pkg::stored_queue_t queue_2_o,
  input  logic                          keeps_2_i,
  input  rxnic_link_pkg::stored_queue_t queue_2_i,
  input  logic [LineBits-1:0]           line_3_i,
  output rxnic_link_pkg::stored_queue_t queue_3_o,
  input  logic                          keeps_3_i,
  input  rxnic_link_pkg::stored_queue_t queue_3_i,
  input  logic [LineBits-1:0]           line_4_i,
  output rxnic_link_pkg::stored_queue_t queue_4_o,
  input  logic                          keeps_4_i,
  input  rxnic_link_pkg::stored_queue_t queue_4_i,
  input  logic [LineBits-1:0]           line_5_i,
  output rxnic_link_pkg::stored_queue_t queue_5_o,
  input  logic                          keeps_5_i,
  input  rxnic_link_pkg::stored_queue_t queue_5_i,
  input  logic [LineBits-1:0]           line_5b_i,
  output rxnic_link_pkg::stored_queue_t queue_5b_o,
  input  logic [LineBits-1:0]           line_6_i,
  output rxnic_link_pkg::stored_queue_t queue_6_o,
  input  logic                          keeps_6_i,
  input  rxnic_link_pkg::stored_queue_t queue_6_i,
  input  logic [LineBits-1:0]           line_7a_i,
  output rxnic_link_pkg::stored_queue_t queue_7a_o,
  input  logic [LineBits-1:0]           line_8a_i,
  output rxnic_link_pkg::stored_queue_t queue_8a_o,
  input  logic [LineBits-1:0]           line_8b_i,
  output rxnic_link_pkg::stored_queue_t queue_8b_o,
  input  logic [LineBits-1:0]           line_back_i,
  output rxnic_link_pkg::stored_queue_t queue_back_o
);

  localparam int unsigned QueueBits = rxnic_link_pkg::StoredQueueBits;

  // `set_used_q` is 0 while a set is as after reset. What has an entry for each line or set is a memory; of those, what
  // is written and read counts.
  // verilator coverage_off
  logic [SetVectorBits-1:0] sets_q [Sets];
  logic [QueueBits-1:0]     records_q [QueueContexts];
  logic [Sets-1:0]          set_used_q;
  // verilator coverage_on

  function automatic logic [SetVectorBits-1:0] stored_set(input logic [SetBits-1:0] set);
    stored_set = sets_q[set];
    for (int unsigned n = 0; n < Ways; n++) begin
      if (!set_used_q[set]) stored_set[n*WayBits+:WayBits] = {4'd0, AgeBits'(n), 24'd0};
    end
  endfunction

  always_comb begin : find_set_0
    set_0_o = stored_set(set_0_i);
  end
  always_comb begin : find_set_1
    set_1_o = stored_set(set_1_i);
    if (writes_0_i && set_0_i == set_1_i) set_1_o = row_0_i;
  end
  always_comb begin : find_set_2
    set_2_o = stored_set(set_2_i);
    if (writes_0_i && set_0_i == set_2_i) set_2_o = row_0_i;
    if (writes_1_i && set_1_i == set_2_i) set_2_o = row_1_i;
  end
  always_comb begin : find_set_3
    set_3_o = stored_set(set_3_i);
    if (writes_0_i && set_0_i == set_3_i) set_3_o = row_0_i;
    if (writes_1_i && set_1_i == set_3_i) set_3_o = row_1_i;
    if (writes_2_i && set_2_i == set_3_i) set_3_o = row_2_i;
  end
  always_comb begin : find_set_4
    set_4_o = stored_set(set_4_i);
    if (writes_0_i && set_0_i == set_4_i) set_4_o = row_0_i;
    if (writes_1_i && set_1_i == set_4_i) set_4_o = row_1_i;
    if (writes_2_i && set_2_i == set_4_i) set_4_o = row_2_i;
    if (writes_3_i && set_3_i == set_4_i) set_4_o = row_3_i;
  end
  always_comb begin : find_set_5
    set_5_o = stored_set(set_5_i);
    if (writes_0_i && set_0_i == set_5_i) set_5_o = row_0_i;
    if (writes_1_i && set_1_i == set_5_i) set_5_o = row_1_i;
    if (writes_2_i && set_2_i == set_5_i) set_5_o = row_2_i;
    if (writes_3_i && set_3_i == set_5_i) set_5_o = row_3_i;
    if (writes_4_i && set_4_i == set_5_i) set_5_o = row_4_i;
  end
  always_comb begin : find_set_5a
    set_5a_o = stored_set(set_5a_i);
    if (writes_0_i && set_0_i == set_5a_i) set_5a_o = row_0_i;
    if (writes_1_i && set_1_i == set_5a_i) set_5a_o = row_1_i;
    if (writes_2_i && set_2_i == set_5a_i) set_5a_o = row_2_i;
    if (writes_3_i && set_3_i == set_5a_i) set_5a_o = row_3_i;
    if (writes_4_i && set_4_i == set_5a_i) set_5a_o = row_4_i;
  end
  always_comb begin : find_set_5b
    set_5b_o = stored_set(set_5b_i);
    if (writes_0_i && set_0_i == set_5b_i) set_5b_o = row_0_i;
    if (writes_1_i && set_1_i == set_5b_i) set_5b_o = row_1_i;
    if (writes_2_i && set_2_i == set_5b_i) set_5b_o = row_2_i;
    if (writes_3_i && set_3_i == set_5b_i) set_5b_o = row_3_i;
    if (writes_4_i && set_4_i == set_5b_i) set_5b_o = row_4_i;
  end
  always_comb begin : find_set_6
    set_6_o = stored_set(set_6_i);
    if (writes_0_i && set_0_i == set_6_i) set_6_o = row_0_i;
    if (writes_1_i && set_1_i == set_6_i) set_6_o = row_1_i;
    if (writes_2_i && set_2_i == set_6_i) set_6_o = row_2_i;
    if (writes_3_i && set_3_i == set_6_i) set_6_o = row_3_i;
    if (writes_4_i && set_4_i == set_6_i) set_6_o = row_4_i;
    if (writes_5_i && set_5_i == set_6_i) set_6_o = row_5_i;
  end
  always_comb begin : find_set_7a
    set_7a_o = stored_set(set_7a_i);
    if (writes_0_i && set_0_i == set_7a_i) set_7a_o = row_0_i;
    if (writes_1_i && set_1_i == set_7a_i) set_7a_o = row_1_i;
    if (writes_2_i && set_2_i == set_7a_i) set_7a_o = row_2_i;
    if (writes_3_i && set_3_i == set_7a_i) set_7a_o = row_3_i;
    if (writes_4_i && set_4_i == set_7a_i) set_7a_o = row_4_i;
    if (writes_5_i && set_5_i == set_7a_i) set_7a_o = row_5_i;
    if (writes_6_i && set_6_i == set_7a_i) set_7a_o = row_6_i;
  end
  always_comb begin : find_set_7
    set_7_o = stored_set(set_7_i);
    if (writes_0_i && set_0_i == set_7_i) set_7_o = row_0_i;
    if (writes_1_i && set_1_i == set_7_i) set_7_o = row_1_i;
    if (writes_2_i && set_2_i == set_7_i) set_7_o = row_2_i;
    if (writes_3_i && set_3_i == set_7_i) set_7_o = row_3_i;
    if (writes_4_i && set_4_i == set_7_i) set_7_o = row_4_i;
    if (writes_5_i && set_5_i == set_7_i) set_7_o = row_5_i;
    if (writes_6_i && set_6_i == set_7_i) set_7_o = row_6_i;
  end

  always_comb begin : find_record_1
    queue_1_o = records_q[line_1_i];
    if (keeps_0_i && line_0_i == line_1_i) queue_1_o = queue_0_i;
  end
  always_comb begin : find_record_2
    queue_2_o = records_q[line_2_i];
    if (keeps_0_i && line_0_i == line_2_i) queue_2_o = queue_0_i;
    if (keeps_1_i && line_1_i == line_2_i) queue_2_o = queue_1_i;
  end
  always_comb begin : find_record_3
    queue_3_o = records_q[line_3_i];
    if (keeps_0_i && line_0_i == line_3_i) queue_3_o = queue_0_i;
    if (keeps_1_i && line_1_i == line_3_i) queue_3_o = queue_1_i;
    if (keeps_2_i && line_2_i == line_3_i) queue_3_o = queue_2_i;
  end
  always_comb begin : find_record_4
    queue_4_o = records_q[line_4_i];
    if (keeps_0_i && line_0_i == line_4_i) queue_4_o = queue_0_i;
    if (keeps_1_i && line_1_i == line_4_i) queue_4_o = queue_1_i;
    if (keeps_2_i && line_2_i == line_4_i) queue_4_o = queue_2_i;
    if (keeps_3_i && line_3_i == line_4_i) queue_4_o = queue_3_i;
  end
  always_comb begin : find_record_5
    queue_5_o = records_q[line_5_i];
    if (keeps_0_i && line_0_i == line_5_i) queue_5_o = queue_0_i;
    if (keeps_1_i && line_1_i == line_5_i) queue_5_o = queue_1_i;
    if (keeps_2_i && line_2_i == line_5_i) queue_5_o = queue_2_i;
    if (keeps_3_i && line_3_i == line_5_i) queue_5_o = queue_3_i;
    if (keeps_4_i && line_4_i == line_5_i) queue_5_o = queue_4_i;
  end
  always_comb begin : find_record_5b
    queue_5b_o = records_q[line_5b_i];
    if (keeps_0_i && line_0_i == line_5b_i) queue_5b_o = queue_0_i;
    if (keeps_1_i && line_1_i == line_5b_i) queue_5b_o = queue_1_i;
    if (keeps_2_i && line_2_i == line_5b_i) queue_5b_o = queue_2_i;
    if (keeps_3_i && line_3_i == line_5b_i) queue_5b_o = queue_3_i;
    if (keeps_4_i && line_4_i == line_5b_i) queue_5b_o = queue_4_i;
    if (keeps_5_i && line_5_i == line_5b_i) queue_5b_o = queue_5_i;
  end
  always_comb begin : find_record_6
    queue_6_o = records_q[line_6_i];
    if (keeps_0_i && line_0_i == line_6_i) queue_6_o = queue_0_i;
    if (keeps_1_i && line_1_i == line_6_i) queue_6_o = queue_1_i;
    if (keeps_2_i && line_2_i == line_6_i) queue_6_o = queue_2_i;
    if (keeps_3_i && line_3_i == line_6_i) queue_6_o = queue_3_i;
    if (keeps_4_i && line_4_i == line_6_i) queue_6_o = queue_4_i;
    if (keeps_5_i && line_5_i == line_6_i) queue_6_o = queue_5_i;
  end
  always_comb begin : find_record_7a
    queue_7a_o = records_q[line_7a_i];
    if (keeps_0_i && line_0_i == line_7a_i) queue_7a_o = queue_0_i;
    if (keeps_1_i && line_1_i == line_7a_i) queue_7a_o = queue_1_i;
    if (keeps_2_i && line_2_i == line_7a_i) queue_7a_o = queue_2_i;
    if (keeps_3_i && line_3_i == line_7a_i) queue_7a_o = queue_3_i;
    if (keeps_4_i && line_4_i == line_7a_i) queue_7a_o = queue_4_i;
    if (keeps_5_i && line_5_i == line_7a_i) queue_7a_o = queue_5_i;
    if (keeps_6_i && line_6_i == line_7a_i) queue_7a_o = queue_6_i;
  end
  always_comb begin : find_record_8a
    queue_8a_o = records_q[line_8a_i];
    if (keeps_0_i && line_0_i == line_8a_i) queue_8a_o = queue_0_i;
    if (keeps_1_i && line_1_i == line_8a_i) queue_8a_o = queue_1_i;
    if (keeps_2_i && line_2_i == line_8a_i) queue_8a_o = queue_2_i;
    if (keeps_3_i && line_3_i == line_8a_i) queue_8a_o = queue_3_i;
    if (keeps_4_i && line_4_i == line_8a_i) queue_8a_o = queue_4_i;
    if (keeps_5_i && line_5_i == line_8a_i) queue_8a_o = queue_5_i;
    if (keeps_6_i && line_6_i == line_8a_i) queue_8a_o = queue_6_i;
  end
  always_comb begin : find_record_8b
    queue_8b_o = records_q[line_8b_i];
    if (keeps_0_i && line_0_i == line_8b_i) queue_8b_o = queue_0_i;
    if (keeps_1_i && line_1_i == line_8b_i) queue_8b_o = queue_1_i;
    if (keeps_2_i && line_2_i == line_8b_i) queue_8b_o = queue_2_i;
    if (keeps_3_i && line_3_i == line_8b_i) queue_8b_o = queue_3_i;
    if (keeps_4_i && line_4_i == line_8b_i) queue_8b_o = queue_4_i;
    if (keeps_5_i && line_5_i == line_8b_i) queue_8b_o = queue_5_i;
    if (keeps_6_i && line_6_i == line_8b_i) queue_8b_o = queue_6_i;
  end
  always_comb begin : find_record_back
    queue_back_o = records_q[line_back_i];
    if (keeps_0_i && line_0_i == line_back_i) queue_back_o = queue_0_i;
    if (keeps_1_i && line_1_i == line_back_i) queue_back_o = queue_1_i;
    if (keeps_2_i && line_2_i == line_back_i) queue_back_o = queue_2_i;
    if (keeps_3_i && line_3_i == line_back_i) queue_back_o = queue_3_i;
    if (keeps_4_i && line_4_i == line_back_i) queue_back_o = queue_4_i;
    if (keeps_5_i && line_5_i == line_back_i) queue_back_o = queue_5_i;
    if (keeps_6_i && line_6_i == line_back_i) queue_back_o = queue_6_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      set_used_q <= '0;
    end else begin
      if (writes_0_i) set_used_q[set_0_i] <= 1'b1;
      if (writes_1_i) set_used_q[set_1_i] <= 1'b1;
      if (writes_2_i) set_used_q[set_2_i] <= 1'b1;
      if (writes_3_i) set_used_q[set_3_i] <= 1'b1;
      if (writes_4_i) set_used_q[set_4_i] <= 1'b1;
      if (writes_5_i) set_used_q[set_5_i] <= 1'b1;
      if (writes_6_i) set_used_q[set_6_i] <= 1'b1;
      if (writes_7_i) set_used_q[set_7_i] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin : memories
    if (writes_0_i) sets_q[set_0_i] <= row_0_i;
    if (writes_1_i) sets_q[set_1_i] <= row_1_i;
    if (writes_2_i) sets_q[set_2_i] <= row_2_i;
    if (writes_3_i) sets_q[set_3_i] <= row_3_i;
    if (writes_4_i) sets_q[set_4_i] <= row_4_i;
    if (writes_5_i) sets_q[set_5_i] <= row_5_i;
    if (writes_6_i) sets_q[set_6_i] <= row_6_i;
    if (writes_7_i) sets_q[set_7_i] <= row_7_i;
    if (keeps_0_i) records_q[line_0_i] <= queue_0_i;
    if (keeps_1_i) records_q[line_1_i] <= queue_1_i;
    if (keeps_2_i) records_q[line_2_i] <= queue_2_i;
    if (keeps_3_i) records_q[line_3_i] <= queue_3_i;
    if (keeps_4_i) records_q[line_4_i] <= queue_4_i;
    if (keeps_5_i) records_q[line_5_i] <= queue_5_i;
    if (keeps_6_i) records_q[line_6_i] <= queue_6_i;
  end

endmodule : wqe_context_store
