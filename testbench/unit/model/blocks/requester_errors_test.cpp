// SPDX-License-Identifier: Apache-2.0
// Rules R4..R8 of model/blocks/requester.h: errors, and a peer that loses packets.
#include <random>

#include "testbench/unit/model/blocks/requester_fixture.h"

namespace rxnic::requester_errors_test {
namespace {

using S = SendOpcode;
using Fixture = RequesterFixture;
using Psns = std::vector<std::uint32_t>;
using Ends = std::vector<Fixture::Ended>;
constexpr std::uint32_t kReadCycles = Fixture::kReadCycles, kLatency = Fixture::kLatency;
constexpr std::uint64_t kTimeoutCycles = 8192;  // code 1

TEST(RequesterErrors, GoingBackTakesARead) {  // (R4)
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context());
  fixture.post(10, {inline_send()});
  fixture.post(200, {inline_send()});
  fixture.answer(300, AnswerKind::kNak, 100, 0x60);
  bench.run_to(Cycle{300 + kReadCycles + kLatency});
  EXPECT_EQ(fixture.tx.size(), 2u);
  bench.run();
  ASSERT_EQ(fixture.psns(), (Psns{100, 101, 100, 101}));
  EXPECT_EQ(fixture.tx.cycle(2), Cycle{300 + kReadCycles + kLatency});
  EXPECT_EQ(fixture.dut.counters().went_back, 1u);
}

TEST(RequesterErrors, ATimeoutIsCountedFromTheFirstPacketWithoutAnAnswer) {  // (R4)
  Bench bench;
  Fixture fixture(bench);
  SendQpContext c = Fixture::context();
  c.timeout = 1;
  fixture.create(c);
  fixture.post(10, {inline_send()});
  const std::uint64_t sent = 10 + kLatency;
  fixture.post(sent + 5000, {inline_send()});
  fixture.answer(sent + 3 * kTimeoutCycles, AnswerKind::kAck, 101);
  bench.run_to(Cycle{sent + kTimeoutCycles + kReadCycles + kLatency});
  EXPECT_EQ(fixture.tx.size(), 2u);
  bench.run_to(Cycle{sent + kTimeoutCycles + kReadCycles + kLatency + 1});
  EXPECT_EQ(fixture.tx.size(), 3u);
  EXPECT_EQ(fixture.tx.cycle(2), Cycle{sent + kTimeoutCycles + kReadCycles + kLatency});
  bench.run();
  EXPECT_EQ(fixture.psns(), (Psns{100, 101, 100, 101, 100, 101}));
  EXPECT_EQ(fixture.tx.cycle(4), Cycle{sent + 2 * kTimeoutCycles + kReadCycles + kLatency})
      << "the timer runs on from the timeout";
  EXPECT_EQ(fixture.dut.counters().timeouts, 2u);
}

TEST(RequesterErrors, AnAnswerRestartsTheTimer) {  // (R4)
  Bench bench;
  Fixture fixture(bench);
  SendQpContext c = Fixture::context();
  c.timeout = 1;
  fixture.create(c);
  fixture.post(10, {inline_send(), inline_send()});
  fixture.answer(5000, AnswerKind::kAck, 100);
  fixture.answer(5000 + kTimeoutCycles + 500, AnswerKind::kAck, 101);
  bench.run();
  ASSERT_EQ(fixture.psns(), (Psns{100, 101, 101}));
  EXPECT_EQ(fixture.tx.cycle(2), Cycle{5000 + kTimeoutCycles + kReadCycles + kLatency});
}

TEST(RequesterErrors, NothingIsDueWithoutATimer) {  // (R4)
  Bench bench;
  Fixture fixture(bench);
  SendQpContext c = Fixture::context();
  c.timeout = 20;
  fixture.create(c);
  fixture.post(10, {inline_send()});
  fixture.answer(100, AnswerKind::kAck, 100);
  bench.run();
  EXPECT_LT(bench.engine().now(), Cycle{200});
}

TEST(RequesterErrors, RetriesRunOut) {  // (R4) (R6)
  Bench bench;
  Fixture fixture(bench);
  SendQpContext c = Fixture::context();
  c.timeout = 1;
  c.retry_count = 2;
  fixture.create(c);
  fixture.post(10, {inline_send(), {.flags = 0, .sge = {Fixture::segment(5)}}});
  bench.run();
  EXPECT_EQ(fixture.psns(), (Psns{100, 101, 100, 101, 100, 101}));
  EXPECT_EQ(fixture.ended(), (Ends{{0, WcStatus::kRetryExceeded}, {1, WcStatus::kFlushed}}));
  const std::uint64_t sent = 10 + 2 * kReadCycles + kLatency - kReadCycles;  // inline: no read of payload
  EXPECT_EQ(fixture.completions.cycle(0), Cycle{sent + 3 * kTimeoutCycles});
  EXPECT_EQ(fixture.completions.cycle(1), Cycle{sent + 3 * kTimeoutCycles + 1});
}

TEST(RequesterErrors, AnRnrNakIsWaitedOutByItsCode) {  // (R4)
  struct Row {
    std::uint8_t code;
    std::uint64_t microseconds;
  };
  for (const Row row : {Row{1, 10}, Row{12, 640}, Row{31, 491520}, Row{0, 655360}}) {
    Bench bench;
    Fixture fixture(bench);
    SendQpContext c = Fixture::context();
    c.timeout = 1;
    fixture.create(c);
    fixture.post(10, {inline_send(), inline_send()});
    const auto syndrome = static_cast<std::uint8_t>(0x20 | row.code);
    fixture.answer(200, AnswerKind::kRnrNak, 101, syndrome);
    const std::uint64_t again = 200 + row.microseconds * 1000 + kReadCycles + kLatency;
    fixture.answer(again + 100, AnswerKind::kAck, 101);
    bench.run_to(Cycle{again});
    EXPECT_EQ(fixture.tx.size(), 2u);
    bench.run(Cycle{1'000'000'000});
    ASSERT_EQ(fixture.psns(), (Psns{100, 101, 101}));
    EXPECT_EQ(fixture.tx.cycle(2), Cycle{again});
    EXPECT_EQ(fixture.dut.counters().rnr_waits, 1u);
    EXPECT_EQ(fixture.dut.counters().timeouts, 0u) << "no timeout meanwhile";
  }
}

TEST(RequesterErrors, RnrRetriesRunOut) {  // (R6)
  Bench bench;
  Fixture fixture(bench);
  SendQpContext c = Fixture::context();
  c.rnr_retry = 1;
  fixture.create(c);
  fixture.post(10, {inline_send()});
  fixture.answer(200, AnswerKind::kRnrNak, 100, 0x21);
  fixture.answer(20000, AnswerKind::kRnrNak, 100, 0x21);
  bench.run();
  EXPECT_EQ(fixture.psns(), (Psns{100, 100}));
  EXPECT_EQ(fixture.ended(), (Ends{{0, WcStatus::kRnrRetryExceeded}}));
}

TEST(RequesterErrors, ANakOfTheResponderFailsItsRequest) {  // (R6) (R7)
  const std::pair<std::uint8_t, WcStatus> rows[] = {
      {0x61, WcStatus::kRemoteInvalidRequest}, {0x62, WcStatus::kRemoteAccess}, {0x63, WcStatus::kRemoteOperation}};
  for (const auto& [syndrome, status] : rows) {
    Bench bench;
    Fixture fixture(bench);
    fixture.create(Fixture::context());
    fixture.post(10, {inline_send(), {.opcode = S::kWrite, .flags = 0, .sge = {Fixture::segment(5)}}, inline_send()});
    fixture.answer(500, AnswerKind::kNak, 101, syndrome);
    fixture.post(1000, {inline_send()});
    bench.run();
    EXPECT_EQ(fixture.ended(), (Ends{{1, status}, {2, WcStatus::kFlushed}, {3, WcStatus::kFlushed}}));
    EXPECT_EQ(fixture.completions.cycle(0), Cycle{500});
    EXPECT_EQ(fixture.completions.cycle(1), Cycle{501});
    EXPECT_EQ(fixture.completions.cycle(2), Cycle{1000});
    EXPECT_EQ(fixture.completion(0).opcode, CqeOpcode::kRdmaWrite);
    EXPECT_EQ(fixture.completion(0).wqe_index, 1u);
    EXPECT_EQ(fixture.psns(), (Psns{100, 101, 102})) << "nothing more is sent";
    EXPECT_EQ(fixture.dut.counters().errors, 1u);
    EXPECT_EQ(fixture.dut.counters().flushed, 2u);
  }
}

TEST(RequesterErrors, WhatTheReceivePathFindsFlushesAll) {  // (R6)
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context());
  fixture.post(10, {inline_send(), inline_send()});
  fixture.answer(400, AnswerKind::kAck, 100);
  fixture.failed.push(Cycle{499}, {Fixture::kQpn});
  fixture.failed.push(Cycle{600}, {Fixture::kQpn});
  fixture.failed.push(Cycle{600}, {Qpn{0x999}});
  fixture.answer(700, AnswerKind::kAck, 101);
  bench.run();
  EXPECT_EQ(fixture.ended(), (Ends{{1, WcStatus::kFlushed}}));
  EXPECT_EQ(fixture.completions.cycle(0), Cycle{500});
}

TEST(RequesterErrors, SoftwareMayMoveAQpToTheErrorState) {  // (R6)
  for (const bool by_modify : {false, true}) {
    Bench bench;
    Fixture fixture(bench);
    SendQpContext c = Fixture::context(Transport::kUd);
    fixture.create(c);
    fixture.post(10, {{.address = Fixture::path(), .sge = {Fixture::segment(5)}}, {.address = Fixture::path()}});
    c.qp.state = QpState::kError;
    fixture.command(21, by_modify ? SendQueueOperation::kModify : SendQueueOperation::kFail, c);
    bench.run();
    EXPECT_EQ(fixture.tx.size(), 0u);
    EXPECT_EQ(fixture.ended(), (Ends{{0, WcStatus::kFlushed}, {1, WcStatus::kFlushed}}));
  }
}

// Two good SENDs and a bad WQE between them: the number of packets sent, and the three statuses.
void expect_local_failure(const WqeSpec& bad, WcStatus status, Transport transport = Transport::kRc) {
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context(transport));
  WqeSpec good = inline_send();
  good.address = Fixture::path();
  fixture.post(10, {good, bad, good});
  if (transport == Transport::kRc) {
    bench.at(Cycle{300}, [&](Cycle) { EXPECT_EQ(fixture.completions.size(), 0u) << "the first is not answered yet"; });
    fixture.answer(400, AnswerKind::kAck, 100);
  }
  bench.run();
  EXPECT_EQ(fixture.psns(), Psns{100});
  const Ends failed = {{1, status}, {2, WcStatus::kFlushed}};
  Ends ended = fixture.ended();
  if (transport != Transport::kRc) {
    ASSERT_FALSE(ended.empty());
    EXPECT_EQ(ended[0], (Fixture::Ended{0, WcStatus::kSuccess}));
    ended.erase(ended.begin());
  }
  EXPECT_EQ(ended, failed);
}

TEST(RequesterErrors, AWqeThatFailsHereEndsAfterAllBeforeIt) {  // (R5)
  constexpr auto kProtection = WcStatus::kLocalProtection;
  constexpr auto kOperation = WcStatus::kLocalQpOperation;
  const DataSegment wrong_key{8, raw(Fixture::kLkey) + 1, Fixture::kVa};
  const DataSegment one_too_many{Fixture::kRegionBytes + 1, raw(Fixture::kLkey), Fixture::kVa};
  expect_local_failure({.sge = {wrong_key}}, kProtection);
  expect_local_failure({.sge = {Fixture::segment(8), one_too_many}}, kProtection);
  expect_local_failure({.opcode = S::kRead, .sge = {wrong_key}}, kProtection);
  expect_local_failure({.opcode = S::kBindWindow, .sge = {Fixture::segment(4)}}, kOperation);
  expect_local_failure({.opcode = S::kCount}, kOperation);
  expect_local_failure({.opcode = S::kFetchAdd, .sge = {Fixture::segment(4)}}, kOperation);
  expect_local_failure({.opcode = S::kAtomicWrite, .sge = {Fixture::segment(4)}}, kOperation);
  expect_local_failure({.opcode = S::kAtomicWrite, .sge = {wrong_key}}, kProtection);
  expect_local_failure({.opcode = S::kAtomicWrite, .sge = {Fixture::segment(8)}}, kOperation, Transport::kUc);
  expect_local_failure({.opcode = S::kWrite, .sge = {wrong_key}}, kProtection, Transport::kUc);
  expect_local_failure({.opcode = S::kRead, .sge = {Fixture::segment(4)}}, kOperation, Transport::kUc);
  const AddressVector to = Fixture::path();
  expect_local_failure({.address = to, .sge = {wrong_key}}, kProtection, Transport::kUd);
  expect_local_failure({.address = to, .sge = {Fixture::segment(Fixture::kMtu + 1)}}, WcStatus::kLocalLength,
                       Transport::kUd);
  expect_local_failure({.address = Fixture::path("10.0.0.2", 3), .sge = {}}, kOperation, Transport::kUd);
  expect_local_failure({.address = Fixture::path("fe80::2", 2), .sge = {}}, kOperation, Transport::kUd);
}

// After a send error UC and UD are in kSqe, and come back: what was posted by then is flushed, the next WQE is sent.
TEST(RequesterErrors, AnUnreliableQpStopsAndComesBack) {  // (R6), SendQp R4
  for (const Transport transport : {Transport::kUc, Transport::kUd, Transport::kRc}) {
    Bench bench;
    Fixture fixture(bench);
    SendQpContext c = Fixture::context(transport);
    fixture.create(c);
    WqeSpec good = inline_send(), bad{.sge = {{8, raw(Fixture::kLkey) + 1, Fixture::kVa}}};
    good.address = bad.address = Fixture::path();
    fixture.command(5, SendQueueOperation::kQuery, c);
    fixture.post(10, {good, bad, good});
    if (transport == Transport::kRc) fixture.answer(300, AnswerKind::kAck, 100);
    fixture.command(400, SendQueueOperation::kQuery, c);
    fixture.post(410, {good});  // flushed
    fixture.command(600, SendQueueOperation::kModify, c, false, false, true);
    fixture.command(610, SendQueueOperation::kQuery, c);
    fixture.post(620, {good, good});
    bench.run();
    const QpState failed = transport == Transport::kRc ? QpState::kError : QpState::kSqe;
    const QpState after = transport == Transport::kRc ? QpState::kError : QpState::kRts;
    ASSERT_EQ(fixture.command_done.size(), 4u);
    const auto state = [&](std::size_t n) { return static_cast<QpState>(fixture.command_done.value(n).state); };
    EXPECT_EQ(state(0), QpState::kRts);
    EXPECT_EQ(fixture.command_done.value(0).psn, Psn{100});
    EXPECT_EQ(state(1), failed);
    EXPECT_EQ(fixture.command_done.value(1).psn, Psn{101});
    EXPECT_EQ(state(3), after);
    Ends ended = fixture.ended();
    if (transport != Transport::kRc) {
      EXPECT_EQ(fixture.psns(), (Psns{100, 101, 102}));
      EXPECT_EQ(ended, (Ends{{0, WcStatus::kSuccess},
                             {1, WcStatus::kLocalProtection},
                             {2, WcStatus::kFlushed},
                             {3, WcStatus::kFlushed},
                             {4, WcStatus::kSuccess},
                             {5, WcStatus::kSuccess}}));
    } else {
      EXPECT_EQ(fixture.psns(), Psns{100});
      EXPECT_EQ(ended.back(), (Fixture::Ended{5, WcStatus::kFlushed}));
    }
  }
}

// The change comes while WQEs are being flushed and one of them is being read: what is posted behind it waits for them.
TEST(RequesterErrors, WhatIsPostedBehindARecoveryIsSentWhenTheOthersAreFlushed) {  // (R6), SendQp R4
  for (std::uint64_t at = 12; at < 120; ++at) {
    Bench bench;
    Fixture fixture(bench);
    SendQpContext c = Fixture::context(Transport::kUc);
    fixture.create(c);
    const WqeSpec bad{.sge = {{8, raw(Fixture::kLkey) + 1, Fixture::kVa}}};
    fixture.post(10, {bad, inline_send(), inline_send(), inline_send(), inline_send(), inline_send()});
    bool recovers = false;
    bench.at(Cycle{at}, [&](Cycle) { recovers = fixture.completions.size() > 0; });
    fixture.command(at + 1, SendQueueOperation::kModify, c, false, false, true);
    fixture.post(at + 2, {inline_send()});
    bench.run();
    const Ends ended = fixture.ended();
    ASSERT_EQ(ended.size(), 7u) << at;
    for (std::uint32_t n = 0; n < 7; ++n) EXPECT_EQ(ended[n].wqe, n) << at;
    if (!recovers) continue;
    EXPECT_EQ(ended[5].status, WcStatus::kFlushed) << at;
    EXPECT_EQ(ended[6].status, WcStatus::kSuccess) << at;
    EXPECT_EQ(fixture.psns(), Psns{100}) << at;
  }
}

TEST(RequesterErrors, InSqeAQpMayFailForGood) {  // (R6)
  for (const bool recovers_first : {false, true}) {
    Bench bench;
    Fixture fixture(bench);
    SendQpContext c = Fixture::context(Transport::kUc);
    fixture.create(c);
    fixture.post(10, {{.sge = {{8, raw(Fixture::kLkey) + 1, Fixture::kVa}}}, inline_send()});
    if (recovers_first) fixture.command(300, SendQueueOperation::kModify, c, false, false, true);
    fixture.failed.push(Cycle{400}, {Fixture::kQpn});
    fixture.command(500, SendQueueOperation::kModify, c, false, false, true);
    fixture.command(510, SendQueueOperation::kQuery, c);
    fixture.post(520, {inline_send()});
    bench.run();
    EXPECT_EQ(static_cast<QpState>(fixture.command_done.value(fixture.command_done.size() - 1).state), QpState::kError);
    EXPECT_EQ(fixture.ended(),
              (Ends{{0, WcStatus::kLocalProtection}, {1, WcStatus::kFlushed}, {2, WcStatus::kFlushed}}));
    EXPECT_EQ(fixture.tx.size(), 0u);
  }
}

TEST(RequesterErrors, AReadNeedsTheRightToWriteAndReadsToBeAllowed) {  // (R5)
  for (const bool read_only : {true, false}) {
    Bench bench;
    Fixture fixture(bench);
    SendQpContext c = Fixture::context();
    if (!read_only) c.max_rd_atomic = 0;
    fixture.create(c);
    const std::uint64_t pages[] = {0x200000};
    if (read_only) put_region(fixture.memory, Fixture::kLkey, Fixture::kPd, 0, Fixture::kVa, 0x100, pages, 0x900000);
    fixture.post(10, {{.opcode = S::kRead, .sge = {Fixture::segment(8)}}});
    bench.run();
    EXPECT_EQ(fixture.ended(), (Ends{{0, read_only ? WcStatus::kLocalProtection : WcStatus::kLocalQpOperation}}));
  }
}

TEST(RequesterErrors, AnAtomicWriteOnlyReadsItsBufferAndNeedsAtomicsToBeAllowed) {  // (R5)
  for (const std::uint8_t allowed : {1, 0}) {
    Bench bench;
    Fixture fixture(bench);
    SendQpContext c = Fixture::context();
    c.max_rd_atomic = allowed;
    fixture.create(c);
    const std::uint64_t pages[] = {0x200000};
    put_region(fixture.memory, Fixture::kLkey, Fixture::kPd, 0, Fixture::kVa, 0x100, pages, 0x900000);
    fixture.post(10, {{.opcode = S::kAtomicWrite, .sge = {Fixture::segment(8)}}});
    bench.run();
    EXPECT_EQ(fixture.tx.size(), std::size_t{allowed});
    if (allowed == 0) {
      EXPECT_EQ(fixture.ended(), (Ends{{0, WcStatus::kLocalQpOperation}}));
    }
  }
}

TEST(RequesterErrors, ARegionThatGoesAwayDuringAMessageFailsIt) {  // (R5)
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context());
  fixture.post(10, {inline_send(), {.sge = {Fixture::segment(0x6000)}}});
  bench.at(Cycle{10 + kReadCycles + 8}, [&](Cycle) { fixture.memory.store(mpt_address(Fixture::kLkey), MptEntry{}); });
  fixture.answer(1000, AnswerKind::kAck, 100);
  bench.run();
  EXPECT_EQ(fixture.tx.size(), 1 + 3u) << "those that were made before";
  EXPECT_EQ(fixture.ended(), (Ends{{1, WcStatus::kLocalProtection}}));
  EXPECT_EQ(fixture.completions.cycle(0), Cycle{1000});
}

// Memory of payload is missing: what was made before leaves, the rest of the QP does not; another QP goes on. (R5)
TEST(RequesterErrors, PayloadThatCannotBeReadFailsItsWqe) {
  for (const Transport transport : {Transport::kRc, Transport::kUc}) {
    Bench bench;
    Fixture fixture(bench);
    fixture.create(Fixture::context(transport));
    fixture.create(Fixture::context(transport, Qpn{0x12}));
    fixture.payload_reads.fail_reads_from(BusAddress{0x201100});  // the third packet's
    fixture.post(10, {inline_send(), {.sge = {Fixture::segment(4 * Fixture::kMtu)}}, inline_send()});
    fixture.post(20, {inline_send()}, Qpn{0x12});
    fixture.answer(1000, AnswerKind::kAck, 102);
    bench.run();
    EXPECT_EQ(fixture.tx.size(), 3 + 1u);
    const bool reliable = transport == Transport::kRc;
    std::map<std::uint32_t, Ends> ended;
    for (std::size_t n = 0; n < fixture.completions.size(); ++n) {
      const SendCompletion& c = fixture.completion(n);
      ended[raw(c.qpn)].push_back({c.wqe, c.status});
    }
    Ends expected{{1, WcStatus::kLocalProtection}, {2, WcStatus::kFlushed}};
    if (!reliable) expected.insert(expected.begin(), {0, WcStatus::kSuccess});
    EXPECT_EQ(ended[raw(Fixture::kQpn)], expected);
    EXPECT_EQ(ended[0x12].size(), reliable ? 0u : 1u);
    EXPECT_EQ(fixture.shared.packets.in_use(), fixture.tx.size());
  }
}

// What is before it is sent again, although nothing else would bring it: no timeout. (R4) (R5)
TEST(RequesterErrors, AWqeBeforePayloadThatCannotBeReadIsRepeated) {
  for (const bool rnr : {true, false}) {
    Bench bench;
    Fixture fixture(bench);
    fixture.create(Fixture::context());
    fixture.payload_reads.fail_reads_from(BusAddress{0});
    fixture.payload_reads.set_latency(300);
    fixture.post(10, {inline_send(), {.sge = {Fixture::segment(8)}}});
    if (rnr) {  // the payload is lost during the wait
      fixture.answer(120, AnswerKind::kRnrNak, 100, 0x21);
    } else {  // the packet that is sent again stands behind the one that is lost
      fixture.answer(120, AnswerKind::kNak, 100, 0x60);
    }
    fixture.answer(20'000, AnswerKind::kAck, 100);
    bench.run();
    EXPECT_EQ(fixture.psns(), (Psns{100, 100})) << rnr;
    EXPECT_EQ(fixture.ended(), (Ends{{1, WcStatus::kLocalProtection}})) << rnr;
  }
}

// The program has its completion and frees its memory while a packet of it that is sent again is being made. (R5)
TEST(RequesterErrors, PayloadOfACompletedWqeIsNotMissed) {
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context());
  fixture.post(10, {{.sge = {Fixture::segment(8)}}});
  fixture.answer(200, AnswerKind::kNak, 100, 0x60);
  bench.at(Cycle{201}, [&](Cycle) {
    fixture.payload_reads.fail_reads_from(BusAddress{0});
    fixture.payload_reads.set_latency(300);
  });
  fixture.answer(400, AnswerKind::kAck, 100);
  fixture.post(1000, {inline_send()});
  bench.run();
  EXPECT_EQ(fixture.psns(), (Psns{100, 101}));
  EXPECT_EQ(fixture.ended(), Ends{});
}

TEST(RequesterErrors, AStoppedQueueStillRepeatsWhatIsBeforeTheStop) {  // (R5)
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context());
  fixture.post(10, {inline_send(), {.opcode = S::kCount}});
  fixture.answer(300, AnswerKind::kNak, 100, 0x60);
  fixture.answer(500, AnswerKind::kAck, 100);
  bench.run();
  EXPECT_EQ(fixture.psns(), (Psns{100, 100}));
  EXPECT_EQ(fixture.ended(), (Ends{{1, WcStatus::kLocalQpOperation}}));
}

TEST(RequesterErrors, AWqeThatSoftwareChangedAfterPostingFails) {  // (R5)
  for (const bool changed : {false, true}) {
    Bench bench;
    Fixture fixture(bench);
    fixture.create(Fixture::context());
    fixture.post(10, {{.sge = {Fixture::segment(2 * Fixture::kMtu)}}});
    fixture.post(200, {{.sge = {Fixture::segment(5)}}});
    bench.at(Cycle{400}, [&](Cycle) {
      const auto slot = wqe_bytes({.sge = {Fixture::segment(changed ? 3 * Fixture::kMtu : 2 * Fixture::kMtu)}});
      fixture.memory.write(fixture.contexts.at(raw(Fixture::kQpn)).queue.base, slot);
    });
    fixture.answer(500, AnswerKind::kNak, 100, 0x60);  // both are read again
    bench.run();
    if (changed) {
      EXPECT_EQ(fixture.psns(), (Psns{100, 101, 102}));
      EXPECT_EQ(fixture.ended(), (Ends{{0, WcStatus::kLocalQpOperation}, {1, WcStatus::kFlushed}}));
    } else {
      EXPECT_EQ(fixture.psns(), (Psns{100, 101, 102, 100, 101, 102}));
      EXPECT_EQ(fixture.ended(), Ends{});
    }
  }
}

TEST(RequesterErrors, AnImpossibleProducerIndexIsAnError) {  // (R8)
  for (const std::uint32_t producer : {Fixture::kSlots + 2, 0x80000000u, 0u}) {
    Bench bench;
    Fixture fixture(bench);
    fixture.create(Fixture::context());
    fixture.post(10, {inline_send()});
    fixture.ring(200, producer);
    fixture.answer(300, AnswerKind::kAck, 100);
    bench.run();
    EXPECT_EQ(fixture.ended(), (Ends{{1, WcStatus::kLocalQpOperation}})) << producer;
  }
}

TEST(RequesterErrors, GarbageInTheRingHurtsNobodyElse) {  // (R8)
  const std::uint64_t seed = test_seed(11);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    Bench bench;
    Fixture fixture(bench);
    const Transport transports[] = {Transport::kRc, Transport::kUc, Transport::kUd};
    for (std::uint32_t n = 0; n < 3; ++n) fixture.create(Fixture::context(transports[n], Qpn{n + 1}));
    fixture.create(Fixture::context(Transport::kUc, Qpn{9}));
    std::vector<std::uint8_t> garbage(Fixture::kSlots * Fixture::kStride);
    for (std::uint32_t n = 1; n <= 3; ++n) {
      for (auto& b : garbage) b = static_cast<std::uint8_t>(random() % 3 == 0 ? random() : random() % 8);
      fixture.memory.write(fixture.contexts.at(n).queue.base, garbage);
    }
    for (int i = 0; i < 10; ++i) {
      const auto producer = static_cast<std::uint32_t>(random() % 4 == 0 ? random() : random() % 20);
      fixture.ring(10 + 40 * static_cast<std::uint64_t>(i), producer,
                   Qpn{static_cast<std::uint32_t>(1 + random() % 3)});
    }
    for (int i = 0; i < 5; ++i) fixture.post(500 + 20 * static_cast<std::uint64_t>(i), {inline_send()}, Qpn{9});
    bench.run(Cycle{100'000});
    std::size_t good = 0;
    for (std::size_t n = 0; n < fixture.completions.size(); ++n) {
      good += fixture.completion(n).qpn == Qpn{9} && fixture.completion(n).status == WcStatus::kSuccess;
    }
    EXPECT_EQ(good, 5u);
  }
}

// A peer that loses packets and responses, with our receive path's request table: it answers in order, `delay` later.
class LossyPeer {
 public:
  LossyPeer(Fixture& fixture, std::uint64_t seed, double loss) : rig_(fixture), random_(seed), loss_(loss) {
    fixture.tx.on_value([this](Cycle now, const WireFrame& f) { take(rig_.shared.packets[f.buffer], now); });
  }
  std::vector<std::uint8_t> received;
  std::uint32_t reads_done = 0;
  std::uint32_t expected = 100;

 private:
  bool lost() { return std::uniform_real_distribution<>(0, 1)(random_) < loss_; }
  void notify(Cycle now, AnswerKind kind, std::uint32_t psn, std::uint8_t syndrome = 0) {
    if (!reads_.empty() && static_cast<std::int32_t>(psn - reads_.begin()->first) >= 0 &&
        kind != AnswerKind::kReadResponse) {
      kind = AnswerKind::kGap;  // a response to a later request reveals that READ responses are missing
      psn = reads_.begin()->first;
    }
    rig_.answers.push(now + 40, {Fixture::kQpn, Psn{psn}, kind, syndrome});
  }
  void respond(std::uint32_t psn, std::uint32_t count, Cycle now) {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (lost()) continue;
      if (psn + i == reads_.begin()->first) {
        auto [at, left] = *reads_.begin();
        reads_.erase(reads_.begin());
        reads_done += left == 1;
        if (left > 1) reads_[at + 1] = left - 1;
        notify(now, AnswerKind::kReadResponse, psn + i);
      } else if (psn + i > reads_.begin()->first) {
        notify(now, AnswerKind::kGap, reads_.begin()->first);
      }
      if (reads_.empty()) return;
    }
  }
  void take(const Packet& p, Cycle now) {
    if (lost()) return;
    const std::uint32_t psn = p.h.psn.value;
    const bool read = (opcode_info(p.h.opcode).traits & kRead) != 0;
    const std::uint32_t count = read ? (p.h.length + Fixture::kMtu - 1) / Fixture::kMtu : 1;
    if (psn > expected) {
      if (!nak_sent_) notify(now, AnswerKind::kNak, expected, 0x60);
      nak_sent_ = true;
      return;
    }
    const bool duplicate = psn < expected;
    if (!duplicate) {
      nak_sent_ = false;
      expected = psn + count;
      if (read) reads_[psn] = count;
      const Bytes payload = payload_of(p.frame_view(), p.h);
      received.insert(received.end(), payload.begin(), payload.end());
    }
    if (read) {
      if (!reads_.empty() && psn + count > reads_.begin()->first) respond(psn, count, now);
    } else if (p.h.ack_request && !lost()) {
      notify(now, AnswerKind::kAck, duplicate ? expected - 1 : psn);
    }
  }

  Fixture& rig_;
  std::mt19937_64 random_;
  double loss_;
  bool nak_sent_ = false;
  std::map<std::uint32_t, std::uint32_t> reads_;  // READs without all their responses: next PSN, how many
};

std::uint64_t lossy_run(Bench& bench, std::uint64_t seed) {
  Fixture fixture(bench);
  SendQpContext c = Fixture::context();
  c.timeout = 1;
  fixture.create(c);
  LossyPeer peer(fixture, seed, 0.05);
  std::mt19937_64 random(seed + 1);
  std::vector<std::uint8_t> expected;
  std::uint32_t reads = 0;
  std::vector<WqeSpec> specs;
  for (std::uint32_t i = 0; i < Fixture::kSlots; ++i) {
    const auto bytes = static_cast<std::uint32_t>(random() % 4000);
    const auto from = static_cast<std::uint32_t>(random() % 4000);
    WqeSpec spec{.sge = {Fixture::segment(bytes, from)}};
    if (random() % 4 == 0 && bytes > 0) {
      spec.opcode = S::kRead;
      ++reads;
    } else {
      for (std::uint32_t k = 0; k < bytes; ++k) expected.push_back(Fixture::byte_at(from + k));
      if (random() % 4 == 0) spec.flags |= kSendFence;
    }
    specs.push_back(spec);
  }
  for (std::size_t i = 0; i < specs.size(); i += 4) {
    fixture.post(10 + 500 * i,
                 {specs.begin() + static_cast<std::ptrdiff_t>(i), specs.begin() + static_cast<std::ptrdiff_t>(i + 4)});
  }
  bench.run();
  EXPECT_TRUE(peer.received == expected) << "seed " << seed;
  EXPECT_EQ(peer.reads_done, reads) << "seed " << seed;
  EXPECT_TRUE(fixture.dut.drained(Fixture::kQpn));
  EXPECT_EQ(fixture.ended(), Ends{}) << "no error";
  EXPECT_EQ(fixture.notices.size(), Fixture::kSlots);
  return bench.state_hash();
}

TEST(RequesterErrors, EverythingArrivesOnceAndInOrderWhateverIsLost) {
  const std::uint64_t seed = test_seed(5);
  for (std::uint64_t n = 0; n < 100; ++n) {
    Bench bench;
    lossy_run(bench, seed + n);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(RequesterErrors, AllModesAgree) {
  const std::uint64_t seed = test_seed(6);
  expect_equal_in_all_modes([&](Bench& bench) { return lossy_run(bench, seed); });
  expect_equal_in_all_modes([](Bench& bench) -> std::uint64_t {
    Fixture fixture(bench);
    fixture.create(Fixture::context(Transport::kUc, Qpn{1}));
    fixture.create(Fixture::context(Transport::kUd, Qpn{2}));
    fixture.create(Fixture::context(Transport::kRc, Qpn{3}));
    fixture.completions.stall(Cycle{100}, Cycle{300});
    fixture.tx.stall(Cycle{150}, Cycle{250});
    for (std::uint64_t i = 0; i < 8; ++i) {
      fixture.post(10 + 30 * i, {{.opcode = S::kWrite, .sge = {Fixture::segment(700)}}, inline_send()}, Qpn{1});
      fixture.post(12 + 30 * i, {{.address = Fixture::path(), .sge = {Fixture::segment(200)}}}, Qpn{2});
      fixture.post(14 + 30 * i, {inline_send()}, Qpn{3});
    }
    fixture.failed.push(Cycle{180}, {Qpn{1}});
    bench.run();
    return bench.state_hash();
  });
}

}  // namespace
}  // namespace rxnic::requester_errors_test
