// SPDX-License-Identifier: Apache-2.0
// A DMA engine with all its ports connected, on a link whose times are sums of bytes.
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "model/blocks/dma_engine.h"
#include "model/nic/nic_shared.h"
#include "testbench/unit/faulty_memory.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic {

inline constexpr auto kContextClient = static_cast<std::size_t>(DmaClient::kContext);
inline constexpr auto kWqeClient = static_cast<std::size_t>(DmaClient::kWqe);
inline constexpr auto kCqeClient = static_cast<std::size_t>(DmaClient::kCqe);
inline constexpr auto kResponseClient = static_cast<std::size_t>(DmaClient::kResponse);

// A link that carries one byte in a cycle of 1 ns, so that expected cycles are sums of bytes.
inline DmaEngineParams byte_a_cycle() {
  DmaEngineParams p;
  p.tlp_rate_mbps = 8000;
  p.mps_bytes = 256;
  p.mrrs_bytes = 512;
  p.rcb_bytes = 64;
  p.write_header_bytes = p.read_header_bytes = 24;
  p.completion_header_bytes = 20;
  p.tags = 64;
  p.posted_credit_bytes = 16384;
  p.read_latency_ps = 100'000;
  p.write_latency_ps = 50'000;
  return p;
}

// An engine with all its ports connected.
struct DmaEngineFixture {
  explicit DmaEngineFixture(Bench& b, const DmaEngineParams& params, std::uint32_t period_ps = 1000,
                            HostMemory* other = nullptr, std::unique_ptr<DmaArbiter> arbiter = nullptr)
      : bench(b),
        memory(b.keep<LocalMemory>()),
        shared(b.keep<NicShared>(PacketPool::Quotas{}, &b.engine().now())),
        dut(b.add<DmaEngine>("dut", params, period_ps, shared.packets, other == nullptr ? memory : *other,
                             std::move(arbiter))),
        payload(b.source(dut.payload)),
        payload_done(b.sink(dut.payload_done)),
        gather(b.source(dut.gather)),
        gathered(b.sink(dut.gathered)),
        landed(b.sink(dut.landed)),
        send_doorbells(b.source(dut.send_doorbells)),
        receive_doorbells(b.source(dut.receive_doorbells)),
        completion_doorbells(b.source(dut.completion_doorbells)),
        tag_operations(b.source(dut.tag_operations)),
        commands(b.source(dut.commands)),
        send_rung(b.sink(dut.send_rung)),
        receive_rung(b.sink(dut.receive_rung)),
        completion_rung(b.sink(dut.completion_rung)),
        tags_given(b.sink(dut.tags_given)),
        commands_given(b.sink(dut.commands_given)),
        receive_events(b.source(dut.receive_events)),
        completion_events(b.source(dut.completion_events)),
        send_events(b.source(dut.send_events)),
        receive_raised(b.sink(dut.receive_raised)),
        completion_raised(b.sink(dut.completion_raised)),
        send_raised(b.sink(dut.send_raised)),
        page_requests(b.source(dut.page_requests)),
        page_raised(b.sink(dut.page_raised)),
        page_replies(b.source(dut.page_replies)),
        page_replied(b.sink(dut.page_replied)),
        replies(b.source(dut.replies)),
        replied(b.sink(dut.replied)) {
    for (std::size_t c = 0; c < kDmaClients; ++c) {
      requests[c] = &b.source(dut.requests[c]);
      completions[c] = &b.sink(dut.completions[c]);
    }
  }
  // The segments of an RC packet on `line` that is to be carried out; without sizes it writes nothing.
  std::vector<SegmentWrite> packet(std::initializer_list<std::uint32_t> segment_bytes, std::uint64_t bus = 0x10000,
                                   std::uint32_t line = 0) {
    SegmentWrite s;
    s.buffer = shared.packets.allocate(PacketClass::kReceive);
    s.opcode = opcode_of(Transport::kRc, Operation::kWriteOnly);
    s.transport = Transport::kRc;
    s.outcome = Outcome::kExecute;
    s.acknowledge = true;
    s.line = line;
    s.message_sequence = ++messages;
    s.psn = s.answer_psn = Psn{messages};
    if (segment_bytes.size() == 0) return {s};
    std::vector<SegmentWrite> all;
    for (const std::uint32_t bytes : segment_bytes) {
      s.address = BusAddress{bus + 8192u * all.size()};
      s.bytes = bytes;
      s.last = all.size() + 1 == segment_bytes.size();
      all.push_back(s);
      s.offset = static_cast<std::uint16_t>(s.offset + bytes);
    }
    return all;
  }
  void write_packet(Cycle when, const std::vector<SegmentWrite>& segments) {
    for (const SegmentWrite& s : segments) payload.push(when, s);
  }
  // The segments of a READ response's data.
  std::vector<GatherRead> response(std::initializer_list<std::uint32_t> segment_bytes, std::uint64_t bus = 0x10000) {
    GatherRead s;
    s.buffer = shared.packets.allocate(PacketClass::kResponse);
    std::vector<GatherRead> all;
    for (const std::uint32_t bytes : segment_bytes) {
      s.address = BusAddress{bus + 8192u * all.size()};
      s.bytes = bytes;
      s.last = all.size() + 1 == segment_bytes.size();
      all.push_back(s);
      s.offset = static_cast<std::uint16_t>(s.offset + bytes);
    }
    return all;
  }
  void gather_response(Cycle when, const std::vector<GatherRead>& segments) {
    for (const GatherRead& s : segments) gather.push(when, s);
  }
  DmaRequest read(std::uint32_t cookie, std::uint32_t bytes, std::uint64_t address = 0x1000) {
    return {DmaKind::kRead, false, 0, cookie, BusAddress{address}, bytes, buffer, 0, 0};
  }
  DmaRequest write(std::uint32_t cookie, std::uint32_t bytes, std::uint64_t address = 0x1000, std::uint16_t cqes = 0) {
    return {DmaKind::kWrite, cqes > 0, cqes, cookie, BusAddress{address}, bytes, buffer, 0, 0};
  }
  Bench& bench;
  LocalMemory& memory;
  NicShared& shared;
  DmaEngine& dut;
  Source<SegmentWrite>& payload;
  Sink<CompletionRequest>& payload_done;
  Source<GatherRead>& gather;
  Sink<GatheredData>& gathered;
  Sink<HostNotice>& landed;
  Source<Doorbell>&send_doorbells, &receive_doorbells, &completion_doorbells;
  Source<TagOperation>& tag_operations;
  Source<DriverCommand>& commands;
  Sink<Doorbell>&send_rung, &receive_rung, &completion_rung;
  Sink<TagOperation>& tags_given;
  Sink<DriverCommand>& commands_given;
  Source<Event>&receive_events, &completion_events, &send_events;
  Sink<Event>&receive_raised, &completion_raised, &send_raised;
  Source<Event>& page_requests;
  Sink<Event>& page_raised;
  Source<Doorbell>& page_replies;
  Sink<Doorbell>& page_replied;
  Source<CommandReply>& replies;
  Sink<CommandReply>& replied;
  std::array<Source<DmaRequest>*, kDmaClients> requests{};
  std::array<Sink<DmaCompletion>*, kDmaClients> completions{};
  std::uint32_t messages = 0;
  std::uint8_t buffer[8192] = {};
};

// Payload in Gb/s that a saturated engine moves, by bytes of a transfer; clock of 430 MHz.
inline double saturated_gbps(DmaEngineParams p, bool writes, std::uint32_t bytes) {
  constexpr std::uint32_t kPeriod = 2325;
  constexpr int kTransfers = 4000;
  Bench bench(EngineMode::kFast, kPeriod);
  DmaEngineFixture fixture(bench, p, kPeriod);
  const auto& first = writes ? fixture.write(0, bytes) : fixture.read(0, bytes);
  for (int i = 0; i < kTransfers; ++i) fixture.requests[kWqeClient]->push(Cycle{0}, first);
  bench.run();
  const std::uint64_t cycles = writes ? bench.engine().now().count
                                      : fixture.completions[kWqeClient]->cycle(kTransfers - 1).count -
                                            fixture.completions[kWqeClient]->cycle(0).count;
  return double{8.0} * bytes * kTransfers / (static_cast<double>(cycles) * kPeriod * 1e-3);
}

}  // namespace rxnic
