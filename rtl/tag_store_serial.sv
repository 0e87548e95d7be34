// SPDX-License-Identifier: Apache-2.0
// A store of tags that looks at its entries one after another: the shortest text that says what a store does, and the
// longest path. Rules S1 to S6 are stated in tag_store.sv.
module tag_store_serial #(
  parameter int unsigned Entries           = rxnic_params_pkg::TagMatchCamEntries,
  parameter int unsigned Lists             = rxnic_params_pkg::TagMatchCamLists,
  parameter int unsigned MaxTags           = rxnic_params_pkg::TagMatchCamMaxTags,
  parameter bit          Hashed            = rxnic_params_pkg::TagMatchCamOrganisation ==
                                             rxnic_params_pkg::TagOrganisationHashed,
  parameter int unsigned WildcardsPerCycle = rxnic_params_pkg::TagMatchCamWildcardsPerCycle,
  parameter int unsigned ListBits          = Lists > 1 ? $clog2(Lists) : 1,
  parameter int unsigned HandleBits        = MaxTags > 1 ? $clog2(MaxTags) : 1
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  output logic                     ready_o,
  // The oldest entry that matches
  input  logic                     search_valid_i,
  output logic                     search_ready_o,
  input  logic [ListBits-1:0]      search_list_i,
  input  logic [63:0]              search_tag_i,
  input  logic [63:0]              search_before_i,
  output logic                     found_o,
  output tag_match_pkg::entry_t    found_entry_o,
  output logic [31:0]              found_cycles_o,
  // The youngest entry of a list
  input  logic                     youngest_valid_i,
  output logic                     youngest_ready_o,
  input  logic [ListBits-1:0]      youngest_list_i,
  output logic                     youngest_o,
  output tag_match_pkg::entry_t    youngest_entry_o,
  // What changes
  input  logic                     clear_i,
  input  logic [ListBits-1:0]      clear_list_i,
  input  logic [1:0]               delete_i,
  input  logic [2*ListBits-1:0]    delete_lists_i,
  input  logic [2*HandleBits-1:0]  delete_handles_i,
  input  logic                     insert_i,
  input  logic [ListBits-1:0]      insert_list_i,
  input  tag_match_pkg::entry_t    insert_entry_i,
  output logic [Entries-1:0]       places_o  // that hold an entry: for an observer
);

  localparam int unsigned SlotBits = Entries > 1 ? $clog2(Entries) : 1;

  logic [Entries-1:0]    valid_q, valid_d;
  // verilator coverage_off
  logic [ListBits-1:0]   lists_q [Entries];
  logic [63:0]           sequences_q [Entries];
  logic [HandleBits-1:0] handles_q [Entries];
  logic [63:0]           tags_q [Entries];
  logic [63:0]           masks_q [Entries];
  logic [127:0]          buffers_q [Entries];
  // verilator coverage_on

  logic [63:0] oldest, youngest;
  logic [SlotBits-1:0] found_slot, youngest_slot, insert_slot;

  assign ready_o = 1'b1;
  assign search_ready_o = 1'b1;
  assign youngest_ready_o = 1'b1;
  assign places_o = valid_q;

  always_comb begin : search
    logic [31:0] in_round;
    found_o = 1'b0;
    found_slot = '0;
    found_cycles_o = '0;
    oldest = search_before_i;
    in_round = '0;
    if (search_valid_i) begin
      for (int unsigned n = 0; n < Entries; n++) begin
        if (valid_q[n] && lists_q[n] == search_list_i && sequences_q[n] < oldest &&
            (search_tag_i & masks_q[n]) == tags_q[n]) begin
          found_o = 1'b1;
          found_slot = SlotBits'(n);
          oldest = sequences_q[n];
        end
      end
      if (Hashed) begin
        for (int unsigned n = 0; n < Entries; n++) begin
          if (valid_q[n] && lists_q[n] == search_list_i && masks_q[n] != '1 &&
              (!found_o || sequences_q[n] <= oldest)) begin
            if (in_round == '0) found_cycles_o = found_cycles_o + 32'd1;
            in_round = in_round == WildcardsPerCycle - 32'd1 ? '0 : in_round + 32'd1;
          end
        end
      end
    end
    found_entry_o = {sequences_q[found_slot], 32'(handles_q[found_slot]), tags_q[found_slot], masks_q[found_slot],
                     buffers_q[found_slot]};
  end

  always_comb begin : find_youngest
    youngest_o = 1'b0;
    youngest_slot = '0;
    youngest = '0;
    if (youngest_valid_i) begin
      for (int unsigned n = 0; n < Entries; n++) begin
        if (valid_q[n] && lists_q[n] == youngest_list_i && (!youngest_o || sequences_q[n] > youngest)) begin
          youngest_o = 1'b1;
          youngest_slot = SlotBits'(n);
          youngest = sequences_q[n];
        end
      end
    end
    youngest_entry_o = {sequences_q[youngest_slot], 32'(handles_q[youngest_slot]), tags_q[youngest_slot],
                        masks_q[youngest_slot], buffers_q[youngest_slot]};
  end

  always_comb begin : change
    valid_d = valid_q;
    for (int unsigned n = 0; n < Entries; n++) begin
      if (clear_i && lists_q[n] == clear_list_i) valid_d[n] = 1'b0;
      for (int unsigned lane = 0; lane < 2; lane++) begin
        if (delete_i[lane] && lists_q[n] == delete_lists_i[lane*ListBits+:ListBits] &&
            handles_q[n] == delete_handles_i[lane*HandleBits+:HandleBits]) valid_d[n] = 1'b0;
      end
    end
    insert_slot = '0;
    for (int unsigned n = Entries; n > 0; n--) if (!valid_d[n-1]) insert_slot = SlotBits'(n - 1);
    if (insert_i) valid_d[insert_slot] = 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= valid_d;
  end

  always_ff @(posedge clk_i) begin : write
    if (insert_i) begin
      lists_q[insert_slot] <= insert_list_i;
      sequences_q[insert_slot] <= insert_entry_i.sequence_;
      handles_q[insert_slot] <= insert_entry_i.handle[HandleBits-1:0];
      tags_q[insert_slot] <= insert_entry_i.tag;
      masks_q[insert_slot] <= insert_entry_i.mask;
      buffers_q[insert_slot] <= insert_entry_i.buffer;
    end
  end

endmodule : tag_store_serial
