// SPDX-License-Identifier: Apache-2.0
// Captures that hold more than packets that a NIC can read: what a replay's report says of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "bridge/rxnic/capture/replay.h"
#include "bridge/rxnic/report/report.h"
#include "testbench/unit/temporary_folder.h"
#include "testbench/unit/traces/roce_frames.h"

namespace rxnic::odd_captures_test {
namespace {

class OddCaptures : public testing::Test {
 protected:
  RunResult run(const std::vector<Blob>& frames, ReplayOptions o = {}) {
    std::vector<Record> records;
    for (std::size_t i = 0; i < frames.size(); ++i) records.push_back({0, i * 2000, frames[i]});
    const Blob file = pcap_file(kNano, false, 1, records);
    o.trace = folder_.file("odd.pcap");
    o.config = "nic_100g_gen3";
    std::ofstream(o.trace, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
    const RunResult r = replay(o);
    const std::string text = report_json(r);
    EXPECT_EQ(report_json(parse_report(text, "report.json")), text);
    EXPECT_EQ(report_summary(parse_report(text, "report.json")), report_summary(r));
    return r;
  }
  static bool says(const std::vector<std::string>& all, const std::string& text) {
    return std::any_of(all.begin(), all.end(),
                       [&text](const std::string& s) { return s.find(text) != std::string::npos; });
  }
  static std::uint64_t dropped(const RunResult& r, DropReason reason) {
    return r.packets.dropped[static_cast<std::size_t>(reason)];
  }
  static Blob damaged(Blob frame) {
    frame.back() ^= 1;
    return frame;
  }
  // Each SEND with its ACK.
  static std::vector<Blob> exchange(std::uint32_t sends, Blob (*change)(Blob)) {
    std::vector<Blob> frames;
    for (std::uint32_t i = 0; i < sends; ++i) {
      frames.push_back(change(send_frame(100 + i)));
      frames.push_back(ack_frame(100 + i, 1 + i));
    }
    return frames;
  }

  TemporaryFolder folder_;
};

TEST_F(OddCaptures, WrongIcrcsAreDroppedByThatNameOrTakenAsRight) {
  const std::vector<Blob> frames = exchange(4, &damaged);
  const RunResult checked = run(frames);
  EXPECT_EQ(checked.receiver, "10.0.0.2");
  EXPECT_EQ(dropped(checked, DropReason::kIcrc), 4u);
  EXPECT_EQ(checked.packets.dropped_total(), 4u);
  EXPECT_TRUE(says(checked.warnings, "4 RoCEv2 packets, ICRC wrong (packets 1, 3, 5, 7)"));
  ASSERT_EQ(checked.unreadable.size(), 1u);
  EXPECT_EQ(checked.unreadable[0].reason, "icrc");
  EXPECT_EQ(checked.unreadable[0].packets, 4u);

  ReplayOptions ignore;
  ignore.ignore_icrcs = true;
  const RunResult taken = run(frames, ignore);
  EXPECT_EQ(taken.messages, 4u);
  EXPECT_EQ(taken.packets.dropped_total(), 0u);
  EXPECT_EQ(taken.answers.equal, 4u);
  EXPECT_TRUE(says(taken.assumptions, "the ICRCs of 4 packets are wrong and taken as right"));
  EXPECT_TRUE(taken.unreadable.empty());
}

// The captured receiver's answers, too.
TEST_F(OddCaptures, AnAnswerWithAWrongIcrcIsComparedWhenIcrcsAreIgnored) {
  std::vector<Blob> frames = exchange(4, [](Blob b) { return b; });
  for (std::size_t i = 5; i < frames.size(); i += 2) frames[i].back() ^= 1;
  const RunResult checked = run(frames);
  EXPECT_EQ(checked.answers.equal, 2u);
  EXPECT_EQ(checked.answers.different, 0u);
  const NamedCount unreadable{"unreadable", 2};
  EXPECT_NE(std::ranges::find(checked.answers.uncompared, unreadable), checked.answers.uncompared.end());
  ReplayOptions ignore;
  ignore.ignore_icrcs = true;
  EXPECT_EQ(run(frames, ignore).answers.equal, 4u);
}

TEST_F(OddCaptures, OneDamagedPacketThatTheReceiverAcknowledgedIsNamed) {
  std::vector<Blob> frames = exchange(8, [](Blob b) { return b; });
  frames[4].back() ^= 1;
  const RunResult r = run(frames);
  EXPECT_EQ(r.answers.different, 0u);
  EXPECT_TRUE(r.warnings.empty()) << "one in sixteen";
  ASSERT_EQ(r.unreadable.size(), 1u);
  EXPECT_EQ(r.unreadable[0].words, "1 RoCEv2 packet, ICRC wrong (packet 5)");
  EXPECT_EQ(r.answers.to_unreadable, 1u);
  EXPECT_TRUE(says(r.answers.unreadable, "packet 5 to QP 0x11, PSN 102 (ICRC wrong): the captured receiver answered"));
}

TEST_F(OddCaptures, ReasonsOfTheirOwnAndTheRolesAsTheyAre) {
  struct Row {
    DropReason reason;
    Blob (*change)(Blob);
  };
  for (const Row& row : {Row{DropReason::kUdpChecksum,
                             [](Blob b) {
                               store_be16(&b[kUdpAt + 6], 0x1234);
                               return b;
                             }},
                         Row{DropReason::kVendorOpcode,
                             [](Blob b) {
                               b[kBthAt] = 0xc4;
                               return b;
                             }},
                         Row{DropReason::kUnknownOpcode,
                             [](Blob b) {
                               b[kBthAt] = 0x18;
                               return b;
                             }},
                         Row{DropReason::kTruncatedInCapture,
                             [](Blob b) {
                               b.resize(80);
                               return b;
                             }},
                         Row{DropReason::kFragment, [](Blob b) {
                               store_be16(&b[20], 0x2000);
                               put_ip_checksum(b, 14);
                               return b;
                             }}}) {
    SCOPED_TRACE(name_of(row.reason));
    const RunResult r = run(exchange(3, row.change));
    EXPECT_EQ(r.receiver, "10.0.0.2");
    EXPECT_EQ(dropped(r, row.reason), 3u);
    EXPECT_EQ(r.packets.dropped_total(), 3u);
    ASSERT_EQ(r.unreadable.size(), 1u);
    EXPECT_EQ(r.unreadable[0].reason, name_of(row.reason));
    EXPECT_EQ(r.answers.to_unreadable, 3u);
  }
}

TEST_F(OddCaptures, PacketsThatAMirrorCutAreFilled) {
  const auto cut = [](Blob b) {
    b.resize(80);
    return b;
  };
  ReplayOptions fill;
  fill.fill_truncated = true;
  const RunResult r = run(exchange(3, cut), fill);
  EXPECT_EQ(r.messages, 3u);
  EXPECT_EQ(r.answers.equal, 3u);
  EXPECT_TRUE(says(r.assumptions, "3 packets end before the length in their headers"));
  EXPECT_TRUE(says(r.assumptions, "their ICRCs, which cannot be checked"));
  EXPECT_TRUE(r.unreadable.empty());
}

TEST_F(OddCaptures, ATunnelIsNamedAndAnswersGoOutWithoutIt) {
  std::vector<Blob> frames;
  for (const Blob& inner : exchange(4, [](Blob b) { return b; })) {
    frames.push_back(ethernet(0x0800, ipv4_packet(17, udp_datagram(4789, joined({8, 0, 0, 0, 0, 0, 1, 0}, inner)))));
  }
  ReplayOptions o;
  o.responses_path = folder_.file("responses.pcap");
  const RunResult r = run(frames, o);
  EXPECT_EQ(r.messages, 4u);
  EXPECT_EQ(r.answers.equal, 4u);
  ASSERT_EQ(r.tunnels.size(), 1u);
  EXPECT_EQ(r.tunnels[0].kind, "VXLAN");
  EXPECT_EQ(r.tunnels[0].source, "192.0.2.1");
  EXPECT_EQ(r.tunnels[0].packets, 8u);
  EXPECT_TRUE(says(r.assumptions, "8 packets in VXLAN from 192.0.2.1 to 192.0.2.2"));
  CaptureReader responses(o.responses_path);
  std::uint64_t answers = 0;
  for (CapturedFrame f; responses.next(f); ++answers) {
    Headers h;
    EXPECT_EQ(parse(f.bytes, f.link, h), ParseStatus::kOk);
    EXPECT_FALSE(f.tunnel);
  }
  EXPECT_EQ(answers, 4u);
}

TEST_F(OddCaptures, AnotherUdpPortIsAHintAndIsReadOnRequest) {
  const auto other = [](Blob b) {
    Headers h;
    parse(b, LinkLayer::kEthernet, h);
    store_be16(&b[kUdpAt + 2], 4790);
    seal(b, h);
    return b;
  };
  std::vector<Blob> frames = exchange(4, other);
  for (std::size_t i = 1; i < frames.size(); i += 2) frames[i] = other(frames[i]);
  const RunResult hint = run(frames);
  EXPECT_EQ(hint.packets.not_rdma, 8u);
  EXPECT_TRUE(says(hint.warnings, "8 UDP/4790 payloads look like BTH with a good ICRC; --udp-port"));
  ReplayOptions o;
  o.udp_ports = {4790};
  const RunResult r = run(frames, o);
  EXPECT_EQ(r.messages, 4u);
  EXPECT_EQ(r.answers.equal, 4u);
  EXPECT_TRUE(says(r.assumptions, "8 packets to UDP port 4790 read as RoCEv2's 4791"));
}

TEST_F(OddCaptures, CongestionHasALine) {
  Headers marked = roce_headers(true, Operation::kSendOnly, 100);
  marked.traffic_class = 3;
  Headers cnp = roce_headers(false, Operation::kSendOnly, 0);
  cnp.opcode = kOpcodeCnp;
  Blob xoff{1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 1, 1, 0, 8};
  xoff.resize(60);
  Blob xon = xoff;
  xoff[24] = 0xff;
  const RunResult r = run({roce_frame(marked), xoff, roce_frame(cnp, 0), xon});
  EXPECT_EQ(r.congestion.marked, 1u);
  EXPECT_EQ(r.congestion.cnps_sent, 1u);
  EXPECT_EQ(r.congestion.cnps_received, 0u);
  ASSERT_EQ(r.congestion.pauses.size(), 1u);
  EXPECT_NE(report_summary(r).find("congestion  CE 1   CNP 1 by the receiver   pause 2 on priority 3, 4.00 us"),
            std::string::npos);
}

TEST_F(OddCaptures, EveryPossibleReceiverIsListed) {
  std::vector<Blob> frames;
  for (std::uint8_t host = 1; host <= 3; ++host) {
    for (std::uint8_t n = 0; n < host; ++n) {
      Headers h = roce_headers(true, Operation::kSendOnly, n);
      h.destination = Address::ipv4(0x0a000010u + host);
      frames.push_back(roce_frame(h));
    }
  }
  const RunResult r = run(frames);
  EXPECT_EQ(r.receiver, "10.0.0.19");
  ASSERT_EQ(r.receivers.size(), 3u);
  EXPECT_EQ(r.receivers[0].address, "10.0.0.19");
  EXPECT_EQ(r.receivers[0].requests, 3u);
  EXPECT_EQ(r.receivers[2].requests, 1u);
}

TEST_F(OddCaptures, WithoutRdmaTheReportSaysWhatThereIs) {
  const RunResult r =
      run({ethernet(0x88e5, Blob(60, 0)), ethernet(0x88e5, Blob(60, 0)), ethernet(0x0806, Blob(46, 0))});
  EXPECT_EQ(r.receiver, "none");
  EXPECT_TRUE(says(r.warnings, "no RDMA that can be seen: 2 MACsec, 1 ARP"));
  EXPECT_FALSE(says(run({send_frame(1), ethernet(0x88e5, Blob(60, 0))}).warnings, "no RDMA"));
}

TEST_F(OddCaptures, RdmaWithoutAddressesIsRdma) {
  Blob frame = send_frame(1);
  frame[24] ^= 1;  // of the IP checksum
  const RunResult r = run({frame, frame});
  EXPECT_EQ(r.receiver_choice, "no RDMA packet shows addresses that can be relied on");
  EXPECT_TRUE(says(r.warnings, "2 RoCEv2 packets, IPv4 header checksum wrong"));
  EXPECT_FALSE(says(r.warnings, "no RDMA"));
}

TEST_F(OddCaptures, WithoutRequestsTheReceiverIsNotCalledTheBusierSide) {
  const RunResult r = run({ack_frame(1, 1), ack_frame(2, 2)});
  EXPECT_EQ(r.receiver, "10.0.0.1");
  EXPECT_EQ(r.receiver_choice, "no side gets requests: the one that gets most packets");
  EXPECT_EQ(run({send_frame(1)}).receiver_choice, "the busier side");
}

TEST_F(OddCaptures, FragmentsOfOtherDatagramsAreNotCalledRoce) {
  Blob later = ethernet(0x0800, ipv4_packet(17, Blob(64, 0)));
  store_be16(&later[20], 8);
  EXPECT_TRUE(says(run({send_frame(1), later}).warnings, "1 UDP packet, IP fragment"));
  Blob first = ethernet(0x0800, ipv4_packet(17, udp_datagram(2049, Blob(56, 0))));
  store_be16(&first[20], 0x2000);
  EXPECT_FALSE(says(run({send_frame(1), first, later}).warnings, "fragment"));
}

TEST_F(OddCaptures, AQpnThatAnotherHostUsesTooIsNamed) {
  Headers other = roce_headers(true, Operation::kSendOnly, 700);
  other.source = Address::ipv4(0x0a000009);
  const RunResult r = run({send_frame(1), send_frame(2), roce_frame(other)});
  EXPECT_TRUE(
      says(r.assumptions,
           "QP 0x11 gets requests from 2 hosts: it is connected with 10.0.0.1, 1 packets of others are dropped"));
  EXPECT_EQ(dropped(r, DropReason::kQpAddress), 1u);
  EXPECT_FALSE(says(run({send_frame(1), send_frame(2)}).assumptions, "hosts"));
}

// rules 6.10, as a captured NIC that knows it answers.
TEST_F(OddCaptures, FlushIsCarriedOutAndAnsweredAsCaptured) {
  Headers flush = roce_headers(true, Operation::kFlush, 100);
  flush.immediate = 1;
  flush.va = 0x1000;
  flush.rkey = Key{0x99};
  flush.length = 8;
  Headers answer = roce_headers(false, Operation::kReadResponseOnly, 100);
  answer.msn = 1;
  answer.syndrome = kAckUnlimited;
  const RunResult r = run({roce_frame(flush, 0), roce_frame(answer, 0), send_frame(101), ack_frame(101, 2)});
  EXPECT_EQ(r.packets.accepted, 2u);
  EXPECT_EQ(r.answers.equal, 2u);
  EXPECT_EQ(r.answers.different, 0u);
}

}  // namespace
}  // namespace rxnic::odd_captures_test
