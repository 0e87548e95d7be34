// SPDX-License-Identifier: Apache-2.0
// Rules R1..R5 of model/core/completion/cqe_format.h and R2..R4 of model/types/completion.h.
#include "model/core/completion/cqe_format.h"

#include <gtest/gtest.h>

#include <cstring>

#include "model/nic/nic_shared.h"
#include "testbench/unit/request_packets.h"

namespace rxnic::cqe_format_test {
namespace {

struct Received {
  explicit Received(Transport transport, Operation operation = Operation::kSendOnly,
                    Encapsulation encapsulation = Encapsulation::kRoceV2Ipv4) {
    Headers h = request_headers(encapsulation, transport, operation, Psn{1});
    h.immediate = 0xabcd1234;
    NicShared shared{PacketPool::Quotas{}};
    QpContext& qp = place_qp(shared, test_qp(transport));
    p = accept_packet(shared, qp, place_frame(shared, h, counting_bytes(64)));
    p.wqe_index = 12;
    p.byte_count = 64;
  }
  Cqe cqe(std::uint32_t srq_plus_1 = 0) const { return make_cqe(p, srq_plus_1, Cycle{77}); }
  CompletionRequest p;
};

template <class T>
T entry_at(const std::vector<std::uint8_t>& ring, std::size_t at) {
  T entry;
  std::memcpy(&entry, ring.data() + at, sizeof entry);
  return entry;
}

TEST(CqeFormat, AReceiveSaysWhatWasReceived) {
  Received r(Transport::kRc);
  const Cqe cqe = r.cqe();
  EXPECT_EQ(cqe.qp_number, raw(kTestQpn));
  EXPECT_EQ(cqe.wqe_index, 12u);
  EXPECT_EQ(cqe.byte_count, 64u);
  EXPECT_EQ(cqe.opcode, CqeOpcode::kReceive);
  EXPECT_EQ(cqe.status, WcStatus::kSuccess);
  EXPECT_EQ(cqe.timestamp, 77u);
  EXPECT_EQ(cqe.flags, 0);
  EXPECT_EQ(cqe.format, CqeFormat::kPlain);
}

TEST(CqeFormat, ImmediateAndInvalidatedKeyAreReported) {
  const Cqe imm = Received(Transport::kRc, Operation::kSendOnlyImm).cqe();
  EXPECT_EQ(imm.flags, kCqeImmediate);
  EXPECT_EQ(imm.immediate_or_rkey, 0xabcd1234u);
  const Cqe inv = Received(Transport::kRc, Operation::kSendOnlyInv).cqe();
  EXPECT_EQ(inv.flags, kCqeInvalidated);
  EXPECT_EQ(inv.immediate_or_rkey, 0xabcd1234u);
}

TEST(CqeFormat, UdReportsItsSourceAndItsGrh) {
  for (const Encapsulation e : {Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6, Encapsulation::kRoceV1,
                                Encapsulation::kIbGlobal, Encapsulation::kIbLocal}) {
    const Cqe cqe = Received(Transport::kUd, Operation::kSendOnly, e).cqe();
    EXPECT_EQ((cqe.flags & kCqeGrh) != 0, e != Encapsulation::kIbLocal);
    EXPECT_EQ(cqe.source_qp, 0x77u);
    if (e == Encapsulation::kIbLocal) {
      EXPECT_EQ(cqe.source_lid, 5);
      EXPECT_EQ(cqe.service_level, 3);
    }
  }
}

TEST(CqeFormat, OnlyFourFieldsAreValidOnAnError) {
  Received r(Transport::kRc, Operation::kSendOnlyImm);
  r.p.solicited = true;
  r.p.status = WcStatus::kLocalLength;
  r.p.drop_reason = DropReason::kMessageTooLong;
  Cqe expected;
  expected.qp_number = raw(kTestQpn);
  expected.wqe_index = 12;
  expected.status = WcStatus::kLocalLength;
  expected.vendor_error = static_cast<std::uint8_t>(DropReason::kMessageTooLong);
  expected.timestamp = 77;
  const Cqe cqe = r.cqe();
  EXPECT_EQ(std::memcmp(&cqe, &expected, sizeof cqe), 0);
}

TEST(CqeFormat, AnSrqIsNamedAlsoOnAnError) {
  Received r(Transport::kRc);
  EXPECT_EQ(r.cqe(6).srq_number, 5u);
  EXPECT_EQ(r.cqe(6).flags, kCqeSrq);
  r.p.status = WcStatus::kFlushed;
  EXPECT_EQ(r.cqe(6).flags, kCqeSrq);
}

TEST(CqeFormat, AFlushedWqeWithoutContextNamesItsQp) {
  CompletionRequest p;
  p.role = PacketRole::kFlush;
  p.status = WcStatus::kFlushed;
  p.qpn = Qpn{0x99};
  EXPECT_EQ(make_cqe(p, 0, Cycle{1}).qp_number, 0x99u);
}

TEST(CqeFormat, TagMatchingFieldsAreThere) {
  Received r(Transport::kRc);
  r.p.cqe_opcode = CqeOpcode::kTagReceive;
  r.p.cqe_flags = kCqeTagMatch | kCqeTagDataValid;
  r.p.tag = 0x123456789;
  r.p.tag_context = 42;
  const Cqe cqe = r.cqe();
  EXPECT_EQ(cqe.opcode, CqeOpcode::kTagReceive);
  EXPECT_EQ(cqe.flags, kCqeTagMatch | kCqeTagDataValid);
  EXPECT_EQ(cqe.tag, 0x123456789u);
  EXPECT_EQ(cqe.tag_context, 42u);
}

TEST(CqeFormat, TheOwnerBitTurnsWithEachRound) {
  EXPECT_EQ(owner_bit(0, 8), 0);
  EXPECT_EQ(owner_bit(7, 8), 0);
  EXPECT_EQ(owner_bit(8, 8), 1);
  EXPECT_EQ(owner_bit(15, 8), 1);
  EXPECT_EQ(owner_bit(16, 8), 0);
  EXPECT_EQ(owner_bit(0xffffffff, 8), 1);  // and 0 in the next round: the index wraps unseen
}

TEST(CqeFormat, TheOwnerIsTheLastByteOfItsSlot) {
  std::vector<std::uint8_t> slot(128, 0xee);
  write_slot(Cqe{}, 8, 8, 64, slot.data());
  EXPECT_EQ(slot[63], 1);
  EXPECT_EQ(slot[64], 0xee);
  write_slot(Cqe{}, 0, 8, 64, slot.data());
  EXPECT_EQ(slot[63], 0);
}

TEST(CqeFormat, A128ByteSlotHasItsCqeInTheSecondHalf) {
  std::vector<std::uint8_t> slot(128, 0xee);
  Cqe cqe;
  cqe.qp_number = 0x1234;
  write_slot(cqe, 0, 8, 128, slot.data());
  EXPECT_EQ(entry_at<Cqe>(slot, 64).qp_number, 0x1234u);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(slot[i], 0);
}

TEST(CqeFormat, ABlockNeverTakesMoreSlotsThanPlainCqes) {
  EXPECT_EQ(block_slots(1), 1u);
  EXPECT_EQ(block_slots(2), 2u);
  EXPECT_EQ(block_slots(7), 2u);
  EXPECT_EQ(block_slots(8), 3u);
  EXPECT_EQ(block_slots(64), 11u);
  for (std::uint32_t n = 1; n <= kMaxSession; ++n) EXPECT_LE(block_slots(n), n);
}

TEST(CompressionSession, JoinsWhatDiffersInLengthWqeAndTimeOnly) {
  Received r(Transport::kRc);
  CompressionSession session;
  session.add(r.cqe());
  Cqe next = r.cqe();
  next.byte_count = 1;
  next.wqe_index = 2;
  next.timestamp = 3;
  EXPECT_TRUE(session.joins(next));
  const auto differs = [&](auto change) {
    Cqe other = next;
    change(other);
    return !session.joins(other);
  };
  EXPECT_TRUE(differs([](Cqe& c) { c.qp_number = 1; }));
  EXPECT_TRUE(differs([](Cqe& c) { c.srq_number = 1; }));
  EXPECT_TRUE(differs([](Cqe& c) { c.immediate_or_rkey = 1; }));
  EXPECT_TRUE(differs([](Cqe& c) { c.flags = kCqeSolicited; }));
  EXPECT_TRUE(differs([](Cqe& c) { c.opcode = CqeOpcode::kTagReceive; }));
  EXPECT_TRUE(differs([](Cqe& c) { c.source_qp = 1; }));
  EXPECT_TRUE(differs([](Cqe& c) { c.tag = 1; }));
}

TEST(CompressionSession, AnErrorJoinsNothing) {
  CompressionSession session;
  Cqe error;
  error.status = WcStatus::kFlushed;
  session.add(error);
  EXPECT_FALSE(session.joins(error));
}

TEST(CompressionSession, OneCompletionIsAPlainCqe) {
  Received r(Transport::kRc);
  CompressionSession session;
  session.add(r.cqe());
  std::vector<std::uint8_t> ring(64);
  session.write(0, 16, 64, ring.data());
  const Cqe cqe = entry_at<Cqe>(ring, 0);
  EXPECT_EQ(cqe.format, CqeFormat::kPlain);
  EXPECT_EQ(cqe.byte_count, 64u);
  EXPECT_EQ(cqe.owner, 0);
}

TEST(CompressionSession, TheTitleIsFollowedByAllCompletions) {
  Received r(Transport::kRc);
  for (std::uint32_t n = 2; n <= kMaxSession; ++n) {
    CompressionSession session;
    for (std::uint32_t i = 0; i < n; ++i) {
      r.p.byte_count = 100 + i;
      r.p.wqe_index = 200 + i;
      session.add(r.cqe());
    }
    std::vector<std::uint8_t> ring(block_slots(n) * 64);
    session.write(13, 16, 64, ring.data());  // passes the ring's end
    const Cqe title = entry_at<Cqe>(ring, 0);
    ASSERT_EQ(title.format, CqeFormat::kTitle);
    ASSERT_EQ(title.mini_count, n);
    ASSERT_EQ(title.owner, 0);
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto slot = entry_at<MiniCqeSlot>(ring, 64 * (1 + i / kMiniCqesPerSlot));
      ASSERT_EQ(slot.format, CqeFormat::kMini);
      ASSERT_EQ(slot.owner, owner_bit(14 + i / kMiniCqesPerSlot, 16));
      ASSERT_EQ(slot.mini[i % kMiniCqesPerSlot].byte_count, 100 + i);
      ASSERT_EQ(slot.mini[i % kMiniCqesPerSlot].wqe_index, 200 + i);
    }
  }
}

}  // namespace
}  // namespace rxnic::cqe_format_test
