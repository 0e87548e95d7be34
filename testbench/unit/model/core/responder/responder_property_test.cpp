// SPDX-License-Identifier: Apache-2.0
// Random sequences of good and faulty packets. PSN, MSN and the state of the message always stay consistent with a
// second, simpler record of the accepted packets.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <random>

#include "model/core/responder/responder.h"
#include "testbench/unit/model/core/responder/responder_fixture.h"

namespace rxnic::responder_property_test {
namespace {

using O = Operation;

constexpr O kOperations[] = {O::kSendFirst,   O::kSendMiddle,   O::kSendLast,    O::kSendLastImm,  O::kSendOnly,
                             O::kSendOnlyImm, O::kSendLastInv,  O::kSendOnlyInv, O::kWriteFirst,   O::kWriteMiddle,
                             O::kWriteLast,   O::kWriteLastImm, O::kWriteOnly,   O::kWriteOnlyImm, O::kReadRequest,
                             O::kCompareSwap, O::kFetchAdd,     O::kAtomicWrite};

std::uint64_t seed() {
  const char* text = std::getenv("RXNIC_SEED");
  const std::uint64_t value = text == nullptr ? 20240607 : std::strtoull(text, nullptr, 0);
  std::cout << "RXNIC_SEED=" << value << '\n';
  return value;
}

class RandomResponder : public ResponderFixture {
 protected:
  RandomResponder() : ResponderFixture(Transport::kRc), random(seed()) {}
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

  // Mostly the packet that the QP expects; sometimes one with one or several faults.
  PacketSpec next_spec() {
    PacketSpec s;
    const bool inside = qp.message == MessageKind::kSend || qp.message == MessageKind::kWrite;
    do {
      s.operation = kOperations[below(std::size(kOperations))];
    } while (inside != continues(s.operation) && !one_in(60));
    s.psn = qp.expected_psn.value;
    if (one_in(20)) s.psn += below(4);
    if (one_in(20)) s.psn -= below(6);
    if (one_in(500)) s.psn = static_cast<std::uint32_t>(random());
    const std::uint32_t traits = opcode_info(opcode_of(qp.transport, s.operation)).traits;
    const bool full = (traits & (kFirst | kMiddle)) != 0;
    if ((traits & kHasPayload) != 0) s.payload = full ? kTestMtu : 1 + below(kTestMtu);
    if (qp.message == MessageKind::kWrite && (traits & kLast) != 0 && qp.write_left <= kTestMtu)
      s.payload = qp.write_left;
    s.length = (traits & kFirst) != 0 ? kTestMtu * (1 + below(4)) + 1 + below(kTestMtu) : s.payload;
    if ((traits & kRead) != 0) s.length = below(5000);
    if (s.operation == O::kAtomicWrite) s.payload = s.length = 8;
    if (one_in(60)) s.payload = below(2 * kTestMtu);
    if (one_in(60)) s.length = static_cast<std::uint32_t>(random());
    if ((traits & kAtomic) != 0 && one_in(20)) s.va += below(8);
    s.ack_request = one_in(3);
    return s;
  }
  static bool continues(O operation) {
    return (opcode_info(opcode_of(Transport::kRc, operation)).traits & (kMiddle | kLast)) != 0;
  }

  void expect_consistent() {
    ASSERT_LE(qp.expected_psn.value, 0xffffffu);
    ASSERT_LE(qp.msn, 0xffffffu);
    if (qp.message == MessageKind::kNone) return;
    ASSERT_GT(qp.message_bytes, 0u);
    if (qp.message == MessageKind::kWrite) {
      ASSERT_GT(qp.write_left, 0u) << "a LAST must be able to follow";
      ASSERT_LE(qp.write_left, 1u << 31);
      ASSERT_EQ(qp.write_va, write_va + qp.message_bytes);
      ASSERT_EQ(qp.message_bytes + qp.write_left, write_length);
    }
  }

  std::mt19937_64 random;
  std::uint64_t write_va = 0;
  std::uint64_t write_length = 0;
};

TEST_F(RandomResponder, StateIsConsistentAfterEveryPacket) {
  std::uint64_t bytes = 0;
  std::uint64_t executed = 0, answered_again = 0, naks = 0, errors = 0, rnrs = 0, silent = 0;
  for (int round = 0; round < 200'000; ++round) {
    if (qp.state == QpState::kError) {  // software resets it
      ++errors;
      restart();
      forget_resources();
      qp.expected_psn = Psn{static_cast<std::uint32_t>(random())};
      qp.msn = below(1u << 24);
    }
    const QpContext before = qp;
    CheckedPacket& p = check(next_spec());
    const std::int32_t distance = p.h.psn - before.expected_psn;
    switch (p.outcome) {
      case Outcome::kExecute: {
        ++executed;
        ASSERT_EQ(distance, 0);
        const bool starts = !continues(p.op().operation);
        if (starts) bytes = 0;
        if (p.has(kWrite) && starts) {
          write_va = p.h.va;
          write_length = p.h.length;
        }
        bytes += p.has(kRead) ? p.h.length : p.has(kAtomic) ? 8 : p.h.payload_bytes;
        ASSERT_EQ(p.message_bytes, bytes);
        ASSERT_EQ(p.ends_message, qp.message == MessageKind::kNone);
        ASSERT_EQ(qp.msn, (before.msn + (p.ends_message ? 1 : 0)) & 0xffffff);
        ASSERT_EQ(p.answer_msn, qp.msn);
        ASSERT_EQ(qp.expected_psn, p.h.psn + (p.has(kRead) ? packets_of(p.h.length, kTestMtu) : 1));
        ASSERT_FALSE(p.completes && !p.ends_message);
        ASSERT_TRUE(!p.takes_wqe || p.has(kTakesWqe));
        break;
      }
      case Outcome::kAckAgain:
      case Outcome::kReplay:
        ++answered_again;
        ASSERT_LT(distance, 0);
        ASSERT_TRUE(p.acknowledge);
        break;
      case Outcome::kNak:
        ++naks;
        ASSERT_TRUE(p.syndrome == kNakSequence ? distance > 0 : distance == 0 && qp.state == QpState::kError);
        break;
      default:
        ++silent;
        ASSERT_EQ(p.outcome, Outcome::kDrop);
        ASSERT_NE(distance, 0);
    }
    if (p.outcome != Outcome::kExecute) {
      ASSERT_EQ(qp.expected_psn, before.expected_psn);
      ASSERT_EQ(qp.msn, before.msn);
      ASSERT_EQ(qp.message_bytes, before.message_bytes);
      ASSERT_EQ(qp.write_left, before.write_left);
      ASSERT_EQ(qp.message, before.message);
    } else if (p.bad_length) {  // the WQE fetcher refuses it
      fail_qp(p, DropReason::kInvalidRequest, kNakInvalidRequest, WcStatus::kRemoteInvalidRequest);
    } else if (p.takes_wqe && one_in(8)) {
      ++rnrs;
      bytes -= p.h.payload_bytes;
      fail_rnr(p);
      ASSERT_EQ(qp.expected_psn, before.expected_psn);
      ASSERT_EQ(qp.msn, before.msn);
      ASSERT_EQ(qp.message, before.message);
      if (before.message != MessageKind::kNone) {
        ASSERT_EQ(qp.message_bytes, before.message_bytes);
      }
    }
    if (qp.state != QpState::kError) expect_consistent();
    if (HasFatalFailure()) FAIL() << "round " << round << ", " << opcode_name(p.h.opcode) << " PSN " << p.h.psn.value;
    packets.clear();
  }
  // The test covered enough packets.
  EXPECT_GT(executed, 100'000u);
  for (const std::uint64_t n : {answered_again, naks, errors, rnrs, silent}) EXPECT_GT(n, 500u);
}

// Packets are in flight when one of them fails: those before it count, those behind it change nothing.
TEST_F(RandomResponder, AnRnrNakInFlightPutsTheQpBackToBefore) {
  std::deque<QpContext> before;
  std::uint64_t taken_back = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::uint32_t in_flight = 1 + below(12);
    before.clear();
    packets.clear();
    for (std::uint32_t i = 0; i < in_flight && qp.state != QpState::kError; ++i) {
      before.push_back(qp);
      check(next_spec());
    }
    const std::uint32_t n = below(static_cast<std::uint32_t>(packets.size()));
    CheckedPacket& p = *packets[n];
    if (p.outcome == Outcome::kExecute && p.takes_wqe) {
      ++taken_back;
      fail_rnr(p);
      ASSERT_EQ(qp.expected_psn, before[n].expected_psn);
      ASSERT_EQ(qp.msn, before[n].msn);
      ASSERT_EQ(qp.message, before[n].message);
      ASSERT_EQ(qp.state, QpState::kRts);
      for (std::size_t i = n + 1; i < packets.size(); ++i) ASSERT_TRUE(is_squashed(*packets[i]));
    }
    if (qp.state == QpState::kError) restart();
  }
  EXPECT_GT(taken_back, 1000u);
}

}  // namespace
}  // namespace rxnic::responder_property_test
