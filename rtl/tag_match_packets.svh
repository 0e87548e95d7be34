// SPDX-License-Identifier: Apache-2.0
// Packets of tag_match_cam: which are searched, and how a search goes on in the overflow.

// What the packet at hand becomes, with the counts of the list at hand: tag_match_message.
task automatic label(input logic [2:0] kind);
  label_kind = kind;
  label_pd = l.pd;
  label_cq = l.cq;
  unacknowledged = l.unexpected - l.acknowledged;
endtask

task automatic match(input logic [31:0] handle, input logic [127:0] buffer);
  label_handle = handle;
  label_buffer = buffer;
  label(tag_match_pkg::MessageMatch);
endtask

// (R11)
task automatic miss(input logic [7:0] opcode);
  if (opcode == tag_match_pkg::TmhEager || opcode == tag_match_pkg::TmhRendezvous) begin
    set_counts(l.unexpected + 16'd1, l.acknowledged);
  end
  label_opcode = opcode;
  label(tag_match_pkg::MessageMiss);
endtask

// A search of the CAM. (R1, R7)
task automatic search();
  logic [7:0] opcode;
  logic walks_on;
  opcode = packet.tmh_opcode;
  walks_on = 1'b0;
  packet.cq = l.cq;
  get_held_from();
  if (opcode == tag_match_pkg::TmhEager || (opcode == tag_match_pkg::TmhRendezvous && packet.rendezvous)) begin
    match_found = cam_match;
    if (Organisation == rxnic_params_pkg::TagOrganisationBanked) begin
      due = due + 48'(BankRounds) - 48'd1;
      search_free_d = now_q + 48'(BankRounds);
    end else if (Organisation == rxnic_params_pkg::TagOrganisationHashed) begin
      due = due + 48'(cam_cycles);
      search_free_d = now_q + (cam_cycles == '0 ? 48'd1 : 48'(cam_cycles));
    end
    get_settled(cam_entry.sequence_);
    walks_on = match_found ? !is_settled : l.in_overflow != '0;
  end
  if (walks_on) begin
    job = '0;
    job.kind = tag_match_pkg::JobSearch;
    job.has_list = 1'b1;
    job.of_list = at;
    job.has_match = match_found;
    job_entry = cam_entry;
    job.tag = packet.tag;
    job.held_from = held_from;
    walks = 1'b1;
  end else begin
    if (match_found) begin
      leave_cam(cam_entry.handle[HandleBits-1:0], tag_match_pkg::PlaceConsumed);
      remember(cam_entry);
      match(cam_entry.handle, cam_entry.buffer);
    end else begin
      miss(opcode);
    end
    context_write_valid_o = 1'b1;  // (R18)
  end
endtask

// (R1) of the packet at hand and its list
task automatic find_starts();
  begins = packet.role == rxnic_link_pkg::PacketRoleReceived && packet.outcome == rxnic_link_pkg::OutcomeExecute &&
           rxnic_pkg::is_send(packet.opcode) && packet.takes_wqe;
  starts = found_list && begins;
endtask

task automatic accept_packet();
  packet = in_i;
  open_list_of(packet.receive_queue);
  find_starts();
  due = now_q + 48'(SearchCycles);
  if (found_list) begin
    if (starts) begin
      search();
      l.result_at = due;
    end else if (packet.role == rxnic_link_pkg::PacketRoleTruncated ||
                 (packet.role == rxnic_link_pkg::PacketRoleReceived && rxnic_pkg::is_send(packet.opcode))) begin
      label(tag_match_pkg::MessageEnd);
    end else if (packet.rendezvous) begin
      label(tag_match_pkg::MessageOwn);
    end
    close_list();
  end else if (begins) begin  // its list is gone: nobody reads the message
    label(tag_match_pkg::MessageForgotten);
  end
  push_due = due;
  push = 1'b1;
  pipe_count_d = pipe_count_d + PipeCountBits'(1);
endtask

// The search of the oldest packet goes on in the overflow. (R7)
task automatic search_on();
  logic goes_on;
  packet = first_packet;
  goes_on = 1'b0;
  if (job.has_list) begin
    open_list(job.of_list);
    if (l.failed && !job.decided) begin  // (R9)
      label(tag_match_pkg::MessageFailed);
    end else begin
      if (!job.decided) begin
        goes_on = l.in_flight != '0;
        if (!goes_on && !job.reads) job.position = l.head;
        if (!goes_on && !job.has_match && l.in_overflow != '0 && job.position != l.tail) begin
          goes_on = 1'b1;
          worked = worked || !job.reads;
          job.reads = 1'b1;
        end
      end
      if (!goes_on) begin
        if (!job.taken && job.has_match) begin
          leave_cam(job_entry.handle[HandleBits-1:0], tag_match_pkg::PlaceConsumed);
          remember(job_entry);
          job.taken = 1'b1;
        end
        if (job.taken) match(job_entry.handle, job_entry.buffer);
        else miss(packet.rendezvous ? tag_match_pkg::TmhRendezvous : tag_match_pkg::TmhEager);
      end
    end
    if (!goes_on) context_write_valid_o = 1'b1;  // (R18)
    close_list();
  end else begin
    label(tag_match_pkg::MessageForgotten);
  end
  if (!goes_on) begin
    worked = 1'b1;
    kept = 1'b1;
    job = '0;
    walked_d = 1'b1;
  end
endtask
