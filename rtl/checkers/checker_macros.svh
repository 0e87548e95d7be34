// SPDX-License-Identifier: Apache-2.0
// Properties hold from the first cycle after reset on, whatever is in the memories and registers that reset does not
// set. What they look at is a port, a register that reset sets, or gated by one. RXNIC_ASSERT_NEXT: of a cycle and the
// next, neither in reset. A checker declares `in_reset` and `running_q`. The former is !rst_ni, under a name of its
// own. The reason: in `disable iff` Verilator 5.006 takes !rst_ni itself for a use as a synchronous reset, and knows no
// default. The latter says that the cycle before was not in reset, either.
`ifndef RXNIC_CHECKER_MACROS
`define RXNIC_CHECKER_MACROS

`define RXNIC_ASSERT(label, expression) \
  label: assert property (@(posedge clk_i) disable iff (in_reset) expression);
`define RXNIC_ASSERT_NEXT(label, premise, next) \
  label: assert property (@(posedge clk_i) disable iff (!running_q) premise |=> next);
`define RXNIC_COVER(label, expression) \
  label: cover property (@(posedge clk_i) disable iff (in_reset) expression);

`endif
