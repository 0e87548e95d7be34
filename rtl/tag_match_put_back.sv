// SPDX-License-Identifier: Apache-2.0
// The match of tag_match_cam that came back first goes where its age belongs (4, R14). It goes into the CAM, in front
// of the overflow, or among the entries there. Among them, a job moves the older ones towards the head, one after
// another (tag_match_look), and the match follows them. No state in here.
module tag_match_put_back #(
  parameter int unsigned Slots = 2,  // of a list's overflow
  parameter int unsigned MaxTags = 1,
  localparam int unsigned HandleBits   = MaxTags > 1 ? $clog2(MaxTags) : 1,
  localparam int unsigned PositionBits = tag_match_pkg::PositionBits,
  localparam int unsigned SlotBits     = tag_match_pkg::SlotBits
) (
  input  logic                    put_back_i,    // one waits, and the CAM is free
  input  logic                    valid_i,       // its list is there
  input  logic [1:0]              place_i,       // where its tag is
  input  tag_match_pkg::entry_t   remembered_i,  // it
  // Its list, or that of the job; the job, with its entry
  input  tag_match_pkg::list_t    list_i,
  output logic                    keeps_o,
  output tag_match_pkg::list_t    list_o,
  output logic                    spills_o,      // it has an overflow from now on
  input  tag_match_pkg::job_t     job_i,
  input  tag_match_pkg::entry_t   job_entry_i,
  output logic                    begins_o,      // a job, of this list
  output tag_match_pkg::job_t     job_o,
  output tag_match_pkg::entry_t   job_entry_o,
  output logic                    drops_o,       // it is dealt with
  // The CAM: what comes, and the youngest entry of the list, which may go to the overflow
  input  logic                    room_i,
  input  logic                    youngest_i,
  input  tag_match_pkg::entry_t   youngest_entry_i,
  output logic                    enters_o,
  output logic                    leaves_o,
  // Places of tags, memory
  output logic                    writes_place_o,
  output logic [HandleBits-1:0]   handle_o,
  output logic [1:0]              place_o,
  input  logic                    no_reads_i,    // nothing is read
  input  logic                    free_i,        // a request would be taken
  output tag_match_pkg::request_t request_o,
  output tag_match_pkg::entry_t   written_o,
  output logic                    works_o
);

  logic waits, follows, inserts, settled, full, to_cam, is_gone, may, in_front, swaps;
  logic [PositionBits-1:0] front, behind;
  logic [63:0] number;  // of what goes to the overflow

  always_comb begin : decide
    front = tag_match_pkg::retreat(list_i.head, SlotBits'(Slots));
    behind = tag_match_pkg::advance(job_i.destination, SlotBits'(1), SlotBits'(Slots));
    settled = tag_match_pkg::is_settled(list_i.in_overflow, list_i.overflow_from, remembered_i.sequence_);
    full = tag_match_pkg::is_full(list_i.head, list_i.tail, SlotBits'(Slots));
    // The job ends: the match follows the older ones. When there is none the match is put back as below.
    follows = job_i.kind == tag_match_pkg::JobPutBack && job_i.decided && free_i;
    inserts = follows && behind != list_i.head;
    // Without the job: into the CAM; nowhere; by a job; in front of the overflow
    waits = put_back_i && job_i.kind != tag_match_pkg::JobPutBack;
    to_cam = waits && valid_i && place_i == tag_match_pkg::PlaceConsumed && settled && room_i;
    is_gone = waits && !to_cam && (!valid_i || place_i != tag_match_pkg::PlaceConsumed || list_i.failed);
    may = waits && !to_cam && !is_gone && job_i.kind == tag_match_pkg::JobNone && no_reads_i && !full;
    begins_o = may && !settled;
    in_front = may && settled && free_i;
    swaps = in_front && youngest_i && !(youngest_entry_i.sequence_ < remembered_i.sequence_);
  end

  always_comb begin : change
    list_o = list_i;
    number = inserts ? job_entry_i.sequence_ : swaps ? youngest_entry_i.sequence_ : remembered_i.sequence_;
    if (follows && !inserts) list_o.overflow_from = job_entry_i.sequence_ + 64'd1;  // none is older
    if (inserts || in_front) begin
      list_o.overflow_from = tag_match_pkg::oldest_with(list_o.in_overflow, list_o.overflow_from, number);
      list_o.in_overflow = list_o.in_overflow + 32'd1;
      list_o.head = front;
      list_o.unread = front;
    end
    if (inserts && list_o.in_gap && !tag_match_pkg::is_before(job_i.position, list_o.gap_end)) begin
      list_o.gap_begin = behind;
      list_o.gap_end = job_i.position;
      if (job_i.position == list_o.tail) begin
        list_o.tail = behind;
        list_o.in_gap = 1'b0;
      end
    end
    if (in_front) list_o.spilled = 1'b1;
    if (to_cam) list_o.in_cam = list_o.in_cam + 32'd1;
  end
  assign keeps_o = follows || in_front || to_cam;
  assign spills_o = in_front && !list_i.spilled;
  assign drops_o = inserts || to_cam || is_gone || in_front;
  assign works_o = follows || drops_o || begins_o;

  always_comb begin : next_job
    job_o = job_i;
    job_entry_o = job_entry_i;
    if (follows) job_o = '0;
    if (begins_o) begin
      job_o.kind = tag_match_pkg::JobPutBack;
      job_o.has_list = 1'b1;
      job_o.reads = 1'b1;
      job_o.position = list_i.head;
      job_o.destination = front;
      job_entry_o = remembered_i;
    end
  end

  assign enters_o = to_cam || swaps;
  assign leaves_o = swaps;
  assign writes_place_o = inserts || to_cam || in_front;
  assign handle_o = inserts ? job_entry_i.handle[HandleBits-1:0] : remembered_i.handle[HandleBits-1:0];
  assign place_o = enters_o ? tag_match_pkg::PlaceCam : tag_match_pkg::PlaceOverflow;
  assign written_o = inserts ? job_entry_i : swaps ? youngest_entry_i : remembered_i;
  always_comb begin : request
    request_o = '0;
    request_o.valid = inserts || in_front;
    request_o.kind = tag_match_pkg::RequestEntry;
    request_o.srq = list_i.srq;
    request_o.slot = inserts ? job_i.destination[SlotBits-1:0] : front[SlotBits-1:0];
  end

endmodule : tag_match_put_back
