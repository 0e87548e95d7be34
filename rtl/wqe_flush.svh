// SPDX-License-Identifier: Apache-2.0
// The flush of RQs in the error state (R9 of srq_wqe_fetcher).

rxnic_link_pkg::flush_request_t flush_q, flush_d;  // the request at hand, when `flush_asked`
logic flush_asked_q, flush_asked_d, flush_turn_q, flush_turn_d;
logic [31:0] flush_queue_q, flush_queue_d;         // NoWq: none
logic [$clog2(ContextLines+1)-1:0] flushes_here;   // requests that wait
logic [QpLineBits:0] flush_count, flush_count_d;
logic [FlushBits-1:0] first_flush;
logic flush_request_taken, flush_request_leaves;
logic [LateFlushes*32-1:0] late_flushes_q, late_flushes_d;
logic [31:0] late_count_q, late_count_d;
logic will_be_flushed, flush_moves, flush_waits;
logic frees_late;  // an entry of late_flushes
// What is written of the requests that wait for a queue: by a command, a request, a flush.
logic [2:0] pending_w;
logic [3*NumberBits-1:0] pending_at;
logic [3*(QpLineBits+1)-1:0] pending_as;
logic [QpLineBits:0] pending;

task automatic get_pending(input logic [NumberBits-1:0] queue);
  pending = pending_q[queue];
  for (int unsigned k = 0; k < 3; k++) begin
    if (pending_w[k] && pending_at[k*NumberBits+:NumberBits] == queue) begin
      pending = pending_as[k*(QpLineBits+1)+:QpLineBits+1];
    end
  end
endtask
task automatic put_pending(input int unsigned k, input logic [31:0] queue, input logic [QpLineBits:0] count);
  for (int unsigned n = 0; n < 3; n++) begin
    if (n == k && queue < made_d) begin
      pending_w[n] = 1'b1;
      pending_at[n*NumberBits+:NumberBits] = queue[NumberBits-1:0];
      pending_as[n*(QpLineBits+1)+:QpLineBits+1] = count;
    end
  end
endtask

task automatic find_flush(input logic [31:0] queue);
  get_pending(queue[NumberBits-1:0]);
  will_be_flushed = flush_queue_d == queue || (queue < made_d && pending != '0);
  for (int unsigned n = 0; n < LateFlushes; n++) begin
    if (32'(n) < late_count_d && late_flushes_d[n*32+:32] == queue) will_be_flushed = 1'b1;
  end
endtask

task automatic push_late(input logic [31:0] queue);
  for (int unsigned n = 0; n < LateFlushes; n++) begin
    if (32'(n) == late_count_d) late_flushes_d[n*32+:32] = queue;
  end
  late_count_d = late_count_d + 32'd1;
  late_flush = 1'b1;
endtask

task automatic forget_flush(input logic [31:0] queue);
  logic passed;
  passed = 1'b0;
  for (int unsigned n = 0; n < LateFlushes; n++) begin
    if (32'(n) < late_count_d && late_flushes_d[n*32+:32] == queue) passed = 1'b1;
    if (passed && n + 1 < LateFlushes) late_flushes_d[n*32+:32] = late_flushes_d[(n+1)%LateFlushes*32+:32];
  end
  if (passed) late_count_d = late_count_d - 32'd1;
  for (int unsigned a = 0; a < Askers; a++) begin
    if (a == Flush && wait_numbers_d[a*24+:24] == queue[23:0]) waits_d[a] = 1'b0;
  end
  if (flush_queue_d == queue && !flush_asked_d) flush_queue_d = NoWq;
endtask

// Requests of a QP that is in the error state are refused from now on.
task automatic take_flush_request();
  logic asks;
  refuse_requests(flushes_i.line[QpLineBits-1:0], flushes_i.residence);
  asks = !flushes_i.uses_srq && flushes_i.receive_queue != NoWq;
  if (asks) look_up(FlushAsker, flushes_i.receive_queue, StepRequest);
  flushes_ready_o = !(asks && look_waits);
  if (flushes_ready_o) begin
    if (asks) begin
      forget(FlushAsker);
      if (look_here) begin
        get_queue(line_at);
        use_line(q.kind == rxnic_link_pkg::WqKindRq);
        put_row(StepRequest);
        if (q.kind == rxnic_link_pkg::WqKindRq) begin
          q.failed = 1'b1;
          q.flush_cq = flushes_i.receive_cq;
          put_queue(StepRequest);
          unbind(line_at);
        end
      end
    end
    flush_request_taken = 1'b1;
    flush_count_d = flush_count_d + (QpLineBits + 1)'(1);
    get_pending(flushes_i.receive_queue[NumberBits-1:0]);
    put_pending(1, flushes_i.receive_queue, pending + (QpLineBits + 1)'(1));
    put_open(0, flushes_i.line[QpLineBits-1:0], flush_context_i);
  end
endtask

task automatic next_flush();
  if (flush_count_d != '0) begin
    flush_d = flush_count == '0 ? flushes_i : first_flush;
    flush_asked_d = 1'b1;
    flush_queue_d = flush_d.receive_queue;
    flush_count_d = flush_count_d - (QpLineBits + 1)'(1);
    flush_request_leaves = 1'b1;
    get_pending(flush_queue_d[NumberBits-1:0]);
    put_pending(2, flush_queue_d, pending - (QpLineBits + 1)'(1));
  end else if (late_count_d != '0) begin
    flush_queue_d = late_flushes_d[31:0];
    late_flushes_d = late_flushes_d >> 32;
    late_count_d = late_count_d - 32'd1;
    frees_late = 1'b1;
  end
endtask

// The packet of a flushed WQE.
task automatic describe_flush();
  p = '0;
  p.buffer = '1;
  p.role = rxnic_link_pkg::PacketRoleFlush;
  p.outcome = rxnic_link_pkg::OutcomeDrop;
  p.status = rxnic_link_pkg::WcStatusFlushed;
  p.transport = rxnic_link_pkg::TransportNone;
  p.line = NoLine;
  p.wqe_slot = NoSlot;
  p.cqe_opcode = rxnic_link_pkg::CqeOpcodeReceive;
  p.completes = 1'b1;
  p.ends_message = 1'b1;
  p.queue_ = flush_queue_d;
  p.receive_queue = NoWq;
  if (flush_asked_d) begin
    p.line = flush_d.line;
    p.residence = flush_d.residence;
    p.transport = flush_d.transport;
    p.uses_srq = flush_d.uses_srq;
    p.receive_queue = flush_d.receive_queue;
    p.cq = flush_d.receive_cq;
    p.qpn = flush_d.qpn;
  end else begin
    p.cq = q.flush_cq;
    p.qpn = q.number[23:0];
  end
endtask

task automatic finish_flush();
  if (flush_asked_d && flush_d.uses_srq) begin
    flush_queue_d = NoWq;
    describe_flush();
    p.role = rxnic_link_pkg::PacketRoleLastWqe;
    p.status = rxnic_link_pkg::WcStatusSuccess;
    p.completes = 1'b0;
    p.ends_message = 1'b0;
    leave();  // with the pin of the request
  end else if (flush_asked_d) begin
    pins_valid_o = 1'b1;
    pins_o = {flush_d.line, 1'b0};
  end
  flush_queue_d = NoWq;
  flush_asked_d = 1'b0;
endtask

// Sends one flushed WQE, or ends a flush. `flush_moves`: something was done.
task automatic flush_one(input int unsigned step);
  logic has_open, of_rq;
  flush_moves = 1'b0;
  flush_waits = 1'b0;
  if (flush_queue_d == NoWq && !flush_asked_d) next_flush();
  if (flush_queue_d != NoWq || flush_asked_d) begin
    has_open = 1'b0;
    of_rq = 1'b0;
    q = '0;
    if (flush_asked_d) begin
      get_open(flush_d.line[QpLineBits-1:0]);
      has_open = open_wqe.wqe_slot != NoSlot;
    end
    if (flush_queue_d != NoWq) begin
      look_up(Flush, flush_queue_d, step);
      flush_waits = look_waits;
      if (!look_waits) begin
        forget(Flush);
        if (look_here) begin
          get_queue(line_at);
          of_rq = q.failed && q.producer != q.taken;
          use_line(of_rq && !has_open);
          put_row(step);
        end
      end
    end
    if (!flush_waits) begin
      flush_moves = 1'b1;
      if (!has_open && !of_rq) begin
        finish_flush();
      end else begin
        describe_flush();
        if (has_open) begin
          end_open_wqe();
          keep_open_wqe(p.line);
        end else begin
          p.wqe_index = q.taken & (q.slots - 32'd1);
          q.taken = q.taken + 32'd1;
          put_queue(StepFlush);
        end
        flushes_wqe = 1'b1;
        if (flush_asked_d) begin
          pins_valid_o = 1'b1;
          pins_o = {p.line, 1'b1};
        end
        leave();
      end
    end
  end
endtask
