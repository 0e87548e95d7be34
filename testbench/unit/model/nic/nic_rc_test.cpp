// SPDX-License-Identifier: Apache-2.0
// RC and XRC through the whole NIC, without errors: SEND, WRITE, READ, atomics, their duplicates, their responses.
#include "testbench/unit/model/nic/nic_fixture.h"

namespace rxnic::nic_rc_test {
namespace {

constexpr std::uint32_t kSizes[] = {0, 1, kMtu - 1, kMtu, kMtu + 1, 3 * kMtu + 5};

std::uint32_t packets_of(std::uint32_t bytes) { return bytes == 0 ? 1 : (bytes + kMtu - 1) / kMtu; }

class NicReliable : public ReliableTest {};
INSTANTIATE_TEST_SUITE_P(Transports, NicReliable, testing::Values(Transport::kRc, Transport::kXrc), transport_name);

TEST_P(NicReliable, SendsOfAllSizesArriveInTheirBuffers) {
  make(6, 4000);
  std::uint32_t psn = kFirstPsn;
  for (std::uint32_t i = 0; i < 6; ++i) {
    expect_written(buffer[i].address, message(false, {.psn = psn, .bytes = kSizes[i]}));
    psn += packets_of(kSizes[i]);
  }
  run();
  expect_answers(6);
  psn = kFirstPsn - 1;
  for (std::uint32_t i = 0; i < 6; ++i) {
    expect_receive(i, kQpn, i, kSizes[i]);
    EXPECT_EQ(cqes[i].cq, xrc() ? kSrqCq : kRecvCq);
    EXPECT_EQ((cqes[i].cqe.flags & kCqeSrq) != 0, xrc());
    EXPECT_EQ(cqes[i].cqe.srq_number, xrc() ? kSrqn : 0u);
    EXPECT_EQ(cqes[i].cqe.opcode, CqeOpcode::kReceive);
    expect_ack(i, psn += packets_of(kSizes[i]), i + 1);
    EXPECT_EQ(answers[i].h.destination_qp, q->remote_qpn);
    EXPECT_EQ(opcode_info(answers[i].h.opcode).transport, GetParam());
  }
  EXPECT_EQ(cqes.size(), 6u);
  EXPECT_EQ(ledger().dropped_total(), 0u);
}

TEST_P(NicReliable, WritesOfAllSizesChangeMemoryAndCompleteNothing) {
  make();
  std::uint32_t psn = kFirstPsn;
  std::uint32_t msn = 0;
  for (const std::uint32_t bytes : kSizes) {
    const Region r = region(std::max(bytes, 1u), {kAllRights, kPd, 3001});
    expect_written(r.va, message(true, {.psn = psn, .bytes = bytes, .va = r.va, .rkey = r.key}));
    psn += packets_of(bytes);
  }
  run();
  expect_answers(6);
  psn = kFirstPsn - 1;
  for (const std::uint32_t bytes : kSizes) {
    expect_ack(msn, psn += packets_of(bytes), msn + 1);
    ++msn;
  }
  EXPECT_TRUE(cqes.empty());
}

TEST_P(NicReliable, ReadsOfAllSizesReturnMemory) {
  make();
  std::uint32_t psn = kFirstPsn;
  std::vector<Region> regions;
  for (const std::uint32_t bytes : kSizes) {
    regions.push_back(region(std::max(bytes, 1u), {kRemoteRead, kPd, 3777}));
    send({.op = Operation::kReadRequest,
          .psn = psn,
          .va = regions.back().va,
          .rkey = regions.back().key,
          .length = bytes});
    psn += packets_of(bytes);
  }
  run();
  std::size_t n = 0;
  psn = kFirstPsn;
  for (std::uint32_t i = 0; i < 6; ++i) {
    const std::uint32_t packets = packets_of(kSizes[i]);
    ByteVector got;
    for (std::uint32_t k = 0; k < packets; ++k, ++n, ++psn) {
      ASSERT_GT(answers.size(), n);
      const Answer& a = answers[n];
      EXPECT_TRUE(a.is(packets == 1       ? Operation::kReadResponseOnly
                       : k == 0           ? Operation::kReadResponseFirst
                       : k + 1 == packets ? Operation::kReadResponseLast
                                          : Operation::kReadResponseMiddle))
          << opcode_name(a.h.opcode);
      EXPECT_EQ(a.h.psn.value, psn);
      if (k == 0 || k + 1 == packets) {
        EXPECT_EQ(a.h.msn, i + 1);
        EXPECT_EQ(a.h.syndrome, kAckUnlimited);
      }
      EXPECT_EQ(a.payload.size(), k + 1 == packets ? kSizes[i] - k * kMtu : kMtu);
      got.insert(got.end(), a.payload.begin(), a.payload.end());
    }
    EXPECT_EQ(got, memory(regions[i].va, kSizes[i]));
  }
  EXPECT_EQ(answers.size(), n);
  EXPECT_TRUE(cqes.empty());
}

TEST_P(NicReliable, ReadAfterWriteReturnsWhatWasWritten) {
  make();
  const Region r = region(3000);
  const ByteVector data = message(true, {.psn = 100, .bytes = 3000, .va = r.va, .rkey = r.key});
  send({.op = Operation::kReadRequest, .psn = 103, .va = r.va + 1, .rkey = r.key, .length = 1000});
  expect_written(r.va, data);
  run();
  expect_answers(2);
  EXPECT_EQ(answers[1].payload, ByteVector(data.begin() + 1, data.begin() + 1001));
}

TEST_P(NicReliable, ZeroLengthReadAndWriteSkipTheRkeyCheck) {
  make();
  send({.op = Operation::kWriteOnly, .psn = 100, .va = 1, .rkey = Key{0xdead00}});
  send({.op = Operation::kReadRequest, .psn = 101, .va = 1, .rkey = Key{0xdead00}});
  run();
  expect_answers(2);
  expect_ack(0, 100, 1);
  EXPECT_TRUE(answers[1].is(Operation::kReadResponseOnly));
  EXPECT_EQ(answers[1].h.msn, 2u);
  EXPECT_TRUE(answers[1].payload.empty());
}

TEST_P(NicReliable, AckComesWhenItIsAskedFor) {
  make(4, 100);
  for (std::uint32_t i = 0; i < 4; ++i) {
    expect_written(buffer[i].address, send({.psn = 100 + i, .bytes = 10, .ack = i == 1 || i == 3}));
  }
  run();
  expect_answers(2);
  expect_ack(0, 101, 2);
  expect_ack(1, 103, 4);
  EXPECT_EQ(cqes.size(), 4u);
}

TEST_P(NicReliable, PsnAndMsnWrapAround) {
  make(3, 3000);
  q->expected_psn = Psn{0xffffff};
  q->msn = 0xfffffe;
  expect_written(buffer[0].address, message(false, {.psn = 0xffffff, .bytes = 2 * kMtu}));
  expect_written(buffer[1].address, send({.psn = 1, .bytes = 4}));
  expect_written(buffer[2].address, send({.psn = 2, .bytes = 4}));
  run();
  expect_answers(3);
  expect_ack(0, 0, 0xffffff);
  expect_ack(1, 1, 0);
  expect_ack(2, 2, 1);
}

TEST_P(NicReliable, ImmediateInvalidateAndSolicitedAreInTheCompletion) {
  make(4, 3000);
  const Region one = region(64, {.kind = MemoryKind::kFastRegistered});
  const Region two = region(64, {.kind = MemoryKind::kFastRegistered});
  expect_written(buffer[0].address,
                 send({.op = Operation::kSendOnlyImm, .psn = 100, .bytes = 5, .immediate = 0xabcd1234}));
  expect_written(buffer[1].address,
                 send({.op = Operation::kSendOnlyInv, .psn = 101, .bytes = 6, .immediate = raw(one.key)}));
  expect_written(buffer[2].address, send({.psn = 102, .bytes = 7, .solicited = true}));
  expect_written(buffer[3].address,
                 message(false, {.psn = 103, .bytes = 2000, .immediate = raw(two.key)}, Operation::kSendLastInv));
  run();
  ASSERT_EQ(cqes.size(), 4u);
  const auto flags = [&](std::size_t i) { return cqes[i].cqe.flags & ~kCqeSrq; };
  EXPECT_EQ(flags(0), kCqeImmediate);
  EXPECT_EQ(cqes[0].cqe.immediate_or_rkey, 0xabcd1234u);
  EXPECT_EQ(flags(1), kCqeInvalidated);
  EXPECT_EQ(cqes[1].cqe.immediate_or_rkey, raw(one.key));
  EXPECT_EQ(flags(2), kCqeSolicited);
  EXPECT_EQ(flags(3), kCqeInvalidated);
  EXPECT_EQ(cqes[3].cqe.immediate_or_rkey, raw(two.key));
  expect_receive(3, kQpn, 3, 2000);
}

TEST_P(NicReliable, WhatASendInvalidatedCannotBeWritten) {
  make(2, 64);
  const Region r = region(64, {.kind = MemoryKind::kFastRegistered});
  expect_written(r.va, send({.op = Operation::kWriteOnly, .psn = 100, .bytes = 64, .va = r.va, .rkey = r.key}));
  expect_written(buffer[0].address,
                 send({.op = Operation::kSendOnlyInv, .psn = 101, .bytes = 6, .immediate = raw(r.key)}));
  send({.op = Operation::kWriteOnly, .psn = 102, .bytes = 8, .va = r.va, .rkey = r.key});
  run();
  expect_receive(0, kQpn, 0, 6);
  expect_answers(3);
  expect_ack(0, 100, 1);
  expect_ack(1, 101, 2);
  expect_ack(2, 102, 2, kNakRemoteAccess);
  EXPECT_EQ(sim().nic.address_translator.counters().remote_invalidations, 1u);
}

TEST_P(NicReliable, AWindowIsInvalidatedByItsOwnQpAlone) {
  make(2, 64);
  const Region own = region(64, {.kind = MemoryKind::kWindow2, .window_qp = Qpn{kQpn}});
  const Region other = region(64, {.kind = MemoryKind::kWindow2, .window_qp = Qpn{kQpn + 1}});
  expect_written(buffer[0].address,
                 send({.op = Operation::kSendOnlyInv, .psn = 100, .bytes = 6, .immediate = raw(own.key)}));
  expect_written(buffer[1].address,
                 send({.op = Operation::kSendOnlyInv, .psn = 101, .bytes = 6, .immediate = raw(other.key)}));
  run();
  expect_answers(1);
  expect_ack(0, 100, 1);
  expect_receive(0, kQpn, 0, 6);
  expect_error(1, kQpn, 1, WcStatus::kRemoteInvalidRequest);
}

// Its data is placed, but the message fails.
struct NicForbiddenKey : NicReliable {
  void expect_failure(std::uint32_t key, std::uint32_t n = 0) {  // after `n` messages
    expect_written(buffer[n].address,
                   send({.op = Operation::kSendOnlyInv, .psn = 100 + n, .bytes = 6, .immediate = key}));
    send({.psn = 101 + n, .bytes = 6});  // squashed
    run();
    expect_answers(n);
    expect_error(n, kQpn, n, WcStatus::kRemoteInvalidRequest);
    EXPECT_EQ(dropped(DropReason::kInvalidation), 1u);
    EXPECT_EQ(sim().nic.address_translator.counters().refused_invalidations, 1u);
  }
};
INSTANTIATE_TEST_SUITE_P(Transports, NicForbiddenKey, testing::Values(Transport::kRc, Transport::kXrc), transport_name);

TEST_P(NicForbiddenKey, Unknown) {
  make(2, 64);
  expect_failure(0x77005a);
}

TEST_P(NicForbiddenKey, OfAnOrdinaryRegion) {
  make(2, 64);
  expect_failure(raw(region(64).key));
}

TEST_P(NicForbiddenKey, OfAnotherProtectionDomain) {
  make(2, 64);
  expect_failure(raw(region(64, {.pd = kOtherPd, .kind = MemoryKind::kFastRegistered}).key));
}

TEST_P(NicForbiddenKey, InvalidatedBefore) {
  make(3, 64);
  const Region r = region(64, {.kind = MemoryKind::kFastRegistered});
  expect_written(buffer[0].address,
                 send({.op = Operation::kSendOnlyInv, .psn = 100, .bytes = 6, .immediate = raw(r.key)}));
  expect_failure(raw(r.key), 1);
}

TEST_P(NicReliable, WriteWithImmediateCompletesWithItsByteCount) {
  make(2, 64);
  const Region r = region(3 * kMtu);
  expect_written(r.va, message(true, {.psn = 100, .bytes = 2 * kMtu + 1, .va = r.va, .rkey = r.key, .immediate = 9},
                               Operation::kWriteLastImm));
  send({.op = Operation::kWriteOnlyImm, .psn = 103, .va = 0, .rkey = Key{0}, .immediate = 10});
  run();
  ASSERT_EQ(cqes.size(), 2u);
  for (std::uint32_t i = 0; i < 2; ++i) {
    expect_receive(i, kQpn, i, i == 0 ? 2 * kMtu + 1 : 0);
    EXPECT_EQ(cqes[i].cqe.opcode, CqeOpcode::kReceiveWriteImm);
    EXPECT_EQ(cqes[i].cqe.flags & ~kCqeSrq, kCqeImmediate);
    EXPECT_EQ(cqes[i].cqe.immediate_or_rkey, 9u + i);
  }
}

TEST_P(NicReliable, ElementsAreFilledInOrderAcrossPages) {
  make();
  const Region a = region(900, {kAllRights, kPd, 3700});
  const Region b = region(5000, {kAllRights, kPd, 11});
  const Region c = region(2000, {kAllRights, kPd, 4095});
  post(*queue, {a.piece(1, 700), {0, raw(b.key), 0}, b.piece(2, 4500), c.piece(3, 1), c.piece(10, 1500)});
  const ByteVector data = message(false, {.psn = 100, .bytes = 6 * kMtu});
  const auto part = [&](std::size_t from, std::size_t n) {
    return ByteVector(data.begin() + static_cast<long>(from), data.begin() + static_cast<long>(from + n));
  };
  expect_written(a.va + 1, part(0, 700));
  expect_written(b.va + 2, part(700, 4500));
  expect_written(c.va + 3, part(5200, 1));
  expect_written(c.va + 10, part(5201, 943));
  run();
  expect_receive(0, kQpn, 0, 6 * kMtu);
}

TEST_P(NicReliable, AtomicsChangeMemoryOnceAndReturnTheOldValue) {
  make();
  const Region r = region(64, {kAllRights, kPd, 4088});
  store(r.va, little_endian(0x1122334455667788));
  store(r.va + 8, little_endian(5));
  send({.op = Operation::kFetchAdd, .psn = 100, .va = r.va, .rkey = r.key, .swap_add = 0x10});
  send({.op = Operation::kCompareSwap, .psn = 101, .va = r.va + 8, .rkey = r.key, .swap_add = 77, .compare = 5});
  send({.op = Operation::kCompareSwap, .psn = 102, .va = r.va + 8, .rkey = r.key, .swap_add = 99, .compare = 5});
  send({.op = Operation::kFetchAdd, .psn = 103, .va = r.va, .rkey = r.key, .swap_add = ~std::uint64_t{0}});
  expect_written(r.va, little_endian(0x1122334455667797));
  expect_written(r.va + 8, little_endian(77));
  run();
  expect_answers(4);
  const std::uint64_t originals[] = {0x1122334455667788, 5, 77, 0x1122334455667798};
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(answers[i].is(Operation::kAtomicAck));
    EXPECT_EQ(answers[i].h.original, originals[i]);
    EXPECT_EQ(answers[i].h.psn.value, 100 + i);
    EXPECT_EQ(answers[i].h.msn, i + 1);
    EXPECT_EQ(answers[i].h.syndrome, kAckUnlimited);
  }
}

// ATOMIC WRITE exists on RC only, so it is not part of the suite.
class NicAtomicWrite : public NicTest {
 protected:
  static constexpr std::uint32_t kQpn = 0x21;
  const QpContext& connected() { return qp(Transport::kRc, kQpn); }
  void expect_answer(std::size_t n, std::uint32_t psn, std::uint32_t msn) {
    ASSERT_GT(answers.size(), n);
    EXPECT_TRUE(answers[n].is(Operation::kReadResponseOnly)) << opcode_name(answers[n].h.opcode);
    EXPECT_EQ(answers[n].h.psn.value, psn);
    EXPECT_EQ(answers[n].h.msn, msn);
    EXPECT_EQ(answers[n].h.syndrome, kAckUnlimited);
    EXPECT_TRUE(answers[n].payload.empty());
    EXPECT_EQ(answers[n].h.destination_qp, Qpn{kQpn + 0x1000});
  }
};

TEST_F(NicAtomicWrite, LandsOnceAndIsAnsweredByAnEmptyReadResponse) {
  const QpContext& q = connected();
  const Region r = region(24, {kLocalWrite | kRemoteWrite, kPd, 4088});  // the middle word begins a page
  const auto write = [&](std::uint32_t psn, std::uint64_t offset, int ack = -1) {
    return send(
        q, {.op = Operation::kAtomicWrite, .psn = psn, .bytes = 8, .ack = ack, .va = r.va + offset, .rkey = r.key});
  };
  expect_written(r.va, write(100, 0));
  write(101, 8);
  expect_written(r.va + 8, write(102, 8, 0));  // answered without BTH.A
  write(100, 0);                               // duplicates
  write(101, 8);
  write(102, 16);
  run();
  expect_answers(6);
  for (std::uint32_t i = 0; i < 3; ++i) {
    expect_answer(i, 100 + i, 1 + i);
    expect_answer(3 + i, 100 + i, 3);
  }
  EXPECT_TRUE(cqes.empty()) << "no receive completion";
  EXPECT_EQ(ledger().dropped_total(), 0u);
}

// Atomics of both kinds are carried out in their order; WRITEs before them are visible.
TEST_F(NicAtomicWrite, IsInOrderWithWhatCameBefore) {
  const QpContext& q = connected();
  const Region r = region(64);
  send(q, {.op = Operation::kWriteOnly, .psn = 100, .bytes = 8, .va = r.va, .rkey = r.key});
  send(q, {.op = Operation::kFetchAdd, .psn = 101, .va = r.va, .rkey = r.key, .swap_add = 1});
  send(q, {.op = Operation::kAtomicWrite,
           .psn = 102,
           .bytes = 8,
           .va = r.va,
           .rkey = r.key,
           .payload = little_endian(500)});
  send(q, {.op = Operation::kFetchAdd, .psn = 103, .va = r.va, .rkey = r.key, .swap_add = 7});
  send(q, {.op = Operation::kReadRequest, .psn = 104, .va = r.va, .rkey = r.key, .length = 8});
  expect_written(r.va, little_endian(507));
  run();
  expect_answers(5);
  expect_answer(2, 102, 3);
  EXPECT_EQ(answers[3].h.original, 500u);
  EXPECT_EQ(answers[4].payload, little_endian(507));
}

using NicFlush = NicAtomicWrite;

// rules 6.10: in order, with the WRITEs before it in memory; no completion here.
TEST_F(NicFlush, IsAnsweredByAnEmptyReadResponseInItsOrder) {
  const QpContext& q = connected();
  const Region r = region(8192, {kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteFlush, kPd, 4088});
  const auto flush = [&](std::uint32_t psn, std::uint64_t offset, std::uint32_t length) {
    send(q, {.op = Operation::kFlush, .psn = psn, .ack = 0, .va = r.va + offset, .rkey = r.key, .length = length});
  };
  send(q, {.op = Operation::kReadRequest, .psn = 100, .va = r.va, .rkey = r.key, .length = 8});
  expect_written(r.va,
                 send(q, {.op = Operation::kWriteOnly, .psn = 101, .bytes = 8, .ack = 0, .va = r.va, .rkey = r.key}));
  flush(102, 3, 100);  // begins at no multiple of 8, crosses a page
  flush(103, 0, 0);    // of no range
  flush(102, 3, 100);  // duplicates
  flush(103, 0, 0);
  run();
  expect_answers(5);
  EXPECT_EQ(answers[0].h.psn.value, 100u);
  expect_answer(1, 102, 3);
  expect_answer(2, 103, 4);
  expect_answer(3, 102, 4);
  expect_answer(4, 103, 4);
  EXPECT_TRUE(cqes.empty());
  EXPECT_EQ(ledger().dropped_total(), 0u);
}

TEST_F(NicFlush, AllOfARegionThatGrantsItMayBeFlushed) {
  const QpContext& q = connected();
  const Region r = region(64, {kLocalWrite | kRemoteFlush, kPd, 0});
  send(q, {.op = Operation::kFlush, .psn = 100, .ack = 0, .va = r.va, .rkey = r.key, .length = 64});
  run();
  expect_answers(1);
  expect_answer(0, 100, 1);
}

TEST_F(NicAtomicWrite, UnreliableTransportsDoNotHaveIt) {
  Queue& rc = rq(0x31);
  const QpContext& uc = qp(Transport::kUc, 0x31, &rc);
  const QpContext& ud = qp(Transport::kUd, 0x32);
  const QpContext& xrc = qp(Transport::kXrc, 0x33);
  const Region r = region(64);
  for (const QpContext* q : {&uc, &ud, &xrc}) {
    // Built as a WRITE: the builder does not know the illegal opcode either.
    send(*q, {.op = q == &ud ? Operation::kSendOnly : Operation::kWriteOnly,
              .psn = 100,
              .bytes = 8,
              .va = r.va,
              .rkey = r.key,
              .damage = [&](ByteVector& frame, const Headers& h) {
                frame[h.bth_offset] = opcode_of(q->transport, Operation::kAtomicWrite);
                seal(frame, h);
              }});
  }
  run();
  EXPECT_EQ(dropped(DropReason::kUnknownOpcode), 3u);
  expect_answers(0);
}

// A duplicate atomic behind, before and among others gets the value of the first execution, whatever memory holds.
TEST_P(NicReliable, DuplicateAtomicReplaysTheFirstValue) {
  for (const std::uint64_t later : {0u, 5000u}) {
    SCOPED_TRACE(later);
    if (later == 0) {
      make();
    }
    const Region r = region(8);
    const std::uint32_t psn = 100 + (later != 0 ? 2 : 0);
    store(r.va, little_endian(1000));
    at(later * 10);
    send({.op = Operation::kFetchAdd, .psn = psn, .va = r.va, .rkey = r.key, .swap_add = 1});
    send({.op = Operation::kFetchAdd, .psn = psn + 1, .va = r.va, .rkey = r.key, .swap_add = 1});
    at(later * 10 + later);
    send({.op = Operation::kFetchAdd, .psn = psn, .va = r.va, .rkey = r.key, .swap_add = 1});
    send({.op = Operation::kFetchAdd, .psn = psn + 1, .va = r.va, .rkey = r.key, .swap_add = 1});
    expect_written(r.va, little_endian(1002));
  }
  run();
  expect_answers(8);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(answers[i].is(Operation::kAtomicAck));
    EXPECT_EQ(answers[i].h.original, 1000 + i % 2);
  }
}

TEST_P(NicReliable, DuplicateSendAndWriteAreAcknowledgedAgainAndNotExecutedAgain) {
  make(3, 64);
  const Region r = region(100);
  expect_written(buffer[0].address, send({.psn = 100, .bytes = 20}));
  expect_written(r.va, send({.op = Operation::kWriteOnly, .psn = 101, .bytes = 20, .va = r.va, .rkey = r.key}));
  expect_written(r.va, send({.op = Operation::kWriteOnly, .psn = 102, .bytes = 10, .va = r.va, .rkey = r.key}));
  send({.psn = 100, .bytes = 20});
  send({.op = Operation::kWriteOnly, .psn = 101, .bytes = 20, .va = r.va, .rkey = r.key});
  expect_written(buffer[1].address, send({.psn = 103, .bytes = 20}));
  run();
  expect_answers(6);
  // Duplicates are answered with the newest PSN and MSN.
  expect_ack(3, 102, 3);
  expect_ack(4, 102, 3);
  expect_ack(5, 103, 4);
  ASSERT_EQ(cqes.size(), 2u);
  expect_receive(1, kQpn, 1, 20);
}

TEST_P(NicReliable, DuplicateReadIsReplayedInFullAndInPart) {
  make();
  const Region r = region(4000);
  send({.op = Operation::kReadRequest, .psn = 100, .va = r.va, .rkey = r.key, .length = 3 * kMtu});
  const auto again = [&](std::uint32_t psn, std::uint32_t offset, std::uint32_t length) {
    send({.op = Operation::kReadRequest, .psn = psn, .va = r.va + offset, .rkey = r.key, .length = length});
  };
  again(100, 0, 3 * kMtu);
  again(101, kMtu, 2 * kMtu);
  again(102, 2 * kMtu, kMtu);
  again(102, 2 * kMtu, kMtu + 1);  // asks for more than was saved
  run();
  expect_answers(3 + 3 + 2 + 1);
  const std::uint32_t psns[] = {100, 101, 102, 100, 101, 102, 101, 102, 102};
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(answers[i].h.psn.value, psns[i]);
    EXPECT_EQ(answers[i].payload, memory(r.va + (psns[i] - 100) * kMtu, kMtu));
  }
  EXPECT_TRUE(answers[8].is(Operation::kReadResponseOnly));
  EXPECT_EQ(dropped(DropReason::kDuplicateUnsaved), 1u);
}

TEST_P(NicReliable, ARepeatedAtomicThatWasOverwrittenIsDropped) {
  make();
  q->max_dest_rd_atomic = 2;
  const Region r = region(8);
  store(r.va, little_endian(0));
  const auto add = [&](std::uint32_t psn, std::uint64_t ns) {
    at(ns);
    send({.op = Operation::kFetchAdd, .psn = psn, .va = r.va, .rkey = r.key, .swap_add = 1});
  };
  for (std::uint32_t i = 0; i < 3; ++i) add(100 + i, 5000 * i);  // each is answered before the next one comes
  add(102, 15'000);
  add(100, 20'000);
  expect_written(r.va, little_endian(3));
  run();
  expect_answers(4);
  EXPECT_EQ(answers[3].h.original, 2u);
  EXPECT_EQ(sim().nic.ack_generator.counters().over_limit, 0u);
  EXPECT_EQ(dropped(DropReason::kDuplicateUnsaved), 1u);
  EXPECT_EQ(events(EventType::kQpRequestError), 0u);
}

// Three READs at once on a QP that may have two.
struct NicOverLimit : NicReliable {
  Region r;
  void read(std::uint32_t psn) {
    send({.op = Operation::kReadRequest,
          .psn = psn,
          .va = r.va + (psn - 100) * kMtu,
          .rkey = r.key,
          .length = 2 * kMtu});
  }
  void reads() {
    make();
    q->max_dest_rd_atomic = 2;
    r = region(6 * kMtu);
    for (const std::uint32_t psn : {100, 102, 104}) read(psn);
  }
};
INSTANTIATE_TEST_SUITE_P(Transports, NicOverLimit, testing::Values(Transport::kRc, Transport::kXrc), transport_name);

TEST_P(NicOverLimit, TheOneTooManyFailsTheQp) {
  reads();
  run();
  expect_answers(5);
  for (std::uint32_t n = 0; n < 4; ++n) EXPECT_EQ(answers[n].h.psn.value, 100 + n);
  expect_ack(4, 104, 2, kNakInvalidRequest);
  EXPECT_EQ(sim().nic.ack_generator.counters().over_limit, 1u);
  EXPECT_EQ(events(EventType::kQpRequestError), 1u);
}

TEST_P(NicOverLimit, OrTheOldestIsRecycledAndItsRepetitionReadsAgain) {
  set("transport_checker.rd_atomic_over_limit=recycle");
  reads();
  at(20'000);
  read(100);
  run();
  expect_answers(8);
  for (std::uint32_t n = 0; n < 8; ++n) {
    EXPECT_EQ(answers[n].h.psn.value, 100 + n % 6);
    EXPECT_EQ(answers[n].payload, memory(r.va + n % 6 * kMtu, kMtu));
  }
  EXPECT_EQ(sim().nic.ack_generator.counters().over_limit, 1u);
  EXPECT_EQ(sim().nic.transport_checker.responder_counters().overwritten, 1u);
}

TEST_P(NicReliable, AnswersLeaveInPsnOrder) {
  make(2, 64);
  const Region r = region(8 * kMtu);
  store(r.va, little_endian(7));
  send({.op = Operation::kReadRequest, .psn = 100, .va = r.va + 8, .rkey = r.key, .length = 4 * kMtu});
  expect_written(buffer[0].address, send({.psn = 104, .bytes = 8}));
  send({.op = Operation::kFetchAdd, .psn = 105, .va = r.va, .rkey = r.key, .swap_add = 1});
  send({.op = Operation::kReadRequest, .psn = 106, .va = r.va, .rkey = r.key, .length = 8});
  expect_written(buffer[1].address, send({.psn = 107, .bytes = 8}));
  expect_written(r.va, little_endian(8));
  run();
  expect_answers(8);
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(answers[i].h.psn.value, 100 + i);
  EXPECT_EQ(answers[5].h.original, 7u);
}

TEST_P(NicReliable, CoalescedAckAnswersSeveralRequests) {
  set("ack_generator.coalesce_packets=4");
  make(10, 64);
  for (std::uint32_t i = 0; i < 10; ++i) expect_written(buffer[i].address, send({.psn = 100 + i, .bytes = 8}));
  run();
  expect_answers(3);
  expect_ack(0, 103, 4);
  expect_ack(1, 107, 8);
  expect_ack(2, 109, 10);  // the timer
}

// WRITE_WITH_IMM takes its WQE at its last packet: a message of another QP that comes between takes an older WQE.
TEST_F(NicTest, WriteWithImmediateTakesItsWqeAtTheEnd) {
  Queue& s = srq(7);
  const QpContext& a = qp(Transport::kRc, 0x21, &s);
  const QpContext& b = qp(Transport::kRc, 0x22, &s);
  const std::vector<DataSegment> buffer = buffers(s, 3, 100);
  const Region r = region(2 * kMtu);
  const Request w{.va = r.va, .rkey = r.key, .length = 2 * kMtu, .immediate = 3};
  const auto part = [&](Operation op, std::uint32_t psn) {
    Request p = w;
    p.op = op;
    p.psn = psn;
    p.bytes = kMtu;
    expect_written(r.va + (psn - 100) * kMtu, send(a, p));
  };
  part(Operation::kWriteFirst, 100);
  expect_written(buffer[0].address, send(b, {.psn = 100, .bytes = 50}));
  part(Operation::kWriteLastImm, 101);
  expect_written(buffer[2].address, send(b, {.psn = 101, .bytes = 51}));
  run();
  ASSERT_EQ(cqes.size(), 3u);
  expect_receive(0, 0x22, 0, 50);
  expect_receive(1, 0x21, 1, 2 * kMtu);
  expect_receive(2, 0x22, 2, 51);
}

TEST_F(NicTest, XrcMessageGoesToTheSrqItNames) {
  Queue& s1 = srq(7);
  Queue& s2 = srq(8, WqLayout::kCyclic, 16, [](WqContext& c) { c.cq = kRecvCq; });
  const QpContext& q = qp(Transport::kXrc, 0x21);
  const auto b1 = buffers(s1, 2, 100);
  const auto b2 = buffers(s2, 2, 100);
  expect_written(b2[0].address, send(q, {.psn = 100, .bytes = 10, .srq = 8}));
  expect_written(b1[0].address, send(q, {.psn = 101, .bytes = 11, .srq = 7}));
  expect_written(b2[1].address, send(q, {.psn = 102, .bytes = 12, .srq = 8}));
  run();
  ASSERT_EQ(cqes.size(), 3u);
  std::map<std::uint32_t, std::pair<std::uint32_t, Cqn>> by_bytes;
  for (const Completion& c : cqes) by_bytes[c.cqe.byte_count] = {c.cqe.srq_number, c.cq};
  EXPECT_EQ(by_bytes[10], std::make_pair(8u, kRecvCq));
  EXPECT_EQ(by_bytes[11], std::make_pair(7u, kSrqCq));
  EXPECT_EQ(by_bytes[12], std::make_pair(8u, kRecvCq));
  expect_answers(3);
}

}  // namespace
}  // namespace rxnic::nic_rc_test
