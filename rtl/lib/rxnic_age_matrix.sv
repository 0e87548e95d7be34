// SPDX-License-Identifier: Apache-2.0
// Which of two entries is older, for each two of a table. There is a bit for each pair. So the oldest of any entries is
// found in a path that grows with the logarithm of Entries.
//
//   R1  An entry that comes in cycle n says which entries are older than it: all others are younger than it. What is
//       said of places without an entry has no meaning.
//   R2  It counts from cycle n + 1 on: outputs depend on registers and on from_oldest_i, from_youngest_i alone.
module rxnic_age_matrix #(
  parameter int unsigned Entries = 1,
  localparam int unsigned IndexBits = Entries > 1 ? $clog2(Entries) : 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 enter_i,
  input  logic [IndexBits-1:0] enter_at_i,
  input  logic [Entries-1:0]   older_i,          // than the one that comes
  input  logic [Entries-1:0]   from_oldest_i,    // entries of which ...
  output logic [Entries-1:0]   oldest_o,         // ... this one is the oldest; 0 without any
  output logic [Entries-1:0]   behind_oldest_o,  // entries that are younger than that one
  input  logic [Entries-1:0]   from_youngest_i,
  output logic [Entries-1:0]   youngest_o
);

  logic [Entries*Entries-1:0] older_q;  // a row of each entry: those that are older
  logic [Entries-1:0]         entered;
  assign entered = Entries'(1) << enter_at_i;

  always_comb begin : compare
    for (int unsigned n = 0; n < Entries; n++) begin
      oldest_o[n] = from_oldest_i[n] && (from_oldest_i & older_q[n*Entries+:Entries]) == '0;
      youngest_o[n] = from_youngest_i[n] &&
                      (from_youngest_i & ~older_q[n*Entries+:Entries] & ~(Entries'(1) << n)) == '0;
    end
    for (int unsigned n = 0; n < Entries; n++) behind_oldest_o[n] = (oldest_o & older_q[n*Entries+:Entries]) != '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      older_q <= '0;
    end else if (enter_i) begin
      for (int unsigned n = 0; n < Entries; n++) begin
        if (entered[n]) older_q[n*Entries+:Entries] <= older_i & ~entered;
        else if (older_i[n]) older_q[n*Entries+:Entries] <= older_q[n*Entries+:Entries] & ~entered;
        else older_q[n*Entries+:Entries] <= older_q[n*Entries+:Entries] | entered;
      end
    end
  end

endmodule : rxnic_age_matrix
