// SPDX-License-Identifier: Apache-2.0
// Which queues are SRQs, and their numbers, for cqe_generator: commands attach and detach them.
module cqe_srqs #(
  parameter int unsigned Queues = 1
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        begins_i,   // a command, which goes before the packet (R9)
  // verilator lint_off UNUSEDSIGNAL
  input  rxnic_link_pkg::cq_command_t command_i,  // not all fields matter
  // verilator lint_on UNUSEDSIGNAL
  input  logic [31:0]                 queue_i,    // of the packet
  output logic                        is_srq_o,
  output logic [23:0]                 srqn_o
);

  localparam int unsigned QueueIndexBits = Queues > 1 ? $clog2(Queues) : 1;

  // verilator coverage_off
  logic [23:0]       srqs_q [Queues];
  logic [Queues-1:0] srq_valid_q;
  // verilator coverage_on
  logic attaches, detaches;
  assign attaches = begins_i && command_i.queue_ < Queues &&
                    command_i.operation == rxnic_link_pkg::CqOperationAttachSrq;
  assign detaches = begins_i && command_i.queue_ < Queues &&
                    command_i.operation == rxnic_link_pkg::CqOperationDetachSrq;

  always_comb begin : find_srq
    is_srq_o = queue_i < Queues && srq_valid_q[queue_i[QueueIndexBits-1:0]];
    srqn_o = srqs_q[queue_i[QueueIndexBits-1:0]];
    if (command_i.queue_ == queue_i) begin
      if (attaches) begin
        is_srq_o = 1'b1;
        srqn_o = command_i.srqn;
      end
      if (detaches) is_srq_o = 1'b0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin : state
    if (!rst_ni) srq_valid_q <= Queues'(0);
    else if (attaches || detaches) srq_valid_q[command_i.queue_[QueueIndexBits-1:0]] <= attaches;
  end
  always_ff @(posedge clk_i) begin : memory
    if (attaches) srqs_q[command_i.queue_[QueueIndexBits-1:0]] <= command_i.srqn;
  end

endmodule : cqe_srqs
