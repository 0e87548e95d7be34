// SPDX-License-Identifier: Apache-2.0
// The order in which the ways of a set were used: of each how many of the others were used since, its age. Ages differ.
// No state in here: the ages stand with the set, and go back to it.
module rxnic_lru_set #(
  parameter int unsigned Ways = 1,
  parameter int unsigned AgeBits = Ways > 1 ? $clog2(Ways) : 1
) (
  input  logic [Ways*AgeBits-1:0] ages_i,
  // The way that was used longest ago, of some
  input  logic [Ways-1:0]         among_i,
  output logic                    valid_o,  // there is one
  output logic [AgeBits-1:0]      oldest_o,
  // The ages behind a use of a way
  input  logic [AgeBits-1:0]      used_i,
  output logic [Ways*AgeBits-1:0] ages_o
);

  logic [AgeBits-1:0] most, age;

  always_comb begin : find_oldest
    valid_o = 1'b0;
    oldest_o = '0;
    most = '0;
    for (int unsigned n = 0; n < Ways; n++) begin
      if (among_i[n] && (!valid_o || ages_i[n*AgeBits+:AgeBits] > most)) begin
        valid_o = 1'b1;
        oldest_o = AgeBits'(n);
        most = ages_i[n*AgeBits+:AgeBits];
      end
    end
  end

  always_comb begin : use_way
    age = '0;
    for (int unsigned n = 0; n < Ways; n++) if (AgeBits'(n) == used_i) age = ages_i[n*AgeBits+:AgeBits];
    for (int unsigned n = 0; n < Ways; n++) begin
      ages_o[n*AgeBits+:AgeBits] = ages_i[n*AgeBits+:AgeBits];
      if (AgeBits'(n) == used_i) ages_o[n*AgeBits+:AgeBits] = '0;
      else if (ages_i[n*AgeBits+:AgeBits] < age) begin
        ages_o[n*AgeBits+:AgeBits] = ages_i[n*AgeBits+:AgeBits] + AgeBits'(1);
      end
    end
  end

endmodule : rxnic_lru_set
