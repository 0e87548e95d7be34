// SPDX-License-Identifier: Apache-2.0
// The receive paths of two NICs in a simulator of SystemVerilog, driven by rxnic: a verbs program, a capture. How to
// build and run it is in bridge/dpi/README.md.
//
//   +address=A     where it listens (default: rxnic_dpi.socket in the current folder)
//   +command=C     what it runs then: rxnic with --rtl BLOCK=dpi:A or --lockstep BLOCK=dpi:A. Without it, it waits for
//                  an rxnic that is started elsewhere.
//   +page_bytes=N  pages that no piece may cross (default: 4096)
module receive_path_tb;
  import rxnic_dpi_pkg::*;

  receive_path nic0 ();
  receive_path nic1 ();

  chandle server_h, turn_h;
  string address, command;
  int status;
  bit running = 0;

  initial begin
    if (!$value$plusargs("address=%s", address)) address = "rxnic_dpi.socket";
    if ($value$plusargs("page_bytes=%d", nic0.page_bytes)) nic1.page_bytes = nic0.page_bytes;
    server_h = rxnic_listen(address);
    if (server_h == null) $fatal(1, "nothing listens");
    nic0.describe(server_h);
    nic1.describe(server_h);
    if (!$value$plusargs("command=%s", command)) begin
      $display("receive_path_tb: waiting for rxnic ... dpi:%s", address);
    end else if (rxnic_start(server_h, command) == 0) begin
      $fatal(1, "nothing was started");
    end
    #1 running = 1;
  end

  // No initial process: there Verilator makes a nonblocking assignment, as those of the pins, a blocking one.
  always @(posedge running) begin
    turn_h = rxnic_wait(server_h);
    while (turn_h != null) begin
      nic0.exchange(turn_h);
      nic1.exchange(turn_h);
      turn_h = rxnic_wait(server_h);
    end
    status = rxnic_close(server_h);
    $display("receive_path_tb: %0d packets, %0d pieces, %0d CQEs", nic0.packets + nic1.packets,
             nic0.pieces + nic1.pieces, nic0.cqes + nic1.cqes);
    if (status != 0) $fatal(1, "rxnic has ended with %0d", status);
    $finish;
  end
endmodule : receive_path_tb
