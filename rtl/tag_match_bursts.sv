// SPDX-License-Identifier: Apache-2.0
// Reads of the overflow of tag_match_cam: in flight, and those that have come, in the order of their requests. The
// entries of the first one are looked at, one after another (3). The next entry is fetched behind all steps; it stands
// at bursts_i in the next cycle, and is kept until it was looked at.
module tag_match_bursts #(
  parameter int unsigned Lists       = 1,
  parameter int unsigned RefillReads = 1,
  parameter int unsigned Slots       = 2,  // of a list's overflow
  localparam int unsigned ListBits     = Lists > 1 ? $clog2(Lists) : 1,
  localparam int unsigned PlaceBits    = RefillReads > 1 ? $clog2(RefillReads) : 1,
  localparam int unsigned CountBits    = $clog2(2 * RefillReads + 1),
  localparam int unsigned PositionBits = tag_match_pkg::PositionBits,
  localparam int unsigned SlotBits     = tag_match_pkg::SlotBits
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  output logic [CountBits-1:0]            used_o,
  output logic [CountBits-1:0]            landed_o,
  output logic                            bursts_valid_o,
  output rxnic_link_pkg::tag_burst_read_t bursts_o,
  input  rxnic_link_pkg::stored_tag_t     bursts_i,
  // (1) a list is removed; (2) a read has come
  input  logic                            forgets_1_i,
  input  logic [ListBits-1:0]             at_1_i,
  input  logic                            lands_2_i,
  input  logic                            ok_2_i,
  // (3) the first read, and its entry at hand: it was looked at; the rest of the read is not looked at
  output logic                            at_hand_3_o,
  output rxnic_link_pkg::stored_tag_t     entry_3_o,
  output tag_match_pkg::burst_t           burst_3_o,
  output logic [ListBits-1:0]             at_3_o,
  input  logic                            advances_3_i,
  input  logic                            drops_3_i,
  // (4), (6), (8) what is left; a read that begins
  output logic                            none_4_o,
  output logic                            room_6_o,
  output logic                            compacts_6_o,  // the first one is of a compaction
  output logic [PlaceBits-1:0]            place_6_o,     // of the read that begins
  input  logic                            reads_6_i,
  input  logic [ListBits-1:0]             at_6_i,
  input  logic [1:0]                      kind_6_i,
  input  logic [7:0]                      entries_6_i,
  input  logic [PositionBits-1:0]         position_6_i,
  output logic                            none_8_o
);

  localparam int unsigned EntryBits = rxnic_link_pkg::StoredTagBits;

  // Reads: who has asked, and how many entries; the entry that is looked at next.
  // What is written to memories and read from them counts.
  // verilator coverage_off
  logic [ListBits-1:0]     lists_q [RefillReads];
  logic [9:0]              sizes_q [RefillReads];  // kind, entries
  logic [PositionBits-1:0] positions_q [RefillReads];
  logic [7:0]              next_q [RefillReads];
  // verilator coverage_on
  logic [RefillReads-1:0] has_list_q, has_list_1, ok_q, ok_2;
  logic [PlaceBits-1:0] first_q, first_3;
  logic [CountBits-1:0] used_q, used_3, used_6, landed_q, landed_2, landed_3;
  logic at_hand_q, at_hand_3, fresh_q;  // fresh_q: the entry at hand stands at bursts_i
  logic [EntryBits-1:0] entry_q;
  // verilator lint_off UNUSEDSIGNAL
  logic [7:0] next_3;  // the memory of a read has 64 entries
  // verilator lint_on UNUSEDSIGNAL

  // The n-th place behind one; n is no more than RefillReads.
  function automatic logic [PlaceBits-1:0] place_at(input logic [PlaceBits-1:0] from, input logic [CountBits-1:0] n);
    // verilator lint_off UNUSEDSIGNAL
    logic [CountBits-1:0] place;
    // verilator lint_on UNUSEDSIGNAL
    place = CountBits'(from) + n;
    if (place >= CountBits'(RefillReads)) place = place - CountBits'(RefillReads);
    place_at = place[PlaceBits-1:0];
  endfunction

  assign used_o = used_q;
  assign landed_o = landed_q;
  assign at_hand_3_o = at_hand_q;
  assign entry_3_o = fresh_q ? bursts_i : entry_q;

  always_comb begin : forget_and_land
    has_list_1 = has_list_q;
    if (forgets_1_i) begin
      for (int unsigned n = 0; n < RefillReads; n++) if (lists_q[n] == at_1_i) has_list_1[n] = 1'b0;
    end
    ok_2 = ok_q;
    if (lands_2_i) ok_2[place_at(first_q, landed_q)] = ok_2_i;
    landed_2 = landed_q + CountBits'(lands_2_i);
  end

  always_comb begin : show
    at_3_o = lists_q[first_q];
    burst_3_o.has_list = has_list_1[first_q];
    burst_3_o.ok = ok_2[first_q];
    {burst_3_o.kind, burst_3_o.entries} = sizes_q[first_q];
    burst_3_o.next = next_q[first_q];
    burst_3_o.position = positions_q[first_q];
  end
  always_comb begin : advance
    first_3 = drops_3_i ? place_at(first_q, CountBits'(1)) : first_q;
    used_3 = used_q - CountBits'(drops_3_i);
    landed_3 = landed_2 - CountBits'(drops_3_i);
    at_hand_3 = at_hand_q && !advances_3_i && !drops_3_i;
    next_3 = next_q[first_3] + 8'(advances_3_i && !drops_3_i);
  end

  assign none_4_o = used_3 == '0;
  assign room_6_o = used_3 != CountBits'(RefillReads);
  assign place_6_o = place_at(first_3, used_3);
  assign used_6 = used_3 + CountBits'(reads_6_i);
  assign none_8_o = used_6 == '0;
  assign compacts_6_o = sizes_q[first_3][9:8] == tag_match_pkg::BurstCompaction;
  assign bursts_valid_o = !at_hand_3 && landed_3 != '0;
  assign bursts_o = {8'(first_3), next_3[5:0]};

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      has_list_q <= '0;
      ok_q <= '0;
      first_q <= '0;
      used_q <= '0;
      landed_q <= '0;
      at_hand_q <= 1'b0;
      fresh_q <= 1'b0;
      entry_q <= '0;
    end else begin
      has_list_q <= has_list_1;
      if (reads_6_i) has_list_q[place_6_o] <= 1'b1;
      ok_q <= ok_2;
      first_q <= first_3;
      used_q <= used_6;
      landed_q <= landed_3;
      at_hand_q <= at_hand_3 || bursts_valid_o;
      fresh_q <= bursts_valid_o;
      entry_q <= entry_3_o;
    end
  end
  always_ff @(posedge clk_i) begin : memories
    if (advances_3_i) begin
      next_q[first_q] <= next_q[first_q] + 8'd1;
      positions_q[first_q] <= tag_match_pkg::advance(positions_q[first_q], SlotBits'(1), SlotBits'(Slots));
    end
    if (reads_6_i) begin
      lists_q[place_6_o] <= at_6_i;
      sizes_q[place_6_o] <= {kind_6_i, entries_6_i};
      next_q[place_6_o] <= '0;
      positions_q[place_6_o] <= position_6_i;
    end
  end

endmodule : tag_match_bursts
