// SPDX-License-Identifier: Apache-2.0
// What rtl/tag_store.sv promises of a store of tags, S1 to S6, against a plain list of entries. There are searches,
// deletions, and entries that come in any order of their numbers. Ends with a line that says how much was compared, or
// with the first difference and exit status 1. It takes any store: each question is held until it is answered.
module tag_store_tb;

  localparam int Cycles = 20000;
  logic clk = 0, rst_n = 0;
  int searches [5], found [5], youngest [5];

  always #5 clk = !clk;
  initial begin
    #12 rst_n = 1;
    repeat (Cycles) @(posedge clk);
    for (int n = 0; n < 5; n++) begin
      if (searches[n] < Cycles / 20 || found[n] < searches[n] / 8 || youngest[n] < Cycles / 100) begin
        $fatal(1, "store %0d: compared only %0d searches, %0d matches, %0d of the youngest", n, searches[n], found[n],
               youngest[n]);
      end
    end
    $display("tag_store_tb: %0d searches, %0d matches, %0d youngest entries", searches.sum(), found.sum(),
             youngest.sum());
    $finish;
  end

  tag_store_check #(.Store(0)) serial (
    .clk, .rst_n, .searches(searches[0]), .hits(found[0]), .youngest(youngest[0])
  );
  tag_store_check #(.Store(1)) ages (
    .clk, .rst_n, .searches(searches[1]), .hits(found[1]), .youngest(youngest[1])
  );
  tag_store_check #(.Store(0), .Entries(8), .Hashed(1)) serial_hashed (
    .clk, .rst_n, .searches(searches[2]), .hits(found[2]), .youngest(youngest[2])
  );
  tag_store_check #(.Store(1), .Entries(8), .Hashed(1)) ages_hashed (
    .clk, .rst_n, .searches(searches[3]), .hits(found[3]), .youngest(youngest[3])
  );
  tag_store_check #(.Store(1), .Entries(4), .Lists(1)) ages_of_one_list (
    .clk, .rst_n, .searches(searches[4]), .hits(found[4]), .youngest(youngest[4])
  );

endmodule : tag_store_tb

module tag_store_check #(
  parameter int Store = 0, parameter int Entries = 16, parameter int Lists = 3, parameter bit Hashed = 0
) (
  input logic clk, input logic rst_n, output int searches, output int hits, output int youngest
);
  localparam int MaxTags = 40, WildcardsPerCycle = 3;
  localparam int ListBits = Lists > 1 ? $clog2(Lists) : 1, HandleBits = $clog2(MaxTags);
  logic ready, search_valid = 0, search_ready, found, youngest_valid = 0, youngest_ready, youngest_there;
  logic [ListBits-1:0] search_list = 0, youngest_list = 0, clear_list = 0, insert_list = 0;
  logic [63:0] search_tag = 0, search_before = 0;
  tag_match_pkg::entry_t found_entry, youngest_entry, insert_entry = '0;
  logic [31:0] cycles;
  logic clear = 0, insert = 0, answered = 0;
  logic [1:0] deletes = 0;
  logic [2*ListBits-1:0] delete_lists = 0;
  logic [2*HandleBits-1:0] delete_handles = 0;
  logic [Entries-1:0] places;

  tag_store #(
    .Entries(Entries), .Lists(Lists), .MaxTags(MaxTags), .Hashed(Hashed), .WildcardsPerCycle(WildcardsPerCycle),
    .Store(Store)
  ) dut (
    .clk_i(clk), .rst_ni(rst_n), .ready_o(ready),
    .search_valid_i(search_valid), .search_ready_o(search_ready), .search_list_i(search_list),
    .search_tag_i(search_tag), .search_before_i(search_before), .found_o(found), .found_entry_o(found_entry),
    .found_cycles_o(cycles),
    .youngest_valid_i(youngest_valid), .youngest_ready_o(youngest_ready), .youngest_list_i(youngest_list),
    .youngest_o(youngest_there), .youngest_entry_o(youngest_entry),
    .clear_i(clear), .clear_list_i(clear_list), .delete_i(deletes), .delete_lists_i(delete_lists),
    .delete_handles_i(delete_handles), .insert_i(insert), .insert_list_i(insert_list), .insert_entry_i(insert_entry),
    .places_o(places)
  );

  // The entries, in any order, and the lists that they are of
  tag_match_pkg::entry_t entries [$];
  int lists [$];

  task automatic compare();
    int oldest, last, wildcards;
    oldest = -1;
    last = -1;
    wildcards = 0;
    for (int n = 0; n < entries.size(); n++) begin
      if (lists[n] == 32'(search_list) && entries[n].sequence_ < search_before &&
          (search_tag & entries[n].mask) == entries[n].tag &&
          (oldest < 0 || entries[n].sequence_ < entries[oldest].sequence_)) oldest = n;
      if (lists[n] == 32'(youngest_list) && (last < 0 || entries[n].sequence_ > entries[last].sequence_)) last = n;
    end
    for (int n = 0; n < entries.size(); n++) begin
      if (lists[n] == 32'(search_list) && entries[n].mask != '1 &&
          (oldest < 0 || entries[n].sequence_ <= entries[oldest].sequence_)) wildcards++;
    end
    if ($countones(places) != entries.size()) $fatal(1, "tag_store: %0d entries", $countones(places));
    if (ready && search_valid && search_ready) begin
      searches++;
      hits += 32'(found);
      if (found != (oldest >= 0)) $fatal(1, "tag_store %0d: found %0d", Store, found);
      if (found && found_entry != entries[oldest]) $fatal(1, "tag_store %0d: another one than the oldest", Store);
      if (cycles != (Hashed ? (wildcards + WildcardsPerCycle - 1) / WildcardsPerCycle : 0)) begin
        $fatal(1, "tag_store %0d: %0d cycles for %0d wildcards", Store, cycles, wildcards);
      end
    end
    if (ready && youngest_valid && youngest_ready) begin
      youngest++;
      if (youngest_there != (last >= 0)) $fatal(1, "tag_store %0d: youngest", Store);
      if (last >= 0 && youngest_entry != entries[last]) $fatal(1, "tag_store %0d: not the youngest", Store);
    end
  endtask

  // What changed in the cycle that ends
  task automatic follow();
    for (int n = entries.size() - 1; n >= 0; n--) begin
      logic gone;
      gone = clear && lists[n] == 32'(clear_list);
      for (int lane = 0; lane < 2; lane++) begin
        if (deletes[lane] && lists[n] == 32'(delete_lists[lane*ListBits+:ListBits]) &&
            entries[n].handle == 32'(delete_handles[lane*HandleBits+:HandleBits])) gone = 1;
      end
      if (gone) begin
        entries.delete(n);
        lists.delete(n);
      end
    end
    if (insert) begin
      entries.push_back(insert_entry);
      lists.push_back(32'(insert_list));
    end
  endtask

  // What changes in the next cycle
  task automatic change();
    int room, n;
    tag_match_pkg::entry_t entry;
    {clear, deletes, insert} = '0;
    if (!ready) return;
    room = Entries - entries.size();
    if ($urandom_range(40) == 0) begin
      clear = 1;
      clear_list = ListBits'($urandom_range(Lists - 1));
    end
    for (int lane = 0; lane < 2; lane++) begin
      if (entries.size() > lane && $urandom_range(3) == 0) begin
        n = lane == 0 ? 0 : $urandom_range(entries.size() - 1, 1);
        deletes[lane] = 1;
        delete_lists[lane*ListBits+:ListBits] = ListBits'(lists[n]);
        delete_handles[lane*HandleBits+:HandleBits] = entries[n].handle[HandleBits-1:0];
        room++;
      end
    end
    if (room > 0 && $urandom_range(1) == 0) begin
      insert_list = ListBits'($urandom_range(Lists - 1));
      entry.sequence_ = {32'd0, $urandom};
      entry.handle = $urandom_range(MaxTags - 1);
      entry.mask = $urandom_range(2) == 0 ? 64'hffff_ffff_ffff_fffc : '1;
      entry.tag = 64'($urandom_range(7)) & entry.mask;
      entry.buffer = {$urandom, $urandom, $urandom, $urandom};
      insert_entry = entry;
      insert = 1;  // of a list a handle is there once
      for (int m = 0; m < entries.size(); m++) begin
        if (lists[m] == 32'(insert_list) && entries[m].handle == entry.handle) insert = 0;
      end
    end
  endtask

  initial {searches, hits, youngest} = '0;
  always @(posedge clk) if (rst_n) begin
    compare();
    follow();
    answered = search_ready;
  end
  always @(negedge clk) if (rst_n) begin
    // Some questions are held until they are answered, some change before that. Tags have few bits: several match.
    if (!search_valid || answered || $urandom_range(15) == 0) begin
      search_valid = $urandom_range(3) != 0;
      search_list = ListBits'($urandom_range(Lists - 1));
      search_tag = 64'($urandom_range(7));
      search_before = $urandom_range(3) == 0 ? {32'd0, $urandom} : '1;
    end
    youngest_valid = $urandom_range(3) == 0;
    youngest_list = ListBits'($urandom_range(Lists - 1));
    change();
  end
endmodule : tag_store_check
