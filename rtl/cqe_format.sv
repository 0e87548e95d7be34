// SPDX-License-Identifier: Apache-2.0
// The CQE of a packet of cqe_generator: what it says (model/core/completion/cqe_format.h). No state in here.
module cqe_format (
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::completion_request_t p_i,  // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  input  logic                                is_srq_i,
  input  logic [23:0]                         srqn_i,
  input  logic [63:0]                         now_i,
  output logic [511:0]                        cqe_o
);

  // Bits of CqeFlag (model/types/completion.h)
  localparam logic [15:0] CqeGrh = 16'h0001;
  localparam logic [15:0] CqeImmediate = 16'h0002;
  localparam logic [15:0] CqeInvalidated = 16'h0004;
  localparam logic [15:0] CqeTags = 16'h0018;
  localparam logic [15:0] CqeSolicited = 16'h0040;
  localparam logic [15:0] CqeSrq = 16'h0080;

  logic [15:0] flags;

  always_comb begin : make_cqe
    flags = is_srq_i ? CqeSrq : '0;
    cqe_o = '0;
    cqe_o[0*8+:32] = 32'(p_i.qpn);
    if (is_srq_i) cqe_o[4*8+:32] = 32'(srqn_i);
    cqe_o[8*8+:32] = p_i.wqe_index;
    cqe_o[31*8+:8] = 8'(p_i.cqe_opcode);
    cqe_o[32*8+:8] = 8'(p_i.status);
    cqe_o[40*8+:64] = now_i;
    if (p_i.status != rxnic_link_pkg::WcStatusSuccess) begin
      cqe_o[33*8+:8] = 8'(p_i.drop_reason);
      flags = flags | (p_i.cqe_flags & CqeTags);
    end else begin
      cqe_o[12*8+:32] = p_i.byte_count;
      flags = flags | p_i.cqe_flags;
      cqe_o[48*8+:64] = p_i.tag;
      cqe_o[56*8+:32] = p_i.tag_context;
      if (p_i.role == rxnic_link_pkg::PacketRoleReceived && rxnic_pkg::is_request(p_i.opcode)) begin
        if ((rxnic_pkg::has_immediate(p_i.opcode) || rxnic_pkg::has_ieth(p_i.opcode)) && p_i.ends_message) begin
          cqe_o[16*8+:32] = p_i.immediate;
          flags = flags | (rxnic_pkg::has_immediate(p_i.opcode) ? CqeImmediate : CqeInvalidated);
        end
        if (p_i.solicited) flags = flags | CqeSolicited;
        if (rxnic_pkg::has_deth(p_i.opcode)) begin
          cqe_o[20*8+:32] = 32'(p_i.source_qp);
          cqe_o[24*8+:16] = p_i.source_lid;
          cqe_o[30*8+:8] = 8'(p_i.service_level);
          if (p_i.network_header != rxnic_link_pkg::NetworkHeaderNone) flags = flags | CqeGrh;
        end
      end
    end
    cqe_o[28*8+:16] = flags;
  end

endmodule : cqe_format
