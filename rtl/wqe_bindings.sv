// SPDX-License-Identifier: Apache-2.0
// Which queue has which prefetch context (R3): T R2 of model/core/receive_queue/work_queue_table.h. A queue is known by
// the line of its context. One that loses its line, fails or begins anew loses its prefetch context, too. A step sees
// what the steps before it have bound; their numbers are those of srq_wqe_fetcher.
module wqe_bindings #(
  parameter int unsigned Queues        = 1,
  parameter int unsigned QueueContexts = 1,
  parameter int unsigned ContextBits   = Queues > 1 ? $clog2(Queues) : 1,
  parameter int unsigned CountBits     = $clog2(Queues + 1),
  parameter int unsigned Places        = 1 << ContextBits,
  parameter int unsigned LineBits      = QueueContexts > 1 ? $clog2(QueueContexts) : 1
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  output logic [Places-1:0]      bound_o,       // at the beginning of the cycle
  output logic [CountBits-1:0]   free_count_o,
  output logic                   takes_o,       // a queue gets the one of another queue
  // (0) a queue that a packet has asked for
  input  logic                   uses_0_i,
  input  logic [LineBits-1:0]    line_0_i,
  output logic                   binds_0_o,
  output logic [ContextBits-1:0] context_0_o,
  // (1) a command
  input  logic                   frees_1_i,
  input  logic [LineBits-1:0]    line_1_i,
  // (2) a doorbell
  input  logic                   frees_2_i,
  input  logic                   posts_2_i,
  input  logic [LineBits-1:0]    line_2_i,
  output logic                   has_2_o,       // behind it
  output logic                   binds_2_o,
  output logic [ContextBits-1:0] context_2_o,
  // (3) WQEs that have come; a request to flush
  input  logic [ContextBits-1:0] come_3_i,
  output logic                   bound_3_o,
  input  logic                   frees_3_i,
  input  logic [LineBits-1:0]    line_3_i,
  // (4), (6) a flushed WQE
  input  logic                   frees_4_i,
  input  logic [LineBits-1:0]    line_4_i,
  input  logic                   frees_6_i,
  input  logic [LineBits-1:0]    line_6_i,
  // (5) the oldest packet
  input  logic                   frees_5_i,
  input  logic                   uses_5_i,
  input  logic [LineBits-1:0]    line_5_i,
  output logic                   binds_5_o,
  output logic [ContextBits-1:0] context_5_o,
  // (7) a packet that is taken: the queue that it asks, what is read ahead for it
  input  logic                   uses_7a_i,
  input  logic [LineBits-1:0]    line_7a_i,
  output logic                   binds_7a_o,
  output logic [ContextBits-1:0] context_7a_o,
  input  logic                   frees_7_i,
  input  logic [LineBits-1:0]    line_7_i,
  // (8) a read, for a queue or for a prefetch context
  input  logic [LineBits-1:0]    line_8a_i,
  output logic                   has_8a_o,
  output logic [ContextBits-1:0] context_8a_o,
  input  logic [ContextBits-1:0] context_8b_i,
  output logic                   bound_8b_o,
  output logic [LineBits-1:0]    line_8b_o
);

  // The list of those that are bound: what the newest has as newer, and the oldest as older, has no meaning. The stack
  // of the others. A place in these has a power of two of bits.
  localparam int unsigned LinkShift = $clog2(ContextBits);
  localparam int unsigned LinkBits = 1 << LinkShift;
  localparam int unsigned ListBits = Places << LinkShift;
  logic [Places-1:0] bound_q;
  logic [ListBits-1:0] newer_q, older_q, free_q;

  logic [ContextBits-1:0] newest_q, newest_0, newest_1, newest_2, newest_3, newest_4, newest_5, newest_6, newest_7a;
  logic [ContextBits-1:0] newest_7, oldest_q, oldest_0, oldest_1, oldest_2, oldest_3, oldest_4, oldest_5, oldest_6;
  logic [ContextBits-1:0] oldest_7a, oldest_7, of_0, of_1, of_2, of_3, of_4, of_5, of_6, of_7a, of_7, goes_0, goes_1;
  logic [ContextBits-1:0] goes_2, goes_3, goes_4, goes_5, goes_6, goes_7a, goes_7, up_0, up_1, up_2, up_3, up_4, up_5;
  logic [ContextBits-1:0] up_6, up_7a, up_7, down_0, down_1, down_2, down_3, down_4, down_5, down_6, down_7a, down_7;
  logic [ContextBits-1:0] next_0, next_2, next_5, next_7a, top_0, top_2, top_5, top_7a;
  logic [CountBits-1:0] count_q, count_0, count_1, count_2, count_3, count_4, count_5, count_6, count_7a, count_7;
  logic owned_0, owned_1, owned_2, owned_3, owned_4, owned_5, owned_6, owned_7a, owned_7, owned_8a;
  logic has_0, has_1, has_2, has_3, has_4, has_5, has_6, has_7a, has_7, cuts_newer_0, cuts_newer_1, cuts_newer_2;
  logic cuts_newer_3, cuts_newer_4, cuts_newer_5, cuts_newer_6, cuts_newer_7a, cuts_newer_7, cuts_older_0;
  logic cuts_older_1, cuts_older_2, cuts_older_3, cuts_older_4, cuts_older_5, cuts_older_6, cuts_older_7a;
  logic cuts_older_7, pushes_1, pushes_2, pushes_3, pushes_4, pushes_5, pushes_6, pushes_7, has_next_0, has_next_2;
  logic has_next_5, has_next_7a, newest_links_0, newest_links_5, newest_links_7a, oldest_links_2, takes_0, takes_5;
  logic takes_7a;

  function automatic logic [31:0] place(input logic [ContextBits-1:0] c);
    place = 32'(c) << LinkShift;
  endfunction
  // What a step finds: what was written last in the cycle, or what is stored.
  function automatic logic bound_behind_0(input logic [ContextBits-1:0] c);
    bound_behind_0 = (binds_0_o && context_0_o == c) || bound_q[c];
  endfunction
  function automatic logic bound_behind_1(input logic [ContextBits-1:0] c);
    bound_behind_1 = !(pushes_1 && goes_1 == c) && bound_behind_0(c);
  endfunction
  function automatic logic bound_behind_2(input logic [ContextBits-1:0] c);
    bound_behind_2 = (binds_2_o && context_2_o == c) || (!(pushes_2 && goes_2 == c) && bound_behind_1(c));
  endfunction
  function automatic logic bound_behind_3(input logic [ContextBits-1:0] c);
    bound_behind_3 = !(pushes_3 && goes_3 == c) && bound_behind_2(c);
  endfunction
  function automatic logic bound_behind_4(input logic [ContextBits-1:0] c);
    bound_behind_4 = !(pushes_4 && goes_4 == c) && bound_behind_3(c);
  endfunction
  function automatic logic bound_behind_5(input logic [ContextBits-1:0] c);
    bound_behind_5 = (binds_5_o && context_5_o == c) || (!(pushes_5 && goes_5 == c) && bound_behind_4(c));
  endfunction
  function automatic logic bound_behind_6(input logic [ContextBits-1:0] c);
    bound_behind_6 = !(pushes_6 && goes_6 == c) && bound_behind_5(c);
  endfunction
  function automatic logic bound_behind_7a(input logic [ContextBits-1:0] c);
    bound_behind_7a = (binds_7a_o && context_7a_o == c) || bound_behind_6(c);
  endfunction
  function automatic logic bound_behind_7(input logic [ContextBits-1:0] c);
    bound_behind_7 = !(pushes_7 && goes_7 == c) && bound_behind_7a(c);
  endfunction
  function automatic logic [ContextBits-1:0] newer_behind_0(input logic [ContextBits-1:0] c);
    newer_behind_0 = newest_links_0 && has_next_0 && next_0 == c ? context_0_o :
                     cuts_newer_0 && down_0 == c ? up_0 : newer_q[place(c)+:ContextBits];
  endfunction
  function automatic logic [ContextBits-1:0] newer_behind_1(input logic [ContextBits-1:0] c);
    newer_behind_1 = cuts_newer_1 && down_1 == c ? up_1 : newer_behind_0(c);
  endfunction
  function automatic logic [ContextBits-1:0] newer_behind_2(input logic [ContextBits-1:0] c);
    newer_behind_2 = oldest_links_2 && context_2_o == c ? next_2 :
                     cuts_newer_2 && down_2 == c ? up_2 : newer_behind_1(c);
  endfunction
  function automatic logic [ContextBits-1:0] newer_behind_3(input logic [ContextBits-1:0] c);
    newer_behind_3 = cuts_newer_3 && down_3 == c ? up_3 : newer_behind_2(c);
  endfunction
  function automatic logic [ContextBits-1:0] newer_behind_4(input logic [ContextBits-1:0] c);
    newer_behind_4 = cuts_newer_4 && down_4 == c ? up_4 : newer_behind_3(c);
  endfunction
  function automatic logic [ContextBits-1:0] newer_behind_5(input logic [ContextBits-1:0] c);
    newer_behind_5 = newest_links_5 && has_next_5 && next_5 == c ? context_5_o :
                     cuts_newer_5 && down_5 == c ? up_5 : newer_behind_4(c);
  endfunction
  function automatic logic [ContextBits-1:0] newer_behind_6(input logic [ContextBits-1:0] c);
    newer_behind_6 = cuts_newer_6 && down_6 == c ? up_6 : newer_behind_5(c);
  endfunction
  function automatic logic [ContextBits-1:0] newer_behind_7a(input logic [ContextBits-1:0] c);
    newer_behind_7a = newest_links_7a && has_next_7a && next_7a == c ? context_7a_o :
                     cuts_newer_7a && down_7a == c ? up_7a : newer_behind_6(c);
  endfunction
  function automatic logic [ContextBits-1:0] older_behind_0(input logic [ContextBits-1:0] c);
    older_behind_0 = newest_links_0 && context_0_o == c ? next_0 :
                     cuts_older_0 && up_0 == c ? down_0 : older_q[place(c)+:ContextBits];
  endfunction
  function automatic logic [ContextBits-1:0] older_behind_1(input logic [ContextBits-1:0] c);
    older_behind_1 = cuts_older_1 && up_1 == c ? down_1 : older_behind_0(c);
  endfunction
  function automatic logic [ContextBits-1:0] older_behind_2(input logic [ContextBits-1:0] c);
    older_behind_2 = oldest_links_2 && has_next_2 && next_2 == c ? context_2_o :
                     cuts_older_2 && up_2 == c ? down_2 : older_behind_1(c);
  endfunction
  function automatic logic [ContextBits-1:0] older_behind_3(input logic [ContextBits-1:0] c);
    older_behind_3 = cuts_older_3 && up_3 == c ? down_3 : older_behind_2(c);
  endfunction
  function automatic logic [ContextBits-1:0] older_behind_4(input logic [ContextBits-1:0] c);
    older_behind_4 = cuts_older_4 && up_4 == c ? down_4 : older_behind_3(c);
  endfunction
  function automatic logic [ContextBits-1:0] older_behind_5(input logic [ContextBits-1:0] c);
    older_behind_5 = newest_links_5 && context_5_o == c ? next_5 :
                     cuts_older_5 && up_5 == c ? down_5 : older_behind_4(c);
  endfunction
  function automatic logic [ContextBits-1:0] older_behind_6(input logic [ContextBits-1:0] c);
    older_behind_6 = cuts_older_6 && up_6 == c ? down_6 : older_behind_5(c);
  endfunction
  function automatic logic [ContextBits-1:0] older_behind_7a(input logic [ContextBits-1:0] c);
    older_behind_7a = newest_links_7a && context_7a_o == c ? next_7a :
                     cuts_older_7a && up_7a == c ? down_7a : older_behind_6(c);
  endfunction
  function automatic logic [ContextBits-1:0] free_behind_1(input logic [CountBits-1:0] n);
    free_behind_1 = pushes_1 && count_0 == n ? goes_1 : free_q[place(ContextBits'(n))+:ContextBits];
  endfunction
  function automatic logic [ContextBits-1:0] free_behind_2(input logic [CountBits-1:0] n);
    free_behind_2 = pushes_2 && count_1 == n ? goes_2 : free_behind_1(n);
  endfunction
  function automatic logic [ContextBits-1:0] free_behind_3(input logic [CountBits-1:0] n);
    free_behind_3 = pushes_3 && count_2 == n ? goes_3 : free_behind_2(n);
  endfunction
  function automatic logic [ContextBits-1:0] free_behind_4(input logic [CountBits-1:0] n);
    free_behind_4 = pushes_4 && count_3 == n ? goes_4 : free_behind_3(n);
  endfunction
  function automatic logic [ContextBits-1:0] free_behind_5(input logic [CountBits-1:0] n);
    free_behind_5 = pushes_5 && count_4 == n ? goes_5 : free_behind_4(n);
  endfunction
  function automatic logic [ContextBits-1:0] free_behind_6(input logic [CountBits-1:0] n);
    free_behind_6 = pushes_6 && count_5 == n ? goes_6 : free_behind_5(n);
  endfunction

  wqe_owners #(.Queues(Queues), .QueueContexts(QueueContexts)) owners (
    .clk_i, .line_0_i, .context_0_o(of_0), .owned_0_o(owned_0), .binds_0_i(binds_0_o), .bound_0_i(context_0_o),
    .line_1_i, .context_1_o(of_1), .owned_1_o(owned_1), .line_2_i, .context_2_o(of_2), .owned_2_o(owned_2),
    .binds_2_i(binds_2_o), .bound_2_i(context_2_o), .line_3_i, .context_3_o(of_3), .owned_3_o(owned_3), .line_4_i,
    .context_4_o(of_4), .owned_4_o(owned_4), .line_5_i, .context_5_o(of_5), .owned_5_o(owned_5), .binds_5_i(binds_5_o),
    .bound_5_i(context_5_o), .line_6_i, .context_6_o(of_6), .owned_6_o(owned_6), .line_7a_i, .context_7a_o(of_7a),
    .owned_7a_o(owned_7a), .binds_7a_i(binds_7a_o), .bound_7a_i(context_7a_o), .line_7_i, .context_7_o(of_7),
    .owned_7_o(owned_7), .line_8a_i, .context_8a_o, .owned_8a_o(owned_8a), .context_8b_i, .line_8b_o
  );
  // verilator lint_off PINCONNECTEMPTY
  assign has_0 = bound_q[of_0] && owned_0;
  assign up_0 = newer_q[place(goes_0)+:ContextBits];
  assign down_0 = older_q[place(goes_0)+:ContextBits];
  assign top_0 = free_q[place(ContextBits'(count_q - CountBits'(1)))+:ContextBits];
  wqe_bind #(.Queues(Queues)) bind_0 (
    .has_i(has_0), .context_i(of_0), .frees_i(1'b0), .uses_i(uses_0_i), .binds_i(1'b0), .binds_o(binds_0_o),
    .takes_o(takes_0), .context_o(context_0_o), .newest_i(newest_q), .oldest_i(oldest_q), .newest_o(newest_0),
    .oldest_o(oldest_0), .goes_o(goes_0), .newer_i(up_0), .older_i(down_0), .cuts_newer_o(cuts_newer_0),
    .cuts_older_o(cuts_older_0), .links_newest_o(newest_links_0), .links_oldest_o(), .has_next_o(has_next_0),
    .next_o(next_0), .free_count_i(count_q), .free_count_o(count_0), .top_i(top_0), .pushes_o()
  );
  assign has_1 = bound_behind_0(of_1) && owned_1;
  assign up_1 = newer_behind_0(goes_1);
  assign down_1 = older_behind_0(goes_1);
  wqe_bind #(.Queues(Queues)) bind_1 (
    .has_i(has_1), .context_i(of_1), .frees_i(frees_1_i), .uses_i(1'b0), .binds_i(1'b0), .binds_o(), .takes_o(),
    .context_o(), .newest_i(newest_0), .oldest_i(oldest_0), .newest_o(newest_1), .oldest_o(oldest_1), .goes_o(goes_1),
    .newer_i(up_1), .older_i(down_1), .cuts_newer_o(cuts_newer_1), .cuts_older_o(cuts_older_1), .links_newest_o(),
    .links_oldest_o(), .has_next_o(), .next_o(), .free_count_i(count_0), .free_count_o(count_1), .top_i('0),
    .pushes_o(pushes_1)
  );
  assign has_2 = bound_behind_1(of_2) && owned_2;
  assign up_2 = newer_behind_1(goes_2);
  assign down_2 = older_behind_1(goes_2);
  assign top_2 = free_behind_1(count_1 - CountBits'(1));
  wqe_bind #(.Queues(Queues)) bind_2 (
    .has_i(has_2), .context_i(of_2), .frees_i(frees_2_i), .uses_i(1'b0), .binds_i(posts_2_i), .binds_o(binds_2_o),
    .takes_o(), .context_o(context_2_o), .newest_i(newest_1), .oldest_i(oldest_1), .newest_o(newest_2),
    .oldest_o(oldest_2), .goes_o(goes_2), .newer_i(up_2), .older_i(down_2), .cuts_newer_o(cuts_newer_2),
    .cuts_older_o(cuts_older_2), .links_newest_o(), .links_oldest_o(oldest_links_2), .has_next_o(has_next_2),
    .next_o(next_2), .free_count_i(count_1), .free_count_o(count_2), .top_i(top_2), .pushes_o(pushes_2)
  );
  assign has_3 = bound_behind_2(of_3) && owned_3;
  assign up_3 = newer_behind_2(goes_3);
  assign down_3 = older_behind_2(goes_3);
  wqe_bind #(.Queues(Queues)) bind_3 (
    .has_i(has_3), .context_i(of_3), .frees_i(frees_3_i), .uses_i(1'b0), .binds_i(1'b0), .binds_o(), .takes_o(),
    .context_o(), .newest_i(newest_2), .oldest_i(oldest_2), .newest_o(newest_3), .oldest_o(oldest_3), .goes_o(goes_3),
    .newer_i(up_3), .older_i(down_3), .cuts_newer_o(cuts_newer_3), .cuts_older_o(cuts_older_3), .links_newest_o(),
    .links_oldest_o(), .has_next_o(), .next_o(), .free_count_i(count_2), .free_count_o(count_3), .top_i('0),
    .pushes_o(pushes_3)
  );
  assign has_4 = bound_behind_3(of_4) && owned_4;
  assign up_4 = newer_behind_3(goes_4);
  assign down_4 = older_behind_3(goes_4);
  wqe_bind #(.Queues(Queues)) bind_4 (
    .has_i(has_4), .context_i(of_4), .frees_i(frees_4_i), .uses_i(1'b0), .binds_i(1'b0), .binds_o(), .takes_o(),
    .context_o(), .newest_i(newest_3), .oldest_i(oldest_3), .newest_o(newest_4), .oldest_o(oldest_4), .goes_o(goes_4),
    .newer_i(up_4), .older_i(down_4), .cuts_newer_o(cuts_newer_4), .cuts_older_o(cuts_older_4), .links_newest_o(),
    .links_oldest_o(), .has_next_o(), .next_o(), .free_count_i(count_3), .free_count_o(count_4), .top_i('0),
    .pushes_o(pushes_4)
  );
  assign has_5 = bound_behind_4(of_5) && owned_5;
  assign up_5 = newer_behind_4(goes_5);
  assign down_5 = older_behind_4(goes_5);
  assign top_5 = free_behind_4(count_4 - CountBits'(1));
  wqe_bind #(.Queues(Queues)) bind_5 (
    .has_i(has_5), .context_i(of_5), .frees_i(frees_5_i), .uses_i(uses_5_i), .binds_i(1'b0), .binds_o(binds_5_o),
    .takes_o(takes_5), .context_o(context_5_o), .newest_i(newest_4), .oldest_i(oldest_4), .newest_o(newest_5),
    .oldest_o(oldest_5), .goes_o(goes_5), .newer_i(up_5), .older_i(down_5), .cuts_newer_o(cuts_newer_5),
    .cuts_older_o(cuts_older_5), .links_newest_o(newest_links_5), .links_oldest_o(), .has_next_o(has_next_5),
    .next_o(next_5), .free_count_i(count_4), .free_count_o(count_5), .top_i(top_5), .pushes_o(pushes_5)
  );
  assign has_6 = bound_behind_5(of_6) && owned_6;
  assign up_6 = newer_behind_5(goes_6);
  assign down_6 = older_behind_5(goes_6);
  wqe_bind #(.Queues(Queues)) bind_6 (
    .has_i(has_6), .context_i(of_6), .frees_i(frees_6_i), .uses_i(1'b0), .binds_i(1'b0), .binds_o(), .takes_o(),
    .context_o(), .newest_i(newest_5), .oldest_i(oldest_5), .newest_o(newest_6), .oldest_o(oldest_6), .goes_o(goes_6),
    .newer_i(up_6), .older_i(down_6), .cuts_newer_o(cuts_newer_6), .cuts_older_o(cuts_older_6), .links_newest_o(),
    .links_oldest_o(), .has_next_o(), .next_o(), .free_count_i(count_5), .free_count_o(count_6), .top_i('0),
    .pushes_o(pushes_6)
  );
  assign has_7a = bound_behind_6(of_7a) && owned_7a;
  assign up_7a = newer_behind_6(goes_7a);
  assign down_7a = older_behind_6(goes_7a);
  assign top_7a = free_behind_6(count_6 - CountBits'(1));
  wqe_bind #(.Queues(Queues)) bind_7a (
    .has_i(has_7a), .context_i(of_7a), .frees_i(1'b0), .uses_i(uses_7a_i), .binds_i(1'b0), .binds_o(binds_7a_o),
    .takes_o(takes_7a), .context_o(context_7a_o), .newest_i(newest_6), .oldest_i(oldest_6), .newest_o(newest_7a),
    .oldest_o(oldest_7a), .goes_o(goes_7a), .newer_i(up_7a), .older_i(down_7a), .cuts_newer_o(cuts_newer_7a),
    .cuts_older_o(cuts_older_7a), .links_newest_o(newest_links_7a), .links_oldest_o(), .has_next_o(has_next_7a),
    .next_o(next_7a), .free_count_i(count_6), .free_count_o(count_7a), .top_i(top_7a), .pushes_o()
  );
  assign has_7 = bound_behind_7a(of_7) && owned_7;
  assign up_7 = newer_behind_7a(goes_7);
  assign down_7 = older_behind_7a(goes_7);
  wqe_bind #(.Queues(Queues)) bind_7 (
    .has_i(has_7), .context_i(of_7), .frees_i(frees_7_i), .uses_i(1'b0), .binds_i(1'b0), .binds_o(), .takes_o(),
    .context_o(), .newest_i(newest_7a), .oldest_i(oldest_7a), .newest_o(newest_7), .oldest_o(oldest_7), .goes_o(goes_7),
    .newer_i(up_7), .older_i(down_7), .cuts_newer_o(cuts_newer_7), .cuts_older_o(cuts_older_7), .links_newest_o(),
    .links_oldest_o(), .has_next_o(), .next_o(), .free_count_i(count_7a), .free_count_o(count_7), .top_i('0),
    .pushes_o(pushes_7)
  );
  // verilator lint_on PINCONNECTEMPTY
  assign has_2_o = has_2 || binds_2_o;
  assign bound_3_o = bound_behind_2(come_3_i);
  assign takes_o = takes_0 || takes_5 || takes_7a;
  assign has_8a_o = bound_behind_7(context_8a_o) && owned_8a;
  assign bound_8b_o = bound_behind_7(context_8b_i);
  assign {bound_o, free_count_o} = {bound_q, count_q};

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      {newest_q, oldest_q} <= '0;
      bound_q <= '0;
      newer_q <= '0;
      older_q <= '0;
      free_q <= '0;
      for (int unsigned n = 0; n < Queues; n++) free_q[n*LinkBits+:LinkBits] <= LinkBits'(Queues - 1 - n);
      count_q <= CountBits'(Queues);
    end else begin  // in the order of the steps
      {newest_q, oldest_q, count_q} <= {newest_7, oldest_7, count_7};
      if (cuts_newer_0) newer_q[place(down_0)+:LinkBits] <= LinkBits'(up_0);
      if (cuts_older_0) older_q[place(up_0)+:LinkBits] <= LinkBits'(down_0);
      if (binds_0_o) bound_q[context_0_o] <= 1'b1;
      if (newest_links_0) older_q[place(context_0_o)+:LinkBits] <= LinkBits'(next_0);
      if (newest_links_0 && has_next_0) newer_q[place(next_0)+:LinkBits] <= LinkBits'(context_0_o);
      if (pushes_1) bound_q[goes_1] <= 1'b0;
      if (pushes_1) free_q[place(ContextBits'(count_0))+:LinkBits] <= LinkBits'(goes_1);
      if (cuts_newer_1) newer_q[place(down_1)+:LinkBits] <= LinkBits'(up_1);
      if (cuts_older_1) older_q[place(up_1)+:LinkBits] <= LinkBits'(down_1);
      if (pushes_2) bound_q[goes_2] <= 1'b0;
      if (pushes_2) free_q[place(ContextBits'(count_1))+:LinkBits] <= LinkBits'(goes_2);
      if (cuts_newer_2) newer_q[place(down_2)+:LinkBits] <= LinkBits'(up_2);
      if (cuts_older_2) older_q[place(up_2)+:LinkBits] <= LinkBits'(down_2);
      if (binds_2_o) bound_q[context_2_o] <= 1'b1;
      if (oldest_links_2) newer_q[place(context_2_o)+:LinkBits] <= LinkBits'(next_2);
      if (oldest_links_2 && has_next_2) older_q[place(next_2)+:LinkBits] <= LinkBits'(context_2_o);
      if (pushes_3) bound_q[goes_3] <= 1'b0;
      if (pushes_3) free_q[place(ContextBits'(count_2))+:LinkBits] <= LinkBits'(goes_3);
      if (cuts_newer_3) newer_q[place(down_3)+:LinkBits] <= LinkBits'(up_3);
      if (cuts_older_3) older_q[place(up_3)+:LinkBits] <= LinkBits'(down_3);
      if (pushes_4) bound_q[goes_4] <= 1'b0;
      if (pushes_4) free_q[place(ContextBits'(count_3))+:LinkBits] <= LinkBits'(goes_4);
      if (cuts_newer_4) newer_q[place(down_4)+:LinkBits] <= LinkBits'(up_4);
      if (cuts_older_4) older_q[place(up_4)+:LinkBits] <= LinkBits'(down_4);
      if (pushes_5) bound_q[goes_5] <= 1'b0;
      if (pushes_5) free_q[place(ContextBits'(count_4))+:LinkBits] <= LinkBits'(goes_5);
      if (cuts_newer_5) newer_q[place(down_5)+:LinkBits] <= LinkBits'(up_5);
      if (cuts_older_5) older_q[place(up_5)+:LinkBits] <= LinkBits'(down_5);
      if (binds_5_o) bound_q[context_5_o] <= 1'b1;
      if (newest_links_5) older_q[place(context_5_o)+:LinkBits] <= LinkBits'(next_5);
      if (newest_links_5 && has_next_5) newer_q[place(next_5)+:LinkBits] <= LinkBits'(context_5_o);
      if (pushes_6) bound_q[goes_6] <= 1'b0;
      if (pushes_6) free_q[place(ContextBits'(count_5))+:LinkBits] <= LinkBits'(goes_6);
      if (cuts_newer_6) newer_q[place(down_6)+:LinkBits] <= LinkBits'(up_6);
      if (cuts_older_6) older_q[place(up_6)+:LinkBits] <= LinkBits'(down_6);
      if (cuts_newer_7a) newer_q[place(down_7a)+:LinkBits] <= LinkBits'(up_7a);
      if (cuts_older_7a) older_q[place(up_7a)+:LinkBits] <= LinkBits'(down_7a);
      if (binds_7a_o) bound_q[context_7a_o] <= 1'b1;
      if (newest_links_7a) older_q[place(context_7a_o)+:LinkBits] <= LinkBits'(next_7a);
      if (newest_links_7a && has_next_7a) newer_q[place(next_7a)+:LinkBits] <= LinkBits'(context_7a_o);
      if (pushes_7) bound_q[goes_7] <= 1'b0;
      if (pushes_7) free_q[place(ContextBits'(count_7a))+:LinkBits] <= LinkBits'(goes_7);
      if (cuts_newer_7) newer_q[place(down_7)+:LinkBits] <= LinkBits'(up_7);
      if (cuts_older_7) older_q[place(up_7)+:LinkBits] <= LinkBits'(down_7);
    end
  end

endmodule : wqe_bindings
