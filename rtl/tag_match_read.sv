// SPDX-License-Identifier: Apache-2.0
// A read of the overflow of tag_match_cam (6): for the job, into free entries of the CAM (R6), or to compact (R8).
// While there is a job nothing else is read. Nothing is read into the CAM while a match or an operation waits, or
// behind a compaction. No state in here.
module tag_match_read #(
  parameter int unsigned Slots                  = 2,  // of a list's overflow
  parameter int unsigned OverflowEntriesPerRead = 1,
  parameter int unsigned Lists                  = 1,
  localparam int unsigned ListBits     = Lists > 1 ? $clog2(Lists) : 1,
  localparam int unsigned PositionBits = tag_match_pkg::PositionBits,
  localparam int unsigned SlotBits     = tag_match_pkg::SlotBits
) (
  input  logic                    may_i,         // a list has an overflow, and there is room for a read
  input  logic                    urgent_i,      // a match or an operation waits: only a list that is full is compacted
  input  logic                    none_i,        // nothing is read
  input  logic                    compacting_i,  // the first read is of a compaction
  input  logic [31:0]             free_i,        // entries of the CAM
  // The list of the job, the one whose turn it is to be read, the oldest one that may be compacted
  // verilator lint_off UNUSEDSIGNAL
  input  tag_match_pkg::job_t     job_i,         // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  input  logic [ListBits-1:0]     job_list_i,
  input  logic                    refills_i,
  input  logic [ListBits-1:0]     refilled_i,
  input  logic                    compacts_i,
  input  logic [ListBits-1:0]     compacted_i,
  output logic [ListBits-1:0]     at_o,          // the one of these
  input  tag_match_pkg::list_t    list_i,        // it
  output logic                    reads_o,
  output tag_match_pkg::list_t    list_o,
  output logic [1:0]              kind_o,        // tag_match_pkg::burst_kind_e
  output logic [7:0]              entries_o,
  output logic [PositionBits-1:0] from_o,
  output logic                    refills_o,
  output logic [31:0]             reserves_o,    // entries of the CAM
  output tag_match_pkg::request_t request_o
);

  logic for_job, for_cam, compacts;
  logic [31:0] most;

  always_comb begin : choose
    for_job = may_i && job_i.kind != tag_match_pkg::JobNone && job_i.has_list && job_i.reads && !job_i.decided &&
              none_i;
    for_cam = may_i && job_i.kind == tag_match_pkg::JobNone && !urgent_i && free_i != '0 &&
              (none_i || !compacting_i) && refills_i;
    compacts = may_i && job_i.kind == tag_match_pkg::JobNone && (urgent_i || free_i == '0) && none_i && compacts_i;
    at_o = job_i.kind != tag_match_pkg::JobNone ? job_list_i : compacts ? compacted_i : refilled_i;
  end
  assign reads_o = for_job || for_cam || compacts;
  assign refills_o = for_cam;

  always_comb begin : read
    list_o = list_i;
    if (compacts && !list_o.in_gap) begin
      list_o.in_gap = 1'b1;
      list_o.gap_begin = list_o.head;
      list_o.gap_end = list_o.head;
    end
    from_o = for_job ? job_i.position : compacts ? list_o.gap_end : list_o.unread;
    most = for_cam && free_i < OverflowEntriesPerRead ? free_i : OverflowEntriesPerRead;
    entries_o = tag_match_pkg::read_length(from_o, list_o.tail, list_o.in_gap, list_o.gap_begin, most,
                                           SlotBits'(Slots));
    if (for_cam) begin
      list_o.unread = tag_match_pkg::behind_gap(
          tag_match_pkg::advance(from_o, SlotBits'(entries_o), SlotBits'(Slots)), list_o.in_gap, list_o.gap_begin,
          list_o.gap_end);
    end
    list_o.in_flight = list_o.in_flight + 9'd1;
    kind_o = for_job ? tag_match_pkg::BurstJob : for_cam ? tag_match_pkg::BurstRefill :
                                                           tag_match_pkg::BurstCompaction;
    reserves_o = for_cam ? 32'(entries_o) : '0;
    request_o = '0;
    request_o.valid = reads_o;
    request_o.kind = tag_match_pkg::RequestRead;
    request_o.srq = list_o.srq;
    request_o.slot = from_o[SlotBits-1:0];
    request_o.entries = entries_o;
  end

endmodule : tag_match_read
