// SPDX-License-Identifier: Apache-2.0
// The store of tags of tag_match_cam: the entries of its CAM behind a port. A module of your own with this name and
// these ports takes its place (OWN_RTL.md): it may take its time.
//
//   S1  In a cycle without ready_o nothing is asked for, and nothing is changed.
//   S2  While search_valid_i is set, the oldest entry that matches is asked for among those of a list. An entry matches
//       when its number is below search_before_i and (search_tag_i & mask) == tag. It stands at found_entry_o, or
//       found_o is 0, in a cycle with search_ready_o. What is asked for may change before that. The youngest entry of a
//       list is asked for in the same way.
//   S3  An answer is of the entries that are there at the beginning of the cycle in which the answer stands. It sees
//       what was changed in any cycle before, and nothing of its own cycle.
//   S4  clear_i: all entries of a list go. delete_i: for each of two lanes the entry of this list and handle goes.
//   S5  insert_i: an entry comes. There is room for it, if only that of one that goes in the same cycle. The numbers of
//       a list's entries differ; one that came back has a smaller number than entries that are there.
//   S6  found_cycles_o: cycles that the search takes longer than in a parallel CAM. Hashed: a cycle for each
//       WildcardsPerCycle entries of the list with a wildcard that are not younger than what is found.
//
// Store: what it is made of (tag_match_pkg). Both answer in the same cycle: nothing outside tells them apart.
module tag_store #(
  parameter int unsigned Entries           = rxnic_params_pkg::TagMatchCamEntries,
  parameter int unsigned Lists             = rxnic_params_pkg::TagMatchCamLists,
  parameter int unsigned MaxTags           = rxnic_params_pkg::TagMatchCamMaxTags,
  parameter bit          Hashed            = rxnic_params_pkg::TagMatchCamOrganisation ==
                                             rxnic_params_pkg::TagOrganisationHashed,
  parameter int unsigned WildcardsPerCycle = rxnic_params_pkg::TagMatchCamWildcardsPerCycle,
  parameter int unsigned Store             = tag_match_pkg::StoreSerial,
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

  if (Store == tag_match_pkg::StoreAges) begin : gen_ages
    tag_store_age #(
      .Entries(Entries), .Lists(Lists), .MaxTags(MaxTags), .Hashed(Hashed), .WildcardsPerCycle(WildcardsPerCycle)
    ) store (.*);
  end else begin : gen_serial
    tag_store_serial #(
      .Entries(Entries), .Lists(Lists), .MaxTags(MaxTags), .Hashed(Hashed), .WildcardsPerCycle(WildcardsPerCycle)
    ) store (.*);
  end

endmodule : tag_store
