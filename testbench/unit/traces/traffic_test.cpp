// SPDX-License-Identifier: Apache-2.0
#include "traces/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include "model/core/wire/icrc.h"
#include "model/core/wire/parsed.h"
#include "traces/host_plan.h"
#include "traces/traffic_layout.h"

namespace rxnic::traffic_test {
namespace {

constexpr TrafficMix kEverything{4, 1, 1, 2, 1, 1, 1, 1, 1};

TrafficConfig everything(std::uint32_t errors_per_million = 0) {
  TrafficConfig c;
  c.rc_qps = 8;
  c.uc_qps = 4;
  c.ud_qps = 2;
  c.xrc_qps = 2;
  c.mix = kEverything;
  c.min_bytes = 0;
  c.max_bytes = 4096;
  c.errors_per_million = errors_per_million;
  c.spare_qps = 1000;
  return c;
}

struct Sealed {
  std::array<std::uint8_t, kMaxFrameBytes> buffer;
  TrafficFrame f;
  Headers h;
  ParseStatus status = ParseStatus::kOk;
  Bytes frame() const { return Bytes(buffer).first(f.bytes); }
  void next(Traffic& t) {
    f = t.next(buffer);
    if (f.rdma) seal(std::span(buffer).first(f.bytes), f.h);
    Traffic::damage(buffer, f);
    status = parse(frame(), f.h.link, h);
  }
};

TEST(Traffic, TheSameSeedGivesTheSameFrames) {
  Traffic a(everything(100'000)), b(everything(100'000));
  TrafficConfig other = everything(100'000);
  other.seed = 2;
  Traffic c(other);
  Sealed x, y, z;
  bool differs = false;
  for (int i = 0; i < 5000; ++i) {
    x.next(a);
    y.next(b);
    z.next(c);
    ASSERT_TRUE(std::ranges::equal(x.frame(), y.frame()));
    EXPECT_EQ(x.f.time_ps, y.f.time_ps);
    differs |= !std::ranges::equal(x.frame(), z.frame());
  }
  EXPECT_TRUE(differs);
}

TEST(Traffic, WithoutErrorsAReceiverFindsNoFault) {
  for (const Encapsulation e : {Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6, Encapsulation::kRoceV1,
                                Encapsulation::kIbLocal, Encapsulation::kIbGlobal}) {
    TrafficConfig config = everything();
    config.encapsulation = e;
    if (e == Encapsulation::kIbLocal) {
      config.sender = Address::lid(4);
      config.receiver = Address::lid(5);
    } else if (e != Encapsulation::kRoceV2Ipv4) {
      config.sender = Address::parse("fe80::1");
      config.receiver = Address::parse("fe80::2");
    }
    Traffic traffic(config);
    CaptureSurvey survey(&wrong_checksum);
    Sealed s;
    std::set<std::uint8_t> opcodes;
    for (std::uint64_t i = 1; i <= 20'000; ++i) {
      s.next(traffic);
      ASSERT_EQ(s.status, ParseStatus::kOk);
      ASSERT_EQ(s.h, s.f.h) << "build() and parse() agree";
      CapturedFrame c;
      c.number = i;
      c.link = s.f.h.link;
      c.set_bytes(s.frame());
      survey.add(c);
      opcodes.insert(s.h.opcode);
    }
    EXPECT_EQ(survey.counts().rdma, 20'000u);
    EXPECT_GT(opcodes.size(), 45u);
    const ReceiverSurvey found = survey.of_receiver(config.receiver);
    const ReceiverSurvey surveyed = traffic.survey();
    EXPECT_EQ(found.qps.size(), 16u);
    for (const SurveyedQp& q : found.qps) {
      EXPECT_EQ(q.psn_gaps, 0u);
      EXPECT_EQ(q.repetitions, 0u);
      const auto same = std::ranges::find(surveyed.qps, q.qpn, &SurveyedQp::qpn);
      ASSERT_NE(same, surveyed.qps.end());
      EXPECT_EQ(same->transport, q.transport);
      EXPECT_LE(q.largest_send, same->largest_send);
      if (q.transport == Transport::kUd) continue;
      EXPECT_EQ(same->first_psn, q.first_psn);
      EXPECT_EQ(q.mtu, config.mtu);
    }
    for (const SurveyedRegion& r : found.regions) {
      const auto same = std::ranges::find(surveyed.regions, r.key, &SurveyedRegion::key);
      ASSERT_NE(same, surveyed.regions.end());
      EXPECT_EQ(r.invalidated, same->invalidated);
      if (r.invalidated) continue;  // nothing else in the traffic uses it
      EXPECT_GE(r.lowest, same->lowest);
      EXPECT_LE(r.end, same->end);
      EXPECT_EQ(r.access & ~same->access, 0);
    }
  }
}

TEST(Traffic, SmallSendsLeaveAtLineRateTimesLoad) {
  TrafficConfig config;
  Traffic full(config);
  config.load = 0.05;
  Traffic light(config);
  Sealed s;
  for (int i = 0; i < 1000; ++i) s.next(full);
  EXPECT_EQ(s.f.bytes, 14u + 20 + 8 + 12 + 64 + 4);
  EXPECT_NEAR(static_cast<double>(s.f.time_ps), 1000 * (122 + 24) * 80.0, 1);
  for (int i = 0; i < 1000; ++i) s.next(light);
  EXPECT_NEAR(static_cast<double>(s.f.time_ps), 20 * 1000 * (122 + 24) * 80.0, 1);
}

TEST(Traffic, EveryQpGetsItsShare) {
  TrafficConfig config;
  config.rc_qps = 256;
  Traffic traffic(config);
  Sealed s;
  std::map<std::uint32_t, int> packets;
  for (int i = 0; i < 25'600; ++i) {
    s.next(traffic);
    ++packets[raw(s.h.destination_qp)];
  }
  EXPECT_EQ(packets.size(), 256u);
  for (const auto& [qpn, count] : packets) EXPECT_GT(count, 50) << qpn;
}

TEST(Traffic, TagMatchingSendsBeginWithATmh) {
  TrafficConfig config;
  config.min_bytes = config.max_bytes = 2000;
  config.tag_matching = true;
  config.tags = 3;
  Traffic traffic(config);
  Sealed s;
  for (std::uint64_t message = 0; message < 7; ++message) {
    s.next(traffic);
    const Bytes payload = payload_of(s.frame(), s.h);
    EXPECT_EQ(payload[0], 3);
    EXPECT_EQ(load_be64(&payload[8]), message % 3);
    s.next(traffic);
    EXPECT_EQ(s.h.opcode, opcode_of(Transport::kRc, Operation::kSendLast));
  }
}

TEST(Traffic, EveryCauseComesAndLooksLikeIt) {
  Traffic traffic(everything(300'000));
  std::map<Injected, int> seen;
  Sealed s;
  for (int i = 0; i < 100'000; ++i) {
    s.next(traffic);
    ++seen[s.f.injected];
    const bool icrc_good = s.status == ParseStatus::kOk && icrc_matches(s.frame(), s.h);
    switch (s.f.injected) {
      case Injected::kNotRdma:
        EXPECT_EQ(s.status, ParseStatus::kNotRdma);
        break;
      case Injected::kTooShort:
        EXPECT_EQ(s.status, ParseStatus::kTooShort);
        break;
      case Injected::kBadLength:
        EXPECT_EQ(s.status, ParseStatus::kBadLength);
        break;
      case Injected::kCutInCapture:
        EXPECT_GT(s.f.wire_bytes, s.f.bytes);
        break;
      case Injected::kFragment:
        EXPECT_EQ(s.status, ParseStatus::kFragment);
        break;
      case Injected::kUnknownOpcode:
        EXPECT_EQ(s.status, ParseStatus::kUnknownOpcode);
        break;
      case Injected::kMissingHeaders:
        EXPECT_EQ(s.status, ParseStatus::kMissingHeaders);
        break;
      case Injected::kIcrc:
        EXPECT_EQ(s.status, ParseStatus::kOk);
        EXPECT_FALSE(icrc_good);
        break;
      case Injected::kVersion:
        EXPECT_EQ(s.h.version, 1);
        EXPECT_TRUE(icrc_good);
        break;
      case Injected::kQpnZero:
        EXPECT_EQ(s.h.destination_qp, Qpn{0});
        EXPECT_TRUE(icrc_good);
        break;
      default:
        EXPECT_TRUE(icrc_good) << injected_name(s.f.injected);
        break;
    }
  }
  for (std::size_t i = 0; i < kInjectedCauses; ++i) {
    EXPECT_GT(seen[static_cast<Injected>(i)], 20) << injected_name(static_cast<Injected>(i));
  }
}

TEST(Traffic, OnlyTheCausesThatAreAskedForCome) {
  TrafficConfig config = everything(500'000);
  config.causes = std::uint64_t{1} << static_cast<unsigned>(Injected::kIcrc);
  Traffic traffic(config);
  Sealed s;
  int damaged = 0;
  for (int i = 0; i < 20'000; ++i) {
    s.next(traffic);
    EXPECT_TRUE(s.f.injected == Injected::kNone || s.f.injected == Injected::kIcrc);
    damaged += s.f.injected == Injected::kIcrc;
  }
  EXPECT_GT(damaged, 100);
}

TEST(Traffic, FatalCausesUseUpTheSpareQpsAndThenEnd) {
  TrafficConfig config;
  config.rc_qps = 2;
  config.spare_qps = 5;
  config.mix = kEverything;
  config.errors_per_million = 200'000;
  config.causes = 0;
  for (std::size_t i = 0; i < kInjectedCauses; ++i) {
    if (is_fatal(static_cast<Injected>(i))) config.causes |= std::uint64_t{1} << i;
  }
  Traffic traffic(config);
  Sealed s;
  std::map<std::uint32_t, int> after_fault;  // packets on a QP behind its fatal one
  std::set<std::uint32_t> used;
  int faults = 0;
  for (int i = 0; i < 20'000; ++i) {
    s.next(traffic);
    const std::uint32_t qpn = raw(s.h.destination_qp);
    used.insert(qpn);
    if (after_fault.contains(qpn)) ++after_fault[qpn];
    if (s.f.injected == Injected::kNone) continue;
    ++faults;
    after_fault.emplace(qpn, 0);
  }
  EXPECT_EQ(faults, 5);
  EXPECT_EQ(used.size(), 7u);
  for (const auto& [qpn, packets] : after_fault) EXPECT_LE(packets, 12) << qpn;
}

// A receiver that is silent until the PSN it expects comes is never left waiting.
TEST(Traffic, APsnAheadIsFollowedByThePsnThatWasLeftOut) {
  TrafficConfig config = everything(200'000);
  config.uc_qps = config.ud_qps = 0;
  config.causes = std::uint64_t{1} << static_cast<unsigned>(Injected::kPsnAhead) |
                  std::uint64_t{1} << static_cast<unsigned>(Injected::kRepeat);
  Traffic traffic(config);
  std::map<std::uint32_t, Psn> expected;
  std::map<std::uint32_t, int> ahead;
  const ReceiverSurvey surveyed = traffic.survey();
  for (const SurveyedQp& q : surveyed.qps) expected[raw(q.qpn)] = q.first_psn;
  Sealed s;
  int jumps = 0;
  for (int i = 0; i < 50'000; ++i) {
    s.next(traffic);
    const std::uint32_t qpn = raw(s.h.destination_qp);
    if (s.h.psn - expected[qpn] > 0) {
      ++jumps;
      ASSERT_LE(++ahead[qpn], 12) << "it may happen again at once";
      continue;
    }
    if (s.h.psn != expected[qpn]) continue;
    ahead[qpn] = 0;
    const bool read = (opcode_info(s.h.opcode).traits & kRead) != 0;
    expected[qpn] = s.h.psn + (read ? std::max(1u, (s.h.length + 1023) / 1024) : 1u);
  }
  EXPECT_GT(jumps, 100);
}

TEST(Traffic, AConfigurationThatCannotBeIsRefused) {
  TrafficConfig config;
  config.rc_qps = 0;
  EXPECT_THROW(Traffic{config}, std::invalid_argument);
  config.rc_qps = 1;
  config.max_bytes = 1;
  EXPECT_THROW(Traffic{config}, std::invalid_argument);
}

TEST(Traffic, ItsHostHasAQueueForEveryQp) {
  const HostPlan plan = make_host_plan(Traffic(everything()).survey(), {});
  EXPECT_EQ(plan.qps.size(), 16u + 1000);
  EXPECT_EQ(plan.queues.size(), 14u + 1000 + 1) << "XRC QPs share one SRQ";
  EXPECT_EQ(plan.regions.size(), plan.queues.size() + 2 + traffic::kInvalidatedKeys);
}

}  // namespace
}  // namespace rxnic::traffic_test
