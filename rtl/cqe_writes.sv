// SPDX-License-Identifier: Apache-2.0
// Writes of CQEs of cqe_generator (R1): of a session that ends (4), of one that a packet ends (6a), of its own CQE
// (6b). A block that wraps has two of them, that at the ring's start first, with its CQEs in the place of the second
// one.
module cqe_writes #(
  parameter int unsigned CqeBytes      = 64,
  parameter int unsigned LatencyCycles = 1,
  parameter int unsigned WriteDepth    = 3,
  parameter int unsigned DmaDepth      = 1,
  parameter int unsigned MaxHeld       = 2,
  parameter int unsigned BlockSlots    = 1,
  parameter int unsigned CountBits     = $clog2(WriteDepth + 6)
) (
  input  logic                               clk_i,
  input  logic                               rst_ni,
  input  logic [63:0]                        now_i,
  output logic [CountBits-1:0]               count_o,         // writes that are here ...
  output logic [CountBits-1:0]               count_6_o,       // ... and behind this cycle
  output logic [31:0]                        made_o,          // that there ever were ...
  output logic [31:0]                        left_o,          // ... and that have left, with this cycle
  output logic                               waits_o,         // one is due, and there is no room for it
  output logic                               next_is_due_o,   // behind the one that leaves, or the first
  // A write, and the CQEs that it writes
  output logic                               dma_valid_o,
  input  logic                               dma_ready_i,
  output rxnic_link_pkg::dma_request_t       dma_o,
  output logic [BlockSlots-1:0]              written_valid_o,
  output logic [BlockSlots*rxnic_link_pkg::CqeWriteBits-1:0] written_o,
  // (4)
  output logic [CountBits-1:0]               room_0_o,
  input  logic                               ends_4_i,
  input  logic [511:0]                       title_4_i,
  input  logic [MaxHeld*64-1:0]              minis_4_i,
  input  logic [6:0]                         held_4_i,
  input  rxnic_link_pkg::stored_cq_t         record_4_i,
  output logic [CountBits-1:0]               room_4_o,
  // (6)
  input  logic                               session_6_i,
  input  logic [511:0]                       title_6_i,
  input  logic [MaxHeld*64-1:0]              minis_6_i,
  input  logic [6:0]                         held_6_i,
  input  rxnic_link_pkg::stored_cq_t         record_6a_i,
  output logic                               wraps_6_o,
  input  logic                               plain_6_i,
  input  logic [511:0]                       cqe_6_i,
  input  rxnic_link_pkg::stored_cq_t         record_6b_i
);

  localparam int unsigned PlaceBits = CountBits;
  localparam int unsigned IndexBits = $clog2(WriteDepth);
  localparam int unsigned BlockBits = BlockSlots * 512;
  localparam int unsigned WriteBits = PlaceBits + 8 + 64 + 32 + 16 + 1 + 24 + 64;

  // verilator coverage_off
  // Place of the CQEs, first of them, number, address, bytes, cqes, notify, CQN, due
  logic [WriteBits-1:0] writes_q [WriteDepth];
  logic [BlockBits-1:0] blocks_q [WriteDepth];
  // verilator coverage_on
  logic [PlaceBits-1:0] first_write_q;
  logic [CountBits-1:0] write_count_q, write_count_0, write_count_4, write_count_6a;
  logic write_is_due, write_leaves, wraps_4;
  logic [3:0] run_4, run_6;
  logic [63:0] address_4, address_6, address_6b;
  logic [31:0] bytes_4, bytes_6, bytes_6b, start_4, start_6;
  logic [BlockBits-1:0] block_4, block_6;
  logic [511:0] block_6b;
  logic [3:0] slots_of_4, slots_of_6;
  logic [WriteBits-1:0] front_write;
  // verilator lint_off UNUSEDSIGNAL
  logic [WriteBits-1:0] next_write;  // when it is due
  logic [PlaceBits-1:0] leaving_place;
  // verilator lint_on UNUSEDSIGNAL
  logic [3:0] first_slot, slots_left;
  logic [63:0] write_address, write_due;
  logic [31:0] write_bytes;
  logic [15:0] write_cqes;
  logic write_notify;
  logic [23:0] write_cq;
  logic [BlockBits-1:0] front_block;
  logic [511:0] lane_cqe;
  logic [13:0] lane_slot;
  logic [15:0] place_q;
  logic [31:0] made_q;
  rxnic_link_pkg::dma_request_t write_request;

  cqe_block #(.MaxHeld(MaxHeld), .Slots(BlockSlots), .CqeBytes(CqeBytes)) session_block (
    .title_i(title_4_i), .minis_i(minis_4_i), .held_i(held_4_i), .record_i(record_4_i), .block_o(block_4),
    .slots_o(slots_of_4), .wraps_o(wraps_4), .run_o(run_4), .address_o(address_4), .bytes_o(bytes_4),
    .bytes_at_start_o(start_4)
  );
  cqe_block #(.MaxHeld(MaxHeld), .Slots(BlockSlots), .CqeBytes(CqeBytes)) packet_block (
    .title_i(title_6_i), .minis_i(minis_6_i), .held_i(held_6_i), .record_i(record_6a_i), .block_o(block_6),
    .slots_o(slots_of_6), .wraps_o(wraps_6_o), .run_o(run_6), .address_o(address_6), .bytes_o(bytes_6),
    .bytes_at_start_o(start_6)
  );
  // verilator lint_off PINCONNECTEMPTY
  cqe_block #(.MaxHeld(2), .Slots(1), .CqeBytes(CqeBytes)) plain_block (
    .title_i(cqe_6_i), .minis_i('0), .held_i(7'd1), .record_i(record_6b_i), .block_o(block_6b), .slots_o(),
    .wraps_o(), .run_o(), .address_o(address_6b), .bytes_o(bytes_6b), .bytes_at_start_o()
  );
  // verilator lint_on PINCONNECTEMPTY

  function automatic logic [PlaceBits-1:0] write_place(input logic [PlaceBits-1:0] from,
                                                       input logic [CountBits-1:0] behind);
    logic [PlaceBits:0] n;
    n = {1'b0, from} + {1'b0, behind};
    if (n >= (PlaceBits + 1)'(WriteDepth)) n = n - (PlaceBits + 1)'(WriteDepth);
    write_place = n[PlaceBits-1:0];
  endfunction

  always_comb begin : leave
    front_write = writes_q[first_write_q[IndexBits-1:0]];
    {leaving_place, first_slot, slots_left, write_address, write_bytes, write_cqes, write_notify, write_cq, write_due} =
        front_write;
    write_is_due = write_count_q != '0 && write_due <= now_i;
    dma_valid_o = write_is_due;
    write_leaves = write_is_due && dma_ready_i;
    waits_o = write_is_due && !dma_ready_i;
    write_request = '0;
    write_request.kind = rxnic_link_pkg::DmaKindWrite;
    write_request.notify = write_notify;
    write_request.cqes = write_cqes;
    write_request.cookie = 32'(write_cq);
    write_request.address = write_address;
    write_request.bytes = write_bytes;
    dma_o = write_request;
    front_block = blocks_q[leaving_place[IndexBits-1:0]];
    written_valid_o = '0;
    written_o = '0;
    lane_cqe = '0;
    lane_slot = '0;
    for (int unsigned n = 0; n < BlockSlots; n++) begin
      lane_cqe = '0;
      for (int unsigned m = 0; m < BlockSlots; m++) begin
        if (32'(first_slot) + n == m) lane_cqe = front_block[m*512+:512];
      end
      lane_slot = place_q[13:0] + 14'(n);
      written_valid_o[n] = write_leaves && n < 32'(slots_left);
      written_o[n*rxnic_link_pkg::CqeWriteBits+:rxnic_link_pkg::CqeWriteBits] = {lane_slot, lane_cqe};
    end
  end
  assign count_o = write_count_q;
  assign made_o = made_q;
  assign write_count_0 = write_count_q - CountBits'(write_leaves);
  assign room_0_o = CountBits'(WriteDepth) - write_count_0;
  assign write_count_4 = !ends_4_i ? write_count_0 : write_count_0 + (wraps_4 ? CountBits'(2) : CountBits'(1));
  assign room_4_o = CountBits'(WriteDepth) - write_count_4;
  assign write_count_6a = !session_6_i ? write_count_4 : write_count_4 + (wraps_6_o ? CountBits'(2) : CountBits'(1));
  assign count_6_o = plain_6_i ? write_count_6a + CountBits'(1) : write_count_6a;
  assign left_o = made_q - 32'(write_count_0);

  logic [63:0] due_now;
  logic [PlaceBits-1:0] at_4, at_4b, at_6, at_6b, at_plain, after_leave, place_4, place_6;
  assign due_now = now_i + 64'(LatencyCycles);
  assign at_4 = write_place(first_write_q, write_leaves ? write_count_0 + CountBits'(1) : write_count_0);
  assign at_4b = write_place(at_4, CountBits'(1));
  assign at_6 = write_place(at_4, write_count_4 - write_count_0);
  assign at_6b = write_place(at_6, CountBits'(1));
  assign at_plain = write_place(at_4, write_count_6a - write_count_0);
  assign place_4 = wraps_4 ? at_4b : at_4;
  assign place_6 = wraps_6_o ? at_6b : at_6;
  assign after_leave = write_place(first_write_q, CountBits'(1));
  assign next_write = writes_q[after_leave[IndexBits-1:0]];
  assign next_is_due_o = write_leaves ? write_count_q > CountBits'(1) && next_write[63:0] <= now_i : write_is_due;

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      first_write_q <= '0;
      write_count_q <= '0;
      made_q <= '0;
      place_q <= '0;
    end else begin
      if (write_leaves) begin
        first_write_q <= after_leave;
        place_q <= place_q == 16'(DmaDepth * BlockSlots) ? '0 : place_q + 16'(BlockSlots);
      end
      write_count_q <= count_6_o;
      made_q <= made_q + 32'(count_6_o) - 32'(write_count_0);
    end
  end

  always_ff @(posedge clk_i) begin : memories
    if (ends_4_i) begin
      if (wraps_4) begin
        writes_q[at_4[IndexBits-1:0]] <= {at_4b, run_4, slots_of_4 - run_4, record_4_i.base, start_4, 16'd0, 1'b0,
                                          24'd0, due_now};
      end
      writes_q[place_4[IndexBits-1:0]] <= {place_4, 4'd0, run_4, address_4, bytes_4, 16'(held_4_i),
                                           !record_4_i.polled_only, record_4_i.number, due_now};
      blocks_q[place_4[IndexBits-1:0]] <= block_4;
    end
    if (session_6_i) begin
      if (wraps_6_o) begin
        writes_q[at_6[IndexBits-1:0]] <= {at_6b, run_6, slots_of_6 - run_6, record_6a_i.base, start_6, 16'd0, 1'b0,
                                          24'd0, due_now};
      end
      writes_q[place_6[IndexBits-1:0]] <= {place_6, 4'd0, run_6, address_6, bytes_6, 16'(held_6_i),
                                           !record_6a_i.polled_only, record_6a_i.number, due_now};
      blocks_q[place_6[IndexBits-1:0]] <= block_6;
    end
    if (plain_6_i) begin
      writes_q[at_plain[IndexBits-1:0]] <= {at_plain, 4'd0, 4'd1, address_6b, bytes_6b, 16'd1, !record_6a_i.polled_only,
                                            record_6a_i.number, due_now};
      blocks_q[at_plain[IndexBits-1:0]] <= BlockBits'(block_6b);
    end
  end

endmodule : cqe_writes
