// SPDX-License-Identifier: Apache-2.0
// What holds in every cycle of grh_scatter, and what a test should have seen. Bound to it from outside: the ports, and
// those of its registers that carry the same names.
`include "checker_macros.svh"

module grh_scatter_checker #(
  parameter int unsigned LatencyCycles = 1,
  parameter int unsigned SgesPerCycle  = 1,
  parameter int unsigned CountBits     = 1
) (
  input logic                                                  clk_i,
  input logic                                                  rst_ni,
  input logic                                                  quiescent_o,
  input rxnic_link_pkg::activity_e                             activity_o,
  input logic                                                  in_valid_i,
  input logic                                                  in_ready_o,
  input rxnic_link_pkg::scatter_job_t                          in_i,
  input logic                                                  lists_valid_o,
  input rxnic_link_pkg::scatter_list_read_t                    lists_o,
  input logic                               [SgesPerCycle-1:0] out_valid_o,
  input logic                               [SgesPerCycle-1:0] out_ready_i,
  input rxnic_link_pkg::scattered_segment_t [SgesPerCycle-1:0] out_o,
  input logic                                                  refusals_valid_o,
  input rxnic_link_pkg::refusal_t                              refusals_o,
  input logic                                                  look_q,
  input logic                                                  rest,
  input logic                                                  room_for_looks,
  input logic                                                  take,
  input logic                                                  refuse,
  input logic                                                  too_long,
  input logic                                                  forward,
  input logic                               [32:0]             total,
  input logic                               [CountBits-1:0]    count,
  input logic                               [CountBits-1:0]    found
);

  localparam int unsigned Stages = LatencyCycles * SgesPerCycle;
  localparam int unsigned Places = Stages + SgesPerCycle - 1;

  logic in_reset, running_q;
  assign in_reset = !rst_ni;
  // Pieces of the packet at the output have left, but not its last one.
  logic open_q, open_d;
  logic [SgesPerCycle-1:0] transfers, in_order, in_page, alone, lone_ready;
  assign transfers = out_valid_o & out_ready_i;
  always_comb begin
    open_d = open_q;
    for (int unsigned n = 0; n < SgesPerCycle; n++) begin
      in_order[n] = !transfers[n] || out_o[n].first == !open_d;
      if (transfers[n]) open_d = !out_o[n].last;
      in_page[n] = 14'(out_o[n].va[11:0]) + 14'(out_o[n].bytes) <= 14'd4096;
      alone[n] = out_o[n].bytes != '0 || (out_o[n].first && out_o[n].last);
      lone_ready[n] = n > 0 && out_ready_i[n] && !out_ready_i[n > 0 ? n - 1 : 0];
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      open_q <= 1'b0;
    end else begin
      running_q <= 1'b1;
      open_q <= open_d;
    end
  end

  // Properties use narrow signals, which are kept apart from the wide ones that they come from. The reason: Verilator
  // 5.006 makes no valid C++ of samples of wide signals. It does not evaluate functions in a property either.
  rxnic_link_pkg::scatter_job_t in_q;
  rxnic_link_pkg::scattered_segment_t out_q;
  logic in_stable /* verilator public_flat_rd */;
  logic out_stable /* verilator public_flat_rd */;
  logic lists_of_packet /* verilator public_flat_rd */;
  logic refusal_of_packet /* verilator public_flat_rd */;
  logic has_wqe /* verilator public_flat_rd */;
  logic takes_wqe /* verilator public_flat_rd */;
  logic piece_last /* verilator public_flat_rd */;
  logic [5:0] element /* verilator public_flat_rd */;
  rxnic_link_pkg::packet_role_e role /* verilator public_flat_rd */;
  rxnic_link_pkg::outcome_e outcome /* verilator public_flat_rd */;
  rxnic_link_pkg::transport_e transport /* verilator public_flat_rd */;
  rxnic_link_pkg::network_header_e network_header /* verilator public_flat_rd */;
  logic [7:0] opcode /* verilator public_flat_rd */;
  logic [12:0] payload_bytes /* verilator public_flat_rd */;
  logic [12:0] strip_bytes /* verilator public_flat_rd */;
  logic [12:0] piece_bytes /* verilator public_flat_rd */;
  logic [12:0] piece_start /* verilator public_flat_rd */;
  logic piece_first /* verilator public_flat_rd */;
  logic piece_of_datagram /* verilator public_flat_rd */;
  logic piece_of_scratch /* verilator public_flat_rd */;
  logic [31:0] local_bytes /* verilator public_flat_rd */;
  logic [32:0] wqe_bytes /* verilator public_flat_rd */;
  always_ff @(posedge clk_i) begin
    in_q <= in_i;
    out_q <= out_o[0];
  end
  always_comb begin
    in_stable = in_q == in_i;
    out_stable = out_q == out_o[0];
    element = lists_o.element;
    lists_of_packet = lists_o.wqe_slot == in_i.wqe_slot;
    refusal_of_packet = refusals_o == {rxnic_link_pkg::RefusalKindError, in_i.line, 32'd0, 32'hffffffff};
    role = in_i.role;
    outcome = in_i.outcome;
    transport = in_i.transport;
    network_header = in_i.network_header;
    opcode = in_i.opcode;
    payload_bytes = in_i.payload_bytes;
    strip_bytes = in_i.strip_bytes;
    local_bytes = in_i.local_bytes;
    wqe_bytes = {1'b0, in_i.wqe_bytes};
    has_wqe = in_i.wqe_slot != '1;
    takes_wqe = in_i.takes_wqe;
    piece_bytes = out_o[0].bytes;
    piece_last = out_o[0].last;
    piece_start = {1'b0, out_o[0].va[11:0]};
    piece_first = out_o[0].first;
    piece_of_datagram = out_o[0].transport == rxnic_link_pkg::TransportUd;
    piece_of_scratch = out_o[0].area == rxnic_link_pkg::BufferAreaScratch;
  end

  // The environment
  `RXNIC_ASSERT_NEXT(env_in_holds, in_valid_i && !in_ready_o, in_valid_i && in_stable)
  `RXNIC_ASSERT(env_ready_from_lane_0, lone_ready == '0)

  // R1
  `RXNIC_ASSERT(r1_valid_from_lane_0, (out_valid_o & (out_valid_o + SgesPerCycle'(1))) == '0)
  `RXNIC_ASSERT_NEXT(r1_out_holds, out_valid_o[0] && !out_ready_i[0], out_valid_o[0] && out_stable)
  `RXNIC_ASSERT(r1_in_order, &in_order)
  `RXNIC_ASSERT(r1_within_a_page, (out_valid_o & ~in_page) == '0)
  `RXNIC_ASSERT(r1_without_bytes_alone, (out_valid_o & ~alone) == '0)
  // R2
  `RXNIC_ASSERT(r2_one_at_a_time, rest |-> !in_ready_o)
  // R4
  `RXNIC_ASSERT(r4_refused_when_taken, refusals_valid_o |-> take && too_long)
  `RXNIC_ASSERT(r4_refusal, refusals_valid_o |-> refusal_of_packet)
  `RXNIC_ASSERT(r4_refused_is_not_refused_again, take && refuse |-> !too_long)
  // R5
  `RXNIC_ASSERT(r5_places, 32'(count) <= Places)
  `RXNIC_ASSERT(r5_look_has_room, look_q |-> 32'(count) < Stages)
  // R6
  `RXNIC_ASSERT_NEXT(r6_read_is_looked_at, lists_valid_o, look_q)
  `RXNIC_ASSERT(r6_element_of_a_list, lists_valid_o |-> element < 6'd32)
  `RXNIC_ASSERT(r6_list_of_the_packet, lists_valid_o && take |-> lists_of_packet)
  `RXNIC_ASSERT(quiescent_has_no_output, quiescent_o |-> out_valid_o == '0)

  // What is true of a packet that is taken
  logic sends, datagram, executed, writes, answers, responds, returns;
  assign executed = take && !refuse && role == rxnic_link_pkg::PacketRoleReceived &&
                    outcome == rxnic_link_pkg::OutcomeExecute;
  assign sends = executed && rxnic_pkg::is_send(opcode) && has_wqe;
  assign writes = executed && rxnic_pkg::is_write(opcode);
  assign answers = take && outcome == rxnic_link_pkg::OutcomeAnswer && local_bytes != '0;
  assign responds = answers && rxnic_pkg::is_read_response(opcode);
  assign returns = answers && rxnic_pkg::is_atomic_ack(opcode);
  assign datagram = sends && !too_long && transport == rxnic_link_pkg::TransportUd;

  `RXNIC_COVER(plan_r2_ipv4, datagram && network_header == rxnic_link_pkg::NetworkHeaderIpv4)
  `RXNIC_COVER(plan_r2_grh, datagram && network_header == rxnic_link_pkg::NetworkHeaderGrh)
  `RXNIC_COVER(plan_r2_none, datagram && network_header == rxnic_link_pkg::NetworkHeaderNone)
  `RXNIC_COVER(plan_r2_none_without_payload, datagram && payload_bytes == '0 &&
      network_header == rxnic_link_pkg::NetworkHeaderNone)
  `RXNIC_COVER(plan_r2_ipv4_over_elements, out_valid_o[0] && piece_of_datagram && piece_of_scratch && piece_first &&
      piece_bytes != '0 && piece_bytes < 13'd40 && piece_start + piece_bytes != 13'd4096)
  `RXNIC_COVER(plan_r2_grh_over_elements, out_valid_o[0] && piece_of_datagram && !piece_of_scratch && piece_first &&
      piece_bytes != '0 && piece_bytes < 13'd40 && !piece_last && piece_start + piece_bytes != 13'd4096)
  `RXNIC_COVER(plan_r3_strip, sends && !too_long && strip_bytes != '0)
  `RXNIC_COVER(plan_r3_all_stripped, sends && !too_long && payload_bytes != '0 &&
      strip_bytes >= payload_bytes)
  `RXNIC_COVER(plan_r4_write, writes)
  `RXNIC_COVER(plan_r4_read_response, responds)
  `RXNIC_COVER(plan_r4_atomic, returns)
  `RXNIC_COVER(plan_r5_reliable, sends && too_long && transport == rxnic_link_pkg::TransportRc)
  `RXNIC_COVER(plan_r5_xrc, sends && too_long && transport == rxnic_link_pkg::TransportXrc)
  `RXNIC_COVER(plan_r5_unreliable, sends && too_long && transport == rxnic_link_pkg::TransportUc)
  `RXNIC_COVER(plan_r5_datagram, sends && too_long && transport == rxnic_link_pkg::TransportUd)
  `RXNIC_COVER(plan_r5_as_long_as_its_wqe, sends && !too_long && total == wqe_bytes)
  `RXNIC_COVER(plan_r6_truncated, take && role == rxnic_link_pkg::PacketRoleTruncated)
  `RXNIC_COVER(plan_r7_passed_over, look_q && found == '0)
  `RXNIC_COVER(r1_without_bytes, out_valid_o[0] && piece_bytes == '0)
  `RXNIC_COVER(r1_split_at_a_page, out_valid_o[0] && !piece_last && piece_bytes != '0 &&
      piece_start + piece_bytes == 13'd4096)
  `RXNIC_COVER(r1_all_lanes_found, 32'(found) == SgesPerCycle)
  `RXNIC_COVER(r1_all_lanes_leave, &transfers)
  `RXNIC_COVER(r2_bytes_occupy, in_valid_i && !in_ready_o && !rest && room_for_looks)
  `RXNIC_COVER(r3_forwarded, take && forward)
  `RXNIC_COVER(r3_restarted, sends && takes_wqe)
  `RXNIC_COVER(r3_continued, sends && !takes_wqe)
  `RXNIC_COVER(r4_squashed, take && refuse)
  `RXNIC_COVER(r5_look_waits, rest && !room_for_looks)
  `RXNIC_COVER(r5_packet_waits, in_valid_i && !rest && !room_for_looks)
  `RXNIC_COVER(r5_full, 32'(count) == Places)
  `RXNIC_COVER(blocked, out_valid_o[0] && !out_ready_i[0])
  `RXNIC_COVER(quiescent, quiescent_o && !in_valid_i)
  `RXNIC_COVER(activity_blocked, activity_o == rxnic_link_pkg::ActivityBlocked)

endmodule : grh_scatter_checker

bind grh_scatter grh_scatter_checker #(
  .LatencyCycles(LatencyCycles),
  .SgesPerCycle (SgesPerCycle),
  .CountBits    (CountBits)
) checker_i (
  .found(CountBits'(found)),
  .*
);
