// SPDX-License-Identifier: Apache-2.0
// A packet of tag_match_cam is taken (7). The first one of a message is searched for in the CAM (R1). The result is
// known at once, and leaves when the search would have ended. An entry of the overflow may be older; then a job looks
// for that (R7). tag_match_message decides what the packet becomes. No state in here.
module tag_match_packet #(
  parameter int unsigned Organisation  = rxnic_params_pkg::TagMatchCamOrganisation,
  parameter int unsigned SearchCycles  = rxnic_params_pkg::TagMatchCamSearchCycles,
  parameter int unsigned BankRounds    = 1,  // cycles of a search of all banks
  parameter bit          Stalls        = 1'b0  // a search waits for the result of the one before it in its list (R2)
) (
  input  logic                         may_i,        // one is there, and there is room for it
  input  logic [47:0]                  now_i,
  input  logic [47:0]                  search_free_i,
  output logic [47:0]                  search_free_o,
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::wqe_request_t packet_i,     // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  output logic                         takes_o,
  output logic                         starts_o,     // it begins a message of a list, which completes to its CQ
  output tag_match_pkg::label_t        label_o,
  output logic [47:0]                  due_o,
  output logic                         walks_o,      // its search goes on in the overflow
  output logic                         decides_o,    // ... or has ended
  // What the CAM has found
  input  logic                         found_i,
  // verilator lint_off UNUSEDSIGNAL
  input  tag_match_pkg::entry_t        entry_i,      // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  input  logic [31:0]                  cycles_i,     // that the search takes longer
  output logic                         leaves_o,     // it is the match
  // Its list; the job
  input  logic                         found_list_i,
  input  tag_match_pkg::list_t         list_i,
  output logic                         keeps_o,
  output tag_match_pkg::list_t         list_o,
  output tag_match_pkg::job_t          job_o
);

  logic begins, searches, matched, settled, stalls;
  logic [15:0] unexpected;
  logic [47:0] due;

  always_comb begin : decide
    begins = packet_i.role == rxnic_link_pkg::PacketRoleReceived &&
             packet_i.outcome == rxnic_link_pkg::OutcomeExecute && rxnic_pkg::is_send(packet_i.opcode) &&
             packet_i.takes_wqe;
    stalls = Stalls && found_list_i && begins && list_i.result_at > now_i;
    takes_o = may_i && !stalls;
    starts_o = takes_o && found_list_i && begins;
    searches = starts_o && (packet_i.tmh_opcode == tag_match_pkg::TmhEager ||
                          (packet_i.tmh_opcode == tag_match_pkg::TmhRendezvous && packet_i.rendezvous));
    matched = searches && found_i;
    settled = tag_match_pkg::is_settled(list_i.in_overflow, list_i.overflow_from, entry_i.sequence_);
    walks_o = searches && (found_i ? !settled : list_i.in_overflow != '0);
    decides_o = starts_o && !walks_o;  // (R18)
    leaves_o = decides_o && matched;
  end

  always_comb begin : time_search
    due = now_i + 48'(SearchCycles);
    search_free_o = may_i && stalls ? list_i.result_at : search_free_i;
    if (searches && Organisation == rxnic_params_pkg::TagOrganisationBanked) begin
      due = due + 48'(BankRounds) - 48'd1;
      search_free_o = now_i + 48'(BankRounds);
    end else if (searches && Organisation == rxnic_params_pkg::TagOrganisationHashed) begin
      due = due + 48'(cycles_i);
      search_free_o = now_i + (cycles_i == '0 ? 48'd1 : 48'(cycles_i));
    end
    due_o = due;
  end

  always_comb begin : change
    list_o = list_i;
    unexpected = list_o.unexpected;
    if (decides_o && !matched && (packet_i.tmh_opcode == tag_match_pkg::TmhEager ||
                                  packet_i.tmh_opcode == tag_match_pkg::TmhRendezvous)) begin  // (R11)
      unexpected = unexpected + 16'd1;
    end
    list_o.phase_began = tag_match_pkg::phase_of(list_o.unexpected, list_o.acknowledged, unexpected,
                                                 list_o.acknowledged, list_o.phase_began, list_o.appended);
    list_o.unexpected = unexpected;
    if (leaves_o) list_o.in_cam = list_o.in_cam - 32'd1;
    if (starts_o) begin
      list_o.result_at = due;
    end
  end
  assign keeps_o = starts_o;

  always_comb begin : next_job
    job_o = '0;
    job_o.kind = tag_match_pkg::JobSearch;
    job_o.has_list = 1'b1;
    job_o.has_match = found_i;
    job_o.tag = packet_i.tag;
    job_o.held_from = tag_match_pkg::first_held(list_i.unexpected, list_i.acknowledged, list_i.phase_began);
  end

  always_comb begin : label_it
    label_o = '0;
    label_o.pd = list_i.pd;
    label_o.cq = list_i.cq;
    label_o.unacknowledged = unexpected - list_i.acknowledged;
    label_o.handle = entry_i.handle;
    label_o.buffer = entry_i.buffer;
    label_o.opcode = packet_i.tmh_opcode;
    label_o.kind = tag_match_pkg::MessageAsItIs;
    if (starts_o) begin
      if (decides_o) label_o.kind = matched ? tag_match_pkg::MessageMatch : tag_match_pkg::MessageMiss;
    end else if (found_list_i) begin
      if (packet_i.role == rxnic_link_pkg::PacketRoleTruncated ||
          (packet_i.role == rxnic_link_pkg::PacketRoleReceived && rxnic_pkg::is_send(packet_i.opcode))) begin
        label_o.kind = tag_match_pkg::MessageEnd;
      end else if (packet_i.rendezvous) begin
        label_o.kind = tag_match_pkg::MessageOwn;
      end
    end else if (begins) begin  // its list is gone: nobody reads the message
      label_o.kind = tag_match_pkg::MessageForgotten;
    end
  end

endmodule : tag_match_packet
