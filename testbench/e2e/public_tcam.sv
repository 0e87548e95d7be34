// SPDX-License-Identifier: Apache-2.0
// A ternary CAM as one finds them. A write by address takes WriteCycles cycles, during which the CAM is busy and finds
// nothing right. Matches of a key come two cycles later, as a vector and as the lowest address. The CAM knows no age,
// no list and no message: tcam_tag_store.sv puts it behind the port of tag_store.
module public_tcam #(
  parameter int unsigned DataWidth   = 64,
  parameter int unsigned AddrWidth   = 5,
  parameter int unsigned WriteCycles = 4
) (
  input  logic                    clk,
  input  logic                    rst,
  input  logic                    write_enable,
  input  logic [AddrWidth-1:0]    write_addr,
  input  logic [DataWidth-1:0]    write_data,
  input  logic [DataWidth-1:0]    write_mask,  // 1: the bit is compared
  output logic                    write_busy,
  input  logic [DataWidth-1:0]    compare_data,
  output logic [2**AddrWidth-1:0] match_many,
  output logic                    match,
  output logic [AddrWidth-1:0]    match_addr
);

  logic [DataWidth-1:0] data [2**AddrWidth], mask [2**AddrWidth], key;
  logic [2**AddrWidth-1:0] hits;
  logic [AddrWidth-1:0] addr;
  logic [DataWidth-1:0] new_data, new_mask;
  logic [$clog2(WriteCycles+1)-1:0] left;

  assign write_busy = left != '0;
  assign match = match_many != '0;
  always_comb begin
    for (int unsigned n = 0; n < 2**AddrWidth; n++) hits[n] = (key & mask[n]) == data[n];
    match_addr = '0;
    for (int unsigned n = 2**AddrWidth; n > 0; n--) if (match_many[n-1]) match_addr = AddrWidth'(n - 1);
  end

  always_ff @(posedge clk) begin
    key <= compare_data;
    match_many <= write_busy ? '1 : hits;
    if (write_enable && !write_busy) begin
      {addr, new_data, new_mask} <= {write_addr, write_data & write_mask, write_mask};
      left <= ($bits(left))'(WriteCycles);
    end else if (write_busy) begin
      left <= left - 1'b1;
    end
    if (32'(left) == 1) begin
      data[addr] <= new_data;
      mask[addr] <= new_mask;
    end
    if (rst) left <= '0;
  end

endmodule : public_tcam
