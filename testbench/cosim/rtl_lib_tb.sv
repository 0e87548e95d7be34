// SPDX-License-Identifier: Apache-2.0
// What rtl/lib promises, rule by rule, against random words, requests and back-pressure. Ends with a line for each
// module that says how much was compared, or with the first difference and exit status 1.
module rtl_lib_tb;

  localparam int Cycles = 20000;
  localparam int Checks = 10;
  logic clk = 0, rst_n = 0;
  int compared [Checks];

  always #5 clk = !clk;
  initial begin
    #12 rst_n = 1;
    repeat (Cycles) @(posedge clk);
    for (int n = 0; n < Checks; n++) begin
      if (compared[n] < Cycles / 4) $fatal(1, "check %0d: compared only %0d times", n, compared[n]);
    end
    $display("rtl_lib_tb: %0d cycles; %0d words of FIFOs, %0d choices, %0d ages, %0d words of skid buffers", Cycles,
             compared[0] + compared[1] + compared[2], compared[3] + compared[4] + compared[5],
             compared[6] + compared[7] + compared[8], compared[9]);
    $finish;
  end

  fifo_check #(.Depth(1)) fifo_0 (.clk, .rst_n, .compared(compared[0]));
  fifo_check #(.Depth(6), .Pushes(3), .Pops(2)) fifo_1 (.clk, .rst_n, .compared(compared[1]));
  fifo_check #(.Depth(8), .Pushes(1), .Pops(4)) fifo_2 (.clk, .rst_n, .compared(compared[2]));
  arbiter_check #(.Requests(2)) arbiter_3 (.clk, .rst_n, .compared(compared[3]));
  arbiter_check #(.Requests(5)) arbiter_4 (.clk, .rst_n, .compared(compared[4]));
  first_one_check #(.Bits(37)) first_one_5 (.clk, .compared(compared[5]));
  lru_set_check #(.Ways(1)) lru_set_6 (.clk, .rst_n, .compared(compared[6]));
  lru_set_check #(.Ways(8)) lru_set_7 (.clk, .rst_n, .compared(compared[7]));
  age_matrix_check #(.Entries(11)) age_matrix_8 (.clk, .rst_n, .compared(compared[8]));
  skid_buffer_check skid_buffer_9 (.clk, .rst_n, .compared(compared[9]));

endmodule : rtl_lib_tb

// R1 to R3 of rxnic_fifo: a queue of the simulator has the same words.
module fifo_check #(
  parameter int Depth = 1, parameter int Pushes = 1, parameter int Pops = 1
) (
  input logic clk, input logic rst_n, output int compared
);
  localparam int Bits = 17;
  logic [$clog2(Pushes+1)-1:0] push = 0;
  logic [$clog2(Pops+1)-1:0]   pop = 0;
  logic [$clog2(Depth+1)-1:0]  count;
  logic [Pushes*Bits-1:0] words = 0;
  logic [Pops*Bits-1:0]   shown;
  logic [Bits-1:0] expected [$];

  rxnic_fifo #(.Bits(Bits), .Depth(Depth), .Pushes(Pushes), .Pops(Pops)) dut (
    .clk_i(clk), .rst_ni(rst_n), .push_i(push), .words_i(words), .pop_i(pop), .count_o(count), .words_o(shown)
  );

  initial compared = 0;
  always @(negedge clk) begin : drive
    int most, comes, goes;
    if (rst_n) begin
      if (32'(count) != expected.size()) $fatal(1, "rxnic_fifo: %0d words; expected %0d", count, expected.size());
      for (int n = 0; n < Pops && n < expected.size(); n++) begin
        compared++;
        if (shown[n*Bits+:Bits] != expected[n]) $fatal(1, "rxnic_fifo: lane %0d of %0d", n, Depth);
      end
      // Phases in which it fills and empties
      goes = $urandom_range(Pops);
      if ($urandom_range(7) < 3) goes = 0;
      comes = $urandom_range(Pushes);
      // R3: what comes may go at once, and a place that becomes free is taken.
      if (goes > expected.size() + comes) goes = expected.size() + comes;
      most = Depth + goes - expected.size();
      if (comes > most) comes = most;
      if (goes > expected.size() + comes) goes = expected.size() + comes;
      push = ($bits(push))'(comes);
      pop = ($bits(pop))'(goes);
      for (int n = 0; n < Pushes; n++) words[n*Bits+:Bits] = Bits'($urandom);
      for (int n = 0; n < comes; n++) expected.push_back(words[n*Bits+:Bits]);
      for (int n = 0; n < goes; n++) void'(expected.pop_front());
    end
  end
endmodule : fifo_check

// R1 and R2 of rxnic_arbiter: whoever asks is the first that does, from the one behind the last that was taken.
module arbiter_check #(
  parameter int Requests = 2
) (
  input logic clk, input logic rst_n, output int compared
);
  logic [Requests-1:0] requests = 0;
  logic take = 0, valid;
  logic [$clog2(Requests)-1:0] index, earlier;
  int next = 0, expected;

  rxnic_arbiter #(.Requests(Requests)) dut (
    .clk_i(clk), .rst_ni(rst_n), .requests_i(requests), .take_i(take), .valid_o(valid), .index_o(index)
  );

  initial compared = 0;
  always @(negedge clk) if (rst_n) begin
    requests = Requests'($urandom);
    take = 0;
    #1;
    expected = -1;
    for (int n = Requests - 1; n >= 0; n--) if (requests[(next + n) % Requests]) expected = (next + n) % Requests;
    if (valid != (expected >= 0)) $fatal(1, "rxnic_arbiter: valid");
    if (valid && 32'(index) != expected) $fatal(1, "rxnic_arbiter: %0d; expected %0d", index, expected);
    compared += 32'(valid);
    earlier = index;
    take = valid && $urandom_range(2) != 0;
    #1;
    if (index != earlier) $fatal(1, "rxnic_arbiter: the choice depends on whether it is taken");
    if (take) next = (expected + 1) % Requests;
  end
endmodule : arbiter_check

module first_one_check #(
  parameter int Bits = 2
) (
  input logic clk, output int compared
);
  logic [Bits-1:0] bits = 0;
  logic valid;
  logic [$clog2(Bits)-1:0] index, encoded;
  int expected;

  rxnic_first_one #(.Bits(Bits)) dut (.of_i(bits), .valid_o(valid), .index_o(index));
  rxnic_encoder #(.Bits(Bits)) encoder (.of_i(Bits'(valid) << index), .index_o(encoded));

  initial compared = 0;
  always @(negedge clk) begin
    bits = Bits'({$urandom, $urandom}) << $urandom_range(Bits);
    #1;
    expected = 0;
    for (int n = Bits - 1; n >= 0; n--) if (bits[n]) expected = n;
    if (valid != (bits != 0) || 32'(index) != expected) $fatal(1, "rxnic_first_one: %0d of %b", index, bits);
    if (encoded != index) $fatal(1, "rxnic_encoder: %0d; expected %0d", encoded, index);
    compared++;
  end
endmodule : first_one_check

// The ages of a set are those of a list of its ways in the order of their use.
module lru_set_check #(
  parameter int Ways = 2
) (
  input logic clk, input logic rst_n, output int compared
);
  localparam int AgeBits = Ways > 1 ? $clog2(Ways) : 1;
  logic [Ways*AgeBits-1:0] ages, behind;
  logic [Ways-1:0] among;
  logic [AgeBits-1:0] used, oldest;
  logic valid;
  int order [Ways];  // the one that was used last is the first
  int expected, at;

  rxnic_lru_set #(.Ways(Ways)) dut (
    .ages_i(ages), .among_i(among), .valid_o(valid), .oldest_o(oldest), .used_i(used), .ages_o(behind)
  );

  initial begin
    compared = 0;
    for (int n = 0; n < Ways; n++) begin
      ages[n*AgeBits+:AgeBits] = AgeBits'(n);
      order[n] = n;
    end
  end
  always @(negedge clk) if (rst_n) begin
    among = Ways'($urandom);
    used = AgeBits'($urandom_range(Ways - 1));
    #1;
    expected = -1;
    for (int n = 0; n < Ways; n++) if (among[order[n]]) expected = order[n];
    if (valid != (among != 0)) $fatal(1, "rxnic_lru_set: valid");
    if (valid && 32'(oldest) != expected) $fatal(1, "rxnic_lru_set: %0d; expected %0d", oldest, expected);
    at = 0;
    while (order[at] != 32'(used)) at++;
    for (int n = at; n > 0; n--) order[n] = order[n-1];
    order[0] = 32'(used);
    for (int n = 0; n < Ways; n++) begin
      if (32'(behind[order[n]*AgeBits+:AgeBits]) != n) $fatal(1, "rxnic_lru_set: age of way %0d", order[n]);
      compared++;
    end
    ages = behind;
  end
endmodule : lru_set_check

// R1 and R2 of rxnic_age_matrix: entries have numbers, of which a smaller one is older; they come in any order.
module age_matrix_check #(
  parameter int Entries = 2
) (
  input logic clk, input logic rst_n, output int compared
);
  logic enter = 0;
  logic [$clog2(Entries)-1:0] at = 0;
  logic [Entries-1:0] older = 0, of_oldest = 0, of_youngest = 0, oldest, youngest, behind, there = 0;
  int unsigned numbers [Entries];

  rxnic_age_matrix #(.Entries(Entries)) dut (
    .clk_i(clk), .rst_ni(rst_n), .enter_i(enter), .enter_at_i(at), .older_i(older), .from_oldest_i(of_oldest),
    .oldest_o(oldest), .behind_oldest_o(behind), .from_youngest_i(of_youngest), .youngest_o(youngest)
  );

  function automatic logic [Entries-1:0] extreme(input logic [Entries-1:0] of, input logic youngest_one);
    int found;
    found = -1;
    for (int n = 0; n < Entries; n++) begin
      if (of[n] && (found < 0 || (numbers[n] > numbers[found]) == youngest_one)) found = n;
    end
    extreme = '0;
    if (found >= 0) extreme[found] = 1'b1;
  endfunction

  initial compared = 0;
  always @(negedge clk) if (rst_n) begin
    of_oldest = there & Entries'($urandom);
    of_youngest = there & Entries'($urandom);
    enter = 0;
    #1;
    if (oldest != extreme(of_oldest, 1'b0)) $fatal(1, "rxnic_age_matrix: %b is the oldest of %b", oldest, of_oldest);
    if (youngest != extreme(of_youngest, 1'b1)) $fatal(1, "rxnic_age_matrix: %b of %b", youngest, of_youngest);
    for (int n = 0; n < Entries; n++) for (int m = 0; m < Entries; m++) begin
      if (oldest[m] && there[n] && behind[n] != (numbers[n] > numbers[m])) $fatal(1, "rxnic_age_matrix: behind %0d", m);
    end
    compared += 32'(oldest != 0);
    there = there & Entries'($urandom | $urandom | $urandom);
    at = ($clog2(Entries))'($urandom_range(Entries - 1));
    enter = !there[at];
    if (enter) begin
      numbers[at] = $urandom;
      for (int n = 0; n < Entries; n++) older[n] = there[n] ? numbers[n] < numbers[at] : 1'($urandom);
      there[at] = 1'b1;
    end
  end
endmodule : age_matrix_check

// R1 to R3 of rxnic_skid_buffer, between an end that offers a word only to one that is ready, and one that is ready
// only for a word that is there: without it neither would begin.
module skid_buffer_check (
  input logic clk, input logic rst_n, output int compared
);
  localparam int Bits = 13;
  logic offers = 0, wants = 0, valid_in, ready_in, valid_out, ready_out, earlier;
  logic [Bits-1:0] word = 0, word_out;
  logic [Bits-1:0] expected [$];

  assign valid_in = offers && ready_in;
  assign ready_out = wants && valid_out;
  rxnic_skid_buffer #(.Bits(Bits)) dut (
    .clk_i(clk), .rst_ni(rst_n), .valid_i(valid_in), .ready_o(ready_in), .word_i(word), .valid_o(valid_out),
    .ready_i(ready_out), .word_o(word_out)
  );

  initial compared = 0;
  always @(negedge clk) if (rst_n) begin
    earlier = ready_in;
    offers = $urandom_range(3) != 0;
    wants = $urandom_range(3) != 0;
    word = Bits'($urandom);
    #1;
    if (ready_in != earlier) $fatal(1, "rxnic_skid_buffer: ready depends on more than registers");
    if (valid_in) expected.push_back(word);
    if (wants && offers && !valid_out) $fatal(1, "rxnic_skid_buffer: a cycle without a word");
    if (valid_out && ready_out) begin
      if (word_out != expected[0]) $fatal(1, "rxnic_skid_buffer: another word");
      void'(expected.pop_front());
      compared++;
    end
    if (expected.size() > 1) $fatal(1, "rxnic_skid_buffer: keeps %0d words", expected.size());
  end
endmodule : skid_buffer_check
