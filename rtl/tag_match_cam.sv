// SPDX-License-Identifier: Apache-2.0
// Twin of model/blocks/tag_match_cam. Rules R1..R18 are stated there, those of the lists in model/core/tag_matching.
//
// What a cycle decides is decided in one pass over the state, in the order of the model. `..._d` is the state behind
// the step at hand. A list is opened (`at`, `l`), changed, and closed. What a packet becomes is known in the cycle in
// which it is taken, and leaves with its result. `now_q` counts the cycles that are not left out.
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
  parameter int unsigned TagStore               = tag_match_pkg::StoreSerial,  // what tag_store is made of
  parameter int unsigned MostReturns =
      PipelineDepth + rxnic_params_pkg::TagMatchCamQueueDepth +
      rxnic_params_pkg::SrqWqeFetcherPipelineDepth + rxnic_params_pkg::NicNoticeDepth
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  output logic                                quiescent_o,
  output rxnic_link_pkg::activity_e           activity_o,
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

  localparam int unsigned Slots = 2 * MaxTags;  // of a list's overflow
  localparam int unsigned BankRounds = ((Entries + BankEntries - 1) / BankEntries + BanksPerCycle - 1) / BanksPerCycle;
  localparam int unsigned PlaceWrites = 4;
  localparam int unsigned SlotNumberBits = tag_match_pkg::SlotBits;
  localparam int unsigned PositionBits = tag_match_pkg::PositionBits;
  localparam int unsigned ListBits = Lists > 1 ? $clog2(Lists) : 1;
  localparam int unsigned ListCountBits = $clog2(Lists + 1);
  localparam int unsigned HandleBits = MaxTags > 1 ? $clog2(MaxTags) : 1;
  localparam int unsigned BurstBits = RefillReads > 1 ? $clog2(RefillReads) : 1;
  localparam int unsigned BurstCountBits = $clog2(2 * RefillReads + 1);
  localparam int unsigned ReturnBits = MostReturns > 1 ? $clog2(MostReturns) : 1;
  localparam int unsigned ReturnCountBits = $clog2(MostReturns + 1);
  localparam int unsigned PipeCountBits = $clog2(PipelineDepth + 1);
  localparam int unsigned PacketBits = rxnic_link_pkg::WqeRequestBits;
  localparam int unsigned EntryBits = tag_match_pkg::EntryBits;

  typedef rxnic_link_pkg::tag_verdict_e tag_verdict_e;

  // A read of the overflow, in flight or to be looked through.
  typedef struct packed {
    logic                    has_list;
    logic [ListBits-1:0]     of_list;
    logic [1:0]              kind;      // burst_kind_e
    logic                    ok;
    logic [7:0]              entries;
    logic [7:0]              next;      // entry to be looked at ...
    logic [PositionBits-1:0] position;  // ... and where it is
  } burst_t;

  // What has to read the overflow before anything else is taken.
  typedef struct packed {
    logic [1:0]              kind;       // job_kind_e
    logic                    has_list;
    logic [ListBits-1:0]     of_list;
    logic                    decided;
    logic                    reads;
    logic                    taken;      // its entry was found in the overflow, or taken from the CAM
    logic                    has_match;  // search: in the CAM
    logic [63:0]             tag;
    logic [63:0]             held_from;
    logic [PositionBits-1:0] position;
    logic [PositionBits-1:0] destination;
  } job_t;

  // At hand: what the steps of a cycle work on
  tag_match_pkg::list_t l;
  logic [ListBits-1:0] at;
  burst_t burst;
  job_t job;
  tag_match_pkg::entry_t job_entry, compared, looked, remembered;
  rxnic_link_pkg::wqe_request_t packet, labelled, result;  // as it is taken, as it leaves; that of an operation
  logic [2:0] label_kind;
  logic [31:0] label_pd, label_handle;
  logic [23:0] label_cq, result_cq;
  logic [127:0] label_buffer;
  logic [7:0] label_opcode;
  logic result_ok, result_asks_sync;
  // verilator lint_off UNUSEDSIGNAL
  rxnic_link_pkg::tag_operation_t operation;
  // verilator lint_on UNUSEDSIGNAL
  rxnic_link_pkg::tag_entry_t posted;
  rxnic_link_pkg::stored_tag_t at_hand, stored;
  rxnic_link_pkg::dma_request_t dma;
  logic found_list, begins, starts, kept, came_back, takes_packet, head_is_ready;
  logic worked, lacks_dma;  // something was done; an append waits for room for its write
  logic match_found, is_settled, is_full, is_sparse;
  logic [63:0] held_from;
  logic [15:0] unacknowledged;
  logic [PositionBits-1:0] position;
  logic [7:0] burst_entries;
  logic [BurstBits-1:0] burst_at;
  logic [2*MaxTags-1:0] row;
  logic [1:0] place_found;
  logic [47:0] due;
  logic [rxnic_link_pkg::TagWriteBits-1:0] written;
  logic [PacketBits-1:0] front_packet;

  localparam int unsigned ListVectorBits = $bits(l);
  localparam int unsigned BurstVectorBits = $bits(burst);

  // State: `..._q` at the beginning of the cycle, `..._d` behind the step at hand; job and job_entry are job_q and
  // job_entry_q then.
  logic [47:0]                          now_q, cam_free_q, cam_free_d, search_free_q, search_free_d;
  logic [Lists-1:0]                     list_used_q, list_used_d;
  // What is written to memories and read from them counts; these are vectors for yosys.
  // verilator coverage_off
  logic [Lists*ListVectorBits-1:0]      lists_q, lists_d;
  // verilator coverage_on
  logic [(Lists+1)*ListBits-1:0]        order_q, order_d;  // lists with an overflow, by age
  logic [ListCountBits-1:0]             spilled_q, spilled_d, turn_q, turn_d;
  logic [31:0]                          cam_used_q, cam_used_d, cam_reserved_q, cam_reserved_d;
  logic [MostReturns-1:0]               back_valid_q, back_valid_d;  // matches that came back: their list is there ...
  // verilator coverage_off
  logic [MostReturns*ListBits-1:0]      back_lists_q, back_lists_d;
  logic [MostReturns*32-1:0]            back_handles_q, back_handles_d;
  // verilator coverage_on
  logic [ReturnCountBits-1:0]           returns_q, returns_d;        // ... and their number
  // verilator coverage_off
  logic [RefillReads*BurstVectorBits-1:0] bursts_q, bursts_d;
  // verilator coverage_on
  logic [BurstBits-1:0]                 first_burst_q, first_burst_d;
  logic [BurstCountBits-1:0]            bursts_used_q, bursts_used_d, bursts_landed_q, bursts_landed_d;
  logic                                 at_hand_q, at_hand_d, fresh_q, operation_waits_q, operation_waits_d;
  logic [rxnic_link_pkg::StoredTagBits-1:0] at_hand_entry_q;
  logic [10:0]                          leaving_q, leaving_d;
  job_t                                 job_q;
  tag_match_pkg::entry_t                job_entry_q;
  logic [PipeCountBits-1:0]             pipe_count, pipe_count_d;
  logic                                 walked_q, walked_d;          // the oldest packet's search has ended: ...
  logic [PacketBits-1:0]                walked_packet_q;             // ... what it has become
  logic [ReturnBits-1:0]                undo_next_q;

  // Memories, and what is written at the end of the cycle
  // verilator coverage_off
  logic [2*MaxTags-1:0]  places_q [Lists];
  logic [EntryBits-1:0]  undo_q [MostReturns];
  logic [ListBits-1:0]   undo_lists_q [MostReturns];
  // verilator coverage_on
  logic                              undo_write, clear_places, push, result_push, walks, leaves_pipe;
  logic [ListBits-1:0]               undo_write_list, clear_list;
  logic [EntryBits-1:0]              undo_write_entry;
  logic [2:0]                        place_writes;
  logic [PlaceWrites*ListBits-1:0]   place_lists;
  logic [PlaceWrites*HandleBits-1:0] place_handles;
  logic [PlaceWrites*2-1:0]          place_values;
  logic [47:0]                       push_due, result_due, first_due;
  logic [PacketBits-1:0]             first_packet;  // the oldest one, as it was taken
  logic                              first_walks;   // its search goes on in the overflow

  // What the CAM is asked, of the lists at the beginning of the cycle, and what it answers; what goes in and out.
  logic                  cam_ready, cam_clear, cam_search, cam_searched, cam_found, cam_match;
  logic                  cam_put_back, cam_answered, cam_youngest;
  logic [ListBits-1:0]   cam_clear_list, search_list, youngest_list;
  logic [63:0]           search_before;
  tag_match_pkg::entry_t cam_entry, youngest_entry;
  logic [31:0]           found_cycles, cam_cycles;
  logic                  enters, leaves, removes;
  logic [ListBits-1:0]   enter_list, leave_list, remove_list;
  logic [HandleBits-1:0] leave_handle;
  logic [EntryBits-1:0]  enter_entry;
  // verilator lint_off UNUSEDSIGNAL
  logic [Entries-1:0]    cam_places;  // that hold an entry, for the checker
  // verilator lint_on UNUSEDSIGNAL

  // verilator lint_off UNUSEDSIGNAL
  tag_match_pkg::list_t asked;
  // verilator lint_on UNUSEDSIGNAL

  // What is searched for in the CAM: the first packet of a message (R1).
  logic searches;
  assign searches = in_i.role == rxnic_link_pkg::PacketRoleReceived &&
                    in_i.outcome == rxnic_link_pkg::OutcomeExecute && rxnic_pkg::is_send(in_i.opcode) &&
                    in_i.takes_wqe && (in_i.tmh_opcode == tag_match_pkg::TmhEager ||
                                       (in_i.tmh_opcode == tag_match_pkg::TmhRendezvous && in_i.rendezvous));
  assign lists_ready_o = list_done_ready_i && cam_ready;
  // Entries of a list that goes in this cycle do not match.
  assign cam_match = cam_found && !(cam_clear && cam_clear_list == search_list);
  assign cam_cycles = cam_clear && cam_clear_list == search_list ? '0 : found_cycles;

  always_comb begin : ask
    asked = '0;
    cam_clear = 1'b0;
    cam_search = 1'b0;
    cam_put_back = returns_q != '0 || returned_valid_i;
    cam_clear_list = '0;
    search_list = '0;
    search_before = '0;
    youngest_list = back_lists_q[ListBits-1:0];
    for (int unsigned n = 0; n < Lists; n++) begin
      asked = lists_q[n*ListVectorBits+:ListVectorBits];
      if (list_used_q[n]) begin
        if (lists_valid_i && lists_ready_o && asked.srq == lists_i.queue_) begin
          cam_clear = 1'b1;
          cam_clear_list = ListBits'(n);
        end
        if (in_valid_i && searches && asked.srq == in_i.receive_queue) begin
          cam_search = 1'b1;
          search_list = ListBits'(n);
          search_before = asked.unexpected == asked.acknowledged ? '1 : asked.phase_began;
        end
        if (returns_q == '0 && asked.srq == returned_i.srq) youngest_list = ListBits'(n);
      end
    end
  end

  tag_store #(
    .Entries(Entries), .Lists(Lists), .MaxTags(MaxTags),
    .Hashed(Organisation == rxnic_params_pkg::TagOrganisationHashed), .WildcardsPerCycle(WildcardsPerCycle),
    .Store(TagStore)
  ) store (
    .clk_i, .rst_ni, .ready_o(cam_ready),
    .search_valid_i(cam_search), .search_ready_o(cam_searched), .search_list_i(search_list),
    .search_tag_i(in_i.tag), .search_before_i(search_before),
    .found_o(cam_found), .found_entry_o(cam_entry), .found_cycles_o(found_cycles),
    .youngest_valid_i(cam_put_back), .youngest_ready_o(cam_answered), .youngest_list_i(youngest_list),
    .youngest_o(cam_youngest), .youngest_entry_o(youngest_entry),
    .clear_i(cam_clear), .clear_list_i(cam_clear_list),
    .delete_i({removes, leaves}), .delete_lists_i({remove_list, leave_list}),
    .delete_handles_i({operations_i.entry.handle[HandleBits-1:0], leave_handle}),
    .insert_i(enters), .insert_list_i(enter_list), .insert_entry_i(enter_entry), .places_o(cam_places)
  );

  // What was decided, until it leaves; of a packet and an operation of one cycle the packet is first.
  rxnic_fifo #(.Bits(1 + 48 + PacketBits), .Depth(PipelineDepth), .Pushes(2)) pipeline (
    .clk_i, .rst_ni, .push_i(2'(push) + 2'(result_push)),
    .words_i({{1'b0, result_due, result}, push ? {walks, push_due, labelled} : {1'b0, result_due, result}}),
    .pop_i(leaves_pipe), .count_o(pipe_count), .words_o({first_walks, first_due, first_packet})
  );

  tag_match_message #(.UnexpectedStatus(UnexpectedStatus)) becomes (
    .packet_i(packet), .kind_i(label_kind), .message_i(context_i), .pd_i(label_pd), .cq_i(label_cq),
    .unacknowledged_i(unacknowledged), .handle_i(label_handle), .buffer_i(label_buffer), .opcode_i(label_opcode),
    .packet_o(labelled)
  );
  tag_match_completion completion (
    .operation_i(operations_i), .ok_i(result_ok), .cq_i(result_cq), .asks_sync_i(result_asks_sync), .packet_o(result)
  );
  assign front_packet = kept ? labelled : walked_q ? walked_packet_q : first_packet;
  assign out_o = front_packet;
  assign context_write_o = {labelled.line, labelled.tag_verdict, labelled.tag_context, labelled.tag};

  task automatic open_list(input logic [ListBits-1:0] list);
    at = list;
    l = '0;
    for (int unsigned n = 0; n < Lists; n++) if (ListBits'(n) == list) l = lists_d[n*ListVectorBits+:ListVectorBits];
  endtask
  task automatic close_list();
    for (int unsigned n = 0; n < Lists; n++) if (ListBits'(n) == at) lists_d[n*ListVectorBits+:ListVectorBits] = l;
  endtask
  task automatic open_list_of(input logic [31:0] srq);
    found_list = 1'b0;
    for (int unsigned n = 0; n < Lists; n++) begin
      if (!found_list) begin
        l = lists_d[n*ListVectorBits+:ListVectorBits];
        at = ListBits'(n);
        found_list = list_used_d[n] && l.srq == srq;
      end
    end
  endtask

  `include "tag_match_list.svh"
  `include "tag_match_tags.svh"
  `include "tag_match_overflow.svh"
  `include "tag_match_packets.svh"
  `include "tag_match_operations.svh"
  `include "tag_match_step.svh"

endmodule : tag_match_cam
