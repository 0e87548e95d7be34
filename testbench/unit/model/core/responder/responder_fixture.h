// SPDX-License-Identifier: Apache-2.0
// One QP and its responder, which gets packet by packet. Packets are kept, so that a later block can refuse them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "model/core/responder/refusal.h"
#include "model/core/responder/responder.h"
#include "model/types/syndrome.h"
#include "testbench/unit/model/core/packet_builder.h"
#include "testbench/unit/reports.h"

namespace rxnic {

class ResponderFixture : public testing::Test {
 protected:
  explicit ResponderFixture(Transport transport, RdAtomicOverLimit over_limit = {})
      : qp(make_qp(transport)), responder(resources, srqs, over_limit) {
    srqs[kSrq] = {.queue = WqId{50}, .cq = Cqn{60}, .xrcd = qp.xrcd};
    srqs[kOtherSrq] = {.queue = WqId{51}, .cq = Cqn{61}, .xrcd = qp.xrcd};
    srqs[kForeignSrq] = {.queue = WqId{52}, .cq = Cqn{62}, .xrcd = Xrcdn{99}};
    resources.reserve(qp.qpn, qp.max_dest_rd_atomic);
  }
  // Makes the packet and has it checked, as the transport checker does.
  CheckedPacket& check(PacketSpec spec) {
    if (spec.srq == 0) spec.srq = kSrq;
    packets.push_back(make_packet(qp, spec));
    CheckedPacket& p = *packets.back();
    p.buffer = PacketHandle{static_cast<std::uint32_t>(packets.size() - 1)};
    if (responder.abandons_message(p)) {
      responder.abandon_message(qp);
      ++abandoned;
    }
    responder.check(p);
    return p;
  }
  // Checks the first packet of a message that goes on.
  void in_send() { check({.operation = Operation::kSendFirst, .psn = qp.expected_psn.value, .payload = kTestMtu}); }
  void in_write(std::uint32_t length = 3 * kTestMtu) {
    check({.operation = Operation::kWriteFirst, .psn = qp.expected_psn.value, .payload = kTestMtu, .length = length});
  }
  // Makes the QP new, whatever happened before.
  void restart() {
    const std::uint32_t residence = qp.residence + 1;
    qp = make_qp(qp.transport);
    qp.residence = residence;
  }
  // The QP after a reset and a new connection.
  void forget_resources() {
    resources.reserve(qp.qpn, 0);
    resources.reserve(qp.qpn, qp.max_dest_rd_atomic);
  }
  // A block behind the checker, whose reports the checker takes at once.
  void fail_rnr(CheckedPacket& p) {
    block.fail_rnr(p, p.min_rnr_timer);
    report();
  }
  void fail_qp(CheckedPacket& p, DropReason reason, std::uint8_t syndrome, WcStatus status) {
    block.fail_qp(p, reason, syndrome, status);
    report();
  }
  bool is_squashed(const CheckedPacket& p) const { return block.refuses(p); }  // if it came next
  void report() {
    Reports reports;
    block.report(reports, Cycle{});
    for (const Refusal& r : reports.all) {
      const bool back = r.kind == RefusalKind::kNotReady;
      responder.apply(r, qp, back ? packets[raw(r.buffer)]->undo : ResponderUndo{});
    }
  }

  static constexpr std::uint32_t kResources = 64;
  static constexpr std::uint32_t kSrq = 5;
  static constexpr std::uint32_t kOtherSrq = 6;
  static constexpr std::uint32_t kForeignSrq = 7;
  QpContext qp;
  SrqTable srqs;
  ResponderResources resources{kResources};
  Responder responder;
  Refusals block;
  std::vector<std::unique_ptr<CheckedPacket>> packets;
  unsigned abandoned = 0;
};

inline void expect_executed(const CheckedPacket& p) {
  EXPECT_EQ(p.outcome, Outcome::kExecute) << opcode_name(p.h.opcode);
  EXPECT_EQ(p.drop_reason, DropReason::kNone);
}
inline void expect_refused(const CheckedPacket& p) {  // NAK 0x61
  EXPECT_EQ(p.outcome, Outcome::kNak) << opcode_name(p.h.opcode);
  EXPECT_EQ(p.drop_reason, DropReason::kInvalidRequest);
  EXPECT_EQ(p.syndrome, kNakInvalidRequest);
  EXPECT_TRUE(p.acknowledge);
  EXPECT_EQ(p.status, WcStatus::kRemoteInvalidRequest);
  EXPECT_EQ(p.answer_psn, p.h.psn);
  EXPECT_EQ(p.qp->state, QpState::kError);
}
inline void expect_dropped(const CheckedPacket& p, DropReason reason) {
  EXPECT_EQ(p.outcome, Outcome::kDrop) << opcode_name(p.h.opcode);
  EXPECT_EQ(p.drop_reason, reason);
  EXPECT_FALSE(p.acknowledge);
}

}  // namespace rxnic
