// SPDX-License-Identifier: Apache-2.0
// Where each tag of tag_match_cam is, by its list and its handle: nowhere, in the CAM, in the overflow, or consumed.
// The steps of a cycle ask and write one after another; each sees what those before it write. When a list is made (1)
// all of its tags are nowhere. A handle from MaxTags on is always nowhere.
module tag_match_places #(
  parameter int unsigned Lists   = 1,
  parameter int unsigned MaxTags = 1,
  localparam int unsigned ListBits   = Lists > 1 ? $clog2(Lists) : 1,
  localparam int unsigned HandleBits = MaxTags > 1 ? $clog2(MaxTags) : 1
) (
  input  logic                  clk_i,
  input  logic                  makes_1_i,
  input  logic [ListBits-1:0]   at_1_i,
  // (3) an entry of the overflow
  input  logic [ListBits-1:0]   at_3_i,
  input  logic [31:0]           handle_3_i,
  output logic [1:0]            place_3_o,
  input  logic                  writes_3_i,
  input  logic [1:0]            place_3_i,
  // (4) a tag that is put back, for which the youngest one of the CAM may go
  input  logic [ListBits-1:0]   at_4_i,
  input  logic [31:0]           handle_4_i,
  output logic [1:0]            place_4_o,
  input  logic                  spills_4_i,
  input  logic [HandleBits-1:0] spilled_4_i,
  input  logic                  writes_4_i,
  input  logic [HandleBits-1:0] written_4_i,
  input  logic [1:0]            place_4_i,
  // (5), (7) matches
  input  logic                  consumes_5_i,
  input  logic [ListBits-1:0]   at_5_i,
  input  logic [HandleBits-1:0] handle_5_i,
  input  logic                  consumes_7_i,
  input  logic [ListBits-1:0]   at_7_i,
  input  logic [HandleBits-1:0] handle_7_i,
  // (8) the tag of an operation
  input  logic [ListBits-1:0]   at_8_i,
  input  logic [31:0]           handle_8_i,
  output logic [1:0]            place_8_o,
  input  logic                  writes_8_i,
  input  logic [1:0]            place_8_i
);

  // What is written to memories and read from them counts.
  // verilator coverage_off
  logic [2*MaxTags-1:0] places_q [Lists];
  // verilator coverage_on
  logic [HandleBits-1:0] tag_3, tag_4, tag_8;

  assign tag_3 = handle_3_i[HandleBits-1:0];
  assign tag_4 = handle_4_i[HandleBits-1:0];
  assign tag_8 = handle_8_i[HandleBits-1:0];

  always_comb begin : find_3
    place_3_o = places_q[at_3_i][{tag_3, 1'b0}+:2];
    if (makes_1_i && at_1_i == at_3_i) place_3_o = tag_match_pkg::PlaceFree;
    if (handle_3_i >= MaxTags) place_3_o = tag_match_pkg::PlaceFree;
  end
  always_comb begin : find_4
    place_4_o = places_q[at_4_i][{tag_4, 1'b0}+:2];
    if (makes_1_i && at_1_i == at_4_i) place_4_o = tag_match_pkg::PlaceFree;
    if (writes_3_i && at_3_i == at_4_i && tag_3 == tag_4) place_4_o = place_3_i;
    if (handle_4_i >= MaxTags) place_4_o = tag_match_pkg::PlaceFree;
  end
  always_comb begin : find_8
    place_8_o = places_q[at_8_i][{tag_8, 1'b0}+:2];
    if (makes_1_i && at_1_i == at_8_i) place_8_o = tag_match_pkg::PlaceFree;
    if (writes_3_i && at_3_i == at_8_i && tag_3 == tag_8) place_8_o = place_3_i;
    if (spills_4_i && at_4_i == at_8_i && spilled_4_i == tag_8) place_8_o = tag_match_pkg::PlaceOverflow;
    if (writes_4_i && at_4_i == at_8_i && written_4_i == tag_8) place_8_o = place_4_i;
    if (consumes_5_i && at_5_i == at_8_i && handle_5_i == tag_8) place_8_o = tag_match_pkg::PlaceConsumed;
    if (consumes_7_i && at_7_i == at_8_i && handle_7_i == tag_8) place_8_o = tag_match_pkg::PlaceConsumed;
    if (handle_8_i >= MaxTags) place_8_o = tag_match_pkg::PlaceFree;
  end

  always_ff @(posedge clk_i) begin : memory
    if (makes_1_i) places_q[at_1_i] <= '0;
    if (writes_3_i) places_q[at_3_i][{tag_3, 1'b0}+:2] <= place_3_i;
    if (spills_4_i) places_q[at_4_i][{spilled_4_i, 1'b0}+:2] <= tag_match_pkg::PlaceOverflow;
    if (writes_4_i) places_q[at_4_i][{written_4_i, 1'b0}+:2] <= place_4_i;
    if (consumes_5_i) places_q[at_5_i][{handle_5_i, 1'b0}+:2] <= tag_match_pkg::PlaceConsumed;
    if (consumes_7_i) places_q[at_7_i][{handle_7_i, 1'b0}+:2] <= tag_match_pkg::PlaceConsumed;
    if (writes_8_i) places_q[at_8_i][{tag_8, 1'b0}+:2] <= place_8_i;
  end

endmodule : tag_match_places
