// SPDX-License-Identifier: Apache-2.0
// Packets of srq_wqe_fetcher: they are taken (R1, R15), get their WQE or wait for it (R4, R13, R16), and leave.

rxnic_link_pkg::wqe_request_t p;            // the packet, or the flushed WQE, that leaves
// verilator lint_off UNUSEDSIGNAL
rxnic_link_pkg::wqe_request_t taken, looked;
// verilator lint_on UNUSEDSIGNAL
rxnic_link_pkg::open_wqe_t open_wqe, kept_wqe, taken_wqe;
logic [PipeCountBits-1:0] packets_here;
logic [31:0] pipe_count, pipe_count_d;
logic [PacketBits-1:0] first_packet;
logic [47:0] first_due;                     // of the oldest packet: when it may leave
logic [47:0] now_q;
logic waiting_q, waiting_d;
logic [31:0] places_q, places_d;            // for rendezvous that are free (R19)
logic takes, is_offered, from_tagged, head_is_ready, packet_leaves, blocked, lacks_slot, lacks_context, moved;
logic leaves_pipe;
logic needs;                                // the packet needs the context of queue `needed`
logic [31:0] needed;
logic [31:0] asks;                          // the queue that it has asked for a WQE of
// WQEs of messages on QPs: what a request brings, what leaves, what a packet brings.
logic [2:0] open_w;
logic [3*QpLineBits-1:0] open_at;
logic [3*OpenBits-1:0] open_as;

task automatic get_open(input logic [QpLineBits-1:0] line);
  open_wqe = open_wqes_q[line];
  for (int unsigned k = 0; k < 3; k++) begin
    if (open_w[k] && open_at[k*QpLineBits+:QpLineBits] == line) open_wqe = open_as[k*OpenBits+:OpenBits];
  end
  kept_wqe = open_wqe;
endtask
task automatic put_open(input int unsigned k, input logic [QpLineBits-1:0] line, input logic [OpenBits-1:0] part);
  for (int unsigned n = 0; n < 3; n++) begin
    if (n == k) begin
      open_w[n] = 1'b1;
      open_at[n*QpLineBits+:QpLineBits] = line;
      open_as[n*OpenBits+:OpenBits] = part;
    end
  end
endtask

// (R20) What the packet or flush at hand leaves of its QP's context.
task automatic keep_open_wqe(input logic [23:0] line);
  if (open_wqe != kept_wqe) begin
    open_d = open_d + 32'(open_wqe.wqe_slot != NoSlot) - 32'(kept_wqe.wqe_slot != NoSlot);
    context_write_valid_o = 1'b1;
    context_write_o = {line, open_wqe};
    put_open(1, line[QpLineBits-1:0], open_wqe);
  end
endtask

// The queue whose context the packet in `looked` needs here. An RQ's QP takes its WQEs from that RQ.
task automatic find_needed();
  needed = NoWq;
  if (looked.role == rxnic_link_pkg::PacketRoleReceived && looked.outcome == rxnic_link_pkg::OutcomeExecute &&
      (looked.takes_wqe || rxnic_pkg::is_send(looked.opcode))) begin
    needed = looked.queue_;
  end else if (looked.acknowledge && !looked.uses_srq && CountsCredits) begin
    needed = looked.receive_queue;
  end
  needs = needed != NoWq;
endtask

// (4) `in` and `tagged` take turns.
task automatic accept();
  takes = pipe_count_d != PipelineDepth && is_offered;
  taken = from_tagged ? tagged_i : in_i;
  in_ready_o = takes && !from_tagged;
  tagged_ready_o = takes && from_tagged;
  if (takes) begin
    if (LooksAhead && taken.takes_wqe && taken.outcome == rxnic_link_pkg::OutcomeExecute) begin  // (R3)
      find(taken.queue_);
      if (here) ask(StepAccept);
    end
    looked = taken;
    find_needed();
    if (needs && taken.line != NoLine) read_ahead(needed);
    if (taken.line != NoLine && !(context_write_valid_o && context_write_o.line == taken.line)) begin
      put_open(2, taken.line[QpLineBits-1:0], from_tagged ? tagged_context_i : context_i);
    end
    pipe_count_d = pipe_count_d + 32'd1;
  end
endtask

task automatic leave();
  if (p.acknowledge && !p.uses_srq && CountsCredits) begin  // (R12)
    find(p.receive_queue);
    if (here) begin
      get_queue(line_at);
      p.posted_wqes = q.producer - q.taken;
    end
  end
  if (p.wqe_slot != NoSlot) begin
    get_slot(p.wqe_slot);
    p.wqe_bytes = slot.bytes;
  end
  out_valid_o = 1'b1;
  left_d = left_d + 64'd1;
endtask

// The oldest packet. `packet_leaves`, or else it waits or is `blocked`.
task automatic serve();
  p = first_packet;
  asks = LooksAhead && p.takes_wqe && p.outcome == rxnic_link_pkg::OutcomeExecute ? p.queue_ : NoWq;
  packet_leaves = 1'b1;
  if (p.line != NoLine) begin
    get_open(p.line[QpLineBits-1:0]);
    decide();
    if (packet_leaves) keep_open_wqe(p.line);
  end
  if (packet_leaves) begin
    leave();
    if (asks != NoWq) serve_asked(asks);
    if (waits_d[Packet] && packet_found_d) begin
      open_line(packet_line_d);
      use_line(1'b0);
      put_row(StepPacket);
    end
    forget(Packet);
    packet_found_d = 1'b0;
    pipe_count_d = pipe_count_d - 32'd1;
    leaves_pipe = 1'b1;
    moved = 1'b1;
    flush_turn_d = 1'b1;
    waiting_d = 1'b0;
  end else if (!blocked && !lacks_context && !lacks_slot) begin
    wants_wqe = 1'b1;
    wanted = p.queue_;
    if (!waiting_q) begin
      note_wait();
      put_context(StepPacket);
      line_up(context_at);
    end
    waiting_d = 1'b1;
  end
endtask

task automatic decide();
  logic received, refused_here;
  received = p.role == rxnic_link_pkg::PacketRoleReceived;
  get_refused(p.line[QpLineBits-1:0], p.residence);
  refused_here = received && !rxnic_pkg::is_response(p.opcode) &&
                 (refused.requests || (refused.has_epoch && refused.epoch == p.epoch) ||
                  (refused.message != '0 && refused.message == p.message_sequence));
  look_here = 1'b0;
  if (refused_here) begin
    give_back();
    if (packet_leaves) squash();
  end else begin
    looked = p;
    find_needed();
    if (needs) begin
      look_up(Packet, needed, StepPacket);
      packet_found_d = look_here;
      packet_line_d = line_at;
      lacks_context = look_waits;
      if (look_here) get_queue(line_at);
    end
    if (lacks_context) begin
      packet_leaves = 1'b0;
    end else begin
      supply_none = 1'b1;
      supply_ready = 1'b0;
      if (waiting_q) get_supply(look_here && needed == p.queue_);
      if (waiting_q && !supply_none && !supply_ready) begin
        packet_leaves = 1'b0;
      end else if (p.role == rxnic_link_pkg::PacketRoleTruncated ||
                   (received && (p.fails_qp || (p.outcome == rxnic_link_pkg::OutcomeDrop && p.completes)))) begin
        use_open_wqe();  // (R6)
      end else if (received && p.outcome == rxnic_link_pkg::OutcomeExecute) begin
        carry_out();
      end
    end
  end
endtask

task automatic carry_out();
  if (p.tag_verdict == rxnic_link_pkg::TagVerdictFailed) begin  // (R10)
    fail_qp(rxnic_link_pkg::DropReasonHostMemory, NakRemoteOperation, rxnic_link_pkg::WcStatusLocalQpOperation);
  end else if (p.tag_verdict == rxnic_link_pkg::TagVerdictMatched) begin
    take_match();
    if (packet_leaves && p.outcome == rxnic_link_pkg::OutcomeExecute) hold();
  end else if (p.takes_wqe) begin
    take_wqe();
    if (packet_leaves && p.outcome == rxnic_link_pkg::OutcomeExecute) hold();
  end else if (rxnic_pkg::is_send(p.opcode)) begin
    p.wqe_slot = open_wqe.wqe_slot;  // (R6)
    if (p.wqe_slot == NoSlot) begin
      fail_qp(rxnic_link_pkg::DropReasonLocalOperation, NakRemoteOperation, rxnic_link_pkg::WcStatusLocalQpOperation);
    end else begin
      hold();
    end
  end
endtask

task automatic take_wqe();
  if (p.transport == rxnic_link_pkg::TransportUc && open_wqe.wqe_slot != NoSlot) begin  // (R7)
    begins_anew = 1'b1;
    p.wqe_slot = open_wqe.wqe_slot;
  end else begin
    get_supply(look_here);
    if (supply_none) begin
      if (!late_d) begin
        refuse(rxnic_link_pkg::DropReasonNoReceiveWqe);  // (R4)
      end else begin                                     // (R16)
        for (int unsigned a = 0; a < Askers; a++) if (a == Packet) yields_d[a] = 1'b1;
        packet_found_d = 1'b0;
        lacks_context = 1'b1;
        packet_leaves = 1'b0;
      end
    end else if (!supply_ready) begin
      packet_leaves = 1'b0;
    end else begin
      look_for_slot(p.queue_);
      if (!slot_free) lack_slot();
      else take_supplied();
    end
  end
endtask

// The front of its queue, unless the event that it raises has no room.
task automatic take_supplied();
  get_limit();
  if (reaches_limit && !events_ready_i) begin
    packet_leaves = 1'b0;
    blocked = 1'b1;
  end else begin
    get_front();
    parse_front();
    if (rxnic_pkg::is_datagram(p.transport) && UdTooLong == rxnic_params_pkg::UdTooLongPolicyDrop && parsed_valid &&
        p.message_bytes + (p.transport == rxnic_link_pkg::TransportUd ? 64'd40 : 64'd0) > 64'(parsed_bytes)) begin
      too_long = 1'b1;  // (R7)
      fail(rxnic_link_pkg::DropReasonMessageTooLong, rxnic_link_pkg::OutcomeDrop, 8'd0,
           rxnic_link_pkg::WcStatusSuccess);
      p.acknowledge = 1'b0;
      p.completes = 1'b0;
    end else begin
      allocate_slot(p.queue_, 32'(entry.slot), parsed_bytes[31:0]);
      write_list(parsed_keeps, parsed_count);
      take_front();
      open_line(queue_line);
      get_way();
      way.dirty = 1'b1;
      set_way();
      put_row(StepPacket);
      if (reaches_limit) begin  // (R8)
        events_valid_o = 1'b1;
        events_o = '0;
        events_o.type_ = rxnic_link_pkg::EventTypeSrqLimitReached;
        events_o.number = q.number[23:0];
      end
      takes_front = 1'b1;
      p.wqe_slot = slot_at;
      p.wqe_index = 32'(entry.slot);
      if (!parsed_valid) begin  // (R5)
        bad_wqe = 1'b1;
        p.releases_wqe = 1'b1;
        fail_qp(rxnic_link_pkg::DropReasonLocalOperation, NakRemoteOperation,
                WqeError == rxnic_params_pkg::WqeErrorStatusLocProt ? rxnic_link_pkg::WcStatusLocalProtection
                                                                    : rxnic_link_pkg::WcStatusLocalQpOperation);
      end
    end
  end
endtask
