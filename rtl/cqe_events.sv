// SPDX-License-Identifier: Apache-2.0
// Events of cqe_generator on their way out (R4, R6), in the order of the steps that raise them. Each waits until the
// CQEs before it have landed: the first ones, up to first_held_q, wait for nothing that has not.
module cqe_events #(
  parameter int unsigned LatencyCycles      = 1,
  parameter int unsigned EventLatencyCycles = 1,
  parameter int unsigned EventDepth         = 1,
  parameter int unsigned CountBits          = $clog2(EventDepth + 10)
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic [63:0]                  now_i,
  output logic [CountBits-1:0]         count_o,      // events that are here
  input  logic                         landed_i,     // a write of CQEs that counts
  output logic                         events_valid_o,
  input  logic                         events_ready_i,
  output rxnic_link_pkg::event_t       events_o,
  // Room for events behind the steps before, and what the steps raise
  output logic [CountBits-1:0]         room_1_o,
  input  logic                         raises_2_i,   // completions
  input  logic [23:0]                  number_2_i,
  output logic [CountBits-1:0]         room_2_o,
  input  logic                         raises_3_i,   // a QP fails
  input  rxnic_link_pkg::event_type_e  type_3_i,
  input  logic [23:0]                  qpn_3_i,
  output logic [CountBits-1:0]         room_3_o,
  input  logic                         writes_4_i,   // CQEs of which a program is notified
  input  logic                         raises_4_i,
  input  logic [23:0]                  number_4_i,
  output logic [CountBits-1:0]         room_4_o,
  input  logic                         raises_5_i,
  input  logic [23:0]                  number_5_i,
  output logic [CountBits-1:0]         room_5_o,
  input  logic                         establishes_6_i,
  input  logic [23:0]                  qpn_6_i,
  input  logic                         writes_6a_i,
  input  logic                         raises_6a_i,
  input  logic                         writes_6b_i,
  input  logic                         raises_6b_i,
  input  logic                         kills_6_i,    // the CQ has overrun
  input  logic [23:0]                  number_6_i,
  input  logic                         raises_error_6_i,
  input  rxnic_link_pkg::event_type_e  error_type_6_i
);

  localparam int unsigned Raises = 8;
  localparam int unsigned EventBits = 4 + 24 + 32 + 64;
  localparam int unsigned PlaceBits = EventDepth > 1 ? $clog2(EventDepth) : 1;

  // verilator coverage_off
  logic [EventBits-1:0] events_q [EventDepth];  // type, number, blocks before it, not before
  logic [63:0]          event_due_q [EventDepth];
  // verilator coverage_on
  logic [PlaceBits-1:0] first_event_q, first_held_q, event_place;
  logic [CountBits-1:0] event_count_q, event_held_q, event_held_0, event_count_0, raise_count, raised_before;
  logic [31:0] landed_q, landed_0, blocks_q, blocks_4, blocks_6a, blocks_6b;  // CQEs: landed, written
  logic releases_event, event_leaves, event_is_due;
  logic [31:0] held_behind;
  logic [63:0] held_not_before, released_due, first_due, at_once;
  logic [Raises-1:0] raised;
  logic [Raises*28-1:0] raised_what;
  logic [Raises*32-1:0] raised_behind;
  logic [Raises*64-1:0] raised_not_before;
  logic [Raises*CountBits-1:0] raises_until;
  rxnic_link_pkg::event_t event_out;
  // verilator lint_off UNUSEDSIGNAL
  logic [EventBits-1:0] held_event, front_event;
  // verilator lint_on UNUSEDSIGNAL
  logic [3:0] front_type;
  logic [23:0] front_number;

  function automatic logic [PlaceBits-1:0] event_place_of(input logic [PlaceBits-1:0] from,
                                                          input logic [CountBits-1:0] behind);
    logic [CountBits:0] n;
    n = (CountBits + 1)'(from) + {1'b0, behind};
    if (n >= (CountBits + 1)'(EventDepth)) n = n - (CountBits + 1)'(EventDepth);
    event_place_of = n[PlaceBits-1:0];
  endfunction

  assign count_o = event_count_q;
  assign landed_0 = landed_q + 32'(landed_i);
  assign event_place = event_place_of(first_event_q, CountBits'(1));
  always_comb begin : release_events
    held_event = events_q[first_held_q];
    held_behind = held_event[95:64];
    held_not_before = held_event[63:0];
    releases_event = event_held_q != '0 && landed_0 - held_behind < 32'h8000_0000;
    released_due = now_i + 64'(EventLatencyCycles) - 64'd1;
    if (released_due < held_not_before) released_due = held_not_before;
    event_held_0 = event_held_q - CountBits'(releases_event);
    first_due = releases_event && first_held_q == first_event_q ? released_due : event_due_q[first_event_q];
    event_is_due = event_count_q > event_held_0 && first_due <= now_i;
    front_event = events_q[first_event_q];
    {front_type, front_number} = front_event[EventBits-1:96];
    event_out = '0;
    event_out.number = front_number;
    events_valid_o = event_is_due;
    events_o = event_out;
    events_o[rxnic_link_pkg::EventBits-1-:4] = front_type;  // a cast of an enumeration would not be read by yosys
    event_leaves = event_is_due && events_ready_i;
    event_count_0 = event_count_q - CountBits'(event_leaves);
  end

  assign room_1_o = CountBits'(EventDepth) - event_count_0;
  assign room_2_o = room_1_o - CountBits'(raises_2_i);
  assign room_3_o = room_2_o - CountBits'(raises_3_i);
  assign room_4_o = room_3_o - CountBits'(raises_4_i);
  assign room_5_o = room_4_o - CountBits'(raises_5_i);
  assign blocks_4 = blocks_q + 32'(writes_4_i);
  assign blocks_6a = blocks_4 + 32'(writes_6a_i);
  assign blocks_6b = blocks_6a + 32'(writes_6b_i);
  assign at_once = now_i + 64'(LatencyCycles) + 64'(EventLatencyCycles);
  always_comb begin : raise_events
    raised = {raises_error_6_i, kills_6_i, raises_6b_i, raises_6a_i, establishes_6_i, raises_5_i, raises_4_i,
              raises_3_i};
    raised_what = {4'(error_type_6_i), qpn_6_i, 4'(rxnic_link_pkg::EventTypeCqError), number_6_i,
                   4'(rxnic_link_pkg::EventTypeCompletion), number_6_i,
                   4'(rxnic_link_pkg::EventTypeCompletion), number_6_i,
                   4'(rxnic_link_pkg::EventTypeQpCommunicationEstablished), qpn_6_i,
                   4'(rxnic_link_pkg::EventTypeCompletion), number_5_i,
                   4'(rxnic_link_pkg::EventTypeCompletion), number_4_i, 4'(type_3_i), qpn_3_i};
    raised_behind = {blocks_6b, blocks_6b, blocks_6b, blocks_6a, blocks_4, blocks_4, blocks_4, blocks_q};
    for (int unsigned n = 0; n < Raises; n++) begin
      raised_not_before[n*64+:64] = raised_behind[n*32+:32] == landed_0 ? at_once : '0;
    end
    raise_count = CountBits'(raises_2_i);
    for (int unsigned n = 0; n < Raises; n++) raise_count = raise_count + CountBits'(raised[n]);
  end
  always_comb begin : count_raises
    raised_before = CountBits'(raises_2_i);
    for (int unsigned n = 0; n < Raises; n++) begin
      raises_until[n*CountBits+:CountBits] = raised_before;
      raised_before = raised_before + CountBits'(raised[n]);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) begin
      first_event_q <= '0;
      first_held_q <= '0;
      event_count_q <= '0;
      event_held_q <= '0;
      landed_q <= '0;
      blocks_q <= '0;
    end else begin
      if (event_leaves) first_event_q <= event_place;
      if (releases_event) first_held_q <= event_place_of(first_held_q, CountBits'(1));
      event_count_q <= event_count_0 + raise_count;
      event_held_q <= event_held_0 + raise_count;
      landed_q <= landed_0;
      blocks_q <= blocks_6b;
    end
  end

  always_ff @(posedge clk_i) begin : memories
    if (releases_event) event_due_q[first_held_q] <= released_due;
    if (raises_2_i) begin
      events_q[event_place_of(first_event_q, event_count_q)] <=
          {4'(rxnic_link_pkg::EventTypeCompletion), number_2_i, blocks_q, blocks_q == landed_0 ? at_once : 64'd0};
    end
    for (int unsigned n = 0; n < Raises; n++) begin
      if (raised[n]) begin
        events_q[event_place_of(first_event_q, event_count_q + raises_until[n*CountBits+:CountBits])] <=
            {raised_what[n*28+:28], raised_behind[n*32+:32], raised_not_before[n*64+:64]};
      end
    end
  end

endmodule : cqe_events
