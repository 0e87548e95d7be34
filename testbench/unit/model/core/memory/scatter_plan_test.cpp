// SPDX-License-Identifier: Apache-2.0
// Rules R1..R7 of model/core/memory/scatter_plan.h.
#include "model/core/memory/scatter_plan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "model/core/responder/refusal.h"
#include "model/nic/nic_shared.h"
#include "testbench/unit/reports.h"
#include "testbench/unit/request_packets.h"

namespace rxnic::scatter_plan_test {
namespace {

using Written = std::map<std::uint64_t, std::uint8_t>;  // by virtual address

// A packet under test with its QP, WQE and cursor.
struct Scene {
  explicit Scene(Transport transport, Operation operation = Operation::kSendOnly, std::size_t payload_bytes = 100,
                 Encapsulation encapsulation = Encapsulation::kRoceV2Ipv4)
      : qp(place_qp(shared, test_qp(transport))) {
    next(operation, payload_bytes, encapsulation);
  }
  void next(Operation operation, std::size_t payload_bytes, Encapsulation e = Encapsulation::kRoceV2Ipv4) {
    payload = counting_bytes(payload_bytes);
    p = accept_packet(shared, qp, place_frame(shared, request_headers(e, qp.transport, operation, Psn{1}), payload));
    if (p.has(kSend)) p.wqe_slot = 0;
  }
  Packet& buffer() { return shared.packets[p.buffer]; }
  ScatterWork plan() {
    p.wqe_bytes = static_cast<std::uint32_t>(wqe.total_bytes);
    return plan_scatter(p, wqe.sge.data(), &cursor, refused, pieces);
  }
  ScatterWork plan_without_wqe() { return plan_scatter(p, nullptr, nullptr, refused, pieces); }

  const std::uint8_t* data(std::uint32_t piece) { return area_of(buffer(), pieces[piece].area) + pieces[piece].offset; }
  const std::uint8_t* network_header() { return buffer().frame.data() + p.network_offset; }
  // The bytes that the pieces write. Expects that each is written once and that no piece crosses a page.
  void write_to(Written& memory) {
    for (std::uint32_t n = 0; n < pieces.size(); ++n) {
      const Piece& piece = pieces[n];
      ASSERT_GT(piece.bytes, 0u);
      ASSERT_EQ(piece.va / kScatterPageBytes, (piece.va + piece.bytes - 1) / kScatterPageBytes);
      for (std::uint32_t i = 0; i < piece.bytes; ++i) {
        ASSERT_TRUE(memory.emplace(piece.va + i, data(n)[i]).second) << "written twice";
      }
    }
  }

  NicShared shared{PacketPool::Quotas{}};
  QpContext& qp;
  ScatterJob p;
  std::vector<std::uint8_t> payload;
  ReceiveWqe wqe = wqe_of({8192});
  ScatterCursor cursor;
  Refusals refused;
  PieceList pieces;
};

std::vector<std::uint8_t> bytes_in(const Written& memory) {
  std::vector<std::uint8_t> bytes;
  for (const auto& [va, byte] : memory) bytes.push_back(byte);
  return bytes;
}

TEST(ScatterPlan, ASendGoesToTheFirstBytesOfItsWqe) {
  Scene s(Transport::kRc);
  const ScatterWork work = s.plan();
  ASSERT_EQ(s.pieces.size(), 1u);
  EXPECT_EQ(s.pieces[0].va, s.wqe.sge[0].address);
  EXPECT_EQ(s.pieces[0].bytes, 100u);
  EXPECT_EQ(s.pieces[0].key, Key{0x100});
  EXPECT_EQ(std::memcmp(s.data(0), s.payload.data(), 100), 0);
  EXPECT_EQ(s.p.byte_count, 100u);
  EXPECT_EQ(work.bytes, 100u);
  EXPECT_EQ(work.elements, 1u);
}

TEST(ScatterPlan, EveryNumberOfElementsIsFilledInOrder) {
  for (std::uint32_t n = 1; n <= kMaxSge; ++n) {
    Scene s(Transport::kRc, Operation::kSendOnly, 1024);
    std::vector<std::uint32_t> lengths(n, 1024 / n);
    lengths.back() += 1024 % n;
    s.wqe = wqe_of(lengths);
    EXPECT_EQ(s.plan().elements, n);
    ASSERT_EQ(s.pieces.size(), n);
    Written memory;
    s.write_to(memory);
    EXPECT_EQ(bytes_in(memory), s.payload);
    for (std::uint32_t i = 0; i < n; ++i) EXPECT_EQ(s.pieces[i].key, Key{(i + 1) << 8});
  }
}

TEST(ScatterPlan, EverySplitAroundAPageIsTwoSegments) {
  for (std::uint32_t before = 0; before <= 4100; ++before) {
    Scene s(Transport::kRc, Operation::kSendOnly, 4096);
    s.qp.mtu = 4096;
    s.wqe = wqe_of({8192}, 0x100000 + 8192 - before);
    s.plan();
    Written memory;
    ASSERT_NO_FATAL_FAILURE(s.write_to(memory)) << before;
    ASSERT_EQ(bytes_in(memory), s.payload) << before;
    ASSERT_EQ(s.pieces.size(), before % 4096 == 0 ? 1 : 2) << before;
  }
}

TEST(ScatterPlan, ElementsThatMeetAtAnyOffsetOfAPageLoseNothing) {
  for (std::uint32_t first = 4000; first <= 4200; ++first) {
    for (const std::uint32_t payload : {4095u, 4096u}) {
      Scene s(Transport::kRc, Operation::kSendOnly, payload);
      s.wqe = wqe_of({first, 1, 5000}, 0x100000 + 17);
      s.plan();
      Written memory;
      ASSERT_NO_FATAL_FAILURE(s.write_to(memory)) << first;
      ASSERT_EQ(bytes_in(memory), s.payload) << first;
    }
  }
}

// The most pieces that a packet can have: every element lies across a page, and the GRH area ends within one.
TEST(ScatterPlan, EveryElementOfTheLongestListMayLieAcrossAPage) {
  Scene s(Transport::kUd, Operation::kSendOnly, 4096);
  s.wqe = wqe_of(std::vector<std::uint32_t>(kMaxSge, 4136 / kMaxSge + 1), 0x100000 + 4096 - 65);
  EXPECT_EQ(s.plan().elements, kMaxSge);
  EXPECT_EQ(s.pieces.size(), 2 * kMaxSge + 1);
  EXPECT_LE(s.pieces.size(), kMaxPieces);
  Written memory;
  ASSERT_NO_FATAL_FAILURE(s.write_to(memory));
  const std::vector<std::uint8_t> bytes = bytes_in(memory);
  ASSERT_EQ(bytes.size(), 4136u);
  EXPECT_EQ(std::memcmp(&bytes[40], s.payload.data(), 4096), 0);
}

TEST(ScatterPlan, EmptyElementsArePassedOver) {
  Scene s(Transport::kRc, Operation::kSendOnly, 30);
  s.wqe = wqe_of({0, 10, 0, 0, 20, 0});
  EXPECT_EQ(s.plan().elements, 5u);
  ASSERT_EQ(s.pieces.size(), 2u);
  EXPECT_EQ(s.pieces[0].key, Key{0x200});
  EXPECT_EQ(s.pieces[1].key, Key{0x500});
}

TEST(ScatterPlan, AMessageGoesOnWhereItsLastPacketEnded) {
  Scene s(Transport::kRc, Operation::kSendFirst, 1024);
  s.wqe = wqe_of({1000, 1000, 1000});
  Written memory;
  std::vector<std::uint8_t> sent;
  const auto put = [&] {
    s.plan();
    sent.insert(sent.end(), s.payload.begin(), s.payload.end());
    s.write_to(memory);
  };
  put();
  EXPECT_EQ(s.p.byte_count, 0u);
  s.next(Operation::kSendMiddle, 1024);
  put();
  s.next(Operation::kSendLast, 700);
  put();
  EXPECT_EQ(bytes_in(memory), sent);
  EXPECT_EQ(s.p.byte_count, 2748u);
}

TEST(ScatterPlan, ANewMessageStartsFromTheBeginning) {
  Scene s(Transport::kRc, Operation::kSendFirst, 1024);
  s.plan();
  s.next(Operation::kSendOnly, 10);
  s.plan();
  EXPECT_EQ(s.pieces[0].va, s.wqe.sge[0].address);
  EXPECT_EQ(s.p.byte_count, 10u);
}

TEST(ScatterPlan, AMessageThatBeginsInTheMiddleStartsFromTheBeginning) {  // a resynchronised capture
  Scene s(Transport::kRc, Operation::kSendOnly, 10);
  s.plan();
  s.next(Operation::kSendLast, 10);
  s.p.takes_wqe = true;
  s.plan();
  EXPECT_EQ(s.pieces[0].va, s.wqe.sge[0].address);
}

TEST(ScatterPlan, UdOverIpv4HasTheIpv4HeaderAtByte20) {
  Scene s(Transport::kUd);
  s.plan();
  Written memory;
  s.write_to(memory);
  const std::vector<std::uint8_t> bytes = bytes_in(memory);
  ASSERT_EQ(bytes.size(), 140u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(bytes[static_cast<std::size_t>(i)], 0);
  EXPECT_EQ(std::memcmp(&bytes[20], s.network_header(), 20), 0);
  EXPECT_EQ(bytes[20], 0x45);
  EXPECT_EQ(std::memcmp(&bytes[40], s.payload.data(), 100), 0);
  EXPECT_EQ(s.p.byte_count, 140u);
}

TEST(ScatterPlan, UdOverIpv6AndGrhHasThe40Bytes) {
  for (const Encapsulation e : {Encapsulation::kRoceV2Ipv6, Encapsulation::kRoceV1, Encapsulation::kIbGlobal}) {
    Scene s(Transport::kUd, Operation::kSendOnly, 100, e);
    s.plan();
    Written memory;
    s.write_to(memory);
    const std::vector<std::uint8_t> bytes = bytes_in(memory);
    ASSERT_EQ(bytes.size(), 140u);
    EXPECT_EQ(std::memcmp(bytes.data(), s.network_header(), 40), 0);
    EXPECT_EQ(bytes[0] >> 4, 6);
    EXPECT_EQ(std::memcmp(&bytes[40], s.payload.data(), 100), 0);
    EXPECT_EQ(s.p.byte_count, 140u);
  }
}

TEST(ScatterPlan, UdWithoutAGrhLeaves40BytesAlone) {
  Scene s(Transport::kUd, Operation::kSendOnly, 100, Encapsulation::kIbLocal);
  s.wqe = wqe_of({16, 8000});
  s.plan();
  ASSERT_EQ(s.pieces.size(), 1u);
  EXPECT_EQ(s.pieces[0].va, s.wqe.sge[1].address + 24);
  EXPECT_EQ(s.p.byte_count, 140u);
}

TEST(ScatterPlan, TheGrhAreaMayLieInElementsOfAnyLength) {
  for (std::uint32_t first = 1; first <= 60; ++first) {
    Scene s(Transport::kUd);
    s.wqe = wqe_of({first, first, 200});
    s.plan();
    Written memory;
    s.write_to(memory);
    const std::vector<std::uint8_t> bytes = bytes_in(memory);
    ASSERT_EQ(bytes.size(), 140u);
    EXPECT_EQ(std::memcmp(&bytes[20], s.network_header(), 20), 0);
    EXPECT_EQ(std::memcmp(&bytes[40], s.payload.data(), 100), 0);
  }
}

TEST(ScatterPlan, TheTagMatchingHeaderIsStripped) {
  Scene s(Transport::kRc, Operation::kSendFirst, 1024);
  s.p.strip_bytes = 16;
  s.plan();
  EXPECT_EQ(s.pieces[0].bytes, 1008u);
  EXPECT_EQ(std::memcmp(s.data(0), s.payload.data() + 16, 1008), 0);
  s.next(Operation::kSendLast, 100);
  s.plan();
  EXPECT_EQ(s.pieces[0].va, s.wqe.sge[0].address + 1008);
  EXPECT_EQ(s.p.byte_count, 1108u);
}

TEST(ScatterPlan, AWriteGoesToItsRange) {
  Scene s(Transport::kRc, Operation::kWriteLastImm, 300);
  s.p.local_va = 0x7000 - 100;
  s.p.local_key = Key{0x4242};
  s.p.message_bytes = 5000;
  s.plan_without_wqe();
  ASSERT_EQ(s.pieces.size(), 2u);
  EXPECT_EQ(s.pieces[0].bytes, 100u);
  EXPECT_EQ(s.pieces[1].va, 0x7000u);
  EXPECT_EQ(s.pieces[1].bytes, 200u);
  EXPECT_EQ(s.pieces[1].key, Key{0x4242});
  EXPECT_EQ(s.p.byte_count, 5000u);
}

TEST(ScatterPlan, AnAnswersDataGoesToTheRequestersBuffer) {
  Scene s(Transport::kRc, Operation::kReadResponseMiddle, 1024);
  s.p.outcome = Outcome::kAnswer;
  s.p.local_va = 0x9000;
  s.p.local_key = Key{0x500};
  s.p.local_bytes = 1024;
  s.plan_without_wqe();
  ASSERT_EQ(s.pieces.size(), 1u);
  EXPECT_EQ(s.pieces[0].va, 0x9000u);
  EXPECT_EQ(std::memcmp(s.data(0), s.payload.data(), 1024), 0);
}

TEST(ScatterPlan, AnAtomicAnswerIsEightBytesInHostOrder) {
  Scene s(Transport::kRc, Operation::kAtomicAck, 0);
  s.p.outcome = Outcome::kAnswer;
  const std::uint64_t original = 0x1122334455667788;
  std::memcpy(s.buffer().scratch.data(), &original, sizeof original);
  s.p.local_va = 0x9000;
  s.p.local_bytes = 8;
  s.plan_without_wqe();
  ASSERT_EQ(s.pieces.size(), 1u);
  ASSERT_EQ(s.pieces[0].bytes, 8u);
  std::uint64_t value = 0;
  std::memcpy(&value, s.data(0), 8);
  EXPECT_EQ(value, 0x1122334455667788u);
}

TEST(ScatterPlan, AnAnswerWithoutABufferWritesNothing) {
  Scene s(Transport::kRc, Operation::kReadResponseOnly, 64);
  s.p.outcome = Outcome::kAnswer;
  s.plan_without_wqe();
  EXPECT_EQ(s.pieces.size(), 0u);
}

TEST(ScatterPlan, AMessageAsLongAsItsWqeFits) {
  for (const Transport t : {Transport::kRc, Transport::kUc, Transport::kUd, Transport::kXrc}) {
    Scene s(t);
    s.wqe = wqe_of({50, t == Transport::kUd ? 90u : 50u});
    s.plan();
    EXPECT_EQ(s.p.outcome, Outcome::kExecute);
    EXPECT_EQ(s.p.status, WcStatus::kSuccess);
    EXPECT_EQ(s.p.byte_count, s.wqe.total_bytes);
  }
}

TEST(ScatterPlan, OneByteMoreThanTheWqeFailsAReliableQp) {
  for (const Transport t : {Transport::kRc, Transport::kXrc}) {
    Scene s(t);
    s.wqe = wqe_of({50, 49});
    s.plan();
    EXPECT_EQ(s.p.outcome, Outcome::kNak);
    EXPECT_EQ(s.p.syndrome, 0x61);
    EXPECT_TRUE(s.p.acknowledge);
    EXPECT_TRUE(s.p.completes);
    EXPECT_EQ(s.p.status, WcStatus::kLocalLength);
    EXPECT_EQ(s.p.drop_reason, DropReason::kMessageTooLong);
    EXPECT_EQ(s.pieces.size(), 0u);
    EXPECT_TRUE(s.p.fails_qp);
  }
}

TEST(ScatterPlan, OneByteMoreThanTheWqeGivesAnUnreliableMessageUp) {
  for (const Transport t : {Transport::kUc, Transport::kUd}) {
    Scene s(t);
    s.wqe = wqe_of({t == Transport::kUd ? 139u : 99u});
    s.plan();
    EXPECT_EQ(s.p.outcome, Outcome::kDrop);
    EXPECT_FALSE(s.p.acknowledge);
    EXPECT_TRUE(s.p.completes);
    EXPECT_EQ(s.p.status, WcStatus::kLocalLength);
    EXPECT_EQ(s.pieces.size(), 0u);
    EXPECT_FALSE(s.p.fails_qp);
    Reports reports;
    s.refused.report(reports, Cycle{});
    EXPECT_TRUE(reports.all.empty()) << "the QP stays as it is";
  }
}

TEST(ScatterPlan, TheRestOfAUcMessageThatIsTooLongIsSquashed) {
  Scene s(Transport::kUc, Operation::kSendFirst, 1024);
  s.wqe = wqe_of({1023});
  s.plan();
  s.next(Operation::kSendLast, 10);
  EXPECT_TRUE(s.refused.refuses(s.p));
  s.next(Operation::kSendOnly, 10);
  EXPECT_FALSE(s.refused.refuses(s.p));
}

TEST(ScatterPlan, ThePacketThatGoesBeyondTheWqeIsTheOneThatFails) {
  Scene s(Transport::kRc, Operation::kSendFirst, 1024);
  s.wqe = wqe_of({2047});
  s.plan();
  EXPECT_EQ(s.p.outcome, Outcome::kExecute);
  s.next(Operation::kSendLast, 1024);
  s.plan();
  EXPECT_EQ(s.p.outcome, Outcome::kNak);
}

TEST(ScatterPlan, AMessageWhoseEndWasNeverSeenHasWhatCame) {
  Scene s(Transport::kRc, Operation::kSendFirst, 1024);
  s.plan();
  ScatterJob internal;  // which has no buffer
  internal.role = PacketRole::kTruncated;
  internal.line = s.qp.line;
  plan_scatter(internal, s.wqe.sge.data(), &s.cursor, s.refused, s.pieces);
  EXPECT_EQ(internal.byte_count, 1024u);
  EXPECT_EQ(s.pieces.size(), 0u);
}

TEST(ScatterPlan, ALookFindsAPieceOrPassesAnElementOver) {  // R7
  struct Case {
    Encapsulation encapsulation;
    std::uint32_t payload;
    std::vector<std::uint32_t> lengths;
    std::vector<std::uint32_t> elements;  // looked at
    std::vector<std::uint32_t> looks;     // that found a piece
  };
  constexpr Encapsulation kNoHeader = Encapsulation::kIbLocal, kHeader = Encapsulation::kRoceV2Ipv4;
  const std::vector<Case> cases{
      {kHeader, 100, {200}, {0, 0}, {0, 1}},
      {kHeader, 100, {40, 0, 100}, {0, 1, 2}, {0, 2}},
      {kHeader, 0, {200}, {0}, {0}},
      {kNoHeader, 100, {200}, {0}, {0}},
      {kNoHeader, 100, {40, 100}, {0, 1}, {1}},
      {kNoHeader, 100, {39, 0, 101}, {0, 1, 2}, {2}},
      {kNoHeader, 0, {200}, {0}, {}},
      {kNoHeader, 0, {40}, {0}, {}},
      {kNoHeader, 0, {30, 30}, {0, 1}, {}},
  };
  for (std::size_t n = 0; n < cases.size(); ++n) {
    const Case& c = cases[n];
    Scene s(Transport::kUd, Operation::kSendOnly, c.payload, c.encapsulation);
    s.wqe = wqe_of(c.lengths);
    const ScatterWork work = s.plan();
    EXPECT_TRUE(work.reads_list);
    ASSERT_EQ(work.looks, c.elements.size()) << n;
    for (std::uint32_t look = 0; look < work.looks; ++look) EXPECT_EQ(s.pieces.element(look), c.elements[look]) << n;
    ASSERT_EQ(s.pieces.size(), c.looks.size()) << n;
    for (std::uint32_t i = 0; i < s.pieces.size(); ++i) EXPECT_EQ(s.pieces[i].look, c.looks[i]) << n;
  }
  Scene empty(Transport::kRc, Operation::kSendOnly, 0);
  const ScatterWork work = empty.plan();
  EXPECT_EQ(work.looks, 1u);
  EXPECT_FALSE(work.reads_list);
}

TEST(ScatterPlan, FailedPacketsHaveNoSegments) {
  for (const Outcome o : {Outcome::kNak, Outcome::kDrop, Outcome::kAckAgain, Outcome::kReplay}) {
    Scene s(Transport::kRc);
    s.p.outcome = o;
    s.plan();
    EXPECT_EQ(s.pieces.size(), 0u);
  }
}

TEST(ScatterPlan, RandomListsReceiveRandomMessages) {
  const char* text = std::getenv("RXNIC_SEED");
  const std::uint64_t seed = text == nullptr ? 5 : std::strtoull(text, nullptr, 0);
  std::cout << "RXNIC_SEED=" << seed << '\n';
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int round = 0; round < 500; ++round) {
    Scene s(Transport::kRc, Operation::kSendFirst, 4096);
    std::vector<std::uint32_t> lengths(1 + below(kMaxSge));
    for (auto& length : lengths) length = below(4) == 0 ? below(3) : below(5000);
    s.wqe = wqe_of(lengths, 0x100000 + below(4096));
    Written memory;
    std::vector<std::uint8_t> sent;
    for (int packet = 0;; ++packet) {
      if (packet > 0) s.next(Operation::kSendMiddle, 4096);
      s.plan();
      if (s.p.outcome != Outcome::kExecute) break;
      sent.insert(sent.end(), s.payload.begin(), s.payload.end());
      ASSERT_NO_FATAL_FAILURE(s.write_to(memory));
    }
    ASSERT_EQ(bytes_in(memory), sent);
    ASSERT_GT(sent.size() + 4096, s.wqe.total_bytes);
    ASSERT_LE(sent.size(), s.wqe.total_bytes);
  }
}

}  // namespace
}  // namespace rxnic::scatter_plan_test
