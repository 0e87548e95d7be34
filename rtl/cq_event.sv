// SPDX-License-Identifier: Apache-2.0
// What CQEs and arming make of a CQ's record, and of its event: the rules of model/core/completion/completion_queue.h
// and R4, R14 of model/blocks/cqe_generator.h. No state in here.
module cq_event #(
  parameter int unsigned ModerationUnitPs = 1,
  parameter int unsigned ClockPeriodPs    = 1
) (
  input  logic [63:0]                now_i,
  input  rxnic_link_pkg::stored_cq_t record_i,
  input  logic                       arms_i,          // or else CQEs are written
  input  logic                       solicited_i,     // arms: for those only; CQEs: they are
  input  logic [31:0]                index_i,         // arms: CQEs before it were seen
  input  logic [31:0]                slots_i,         // CQEs: slots and completions
  input  logic [31:0]                completions_i,
  input  logic                       timers_full_i,
  output rxnic_link_pkg::stored_cq_t record_o,
  output logic                       raises_o,
  output logic                       adds_timer_o,    // with the record's due cycle
  output logic                       moves_timer_o
);

  localparam logic [63:0] Never = '1;
  localparam int unsigned ProductBits = 48;

  rxnic_link_pkg::stored_cq_t r;
  logic solicited_only;
  logic [31:0] counted, seen, unseen;
  logic [63:0] due;

  // The period in cycles, a part of one counted whole.
  logic [ProductBits-1:0] product, quotient;
  logic [ProductBits:0] rest;
  always_comb begin : period
    product = ProductBits'(record_i.moderation_period_us) * ProductBits'(ModerationUnitPs) +
              ProductBits'(ClockPeriodPs) - ProductBits'(1);
    quotient = '0;
    rest = '0;
    for (int unsigned n = ProductBits; n > 0; n--) begin
      rest = {rest[ProductBits-1:0], product[n-1]};
      if (rest >= (ProductBits + 1)'(ClockPeriodPs)) begin
        rest = rest - (ProductBits + 1)'(ClockPeriodPs);
        quotient[n-1] = 1'b1;
      end
    end
  end

  always_comb begin : count
    r = record_i;
    counted = '0;
    seen = '0;
    unseen = '0;
    solicited_only = solicited_i && record_i.armed != rxnic_link_pkg::CqArmAny;
    if (arms_i) begin
      r.armed = solicited_only ? rxnic_link_pkg::CqArmSolicited : rxnic_link_pkg::CqArmAny;
      r.counted = '0;
      r.due = Never;
      seen = index_i - r.consumer <= r.producer - r.consumer ? index_i : r.consumer;
      unseen = r.producer - seen;
      if (!solicited_only) counted = unseen;
      else if (r.any_solicited && r.last_solicited - seen - 32'd1 < unseen) counted = 32'd1;
    end else begin
      r.producer = r.producer + slots_i;
      if (solicited_i) begin
        r.last_solicited = r.producer;
        r.any_solicited = 1'b1;
      end
      if (r.armed == rxnic_link_pkg::CqArmAny || (r.armed == rxnic_link_pkg::CqArmSolicited && solicited_i)) begin
        counted = completions_i;
      end
    end
    if (counted != '0) begin
      if (r.counted == '0 && quotient != '0) r.due = now_i + 64'(quotient);
      r.counted = r.counted + counted;
      if (r.counted >= 32'(r.moderation_count)) r.due = now_i;
    end
  end

  // (R4, R14)
  always_comb begin : event_due
    record_o = r;
    raises_o = 1'b0;
    adds_timer_o = 1'b0;
    moves_timer_o = 1'b0;
    due = r.due;
    if (due != Never) begin
      if (due <= now_i || (r.timer == Never && timers_full_i)) begin
        raises_o = 1'b1;
        record_o.armed = rxnic_link_pkg::CqArmNot;
        record_o.due = Never;
      end else if (r.timer > due) begin
        adds_timer_o = r.timer == Never;
        moves_timer_o = r.timer != Never;
        record_o.timer = due;
      end
    end
  end

endmodule : cq_event
