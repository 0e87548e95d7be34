// SPDX-License-Identifier: Apache-2.0
// Fixture of the requester's tests: a requester with memory and QPs, its ports connected.
#pragma once

#include <gtest/gtest.h>
#include <cstring>

#include <map>
#include <string>
#include <vector>

#include "model/blocks/requester.h"
#include "model/core/wire/icrc.h"
#include "model/nic/nic_shared.h"
#include "testbench/unit/model/engine/harness.h"
#include "testbench/unit/send_wqes.h"

namespace rxnic {

// Clock 1 ns: a read takes 50 cycles from the request to its completion.
struct RequesterFixture {
  static constexpr std::uint32_t kReadCycles = 50, kLatency = 24;
  static constexpr std::uint32_t kMtu = 256, kSlots = 16, kStride = 256;
  static constexpr std::uint64_t kVa = 0x7f0000000f00, kRegionBytes = 0x8000;
  static constexpr Key kLkey{0x4200};
  static constexpr Pdn kPd{7};
  static constexpr Qpn kQpn{0x11}, kPeer{0x22};
  static constexpr MacAddress kMac{2, 0x72, 0x78, 0, 0, 1};

  static RequesterParams params() {
    RequesterParams p;
    p.latency_cycles = kLatency;
    p.cycles_per_wqe = 3;
    p.cycles_per_packet = 2;
    p.doorbell_wqe_bytes = 256;
    p.wqes_per_read = 4;
    p.payload_buffer_bytes = 1 << 20;
    p.window_packets = 32;
    p.ack_every_packets = 8;
    p.gather_bytes = 1;                     // each packet leaves when its own payload has come
    p.dcqcn_target = DcqcnTarget::kAlways;  // as the DCQCN paper has it
    p.dcqcn_fast_stages = 5;
    p.dcqcn_reduce_period_ps = 0;
    return p;
  }

  explicit RequesterFixture(Bench& b, const RequesterParams& p = params(), std::uint32_t tx_capacity = 8,
                            std::uint32_t own_requests = 65536)
      : bench(b),
        shared(b.keep<NicShared>(PacketPool::Quotas{.receive = 1, .response = 1, .request = 4000})),
        memory(b.keep<LocalMemory>()),
        dut(b.add<Requester>("dut", p, 1000, shared.packets, memory, own_requests)),
        doorbells(b.source(dut.doorbells)),
        answers(b.source(dut.answers)),
        failed(b.source(dut.failed)),
        places(b.source(dut.places)),
        rendezvous(b.source(dut.rendezvous)),
        rendezvous_places(b.sink(dut.rendezvous_places)),
        tx(b.sink(dut.tx, tx_capacity)),
        wqe_reads(b.memory(dut.wqe_dma, dut.wqe_dma_done, memory, kReadCycles - 2)),
        payload_reads(b.memory(dut.payload_dma, dut.payload_dma_done, memory, kReadCycles - 2)),
        notices(b.sink(dut.notices)),
        completions(b.sink(dut.completions)),
        windows(b.sink(dut.windows, 2)),
        windows_done(b.source(dut.windows_done)),
        commands(b.source(dut.commands)),
        command_done(b.sink(dut.command_done)),
        events(b.sink(dut.events)) {
    const SourceGid gids[] = {{Encapsulation::kRoceV1, Address::parse("fe80::1")},
                              {Encapsulation::kRoceV2Ipv6, Address::parse("fe80::1")},
                              {Encapsulation::kRoceV2Ipv4, Address::parse("10.0.0.1")},
                              {}};
    dut.set_port(kMac, gids);
    std::vector<std::uint64_t> pages;
    for (std::uint64_t i = 0; i < kRegionBytes / 4096 + 1; ++i) pages.push_back(0x200000 + i * 4096);
    put_region(memory, kLkey, kPd, kLocalWrite, kVa, kRegionBytes, pages, 0x900000);
    for (std::uint32_t i = 0; i < kRegionBytes; ++i) memory.store(BusAddress{0x200f00 + i}, byte_at(i));
  }

  // The byte of the region at kVa + i.
  static std::uint8_t byte_at(std::uint64_t i) { return static_cast<std::uint8_t>(i * 7 + (i >> 8)); }
  static DataSegment segment(std::uint32_t bytes, std::uint64_t offset = 0) {
    return {bytes, raw(kLkey), kVa + offset};
  }

  static SendQpContext context(Transport transport = Transport::kRc, Qpn qpn = kQpn) {
    SendQpContext c;
    c.qp.valid = 1;
    c.qp.state = QpState::kRts;
    c.qp.transport = transport;
    c.qp.qpn = qpn;
    c.qp.remote_qpn = kPeer;
    c.qp.pd = kPd;
    c.qp.mtu = kMtu;
    c.qp.qkey = 0x1234;
    c.queue = {BusAddress{0x100000 + std::uint64_t{raw(qpn)} * 0x10000}, kSlots, kStride, false};
    c.path = path();
    c.max_rd_atomic = 4;
    c.timeout = 0;
    c.sq_psn = 100;
    return c;
  }
  static AddressVector path(const char* to = "10.0.0.2", std::uint8_t gid_index = 2) {
    AddressVector a;
    a.destination_gid = Address::parse(to).bytes;
    a.destination_mac = {2, 0x72, 0x78, 0, 0, 2};
    a.source_gid_index = gid_index;
    return a;
  }
  void create(const SendQpContext& c) {
    contexts[raw(c.qp.qpn)] = c;
    dut.create(c);
  }

  // Gives a command that can be taken in cycle `at`.
  void command(std::uint64_t at, SendQueueOperation operation, const SendQpContext& c = context(), bool set_psn = false,
               bool notify_drained = false, bool recovers = false) {
    SendQueueCommand asked;
    asked.operation = operation;
    asked.qpn = c.qp.qpn;
    asked.transport = c.qp.transport;
    asked.state = static_cast<std::uint8_t>(c.qp.state);
    asked.set_psn = set_psn;
    asked.notify_drained = notify_drained;
    asked.recovers = recovers;
    asked.pd = c.qp.pd;
    asked.mtu = c.qp.mtu;
    asked.pkey = c.qp.pkey;
    asked.qkey = c.qp.qkey;
    asked.remote_qpn = c.qp.remote_qpn;
    asked.base = c.queue.base;
    asked.slots = c.queue.slots;
    asked.stride = c.queue.stride;
    asked.all_signaled = c.queue.all_signaled;
    std::memcpy(asked.path.data(), &c.path, sizeof c.path);
    asked.max_rd_atomic = c.max_rd_atomic;
    asked.timeout = c.timeout;
    asked.retry_count = c.retry_count;
    asked.rnr_retry = c.rnr_retry;
    asked.psn = Psn{c.sq_psn};
    commands.push(Cycle{at - 1}, asked);
  }

  void hide(std::uint64_t at, Key key) {
    SendQueueCommand asked;
    asked.operation = SendQueueOperation::kHide;
    asked.key = key;
    commands.push(Cycle{at - 1}, asked);
  }
  // Writes WQEs into the QP's slots and rings a doorbell that can be taken in cycle `at`.
  void post(std::uint64_t at, const std::vector<WqeSpec>& specs, Qpn qpn = kQpn) {
    const SendQpContext& c = contexts.at(raw(qpn));
    std::uint32_t& producer = producers[raw(qpn)];
    std::uint32_t wqe_size = 0;
    for (const WqeSpec& spec : specs) {
      const auto slot = wqe_bytes(spec, c.queue.stride, c.qp.transport == Transport::kUd);
      memory.write(c.queue.base + std::uint64_t{producer++ % c.queue.slots} * c.queue.stride, slot);
      SendControl control;
      std::memcpy(&control, slot.data(), sizeof control);
      wqe_size = send_wqe_bytes(control);
    }
    ring(at, producer, qpn, specs.size() == 1 ? wqe_size : 0);
  }
  void ring(std::uint64_t at, std::uint32_t producer, Qpn qpn = kQpn, std::uint32_t wqe_size = 0) {
    doorbells.push(Cycle{at - 1}, {.kind = DoorbellKind::kSend,
                                   .solicited_only = false,
                                   .number = raw(qpn),
                                   .value = producer,
                                   .wqe_bytes = static_cast<std::uint16_t>(wqe_size),
                                   .rung = Cycle{at - 1}});
  }
  // Notifies the requester of a response; the notice can be taken in cycle `at`.
  void answer(std::uint64_t at, AnswerKind kind, std::uint32_t psn, std::uint8_t syndrome = 0, Qpn qpn = kQpn) {
    answers.push(Cycle{at - 1}, {qpn, Psn{psn}, kind, syndrome});
  }

  Packet& sent(std::size_t n) { return shared.packets[tx.value(n).buffer]; }
  const SendCompletion& completion(std::size_t n) const { return completions.value(n); }
  // The n-th frame, parsed; its ICRC is good.
  Headers frame(std::size_t n) {
    Headers h;
    const Packet& p = sent(n);
    EXPECT_EQ(parse(p.frame_view(), LinkLayer::kEthernet, h), ParseStatus::kOk);
    EXPECT_TRUE(p.sealed && icrc_matches(p.frame_view(), h));
    EXPECT_EQ(tx.value(n).bytes, p.frame_bytes);
    return h;
  }
  std::vector<std::uint8_t> payload(std::size_t n) {
    const Bytes bytes = payload_of(sent(n).frame_view(), frame(n));
    return {bytes.begin(), bytes.end()};
  }
  std::vector<std::uint32_t> psns() {
    std::vector<std::uint32_t> all;
    for (std::size_t n = 0; n < tx.size(); ++n) all.push_back(sent(n).h.psn.value);
    return all;
  }
  struct Ended {
    std::uint32_t wqe;
    WcStatus status;
    bool operator==(const Ended&) const = default;
  };
  std::vector<Ended> ended() {
    std::vector<Ended> all;
    for (std::size_t n = 0; n < completions.size(); ++n) {
      all.push_back({completion(n).wqe, completion(n).status});
    }
    return all;
  }

  Bench& bench;
  NicShared& shared;
  LocalMemory& memory;
  Requester& dut;
  Source<Doorbell>& doorbells;
  Source<AnswerNotice>& answers;
  Source<FailedQp>& failed;
  Source<RequestPlaces>& places;
  Source<RendezvousRequest>& rendezvous;
  Sink<RendezvousPlaces>& rendezvous_places;
  Sink<WireFrame>& tx;
  TestMemory& wqe_reads;
  TestMemory& payload_reads;
  Sink<RequestNotice>& notices;
  Sink<SendCompletion>& completions;
  Sink<WindowRequest>& windows;
  Source<StepDone>& windows_done;
  Source<SendQueueCommand>& commands;
  Sink<SendQueueReply>& command_done;
  Sink<Event>& events;
  std::map<std::uint32_t, SendQpContext> contexts;
  std::map<std::uint32_t, std::uint32_t> producers;
};

inline std::ostream& operator<<(std::ostream& out, const RequesterFixture::Ended& e) {
  return out << "WQE " << e.wqe << " status " << static_cast<int>(e.status);
}

inline WqeSpec inline_send(std::size_t bytes = 32) { return {.inline_data = std::vector<std::uint8_t>(bytes, 0x5a)}; }

}  // namespace rxnic
