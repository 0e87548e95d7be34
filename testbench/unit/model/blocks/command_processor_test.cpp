// SPDX-License-Identifier: Apache-2.0
// The block by its ports alone: its requests to other blocks, their order, and the cycles of its answers. Rules of
// model/blocks/command_processor.h.
#include "model/blocks/command_processor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>

#include "model/types/flow.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic::command_processor_test {
namespace {

constexpr std::uint64_t kCommand = 100;  // cycles
constexpr std::uint64_t kLatency = 50;   // of memory
// A read or a write of the processor: pushed in one cycle, taken in the next, its completion seen one after it came.
constexpr std::uint64_t kMemory = 1 + kLatency + 1;
constexpr BusAddress kMailbox{0x1000}, kRing{0x20000}, kOtherRing{0x30000};
constexpr std::uint64_t kBlock = 3;  // cycles that a block takes
constexpr std::uint64_t kAsked = 1 + kBlock + 1;

CommandProcessorParams params() {
  CommandProcessorParams p;
  p.queue_depth = 8;
  p.command_ps = kCommand * 1000;
  p.buffer_bytes = 512;
  return p;
}

// A block that answers requests after kBlock cycles, by `answer`, and adds its name to a list when it is asked.
template <class Asked, class Reply>
class Answerer final : public Block {
 public:
  Answerer(const sc_core::sc_module_name& name, std::vector<std::string>& asked, std::string who)
      : Block(name), asked_(asked), who_(std::move(who)) {}
  In<Asked> in{"in"};
  Out<Reply> out{"out"};
  Reply answer;
  std::function<bool(const Asked&)> says_nothing;  // requests that are answered with defaults
  std::vector<Asked> seen;
  Cycle step(Cycle now) override {
    if (in.can_pop(now)) {
      seen.push_back(in.pop(now));
      asked_.push_back(who_);
      due_ = now + kBlock;
    }
    if (due_ == now) {
      out.push(now, says_nothing && says_nothing(seen.back()) ? Reply{} : answer);
      due_ = kNever;
    }
    return rest(now, Activity::kStarved, due_);
  }

 private:
  std::vector<std::string>& asked_;
  std::string who_;
  Cycle due_ = kNever;
};

struct Fixture {
  explicit Fixture(Bench& b, bool with_requester = true)
      : dut(b.add<CommandProcessor>("dut", params(), 1000u)),
        commands(b.source(dut.commands)),
        replies(b.sink(dut.replies)),
        memory(b.memory(dut.dma, dut.dma_done, host, kLatency)),
        cqs(join<CqCommand, CqReply>(b, "cq", dut.cqs, dut.cq_replies)),
        regions(join<RegionCommand, RegionReply>(b, "region", dut.regions, dut.region_replies)),
        retirements(join<RetireCommand, StepDone>(b, "retire", dut.retirements, dut.retired)),
        fences(join<DmaFence, StepDone>(b, "fence", dut.fences, dut.fenced)),
        wqs(join<WqCommand, WqReply>(b, "wq", dut.wqs, dut.wq_replies)),
        contexts(join<ContextCommand, ContextReply>(b, "context", dut.contexts, dut.context_replies)),
        qps(join<QpCommand, QpReply>(b, "qp", dut.qps, dut.qp_replies)),
        srqs(join<SrqCommand, StepDone>(b, "srq", dut.srqs, dut.srq_done)),
        tag_lists(join<TagListCommand, StepDone>(b, "list", dut.tag_lists, dut.tag_list_done)),
        steering(join<SteeringCommand, SteeringReply>(b, "steering", dut.steering, dut.steering_done)) {
    if (with_requester) {
      send_queues = &join<SendQueueCommand, SendQueueReply>(b, "sq", dut.send_queues, dut.send_queue_done);
    }
    contexts.answer.line = 7;
    contexts.says_nothing = [](const ContextCommand& c) {
      return c.operation != ContextOperation::kBring && c.operation != ContextOperation::kStop;
    };
    contexts.answer.receive_queue = WqId{5};
  }
  template <class Asked, class Reply>
  Answerer<Asked, Reply>& join(Bench& b, const char* who, Out<Asked>& asks, In<Reply>& replies_to) {
    auto& made = b.add<Answerer<Asked, Reply>>((std::string("answers_") + who).c_str(), asked, who);
    b.connect(asks, made.in, 2);
    b.connect(made.out, replies_to, 2);
    return made;
  }
  // Gives a command that is taken in cycle `at`.
  void give(std::uint64_t at, CommandKind kind, std::uint32_t number = 0, std::uint32_t value = 0) {
    DriverCommand c;
    c.kind = kind;
    c.id = ++given;
    c.number = number;
    c.value = value;
    c.mailbox_address = kMailbox;
    commands.push(Cycle{at - 1}, c);
  }
  const CommandReply& reply(std::size_t n = 0) const { return replies.value(n); }
  std::uint64_t took(std::uint64_t at, std::size_t n = 0) const { return replies.cycle(n).count - at; }

  std::vector<std::string> asked;
  LocalMemory host;
  CommandProcessor& dut;
  Source<DriverCommand>& commands;
  Sink<CommandReply>& replies;
  TestMemory& memory;
  Answerer<CqCommand, CqReply>& cqs;
  Answerer<RegionCommand, RegionReply>& regions;
  Answerer<RetireCommand, StepDone>& retirements;
  Answerer<DmaFence, StepDone>& fences;
  Answerer<WqCommand, WqReply>& wqs;
  Answerer<ContextCommand, ContextReply>& contexts;
  Answerer<QpCommand, QpReply>& qps;
  Answerer<SendQueueCommand, SendQueueReply>* send_queues = nullptr;
  Answerer<SrqCommand, StepDone>& srqs;
  Answerer<TagListCommand, StepDone>& tag_lists;
  Answerer<SteeringCommand, SteeringReply>& steering;
  std::uint32_t given = 0;
};

using Asked = std::vector<std::string>;

TEST(CommandProcessor, ACommandThatNeedsNobodyIsAnsweredAfterCommandCycles) {  // R1
  for (const Cycle until : {Cycle{10 + kCommand - 1}, Cycle{10 + kCommand}}) {
    Bench bench;
    auto& fixture = bench.keep<Fixture>(bench, false);
    fixture.give(10, CommandKind::kSilenceQps, 0, 0);
    bench.run_to(until);
    EXPECT_EQ(fixture.replies.size(), 0u) << "seen in the cycle after";
    bench.run_to(until + 1);
    EXPECT_EQ(fixture.replies.size(), until.count == 10 + kCommand ? 1u : 0u);
  }
}

TEST(CommandProcessor, OneIsCarriedOutAtATimeInOrder) {  // R1
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench, false);
  for (int i = 0; i < 4; ++i) fixture.give(10, CommandKind::kSilenceQps, 0, 0);
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 4u);
  for (std::uint32_t n = 0; n < 4; ++n) {
    EXPECT_EQ(fixture.reply(n).id, n + 1);
    EXPECT_EQ(fixture.replies.cycle(n), Cycle{10 + kCommand * (n + 1) + n}) << "the next is taken in the cycle behind";
  }
  EXPECT_EQ(fixture.dut.counters().commands, 4u);
}

TEST(CommandProcessor, ACqIsMadeFromItsMailbox) {  // R1, R8
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  CqContext cq;
  cq.number = Cqn{9};
  cq.base = kRing;
  cq.slots = 64;
  cq.polled_only = true;
  cq.moderation_period_us = 8;
  fixture.host.store(kMailbox, cq);
  fixture.give(10, CommandKind::kCreateCq, 9);
  bench.run();
  ASSERT_EQ(fixture.cqs.seen.size(), 1u);
  const CqCommand& c = fixture.cqs.seen[0];
  EXPECT_EQ(c.operation, CqOperation::kCreate);
  EXPECT_EQ(c.number, Cqn{9});
  EXPECT_EQ(c.base, kRing);
  EXPECT_EQ(c.slots, 64u);
  EXPECT_TRUE(c.polled_only);
  EXPECT_EQ(c.moderation_period_us, 8);
  ASSERT_EQ(fixture.replies.size(), 1u);
  EXPECT_EQ(fixture.took(10), kCommand + kMemory + kAsked);
  EXPECT_EQ(fixture.dut.counters().bytes_read, sizeof(CqContext));
  EXPECT_EQ(fixture.dut.counters().steps, 1u);
}

TEST(CommandProcessor, AFreedCqIsClosedFencedAndDestroyedInThisOrder) {  // R3
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  fixture.give(10, CommandKind::kFreeCq, 9);
  bench.run();
  EXPECT_EQ(fixture.asked, (Asked{"cq", "fence", "cq"}));
  EXPECT_EQ(fixture.cqs.seen[0].operation, CqOperation::kClose);
  EXPECT_EQ(fixture.cqs.seen[1].operation, CqOperation::kDestroy);
  EXPECT_TRUE(fixture.fences.seen[0].of_client);
  EXPECT_EQ(fixture.fences.seen[0].client, DmaClient::kCqe);
  EXPECT_EQ(fixture.took(10), kCommand + 3 * kAsked);
  EXPECT_EQ(fixture.memory.log().size(), 0u);
}

TEST(CommandProcessor, AnObjectThatIsNotThereEndsItsCommand) {  // R5
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  fixture.cqs.answer.found = false;
  fixture.contexts.answer.found = false;
  fixture.wqs.answer.ok = false;
  fixture.give(10, CommandKind::kFreeCq, 9);
  fixture.give(10, CommandKind::kFreeQp, 9);
  fixture.give(10, CommandKind::kQueryQueue, 9);
  fixture.give(10, CommandKind::kFreeRegion, 9);
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 4u);
  for (std::size_t n = 0; n < 4; ++n) EXPECT_EQ(fixture.reply(n).status, CommandStatus::kNoObject);
  EXPECT_EQ(fixture.asked, (Asked{"cq", "context", "wq"}));
  EXPECT_EQ(fixture.dut.counters().no_object, 4u);
  EXPECT_EQ(fixture.dut.counters().bytes_written, 0u);
}

// CQEs 6..12 of a ring of 8 slots: two contiguous runs. A buffer of 512 bytes holds eight CQEs.
TEST(CommandProcessor, CqesMoveToTheNewRingInOrderWithTheirOwnerBits) {  // R7
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  CqContext cq;
  cq.number = Cqn{9};
  cq.base = kOtherRing;
  cq.slots = 16;
  fixture.host.store(kMailbox, cq);
  const std::vector<std::uint8_t> ones(16 * 64, 0xff);
  fixture.host.write(kOtherRing, ones);
  for (std::uint32_t n = 6; n <= 12; ++n) {
    Cqe cqe;
    cqe.wqe_index = n;
    cqe.owner = n / 8 % 2;
    fixture.host.store(kRing + n % 8 * 64, cqe);
  }
  fixture.cqs.answer = {true, true, kRing, 8, 64, 6, 7};
  fixture.give(10, CommandKind::kResizeCq, 9, 6);
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 1u);
  EXPECT_EQ(fixture.cqs.seen[0].consumer, 6u);
  EXPECT_EQ(fixture.asked, (Asked{"cq", "fence"}));
  for (std::uint32_t n = 0; n < 7; ++n) {
    const auto cqe = fixture.host.load<Cqe>(kOtherRing + n * 64);
    EXPECT_EQ(cqe.wqe_index, 6 + n);
    EXPECT_EQ(cqe.owner, 0);
  }
  EXPECT_EQ(fixture.host.load<std::uint8_t>(kOtherRing + 7 * 64), 0xff);
  EXPECT_EQ(fixture.took(10), kCommand + 2 * kAsked + 5 * kMemory);
  for (const auto& record : fixture.memory.log()) EXPECT_LE(record.request.bytes, 512u) << "R8";
}

TEST(CommandProcessor, AResizeThatDoesNotFitIsRefused) {  // R7
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  CqContext cq;
  cq.slots = 16;
  fixture.host.store(kMailbox, cq);
  fixture.cqs.answer.fits = false;
  fixture.give(10, CommandKind::kResizeCq, 9);
  bench.run();
  EXPECT_EQ(fixture.reply().status, CommandStatus::kRefused);
  EXPECT_EQ(fixture.asked, Asked{"cq"});
  EXPECT_EQ(fixture.dut.counters().refused, 1u);
}

TEST(CommandProcessor, ACqWhoseSlotsAreNoPowerOfTwoIsRefused) {  // R9
  for (const CommandKind kind : {CommandKind::kCreateCq, CommandKind::kResizeCq}) {
    for (const std::uint32_t slots : {0u, 3u, 4u}) {
      Bench bench;
      auto& fixture = bench.keep<Fixture>(bench);
      CqContext cq;
      cq.slots = slots;
      fixture.host.store(kMailbox, cq);
      fixture.cqs.answer.stride = 64;
      fixture.give(10, kind, 9);
      bench.run();
      EXPECT_EQ(fixture.reply().status == CommandStatus::kRefused, slots != 4) << slots;
      EXPECT_EQ(fixture.asked.empty(), slots != 4) << slots;
    }
  }
}

TEST(CommandProcessor, ARegionIsItsEntryInTheTable) {  // R8
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  MptEntry e;
  e.key = 0x1234;
  e.valid = 1;
  e.length = 8192;
  e.mtt_base = 0x5000;
  fixture.host.store(kMailbox, e);
  fixture.regions.answer = {11, 22};
  fixture.give(10, CommandKind::kCreateRegion, e.key);
  bench.at(Cycle{5000}, [&](Cycle) {
    EXPECT_EQ(fixture.host.load<MptEntry>(mpt_address(Key{0x1234})).length, 8192u);
    EXPECT_EQ(fixture.asked, (Asked{"sq", "sq"})) << "nothing of other regions is touched";
    EXPECT_EQ(fixture.send_queues->seen[0].operation, SendQueueOperation::kHide);
    EXPECT_EQ(fixture.send_queues->seen[0].key, Key{0x1234});
    EXPECT_EQ(fixture.send_queues->seen[1].operation, SendQueueOperation::kSettle);
    fixture.asked.clear();
  });
  fixture.give(6000, CommandKind::kFreeRegion, 0x1234);
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 2u);
  EXPECT_EQ(fixture.took(10), kCommand + 2 * kMemory + 2 * kAsked);
  EXPECT_EQ(fixture.took(6000, 1), kCommand + 2 * kMemory + 6 * kAsked);
  EXPECT_EQ(fixture.asked, (Asked{"sq", "region", "retire", "fence", "sq", "fence"})) << "R3";
  EXPECT_EQ(fixture.regions.seen[0].mtt_base, BusAddress{0x5000});
  EXPECT_EQ(fixture.regions.seen[0].length, 8192u);
  EXPECT_EQ(fixture.retirements.seen[0].packets, 11u);
  EXPECT_EQ(fixture.retirements.seen[0].key, Key{0x1234});
  EXPECT_EQ(fixture.fences.seen[0].gathers, 22u);
  EXPECT_FALSE(fixture.fences.seen[0].of_client);
  EXPECT_EQ(fixture.send_queues->seen[2].operation, SendQueueOperation::kHide);
  EXPECT_EQ(fixture.send_queues->seen[2].key, Key{0x1234});
  EXPECT_EQ(fixture.send_queues->seen[3].operation, SendQueueOperation::kSettle);
  EXPECT_TRUE(fixture.fences.seen[1].of_client);
  EXPECT_EQ(fixture.fences.seen[1].client, DmaClient::kSendPayload);
  EXPECT_EQ(fixture.host.load<MptEntry>(mpt_address(Key{0x1234})).valid, 0);
}

TEST(CommandProcessor, ATagMatchingSrqIsMadeInAllBlocksThatKnowOfIt) {
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  WqContext wq;
  wq.kind = WqKind::kSrq;
  wq.tag_matching = true;
  wq.number = 0x77;
  wq.base = kRing;
  wq.slots = 32;
  wq.stride = 64;
  wq.pd = Pdn{4};
  wq.cq = Cqn{6};
  fixture.host.store(kMailbox, wq);
  fixture.wqs.answer.queue = WqId{3};
  fixture.wqs.answer.packets = 44;
  fixture.give(10, CommandKind::kCreateQueue);
  fixture.give(5000, CommandKind::kFreeQueue, 3);
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 2u);
  EXPECT_EQ(fixture.reply().number, 3u);
  EXPECT_EQ(fixture.asked, (Asked{"wq", "list", "srq", "cq", "srq", "wq", "retire", "wq", "list", "cq"}));
  EXPECT_EQ(fixture.wqs.seen[0].stride, 64u);
  EXPECT_EQ(fixture.wqs.seen[1].operation, WqOperation::kClose);
  EXPECT_EQ(fixture.wqs.seen[2].operation, WqOperation::kDestroy);
  EXPECT_EQ(fixture.retirements.seen[0].packets, 44u);
  EXPECT_EQ(fixture.cqs.seen[0].operation, CqOperation::kAttachSrq);
  EXPECT_EQ(fixture.cqs.seen[0].srqn, Srqn{0x77});
  EXPECT_EQ(fixture.cqs.seen[1].operation, CqOperation::kDetachSrq);
  ASSERT_EQ(fixture.srqs.seen.size(), 2u);
  EXPECT_TRUE(fixture.srqs.seen[0].add);
  EXPECT_EQ(fixture.srqs.seen[0].queue, WqId{3});
  EXPECT_FALSE(fixture.srqs.seen[1].add);
  ASSERT_EQ(fixture.tag_lists.seen.size(), 2u);
  EXPECT_TRUE(fixture.tag_lists.seen[0].create);
  EXPECT_EQ(fixture.tag_lists.seen[0].cq, Cqn{6});
  EXPECT_FALSE(fixture.tag_lists.seen[1].create);
}

TEST(CommandProcessor, OfAnSrqWithoutRoomNothingIsLeft) {  // R10
  for (const bool lacks_list : {true, false}) {
    Bench bench;
    auto& fixture = bench.keep<Fixture>(bench);
    WqContext wq;
    wq.kind = WqKind::kSrq;
    wq.tag_matching = true;
    wq.number = 0x77;
    fixture.host.store(kMailbox, wq);
    fixture.wqs.answer.queue = WqId{3};
    fixture.tag_lists.answer.ok = !lacks_list;
    fixture.srqs.answer.ok = lacks_list;
    fixture.give(10, CommandKind::kCreateQueue);
    bench.run();
    EXPECT_EQ(fixture.reply().status, CommandStatus::kNoRoom);
    EXPECT_EQ(fixture.reply().number, 0u);
    EXPECT_EQ(fixture.asked,
              lacks_list ? (Asked{"wq", "list", "list", "wq"}) : (Asked{"wq", "list", "srq", "list", "wq"}));
    EXPECT_EQ(fixture.tag_lists.seen.back().queue, WqId{3});
    EXPECT_FALSE(fixture.tag_lists.seen.back().create);
    EXPECT_EQ(fixture.wqs.seen.back().operation, WqOperation::kDestroy);
    EXPECT_EQ(fixture.wqs.seen.back().queue, WqId{3});
    EXPECT_EQ(fixture.dut.counters().no_room, 1u);
  }
}

TEST(CommandProcessor, AQueueThatCannotBeIsRefused) {  // R9
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  fixture.host.store(kMailbox, WqContext{});
  fixture.wqs.answer.ok = false;
  fixture.give(10, CommandKind::kCreateQueue);
  bench.run();
  EXPECT_EQ(fixture.reply().status, CommandStatus::kRefused);
  EXPECT_EQ(fixture.asked, Asked{"wq"});
}

QpMailbox qp_mailbox() {
  QpMailbox m;
  m.qp.valid = 1;
  m.qp.qpn = Qpn{9};
  m.qp.transport = Transport::kRc;
  m.qp.state = QpState::kRts;
  m.qp.mtu = 2048;
  m.qp.remote = Address::ipv4(0x0a000002);
  m.queue = {kRing, 64, 256, true};
  m.path.udp_source_port = 4242;
  m.retry_count = 3;
  m.sq_psn = 77;
  clear_padding(m);
  return m;
}

TEST(CommandProcessor, AQpIsMadeInMemoryAndInTheRequester) {
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  fixture.host.store(kMailbox, qp_mailbox());
  fixture.give(10, CommandKind::kCreateQp, 9);
  bench.run();
  EXPECT_EQ(fixture.asked, (Asked{"qp", "sq"}));
  EXPECT_EQ(fixture.qps.seen[0].operation, QpOperation::kCreate);
  EXPECT_EQ(fixture.qps.seen[0].state, static_cast<std::uint8_t>(QpState::kRts));
  EXPECT_EQ(fixture.took(10), kCommand + 2 * kMemory + 2 * kAsked);
  EXPECT_EQ(fixture.host.load<StoredQpContext>(qp_context_address(Qpn{9})).mtu, 2048);
  ASSERT_EQ(fixture.send_queues->seen.size(), 1u);
  const SendQueueCommand& c = fixture.send_queues->seen[0];
  EXPECT_EQ(c.operation, SendQueueOperation::kCreate);
  EXPECT_EQ(c.base, kRing);
  EXPECT_TRUE(c.all_signaled);
  EXPECT_EQ(c.retry_count, 3);
  EXPECT_EQ(c.psn, Psn{77});
  AddressVector path;
  std::memcpy(&path, c.path.data(), sizeof path);
  EXPECT_EQ(path.udp_source_port, 4242);
}

TEST(CommandProcessor, OfAQpWithoutRoomNothingIsLeft) {  // R10
  for (const bool lacks_entries : {true, false}) {
    Bench bench;
    auto& fixture = bench.keep<Fixture>(bench);
    fixture.host.store(kMailbox, qp_mailbox());
    fixture.qps.answer.room = !lacks_entries;
    fixture.send_queues->answer.ok = lacks_entries;
    fixture.give(10, CommandKind::kCreateQp, 9);
    bench.run();
    EXPECT_EQ(fixture.reply().status, CommandStatus::kNoRoom);
    EXPECT_EQ(fixture.asked, lacks_entries ? Asked{"qp"} : (Asked{"qp", "sq", "qp"}));
    EXPECT_EQ(fixture.qps.seen.back().operation, lacks_entries ? QpOperation::kCreate : QpOperation::kForget);
    EXPECT_EQ(fixture.host.load<StoredQpContext>(qp_context_address(Qpn{9})).valid, 0);
  }
}

TEST(CommandProcessor, AQpIsNotModifiedWithoutRoom) {  // R10
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  fixture.host.store(kMailbox, qp_mailbox());
  fixture.qps.answer.room = false;
  fixture.give(10, CommandKind::kModifyQp, 9);
  bench.run();
  EXPECT_EQ(fixture.reply().status, CommandStatus::kNoRoom);
  EXPECT_EQ(fixture.asked, (Asked{"context", "qp", "context"}));
}

TEST(CommandProcessor, AQpIsModifiedByItsOwnersAndRefusedInTheErrorState) {  // R9
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  fixture.host.store(kMailbox, qp_mailbox());
  fixture.give(10, CommandKind::kModifyQp, 9, 555);
  bench.at(Cycle{5000}, [&](Cycle) { fixture.qps.answer.failed = true; });
  fixture.give(6000, CommandKind::kModifyQp, 9, 555);
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 2u);
  EXPECT_EQ(fixture.reply(0).status, CommandStatus::kDone);
  EXPECT_EQ(fixture.reply(1).status, CommandStatus::kRefused);
  EXPECT_EQ(fixture.asked, (Asked{"context", "qp", "sq", "context", "context", "qp", "context"}));
  EXPECT_EQ(fixture.contexts.seen[1].operation, ContextOperation::kRelease);
  EXPECT_EQ(fixture.contexts.seen[3].operation, ContextOperation::kRelease) << "in any case";
  EXPECT_EQ(fixture.qps.seen[0].line, 7u);
  EXPECT_EQ(fixture.qps.seen[0].psn, Psn{555});
  EXPECT_EQ(fixture.qps.seen[0].remote, Address::ipv4(0x0a000002));
}

TEST(CommandProcessor, AQpFailsInTheCheckerFirst) {  // R4
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  fixture.give(10, CommandKind::kFailQp, 9);
  bench.at(Cycle{5000}, [&](Cycle) { fixture.qps.answer.failed = true; });
  fixture.give(6000, CommandKind::kFailQp, 9);
  bench.run();
  EXPECT_EQ(fixture.asked, (Asked{"context", "qp", "sq", "context", "context", "qp", "context"}));
  EXPECT_EQ(fixture.send_queues->seen[0].operation, SendQueueOperation::kFail);
  EXPECT_EQ(fixture.reply(1).status, CommandStatus::kDone) << "it had failed before";
}

TEST(CommandProcessor, AQpIsQueriedWithItsContextKeptMeanwhile) {
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  fixture.qps.answer.state = static_cast<std::uint8_t>(QpState::kSqd);
  fixture.qps.answer.psn = Psn{321};
  fixture.send_queues->answer.state = fixture.qps.answer.state;
  fixture.send_queues->answer.psn = Psn{654};
  fixture.give(10, CommandKind::kQueryQp, 9);
  bench.run();
  EXPECT_EQ(fixture.reply().number, static_cast<std::uint32_t>(QpState::kSqd));
  EXPECT_EQ(fixture.reply().value, 321u);
  EXPECT_EQ(fixture.reply().psn, Psn{654});
  EXPECT_EQ(fixture.asked, (Asked{"context", "qp", "sq", "context"}));
  EXPECT_EQ(fixture.send_queues->seen[0].operation, SendQueueOperation::kQuery);
}

TEST(CommandProcessor, AQpIsInSqeWhenItsSendQueueAloneIs) {  // R14
  for (const auto& [receives, sends, shown] : {std::tuple{QpState::kRts, QpState::kSqe, QpState::kSqe},
                                               std::tuple{QpState::kError, QpState::kSqe, QpState::kError},
                                               std::tuple{QpState::kRts, QpState::kError, QpState::kRts}}) {
    Bench bench;
    auto& fixture = bench.keep<Fixture>(bench);
    fixture.qps.answer.state = static_cast<std::uint8_t>(receives);
    fixture.send_queues->answer.state = static_cast<std::uint8_t>(sends);
    fixture.give(10, CommandKind::kQueryQp, 9);
    bench.run();
    EXPECT_EQ(fixture.reply().number, static_cast<std::uint32_t>(shown));
  }
}

TEST(CommandProcessor, AQpIsResetWhenNothingOfItIsLeft) {  // R6
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  fixture.wqs.answer.packets = 33;
  fixture.give(10, CommandKind::kResetQp, 9);
  bench.run();
  EXPECT_EQ(fixture.asked, (Asked{"context", "qp", "sq", "fence", "fence", "context", "wq", "retire", "cq", "fence",
                                  "qp", "context"}));
  const DmaClient clients[] = {DmaClient::kSendWqe, DmaClient::kSendPayload, DmaClient::kCqe};
  for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(fixture.fences.seen[n].client, clients[n]);
  const ContextOperation operations[] = {ContextOperation::kStop, ContextOperation::kSettle, ContextOperation::kRenew};
  for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(fixture.contexts.seen[n].operation, operations[n]);
  EXPECT_EQ(fixture.qps.seen[0].operation, QpOperation::kStop);
  EXPECT_EQ(fixture.qps.seen[1].operation, QpOperation::kForget);
  EXPECT_EQ(fixture.wqs.seen[0].operation, WqOperation::kReset);
  EXPECT_EQ(fixture.wqs.seen[0].queue, WqId{5});
  EXPECT_EQ(fixture.retirements.seen[0].packets, 33u);
  EXPECT_EQ(fixture.took(10), kCommand + 12 * kAsked);
}

TEST(CommandProcessor, AnSrqIsNotResetWithItsQp) {  // R6
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench, false);
  fixture.contexts.answer.uses_srq = true;
  fixture.give(10, CommandKind::kResetQp, 9);
  bench.run();
  EXPECT_EQ(fixture.wqs.seen[0].queue, kNoWq);
  EXPECT_EQ(fixture.wqs.seen[0].line, 7u);
}

TEST(CommandProcessor, AFreedQpIsClearedInMemoryBeforeTheCacheForgetsIt) {  // R3
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  fixture.host.store(qp_context_address(Qpn{9}), qp_mailbox().qp);
  fixture.give(10, CommandKind::kFreeQp, 9);
  bench.run();
  EXPECT_EQ(fixture.asked, (Asked{"context", "qp", "sq", "fence", "fence", "context", "wq", "retire", "cq", "fence",
                                  "qp", "sq", "context"}));
  EXPECT_EQ(fixture.contexts.seen[2].operation, ContextOperation::kDrop);
  EXPECT_EQ(fixture.host.load<StoredQpContext>(qp_context_address(Qpn{9})).valid, 0);
  EXPECT_EQ(fixture.took(10), kCommand + 13 * kAsked + kMemory);
}

TEST(CommandProcessor, ManyQpsAreSilencedByOneCommand) {
  constexpr std::uint32_t kQps = 300;  // three buffers
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  for (std::uint32_t n = 0; n < kQps; ++n) fixture.host.store(kMailbox + n * 4, 0x1000 + n);
  fixture.give(10, CommandKind::kSilenceQps, 0, kQps);
  bench.run();
  ASSERT_EQ(fixture.send_queues->seen.size(), kQps);
  for (std::uint32_t n = 0; n < kQps; ++n) EXPECT_EQ(fixture.send_queues->seen[n].qpn, Qpn{0x1000 + n});
  EXPECT_EQ(fixture.memory.log().size(), 3u);
  EXPECT_EQ(fixture.took(10), kCommand + 3 * kMemory + kQps * kAsked);
}

TEST(CommandProcessor, GroupsComeAndGo) {
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  fixture.host.store(kMailbox, Address::ipv4(0xe0000005));
  fixture.give(10, CommandKind::kAttachMulticast, 0x44);
  fixture.give(10, CommandKind::kDetachMulticast, 0x45);
  bench.run();
  ASSERT_EQ(fixture.steering.seen.size(), 2u);
  EXPECT_EQ(fixture.steering.seen[0].operation, SteeringOperation::kAttach);
  EXPECT_EQ(fixture.steering.seen[0].group, Address::ipv4(0xe0000005));
  EXPECT_EQ(fixture.steering.seen[0].qpn, Qpn{0x44});
  EXPECT_EQ(fixture.steering.seen[1].operation, SteeringOperation::kDetach);
  EXPECT_EQ(fixture.steering.seen[1].qpn, Qpn{0x45});
}

TEST(CommandProcessor, FlowsAndContextsComeAndGo) {
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  FlowMailbox flow;
  flow.value.protocol = 17;
  flow.qpn = 0x44;
  RssMailbox rss;
  rss.qpns[63] = 0x55;
  fixture.host.store(kMailbox, flow);
  fixture.give(10, CommandKind::kAddFlow, 7);
  bench.at(Cycle{1000}, [&](Cycle) { fixture.host.store(kMailbox, rss); });
  fixture.give(2000, CommandKind::kAddRss, 0x46);
  fixture.give(3000, CommandKind::kRemoveRss, 0x46);
  fixture.give(4000, CommandKind::kRemoveFlow, 7);
  bench.run();
  const auto& seen = fixture.steering.seen;
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0].operation, SteeringOperation::kAddFlow);
  EXPECT_EQ(seen[0].flow, 7u);
  EXPECT_EQ(std::memcmp(seen[0].mailbox.data(), &flow, sizeof flow), 0);
  EXPECT_EQ(seen[1].operation, SteeringOperation::kAddRss);
  EXPECT_EQ(seen[1].qpn, Qpn{0x46});
  EXPECT_EQ(std::memcmp(seen[1].mailbox.data(), &rss, sizeof rss), 0);
  EXPECT_EQ(seen[2].operation, SteeringOperation::kRemoveRss);
  EXPECT_EQ(seen[2].qpn, Qpn{0x46});
  EXPECT_EQ(seen[3].operation, SteeringOperation::kRemoveFlow);
  EXPECT_EQ(seen[3].flow, 7u);
  EXPECT_EQ(fixture.took(10), kCommand + kMemory + kAsked);
}

TEST(CommandProcessor, WhatAFlowHasCountedIsWritten) {
  for (const CommandKind kind : {CommandKind::kReadFlow, CommandKind::kRemoveFlow}) {
    Bench bench;
    auto& fixture = bench.keep<Fixture>(bench);
    fixture.steering.answer = {true, 11, 2222};
    fixture.give(10, kind, 7);
    bench.run();
    const bool stays = kind == CommandKind::kReadFlow;
    EXPECT_EQ(fixture.steering.seen.at(0).operation,
              stays ? SteeringOperation::kReadFlow : SteeringOperation::kRemoveFlow);
    EXPECT_EQ(fixture.steering.seen[0].flow, 7u);
    EXPECT_EQ(fixture.host.load<FlowCounts>(kMailbox).packets, 11u);
    EXPECT_EQ(fixture.host.load<FlowCounts>(kMailbox).bytes, 2222u);
    EXPECT_EQ(fixture.took(10), kCommand + kAsked + kMemory);
  }
}

// The address translator forgets pages by their addresses, of which a null region has none.
TEST(CommandProcessor, ANullRegionHasNoPagesToBeForgotten) {  // R8
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  MptEntry e;
  e.key = 0x1234;
  e.valid = 1;
  e.kind = MemoryKind::kNull;
  e.length = ~std::uint64_t{0};
  fixture.host.store(mpt_address(Key{0x1234}), e);
  fixture.give(10, CommandKind::kFreeRegion, 0x1234);
  bench.run();
  ASSERT_EQ(fixture.regions.seen.size(), 1u);
  EXPECT_EQ(fixture.regions.seen[0].length, 0u);
}

TEST(CommandProcessor, AFlowOrContextWithoutRoomIsRefused) {  // R10
  for (const CommandKind kind : {CommandKind::kAddFlow, CommandKind::kAddRss}) {
    Bench bench;
    auto& fixture = bench.keep<Fixture>(bench);
    fixture.host.store(kMailbox, RssMailbox{});
    fixture.steering.answer.ok = false;
    fixture.give(10, kind, 0x44);
    bench.run();
    EXPECT_EQ(fixture.reply().status, CommandStatus::kNoRoom);
  }
}

TEST(CommandProcessor, DeviceMemoryIsCopiedABufferAtATime) {  // R13
  constexpr std::uint32_t kBytes = 2 * kMailboxBytes + 100;   // three buffers
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  for (std::uint32_t n = 0; n < kBytes; n += 4) fixture.host.store(kMailbox + n, n * 7 + 1);
  fixture.give(10, CommandKind::kCopyToDevice, kBytes, 0x440);
  bench.at(Cycle{50'000}, [&](Cycle) {
    for (std::uint32_t n = 0; n < kBytes; n += 4) {
      ASSERT_EQ(fixture.host.load<std::uint32_t>(icm::kDeviceMemory + 0x440 + n), n * 7 + 1);
      fixture.host.store(kMailbox + n, 0);
    }
    EXPECT_EQ(fixture.host.load<std::uint32_t>(icm::kDeviceMemory + 0x440 + kBytes), 0u);
  });
  fixture.give(60'000, CommandKind::kCopyFromDevice, kBytes - 4, 0x444);
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 2u);
  EXPECT_EQ(fixture.took(10), kCommand + 6 * kMemory);
  EXPECT_EQ(fixture.took(60'000, 1), kCommand + 6 * kMemory);
  for (std::uint32_t n = 0; n < kBytes - 4; n += 4) {
    ASSERT_EQ(fixture.host.load<std::uint32_t>(kMailbox + n), (n + 4) * 7 + 1);
  }
  EXPECT_EQ(fixture.host.load<std::uint32_t>(kMailbox + (kBytes - 4)), 0u);
}

TEST(CommandProcessor, AGroupWithoutRoomIsRefused) {  // R10
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench);
  fixture.host.store(kMailbox, Address::ipv4(0xe0000005));
  fixture.steering.answer.ok = false;
  fixture.give(10, CommandKind::kAttachMulticast, 0x44);
  bench.run();
  EXPECT_EQ(fixture.reply().status, CommandStatus::kNoRoom);
}

TEST(CommandProcessor, AFullLinkOfRepliesHoldsTheNextCommandBack) {
  Bench bench;
  auto& fixture = bench.keep<Fixture>(bench, false);
  fixture.replies.stall(Cycle{0}, Cycle{5000});
  for (int i = 0; i < 20; ++i) fixture.give(10, CommandKind::kSilenceQps, 0, 0);
  bench.run_to(Cycle{4999});
  EXPECT_EQ(fixture.dut.counters().commands, 9u) << "eight replies in the link, the ninth at hand";
  bench.run();
  EXPECT_EQ(fixture.replies.size(), 20u);
}

TEST(CommandProcessor, AllModesAndOrdersAgree) {
  expect_equal_in_all_orders([](Bench& bench) {
    auto& fixture = bench.keep<Fixture>(bench);
    fixture.host.store(kMailbox, qp_mailbox());
    std::uint64_t at = 10;
    for (const CommandKind kind : {CommandKind::kCreateQp, CommandKind::kModifyQp, CommandKind::kFailQp,
                                   CommandKind::kResetQp, CommandKind::kFreeQp, CommandKind::kFreeCq}) {
      fixture.give(at += 30, kind, 9, 5);
    }
    bench.run();
    StateHash h;
    mix_all_of(h, fixture.replies);
    h.mix(bench.state_hash());
    return h.value();
  });
}

constexpr Pdn kPd{7};
constexpr Qpn kQp{9};
constexpr Key kRegion{0x2000'11}, kOther{0x2100'11}, kWindow{0x4400'07}, kNewKey{0x4400'08};

struct WindowFixture : Fixture {
  explicit WindowFixture(Bench& b) : Fixture(b), windows(b.source(dut.windows)), done(b.sink(dut.windows_done)) {
    for (const Key key : {kRegion, kOther}) {
      MptEntry e;
      e.key = raw(key);
      e.valid = 1;
      e.access = kLocalWrite | kBindWindow;
      e.pd = raw(kPd);
      e.va = 0x10000;
      e.length = 0x4000;
      e.mtt_base = raw(icm::kMtt);
      host.store(mpt_address(key), e);
    }
  }
  void window(MemoryKind kind) {
    MptEntry e;
    e.key = raw(kWindow);
    e.valid = 1;
    e.kind = kind;
    e.pd = raw(kPd);
    e.invalidated = 1;
    host.store(mpt_address(kWindow), e);
  }
  // A request that is taken in cycle `at`.
  void bind(std::uint64_t at, Key region = kRegion, std::uint64_t length = 0x1000, Key key = kNewKey) {
    windows.push(Cycle{at - 1}, {WindowOperation::kBind, kQp, kPd, key, region, kRemoteWrite, 0x11000, length});
  }
  void invalidate(std::uint64_t at, Key key = kNewKey, Qpn qpn = kQp) {
    windows.push(Cycle{at - 1}, {WindowOperation::kInvalidate, qpn, kPd, key, {}, 0, 0, 0});
  }
  MptEntry entry(Key key) { return host.load<MptEntry>(mpt_address(key)); }
  std::uint32_t bound_to(Key region) { return entry(region).windows; }

  Source<WindowRequest>& windows;
  Sink<StepDone>& done;
};

TEST(CommandProcessorWindows, AType2WindowIsBoundWithoutWaitingForPackets) {  // R11, R12
  Bench bench;
  auto& f = bench.keep<WindowFixture>(bench);
  f.window(MemoryKind::kWindow2);
  f.bind(10);
  bench.run();
  ASSERT_EQ(f.done.size(), 1u);
  EXPECT_TRUE(f.done.value(0).ok);
  EXPECT_EQ(f.done.cycle(0), Cycle{10 + 4 * kMemory + kAsked}) << "without command_cycles";
  const MptEntry w = f.entry(kNewKey);
  EXPECT_EQ(check_region(w, kNewKey, {kPd, kQp}, kRemoteWrite, 0x11000, 0x1000), RegionCheck::kOk);
  EXPECT_EQ(w.bound_to, raw(kRegion));
  EXPECT_EQ(f.bound_to(kRegion), 1u);
  EXPECT_EQ(f.asked, Asked{"region"});
  EXPECT_EQ(f.regions.seen[0].key, kWindow);
  EXPECT_EQ(f.dut.counters().windows_bound, 1u);
  EXPECT_EQ(f.dut.counters().commands, 0u);
  EXPECT_EQ(f.replies.size(), 0u);
}

TEST(CommandProcessorWindows, AKeyIsInvalidWhenNothingUsesItAnyMore) {  // R11, R12
  Bench bench;
  auto& f = bench.keep<WindowFixture>(bench);
  f.window(MemoryKind::kWindow2);
  f.regions.answer = {40, 50};
  f.bind(10);
  f.invalidate(1000);
  bench.run();
  ASSERT_EQ(f.done.size(), 2u);
  EXPECT_TRUE(f.done.value(1).ok);
  EXPECT_EQ(f.asked, (Asked{"region", "region", "retire", "fence"}));
  EXPECT_EQ(f.retirements.seen[0].packets, 40u);
  EXPECT_EQ(f.retirements.seen[0].key, kNewKey);
  EXPECT_EQ(f.fences.seen[0].gathers, 50u);
  EXPECT_EQ(f.entry(kNewKey).invalidated, 1);
  EXPECT_EQ(f.bound_to(kRegion), 0u);
  EXPECT_EQ(f.dut.counters().keys_invalidated, 1u);
}

TEST(CommandProcessorWindows, AType1WindowMovesFromOneRegionToAnotherAndToNone) {  // R12
  Bench bench;
  auto& f = bench.keep<WindowFixture>(bench);
  f.window(MemoryKind::kWindow1);
  f.bind(10);
  f.bind(1000, kRegion, 0x800, Key{0x4400'09});
  f.bind(2000, kOther, 0x800, Key{0x4400'0a});
  f.bind(3000, {}, 0, Key{0x4400'0b});
  std::vector<std::pair<std::uint32_t, std::uint32_t>> counts;
  for (const std::uint64_t at : {999u, 1999u, 2999u, 3999u}) {
    bench.at(Cycle{at}, [&](Cycle) { counts.push_back({f.bound_to(kRegion), f.bound_to(kOther)}); });
  }
  bench.run();
  using Counts = decltype(counts);
  EXPECT_EQ(counts, (Counts{{1, 0}, {1, 0}, {0, 1}, {0, 0}}));
  EXPECT_EQ(std::count(f.asked.begin(), f.asked.end(), "retire"), 3) << "its old key was in use";
  EXPECT_EQ(f.entry(kWindow).invalidated, 1);
  EXPECT_EQ(f.dut.counters().windows_bound, 3u);
  EXPECT_EQ(f.dut.counters().keys_invalidated, 1u);
}

TEST(CommandProcessorWindows, WhatIsNotAllowedIsRefusedAndChangesNothing) {  // R11
  Bench bench;
  auto& f = bench.keep<WindowFixture>(bench);
  f.window(MemoryKind::kWindow2);
  const MptEntry before = f.entry(kWindow);
  f.bind(10, Key{0x3000'11});        // no region
  f.bind(1000, kRegion, 0x4000);     // too long
  f.bind(2000, kRegion, 0);          // type 2: to nothing
  f.invalidate(3000, kWindow);       // it is not bound
  f.invalidate(4000, kRegion);       // a region of ibv_reg_mr
  f.bind(5000, kRegion, 1, kOther);  // no window
  bench.run();
  ASSERT_EQ(f.done.size(), 6u);
  for (std::size_t n = 0; n < 6; ++n) EXPECT_FALSE(f.done.value(n).ok) << n;
  const MptEntry after = f.entry(kWindow);
  EXPECT_EQ(std::memcmp(&before, &after, sizeof before), 0);
  EXPECT_EQ(f.bound_to(kRegion), 0u);
  EXPECT_EQ(f.asked, Asked{});
  EXPECT_EQ(f.dut.counters().windows_refused, 6u);
  EXPECT_EQ(f.dut.counters().refused, 0u) << "of commands";
}

TEST(CommandProcessorWindows, ARegionWithAWindowStaysUntilTheWindowGoes) {  // R12
  Bench bench;
  auto& f = bench.keep<WindowFixture>(bench);
  f.window(MemoryKind::kWindow2);
  f.bind(10);
  f.give(1000, CommandKind::kFreeRegion, raw(kRegion));
  f.give(2000, CommandKind::kFreeRegion, raw(kWindow));  // known by the key that it was allocated with
  f.give(4000, CommandKind::kFreeRegion, raw(kRegion));
  bench.run();
  ASSERT_EQ(f.replies.size(), 3u);
  EXPECT_EQ(f.reply(0).status, CommandStatus::kInUse);
  EXPECT_EQ(f.reply(1).status, CommandStatus::kDone);
  EXPECT_EQ(f.reply(2).status, CommandStatus::kDone);
  EXPECT_EQ(f.entry(kRegion).valid, 0);
  EXPECT_EQ(f.entry(kWindow).valid, 0);
}

TEST(CommandProcessorWindows, AWindowThatAPeerHasInvalidatedIsCountedUntilItIsReleased) {  // R12
  for (const bool invalidated : {true, false}) {
    Bench bench;
    auto& f = bench.keep<WindowFixture>(bench);
    f.window(MemoryKind::kWindow2);
    f.bind(10);
    bench.at(Cycle{1000}, [&](Cycle) {
      MptEntry e = f.entry(kWindow);
      e.invalidated = invalidated;
      f.host.store(mpt_address(kWindow), e);
    });
    f.give(1500, CommandKind::kFreeRegion, raw(kRegion));
    f.give(2000, CommandKind::kReleaseWindow, raw(kWindow));
    f.give(3000, CommandKind::kFreeRegion, raw(kRegion));
    f.give(4000, CommandKind::kReleaseWindow, raw(kWindow));
    bench.run();
    ASSERT_EQ(f.replies.size(), 4u);
    EXPECT_EQ(f.reply(0).status, CommandStatus::kInUse);
    EXPECT_EQ(f.reply(1).status, CommandStatus::kDone);
    EXPECT_EQ(f.reply(2).status, invalidated ? CommandStatus::kDone : CommandStatus::kInUse);
    EXPECT_EQ(f.reply(3).status, CommandStatus::kDone) << "once more changes nothing";
    EXPECT_EQ(f.entry(kWindow).bound_to, invalidated ? 0 : raw(kRegion));
  }
}

TEST(CommandProcessorWindows, ARegionThatGoesAlthoughAWindowIsBoundLeavesItToBeReleased) {  // R12
  Bench bench;
  auto& f = bench.keep<WindowFixture>(bench);
  f.window(MemoryKind::kWindow2);
  f.regions.answer = {40, 50};
  f.bind(10);
  f.give(1000, CommandKind::kFreeRegion, raw(kRegion), 1);
  f.bind(2000, kRegion, 0x1000, Key{raw(kNewKey) + 1});  // it cannot be bound to any more
  f.give(3000, CommandKind::kReleaseWindow, raw(kWindow));
  std::uint8_t bound = 0;
  bench.at(Cycle{2999}, [&](Cycle) {
    bound = f.entry(kWindow).invalidated;
    f.asked.clear();
  });
  f.give(4000, CommandKind::kReleaseWindow, raw(kWindow));
  bench.run();
  ASSERT_EQ(f.replies.size(), 3u);
  EXPECT_EQ(f.reply(0).status, CommandStatus::kDone);
  EXPECT_EQ(f.reply(0).number, 1u) << "so many were bound";
  EXPECT_FALSE(f.done.value(1).ok);
  EXPECT_EQ(bound, 0);
  EXPECT_EQ(f.reply(1).status, CommandStatus::kDone);
  EXPECT_EQ(f.asked, (Asked{"region", "retire", "fence"})) << "what was begun with its key is over";
  EXPECT_EQ(f.regions.seen.back().length, 0x1000u) << "and the pages that it names are forgotten";
  EXPECT_EQ(f.entry(kWindow).invalidated, 1);
  EXPECT_EQ(f.entry(kWindow).bound_to, 0u);
  EXPECT_EQ(f.entry(kRegion).windows, 0u) << "the entry of a region that is gone is not written to";
  EXPECT_EQ(f.reply(2).status, CommandStatus::kDone);
}

// The number of the region is another's by then.
TEST(CommandProcessorWindows, AWindowThatOutlivesItsRegionDoesNotUncountAnothers) {  // R12
  Bench bench;
  auto& f = bench.keep<WindowFixture>(bench);
  f.window(MemoryKind::kWindow2);
  f.bind(10);
  bench.at(Cycle{1000}, [&](Cycle) {
    MptEntry another = f.entry(kRegion);
    another.key += 1;
    another.windows = 5;
    f.host.store(mpt_address(kRegion), another);
  });
  f.give(2000, CommandKind::kFreeRegion, raw(kWindow));
  bench.run();
  EXPECT_EQ(f.reply(0).status, CommandStatus::kDone);
  EXPECT_EQ(f.bound_to(kRegion), 5u);
}

TEST(CommandProcessorWindows, ARequestGoesBeforeCommandsThatWait) {  // R11
  Bench bench;
  auto& f = bench.keep<WindowFixture>(bench);
  f.window(MemoryKind::kWindow2);
  f.give(10, CommandKind::kSilenceQps);
  f.give(11, CommandKind::kSilenceQps);
  f.bind(12);
  bench.run();
  ASSERT_EQ(f.replies.size(), 2u);
  EXPECT_EQ(f.done.cycle(0), Cycle{10 + kCommand + 1 + 4 * kMemory + kAsked});
  EXPECT_EQ(f.replies.cycle(1), f.done.cycle(0) + 1 + kCommand);
}

}  // namespace
}  // namespace rxnic::command_processor_test
