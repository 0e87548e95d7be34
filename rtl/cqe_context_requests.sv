// SPDX-License-Identifier: Apache-2.0
// Requests of cqe_generator for contexts of CQs: in a cycle a removal, a write-back and a read may come, in this order;
// one leaves.
module cqe_context_requests #(
  parameter int unsigned CqContexts       = 1,
  parameter int unsigned CqMissesInFlight = 1,
  parameter int unsigned LineBits         = CqContexts > 1 ? $clog2(CqContexts) : 1
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  output logic                           empty_o,
  input  logic                           removes_i,
  input  logic [23:0]                    removed_i,
  input  logic                           back_i,        // the context in fetch_line_i is written
  input  logic [23:0]                    back_number_i,
  input  logic                           fetches_i,
  input  logic [23:0]                    fetch_number_i,
  input  logic [LineBits-1:0]            fetch_line_i,
  output logic                           dma_valid_o,
  input  logic                           dma_ready_i,
  output rxnic_link_pkg::dma_request_t   dma_o,
  output logic [LineBits-1:0]            line_o,        // what it writes is the record of this line
  input  rxnic_link_pkg::stored_cq_t     record_i,
  output logic                           written_back_valid_o,
  output rxnic_link_pkg::cq_write_back_t written_back_o
);

  localparam int unsigned ContextCqBytes = 64;
  localparam logic [63:0] CqContextsAt = 64'h4800_0000_0000_0000;
  localparam int unsigned Requests = 2 * CqMissesInFlight + 1;
  localparam int unsigned RequestBits = 1 + 24 + 32;  // writes, number, line

  logic [$clog2(Requests+1)-1:0] request_count;
  logic [RequestBits-1:0] pushed_0, pushed_1, pushed_2, first_request, front_request;
  logic [1:0] pushes;
  logic asks, request_writes;
  logic [23:0] request_number;
  logic [31:0] request_line;
  rxnic_link_pkg::dma_request_t context_request;

  rxnic_fifo #(.Bits(RequestBits), .Depth(Requests), .Pushes(3)) requests (
    .clk_i, .rst_ni, .push_i(pushes), .words_i({pushed_2, pushed_1, pushed_0}), .pop_i(asks), .count_o(request_count),
    .words_o(first_request)
  );

  assign empty_o = request_count == '0;
  always_comb begin : ask_for_contexts
    pushed_0 = removes_i ? {1'b1, removed_i, 32'(CqContexts)} :
               back_i ? {1'b1, back_number_i, 32'(fetch_line_i)} : {1'b0, fetch_number_i, 32'(fetch_line_i)};
    pushed_1 = removes_i && back_i ? {1'b1, back_number_i, 32'(fetch_line_i)}
                                   : {1'b0, fetch_number_i, 32'(fetch_line_i)};
    pushed_2 = {1'b0, fetch_number_i, 32'(fetch_line_i)};
    pushes = 2'(removes_i) + 2'(back_i) + 2'(fetches_i);
    front_request = request_count == '0 ? pushed_0 : first_request;
    {request_writes, request_number, request_line} = front_request;
    dma_valid_o = request_count != '0 || pushes != '0;
    asks = dma_valid_o && dma_ready_i;
    context_request = '0;
    context_request.kind = request_writes ? rxnic_link_pkg::DmaKindWrite : rxnic_link_pkg::DmaKindRead;
    context_request.cookie = request_line;
    context_request.address = CqContextsAt + 64'(request_number) * 64'(ContextCqBytes);
    context_request.bytes = ContextCqBytes;
    dma_o = context_request;
    line_o = request_line[LineBits-1:0];
  end
  always_comb begin : write_back
    written_back_valid_o = asks && request_writes;
    written_back_o = {request_line, record_i};
    if (request_line == CqContexts) written_back_o = {request_line, rxnic_link_pkg::StoredCqBits'(0)};
  end

endmodule : cqe_context_requests
