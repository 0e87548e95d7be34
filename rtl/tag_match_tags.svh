// SPDX-License-Identifier: Apache-2.0
// Tags of tag_match_cam: what goes into the CAM and out of it, what may come back, and where each tag is.

// An entry goes into the CAM, for the list at hand; it is there with the next cycle.
task automatic enter_cam(input logic [tag_match_pkg::EntryBits-1:0] entry,
                         input logic [HandleBits-1:0] handle);
  enters = 1'b1;
  enter_list = at;
  enter_entry = entry;
  count_in_cam(32'd1);
  place_tag(handle, tag_match_pkg::PlaceCam);
endtask

// The one of a handle goes, of the list at hand.
task automatic leave_cam(input logic [HandleBits-1:0] handle, input logic [1:0] place);
  leaves = 1'b1;
  leave_list = at;
  leave_handle = handle;
  count_in_cam(-32'd1);
  place_tag(handle, place);
endtask

task automatic count_in_cam(input logic [31:0] more);
  cam_used_d = cam_used_d + more;
  l.in_cam = l.in_cam + more;
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
