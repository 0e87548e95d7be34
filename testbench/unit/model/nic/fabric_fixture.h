// SPDX-License-Identifier: Apache-2.0
// NICs on a fabric without QPs, sources that push frames as a requester does, and what came to each NIC.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/core/wire/ecn.h"
#include "model/nic/fabric.h"
#include "testbench/unit/model/engine/harness.h"
#include "testbench/unit/request_packets.h"

namespace rxnic::fabric_test {

inline constexpr std::uint32_t kNobody = FabricObserver::kNobody;
inline constexpr std::uint32_t kEverybody = FabricObserver::kEverybody;
// A byte takes a cycle, unless a test says otherwise.
inline constexpr std::uint64_t kAcross = 320;  // switch and two cables
inline constexpr std::uint64_t kLoopback = 100;

inline Params slow_link() {
  Params p;
  p.nic.clock_period_ps = 1000;
  p.nic.link_gbps = 8;
  p.wire.cut_through_bytes = 16384;  // a NIC is given whole frames, unless a test says otherwise
  p.fabric.switch_latency_ps = 300'000;
  p.fabric.cable_delay_ps = 10'000;
  p.fabric.loopback_latency_ps = 100'000;
  return p;
}

inline Address address_of(std::uint32_t nic) {
  if (nic == kNobody) return Address::ipv4(0x0a0000ff);
  if (nic == kEverybody) return Address::ipv4(0xe0000001);
  return Address::ipv4(0x0a000001 + nic);
}

struct Sent {
  Cycle when;
  std::uint32_t to = 0;
  std::uint32_t payload = 0;  // bytes, a multiple of 4
  std::uint32_t id = 0;       // its PSN
  bool sealed = false;        // as if a block of the model had built it
  bool wrong = false;         // one bit of its payload, after its ICRC was computed
};

// Pushes frames as a requester does, each in its cycle or as soon as there is a buffer and room.
class FrameSource final : public Block {
 public:
  FrameSource(const sc_core::sc_module_name& name, Nic& nic) : Block(name), nic_(nic) {}
  Out<WireFrame> out{"out"};
  void push(const Sent& frame) { frames_.push_back(frame); }
  // Bytes of a frame with that payload on a line.
  static std::uint64_t line_bytes(std::uint32_t payload) { return 14 + 20 + 8 + 12 + payload + 4 + 4 + 20; }
  Cycle step(Cycle now) override {
    PacketPool& pool = nic_.shared.packets;
    while (next_ < frames_.size() && frames_[next_].when <= now) {
      if (!out.can_push(now) || !pool.available(PacketClass::kReceive)) return rest(now, Activity::kBlocked, now + 1);
      const Sent& f = frames_[next_++];
      const PacketHandle h = pool.allocate(PacketClass::kReceive);
      Headers header = request_headers(Encapsulation::kRoceV2Ipv4, Transport::kRc, Operation::kSendOnly, Psn{f.id});
      header.destination = address_of(f.to);
      if (f.to == kEverybody) header.destination_qp = Qpn{0xffffff};
      set_frame(pool[h], header, counting_bytes(f.payload, f.id));
      pool[h].posted = Cycle{1000 + f.id};
      pool[h].sealed = f.sealed;
      if (f.wrong) pool[h].frame[pool[h].frame_bytes - 5] ^= 1;
      out.push(now, {h, static_cast<std::uint16_t>(pool[h].frame_bytes), LinkLayer::kEthernet, false, false});
    }
    return rest(now, Activity::kStarved, next_ < frames_.size() ? frames_[next_].when : kNever);
  }

 private:
  Nic& nic_;
  std::vector<Sent> frames_;
  std::size_t next_ = 0;
};

using Ids = std::vector<std::uint32_t>;  // PSNs of frames

struct Arrival {
  Cycle when;
  std::uint32_t id = 0;
  Cycle posted;
  bool congested = false;
  std::vector<std::uint8_t> payload;
  std::uint64_t number = 0;
};

// The packets that came to a NIC. It has no QP, so that every packet is dropped.
class Inbox final : public PacketObserver {
 public:
  void on_retire(const AckRequest&, const Packet& p, Cycle) override {
    Headers h;
    ASSERT_EQ(parse(p.frame_view(), p.link, h), ParseStatus::kOk);
    const Bytes payload = payload_of(p.frame_view(), h);
    arrivals.push_back({p.stamped(Station::kWire),
                        h.psn.value,
                        p.posted,
                        is_congested(h.traffic_class),
                        {payload.begin(), payload.end()},
                        p.id});
  }
  std::vector<Arrival> arrivals;
};

class Record final : public FabricObserver {
 public:
  struct Frame {
    std::uint32_t from, to;
    std::size_t bytes;
    std::uint64_t time_ps;
    std::uint32_t id;  // PSN
  };
  void on_frame(std::uint32_t from, std::uint32_t to, Bytes frame, std::uint64_t time_ps) override {
    Headers h;
    EXPECT_EQ(parse(frame, LinkLayer::kEthernet, h), ParseStatus::kOk);
    frames.push_back({from, to, frame.size(), time_ps, h.psn.value});
  }
  std::vector<Frame> frames;
};

struct Fixture {
  Fixture(Bench& b, const Params& p, std::uint32_t count) : bench(b), memories(count), inboxes(count) {
    fabric = &b.keep<Fabric>("fabric", p, b.engine(), count);
    fabric->set_observer(&record);
    for (std::uint32_t n = 0; n < count; ++n) {
      Nic& nic = b.keep<Nic>(("nic" + std::to_string(n)).c_str(), p, memories[n], b.engine());
      nics.push_back(&nic);
      fabric->attach(nic, {{}, {address_of(n)}});
      nic.shared.ledger.set_observer(&inboxes[n]);
      requests.push_back(&b.add<FrameSource>(("requests" + std::to_string(n)).c_str(), nic));
      requests.back()->out.bind(nic.requests_out);
      answers.push_back(&b.add<FrameSource>(("answers" + std::to_string(n)).c_str(), nic));
      answers.back()->out.bind(nic.wire_out);
    }
  }
  const std::vector<Arrival>& arrivals(std::uint32_t nic) const { return inboxes[nic].arrivals; }

  Bench& bench;
  std::vector<LocalMemory> memories;
  std::vector<Inbox> inboxes;
  Record record;
  Fabric* fabric = nullptr;
  std::vector<Nic*> nics;
  std::vector<FrameSource*> requests, answers;
};

}  // namespace rxnic::fabric_test
