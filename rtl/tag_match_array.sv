// SPDX-License-Identifier: Apache-2.0
// The CAM of tag_match_cam: its entries, and what is compared with all of them at once. What it answers is of the
// entries at the beginning of the cycle; a search finds none of a list that is removed in it, whose number a new list
// may have at once. A change is seen in the next cycle. Of entries in one list the sequence numbers and the handles
// differ.
module tag_match_array #(
  parameter int unsigned Entries           = rxnic_params_pkg::TagMatchCamEntries,
  parameter int unsigned Lists             = rxnic_params_pkg::TagMatchCamLists,
  parameter int unsigned MaxTags           = rxnic_params_pkg::TagMatchCamMaxTags,
  parameter bit          Hashed            =
      rxnic_params_pkg::TagMatchCamOrganisation == rxnic_params_pkg::TagOrganisationHashed,
  parameter int unsigned WildcardsPerCycle = rxnic_params_pkg::TagMatchCamWildcardsPerCycle,
  parameter int unsigned SlotBits          = Entries > 1 ? $clog2(Entries) : 1,
  parameter int unsigned ListBits          = Lists > 1 ? $clog2(Lists) : 1,
  parameter int unsigned HandleBits        = MaxTags > 1 ? $clog2(MaxTags) : 1
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  // All entries of a list go.
  input  logic                   clear_i,
  input  logic [ListBits-1:0]    clear_list_i,
  // The oldest entry of a list, older than `before`, that matches; and the cycles that its search takes longer than in
  // a parallel CAM: of a hashed one, a cycle for WildcardsPerCycle wildcards that are not younger.
  input  logic                   search_i,
  input  logic [ListBits-1:0]    search_list_i,
  input  logic [63:0]            search_tag_i,
  input  logic [63:0]            search_before_i,
  output logic                   match_o,
  output logic [SlotBits-1:0]    match_slot_o,
  output tag_match_pkg::entry_t  match_entry_o,
  output logic [31:0]            match_cycles_o,
  // The youngest entry of a list.
  input  logic                   youngest_i,
  input  logic [ListBits-1:0]    youngest_list_i,
  output logic                   youngest_o,
  output logic [SlotBits-1:0]    youngest_slot_o,
  output tag_match_pkg::entry_t  youngest_entry_o,
  // An entry goes, by its slot; one goes, by its handle.
  input  logic                   leave_i,
  input  logic [SlotBits-1:0]    leave_slot_i,
  input  logic                   remove_i,
  input  logic [ListBits-1:0]    remove_list_i,
  input  logic [HandleBits-1:0]  remove_handle_i,
  // An entry comes: there is room, also when it is that of the one that leaves, or of those that are cleared.
  input  logic                   enter_i,
  input  logic [ListBits-1:0]    enter_list_i,
  input  tag_match_pkg::entry_t  enter_entry_i
);

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

  always_comb begin : search
    logic [31:0] in_round;
    match_o = 1'b0;
    match_slot_o = '0;
    match_cycles_o = '0;
    oldest = search_before_i;
    in_round = '0;
    if (search_i && !(clear_i && clear_list_i == search_list_i)) begin
      for (int unsigned n = 0; n < Entries; n++) begin
        if (valid_q[n] && lists_q[n] == search_list_i && sequences_q[n] < oldest &&
            (search_tag_i & masks_q[n]) == tags_q[n]) begin
          match_o = 1'b1;
          match_slot_o = SlotBits'(n);
          oldest = sequences_q[n];
        end
      end
      if (Hashed) begin
        for (int unsigned n = 0; n < Entries; n++) begin
          if (valid_q[n] && lists_q[n] == search_list_i && masks_q[n] != '1 &&
              (!match_o || sequences_q[n] <= oldest)) begin
            if (in_round == '0) match_cycles_o = match_cycles_o + 32'd1;
            in_round = in_round == WildcardsPerCycle - 32'd1 ? '0 : in_round + 32'd1;
          end
        end
      end
    end
    match_entry_o = {sequences_q[match_slot_o], 32'(handles_q[match_slot_o]), tags_q[match_slot_o],
                     masks_q[match_slot_o], buffers_q[match_slot_o]};
  end

  always_comb begin : find_youngest
    youngest_o = 1'b0;
    youngest_slot_o = '0;
    youngest = '0;
    if (youngest_i) begin
      for (int unsigned n = 0; n < Entries; n++) begin
        if (valid_q[n] && lists_q[n] == youngest_list_i && (!youngest_o || sequences_q[n] > youngest)) begin
          youngest_o = 1'b1;
          youngest_slot_o = SlotBits'(n);
          youngest = sequences_q[n];
        end
      end
    end
    youngest_entry_o = {sequences_q[youngest_slot_o], 32'(handles_q[youngest_slot_o]), tags_q[youngest_slot_o],
                        masks_q[youngest_slot_o], buffers_q[youngest_slot_o]};
  end

  // The slot of an entry that comes: of those that were free, or that of the one that leaves.
  logic [SlotBits-1:0] enter_slot;
  always_comb begin : change
    valid_d = valid_q;
    if (clear_i) begin
      for (int unsigned n = 0; n < Entries; n++) if (lists_q[n] == clear_list_i) valid_d[n] = 1'b0;
    end
    enter_slot = leave_slot_i;
    if (enter_i && !leave_i) begin
      for (int unsigned n = Entries; n > 0; n--) if (!valid_d[n-1]) enter_slot = SlotBits'(n - 1);
    end
    if (leave_i) valid_d[leave_slot_i] = 1'b0;
    if (remove_i) begin
      for (int unsigned n = 0; n < Entries; n++) begin
        if (lists_q[n] == remove_list_i && handles_q[n] == remove_handle_i) valid_d[n] = 1'b0;
      end
    end
    if (enter_i) valid_d[enter_slot] = 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= valid_d;
  end

  always_ff @(posedge clk_i) begin : write
    if (enter_i) begin
      lists_q[enter_slot] <= enter_list_i;
      sequences_q[enter_slot] <= enter_entry_i.sequence_;
      handles_q[enter_slot] <= enter_entry_i.handle[HandleBits-1:0];
      tags_q[enter_slot] <= enter_entry_i.tag;
      masks_q[enter_slot] <= enter_entry_i.mask;
      buffers_q[enter_slot] <= enter_entry_i.buffer;
    end
  end

endmodule : tag_match_array
