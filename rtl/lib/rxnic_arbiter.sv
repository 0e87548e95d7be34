// SPDX-License-Identifier: Apache-2.0
// An arbiter whose requests take turns.
//
//   R1  The choice depends on the requests and on registers: not on whether it is taken.
//   R2  Behind a request that was taken the next one is the first to be looked at. So each request that asks is taken
//       within Requests choices that are taken. Behind a reset request 0 is the first.
module rxnic_arbiter #(
  parameter int unsigned Requests = 2,
  localparam int unsigned IndexBits = Requests > 1 ? $clog2(Requests) : 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [Requests-1:0]  requests_i,
  input  logic                 take_i,   // what is chosen in this cycle is taken
  output logic                 valid_o,  // something is asked for
  output logic [IndexBits-1:0] index_o   // what is chosen
);

  logic [IndexBits-1:0] next_q, index, index_from;
  logic                 valid_from;

  rxnic_first_one #(.Bits(Requests)) first (.of_i(requests_i), .valid_o(valid_o), .index_o(index));
  rxnic_first_one #(.Bits(Requests)) first_from (
    .of_i(requests_i & ({Requests{1'b1}} << next_q)), .valid_o(valid_from), .index_o(index_from)
  );
  assign index_o = valid_from ? index_from : index;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) next_q <= '0;
    else if (take_i) next_q <= index_o == IndexBits'(Requests - 1) ? '0 : index_o + IndexBits'(1);
  end

endmodule : rxnic_arbiter
