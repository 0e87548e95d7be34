// SPDX-License-Identifier: Apache-2.0
// A linter wants a module: this one uses the generated package of parameters.
module params_package_lint (
  output int unsigned     clock_period_ps_o,
  output longint unsigned poll_latency_ps_o,
  output bit              compression_o
);
  assign clock_period_ps_o = rxnic_params_pkg::NicClockPeriodPs;
  assign poll_latency_ps_o = rxnic_params_pkg::HostPollLatencyPs;
  assign compression_o     = rxnic_params_pkg::CqeGeneratorCompression;
endmodule
