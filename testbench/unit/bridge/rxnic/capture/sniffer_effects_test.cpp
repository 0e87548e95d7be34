// SPDX-License-Identifier: Apache-2.0
// Effects of a sniffer in whole replays, each rule of traces/sniffer.h from both sides.
#include "traces/sniffer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/types/syndrome.h"
#include "testbench/unit/bridge/rxnic/capture/capture_scene.h"
#include "traces/cm_message.h"

namespace rxnic::sniffer_effects_test {
namespace {

constexpr SceneQp kQp{};

bool says(const std::vector<std::string>& all, const std::string& what) {
  return std::any_of(all.begin(), all.end(), [&](const std::string& t) { return t.find(what) != std::string::npos; });
}
bool warns(const RunResult& r, const std::string& what) { return says(r.warnings, what); }
bool assumes(const RunResult& r, const std::string& what) { return says(r.assumptions, what); }

// `n` requests and their ACKs, 10 us from one to the next.
CaptureScene exchange(std::uint32_t n) {
  CaptureScene scene;
  for (std::uint32_t psn = 0; psn < n; ++psn) {
    scene.request(psn * 20000, kQp, psn);
    scene.answer(psn * 20000 + 10000, kQp, psn, psn + 1);
  }
  return scene;
}

// Each frame once more, `ns` later.
CaptureScene doubled(const CaptureScene& scene, std::uint64_t ns, bool answers_too = true) {
  CaptureScene twice;
  for (std::size_t i = 0; i < scene.frames.size(); ++i) {
    twice.frames.push_back(scene.frames[i]);
    if (i % 2 == 1 && !answers_too) continue;
    twice.frames.push_back(scene.frames[i]);
    twice.frames.back().time_ps += ns * 1000;
  }
  return twice;
}

TEST(SnifferEffects, APacketThatIsThereTwiceIsLeftOut) {  // R1
  const RunResult r = doubled(exchange(4), 1000).replay();
  EXPECT_EQ(r.sniffer.copies, 8u);
  EXPECT_EQ(r.packets.accepted, 4u);
  EXPECT_EQ(r.answers_sent, 4u);
  EXPECT_EQ(r.answers.equal, 4u);
  EXPECT_EQ(count_of(r.transport, "duplicates"), 0u);
  EXPECT_TRUE(warns(r, "8 of 16 are left out"));
  EXPECT_EQ(r.captured, r.packets.seen + r.from_receiver + r.to_others + r.sniffer.copies);
  EXPECT_EQ(r.qps[0].sent_again, 0u);
}

TEST(SnifferEffects, ACopyComesBeforeTheShortestTimeout) {  // R1
  EXPECT_EQ(doubled(exchange(4), 8191).replay().sniffer.copies, 8u);
  const RunResult late = doubled(exchange(4), 8192).replay();
  EXPECT_EQ(late.sniffer.copies, 0u);
  EXPECT_EQ(count_of(late.transport, "duplicates"), 4u);
  EXPECT_EQ(late.qps[0].sent_again, 4u);
}

TEST(SnifferEffects, WhatIsRepeatedInOneDirectionAloneIsARetransmission) {  // R1
  const RunResult r = doubled(exchange(4), 1000, false).replay();
  EXPECT_EQ(r.sniffer.copies, 0u);
  EXPECT_EQ(count_of(r.transport, "duplicates"), 4u);
}

// The mirror of the port behind the switch has the mark that the switch made.
TEST(SnifferEffects, TheMarkOfACopyIsThePackets) {  // R1
  for (const unsigned wrong : {0u, 1u}) {
    CaptureScene scene = doubled(exchange(4), 1000);
    for (auto& f : scene.frames) f.bytes[24] ^= static_cast<std::uint8_t>(wrong);  // of the IP checksum
    for (const std::size_t copy : {1u, 9u}) {                                      // of two requests
      std::uint8_t* const ip = &scene.frames[copy].bytes[14];
      ip[1] |= 3;
      store_be16(ip + 10, static_cast<std::uint16_t>(load_be16(ip + 10) - 3));
    }
    const RunResult r = scene.replay();
    EXPECT_EQ(r.sniffer.copies, 8u);
    EXPECT_EQ(r.congestion.marked, wrong == 0 ? 2u : 0u);
    EXPECT_EQ(r.packets.accepted, wrong == 0 ? 4u : 0u) << "a wrong checksum stays wrong";
  }
}

// Two interfaces with other snapshot lengths: the whole one of two stays, whichever came first.
TEST(SnifferEffects, OfACopyThatIsCutTheWholeOneStays) {  // R1
  for (const std::size_t cut : {0u, 1u}) {
    for (const bool fill : {false, true}) {
      CaptureScene scene = doubled(exchange(4), 1000);
      for (std::size_t i = cut; i < scene.frames.size(); i += 2) {
        auto& f = scene.frames[i];
        f.wire_bytes = static_cast<std::uint32_t>(f.bytes.size());
        f.bytes.resize(f.bytes.size() - 2);
      }
      ReplayOptions o;
      o.fill_truncated = fill;
      const RunResult r = scene.replay(o);
      EXPECT_EQ(r.sniffer.copies, 8u);
      EXPECT_EQ(r.packets.accepted, 4u);
      EXPECT_EQ(r.packets.dropped_total(), 0u);
      EXPECT_EQ(r.answers.equal, 4u);
      EXPECT_EQ(count_of(r.transport, "duplicates"), 0u);
    }
  }
}

TEST(SnifferEffects, OneAnswerToManyRequestsIsCopiedAsThey) {  // R1
  CaptureScene scene;
  for (std::uint32_t psn = 0; psn < 6; ++psn) scene.request(psn * 20000, kQp, psn);
  scene.answer(120000, kQp, 5, 6);
  const RunResult r = doubled(scene, 1000).replay();
  EXPECT_EQ(r.sniffer.copies, 7u);
  EXPECT_EQ(count_of(r.transport, "duplicates"), 0u);
  EXPECT_EQ(r.answers.equal, 1u);
}

// The NAK is in the last place of those that are kept, what it asks for in the first one.
TEST(SnifferEffects, ACopyOfANakAsksForNothing) {  // R1
  CaptureScene scene = doubled(exchange(31), 1000);
  for (const std::uint64_t ns : {700'000, 700'500}) scene.request(ns, kQp, 32);
  scene.answer(701'000, kQp, 31, 31, kNakSequence);
  scene.request(702'000, kQp, 31);
  scene.answer(702'500, kQp, 31, 31, kNakSequence);
  scene.request(703'000, kQp, 31);
  EXPECT_EQ(scene.replay().sniffer.copies, 62u + 3u);
}

TEST(SnifferEffects, FewRepetitionsAreRetransmissions) {  // R1
  EXPECT_EQ(doubled(exchange(1), 1000).replay().sniffer.copies, 0u) << "two are too few";
  EXPECT_EQ(doubled(exchange(2), 1000).replay().sniffer.copies, 4u);
  CaptureScene scene = exchange(10);
  for (std::size_t i = 0; i < 14; ++i) {  // seven of ten each way
    scene.frames.push_back(scene.frames[i]);
    scene.frames.back().time_ps += 1'000'000;
  }
  std::stable_sort(scene.frames.begin(), scene.frames.end(),
                   [](const auto& a, const auto& b) { return a.time_ps < b.time_ps; });
  EXPECT_EQ(scene.replay().sniffer.copies, 0u);
}

TEST(SnifferEffects, AnotherIpIdentificationIsAnotherPacket) {  // R1
  CaptureScene scene;
  for (std::uint32_t psn = 0; psn < 6; ++psn) {
    for (const std::uint16_t id : {1, 2}) {
      Headers h = CaptureScene::request_headers(kQp, psn);
      h.ip_identification = id;
      scene.add(psn * 20000 + id * 1000u, h, 64);
    }
  }
  const RunResult r = scene.replay();
  EXPECT_EQ(r.sniffer.copies, 0u);
  EXPECT_EQ(count_of(r.transport, "duplicates"), 6u);
}

// PSNs as they come, a microsecond from one to the next.
CaptureScene in_order_of(const std::vector<std::uint32_t>& psns) {
  CaptureScene scene;
  std::uint64_t ns = 0;
  for (const std::uint32_t psn : psns) scene.request(ns += 1000, kQp, psn);
  return scene;
}

TEST(SnifferEffects, SwappedPacketsArePutInOrder) {  // R2
  for (const auto& psns : {std::vector<std::uint32_t>{0, 1, 3, 2, 4, 5}, {0, 3, 2, 1, 4, 5}, {0, 1, 2, 3, 5, 4}}) {
    CaptureScene scene = in_order_of(psns);
    scene.answer(100'000, kQp, 5, 6);
    const RunResult r = scene.replay();
    EXPECT_EQ(r.sniffer.reordered, 1u);
    EXPECT_EQ(r.messages, 6u);
    EXPECT_EQ(count_of(r.transport, "psn_gaps"), 0u);
    EXPECT_EQ(count_of(r.transport, "duplicates"), 0u);
    EXPECT_EQ(r.answers.equal, 1u);
    EXPECT_TRUE(warns(r, "1 packet overtaken"));
  }
}

TEST(SnifferEffects, ARetransmissionIsNotSwapped) {  // R2
  for (const auto& psns : {std::vector<std::uint32_t>{0, 1, 3, 2, 3, 4}, {0, 1, 3, 4, 2, 3, 4}}) {
    const RunResult r = in_order_of(psns).replay();
    EXPECT_EQ(r.sniffer.reordered, 0u) << "it goes on with what it has sent";
    EXPECT_EQ(count_of(r.transport, "psn_gaps"), 1u);
  }
  CaptureScene asked;
  for (const std::uint32_t psn : {0u, 2u}) asked.request(1000 + psn, kQp, psn);
  asked.answer(2000, kQp, 1, 1, kNakSequence);
  for (const std::uint32_t psn : {1u, 3u}) asked.request(3000 + psn, kQp, psn);
  EXPECT_EQ(asked.replay().sniffer.reordered, 0u) << "a NAK asked for it";
  CaptureScene late = in_order_of({0, 2});
  late.request(2000 + 8192, kQp, 1);
  late.request(20000, kQp, 3);
  EXPECT_EQ(late.replay().sniffer.reordered, 0u) << "8.192 us later";
}

// Four requests from one PSN on, and four from another; the second connection's MSN begins with 1 or goes on.
CaptureScene two_runs(std::uint32_t first, std::uint32_t second, std::uint32_t msn_before) {
  CaptureScene scene;
  std::uint64_t ns = 0;
  for (std::uint32_t n = 0; n < 8; ++n) {
    const std::uint32_t psn = n < 4 ? first + n : second + n - 4;
    scene.request(ns += 10000, kQp, psn);
    scene.answer(ns += 10000, kQp, psn, n < 4 ? n + 1 : msn_before + n - 3);
  }
  return scene;
}

TEST(SnifferEffects, AQpnThatIsUsedAgainIsANewConnection) {  // R3
  for (const auto& [first, second] : {std::pair{100u, 900000u}, {900000u, 100u}, {0u, 0x900000u}}) {
    const RunResult r = two_runs(first, second, 0).replay();
    EXPECT_EQ(r.sniffer.reused_qps, 1u) << first;
    EXPECT_EQ(r.messages, 8u);
    EXPECT_EQ(count_of(r.transport, "psn_gaps"), 0u);
    EXPECT_EQ(count_of(r.transport, "duplicates"), 0u);
    EXPECT_EQ(r.answers.equal, 8u);
    EXPECT_EQ(r.answers.different, 0u);
    EXPECT_EQ(r.qps[0].psns_missing, 0u);
    EXPECT_TRUE(warns(r, "QP 0x11 from packet 9 on"));
  }
}

// A REP of the receiver, which names its QP and the PSN with which the peer begins.
void connect(CaptureScene& scene, std::uint64_t ns, std::uint32_t psn) {
  std::vector<std::uint8_t> mad(kMadBytes);
  mad[1] = 7;
  mad[2] = 2;
  store_be16(&mad[16], 0x13);
  store_be32(&mad[36], kQp.own << 8);
  store_be32(&mad[44], psn << 8);
  Headers h = CaptureScene::headers({1, 1}, false, Operation::kSendOnly, 0);
  h.opcode = opcode_of(Transport::kUd, Operation::kSendOnly);
  h.source_qp = Qpn{1};
  h.qkey = kGsiQkey;
  scene.add(ns, h, mad);
}

TEST(SnifferEffects, ConnectionManagementNamesANewConnectionHoweverNear) {  // R3
  for (const bool named : {true, false}) {
    CaptureScene scene = exchange(4);
    if (named) connect(scene, 500'000, 0);
    for (CaptureScene::Frame f : exchange(4).frames) {
      f.time_ps += 1'000'000'000;
      scene.frames.push_back(f);
    }
    const RunResult r = scene.replay();
    EXPECT_EQ(r.sniffer.reused_qps, named ? 1u : 0u);
    EXPECT_EQ(r.messages, named ? 8u : 4u);
    EXPECT_EQ(count_of(r.transport, "duplicates"), named ? 0u : 4u);
    EXPECT_EQ(r.answers.different, 0u);
  }
}

TEST(SnifferEffects, AJumpWhoseMsnGoesOnIsAGap) {  // R3
  const RunResult r = two_runs(100, 900000, 4).replay();
  EXPECT_EQ(r.sniffer.reused_qps, 0u);
  EXPECT_EQ(count_of(r.transport, "psn_gaps"), 1u);
  EXPECT_EQ(two_runs(100, 104 + 1024, 0).replay().sniffer.reused_qps, 0u) << "not far enough away";
  EXPECT_EQ(two_runs(100, 104 + 1025, 0).replay().sniffer.reused_qps, 1u);
}

TEST(SnifferEffects, ASampleHasNoGaps) {  // R4
  CaptureScene scene;
  for (std::uint32_t n = 0; n < 40; ++n) scene.request(n * 10000, kQp, n * 10);
  const RunResult r = scene.replay();
  EXPECT_EQ(r.sniffer.one_in, 10u);
  EXPECT_EQ(r.sniffer.sampled_psns, 39u * 9);
  EXPECT_EQ(count_of(r.transport, "psn_gaps"), 0u);
  EXPECT_TRUE(warns(r, "1-in-10 sampling"));
}

TEST(SnifferEffects, LossesInBurstsAreNoSample) {  // R4
  CaptureScene scene;
  std::uint32_t psn = 0;
  for (std::uint32_t n = 0; n < 40; ++n) scene.request(n * 10000, kQp, psn += n % 4 == 3 ? 37 : 1);
  const RunResult r = scene.replay();
  EXPECT_EQ(r.sniffer.one_in, 0u);
  EXPECT_EQ(count_of(r.transport, "psn_gaps"), 10u);
}

TEST(SnifferEffects, AClockThatStepsBackIsNamed) {
  CaptureScene scene = exchange(4);
  scene.frames[4].time_ps = 0;
  const RunResult r = scene.replay();
  EXPECT_EQ(r.sniffer.clock_steps, 1u);
  EXPECT_EQ(r.messages, 4u);
  EXPECT_TRUE(warns(r, "steps back at 1 packet:"));
  EXPECT_EQ(exchange(4).replay().sniffer.clock_steps, 0u);

  CaptureScene once = exchange(10);  // 50 us back, five packets long
  for (std::size_t i = 10; i < 20; ++i) once.frames[i].time_ps -= 50'000'000;
  EXPECT_EQ(once.replay().sniffer.clock_steps, 1u);
}

// 2,000 packets at once: 10 Gb/s carry them in 250 us, 100 Gb/s in 25 us.
CaptureScene burst() {
  CaptureScene scene;
  for (std::uint32_t psn = 0; psn < 2000; ++psn) scene.request(1000, kQp, psn, Operation::kWriteOnly, 64);
  return scene;
}

TEST(SnifferEffects, TrafficThatTheLinkCannotCarryIsNamed) {
  CaptureScene scene = burst();
  scene.frames.back().time_ps += 1000;
  ReplayOptions slow;
  slow.overrides = {"nic.link_gbps=10"};
  const RunResult r = scene.replay(slow);
  EXPECT_GT(r.sniffer.late_frames, 0u);
  EXPECT_GT(r.sniffer.most_late_ns, 100'000u);
  EXPECT_TRUE(warns(r, "faster than the link of 10 Gb/s"));
  EXPECT_EQ(scene.replay().sniffer.late_frames, 0u);
}

TEST(SnifferEffects, PacketsThatAllHaveTheSameTimeHaveNone) {  // R6
  CaptureScene scene = exchange(4);
  for (auto& f : scene.frames) f.time_ps = 0;
  const RunResult r = scene.replay();
  EXPECT_TRUE(assumes(r, "all 8 packets have the same time"));
  EXPECT_EQ(r.messages, 4u);
  EXPECT_EQ(r.answers.equal, 4u);
  scene.frames.back().time_ps = 1000;
  EXPECT_FALSE(assumes(scene.replay(), "the same time"));

  CaptureScene one;
  one.request(0, kQp, 0);
  EXPECT_FALSE(assumes(one.replay(), "the same time")) << "nothing to tell one packet's time from";
}

TEST(SnifferEffects, PacketsWithoutTimesAreNotLate) {  // R6
  ReplayOptions slow;
  slow.overrides = {"nic.link_gbps=10"};
  const RunResult r = burst().replay(slow);
  EXPECT_TRUE(assumes(r, "all 2000 packets have the same time"));
  EXPECT_EQ(r.sniffer.late_frames, 0u);
  EXPECT_FALSE(warns(r, "faster than the link"));
}

}  // namespace
}  // namespace rxnic::sniffer_effects_test
