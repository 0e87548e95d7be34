// SPDX-License-Identifier: Apache-2.0
// A doorbell of a work queue (2): model/core/receive_queue/work_queue_table.h (T R1). It waits for the context of its
// queue (R14, R16). When WQEs come to an RQ that has been flushed, it waits for room among the late flushes (R9).
module wqe_doorbell (
  input  logic                          valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::doorbell_t     doorbell_i,         // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  output logic                          rings_o,            // it goes
  output logic                          asks_o,             // for the context of its queue
  input  logic                          here_i,
  input  logic                          waits_i,
  input  rxnic_link_pkg::stored_queue_t queue_i,
  output logic                          dirty_o,
  output logic                          keeps_o,
  output rxnic_link_pkg::stored_queue_t queue_o,
  output logic                          posts_o,            // it brings WQEs that may be read
  // Flushes
  output logic                          of_failed_o,        // its queue has been flushed
  input  logic                          will_be_flushed_i,  // ... and will be again
  input  logic                          late_full_i,
  output logic                          flushes_again_o,
  output logic                          no_room_o
);

  logic sets_limit, of_queue, fits;
  logic [31:0] room;

  assign sets_limit = doorbell_i.kind == rxnic_link_pkg::DoorbellKindSrqLimit;
  assign of_queue = sets_limit || doorbell_i.kind == rxnic_link_pkg::DoorbellKindReceive;
  assign asks_o = valid_i && of_queue;
  assign of_failed_o = here_i && !sets_limit && queue_i.failed;
  assign no_room_o = of_failed_o && late_full_i && !will_be_flushed_i;
  assign rings_o = valid_i && !waits_i && !no_room_o;
  assign dirty_o = keeps_o;
  assign keeps_o = rings_o && here_i && (sets_limit || fits);
  assign posts_o = keeps_o && !sets_limit && !queue_i.failed && doorbell_i.value != queue_i.taken;
  assign flushes_again_o = keeps_o && of_failed_o && doorbell_i.value != queue_i.taken && !will_be_flushed_i;

  always_comb begin : change
    room = queue_i.slots - (queue_i.layout == rxnic_link_pkg::WqLayoutLinkedList ? 32'd1 : 32'd0);
    fits = doorbell_i.value - queue_i.taken >= queue_i.producer - queue_i.taken &&
           doorbell_i.value - queue_i.taken <= room;
    queue_o = queue_i;
    if (sets_limit) queue_o.limit = doorbell_i.value;
    else queue_o.producer = doorbell_i.value;
  end

endmodule : wqe_doorbell
