// SPDX-License-Identifier: Apache-2.0
// What the parts of cqe_generator have in common.
package cqe_pkg;

  localparam logic [63:0] Never = '1;  // a cycle

  // Slots of a session with so many completions: a title, and slots of seven mini CQEs.
  function automatic logic [3:0] block_slots(input logic [6:0] held);
    block_slots = held < 7'd2 ? held[3:0] : 4'd11;
    for (int unsigned n = 10; n > 0; n--) if (held >= 7'd2 && 32'(held) <= n * 7) block_slots = 4'(n + 1);
  endfunction

endpackage : cqe_pkg
