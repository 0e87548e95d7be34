// SPDX-License-Identifier: Apache-2.0
// An operation on a list of tag_match_cam (8). A tag comes, into the CAM or its overflow (R5), or goes, or only counts
// are told (R12, R13). An operation waits for matches that are to be put back, a job of its list, room in the overflow,
// or memory. A tag in the overflow is removed by a job. No state in here.
module tag_match_operation #(
  parameter int unsigned Slots        = 2,  // of a list's overflow
  parameter int unsigned MaxTags      = 1,
  parameter int unsigned AppendCycles = 1,
  localparam int unsigned SlotBits = tag_match_pkg::SlotBits
) (
  input  logic                           may_i,         // one is there, and the CAM; there is room for its result
  input  logic [47:0]                    now_i,
  input  logic                           waits_i,       // it has waited, so that no packet is taken
  output logic                           waits_o,
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::tag_operation_t operation_i,   // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  output logic                           ready_o,
  // Its completion
  output logic                           completes_o,
  output logic                           ok_o,
  output logic [23:0]                    cq_o,
  output logic                           asks_sync_o,
  output logic [47:0]                    due_o,         // the CAM is free again
  output logic                           occupies_o,    // ... until then it is not
  // Its list; the job, with its entry, and whether that is of the same list
  input  logic                           found_i,
  input  tag_match_pkg::list_t           list_i,
  output logic                           keeps_o,
  output tag_match_pkg::list_t           list_o,
  output logic                           spills_o,      // it has an overflow from now on
  input  logic                           own_i,
  input  tag_match_pkg::job_t            job_i,
  input  tag_match_pkg::entry_t          job_entry_i,
  output logic                           begins_o,      // a job, of its list
  output tag_match_pkg::job_t            job_o,
  output tag_match_pkg::entry_t          job_entry_o,
  // The CAM, places of tags, memory
  input  logic                           returns_i,     // matches are to be put back
  input  logic                           no_reads_i,    // nothing is read
  input  logic                           room_i,
  input  logic                           free_i,        // a request would be taken
  output logic                           lacks_dma_o,
  output logic                           enters_o,
  output logic                           removes_o,
  output tag_match_pkg::entry_t          entry_o,
  input  logic [1:0]                     place_i,
  output logic                           writes_place_o,
  output logic [1:0]                     place_o,
  output tag_match_pkg::request_t        request_o,
  output logic                           works_o
);

  rxnic_link_pkg::tag_entry_t posted;
  logic adds, deletes, removing, full, begun, is_free, overflows, ok, held_up, waits, goes, appends, spills;

  assign posted = operation_i.entry;
  assign adds = operation_i.opcode == rxnic_link_pkg::TagOpcodeAdd;
  assign deletes = operation_i.opcode == rxnic_link_pkg::TagOpcodeDelete;
  assign removing = job_i.kind == tag_match_pkg::JobRemove;

  always_comb begin : decide
    full = tag_match_pkg::is_full(list_i.head, list_i.tail, SlotBits'(Slots));
    held_up = may_i && found_i && !removing && (returns_i || own_i);
    begun = may_i && found_i && !held_up;
    is_free = posted.handle < MaxTags && place_i != tag_match_pkg::PlaceCam && place_i != tag_match_pkg::PlaceOverflow;
    overflows = begun && adds && is_free &&
                (!room_i || (list_i.in_overflow != '0 && (list_i.unread != list_i.tail || list_i.failed)));  // (R5)
    ok = 1'b1;
    waits = 1'b0;  // it does not go on in this cycle, ...
    waits_o = waits_i;  // ... and no packet passes it
    lacks_dma_o = 1'b0;
    removes_o = 1'b0;
    begins_o = 1'b0;
    if (may_i) waits_o = held_up;
    if (begun && adds) begin
      ok = is_free && !(overflows && list_i.failed);
      if (overflows && !list_i.failed) begin
        waits_o = full;
        lacks_dma_o = !full && !free_i;
        waits = full || lacks_dma_o;
      end
    end else if (begun && deletes && removing) begin
      waits_o = !job_i.decided;
      waits = !job_i.decided;
      ok = job_i.taken;
    end else if (begun && deletes && place_i == tag_match_pkg::PlaceCam) begin
      removes_o = 1'b1;
    end else if (begun && deletes && (place_i != tag_match_pkg::PlaceOverflow || list_i.failed)) begin
      ok = 1'b0;
    end else if (begun && deletes) begin
      waits_o = 1'b1;
      waits = 1'b1;
      begins_o = job_i.kind == tag_match_pkg::JobNone && no_reads_i;
    end
    goes = begun && !waits;
    appends = goes && ok && adds;
    spills = appends && overflows;
    enters_o = appends && !overflows;
    ready_o = goes || (may_i && !found_i);
  end
  // Packets may pass it from now on, or its removal begins.
  assign works_o = ready_o || (begun && waits_i && !waits_o) || begins_o;

  always_comb begin : next_job
    job_o = job_i;
    job_entry_o = job_entry_i;
    if (begun && deletes && removing && job_i.decided) job_o = '0;
    if (begins_o) begin
      job_o.kind = tag_match_pkg::JobRemove;
      job_o.has_list = 1'b1;
      job_o.reads = 1'b1;
      job_o.position = list_i.head;
      job_entry_o.handle = posted.handle;
    end
  end

  always_comb begin : change
    list_o = list_i;
    if (goes && operation_i.tm_sync) begin
      list_o.acknowledged = operation_i.unexpected_count;
      list_o.phase_began = tag_match_pkg::phase_of(list_o.unexpected, list_i.acknowledged, list_o.unexpected,
                                                   list_o.acknowledged, list_o.phase_began, list_o.appended);
    end
    if (appends) list_o.appended = list_o.appended + 64'd1;
    if (spills) begin
      list_o.overflow_from = tag_match_pkg::oldest_with(list_o.in_overflow, list_o.overflow_from, list_i.appended);
      list_o.in_overflow = list_o.in_overflow + 32'd1;
      list_o.tail = tag_match_pkg::advance(list_o.tail, SlotBits'(1), SlotBits'(Slots));
      list_o.spilled = 1'b1;
    end
    if (enters_o) list_o.in_cam = list_o.in_cam + 32'd1;
    if (removes_o) list_o.in_cam = list_o.in_cam - 32'd1;
  end
  assign keeps_o = goes;
  assign spills_o = spills && !list_i.spilled;

  assign entry_o = {list_i.appended, posted.handle, posted.tag, posted.mask, posted.buffer};
  assign writes_place_o = appends || removes_o;
  assign place_o = removes_o ? tag_match_pkg::PlaceFree :
                   spills ? tag_match_pkg::PlaceOverflow : tag_match_pkg::PlaceCam;
  always_comb begin : request
    request_o = '0;
    request_o.valid = spills;
    request_o.kind = tag_match_pkg::RequestEntry;
    request_o.srq = list_i.srq;
    request_o.slot = list_i.tail[SlotBits-1:0];
  end

  // (R3, R13)
  assign occupies_o = goes;
  assign due_o = now_i + (operation_i.opcode == rxnic_link_pkg::TagOpcodeSync ? 48'd1 : 48'(AppendCycles));
  assign completes_o = goes && (operation_i.signaled || !ok);
  assign ok_o = ok;
  assign cq_o = list_o.cq;
  assign asks_sync_o = list_o.unexpected != list_o.acknowledged;

endmodule : tag_match_operation
