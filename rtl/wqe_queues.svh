// SPDX-License-Identifier: Apache-2.0
// The work queues: doorbells, what packets take, which queues have a prefetch context.
// model/core/receive_queue/work_queue_table.h (T). The queue at hand is `q` of `queue_line`.

// Prefetch contexts in the order of use; a place of 16 bits for each.
localparam int unsigned LinkBits = 16 << ContextBits;
logic [(1<<ContextBits)-1:0] bound_q, bound_d, lined_q, lined_d;  // it serves a queue; it is in the line for a read
logic [LinkBits-1:0] newer_q, newer_d, older_q, older_d, free_contexts_q, free_contexts_d;
logic [15:0] newest_q, newest_d, oldest_q, oldest_d, free_count_q, free_count_d;
// The line for reads
logic [$clog2(Queues+1)-1:0] lined_here;
logic [15:0] line_size, line_size_d;
logic [ContextBits-1:0] first_in_line;
logic line_moves;
logic [3:0] line_pushes;
// verilator lint_off UNUSEDSIGNAL
logic [8*16-1:0] line_pushed;
// verilator lint_on UNUSEDSIGNAL
logic [8*ContextBits-1:0] line_words;
logic supply_none, supply_ready;
logic reaches_limit;

function automatic logic [15:0] link_of(input logic [LinkBits-1:0] links, input logic [15:0] c);
  // verilator lint_off UNUSEDSIGNAL
  logic [15:0] n;
  // verilator lint_on UNUSEDSIGNAL
  n = c;
  link_of = links[{n[ContextBits-1:0], 4'd0}+:16];
endfunction

task automatic line_up(input logic [ContextBits-1:0] c);
  if (!lined_d[c] && bound_d[c]) begin
    lined_d[c] = 1'b1;
    line_pushed[{line_pushes[2:0], 4'd0}+:16] = 16'(c);
    line_pushes = line_pushes + 4'd1;
  end
endtask

task automatic unlink(input logic [ContextBits-1:0] c);
  logic [15:0] up, down;
  up = link_of(newer_d, 16'(c));
  down = link_of(older_d, 16'(c));
  if (up == NoContext) newest_d = down;
  else older_d[{up[ContextBits-1:0], 4'd0}+:16] = down;
  if (down == NoContext) oldest_d = up;
  else newer_d[{down[ContextBits-1:0], 4'd0}+:16] = up;
endtask

task automatic link_newest(input logic [ContextBits-1:0] c);
  newer_d[{c, 4'd0}+:16] = NoContext;
  older_d[{c, 4'd0}+:16] = newest_d;
  if (newest_d == NoContext) oldest_d = 16'(c);
  else newer_d[{newest_d[ContextBits-1:0], 4'd0}+:16] = 16'(c);
  newest_d = 16'(c);
endtask

task automatic link_oldest(input logic [ContextBits-1:0] c);
  older_d[{c, 4'd0}+:16] = NoContext;
  newer_d[{c, 4'd0}+:16] = oldest_d;
  if (oldest_d == NoContext) newest_d = 16'(c);
  else older_d[{oldest_d[ContextBits-1:0], 4'd0}+:16] = 16'(c);
  oldest_d = 16'(c);
endtask

task automatic release_context(input logic [ContextBits-1:0] c);
  bound_d[c] = 1'b0;
  unlink(c);
  free_contexts_d[{free_count_d[ContextBits-1:0], 4'd0}+:16] = 16'(c);
  free_count_d = free_count_d + 16'd1;
endtask

task automatic unbind(input logic [LineBits-1:0] line);
  find_context(line);
  if (has_context) release_context(context_at);
endtask

// (T R2) For the queue at hand; false: there is no free one, and none may be taken from another queue.
task automatic bind_context(input int unsigned step, input logic may_evict);
  has_context = may_evict || free_count_d != '0;
  if (has_context) begin
    if (free_count_d == '0) begin
      takes_context = 1'b1;
      release_context(oldest_d[ContextBits-1:0]);
    end
    free_count_d = free_count_d - 16'd1;
    context_at = free_contexts_d[{free_count_d[ContextBits-1:0], 4'd0}+:ContextBits];
    bound_d[context_at] = 1'b1;
    epoch_d = epoch_d + 32'd1;
    x.owner = queue_line;
    x.linked = q.layout == rxnic_link_pkg::WqLayoutLinkedList;
    x.mask = 24'(q.slots - 32'd1);
    x.stride = q.stride[12:0];
    x.taken = 1'b0;
    x.window = Greedy ? 9'(PrefetchDepth) : may_evict ? 9'd0 : 9'(WqesPerRead);
    x.first = q.taken;
    x.confirmed = q.taken;
    x.fetch = q.taken;
    x.fetch_slot = x.linked ? q.next_slot[23:0] : q.taken[23:0] & x.mask;
    x.epoch = epoch_d;
    put_context(step);
    contexts_of_w[step] = 1'b1;
    contexts_of_at[step*LineBits+:LineBits] = queue_line;
    contexts_of_as[step*ContextBits+:ContextBits] = context_at;
    if (may_evict) link_newest(context_at);
    else link_oldest(context_at);
    line_up(context_at);
  end
endtask

task automatic use_context(input int unsigned step);
  find_context(queue_line);
  if (!has_context) begin
    bind_context(step, 1'b1);
  end else if (16'(context_at) != newest_d) begin
    unlink(context_at);
    link_newest(context_at);
  end
endtask

// (T R1) A doorbell. `changes`: it was not refused.
task automatic post(output logic changes);
  logic [31:0] room;
  room = q.slots - (q.layout == rxnic_link_pkg::WqLayoutLinkedList ? 32'd1 : 32'd0);
  changes = doorbells_i.value - q.taken >= q.producer - q.taken && doorbells_i.value - q.taken <= room;
  if (changes) begin
    q.producer = doorbells_i.value;
    put_queue(StepDoorbell);
    if (!q.failed && q.producer != q.taken) begin
      find_context(queue_line);
      if (!has_context) bind_context(StepDoorbell, 1'b0);
      if (has_context) line_up(context_at);
    end
  end
endtask

// A packet that is near will need a WQE of the queue in `line_at`.
task automatic ask(input int unsigned step);
  get_asked(line_at);
  asked = asked + 11'd1;
  put_asked(step, line_at);
  get_queue(line_at);
  if (!q.failed && q.producer != q.taken) begin
    use_context(step);
    line_up(context_at);
  end
endtask

// It has taken one, or needs none any more.
task automatic serve_asked(input logic [31:0] id);
  find(id);
  if (here) begin
    get_asked(line_at);
    if (asked != '0) begin
      asked = asked - 11'd1;
      put_asked(StepPacket, line_at);
    end
  end
endtask

// For the packet that leaves; the queue is at hand.
task automatic get_supply(input logic is_here);
  supply_ready = 1'b0;
  supply_none = !is_here || q.failed || q.producer == q.taken;
  if (!supply_none) begin
    use_context(StepPacket);
    supply_ready = x.first != x.confirmed;
  end
endtask

// (T R4)
task automatic get_limit();
  reaches_limit = q.limit != '0 && q.producer - q.taken - 32'd1 < q.limit;
endtask

task automatic take_front();
  if (reaches_limit) q.limit = '0;
  q.taken = q.taken + 32'd1;
  q.next_slot = 32'(entry.next);
  put_queue(StepPacket);
  x.taken = 1'b1;
  x.first = x.first + 32'd1;
  put_context(StepPacket);
  line_up(context_at);
endtask
