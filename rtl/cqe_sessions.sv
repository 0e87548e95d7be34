// SPDX-License-Identifier: Apache-2.0
// The open sessions of cqe_generator (R5), by line of the cache of CQ contexts. The module keeps their completions,
// when each session ends at the latest, and which of them is due. Which lines have one is kept where lines are
// (cqe_generator).
module cqe_sessions #(
  parameter int unsigned CqContexts  = 1,
  parameter int unsigned MaxHeld     = 1,
  parameter int unsigned Compression = 0,
  parameter int unsigned LineBits    = CqContexts > 1 ? $clog2(CqContexts) : 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic [63:0]           now_i,
  // (1) completions in the session of a line
  input  logic [LineBits-1:0]   line_1_i,
  output logic [6:0]            held_1_o,
  // (4) the session that ends first, of those that are open, when it is due or nothing holds the path up
  input  logic [CqContexts-1:0] open_4_i,
  input  logic                  unpressed_4_i,
  output logic                  due_o,
  output logic [LineBits-1:0]   line_4_o,
  output logic [511:0]          title_4_o,
  output logic [MaxHeld*64-1:0] minis_4_o,
  output logic [6:0]            held_4_o,
  // (6) that of the packet's line; a completion that begins or joins it
  input  logic [LineBits-1:0]   line_6_i,
  output logic [511:0]          title_6_o,
  output logic [MaxHeld*64-1:0] minis_6_o,
  output logic [6:0]            held_6_o,
  input  logic                  joins_6_i,
  input  logic                  begins_6_i,
  input  logic [511:0]          joined_title_6_i,
  input  logic [MaxHeld*64-1:0] joined_minis_6_i,
  input  logic [6:0]            joined_held_6_i,
  input  logic [63:0]           end_6_i
);

  localparam logic [63:0] Never = cqe_pkg::Never;

  // verilator coverage_off
  logic [511:0]          titles_q [CqContexts];
  logic [MaxHeld*64-1:0] minis_q [CqContexts];
  logic [6:0]            helds_q [CqContexts];
  logic [63:0]           ends_q [CqContexts];
  // verilator coverage_on
  logic [63:0] session_bound_q, session_bound_4, first_end;  // none ends before the bound

  always_comb begin : find_session
    due_o = 1'b0;
    first_end = Never;
    line_4_o = '0;
    session_bound_4 = session_bound_q;
    if (Compression != 0 && (session_bound_q <= now_i || unpressed_4_i)) begin
      for (int unsigned n = 0; n < CqContexts; n++) begin
        if (open_4_i[n] && ends_q[n] < first_end) begin
          first_end = ends_q[n];
          line_4_o = LineBits'(n);
        end
      end
      due_o = first_end <= now_i || (unpressed_4_i && first_end != Never);
      session_bound_4 = first_end;
    end
  end
  assign held_1_o = helds_q[line_1_i];
  assign title_4_o = titles_q[line_4_o];
  assign minis_4_o = minis_q[line_4_o];
  assign held_4_o = helds_q[line_4_o];
  assign title_6_o = titles_q[line_6_i];
  assign minis_6_o = minis_q[line_6_i];
  assign held_6_o = helds_q[line_6_i];

  always_ff @(posedge clk_i or negedge rst_ni) begin : bound
    if (!rst_ni) session_bound_q <= Never;
    else session_bound_q <= joins_6_i && end_6_i < session_bound_4 ? end_6_i : session_bound_4;
  end

  always_ff @(posedge clk_i) begin : memories
    if (Compression != 0 && joins_6_i) begin
      if (begins_6_i) titles_q[line_6_i] <= joined_title_6_i;
      minis_q[line_6_i] <= joined_minis_6_i;
      helds_q[line_6_i] <= joined_held_6_i;
      ends_q[line_6_i] <= end_6_i;
    end
  end

endmodule : cqe_sessions
