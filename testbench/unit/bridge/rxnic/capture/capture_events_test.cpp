// SPDX-License-Identifier: Apache-2.0
// What a replay makes of requests that a capture holds twice, out of order, or with an answer that contradicts them.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/types/syndrome.h"
#include "testbench/unit/bridge/rxnic/capture/capture_scene.h"

namespace rxnic::capture_events_test {
namespace {

using O = Operation;

constexpr SceneQp kQp{};

// --- latencies

// Five seconds into the capture a READ or an atomic, and the same request 100 us later.
TEST(CaptureEvents, ARepeatedReadOrAtomicCountsFromItsOwnArrival) {
  for (const Operation op : {O::kReadRequest, O::kFetchAdd}) {
    CaptureScene scene;
    scene.request(0, kQp, 0);
    scene.request(5'000'000'000, kQp, 1, op, 0);
    scene.request(5'000'100'000, kQp, 1, op, 0);
    const RunResult r = scene.replay();
    EXPECT_EQ(r.read_ns.count, 2u);
    EXPECT_GT(r.read_ns.p50, 50u);
    EXPECT_LT(r.read_ns.max, 10'000u) << "it was answered within microseconds each time";
  }
}

// A message whose FIRST, or all but whose LAST, the capture has not got counts from the first packet that it has.
TEST(CaptureEvents, AMessageWithoutItsFirstPacketCountsFromTheFirstThatIsThere) {
  CaptureScene scene;
  scene.request(5'000'000'000, kQp, 7, O::kSendMiddle, 1024);
  scene.request(5'000'010'000, kQp, 8, O::kSendLast, 64);
  const RunResult r = scene.replay();
  EXPECT_EQ(r.latency_ns.count, 1u);
  EXPECT_GT(r.latency_ns.max, 9'000u);
  EXPECT_LT(r.latency_ns.max, 20'000u);
}

// The repetition of a SEND is acknowledged, and no receive completes twice.
TEST(CaptureEvents, ARepeatedSendHasOneLatency) {
  CaptureScene scene;
  scene.request(1'000'000'000, kQp, 0);
  scene.request(1'000'100'000, kQp, 0);
  const RunResult r = scene.replay();
  EXPECT_EQ(r.latency_ns.count, 1u);
  EXPECT_LT(r.latency_ns.max, 10'000u);
}

// --- who is connected with whom

// Three QPs from PSN 0, each with a UDP port of its own that both sides use; the network loses PSN 5 of the third.
CaptureScene three_qps_with_a_loss() {
  CaptureScene scene;
  std::uint64_t ns = 0;
  for (std::uint32_t psn = 0; psn < 8; ++psn) {
    for (std::uint32_t q = 0; q < 3; ++q) {
      const SceneQp qp{0x11 + q, 0x21 + q, static_cast<std::uint16_t>(50001 + q),
                       static_cast<std::uint16_t>(50001 + q)};
      if (q == 2 && psn == 5) continue;
      scene.request(ns += 1000, qp, psn);
      if (q == 2 && psn > 6) continue;  // the receiver is silent behind its NAK
      q == 2 && psn == 6 ? scene.answer(ns += 1000, qp, 5, 5, kNakSequence)
                         : scene.answer(ns += 1000, qp, psn, psn + 1);
    }
  }
  const SceneQp third{0x13, 0x23, 50003, 50003};
  for (std::uint32_t psn = 5; psn < 8; ++psn) {
    scene.request(ns += 20000, third, psn);
    scene.answer(ns += 1000, third, psn, psn + 1);
  }
  return scene;
}

TEST(CaptureEvents, ALossThatTheReceiverSawIsALossForTheModel) {
  for (const bool strict : {false, true}) {
    ReplayOptions o;
    o.strict_psn = strict;
    const RunResult r = three_qps_with_a_loss().replay(o);
    EXPECT_EQ(r.answers.different, 0u) << (r.answers.differences.empty() ? "" : r.answers.differences[0]);
    EXPECT_EQ(r.answers.given, strict ? 0u : 1u) << "the NAK of PSN 5";
    EXPECT_EQ(count_of(r.transport, "psn_gaps"), 0u);
    EXPECT_EQ(r.messages, 24u);
    ASSERT_EQ(r.qps.size(), 3u);
    EXPECT_EQ(r.qps[2].peer_qp, 0x23u);
    EXPECT_EQ(r.qps[2].paired_by, "udp_port");
    EXPECT_EQ(r.qps[2].lost, 1u);
    EXPECT_EQ(r.qps[2].sent_again, 3u);
    ASSERT_EQ(r.qps[2].naks.size(), 1u);
    EXPECT_EQ(r.qps[2].naks[0].kind, "sequence");
    EXPECT_EQ(r.qps[2].naks[0].psn, 5u);
    EXPECT_EQ(r.qps[2].naks[0].packets.size(), 1u);
    EXPECT_TRUE(r.qps[0].naks.empty());
  }
}

// Without the NAK the sniffer lost the packet, and the receiver did not.
TEST(CaptureEvents, ALossWithoutANakIsTheSniffers) {
  CaptureScene scene;
  for (const std::uint32_t psn : {0u, 1u, 3u, 4u}) {
    scene.request(psn * 10000, kQp, psn);
    scene.answer(psn * 10000 + 1000, kQp, psn, psn + 1);
  }
  const RunResult r = scene.replay();
  EXPECT_EQ(count_of(r.transport, "psn_gaps"), 1u);
  EXPECT_EQ(r.answers.different, 0u);
  EXPECT_EQ(r.qps[0].lost, 0u);
  EXPECT_EQ(r.qps[0].psns_missing, 1u);
}

// The sniffer has seen a packet that the receiver has not: the model gets it, and neither is wrong.
TEST(CaptureEvents, APacketThatWasLostBehindTheSnifferIsNoDifference) {
  CaptureScene scene;
  scene.request(0, kQp, 0);
  scene.answer(1000, kQp, 0, 1);
  scene.request(10000, kQp, 1);
  scene.request(11000, kQp, 2);
  scene.answer(12000, kQp, 1, 1, kNakSequence);
  for (const std::uint32_t psn : {1u, 2u}) {
    scene.request(20000 * psn, kQp, psn);
    scene.answer(20000 * psn + 1000, kQp, psn, psn + 1);
  }
  const RunResult r = scene.replay();
  EXPECT_EQ(r.answers.different, 0u);
  EXPECT_EQ(count_of(r.answers.uncompared, "lost_on_the_way"), 1u);
}

// Equal PSNs, and ports that say nothing: all requests with a PSN, then all answers.
CaptureScene equal_psns(std::uint32_t qps) {
  CaptureScene scene;
  for (std::uint32_t psn = 0; psn < 4; ++psn) {
    for (const bool answers : {false, true}) {
      for (std::uint32_t q = 0; q < qps; ++q) {
        const SceneQp qp{0x11 + q, 0x21 + q, static_cast<std::uint16_t>(50001 + q),
                         static_cast<std::uint16_t>(40001 + q)};
        const std::uint64_t ns = psn * 100000 + q * 1000;
        answers ? scene.answer(ns + 50000, qp, psn, psn + 1) : scene.request(ns, qp, psn);
      }
    }
  }
  return scene;
}

bool says(const std::vector<std::string>& texts, const std::string& what) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& t) { return t.find(what) != std::string::npos; });
}

TEST(CaptureEvents, AmbiguousPairsAreNamedAndTheOptionSetsThem) {
  const CaptureScene scene = equal_psns(3);
  const RunResult guessed = scene.replay();
  EXPECT_TRUE(says(guessed.assumptions, "pairing of 3 QPs is ambiguous"));
  EXPECT_TRUE(guessed.qps[0].ambiguous);
  ReplayOptions o;
  o.pairs = "0x11=0x22,18=0x23,0x13=33";
  const RunResult set = scene.replay(o);
  EXPECT_FALSE(says(set.assumptions, "ambiguous"));
  EXPECT_EQ(set.qps[0].peer_qp, 0x22u);
  EXPECT_EQ(set.qps[1].peer_qp, 0x23u);
  EXPECT_EQ(set.qps[2].peer_qp, 0x21u);
  for (const CapturedQp& q : set.qps) EXPECT_EQ(q.paired_by, "option");
  o.pairs = "0x12=0x22";  // the other two remain ambiguous
  EXPECT_TRUE(says(scene.replay(o).assumptions, "pairing of 2 QPs is ambiguous"));
}

TEST(CaptureEvents, APairThatCannotBeIsRefused) {
  const CaptureScene scene = equal_psns(2);
  for (const char* text : {"0x11", "0x11=", "=0x21", "x=1", "0x11=0x21,0x11=0x22", "0x1000000=1", "0x99=0x21",
                           "0x11=0x21,", "-1=2", "0x=1"}) {
    ReplayOptions o;
    o.pairs = text;
    EXPECT_THROW(scene.replay(o), std::invalid_argument) << text;
  }
}

// --- refusals

TEST(CaptureEvents, EachRnrNakOfOnePsnIsComparedOnce) {
  for (const unsigned times : {1u, 2u, 5u}) {
    CaptureScene scene;
    scene.request(0, kQp, 0);
    scene.answer(1000, kQp, 0, 1);
    std::uint64_t ns = 0;
    for (unsigned n = 0; n < times; ++n) {
      scene.request(ns += 100'000, kQp, 1);
      scene.answer(ns += 100'000, kQp, 1, 1, rnr_nak(14));
    }
    for (const std::uint32_t psn : {1u, 2u}) {
      scene.request(ns += 100'000, kQp, psn);
      scene.answer(ns += 100'000, kQp, psn, psn + 1);
    }
    const RunResult r = scene.replay();
    EXPECT_EQ(r.answers.given, times);
    EXPECT_EQ(r.answers.equal, 3u);
    EXPECT_EQ(r.answers.different, 0u);
    ASSERT_EQ(r.qps[0].naks.size(), 1u);
    EXPECT_EQ(r.qps[0].naks[0].packets.size(), times);
  }
}

// An RNR NAK is for the QP that sends its request again, however many have that PSN.
TEST(CaptureEvents, AnRnrNakOfEqualPsnsIsForTheQpThatSendsAgain) {
  CaptureScene scene = equal_psns(3);
  const SceneQp second{0x12, 0x22, 50002, 40002};
  scene.request(500'000, second, 4);
  for (const std::uint32_t q : {0u, 2u}) {
    const SceneQp other{0x11 + q, 0x21 + q, static_cast<std::uint16_t>(50001 + q),
                        static_cast<std::uint16_t>(40001 + q)};
    scene.request(501'000 + q, other, 4);
    scene.answer(510'000 + q, other, 4, 5);
  }
  scene.answer(520'000, second, 4, 4, rnr_nak(14));
  scene.request(900'000, second, 4);
  scene.answer(910'000, second, 4, 5);
  const RunResult r = scene.replay();
  EXPECT_EQ(r.messages, 15u);
  EXPECT_EQ(r.answers.different, 0u);
  EXPECT_EQ(r.qps[1].peer_qp, 0x22u);
  EXPECT_FALSE(r.qps[1].ambiguous);
}

// A WRITE to a key of its own, and one beyond what the QP wrote before.
TEST(CaptureEvents, MemoryThatTheReceiverRefusedIsNoRegion) {
  for (const bool own_key : {true, false}) {
    CaptureScene scene;
    for (std::uint32_t psn = 0; psn < 4; ++psn) {
      Headers h = CaptureScene::request_headers(kQp, psn, O::kWriteOnly);
      const bool bad = psn == 3;
      if (bad && own_key) h.rkey = Key{0x9900};
      if (bad) h.va += 0x100000;
      scene.add(psn * 10000, h, 64);
      bad ? scene.answer(psn * 10000 + 1000, kQp, psn, 3, kNakRemoteAccess)
          : scene.answer(psn * 10000 + 1000, kQp, psn, psn + 1);
    }
    const RunResult r = scene.replay();
    EXPECT_EQ(r.answers.equal, 3u);
    EXPECT_EQ(r.answers.given, 1u);
    EXPECT_EQ(r.answers.different, 0u);
    ASSERT_EQ(r.qps[0].naks.size(), 1u);
    EXPECT_EQ(r.qps[0].naks[0].kind, "remote_access");
  }
}

TEST(CaptureEvents, AfterADamagedFrameTheMsnIsTakenAnew) {
  CaptureScene scene;
  for (std::uint32_t psn = 0; psn < 5; ++psn) {
    scene.request(psn * 10000, kQp, psn);
    scene.answer(psn * 10000 + 1000, kQp, psn, psn + 1);
  }
  scene.frames[4].bytes[60] ^= 1;  // the request with PSN 2; its ICRC is wrong now
  const RunResult r = scene.replay();
  EXPECT_EQ(r.packets.dropped[static_cast<std::size_t>(DropReason::kIcrc)], 1u);
  EXPECT_EQ(r.answers.different, 0u);
  EXPECT_EQ(r.answers.equal, 4u);
  EXPECT_EQ(count_of(r.answers.uncompared, "no_request"), 1u);
}

TEST(CaptureEvents, APkeyThatIsNoneIsTakenWhenTheReceiverAnswered) {
  for (const bool answered : {true, false}) {
    CaptureScene scene;
    for (const std::uint32_t psn : {0u, 1u}) {
      Headers h = CaptureScene::request_headers(kQp, psn);
      h.pkey = 0;
      scene.add(psn * 10000, h, 64);
      h = CaptureScene::answer_headers(kQp, psn, psn + 1);
      h.pkey = 0;
      if (answered) scene.add(psn * 10000 + 1000, h, 0);
    }
    const RunResult r = scene.replay();
    EXPECT_EQ(r.packets.accepted, answered ? 2u : 0u);
    EXPECT_EQ(r.answers.different, 0u);
    EXPECT_EQ(says(r.assumptions, "P_Key 0"), answered);
  }
}

TEST(CaptureEvents, AStrictReplayMayBeginInsideAMessage) {
  CaptureScene scene;
  scene.request(0, kQp, 7, O::kSendMiddle, 1024);
  scene.request(1000, kQp, 8, O::kSendLast, 64);
  scene.answer(2000, kQp, 8, 3);
  scene.request(10000, kQp, 9);
  scene.answer(12000, kQp, 9, 4);
  ReplayOptions o;
  o.strict_psn = true;
  const RunResult r = scene.replay(o);
  EXPECT_EQ(r.messages, 2u);
  EXPECT_EQ(r.answers.equal, 2u);
  EXPECT_EQ(r.answers.different, 0u);
}

TEST(CaptureEvents, OpcodesOfAManufacturerAreNamed) {
  CaptureScene scene;
  for (const std::uint32_t psn : {0u, 1u, 2u}) {
    scene.request(psn * 10000, kQp, psn);
    scene.answer(psn * 10000 + 1000, kQp, psn, psn + 1);
  }
  constexpr std::size_t kOpcodeAt = 42;  // behind Ethernet, IPv4 and UDP
  scene.frames[2].bytes[kOpcodeAt] = 0xc4;
  scene.frames[3].bytes[kOpcodeAt] = 0xd1;
  const RunResult r = scene.replay();
  EXPECT_TRUE(says(r.warnings, "2 RoCEv2 packets, manufacturer's opcode 0xc4 (1), 0xd1 (1)"));
  EXPECT_EQ(r.messages, 2u);
  EXPECT_EQ(r.answers.different, 0u);
  scene.frames[2].bytes[kOpcodeAt] = scene.frames[3].bytes[kOpcodeAt] = 0xbf;
  EXPECT_FALSE(says(scene.replay().warnings, "manufacturer"));
}

// --- hosts

TEST(CaptureEvents, AHostThatTalksToItselfIsReplayed) {
  CaptureScene scene;
  for (std::uint32_t psn = 100; psn < 104; ++psn) {
    for (Headers h : {CaptureScene::request_headers({0x11, 0x12}, psn),
                      CaptureScene::answer_headers({0x11, 0x12}, psn, psn - 99)}) {
      h.source = h.destination = Address::ipv4(CaptureScene::kReceiver);
      scene.add(psn * 10000 + (h.msn != 0 ? 1000 : 0), h, h.msn != 0 ? 0 : 64);
    }
  }
  const RunResult r = scene.replay();
  EXPECT_EQ(r.packets.accepted, 4u);
  EXPECT_EQ(r.messages, 4u);
  EXPECT_EQ(r.answers.equal, 4u);
  EXPECT_EQ(r.answers.different, 0u);
  EXPECT_EQ(r.captured, r.packets.seen + r.from_receiver + r.to_others);
}

TEST(CaptureEvents, MoreQpsThanSendQueuesAndResponderResourcesRun) {
  CaptureScene scene;
  for (std::uint32_t q = 0; q < 5; ++q) scene.request(q * 1000, {0x11 + q, 0x21 + q}, q);
  ReplayOptions o;
  o.overrides = {"transport_checker.responder_resources=1", "requester.send_queues=2"};
  const RunResult r = scene.replay(o);
  EXPECT_EQ(r.messages, 5u);
  EXPECT_TRUE(says(r.warnings, "requester.send_queues"));
}

TEST(CaptureEvents, MoreQpsThanTheDefaultsHaveRun) {
  CaptureScene scene;
  constexpr std::uint32_t kQps = 8193;  // of requester.send_queues, and of responder_resources with 16 for each
  for (std::uint32_t q = 0; q < kQps; ++q) scene.request(q * 1000, {0x11 + q, 0x11 + q}, q, O::kSendOnly, 16);
  const RunResult r = scene.replay();
  EXPECT_EQ(r.messages, kQps);
  EXPECT_EQ(r.packets.accepted, kQps);
}

TEST(CaptureEvents, QpsWithReadsShareTheResponderResources) {
  CaptureScene scene;
  for (std::uint32_t q = 0; q < 4; ++q) scene.request(q * 1000, {0x11 + q, 0x21 + q}, q, O::kReadRequest, 0);
  ReplayOptions o;
  o.overrides = {"transport_checker.responder_resources=9"};
  const RunResult r = scene.replay(o);
  EXPECT_EQ(r.messages, 4u);
  EXPECT_TRUE(says(r.assumptions, "4 QPs have at most 2 READs or atomics in flight"));
  o.overrides = {"transport_checker.responder_resources=4"};
  EXPECT_EQ(scene.replay(o).messages, 4u);
  o.overrides = {"transport_checker.responder_resources=3"};
  try {
    scene.replay(o);
    ADD_FAILURE() << "four QPs cannot share three";
  } catch (const std::invalid_argument& e) {
    EXPECT_EQ(std::string(e.what()).find("transport_checker.responder_resources: found 3; expected at least 4"), 0u)
        << e.what();
  }
}

}  // namespace
}  // namespace rxnic::capture_events_test
