// SPDX-License-Identifier: Apache-2.0
// Requests of a cache of contexts to the DMA engine. In a cycle a removal, a write-back and a read may come, in this
// order; one leaves. What a write-back writes is the record of the line that it names; a removal writes zeros.
module context_requests #(
  parameter int unsigned Lines        = 1,
  parameter int unsigned Depth        = 1,     // requests that wait
  parameter int unsigned RecordBits   = 1,
  parameter int unsigned ContextBytes = 64,    // of a record in memory
  parameter logic [63:0] Base         = 64'd0,  // where they begin
  parameter int unsigned LineBits     = Lines > 1 ? $clog2(Lines) : 1
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  output logic [31:0]                  count_o,
  input  logic                         removes_i,
  input  logic [23:0]                  removed_i,
  input  logic                         back_i,         // the context in fetch_line_i is written
  input  logic [23:0]                  back_number_i,
  input  logic                         fetches_i,
  input  logic [23:0]                  fetch_number_i,
  input  logic [LineBits-1:0]          fetch_line_i,
  output logic                         dma_valid_o,
  input  logic                         dma_ready_i,
  output rxnic_link_pkg::dma_request_t dma_o,
  output logic [LineBits-1:0]          line_o,         // what it writes is the record of this line
  input  logic [RecordBits-1:0]        record_i,
  output logic                         written_back_valid_o,
  output logic [32+RecordBits-1:0]     written_back_o  // the line; Lines of a removal
);

  localparam int unsigned RequestBits = 1 + 24 + 32;  // writes, number, line

  logic [$clog2(Depth+1)-1:0] request_count;
  logic [RequestBits-1:0] pushed_0, pushed_1, pushed_2, first_request, front_request;
  logic [1:0] pushes;
  logic asks, request_writes;
  logic [23:0] request_number;
  logic [31:0] request_line;
  rxnic_link_pkg::dma_request_t context_request;

  rxnic_fifo #(.Bits(RequestBits), .Depth(Depth), .Pushes(3)) requests (
    .clk_i, .rst_ni, .push_i(pushes), .words_i({pushed_2, pushed_1, pushed_0}), .pop_i(asks), .count_o(request_count),
    .words_o(first_request)
  );

  assign count_o = 32'(request_count);
  always_comb begin : ask_for_contexts
    pushed_0 = removes_i ? {1'b1, removed_i, 32'(Lines)} :
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
    context_request.address = Base + 64'(request_number) * 64'(ContextBytes);
    context_request.bytes = ContextBytes;
    dma_o = context_request;
    line_o = request_line[LineBits-1:0];
  end
  always_comb begin : write_back
    written_back_valid_o = asks && request_writes;
    written_back_o = {request_line, record_i};
    if (request_line == Lines) written_back_o = {request_line, RecordBits'(0)};
  end

endmodule : context_requests
