// SPDX-License-Identifier: Apache-2.0
// What a doorbell of cqe_generator (2) makes of the record of its CQ: it arms the CQ, or reports what was seen. No
// state in here.
module cqe_doorbell #(
  parameter int unsigned ModerationUnitPs = 1,
  parameter int unsigned ClockPeriodPs    = 1
) (
  input  logic [63:0]                now_i,
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::doorbell_t  doorbell_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic                       goes_i,         // its CQ was found
  input  rxnic_link_pkg::stored_cq_t record_i,
  input  logic                       timers_full_i,
  output logic                       keeps_o,
  output rxnic_link_pkg::stored_cq_t record_o,
  output logic                       arms_o,
  output logic                       raises_o,
  output logic                       adds_timer_o,
  output logic                       moves_timer_o
);

  logic raised, added, moved;
  rxnic_link_pkg::stored_cq_t armed;

  cq_event #(.ModerationUnitPs(ModerationUnitPs), .ClockPeriodPs(ClockPeriodPs)) arming (
    .now_i, .record_i, .arms_i(1'b1), .solicited_i(doorbell_i.solicited_only), .index_i(doorbell_i.value),
    .slots_i(32'd0), .completions_i(32'd0), .timers_full_i, .record_o(armed), .raises_o(raised), .adds_timer_o(added),
    .moves_timer_o(moved)
  );
  assign keeps_o = goes_i && !record_i.dead && !record_i.closed;
  assign arms_o = keeps_o && doorbell_i.kind == rxnic_link_pkg::DoorbellKindCqArm;
  assign raises_o = arms_o && raised;
  assign adds_timer_o = arms_o && added;
  assign moves_timer_o = arms_o && moved;
  always_comb begin : doorbell_step
    record_o = arms_o ? armed : record_i;
    if (doorbell_i.kind == rxnic_link_pkg::DoorbellKindCqConsumer &&
        doorbell_i.value - record_i.consumer <= record_i.producer - record_i.consumer) begin
      record_o.consumer = doorbell_i.value;
    end
  end

endmodule : cqe_doorbell
