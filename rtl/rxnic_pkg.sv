// SPDX-License-Identifier: Apache-2.0
// Facts about BTH opcodes that blocks decide by: those of model/types/opcode_table.h. An opcode that the table does not
// define has none of them. testbench/cosim compares them for all 256.
//
// Handshakes of the modules that use this package. The ready of an input may depend on its valid, and the valid of an
// output on its ready (README.md, H1 and H2). For ends that cannot take such dependences there is
// lib/rxnic_skid_buffer.sv.
package rxnic_pkg;

  // The 40 bytes in front of a datagram's payload (rules 1.3).
  localparam int unsigned GrhBytes = 40;
  localparam int unsigned AtomicBytes = 8;
  localparam int unsigned PageBytes = 4096;
  // Syndrome of a NAK for an invalid request (rules 6.8).
  localparam logic [7:0] NakInvalidRequest = 8'h61;

  // kReliable, kConnected of opcode_table.h.
  function automatic logic on_reliable(input logic [2:0] transport);
    on_reliable = transport == rxnic_link_pkg::TransportRc || transport == rxnic_link_pkg::TransportXrc;
  endfunction
  function automatic logic on_connected(input logic [2:0] transport);
    on_connected = on_reliable(transport) || transport == rxnic_link_pkg::TransportUc;
  endfunction

  function automatic logic is_datagram(input logic [2:0] transport);
    is_datagram = transport == rxnic_link_pkg::TransportUd || transport == rxnic_link_pkg::TransportRaw;
  endfunction

  // kSend
  function automatic logic is_send(input logic [7:0] opcode);
    case (opcode[4:0])
      5'h00, 5'h01, 5'h02, 5'h03: is_send = on_connected(opcode[7:5]);
      5'h04: is_send = on_connected(opcode[7:5]) || opcode[7:5] == rxnic_link_pkg::TransportUd ||
                       opcode[7:5] == rxnic_link_pkg::TransportRaw;
      5'h05: is_send = on_connected(opcode[7:5]) || opcode[7:5] == rxnic_link_pkg::TransportUd;
      5'h16, 5'h17: is_send = on_reliable(opcode[7:5]);
      default: is_send = 1'b0;
    endcase
  endfunction

  // kSend with kFirst or kOnly: its first bytes are those of its message.
  function automatic logic begins_send(input logic [7:0] opcode);
    begins_send = is_send(opcode) && (opcode[4:0] == 5'h00 || opcode[4:0] == 5'h04 || opcode[4:0] == 5'h05 ||
                                      opcode[4:0] == 5'h17);
  endfunction

  // kWrite
  function automatic logic is_write(input logic [7:0] opcode);
    is_write = on_connected(opcode[7:5]) && opcode[4:0] >= 5'h06 && opcode[4:0] <= 5'h0b;
  endfunction

  // kReadResponse
  function automatic logic is_read_response(input logic [7:0] opcode);
    is_read_response = on_reliable(opcode[7:5]) && opcode[4:0] >= 5'h0d && opcode[4:0] <= 5'h10;
  endfunction

  // kHasAtomicAckEth
  function automatic logic is_atomic_ack(input logic [7:0] opcode);
    is_atomic_ack = on_reliable(opcode[7:5]) && opcode[4:0] == 5'h12;
  endfunction

  // kResponse
  function automatic logic is_response(input logic [7:0] opcode);
    is_response = on_reliable(opcode[7:5]) && opcode[4:0] >= 5'h0d && opcode[4:0] <= 5'h12;
  endfunction

  // kRequest
  function automatic logic is_request(input logic [7:0] opcode);
    is_request = is_send(opcode) || is_write(opcode) ||
                 (on_reliable(opcode[7:5]) && (opcode[4:0] == 5'h0c || opcode[4:0] == 5'h13 || opcode[4:0] == 5'h14)) ||
                 (opcode[7:5] == rxnic_link_pkg::TransportRc && opcode[4:0] == 5'h1d);
  endfunction

  // kHasImm
  function automatic logic has_immediate(input logic [7:0] opcode);
    has_immediate = (is_send(opcode) && (opcode[4:0] == 5'h03 || opcode[4:0] == 5'h05)) ||
                    (is_write(opcode) && (opcode[4:0] == 5'h09 || opcode[4:0] == 5'h0b));
  endfunction

  // kHasIeth
  function automatic logic has_ieth(input logic [7:0] opcode);
    has_ieth = is_send(opcode) && (opcode[4:0] == 5'h16 || opcode[4:0] == 5'h17);
  endfunction

  // kHasDeth
  function automatic logic has_deth(input logic [7:0] opcode);
    has_deth = opcode[7:5] == rxnic_link_pkg::TransportUd && is_send(opcode);
  endfunction

endpackage : rxnic_pkg
