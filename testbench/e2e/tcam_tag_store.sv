// SPDX-License-Identifier: Apache-2.0
// A public CAM as the store of tag_match_cam (rtl/tag_store.sv, S1 to S6; rtl/OWN_RTL.md). What it lacks stands around
// it: which addresses hold an entry, where a handle is, numbers and ages. Entries: a power of two.
module tag_store #(
  parameter int unsigned Entries           = rxnic_params_pkg::TagMatchCamEntries,
  parameter int unsigned Lists             = rxnic_params_pkg::TagMatchCamLists,
  parameter int unsigned MaxTags           = rxnic_params_pkg::TagMatchCamMaxTags,
  parameter bit          Hashed            = rxnic_params_pkg::TagMatchCamOrganisation ==
                                             rxnic_params_pkg::TagOrganisationHashed,
  parameter int unsigned WildcardsPerCycle = rxnic_params_pkg::TagMatchCamWildcardsPerCycle,
  parameter int unsigned Store             = 0,
  parameter int unsigned ListBits          = Lists > 1 ? $clog2(Lists) : 1,
  parameter int unsigned HandleBits        = MaxTags > 1 ? $clog2(MaxTags) : 1
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  output logic                     ready_o,
  input  logic                     search_valid_i,
  output logic                     search_ready_o,
  input  logic [ListBits-1:0]      search_list_i,
  input  logic [63:0]              search_tag_i,
  input  logic [63:0]              search_before_i,
  output logic                     found_o,
  output tag_match_pkg::entry_t    found_entry_o,
  output logic [31:0]              found_cycles_o,
  input  logic                     youngest_valid_i,
  output logic                     youngest_ready_o,
  input  logic [ListBits-1:0]      youngest_list_i,
  output logic                     youngest_o,
  output tag_match_pkg::entry_t    youngest_entry_o,
  input  logic                     clear_i,
  input  logic [ListBits-1:0]      clear_list_i,
  input  logic [1:0]               delete_i,
  input  logic [2*ListBits-1:0]    delete_lists_i,
  input  logic [2*HandleBits-1:0]  delete_handles_i,
  input  logic                     insert_i,
  input  logic [ListBits-1:0]      insert_list_i,
  input  tag_match_pkg::entry_t    insert_entry_i,
  output logic [Entries-1:0]       places_o
);

  localparam int unsigned AddressBits = $clog2(Entries), KeyBits = ListBits + 64;

  tag_match_pkg::entry_t  entries_q [Entries];
  logic [63:0]            numbers_q [Entries];
  logic [ListBits-1:0]    lists_q [Entries];
  logic [AddressBits-1:0] addresses_q [Lists*MaxTags];  // by list and handle
  logic [Entries-1:0]     valid_q, kept, hits, candidates, of_list, older, oldest, youngest;
  logic [AddressBits-1:0] at, found_at, youngest_at;
  logic [KeyBits-1:0]     key, key_q;
  logic [1:0]             waited_q;  // cycles for which the key and the entries have been the same
  logic                   busy;

  public_tcam #(.DataWidth(KeyBits), .AddrWidth(AddressBits)) cam (
    .clk(clk_i), .rst(!rst_ni), .write_enable(insert_i), .write_addr(at),
    .write_data({insert_list_i, insert_entry_i.tag}), .write_mask({{ListBits{1'b1}}, insert_entry_i.mask}),
    .write_busy(busy), .compare_data(key), .match_many(hits), .match(), .match_addr()
  );
  rxnic_age_matrix #(.Entries(Entries)) ages (
    .clk_i, .rst_ni, .enter_i(insert_i), .enter_at_i(at), .older_i(older), .from_oldest_i(candidates),
    .oldest_o(oldest), .behind_oldest_o(), .from_youngest_i(of_list), .youngest_o(youngest)
  );
  rxnic_encoder #(.Bits(Entries)) found (.of_i(oldest), .index_o(found_at));
  rxnic_encoder #(.Bits(Entries)) found_youngest (.of_i(youngest), .index_o(youngest_at));
  rxnic_first_one #(.Bits(Entries)) free (.of_i(~kept), .valid_o(), .index_o(at));

  assign ready_o = !busy;                                      // S1
  assign key = {search_list_i, search_tag_i};
  assign search_ready_o = waited_q == 2'd2 && key == key_q;    // S2
  assign {found_o, found_entry_o, found_cycles_o} = {|candidates, entries_q[found_at], 32'd0};
  assign youngest_ready_o = 1'b1;
  assign {youngest_o, youngest_entry_o} = {|of_list, entries_q[youngest_at]};
  assign places_o = valid_q;

  always_comb begin : answer                                   // S3
    for (int unsigned n = 0; n < Entries; n++) begin
      candidates[n] = hits[n] && valid_q[n] && numbers_q[n] < search_before_i;
      of_list[n] = valid_q[n] && lists_q[n] == youngest_list_i;
    end
  end
  always_comb begin : change                                   // S4, S5
    kept = valid_q;
    for (int unsigned n = 0; n < Entries; n++) begin
      older[n] = numbers_q[n] < insert_entry_i.sequence_;
      if (clear_i && lists_q[n] == clear_list_i) kept[n] = 1'b0;
    end
    for (int unsigned lane = 0; lane < 2; lane++) begin
      if (delete_i[lane]) kept[addresses_q[32'(delete_lists_i[lane*ListBits+:ListBits]) * MaxTags +
                                           32'(delete_handles_i[lane*HandleBits+:HandleBits])]] = 1'b0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      waited_q <= '0;
    end else begin
      valid_q <= insert_i ? kept | (Entries'(1) << at) : kept;
      if (!search_valid_i || insert_i || busy || key != key_q) waited_q <= '0;
      else if (waited_q != 2'd2) waited_q <= waited_q + 2'd1;
    end
  end
  always_ff @(posedge clk_i) begin
    key_q <= key;
    if (insert_i) begin
      {entries_q[at], numbers_q[at], lists_q[at]} <= {insert_entry_i, insert_entry_i.sequence_, insert_list_i};
      addresses_q[32'(insert_list_i) * MaxTags + 32'(insert_entry_i.handle)] <= at;
    end
  end

endmodule : tag_store
