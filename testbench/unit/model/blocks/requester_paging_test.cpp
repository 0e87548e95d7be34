// SPDX-License-Identifier: Apache-2.0
// R16 of the requester: packets whose payload lies in absent pages.
#include "model/types/syndrome.h"
#include "testbench/unit/model/blocks/requester_fixture.h"

namespace rxnic::requester_paging_test {
namespace {

constexpr Qpn kOther{0x99};
constexpr std::uint64_t kMtt = 0x900000;

struct Fixture : RequesterFixture {
  explicit Fixture(Bench& b) : RequesterFixture(b) {
    auto region = memory.load<MptEntry>(mpt_address(kLkey));
    region.on_demand = 1;
    memory.store(mpt_address(kLkey), region);
  }
  void set_page(std::uint64_t n, bool present) {
    memory.store(BusAddress{kMtt + 8 * n}, present ? 0x200000 + n * 4096 : kAbsentPage);
  }
  // The answer to a page request, which can be taken in cycle `at`.
  void reply(std::uint64_t at, std::uint32_t number, bool present = true) {
    Doorbell d;
    d.kind = DoorbellKind::kPageReply;
    d.number = number;
    d.value = present ? 0 : 1;
    doorbells.push(Cycle{at - 1}, d);
  }
};
using Ends = std::vector<RequesterFixture::Ended>;

WqeSpec from_page(std::uint64_t n, std::uint32_t bytes = 64) {
  WqeSpec spec;
  spec.sge = {Fixture::segment(bytes, n * 4096 + 0x200)};
  return spec;
}

TEST(RequesterPaging, AQpWaitsForItsPageWhileOthersSend) {
  Bench bench;
  Fixture f(bench);
  f.create(Fixture::context());
  f.create(Fixture::context(Transport::kRc, kOther));
  f.set_page(1, false);
  f.post(10, {from_page(0)});
  f.post(20, {from_page(2)}, kOther);
  bench.at(Cycle{4000}, [&](Cycle) { f.set_page(1, true); });
  f.reply(5000, 1);
  bench.run_to(Cycle{4999});
  ASSERT_EQ(f.events.size(), 1u);
  EXPECT_EQ(f.events.value(0), (Event{EventType::kPageRequest, 1, f.kLkey, f.kVa + 0x200}));
  ASSERT_EQ(f.tx.size(), 1u);
  EXPECT_EQ(f.payload(0)[0], Fixture::byte_at(2 * 4096 + 0x200)) << "of the other QP";
  EXPECT_EQ(f.notices.size(), 1u) << "a request begins when its page is there";
  EXPECT_EQ(f.dut.activity(), Activity::kWaitPage);
  bench.run();
  ASSERT_EQ(f.tx.size(), 2u);
  EXPECT_GT(f.tx.cycle(1), Cycle{5000});
  EXPECT_LT(f.tx.cycle(1), Cycle{5400});
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(f.payload(1)[i], Fixture::byte_at(0x200 + i)) << i;
  EXPECT_EQ(f.dut.counters().page_requests, 1u);
}

// Each packet asks when its turn has come.
TEST(RequesterPaging, APageInTheMiddleOfAMessageIsAskedForWhenItIsReached) {
  Bench bench;
  Fixture f(bench);
  f.create(Fixture::context());
  f.set_page(2, false);
  const std::uint32_t first = 4096 - 0x100;  // bytes in page 1
  f.post(10, {from_page(0, first + 2 * 1024)});
  bench.run_to(Cycle{4000});
  const std::size_t before = f.tx.size();
  ASSERT_EQ(f.events.size(), 1u);
  EXPECT_EQ(f.events.value(0).va, f.kVa + 0x100 + 4096) << "the first byte of the page";
  EXPECT_EQ(before, first / f.kMtu) << "those before it have left";
  bench.at(Cycle{4500}, [&](Cycle) { f.set_page(2, true); });
  f.reply(5000, 1);
  bench.run();
  EXPECT_EQ(f.events.size(), 1u);
  std::vector<std::uint8_t> message;
  for (std::size_t n = 0; n < f.tx.size(); ++n) {
    for (const std::uint8_t byte : f.payload(n)) message.push_back(byte);
  }
  ASSERT_EQ(message.size(), first + 2 * 1024);
  for (std::uint32_t i = 0; i < message.size(); ++i) ASSERT_EQ(message[i], Fixture::byte_at(0x200 + i)) << i;
}

TEST(RequesterPaging, APageThatDoesNotExistEndsTheQp) {
  Bench bench;
  Fixture f(bench);
  f.create(Fixture::context());
  f.set_page(1, false);
  f.post(10, {inline_send(), from_page(0), inline_send()});
  f.reply(1000, 1, false);
  f.answer(2000, AnswerKind::kAck, 100);
  bench.run_to(Cycle{1999});
  EXPECT_EQ(f.completions.size(), 0u) << "the one before is not answered";
  bench.run();
  EXPECT_EQ(f.tx.size(), 1u);
  EXPECT_EQ(f.ended(), (Ends{{1, WcStatus::kLocalProtection}, {2, WcStatus::kFlushed}}));
}

// The QP has gone back when it is heard that the page does not exist.
TEST(RequesterPaging, AnEarlierMessageIsNotBlamed) {
  Bench bench;
  Fixture f(bench);
  f.create(Fixture::context());
  f.set_page(1, false);
  f.post(10, {inline_send(), from_page(0)});
  f.answer(990, AnswerKind::kNak, 100, kNakSequence);
  f.reply(1000, 1, false);
  f.answer(2000, AnswerKind::kAck, 100);
  bench.run();
  EXPECT_EQ(f.psns(), (std::vector<std::uint32_t>{100, 100}));
  EXPECT_EQ(f.ended(), (Ends{{1, WcStatus::kLocalProtection}}));
}

// More than all retries would take.
TEST(RequesterPaging, WaitingForAPageIsNoTimeout) {
  constexpr std::uint64_t kTimeoutCycles = 8192, kReply = 20 * kTimeoutCycles;
  Bench bench;
  Fixture f(bench);
  SendQpContext c = Fixture::context();
  c.timeout = 1;
  c.retry_count = 1;
  f.create(c);
  f.set_page(1, false);
  f.post(10, {inline_send(), from_page(0)});
  bench.at(Cycle{kReply - 100}, [&](Cycle) { f.set_page(1, true); });
  f.reply(kReply, 1);
  f.answer(kReply + 2 * kTimeoutCycles, AnswerKind::kAck, 101);
  bench.run_to(Cycle{kReply});
  EXPECT_EQ(f.dut.counters().timeouts, 0u);
  bench.run_to(Cycle{kReply + kTimeoutCycles});
  EXPECT_EQ(f.tx.size(), 2u);
  bench.run();
  EXPECT_EQ(f.psns(), (std::vector<std::uint32_t>{100, 101, 100, 101}));
  EXPECT_EQ(f.dut.counters().timeouts, 1u);
  EXPECT_EQ(f.ended().size(), 0u) << "unsignaled, and none has failed";
}

// A READ that is repeated needs nothing of its WQE but the read that going back costs.
TEST(RequesterPaging, ARepeatedReadHasNoPages) {
  Bench bench;
  Fixture f(bench);
  f.create(Fixture::context());
  WqeSpec read = from_page(0, 100);
  read.opcode = SendOpcode::kRead;
  f.post(10, {read});
  bench.at(Cycle{800}, [&](Cycle) {
    const std::vector<std::uint8_t> garbage(Fixture::kStride, 0xff);
    f.memory.write(Fixture::context().queue.base, garbage);
  });
  f.answer(990, AnswerKind::kNak, 100, kNakSequence);
  bench.run();
  EXPECT_EQ(f.psns(), (std::vector<std::uint32_t>{100, 100}));
}

// The reply to what a reset QP asked for is nobody's; the QP asks again.
TEST(RequesterPaging, AResetForgetsThePage) {
  Bench bench;
  Fixture f(bench);
  f.create(Fixture::context());
  f.set_page(1, false);
  f.post(10, {from_page(0)});
  f.command(500, SendQueueOperation::kReset);
  f.command(600, SendQueueOperation::kModify);
  f.reply(1000, 1, false);
  bench.at(Cycle{700}, [&](Cycle) { f.producers[raw(f.kQpn)] = 0; });
  bench.run_to(Cycle{1500});
  f.post(1600, {from_page(0)});
  f.reply(2000, 1, false);  // not the number of its request
  bench.at(Cycle{2500}, [&](Cycle) { f.set_page(1, true); });
  f.reply(3000, 2);
  bench.run();
  EXPECT_EQ(f.events.size(), 2u);
  EXPECT_EQ(f.tx.size(), 1u);
  EXPECT_GT(f.tx.cycle(0), Cycle{3000});
}

}  // namespace
}  // namespace rxnic::requester_paging_test
