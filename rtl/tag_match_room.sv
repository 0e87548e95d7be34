// SPDX-License-Identifier: Apache-2.0
// Entries of the CAM of tag_match_cam that are in use, and those that are reserved for what a read brings (R5). A step
// sees what those before it make of them.
module tag_match_room #(
  parameter int unsigned Entries = 1
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic [31:0] used_o,
  output logic [31:0] reserved_o,
  input  logic        forgets_1_i,
  input  logic [31:0] in_cam_1_i,    // of the list that is removed
  output logic        room_3_o,
  input  logic        enters_3_i,
  input  logic [31:0] released_3_i,  // of what was reserved
  output logic        room_4_o,
  input  logic        enters_4_i,
  input  logic        leaves_4_i,
  input  logic        leaves_5_i,
  output logic [31:0] free_6_o,
  input  logic [31:0] reserves_6_i,
  input  logic        leaves_7_i,
  output logic        room_8_o,
  input  logic        enters_8_i,
  input  logic        leaves_8_i
);

  logic [31:0] used_q, used_1, used_3, used_5, used_7, reserved_q, reserved_3, reserved_6;

  assign used_o = used_q;
  assign reserved_o = reserved_q;
  assign used_1 = forgets_1_i ? used_q - in_cam_1_i : used_q;
  assign room_3_o = used_1 + reserved_q != Entries;
  assign used_3 = used_1 + 32'(enters_3_i);
  assign reserved_3 = reserved_q - released_3_i;
  assign room_4_o = used_3 + reserved_3 != Entries;
  assign used_5 = used_3 + 32'(enters_4_i) - 32'(leaves_4_i) - 32'(leaves_5_i);
  assign free_6_o = Entries - used_5 - reserved_3;
  assign reserved_6 = reserved_3 + reserves_6_i;
  assign used_7 = used_5 - 32'(leaves_7_i);
  assign room_8_o = used_7 + reserved_6 != Entries;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      used_q <= '0;
      reserved_q <= '0;
    end else begin
      used_q <= used_7 + 32'(enters_8_i) - 32'(leaves_8_i);
      reserved_q <= reserved_6;
    end
  end

endmodule : tag_match_room
