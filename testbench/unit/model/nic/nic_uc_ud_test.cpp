// SPDX-License-Identifier: Apache-2.0
// UC and UD through the whole NIC (rules 1.3, 6): faulty packets are dropped, and no response is ever sent.
#include "testbench/unit/model/nic/nic_fixture.h"

namespace rxnic::nic_uc_ud_test {
namespace {

using Op = Operation;

// ---- UC, on an RQ and on an SRQ
class NicUc : public NicTest, public testing::WithParamInterface<bool> {
 protected:
  static constexpr std::uint32_t kQpn = 0x31;
  bool on_srq() const { return GetParam(); }
  void make(std::uint32_t wqes, std::uint32_t bytes) {
    queue = on_srq() ? &srq(7) : &rq(kQpn);
    q = &qp(Transport::kUc, kQpn, queue);
    if (wqes > 0) buffer = buffers(*queue, wqes, bytes);
  }
  ByteVector send(const Request& r) { return NicTest::send(*q, r); }
  ByteVector message(bool write, const Request& r, Operation end = Operation::kUnknown) {
    return NicTest::message(*q, write, r, end);
  }
  void TearDown() override {
    EXPECT_TRUE(answers.empty());
    NicTest::TearDown();
  }
  Queue* queue = nullptr;
  QpContext* q = nullptr;
  std::vector<DataSegment> buffer;
};
INSTANTIATE_TEST_SUITE_P(Queues, NicUc, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& srq) { return srq.param ? "Srq" : "Rq"; });

TEST_P(NicUc, SendsOfAllSizesArriveAndNothingIsAnswered) {
  make(6, 4000);
  std::uint32_t psn = kFirstPsn;
  std::uint32_t i = 0;
  for (const std::uint32_t bytes : {0u, 1u, kMtu - 1, kMtu, kMtu + 1, 3 * kMtu + 5}) {
    expect_written(buffer[i++].address, message(false, {.psn = psn, .bytes = bytes, .ack = 1}));
    psn += bytes == 0 ? 1 : (bytes + kMtu - 1) / kMtu;
  }
  run();
  ASSERT_EQ(cqes.size(), 6u);
  expect_receive(0, kQpn, 0, 0);
  expect_receive(4, kQpn, 4, kMtu + 1);
  expect_receive(5, kQpn, 5, 3 * kMtu + 5);
  EXPECT_EQ((cqes[5].cqe.flags & kCqeSrq) != 0, on_srq());
}

TEST_P(NicUc, WritesChangeMemory) {
  make(1, 64);
  const Region r = region(5000);
  expect_written(r.va, message(true, {.psn = 100, .bytes = 3 * kMtu + 5, .va = r.va, .rkey = r.key}));
  expect_written(r.va + 4000, message(true, {.psn = 104, .bytes = 10, .va = r.va + 4000, .rkey = r.key, .immediate = 6},
                                      Op::kWriteOnlyImm));
  run();
  ASSERT_EQ(cqes.size(), 1u);
  expect_receive(0, kQpn, 0, 10);
  EXPECT_EQ(cqes[0].cqe.immediate_or_rkey, 6u);
}

TEST_P(NicUc, GapDropsUntilTheNextMessageWhichUsesTheSameWqe) {
  make(2, 4000);
  const ByteVector lost = send({.op = Op::kSendFirst, .psn = 100, .bytes = kMtu});
  expect_written(buffer[0].address, lost);
  send({.op = Op::kSendMiddle, .psn = 102, .bytes = kMtu});
  send({.op = Op::kSendLast, .psn = 103, .bytes = 5});
  expect_written(buffer[0].address, send({.psn = 104, .bytes = 700}));
  expect_written(buffer[1].address, message(false, {.psn = 105, .bytes = 2 * kMtu}));
  run();
  ASSERT_EQ(cqes.size(), 2u);
  expect_receive(0, kQpn, 0, 700);
  expect_receive(1, kQpn, 1, 2 * kMtu);
  EXPECT_EQ(dropped(DropReason::kUcSequence), 2u);
}

TEST_P(NicUc, GapInAWriteDropsItsRest) {
  make(1, 64);
  const Region r = region(4 * kMtu);
  expect_written(
      r.va, send({.op = Op::kWriteFirst, .psn = 100, .bytes = kMtu, .va = r.va, .rkey = r.key, .length = 3 * kMtu}));
  send({.op = Op::kWriteLastImm, .psn = 102, .bytes = kMtu});
  expect_written(r.va + 3 * kMtu,
                 send({.op = Op::kWriteOnly, .psn = 103, .bytes = 8, .va = r.va + 3 * kMtu, .rkey = r.key}));
  run();
  EXPECT_TRUE(cqes.empty());
}

TEST_P(NicUc, MessageThatBeginsOnAnyPsnIsTaken) {
  make(2, 64);
  expect_written(buffer[0].address, send({.psn = 500, .bytes = 8}));
  expect_written(buffer[1].address, send({.psn = 20, .bytes = 8}));
  run();
  EXPECT_EQ(cqes.size(), 2u);
}

// A new message inside another: on an RQ it replaces it; on an SRQ the WQE completes in error and the new one is lost.
TEST_P(NicUc, NewMessageInsideAnother) {
  make(3, 4000);
  expect_written(buffer[0].address, send({.op = Op::kSendFirst, .psn = 100, .bytes = kMtu}));
  const ByteVector second = send({.op = Op::kSendFirst, .psn = 101, .bytes = kMtu});
  const ByteVector rest = send({.op = Op::kSendLast, .psn = 102, .bytes = 9});
  const ByteVector third = send({.psn = 103, .bytes = 8});
  if (on_srq()) {
    expect_written(buffer[1].address, third);
  } else {
    expect_written(buffer[0].address, second);
    expect_written(buffer[0].address + kMtu, rest);
    expect_written(buffer[1].address, third);
  }
  run();
  ASSERT_EQ(cqes.size(), 2u);
  if (on_srq()) {
    expect_error(0, kQpn, 0, WcStatus::kRemoteInvalidRequest);
    EXPECT_EQ(cqes[0].cqe.srq_number, 7u);
  } else {
    expect_receive(0, kQpn, 0, kMtu + 9);
  }
  expect_receive(1, kQpn, 1, 8);
}

TEST_P(NicUc, IllegalLengthDropsTheMessage) {
  make(3, 4000);
  expect_written(buffer[0].address, send({.op = Op::kSendFirst, .psn = 100, .bytes = kMtu}));
  send({.op = Op::kSendMiddle, .psn = 101, .bytes = kMtu - 4});
  send({.op = Op::kSendLast, .psn = 102, .bytes = 4});
  const ByteVector next = send({.psn = 103, .bytes = 8});
  expect_written(buffer[on_srq() ? 1 : 0].address, next);
  run();
  ASSERT_EQ(cqes.size(), on_srq() ? 2u : 1u);
  if (on_srq()) expect_error(0, kQpn, 0, WcStatus::kRemoteInvalidRequest);
  expect_receive(on_srq() ? 1 : 0, kQpn, on_srq() ? 1 : 0, 8);
}

TEST_P(NicUc, OnlyLongerThanTheMtuIsDropped) {
  make(2, 4000);
  send({.psn = 100, .bytes = kMtu + 1});
  const ByteVector next = send({.psn = 101, .bytes = 8});
  expect_written(buffer[on_srq() ? 1 : 0].address, next);
  run();
  ASSERT_EQ(cqes.size(), on_srq() ? 2u : 1u);
  if (on_srq()) expect_error(0, kQpn, 0, WcStatus::kRemoteInvalidRequest);
}

TEST_P(NicUc, WriteThatIsNotEnabledIsDropped) {
  make(1, 64);
  q->access = kLocalWrite;
  const Region r = region(64);
  send({.op = Op::kWriteOnly, .psn = 100, .bytes = 8, .va = r.va, .rkey = r.key});
  expect_written(buffer[0].address, send({.psn = 101, .bytes = 8}));
  run();
  EXPECT_EQ(cqes.size(), 1u);
  EXPECT_EQ(dropped(DropReason::kInvalidRequest), 1u);
}

TEST_P(NicUc, NoWqeDropsTheWholeMessage) {
  make(0, 0);
  const auto late = buffers(*queue, 1, 4000);
  ring(*queue, 50'000);
  message(false, {.psn = 100, .bytes = 3 * kMtu});
  at(100'000);
  expect_written(late[0].address, message(false, {.psn = 103, .bytes = 2 * kMtu}));
  run();
  ASSERT_EQ(cqes.size(), 1u);
  expect_receive(0, kQpn, 0, 2 * kMtu);
  EXPECT_GE(dropped(DropReason::kNoReceiveWqe), 1u);
}

// The doorbell comes between the packets of a message that found no WQE: the rest of it must not find one.
TEST_P(NicUc, RestOfAMessageWithoutAWqeTakesNone) {
  make(0, 0);
  const auto late = buffers(*queue, 2, 4000);
  ring(*queue, 5'000);
  send({.op = Op::kSendFirst, .psn = 100, .bytes = kMtu});
  at(10'000);
  send({.op = Op::kSendMiddle, .psn = 101, .bytes = kMtu});
  send({.op = Op::kSendLast, .psn = 102, .bytes = 9});
  expect_written(late[0].address, send({.psn = 103, .bytes = 8}));
  run();
  ASSERT_EQ(cqes.size(), 1u);
  expect_receive(0, kQpn, 0, 8);
}

TEST_P(NicUc, BadKeyDropsTheMessageAndNothingElse) {
  make(1, 64);
  const Region r = region(64);
  message(true, {.psn = 100, .bytes = 3 * kMtu, .va = r.va, .rkey = r.key});  // beyond its region
  send({.op = Op::kWriteOnly, .psn = 103, .bytes = 8, .va = 0, .rkey = Key{0x77700}});
  expect_written(r.va, send({.op = Op::kWriteOnly, .psn = 104, .bytes = 8, .va = r.va, .rkey = r.key}));
  expect_written(buffer[0].address, send({.psn = 105, .bytes = 8}));
  run();
  ASSERT_EQ(cqes.size(), 1u);
  expect_receive(0, kQpn, 0, 8);
  EXPECT_EQ(dropped(DropReason::kRemoteAccess), 2u);
}

TEST_P(NicUc, MessageLongerThanItsWqe) {
  make(2, 1500);
  const ByteVector sent = message(false, {.psn = 100, .bytes = 3 * kMtu});
  expect_written(buffer[0].address, ByteVector(sent.begin(), sent.begin() + kMtu));
  const ByteVector next = send({.psn = 103, .bytes = 600});
  expect_written(buffer[on_srq() ? 1 : 0].address, next);
  run();
  ASSERT_EQ(cqes.size(), on_srq() ? 2u : 1u);
  if (on_srq()) expect_error(0, kQpn, 0, WcStatus::kLocalLength);
  expect_receive(on_srq() ? 1 : 0, kQpn, on_srq() ? 1 : 0, 600);
}

TEST_P(NicUc, CompletedMessageIsNotTouchedByTheNextOnesFault) {
  make(3, 4000);
  expect_written(buffer[0].address, message(false, {.psn = 100, .bytes = 2 * kMtu}));
  send({.op = Op::kSendLast, .psn = 102, .bytes = 3});
  expect_written(buffer[1].address, message(false, {.psn = 103, .bytes = 2 * kMtu}));
  send({.op = Op::kSendMiddle, .psn = 105, .bytes = 3});
  expect_written(buffer[2].address, message(false, {.psn = 106, .bytes = 2 * kMtu}));
  run();
  ASSERT_EQ(cqes.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) expect_receive(i, kQpn, i, 2 * kMtu);
}

// A local error moves the QP to the error state on any transport, because the program caused it.
TEST_P(NicUc, BadLkeyMovesTheQpToTheErrorState) {
  make(0, 0);
  post(*queue, {{100, 0x77700, 0x1000}});
  buffers(*queue, 2, 64);
  send({.psn = 100, .bytes = 8});
  at(50'000);
  send({.psn = 101, .bytes = 8});
  run();
  expect_error(0, kQpn, 0, WcStatus::kLocalProtection);
  if (on_srq()) {
    EXPECT_EQ(cqes.size(), 1u);
    EXPECT_EQ(events(EventType::kQpLastWqeReached), 1u);
  } else {
    expect_flushed(1, kQpn, 1, 2);
  }
  EXPECT_EQ(dropped(DropReason::kQpTypeOrState), 1u);
}

// ---- UD
class NicUd : public NicUc {
 protected:
  void make(std::uint32_t wqes, std::uint32_t bytes) {
    NicUc::make(wqes, bytes);
    q->transport = Transport::kUd;
  }
};
INSTANTIATE_TEST_SUITE_P(Queues, NicUd, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& srq) { return srq.param ? "Srq" : "Rq"; });

TEST_P(NicUd, PayloadFollowsTheGrhArea) {
  make(5, kMtu + 40);
  std::vector<ByteVector> areas;
  std::uint32_t i = 0;
  for (const auto encapsulation : {Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6, Encapsulation::kRoceV1,
                                   Encapsulation::kIbGlobal, Encapsulation::kIbLocal}) {
    const std::uint32_t bytes = i == 0 ? kMtu : i == 1 ? 0 : 100 + i;
    ByteVector area;
    expect_written(buffer[i].address + 40, send({.op = i == 2 ? Op::kSendOnlyImm : Op::kSendOnly,
                                                 .psn = 7 * i,
                                                 .bytes = bytes,
                                                 .ack = 1,
                                                 .immediate = 0x1234,
                                                 .encapsulation = encapsulation,
                                                 .damage = [&](ByteVector& frame, const Headers& h) {
                                                   const auto at = frame.begin() + h.network_offset;
                                                   area.assign(at, at + 40);
                                                 }}));
    if (encapsulation == Encapsulation::kRoceV2Ipv4) {  // zeros, then the IPv4 header in bytes 20..39
      area.insert(area.begin(), 20, 0);
      area.resize(40);
    }
    if (encapsulation != Encapsulation::kIbLocal) expect_written(buffer[i].address, area);
    ++i;
  }
  run();
  ASSERT_EQ(cqes.size(), 5u);
  const std::uint32_t bytes[] = {kMtu, 0, 102, 103, 104};
  for (i = 0; i < 5; ++i) {
    expect_receive(i, kQpn, i, bytes[i] + 40);
    EXPECT_EQ(cqes[i].cqe.source_qp, 0x77u);
    EXPECT_EQ((cqes[i].cqe.flags & kCqeGrh) != 0, i != 4);
  }
  EXPECT_EQ(cqes[2].cqe.immediate_or_rkey, 0x1234u);
}

TEST_P(NicUd, GrhAreaIsCutByElementsToo) {
  make(0, 0);
  const Region r = region(300, {kAllRights, kPd, 4090});
  post(*queue, {r.piece(0, 30), r.piece(50, 20), r.piece(100, 100)});
  ByteVector all;
  const ByteVector payload =
      send({.psn = 1,
            .bytes = 60,
            .encapsulation = Encapsulation::kRoceV2Ipv6,
            .damage = [&](ByteVector& frame, const Headers& h) {
              all.assign(frame.begin() + h.network_offset, frame.begin() + h.network_offset + 40);
            }});
  all.insert(all.end(), payload.begin(), payload.end());
  expect_written(r.va, ByteVector(all.begin(), all.begin() + 30));
  expect_written(r.va + 50, ByteVector(all.begin() + 30, all.begin() + 50));
  expect_written(r.va + 100, ByteVector(all.begin() + 50, all.end()));
  run();
  expect_receive(0, kQpn, 0, 100);
}

TEST_P(NicUd, WrongQkeyTakesNoWqeAndCompletesNothing) {
  make(1, 200);
  send({.psn = 1, .bytes = 8, .qkey = 0x5555});
  send({.psn = 1, .bytes = 8, .qkey = 0x80000000});
  run();
  EXPECT_TRUE(cqes.empty());
  EXPECT_EQ(dropped(DropReason::kQkey), 2u);
}

TEST_P(NicUd, NoWqeIsADrop) {
  make(0, 0);
  send({.psn = 1, .bytes = 8});
  run();
  EXPECT_TRUE(cqes.empty());
  EXPECT_EQ(dropped(DropReason::kNoReceiveWqe), 1u);
}

TEST_P(NicUd, PsnDoesNotMatter) {
  make(3, 100);
  for (std::uint32_t i = 0; i < 3; ++i) send({.psn = 9 - 3 * i, .bytes = 0});
  for (std::uint32_t i = 0; i < 3; ++i) {
    ByteVector area(20, 0);
    Headers h = request_headers(Encapsulation::kRoceV2Ipv4, Transport::kUd, Op::kSendOnly, Psn{0});
    ByteVector frame(200);
    build(h, {}, frame);
    area.insert(area.end(), frame.begin() + h.network_offset, frame.begin() + h.network_offset + 20);
    expect_written(buffer[i].address, area);
  }
  run();
  EXPECT_EQ(cqes.size(), 3u);
}

TEST_P(NicUd, LongerThanTheMtuIsDropped) {
  make(1, 4000);
  send({.psn = 1, .bytes = kMtu + 1});
  run();
  EXPECT_TRUE(cqes.empty());
  EXPECT_EQ(dropped(DropReason::kInvalidRequest), 1u);
}

TEST_P(NicUd, LongerThanItsWqeIsDroppedAndTheWqeKept) {
  make(1, 100);
  send({.psn = 1, .bytes = 61});
  const ByteVector fits = send({.psn = 2, .bytes = 60, .encapsulation = Encapsulation::kIbLocal});
  expect_written(buffer[0].address + 40, fits);
  run();
  ASSERT_EQ(cqes.size(), 1u);
  expect_receive(0, kQpn, 0, 100);
  EXPECT_EQ(dropped(DropReason::kMessageTooLong), 1u);
}

TEST_P(NicUd, LongerThanItsWqeCompletesInErrorByPolicy) {
  set("transport_checker.ud_too_long=\"error_cqe\"");
  make(2, 100);
  send({.psn = 1, .bytes = 61});
  const ByteVector fits = send({.psn = 2, .bytes = 60, .encapsulation = Encapsulation::kIbLocal});
  expect_written(buffer[1].address + 40, fits);
  run();
  ASSERT_EQ(cqes.size(), 2u);
  expect_error(0, kQpn, 0, WcStatus::kLocalLength);
  expect_receive(1, kQpn, 1, 100);
}

// ---- the parser's checks, each a silent drop with a counter of its own, in their order
class NicDrops : public NicTest {
 protected:
  struct Fault {
    DropReason reason;
    std::function<void(Request&)> apply;
  };
  static void amend(Request& r, const std::function<void(Headers&)>& more) {
    r.amend = [before = r.amend, more](Headers& h) {
      if (before) before(h);
      more(h);
    };
  }
  static void damage(Request& r, const std::function<void(ByteVector&, const Headers&)>& more) {
    r.damage = [before = r.damage, more](ByteVector& f, const Headers& h) {
      if (before) before(f, h);
      more(f, h);
    };
  }
  // In the order of rules 6.
  static std::vector<Fault> faults(bool ud) {
    std::vector<Fault> all;
    const auto header = [&](DropReason reason, const std::function<void(Headers&)>& f) {
      all.push_back({reason, [f](Request& r) { amend(r, f); }});
    };
    header(DropReason::kUdpChecksum, [](Headers& h) { h.udp_checksum = 1; });
    header(DropReason::kDestinationAddress, [](Headers& h) { h.destination = Address::ipv4(0x0a0000ff); });
    all.push_back({DropReason::kUnknownOpcode,
                   [](Request& r) { damage(r, [](ByteVector& f, const Headers& h) { f[h.bth_offset] = 0x5f; }); }});
    header(DropReason::kVersion, [](Headers& h) { h.version = 1; });
    header(DropReason::kQpnZero, [](Headers& h) { h.destination_qp = Qpn{0}; });
    header(DropReason::kQpNotFound, [](Headers& h) { h.destination_qp = Qpn{0x999}; });
    if (!ud) header(DropReason::kQpAddress, [](Headers& h) { h.source = Address::ipv4(0x0a000099); });
    header(DropReason::kPkey, [](Headers& h) { h.pkey = 0x8123; });
    if (ud) header(DropReason::kQkey, [](Headers& h) { h.qkey = 3; });
    all.push_back(
        {DropReason::kIcrc, [](Request& r) { damage(r, [](ByteVector& f, const Headers&) { f.back() ^= 0x80; }); }});
    return all;
  }
};

TEST_F(NicDrops, FirstFaultIsCountedAndNothingElseHappens) {
  for (const bool ud : {false, true}) {
    Queue& queue = rq(ud ? 0x32 : 0x31);
    QpContext& q = qp(ud ? Transport::kUd : Transport::kRc, queue.context.number, &queue);
    q.remote = Address::ipv4(0x0a000001);
    buffers(queue, 1, 200);
    sim().nic.rx_parser.add_address(Address::ipv4(0x0a000002));
    const auto all = faults(ud);
    for (std::size_t first = 0; first < all.size(); ++first) {
      Request alone{.psn = 100, .bytes = 8};
      all[first].apply(alone);
      send(q, alone);
      Request with_the_later_ones{.psn = 100, .bytes = 8};
      for (std::size_t i = first; i < all.size(); ++i) {
        if (all[first].reason == DropReason::kQpNotFound && i > first) break;
        if (all[i].reason == DropReason::kQpNotFound && all[first].reason == DropReason::kQpnZero) continue;
        all[i].apply(with_the_later_ones);
      }
      send(q, with_the_later_ones);
    }
  }
  run();
  EXPECT_TRUE(answers.empty());
  EXPECT_TRUE(cqes.empty());
  std::map<DropReason, std::uint64_t> expected;
  for (const bool ud : {false, true}) {
    for (const Fault& f : faults(ud)) expected[f.reason] += 2;
  }
  for (std::size_t i = 0; i < kDropReasons; ++i) {
    const auto reason = static_cast<DropReason>(i);
    EXPECT_EQ(dropped(reason), expected[reason]) << name_of(reason);
  }
}

TEST_F(NicDrops, QpOfAnotherTypeOrInResetDropsInSilence) {
  Queue& queue = rq(0x31);
  QpContext& q = qp(Transport::kRc, 0x31, &queue);
  QpContext uc = q;
  uc.transport = Transport::kUc;
  QpContext& reset = qp(Transport::kRc, 0x33);
  reset.state = QpState::kInit;
  buffers(queue, 1, 200);
  send(uc, {.psn = 100, .bytes = 8});
  send(reset, {.psn = 100, .bytes = 8});
  run();
  EXPECT_TRUE(answers.empty());
  EXPECT_EQ(dropped(DropReason::kQpTypeOrState), 2u);
}

}  // namespace
}  // namespace rxnic::nic_uc_ud_test
