// SPDX-License-Identifier: Apache-2.0
// Commands of cqe_generator (1): what one makes of the set and the record of its CQ, and what it answers (R9, R10).
module cqe_command #(
  parameter int unsigned CqeBytes      = 64,
  parameter int unsigned DoorbellDepth = 2,
  parameter int unsigned Ways          = 1,
  parameter int unsigned AgeBits       = 1,
  parameter int unsigned WayBits       = 28 + AgeBits,
  parameter int unsigned SetVectorBits = Ways * WayBits
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         commands_valid_i,
  output logic                         commands_ready_o,
  input  rxnic_link_pkg::cq_command_t  commands_i,
  output logic                         command_replies_valid_o,
  input  logic                         command_replies_ready_i,
  output rxnic_link_pkg::cq_reply_t    command_replies_o,
  output logic                         begun_o,           // one waits for writes of CQEs to leave
  // What goes before it
  input  logic                         doorbell_i,
  input  logic                         doorbell_goes_i,
  input  logic                         requests_empty_i,
  input  logic [31:0]                  made_i,            // writes of CQEs
  input  logic [31:0]                  left_i,
  // Its CQ
  output logic [23:0]                  number_o,
  output logic                         looks_o,
  input  logic                         here_i,
  input  logic                         absent_i,
  input  logic                         coming_i,
  input  logic                         fetches_i,
  input  logic                         free_i,
  input  logic [AgeBits-1:0]           free_way_i,
  input  logic [AgeBits-1:0]           way_i,
  input  logic [SetVectorBits-1:0]     set_i,             // as it is found, fetched, used
  input  logic [SetVectorBits-1:0]     fetched_set_i,
  input  logic [SetVectorBits-1:0]     used_set_i,
  input  rxnic_link_pkg::stored_cq_t   record_i,
  input  logic                         in_session_i,
  input  logic [6:0]                   held_i,            // completions in it
  output logic [AgeBits-1:0]           way_o,
  output logic                         writes_o,
  output logic [SetVectorBits-1:0]     set_o,
  output logic                         keeps_o,
  output rxnic_link_pkg::stored_cq_t   record_o,
  // What it does
  output logic                         begins_o,
  output logic                         places_o,
  output logic                         destroys_o,
  output logic                         closes_o,
  output logic                         resizes_o,
  output logic                         fits_o,
  output logic                         holds_back_o,      // it lets doorbells go first
  output logic                         waits_o,           // for its context
  output logic                         forgets_o          // that it waited
);

  localparam logic [63:0] Never = cqe_pkg::Never;

  logic begun_q, begun_1, done_1, changes_1, holds_back_1, found_cq_1;
  logic [31:0] behind_q, behind_1, passed_q, unseen_1;
  rxnic_link_pkg::cq_reply_t reply_q, reply_1;
  // verilator lint_off UNUSEDSIGNAL
  rxnic_link_pkg::cq_command_t command;  // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  logic [3:0] held_slots_1;
  logic [SetVectorBits-1:0] placed_set;

  assign command = commands_i;
  assign number_o = command.number;
  assign begun_o = begun_q;
  assign begins_o = commands_valid_i && !begun_q;
  assign holds_back_1 = doorbell_i && passed_q < DoorbellDepth;
  assign holds_back_o = begins_o && holds_back_1;
  assign places_o = begins_o && command.operation == rxnic_link_pkg::CqOperationCreate &&
                    (here_i || (free_i && !coming_i));
  assign destroys_o = begins_o && command.operation == rxnic_link_pkg::CqOperationDestroy && requests_empty_i &&
                      !coming_i;
  assign changes_1 = begins_o && (command.operation == rxnic_link_pkg::CqOperationSetModeration ||
                                  ((command.operation == rxnic_link_pkg::CqOperationResize ||
                                    command.operation == rxnic_link_pkg::CqOperationClose) && !holds_back_1));
  assign looks_o = changes_1 ||
                   (begins_o && command.operation == rxnic_link_pkg::CqOperationCreate && !places_o);
  assign found_cq_1 = changes_1 && here_i;
  assign resizes_o = found_cq_1 && command.operation == rxnic_link_pkg::CqOperationResize;
  assign closes_o = found_cq_1 && command.operation == rxnic_link_pkg::CqOperationClose;
  assign way_o = places_o && !here_i ? free_way_i : way_i;
  assign keeps_o = places_o || found_cq_1;
  assign writes_o = places_o || (destroys_o && here_i) || fetches_i || found_cq_1;
  assign waits_o = looks_o && !here_i && !absent_i;
  assign forgets_o = looks_o || places_o || (holds_back_o &&
                     (command.operation == rxnic_link_pkg::CqOperationResize ||
                      command.operation == rxnic_link_pkg::CqOperationClose));

  context_place #(.Ways(Ways), .AgeBits(AgeBits)) place (
    .set_i(set_i), .way_i(way_o), .places_i(places_o), .number_i(number_o), .is_here_i(here_i),
    .dirty_i(!command.stored), .removes_i(destroys_o && here_i), .set_o(placed_set)
  );
  assign set_o = fetches_i ? fetched_set_i : found_cq_1 ? used_set_i : placed_set;

  always_comb begin : record_of_command
    record_o = record_i;
    unseen_1 = record_i.producer - command.consumer;
    held_slots_1 = in_session_i ? cqe_pkg::block_slots(held_i) : '0;
    fits_o = 33'(unseen_1) + 33'(held_slots_1) <=
             {1'b0, command.slots < record_i.slots ? command.slots : record_i.slots};
    if (places_o) begin
      record_o = '0;
      record_o.base = command.base;
      record_o.number = command.number;
      record_o.slots = command.slots;
      record_o.moderation_count = command.moderation_count;
      record_o.moderation_period_us = command.moderation_period_us;
      record_o.valid = 1'b1;
      record_o.ignore_overrun = command.ignore_overrun;
      record_o.compress = command.compress;
      record_o.polled_only = command.polled_only;
      record_o.due = Never;
      record_o.timer = Never;
    end else if (closes_o) begin
      record_o.closed = 1'b1;
      record_o.armed = rxnic_link_pkg::CqArmNot;
      record_o.due = Never;
      record_o.timer = Never;
    end else if (resizes_o && fits_o) begin
      record_o.base = command.base;
      record_o.slots = command.slots;
      record_o.any_solicited = record_i.any_solicited &&
                               record_i.last_solicited - (record_i.producer - unseen_1) - 32'd1 < unseen_1;
      record_o.last_solicited = record_i.last_solicited - (record_i.producer - unseen_1);
      record_o.consumer = '0;
      record_o.producer = unseen_1;
    end else if (!resizes_o) begin
      record_o.moderation_count = command.moderation_count;
      record_o.moderation_period_us = command.moderation_period_us;
    end
  end

  always_comb begin : reply
    reply_1 = reply_q;
    behind_1 = behind_q;
    begun_1 = begun_q;
    if (begins_o) begin
      reply_1 = '0;
      reply_1.found = 1'b1;
      reply_1.fits = 1'b1;
      behind_1 = '0;
      case (command.operation)
        rxnic_link_pkg::CqOperationCreate: begun_1 = places_o;
        rxnic_link_pkg::CqOperationDestroy: begun_1 = destroys_o;
        rxnic_link_pkg::CqOperationSettle: begun_1 = 1'b1;
        rxnic_link_pkg::CqOperationAttachSrq, rxnic_link_pkg::CqOperationDetachSrq: begun_1 = 1'b1;
        default: begun_1 = changes_1 && (here_i || absent_i);
      endcase
      if (command.operation == rxnic_link_pkg::CqOperationSettle || closes_o || (resizes_o && fits_o)) begin
        behind_1 = made_i;
      end
      if (changes_1) reply_1.found = here_i;
      if (resizes_o) begin
        reply_1.fits = fits_o;
        if (fits_o) begin
          reply_1.from = record_i.base;
          reply_1.from_slots = record_i.slots;
          reply_1.stride = 16'(CqeBytes);
          reply_1.first = record_i.producer - unseen_1;
          reply_1.count = unseen_1;
        end
      end
    end
    done_1 = commands_valid_i && begun_1 && !(left_i - behind_1 >= 32'h8000_0000) && command_replies_ready_i;
    commands_ready_o = done_1;
    command_replies_valid_o = done_1;
    command_replies_o = reply_1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      begun_q <= 1'b0;
      behind_q <= '0;
      passed_q <= '0;
      reply_q <= '0;
    end else begin
      begun_q <= begun_1 && !done_1 && commands_valid_i;
      behind_q <= behind_1;
      reply_q <= reply_1;
      passed_q <= commands_valid_i && !done_1 ? passed_q + 32'(doorbell_goes_i) : '0;
    end
  end

endmodule : cqe_command
