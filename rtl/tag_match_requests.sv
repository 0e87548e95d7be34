// SPDX-License-Identifier: Apache-2.0
// Requests of tag_match_cam to the DMA engine, one in a cycle: of the first step that asks. A look (3), what is put
// back (4), a read (6) or an operation (8) may ask. What a request writes goes to one of the places from which the DMA
// engine takes it, in turn (R8).
module tag_match_requests #(
  parameter int unsigned Slots    = 2,  // of a list's overflow
  parameter int unsigned DmaDepth = 1
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  output logic                         dma_valid_o,
  input  logic                         dma_ready_i,
  output rxnic_link_pkg::dma_request_t dma_o,
  output logic                         written_valid_o,
  output rxnic_link_pkg::tag_write_t   written_o,
  output logic                         free_3_o,    // a request would be taken
  input  tag_match_pkg::request_t      request_3_i,
  input  rxnic_link_pkg::stored_tag_t  entry_3_i,   // as it was read
  output logic                         free_4_o,
  input  tag_match_pkg::request_t      request_4_i,
  input  tag_match_pkg::entry_t        entry_4_i,
  output logic                         free_6_o,
  input  tag_match_pkg::request_t      request_6_i,
  input  logic [31:0]                  cookie_6_i,
  output logic                         free_8_o,
  input  tag_match_pkg::request_t      request_8_i,
  input  tag_match_pkg::entry_t        entry_8_i
);

  tag_match_pkg::request_t request;
  tag_match_pkg::entry_t entry;
  rxnic_link_pkg::stored_tag_t stored;
  logic [10:0] leaving_q;  // the place of what is written
  logic [63:0] slot;       // of all lists

  assign free_3_o = dma_ready_i;
  assign free_4_o = dma_ready_i && !request_3_i.valid;
  assign free_6_o = dma_ready_i && !request_3_i.valid && !request_4_i.valid;
  assign free_8_o = dma_ready_i && !request_3_i.valid && !request_4_i.valid && !request_6_i.valid;
  assign request = request_3_i.valid ? request_3_i : request_4_i.valid ? request_4_i :
                   request_6_i.valid ? request_6_i : request_8_i;
  assign entry = request_4_i.valid ? entry_4_i : entry_8_i;

  always_comb begin : make_request
    slot = 64'(request.srq) * 64'(Slots) + 64'(request.slot);
    dma_o = '0;
    dma_o.kind = rxnic_link_pkg::DmaKindWrite;
    dma_o.cookie = 32'(leaving_q);
    dma_o.address = tag_match_pkg::OverflowBase + slot * 64'(tag_match_pkg::EntryBytes);
    dma_o.bytes = 32'(tag_match_pkg::EntryBytes);
    if (request_3_i.valid) begin
      stored = entry_3_i;
    end else begin
      stored = {entry.tag, entry.mask, entry.buffer, entry.sequence_, entry.handle, 32'd1};
    end
    case (request.kind)
      tag_match_pkg::RequestRead: begin
        dma_o.kind = rxnic_link_pkg::DmaKindRead;
        dma_o.cookie = cookie_6_i;
        dma_o.bytes = 32'(request.entries) * 32'(tag_match_pkg::EntryBytes);
      end
      tag_match_pkg::RequestBury: begin
        dma_o.address = dma_o.address + 64'(tag_match_pkg::LiveOffset);
        dma_o.bytes = 32'd4;
        stored = '0;
        stored.handle = '1;
      end
      default: ;
    endcase
    written_o = {leaving_q, stored};
  end
  assign dma_valid_o = request.valid;
  assign written_valid_o = request.valid && request.kind != tag_match_pkg::RequestRead;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) leaving_q <= '0;
    else if (written_valid_o) leaving_q <= leaving_q == 11'(DmaDepth) ? '0 : leaving_q + 11'd1;
  end

endmodule : tag_match_requests
