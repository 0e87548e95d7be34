// SPDX-License-Identifier: Apache-2.0
// The search of the oldest packet of tag_match_cam goes on in the overflow (5, R7). It waits for the reads in flight,
// and reads from the head on until an entry decides it (tag_match_look), or all were read. Then its packet may leave:
// with a match, without one, or as a packet of a list that has failed (R9) or is removed. No state in here.
module tag_match_walk (
  input  logic                        walk_i,
  input  logic                        rendezvous_i,  // its packet asks for one
  input  tag_match_pkg::job_t         job_i,
  // verilator lint_off UNUSEDSIGNAL
  input  tag_match_pkg::entry_t       job_entry_i,   // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  output tag_match_pkg::job_t         job_o,
  input  tag_match_pkg::list_t        list_i,
  output logic                        keeps_o,
  output tag_match_pkg::list_t        list_o,
  output logic                        ends_o,
  output logic                        decides_o,     // ... of a list that is there
  output logic                        leaves_o,      // its match in the CAM is the oldest one
  output tag_match_pkg::label_t       label_o,
  output logic                        works_o
);

  logic fails, goes_on, begins_reading, matched, misses;
  tag_match_pkg::job_t job;

  always_comb begin : walk
    job = job_i;
    goes_on = 1'b0;
    begins_reading = 1'b0;
    fails = job.has_list && list_i.failed && !job.decided;
    if (job.has_list && !fails && !job.decided) begin
      goes_on = list_i.in_flight != '0;
      if (!goes_on && !job.reads) job.position = list_i.head;
      if (!goes_on && !job.has_match && list_i.in_overflow != '0 && job.position != list_i.tail) begin
        goes_on = 1'b1;
        begins_reading = !job.reads;
        job.reads = 1'b1;
      end
    end
    ends_o = walk_i && !goes_on;
    decides_o = ends_o && job.has_list;
    leaves_o = decides_o && !fails && !job.taken && job.has_match;
    matched = decides_o && !fails && (job.taken || job.has_match);
    misses = decides_o && !fails && !matched;
    job_o = ends_o ? '0 : walk_i ? job : job_i;
  end
  assign works_o = ends_o || (walk_i && begins_reading);

  always_comb begin : change
    list_o = list_i;
    if (leaves_o) list_o.in_cam = list_o.in_cam - 32'd1;
    if (misses) begin  // (R11)
      list_o.unexpected = list_o.unexpected + 16'd1;
      list_o.phase_began = tag_match_pkg::phase_of(list_i.unexpected, list_o.acknowledged, list_o.unexpected,
                                                   list_o.acknowledged, list_o.phase_began, list_o.appended);
    end
    label_o = '0;
    label_o.kind = !job_i.has_list ? tag_match_pkg::MessageForgotten : fails ? tag_match_pkg::MessageFailed :
                 matched ? tag_match_pkg::MessageMatch : tag_match_pkg::MessageMiss;
    label_o.pd = list_o.pd;
    label_o.cq = list_o.cq;
    label_o.unacknowledged = list_o.unexpected - list_o.acknowledged;
    label_o.handle = job_entry_i.handle;
    label_o.buffer = job_entry_i.buffer;
    label_o.opcode = rendezvous_i ? tag_match_pkg::TmhRendezvous : tag_match_pkg::TmhEager;
  end
  assign keeps_o = leaves_o || misses;

endmodule : tag_match_walk
