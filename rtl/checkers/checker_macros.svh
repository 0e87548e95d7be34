// SPDX-License-Identifier: Apache-2.0
// Properties of one cycle, or of a cycle and the next, from the first cycle after reset on (`running_q`, which a
// checker declares: Verilator 5.006 knows no default for `disable iff`).
`ifndef RXNIC_CHECKER_MACROS
`define RXNIC_CHECKER_MACROS

`define RXNIC_ASSERT(label, expression) \
  label: assert property (@(posedge clk_i) disable iff (!running_q) expression);
`define RXNIC_COVER(label, expression) \
  label: cover property (@(posedge clk_i) disable iff (!running_q) expression);

`endif
