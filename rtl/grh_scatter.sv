// SPDX-License-Identifier: Apache-2.0
// Twin of model/blocks/grh_scatter. Rules R1..R6 are stated there, those of the plan in
// model/core/memory/scatter_plan.h.
//
// A packet is taken in cycle n: its length is checked and the read of its first elements starts. Their looks are made
// in cycle n + 1, when the elements have come. The pieces enter the delay line then, and leave the line LatencyCycles -
// 1 cycles later at the earliest. Pieces that wait for room behind the engine stay in it.
module grh_scatter #(
  parameter int unsigned LatencyCycles = rxnic_params_pkg::GrhScatterLatencyCycles,
  parameter int unsigned SgesPerCycle  = rxnic_params_pkg::GrhScatterSgesPerCycle,
  parameter int unsigned BytesPerCycle = rxnic_params_pkg::GrhScatterBytesPerCycle,
  parameter int unsigned WqeSlots      = rxnic_params_pkg::SrqWqeFetcherWqeStoreEntries,
  parameter int unsigned ContextLines  = rxnic_params_pkg::QpContextCacheSets * rxnic_params_pkg::QpContextCacheWays
) (
  input  logic                               clk_i,
  input  logic                               rst_ni,
  // Nothing is under way: without an input the next cycle would be like this one.
  output logic                               quiescent_o,
  output rxnic_link_pkg::activity_e          activity_o,
  // Packets
  input  logic                               in_valid_i,
  output logic                               in_ready_o,
  input  rxnic_link_pkg::scatter_job_t       in_i,
  // Read port of the scatter lists: the words of the address of a cycle, each a data_segment_t, come in the next one.
  output logic                               lists_valid_o,
  output rxnic_link_pkg::scatter_list_read_t lists_o,
  input  logic [SgesPerCycle*rxnic_link_pkg::DataSegmentBits-1:0] lists_i,
  // Pieces, each a scattered_segment_t: as many as there are ready lanes, from lane 0 on, leave in a cycle.
  output logic [SgesPerCycle-1:0]            out_valid_o,
  input  logic [SgesPerCycle-1:0]            out_ready_i,
  output logic [SgesPerCycle*rxnic_link_pkg::ScatteredSegmentBits-1:0] out_o,
  // Refusals: the link always has room.
  output logic                               refusals_valid_o,
  output rxnic_link_pkg::refusal_t           refusals_o
);

  localparam int unsigned Stages = LatencyCycles * SgesPerCycle;  // (R5)
  localparam int unsigned Places = Stages + SgesPerCycle - 1;
  localparam int unsigned CountBits = $clog2(Places + 1);
  localparam int unsigned LaneBits = $clog2(SgesPerCycle + 1);
  localparam int unsigned SlotBits = WqeSlots > 1 ? $clog2(WqeSlots) : 1;
  localparam int unsigned LineBits = ContextLines > 1 ? $clog2(ContextLines) : 1;
  localparam int unsigned ElementBits = 6;
  localparam int unsigned LengthBits = 13;  // of a packet's payload
  localparam int unsigned MaxBeats = ((1 << LengthBits) + rxnic_pkg::GrhBytes) / BytesPerCycle + 1;
  localparam int unsigned BeatBits = $clog2(MaxBeats + 1);
  localparam int unsigned SgeBits = rxnic_link_pkg::DataSegmentBits;
  localparam int unsigned PieceBits = rxnic_link_pkg::ScatteredSegmentBits;

  typedef rxnic_link_pkg::buffer_area_e buffer_area_e;

  // Where a message is in its scatter list (R3).
  typedef struct packed {
    logic [31:0]            bytes;
    logic [ElementBits-1:0] element;
    logic [31:0]            element_offset;
  } cursor_t;

  // A part of a packet's bytes that is still to be placed, and where it is in the packet buffer.
  typedef struct packed {
    buffer_area_e          area;
    logic [LengthBits-1:0] offset;
    logic [LengthBits-1:0] left;
  } part_t;

  // What was refused for a QP (R4).
  typedef struct packed {
    logic [31:0] residence;
    logic [31:0] message;   // 0: none
    logic        requests;  // all
  } refused_t;

  // What is to be done for the packet at hand.
  typedef struct packed {
    logic [7:0]  access;
    logic        reads_list;  // its bytes go to a scatter list
    logic        has_cursor;
    cursor_t     cursor;
    logic        head_known;  // the GRH area has bytes; otherwise their place is left as it is
    part_t       head;
    part_t       data;
    logic [63:0] va;          // without a list
    logic [31:0] key;
    logic        first;       // no piece was found yet
  } job_t;

  cursor_t  resumed;         // the fill level that the WQE of the packet to be taken was left with
  refused_t refused_before;  // what is kept for its QP

  // What is written to memories and read from them counts.
  // verilator coverage_off
  logic [$bits(resumed)-1:0]        cursors_q [WqeSlots];
  logic [$bits(refused_before)-1:0] refused_q [ContextLines];
  logic [ContextLines-1:0]          refused_valid_q;
  // verilator coverage_on

  rxnic_link_pkg::completion_request_t packet_q;  // the packet at hand
  job_t                 job_q;
  logic                 busy_q;     // job_q has looks to come
  logic                 look_q;     // its elements have come: looks are made in this cycle
  logic [BeatBits-1:0]  beats_q;    // cycles for which its bytes occupy the engine
  logic [CountBits-1:0] count;      // pieces in the pipeline
  logic [CountBits-1:0] mature_q;   // of them those that may leave

  // (2) looks at the packet at hand
  job_t                              looked;  // job_q after the looks of this cycle
  logic                              finished;
  logic [LaneBits-1:0]               found;
  logic [SgesPerCycle*PieceBits-1:0] pieces;
  // of one look
  rxnic_link_pkg::data_segment_t sge;
  part_t                         part;

  always_comb begin : looks
    logic [LaneBits-1:0]   word;
    logic [31:0]           room;
    logic [63:0]           va;
    logic [LengthBits-1:0] passed, bytes, page_room;
    logic [PieceBits-1:0]  piece;
    looked = job_q;
    finished = 1'b0;
    found = '0;
    pieces = '0;
    piece = '0;
    word = '0;
    sge = '0;
    room = '0;
    va = '0;
    passed = '0;
    bytes = '0;
    page_room = '0;
    part = '0;
    for (int unsigned lane = 0; lane < SgesPerCycle; lane++) begin
      if (look_q && !finished) begin
        sge = '0;
        for (int unsigned n = 0; n < SgesPerCycle; n++) if (LaneBits'(n) == word) sge = lists_i[n*SgeBits+:SgeBits];
        room = job_q.reads_list ? sge.length - looked.cursor.element_offset : '1;
        va = job_q.reads_list ? sge.address + 64'(looked.cursor.element_offset) : looked.va;
        // The GRH area of a packet without a network header is passed over (plan R2, R7).
        passed = '0;
        if (!looked.head_known) begin
          passed = room < 32'(looked.head.left) ? room[LengthBits-1:0] : looked.head.left;
          looked.head.left -= passed;
          room -= 32'(passed);
          va += 64'(passed);
        end
        part = looked.head.left != '0 ? looked.head : looked.data;
        page_room = LengthBits'(rxnic_pkg::PageBytes) - {1'b0, va[11:0]};
        bytes = part.left < page_room ? part.left : page_room;
        if (room < 32'(bytes)) bytes = room[LengthBits-1:0];
        if (looked.head.left != '0) begin
          looked.head.left -= bytes;
          looked.head.offset += bytes;
        end else begin
          looked.data.left -= bytes;
          looked.data.offset += bytes;
        end
        looked.va += 64'(bytes);
        if (job_q.reads_list) begin
          if (room == 32'(bytes)) begin
            looked.cursor.element += ElementBits'(1);
            looked.cursor.element_offset = '0;
            word += LaneBits'(1);
          end else begin
            looked.cursor.element_offset += 32'(passed) + 32'(bytes);
          end
        end
        finished = looked.head.left == '0 && looked.data.left == '0;
        if (bytes != '0 || (finished && looked.first)) begin  // (R1)
          piece = {packet_q, looked.first, finished, job_q.access,
                   bytes != '0 ? part.area : rxnic_link_pkg::BufferAreaFrame,
                   bytes != '0 ? part.offset : LengthBits'(0),
                   bytes == '0 ? 32'd0 : job_q.reads_list ? sge.lkey : job_q.key,
                   bytes == '0 ? 64'd0 : va, bytes};
          for (int unsigned n = 0; n <= lane; n++) if (LaneBits'(n) == found) pieces[n*PieceBits+:PieceBits] = piece;
          found += LaneBits'(1);
          looked.first = 1'b0;
        end
      end
    end
  end

  // (1) the oldest pieces leave
  logic [CountBits-1:0] matured;
  logic [LaneBits-1:0]  leaving;
  logic [CountBits-1:0] size;
  logic [SgesPerCycle*PieceBits-1:0] oldest;  // of the pieces in the pipeline

  rxnic_fifo #(.Bits(PieceBits), .Depth(Places), .Pushes(SgesPerCycle), .Pops(SgesPerCycle)) pipeline (
    .clk_i, .rst_ni, .push_i(found), .words_i(pieces), .pop_i(leaving), .count_o(count), .words_o(oldest)
  );

  if (LatencyCycles == 1) begin : gen_no_delay
    assign matured = CountBits'(found);
  end else begin : gen_delay
    logic [(LatencyCycles-1)*LaneBits-1:0] found_q;  // by the looks of the cycles before, the last one first
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) found_q <= '0;
      else found_q <= ((LatencyCycles - 1) * LaneBits)'({found_q, found});
    end
    assign matured = CountBits'(found_q[(LatencyCycles-2)*LaneBits+:LaneBits]);
  end

  always_comb begin : leave
    logic [PieceBits-1:0] piece;
    leaving = '0;
    for (int unsigned lane = 0; lane < SgesPerCycle; lane++) begin
      out_valid_o[lane] = CountBits'(lane) < mature_q + matured;
      piece = oldest[lane*PieceBits+:PieceBits];
      for (int unsigned n = 0; n <= lane; n++) begin
        if (count == CountBits'(lane - n)) piece = pieces[n*PieceBits+:PieceBits];
      end
      out_o[lane*PieceBits+:PieceBits] = piece;
      if (out_valid_o[lane] && out_ready_i[lane]) leaving = LaneBits'(lane + 1);
    end
    size = count + CountBits'(found) - CountBits'(leaving);
  end

  // (3) the next packet
  logic rest, room_for_looks, look_again, take;
  assign rest = busy_q && !finished;
  assign room_for_looks = size < CountBits'(Stages);  // (R5)
  assign look_again = rest && room_for_looks;
  assign in_ready_o = !rest && room_for_looks && beats_q == '0;
  assign take = in_valid_i && in_ready_o;

  rxnic_link_pkg::completion_request_t packet;
  job_t     taken;
  refused_t refused;
  logic     refuse, refuses_more, too_long, forward;
  logic [LengthBits:0] moved;
  logic [32:0]         total;  // bytes of the message, with this packet

  assign resumed = cursors_q[in_i.wqe_slot[SlotBits-1:0]];
  assign refused_before = refused_q[in_i.line[LineBits-1:0]];

  always_comb begin : plan
    logic sends, writes, responds, atomic, reliable, received, restarts;
    logic [LengthBits-1:0] strip, payload;
    taken = '0;
    packet = in_i[rxnic_link_pkg::ScatterJobBits-1-:rxnic_link_pkg::CompletionRequestBits];
    taken.access = in_i.access;
    taken.first = 1'b1;
    taken.head_known = 1'b1;
    taken.va = in_i.local_va;
    taken.key = in_i.local_key;
    // Behind a packet that failed here (R4)
    refused = refused_before;
    if (!refused_valid_q[in_i.line[LineBits-1:0]] || refused.residence != in_i.residence) refused = '0;
    received = in_i.role == rxnic_link_pkg::PacketRoleReceived;
    refuse = in_i.line != '1 && received && !rxnic_pkg::is_response(in_i.opcode) &&
             (refused.requests || (refused.message != '0 && refused.message == in_i.message_sequence));
    if (refuse) begin
      packet.drop_reason = rxnic_link_pkg::DropReasonSquashed;
      packet.outcome = rxnic_link_pkg::OutcomeDrop;
      packet.syndrome = '0;
      packet.status = rxnic_link_pkg::WcStatusFlushed;
      packet.acknowledge = 1'b0;
      packet.completes = 1'b0;
      packet.fails_qp = 1'b0;
    end
    sends = received && packet.outcome == rxnic_link_pkg::OutcomeExecute && in_i.wqe_slot != '1 &&
            rxnic_pkg::is_send(in_i.opcode);
    writes = received && packet.outcome == rxnic_link_pkg::OutcomeExecute && rxnic_pkg::is_write(in_i.opcode);
    responds = received && packet.outcome == rxnic_link_pkg::OutcomeAnswer && in_i.local_bytes != '0 &&
               rxnic_pkg::is_read_response(in_i.opcode);
    atomic = received && packet.outcome == rxnic_link_pkg::OutcomeAnswer && in_i.local_bytes != '0 &&
             rxnic_pkg::is_atomic_ack(in_i.opcode);
    // Where its message is in its WQE (R3)
    restarts = sends && (in_i.takes_wqe || rxnic_pkg::begins_send(in_i.opcode));
    if (!restarts) taken.cursor = resumed;
    forward = !restarts && finished && job_q.has_cursor && packet_q.wqe_slot == in_i.wqe_slot;
    if (forward) taken.cursor = looked.cursor;  // it is written in this cycle
    taken.has_cursor = sends;
    if (in_i.role == rxnic_link_pkg::PacketRoleTruncated && in_i.wqe_slot != '1) begin  // (plan R6)
      packet.byte_count = taken.cursor.bytes;
    end
    // Its bytes (plan R2..R4)
    strip = in_i.strip_bytes < in_i.payload_bytes ? in_i.strip_bytes : in_i.payload_bytes;
    payload = in_i.payload_bytes - (sends ? strip : LengthBits'(0));
    if (sends && in_i.transport == rxnic_link_pkg::TransportUd) begin
      taken.head.left = LengthBits'(rxnic_pkg::GrhBytes);
      taken.head_known = in_i.network_header != rxnic_link_pkg::NetworkHeaderNone;
      if (in_i.network_header == rxnic_link_pkg::NetworkHeaderGrh) begin
        taken.head.offset = in_i.network_offset;
      end else begin
        taken.head.area = rxnic_link_pkg::BufferAreaScratch;
      end
    end
    if (sends || writes || responds) begin
      taken.data.offset = in_i.payload_offset + (sends ? strip : LengthBits'(0));
      taken.data.left = payload;
    end else if (atomic) begin
      taken.data.area = rxnic_link_pkg::BufferAreaScratch;
      taken.data.left = LengthBits'(rxnic_pkg::AtomicBytes);
    end
    moved = (LengthBits + 1)'(taken.head.left) + (LengthBits + 1)'(taken.data.left);
    total = {1'b0, taken.cursor.bytes} + 33'(moved);
    too_long = sends && total > {1'b0, in_i.wqe_bytes};
    taken.reads_list = sends && moved != '0;
    reliable = in_i.transport == rxnic_link_pkg::TransportRc || in_i.transport == rxnic_link_pkg::TransportXrc;
    if (too_long) begin  // (plan R5)
      taken.head.left = '0;
      taken.data.left = '0;
      taken.reads_list = 1'b0;
      moved = '0;
      packet.drop_reason = rxnic_link_pkg::DropReasonMessageTooLong;
      packet.outcome = reliable ? rxnic_link_pkg::OutcomeNak : rxnic_link_pkg::OutcomeDrop;
      packet.syndrome = reliable ? rxnic_pkg::NakInvalidRequest : '0;
      packet.status = rxnic_link_pkg::WcStatusLocalLength;
      packet.acknowledge = reliable;
      packet.completes = 1'b1;
      if (reliable) begin
        packet.answer_msn = in_i.msn_before;
        packet.answer_psn = in_i.psn;
        packet.fails_qp = 1'b1;
        refused.requests = 1'b1;
      end else begin
        refused.message = in_i.message_sequence;
      end
    end else if (sends) begin
      taken.cursor.bytes = total[31:0];
      if (in_i.ends_message) packet.byte_count = total[31:0];  // (plan R6)
    end else if (writes && in_i.ends_message) begin
      packet.byte_count = in_i.message_bytes[31:0];
    end
    refused.residence = in_i.residence;
    refuses_more = take && too_long && in_i.line != '1;  // (R4) of a QP: its context has a line
    refusals_valid_o = take && too_long && reliable;
    refusals_o = {rxnic_link_pkg::RefusalKindError, in_i.line, 32'd0, 32'hffffffff};  // line, request, buffer
  end

  // The elements of the looks in the next cycle (R6)
  assign lists_valid_o = look_again ? job_q.reads_list : take && taken.reads_list;
  assign lists_o = look_again ? {packet_q.wqe_slot, looked.cursor.element} : {in_i.wqe_slot, taken.cursor.element};

  assign quiescent_o = !busy_q && count == '0 && beats_q == '0;
  assign activity_o = (out_valid_o & ~out_ready_i) != '0                  ? rxnic_link_pkg::ActivityBlocked :
                      rest || take || size != '0 || beats_q != '0 ? rxnic_link_pkg::ActivityBusy
                                                                          : rxnic_link_pkg::ActivityStarved;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      look_q <= 1'b0;
      beats_q <= '0;
      mature_q <= '0;
      refused_valid_q <= '0;
    end else begin
      busy_q <= rest || take;
      look_q <= look_again || take;
      if (take && moved != '0) begin  // (R2)
        beats_q <= BeatBits'((32'(moved) + BytesPerCycle - 1) / BytesPerCycle - 1);
      end else if (beats_q != '0) begin
        beats_q <= beats_q - BeatBits'(1);
      end
      mature_q <= mature_q + matured - CountBits'(leaving);
      if (refuses_more) refused_valid_q[in_i.line[LineBits-1:0]] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    job_q <= take ? taken : looked;
    if (take) packet_q <= packet;
    if (refuses_more) refused_q[in_i.line[LineBits-1:0]] <= refused;
    if (finished && job_q.has_cursor) cursors_q[packet_q.wqe_slot[SlotBits-1:0]] <= looked.cursor;  // (R3)
  end

endmodule : grh_scatter
