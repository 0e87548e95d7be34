// SPDX-License-Identifier: Apache-2.0
// What one step changes of the prefetch contexts: T R2 of model/core/receive_queue/work_queue_table.h. Those that are
// bound to a queue are a list in the order in which they were used, the others a stack. A step frees one, uses one or
// binds one; one that it uses is the newest then. When it uses a queue that has none and there is no free one, the
// oldest goes to that queue. No state in here: `_i` is what the steps before have left, `_o` what this one leaves, or
// writes.
module wqe_bind #(
  parameter int unsigned Queues      = 1,
  parameter int unsigned ContextBits = Queues > 1 ? $clog2(Queues) : 1,
  parameter int unsigned CountBits   = $clog2(Queues + 1)
) (
  input  logic                   has_i,           // the queue has context_i
  input  logic [ContextBits-1:0] context_i,
  input  logic                   frees_i,         // it shall have none
  input  logic                   uses_i,
  input  logic                   binds_i,         // one that is free, as the oldest
  output logic                   binds_o,         // the queue gets context_o, which it has not had
  output logic                   takes_o,         // ... from another one
  output logic [ContextBits-1:0] context_o,
  // The ends of the list, and of what goes from its place the one before and the one behind
  input  logic [ContextBits-1:0] newest_i,
  input  logic [ContextBits-1:0] oldest_i,
  output logic [ContextBits-1:0] newest_o,
  output logic [ContextBits-1:0] oldest_o,
  output logic [ContextBits-1:0] goes_o,
  input  logic [ContextBits-1:0] newer_i,
  input  logic [ContextBits-1:0] older_i,
  // Those close up: newer_i is newer than older_i
  output logic                   cuts_newer_o,    // write it as newer
  output logic                   cuts_older_o,    // write the other one as older
  // context_o is newer than next_older_o, or older than next_newer_o
  output logic                   links_newest_o,
  output logic                   links_oldest_o,
  output logic                   has_next_o,      // ... than any
  output logic [ContextBits-1:0] next_o,
  // The stack: the one on top, and whether goes_o comes on top
  input  logic [CountBits-1:0]   free_count_i,
  output logic [CountBits-1:0]   free_count_o,
  input  logic [ContextBits-1:0] top_i,
  output logic                   pushes_o
);

  logic [ContextBits-1:0] newest, oldest;
  logic unlinks;

  always_comb begin : decide
    binds_o = !has_i && (uses_i || (binds_i && free_count_i != '0));
    takes_o = binds_o && free_count_i == '0;
    pushes_o = frees_i && has_i;
    unlinks = takes_o || pushes_o || (uses_i && has_i && context_i != newest_i);
    goes_o = takes_o ? oldest_i : context_i;
    context_o = !binds_o ? context_i : takes_o ? oldest_i : top_i;
    links_newest_o = uses_i && (binds_o || unlinks);
    links_oldest_o = binds_i && binds_o;
    free_count_o = free_count_i + CountBits'(pushes_o) - CountBits'(binds_o && !takes_o);
    has_next_o = !(binds_o && 32'(free_count_i) + 32'(takes_o) == Queues);  // another one is bound
  end

  always_comb begin : ends
    cuts_newer_o = unlinks && goes_o != oldest_i;
    cuts_older_o = unlinks && goes_o != newest_i;
    newest = unlinks && goes_o == newest_i ? older_i : newest_i;
    oldest = unlinks && goes_o == oldest_i ? newer_i : oldest_i;
    next_o = links_oldest_o ? oldest : newest;
    newest_o = links_newest_o || (links_oldest_o && !has_next_o) ? context_o : newest;
    oldest_o = links_oldest_o || (links_newest_o && !has_next_o) ? context_o : oldest;
  end

endmodule : wqe_bind
