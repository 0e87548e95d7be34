// SPDX-License-Identifier: Apache-2.0
// The lists of tag_match_cam that have an overflow, by age, and which of them is read next. They take turns to be read
// into the CAM (R6). The oldest one is the first to be compacted (R8). A list goes when it is removed (1), or when
// nothing is left in its overflow (3). A list comes with what is put back (4), or with an operation (8).
module tag_match_spilled #(
  parameter int unsigned Lists = 1,
  localparam int unsigned ListBits = Lists > 1 ? $clog2(Lists) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                goes_1_i,
  input  logic [ListBits-1:0] at_1_i,
  input  logic                goes_3_i,
  input  logic [ListBits-1:0] at_3_i,
  input  logic                comes_4_i,
  input  logic [ListBits-1:0] at_4_i,
  // (6) of all lists: which have something to be read, which may be compacted; and which of them is chosen
  input  logic [Lists-1:0]    unread_6_i,
  input  logic [Lists-1:0]    sparse_6_i,
  output logic                any_6_o,
  output logic                refills_6_o,
  output logic [ListBits-1:0] refilled_6_o,
  input  logic                takes_6_i,     // it is read into the CAM
  output logic                compacts_6_o,
  output logic [ListBits-1:0] compacted_6_o,
  input  logic                comes_8_i,
  input  logic [ListBits-1:0] at_8_i
);

  localparam int unsigned CountBits = $clog2(Lists + 1);

  logic [(Lists+1)*ListBits-1:0] order_q, order_1, order_3, order_4, order_8;
  logic [CountBits-1:0] count_q, count_1, count_3, count_4, count_8;
  logic [Lists-1:0] unread, sparse;  // by age
  logic [ListBits-1:0] refill_place, compact_place;
  logic gone_1, gone_3;

  always_comb begin : remove
    order_1 = order_q;
    gone_1 = 1'b0;
    if (goes_1_i) begin
      for (int unsigned n = 0; n < Lists; n++) begin
        if (CountBits'(n) < count_q && order_q[n*ListBits+:ListBits] == at_1_i) gone_1 = 1'b1;
        if (gone_1) order_1[n*ListBits+:ListBits] = order_q[(n+1)*ListBits+:ListBits];
      end
    end
    count_1 = count_q - CountBits'(gone_1);
  end
  always_comb begin : tidy
    order_3 = order_1;
    gone_3 = 1'b0;
    if (goes_3_i) begin
      for (int unsigned n = 0; n < Lists; n++) begin
        if (CountBits'(n) < count_1 && order_1[n*ListBits+:ListBits] == at_3_i) gone_3 = 1'b1;
        if (gone_3) order_3[n*ListBits+:ListBits] = order_1[(n+1)*ListBits+:ListBits];
      end
    end
    count_3 = count_1 - CountBits'(gone_3);
  end
  always_comb begin : put_back
    order_4 = order_3;
    if (comes_4_i) begin
      for (int unsigned n = 0; n < Lists; n++) if (CountBits'(n) == count_3) order_4[n*ListBits+:ListBits] = at_4_i;
    end
    count_4 = count_3 + CountBits'(comes_4_i);
  end
  always_comb begin : append
    order_8 = order_4;
    if (comes_8_i) begin
      for (int unsigned n = 0; n < Lists; n++) if (CountBits'(n) == count_4) order_8[n*ListBits+:ListBits] = at_8_i;
    end
    count_8 = count_4 + CountBits'(comes_8_i);
  end

  assign any_6_o = count_4 != '0;
  always_comb begin : by_age
    unread = '0;
    sparse = '0;
    if (any_6_o) begin
      for (int unsigned n = 0; n < Lists; n++) begin
        if (CountBits'(n) < count_4) begin
          unread[n] = unread_6_i[order_4[n*ListBits+:ListBits]];
          sparse[n] = sparse_6_i[order_4[n*ListBits+:ListBits]];
        end
      end
    end
  end
  rxnic_arbiter #(.Requests(Lists)) turns (
    .clk_i, .rst_ni, .requests_i(unread), .take_i(takes_6_i), .valid_o(refills_6_o), .index_o(refill_place)
  );
  rxnic_first_one #(.Bits(Lists)) oldest (.of_i(sparse), .valid_o(compacts_6_o), .index_o(compact_place));
  always_comb begin : choose
    refilled_6_o = '0;
    compacted_6_o = '0;
    if (any_6_o) begin
      for (int unsigned n = 0; n < Lists; n++) begin
        if (ListBits'(n) == refill_place) refilled_6_o = order_4[n*ListBits+:ListBits];
        if (ListBits'(n) == compact_place) compacted_6_o = order_4[n*ListBits+:ListBits];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      order_q <= '0;
      count_q <= '0;
    end else begin
      order_q <= order_8;
      count_q <= count_8;
    end
  end

endmodule : tag_match_spilled
