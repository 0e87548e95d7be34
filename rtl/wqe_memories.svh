// SPDX-License-Identifier: Apache-2.0
// State of srq_wqe_fetcher. A register is `..._q`, and `..._d` behind the step at hand. A memory has a place for what
// each step writes, `..._w` with the address `..._at` and the word `..._as`. get_X() reads the memory with what was
// written in the cycle, put_X() writes it. Steps are numbered by what they do.
localparam int unsigned Steps = 9;
localparam int unsigned StepArrival = 0, StepCommand = 1, StepDoorbell = 2, StepRequest = 3, StepFlush = 4,
                        StepPacket = 5, StepAgain = 6, StepAccept = 7, StepRead = 8;

typedef struct packed {
  logic [1:0]         state;   // context_cache_pkg
  logic               dirty;
  logic               ahead;   // read ahead, and not used yet
  logic [AgeBits-1:0] age;     // ways of its set that were used since
  logic [23:0]        number;
} way_t;

// A prefetch context: the WQEs of one queue that are here or on their way (wqe_prefetch.h).
typedef struct packed {
  logic [LineBits-1:0] owner;
  logic                linked;      // a linked list
  logic [23:0]         mask;        // slots - 1
  logic [12:0]         stride;
  logic                taken;       // a WQE, since it was bound
  logic [8:0]          window;
  logic [31:0]         first;
  logic [31:0]         confirmed;
  logic [31:0]         fetch;
  logic [23:0]         fetch_slot;
  logic [31:0]         epoch;
} context_t;

// A read in flight
typedef struct packed {
  logic [31:0]            number;
  logic [23:0]            slot;
  logic [6:0]             count;
  logic [31:0]            epoch;
  logic [ContextBits-1:0] of_context;
  logic [LineBits-1:0]    of_line;
} flight_t;

// A WQE that is here; segments behind the NextSegment of a linked list.
typedef struct packed {
  logic                                readable;
  logic [23:0]                         slot;
  logic [23:0]                         next;
  logic [SegmentsHeld*SegmentBits-1:0] segments;
} wqe_t;

// A WQE in use
typedef struct packed {
  logic [31:0] wqe_index;
  logic [31:0] bytes;
  logic [31:0] of_queue;
  logic        of_share;
} slot_t;

// What is refused of a QP (core/responder/refusal.h)
typedef struct packed {
  logic [31:0] residence;
  logic [31:0] message;
  logic [15:0] epoch;
  logic        has_epoch;
  logic        requests;
} refused_t;

// What the steps have at hand
way_t way, other;
// verilator lint_off UNUSEDSIGNAL
rxnic_link_pkg::stored_queue_t q;
flight_t flight;
// verilator lint_on UNUSEDSIGNAL
context_t x;
wqe_t entry;
slot_t slot;
refused_t refused;

localparam int unsigned ContextVectorBits = $bits(x);
localparam int unsigned FlightBits = $bits(flight);
localparam int unsigned EntryBits = $bits(entry);
localparam int unsigned SlotVectorBits = $bits(slot);
localparam int unsigned RefusedBits = $bits(refused);
localparam int unsigned EntryPlaceBits = ContextBits + DepthBits;

// verilator coverage_off
logic [RowBits-1:0]           sets_q [Sets];
logic [QueueBits-1:0]         records_q [QueueContexts];
logic [10:0]                  asked_q [QueueContexts];     // packets here that need a WQE
logic [8:0]                   reads_q [QueueContexts];     // in flight
logic [ContextBits-1:0]       contexts_of_q [QueueContexts];
logic [ContextVectorBits-1:0] contexts_q [Queues];
logic [EntryBits-1:0]         entries_q [1 << EntryPlaceBits];
logic [FlightBits-1:0]        flights_q [ReadsInFlight];
logic [SlotVectorBits-1:0]    slots_q [WqeStoreEntries];
logic [6:0]                   shares_q [Numbers];          // slots that a queue has of its share
logic [QpLineBits:0]          pending_q [Numbers];         // requests to flush it that wait
logic [NumberBits-1:0]        free_numbers_q [Numbers];
logic [OpenBits-1:0]          open_wqes_q [ContextLines];  // of packets and requests here
logic [RefusedBits-1:0]       refused_q [ContextLines];
// verilator coverage_on

logic [Steps-1:0] sets_w, records_w, contexts_w, contexts_of_w, asked_w, reads_w;
logic [Steps*SetBits-1:0] sets_at;
logic [Steps*RowBits-1:0] sets_as;
logic [Steps*LineBits-1:0] records_at, contexts_of_at, asked_at, reads_at;
logic [Steps*QueueBits-1:0] records_as;
logic [Steps*ContextBits-1:0] contexts_at, contexts_of_as;
logic [Steps*ContextVectorBits-1:0] contexts_as;
logic [Steps*11-1:0] asked_as;
logic [Steps*9-1:0] reads_as;
logic [Sets-1:0] set_used_q;

// The set at hand
logic [SetBits-1:0] set_at;
logic [RowBits-1:0] row;
logic [AgeBits-1:0] way_at, free_way;
logic [LineBits-1:0] line_at;
logic found, coming, has_free, here;
logic closing_q, closing_d;  // a queue that is destroyed has reads in flight
logic [LineBits-1:0] closing_line_q, closing_line_d;
logic [10:0] asked;
logic [8:0] reads;
logic [ContextBits-1:0] context_at;
logic has_context;
logic [LineBits-1:0] queue_line;  // of `q`

function automatic logic [LineBits-1:0] line_of(input logic [SetBits-1:0] set, input logic [AgeBits-1:0] n);
  line_of = LineBits'(32'(set) * Ways + 32'(n));
endfunction

task automatic get_row();
  row = sets_q[set_at];
  for (int unsigned n = 0; n < Ways; n++) begin
    if (!set_used_q[set_at]) row[n*WayBits+:WayBits] = {4'd0, AgeBits'(n), 24'd0};
  end
  for (int unsigned k = 0; k < Steps; k++) begin
    if (sets_w[k] && sets_at[k*SetBits+:SetBits] == set_at) row = sets_as[k*RowBits+:RowBits];
  end
endtask
task automatic put_row(input int unsigned step);
  sets_w[step] = 1'b1;
  sets_at[step*SetBits+:SetBits] = set_at;
  sets_as[step*RowBits+:RowBits] = row;
endtask

task automatic get_queue(input logic [LineBits-1:0] line);
  queue_line = line;
  q = records_q[line];
  for (int unsigned k = 0; k < Steps; k++) begin
    if (records_w[k] && records_at[k*LineBits+:LineBits] == line) q = records_as[k*QueueBits+:QueueBits];
  end
endtask
task automatic put_queue(input int unsigned step);
  records_w[step] = 1'b1;
  records_at[step*LineBits+:LineBits] = queue_line;
  records_as[step*QueueBits+:QueueBits] = q;
endtask

task automatic get_asked(input logic [LineBits-1:0] line);
  asked = asked_q[line];
  for (int unsigned k = 0; k < Steps; k++) begin
    if (asked_w[k] && asked_at[k*LineBits+:LineBits] == line) asked = asked_as[k*11+:11];
  end
endtask
task automatic put_asked(input int unsigned step, input logic [LineBits-1:0] line);
  asked_w[step] = 1'b1;
  asked_at[step*LineBits+:LineBits] = line;
  asked_as[step*11+:11] = asked;
endtask

task automatic get_reads(input logic [LineBits-1:0] line);
  reads = reads_q[line];
  for (int unsigned k = 0; k < Steps; k++) begin
    if (reads_w[k] && reads_at[k*LineBits+:LineBits] == line) reads = reads_as[k*9+:9];
  end
endtask
task automatic put_reads(input int unsigned step, input logic [LineBits-1:0] line);
  reads_w[step] = 1'b1;
  reads_at[step*LineBits+:LineBits] = line;
  reads_as[step*9+:9] = reads;
endtask

task automatic get_context(input logic [ContextBits-1:0] c);
  context_at = c;
  x = contexts_q[c];
  for (int unsigned k = 0; k < Steps; k++) begin
    if (contexts_w[k] && contexts_at[k*ContextBits+:ContextBits] == c) begin
      x = contexts_as[k*ContextVectorBits+:ContextVectorBits];
    end
  end
endtask
task automatic put_context(input int unsigned step);
  contexts_w[step] = 1'b1;
  contexts_at[step*ContextBits+:ContextBits] = context_at;
  contexts_as[step*ContextVectorBits+:ContextVectorBits] = x;
endtask

// The prefetch context of a queue. One that was taken from it since has another owner, or none.
task automatic find_context(input logic [LineBits-1:0] line);
  context_at = contexts_of_q[line];
  for (int unsigned k = 0; k < Steps; k++) begin
    if (contexts_of_w[k] && contexts_of_at[k*LineBits+:LineBits] == line) begin
      context_at = contexts_of_as[k*ContextBits+:ContextBits];
    end
  end
  get_context(context_at);
  has_context = bound_d[context_at] && x.owner == line;
endtask
