// SPDX-License-Identifier: Apache-2.0
// Commands (R17, R18) and doorbells (R9, R14, R16) of srq_wqe_fetcher.

logic new_q, new_d;                         // a queue is being created: it waits for a line
logic [31:0] new_number_q, new_number_d;
logic [31:0] free_number_count_q, free_number_count_d;
logic free_number_w;
logic [31:0] ahead_q, ahead_d;              // most doorbells that have come before the command at hand
logic late_q, late_d;                       // (R16)
logic [63:0] left_q, left_d;                // packets that have left
logic command_done, command_waits, rung;
logic places, destroys, forgets_message, holds_back, no_room;
rxnic_link_pkg::wq_reply_t reply;
rxnic_link_pkg::stored_queue_t made;

localparam logic [31:0] MostSlots = 32'h0100_0000;
localparam logic [31:0] MostListed = 32'h0001_0000;

task automatic carry_out_command();
  reply = '0;
  reply.ok = 1'b1;
  reply.queue_ = NoWq;
  command_done = 1'b0;
  case (commands_i.operation)
    rxnic_link_pkg::WqOperationCreate, rxnic_link_pkg::WqOperationSetUp: create();
    rxnic_link_pkg::WqOperationDestroy: destroy();
    default: begin
      if (commands_i.operation != rxnic_link_pkg::WqOperationQuery && doorbells_valid_i && ahead_q != '0) begin
        holds_back = 1'b1;
        forget(Command);
      end else begin
        look_up(Command, commands_i.queue_, StepCommand);
        if (!look_waits) change();
      end
    end
  endcase
  command_waits = !command_done;
  commands_ready_o = command_done;
  command_replies_valid_o = command_done;
endtask

// For a queue that is here, or for none. The message at hand on the QP's line is forgotten.
task automatic change();
  command_done = 1'b1;
  if (commands_i.line != NoLine && command_context_i.wqe_slot != NoSlot) begin
    forgets_message = 1'b1;
    release_slot(0, command_context_i.wqe_slot);
    open_d = open_d - 32'd1;
  end
  forget(Command);
  reply.ok = look_here;
  if (look_here) begin
    get_queue(line_at);
    use_line(commands_i.operation == rxnic_link_pkg::WqOperationArmLimit ||
             commands_i.operation == rxnic_link_pkg::WqOperationReset);
    put_row(StepCommand);
    case (commands_i.operation)
      rxnic_link_pkg::WqOperationQuery: begin
        reply.limit = q.limit;
        reply.posted = q.producer - q.taken;
      end
      rxnic_link_pkg::WqOperationArmLimit: begin
        q.limit = commands_i.limit;
        put_queue(StepCommand);
      end
      default: begin
        if (commands_i.operation == rxnic_link_pkg::WqOperationReset) begin
          unbind(line_at);
          clear_queue();
          put_queue(StepCommand);
        end
        forget_flush(commands_i.queue_);
        reply.packets = left_q;
      end
    endcase
  end
endtask

task automatic clear_queue();
  q.producer = '0;
  q.taken = '0;
  q.next_slot = q.layout == rxnic_link_pkg::WqLayoutLinkedList ? 32'(q.first_wqe) & (q.slots - 32'd1) : '0;
  q.failed = 1'b0;
endtask

// `reply.ok`: the attributes are valid.
task automatic describe_queue();
  logic [31:0] slots;
  logic [15:0] stride;
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
  reply.ok = slots != '0 && (slots & (slots - 32'd1)) == '0 &&
             slots <= (commands_i.linked_list ? MostListed : MostSlots) && !(commands_i.linked_list && slots < 32'd2) &&
             stride >= 16'd32 && stride <= 16'(MaxStride) && (stride & (stride - 16'd1)) == '0;
endtask

// (R18) When its set has no free line, the context is read as if it existed: another one is evicted for it.
task automatic create();
  logic sets_up;
  sets_up = commands_i.operation == rxnic_link_pkg::WqOperationSetUp;
  describe_queue();
  command_done = !new_d && !reply.ok;
  if (!command_done) begin
    reply.ok = 1'b1;
    if (!new_d) begin
      new_d = 1'b1;
      if (free_number_count_d != '0) begin
        free_number_count_d = free_number_count_d - 32'd1;
        new_number_d = 32'(free_numbers_q[free_number_count_d[NumberBits-1:0]]);
      end else begin
        new_number_d = made_d;
        made_d = made_d + 32'd1;
        share = '0;
        put_share(0, new_number_d);
        put_pending(0, new_number_d, '0);
      end
    end
    find(new_number_d);
    places = found || (!coming && has_free);
    if (places) begin
      if (!found) begin
        way_at = free_way;
        line_at = line_of(set_at, way_at);
        touch();
        settle(StepCommand, line_at);
      end
      get_way();
      way.state = context_cache_pkg::LineHere;
      way.number = new_number_d[23:0];
      way.dirty = !sets_up;
      way.ahead = 1'b0;
      set_way();
      put_row(StepCommand);
      get_queue(line_at);
      q = made;
      clear_queue();
      put_queue(StepCommand);
    end else if (!sets_up) begin
      look_up(Command, new_number_d, StepCommand);
      if (look_absent) forget(Command);
    end
    if (places || sets_up) begin
      forget(Command);
      reply.queue_ = new_number_d;
      new_d = 1'b0;
      command_done = 1'b1;
    end
  end
endtask

// (R18) Waits while reads of its WQEs, its context or another request for one are on their way.
task automatic destroy();
  forget_flush(commands_i.queue_);
  command_done = commands_i.queue_ >= made_d;
  if (!command_done) begin
    find(commands_i.queue_);
    closing_d = 1'b0;
    if (found) begin
      unbind(line_at);
      get_reads(line_at);
      closing_d = reads != '0;
      closing_line_d = line_at;
    end
    if (!closing_d && request_count == '0 && request_pushes == '0 && !coming) begin
      destroys = 1'b1;
      command_done = 1'b1;
      if (found) begin
        get_way();
        way.state = context_cache_pkg::LineEmpty;
        set_way();
        put_row(StepCommand);
      end
      push_request(1'b1, commands_i.queue_[23:0], QueueContexts);
      free_number_w = 1'b1;
      free_number_count_d = free_number_count_d + 32'd1;
    end
  end
endtask

task automatic ring();
  logic of_queue, flushed_again, changes;
  of_queue = doorbells_i.kind == rxnic_link_pkg::DoorbellKindSrqLimit ||
             doorbells_i.kind == rxnic_link_pkg::DoorbellKindReceive;
  rung = 1'b1;
  look_here = 1'b0;
  look_waits = 1'b0;
  changes = 1'b0;
  flushed_again = 1'b0;
  if (of_queue) look_up(Doorbell, doorbells_i.number, StepDoorbell);
  if (look_waits) begin
    late_d = 1'b1;  // (R16)
    rung = 1'b0;
  end else begin
    if (look_here) begin
      get_queue(line_at);
      flushed_again = doorbells_i.kind == rxnic_link_pkg::DoorbellKindReceive && q.failed;
    end
    if (flushed_again) find_flush(doorbells_i.number);
    no_room = flushed_again && late_count_d == LateFlushes && !will_be_flushed;
    if (no_room) begin
      rung = 1'b0;
    end else begin
      forget(Doorbell);
      if (look_here) begin
        if (doorbells_i.kind == rxnic_link_pkg::DoorbellKindSrqLimit) begin
          q.limit = doorbells_i.value;
          changes = 1'b1;
          put_queue(StepDoorbell);
        end else begin
          post(changes);
        end
        use_line(changes);
        put_row(StepDoorbell);
        if (flushed_again && changes && q.producer != q.taken && !will_be_flushed) push_late(doorbells_i.number);
      end
    end
  end
  doorbells_ready_o = rung;
endtask
