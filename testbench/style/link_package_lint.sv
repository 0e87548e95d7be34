// SPDX-License-Identifier: Apache-2.0
// A linter wants a module: this one uses the generated package of descriptors.
module link_package_lint (
  input  rxnic_link_pkg::request_notice_t request_i,
  input  rxnic_link_pkg::tag_operation_t  operation_i,
  output rxnic_link_pkg::answer_notice_t  answer_o,
  output rxnic_link_pkg::tag_return_t     return_o
);
  import rxnic_link_pkg::*;
  assign answer_o = '{qpn: request_i.qpn, psn: request_i.first_psn, kind: AnswerKindAck, syndrome: '0};
  assign return_o = '{srq: operation_i.srq, handle: operation_i.entry.handle};
  logic unused;
  assign unused = ^{request_i, operation_i};
endmodule
