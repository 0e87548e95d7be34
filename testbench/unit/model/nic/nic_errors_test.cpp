// SPDX-License-Identifier: Apache-2.0
// RC and XRC through the whole NIC, the table of rules 6. Each fault comes in the middle of a burst. Packets of the QP
// before the fault are carried out, packets behind it are not. RNR takes no WQE and can be repeated.
#include "testbench/unit/model/nic/nic_fixture.h"

namespace rxnic::nic_errors_test {
namespace {

using Op = Operation;

class NicErrors : public ReliableTest {
 protected:
  static constexpr std::uint32_t kFaultPsn = 103;  // of the first packet that a fault sends
  static constexpr std::uint32_t kBuffer = 1500;

  struct Verdict {
    std::uint8_t syndrome = 0;
    DropReason reason{};
    std::uint32_t psn = kFaultPsn;          // of the packet that fails
    WcStatus wqe = WcStatus::kSuccess;      // of the completion of WQE 1; kSuccess: it was not taken
    EventType event = EventType::kQpFatal;  // when no completion reports the error
  };

  // A SEND into WQE 0 and a WRITE of two packets; then the fault; then others, in the same burst and later.
  // `second`: what WQE 1 points to instead of its buffer.
  void burst(const std::function<void()>& fault, const Verdict& v, const std::vector<DataSegment>& second = {}) {
    if (queue == nullptr) make();
    const Region bufs = region(4 * 1600);
    for (std::uint32_t i = 0; i < 4; ++i) {
      post(*queue, i == 1 && !second.empty() ? second : std::vector{bufs.piece(i * 1600, kBuffer)});
    }
    wqe1_ = bufs.va + 1600;
    const Region r = region(4 * kMtu);
    expect_written(bufs.va, send({.psn = 100, .bytes = 900, .ack = 1}));
    expect_written(r.va, message(true, {.psn = 101, .bytes = kMtu + 9, .va = r.va, .rkey = r.key}));
    fault();
    const std::uint32_t next = v.psn + 1;
    const auto others = [&] {
      send({.psn = next, .bytes = 33});
      send({.op = Op::kWriteOnly, .psn = next + 1, .bytes = 100, .va = r.va, .rkey = r.key});
      send({.op = Op::kFetchAdd, .psn = next + 2, .va = r.va, .rkey = r.key, .swap_add = 1});
      send({.op = Op::kReadRequest, .psn = next + 3, .va = r.va, .rkey = r.key, .length = 5});
      send({.op = Op::kSendMiddle, .psn = next + 4, .bytes = 3});
      send({.psn = v.psn, .bytes = 34});
    };
    others();
    at(100'000);
    others();
    run();

    expect_answers(3);
    expect_ack(0, 100, 1);
    expect_ack(1, 102, 2);
    expect_ack(2, v.psn, 2, v.syndrome);
    EXPECT_EQ(dropped(v.reason), 1u);
    expect_receive(0, kQpn, 0, 900);
    const bool taken = v.wqe != WcStatus::kSuccess;
    if (taken) expect_error(1, kQpn, 1, v.wqe);
    expect_queue_after_error(taken ? 2 : 1, taken ? 2 : 1, 3);
    for (const EventType e : {EventType::kQpFatal, EventType::kQpAccessError, EventType::kQpRequestError}) {
      EXPECT_EQ(events(e), !taken && e == v.event ? 1u : 0u) << static_cast<int>(e);
    }
    EXPECT_EQ(events(EventType::kCqError), 0u);
  }
  static Verdict invalid(std::uint32_t psn = kFaultPsn, bool wqe = false) {
    return {0x61, DropReason::kInvalidRequest, psn, wqe ? WcStatus::kRemoteInvalidRequest : WcStatus::kSuccess,
            EventType::kQpRequestError};
  }
  static Verdict no_access(WcStatus wqe = WcStatus::kSuccess) {
    return {0x62, DropReason::kRemoteAccess, kFaultPsn, wqe, EventType::kQpAccessError};
  }
  static Verdict bad_local() { return {0x63, DropReason::kLocalOperation, kFaultPsn, WcStatus::kLocalProtection}; }
  // The first packet of a SEND, carried out into WQE 1.
  void begin_send() { expect_written(wqe1_, send({.op = Op::kSendFirst, .psn = kFaultPsn, .bytes = kMtu})); }

 private:
  std::uint64_t wqe1_ = 0;  // its buffer
};
INSTANTIATE_TEST_SUITE_P(Transports, NicErrors, testing::Values(Transport::kRc, Transport::kXrc), transport_name);

// ---- PSN
TEST_P(NicErrors, PsnAheadIsRefusedOnceThenSilenceUntilItComes) {
  make(6, 64);
  const auto sent = [&](std::uint32_t psn) { return send({.psn = psn, .bytes = 10}); };
  expect_written(buffer[0].address, sent(100));
  for (const std::uint32_t psn : {102, 103, 104, 110}) sent(psn);
  at(50'000);
  sent(102);  // still silent
  for (const std::uint32_t psn : {101, 102, 103}) expect_written(buffer[psn - 100].address, sent(psn));
  sent(105);  // a new gap, a new NAK
  sent(106);
  run();
  expect_answers(6);
  expect_ack(0, 100, 1);
  expect_ack(1, 101, 1, 0x60);
  for (std::uint32_t i = 2; i < 5; ++i) expect_ack(i, 99 + i, i);
  expect_ack(5, 104, 4, 0x60);
  EXPECT_EQ(cqes.size(), 4u);
  EXPECT_EQ(dropped(DropReason::kPsnAhead), 7u);
}

// A sequence NAK in the middle of a SEND completes nothing: the message goes on in the same WQE.
TEST_P(NicErrors, SequenceNakInTheMiddleOfASendCompletesNothing) {
  make(2, 4000);
  ByteVector all = send({.op = Op::kSendFirst, .psn = 100, .bytes = kMtu});
  send({.op = Op::kSendLast, .psn = 102, .bytes = 7});
  at(20'000);
  for (const ByteVector& part : {send({.op = Op::kSendMiddle, .psn = 101, .bytes = kMtu}),
                                 send({.op = Op::kSendLast, .psn = 102, .bytes = 7})}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  expect_written(buffer[0].address, all);
  run();
  expect_answers(2);
  expect_ack(0, 101, 0, 0x60);
  expect_ack(1, 102, 1);
  ASSERT_EQ(cqes.size(), 1u);
  expect_receive(0, kQpn, 0, 2 * kMtu + 7);
}

// ---- opcode sequence
TEST_P(NicErrors, MessageMustBeginWithFirstOrOnly) {
  burst([&] { send({.op = Op::kSendMiddle, .psn = kFaultPsn, .bytes = kMtu}); }, invalid());
}
TEST_P(NicErrors, SendLastWithoutFirst) {
  burst([&] { send({.op = Op::kSendLast, .psn = kFaultPsn, .bytes = 10}); }, invalid());
}
TEST_P(NicErrors, WriteMiddleWithoutFirst) {
  burst([&] { send({.op = Op::kWriteMiddle, .psn = kFaultPsn, .bytes = kMtu}); }, invalid());
}
TEST_P(NicErrors, WriteLastWithImmediateWithoutFirst) {
  burst([&] { send({.op = Op::kWriteLastImm, .psn = kFaultPsn, .bytes = 5}); }, invalid());
}
TEST_P(NicErrors, FirstInsideASend) {
  burst(
      [&] {
        begin_send();
        send({.op = Op::kSendFirst, .psn = kFaultPsn + 1, .bytes = kMtu});
      },
      invalid(kFaultPsn + 1, true));
}
TEST_P(NicErrors, OnlyInsideASend) {
  burst(
      [&] {
        begin_send();
        send({.psn = kFaultPsn + 1, .bytes = 5});
      },
      invalid(kFaultPsn + 1, true));
}
TEST_P(NicErrors, WriteInsideASend) {
  burst(
      [&] {
        begin_send();
        send({.op = Op::kWriteLast, .psn = kFaultPsn + 1, .bytes = 5});
      },
      invalid(kFaultPsn + 1, true));
}
TEST_P(NicErrors, ReadInsideASend) {
  burst(
      [&] {
        begin_send();
        send({.op = Op::kReadRequest, .psn = kFaultPsn + 1});
      },
      invalid(kFaultPsn + 1, true));
}
TEST_P(NicErrors, SendInsideAWrite) {
  make();
  const Region r = region(2 * kMtu);
  burst(
      [&] {
        expect_written(r.va, send({.op = Op::kWriteFirst,
                                   .psn = kFaultPsn,
                                   .bytes = kMtu,
                                   .va = r.va,
                                   .rkey = r.key,
                                   .length = 2 * kMtu}));
        send({.op = Op::kSendLast, .psn = kFaultPsn + 1, .bytes = 5});
      },
      invalid(kFaultPsn + 1));
}
TEST_P(NicErrors, AtomicInsideAWrite) {
  make();
  const Region r = region(2 * kMtu);
  burst(
      [&] {
        expect_written(r.va, send({.op = Op::kWriteFirst,
                                   .psn = kFaultPsn,
                                   .bytes = kMtu,
                                   .va = r.va,
                                   .rkey = r.key,
                                   .length = 2 * kMtu}));
        send({.op = Op::kFetchAdd, .psn = kFaultPsn + 1, .va = r.va, .rkey = r.key, .swap_add = 1});
      },
      invalid(kFaultPsn + 1));
}

// ---- opcode enabled
class NicNotEnabled : public NicErrors {
 protected:
  void refused(Op op, std::uint8_t rights) {
    make();
    q->access = rights;
    const Region r = region(64);
    burst(
        [&] { send({.op = op, .psn = kFaultPsn, .bytes = op == Op::kWriteOnly ? 8u : 0u, .va = r.va, .rkey = r.key}); },
        invalid());
  }
};
INSTANTIATE_TEST_SUITE_P(Transports, NicNotEnabled, testing::Values(Transport::kRc, Transport::kXrc), transport_name);
TEST_P(NicNotEnabled, Read) { refused(Op::kReadRequest, kAllRights & ~kRemoteRead); }
TEST_P(NicNotEnabled, CompareSwap) { refused(Op::kCompareSwap, kAllRights & ~kRemoteAtomic); }
TEST_P(NicNotEnabled, FetchAdd) { refused(Op::kFetchAdd, kAllRights & ~kRemoteAtomic); }
TEST_P(NicNotEnabled, Write) {
  make(1, 64);
  q->access = kAllRights & ~kRemoteWrite;
  const Region r = region(64);
  send({.op = Op::kWriteOnly, .psn = 100, .bytes = 8, .va = r.va, .rkey = r.key});
  send({.psn = 101, .bytes = 8});
  run();
  expect_answers(1);
  expect_ack(0, 100, 0, 0x61);
  expect_queue_after_error(0, 0, 0);
}
TEST_P(NicNotEnabled, NoReadResources) {
  make();
  q->max_dest_rd_atomic = 0;
  const Region r = region(64);
  burst([&] { send({.op = Op::kReadRequest, .psn = kFaultPsn, .va = r.va, .rkey = r.key, .length = 8}); }, invalid());
}

// ---- length
struct LengthFault {
  const char* name;
  Op first;  // carried out before; kUnknown: none
  Op op;
  std::size_t bytes;
  std::uint32_t length;  // RETH of the message's first packet
  bool takes_wqe;
};
void PrintTo(const LengthFault& f, std::ostream* out) { *out << f.name; }
const LengthFault kLengthFaults[] = {
    {"SendFirstShort", Op::kUnknown, Op::kSendFirst, kMtu - 1, 0, true},
    {"SendFirstLong", Op::kUnknown, Op::kSendFirst, kMtu + 1, 0, true},
    {"SendOnlyLong", Op::kUnknown, Op::kSendOnly, kMtu + 1, 0, true},
    {"SendMiddleShort", Op::kSendFirst, Op::kSendMiddle, kMtu - 4, 0, true},
    {"SendMiddleLong", Op::kSendFirst, Op::kSendMiddle, kMtu + 4, 0, true},
    {"SendLastEmpty", Op::kSendFirst, Op::kSendLast, 0, 0, true},
    {"SendLastLong", Op::kSendFirst, Op::kSendLast, kMtu + 1, 0, true},
    {"WriteFirstShort", Op::kUnknown, Op::kWriteFirst, kMtu - 1, 2 * kMtu, false},
    {"WriteFirstHoldsAll", Op::kUnknown, Op::kWriteFirst, kMtu, kMtu, false},
    {"WriteOnlyLong", Op::kUnknown, Op::kWriteOnly, kMtu + 1, kMtu + 1, false},
    {"WriteOnlyLessThanItsLength", Op::kUnknown, Op::kWriteOnly, 99, 100, false},
    {"WriteOnlyMoreThanItsLength", Op::kUnknown, Op::kWriteOnly, 101, 100, false},
    {"WriteOnlyImmLessThanItsLength", Op::kUnknown, Op::kWriteOnlyImm, 99, 100, true},
    {"WriteTooLong", Op::kUnknown, Op::kWriteFirst, kMtu, (1u << 31) + 1, false},
    {"WriteMiddleHoldsTheRest", Op::kWriteFirst, Op::kWriteMiddle, kMtu, 2 * kMtu, false},
    {"WriteLastLessThanTheRest", Op::kWriteFirst, Op::kWriteLast, 9, kMtu + 10, false},
    {"WriteLastMoreThanTheRest", Op::kWriteFirst, Op::kWriteLast, 11, kMtu + 10, false},
    {"WriteLastEmpty", Op::kWriteFirst, Op::kWriteLast, 0, kMtu + 10, false},
    {"WriteLastImmLessThanTheRest", Op::kWriteFirst, Op::kWriteLastImm, 9, kMtu + 10, true},
    {"ReadTooLong", Op::kUnknown, Op::kReadRequest, 0, (1u << 31) + 1, false},
};

class NicLength : public NicTest, public testing::WithParamInterface<LengthFault> {};
INSTANTIATE_TEST_SUITE_P(Faults, NicLength, testing::ValuesIn(kLengthFaults),
                         [](const auto& fault) { return std::string(fault.param.name); });

TEST_P(NicLength, IllegalLengthIsAnInvalidRequest) {
  const LengthFault& f = GetParam();
  Queue& q = rq(0x21);
  const QpContext& c = qp(Transport::kRc, 0x21, &q);
  const auto bufs = buffers(q, 3, 3000);
  const Region r = region(4 * kMtu);
  std::uint32_t psn = 100;
  const bool write = opcode_info(opcode_of(Transport::kRc, f.op)).traits & kWrite;
  if (f.first != Op::kUnknown) {
    expect_written(
        write ? r.va : bufs[0].address,
        send(c, {.op = f.first, .psn = psn++, .bytes = kMtu, .va = r.va, .rkey = r.key, .length = f.length}));
  }
  send(c, {.op = f.op, .psn = psn, .bytes = f.bytes, .va = r.va, .rkey = r.key, .length = f.length});
  send(c, {.psn = psn + 1, .bytes = 8});
  run();
  expect_answers(1);
  expect_ack(0, psn, 0, 0x61);
  if (f.takes_wqe) expect_error(0, 0x21, 0, WcStatus::kRemoteInvalidRequest);
  expect_flushed(f.takes_wqe ? 1 : 0, 0x21, f.takes_wqe ? 1 : 0, 2);
  EXPECT_EQ(events(EventType::kQpRequestError), f.takes_wqe ? 0u : 1u);
}

TEST_P(NicErrors, AtomicMustBeAligned) {
  make();
  const Region r = region(64);
  burst([&] { send({.op = Op::kFetchAdd, .psn = kFaultPsn, .va = r.va + 4, .rkey = r.key, .swap_add = 1}); },
        invalid());
}

// ---- XRC
TEST_F(NicTest, XrcSrqThatIsNotThereOrInAnotherDomainIsAnInvalidRequest) {
  for (const std::uint32_t wrong : {8u, 9u}) {
    Queue& s = wrong == 8 ? srq(7) : srq(9, WqLayout::kLinkedList, 16, [](WqContext& c) { c.xrcd = Xrcdn{6}; });
    const QpContext& c = qp(Transport::kXrc, 0x20 + wrong);
    buffers(s, 2, 64);
    send(c, {.psn = 100, .bytes = 8, .srq = wrong});
    send(c, {.psn = 101, .bytes = 8, .srq = 7});
  }
  run();
  expect_answers(2);
  expect_ack(0, 100, 0, 0x61);
  expect_ack(1, 100, 0, 0x61);
  EXPECT_TRUE(cqes.empty());
}
TEST_F(NicTest, XrcSrqMustNotChangeWithinASend) {
  Queue& s = srq(7);
  Queue& other = srq(8);
  const QpContext& c = qp(Transport::kXrc, 0x21);
  const auto bufs = buffers(s, 2, 3000);
  buffers(other, 2, 3000);
  expect_written(bufs[0].address, send(c, {.op = Op::kSendFirst, .psn = 100, .bytes = kMtu, .srq = 7}));
  send(c, {.op = Op::kSendLast, .psn = 101, .bytes = 3, .srq = 8});
  run();
  expect_answers(1);
  expect_ack(0, 101, 0, 0x61);
  ASSERT_EQ(cqes.size(), 1u);
  expect_error(0, 0x21, 0, WcStatus::kRemoteInvalidRequest);
  EXPECT_EQ(cqes[0].cqe.srq_number, 7u);
  EXPECT_EQ(events(EventType::kQpLastWqeReached), 1u);
}

// The PD of a WRITE's memory is that of the SRQ that it names, and without such an SRQ the QP's.
TEST_F(NicTest, XrcMemoryBelongsToThePdOfTheSrq) {
  constexpr Pdn kOther{77};
  srq(7, WqLayout::kCyclic, 16, [&](WqContext& c) { c.pd = kOther; });
  srq(8, WqLayout::kCyclic, 16, [&](WqContext& c) { c.xrcd = Xrcdn{99}; });
  const Region own = region(100), others = region(100, {.access = kAllRights, .pd = kOther});
  const struct {
    std::uint32_t srqn;
    const Region* to;
    bool good;
  } cases[] = {{7, &others, true}, {7, &own, false}, {8, &own, true}, {9, &own, true}, {9, &others, false}};
  std::uint32_t qpn = 0x21;
  for (const auto& c : cases) {
    const QpContext& q = qp(Transport::kXrc, qpn++);
    const ByteVector sent =
        send(q, {.op = Op::kWriteOnly, .psn = 100, .bytes = 40, .va = c.to->va, .rkey = c.to->key, .srq = c.srqn});
    if (c.good) expect_written(c.to->va, sent);
  }
  run();
  expect_answers(5);
  for (std::size_t n = 0; n < 5; ++n) EXPECT_EQ(answers[n].h.syndrome == 0x62, !cases[n].good) << n;
}

// ---- rkey, bounds, rights
TEST_P(NicErrors, WriteWithAnUnknownKey) {
  burst([&] { send({.op = Op::kWriteOnly, .psn = kFaultPsn, .bytes = 8, .va = 0, .rkey = Key{0x77700}}); },
        no_access());
}
TEST_P(NicErrors, WriteWithAnOldTagInItsKey) {
  make();
  const Region r = region(64);
  burst([&] { send({.op = Op::kWriteOnly, .psn = kFaultPsn, .bytes = 8, .va = r.va, .rkey = Key{raw(r.key) ^ 1}}); },
        no_access());
}
TEST_P(NicErrors, WriteIntoAnotherProtectionDomain) {
  make();
  const Region r = region(64, {kAllRights, kOtherPd});
  burst([&] { send({.op = Op::kWriteOnly, .psn = kFaultPsn, .bytes = 8, .va = r.va, .rkey = r.key}); }, no_access());
}
TEST_P(NicErrors, WriteIntoAReadOnlyRegion) {
  make();
  const Region r = region(64, {kRemoteRead});
  burst([&] { send({.op = Op::kWriteOnly, .psn = kFaultPsn, .bytes = 8, .va = r.va, .rkey = r.key}); }, no_access());
}
TEST_P(NicErrors, WriteOneByteBeforeItsRegion) {
  make();
  const Region r = region(64, {kAllRights, kPd, 100});
  burst([&] { send({.op = Op::kWriteOnly, .psn = kFaultPsn, .bytes = 64, .va = r.va - 1, .rkey = r.key}); },
        no_access());
}
TEST_P(NicErrors, WriteOneByteBehindItsRegion) {
  make();
  const Region r = region(64, {kAllRights, kPd, 100});
  burst([&] { send({.op = Op::kWriteOnly, .psn = kFaultPsn, .bytes = 64, .va = r.va + 1, .rkey = r.key}); },
        no_access());
}
TEST_P(NicErrors, WriteWhoseEndIsBehindItsRegionFailsAtItsFirstPacket) {
  make();
  const Region r = region(2 * kMtu);
  burst(
      [&] {
        send({.op = Op::kWriteFirst,
              .psn = kFaultPsn,
              .bytes = kMtu,
              .va = r.va,
              .rkey = r.key,
              .length = 2 * kMtu + 1});
      },
      no_access());
}
TEST_P(NicErrors, WriteThatWrapsAround) {
  make();
  const Region r = region(64);
  burst([&] { send({.op = Op::kWriteOnly, .psn = kFaultPsn, .bytes = 8, .va = ~std::uint64_t{3}, .rkey = r.key}); },
        no_access());
}
TEST_P(NicErrors, WriteWithImmediateAndABadKeyCompletesItsWqeInError) {
  burst([&] { send({.op = Op::kWriteOnlyImm, .psn = kFaultPsn, .bytes = 8, .rkey = Key{0x77700}}); },
        no_access(WcStatus::kRemoteAccess));
}
TEST_P(NicErrors, ReadOneByteBehindItsRegion) {
  make();
  const Region r = region(5000);
  burst([&] { send({.op = Op::kReadRequest, .psn = kFaultPsn, .va = r.va, .rkey = r.key, .length = 5001}); },
        no_access());
}
TEST_P(NicErrors, ReadOneByteBeforeItsRegion) {
  make();
  const Region r = region(5000, {kAllRights, kPd, 1});
  burst([&] { send({.op = Op::kReadRequest, .psn = kFaultPsn, .va = r.va - 1, .rkey = r.key, .length = 10}); },
        no_access());
}
TEST_P(NicErrors, ReadWithoutTheRight) {
  make();
  const Region r = region(64, {kLocalWrite | kRemoteWrite});
  burst([&] { send({.op = Op::kReadRequest, .psn = kFaultPsn, .va = r.va, .rkey = r.key, .length = 10}); },
        no_access());
}
TEST_P(NicErrors, AtomicWithoutTheRight) {
  make();
  const Region r = region(64, {kLocalWrite | kRemoteWrite | kRemoteRead});
  burst([&] { send({.op = Op::kCompareSwap, .psn = kFaultPsn, .va = r.va, .rkey = r.key}); }, no_access());
}
TEST_F(NicTest, AtomicWriteFaultsAreThoseOfAWriteAndOfAnAtomic) {
  struct Row {
    const char* what;
    std::uint8_t syndrome;
    std::function<void(Request&, const Region&, QpContext&)> spoil;
  };
  const Region good = region(64), unwritable = region(64, {kLocalWrite | kRemoteRead | kRemoteAtomic}),
               foreign = region(64, {kAllRights, kOtherPd}), small = region(15);
  const Row rows[] = {
      {"misaligned", 0x61, [](Request& w, const Region&, QpContext&) { w.va += 4; }},
      {"four bytes", 0x61, [](Request& w, const Region&, QpContext&) { w.bytes = 4; }},
      {"RETH length", 0x61, [](Request& w, const Region&, QpContext&) { w.length = 16; }},
      {"not enabled", 0x61, [](Request&, const Region&, QpContext& q) { q.access = kAllRights & ~kRemoteWrite; }},
      {"no resources", 0x61, [](Request&, const Region&, QpContext& q) { q.max_dest_rd_atomic = 0; }},
      {"wrong rkey", 0x62, [](Request& w, const Region&, QpContext&) { w.rkey = Key{0xdead00}; }},
      {"no right", 0x62, [&](Request& w, const Region&, QpContext&) { w.va = unwritable.va, w.rkey = unwritable.key; }},
      {"another PD", 0x62, [&](Request& w, const Region&, QpContext&) { w.va = foreign.va, w.rkey = foreign.key; }},
      {"out of bounds", 0x62, [&](Request& w, const Region&, QpContext&) { w.va = small.va + 8, w.rkey = small.key; }},
      {"alignment before rkey", 0x61, [](Request& w, const Region&, QpContext&) { w.va += 1, w.rkey = Key{0xdead00}; }},
  };
  std::uint32_t qpn = 0x21;
  for (const Row& row : rows) {
    QpContext& q = qp(Transport::kRc, qpn++);
    Request w{.op = Op::kAtomicWrite, .psn = 100, .bytes = 8, .va = good.va, .rkey = good.key};
    row.spoil(w, good, q);
    send(q, w);
    send(q, {.op = Op::kAtomicWrite, .psn = 101, .bytes = 8, .va = good.va, .rkey = good.key});  // behind: nothing
  }
  run();
  ASSERT_EQ(answers.size(), std::size(rows));
  for (const Answer& a : answers) {
    const std::size_t n = raw(a.h.destination_qp) - 0x1021;
    ASSERT_LT(n, std::size(rows));
    EXPECT_TRUE(a.is(Operation::kAck));
    EXPECT_EQ(a.h.psn.value, 100u) << rows[n].what;
    EXPECT_EQ(a.h.syndrome, rows[n].syndrome) << rows[n].what;
    EXPECT_EQ(a.h.msn, 0u) << rows[n].what;
  }
}
TEST_F(NicTest, FlushFaultsAreThoseOfAReadAndOfAnAtomic) {  // rules 6.10
  struct Row {
    const char* what;
    std::uint8_t syndrome;
    std::function<void(Request&, QpContext&)> spoil;
  };
  constexpr std::uint32_t kRights = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;
  constexpr std::uint32_t kPlacement = 0x1;
  const Region good = region(64, {kLocalWrite | kRemoteFlush}), unflushable = region(64, {kRights}),
               foreign = region(64, {kRights | kRemoteFlush, kOtherPd});
  const Row rows[] = {
      {"not enabled", 0x61, [](Request&, QpContext& q) { q.access = kRights; }},
      {"no resources", 0x61, [](Request&, QpContext& q) { q.max_dest_rd_atomic = 0; }},
      {"with data", 0x61, [](Request& f, QpContext&) { f.bytes = 8; }},
      {"wrong rkey", 0x62, [](Request& f, QpContext&) { f.rkey = Key{0xdead00}; }},
      {"no right", 0x62, [&](Request& f, QpContext&) { f.va = unflushable.va, f.rkey = unflushable.key; }},
      {"another PD", 0x62, [&](Request& f, QpContext&) { f.va = foreign.va, f.rkey = foreign.key; }},
      {"out of bounds", 0x62, [](Request& f, QpContext&) { f.length = 65; }},
      {"before its region", 0x62, [](Request& f, QpContext&) { --f.va; }},
      {"no range, no rkey", kAckUnlimited, [](Request& f, QpContext&) { f.length = 0, f.rkey = Key{0xdead00}; }},
      {"level region", kAckUnlimited,
       [](Request& f, QpContext&) { f.length = 65, f.immediate = kPlacement | kFethRegion; }},
  };
  std::uint32_t qpn = 0x21;
  for (const Row& row : rows) {
    QpContext& q = qp(Transport::kRc, qpn++);
    q.access = kRights | kRemoteFlush;
    Request f{.op = Op::kFlush, .psn = 100, .ack = 0, .va = good.va, .rkey = good.key, .length = 64};
    f.immediate = kPlacement;
    row.spoil(f, q);
    send(q, f);
    if (row.syndrome == kAckUnlimited) continue;
    send(q, {.op = Op::kFlush, .psn = 101, .ack = 0, .va = good.va, .rkey = good.key, .length = 64});  // nothing
  }
  run();
  ASSERT_EQ(answers.size(), std::size(rows));
  for (const Answer& a : answers) {
    const std::size_t n = raw(a.h.destination_qp) - 0x1021;
    ASSERT_LT(n, std::size(rows));
    const bool refused = rows[n].syndrome != kAckUnlimited;
    EXPECT_TRUE(a.is(refused ? Operation::kAck : Operation::kReadResponseOnly)) << rows[n].what;
    EXPECT_EQ(a.h.psn.value, 100u) << rows[n].what;
    EXPECT_EQ(a.h.syndrome, rows[n].syndrome) << rows[n].what;
    EXPECT_EQ(a.h.msn, refused ? 0u : 1u) << rows[n].what;
  }
}
TEST_P(NicErrors, AtomicPartlyBehindItsRegion) {
  make();
  const Region r = region(63);
  burst([&] { send({.op = Op::kFetchAdd, .psn = kFaultPsn, .va = r.va + 56, .rkey = r.key, .swap_add = 1}); },
        no_access());
}

// ---- WQE and lkey
TEST_P(NicErrors, WqeWithAnUnknownLkey) {
  burst([&] { send({.psn = kFaultPsn, .bytes = 8}); }, bad_local(), {{kBuffer, 0x77700, 0x1000}});
}
TEST_P(NicErrors, WqeWithoutALkey) {
  burst([&] { send({.psn = kFaultPsn, .bytes = 8}); }, bad_local(), {{kBuffer, 0, 0x1000}});
}
TEST_P(NicErrors, WqeThatHoldsTooMuch) {
  make();
  const Region r = region(64);
  burst([&] { send({.psn = kFaultPsn, .bytes = 8}); }, bad_local(),
        {{1u << 31, raw(r.key), r.va}, {1, raw(r.key), r.va}});
}
TEST_P(NicErrors, WqeInAnotherProtectionDomain) {
  make();
  const Region r = region(kBuffer, {kAllRights, kOtherPd});
  burst([&] { send({.psn = kFaultPsn, .bytes = 8}); }, bad_local(), {r.whole()});
}
TEST_P(NicErrors, WqeInAReadOnlyRegion) {
  make();
  const Region r = region(kBuffer, {kRemoteRead | kRemoteWrite});
  burst([&] { send({.psn = kFaultPsn, .bytes = 8}); }, bad_local(), {r.whole()});
}
TEST_P(NicErrors, WqeOneByteBeforeItsRegion) {
  make();
  const Region r = region(kBuffer, {kAllRights, kPd, 100});
  burst([&] { send({.psn = kFaultPsn, .bytes = 8}); }, bad_local(), {{kBuffer, raw(r.key), r.va - 1}});
}
TEST_P(NicErrors, WqeOneByteBehindItsRegionMattersOnceItIsReached) {
  make();
  const Region r = region(100, {kAllRights, kPd, 4090});
  burst(
      [&] {
        const ByteVector bytes = send({.psn = kFaultPsn, .bytes = 101});
        expect_written(r.va, {bytes.begin(), bytes.begin() + (0x1000 - (r.va & 0xfff)) % 0x1000});  // its first page
      },
      bad_local(), {{kBuffer, raw(r.key), r.va}});
}
TEST_P(NicErrors, BadSecondElementComesBehindTheFirst) {  // which is written, the rest of the packet is not
  make();
  const Region r = region(kBuffer);
  burst(
      [&] {
        const ByteVector bytes = send({.psn = kFaultPsn, .bytes = 500});
        expect_written(r.va, {bytes.begin(), bytes.begin() + 400});
      },
      bad_local(), {r.piece(0, 400), {400, 0x77700, 0x1000}});
}
TEST_P(NicErrors, LkeyErrorInALaterPacket) {
  make();
  const Region r = region(kMtu);
  Verdict v = bad_local();
  v.psn = kFaultPsn + 1;
  burst(
      [&] {
        expect_written(r.va, send({.op = Op::kSendFirst, .psn = kFaultPsn, .bytes = kMtu}));
        send({.op = Op::kSendLast, .psn = kFaultPsn + 1, .bytes = 1});
      },
      v, {r.whole(), {400, 0x77700, 0x1000}});
}

// ---- longer than the WQE
TEST_P(NicErrors, OnlyLongerThanItsWqe) {
  make();
  const Region r = region(200);
  burst([&] { send({.psn = kFaultPsn, .bytes = 201}); },
        {0x61, DropReason::kMessageTooLong, kFaultPsn, WcStatus::kLocalLength}, {r.whole()});
}
TEST_P(NicErrors, SendThatGrowsBeyondItsWqe) {
  burst(
      [&] {
        begin_send();
        send({.op = Op::kSendMiddle, .psn = kFaultPsn + 1, .bytes = kMtu});
        send({.op = Op::kSendLast, .psn = kFaultPsn + 2, .bytes = 1});
      },
      {0x61, DropReason::kMessageTooLong, kFaultPsn + 1, WcStatus::kLocalLength});
}

// ---- the QP in the error state
TEST_P(NicErrors, WqesPostedToAnRqInErrorAreFlushed) {
  make(2, 64);
  send({.op = Op::kSendMiddle, .psn = 100, .bytes = kMtu});
  at_time(50'000, [&] {
    for (int i = 0; i < 2; ++i) post(*queue, {buffer[0]});
    sim().nic.receive_doorbells.push(sim().engine.now(), {DoorbellKind::kReceive, false, raw(queue->id), 4});
  });
  run();
  expect_answers(1);
  expect_queue_after_error(0, 0, 3);
}

// Older messages that still wait for their WQEs when a younger packet is refused complete; nothing of the younger does.
TEST_P(NicErrors, OlderMessagesCompleteBeforeTheFlushBegins) {
  make(5, 3000);
  std::uint32_t psn = 100;
  for (std::uint32_t i = 0; i < 3; ++i, psn += 3) {
    expect_written(buffer[i].address, message(false, {.psn = psn, .bytes = 2500}));
  }
  send({.op = Op::kWriteLast, .psn = psn, .bytes = 1});
  send({.op = Op::kSendFirst, .psn = psn + 1, .bytes = kMtu});
  run();
  expect_answers(4);
  for (std::uint32_t i = 0; i < 3; ++i) {
    expect_receive(i, kQpn, i, 2500);
    expect_ack(i, 102 + 3 * i, i + 1);
  }
  expect_ack(3, psn, 3, 0x61);
  expect_queue_after_error(3, 3, 4);
}

// Two packets fail in one burst, the younger one earlier in the path: only the older one's NAK is sent.
TEST_P(NicErrors, OlderOfTwoFailuresIsTheOneThatIsReported) {
  make(3, 64);
  send({.op = Op::kWriteOnly, .psn = 100, .bytes = 8, .rkey = Key{0x77700}});  // found by the translator
  send({.op = Op::kSendLast, .psn = 101, .bytes = 1});                         // found by the checker
  send({.psn = 101, .bytes = 1});
  run();
  expect_answers(1);
  expect_ack(0, 100, 0, 0x62);
  expect_queue_after_error(0, 0, 2);
  EXPECT_EQ(events(EventType::kQpAccessError) + events(EventType::kQpRequestError) + events(EventType::kQpFatal), 1u);
}

TEST_P(NicErrors, SendThatEndedIsNotCompletedAgainByWhatFollows) {
  make(3, 3000);
  expect_written(buffer[0].address, message(false, {.psn = 100, .bytes = 2 * kMtu}));
  send({.op = Op::kSendLast, .psn = 102, .bytes = 1});
  run();
  expect_answers(2);
  expect_receive(0, kQpn, 0, 2 * kMtu);
  expect_queue_after_error(1, 1, 2);
}

// ---- order of the checks
class NicCheckOrder : public NicErrors {
 protected:
  void answered(std::uint8_t syndrome, const Request& r) {
    send(r);
    run();
    expect_answers(1);
    expect_ack(0, (syndrome == 0x60) ? 100 : r.psn, 0, syndrome);
  }
};
INSTANTIATE_TEST_SUITE_P(Transports, NicCheckOrder, testing::Values(Transport::kRc, Transport::kXrc), transport_name);
TEST_P(NicCheckOrder, PsnBeforeOpcodeSequence) {
  make(1, 64);
  answered(0x60, {.op = Op::kSendMiddle, .psn = 101, .bytes = 3});
}
TEST_P(NicCheckOrder, OpcodeSequenceBeforeWqe) {
  make();
  answered(0x61, {.op = Op::kWriteLastImm, .psn = 100, .bytes = 3});
}
TEST_P(NicCheckOrder, OpcodeEnabledBeforeWqe) {
  make();
  q->access = kLocalWrite;
  answered(0x61, {.op = Op::kWriteOnlyImm, .psn = 100, .bytes = 3});
}
TEST_P(NicCheckOrder, WqeBeforeLength) {
  make();
  answered(0x20 | kRnrTimer, {.psn = 100, .bytes = kMtu + 1});
}
TEST_P(NicCheckOrder, WqeBeforeRkey) {
  make();
  answered(0x20 | kRnrTimer, {.op = Op::kWriteOnlyImm, .psn = 100, .bytes = 8, .rkey = Key{0x77700}});
}
TEST_P(NicCheckOrder, LengthBeforeRkey) {
  make();
  answered(0x61, {.op = Op::kWriteOnly, .psn = 100, .bytes = 8, .rkey = Key{0x77700}, .length = 9});
}
TEST_P(NicCheckOrder, EnabledBeforeRkey) {
  make();
  q->access = kLocalWrite | kRemoteWrite;
  answered(0x61, {.op = Op::kReadRequest, .psn = 100, .rkey = Key{0x77700}, .length = 9});
}
TEST_P(NicCheckOrder, EnabledBeforeLength) {
  make();
  q->access = kLocalWrite;
  answered(0x61, {.op = Op::kFetchAdd, .psn = 100, .va = 3});
}

}  // namespace
}  // namespace rxnic::nic_errors_test
