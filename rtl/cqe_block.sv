// SPDX-License-Identifier: Apache-2.0
// Completions as they are written: a plain CQE, or a title and slots of mini CQEs (model/core/completion/cqe_format.h,
// R3, R4). One or two requests write them. No state in here.
module cqe_block #(
  parameter int unsigned MaxHeld  = 2,
  parameter int unsigned Slots    = 1,  // of the longest block
  parameter int unsigned CqeBytes = 64
) (
  input  logic [511:0]               title_i,
  input  logic [MaxHeld*64-1:0]      minis_i,
  input  logic [6:0]                 held_i,      // completions
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::stored_cq_t record_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic [Slots*512-1:0]       block_o,
  output logic [3:0]                 slots_o,
  output logic                       wraps_o,     // a part is at the ring's start: it is written first
  output logic [3:0]                 run_o,       // slots before the ring's end
  output logic [63:0]                address_o,
  output logic [31:0]                bytes_o,
  output logic [31:0]                bytes_at_start_o
);

  localparam int unsigned MinisPerSlot = 7;
  localparam logic [7:0] FormatTitle = 8'd1;
  localparam logic [7:0] FormatMini = 8'd2;

  logic [511:0] slot;
  logic [31:0] number, index, left;

  always_comb begin : lay_out
    slots_o = 4'd1;
    for (int unsigned n = 1; n < Slots; n++) begin
      if (32'(held_i) > (n - 1) * MinisPerSlot && held_i > 7'd1) slots_o = 4'(n + 1);
    end
    block_o = '0;
    number = record_i.producer;
    for (int unsigned n = 0; n < Slots; n++) begin
      slot = '0;
      if (n == 0) begin
        slot = title_i;
        if (held_i > 7'd1) begin
          slot[62*8+:8] = FormatTitle;
          slot[34*8+:16] = 16'(held_i);
        end
      end else begin
        for (int unsigned m = 0; m < MinisPerSlot; m++) begin
          if ((n - 1) * MinisPerSlot + m < MaxHeld && 32'(held_i) > (n - 1) * MinisPerSlot + m) begin
            slot[m*64+:64] = minis_i[((n - 1) * MinisPerSlot + m)*64+:64];
          end
        end
        slot[62*8+:8] = FormatMini;
      end
      slot[63*8+:8] = {7'd0, (number & record_i.slots) != '0};
      block_o[n*512+:512] = slot;
      number = number + 32'd1;
    end
  end

  always_comb begin : place
    index = record_i.producer & (record_i.slots - 32'd1);
    left = record_i.slots - index;
    wraps_o = left < 32'(slots_o);
    run_o = wraps_o ? left[3:0] : slots_o;
    address_o = record_i.base + 64'(index) * 64'(CqeBytes);
    bytes_o = 32'(run_o) * 32'(CqeBytes);
    bytes_at_start_o = (32'(slots_o) - 32'(run_o)) * 32'(CqeBytes);
  end

endmodule : cqe_block
