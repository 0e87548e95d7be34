// SPDX-License-Identifier: Apache-2.0
// Packets that are here (R1): `in` and `tagged` take turns, and each packet may leave some cycles later. One that is
// taken (7) asks for a WQE of its queue, and has the context that it will need read (R3, R15). Behind this step its
// QP's WQE in use is known here, too.
module wqe_packets #(
  parameter int unsigned PipelineDepth = 1,
  parameter int unsigned HitCycles     = 1,
  parameter logic        LooksAhead    = 1'b0,
  parameter logic        CountsCredits = 1'b0
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         in_valid_i,
  output logic                         in_ready_o,
  input  rxnic_link_pkg::wqe_request_t in_i,
  input  rxnic_link_pkg::open_wqe_t    context_i,
  input  logic                         tagged_valid_i,
  output logic                         tagged_ready_o,
  input  rxnic_link_pkg::wqe_request_t tagged_i,
  input  rxnic_link_pkg::open_wqe_t    tagged_context_i,
  // The oldest one: it may leave now
  output logic [31:0]                  count_o,
  output logic                         ready_o,
  output rxnic_link_pkg::wqe_request_t first_o,
  input  logic                         leaves_i,
  // (7)
  output logic                         takes_o,
  output logic                         from_tagged_o,
  output logic [31:0]                  asked_id_o,
  output logic                         asks_o,        // for a WQE of that queue
  output logic [31:0]                  needed_id_o,
  output logic                         needs_o,       // the context of that one
  output logic                         brings_o,      // the WQE that its QP has in use
  output logic [23:0]                  line_o,
  output rxnic_link_pkg::open_wqe_t    open_o
);

  localparam int unsigned PacketBits = rxnic_link_pkg::WqeRequestBits;
  localparam int unsigned TimeBits = 48;

  logic [$clog2(PipelineDepth+1)-1:0] count;
  logic [TimeBits-1:0] now_q, first_due;
  logic is_offered;
  rxnic_link_pkg::wqe_request_t taken;

  rxnic_arbiter #(.Requests(2)) turn (
    .clk_i, .rst_ni, .requests_i({tagged_valid_i, in_valid_i}), .take_i(takes_o), .valid_o(is_offered),
    .index_o(from_tagged_o)
  );
  rxnic_fifo #(.Bits(PacketBits + TimeBits), .Depth(PipelineDepth)) packets (
    .clk_i, .rst_ni, .push_i(takes_o), .words_i({taken, now_q + TimeBits'(HitCycles)}), .pop_i(leaves_i),
    .count_o(count), .words_o({first_o, first_due})
  );
  assign count_o = 32'(count);
  assign ready_o = count != '0 && first_due <= now_q;

  assign takes_o = is_offered && 32'(count) - 32'(leaves_i) != PipelineDepth;
  assign in_ready_o = takes_o && !from_tagged_o;
  assign tagged_ready_o = takes_o && from_tagged_o;
  assign taken = from_tagged_o ? tagged_i : in_i;
  assign asked_id_o = taken.queue_;
  assign asks_o = takes_o && LooksAhead && taken.takes_wqe && taken.outcome == rxnic_link_pkg::OutcomeExecute;
  // verilator lint_off PINCONNECTEMPTY
  wqe_needed #(.CountsCredits(CountsCredits)) need (
    .p_i(taken), .executes_o(), .sends_o(), .queue_o(needed_id_o)
  );
  // verilator lint_on PINCONNECTEMPTY
  assign needs_o = brings_o && needed_id_o != wqe_pkg::NoWq;
  assign brings_o = takes_o && taken.line != wqe_pkg::NoLine;
  assign line_o = taken.line;
  assign open_o = from_tagged_o ? tagged_context_i : context_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) now_q <= '0;
    else now_q <= now_q + TimeBits'(1);
  end

endmodule : wqe_packets
