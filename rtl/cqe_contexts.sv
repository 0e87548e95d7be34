// SPDX-License-Identifier: Apache-2.0
// The cache of CQ contexts of cqe_generator: model/core/memory/context_cache.h (C) and context_waits.h (W). The
// steps of a cycle look contexts up one after another; one of them may start a read (R11, R12, R16).
module cqe_contexts #(
  parameter int unsigned CqContexts       = 1,
  parameter int unsigned CqMissesInFlight = 1,
  parameter int unsigned Ways             = 1,
  parameter int unsigned AgeBits          = 1,
  parameter int unsigned WayBits          = 28 + AgeBits,
  parameter int unsigned SetVectorBits    = Ways * WayBits,
  parameter int unsigned LineBits         = CqContexts > 1 ? $clog2(CqContexts) : 1
) (
  input  logic                               clk_i,
  input  logic                               rst_ni,
  // Lines with an open session, at the beginning of the cycle, and behind steps 1 and 4: they are not evicted.
  input  logic [CqContexts-1:0]              open_q_i,
  input  logic [CqContexts-1:0]              open_1_i,
  input  logic [CqContexts-1:0]              open_4_i,
  // Contexts: reads and writes, what was read (0)
  output logic                               context_dma_valid_o,
  input  logic                               context_dma_ready_i,
  output rxnic_link_pkg::dma_request_t       context_dma_o,
  output logic                               written_back_valid_o,
  output rxnic_link_pkg::cq_write_back_t     written_back_o,
  input  logic                               context_dma_done_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::dma_completion_t    context_dma_done_i,
  // verilator lint_on UNUSEDSIGNAL
  input  rxnic_link_pkg::stored_cq_t         fetched_i,
  output logic                               requests_empty_o,
  output logic [31:0]                        reading_o,
  // (1) a command: its CQ as it is found; the set and the record as it leaves them; it waits for its context, or has
  // done so; it makes its CQ anew, closes or removes it
  input  logic                               looks_1_i,
  input  logic [23:0]                        number_1_i,
  output logic                               here_1_o,
  output logic                               absence_1_o,
  output logic                               coming_1_o,
  output logic                               fetches_1_o,
  output logic                               free_1_o,
  output logic [AgeBits-1:0]                 free_way_1_o,
  output logic [AgeBits-1:0]                 way_1_o,
  output logic [SetVectorBits-1:0]           old_1_o,
  output logic [SetVectorBits-1:0]           fetched_row_1_o,
  output logic [SetVectorBits-1:0]           used_row_1_o,
  input  logic [AgeBits-1:0]                 way_1_i,
  output logic [LineBits-1:0]                line_1_o,
  output rxnic_link_pkg::stored_cq_t         found_1_o,
  input  logic                               writes_1_i,
  input  logic [SetVectorBits-1:0]           row_1_i,
  input  logic                               keeps_1_i,
  input  rxnic_link_pkg::stored_cq_t         cq_1_i,
  input  logic                               removes_1_i,
  input  logic                               waits_1_i,
  input  logic                               forgets_1_i,
  input  logic                               ends_1_i,
  // (2) a doorbell: it goes, or waits
  input  logic                               looks_2_i,
  input  logic [23:0]                        number_2_i,
  output logic                               here_2_o,
  output logic                               absence_2_o,
  output rxnic_link_pkg::stored_cq_t         found_2_o,
  input  logic                               goes_2_i,
  input  logic                               keeps_2_i,
  input  rxnic_link_pkg::stored_cq_t         cq_2_i,
  // (4) a session, by the line of its CQ
  input  logic [LineBits-1:0]                line_4_i,
  output rxnic_link_pkg::stored_cq_t         found_4_o,
  input  logic                               keeps_4_i,
  input  rxnic_link_pkg::stored_cq_t         cq_4_i,
  // (5) a moderated event: it goes, or waits
  input  logic                               looks_5_i,
  input  logic [23:0]                        number_5_i,
  output logic                               here_5_o,
  output logic                               absence_5_o,
  output rxnic_link_pkg::stored_cq_t         found_5_o,
  input  logic                               goes_5_i,
  input  logic                               keeps_5_i,
  input  rxnic_link_pkg::stored_cq_t         cq_5_i,
  // (6) a packet: it is taken, or waits; it lets other askers go first
  input  logic                               looks_6_i,
  input  logic [23:0]                        number_6_i,
  output logic                               here_6_o,
  output logic                               absence_6_o,
  output logic                               coming_6_o,
  output logic                               may_6_o,       // a read might start for it ...
  output logic                               fetches_6_o,   // ... and does
  output logic [LineBits-1:0]                line_6_o,
  output rxnic_link_pkg::stored_cq_t         found_6_o,
  input  logic                               takes_6_i,
  input  logic                               waits_6_i,
  input  logic                               yields_6_i,
  input  logic                               keeps_6_i,
  input  rxnic_link_pkg::stored_cq_t         cq_6_i,
  // (7) one behind it
  input  logic                               looks_7_i,
  input  logic [23:0]                        number_7_i,
  output logic                               here_7_o,
  output logic                               coming_7_o,
  output logic                               may_7_o,
  output logic                               fetches_7_o,
  // For the checker
  output logic                               exists_0_o,
  output logic                               fetches_o,
  output logic                               back_o
);

  localparam int unsigned Sets = CqContexts / Ways;
  localparam int unsigned SetBits = Sets > 1 ? $clog2(Sets) : 1;
  localparam int unsigned Askers = 4;
  localparam logic [63:0] CqContextsAt = 64'h4800_0000_0000_0000;
  localparam int unsigned Command = 0, Doorbell = 1, Timer = 2, Packet = 3;

  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [SetBits-1:0] set_of(input logic [23:0] number);
    // verilator lint_on UNUSEDSIGNAL
    set_of = Sets > 1 ? number[SetBits-1:0] : '0;
  endfunction
  function automatic logic [LineBits-1:0] line_of(input logic [SetBits-1:0] set, input logic [AgeBits-1:0] way);
    line_of = LineBits'(32'(set) * Ways + 32'(way));
  endfunction

  logic [31:0]              reading_q, reading_0;
  logic [Askers-1:0]        waits_q, waits_1, waits_2, waits_5, waits_6;  // for `numbers`
  logic [Askers-1:0]        absent_q, absent_0, absent_1, absent_2, absent_5;
  logic                     yields_q;  // the packet
  logic [Askers*24-1:0]     numbers_q, numbers_1, numbers_2, numbers_5, numbers_6;
  logic                     writes_0, keeps_0;
  logic [SetBits-1:0]       set_0, set_1, set_2, set_5, set_6, set_7;
  logic [SetVectorBits-1:0] row_0, old_0, old_2, old_5, old_6, old_7;  // sets, as they are opened
  logic [LineBits-1:0]      line_0, line_back;
  rxnic_link_pkg::stored_cq_t record_back;

  assign reading_o = reading_q;
  assign line_1_o = line_of(set_1, way_1_i);
  assign line_6_o = line_of(set_6, way_6);

  cqe_context_store #(.CqContexts(CqContexts), .Ways(Ways), .AgeBits(AgeBits)) store (
    .clk_i, .rst_ni,
    .set_0_i(set_0), .set_0_o(old_0), .writes_0_i(writes_0), .row_0_i(row_0),
    .set_1_i(set_1), .set_1_o(old_1_o), .writes_1_i, .row_1_i,
    .set_2_i(set_2), .set_2_o(old_2), .writes_2_i(fetches_2 || (goes_2_i && here_2_o)),
    .row_2_i(fetches_2 ? fetched_row_2 : used_row_2),
    .set_5_i(set_5), .set_5_o(old_5), .writes_5_i(fetches_5 || keeps_5_i),
    .row_5_i(fetches_5 ? fetched_row_5 : used_row_5),
    .set_6_i(set_6), .set_6_o(old_6), .writes_6_i(fetches_6_o || (takes_6_i && looks_6_i && here_6_o)),
    .row_6_i(fetches_6_o ? fetched_row_6 : used_row_6),
    .set_7_i(set_7), .set_7_o(old_7), .writes_7_i(fetches_7_o), .row_7_i(fetched_row_7),
    .keeps_0_i(keeps_0), .line_0_i(line_0), .cq_0_i(fetched_i),
    .line_1_i(line_1_o), .found_1_o, .keeps_1_i, .cq_1_i,
    .line_2_i(line_of(set_2, way_2)), .found_2_o, .keeps_2_i, .cq_2_i,
    .line_4_i, .found_4_o, .keeps_4_i, .cq_4_i,
    .line_5_i(line_of(set_5, way_5)), .found_5_o, .keeps_5_i, .cq_5_i,
    .line_6_i(line_6_o), .found_6_o, .keeps_6_i, .cq_6_i,
    .line_back_i(line_back), .found_back_o(record_back)
  );

  // (0) A context that has come
  logic [23:0] number_0;
  logic [AgeBits-1:0] way_0;
  assign line_0 = context_dma_done_i.cookie[LineBits-1:0];
  assign set_0 = SetBits'(32'(line_0) / Ways);
  assign way_0 = Ways > 1 ? line_0[AgeBits-1:0] : '0;
  // verilator lint_off PINCONNECTEMPTY
  context_arrival #(.Ways(Ways), .AgeBits(AgeBits)) arrival_0 (
    .set_i(old_0), .way_i(way_0), .exists_i(exists_0_o), .number_o(number_0), .ahead_o(), .set_o(row_0)
  );
  // verilator lint_on PINCONNECTEMPTY
  assign writes_0 = context_dma_done_valid_i;
  assign exists_0_o = context_dma_done_i.ok && fetched_i.valid;
  assign keeps_0 = writes_0 && exists_0_o;
  always_comb begin : arrival
    reading_0 = writes_0 ? reading_q - 32'd1 : reading_q;
    absent_0 = absent_q;
    for (int unsigned a = 0; a < Askers; a++) begin
      if (writes_0 && !exists_0_o && waits_q[a] && numbers_q[a*24+:24] == number_0) absent_0[a] = 1'b1;
    end
  end

  // Looks of the askers. One of a cycle's looks starts a read.
  logic [AgeBits-1:0] way_2, way_5, way_6, way_7;
  logic may_1, may_2, may_5, fetches_2, fetches_5;
  logic back_1, back_2, back_5, back_6, back_7;
  logic [23:0] evicted_1, evicted_2, evicted_5, evicted_6, evicted_7;
  logic [SetVectorBits-1:0] fetched_row_2, fetched_row_5, fetched_row_6, fetched_row_7;
  logic [SetVectorBits-1:0] used_row_2, used_row_5, used_row_6;
  logic [Ways-1:0] kept_1, kept_2, kept_5, kept_6, kept_7;
  logic [Askers-1:0] held_1, held_2, held_5, held_6, held_7;  // contexts that other askers wait for (R11)

  always_comb begin : keep_open_sessions
    for (int unsigned n = 0; n < Ways; n++) begin
      kept_1[n] = open_q_i[line_of(set_1, AgeBits'(n))];
      kept_2[n] = open_1_i[line_of(set_2, AgeBits'(n))];
      kept_5[n] = open_4_i[line_of(set_5, AgeBits'(n))];
      kept_6[n] = open_4_i[line_of(set_6, AgeBits'(n))];
    end
  end
  always_comb for (int unsigned n = 0; n < Ways; n++) kept_7[n] = open_4_i[line_of(set_7, AgeBits'(n))];

  assign set_1 = set_of(number_1_i);
  assign set_2 = set_of(number_2_i);
  assign set_5 = set_of(number_5_i);
  assign set_6 = set_of(number_6_i);
  assign set_7 = set_of(number_7_i);
  assign may_1 = looks_1_i && reading_0 < CqMissesInFlight;
  assign may_2 = looks_2_i && reading_0 < CqMissesInFlight && !fetches_1_o;
  assign may_5 = looks_5_i && reading_0 < CqMissesInFlight && !fetches_1_o && !fetches_2;
  assign may_6_o = looks_6_i && reading_0 < CqMissesInFlight && !fetches_1_o && !fetches_2 && !fetches_5;
  assign may_7_o = looks_7_i && reading_0 < CqMissesInFlight && !fetches_1_o && !fetches_2 && !fetches_5 &&
                   !fetches_6_o;
  // Somebody who looks another number up than before has forgotten that it was absent.
  assign absence_1_o = waits_q[Command] && absent_0[Command] && numbers_q[Command*24+:24] == number_1_i;
  assign absence_2_o = waits_1[Doorbell] && absent_1[Doorbell] && numbers_1[Doorbell*24+:24] == number_2_i;
  assign absence_5_o = waits_2[Timer] && absent_2[Timer] && numbers_2[Timer*24+:24] == number_5_i;
  assign absence_6_o = waits_5[Packet] && absent_5[Packet] && numbers_5[Packet*24+:24] == number_6_i;
  assign held_1 = waits_q & ~(4'd1 << Command) & ~({3'd0, yields_q} << Packet);
  assign held_2 = waits_1 & ~(4'd1 << Doorbell) & ~({3'd0, yields_q} << Packet);
  assign held_5 = waits_2 & ~(4'd1 << Timer) & ~({3'd0, yields_q} << Packet);
  assign held_6 = waits_5 & ~(4'd1 << Packet);
  assign held_7 = waits_6 & ~({3'd0, yields_6_i} << Packet);

  // verilator lint_off PINCONNECTEMPTY
  context_lookup #(.Ways(Ways), .AgeBits(AgeBits), .Askers(Askers)) look_1 (
    .number_i(number_1_i), .ahead_i(1'b0), .absent_i(absence_1_o), .may_read_i(may_1), .dirty_i(1'b1), .kept_i(kept_1),
    .held_i(held_1), .held_numbers_i(numbers_q), .set_i(old_1_o), .here_o(here_1_o), .coming_o(coming_1_o),
    .way_o(way_1_o), .fetches_o(fetches_1_o), .free_o(free_1_o), .free_way_o(free_way_1_o), .write_back_o(back_1),
    .evicted_o(evicted_1), .fetched_set_o(fetched_row_1_o), .used_set_o(used_row_1_o)
  );
  context_lookup #(.Ways(Ways), .AgeBits(AgeBits), .Askers(Askers)) look_2 (
    .number_i(number_2_i), .ahead_i(1'b0), .absent_i(absence_2_o), .may_read_i(may_2), .dirty_i(1'b1), .kept_i(kept_2),
    .held_i(held_2), .held_numbers_i(numbers_1), .set_i(old_2), .here_o(here_2_o), .coming_o(), .way_o(way_2),
    .fetches_o(fetches_2), .free_o(), .free_way_o(), .write_back_o(back_2), .evicted_o(evicted_2),
    .fetched_set_o(fetched_row_2), .used_set_o(used_row_2)
  );
  context_lookup #(.Ways(Ways), .AgeBits(AgeBits), .Askers(Askers)) look_5 (
    .number_i(number_5_i), .ahead_i(1'b0), .absent_i(absence_5_o), .may_read_i(may_5), .dirty_i(1'b1), .kept_i(kept_5),
    .held_i(held_5), .held_numbers_i(numbers_2), .set_i(old_5), .here_o(here_5_o), .coming_o(), .way_o(way_5),
    .fetches_o(fetches_5), .free_o(), .free_way_o(), .write_back_o(back_5), .evicted_o(evicted_5),
    .fetched_set_o(fetched_row_5), .used_set_o(used_row_5)
  );
  context_lookup #(.Ways(Ways), .AgeBits(AgeBits), .Askers(Askers)) look_6 (
    .number_i(number_6_i), .ahead_i(1'b0), .absent_i(absence_6_o), .may_read_i(may_6_o), .dirty_i(1'b1),
    .kept_i(kept_6), .held_i(held_6), .held_numbers_i(numbers_5), .set_i(old_6), .here_o(here_6_o),
    .coming_o(coming_6_o), .way_o(way_6), .fetches_o(fetches_6_o), .free_o(), .free_way_o(), .write_back_o(back_6),
    .evicted_o(evicted_6), .fetched_set_o(fetched_row_6), .used_set_o(used_row_6)
  );
  context_lookup #(.Ways(Ways), .AgeBits(AgeBits), .Askers(Askers)) look_7 (
    .number_i(number_7_i), .ahead_i(1'b1), .absent_i(1'b0), .may_read_i(may_7_o), .dirty_i(1'b0), .kept_i(kept_7),
    .held_i(held_7), .held_numbers_i(numbers_6), .set_i(old_7), .here_o(here_7_o), .coming_o(coming_7_o), .way_o(way_7),
    .fetches_o(fetches_7_o), .free_o(), .free_way_o(), .write_back_o(back_7), .evicted_o(evicted_7),
    .fetched_set_o(fetched_row_7), .used_set_o()
  );
  // verilator lint_on PINCONNECTEMPTY

  // Requests for contexts: what is written back_o, and what is read.
  logic [LineBits-1:0] fetch_line;
  logic [23:0] fetch_number, back_number;
  logic [31:0] request_count;
  always_comb begin : choose_fetch
    fetches_o = fetches_1_o || fetches_2 || fetches_5 || fetches_6_o || fetches_7_o;
    back_o = back_1 || back_2 || back_5 || back_6 || back_7;
    fetch_number = fetches_1_o ? number_1_i : fetches_2 ? number_2_i : fetches_5 ? number_5_i :
                   fetches_6_o ? number_6_i : number_7_i;
    fetch_line = fetches_1_o ? line_of(set_1, way_1_o) : fetches_2 ? line_of(set_2, way_2) :
                 fetches_5 ? line_of(set_5, way_5) : fetches_6_o ? line_of(set_6, way_6) : line_of(set_7, way_7);
    back_number = back_1 ? evicted_1 : back_2 ? evicted_2 : back_5 ? evicted_5 : back_6 ? evicted_6 : evicted_7;
  end
  context_requests #(
    .Lines(CqContexts), .Depth(2 * CqMissesInFlight + 1), .RecordBits(rxnic_link_pkg::StoredCqBits),
    .Base(CqContextsAt)
  ) context_requests (
    .clk_i, .rst_ni, .count_o(request_count), .removes_i(removes_1_i), .removed_i(number_1_i), .back_i(back_o),
    .back_number_i(back_number), .fetches_i(fetches_o), .fetch_number_i(fetch_number), .fetch_line_i(fetch_line),
    .dma_valid_o(context_dma_valid_o), .dma_ready_i(context_dma_ready_i), .dma_o(context_dma_o), .line_o(line_back),
    .record_i(record_back), .written_back_valid_o, .written_back_o
  );
  assign requests_empty_o = request_count == '0;

  // Who waits
  always_comb begin : who_waits_1
    waits_1 = waits_q;
    numbers_1 = numbers_q;
    absent_1 = absent_0;
    if (waits_1_i) begin
      waits_1[Command] = 1'b1;
      numbers_1[Command*24+:24] = number_1_i;
      absent_1[Command] = 1'b0;
    end else if (forgets_1_i) begin
      waits_1[Command] = 1'b0;
    end
    if (ends_1_i && numbers_q[Timer*24+:24] == number_1_i) waits_1[Timer] = 1'b0;
  end
  always_comb begin : who_waits_2
    waits_2 = waits_1;
    numbers_2 = numbers_1;
    absent_2 = absent_1;
    if (goes_2_i) begin
      waits_2[Doorbell] = 1'b0;
    end else if (looks_2_i) begin
      waits_2[Doorbell] = 1'b1;
      numbers_2[Doorbell*24+:24] = number_2_i;
      absent_2[Doorbell] = 1'b0;
    end
  end
  always_comb begin : who_waits_5
    waits_5 = waits_2;
    numbers_5 = numbers_2;
    absent_5 = absent_2;
    if (goes_5_i) begin
      waits_5[Timer] = 1'b0;
    end else if (looks_5_i) begin
      waits_5[Timer] = 1'b1;
      numbers_5[Timer*24+:24] = number_5_i;
      absent_5[Timer] = 1'b0;
    end
  end
  always_comb begin : who_waits_6
    waits_6 = waits_5;
    numbers_6 = numbers_5;
    if (takes_6_i) begin
      waits_6[Packet] = 1'b0;
    end else if (waits_6_i) begin
      waits_6[Packet] = 1'b1;
      numbers_6[Packet*24+:24] = number_6_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      reading_q <= '0;
      waits_q <= '0;
      absent_q <= '0;
      yields_q <= 1'b0;
      numbers_q <= '0;
    end else begin
      reading_q <= fetches_o ? reading_0 + 32'd1 : reading_0;
      waits_q <= waits_6;
      absent_q <= absent_5 & waits_6;
      if (looks_6_i) yields_q <= yields_6_i;
      numbers_q <= numbers_6;
    end
  end

endmodule : cqe_contexts
