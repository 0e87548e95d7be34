// SPDX-License-Identifier: Apache-2.0
// Twin of model/blocks/tag_match_cam. Rules R1..R18 are stated there, those of the lists in model/core/tag_matching.
//
// The steps of a cycle follow each other in the order of the model. What comes is a command (1), and a match or message
// that comes back (2). Then the overflow of the lists in memory has its turn. An entry of it was read (3), a match is
// put back (4), a search goes on (5), the next read begins (6). The last steps are a packet (7) and an operation (8).
// Each sees what those before it make of lists, places of tags, reads and the job: `..._1` to `..._8`. All is written
// at the end of the cycle. What has a state of its own, or decides much, is a module, `tag_match_...`. `now_q` counts
// the cycles that are not left out.
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
  localparam int unsigned ListBits = Lists > 1 ? $clog2(Lists) : 1;
  localparam int unsigned HandleBits = MaxTags > 1 ? $clog2(MaxTags) : 1;
  localparam int unsigned PositionBits = tag_match_pkg::PositionBits;
  localparam int unsigned ReadBits = RefillReads > 1 ? $clog2(RefillReads) : 1;
  localparam int unsigned ReadCountBits = $clog2(2 * RefillReads + 1);
  localparam int unsigned ReturnCountBits = $clog2(MostReturns + 1);
  localparam int unsigned PipeCountBits = $clog2(PipelineDepth + 1);

  // Times: the CAM is occupied until `cam_free`, a search may begin from `search_free` on.
  logic [47:0] now_q, cam_free_q, cam_free_3, cam_free_4, cam_free_8, search_free_q, search_free_7;
  logic        cam_ready, operation_waits_q, operation_waits_8;
  // The job, its list and its entry
  tag_match_pkg::job_t   job_q, job_1, job_3, job_4, job_5, job_7, job_8, new_job_7;
  logic [ListBits-1:0]   job_list_q, job_list_4, job_list_7, job_list_8;
  tag_match_pkg::entry_t job_entry_q, job_entry_3, job_entry_4, job_entry_7, job_entry_8;
  logic begins_4, begins_8, walks_7;
  // The match that is put back next
  logic puts_back, spills_4, spills_8;  // ... and lists that have an overflow from now on
  logic [ReturnCountBits-1:0] returns_count;
  logic [ListBits-1:0] next_return_list, return_list;
  logic [31:0] return_handle;

  // The lists, as the steps find and leave them
  logic searches_0, found_0, forgets_1, makes_1, found_2, keeps_2, keeps_3, keeps_4, keeps_5, reads_6, found_7, keeps_7;
  logic found_8, keeps_8;
  logic [ListBits-1:0] at_0, forgotten_1, made_1, at_2, at_3, at_4, at_6, at_7, at_8;
  logic [63:0] held_from_0;
  logic [31:0] in_cam_1;
  logic [Lists-1:0] unread_6, sparse_6, full_6;
  tag_match_pkg::list_t old_2, old_3, old_4, old_5, old_6, old_7, old_8;
  tag_match_pkg::list_t list_2, list_3, list_4, list_5, list_6, list_7, list_8;
  tag_match_lists #(
    .Lists(Lists), .Slots(Slots), .OverflowEntriesPerRead(OverflowEntriesPerRead)
  ) lists (
    .clk_i, .rst_ni, .searches_0_i(searches_0), .srq_0_i(in_i.receive_queue), .found_0_o(found_0), .at_0_o(at_0),
    .held_from_0_o(held_from_0),
    .commands_1_i(list_done_valid_o), .command_1_i(lists_i), .forgets_1_o(forgets_1), .forgotten_1_o(forgotten_1),
    .in_cam_1_o(in_cam_1), .makes_1_o(makes_1), .made_1_o(made_1),
    .looks_2_i(returned_valid_i), .srq_2_i(returned_i.srq), .found_2_o(found_2), .at_2_o(at_2), .list_2_o(old_2),
    .keeps_2_i(keeps_2), .list_2_i(list_2), .at_3_i(at_3), .list_3_o(old_3), .keeps_3_i(keeps_3), .list_3_i(list_3),
    .at_4_i(at_4), .list_4_o(old_4), .keeps_4_i(keeps_4), .list_4_i(list_4), .at_5_i(job_list_4), .list_5_o(old_5),
    .keeps_5_i(keeps_5), .list_5_i(list_5), .unread_6_o(unread_6), .sparse_6_o(sparse_6), .full_6_o(full_6),
    .at_6_i(at_6), .list_6_o(old_6), .keeps_6_i(reads_6), .list_6_i(list_6),
    .looks_7_i(in_valid_i), .srq_7_i(in_i.receive_queue), .found_7_o(found_7), .at_7_o(at_7), .list_7_o(old_7),
    .keeps_7_i(keeps_7), .list_7_i(list_7),
    .looks_8_i(operations_valid_i), .srq_8_i(operations_i.srq), .found_8_o(found_8), .at_8_o(at_8), .list_8_o(old_8),
    .keeps_8_i(keeps_8), .list_8_i(list_8)
  );

  // The CAM: what it is asked, of the lists at the beginning of the cycle, and what it answers; what comes and goes. In
  // a cycle one step may put an entry in. One may take a match or a list's youngest entry out, and an operation one.
  logic cam_searched, cam_found, cam_match, cam_put_back, cam_answered, cam_youngest, enters, leaves;
  logic enters_3, enters_4, leaves_4, leaves_5, leaves_7, enters_8, removes_8;
  tag_match_pkg::entry_t cam_entry, youngest, found_3, remembered, entry_8, enter_entry;
  logic [31:0] found_cycles, cam_cycles;
  logic [ListBits-1:0] enter_list, leave_list;
  logic [HandleBits-1:0] leave_handle;
  // verilator lint_off UNUSEDSIGNAL
  logic [Entries-1:0] cam_places;  // that hold an entry, for the checker
  // verilator lint_on UNUSEDSIGNAL
  assign searches_0 = in_valid_i && in_i.role == rxnic_link_pkg::PacketRoleReceived &&
                      in_i.outcome == rxnic_link_pkg::OutcomeExecute && rxnic_pkg::is_send(in_i.opcode) &&
                      in_i.takes_wqe && (in_i.tmh_opcode == tag_match_pkg::TmhEager ||
                                         (in_i.tmh_opcode == tag_match_pkg::TmhRendezvous && in_i.rendezvous));
  assign cam_put_back = returns_count != '0 || returned_valid_i;
  tag_store #(
    .Entries(Entries), .Lists(Lists), .MaxTags(MaxTags),
    .Hashed(Organisation == rxnic_params_pkg::TagOrganisationHashed), .WildcardsPerCycle(WildcardsPerCycle),
    .Store(TagStore)
  ) store (
    .clk_i, .rst_ni, .ready_o(cam_ready),
    .search_valid_i(found_0), .search_ready_o(cam_searched), .search_list_i(at_0), .search_tag_i(in_i.tag),
    .search_before_i(held_from_0), .found_o(cam_found), .found_entry_o(cam_entry), .found_cycles_o(found_cycles),
    .youngest_valid_i(cam_put_back), .youngest_ready_o(cam_answered),
    .youngest_list_i(next_return_list), .youngest_o(cam_youngest), .youngest_entry_o(youngest),
    .clear_i(forgets_1), .clear_list_i(forgotten_1),
    .delete_i({removes_8, leaves}), .delete_lists_i({at_8, leave_list}),
    .delete_handles_i({operations_i.entry.handle[HandleBits-1:0], leave_handle}),
    .insert_i(enters), .insert_list_i(enter_list), .insert_entry_i(enter_entry), .places_o(cam_places)
  );
  // Entries of a list that goes in this cycle do not match.
  assign cam_match = cam_found && !(forgets_1 && forgotten_1 == at_0);
  assign cam_cycles = forgets_1 && forgotten_1 == at_0 ? '0 : found_cycles;
  assign enters = enters_3 || enters_4 || enters_8;
  assign enter_list = enters_3 ? at_3 : enters_4 ? at_4 : at_8;
  assign enter_entry = enters_3 ? found_3 : enters_4 ? remembered : entry_8;
  assign leaves = leaves_4 || leaves_5 || leaves_7;
  assign leave_list = leaves_4 ? at_4 : leaves_5 ? job_list_4 : at_7;
  assign leave_handle = leaves_4 ? youngest.handle[HandleBits-1:0] :
                        leaves_5 ? job_entry_4.handle[HandleBits-1:0] : cam_entry.handle[HandleBits-1:0];

  // How many entries it holds, where each tag is, and matches that may come back
  logic room_3, room_4, room_8, writes_place_3, writes_place_4, writes_place_8, remembers_3, undo_write;
  logic [31:0] cam_used, cam_reserved, released_3, free_6, reserved_6;
  logic [1:0] place_3, place_4, place_8, new_place_3, new_place_4, new_place_8;
  logic [HandleBits-1:0] handle_4;
  rxnic_link_pkg::stored_tag_t at_hand;
  tag_match_room #(.Entries(Entries)) room (
    .clk_i, .rst_ni, .used_o(cam_used), .reserved_o(cam_reserved), .forgets_1_i(forgets_1), .in_cam_1_i(in_cam_1),
    .room_3_o(room_3), .enters_3_i(enters_3), .released_3_i(released_3), .room_4_o(room_4), .enters_4_i(enters_4),
    .leaves_4_i(leaves_4), .leaves_5_i(leaves_5), .free_6_o(free_6), .reserves_6_i(reserved_6), .leaves_7_i(leaves_7),
    .room_8_o(room_8), .enters_8_i(enters_8), .leaves_8_i(removes_8)
  );
  tag_match_places #(.Lists(Lists), .MaxTags(MaxTags)) places (
    .clk_i, .makes_1_i(makes_1), .at_1_i(made_1), .at_3_i(at_3), .handle_3_i(at_hand.handle), .place_3_o(place_3),
    .writes_3_i(writes_place_3), .place_3_i(new_place_3), .at_4_i(at_4), .handle_4_i(return_handle),
    .place_4_o(place_4), .spills_4_i(leaves_4), .spilled_4_i(youngest.handle[HandleBits-1:0]),
    .writes_4_i(writes_place_4), .written_4_i(handle_4), .place_4_i(new_place_4), .consumes_5_i(leaves_5),
    .at_5_i(job_list_4), .handle_5_i(job_entry_4.handle[HandleBits-1:0]), .consumes_7_i(leaves_7), .at_7_i(at_7),
    .handle_7_i(cam_entry.handle[HandleBits-1:0]), .at_8_i(at_8), .handle_8_i(operations_i.entry.handle),
    .place_8_o(place_8), .writes_8_i(writes_place_8), .place_8_i(new_place_8)
  );
  assign undo_write = remembers_3 || leaves_5 || leaves_7;
  tag_match_undo #(.Lists(Lists), .MostReturns(MostReturns)) undo (
    .clk_i, .rst_ni, .remembers_3_i(remembers_3), .at_3_i(at_3), .entry_3_i(found_3), .looks_4_i(puts_back),
    .at_4_i(at_4), .handle_4_i(return_handle), .entry_4_o(remembered), .remembers_7_i(leaves_5 || leaves_7),
    .at_7_i(leaves_5 ? job_list_4 : at_7), .entry_7_i(leaves_5 ? job_entry_4 : cam_entry)
  );

  // What is asked of memory, by the first step that asks
  logic request_free_3, request_free_4, request_free_6, request_free_8;
  tag_match_pkg::request_t request_3, request_4, request_6, request_8;
  tag_match_pkg::entry_t written_4;
  logic [ReadBits-1:0] read_place;
  tag_match_requests #(.Slots(Slots), .DmaDepth(DmaDepth)) requests (
    .clk_i, .rst_ni, .dma_valid_o, .dma_ready_i, .dma_o, .written_valid_o, .written_o, .free_3_o(request_free_3),
    .request_3_i(request_3), .entry_3_i(at_hand), .free_4_o(request_free_4), .request_4_i(request_4),
    .entry_4_i(written_4), .free_6_o(request_free_6), .request_6_i(request_6), .cookie_6_i(32'(read_place)),
    .free_8_o(request_free_8), .request_8_i(request_8), .entry_8_i(entry_8)
  );

  // (1) A command: the job of a list that is removed goes, and a search goes on without it.
  assign lists_ready_o = list_done_ready_i && cam_ready;
  assign list_done_valid_o = lists_valid_i && lists_ready_o;
  assign list_done_o = makes_1 || !lists_i.create;
  always_comb begin : forget
    job_1 = job_q;
    if (forgets_1 && job_q.has_list && job_list_q == forgotten_1) begin
      job_1.has_list = 1'b0;
      if (job_q.kind != tag_match_pkg::JobSearch) job_1 = '0;
    end
  end

  // (2) A match or an unexpected message comes back. (R14)
  logic came_back, is_unexpected, drops_return_3, any_return_4, return_valid, drops_return_4, any_return_5;
  assign returned_ready_o = returns_count < ReturnCountBits'(MostReturns);
  assign came_back = returned_valid_i && returned_ready_o;
  assign is_unexpected = returned_i.handle == '1;
  assign keeps_2 = came_back && found_2 && is_unexpected;
  always_comb begin : forget_message
    list_2 = old_2;
    list_2.unexpected = old_2.unexpected - 16'd1;
    list_2.phase_began = tag_match_pkg::phase_of(old_2.unexpected, old_2.acknowledged, list_2.unexpected,
                                                 old_2.acknowledged, old_2.phase_began, old_2.appended);
  end
  tag_match_returns #(.Lists(Lists), .MostReturns(MostReturns)) returns (
    .clk_i, .rst_ni, .count_o(returns_count), .job_i(job_q.kind == tag_match_pkg::JobPutBack),
    .next_list_o(next_return_list), .forgets_1_i(forgets_1), .at_1_i(forgotten_1),
    .comes_2_i(came_back && found_2 && !is_unexpected), .at_2_i(at_2), .handle_2_i(returned_i.handle),
    .drops_3_i(drops_return_3), .any_4_o(any_return_4), .valid_4_o(return_valid), .at_4_o(return_list),
    .handle_4_o(return_handle), .drops_4_i(drops_return_4), .any_5_o(any_return_5)
  );

  // (3) A read of the overflow has come; one of its entries is looked at. (R6, R7, R8)
  logic at_hand_q, own_3, advances_3, drops_3, tidies_3, works_3, no_reads_4, room_6, compacting_6, no_reads_8;
  logic [ReadCountBits-1:0] reads_count, landed_count;
  tag_match_pkg::burst_t burst_3;
  logic [1:0] kind_6;
  logic [7:0] entries_6;
  logic [PositionBits-1:0] from_6;
  assign dma_done_ready_o = 1'b1;
  tag_match_bursts #(.Lists(Lists), .RefillReads(RefillReads), .Slots(Slots)) bursts (
    .clk_i, .rst_ni, .used_o(reads_count), .landed_o(landed_count), .bursts_valid_o, .bursts_o, .bursts_i,
    .forgets_1_i(forgets_1), .at_1_i(forgotten_1), .lands_2_i(dma_done_valid_i), .ok_2_i(dma_done_i.ok),
    .at_hand_3_o(at_hand_q), .entry_3_o(at_hand), .burst_3_o(burst_3), .at_3_o(at_3), .advances_3_i(advances_3),
    .drops_3_i(drops_3), .none_4_o(no_reads_4), .room_6_o(room_6),
    .compacts_6_o(compacting_6), .place_6_o(read_place), .reads_6_i(reads_6), .at_6_i(at_6), .kind_6_i(kind_6),
    .entries_6_i(entries_6), .position_6_i(from_6),
    .none_8_o(no_reads_8)
  );
  assign own_3 = burst_3.has_list && job_1.has_list && job_list_q == at_3;
  tag_match_look #(.Slots(Slots)) look (
    .look_i(at_hand_q && now_q >= cam_free_q && cam_ready), .entry_i(at_hand), .place_i(place_3), .burst_i(burst_3),
    .advances_o(advances_3), .drops_o(drops_3), .released_o(released_3), .list_i(old_3),
    .keeps_o(keeps_3), .list_o(list_3), .tidies_o(tidies_3), .own_i(own_3), .job_i(job_1), .job_entry_i(job_entry_q),
    .job_o(job_3), .remembers_o(remembers_3), .found_o(found_3), .drops_return_o(drops_return_3), .room_i(room_3),
    .free_i(request_free_3), .enters_o(enters_3), .writes_place_o(writes_place_3), .place_o(new_place_3),
    .request_o(request_3), .works_o(works_3)
  );
  assign job_entry_3 = remembers_3 ? found_3 : job_entry_q;
  assign cam_free_3 = enters_3 ? now_q + 48'(AppendCycles) : cam_free_q;  // (R3)

  // (4) The first of the matches that came back is put back. (R14)
  logic works_4;
  assign puts_back = any_return_4 && now_q >= cam_free_3 && cam_ready && cam_answered;
  assign at_4 = job_3.kind == tag_match_pkg::JobPutBack ? job_list_q : return_list;
  tag_match_put_back #(.Slots(Slots), .MaxTags(MaxTags)) put_back (
    .put_back_i(puts_back), .valid_i(return_valid), .place_i(place_4), .remembered_i(remembered), .list_i(old_4),
    .keeps_o(keeps_4), .list_o(list_4), .spills_o(spills_4), .job_i(job_3), .job_entry_i(job_entry_3),
    .begins_o(begins_4), .job_o(job_4), .job_entry_o(job_entry_4), .drops_o(drops_return_4), .room_i(room_4),
    .youngest_i(cam_youngest), .youngest_entry_i(youngest), .enters_o(enters_4), .leaves_o(leaves_4),
    .writes_place_o(writes_place_4), .handle_o(handle_4), .place_o(new_place_4), .no_reads_i(no_reads_4),
    .free_i(request_free_4), .request_o(request_4), .written_o(written_4), .works_o(works_4)
  );
  assign job_list_4 = begins_4 ? return_list : job_list_q;
  assign cam_free_4 = enters_4 ? now_q + 48'(AppendCycles) : cam_free_3;  // (R3)

  // (5) The search of the oldest packet goes on in the overflow. (R7)
  logic walks_5, rendezvous_5, kept, decides_5, works_5;
  tag_match_pkg::label_t label_5, label_7;
  tag_match_walk walk (
    .walk_i(walks_5 && cam_ready), .rendezvous_i(rendezvous_5), .job_i(job_4), .job_entry_i(job_entry_4),
    .job_o(job_5), .list_i(old_5), .keeps_o(keeps_5), .list_o(list_5), .ends_o(kept), .decides_o(decides_5),
    .leaves_o(leaves_5), .label_o(label_5), .works_o(works_5)
  );

  // (6) A read of the overflow begins. (R6, R7, R8)
  logic any_6, may_6, urgent_6, refills_6, refilling_6, compacts_6;
  logic [ListBits-1:0] refilled_6, compacted_6;
  assign urgent_6 = any_return_5 || operation_waits_q;
  tag_match_spilled #(.Lists(Lists)) spilled (
    .clk_i, .rst_ni, .goes_1_i(forgets_1), .at_1_i(forgotten_1), .goes_3_i(tidies_3), .at_3_i(at_3),
    .comes_4_i(spills_4), .at_4_i(at_4), .unread_6_i(unread_6),
    .sparse_6_i(urgent_6 ? sparse_6 & full_6 : sparse_6), .any_6_o(any_6),
    .refills_6_o(refills_6), .refilled_6_o(refilled_6), .takes_6_i(refilling_6), .compacts_6_o(compacts_6),
    .compacted_6_o(compacted_6), .comes_8_i(spills_8), .at_8_i(at_8)
  );
  assign may_6 = any_6 && room_6 && request_free_6;
  tag_match_read #(.Slots(Slots), .OverflowEntriesPerRead(OverflowEntriesPerRead), .Lists(Lists)) read (
    .may_i(may_6), .urgent_i(urgent_6), .none_i(no_reads_4), .compacting_i(compacting_6),
    .free_i(free_6), .job_i(job_5), .job_list_i(job_list_4), .refills_i(refills_6), .refilled_i(refilled_6),
    .compacts_i(compacts_6), .compacted_i(compacted_6), .at_o(at_6), .list_i(old_6), .reads_o(reads_6),
    .list_o(list_6), .kind_o(kind_6), .entries_o(entries_6), .from_o(from_6), .refills_o(refilling_6),
    .reserves_o(reserved_6), .request_o(request_6)
  );

  // (7) A packet, (8) and an operation behind it (R2)
  logic pipe_room_7, pipe_room_8, pipe_empty, may_7, takes_packet, starts_7, decides_7, own_8, lacks_dma, works_8;
  logic may_8, completes_8, ok_8, asks_sync_8, occupies_8;
  logic [PipeCountBits-1:0] pipe_count;
  logic [47:0] due_7, due_8;
  logic [23:0] cq_8;
  assign may_7 = now_q >= cam_free_4 && cam_ready && (!found_0 || cam_searched) && !came_back &&
                 now_q >= search_free_q && !kept && !any_return_5 && job_5.kind == tag_match_pkg::JobNone &&
                 !operation_waits_q && pipe_room_7 && in_valid_i;
  tag_match_packet #(
    .Organisation(Organisation), .SearchCycles(SearchCycles), .BankRounds(BankRounds),
    .Stalls(Hazard == rxnic_params_pkg::SearchHazardStall)
  ) packet (
    .may_i(may_7), .now_i(now_q), .search_free_i(search_free_q), .search_free_o(search_free_7), .packet_i(in_i),
    .takes_o(takes_packet), .starts_o(starts_7), .label_o(label_7), .due_o(due_7), .walks_o(walks_7),
    .decides_o(decides_7), .found_i(cam_match), .entry_i(cam_entry), .cycles_i(cam_cycles), .leaves_o(leaves_7),
    .found_list_i(found_7), .list_i(old_7), .keeps_o(keeps_7), .list_o(list_7), .job_o(new_job_7)
  );
  assign in_ready_o = takes_packet;
  assign context_write_valid_o = decides_5 || decides_7;  // (R18)
  assign job_7 = walks_7 ? new_job_7 : job_5;
  assign job_list_7 = walks_7 ? at_7 : job_list_4;
  assign job_entry_7 = walks_7 ? cam_entry : job_entry_4;

  assign may_8 = now_q >= cam_free_4 && cam_ready && !came_back && operations_valid_i && pipe_room_8;
  assign own_8 = job_7.has_list && job_list_7 == at_8;
  tag_match_operation #(.Slots(Slots), .MaxTags(MaxTags), .AppendCycles(AppendCycles)) operation (
    .may_i(may_8), .now_i(now_q), .waits_i(operation_waits_q), .waits_o(operation_waits_8),
    .operation_i(operations_i), .ready_o(operations_ready_o), .completes_o(completes_8), .ok_o(ok_8), .cq_o(cq_8),
    .asks_sync_o(asks_sync_8), .due_o(due_8), .occupies_o(occupies_8), .found_i(found_8), .list_i(old_8),
    .keeps_o(keeps_8), .list_o(list_8), .spills_o(spills_8), .own_i(own_8), .job_i(job_7), .job_entry_i(job_entry_7),
    .begins_o(begins_8), .job_o(job_8), .job_entry_o(job_entry_8), .returns_i(any_return_5),
    .no_reads_i(no_reads_8), .room_i(room_8), .free_i(request_free_8), .lacks_dma_o(lacks_dma), .enters_o(enters_8),
    .removes_o(removes_8), .entry_o(entry_8), .place_i(place_8), .writes_place_o(writes_place_8),
    .place_o(new_place_8), .request_o(request_8), .works_o(works_8)
  );
  assign job_list_8 = begins_8 ? at_8 : job_list_7;
  assign cam_free_8 = occupies_8 ? due_8 : cam_free_4;

  tag_match_results #(.PipelineDepth(PipelineDepth), .UnexpectedStatus(UnexpectedStatus)) results (
    .clk_i, .rst_ni, .now_i(now_q), .count_o(pipe_count), .out_valid_o, .out_ready_i, .out_o, .context_i,
    .context_write_o, .walks_5_o(walks_5), .rendezvous_5_o(rendezvous_5), .ends_5_i(kept), .label_5_i(label_5),
    .room_7_o(pipe_room_7), .takes_7_i(takes_packet), .packet_7_i(in_i), .starts_7_i(starts_7), .label_7_i(label_7),
    .due_7_i(due_7), .walks_7_i(walks_7), .room_8_o(pipe_room_8), .operation_8_i(operations_i),
    .completes_8_i(completes_8), .ok_8_i(ok_8), .cq_8_i(cq_8), .asks_sync_8_i(asks_sync_8), .due_8_i(due_8),
    .empty_o(pipe_empty)
  );

  // What the cycle was used for
  logic works, occupied;
  assign works = list_done_valid_o || came_back || dma_done_valid_i || works_3 || works_4 || works_5 ||
                 (out_valid_o && out_ready_i) || reads_6 || takes_packet || works_8;
  assign occupied = now_q < cam_free_8 || now_q < search_free_7 || !cam_ready || (found_0 && !cam_searched);
  assign activity_o = works                                      ? rxnic_link_pkg::ActivityBusy :
                      lacks_dma || (out_valid_o && !out_ready_i) ? rxnic_link_pkg::ActivityBlocked :
                      !pipe_empty                                ? rxnic_link_pkg::ActivityWaitTag :
                      occupied                                   ? rxnic_link_pkg::ActivityBusy
                                                                 : rxnic_link_pkg::ActivityStarved;
  assign quiescent_o = pipe_count == '0 && now_q >= cam_free_q && now_q >= search_free_q && !at_hand_q &&
                       landed_count == '0 && returns_count == '0 && job_q.kind == tag_match_pkg::JobNone &&
                       !dma_valid_o && cam_ready;

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      now_q <= '0;
      cam_free_q <= '0;
      search_free_q <= '0;
      operation_waits_q <= 1'b0;
      job_q <= '0;
      job_list_q <= '0;
      job_entry_q <= '0;
    end else begin
      now_q <= now_q + 48'd1;
      cam_free_q <= cam_free_8;
      search_free_q <= search_free_7;
      operation_waits_q <= operation_waits_8;
      job_q <= job_8;
      job_list_q <= job_list_8;
      job_entry_q <= job_entry_8;
    end
  end

endmodule : tag_match_cam
