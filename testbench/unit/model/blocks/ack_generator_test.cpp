// SPDX-License-Identifier: Apache-2.0
// Rules R1..R10 of model/blocks/ack_generator.h (rules 6: acknowledge, syndromes, duplicates).
#include "model/blocks/ack_generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "model/engine/sorted_line.h"
#include "model/nic/nic_shared.h"
#include "model/types/syndrome.h"
#include "testbench/unit/faulty_memory.h"
#include "testbench/unit/model/engine/harness.h"
#include "testbench/unit/request_packets.h"

namespace rxnic::ack_generator_test {
namespace {

using enum Operation;

// Translator and DMA engine behind the gather port: bus addresses are virtual ones, a response's data comes `latency`
// cycles after its last piece was taken.
class GatherMemory final : public Block {
 public:
  GatherMemory(const sc_core::sc_module_name& name, HostMemory& host, NicShared& shared, std::uint64_t latency)
      : Block(name), host_(host), shared_(shared), latency_(latency), waiting_(512) {}
  In<GatherSegment> in{"in"};
  Out<GatheredData> out{"out"};

  // The piece that holds this byte fails with `syndrome`.
  void fail_at(std::uint64_t va, std::uint8_t syndrome = kNakRemoteAccess, bool gone = false) {
    failing_ = va;
    failing_syndrome_ = syndrome;
    gone_ = gone;
  }
  // The data of a response whose last piece is at this address comes so much later.
  void be_late_at(std::uint64_t va, std::uint64_t cycles) {
    late_ = va;
    later_ = cycles;
  }
  // Takes pieces only in cycles for which `ready` holds.
  void accept_when(std::function<bool(Cycle)> ready) { ready_ = std::move(ready); }
  const std::vector<GatherSegment>& pieces() const { return pieces_; }
  const std::vector<Cycle>& taken() const { return taken_; }  // the cycle in which each was taken
  std::size_t most_responses() const { return most_; }        // most responses whose data was waited for at once
  Cycle step(Cycle now) override {
    if (waiting_.ready(now) && out.can_push(now)) out.push(now, waiting_.pop());
    const bool takes = in.can_pop(now) && (!ready_ || ready_(now));
    if (takes) take(now);
    const Cycle due = waiting_.next_ready();
    Cycle next = due > now ? due : out.can_push(now) ? now + 1 : kNever;
    if (!in.empty()) next = now + 1;
    return rest(now, waiting_.empty() ? Activity::kStarved : Activity::kBusy, next);
  }

 private:
  void take(Cycle now) {
    const GatherSegment s = in.pop(now);
    EXPECT_TRUE(begins_ || s.buffer == pieces_.back().buffer) << "pieces of a response come one after the other";
    EXPECT_EQ(s.va / 4096, (s.va + s.bytes - 1) / 4096) << "within one page";
    EXPECT_GT(s.bytes, 0u);
    if (begins_) syndrome_ = 0;
    begins_ = s.last;
    host_.read(BusAddress{s.va}, {shared_.packets[s.buffer].frame.data() + s.offset, s.bytes});
    if (failing_ >= s.va && failing_ < s.va + s.bytes && syndrome_ == 0) syndrome_ = failing_syndrome_;
    pieces_.push_back(s);
    taken_.push_back(now);
    const std::uint64_t latency = latency_ + (s.va == late_ ? later_ : 0);
    if (s.last) waiting_.push({s.buffer, syndrome_, gone_ && syndrome_ != 0}, now + latency);
    most_ = std::max(most_, waiting_.size() + std::size_t{!begins_});
  }
  HostMemory& host_;
  NicShared& shared_;
  std::uint64_t latency_;
  std::function<bool(Cycle)> ready_;
  SortedLine<GatheredData> waiting_;
  std::uint64_t failing_ = ~std::uint64_t{0}, late_ = ~std::uint64_t{0}, later_ = 0;
  std::uint8_t failing_syndrome_ = 0;
  bool gone_ = false;
  bool begins_ = true;
  std::uint8_t syndrome_ = 0;
  std::vector<GatherSegment> pieces_;
  std::vector<Cycle> taken_;
  std::size_t most_ = 0;
};

struct Fixture : PacketObserver {
  explicit Fixture(Bench& b, const AckGeneratorParams& params = {}, std::uint64_t memory_latency = 100,
                   std::uint32_t tx_capacity = 8, const PacketPool::Quotas& quotas = {}, HostMemory* other = nullptr,
                   std::unique_ptr<ReadScheduler> scheduler = nullptr)
      : bench(b),
        host(b.keep<LocalMemory>()),
        shared(b.keep<NicShared>(quotas, &b.engine().now())),
        qp(place_qp(shared, test_qp(Transport::kRc))),
        dut(b.add<AckGenerator>("dut", params, shared.packets, shared.ledger, shared.contexts, 1000u,
                                RdAtomicOverLimit{}, std::move(scheduler))),
        in(b.source(dut.in)),
        tx(b.sink(dut.tx, tx_capacity)),
        gather(b.add<GatherMemory>("gather", other == nullptr ? host : *other, shared, memory_latency)),
        memory(b.memory(dut.dma, dut.dma_done, other == nullptr ? host : *other, memory_latency)) {
    b.connect(dut.gather, gather.in);
    b.connect(gather.out, dut.gathered);
    for (std::uint64_t at = 0; at < 0x10000; at += 8) host.store(BusAddress{at}, at * 0x9e3779b97f4a7c15u);
    tx.on_value([this](Cycle, const WireFrame& frame) { check(frame); });
    shared.ledger.set_observer(this);
  }

  // Another QP than `qp`.
  QpContext& add_qp(Qpn qpn, bool uses_srq = false) {
    QpContext more = test_qp(Transport::kRc);
    more.qpn = qpn;
    more.uses_srq = uses_srq;
    return place_qp(shared, more);
  }
  AckRequest request(QpContext& of, Operation operation, std::uint32_t psn, std::uint32_t bytes = 8,
                     std::uint64_t va = 0x1000, Encapsulation encapsulation = Encapsulation::kRoceV2Ipv4,
                     std::uint16_t udp_source_port = 0xc123) {
    Headers headers = request_headers(encapsulation, of.transport, operation, Psn{psn});
    headers.destination_qp = of.qpn;
    headers.udp_source_port = udp_source_port;
    headers.va = va;
    headers.rkey = Key{0x500};
    headers.length = bytes;
    const bool data = (opcode_info(headers.opcode).traits & kHasPayload) != 0;
    const PacketHandle h = place_frame(shared, headers, counting_bytes(data ? bytes : 0));
    AckRequest p = accept_packet(shared, of, h);
    shared.packets[h].h = {};  // of a received packet only the frame is known
    p.acknowledge = true;
    if (p.has(kAtomic)) {
      p.bus = BusAddress{va};
      p.resource = raw(of.qpn) % 16 * 4 + psn % 4;
    }
    return p;
  }
  AckRequest send(std::uint32_t psn) { return request(qp, kSendOnly, psn); }
  // A SEND that is marked Congestion Experienced.
  AckRequest marked(QpContext& of, std::uint32_t psn, bool acknowledge = true) {
    AckRequest p = request(of, kSendOnly, psn);
    p.congested = true;
    p.acknowledge = acknowledge;
    return p;
  }
  std::vector<Cycle> cnps() const {
    std::vector<Cycle> all;
    for (std::size_t n = 0; n < answers.size(); ++n) {
      if (answers[n].opcode == kOpcodeCnp) all.push_back(tx.cycle(n));
    }
    return all;
  }
  AckRequest nak(QpContext& of, std::uint32_t psn, std::uint8_t syndrome) {
    AckRequest p = request(of, kSendOnly, psn);
    mark_failed(p, DropReason::kInvalidRequest, syndrome, WcStatus::kRemoteInvalidRequest);
    return p;
  }
  // Expects that every response can be parsed and has a good ICRC, and that its buffer was released.
  void check(const WireFrame& frame) {
    Packet& p = shared.packets[frame.buffer];
    EXPECT_EQ(frame.bytes, p.frame_bytes);
    EXPECT_FALSE(frame.too_long || frame.cut_short);
    Headers parsed;
    EXPECT_EQ(parse(p.frame_view(), frame.link, parsed), ParseStatus::kOk);
    EXPECT_TRUE(p.sealed && icrc_matches(p.frame_view(), parsed));
    EXPECT_EQ(parsed.destination_qp, kTestPeer);
    answers.push_back(parsed);
    payloads.emplace_back(p.frame.begin() + parsed.payload_offset,
                          p.frame.begin() + parsed.payload_offset + parsed.payload_bytes);
    shared.packets.release(frame.buffer);
  }
  void on_retire(const AckRequest& p, const Packet& buffer, Cycle now) override {
    EXPECT_EQ(buffer.stamped(Station::kAckGenerator), now);
    retired_in[p.psn.value] = now;
  }
  Operation operation(std::size_t n) const { return opcode_info(answers[n].opcode).operation; }
  std::uint32_t psn(std::size_t n) const { return answers[n].psn.value; }
  std::vector<std::uint8_t> host_bytes(std::uint64_t va, std::size_t n) {
    std::vector<std::uint8_t> bytes(n);
    host.read(BusAddress{va}, bytes);
    return bytes;
  }
  // No packet is left in the block.
  void expect_clean() {
    EXPECT_EQ(shared.packets.in_use(), 0u);
    EXPECT_EQ(qp.pins.count(), 0u);
  }

  Bench& bench;
  LocalMemory& host;
  NicShared& shared;
  QpContext& qp;
  AckGenerator& dut;
  Source<AckRequest>& in;
  Sink<WireFrame>& tx;
  GatherMemory& gather;
  TestMemory& memory;
  std::vector<Headers> answers;
  std::vector<std::vector<std::uint8_t>> payloads;
  std::map<std::uint32_t, Cycle> retired_in;  // by PSN
};

TEST(AckGenerator, AnAckLeavesAfterLatencyCycles) {
  for (const std::uint32_t latency : {1u, 4u, 9u}) {
    AckGeneratorParams params;
    params.latency_cycles = latency;
    Bench bench;
    Fixture fixture(bench, params);
    fixture.in.push(Cycle{9}, fixture.send(0x123));  // taken in cycle 10
    bench.run_to(Cycle{10 + latency});               // the sink takes it one later
    EXPECT_EQ(fixture.answers.size(), 0u);
    bench.run_to(Cycle{10 + latency + 1});
    ASSERT_EQ(fixture.answers.size(), 1u);
    EXPECT_EQ(fixture.tx.cycle(0), Cycle{10 + latency});
    EXPECT_EQ(fixture.operation(0), kAck);
    EXPECT_EQ(fixture.psn(0), 0x123u);
    EXPECT_EQ(fixture.answers[0].syndrome, 0x1f);
    EXPECT_EQ(fixture.answers[0].msn, 1u);
    fixture.expect_clean();
  }
}

TEST(AckGenerator, AnswersStartResponseCyclesApart) {
  for (const std::uint32_t cycles : {1u, 2u, 5u}) {
    AckGeneratorParams params;
    params.response_cycles = cycles;
    Bench bench;
    Fixture fixture(bench, params);
    for (std::uint32_t i = 0; i < 6; ++i) fixture.in.push(Cycle{9}, fixture.send(i));
    bench.run();
    ASSERT_EQ(fixture.answers.size(), 6u);
    for (std::uint32_t i = 0; i < 6; ++i) {
      EXPECT_EQ(fixture.tx.cycle(i), Cycle{14 + i * cycles});
      EXPECT_EQ(fixture.psn(i), i);
    }
  }
}

TEST(AckGenerator, APacketWithoutAnAnswerRetires) {
  Bench bench;
  Fixture fixture(bench);
  AckRequest quiet = fixture.send(1);
  quiet.acknowledge = false;
  AckRequest dropped = fixture.send(2);
  dropped.acknowledge = false;
  dropped.drop_reason = DropReason::kUcSequence;
  dropped.outcome = Outcome::kDrop;
  fixture.in.push(Cycle{9}, quiet);
  fixture.in.push(Cycle{9}, dropped);
  bench.run();
  EXPECT_EQ(fixture.answers.size(), 0u);
  EXPECT_EQ(fixture.shared.ledger.counters().accepted, 1u);
  EXPECT_EQ(fixture.shared.ledger.counters().dropped[static_cast<std::size_t>(DropReason::kUcSequence)], 1u);
  EXPECT_EQ(fixture.retired_in[quiet.psn.value], Cycle{10});
  fixture.expect_clean();
}

TEST(AckGenerator, AnAnswerToAnAnswerIsNeverSent) {
  Bench bench;
  Fixture fixture(bench);
  AckRequest h = fixture.request(fixture.qp, kReadResponseOnly, 1);
  h.outcome = Outcome::kNak;  // whatever outcome a block gave it
  fixture.in.push(Cycle{9}, h);
  bench.run();
  EXPECT_EQ(fixture.answers.size(), 0u);
  fixture.expect_clean();
}

TEST(AckGenerator, NaksCarryTheirSyndrome) {
  for (const std::uint8_t syndrome : {0x61, 0x62, 0x63}) {
    Bench bench;
    Fixture fixture(bench);
    fixture.in.push(Cycle{9}, fixture.nak(fixture.qp, 7, syndrome));
    bench.run();
    ASSERT_EQ(fixture.answers.size(), 1u);
    EXPECT_EQ(fixture.operation(0), kAck);
    EXPECT_EQ(fixture.answers[0].syndrome, syndrome);
    EXPECT_EQ(fixture.psn(0), 7u);
    EXPECT_EQ(fixture.answers[0].msn, 0u) << "the message did not complete";
    EXPECT_EQ(fixture.dut.counters().naks, 1u);
  }
}

TEST(AckGenerator, ASequenceNakNamesTheExpectedPsn) {
  Bench bench;
  Fixture fixture(bench);
  AckRequest h = fixture.send(9);
  h.outcome = Outcome::kNak;
  h.syndrome = 0x60;
  h.answer_psn = Psn{5};
  h.answer_msn = 3;
  fixture.in.push(Cycle{9}, h);
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 1u);
  EXPECT_EQ(fixture.answers[0].syndrome, 0x60);
  EXPECT_EQ(fixture.psn(0), 5u);
  EXPECT_EQ(fixture.answers[0].msn, 3u);
}

TEST(AckGenerator, AnRnrNakCarriesItsTimer) {
  Bench bench;
  Fixture fixture(bench);
  AckRequest h = fixture.send(9);
  Refusals().fail_rnr(h, 0x0c);
  fixture.in.push(Cycle{9}, h);
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 1u);
  EXPECT_EQ(fixture.answers[0].syndrome, 0x2c);
  EXPECT_EQ(fixture.psn(0), 9u);
  EXPECT_EQ(fixture.dut.counters().rnr_naks, 1u);
}

TEST(AckGenerator, ADuplicateIsAcknowledgedAgain) {
  Bench bench;
  Fixture fixture(bench);
  AckRequest h = fixture.send(3);
  h.outcome = Outcome::kAckAgain;
  h.answer_psn = Psn{17};
  h.answer_msn = 11;
  fixture.in.push(Cycle{9}, h);
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 1u);
  EXPECT_EQ(fixture.psn(0), 17u);
  EXPECT_EQ(fixture.answers[0].msn, 11u);
}

TEST(AckGenerator, NothingIsAnsweredBehindAReadThatFailsHere) {  // R7
  Bench bench;
  Fixture fixture(bench);
  fixture.qp.residence = 5;
  auto& failures = bench.sink(fixture.dut.failures);
  auto& refusals = bench.sink(fixture.dut.refusals);
  fixture.gather.fail_at(0x1000);
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 1));
  fixture.in.push(Cycle{9}, fixture.nak(fixture.qp, 2, 0x61));  // found earlier
  fixture.in.push(Cycle{9}, fixture.send(3));
  fixture.in.push(Cycle{2000}, fixture.send(4));
  AckRequest another = fixture.send(5);
  another.residence = 6;  // another QP on the line
  fixture.in.push(Cycle{3000}, another);
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 2u);
  EXPECT_EQ(fixture.psn(1), 5u);
  EXPECT_EQ(fixture.answers[0].syndrome, 0x62);
  EXPECT_EQ(fixture.dut.counters().suppressed, 3u);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals.value(0).kind, RefusalKind::kError);
  EXPECT_EQ(refusals.value(0).line, fixture.qp.line);
  EXPECT_EQ(fixture.shared.packets.in_use(), 0u);
  EXPECT_EQ(failures.size(), 1u);
  EXPECT_EQ(fixture.qp.pins.count(), 1u) << "for the completion generator";
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
      Fixture fixture(bench);
      AckRequest h = fixture.request(fixture.qp, kReadRequest, 0xfffffe, c.bytes, 0x2345);
      h.outcome = outcome;
      fixture.in.push(Cycle{9}, h);
      bench.run();
      ASSERT_EQ(fixture.answers.size(), c.operations.size()) << c.bytes;
      std::vector<std::uint8_t> data;
      for (std::size_t i = 0; i < c.operations.size(); ++i) {
        EXPECT_EQ(fixture.operation(i), c.operations[i]);
        EXPECT_EQ(fixture.psn(i), (0xfffffe + i) & 0xffffff);
        const bool aeth = c.operations[i] != kReadResponseMiddle;
        EXPECT_EQ(fixture.answers[i].syndrome, aeth ? 0x1f : 0);
        EXPECT_EQ(fixture.answers[i].msn, aeth ? 1u : 0u);
        data.insert(data.end(), fixture.payloads[i].begin(), fixture.payloads[i].end());
      }
      EXPECT_EQ(data, fixture.host_bytes(0x2345, c.bytes));
      EXPECT_EQ(fixture.dut.counters().replays, outcome == Outcome::kReplay ? 1u : 0u);
      fixture.expect_clean();
    }
  }
}

TEST(AckGenerator, ReadDataIsAskedForAtOnceAndSentAfterLatencyCycles) {
  Bench bench;
  Fixture fixture(bench, {}, 100);
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 1, 2048));
  bench.run();
  ASSERT_EQ(fixture.gather.taken().size(), 2u);
  EXPECT_EQ(fixture.gather.taken()[0], Cycle{11});  // pushed in 10, in which the request is taken
  EXPECT_EQ(fixture.gather.taken()[1], Cycle{12});
  // The data is pushed in 111 and 112, taken in 112 and, response_cycles = 2 later, in 114.
  EXPECT_EQ(fixture.tx.cycle(0), Cycle{116});
  EXPECT_EQ(fixture.tx.cycle(1), Cycle{118});
}

TEST(AckGenerator, AResponseThatCrossesAPageIsAskedForInTwoCycles) {  // R4
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 1, 2500, 0x2f00));  // 256 + 768 | 1024 | 452
  bench.run();
  const std::vector<GatherSegment>& asked = fixture.gather.pieces();
  ASSERT_EQ(asked.size(), 4u);
  struct Expected {
    std::uint64_t va;
    std::uint32_t bytes;
    bool last;
  };
  std::size_t n = 0;
  for (const Expected& e :
       {Expected{0x2f00, 256, false}, {0x3000, 768, true}, {0x3300, 1024, true}, {0x3700, 452, true}}) {
    EXPECT_EQ(asked[n].va, e.va);
    EXPECT_EQ(asked[n].bytes, e.bytes);
    EXPECT_EQ(asked[n].last, e.last);
    EXPECT_EQ(asked[n].key, Key{0x500});
    EXPECT_EQ(asked[n].pd, fixture.qp.pd);
    EXPECT_EQ(fixture.gather.taken()[n], Cycle{11 + n}) << "one piece a cycle";
    ++n;
  }
  EXPECT_EQ(asked[0].buffer, asked[1].buffer);
  EXPECT_NE(asked[1].buffer, asked[2].buffer);
  EXPECT_EQ(asked[1].offset, asked[0].offset + 256);
  ASSERT_EQ(fixture.answers.size(), 3u);
  EXPECT_EQ(asked[0].offset, fixture.answers[0].payload_offset);
  EXPECT_EQ(asked[2].offset, fixture.answers[1].payload_offset);
  EXPECT_EQ(fixture.tx.cycle(0), Cycle{117}) << "one cycle later than a response of one piece";
  std::vector<std::uint8_t> data;
  for (const auto& payload : fixture.payloads) data.insert(data.end(), payload.begin(), payload.end());
  EXPECT_EQ(data, fixture.host_bytes(0x2f00, 2500));
  fixture.expect_clean();
}

TEST(AckGenerator, NoTurnComesBetweenThePiecesOfAResponse) {  // R4
  Bench bench;
  Fixture fixture(bench);
  QpContext& other = fixture.add_qp(Qpn{0x12});
  fixture.gather.accept_when([](Cycle now) { return now.count % 4 == 0 && now > Cycle{100}; });
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 100, 8 * 1024, 0x2f00));
  fixture.in.push(Cycle{9}, fixture.request(other, kReadRequest, 200, 8 * 1024, 0x5f80));
  bench.run();
  EXPECT_EQ(fixture.answers.size(), 16u);
  EXPECT_EQ(fixture.gather.pieces().size(), 16u + 2 * 2) << "two pages begin inside each READ";
  std::string turns;
  for (const GatherSegment& s : fixture.gather.pieces()) turns += s.va < 0x5f80 ? 'a' : 'b';
  EXPECT_EQ(turns.substr(0, 10), "aaabbababa") << "two pieces, one more response before the other QP's READ came";
  fixture.expect_clean();
}

TEST(AckGenerator, AResponseOfWhichOnePieceFailsIsANak) {  // R7
  for (const std::uint64_t failing : {0x2ffeu, 0x3000u}) {
    for (const std::uint8_t syndrome : {kNakRemoteAccess, kNakRemoteOperation}) {
      Bench bench;
      Fixture fixture(bench);
      auto& failures = bench.sink(fixture.dut.failures);
      fixture.gather.fail_at(failing, syndrome);
      fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 7, 600, 0x2f00));
      bench.run();
      ASSERT_EQ(fixture.answers.size(), 1u);
      EXPECT_EQ(fixture.answers[0].syndrome, syndrome);
      EXPECT_EQ(fixture.answers[0].msn, 0u);
      EXPECT_EQ(fixture.answers[0].payload_bytes, 0u);
      EXPECT_EQ(fixture.psn(0), 7u);
      EXPECT_EQ(fixture.dut.counters().memory_errors, 1u);
      ASSERT_EQ(failures.size(), 1u);
      EXPECT_EQ(failures.value(0).event,
                syndrome == kNakRemoteAccess ? EventType::kQpAccessError : EventType::kQpFatal);
    }
  }
}

TEST(AckGenerator, TheWayBackIsReadFromTheFrame) {  // core/responder/response.h, R1
  for (const Encapsulation e : {Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6, Encapsulation::kRoceV1,
                                Encapsulation::kIbLocal, Encapsulation::kIbGlobal}) {
    Bench bench;
    Fixture fixture(bench);
    const Headers request = request_headers(e, Transport::kRc, kSendOnly, Psn{1});
    fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kSendOnly, 1, 8, 0x1000, e));
    fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 2, 8, 0x1000, e));
    bench.run();
    ASSERT_EQ(fixture.answers.size(), 2u);
    for (const Headers& h : fixture.answers) {
      EXPECT_EQ(h.encapsulation, e);
      EXPECT_EQ(h.source, request.destination);
      EXPECT_EQ(h.destination, request.source);
      if (h.link == LinkLayer::kEthernet) {
        EXPECT_EQ(h.destination_mac, request.source_mac);
      } else {
        EXPECT_EQ(h.destination_lid, request.source_lid);
      }
      EXPECT_EQ(h.pkey, request.pkey);
    }
    EXPECT_EQ(fixture.payloads[1], fixture.host_bytes(0x1000, 8));
    fixture.expect_clean();
  }
}

TEST(AckGenerator, AnAckBehindAReadWaitsForItsLastResponse) {
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 1, 2048));
  fixture.in.push(Cycle{9}, fixture.send(3));
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 3u);
  EXPECT_EQ(fixture.psn(0), 1u);
  EXPECT_EQ(fixture.psn(1), 2u);
  EXPECT_EQ(fixture.psn(2), 3u);
  EXPECT_EQ(fixture.operation(2), kAck);
  EXPECT_EQ(fixture.tx.cycle(2), Cycle{120});
}

TEST(AckGenerator, AnAckOfAnotherQpDoesNotWait) {
  Bench bench;
  Fixture fixture(bench);
  QpContext& other = fixture.add_qp(Qpn{0x12});
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 1, 2048));
  fixture.in.push(Cycle{9}, fixture.request(other, kSendOnly, 77));
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 3u);
  EXPECT_EQ(fixture.psn(0), 77u);
  EXPECT_EQ(fixture.tx.cycle(0), Cycle{15});
}

TEST(AckGenerator, AReadResponseNeverOvertakesTheAckBeforeIt) {
  AckGeneratorParams params;
  params.response_cycles = 40;  // a slow builder and fast memory
  Bench bench;
  Fixture fixture(bench, params, 1);
  for (std::uint32_t i = 0; i < 3; ++i) fixture.in.push(Cycle{9}, fixture.send(i));
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 3, 1500));
  fixture.in.push(Cycle{9}, fixture.send(5));
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 6u);
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(fixture.psn(i), i);
}

TEST(AckGenerator, ReadsOfOneQpOverlap) {
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 1, 1024));
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 2, 1024));
  bench.run();
  EXPECT_EQ(fixture.gather.taken()[1], Cycle{12});
  EXPECT_EQ(fixture.tx.cycle(1), Cycle{118});
}

TEST(AckGenerator, DataThatComesLateHoldsUpNoOtherQp) {  // R4
  Bench bench;
  Fixture fixture(bench);
  QpContext& other = fixture.add_qp(Qpn{0x12});
  fixture.gather.be_late_at(0x1000, 1000);
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 100, 1024, 0x1000));
  fixture.in.push(Cycle{9}, fixture.request(other, kReadRequest, 200, 1024, 0x2000));
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 2u);
  EXPECT_EQ(fixture.psn(0), 200u);
  EXPECT_EQ(fixture.tx.cycle(0), Cycle{117}) << "it came in 113";
  EXPECT_EQ(fixture.psn(1), 100u);
  EXPECT_EQ(fixture.tx.cycle(1), Cycle{1116});
  fixture.expect_clean();
}

TEST(AckGenerator, DataOfAQpLeavesInTheOrderOfItsRequests) {  // R3, R4
  Bench bench;
  Fixture fixture(bench);
  fixture.gather.be_late_at(0x1000, 1000);
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 100, 1024, 0x1000));
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 101, 3072, 0x2000));
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 4u);
  for (std::uint32_t n = 0; n < 4; ++n) {
    EXPECT_EQ(fixture.psn(n), 100 + n);
    EXPECT_EQ(fixture.tx.cycle(n), Cycle{1116 + 2 * n}) << "what has come leaves behind it without a gap";
  }
  fixture.expect_clean();
}

TEST(AckGenerator, QpsTakeTurnsInAskingForReadData) {
  Bench bench;
  Fixture fixture(bench);
  QpContext& other = fixture.add_qp(Qpn{0x12});
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 100, 4096));
  fixture.in.push(Cycle{9}, fixture.request(other, kReadRequest, 200, 4096));
  bench.run();
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < fixture.answers.size(); ++i) order.push_back(fixture.psn(i));
  EXPECT_EQ(order, (std::vector<std::uint32_t>{100, 101, 200, 102, 201, 103, 202, 203}));
}

// The QP with the least left to ask for.
struct ShortestFirst final : ReadScheduler {
  explicit ShortestFirst(std::vector<std::size_t>& to) : waited(to) {}
  std::size_t next(std::span<const ReadTurn> waiting) override {
    waited.push_back(waiting.size());
    const auto less = [](const ReadTurn& a, const ReadTurn& b) { return a.bytes_left < b.bytes_left; };
    return static_cast<std::size_t>(std::min_element(waiting.begin(), waiting.end(), less) - waiting.begin());
  }
  std::vector<std::size_t>& waited;
};

TEST(AckGenerator, ASchedulerDecidesWhoseReadIsServed) {  // core/responder/read_scheduler.h
  Bench bench;
  std::vector<std::size_t> waited;
  Fixture fixture(bench, {}, 100, 8, {}, nullptr, std::make_unique<ShortestFirst>(waited));
  QpContext& other = fixture.add_qp(Qpn{0x12});
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 100, 8192));
  fixture.in.push(Cycle{9}, fixture.request(other, kReadRequest, 200, 3072));
  bench.run();
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < fixture.answers.size(); ++i) order.push_back(fixture.psn(i));
  EXPECT_EQ(order, (std::vector<std::uint32_t>{100, 200, 201, 202, 101, 102, 103, 104, 105, 106, 107}));
  EXPECT_EQ(waited.size(), 11u) << "asked once for each response";
  EXPECT_EQ(*std::max_element(waited.begin(), waited.end()), 2u);
  fixture.expect_clean();
}

// Chooses in no order, and sees whether those that wait come in the order of their waiting. A response has 1 KiB.
struct OrderCheck final : ReadScheduler {
  OrderCheck(std::uint32_t of_turn, std::uint32_t& to, std::uint32_t& wrong)
      : most(of_turn), calls(to), out_of_order(wrong) {}
  std::size_t next(std::span<const ReadTurn> waiting) override {
    ++calls;
    for (const ReadTurn& w : waiting) {
      if (std::find(order.begin(), order.end(), w.qpn) == order.end()) order.push_back(w.qpn);
    }
    if (waiting.size() != order.size()) ++out_of_order;
    for (std::size_t n = 0; n < waiting.size(); ++n) {
      if (waiting[n].qpn != order[n] || waiting[n].turns != (n == 0 ? turns : 0)) ++out_of_order;
    }
    const std::size_t chosen = calls * 5 % 7 % waiting.size();
    const Qpn qpn = waiting[chosen].qpn;
    if (chosen != 0) end_turn();
    order.erase(std::find(order.begin(), order.end(), qpn));
    order.push_front(qpn);
    ++turns;
    if (waiting[chosen].bytes_left <= 1024) {
      order.pop_front();
      turns = 0;
    } else if (turns == most) {
      end_turn();
    }
    return chosen;
  }
  void end_turn() {
    if (std::exchange(turns, 0) == 0) return;
    order.push_back(order.front());
    order.pop_front();
  }
  const std::uint32_t most;
  std::uint32_t &calls, &out_of_order;
  std::uint32_t turns = 0;  // of the first
  std::deque<Qpn> order;    // as they are to come
};

TEST(AckGenerator, ASchedulerSeesTheLongestWaitingFirst) {  // core/responder/read_scheduler.h
  for (const std::uint32_t of_turn : {1u, 2u, 3u, 64u}) {
    AckGeneratorParams params;
    ASSERT_EQ(params.responses_per_turn, 1u);
    params.responses_per_turn = of_turn;
    Bench bench;
    std::uint32_t calls = 0, out_of_order = 0;
    Fixture fixture(bench, params, 100, 8, {}, nullptr, std::make_unique<OrderCheck>(of_turn, calls, out_of_order));
    fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 100, 8192));
    for (std::uint32_t n = 0; n < 3; ++n) {
      QpContext& other = fixture.add_qp(Qpn{0x12 + n});
      fixture.in.push(Cycle{9}, fixture.request(other, kReadRequest, 200 + 100 * n, 8192));
    }
    bench.run();
    EXPECT_EQ(calls, 4u * 8) << of_turn;
    EXPECT_EQ(out_of_order, 0u) << of_turn;
    fixture.expect_clean();
  }
}

TEST(AckGenerator, NoMoreReadsWaitForMemoryThanAllowed) {
  AckGeneratorParams params;
  params.read_responses_in_flight = 3;
  Bench bench;
  Fixture fixture(bench, params);
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 0, 10240));
  bench.run();
  EXPECT_EQ(fixture.answers.size(), 10u);
  EXPECT_EQ(fixture.gather.most_responses(), 3u);
}

TEST(AckGenerator, OfOneQpOnlySoManyReadResponsesAreOnTheirWay) {  // R4
  AckGeneratorParams params;
  params.read_responses_per_qp = 2;
  Bench bench;
  Fixture fixture(bench, params);
  QpContext& other = fixture.add_qp(Qpn{0x12});
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 100, 3072));
  fixture.in.push(Cycle{9}, fixture.request(other, kReadRequest, 200, 1024));
  bench.run();
  EXPECT_EQ(fixture.gather.taken(), (std::vector<Cycle>{Cycle{11}, Cycle{12}, Cycle{13}, Cycle{114}}));
  EXPECT_EQ(fixture.gather.pieces()[3].va, 0x1000u + 2048) << "the third of the first QP, when its first has left";
  EXPECT_EQ(fixture.dut.counters().read_limits, 1u);
  EXPECT_EQ(fixture.answers.size(), 4u);
  fixture.expect_clean();
}

TEST(AckGenerator, AReadWaitsForAResponseBuffer) {
  PacketPool::Quotas quotas;
  quotas.response = 2;
  Bench bench;
  Fixture fixture(bench, {}, 100, 8, quotas);
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 0, 5000));
  bench.run();
  EXPECT_EQ(fixture.answers.size(), 5u);
  EXPECT_EQ(fixture.payloads[4].size(), 5000u - 4096u);
  fixture.expect_clean();
  EXPECT_GT(fixture.dut.account()[static_cast<std::size_t>(Activity::kWaitResponse)], 100u);
}

// The data of a READ has come into the only buffer when it is an ACK's turn.
TEST(AckGenerator, DataInTheLastBufferGoesBeforeAnAck) {  // R8
  AckGeneratorParams params;
  params.packet_buffers = 1;
  PacketPool::Quotas quotas;
  quotas.response = params.packet_buffers;
  Bench bench;
  Fixture fixture(bench, params, 100, 8, quotas);
  QpContext& other = fixture.add_qp(Qpn{0x12});
  for (std::uint32_t i = 0; i < 4; ++i) {
    fixture.in.push(Cycle{9 + 20 * i}, fixture.request(fixture.qp, kReadRequest, 2 * i, 1500));
    fixture.in.push(Cycle{10 + 20 * i}, fixture.request(other, kSendOnly, 100 + i));
  }
  bench.run();
  EXPECT_EQ(fixture.answers.size(), 4u * 2 + 4);
  fixture.expect_clean();
}

TEST(AckGenerator, ARequestWaitsWhileTooManyAnswersWait) {  // R1
  AckGeneratorParams params;
  params.answers_waiting = 2;
  Bench bench;
  Fixture fixture(bench, params, 100);
  AckRequest third = fixture.request(fixture.qp, kReadRequest, 3, 8);
  AckRequest quiet = fixture.send(4);
  quiet.acknowledge = false;
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 1, 8));
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 2, 8));
  fixture.in.push(Cycle{9}, third);
  fixture.in.push(Cycle{9}, quiet);
  bench.run();
  // The first READ's data is taken in 112 and makes room.
  EXPECT_EQ(fixture.retired_in[quiet.psn.value], Cycle{114});
  EXPECT_EQ(fixture.answers.size(), 3u);
  EXPECT_EQ(fixture.dut.account()[static_cast<std::size_t>(Activity::kWaitResponse)], 101u);
  fixture.expect_clean();
}

TEST(AckGenerator, ARequestWaitsWhileTooManyAnswersAreReady) {  // R1
  AckGeneratorParams params;
  params.queue_depth = 2;
  params.response_cycles = 50;
  Bench bench;
  Fixture fixture(bench, params);
  for (std::uint32_t i = 0; i < 5; ++i) fixture.in.push(Cycle{9}, fixture.send(i));
  bench.run();
  // The first is started at once, two are ready; there is room for the last when the third is started in 110.
  EXPECT_EQ(fixture.retired_in[4], Cycle{111});
  EXPECT_EQ(fixture.answers.size(), 5u);
}

// 32 READs of 256 KiB of one QP are pending; their data comes as fast as it is asked for.
TEST(AckGenerator, AnAckWaitsForNoReadOfAnotherQp) {  // R2, R3
  Bench bench;
  Fixture fixture(bench, {}, 100);
  QpContext& other = fixture.add_qp(Qpn{0x12});
  fixture.qp.max_dest_rd_atomic = 32;
  for (std::uint32_t i = 0; i < 32; ++i) {
    fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, i * 256, 256 * 1024, 0x1000));
  }
  AckRequest write = fixture.request(other, kWriteOnly, 5, 64);
  fixture.in.push(Cycle{5000}, write);
  Cycle acknowledged{};
  fixture.tx.on_value([&](Cycle now, const WireFrame& frame) {
    Headers answer;
    parse(fixture.shared.packets[frame.buffer].frame_view(), frame.link, answer);
    if (opcode_info(answer.opcode).operation == kAck) acknowledged = now;
    fixture.shared.packets.release(frame.buffer);
  });
  bench.run();
  EXPECT_EQ(fixture.dut.counters().read_responses, 32u * 256);
  const AckGeneratorParams params;
  // One response before it, its own build, the sink.
  EXPECT_LE(acknowledged.count, 5001 + 2 * params.response_cycles + params.latency_cycles + 2);
  EXPECT_GE(acknowledged.count, 5001 + params.latency_cycles);
}

TEST(AckGenerator, AnAckBehindAReadGivesWayToTheNextOne) {  // R3
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 1, 8));
  for (std::uint32_t i = 2; i < 50; ++i) fixture.in.push(Cycle{9}, fixture.send(i));
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 50, 8));
  fixture.in.push(Cycle{9}, fixture.send(51));
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 4u);
  for (const auto& [n, psn] : {std::pair{0u, 1u}, {1u, 49u}, {2u, 50u}, {3u, 51u}}) EXPECT_EQ(fixture.psn(n), psn);
  EXPECT_EQ(fixture.dut.counters().coalesced, 47u);
  fixture.expect_clean();
}

TEST(AckGenerator, AQpThatAsksForMoreThanItsShareFails) {  // R3
  AckGeneratorParams params;
  params.answers_per_qp = 3;
  Bench bench;
  Fixture fixture(bench, params);
  auto& failures = bench.sink(fixture.dut.failures);
  for (std::uint32_t i = 1; i < 6; ++i) fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, i, 8));
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 4u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(fixture.operation(i), kReadResponseOnly);
  EXPECT_EQ(fixture.answers[3].syndrome, 0x61);
  EXPECT_EQ(fixture.psn(3), 4u);
  EXPECT_EQ(fixture.dut.counters().too_many, 1u);
  EXPECT_EQ(fixture.dut.counters().memory_errors, 0u) << "no memory failed";
  EXPECT_EQ(fixture.dut.counters().suppressed, 1u);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures.value(0).event, EventType::kQpRequestError);
}

TEST(AckGenerator, WhatWaitsToBeReportedIsOneFailureOfAQp) {  // R7
  AckGeneratorParams params;
  params.answers_per_qp = 2;
  Bench bench;
  Fixture fixture(bench, params);
  auto& failures = bench.sink(fixture.dut.failures, 1);
  failures.stall(Cycle{0}, Cycle{5000});
  for (std::uint32_t i = 1; i < 4; ++i) fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, i, 8));
  QpContext& other = fixture.add_qp(Qpn{20});
  for (std::uint32_t i = 1; i < 4; ++i) fixture.in.push(Cycle{9}, fixture.request(other, kReadRequest, i, 8));
  fixture.gather.fail_at(0x1000);  // the data that both ask for first
  bench.run();
  EXPECT_EQ(fixture.dut.counters().too_many, 2u);
  EXPECT_EQ(fixture.dut.counters().memory_errors, 2u);
  ASSERT_EQ(failures.size(), 3u) << "of four: one is in the link, one of each QP waits";
  EXPECT_EQ(failures.value(0).line, fixture.qp.line);
  EXPECT_EQ(failures.value(1).line, other.line);
  EXPECT_EQ(failures.value(1).event, EventType::kQpRequestError);
  EXPECT_EQ(failures.value(2).line, fixture.qp.line);
}

TEST(AckGenerator, QpsTakeTurnsAndOnlySoManyTogether) {  // R4
  for (const auto& [together, a_turn] : {std::pair{2u, 1u}, {1u, 1u}, {2u, 2u}}) {
    AckGeneratorParams params;
    params.reads_in_progress = together;
    params.responses_per_turn = a_turn;
    Bench bench;
    Fixture fixture(bench, params);
    for (std::uint32_t i = 0; i < 2; ++i) {
      fixture.in.push(Cycle{9}, fixture.request(fixture.add_qp(Qpn{20 + i}), kReadRequest, 100 * i, 4 * 1024));
    }
    bench.run();
    ASSERT_EQ(fixture.answers.size(), 8u);
    std::string order;
    for (std::uint32_t n = 0; n < 8; ++n) order += fixture.psn(n) < 100 ? 'a' : 'b';
    EXPECT_EQ(order, together == 1 ? "aaaabbbb"
                     : a_turn == 1 ? "aababab"
                                     "b"
                                   : "aabbaabb");
  }
}

TEST(AckGenerator, AFetchAddIsDoneSavedAndAnswered) {
  Bench bench;
  Fixture fixture(bench);
  fixture.host.store(BusAddress{0x3000}, std::uint64_t{1000});
  AckRequest h = fixture.request(fixture.qp, kFetchAdd, 5, 8, 0x3000);
  h.operand = 7;
  fixture.in.push(Cycle{9}, h);
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 1u);
  EXPECT_EQ(fixture.operation(0), kAtomicAck);
  EXPECT_EQ(fixture.answers[0].original, 1000u);
  EXPECT_EQ(fixture.answers[0].syndrome, 0x1f);
  EXPECT_EQ(fixture.psn(0), 5u);
  EXPECT_EQ(fixture.host.load<std::uint64_t>(BusAddress{0x3000}), 1007u);
  // Asked for in 10, carried out in 11, completed 100 later, seen in 112.
  EXPECT_EQ(fixture.tx.cycle(0), Cycle{116});
  fixture.expect_clean();
}

TEST(AckGenerator, ACompareSwapSwapsOnlyWhenEqual) {
  for (const std::uint64_t compare : {1000u, 1001u}) {
    Bench bench;
    Fixture fixture(bench);
    fixture.host.store(BusAddress{0x3000}, std::uint64_t{1000});
    AckRequest h = fixture.request(fixture.qp, kCompareSwap, 5, 8, 0x3000);
    h.operand = 7;
    h.compare = compare;
    fixture.in.push(Cycle{9}, h);
    bench.run();
    ASSERT_EQ(fixture.answers.size(), 1u);
    EXPECT_EQ(fixture.answers[0].original, 1000u);
    EXPECT_EQ(fixture.host.load<std::uint64_t>(BusAddress{0x3000}), compare == 1000 ? 7u : 1000u);
  }
}

TEST(AckGenerator, AReplayedAtomicAnswersWithTheSavedResult) {
  Bench bench;
  Fixture fixture(bench);
  fixture.host.store(BusAddress{0x3000}, std::uint64_t{1000});
  AckRequest h = fixture.request(fixture.qp, kFetchAdd, 5, 8, 0x3000);
  h.operand = 7;
  AckRequest again = fixture.request(fixture.qp, kFetchAdd, 5, 8, 0x3000);
  again.outcome = Outcome::kReplay;
  again.resource = h.resource;
  fixture.in.push(Cycle{9}, h);
  fixture.in.push(Cycle{9}, again);  // while the first is on its way
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 2u);
  EXPECT_EQ(fixture.answers[1].original, 1000u);
  EXPECT_EQ(fixture.host.load<std::uint64_t>(BusAddress{0x3000}), 1007u) << "done once";
  EXPECT_EQ(fixture.dut.counters().atomics, 1u);
  EXPECT_EQ(fixture.dut.counters().replays, 1u);
  fixture.expect_clean();
}

TEST(AckGenerator, AnAtomicWriteIsDoneThenAnsweredByAReadResponseWithoutData) {  // (R5)
  Bench bench;
  Fixture fixture(bench);
  const auto around = fixture.host_bytes(0x2ff8, 24);
  AckRequest h = fixture.request(fixture.qp, kAtomicWrite, 5, 8, 0x3000);
  fixture.in.push(Cycle{9}, h);
  fixture.in.push(Cycle{9}, fixture.send(6));
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 2u);
  EXPECT_EQ(fixture.operation(0), kReadResponseOnly);
  EXPECT_EQ(fixture.answers[0].syndrome, 0x1f);
  EXPECT_EQ(fixture.answers[0].msn, 1u);
  EXPECT_EQ(fixture.psn(0), 5u);
  EXPECT_TRUE(fixture.payloads[0].empty());
  EXPECT_EQ(fixture.psn(1), 6u) << "waits for it";
  auto expected = around;
  const auto data = counting_bytes(8);
  std::copy(data.begin(), data.end(), expected.begin() + 8);
  EXPECT_EQ(fixture.host_bytes(0x2ff8, 24), expected);
  EXPECT_EQ(fixture.memory.log().size(), 1u) << "one access";
  EXPECT_EQ(fixture.dut.counters().atomics, 1u);
  EXPECT_EQ(fixture.dut.counters().read_responses, 1u);
  // As a FETCH_ADD: asked for in 10, carried out in 11, completed 100 later, seen in 112.
  EXPECT_EQ(fixture.tx.cycle(0), Cycle{116});
  fixture.expect_clean();
}

TEST(AckGenerator, AReplayedAtomicWriteIsAnsweredAndNotWrittenAgain) {  // (R5)
  Bench bench;
  Fixture fixture(bench);
  AckRequest unsaved = fixture.request(fixture.qp, kAtomicWrite, 4, 8, 0x3000);
  unsaved.outcome = Outcome::kReplay;
  AckRequest h = fixture.request(fixture.qp, kAtomicWrite, 5, 8, 0x3000);
  AckRequest again = fixture.request(fixture.qp, kAtomicWrite, 5, 8, 0x3000);
  again.outcome = Outcome::kReplay;
  again.resource = h.resource;
  AckRequest add = fixture.request(fixture.qp, kFetchAdd, 6, 8, 0x3000);
  add.operand = 1;
  for (const AckRequest& p : {h, add, again, unsaved}) fixture.in.push(Cycle{9}, p);
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 3u);
  EXPECT_EQ(fixture.operation(2), kReadResponseOnly);
  EXPECT_EQ(fixture.psn(2), 5u);
  std::uint64_t written = 0;
  std::memcpy(&written, counting_bytes(8).data(), 8);
  EXPECT_EQ(fixture.answers[1].original, written) << "in order: written before it is added to";
  EXPECT_EQ(fixture.host.load<std::uint64_t>(BusAddress{0x3000}), written + 1) << "written once";
  EXPECT_EQ(fixture.dut.counters().replays, 2u);
  fixture.expect_clean();
}

TEST(AckGenerator, AReplayWithoutASavedResultIsNotAnswered) {
  Bench bench;
  Fixture fixture(bench);
  AckRequest h = fixture.request(fixture.qp, kFetchAdd, 5);
  h.outcome = Outcome::kReplay;
  fixture.in.push(Cycle{9}, h);
  fixture.in.push(Cycle{9}, fixture.send(6));
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 1u);
  EXPECT_EQ(fixture.psn(0), 6u);
  fixture.expect_clean();
}

TEST(AckGenerator, AResultIsOfTheQpThatHadTheResource) {  // R5
  Bench bench;
  Fixture fixture(bench);
  const AckRequest first = fixture.request(fixture.qp, kFetchAdd, 5);
  AckRequest replay = fixture.request(fixture.add_qp(Qpn{20}), kFetchAdd, 5);
  replay.outcome = Outcome::kReplay;
  replay.resource = first.resource;  // which the replay's QP has now
  fixture.in.push(Cycle{9}, first);
  fixture.in.push(Cycle{4999}, replay);
  bench.run();
  EXPECT_EQ(fixture.answers.size(), 1u);
  EXPECT_EQ(fixture.dut.counters().suppressed, 1u);
  fixture.expect_clean();
}

TEST(AckGenerator, EverythingWaitsForTheAtomicBeforeIt) {
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kFetchAdd, 1, 8, 0x3000));
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 2, 8, 0x3000));
  fixture.in.push(Cycle{9}, fixture.send(3));
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kCompareSwap, 4, 8, 0x3000));
  fixture.in.push(Cycle{9}, fixture.send(5));
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 5u);
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(fixture.psn(i), i + 1);
  EXPECT_EQ(fixture.gather.taken()[0], Cycle{113}) << "asked for when the atomic was done";
  fixture.expect_clean();
}

// When atomics of different QPs, taken in cycle 10 and those behind it, are given to memory: by their addresses.
std::vector<Cycle> atomics_done(const std::vector<std::uint64_t>& addresses, const AckGeneratorParams& params = {},
                                std::uint64_t* waits = nullptr, Activity* activity = nullptr) {
  Bench bench;
  Fixture fixture(bench, params);
  for (std::uint32_t n = 0; n < addresses.size(); ++n) {
    QpContext& qp = fixture.add_qp(Qpn{0x20 + n});
    AckRequest p = fixture.request(qp, n % 2 == 0 ? kFetchAdd : kCompareSwap, 5, 8, addresses[n]);
    fixture.in.push(Cycle{9}, p);
  }
  bench.run_to(Cycle{60});
  if (activity != nullptr) *activity = fixture.dut.activity();
  bench.run();
  EXPECT_EQ(fixture.answers.size(), addresses.size());
  if (waits != nullptr) *waits = fixture.dut.counters().atomic_waits;
  std::vector<Cycle> taken;
  for (std::size_t n = 0; n < fixture.memory.log().size(); ++n) {
    EXPECT_EQ(raw(fixture.memory.log()[n].request.address), addresses[n]) << "in their order";
    taken.push_back(fixture.memory.log()[n].taken);
  }
  fixture.expect_clean();
  return taken;
}

TEST(AckGenerator, AtomicsOfOneBucketAreDoneOneAfterTheOther) {  // R5
  AckGeneratorParams params;
  params.atomic_buckets = 4;
  std::uint64_t waits = 0;
  Activity activity{};
  for (const std::uint64_t apart : {0u, 32u}) {
    EXPECT_EQ(atomics_done({0x3000, 0x3000 + apart, 0x3000}, params, &waits, &activity),
              (std::vector<Cycle>{Cycle{11}, Cycle{113}, Cycle{215}}));
    EXPECT_EQ(waits, 2u);
    EXPECT_EQ(activity, Activity::kWaitAtomic);
  }
  EXPECT_EQ(atomics_done({0x3000, 0x3008, 0x3010, 0x3018}, params, &waits, &activity),
            (std::vector<Cycle>{Cycle{11}, Cycle{12}, Cycle{13}, Cycle{14}}));
  EXPECT_EQ(waits, 0u);
  EXPECT_EQ(activity, Activity::kWaitDmaData);
}

TEST(AckGenerator, OnlySoManyAtomicsAreUnderWay) {  // R5
  AckGeneratorParams params;
  params.atomics_in_flight = 2;
  Activity activity{};
  EXPECT_EQ(atomics_done({0x3000, 0x3008, 0x3010}, params, nullptr, &activity),
            (std::vector<Cycle>{Cycle{11}, Cycle{12}, Cycle{113}}));
  EXPECT_EQ(activity, Activity::kWaitAtomic);
}

AckGeneratorParams coalescing(std::uint32_t packets, std::uint32_t cycles) {
  AckGeneratorParams params;
  params.coalesce_packets = packets;
  params.coalesce_timer_ps = cycles * 1000;
  return params;
}

TEST(AckGenerator, OneAckAnswersAsManyRequestsAsAllowed) {
  Bench bench;
  Fixture fixture(bench, coalescing(3, 1000));
  for (std::uint32_t i = 0; i < 3; ++i) fixture.in.push(Cycle{9 + 10 * i}, fixture.send(i));
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 1u);
  EXPECT_EQ(fixture.psn(0), 2u);
  EXPECT_EQ(fixture.answers[0].msn, 3u);
  EXPECT_EQ(fixture.tx.cycle(0), Cycle{30 + 4});
  EXPECT_EQ(fixture.dut.counters().coalesced, 2u);
  fixture.expect_clean();
}

TEST(AckGenerator, AHeldAckLeavesAfterItsTimerToTheCycle) {
  Bench bench;
  Fixture fixture(bench, coalescing(3, 200));
  fixture.in.push(Cycle{9}, fixture.send(1));
  fixture.in.push(Cycle{49}, fixture.send(2));
  bench.run_to(Cycle{10 + 200 + 4});
  EXPECT_EQ(fixture.answers.size(), 0u);
  bench.run_to(Cycle{10 + 200 + 4 + 1});
  ASSERT_EQ(fixture.answers.size(), 1u);
  EXPECT_EQ(fixture.psn(0), 2u);
  EXPECT_EQ(fixture.tx.cycle(0), Cycle{214});
}

TEST(AckGenerator, AnotherAnswerPushesTheHeldAckOut) {
  Bench bench;
  Fixture fixture(bench, coalescing(8, 1000));
  fixture.in.push(Cycle{9}, fixture.send(1));
  fixture.in.push(Cycle{9}, fixture.send(2));
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 3, 8));
  fixture.in.push(Cycle{9}, fixture.send(4));  // behind the READ: not held
  fixture.in.push(Cycle{499}, fixture.send(5));
  fixture.in.push(Cycle{499}, fixture.nak(fixture.qp, 6, 0x61));
  bench.run();
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < fixture.answers.size(); ++i) order.push_back(fixture.psn(i));
  EXPECT_EQ(order, (std::vector<std::uint32_t>{2, 3, 4, 5, 6}));
  fixture.expect_clean();
}

TEST(AckGenerator, AcksOfDifferentQpsAreNotJoined) {
  Bench bench;
  Fixture fixture(bench, coalescing(2, 1000));
  for (std::uint32_t i = 0; i < 20; ++i) {  // more than can be held: half of queue_depth
    fixture.in.push(Cycle{9}, fixture.request(fixture.add_qp(Qpn{100 + i}), kSendOnly, i));
  }
  bench.run();
  EXPECT_EQ(fixture.answers.size(), 20u);
  EXPECT_EQ(fixture.dut.counters().coalesced, 0u);
  fixture.expect_clean();
}

TEST(AckGenerator, MemoryThatFailsUnderAReadIsANak) {
  Bench bench;
  Fixture fixture(bench);
  auto& failures = bench.sink(fixture.dut.failures);
  auto& refusals = bench.sink(fixture.dut.refusals);
  AckRequest read = fixture.request(fixture.qp, kReadRequest, 10, 4096);
  AckRequest ack = fixture.send(14);
  AckRequest second = fixture.request(fixture.qp, kReadRequest, 15, 1024);
  AckRequest atomic = fixture.request(fixture.qp, kFetchAdd, 16);
  fixture.gather.fail_at(0x1400);  // in the second response
  AckRequest late = fixture.send(17);
  for (const AckRequest& h : {read, ack, second, atomic}) fixture.in.push(Cycle{9}, h);
  fixture.in.push(Cycle{999}, late);
  bench.run();
  EXPECT_EQ(fixture.shared.ledger.counters().accepted, 5u);
  ASSERT_EQ(fixture.answers.size(), 2u);
  EXPECT_EQ(fixture.operation(0), kReadResponseFirst);
  EXPECT_EQ(fixture.operation(1), kAck);
  EXPECT_EQ(fixture.answers[1].syndrome, 0x62);
  EXPECT_EQ(fixture.psn(1), 11u);
  EXPECT_EQ(refusals.size(), 1u);
  EXPECT_EQ(fixture.dut.counters().atomics, 0u);
  EXPECT_EQ(fixture.shared.packets.in_use(), 0u);
  EXPECT_EQ(failures.size(), 1u);
  EXPECT_EQ(fixture.qp.pins.count(), 1u) << "for the completion generator";
}

TEST(AckGenerator, MemoryThatFailsUnderAnAtomicIsANak) {
  Bench bench;
  auto& memory = bench.keep<FaultyMemory>();
  memory.unmap_all();
  Fixture fixture(bench, {}, 10, 8, {}, &memory);
  auto& refusals = bench.sink(fixture.dut.refusals);
  auto& failures = bench.sink(fixture.dut.failures);
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kFetchAdd, 3));
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 1u);
  EXPECT_EQ(fixture.operation(0), kAck);
  EXPECT_EQ(fixture.answers[0].syndrome, 0x63);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals.value(0).kind, RefusalKind::kError);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures.value(0).event, EventType::kQpFatal);
  EXPECT_EQ(fixture.qp.pins.count(), 1u) << "for the completion generator";
}

TEST(AckGenerator, AReadOfMemoryThatIsGoneHasNoResponse) {  // R7
  Bench bench;
  Fixture fixture(bench);
  auto& failures = bench.sink(fixture.dut.failures);
  auto& refusals = bench.sink(fixture.dut.refusals);
  fixture.gather.fail_at(0x1400, kNakRemoteOperation, true);  // in the second response of four
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 10, 4096));
  fixture.in.push(Cycle{9}, fixture.send(14));
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 15, 1024));
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kFetchAdd, 16));
  fixture.in.push(Cycle{9}, fixture.request(fixture.add_qp(Qpn{0x99}), kReadRequest, 5, 8, 0x3000));
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 2u);
  EXPECT_EQ(fixture.operation(0), kReadResponseFirst);
  EXPECT_EQ(fixture.operation(1), kReadResponseOnly) << "of the other QP";
  EXPECT_EQ(fixture.dut.counters().suppressed, 6u) << "three of the four, and one of each request behind them";
  EXPECT_EQ(fixture.dut.counters().memory_errors, 0u);
  EXPECT_EQ(fixture.dut.counters().atomics, 0u);
  EXPECT_EQ(fixture.shared.packets.in_use(), 0u);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals.value(0).kind, RefusalKind::kError);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures.value(0).event, EventType::kQpFatal);
  EXPECT_EQ(fixture.qp.pins.count(), 1u) << "for the completion generator";
}

TEST(AckGenerator, AnAtomicOnMemoryThatIsGoneHasNoResponse) {  // R7
  Bench bench;
  auto& memory = bench.keep<FaultyMemory>();
  memory.unmap_all();
  memory.is_gone = memory.is_unmapped;
  Fixture fixture(bench, {}, 10, 8, {}, &memory);
  auto& failures = bench.sink(fixture.dut.failures);
  AckRequest again = fixture.request(fixture.qp, kFetchAdd, 3);
  again.outcome = Outcome::kReplay;
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kFetchAdd, 3));
  fixture.in.push(Cycle{9}, fixture.send(4));
  fixture.in.push(Cycle{999}, again);
  bench.run();
  EXPECT_EQ(fixture.answers.size(), 0u);
  EXPECT_EQ(fixture.dut.counters().atomics, 1u);
  EXPECT_EQ(fixture.dut.counters().memory_errors, 0u);
  EXPECT_EQ(fixture.dut.counters().suppressed, 3u) << "its response, the one behind it, and the repeated one";
  EXPECT_EQ(failures.size(), 1u);
  EXPECT_EQ(fixture.qp.pins.count(), 1u) << "for the completion generator";
}

TEST(AckGenerator, CreditsAreCountedWhenAskedFor) {
  AckGeneratorParams params;
  params.credits = AckCredits::kCounted;
  Bench bench;
  Fixture fixture(bench, params);
  QpContext& on_srq = fixture.add_qp(Qpn{0x12}, true);
  for (QpContext* const of : {&fixture.qp, &on_srq}) {
    AckRequest h = fixture.request(*of, kSendOnly, of == &fixture.qp ? 1 : 2);
    h.posted_wqes = 100;
    fixture.in.push(Cycle{9}, h);
  }
  bench.run();
  EXPECT_EQ(fixture.answers[0].syndrome, credit_code(100));
  EXPECT_EQ(fixture.answers[1].syndrome, 0x1f);
}

TEST(AckGenerator, EveryCycleIsAccountedFor) {
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 1, 8));
  bench.run();
  fixture.dut.settle(Cycle{200});
  const CycleAccount& account = fixture.dut.account();
  const auto spent = [&](Activity a) { return account[static_cast<std::size_t>(a)]; };
  EXPECT_EQ(spent(Activity::kWaitDmaData), 102u);  // from 10 to the start in 112
  EXPECT_EQ(spent(Activity::kBusy), 4u);
  EXPECT_EQ(spent(Activity::kStarved), 94u);
}

TEST(AckGenerator, ModesAndOrdersAgreeAndEveryQpIsAnsweredInOrder) {
  const std::uint64_t seed = test_seed(14);
  expect_equal_in_all_orders([seed](Bench& bench) {
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
    Fixture fixture(bench, params, 1 + below(200), 1 + below(4), quotas);
    std::vector<QpContext*> qps;
    for (std::uint32_t i = 0; i < 12; ++i) qps.push_back(&fixture.add_qp(Qpn{100 + i}));
    std::vector<std::uint32_t> next_psn(qps.size(), 0);
    std::map<std::uint32_t, std::uint32_t> last_psn;  // by UDP source port, which names the QP
    StateHash digest;
    fixture.tx.accept_when([](Cycle c) { return c.count / 32 % 4 != 0; });
    fixture.gather.accept_when([](Cycle c) { return c.count / 16 % 5 != 0; });
    fixture.tx.on_value([&](Cycle now, const WireFrame& frame) {
      fixture.check(frame);
      const std::uint32_t port = fixture.answers.back().udp_source_port;
      const std::uint32_t psn = fixture.answers.back().psn.value + 1;
      EXPECT_GT(psn, last_psn[port]);
      last_psn[port] = psn;
      digest.mix(now.count);
      digest.mix(psn);
    });
    std::uint64_t cycle = 0;
    std::vector<bool> broken(qps.size());
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
      AckRequest h = fixture.request(*qps[n], operation, next_psn[n], kind == 0 ? bytes : 8, below(8000) * 8,
                                     Encapsulation::kRoceV2Ipv4, static_cast<std::uint16_t>(n + 1));
      next_psn[n] += kind == 0 ? std::max(1u, (bytes + 1023) / 1024) : 1;
      if (kind == 4 || (kind == 5 && below(40) == 0)) {
        broken[n] = kind == 5 || broken[n];
        if (kind == 5) mark_failed(h, DropReason::kInvalidRequest, 0x61, WcStatus::kGeneral);
        if (kind == 4) h.acknowledge = false;
        unanswered += kind == 4;
      }
      cycle += below(4) == 0 ? below(200) : below(3);
      fixture.in.push(Cycle{cycle}, h);
    }
    bench.run();
    EXPECT_EQ(fixture.dut.counters().packets, 600u);
    EXPECT_GT(fixture.answers.size(), 100u);
    EXPECT_GT(fixture.dut.counters().read_responses, 20u);
    EXPECT_GT(fixture.dut.counters().atomics, 10u);
    EXPECT_LT(unanswered, 600u);
    fixture.expect_clean();
    for (const QpContext* of : qps) EXPECT_EQ(of->pins.count(), 0u);
    digest.mix(fixture.host.digest());
    digest.mix(bench.state_hash());
    return digest.value();
  });
}

TEST(AckGenerator, TheCompletionGeneratorIsNotifiedOfAQpThatFailsHere) {  // R7
  Bench bench;
  Fixture fixture(bench);
  auto& failures = bench.sink(fixture.dut.failures);
  fixture.gather.fail_at(0x1000);
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kReadRequest, 7));
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 1u);
  EXPECT_EQ(fixture.answers[0].syndrome, 0x62);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures.value(0).line, fixture.qp.line);
  EXPECT_EQ(failures.value(0).event, EventType::kQpAccessError);
  EXPECT_EQ(fixture.qp.pins.count(), 1u) << "for the failure that is reported";
}

TEST(AckGenerator, AMarkedPacketGivesACnpAheadOfItsAck) {  // R10
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{9}, fixture.marked(fixture.qp, 7));
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 2u);
  EXPECT_EQ(fixture.answers[0].opcode, kOpcodeCnp);
  EXPECT_TRUE(fixture.answers[0].becn);
  EXPECT_EQ(fixture.psn(0), 0u);
  EXPECT_EQ(fixture.tx.cycle(0), Cycle{10 + 4});
  EXPECT_EQ(fixture.operation(1), kAck);
  EXPECT_EQ(fixture.tx.cycle(1), Cycle{10 + 4 + 2}) << "a CNP takes its response_cycles";
  EXPECT_EQ(fixture.dut.counters().cnps, 1u);
  EXPECT_EQ(fixture.dut.counters().acks, 1u);
  fixture.expect_clean();
}

AckGeneratorParams pacing(std::uint64_t interval_cycles, CnpScope scope = CnpScope::kQp) {
  AckGeneratorParams params;
  params.cnp_interval_ps = interval_cycles * 1000;
  params.cnp_scope = scope;
  return params;
}

TEST(AckGenerator, OneCnpForEachScopeInAnInterval) {  // R10
  for (const auto& [scope, from_another] : {std::pair{CnpScope::kQp, true}, {CnpScope::kAddress, false}}) {
    Bench bench;
    Fixture fixture(bench, pacing(100, scope));
    QpContext& another = fixture.add_qp(Qpn{0x77});
    for (const std::uint64_t taken : {10, 50, 109, 110, 111}) {
      fixture.in.push(Cycle{taken - 1}, fixture.marked(fixture.qp, static_cast<std::uint32_t>(taken), false));
    }
    fixture.in.push(Cycle{120}, fixture.marked(another, 1, false));
    bench.run();
    std::vector<Cycle> expected{Cycle{10 + 4}, Cycle{110 + 4}};
    if (from_another) expected.push_back(Cycle{121 + 4});
    EXPECT_EQ(fixture.cnps(), expected);
    EXPECT_EQ(fixture.dut.counters().cnps_paced, from_another ? 3u : 4u);
    EXPECT_EQ(fixture.dut.counters().cnps_refused, 0u);
    fixture.expect_clean();
  }
}

TEST(AckGenerator, WithoutATimerAMarkedPacketGivesNoCnp) {  // R10
  AckGeneratorParams params = pacing(100);
  params.cnp_timers = 1;
  Bench bench;
  Fixture fixture(bench, params);
  QpContext& another = fixture.add_qp(Qpn{0x77});
  fixture.in.push(Cycle{9}, fixture.marked(fixture.qp, 1, false));
  fixture.in.push(Cycle{108}, fixture.marked(another, 1, false));
  fixture.in.push(Cycle{109}, fixture.marked(another, 2, false));
  bench.run();
  EXPECT_EQ(fixture.cnps(), (std::vector{Cycle{14}, Cycle{114}}));
  EXPECT_EQ(fixture.dut.counters().cnps_refused, 1u);
}

TEST(AckGenerator, SoManyCnpsWaitForTheBuilder) {  // R10
  AckGeneratorParams params = pacing(0);
  params.cnp_depth = 2;
  params.response_cycles = 10;
  Bench bench;
  Fixture fixture(bench, params);
  for (std::uint32_t n = 0; n < 5; ++n) fixture.in.push(Cycle{9 + n}, fixture.marked(fixture.qp, n, false));
  bench.run();
  EXPECT_EQ(fixture.cnps(), (std::vector{Cycle{14}, Cycle{24}, Cycle{34}})) << "one is built, two wait";
  EXPECT_EQ(fixture.dut.counters().cnps_refused, 2u);
  fixture.expect_clean();
}

TEST(AckGenerator, ACnpWaitsForAResponseBuffer) {  // R8, R10
  PacketPool::Quotas quotas;
  quotas.response = 1;
  Bench bench;
  Fixture fixture(bench, pacing(0), 100, 8, quotas);
  fixture.tx.stall(Cycle{0}, Cycle{100});
  fixture.in.push(Cycle{9}, fixture.send(1));
  fixture.in.push(Cycle{19}, fixture.marked(fixture.qp, 2, false));
  bench.run();
  ASSERT_EQ(fixture.answers.size(), 2u);
  EXPECT_EQ(fixture.cnps().size(), 1u);
  EXPECT_GT(fixture.tx.cycle(1), Cycle{100});
  fixture.expect_clean();
}

TEST(AckGenerator, WhatHasNoConnectedPeerGivesNoCnp) {  // R10
  Bench bench;
  Fixture fixture(bench);
  QpContext datagrams = test_qp(Transport::kUd);
  datagrams.qpn = Qpn{0x78};
  fixture.in.push(Cycle{9}, fixture.marked(place_qp(fixture.shared, datagrams), 1, false));
  AckRequest internal = fixture.marked(fixture.qp, 2, false);
  internal.role = PacketRole::kSendCompletion;
  fixture.in.push(Cycle{19}, internal);
  bench.run();
  EXPECT_EQ(fixture.answers.size(), 0u);
  EXPECT_EQ(fixture.dut.counters().cnps + fixture.dut.counters().cnps_refused, 0u);
}

TEST(AckGenerator, AMarkedResponseGivesACnpToo) {  // R10
  Bench bench;
  Fixture fixture(bench);
  AckRequest response = fixture.request(fixture.qp, kReadResponseOnly, 1);
  response.congested = true;
  fixture.in.push(Cycle{9}, response);
  bench.run();
  EXPECT_EQ(fixture.cnps(), std::vector{Cycle{14}});
  fixture.expect_clean();
}

TEST(AckGenerator, ModesAndOrdersAgreeUnderCongestion) {  // R10
  const std::uint64_t seed = test_seed(15);
  expect_equal_in_all_orders([seed](Bench& bench) {
    std::mt19937_64 random(seed);
    AckGeneratorParams params = pacing(50);
    params.cnp_timers = 3;
    params.cnp_depth = 2;
    params.read_responses_in_flight = 2;
    PacketPool::Quotas quotas;
    quotas.response = 3;
    quotas.receive = 700;
    Fixture fixture(bench, params, 60, 2, quotas);
    std::vector<QpContext*> qps;
    for (std::uint32_t i = 0; i < 6; ++i) qps.push_back(&fixture.add_qp(Qpn{100 + i}));
    fixture.tx.accept_when([](Cycle c) { return c.count / 32 % 4 != 0; });
    std::uint64_t cycle = 0;
    for (std::uint32_t i = 0; i < 400; ++i) {
      AckRequest p = fixture.request(*qps[random() % qps.size()], random() % 5 == 0 ? kReadRequest : kSendOnly, i);
      p.congested = random() % 2 == 0;
      cycle += random() % 12;
      fixture.in.push(Cycle{cycle}, p);
    }
    bench.run();
    const AckGeneratorCounters& c = fixture.dut.counters();
    EXPECT_GT(c.cnps, 20u);
    EXPECT_GT(c.cnps_paced, 5u);
    EXPECT_GT(c.cnps_refused, 5u);
    EXPECT_EQ(fixture.cnps().size(), c.cnps);
    fixture.expect_clean();
    return bench.state_hash();
  });
}

TEST(AckGenerator, ACommandWaitsForPacketsAndForTheAtomicsOfItsRegion) {  // R9
  Bench bench;
  Fixture fixture(bench);
  auto& commands = bench.source(fixture.dut.commands);
  auto& done = bench.sink(fixture.dut.command_done);
  fixture.in.push(Cycle{9}, fixture.request(fixture.qp, kFetchAdd, 7));
  commands.push(Cycle{19}, {1, Key{0x600}});  // another region
  commands.push(Cycle{29}, {1, Key{0x500}});
  commands.push(Cycle{4999}, {2, Key{}});
  fixture.in.push(Cycle{5099}, fixture.request(fixture.qp, kFetchAdd, 8));
  bench.run();
  ASSERT_EQ(done.size(), 3u);
  EXPECT_EQ(done.cycle(0), Cycle{20});
  EXPECT_GT(done.cycle(1), Cycle{30}) << "the atomic is under way";
  EXPECT_LT(done.cycle(1), Cycle{4000});
  EXPECT_EQ(done.cycle(2), Cycle{5100});
}

}  // namespace
}  // namespace rxnic::ack_generator_test
