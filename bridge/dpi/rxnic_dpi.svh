// SPDX-License-Identifier: Apache-2.0
// A module of a testbench in rxnic's traffic: macros that list its signals once, with the functions of
// rxnic_dpi_pkg.sv. Each source that uses them includes this file.
//
//   R1  A task `pins` lists what the module has, each once, in one order:
//
//         chandle module_h;
//         task automatic pins(input rxnic_what_e what);
//           int n;
//           n = 0;
//           `RXNIC_PARAMETER(LatencyCycles)
//           `RXNIC_INPUT(clk_i)
//           `RXNIC_OUTPUT(out_o)
//         endtask
//
//   R2  pins(RXNIC_DESCRIBE) after rxnic_module(). Then, for each module that rxnic_wait() returns: pins(RXNIC_DRIVE)
//       puts what has come at the inputs, and some simulation time passes. After that pins(RXNIC_SAMPLE) takes the
//       outputs, and rxnic_answer() sends them. The clock is an input: it rises while all others stay as they are.
//       Inputs change by nonblocking assignments; in an `initial` process Verilator makes them blocking ones and warns
//       of it.
//   R3  Values have two states: X and Z of an output go as 0.
`ifndef RXNIC_DPI_SVH
`define RXNIC_DPI_SVH

`define RXNIC_WORDS(signal) (($bits(signal) + 31) / 32)

`define RXNIC_PARAMETER(name) \
  if (what == RXNIC_DESCRIBE) rxnic_parameter(module_h, `"name`", 64'(name));

`define RXNIC_INPUT(signal) \
  begin \
    bit [32*`RXNIC_WORDS(signal)-1:0] words; \
    if (what == RXNIC_DESCRIBE) rxnic_input(module_h, `"signal`", $bits(signal)); \
    if (what == RXNIC_DRIVE) begin \
      for (int w = 0; w < `RXNIC_WORDS(signal); w++) words[32*w+:32] = rxnic_get(module_h, n, w); \
      signal <= words[$bits(signal)-1:0]; \
    end \
    n++; \
  end

`define RXNIC_OUTPUT(signal) \
  begin \
    bit [32*`RXNIC_WORDS(signal)-1:0] words; \
    if (what == RXNIC_DESCRIBE) rxnic_output(module_h, `"signal`", $bits(signal)); \
    if (what == RXNIC_SAMPLE) begin \
      words = '0; \
      words[$bits(signal)-1:0] = signal; \
      for (int w = 0; w < `RXNIC_WORDS(signal); w++) rxnic_put(module_h, n, w, words[32*w+:32]); \
    end \
    n++; \
  end

`endif
