// SPDX-License-Identifier: Apache-2.0
// The cache of queue contexts of srq_wqe_fetcher: model/core/memory/context_cache.h (C) and context_waits.h (W). The
// steps of a cycle look contexts up one after another (wqe_look); one of them may start a read (R14, R15, R18, R21).
module wqe_contexts #(
  parameter int unsigned QueueContexts = 1,
  parameter int unsigned Misses        = 1,  // in flight
  parameter int unsigned RequestDepth  = 1,
  parameter int unsigned Ways          = 1,
  parameter int unsigned AgeBits       = 1,
  parameter int unsigned LineBits      = QueueContexts > 1 ? $clog2(QueueContexts) : 1
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  // Contexts: reads and writes
  output logic                          context_dma_valid_o,
  input  logic                          context_dma_ready_i,
  output rxnic_link_pkg::dma_request_t  context_dma_o,
  output logic                          written_back_valid_o,
  output rxnic_link_pkg::queue_write_t  written_back_o,
  input  logic                          context_dma_done_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::dma_completion_t context_dma_done_i,
  // verilator lint_on UNUSEDSIGNAL
  input  rxnic_link_pkg::stored_queue_t fetched_i,
  output logic [31:0]                   request_count_o,
  output logic                          more_requests_o,  // behind the one that leaves
  output logic [31:0]                   reading_o,
  output logic                          started_o,        // a read, in this cycle
  output logic                          deferred_o,       // another one waits for the next cycle
  output logic                          lacks_way_o,      // somebody has found no line for a context ...
  output logic                          lacks_way_5_o,    // ... the packet has not
  output logic                          evicts_o,
  // (0) what has come
  output logic                          exists_0_o,
  output logic                          ahead_0_o,        // it was read ahead
  output logic [LineBits-1:0]           line_0_o,
  // (1) a command
  input  logic [31:0]                   id_1_i,
  input  logic                          asks_1_i,
  output logic                          found_1_o,
  output logic                          here_1_o,
  output logic                          absent_1_o,
  output logic                          coming_1_o,
  output logic                          free_1_o,
  output logic                          has_reads_1_o,
  output logic [LineBits-1:0]           line_1_o,
  output logic                          evicts_1_o,
  output rxnic_link_pkg::stored_queue_t queue_1_o,
  input  logic                          uses_1_i,
  input  logic                          dirty_1_i,
  input  logic                          places_1_i,
  input  logic                          destroying_1_i,   // ... when no read is in flight, which it waits for
  input  logic                          removes_1_i,
  input  logic                          forgets_1_i,
  input  logic                          ends_flush_1_i,   // and what has waited to flush this queue does not
  input  logic                          keeps_1_i,
  input  rxnic_link_pkg::stored_queue_t queue_1_i,
  // (2) a doorbell
  input  logic [31:0]                   id_2_i,
  input  logic                          asks_2_i,
  output logic                          here_2_o,
  output logic                          waits_2_o,
  output logic [LineBits-1:0]           line_2_o,
  output logic                          evicts_2_o,
  output rxnic_link_pkg::stored_queue_t queue_2_o,
  input  logic                          goes_2_i,
  input  logic                          dirty_2_i,
  input  logic                          keeps_2_i,
  input  rxnic_link_pkg::stored_queue_t queue_2_i,
  // (3) a request to flush; WQEs that have come
  input  logic [31:0]                   id_3_i,
  input  logic                          asks_3_i,
  output logic                          here_3_o,
  output logic                          waits_3_o,
  output logic [LineBits-1:0]           line_3_o,
  output logic                          evicts_3_o,
  output rxnic_link_pkg::stored_queue_t queue_3_o,
  input  logic                          keeps_3_i,        // with which it changes
  input  rxnic_link_pkg::stored_queue_t queue_3_i,
  input  logic                          comes_3_i,
  input  logic [LineBits-1:0]           come_line_3_i,
  // (4), (6) a flushed WQE
  input  logic [31:0]                   id_4_i,
  input  logic                          asks_4_i,
  output logic                          here_4_o,
  output logic                          waits_4_o,
  output logic [LineBits-1:0]           line_4_o,
  output logic                          evicts_4_o,
  output rxnic_link_pkg::stored_queue_t queue_4_o,
  input  logic                          keeps_4_i,
  input  rxnic_link_pkg::stored_queue_t queue_4_i,
  input  logic [31:0]                   id_6_i,
  input  logic                          asks_6_i,
  output logic                          here_6_o,
  output logic                          waits_6_o,
  output logic [LineBits-1:0]           line_6_o,
  output logic                          evicts_6_o,
  output rxnic_link_pkg::stored_queue_t queue_6_o,
  input  logic                          keeps_6_i,
  input  rxnic_link_pkg::stored_queue_t queue_6_i,
  // (5) the oldest packet; the queue that it has asked, the one that it counts for credits
  input  logic [31:0]                   id_5_i,
  input  logic                          asks_5_i,
  output logic                          here_5_o,
  output logic                          waits_5_o,
  output logic [LineBits-1:0]           line_5_o,
  output logic                          evicts_5_o,
  output rxnic_link_pkg::stored_queue_t queue_5_o,
  input  logic                          leaves_5_i,
  input  logic                          yields_5_i,
  input  logic                          keeps_5_i,
  input  rxnic_link_pkg::stored_queue_t queue_5_i,
  input  logic [31:0]                   id_5a_i,
  output logic                          here_5a_o,
  output logic [LineBits-1:0]           line_5a_o,
  input  logic [31:0]                   id_5b_i,
  output logic                          here_5b_o,
  output rxnic_link_pkg::stored_queue_t queue_5b_o,
  // (7) a packet that is taken: the queue that it asks, what is read ahead for it
  input  logic [31:0]                   id_7a_i,
  output logic                          here_7a_o,
  output logic [LineBits-1:0]           line_7a_o,
  output rxnic_link_pkg::stored_queue_t queue_7a_o,
  input  logic [31:0]                   id_7_i,
  input  logic                          asks_7_i,
  output logic                          fetches_7_o,
  output logic                          evicts_7_o,
  output logic [LineBits-1:0]           line_7_o,
  // (8) a read of WQEs, of the queue that the oldest packet has found in step 5, or of the first in the line
  output rxnic_link_pkg::stored_queue_t queue_8a_o,
  input  logic [LineBits-1:0]           line_8b_i,
  output rxnic_link_pkg::stored_queue_t queue_8b_o,
  input  logic                          starts_8_i,
  input  logic [LineBits-1:0]           start_line_8_i
);

  localparam int unsigned Sets = QueueContexts / Ways;
  localparam int unsigned SetBits = Sets > 1 ? $clog2(Sets) : 1;
  localparam int unsigned SetVectorBits = Ways * (28 + AgeBits);
  localparam int unsigned Askers = wqe_pkg::Askers;
  localparam logic [63:0] QueueContextsAt = 64'h4c00_0000_0000_0000;

  // The sets of the steps: as they are found, with a read, when they are used, as they are left
  logic [SetBits-1:0] set_0, set_1, look_set_5, set_2, set_3, set_4, set_5, set_5a, set_5b, set_6, set_7a, set_7;
  logic [SetVectorBits-1:0] old_0, old_1, old_2, old_3, old_4, old_5, old_5a, old_5b, old_6, old_7a, old_7;
  logic [SetVectorBits-1:0] fetched_1, fetched_2, fetched_3, fetched_4, fetched_5, fetched_6, fetched_7;
  logic [SetVectorBits-1:0] used_1, used_2, used_3, used_4, used_5, used_6, placed_1, row_0;
  logic fetches_1, fetches_2, fetches_3, fetches_4, fetches_5, fetches_6;
  logic back_1, back_2, back_3, back_4, back_5, back_6, back_7;
  logic [23:0] evicted_1, evicted_2, evicted_3, evicted_4, evicted_5, evicted_6, evicted_7;
  logic [Ways-1:0] kept_1, kept_2, kept_3, kept_4, kept_5, kept_6, kept_7;
  wqe_pkg::looks_t looks_0, looked_1, looks_1, looks_2, looks_3, looks_4, looks_5, looks_6;
  logic goes_3, goes_4, goes_6, uses_5;
  logic [LineBits-1:0] look_line_1, line_back;
  rxnic_link_pkg::stored_queue_t record_back;

  wqe_context_store #(.QueueContexts(QueueContexts), .Ways(Ways), .AgeBits(AgeBits)) store (
    .clk_i, .rst_ni, .set_0_i(set_0), .set_0_o(old_0), .writes_0_i(context_dma_done_valid_i), .row_0_i(row_0),
    .set_1_i(set_1), .set_1_o(old_1), .writes_1_i(places_1_i || (removes_1_i && found_1_o) || fetches_1 || uses_1_i),
    .row_1_i(fetches_1 ? fetched_1 : uses_1_i ? used_1 : placed_1),
    .set_2_i(set_2), .set_2_o(old_2), .writes_2_i(fetches_2 || (goes_2_i && here_2_o)),
    .row_2_i(fetches_2 ? fetched_2 : used_2),
    .set_3_i(set_3), .set_3_o(old_3), .writes_3_i(fetches_3 || here_3_o), .row_3_i(fetches_3 ? fetched_3 : used_3),
    .set_4_i(set_4), .set_4_o(old_4), .writes_4_i(fetches_4 || here_4_o), .row_4_i(fetches_4 ? fetched_4 : used_4),
    .set_5_i(set_5), .set_5_o(old_5), .writes_5_i(fetches_5 || uses_5), .row_5_i(fetches_5 ? fetched_5 : used_5),
    .set_5a_i(set_5a), .set_5a_o(old_5a), .set_5b_i(set_5b), .set_5b_o(old_5b),
    .set_6_i(set_6), .set_6_o(old_6), .writes_6_i(fetches_6 || here_6_o), .row_6_i(fetches_6 ? fetched_6 : used_6),
    .set_7a_i(set_7a), .set_7a_o(old_7a), .set_7_i(set_7), .set_7_o(old_7), .writes_7_i(fetches_7_o),
    .row_7_i(fetched_7),
    .line_0_i(line_0_o), .keeps_0_i(context_dma_done_valid_i && exists_0_o), .queue_0_i(fetched_i),
    .line_1_i(line_1_o), .queue_1_o, .keeps_1_i, .queue_1_i, .line_2_i(line_2_o), .queue_2_o, .keeps_2_i, .queue_2_i,
    .line_3_i(line_3_o), .queue_3_o, .keeps_3_i, .queue_3_i, .line_4_i(line_4_o), .queue_4_o, .keeps_4_i, .queue_4_i,
    .line_5_i(line_5_o), .queue_5_o, .keeps_5_i, .queue_5_i, .line_5b_i(line_5b), .queue_5b_o,
    .line_6_i(line_6_o), .queue_6_o, .keeps_6_i, .queue_6_i, .line_7a_i(line_7a_o), .queue_7a_o,
    .line_8a_i(line_5_o), .queue_8a_o, .line_8b_i, .queue_8b_o, .line_back_i(line_back), .queue_back_o(record_back)
  );
  wqe_line_reads #(.QueueContexts(QueueContexts), .Ways(Ways)) reads (
    .clk_i, .clears_0_i(context_dma_done_valid_i && exists_0_o), .line_0_i(line_0_o),
    .clears_1_i(places_1_i && !found_1_o), .line_1_i(line_1_o), .has_1_o(has_reads_1_o), .comes_3_i,
    .line_3_i(come_line_3_i), .starts_8_i, .line_8_i(start_line_8_i), .set_1_i(set_1), .kept_1_o(kept_1),
    .set_2_i(set_2), .kept_2_o(kept_2), .set_3_i(set_3), .kept_3_o(kept_3), .set_4_i(set_4), .kept_4_o(kept_4),
    .set_5_i(look_set_5), .kept_5_o(kept_5), .set_6_i(set_6), .kept_6_o(kept_6), .set_7_i(set_7), .kept_7_o(kept_7)
  );

  // (0) A context that has come. (C R4, W R3)
  logic [AgeBits-1:0] way_0;
  logic [23:0] number_0;
  assign line_0_o = context_dma_done_i.cookie[LineBits-1:0];
  assign set_0 = SetBits'(32'(line_0_o) / Ways);
  assign way_0 = Ways > 1 ? line_0_o[AgeBits-1:0] : '0;
  assign exists_0_o = context_dma_done_i.ok && fetched_i.valid;
  context_arrival #(.Ways(Ways), .AgeBits(AgeBits)) arrival (
    .set_i(old_0), .way_i(way_0), .exists_i(exists_0_o), .number_o(number_0), .ahead_o(ahead_0_o), .set_o(row_0)
  );
  logic [Askers-1:0] waits_q, absent_q, yields_q, absent_0;
  logic [Askers*24-1:0] numbers_q;
  logic [31:0] reading_q, reading_0;
  logic closing_q, closing_0;
  logic [19:0] closing_line_q;
  always_comb begin : behind_arrival
    reading_0 = reading_q;
    absent_0 = absent_q;
    closing_0 = closing_q;
    if (context_dma_done_valid_i) begin
      reading_0 = reading_q - 32'd1;
      for (int unsigned a = 0; a < Askers; a++) begin
        if (!exists_0_o && numbers_q[a*24+:24] == number_0) absent_0[a] = waits_q[a];
      end
      if (exists_0_o && closing_line_q == 20'(line_0_o)) closing_0 = 1'b0;
    end
    looks_0 = {waits_q, absent_0, yields_q, numbers_q, reading_0, closing_0, closing_line_q, 1'b0, 1'b0, Askers'(0)};
  end
  assign reading_o = reading_q;

  // (1) A command
  // verilator lint_off PINCONNECTEMPTY
  logic [AgeBits-1:0] way_1, free_way_1, place_way_1;
  wqe_look #(
    .Asker(wqe_pkg::Command), .QueueContexts(QueueContexts), .Misses(Misses), .Ways(Ways), .AgeBits(AgeBits)
  ) look_1 (
    .looks_i(looks_0), .id_i(id_1_i), .set_o(set_1), .set_i(old_1), .kept_i(kept_1), .asks_i(asks_1_i),
    .dirty_i(dirty_1_i), .forgets_i(forgets_1_i), .yields_i(1'b0), .found_o(found_1_o), .here_o(here_1_o),
    .absent_o(absent_1_o), .waits_o(), .coming_o(coming_1_o), .free_o(free_1_o), .free_way_o(free_way_1),
    .way_o(way_1), .line_o(look_line_1), .fetches_o(fetches_1), .evicts_o(evicts_1_o), .write_back_o(back_1),
    .evicted_o(evicted_1), .fetched_set_o(fetched_1), .used_set_o(used_1), .looks_o(looked_1)
  );
  assign place_way_1 = found_1_o ? way_1 : free_way_1;
  assign line_1_o = places_1_i && !found_1_o ? LineBits'(32'(set_1) * Ways + 32'(free_way_1)) : look_line_1;
  context_place #(.Ways(Ways), .AgeBits(AgeBits)) place_1 (
    .set_i(old_1), .way_i(place_way_1), .places_i(places_1_i), .number_i(id_1_i[23:0]), .is_here_i(found_1_o),
    .dirty_i(dirty_1_i), .removes_i(removes_1_i && found_1_o), .set_o(placed_1)
  );
  logic [Askers-1:0] waits_1;
  logic [23:0] flush_number_1;
  assign flush_number_1 = looked_1.numbers[wqe_pkg::Flush*24+:24];
  always_comb begin : behind_command
    looks_1 = looked_1;
    waits_1 = looked_1.waits;
    if (ends_flush_1_i && flush_number_1 == id_1_i[23:0]) waits_1[wqe_pkg::Flush] = 1'b0;
    looks_1.waits = waits_1;
    if (destroying_1_i) begin
      looks_1.closing = found_1_o && has_reads_1_o;
      if (found_1_o) looks_1.closing_line = 20'(line_1_o);
    end
    if (places_1_i && !found_1_o && looked_1.closing_line == 20'(line_1_o)) looks_1.closing = 1'b0;
  end

  // (2) A doorbell
  wqe_look #(
    .Asker(wqe_pkg::Doorbell), .QueueContexts(QueueContexts), .Misses(Misses), .Ways(Ways), .AgeBits(AgeBits)
  ) look_2 (
    .looks_i(looks_1), .id_i(id_2_i), .set_o(set_2), .set_i(old_2), .kept_i(kept_2), .asks_i(asks_2_i),
    .dirty_i(dirty_2_i), .forgets_i(goes_2_i), .yields_i(1'b0), .found_o(), .here_o(here_2_o), .absent_o(),
    .waits_o(waits_2_o), .coming_o(), .free_o(), .free_way_o(), .way_o(), .line_o(line_2_o),
    .fetches_o(fetches_2), .evicts_o(evicts_2_o), .write_back_o(back_2), .evicted_o(evicted_2),
    .fetched_set_o(fetched_2), .used_set_o(used_2), .looks_o(looks_2)
  );
  // (3) A request to flush
  wqe_look #(
    .Asker(wqe_pkg::FlushAsker), .QueueContexts(QueueContexts), .Misses(Misses), .Ways(Ways), .AgeBits(AgeBits)
  ) look_3 (
    .looks_i(looks_2), .id_i(id_3_i), .set_o(set_3), .set_i(old_3), .kept_i(kept_3), .asks_i(asks_3_i),
    .dirty_i(keeps_3_i), .forgets_i(goes_3), .yields_i(1'b0), .found_o(), .here_o(here_3_o), .absent_o(),
    .waits_o(waits_3_o), .coming_o(), .free_o(), .free_way_o(), .way_o(), .line_o(line_3_o),
    .fetches_o(fetches_3), .evicts_o(evicts_3_o), .write_back_o(back_3), .evicted_o(evicted_3),
    .fetched_set_o(fetched_3), .used_set_o(used_3), .looks_o(looks_3)
  );
  assign goes_3 = asks_3_i && !waits_3_o;
  // (4) A flushed WQE, in its turn
  wqe_look #(
    .Asker(wqe_pkg::Flush), .QueueContexts(QueueContexts), .Misses(Misses), .Ways(Ways), .AgeBits(AgeBits)
  ) look_4 (
    .looks_i(looks_3), .id_i(id_4_i), .set_o(set_4), .set_i(old_4), .kept_i(kept_4), .asks_i(asks_4_i),
    .dirty_i(keeps_4_i), .forgets_i(goes_4), .yields_i(1'b0), .found_o(), .here_o(here_4_o), .absent_o(),
    .waits_o(waits_4_o), .coming_o(), .free_o(), .free_way_o(), .way_o(), .line_o(line_4_o),
    .fetches_o(fetches_4), .evicts_o(evicts_4_o), .write_back_o(back_4), .evicted_o(evicted_4),
    .fetched_set_o(fetched_4), .used_set_o(used_4), .looks_o(looks_4)
  );
  assign goes_4 = asks_4_i && !waits_4_o;

  // (5) The oldest packet. Its context is used when it leaves, also when it is squashed and does not look.
  logic [AgeBits-1:0] look_way_5, way_5;
  logic packet_found_q, packet_found_5;
  logic [LineBits-1:0] packet_line_q;
  wqe_look #(
    .Asker(wqe_pkg::Packet), .QueueContexts(QueueContexts), .Misses(Misses), .Ways(Ways), .AgeBits(AgeBits)
  ) look_5 (
    .looks_i(looks_4), .id_i(id_5_i), .set_o(look_set_5), .set_i(old_5), .kept_i(kept_5), .asks_i(asks_5_i),
    .dirty_i(1'b0), .forgets_i(leaves_5_i), .yields_i(yields_5_i), .found_o(), .here_o(here_5_o), .absent_o(),
    .waits_o(waits_5_o), .coming_o(), .free_o(), .free_way_o(), .way_o(look_way_5), .line_o(line_5_o),
    .fetches_o(fetches_5), .evicts_o(evicts_5_o), .write_back_o(back_5), .evicted_o(evicted_5),
    .fetched_set_o(fetched_5), .used_set_o(), .looks_o(looks_5)
  );
  assign set_5 = asks_5_i ? look_set_5 : SetBits'(32'(packet_line_q) / Ways);
  assign way_5 = asks_5_i ? look_way_5 : Ways > 1 ? packet_line_q[AgeBits-1:0] : '0;
  assign packet_found_5 = asks_5_i ? here_5_o : packet_found_q;
  assign uses_5 = leaves_5_i && packet_found_5 && (asks_5_i || looks_4.waits[wqe_pkg::Packet]);
  context_use #(.Ways(Ways), .AgeBits(AgeBits)) use_5 (
    .set_i(old_5), .way_i(way_5), .dirty_i(keeps_5_i), .set_o(used_5)
  );
  logic [LineBits-1:0] line_5b;
  wqe_find #(.QueueContexts(QueueContexts), .Ways(Ways), .AgeBits(AgeBits)) find_5a (
    .id_i(id_5a_i), .set_o(set_5a), .set_i(old_5a), .closing_i(looks_1.closing), .closing_line_i(looks_1.closing_line),
    .here_o(here_5a_o), .line_o(line_5a_o)
  );
  wqe_find #(.QueueContexts(QueueContexts), .Ways(Ways), .AgeBits(AgeBits)) find_5b (
    .id_i(id_5b_i), .set_o(set_5b), .set_i(old_5b), .closing_i(looks_1.closing), .closing_line_i(looks_1.closing_line),
    .here_o(here_5b_o), .line_o(line_5b)
  );

  // (6) A flushed WQE, else
  wqe_look #(
    .Asker(wqe_pkg::Flush), .QueueContexts(QueueContexts), .Misses(Misses), .Ways(Ways), .AgeBits(AgeBits)
  ) look_6 (
    .looks_i(looks_5), .id_i(id_6_i), .set_o(set_6), .set_i(old_6), .kept_i(kept_6), .asks_i(asks_6_i),
    .dirty_i(keeps_6_i), .forgets_i(goes_6), .yields_i(1'b0), .found_o(), .here_o(here_6_o), .absent_o(),
    .waits_o(waits_6_o), .coming_o(), .free_o(), .free_way_o(), .way_o(), .line_o(line_6_o),
    .fetches_o(fetches_6), .evicts_o(evicts_6_o), .write_back_o(back_6), .evicted_o(evicted_6),
    .fetched_set_o(fetched_6), .used_set_o(used_6), .looks_o(looks_6)
  );
  assign goes_6 = asks_6_i && !waits_6_o;

  // (7) A packet that is taken
  wqe_find #(.QueueContexts(QueueContexts), .Ways(Ways), .AgeBits(AgeBits)) find_7a (
    .id_i(id_7a_i), .set_o(set_7a), .set_i(old_7a), .closing_i(looks_1.closing), .closing_line_i(looks_1.closing_line),
    .here_o(here_7a_o), .line_o(line_7a_o)
  );
  wqe_pkg::looks_t looks_7;
  wqe_look #(
    .Asker(wqe_pkg::Packet), .Ahead(1'b1), .QueueContexts(QueueContexts), .Misses(Misses), .Ways(Ways),
    .AgeBits(AgeBits)
  ) look_7 (
    .looks_i(looks_6), .id_i(id_7_i), .set_o(set_7), .set_i(old_7), .kept_i(kept_7), .asks_i(asks_7_i), .dirty_i(1'b0),
    .forgets_i(1'b0), .yields_i(1'b0), .found_o(), .here_o(), .absent_o(), .waits_o(), .coming_o(), .free_o(),
    .free_way_o(), .way_o(), .line_o(line_7_o), .fetches_o(fetches_7_o), .evicts_o(evicts_7_o), .write_back_o(back_7),
    .evicted_o(evicted_7), .fetched_set_o(fetched_7), .used_set_o(), .looks_o(looks_7)
  );
  // verilator lint_on PINCONNECTEMPTY
  assign started_o = looks_7.started;
  assign deferred_o = looks_7.deferred;
  assign lacks_way_o = looks_7.lacks_way != '0;
  assign lacks_way_5_o = looks_7.lacks_way[wqe_pkg::Packet];

  // Requests for contexts: what is written back, and what is read
  logic writes_back;
  logic [LineBits-1:0] fetch_line;
  logic [23:0] fetch_number, back_number;
  always_comb begin : choose_fetch
    evicts_o = evicts_1_o || evicts_2_o || evicts_3_o || evicts_4_o || evicts_5_o || evicts_6_o || evicts_7_o;
    writes_back = back_1 || back_2 || back_3 || back_4 || back_5 || back_6 || back_7;
    fetch_number = fetches_1 ? id_1_i[23:0] : fetches_2 ? id_2_i[23:0] : fetches_3 ? id_3_i[23:0] :
                   fetches_4 ? id_4_i[23:0] : fetches_5 ? id_5_i[23:0] : fetches_6 ? id_6_i[23:0] : id_7_i[23:0];
    fetch_line = fetches_1 ? line_1_o : fetches_2 ? line_2_o : fetches_3 ? line_3_o : fetches_4 ? line_4_o :
                 fetches_5 ? line_5_o : fetches_6 ? line_6_o : line_7_o;
    back_number = back_1 ? evicted_1 : back_2 ? evicted_2 : back_3 ? evicted_3 : back_4 ? evicted_4 :
                  back_5 ? evicted_5 : back_6 ? evicted_6 : evicted_7;
  end
  context_requests #(
    .Lines(QueueContexts), .Depth(RequestDepth), .RecordBits(rxnic_link_pkg::StoredQueueBits), .Base(QueueContextsAt)
  ) requests (
    .clk_i, .rst_ni, .count_o(request_count_o), .removes_i(removes_1_i), .removed_i(id_1_i[23:0]),
    .back_i(writes_back), .back_number_i(back_number), .fetches_i(started_o), .fetch_number_i(fetch_number),
    .fetch_line_i(fetch_line), .dma_valid_o(context_dma_valid_o), .dma_ready_i(context_dma_ready_i),
    .dma_o(context_dma_o), .line_o(line_back), .record_i(record_back), .written_back_valid_o, .written_back_o
  );
  assign more_requests_o = request_count_o + 32'(removes_1_i) + 32'(writes_back) + 32'(started_o) > 32'd1;

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      {waits_q, absent_q, yields_q, numbers_q, reading_q, closing_q, closing_line_q} <= '0;
      {packet_found_q, packet_line_q} <= '0;
    end else begin
      waits_q <= looks_7.waits;
      absent_q <= looks_7.absent;
      yields_q <= looks_7.yields;
      numbers_q <= looks_7.numbers;
      reading_q <= looks_7.reading;
      closing_q <= looks_7.closing;
      closing_line_q <= looks_7.closing_line;
      packet_found_q <= packet_found_5 && !leaves_5_i && !yields_5_i;
      if (asks_5_i) packet_line_q <= line_5_o;
    end
  end

endmodule : wqe_contexts
