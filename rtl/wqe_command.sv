// SPDX-License-Identifier: Apache-2.0
// Commands of srq_wqe_fetcher (1): what one makes of the context of its queue, and what it answers (R17, R18).
module wqe_command #(
  parameter int unsigned DoorbellDepth = 2,
  parameter int unsigned Numbers       = 1
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          commands_valid_i,
  output logic                          commands_ready_o,
  input  rxnic_link_pkg::wq_command_t   commands_i,
  input  logic [31:0]                   message_slot_i,  // of the message on its QP
  output logic                          command_replies_valid_o,
  input  logic                          command_replies_ready_i,
  output rxnic_link_pkg::wq_reply_t     command_replies_o,
  // What goes before it
  input  logic                          doorbell_i,
  input  logic                          rings_2_i,       // the doorbell at the input goes
  input  logic                          idle_i,          // no request for a context waits
  input  logic                          leaves_i,        // a packet, or a flushed WQE
  // Its queue
  output logic [31:0]                   id_o,
  output logic                          asks_o,
  input  logic                          found_i,
  input  logic                          here_i,
  input  logic                          absent_i,
  input  logic                          coming_i,
  input  logic                          free_i,
  input  logic                          has_reads_i,
  input  rxnic_link_pkg::stored_queue_t queue_i,
  output logic                          uses_o,
  output logic                          dirty_o,
  output logic                          places_o,
  output logic                          destroying_o,
  output logic                          removes_o,
  output logic                          forgets_o,
  output logic                          keeps_o,
  output rxnic_link_pkg::stored_queue_t queue_o,
  output logic                          frees_o,         // its prefetch context
  // Besides
  output logic                          makes_o,         // a number that there has not been
  output logic [31:0]                   made_o,          // so many numbers there are now
  output logic                          ends_flush_o,    // what is to be flushed of its queue is not
  output logic                          forgets_message_o,
  output logic                          holds_back_o     // until the doorbells in front have rung
);

  localparam int unsigned NumberBits = Numbers > 1 ? $clog2(Numbers) : 1;
  localparam logic [31:0] MostSlots = 32'h0100_0000;
  localparam logic [31:0] MostListed = 32'h0001_0000;
  localparam logic [15:0] MostStride = 16'd4096;

  // verilator coverage_off
  logic [NumberBits-1:0] free_numbers_q [Numbers];
  // verilator coverage_on
  logic new_q, new_1;  // a queue is being made: it waits for a line
  logic [31:0] new_number_q, new_number_1, made_q, free_count_q, free_count_1;
  logic [31:0] ahead_q;  // most doorbells that have come before the command at hand
  logic [63:0] left_q;   // packets that have left
  logic considered, creates, sets_up, destroys, changes, arms, resets, queries, valid, takes_number, makes, exists;
  logic done;
  logic [31:0] slots;
  logic [15:0] stride;
  rxnic_link_pkg::stored_queue_t made, cleared;
  rxnic_link_pkg::wq_reply_t reply;

  assign considered = commands_valid_i && command_replies_ready_i;
  assign sets_up = commands_i.operation == rxnic_link_pkg::WqOperationSetUp;
  assign creates = considered && (sets_up || commands_i.operation == rxnic_link_pkg::WqOperationCreate);
  assign destroys = considered && commands_i.operation == rxnic_link_pkg::WqOperationDestroy;
  assign queries = commands_i.operation == rxnic_link_pkg::WqOperationQuery;
  assign arms = commands_i.operation == rxnic_link_pkg::WqOperationArmLimit;
  assign resets = commands_i.operation == rxnic_link_pkg::WqOperationReset;
  assign holds_back_o = considered && !creates && !destroys && !queries && doorbell_i && ahead_q != '0;

  // Attributes of a queue
  always_comb begin : describe
    slots = commands_i.slots;
    stride = commands_i.stride[15:0];
    made = '0;
    made.kind = commands_i.is_srq ? rxnic_link_pkg::WqKindSrq : rxnic_link_pkg::WqKindRq;
    made.layout = commands_i.linked_list ? rxnic_link_pkg::WqLayoutLinkedList : rxnic_link_pkg::WqLayoutCyclic;
    made.tag_matching = commands_i.tag_matching;
    made.valid = 1'b1;
    made.number = commands_i.number;
    made.base = commands_i.base;
    made.slots = slots;
    made.stride = stride;
    made.first_wqe = commands_i.first_wqe[15:0];
    made.pd = commands_i.pd;
    made.cq = commands_i.cq;
    made.xrcd = commands_i.xrcd;
    made.limit = commands_i.limit;
    valid = slots != '0 && (slots & (slots - 32'd1)) == '0 &&
            slots <= (commands_i.linked_list ? MostListed : MostSlots) && !(commands_i.linked_list && slots < 32'd2) &&
            stride >= 16'd32 && stride <= MostStride && (stride & (stride - 16'd1)) == '0;
  end

  // Numbers: the one that became free last, or a new one
  assign makes = creates && (new_q || valid);
  assign takes_number = makes && !new_q;
  assign makes_o = takes_number && free_count_q == '0;
  assign made_o = made_q + 32'(makes_o);
  assign new_number_1 = !takes_number ? new_number_q : free_count_q == '0 ? made_q :
                        32'(free_numbers_q[free_count_q[NumberBits-1:0] - NumberBits'(1)]);
  assign free_count_1 = free_count_q - 32'(takes_number && free_count_q != '0) + 32'(removes_o);
  assign id_o = makes ? new_number_1 : commands_i.queue_;

  // (R18) When its set has no free line, the context is read as if it existed: another one is evicted for it.
  assign places_o = makes && (found_i || (!coming_i && free_i));
  assign asks_o = (makes && !places_o && !sets_up) || (considered && !creates && !destroys && !holds_back_o);
  // (R18) Waits while reads of its WQEs, its context or another request for one are on their way.
  assign exists = commands_i.queue_ < made_q;
  assign destroying_o = destroys && exists;
  assign removes_o = destroying_o && !(found_i && has_reads_i) && idle_i && !coming_i;

  // The queue is here, or there is none
  assign changes = asks_o && !creates && (here_i || absent_i);
  assign uses_o = changes && here_i;
  assign dirty_o = creates ? !sets_up : arms || resets;
  assign frees_o = (uses_o && resets) || (destroying_o && found_i);
  assign ends_flush_o = destroys || (uses_o && !arms && !queries);
  assign forgets_message_o = changes && commands_i.line != wqe_pkg::NoLine && message_slot_i != wqe_pkg::NoSlot;
  assign forgets_o = holds_back_o || changes || (makes && (places_o || sets_up || absent_i));
  assign keeps_o = places_o || (uses_o && (arms || resets));

  always_comb begin : record
    cleared = makes ? made : queue_i;
    cleared.producer = '0;
    cleared.taken = '0;
    cleared.next_slot = cleared.layout == rxnic_link_pkg::WqLayoutLinkedList
                            ? 32'(cleared.first_wqe) & (cleared.slots - 32'd1) : '0;
    cleared.failed = 1'b0;
    queue_o = queue_i;
    if (makes || resets) queue_o = cleared;
    else queue_o.limit = commands_i.limit;
  end

  always_comb begin : answer
    done = changes || (creates && !makes) || (makes && (places_o || sets_up)) || (destroys && (!exists || removes_o));
    reply = '0;
    reply.ok = 1'b1;
    reply.queue_ = wqe_pkg::NoWq;
    if (creates) reply.ok = makes;
    if (makes) reply.queue_ = new_number_1;
    if (changes) begin
      reply.ok = here_i;
      if (here_i && queries) begin
        reply.limit = queue_i.limit;
        reply.posted = queue_i.producer - queue_i.taken;
      end else if (here_i && !arms) begin
        reply.packets = left_q;
      end
    end
    new_1 = makes && !(places_o || sets_up);
    commands_ready_o = done;
    command_replies_valid_o = done;
    command_replies_o = reply;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      {new_q, new_number_q, made_q, free_count_q, left_q} <= '0;
      ahead_q <= DoorbellDepth;
    end else begin
      if (creates) new_q <= new_1;
      new_number_q <= new_number_1;
      made_q <= made_o;
      free_count_q <= free_count_1;
      ahead_q <= !commands_valid_i || done ? DoorbellDepth : rings_2_i && ahead_q != '0 ? ahead_q - 32'd1 : ahead_q;
      left_q <= left_q + 64'(leaves_i);
    end
  end

  always_ff @(posedge clk_i) begin : memory
    if (removes_o) free_numbers_q[free_count_q[NumberBits-1:0]] <= commands_i.queue_[NumberBits-1:0];
  end

endmodule : wqe_command
