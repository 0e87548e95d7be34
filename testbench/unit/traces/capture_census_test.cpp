// SPDX-License-Identifier: Apache-2.0
// Rules of traces/capture_census.h; R2 and R10 of traces/survey.h; traces/unreadable_requests.h.
#include "traces/capture_census.h"

#include <gtest/gtest.h>

#include "model/core/wire/parsed.h"
#include "testbench/unit/traces/roce_frames.h"
#include "traces/survey.h"
#include "traces/unreadable_requests.h"

namespace rxnic::capture_census_test {
namespace {

constexpr std::uint64_t kUs = 1'000'000;     // ps
constexpr std::uint64_t kQuantumPs = 5'120;  // at 100 Gb/s
constexpr std::uint8_t kReservedOpcode = 0x18;

Blob pfc(std::uint8_t priorities, std::uint16_t quanta, std::uint8_t mac = 1) {
  Blob b{1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, mac};
  put(b, 0x8808, 2, true);
  put(b, 0x0101, 2, true);
  put(b, priorities, 2, true);
  for (int i = 0; i < 8; ++i) put(b, (priorities >> i & 1) != 0 ? quanta : 0, 2, true);
  b.resize(60);
  return b;
}
Blob link_pause(std::uint16_t quanta) {
  Blob b{1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1};
  put(b, 0x8808, 2, true);
  put(b, 0x0001, 2, true);
  put(b, quanta, 2, true);
  b.resize(60);
  return b;
}
Blob damaged(Blob frame) {
  frame.back() ^= 1;
  return frame;
}
Blob with_opcode(std::uint32_t psn, std::uint8_t opcode) {
  Blob frame = send_frame(psn);
  frame[kBthAt] = opcode;
  return frame;
}

struct Feed {
  CaptureSurvey survey{&wrong_checksum, SurveyLimits{.icrc_matches = &icrc_matches, .pause_quantum_ps = kQuantumPs}};
  std::uint64_t number = 0;
  void add(const Blob& bytes, std::uint64_t time_ps = 0, std::size_t wire = 0) {
    CapturedFrame f;
    f.set_bytes(bytes);
    f.wire_bytes = static_cast<std::uint32_t>(std::max(wire, bytes.size()));
    f.time_ps = time_ps;
    f.number = ++number;
    survey.add(f);
  }
  const Unreadable& unreadable(DropReason r) const { return survey.census().unreadable(r); }
};

// R1: each reason by itself.
TEST(CaptureCensus, WhatCannotBeReadIsCountedByItsReason) {
  Feed f;
  const auto expect = [&f](const Blob& frame, DropReason reason, std::size_t wire = 0) {
    const std::uint64_t before = f.unreadable(reason).packets;
    f.add(frame, 0, wire);
    EXPECT_EQ(f.unreadable(reason).packets, before + 1) << name_of(reason);
    EXPECT_EQ(f.unreadable(reason).first.back(), f.number);
  };
  expect(damaged(send_frame(1)), DropReason::kIcrc);
  Blob frame = send_frame(1);
  expect(Blob(frame.begin(), frame.end() - 20), DropReason::kTruncatedInCapture, frame.size());
  expect(Blob(frame.begin(), frame.end() - 20), DropReason::kBadLength);
  frame[22] ^= 1;
  expect(frame, DropReason::kIpChecksum);
  frame = send_frame(1);
  store_be16(&frame[kUdpAt + 6], 1);
  expect(frame, DropReason::kUdpChecksum);
  frame = send_frame(1);
  store_be16(&frame[20], 0x2000);
  expect(frame, DropReason::kFragment);
  expect(with_opcode(1, kReservedOpcode), DropReason::kUnknownOpcode);
  expect(with_opcode(1, 0xc4), DropReason::kVendorOpcode);
  expect(with_opcode(1, 0xff), DropReason::kVendorOpcode);
  Headers h = roce_headers(true, Operation::kSendOnly, 1);
  h.version = 1;
  expect(roce_frame(h), DropReason::kVersion);
  frame = send_frame(1, 0);
  frame[kBthAt + 1] |= 0x30;
  expect(frame, DropReason::kPad);
  expect(send_frame(1, 8192), DropReason::kTooLong);
  const std::map<std::uint8_t, std::uint64_t> vendors{{0xc4, 1}, {0xff, 1}};
  EXPECT_EQ(f.unreadable(DropReason::kVendorOpcode).opcodes, vendors);
  EXPECT_EQ(f.survey.counts().rdma, 0u);
  EXPECT_EQ(f.survey.counts().damaged, f.number);
}

TEST(CaptureCensus, AnIpv6ExtensionHeaderIsOneReasonAndAFragmentAnother) {
  Headers h = roce_headers(true, Operation::kSendOnly, 1);
  h.encapsulation = Encapsulation::kRoceV2Ipv6;
  h.source = Address::parse("2001:db8::1");
  h.destination = Address::parse("2001:db8::2");
  for (const bool fragment : {false, true}) {
    Blob frame = roce_frame(h);
    const Blob extension{17, 0, 0, 0, 0, 0, 0, 0};
    frame[20] = fragment ? 44 : 0;
    frame.insert(frame.begin() + 54, extension.begin(), extension.end());
    store_be16(&frame[18], static_cast<std::uint16_t>(load_be16(&frame[18]) + 8));
    Feed f;
    f.add(frame);
    EXPECT_EQ(f.unreadable(fragment ? DropReason::kFragment : DropReason::kExtensionHeader).packets, 1u);
    EXPECT_EQ(f.survey.busier_receiver(), h.destination);
  }
}

// Two fragments of a datagram to that port.
std::array<Blob, 2> fragments(std::uint16_t port, std::uint16_t identification) {
  std::array<Blob, 2> both{ethernet(0x0800, ipv4_packet(17, udp_datagram(port, Blob(56, 0)))),
                           ethernet(0x0800, ipv4_packet(17, Blob(64, 0)))};
  for (std::size_t i = 0; i < both.size(); ++i) {
    store_be16(&both[i][18], identification);
    store_be16(&both[i][20], i == 0 ? 0x2000 : 64 / 8);
  }
  return both;
}

TEST(CaptureCensus, ALaterFragmentOfADatagramToAnotherPortIsNoRdma) {  // R5
  Feed f;
  for (const Blob& frame : fragments(2049, 7)) f.add(frame);
  EXPECT_EQ(f.survey.counts().not_rdma, 2u);
  EXPECT_EQ(f.unreadable(DropReason::kFragment).packets, 0u);
  f.add(fragments(2049, 8)[1]);  // the first one of this datagram is not there
  EXPECT_EQ(f.unreadable(DropReason::kFragment).packets, 1u);
  EXPECT_FALSE(f.unreadable(DropReason::kFragment).shows_bth);
  for (const Blob& frame : fragments(kRoceV2Port, 7)) f.add(frame);  // the number is used again
  EXPECT_EQ(f.unreadable(DropReason::kFragment).packets, 3u);
  EXPECT_TRUE(f.unreadable(DropReason::kFragment).shows_bth);
}

TEST(CaptureCensus, WhatIsNoRdmaIsCountedByItsProtocol) {  // R6
  Feed f;
  for (int i = 0; i < 2; ++i) f.add(ethernet(0x88e5, Blob(60, 0)));
  f.add(ethernet(0x8100, joined({0, 5, 8, 0}, ipv4_packet(6, Blob(60, 0)))));
  f.add(Blob(13, 0));
  const auto& all = f.survey.census().protocols();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].ether_type, 0x88e5);
  EXPECT_EQ(all[0].packets, 2u);
  EXPECT_EQ(all[1].ether_type, 0x0800);
  EXPECT_EQ(all[1].ip, 6u);
  EXPECT_EQ(all[2].ether_type, 0u);
}

TEST(CaptureCensus, OnlyTheFirstNumbersAreKept) {
  Feed f;
  for (int i = 0; i < 20; ++i) f.add(damaged(send_frame(1)));
  EXPECT_EQ(f.unreadable(DropReason::kIcrc).packets, 20u);
  EXPECT_EQ(f.unreadable(DropReason::kIcrc).first, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
}

// R2 of survey.h: answers are readable, requests are not.
TEST(SurveyOfUnreadable, RequestsThatCannotBeReadDoNotTurnTheRolesRound) {
  const Blob whole = send_frame(1, 512);
  Blob fragment = whole;
  store_be16(&fragment[20], 0x2000);
  for (const Blob& request : {damaged(whole), with_opcode(1, kReservedOpcode), with_opcode(1, 0xc4),
                              Blob(whole.begin(), whole.begin() + 100), fragment, send_frame(1, 8192)}) {
    Feed f;
    f.add(request, 0, whole.size());
    f.add(ack_frame(1, 1));
    f.add(ack_frame(1, 1));
    EXPECT_EQ(f.survey.busier_receiver(), kTarget);
  }
}

TEST(SurveyOfUnreadable, AResponseThatCannotBeReadIsNoRequest) {
  Feed f;
  f.add(send_frame(1));
  for (int i = 0; i < 3; ++i) f.add(damaged(ack_frame(1, 1)));
  Blob vendor = ack_frame(1, 1);
  vendor[kBthAt] = 0xd1;  // an ACK of a manufacturer's transport
  for (int i = 0; i < 3; ++i) f.add(vendor);
  EXPECT_EQ(f.survey.busier_receiver(), kTarget);
}

TEST(SurveyOfUnreadable, AWrongIpChecksumShowsNoAddress) {
  Feed f;
  Blob frame = send_frame(1);
  frame[33] ^= 8;  // the destination
  f.add(frame);
  EXPECT_TRUE(f.survey.endpoints().empty());
}

// R10
TEST(SurveyOfUnreadable, AQpThatOnlyWrongIcrcsNameIsAQp) {
  Feed f;
  f.add(damaged(send_frame(7)));
  const ReceiverSurvey only = f.survey.of_receiver(kTarget);
  ASSERT_EQ(only.qps.size(), 1u);
  EXPECT_EQ(only.qps[0].qpn, Qpn{0x11});
  EXPECT_EQ(only.qps[0].transport, Transport::kRc);
  EXPECT_EQ(only.qps[0].first_psn, Psn{7});
  f.add(send_frame(3));
  const ReceiverSurvey both = f.survey.of_receiver(kTarget);
  ASSERT_EQ(both.qps.size(), 1u);
  EXPECT_EQ(both.qps[0].first_psn, Psn{3}) << "of what can be read";
  EXPECT_EQ(both.qps[0].requests, 1u);
}

TEST(SurveyOfUnreadable, DamagedFlowsAreBounded) {
  CaptureSurvey survey(&wrong_checksum, SurveyLimits{.damaged_flows = 2});
  for (std::uint32_t qpn = 10; qpn < 15; ++qpn) {
    Headers h = roce_headers(true, Operation::kSendOnly, 1);
    h.destination_qp = Qpn{qpn};
    const Blob frame = damaged(roce_frame(h));
    CapturedFrame f;
    f.set_bytes(frame);
    f.wire_bytes = static_cast<std::uint32_t>(frame.size());
    survey.add(f);
  }
  EXPECT_EQ(survey.of_receiver(kTarget).qps.size(), 2u);
  EXPECT_EQ(survey.counts().ignored, 3u);
}

TEST(SurveyOfUnreadable, CnpsAreCountedInBothDirections) {
  Feed f;
  Headers cnp = roce_headers(false, Operation::kSendOnly, 0);
  cnp.opcode = kOpcodeCnp;
  f.add(send_frame(1));
  for (int i = 0; i < 3; ++i) f.add(roce_frame(cnp, 0));
  for (const EndpointCounts& e : f.survey.endpoints()) {
    EXPECT_EQ(e.cnps_sent, e.address == kTarget ? 3u : 0u);
    EXPECT_EQ(e.cnps_received, e.address == kSender ? 3u : 0u);
  }
}

TEST(CaptureCensus, OtherUdpPortsAreCounted) {
  Feed f;
  for (const std::uint16_t port : {4790, 4790, 53}) {
    Blob frame = send_frame(1);
    Headers h;
    parse(frame, LinkLayer::kEthernet, h);
    store_be16(&frame[kUdpAt + 2], port);
    if (port == 53) frame[kBthAt] = 0x1e;  // no opcode: something else
    seal(frame, h);
    f.add(frame);
  }
  ASSERT_EQ(f.survey.census().ports().size(), 1u);
  EXPECT_EQ(f.survey.census().ports()[0].packets, 2u);
  EXPECT_EQ(f.survey.census().ports()[0].icrc_right, 2u);
  EXPECT_EQ(f.survey.counts().not_rdma, 3u);
}

// R3: from XOFF to XON, to a later XOFF's end, or to the end of its quanta; up to the last frame.
TEST(CaptureCensus, APauseLastsUntilItIsTakenBackOrIsOver) {
  const auto paused = [](const std::vector<std::pair<std::uint16_t, std::uint64_t>>& frames, std::uint64_t end_us) {
    Feed f;
    for (const auto& [quanta, us] : frames) f.add(pfc(1 << 3, quanta), us * kUs);
    f.add(send_frame(1), end_us * kUs);
    const CountedPause p = f.survey.census().pauses()[3];
    EXPECT_EQ(p.frames, frames.size());
    return p.paused_ps;
  };
  EXPECT_EQ(paused({{0xffff, 10}, {0, 20}}, 1000), 10 * kUs);
  EXPECT_EQ(paused({{0xffff, 10}, {0xffff, 20}, {0, 35}}, 1000), 25 * kUs);
  EXPECT_EQ(paused({{100, 10}}, 1000), 100 * kQuantumPs);
  EXPECT_EQ(paused({{100, 10}, {100, 500}}, 1000), 200 * kQuantumPs);
  EXPECT_EQ(paused({{0xffff, 10}}, 30), 20 * kUs) << "the capture ends";
  EXPECT_EQ(paused({{0, 10}}, 30), 0u);
}

TEST(CaptureCensus, PausesAreByPriorityAndSender) {
  Feed f;
  f.add(pfc(1 << 3 | 1 << 5, 0xffff, 1), 0);
  f.add(pfc(1 << 3, 0xffff, 2), 10 * kUs);
  f.add(pfc(1 << 3, 0, 1), 20 * kUs);
  f.add(pfc(1 << 3 | 1 << 5, 0, 2), 30 * kUs);  // not the one that paused 5
  f.add(link_pause(0xffff), 30 * kUs);
  f.add(send_frame(1), 40 * kUs);
  const auto p = f.survey.census().pauses();
  EXPECT_EQ(p[3].paused_ps, 40 * kUs);
  EXPECT_EQ(p[5].paused_ps, 40 * kUs);
  EXPECT_EQ(p[0].frames, 0u);
  EXPECT_EQ(p[CaptureCensus::kLinkPause].frames, 1u);
  EXPECT_EQ(p[CaptureCensus::kLinkPause].paused_ps, 10 * kUs);
}

// unreadable_requests.h
struct Answered {
  explicit Answered(bool paired) : requests(survey(paired)) {}
  static ReceiverSurvey survey(bool paired) {
    SurveyedQp q;
    q.qpn = Qpn{0x11};
    q.peer = kSender;
    q.peer_qpn = Qpn{0x21};
    q.paired_by = paired ? PairedBy::kPsn : PairedBy::kNone;
    ReceiverSurvey s;
    s.qps.push_back(q);
    return s;
  }
  void request(const Blob& bytes, std::uint64_t number, std::uint64_t time_ps, DropReason reason) {
    CapturedFrame f;
    f.set_bytes(bytes);
    f.number = number;
    f.time_ps = time_ps;
    requests.request(f, reason);
  }
  void answer(const Blob& bytes, std::uint64_t number, std::uint64_t time_ps) {
    CapturedFrame f;
    f.set_bytes(bytes);
    f.number = number;
    f.time_ps = time_ps;
    requests.answer(f);
  }
  UnreadableRequests requests;
};

TEST(UnreadableRequests, ANakToAnOpcodeThatIsNotKnownIsShown) {
  for (const bool paired : {true, false}) {
    Answered a(paired);
    a.request(with_opcode(1, kReservedOpcode), 3, 10 * kUs, DropReason::kUnknownOpcode);
    a.answer(ack_frame(1, 1, kNakRemoteAccess), 4, 12 * kUs);
    a.answer(ack_frame(1, 1), 5, 13 * kUs);  // each is answered once
    ASSERT_EQ(a.requests.notes().size(), 1u);
    EXPECT_EQ(a.requests.answered(), 1u);
    EXPECT_EQ(a.requests.notes()[0],
              "packet 3 to QP 0x11, PSN 1 (unknown opcode 0x18 (masked COMPARE_SWAP of ConnectX)): the captured "
              "receiver answered NAK 0x62 (packet 4 at 12.000 us, 2.000 us later)");
  }
}

TEST(UnreadableRequests, AnAckForALaterPsnCoversItOnAPairedQp) {
  for (const bool paired : {true, false}) {
    Answered a(paired);
    a.request(damaged(send_frame(5)), 1, 0, DropReason::kIcrc);
    a.answer(ack_frame(6, 1, kNakSequence), 2, 0);
    EXPECT_EQ(a.requests.answered(), 0u) << "a NAK covers nothing";
    a.answer(ack_frame(4, 1), 3, 0);
    EXPECT_EQ(a.requests.answered(), 0u) << "before it";
    a.answer(ack_frame(7, 1), 4, 0);
    EXPECT_EQ(a.requests.answered(), paired ? 1u : 0u);
  }
}

TEST(UnreadableRequests, APacketWithoutItsBthIsNotKept) {
  Answered a(true);
  Blob cut = send_frame(5);
  cut.resize(kBthAt + 8);
  a.request(cut, 1, 0, DropReason::kTruncatedInCapture);
  a.answer(ack_frame(0, 1), 2, 0);
  EXPECT_EQ(a.requests.answered(), 0u);
}

}  // namespace
}  // namespace rxnic::capture_census_test
