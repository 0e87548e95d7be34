// SPDX-License-Identifier: Apache-2.0
// What holds in every cycle of tag_match_cam, and what a test should have seen. Bound to it from outside: the ports,
// and those of its signals that carry the same names.
`include "checker_macros.svh"

module tag_match_cam_checker #(
  parameter int unsigned Entries       = 1,
  parameter int unsigned PipelineDepth = 1,
  parameter int unsigned MostReturns   = 1,
  parameter int unsigned RefillReads   = 1
) (
  input logic                               clk_i,
  input logic                               rst_ni,
  input logic                               quiescent_o,
  input rxnic_link_pkg::activity_e          activity_o,
  input logic                               in_valid_i,
  input logic                               in_ready_o,
  input rxnic_link_pkg::wqe_request_t       in_i,
  input logic                               context_write_valid_o,
  input logic                               out_valid_o,
  input logic                               out_ready_i,
  input rxnic_link_pkg::wqe_request_t       out_o,
  input logic                               operations_valid_i,
  input logic                               operations_ready_o,
  input logic                               returned_valid_i,
  input logic                               returned_ready_o,
  input logic                               lists_valid_i,
  input logic                               lists_ready_o,
  input logic                               list_done_valid_o,
  input logic                               dma_valid_o,
  input logic                               dma_ready_i,
  input logic                               dma_done_valid_i,
  input logic                               bursts_valid_o,
  input logic                               written_valid_o,
  input logic [Entries-1:0]                 valid_q,
  input logic [31:0]                        cam_used,
  input logic [31:0]                        cam_reserved,
  input logic [31:0]                        pipe_count,
  input logic [31:0]                        returns,
  input logic [31:0]                        bursts_used,
  input logic [31:0]                        bursts_landed,
  input tag_match_pkg::job_kind_e           job_kind,
  input logic                               job_has_list,
  input logic                               job_has_match,
  input logic                               operation_waits_q,
  input logic                               at_hand_q,
  input logic                               kept,
  input logic                               undo_write,
  input logic                               enters,
  // What stands at the ports
  input rxnic_link_pkg::tag_verdict_e       verdict,
  input rxnic_link_pkg::tag_opcode_e        opcode,
  input logic                               unexpected_returns,
  input logic                               creates,
  input logic                               done_ok,
  input logic                               read_ok,
  input logic                               writes,
  input logic                               buries
);

  logic in_reset, running_q;
  assign in_reset = !rst_ni;
  always_ff @(posedge clk_i or negedge rst_ni) running_q <= rst_ni;

  // Properties use narrow signals, kept apart from the wide ones that they come from (grh_scatter_checker.sv).
  rxnic_link_pkg::wqe_request_t in_q, out_q;
  logic in_stable /* verilator public_flat_rd */;
  logic out_stable /* verilator public_flat_rd */;
  logic [31:0] valid_entries /* verilator public_flat_rd */;
  rxnic_link_pkg::packet_role_e out_role /* verilator public_flat_rd */;
  rxnic_link_pkg::wc_status_e out_status /* verilator public_flat_rd */;
  logic out_rendezvous /* verilator public_flat_rd */;
  logic out_matched /* verilator public_flat_rd */;
  logic out_asks_sync /* verilator public_flat_rd */;
  always_ff @(posedge clk_i) begin
    in_q <= in_i;
    out_q <= out_o;
  end
  always_comb begin
    in_stable = in_q == in_i;
    out_stable = out_q == out_o;
    valid_entries = 32'($countones(valid_q));
    out_role = out_o.role;
    out_status = out_o.status;
    out_rendezvous = out_o.rendezvous;
    out_matched = out_o.tag_verdict == rxnic_link_pkg::TagVerdictMatched && !out_o.takes_wqe;
    out_asks_sync = (out_o.cqe_flags & tag_match_pkg::CqeTagSyncRequest) != '0;
  end
  logic takes, operates, leaves, asks;
  assign takes = in_valid_i && in_ready_o;
  assign operates = operations_valid_i && operations_ready_o;
  assign leaves = out_valid_o && out_ready_i;
  assign asks = dma_valid_o && dma_ready_i;

  // The environment
  `RXNIC_ASSERT_NEXT(env_in_holds, in_valid_i && !in_ready_o, in_valid_i && in_stable)

  // R4
  `RXNIC_ASSERT_NEXT(r4_out_holds, out_valid_o && !out_ready_i, out_valid_o && out_stable)
  `RXNIC_ASSERT(r4_places, pipe_count <= PipelineDepth)
  // R5
  `RXNIC_ASSERT(r5_not_more_than_entries, cam_used + cam_reserved <= Entries)
  `RXNIC_ASSERT(r5_counted, valid_entries == cam_used)
  // R6
  `RXNIC_ASSERT(r6_reads, bursts_used <= RefillReads && bursts_landed <= bursts_used)
  // R7
  `RXNIC_ASSERT(r7_none_taken_while_a_job, takes |-> job_kind != tag_match_pkg::JobSearch && !kept)
  // R8
  `RXNIC_ASSERT(r8_written_for_a_write, written_valid_o |-> asks && writes)
  `RXNIC_ASSERT(r8_write_is_written, asks && writes |-> written_valid_o)
  // R14
  `RXNIC_ASSERT(r14_returns, returns <= MostReturns)
  `RXNIC_ASSERT(r14_nothing_taken_meanwhile, returns != '0 |-> !takes || returns == 32'd1)
  // R15
  `RXNIC_ASSERT(r15_answered_at_once, lists_valid_i && lists_ready_o |-> list_done_valid_o)
  `RXNIC_ASSERT(quiescent_has_no_output, quiescent_o |-> !out_valid_o && !dma_valid_o)

  `RXNIC_COVER(r1_search, takes && context_write_valid_o)
  `RXNIC_COVER(r1_without_search, takes && !context_write_valid_o)
  `RXNIC_COVER(r2_packet_and_operation, takes && operates)
  `RXNIC_COVER(r3_packet_waits, in_valid_i && !in_ready_o)
  `RXNIC_COVER(r4_full, pipe_count == PipelineDepth)
  `RXNIC_COVER(r5_all_entries, valid_entries == Entries)
  `RXNIC_COVER(r5_to_the_overflow, operates && asks && writes)
  `RXNIC_COVER(r6_refill, asks && !writes && job_kind == tag_match_pkg::JobNone && !kept)
  `RXNIC_COVER(r6_all_reads, bursts_used == RefillReads)
  `RXNIC_COVER(r6_moves_in, at_hand_q && enters && !operates)
  `RXNIC_COVER(r7_walks, job_kind == tag_match_pkg::JobSearch)
  `RXNIC_COVER(r7_walks_with_a_match, job_kind == tag_match_pkg::JobSearch && job_has_match)
  `RXNIC_COVER(r7_match_in_memory, kept && verdict == rxnic_link_pkg::TagVerdictMatched)
  `RXNIC_COVER(r7_none_in_memory, kept && verdict == rxnic_link_pkg::TagVerdictUnexpected)
  `RXNIC_COVER(r7_list_goes, job_kind == tag_match_pkg::JobSearch && !job_has_list)
  `RXNIC_COVER(r8_buried, asks && writes && buries)
  `RXNIC_COVER(r8_compacts, asks && writes && !buries && at_hand_q && job_kind == tag_match_pkg::JobNone &&
      returns == '0 && !returned_valid_i && !operates)
  `RXNIC_COVER(r8_removal, job_kind == tag_match_pkg::JobRemove)
  `RXNIC_COVER(r9_read_fails, dma_done_valid_i && !read_ok)
  `RXNIC_COVER(r9_not_decided, context_write_valid_o && verdict == rxnic_link_pkg::TagVerdictFailed)
  `RXNIC_COVER(r10_match, takes && context_write_valid_o && verdict == rxnic_link_pkg::TagVerdictMatched && undo_write)
  `RXNIC_COVER(r11_unexpected, takes && context_write_valid_o && verdict == rxnic_link_pkg::TagVerdictUnexpected)
  `RXNIC_COVER(r11_no_tag, takes && context_write_valid_o && verdict == rxnic_link_pkg::TagVerdictNoTag)
  `RXNIC_COVER(r11_finish, takes && context_write_valid_o && verdict == rxnic_link_pkg::TagVerdictOrdinary)
  `RXNIC_COVER(r12_sync_asked, leaves && out_asks_sync && out_role == rxnic_link_pkg::PacketRoleTagOperation)
  `RXNIC_COVER(r13_fails, leaves && out_role == rxnic_link_pkg::PacketRoleTagOperation &&
      out_status == rxnic_link_pkg::WcStatusTagMatch)
  `RXNIC_COVER(r14_match_returns, returned_valid_i && returned_ready_o && !unexpected_returns)
  `RXNIC_COVER(r14_unexpected_returns, returned_valid_i && returned_ready_o && unexpected_returns)
  `RXNIC_COVER(r14_into_the_cam, returns != '0 && enters && !at_hand_q)
  `RXNIC_COVER(r14_in_front, returns != '0 && asks && writes && job_kind == tag_match_pkg::JobNone)
  `RXNIC_COVER(r14_between, job_kind == tag_match_pkg::JobPutBack && asks && writes)
  `RXNIC_COVER(r15_refused, list_done_valid_o && !done_ok)
  `RXNIC_COVER(r15_removed, list_done_valid_o && !creates)
  `RXNIC_COVER(r16_rendezvous, leaves && out_matched && out_rendezvous)
  `RXNIC_COVER(r16_incomplete, leaves && out_matched && out_status == rxnic_link_pkg::WcStatusRendezvousIncomplete)
  `RXNIC_COVER(operation_waits, operation_waits_q)
  `RXNIC_COVER(operation_removes, operates && opcode == rxnic_link_pkg::TagOpcodeDelete)
  `RXNIC_COVER(operation_syncs, operates && opcode == rxnic_link_pkg::TagOpcodeSync)
  `RXNIC_COVER(blocked, out_valid_o && !out_ready_i)
  `RXNIC_COVER(read_waits_for_the_cam, bursts_landed != '0 && !bursts_valid_o && at_hand_q)
  `RXNIC_COVER(quiescent, quiescent_o && !in_valid_i)
  `RXNIC_COVER(activity_blocked, activity_o == rxnic_link_pkg::ActivityBlocked)
  `RXNIC_COVER(activity_wait_tag, activity_o == rxnic_link_pkg::ActivityWaitTag)

endmodule : tag_match_cam_checker

bind tag_match_cam tag_match_cam_checker #(
  .Entries      (Entries),
  .PipelineDepth(PipelineDepth),
  .MostReturns  (MostReturns),
  .RefillReads  (RefillReads)
) checker_i (
  .valid_q      (cam_places),
  .cam_used     (cam_used),
  .cam_reserved (cam_reserved),
  .pipe_count   (32'(pipe_count)),
  .returns      (32'(returns_count)),
  .bursts_used  (32'(reads_count)),
  .bursts_landed(32'(landed_count)),
  .job_kind     (job_q.kind),
  .job_has_list (job_q.has_list),
  .job_has_match(job_q.has_match),
  .verdict      (rxnic_link_pkg::tag_verdict_e'(context_write_o.part.tag_verdict)),
  .opcode       (rxnic_link_pkg::tag_opcode_e'(operations_i.opcode)),
  .unexpected_returns(returned_i.handle == '1),
  .creates      (lists_i.create),
  .done_ok      (list_done_o.ok),
  .read_ok      (dma_done_i.ok),
  .writes       (dma_o.kind == rxnic_link_pkg::DmaKindWrite),
  .buries       (dma_o.bytes == 32'd4),
  .*
);
