// SPDX-License-Identifier: Apache-2.0
// The CAM of tag_match_cam: what is compared with all entries at once, what goes in and out, what may come back.

// The oldest entry of the list at hand that matches; and how many rounds of wildcards a hashed CAM has compared before.
task automatic find_match(input logic [63:0] tag);
  logic [31:0] in_round;
  match_found = 1'b0;
  match_slot = '0;
  match_entry = '0;
  match_rounds = '0;
  get_held_from();
  for (int unsigned n = 0; n < Entries; n++) begin
    compared = entries_q[n];
    if (valid_d[n] && entry_lists_q[n] == at && compared.sequence_ < held_from &&
        (tag & compared.mask) == compared.tag &&
        (!match_found || compared.sequence_ < match_entry.sequence_)) begin
      match_found = 1'b1;
      match_slot = SlotBits'(n);
      match_entry = compared;
    end
  end
  in_round = '0;
  if (Organisation == rxnic_params_pkg::TagOrganisationHashed) begin
    for (int unsigned n = 0; n < Entries; n++) begin
      compared = entries_q[n];
      if (valid_d[n] && entry_lists_q[n] == at && compared.mask != '1 &&
          (!match_found || compared.sequence_ <= match_entry.sequence_)) begin
        if (in_round == '0) match_rounds = match_rounds + 32'd1;
        in_round = in_round == WildcardsPerCycle - 32'd1 ? '0 : in_round + 32'd1;
      end
    end
  end
endtask

task automatic find_handle(input logic [31:0] handle);
  match_slot = '0;
  for (int unsigned n = 0; n < Entries; n++) begin
    compared = entries_q[n];
    if (valid_d[n] && entry_lists_q[n] == at && compared.handle == handle) match_slot = SlotBits'(n);
  end
endtask

task automatic find_youngest();
  match_found = 1'b0;
  match_slot = '0;
  match_entry = '0;
  for (int unsigned n = 0; n < Entries; n++) begin
    compared = entries_q[n];
    if (valid_d[n] && entry_lists_q[n] == at &&
        (!match_found || compared.sequence_ > match_entry.sequence_)) begin
      match_found = 1'b1;
      match_slot = SlotBits'(n);
      match_entry = compared;
    end
  end
endtask

// An entry goes into the CAM, for the list at hand; it is there with the next cycle.
task automatic enter_cam(input logic [tag_match_pkg::EntryBits-1:0] entry,
                         input logic [HandleBits-1:0] handle);
  cam_write = 1'b1;
  for (int unsigned n = Entries; n > 0; n--) if (!valid_d[n-1]) cam_write_slot = SlotBits'(n - 1);
  cam_write_list = at;
  cam_write_entry = entry;
  valid_d[cam_write_slot] = 1'b1;
  cam_used_d = cam_used_d + 32'd1;
  l.in_cam = l.in_cam + 32'd1;
  place_tag(handle, tag_match_pkg::PlaceCam);
endtask

task automatic leave_cam(input logic [SlotBits-1:0] slot, input logic [HandleBits-1:0] handle,
                         input logic [1:0] place);
  valid_d[slot] = 1'b0;
  cam_used_d = cam_used_d - 32'd1;
  l.in_cam = l.in_cam - 32'd1;
  place_tag(handle, place);
endtask

// A match, until the WQE fetcher cannot give it back any more.
task automatic remember(input logic [tag_match_pkg::EntryBits-1:0] entry);
  undo_write = 1'b1;
  undo_write_list = at;
  undo_write_entry = entry;
endtask

task automatic find_remembered(input logic [31:0] handle);
  logic [ReturnBits-1:0] n;
  remembered = '0;
  n = undo_next_q;
  for (int unsigned k = 0; k < MostReturns; k++) begin  // the youngest last
    compared = undo_q[n];
    if (undo_lists_q[n] == at && compared.handle == handle) remembered = compared;
    n = n == ReturnBits'(MostReturns - 1) ? '0 : n + ReturnBits'(1);
  end
  compared = undo_write_entry;
  if (undo_write && undo_write_list == at && compared.handle == handle) remembered = compared;
endtask

// Where a tag of the list at hand is, by its handle: written at the end of the cycle, known at once.
task automatic place_tag(input logic [HandleBits-1:0] handle, input logic [1:0] place);
  for (int unsigned n = 0; n < PlaceWrites; n++) begin
    if (3'(n) == place_writes) begin
      place_lists[n*ListBits+:ListBits] = at;
      place_handles[n*HandleBits+:HandleBits] = handle;
      place_values[n*2+:2] = place;
    end
  end
  place_writes = place_writes + 3'd1;
endtask

task automatic find_place(input logic [31:0] handle);
  row = places_q[at];
  place_found = row[{handle[HandleBits-1:0], 1'b0}+:2];
  if (clear_places && clear_list == at) place_found = tag_match_pkg::PlaceFree;
  for (int unsigned n = 0; n < PlaceWrites; n++) begin
    if (3'(n) < place_writes && place_lists[n*ListBits+:ListBits] == at &&
        place_handles[n*HandleBits+:HandleBits] == handle[HandleBits-1:0]) begin
      place_found = place_values[n*2+:2];
    end
  end
  if (handle >= MaxTags) place_found = tag_match_pkg::PlaceFree;
endtask
