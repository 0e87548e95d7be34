// SPDX-License-Identifier: Apache-2.0
// A store of tags that compares all entries side by side, and knows for each two of them which is older. Its path grows
// with the logarithm of Entries, its area with their square. Rules S1 to S6 are stated in tag_store.sv.
module tag_store_age #(
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

  logic [Entries-1:0]    valid_q, kept;
  // verilator coverage_off
  logic [ListBits-1:0]   lists_q [Entries];
  logic [63:0]           sequences_q [Entries];
  logic [HandleBits-1:0] handles_q [Entries];
  logic [63:0]           tags_q [Entries];
  logic [63:0]           masks_q [Entries];
  logic [127:0]          buffers_q [Entries];
  // verilator coverage_on

  logic [Entries-1:0]  matching, of_youngest, older, oldest, youngest;
  // verilator lint_off UNUSEDSIGNAL
  logic [Entries-1:0]  behind_oldest;  // of a hashed store
  // verilator lint_on UNUSEDSIGNAL
  logic [SlotBits-1:0] found_slot, youngest_slot, insert_slot;

  assign ready_o = 1'b1;
  assign search_ready_o = 1'b1;
  assign youngest_ready_o = 1'b1;
  assign places_o = valid_q;

  always_comb begin : compare
    for (int unsigned n = 0; n < Entries; n++) begin
      matching[n] = search_valid_i && valid_q[n] && lists_q[n] == search_list_i && sequences_q[n] < search_before_i &&
                    (search_tag_i & masks_q[n]) == tags_q[n];
      of_youngest[n] = youngest_valid_i && valid_q[n] && lists_q[n] == youngest_list_i;
    end
  end
  always_comb begin : change
    for (int unsigned n = 0; n < Entries; n++) begin
      older[n] = sequences_q[n] < insert_entry_i.sequence_;
      kept[n] = valid_q[n] && !(clear_i && lists_q[n] == clear_list_i);
      for (int unsigned lane = 0; lane < 2; lane++) begin
        if (delete_i[lane] && lists_q[n] == delete_lists_i[lane*ListBits+:ListBits] &&
            handles_q[n] == delete_handles_i[lane*HandleBits+:HandleBits]) kept[n] = 1'b0;
      end
    end
  end

  rxnic_age_matrix #(.Entries(Entries)) ages (
    .clk_i, .rst_ni, .enter_i(insert_i), .enter_at_i(insert_slot), .older_i(older), .from_oldest_i(matching),
    .oldest_o(oldest), .behind_oldest_o(behind_oldest), .from_youngest_i(of_youngest), .youngest_o(youngest)
  );
  rxnic_encoder #(.Bits(Entries)) found (.of_i(oldest), .index_o(found_slot));
  rxnic_encoder #(.Bits(Entries)) found_youngest (.of_i(youngest), .index_o(youngest_slot));
  // verilator lint_off PINCONNECTEMPTY
  rxnic_first_one #(.Bits(Entries)) free (.of_i(~kept), .valid_o(), .index_o(insert_slot));
  // verilator lint_on PINCONNECTEMPTY

  assign found_o = |matching;
  assign youngest_o = |of_youngest;
  assign found_entry_o = {sequences_q[found_slot], 32'(handles_q[found_slot]), tags_q[found_slot],
                          masks_q[found_slot], buffers_q[found_slot]};
  assign youngest_entry_o = {sequences_q[youngest_slot], 32'(handles_q[youngest_slot]), tags_q[youngest_slot],
                             masks_q[youngest_slot], buffers_q[youngest_slot]};

  if (Hashed) begin : gen_hashed
    logic [31:0] wildcards;
    always_comb begin : count
      wildcards = '0;
      for (int unsigned n = 0; n < Entries; n++) begin
        if (search_valid_i && valid_q[n] && lists_q[n] == search_list_i && masks_q[n] != '1 && !behind_oldest[n]) begin
          wildcards = wildcards + 32'd1;
        end
      end
      found_cycles_o = '0;
      for (int unsigned n = 0; n * WildcardsPerCycle < Entries; n++) begin
        if (wildcards > n * WildcardsPerCycle) found_cycles_o = n + 1;
      end
    end
  end else begin : gen_parallel
    assign found_cycles_o = '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= insert_i ? kept | (Entries'(1) << insert_slot) : kept;
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

endmodule : tag_store_age
