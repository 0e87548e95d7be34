// SPDX-License-Identifier: Apache-2.0
// A tag matcher of another organisation, as a user may write one (rtl/OWN_RTL.md). A tag without a wildcard is in its
// bucket of a hash table, a row of four. Tags with wildcards, and tags whose bucket is full, are in rows behind the
// table. A search compares one row in a cycle: the bucket, and then those behind the table as far as they are used. So
// there are four comparators however many tags there are. All tags have to find room: it has no overflow in memory. One
// thing is taken at a time: a command, a message that comes back, a packet, or an operation.
module tag_match_cam #(
  parameter int unsigned Entries                = rxnic_params_pkg::TagMatchCamEntries,
  parameter int unsigned MaxTags                = rxnic_params_pkg::TagMatchCamMaxTags,
  parameter int unsigned Lists                  = rxnic_params_pkg::TagMatchCamLists,
  parameter int unsigned Organisation           = rxnic_params_pkg::TagMatchCamOrganisation,
  parameter int unsigned SearchCycles           = rxnic_params_pkg::TagMatchCamSearchCycles,
  parameter int unsigned Hazard                 = rxnic_params_pkg::TagMatchCamHazard,
  parameter int unsigned BankEntries            = rxnic_params_pkg::TagMatchCamBankEntries,
  parameter int unsigned BanksPerCycle          = rxnic_params_pkg::TagMatchCamBanksPerCycle,
  parameter int unsigned WildcardsPerCycle      = rxnic_params_pkg::TagMatchCamWildcardsPerCycle,
  parameter int unsigned AppendCycles           = rxnic_params_pkg::TagMatchCamAppendCycles,
  parameter int unsigned OverflowEntriesPerRead = rxnic_params_pkg::TagMatchCamOverflowEntriesPerRead,
  parameter int unsigned RefillReads            = rxnic_params_pkg::TagMatchCamRefillReads,
  parameter int unsigned UnexpectedStatus       = rxnic_params_pkg::TagMatchCamUnexpectedStatus,
  parameter int unsigned PipelineDepth          = rxnic_params_pkg::TagMatchCamPipelineDepth,
  parameter int unsigned DmaDepth               = rxnic_params_pkg::DmaEngineQueueDepth,
  parameter int unsigned MostReturns =
      PipelineDepth + rxnic_params_pkg::TagMatchCamQueueDepth +
      rxnic_params_pkg::SrqWqeFetcherPipelineDepth + rxnic_params_pkg::NicNoticeDepth,
  parameter bit          StopsAtBucket          = 1'b0  // the bug: an older wildcard is passed by
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  output logic                                quiescent_o,
  // Packets, and the part of the context of their QP
  input  logic                                in_valid_i,
  output logic                                in_ready_o,
  input  rxnic_link_pkg::wqe_request_t        in_i,
  input  rxnic_link_pkg::tag_context_t        context_i,
  output logic                                context_write_valid_o,
  output rxnic_link_pkg::tag_context_write_t  context_write_o,
  output logic                                out_valid_o,
  input  logic                                out_ready_i,
  output rxnic_link_pkg::wqe_request_t        out_o,
  // Operations, and matches that come back
  input  logic                                operations_valid_i,
  output logic                                operations_ready_o,
  input  rxnic_link_pkg::tag_operation_t      operations_i,
  input  logic                                returned_valid_i,
  output logic                                returned_ready_o,
  input  rxnic_link_pkg::tag_return_t         returned_i,
  // Lists
  input  logic                                lists_valid_i,
  output logic                                lists_ready_o,
  input  rxnic_link_pkg::tag_list_command_t   lists_i,
  output logic                                list_done_valid_o,
  input  logic                                list_done_ready_i,
  output rxnic_link_pkg::step_done_t          list_done_o,
  // Memory: requests, what was read, what is written
  output logic                                dma_valid_o,
  input  logic                                dma_ready_i,
  output rxnic_link_pkg::dma_request_t        dma_o,
  input  logic                                dma_done_valid_i,
  output logic                                dma_done_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::dma_completion_t     dma_done_i,  // in the order of the requests
  // verilator lint_on UNUSEDSIGNAL
  output logic                                bursts_valid_o,
  output rxnic_link_pkg::tag_burst_read_t     bursts_o,
  input  rxnic_link_pkg::stored_tag_t         bursts_i,
  output logic                                written_valid_o,
  output rxnic_link_pkg::tag_write_t          written_o
);


  localparam int unsigned Ways = 4;
  localparam int unsigned Buckets = Entries / Ways;  // a power of two, 2 at least
  localparam int unsigned Slots = 2 * Entries;       // those of the table, and as many behind it
  localparam int unsigned BucketBits = $clog2(Buckets);
  localparam int unsigned RowBits = BucketBits + 1;
  localparam int unsigned SlotBits = RowBits + 2;
  localparam int unsigned ListBits = Lists > 1 ? $clog2(Lists) : 1;
  localparam int unsigned HandleBits = MaxTags > 1 ? $clog2(MaxTags) : 1;
  localparam int unsigned ReturnBits = MostReturns > 1 ? $clog2(MostReturns) : 1;
  localparam int unsigned WhereBits = SlotBits > ReturnBits ? SlotBits : ReturnBits;
  localparam int unsigned EntryBits = tag_match_pkg::EntryBits;
  localparam int unsigned PacketBits = rxnic_link_pkg::WqeRequestBits;

  typedef enum logic [1:0] {Idle, Search, Decide, Clear} state_e;

  // At hand
  tag_match_pkg::list_t l;
  logic [ListBits-1:0] at;
  logic found_list, begins;
  rxnic_link_pkg::wqe_request_t packet, labelled, result;
  logic [2:0] label_kind;
  logic [7:0] label_opcode;
  logic completes_operation, ok;
  rxnic_link_pkg::tag_operation_t operation;
  rxnic_link_pkg::tag_entry_t posted;
  tag_match_pkg::entry_t entry, compared;
  logic [2*MaxTags-1:0] row_of_places;
  logic [1:0] place;
  logic [WhereBits-1:0] where;

  localparam int unsigned ListVectorBits = $bits(l);

  state_e                          state_q, state_d;
  logic [Lists-1:0]                list_used_q, list_used_d;
  logic [Lists*ListVectorBits-1:0] lists_q, lists_d;
  logic [Slots-1:0]                valid_q, valid_d;
  logic [ReturnBits-1:0]           undo_next_q;
  logic [PacketBits-1:0]           packet_q, out_q;
  logic                            out_valid_q, out_valid_d;
  // The search
  logic [ListBits-1:0]             list_q, list_d;  // or the list that is cleared
  logic [RowBits-1:0]              row_q, row_d;
  logic                            found_q, found_d;
  logic [SlotBits-1:0]             best_q, best_d;
  logic [63:0]                     before_q, before_d;  // older entries are better

  logic [EntryBits-1:0] entries_q [Slots];
  logic [ListBits-1:0]  entry_lists_q [Slots];
  logic [2*MaxTags-1:0] places_q [Lists];
  logic [WhereBits-1:0] where_q [Lists*MaxTags];  // slot of a tag in here, or place in undo_q of a match
  logic [EntryBits-1:0] undo_q [MostReturns];
  // What is written at the end of the cycle
  logic enters, consumes, places, clears, no_room, leaves;
  logic [SlotBits-1:0] slot;
  logic [HandleBits-1:0] handle;
  logic [WhereBits-1:0] new_where;
  logic [RowBits-1:0] last_row, bucket;

  // What a match, or none, makes of a message, and what the completion of an operation is: as in rtl/tag_match_cam.sv.
  tag_match_message #(.UnexpectedStatus(UnexpectedStatus)) becomes (
    .packet_i(packet), .kind_i(label_kind), .message_i(context_i), .pd_i(l.pd), .cq_i(l.cq),
    .unacknowledged_i(l.unexpected - l.acknowledged), .handle_i(entry.handle), .buffer_i(entry.buffer),
    .opcode_i(label_opcode), .packet_o(labelled)
  );
  tag_match_completion completion (
    .operation_i(operations_i), .ok_i(ok), .cq_i(l.cq), .asks_sync_i(l.unexpected != l.acknowledged), .packet_o(result)
  );

  task automatic set_counts(input logic [15:0] unexpected, input logic [15:0] acknowledged);
    if (l.unexpected == l.acknowledged && unexpected != acknowledged) l.phase_began = l.appended;
    l.unexpected = unexpected;
    l.acknowledged = acknowledged;
  endtask
  task automatic miss(input logic [7:0] opcode);
    if (opcode == tag_match_pkg::TmhEager || opcode == tag_match_pkg::TmhRendezvous) begin
      set_counts(l.unexpected + 16'd1, l.acknowledged);
    end
    label_opcode = opcode;
    label_kind = tag_match_pkg::MessageMiss;
    context_write_valid_o = 1'b1;
  endtask
  task automatic open_list_of(input logic [31:0] srq);
    found_list = 1'b0;
    for (int unsigned n = 0; n < Lists; n++) begin
      if (!found_list) begin
        l = lists_q[n*ListVectorBits+:ListVectorBits];
        at = ListBits'(n);
        found_list = list_used_q[n] && l.srq == srq;
      end
    end
  endtask
  task automatic close_list();
    for (int unsigned n = 0; n < Lists; n++) if (ListBits'(n) == at) lists_d[n*ListVectorBits+:ListVectorBits] = l;
  endtask
  task automatic find_place(input logic [31:0] of_handle);
    handle = of_handle[HandleBits-1:0];
    row_of_places = places_q[at];
    place = of_handle < MaxTags ? row_of_places[{handle, 1'b0}+:2] : tag_match_pkg::PlaceFree;
    where = where_q[32'(at) * MaxTags + 32'(handle)];
  endtask
  task automatic put_place(input logic [1:0] to);
    places = 1'b1;
    place = to;
  endtask
  task automatic find_bucket(input logic [63:0] tag);
    logic [BucketBits-1:0] hash;
    hash = BucketBits'(at);
    for (int unsigned n = 0; n < 64; n += BucketBits) hash = hash ^ BucketBits'(tag >> n);
    bucket = {1'b0, hash};
  endtask
  task automatic enter();
    enters = 1'b1;
    no_room = 1'b1;
    for (int unsigned n = Slots; n > Slots / 2; n--) begin
      if (!valid_q[n-1]) begin
        no_room = 1'b0;
        slot = SlotBits'(n - 1);
      end
    end
    find_bucket(entry.tag);
    for (int unsigned n = 0; n < Ways; n++) begin
      if (entry.mask == '1 && !valid_q[{bucket, 2'(n)}]) begin
        no_room = 1'b0;
        slot = {bucket, 2'(n)};
      end
    end
    valid_d[slot] = 1'b1;
    l.in_cam = l.in_cam + 32'd1;
    put_place(tag_match_pkg::PlaceCam);
    new_where = WhereBits'(slot);
  endtask

  task automatic carry_out_command();
    logic placed;
    lists_ready_o = 1'b1;
    list_done_valid_o = 1'b1;
    open_list_of(lists_i.queue_);
    if (found_list) begin
      list_used_d[at] = 1'b0;
      state_d = Clear;
      list_d = at;
      row_d = '0;
    end
    placed = 1'b0;
    for (int unsigned n = 0; n < Lists; n++) begin
      if (lists_i.create && !placed && !list_used_d[n]) begin
        placed = 1'b1;
        at = ListBits'(n);
      end
    end
    if (placed) begin
      list_used_d[at] = 1'b1;
      l = '0;
      l.srq = lists_i.queue_;
      l.pd = lists_i.pd;
      l.cq = lists_i.cq;
      clears = 1'b1;
      close_list();
    end
    list_done_o.ok = placed || !lists_i.create;
  endtask

  task automatic take_back();
    returned_ready_o = 1'b1;
    open_list_of(returned_i.srq);
    find_place(returned_i.handle);
    entry = undo_q[where[ReturnBits-1:0]];
    if (found_list && returned_i.handle == '1) set_counts(l.unexpected - 16'd1, l.acknowledged);
    else if (found_list && place == tag_match_pkg::PlaceConsumed) enter();
    if (found_list) close_list();
  endtask

  task automatic take_packet();
    in_ready_o = 1'b1;
    packet = in_i;
    open_list_of(packet.receive_queue);
    begins = packet.role == rxnic_link_pkg::PacketRoleReceived && packet.outcome == rxnic_link_pkg::OutcomeExecute &&
             rxnic_pkg::is_send(packet.opcode) && packet.takes_wqe;
    if (found_list && begins) begin
      packet.cq = l.cq;
      if (packet.tmh_opcode == tag_match_pkg::TmhEager ||
          (packet.tmh_opcode == tag_match_pkg::TmhRendezvous && packet.rendezvous)) begin
        state_d = Search;
        find_bucket(packet.tag);
        row_d = bucket;
        list_d = at;
        found_d = 1'b0;
        before_d = l.unexpected == l.acknowledged ? '1 : l.phase_began;
      end else begin
        miss(packet.tmh_opcode);
      end
    end else if (found_list) begin
      if (packet.role == rxnic_link_pkg::PacketRoleTruncated ||
          (packet.role == rxnic_link_pkg::PacketRoleReceived && rxnic_pkg::is_send(packet.opcode))) begin
        label_kind = tag_match_pkg::MessageEnd;
      end else if (packet.rendezvous) begin
        label_kind = tag_match_pkg::MessageOwn;
      end
    end else if (begins) begin
      label_kind = tag_match_pkg::MessageForgotten;
    end
    leaves = state_d == Idle;
    if (found_list) close_list();
  endtask

  // A row of the search.
  task automatic compare();
    for (int unsigned n = 0; n < Ways; n++) begin
      compared = entries_q[{row_q, 2'(n)}];
      if (valid_q[{row_q, 2'(n)}] && entry_lists_q[{row_q, 2'(n)}] == list_q && compared.sequence_ < before_d &&
          (packet.tag & compared.mask) == compared.tag) begin
        found_d = 1'b1;
        best_d = {row_q, 2'(n)};
        before_d = compared.sequence_;
      end
    end
    row_d = row_q[RowBits-1] ? row_q + RowBits'(1) : RowBits'(Buckets);
    if (row_q >= last_row || (StopsAtBucket && found_d)) state_d = Decide;
  endtask

  task automatic decide();
    at = list_q;
    for (int unsigned n = 0; n < Lists; n++) if (ListBits'(n) == at) l = lists_q[n*ListVectorBits+:ListVectorBits];
    entry = entries_q[best_q];
    if (found_q) begin
      consumes = 1'b1;
      valid_d[best_q] = 1'b0;
      l.in_cam = l.in_cam - 32'd1;
      handle = entry.handle[HandleBits-1:0];
      put_place(tag_match_pkg::PlaceConsumed);
      new_where = WhereBits'(undo_next_q);
      label_kind = tag_match_pkg::MessageMatch;
      context_write_valid_o = 1'b1;
    end else begin
      miss(packet.tmh_opcode);
    end
    leaves = 1'b1;
    close_list();
    state_d = Idle;
  endtask

  task automatic take_operation();
    operations_ready_o = 1'b1;
    open_list_of(operation.srq);
    if (found_list) begin
      find_place(posted.handle);
      ok = 1'b1;
      if (operation.opcode == rxnic_link_pkg::TagOpcodeAdd) begin
        ok = posted.handle < MaxTags && place != tag_match_pkg::PlaceCam && l.in_cam < MaxTags;
      end else if (operation.opcode == rxnic_link_pkg::TagOpcodeDelete) begin
        ok = place == tag_match_pkg::PlaceCam;
      end
      if (operation.tm_sync) set_counts(l.unexpected, operation.unexpected_count);
      if (ok && operation.opcode == rxnic_link_pkg::TagOpcodeAdd) begin
        entry = {l.appended, posted.handle, posted.tag, posted.mask, posted.buffer};
        l.appended = l.appended + 64'd1;
        enter();
      end else if (ok && operation.opcode == rxnic_link_pkg::TagOpcodeDelete) begin
        valid_d[where[SlotBits-1:0]] = 1'b0;
        l.in_cam = l.in_cam - 32'd1;
        put_place(tag_match_pkg::PlaceFree);
      end
      if (operation.signaled || !ok) begin
        leaves = 1'b1;
        completes_operation = 1'b1;
      end
      close_list();
    end
  endtask

  always_comb begin : step
    state_d = state_q;
    list_used_d = list_used_q;
    lists_d = lists_q;
    valid_d = valid_q;
    list_d = list_q;
    row_d = row_q;
    found_d = found_q;
    best_d = best_q;
    before_d = before_q;
    l = '0;
    at = '0;
    packet = packet_q;
    label_kind = tag_match_pkg::MessageAsItIs;
    label_opcode = '0;
    operation = operations_i;
    posted = operation.entry;
    entry = '0;
    compared = '0;
    row_of_places = '0;
    place = '0;
    where = '0;
    bucket = '0;
    {enters, consumes, places, clears, no_room, leaves, found_list, begins, ok, completes_operation} = '0;
    slot = '0;
    handle = '0;
    new_where = '0;
    {lists_ready_o, returned_ready_o, in_ready_o, operations_ready_o} = '0;
    {list_done_valid_o, context_write_valid_o} = '0;
    list_done_o = '0;
    last_row = '0;
    for (int unsigned n = Slots / 2; n < Slots; n++) if (valid_q[n]) last_row = RowBits'(n / Ways);

    case (state_q)
      Idle: if (!out_valid_q || out_ready_i) begin
        if (lists_valid_i && list_done_ready_i) carry_out_command();
        else if (returned_valid_i) take_back();
        else if (in_valid_i) take_packet();
        else if (operations_valid_i) take_operation();
      end
      Search: compare();
      Decide: decide();
      default: begin
        for (int unsigned n = 0; n < Ways; n++) begin
          if (entry_lists_q[{row_q, 2'(n)}] == list_q) valid_d[{row_q, 2'(n)}] = 1'b0;
        end
        row_d = row_q + RowBits'(1);
        if (row_q == '1) state_d = Idle;
      end
    endcase
    out_valid_d = leaves || (out_valid_q && !out_ready_i);
  end

  assign out_valid_o = out_valid_q;
  assign out_o = out_q;
  assign context_write_o = {labelled.line, labelled.tag_verdict, labelled.tag_context, labelled.tag};
  assign quiescent_o = state_q == Idle && !out_valid_q;
  assign {dma_valid_o, bursts_valid_o, written_valid_o} = '0;
  assign dma_done_ready_o = 1'b1;
  assign dma_o = '0;
  assign bursts_o = '0;
  assign written_o = '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      list_used_q <= '0;
      valid_q <= '0;
      undo_next_q <= '0;
      out_valid_q <= 1'b0;
    end else begin
      state_q <= state_d;
      list_used_q <= list_used_d;
      valid_q <= valid_d;
      if (consumes) undo_next_q <= undo_next_q == ReturnBits'(MostReturns - 1) ? '0 : undo_next_q + ReturnBits'(1);
      out_valid_q <= out_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    lists_q <= lists_d;
    list_q <= list_d;
    row_q <= row_d;
    found_q <= found_d;
    best_q <= best_d;
    before_q <= before_d;
    packet_q <= packet;
    if (leaves) out_q <= completes_operation ? result : labelled;
    if (enters) begin
      entries_q[slot] <= entry;
      entry_lists_q[slot] <= at;
    end
    if (consumes) undo_q[undo_next_q] <= entry;
    if (clears) places_q[at] <= '0;
    if (places) begin
      places_q[at][{handle, 1'b0}+:2] <= place;
      where_q[32'(at) * MaxTags + 32'(handle)] <= new_where;
    end
  end

`ifndef SYNTHESIS
  all_tags_have_room: assert property (@(posedge clk_i) disable iff (!rst_ni) !no_room);
`endif

endmodule : tag_match_cam
