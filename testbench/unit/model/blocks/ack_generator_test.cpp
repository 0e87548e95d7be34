// SPDX-License-Identifier: Apache-2.0
// Rules R1..R8 of model/blocks/ack_generator.h (rules 6: acknowledge, syndromes, duplicates).
#include "model/blocks/ack_generator.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "testbench/unit/model/engine/harness.h"
#include "testbench/unit/request_packets.h"

namespace rxnic {
namespace {

using enum Operation;

// Translator and DMA engine behind the gather port: bus addresses are virtual ones, each packet takes `latency` cycles.
class GatherMemory final : public Block {
 public:
  GatherMemory(const sc_core::sc_module_name& name, HostMemory& host, NicShared& shared, std::uint64_t latency)
      : Block(name), host_(host), shared_(shared), latency_(latency), waiting_(512) {}
  In<PacketHandle> in{"in"};
  Out<PacketHandle> out{"out"};

  void fail_psn(Psn psn) { failing_ = psn.value; }
  const std::vector<Cycle>& taken() const { return taken_; }
  std::size_t most_waiting() const { return most_; }
  Cycle step(Cycle now) override {
    if (waiting_.ready(now) && out.can_push(now)) out.push(now, waiting_.pop());
    if (in.can_pop(now)) {
      const PacketHandle h = in.pop(now);
      Packet& p = shared_.packets[h];
      for (std::size_t s = 0; s < p.segment_count; ++s) {
        const Segment& segment = p.segments[s];
        host_.read(BusAddress{segment.va}, {const_cast<std::uint8_t*>(segment.data), segment.bytes});
      }
      if (p.h.psn.value == failing_) p.fail(DropReason::kRemoteAccess, Outcome::kNak, 0x62, WcStatus::kRemoteAccess);
      taken_.push_back(now);
      waiting_.push(h, now + latency_);
      most_ = std::max(most_, std::size_t{waiting_.size()});
    }
    const Cycle due = waiting_.next_ready();
    Cycle next = due > now ? due : out.can_push(now) ? now + 1 : kNever;
    if (!in.empty()) next = now + 1;
    return rest(now, waiting_.empty() ? Activity::kStarved : Activity::kBusy, next);
  }

 private:
  HostMemory& host_;
  NicShared& shared_;
  std::uint64_t latency_;
  DelayLine<PacketHandle> waiting_;
  std::uint32_t failing_ = ~0u;
  std::vector<Cycle> taken_;
  std::size_t most_ = 0;
};

struct Rig {
  explicit Rig(Bench& b, const AckGeneratorParams& params = {}, std::uint64_t memory_latency = 100,
               std::uint32_t tx_capacity = 8, const PacketPool::Quotas& quotas = {})
      : bench(b),
        host(b.keep<LocalMemory>()),
        shared(b.keep<NicShared>(quotas)),
        qp(b.keep<QpContext>(test_qp(Transport::kRc))),
        dut(b.add<AckGenerator>("dut", params, shared, 1000u)),
        in(b.source(dut.in)),
        tx(b.sink(dut.tx, tx_capacity)),
        gather(b.add<GatherMemory>("gather", host, shared, memory_latency)),
        memory(b.memory(dut.dma, dut.dma_done, host, memory_latency)) {
    b.connect(dut.gather, gather.in);
    b.connect(gather.out, dut.gathered);
    for (std::uint64_t at = 0; at < 0x10000; at += 8) host.store(BusAddress{at}, at * 0x9e3779b97f4a7c15u);
    tx.on_value([this](Cycle, const PacketHandle& h) { check(h); });
  }

  PacketHandle request(QpContext& of, Operation operation, std::uint32_t psn, std::uint32_t bytes = 8,
                       std::uint64_t va = 0x1000) {
    const PacketHandle h = shared.packets.allocate(PacketClass::kReceive);
    Packet& p = shared.packets[h];
    Headers headers = request_headers(Encapsulation::kRoceV2Ipv4, of.transport, operation, Psn{psn});
    headers.destination_qp = of.qpn;
    headers.va = va;
    headers.rkey = Key{0x500};
    headers.length = bytes;
    const bool data = (opcode_info(headers.opcode).traits & kHasPayload) != 0;
    set_frame(p, headers, counting_bytes(data ? bytes : 0));
    accept_packet(p, of);
    p.acknowledge = true;
    if (p.has(kAtomic)) {
      p.segments[0].bus = BusAddress{va};
      p.resource = raw(of.qpn) % 16 * 4 + psn % 4;
    }
    return h;
  }
  PacketHandle send(std::uint32_t psn) { return request(qp, kSendOnly, psn); }
  PacketHandle nak(QpContext& of, std::uint32_t psn, std::uint8_t syndrome) {
    const PacketHandle h = request(of, kSendOnly, psn);
    mark_failed((*this)[h], DropReason::kInvalidRequest, syndrome, WcStatus::kRemoteInvalidRequest);
    return h;
  }
  // Every answer: parses, has a good ICRC, and its buffer is released.
  void check(PacketHandle h) {
    Packet& p = shared.packets[h];
    Headers parsed;
    EXPECT_EQ(parse(p.frame_view(), p.h.link, parsed), ParseStatus::kOk);
    EXPECT_TRUE(icrc_matches(p.frame_view(), parsed));
    EXPECT_EQ(parsed.destination_qp, kTestPeer);
    answers.push_back(parsed);
    payloads.emplace_back(p.frame.begin() + parsed.payload_offset,
                          p.frame.begin() + parsed.payload_offset + parsed.payload_bytes);
    shared.packets.release(h);
  }
  Operation operation(std::size_t n) const { return opcode_info(answers[n].opcode).operation; }
  std::uint32_t psn(std::size_t n) const { return answers[n].psn.value; }
  std::vector<std::uint8_t> host_bytes(std::uint64_t va, std::size_t n) {
    std::vector<std::uint8_t> bytes(n);
    host.read(BusAddress{va}, bytes);
    return bytes;
  }
  // Nothing is left behind.
  void expect_clean() {
    EXPECT_EQ(shared.packets.in_use(), 0u);
    EXPECT_EQ(qp.pins.count(), 0u);
  }
  Packet& operator[](PacketHandle h) { return shared.packets[h]; }

  Bench& bench;
  LocalMemory& host;
  NicShared& shared;
  QpContext& qp;
  AckGenerator& dut;
  Source<PacketHandle>& in;
  Sink<PacketHandle>& tx;
  GatherMemory& gather;
  TestMemory& memory;
  std::vector<Headers> answers;
  std::vector<std::vector<std::uint8_t>> payloads;
};

TEST(AckGenerator, AnAckLeavesAfterLatencyCycles) {
  for (const std::uint32_t latency : {1u, 4u, 9u}) {
    AckGeneratorParams params;
    params.latency_cycles = latency;
    Bench bench;
    Rig rig(bench, params);
    rig.in.push(Cycle{9}, rig.send(0x123));  // taken in cycle 10
    bench.run_to(Cycle{10 + latency});       // the sink takes it one later
    EXPECT_EQ(rig.answers.size(), 0u);
    bench.run_to(Cycle{10 + latency + 1});
    ASSERT_EQ(rig.answers.size(), 1u);
    EXPECT_EQ(rig.tx.cycle(0), Cycle{10 + latency});
    EXPECT_EQ(rig.operation(0), kAck);
    EXPECT_EQ(rig.psn(0), 0x123u);
    EXPECT_EQ(rig.answers[0].syndrome, 0x1f);
    EXPECT_EQ(rig.answers[0].msn, 1u);
    rig.expect_clean();
  }
}

TEST(AckGenerator, AnswersStartResponseCyclesApart) {
  for (const std::uint32_t cycles : {1u, 2u, 5u}) {
    AckGeneratorParams params;
    params.response_cycles = cycles;
    Bench bench;
    Rig rig(bench, params);
    for (std::uint32_t i = 0; i < 6; ++i) rig.in.push(Cycle{9}, rig.send(i));
    bench.run();
    ASSERT_EQ(rig.answers.size(), 6u);
    for (std::uint32_t i = 0; i < 6; ++i) {
      EXPECT_EQ(rig.tx.cycle(i), Cycle{14 + i * cycles});
      EXPECT_EQ(rig.psn(i), i);
    }
  }
}

TEST(AckGenerator, APacketWithoutAnAnswerRetires) {
  Bench bench;
  Rig rig(bench);
  const PacketHandle quiet = rig.send(1);
  rig[quiet].acknowledge = false;
  const PacketHandle dropped = rig.send(2);
  rig[dropped].acknowledge = false;
  rig[dropped].drop_reason = DropReason::kUcSequence;
  rig[dropped].outcome = Outcome::kDrop;
  rig.in.push(Cycle{9}, quiet);
  rig.in.push(Cycle{9}, dropped);
  bench.run();
  EXPECT_EQ(rig.answers.size(), 0u);
  EXPECT_EQ(rig.shared.ledger.counters().accepted, 1u);
  EXPECT_EQ(rig.shared.ledger.counters().dropped[static_cast<std::size_t>(DropReason::kUcSequence)], 1u);
  EXPECT_EQ(rig[quiet].stamped(Station::kAckGenerator), Cycle{10});
  rig.expect_clean();
}

TEST(AckGenerator, AnAnswerToAnAnswerIsNeverSent) {
  Bench bench;
  Rig rig(bench);
  const PacketHandle h = rig.request(rig.qp, kReadResponseOnly, 1);
  rig[h].outcome = Outcome::kNak;  // whatever a block made of it
  rig.in.push(Cycle{9}, h);
  bench.run();
  EXPECT_EQ(rig.answers.size(), 0u);
  rig.expect_clean();
}

TEST(AckGenerator, NaksCarryTheirSyndrome) {
  for (const std::uint8_t syndrome : {0x61, 0x62, 0x63}) {
    Bench bench;
    Rig rig(bench);
    rig.in.push(Cycle{9}, rig.nak(rig.qp, 7, syndrome));
    bench.run();
    ASSERT_EQ(rig.answers.size(), 1u);
    EXPECT_EQ(rig.operation(0), kAck);
    EXPECT_EQ(rig.answers[0].syndrome, syndrome);
    EXPECT_EQ(rig.psn(0), 7u);
    EXPECT_EQ(rig.answers[0].msn, 0u) << "the message did not complete";
    EXPECT_EQ(rig.dut.counters().naks, 1u);
  }
}

TEST(AckGenerator, ASequenceNakNamesTheExpectedPsn) {
  Bench bench;
  Rig rig(bench);
  const PacketHandle h = rig.send(9);
  Packet& p = rig[h];
  p.outcome = Outcome::kNak;
  p.syndrome = 0x60;
  p.answer_psn = Psn{5};
  p.answer_msn = 3;
  rig.in.push(Cycle{9}, h);
  bench.run();
  ASSERT_EQ(rig.answers.size(), 1u);
  EXPECT_EQ(rig.answers[0].syndrome, 0x60);
  EXPECT_EQ(rig.psn(0), 5u);
  EXPECT_EQ(rig.answers[0].msn, 3u);
}

TEST(AckGenerator, AnRnrNakCarriesItsTimer) {
  Bench bench;
  Rig rig(bench);
  rig.qp.min_rnr_timer = 0x0c;
  const PacketHandle h = rig.send(9);
  Refusals().fail_rnr(rig[h]);
  rig.in.push(Cycle{9}, h);
  bench.run();
  ASSERT_EQ(rig.answers.size(), 1u);
  EXPECT_EQ(rig.answers[0].syndrome, 0x2c);
  EXPECT_EQ(rig.psn(0), 9u);
  EXPECT_EQ(rig.dut.counters().rnr_naks, 1u);
}

TEST(AckGenerator, ADuplicateIsAcknowledgedAgain) {
  Bench bench;
  Rig rig(bench);
  const PacketHandle h = rig.send(3);
  rig[h].outcome = Outcome::kAckAgain;
  rig[h].answer_psn = Psn{17};
  rig[h].answer_msn = 11;
  rig.in.push(Cycle{9}, h);
  bench.run();
  ASSERT_EQ(rig.answers.size(), 1u);
  EXPECT_EQ(rig.psn(0), 17u);
  EXPECT_EQ(rig.answers[0].msn, 11u);
}

TEST(AckGenerator, NothingIsAnsweredBehindAReadThatFailsHere) {  // R7
  Bench bench;
  Rig rig(bench);
  auto& refusals = bench.sink(rig.dut.refusals);
  rig.gather.fail_psn(Psn{1});
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 1));
  rig.in.push(Cycle{9}, rig.nak(rig.qp, 2, 0x61));  // found earlier
  rig.in.push(Cycle{9}, rig.send(3));
  rig.in.push(Cycle{2000}, rig.send(4));
  bench.run();
  ASSERT_EQ(rig.answers.size(), 1u);
  EXPECT_EQ(rig.answers[0].syndrome, 0x62);
  EXPECT_EQ(rig.dut.counters().suppressed, 3u);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals.value(0).kind, Refusal::Kind::kError);
  EXPECT_EQ(refusals.value(0).qp, &rig.qp);
  EXPECT_EQ(rig.shared.packets.in_use(), 0u);
  EXPECT_EQ(rig.qp.pins.count(), 1u) << "the report's";
}

struct ReadCase {
  std::uint32_t bytes;
  std::vector<Operation> operations;
};

TEST(AckGenerator, AReadOfAnyLengthIsAnswered) {
  const std::vector<ReadCase> cases{{0, {kReadResponseOnly}},
                                    {1, {kReadResponseOnly}},
                                    {1023, {kReadResponseOnly}},
                                    {1024, {kReadResponseOnly}},
                                    {1025, {kReadResponseFirst, kReadResponseLast}},
                                    {3072, {kReadResponseFirst, kReadResponseMiddle, kReadResponseLast}}};
  for (const ReadCase& c : cases) {
    for (const Outcome outcome : {Outcome::kExecute, Outcome::kReplay}) {
      Bench bench;
      Rig rig(bench);
      const PacketHandle h = rig.request(rig.qp, kReadRequest, 0xfffffe, c.bytes, 0x2345);
      rig[h].outcome = outcome;
      rig.in.push(Cycle{9}, h);
      bench.run();
      ASSERT_EQ(rig.answers.size(), c.operations.size()) << c.bytes;
      std::vector<std::uint8_t> data;
      for (std::size_t i = 0; i < c.operations.size(); ++i) {
        EXPECT_EQ(rig.operation(i), c.operations[i]);
        EXPECT_EQ(rig.psn(i), (0xfffffe + i) & 0xffffff);
        const bool aeth = c.operations[i] != kReadResponseMiddle;
        EXPECT_EQ(rig.answers[i].syndrome, aeth ? 0x1f : 0);
        EXPECT_EQ(rig.answers[i].msn, aeth ? 1u : 0u);
        data.insert(data.end(), rig.payloads[i].begin(), rig.payloads[i].end());
      }
      EXPECT_EQ(data, rig.host_bytes(0x2345, c.bytes));
      EXPECT_EQ(rig.dut.counters().replays, outcome == Outcome::kReplay ? 1u : 0u);
      rig.expect_clean();
    }
  }
}

TEST(AckGenerator, ReadDataIsAskedForAtOnceAndSentAfterLatencyCycles) {
  Bench bench;
  Rig rig(bench, {}, 100);
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 1, 2048));
  bench.run();
  ASSERT_EQ(rig.gather.taken().size(), 2u);
  EXPECT_EQ(rig.gather.taken()[0], Cycle{11});  // pushed in 10, in which the request is taken
  EXPECT_EQ(rig.gather.taken()[1], Cycle{12});
  // The data is pushed in 111 and 112, taken in 112 and, response_cycles = 2 later, in 114.
  EXPECT_EQ(rig.tx.cycle(0), Cycle{116});
  EXPECT_EQ(rig.tx.cycle(1), Cycle{118});
}

TEST(AckGenerator, AnAckBehindAReadWaitsForItsLastResponse) {
  Bench bench;
  Rig rig(bench);
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 1, 2048));
  rig.in.push(Cycle{9}, rig.send(3));
  bench.run();
  ASSERT_EQ(rig.answers.size(), 3u);
  EXPECT_EQ(rig.psn(0), 1u);
  EXPECT_EQ(rig.psn(1), 2u);
  EXPECT_EQ(rig.psn(2), 3u);
  EXPECT_EQ(rig.operation(2), kAck);
  EXPECT_EQ(rig.tx.cycle(2), Cycle{120});
}

TEST(AckGenerator, AnAckOfAnotherQpDoesNotWait) {
  Bench bench;
  Rig rig(bench);
  QpContext other = test_qp(Transport::kRc);
  other.qpn = Qpn{0x12};
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 1, 2048));
  rig.in.push(Cycle{9}, rig.request(other, kSendOnly, 77));
  bench.run();
  ASSERT_EQ(rig.answers.size(), 3u);
  EXPECT_EQ(rig.psn(0), 77u);
  EXPECT_EQ(rig.tx.cycle(0), Cycle{15});
}

TEST(AckGenerator, AReadResponseNeverOvertakesTheAckBeforeIt) {
  AckGeneratorParams params;
  params.response_cycles = 40;  // a slow builder and fast memory
  Bench bench;
  Rig rig(bench, params, 1);
  for (std::uint32_t i = 0; i < 3; ++i) rig.in.push(Cycle{9}, rig.send(i));
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 3, 1500));
  rig.in.push(Cycle{9}, rig.send(5));
  bench.run();
  ASSERT_EQ(rig.answers.size(), 6u);
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(rig.psn(i), i);
}

TEST(AckGenerator, ReadsOfOneQpOverlap) {
  Bench bench;
  Rig rig(bench);
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 1, 1024));
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 2, 1024));
  bench.run();
  EXPECT_EQ(rig.gather.taken()[1], Cycle{12});
  EXPECT_EQ(rig.tx.cycle(1), Cycle{118});
}

TEST(AckGenerator, QpsTakeTurnsInAskingForReadData) {
  Bench bench;
  Rig rig(bench);
  QpContext other = test_qp(Transport::kRc);
  other.qpn = Qpn{0x12};
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 100, 4096));
  rig.in.push(Cycle{9}, rig.request(other, kReadRequest, 200, 4096));
  bench.run();
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < rig.answers.size(); ++i) order.push_back(rig.psn(i));
  EXPECT_EQ(order, (std::vector<std::uint32_t>{100, 101, 200, 102, 201, 103, 202, 203}));
}

TEST(AckGenerator, NoMoreReadsWaitForMemoryThanAllowed) {
  AckGeneratorParams params;
  params.read_responses_in_flight = 3;
  Bench bench;
  Rig rig(bench, params);
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 0, 10240));
  bench.run();
  EXPECT_EQ(rig.answers.size(), 10u);
  EXPECT_EQ(rig.gather.most_waiting(), 3u);
}

TEST(AckGenerator, AReadWaitsForAResponseBuffer) {
  PacketPool::Quotas quotas;
  quotas.response = 2;
  Bench bench;
  Rig rig(bench, {}, 100, 8, quotas);
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 0, 5000));
  bench.run();
  EXPECT_EQ(rig.answers.size(), 5u);
  EXPECT_EQ(rig.payloads[4].size(), 5000u - 4096u);
  rig.expect_clean();
  EXPECT_GT(rig.dut.account()[static_cast<std::size_t>(Activity::kWaitResponse)], 100u);
}

TEST(AckGenerator, ARequestWaitsWhileTooManyAnswersWait) {  // R1
  AckGeneratorParams params;
  params.answers_waiting = 2;
  Bench bench;
  Rig rig(bench, params, 100);
  const PacketHandle third = rig.request(rig.qp, kReadRequest, 3, 8);
  const PacketHandle quiet = rig.send(4);
  rig[quiet].acknowledge = false;
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 1, 8));
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 2, 8));
  rig.in.push(Cycle{9}, third);
  rig.in.push(Cycle{9}, quiet);
  bench.run();
  // The first READ's data is taken in 112 and makes room.
  EXPECT_EQ(rig[quiet].stamped(Station::kAckGenerator), Cycle{114});
  EXPECT_EQ(rig.answers.size(), 3u);
  EXPECT_EQ(rig.dut.account()[static_cast<std::size_t>(Activity::kWaitResponse)], 101u);
  rig.expect_clean();
}

TEST(AckGenerator, ARequestWaitsWhileTooManyAnswersAreReady) {  // R1
  AckGeneratorParams params;
  params.queue_depth = 2;
  params.response_cycles = 50;
  Bench bench;
  Rig rig(bench, params);
  std::vector<PacketHandle> sent;
  for (std::uint32_t i = 0; i < 5; ++i) sent.push_back(rig.send(i));
  for (const PacketHandle h : sent) rig.in.push(Cycle{9}, h);
  bench.run();
  // The first is started at once, two are ready; the last finds room when the third is started in 110.
  EXPECT_EQ(rig[sent[4]].stamped(Station::kAckGenerator), Cycle{111});
  EXPECT_EQ(rig.answers.size(), 5u);
}

// 32 READs of 256 KiB of one QP are pending; their data comes as fast as it is asked for.
TEST(AckGenerator, AnAckWaitsForNoReadOfAnotherQp) {  // R2, R3
  Bench bench;
  Rig rig(bench, {}, 100);
  QpContext other = test_qp(Transport::kRc);
  other.qpn = Qpn{0x12};
  other.line = 1;
  for (std::uint32_t i = 0; i < 32; ++i) {
    rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, i * 256, 256 * 1024, 0x1000));
  }
  const PacketHandle write = rig.request(other, kWriteOnly, 5, 64);
  rig.in.push(Cycle{5000}, write);
  Cycle acknowledged{};
  rig.tx.on_value([&](Cycle now, const PacketHandle& h) {
    if (rig[h].op().operation == kAck) acknowledged = now;
    rig.shared.packets.release(h);
  });
  bench.run();
  EXPECT_EQ(rig.dut.counters().read_responses, 32u * 256);
  const AckGeneratorParams params;
  // One response before it, its own build, the sink.
  EXPECT_LE(acknowledged.count, 5001 + 2 * params.response_cycles + params.latency_cycles + 2);
  EXPECT_GE(acknowledged.count, 5001 + params.latency_cycles);
}

TEST(AckGenerator, AnAckBehindAReadGivesWayToTheNextOne) {  // R3
  Bench bench;
  Rig rig(bench);
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 1, 8));
  for (std::uint32_t i = 2; i < 50; ++i) rig.in.push(Cycle{9}, rig.send(i));
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 50, 8));
  rig.in.push(Cycle{9}, rig.send(51));
  bench.run();
  ASSERT_EQ(rig.answers.size(), 4u);
  for (const auto& [n, psn] : {std::pair{0u, 1u}, {1u, 49u}, {2u, 50u}, {3u, 51u}}) EXPECT_EQ(rig.psn(n), psn);
  EXPECT_EQ(rig.dut.counters().coalesced, 47u);
  rig.expect_clean();
}

TEST(AckGenerator, AQpThatAsksForMoreThanItsShareFails) {  // R3
  AckGeneratorParams params;
  params.answers_per_qp = 3;
  Bench bench;
  Rig rig(bench, params);
  auto& failures = bench.sink(rig.dut.failures);
  for (std::uint32_t i = 1; i < 6; ++i) rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, i, 8));
  bench.run();
  ASSERT_EQ(rig.answers.size(), 4u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(rig.operation(i), kReadResponseOnly);
  EXPECT_EQ(rig.answers[3].syndrome, 0x61);
  EXPECT_EQ(rig.psn(3), 4u);
  EXPECT_EQ(rig.dut.counters().too_many, 1u);
  EXPECT_EQ(rig.dut.counters().memory_errors, 0u) << "no memory failed";
  EXPECT_EQ(rig.dut.counters().suppressed, 1u);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures.value(0).event, EventType::kQpRequestError);
}

TEST(AckGenerator, QpsTakeTurnsAndOnlySoManyTogether) {  // R4
  for (const auto& [together, a_turn] : {std::pair{2u, 1u}, {1u, 1u}, {2u, 2u}}) {
    AckGeneratorParams params;
    params.reads_in_progress = together;
    params.responses_per_turn = a_turn;
    Bench bench;
    Rig rig(bench, params);
    std::vector<QpContext> qps(2, test_qp(Transport::kRc));
    for (std::uint32_t i = 0; i < 2; ++i) {
      qps[i].qpn = Qpn{20 + i};
      qps[i].line = i;
      rig.in.push(Cycle{9}, rig.request(qps[i], kReadRequest, 100 * i, 4 * 1024));
    }
    bench.run();
    ASSERT_EQ(rig.answers.size(), 8u);
    std::string order;
    for (std::uint32_t n = 0; n < 8; ++n) order += rig.psn(n) < 100 ? 'a' : 'b';
    EXPECT_EQ(order, together == 1 ? "aaaabbbb"
                     : a_turn == 1 ? "aababab"
                                     "b"
                                   : "aabbaabb");
  }
}

TEST(AckGenerator, AFetchAddIsDoneSavedAndAnswered) {
  Bench bench;
  Rig rig(bench);
  rig.host.store(BusAddress{0x3000}, std::uint64_t{1000});
  const PacketHandle h = rig.request(rig.qp, kFetchAdd, 5, 8, 0x3000);
  rig[h].h.swap_add = 7;
  rig.in.push(Cycle{9}, h);
  bench.run();
  ASSERT_EQ(rig.answers.size(), 1u);
  EXPECT_EQ(rig.operation(0), kAtomicAck);
  EXPECT_EQ(rig.answers[0].original, 1000u);
  EXPECT_EQ(rig.answers[0].syndrome, 0x1f);
  EXPECT_EQ(rig.psn(0), 5u);
  EXPECT_EQ(rig.host.load<std::uint64_t>(BusAddress{0x3000}), 1007u);
  // Asked for in 10, carried out in 11, completed 100 later, seen in 112.
  EXPECT_EQ(rig.tx.cycle(0), Cycle{116});
  rig.expect_clean();
}

TEST(AckGenerator, ACompareSwapSwapsOnlyWhenEqual) {
  for (const std::uint64_t compare : {1000u, 1001u}) {
    Bench bench;
    Rig rig(bench);
    rig.host.store(BusAddress{0x3000}, std::uint64_t{1000});
    const PacketHandle h = rig.request(rig.qp, kCompareSwap, 5, 8, 0x3000);
    rig[h].h.swap_add = 7;
    rig[h].h.compare = compare;
    rig.in.push(Cycle{9}, h);
    bench.run();
    ASSERT_EQ(rig.answers.size(), 1u);
    EXPECT_EQ(rig.answers[0].original, 1000u);
    EXPECT_EQ(rig.host.load<std::uint64_t>(BusAddress{0x3000}), compare == 1000 ? 7u : 1000u);
  }
}

TEST(AckGenerator, AReplayedAtomicAnswersWithTheSavedResult) {
  Bench bench;
  Rig rig(bench);
  rig.host.store(BusAddress{0x3000}, std::uint64_t{1000});
  const PacketHandle h = rig.request(rig.qp, kFetchAdd, 5, 8, 0x3000);
  rig[h].h.swap_add = 7;
  const PacketHandle again = rig.request(rig.qp, kFetchAdd, 5, 8, 0x3000);
  rig[again].outcome = Outcome::kReplay;
  rig[again].resource = rig[h].resource;
  rig.in.push(Cycle{9}, h);
  rig.in.push(Cycle{9}, again);  // while the first is on its way
  bench.run();
  ASSERT_EQ(rig.answers.size(), 2u);
  EXPECT_EQ(rig.answers[1].original, 1000u);
  EXPECT_EQ(rig.host.load<std::uint64_t>(BusAddress{0x3000}), 1007u) << "done once";
  EXPECT_EQ(rig.dut.counters().atomics, 1u);
  EXPECT_EQ(rig.dut.counters().replays, 1u);
  rig.expect_clean();
}

TEST(AckGenerator, AnAtomicWriteIsDoneThenAnsweredByAReadResponseWithoutData) {  // (R5)
  Bench bench;
  Rig rig(bench);
  const auto around = rig.host_bytes(0x2ff8, 24);
  const PacketHandle h = rig.request(rig.qp, kAtomicWrite, 5, 8, 0x3000);
  rig.in.push(Cycle{9}, h);
  rig.in.push(Cycle{9}, rig.send(6));
  bench.run();
  ASSERT_EQ(rig.answers.size(), 2u);
  EXPECT_EQ(rig.operation(0), kReadResponseOnly);
  EXPECT_EQ(rig.answers[0].syndrome, 0x1f);
  EXPECT_EQ(rig.answers[0].msn, 1u);
  EXPECT_EQ(rig.psn(0), 5u);
  EXPECT_TRUE(rig.payloads[0].empty());
  EXPECT_EQ(rig.psn(1), 6u) << "waits for it";
  auto expected = around;
  const auto data = counting_bytes(8);
  std::copy(data.begin(), data.end(), expected.begin() + 8);
  EXPECT_EQ(rig.host_bytes(0x2ff8, 24), expected);
  EXPECT_EQ(rig.memory.log().size(), 1u) << "one access";
  EXPECT_EQ(rig.dut.counters().atomics, 1u);
  EXPECT_EQ(rig.dut.counters().read_responses, 1u);
  // As a FETCH_ADD: asked for in 10, carried out in 11, completed 100 later, seen in 112.
  EXPECT_EQ(rig.tx.cycle(0), Cycle{116});
  rig.expect_clean();
}

TEST(AckGenerator, AReplayedAtomicWriteIsAnsweredAndNotWrittenAgain) {  // (R5)
  Bench bench;
  Rig rig(bench);
  const PacketHandle unsaved = rig.request(rig.qp, kAtomicWrite, 4, 8, 0x3000);
  rig[unsaved].outcome = Outcome::kReplay;
  const PacketHandle h = rig.request(rig.qp, kAtomicWrite, 5, 8, 0x3000);
  const PacketHandle again = rig.request(rig.qp, kAtomicWrite, 5, 8, 0x3000);
  rig[again].outcome = Outcome::kReplay;
  rig[again].resource = rig[h].resource;
  const PacketHandle add = rig.request(rig.qp, kFetchAdd, 6, 8, 0x3000);
  rig[add].h.swap_add = 1;
  for (const PacketHandle p : {h, add, again, unsaved}) rig.in.push(Cycle{9}, p);
  bench.run();
  ASSERT_EQ(rig.answers.size(), 3u);
  EXPECT_EQ(rig.operation(2), kReadResponseOnly);
  EXPECT_EQ(rig.psn(2), 5u);
  std::uint64_t written = 0;
  std::memcpy(&written, counting_bytes(8).data(), 8);
  EXPECT_EQ(rig.answers[1].original, written) << "in order: written before it is added to";
  EXPECT_EQ(rig.host.load<std::uint64_t>(BusAddress{0x3000}), written + 1) << "written once";
  EXPECT_EQ(rig.dut.counters().replays, 2u);
  rig.expect_clean();
}

TEST(AckGenerator, AReplayWithoutASavedResultIsNotAnswered) {
  Bench bench;
  Rig rig(bench);
  const PacketHandle h = rig.request(rig.qp, kFetchAdd, 5);
  rig[h].outcome = Outcome::kReplay;
  rig.in.push(Cycle{9}, h);
  rig.in.push(Cycle{9}, rig.send(6));
  bench.run();
  ASSERT_EQ(rig.answers.size(), 1u);
  EXPECT_EQ(rig.psn(0), 6u);
  rig.expect_clean();
}

TEST(AckGenerator, EverythingWaitsForTheAtomicBeforeIt) {
  Bench bench;
  Rig rig(bench);
  rig.in.push(Cycle{9}, rig.request(rig.qp, kFetchAdd, 1, 8, 0x3000));
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 2, 8, 0x3000));
  rig.in.push(Cycle{9}, rig.send(3));
  rig.in.push(Cycle{9}, rig.request(rig.qp, kCompareSwap, 4, 8, 0x3000));
  rig.in.push(Cycle{9}, rig.send(5));
  bench.run();
  ASSERT_EQ(rig.answers.size(), 5u);
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(rig.psn(i), i + 1);
  EXPECT_EQ(rig.gather.taken()[0], Cycle{113}) << "asked for when the atomic was done";
  rig.expect_clean();
}

AckGeneratorParams coalescing(std::uint32_t packets, std::uint32_t cycles) {
  AckGeneratorParams params;
  params.coalesce_packets = packets;
  params.coalesce_timer_ps = cycles * 1000;
  return params;
}

TEST(AckGenerator, OneAckAnswersAsManyRequestsAsAllowed) {
  Bench bench;
  Rig rig(bench, coalescing(3, 1000));
  for (std::uint32_t i = 0; i < 3; ++i) rig.in.push(Cycle{9 + 10 * i}, rig.send(i));
  bench.run();
  ASSERT_EQ(rig.answers.size(), 1u);
  EXPECT_EQ(rig.psn(0), 2u);
  EXPECT_EQ(rig.answers[0].msn, 3u);
  EXPECT_EQ(rig.tx.cycle(0), Cycle{30 + 4});
  EXPECT_EQ(rig.dut.counters().coalesced, 2u);
  rig.expect_clean();
}

TEST(AckGenerator, AHeldAckLeavesAfterItsTimerToTheCycle) {
  Bench bench;
  Rig rig(bench, coalescing(3, 200));
  rig.in.push(Cycle{9}, rig.send(1));
  rig.in.push(Cycle{49}, rig.send(2));
  bench.run_to(Cycle{10 + 200 + 4});
  EXPECT_EQ(rig.answers.size(), 0u);
  bench.run_to(Cycle{10 + 200 + 4 + 1});
  ASSERT_EQ(rig.answers.size(), 1u);
  EXPECT_EQ(rig.psn(0), 2u);
  EXPECT_EQ(rig.tx.cycle(0), Cycle{214});
}

TEST(AckGenerator, AnotherAnswerPushesTheHeldAckOut) {
  Bench bench;
  Rig rig(bench, coalescing(8, 1000));
  rig.in.push(Cycle{9}, rig.send(1));
  rig.in.push(Cycle{9}, rig.send(2));
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 3, 8));
  rig.in.push(Cycle{9}, rig.send(4));  // behind the READ: not held
  rig.in.push(Cycle{499}, rig.send(5));
  rig.in.push(Cycle{499}, rig.nak(rig.qp, 6, 0x61));
  bench.run();
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < rig.answers.size(); ++i) order.push_back(rig.psn(i));
  EXPECT_EQ(order, (std::vector<std::uint32_t>{2, 3, 4, 5, 6}));
  rig.expect_clean();
}

TEST(AckGenerator, AcksOfDifferentQpsAreNotJoined) {
  Bench bench;
  Rig rig(bench, coalescing(2, 1000));
  std::vector<QpContext> qps(20, test_qp(Transport::kRc));
  for (std::uint32_t i = 0; i < 20; ++i) {  // more than can be held: half of queue_depth
    qps[i].qpn = Qpn{100 + i};
    rig.in.push(Cycle{9}, rig.request(qps[i], kSendOnly, i));
  }
  bench.run();
  EXPECT_EQ(rig.answers.size(), 20u);
  EXPECT_EQ(rig.dut.counters().coalesced, 0u);
  rig.expect_clean();
}

TEST(AckGenerator, MemoryThatFailsUnderAReadIsANak) {
  Bench bench;
  Rig rig(bench);
  auto& refusals = bench.sink(rig.dut.refusals);
  const PacketHandle read = rig.request(rig.qp, kReadRequest, 10, 4096);
  const PacketHandle ack = rig.send(14);
  const PacketHandle second = rig.request(rig.qp, kReadRequest, 15, 1024);
  const PacketHandle atomic = rig.request(rig.qp, kFetchAdd, 16);
  rig.gather.fail_psn(Psn{11});
  const PacketHandle late = rig.send(17);
  for (const PacketHandle h : {read, ack, second, atomic}) rig.in.push(Cycle{9}, h);
  rig.in.push(Cycle{999}, late);
  bench.run();
  EXPECT_EQ(rig.shared.ledger.counters().accepted, 5u);
  ASSERT_EQ(rig.answers.size(), 2u);
  EXPECT_EQ(rig.operation(0), kReadResponseFirst);
  EXPECT_EQ(rig.operation(1), kAck);
  EXPECT_EQ(rig.answers[1].syndrome, 0x62);
  EXPECT_EQ(rig.psn(1), 11u);
  EXPECT_EQ(refusals.size(), 1u);
  EXPECT_EQ(rig.dut.counters().atomics, 0u);
  EXPECT_EQ(rig.shared.packets.in_use(), 0u);
  EXPECT_EQ(rig.qp.pins.count(), 1u) << "the report's";
}

class UnmappedMemory final : public HostMemory {
 public:
  bool read(BusAddress, std::span<std::uint8_t>) override { return false; }
  bool write(BusAddress, std::span<const std::uint8_t>) override { return false; }
};

TEST(AckGenerator, MemoryThatFailsUnderAnAtomicIsANak) {
  Bench bench;
  auto& unmapped = bench.keep<UnmappedMemory>();
  auto& shared = bench.keep<NicShared>(PacketPool::Quotas{});
  auto& dut = bench.add<AckGenerator>("dut", AckGeneratorParams{}, shared, 1000u);
  auto& in = bench.source(dut.in);
  auto& tx = bench.sink(dut.tx);
  auto& refusals = bench.sink(dut.refusals);
  bench.memory(dut.dma, dut.dma_done, unmapped, 10);
  bench.connect(dut.gather, bench.add<GatherMemory>("gather", unmapped, shared, 1u).in);
  QpContext qp = test_qp(Transport::kRc);
  const PacketHandle h = shared.packets.allocate(PacketClass::kReceive);
  set_frame(shared.packets[h], request_headers(Encapsulation::kRoceV2Ipv4, Transport::kRc, kFetchAdd, Psn{3}), {});
  accept_packet(shared.packets[h], qp);
  shared.packets[h].acknowledge = true;
  shared.packets[h].resource = 0;
  in.push(Cycle{9}, h);
  bench.run();
  ASSERT_EQ(tx.size(), 1u);
  EXPECT_EQ(shared.packets[h].h.syndrome, 0x63);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals.value(0).kind, Refusal::Kind::kError);
  EXPECT_EQ(qp.pins.count(), 1u) << "the report's";
}

TEST(AckGenerator, CreditsAreCountedWhenAskedFor) {
  AckGeneratorParams params;
  params.credits = AckCredits::kCounted;
  Bench bench;
  Rig rig(bench, params);
  QpContext on_srq = test_qp(Transport::kRc);
  on_srq.uses_srq = true;
  for (QpContext* const of : {&rig.qp, &on_srq}) {
    const PacketHandle h = rig.request(*of, kSendOnly, of == &rig.qp ? 1 : 2);
    rig[h].posted_wqes = 100;
    rig.in.push(Cycle{9}, h);
  }
  bench.run();
  EXPECT_EQ(rig.answers[0].syndrome, credit_code(100));
  EXPECT_EQ(rig.answers[1].syndrome, 0x1f);
}

TEST(AckGenerator, EveryCycleIsAccountedFor) {
  Bench bench;
  Rig rig(bench);
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 1, 8));
  bench.run();
  rig.dut.settle(Cycle{200});
  const CycleAccount& account = rig.dut.account();
  const auto spent = [&](Activity a) { return account[static_cast<std::size_t>(a)]; };
  EXPECT_EQ(spent(Activity::kWaitDmaData), 102u);  // from 10 to the start in 112
  EXPECT_EQ(spent(Activity::kBusy), 4u);
  EXPECT_EQ(spent(Activity::kStarved), 94u);
}

TEST(AckGenerator, ModesAgreeAndEveryQpIsAnsweredInOrder) {
  const std::uint64_t seed = test_seed(14);
  expect_equal_in_all_modes([seed](Bench& bench) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    AckGeneratorParams params = coalescing(1 + below(4), 1 + below(300));
    params.response_cycles = 1 + below(4);
    params.latency_cycles = 1 + below(5);
    params.queue_depth = 1 + below(20);
    params.read_responses_in_flight = 1 + below(8);
    PacketPool::Quotas quotas;
    quotas.response = 1 + below(8);
    quotas.receive = 700;
    Rig rig(bench, params, 1 + below(200), 1 + below(4), quotas);
    std::vector<QpContext> qps(12, test_qp(Transport::kRc));
    std::vector<std::uint32_t> next_psn(qps.size(), 0);
    std::map<std::uint32_t, std::uint32_t> last_psn;  // by UDP source port, which names the QP
    StateHash digest;
    rig.tx.accept_when([](Cycle c) { return c.count / 32 % 4 != 0; });
    rig.tx.on_value([&](Cycle now, const PacketHandle& h) {
      const std::uint32_t port = rig[h].h.udp_source_port;
      rig.check(h);
      const std::uint32_t psn = rig.answers.back().psn.value + 1;
      EXPECT_GT(psn, last_psn[port]);
      last_psn[port] = psn;
      digest.mix(now.count);
      digest.mix(psn);
    });
    std::uint64_t cycle = 0;
    std::vector<bool> broken(qps.size());
    for (std::uint32_t i = 0; i < qps.size(); ++i) {
      qps[i].qpn = Qpn{100 + i};
      qps[i].line = i;
    }
    std::uint64_t unanswered = 0;
    for (int i = 0; i < 600; ++i) {
      const std::uint32_t n = below(qps.size());
      const std::uint32_t kind = broken[n] ? 4 : below(13);
      const std::uint32_t bytes = below(3) == 0 ? below(5000) : below(64);
      const Operation operation = kind == 0    ? kReadRequest
                                  : kind == 1  ? kFetchAdd
                                  : kind == 2  ? kCompareSwap
                                  : kind == 12 ? kAtomicWrite
                                               : kSendOnly;
      const PacketHandle h = rig.request(qps[n], operation, next_psn[n], kind == 0 ? bytes : 8, below(8000) * 8);
      rig[h].h.udp_source_port = static_cast<std::uint16_t>(n + 1);
      next_psn[n] += kind == 0 ? std::max(1u, (bytes + 1023) / 1024) : 1;
      if (kind == 4 || (kind == 5 && below(40) == 0)) {
        broken[n] = kind == 5 || broken[n];
        if (kind == 5) mark_failed(rig[h], DropReason::kInvalidRequest, 0x61, WcStatus::kGeneral);
        if (kind == 4) rig[h].acknowledge = false;
        unanswered += kind == 4;
      }
      cycle += below(4) == 0 ? below(200) : below(3);
      rig.in.push(Cycle{cycle}, h);
    }
    bench.run();
    EXPECT_EQ(rig.dut.counters().packets, 600u);
    EXPECT_GT(rig.answers.size(), 100u);
    EXPECT_GT(rig.dut.counters().read_responses, 20u);
    EXPECT_GT(rig.dut.counters().atomics, 10u);
    EXPECT_LT(unanswered, 600u);
    rig.expect_clean();
    for (const QpContext& qp : qps) EXPECT_EQ(qp.pins.count(), 0u);
    digest.mix(rig.host.digest());
    digest.mix(bench.state_hash());
    return digest.value();
  });
}

TEST(AckGenerator, TheCompletionGeneratorIsToldOfAQpThatFailsHere) {  // R7
  Bench bench;
  Rig rig(bench);
  auto& failures = bench.sink(rig.dut.failures);
  rig.gather.fail_psn(Psn{7});
  rig.in.push(Cycle{9}, rig.request(rig.qp, kReadRequest, 7));
  bench.run();
  ASSERT_EQ(rig.answers.size(), 1u);
  EXPECT_EQ(rig.answers[0].syndrome, 0x62);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures.value(0).qp, &rig.qp);
  EXPECT_EQ(failures.value(0).event, EventType::kQpAccessError);
  EXPECT_EQ(rig.qp.pins.count(), 1u) << "for the one who is told";
}

TEST(AckGenerator, TellsWhetherAnAtomicIsStillToTouchARegion) {
  Bench bench;
  Rig rig(bench);
  rig.in.push(Cycle{9}, rig.request(rig.qp, kFetchAdd, 7));
  bench.run_to(Cycle{50});
  EXPECT_TRUE(rig.dut.has_atomic_on(Key{0x500}));
  EXPECT_FALSE(rig.dut.has_atomic_on(Key{0x600}));
  bench.run();
  EXPECT_FALSE(rig.dut.has_atomic_on(Key{0x500}));
  EXPECT_EQ(rig.dut.retired(), 1u);
}

}  // namespace
}  // namespace rxnic
