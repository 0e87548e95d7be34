// SPDX-License-Identifier: Apache-2.0
#include "traces/survey.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "model/core/wire/icrc.h"
#include "model/core/wire/parsed.h"
#include "model/types/tag_matching.h"
#include "traces/cm_message.h"

namespace rxnic::survey_test {
namespace {

namespace fs = std::filesystem;
const Address kPeer = Address::ipv4(0x0a000001);
const Address kReceiver = Address::ipv4(0x0a000002);

// Feeds packets to a survey as parse() would give them.
struct Feed {
  CaptureSurvey survey;
  std::uint64_t number = 0;

  Headers packet(bool to_receiver, std::uint32_t qpn, Operation op, std::uint32_t psn) {
    Headers h;
    h.encapsulation = Encapsulation::kRoceV2Ipv4;
    h.source = to_receiver ? kPeer : kReceiver;
    h.destination = to_receiver ? kReceiver : kPeer;
    h.udp_source_port = 1000;
    h.opcode = opcode_of(Transport::kRc, op);
    h.destination_qp = Qpn{qpn};
    h.psn = Psn{psn};
    h.pkey = 0xffff;
    return h;
  }
  void add(const Headers& h, Bytes payload = {}) { survey.add(h, payload, ++number); }
  void request(std::uint32_t qpn, std::uint32_t psn, Operation op = Operation::kSendOnly, std::uint16_t bytes = 64,
               std::uint16_t port = 1000) {
    Headers h = packet(true, qpn, op, psn);
    h.payload_bytes = bytes;
    h.udp_source_port = port;
    add(h);
  }
  void ack(std::uint32_t qpn, std::uint32_t psn, std::uint32_t msn, std::uint16_t port = 1000,
           std::uint8_t syndrome = 0x1f) {
    Headers h = packet(false, qpn, Operation::kAck, psn);
    h.msn = msn;
    h.syndrome = syndrome;
    h.udp_source_port = port;
    add(h);
  }
  SurveyedQp qp(std::uint32_t qpn) const {
    for (const SurveyedQp& q : survey.of_receiver(kReceiver).qps) {
      if (q.qpn == Qpn{qpn}) return q;
    }
    ADD_FAILURE() << "no QP " << qpn;
    return {};
  }
};

TEST(Survey, BusierReceiverGetsMoreRequestPackets) {
  Feed f;
  EXPECT_FALSE(f.survey.busier_receiver());
  f.request(0x21, 0);
  f.ack(0x11, 0, 1);
  f.ack(0x11, 0, 1);
  EXPECT_EQ(f.survey.busier_receiver(), kReceiver);
  Headers own = f.packet(false, 0x11, Operation::kSendOnly, 0);
  own.payload_bytes = 65;
  f.add(own);
  EXPECT_EQ(f.survey.busier_receiver(), kPeer) << "as many packets, more bytes";
  f.request(0x21, 1, Operation::kSendOnly, 1);
  EXPECT_EQ(f.survey.busier_receiver(), kReceiver);
}

TEST(Survey, BusierReceiverOfEqualsIsTheOneSeenFirst) {
  Feed f;
  f.add(f.packet(false, 0x11, Operation::kSendOnly, 0));
  f.add(f.packet(true, 0x21, Operation::kSendOnly, 0));
  EXPECT_EQ(f.survey.busier_receiver(), kPeer);
}

TEST(Survey, BusierReceiverLeavesConnectionManagementAndMulticastOut) {
  Feed f;
  Headers to_gsi = f.packet(false, 1, Operation::kSendOnly, 0);
  to_gsi.opcode = opcode_of(Transport::kUd, Operation::kSendOnly);
  Headers multicast = to_gsi;
  multicast.destination = Address::ipv4(0xe0000001);
  multicast.destination_qp = Qpn{0xffffff};
  Headers to_smi = to_gsi;  // subnet management
  to_smi.destination_qp = Qpn{0};
  for (const Headers& h : {to_gsi, to_smi, multicast}) {
    for (int i = 0; i < 5; ++i) f.add(h);
  }
  EXPECT_EQ(f.survey.busier_receiver(), kPeer) << "nobody gets anything else";
  f.request(0x21, 0);
  EXPECT_EQ(f.survey.busier_receiver(), kReceiver);
}

TEST(Survey, EndpointsCountBothDirections) {
  Feed f;
  f.request(0x21, 0);
  f.request(0x21, 1);
  f.ack(0x11, 1, 2);
  const EndpointCounts& peer = f.survey.endpoints().at(0);
  EXPECT_EQ(peer.address, kPeer);
  EXPECT_EQ(peer.packets_sent, 2u);
  EXPECT_EQ(peer.packets_received, 1u);
  EXPECT_EQ(f.survey.endpoints().at(1).requests_received, 2u);
  EXPECT_EQ(f.survey.endpoints().at(1).request_bytes, 128u);
}

TEST(Survey, MarkedPacketsAreThoseWithBothBitsOfRoceV2) {
  Feed f;
  for (const std::uint8_t traffic_class : {0x00, 0x01, 0x02, 0x03, 0x63}) {
    Headers h = f.packet(true, 0x21, Operation::kSendOnly, 0);
    h.traffic_class = traffic_class;
    f.add(h);
  }
  Headers h = f.packet(true, 0x21, Operation::kSendOnly, 0);
  h.traffic_class = 3;
  h.encapsulation = Encapsulation::kRoceV1;
  f.add(h);
  EXPECT_EQ(f.survey.endpoints().at(1).marked_received, 2u);
  EXPECT_EQ(f.survey.endpoints().at(0).marked_received, 0u);
}

TEST(Survey, AnswersPairQpsByTheirPsn) {
  Feed f;
  for (std::uint32_t i = 0; i < 4; ++i) {  // ports say the opposite
    f.request(0x21, 100 + i, Operation::kSendOnly, 64, 1);
    f.request(0x22, 900 + i, Operation::kSendOnly, 64, 2);
    f.ack(0x11, 900 + i, i + 1, 1);
    f.ack(0x12, 100 + i, i + 1, 2);
  }
  EXPECT_EQ(f.qp(0x21).peer_qpn, Qpn{0x12});
  EXPECT_EQ(f.qp(0x22).peer_qpn, Qpn{0x11});
  EXPECT_EQ(f.qp(0x21).paired_by, PairedBy::kPsn);
}

TEST(Survey, AnswersToOurOwnRequestsPairQpsAsWell) {
  Feed f;
  f.add(f.packet(false, 0x11, Operation::kSendOnly, 5));
  f.add(f.packet(false, 0x12, Operation::kSendOnly, 9));
  f.add(f.packet(true, 0x22, Operation::kAck, 5));
  f.add(f.packet(true, 0x21, Operation::kAck, 9));
  EXPECT_EQ(f.qp(0x22).peer_qpn, Qpn{0x11});
  EXPECT_EQ(f.qp(0x21).peer_qpn, Qpn{0x12});
  EXPECT_EQ(f.qp(0x22).local_requests, 1u);
  EXPECT_EQ(f.qp(0x22).answers_received, 1u);
}

TEST(Survey, EqualPsnsArePairedByPort) {
  Feed f;
  for (std::uint32_t i = 0; i < 4; ++i) {
    f.request(0x21, i, Operation::kSendOnly, 64, 1);
    f.request(0x22, i, Operation::kSendOnly, 64, 2);
    f.ack(0x11, i, i + 1, 2);
    f.ack(0x12, i, i + 1, 1);
  }
  EXPECT_EQ(f.qp(0x21).peer_qpn, Qpn{0x12});
  EXPECT_EQ(f.qp(0x22).peer_qpn, Qpn{0x11});
}

// More QPs than a slot of recent PSNs holds: only the ports speak.
TEST(Survey, ManyEqualPsnsArePairedByPort) {
  Feed f;
  for (std::uint32_t psn = 0; psn < 3; ++psn) {
    for (std::uint32_t q = 0; q < 40; ++q) f.request(0x100 + q, psn, Operation::kSendOnly, 64, 1000 + q);
    for (std::uint32_t q = 0; q < 40; ++q) f.ack(0x200 + q, psn, psn + 1, 1000 + q);
  }
  for (const SurveyedQp& q : f.survey.of_receiver(kReceiver).qps) {
    EXPECT_EQ(raw(q.peer_qpn), raw(q.qpn) + 0x100);
    EXPECT_EQ(q.paired_by, PairedBy::kUdpPort);
    EXPECT_FALSE(q.ambiguous);
  }
}

TEST(Survey, UcQpsArePairedByPortThenAsTheOnlyPair) {
  Feed f;
  const auto uc = [&f](bool to_receiver, std::uint32_t qpn, std::uint16_t port) {
    Headers h = f.packet(to_receiver, qpn, Operation::kSendOnly, qpn);
    h.opcode = opcode_of(Transport::kUc, Operation::kSendOnly);
    h.udp_source_port = port;
    f.add(h);
  };
  uc(true, 0x21, 1);
  uc(true, 0x22, 2);
  uc(false, 0x11, 2);
  uc(false, 0x12, 3);
  EXPECT_EQ(f.qp(0x22).peer_qpn, Qpn{0x11});
  EXPECT_EQ(f.qp(0x22).paired_by, PairedBy::kUdpPort);
  EXPECT_EQ(f.qp(0x21).peer_qpn, Qpn{0x12});
  EXPECT_EQ(f.qp(0x21).paired_by, PairedBy::kOnlyPair);
  uc(true, 0x23, 4);  // one too many
  EXPECT_EQ(f.qp(0x21).paired_by, PairedBy::kNone);
  EXPECT_FALSE(f.survey.of_receiver(kReceiver).notes.empty());
}

std::vector<std::uint8_t> mad(bool reply, std::uint32_t local_id, std::uint32_t remote_id, std::uint32_t qpn,
                              std::uint32_t psn) {
  std::vector<std::uint8_t> m(kMadBytes);
  m[0] = 1;
  m[1] = 7;
  m[2] = 2;
  m[3] = 3;
  store_be16(&m[16], reply ? 0x13 : 0x10);
  store_be32(&m[24], local_id);
  if (reply) store_be32(&m[28], remote_id);
  store_be32(&m[24 + (reply ? 12 : 32)], qpn << 8 | (reply ? 0 : 7));
  store_be32(&m[24 + (reply ? 20 : 44)], psn << 8);
  if (reply) m[24 + 24] = 4;
  if (!reply) m[24 + 50] = 0x40;  // path MTU 2048
  return m;
}

TEST(Survey, ConnectionManagementNamesThePairAndItsState) {
  Feed f;
  Headers h = f.packet(true, 1, Operation::kSendOnly, 0);
  h.opcode = opcode_of(Transport::kUd, Operation::kSendOnly);
  h.source_qp = Qpn{1};
  f.add(h, mad(false, 77, 0, 0x11, 500));
  std::swap(h.source, h.destination);
  f.add(h, mad(true, 88, 77, 0x21, 300));
  f.request(0x21, 300);
  const SurveyedQp q = f.qp(0x21);
  EXPECT_EQ(q.peer_qpn, Qpn{0x11});
  EXPECT_EQ(q.paired_by, PairedBy::kConnectionManagement);
  EXPECT_FALSE(q.assumed);
  EXPECT_EQ(q.mtu, 2048);
  EXPECT_EQ(q.mtu_from, MtuFrom::kConnectionManagement);
  EXPECT_EQ(q.responder_resources, 0) << "there is no READ";
  f.request(0x21, 301, Operation::kReadRequest, 0);
  EXPECT_EQ(f.qp(0x21).responder_resources, 4);
  EXPECT_TRUE(q.msn_known);
  EXPECT_EQ(f.qp(1).qkey, kGsiQkey);
  EXPECT_FALSE(f.qp(1).assumed);
}

TEST(CmMessage, OtherMadsAreNothing) {
  std::vector<std::uint8_t> m = mad(false, 1, 0, 2, 3);
  EXPECT_TRUE(parse_cm(m));
  EXPECT_FALSE(parse_cm(Bytes(m).first(255)));
  for (const std::size_t at : {1u, 2u, 17u}) {
    std::vector<std::uint8_t> other = m;
    other[at] ^= 0x40;
    EXPECT_FALSE(parse_cm(other)) << at;
  }
}

TEST(Survey, MtuComesFromFirstAndMiddlePackets) {
  Feed f;
  f.request(0x21, 0, Operation::kSendFirst, 2048);
  f.request(0x21, 1, Operation::kSendLast, 1);
  EXPECT_EQ(f.qp(0x21).mtu, 2048);
  EXPECT_EQ(f.qp(0x21).mtu_from, MtuFrom::kPackets);
}

TEST(Survey, MtuComesFromThePsnsAfterARead) {
  Feed f;
  Headers read = f.packet(true, 0x21, Operation::kReadRequest, 10);
  read.length = 5000;
  read.rkey = Key{0x500};
  f.add(read);
  f.request(0x21, 15);  // five responses
  EXPECT_EQ(f.qp(0x21).mtu, 1024);
  EXPECT_EQ(f.qp(0x21).mtu_from, MtuFrom::kReadPsns);
  EXPECT_EQ(f.qp(0x21).psn_gaps, 0u);
}

TEST(Survey, MtuThatNothingShowsIsTheSmallestThatFits) {
  for (const auto& [bytes, mtu] :
       std::map<std::uint16_t, std::uint16_t>{{1, 256}, {256, 256}, {257, 512}, {4096, 4096}}) {
    Feed f;
    f.request(0x21, 0, Operation::kSendOnly, bytes);
    EXPECT_EQ(f.qp(0x21).mtu, mtu);
    EXPECT_EQ(f.qp(0x21).mtu_from, MtuFrom::kAssumed);
  }
}

TEST(Survey, PsnGapsAreJumpsAheadOnly) {
  Feed f;
  for (const std::uint32_t psn : {0xfffffeu, 0xffffffu, 0u, 5u, 6u, 4u, 6u, 7u, 10u}) f.request(0x21, psn);
  const SurveyedQp q = f.qp(0x21);
  EXPECT_EQ(q.psn_gaps, 2u);
  EXPECT_EQ(q.psns_missing, 4u + 2u);
  EXPECT_EQ(q.repetitions, 2u);
  EXPECT_EQ(q.first_psn, Psn{0xfffffe});
}

TEST(Survey, AReadMovesThePsnOnByItsResponses) {
  Feed f;
  f.request(0x21, 0, Operation::kWriteFirst, 1024);
  f.request(0x21, 1, Operation::kWriteLast, 1);
  Headers read = f.packet(true, 0x21, Operation::kReadRequest, 2);
  read.length = 3000;
  f.add(read);
  f.request(0x21, 5);
  EXPECT_EQ(f.qp(0x21).psn_gaps, 0u);
  read.psn = Psn{6};
  f.add(read);
  f.request(0x21, 10);
  EXPECT_EQ(f.qp(0x21).psn_gaps, 1u);
}

TEST(Survey, MsnBeforeTheFirstRequestIsCountedBack) {
  Feed f;
  f.request(0x21, 50, Operation::kSendMiddle, 1024);
  f.request(0x21, 51, Operation::kSendLast, 1);
  f.request(0x21, 52);
  f.request(0x21, 53);
  f.ack(0x11, 52, 1002);  // two messages ended by then
  EXPECT_EQ(f.qp(0x21).initial_msn, 1000u);
  EXPECT_TRUE(f.qp(0x21).msn_known);
}

TEST(Survey, MsnBehindAGapIsNotCertain) {
  Feed f;
  f.request(0x21, 50);
  f.request(0x21, 55);
  f.ack(0x11, 55, 7);
  EXPECT_FALSE(f.qp(0x21).msn_known);
}

TEST(Survey, AnswersToEarlierRequestsDoNotSeedTheMsn) {
  Feed f;
  f.ack(0x11, 49, 9);
  f.request(0x21, 50);
  f.ack(0x11, 50, 10);
  EXPECT_EQ(f.qp(0x21).initial_msn, 9u);
  EXPECT_TRUE(f.qp(0x21).msn_known);
}

TEST(Survey, LargestMessagesAreSummedFromFirstToLast) {
  Feed f;
  f.request(0x21, 0, Operation::kSendFirst, 1024);
  f.request(0x21, 1, Operation::kSendMiddle, 1024);
  f.request(0x21, 2, Operation::kSendLast, 5);
  Headers read = f.packet(true, 0x21, Operation::kReadRequest, 3);
  read.length = 1 << 20;
  f.add(read);
  EXPECT_EQ(f.qp(0x21).largest_send, 2053u);
  EXPECT_EQ(f.qp(0x21).largest_message, 1u << 20);
}

TEST(Survey, RegionsSpanWhatIsUsedWithTheRightsUsed) {
  Feed f;
  Headers write = f.packet(true, 0x21, Operation::kWriteOnly, 0);
  write.rkey = Key{0x500};
  write.va = 0x10000;
  write.length = 100;
  f.add(write);
  Headers read = f.packet(true, 0x21, Operation::kReadRequest, 1);
  read.rkey = Key{0x500};
  read.va = 0x8000;
  read.length = 16;
  f.add(read);
  read.rkey = Key{0x600};
  read.psn = Psn{2};
  f.add(read);
  read.rkey = Key{0x700};
  read.length = 0;  // looks at no region
  f.add(read);
  const ReceiverSurvey r = f.survey.of_receiver(kReceiver);
  ASSERT_EQ(r.regions.size(), 2u);
  EXPECT_EQ(r.regions[0].lowest, 0x8000u);
  EXPECT_EQ(r.regions[0].end, 0x10064u);
  EXPECT_EQ(r.regions[0].access, kLocalWrite | kRemoteWrite | kRemoteRead);
  EXPECT_EQ(r.regions[1].access, kRemoteRead);
  EXPECT_EQ(r.regions[1].first_packet, 3u);
  EXPECT_TRUE(f.survey.of_receiver(kPeer).regions.empty());
}

TEST(Survey, AnInvalidatedKeyIsAnotherRegionWhenItIsUsedAgain) {
  Feed f;
  const auto write = [&](std::uint32_t psn, std::uint64_t va) {
    Headers h = f.packet(true, 0x21, Operation::kWriteOnly, psn);
    h.va = va;
    h.rkey = Key{0x1701};
    h.length = h.payload_bytes = 64;
    f.add(h);
  };
  const auto invalidate = [&](std::uint32_t psn, std::uint32_t key) {
    Headers h = f.packet(true, 0x21, Operation::kSendOnlyInv, psn);
    h.immediate = key;
    f.add(h);
  };
  write(0, 0x1000);
  invalidate(1, 0x1701);
  invalidate(1, 0x1701);  // once more: no other region
  write(2, 0x8000);
  invalidate(3, 0x2200);  // of nothing else in the capture
  const std::vector<SurveyedRegion> regions = f.survey.of_receiver(kReceiver).regions;
  ASSERT_EQ(regions.size(), 3u);
  EXPECT_EQ(regions[0].lowest, 0x1000u);
  EXPECT_TRUE(regions[0].invalidated);
  EXPECT_EQ(regions[1].lowest, 0x8000u);
  EXPECT_EQ(regions[1].first_packet, 4u);
  EXPECT_FALSE(regions[1].invalidated);
  EXPECT_EQ(raw(regions[2].key), 0x2200u);
  EXPECT_TRUE(regions[2].invalidated);
}

TEST(Survey, AnAtomicWriteUsesItsRegionAsAWriteAndHasNoResult) {
  Feed f;
  Headers write = f.packet(true, 0x21, Operation::kAtomicWrite, 0);
  write.rkey = Key{0x500};
  write.va = 0x10000;
  write.length = write.payload_bytes = 8;
  f.add(write);
  f.add(f.packet(false, 0x11, Operation::kReadResponseOnly, 0));
  const ReceiverSurvey r = f.survey.of_receiver(kReceiver);
  ASSERT_EQ(r.regions.size(), 1u);
  EXPECT_EQ(r.regions[0].end, 0x10008u);
  EXPECT_EQ(r.regions[0].access, kLocalWrite | kRemoteWrite);
  EXPECT_TRUE(r.atomics.empty());
  EXPECT_EQ(r.atomics_unanswered, 0u);
  EXPECT_EQ(r.qps[0].largest_message, 8u);
}

TEST(Survey, AtomicsKeepTheFirstResultOfEachAddress) {
  Feed f;
  const auto atomic = [&f](std::uint32_t psn, std::uint64_t va, std::uint64_t original) {
    Headers h = f.packet(true, 0x21, Operation::kFetchAdd, psn);
    h.rkey = Key{0x500};
    h.va = va;
    f.add(h);
    if (original == 0) return;
    Headers a = f.packet(false, 0x11, Operation::kAtomicAck, psn);
    a.original = original;
    f.add(a);
  };
  atomic(0, 0x1000, 41);
  atomic(1, 0x1000, 42);
  atomic(2, 0x1008, 7);
  atomic(3, 0x1010, 0);  // no answer
  const ReceiverSurvey r = f.survey.of_receiver(kReceiver);
  ASSERT_EQ(r.atomics.size(), 2u);
  EXPECT_EQ(r.atomics[0].original, 41u);
  EXPECT_EQ(r.atomics[1].va, 0x1008u);
  EXPECT_EQ(r.atomics_unanswered, 1u);
  EXPECT_EQ(r.qps[0].largest_message, 8u);
}

TEST(Survey, RnrNaksShowHowManyReceivesWereThere) {
  Feed f;
  f.request(0x21, 0);
  f.ack(0x11, 0, 1);
  f.request(0x21, 1, Operation::kWriteOnly);  // takes none
  f.request(0x21, 2);
  f.ack(0x11, 2, 1, 1000, 0x2c);
  f.request(0x21, 2);
  f.ack(0x11, 2, 2);
  f.request(0x21, 3);
  f.ack(0x11, 3, 2, 1000, 0x2c);
  EXPECT_EQ(f.qp(0x21).rnr_after_receives, (std::vector<std::uint64_t>{1, 2}));
}

TEST(Survey, XrcSrqsAndUdQkeysAreKept) {
  Feed f;
  Headers x = f.packet(true, 0x22, Operation::kSendOnly, 0);
  x.opcode = opcode_of(Transport::kXrc, Operation::kSendOnly);
  for (const std::uint32_t srq : {5u, 9u, 5u}) {
    x.xrc_srq = Srqn{srq};
    f.add(x);
    x.psn = x.psn + 1;
  }
  EXPECT_EQ(f.qp(0x22).xrc_srqs, (std::vector<Srqn>{Srqn{5}, Srqn{9}}));
  EXPECT_EQ(f.qp(0x22).transport, Transport::kXrc);
  Headers u = f.packet(true, 0x23, Operation::kSendOnly, 0);
  u.opcode = opcode_of(Transport::kUd, Operation::kSendOnly);
  u.qkey = 0x1234;
  u.pkey = 0x8001;
  f.add(u);
  EXPECT_EQ(f.qp(0x23).qkey, 0x1234u);
  EXPECT_EQ(f.qp(0x23).pkey, 0x8001);
}

// R9
TEST(Survey, TagsAreThoseOfTheMessagesInTheirOrder) {
  Feed f;
  f.survey = CaptureSurvey(nullptr, SurveyLimits{.tags = 4});
  const auto send = [&f](std::uint32_t psn, TmhOpcode opcode, std::uint64_t tag, std::uint32_t qpn = 0x20,
                         Operation op = Operation::kSendOnly, Transport transport = Transport::kRc) {
    std::array<std::uint8_t, 64> payload{};
    build_tmh({static_cast<std::uint8_t>(opcode), 0, tag}, payload.data());
    Headers h = f.packet(true, qpn, op, psn);
    h.opcode = opcode_of(transport, op);
    h.payload_bytes = payload.size();
    f.add(h, payload);
  };
  send(1, TmhOpcode::kEager, 7);
  send(2, TmhOpcode::kNoTag, 8);
  send(3, TmhOpcode::kFinish, 9);
  send(4, TmhOpcode::kRendezvous, 10);
  send(4, TmhOpcode::kRendezvous, 10);  // a repetition
  send(5, TmhOpcode::kEager, 7, 0x20, Operation::kSendFirst);
  send(6, TmhOpcode::kEager, 12, 0x20, Operation::kSendLast);
  send(7, TmhOpcode::kEager, 13, 0x20, Operation::kWriteOnly);
  send(1, TmhOpcode::kEager, 14, raw(kGsiQpn), Operation::kSendOnly, Transport::kUd);
  send(1, TmhOpcode::kEager, 15, 0x30, Operation::kSendOnly, Transport::kXrc);
  EXPECT_EQ(f.survey.of_receiver(kReceiver).tags, (std::vector<std::uint64_t>{7, 10, 7}));
  send(1, TmhOpcode::kEager, 16, 0x40, Operation::kSendOnly, Transport::kUd);
  send(8, TmhOpcode::kEager, 17);
  EXPECT_EQ(f.survey.of_receiver(kReceiver).tags, (std::vector<std::uint64_t>{7, 10, 7, 16}));
  EXPECT_EQ(f.survey.of_receiver(kReceiver).tags_beyond, 1u);
  EXPECT_TRUE(f.survey.of_receiver(kPeer).tags.empty());
}

TEST(Survey, WhatIsBeyondALimitIsCounted) {
  Feed f;
  f.survey = CaptureSurvey(nullptr, {.endpoints = 2, .flows = 2, .regions = 1, .atomics = 1});
  for (std::uint32_t i = 0; i < 5; ++i) f.request(0x21 + i, 0);
  EXPECT_EQ(f.survey.counts().ignored, 3u);
  EXPECT_EQ(f.survey.of_receiver(kReceiver).qps.size(), 2u);
  Headers other = f.packet(true, 0x21, Operation::kSendOnly, 1);
  other.source = Address::ipv4(1);
  f.add(other);
  EXPECT_EQ(f.survey.counts().ignored, 4u);
}

TEST(Survey, FramesThatTheCheckRefusesAreNotLookedAt) {
  Headers h;
  h.encapsulation = Encapsulation::kRoceV2Ipv4;
  h.source = kPeer;
  h.destination = kReceiver;
  h.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
  h.destination_qp = Qpn{3};
  std::array<std::uint8_t, 200> frame{};
  const std::size_t bytes = build(h, {}, frame);
  seal(std::span(frame).first(bytes), h);
  CaptureSurvey survey(&wrong_checksum);
  CapturedFrame f;
  f.set_bytes(Bytes(frame).first(bytes));
  survey.add(f);
  frame[bytes - 1] ^= 1;
  survey.add(f);
  f.set_bytes(Bytes(frame).first(12));
  survey.add(f);
  EXPECT_EQ(survey.counts().rdma, 1u);
  EXPECT_EQ(survey.counts().damaged, 1u);
  EXPECT_EQ(survey.counts().not_rdma, 1u);
}

// The captures that are not part of the project.
class SurveyOfCaptures : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(folder_)) GTEST_SKIP() << "there is no " << folder_;
  }
  CaptureSurvey survey(const std::string& name) {
    CaptureReader reader((folder_ / name).string());
    return survey_capture(reader, &wrong_checksum);
  }
  const fs::path folder_ = fs::path(RXNIC_SHARED_DIR) / "captures";
};

TEST_F(SurveyOfCaptures, EveryFileParsesCompletely) {
  const std::map<std::string, std::uint64_t> rdma = {{"soft_roce/pingpong_rc", 20},
                                                     {"soft_roce/pingpong_uc", 10},
                                                     {"soft_roce/pingpong_ud", 10},
                                                     {"soft_roce/rdma_send_bw", 20},
                                                     {"soft_roce/rdma_write_bw", 20},
                                                     {"soft_roce/rdma_read_bw", 20},
                                                     {"soft_roce/rdma_atomic_bw", 10},
                                                     {"soft_roce/rping", 65},
                                                     {"soft_roce/rdma_cm", 96},
                                                     {"soft_roce/ring2_node0", 184},
                                                     {"nic/nic_read", 13},
                                                     {"nic/nic_write", 17},
                                                     {"nic/nvmeof_discover", 31},
                                                     {"nic/send_32qp_with_losses", 708}};
  for (const auto& [name, packets] : rdma) {
    const CaptureSurvey s = survey(name + ".pcap");
    EXPECT_EQ(s.counts().rdma, packets) << name;
    EXPECT_EQ(s.counts().damaged, 0u) << name;
    EXPECT_EQ(s.counts().ignored, 0u) << name;
  }
}

TEST_F(SurveyOfCaptures, PairsAreThoseOfTheConnections) {
  struct Pair {
    const char* file;
    const char* receiver;
    std::uint32_t own, peer;
  };
  for (const Pair& p : {Pair{"soft_roce/pingpong_rc", "10.1.16.61", 0x20, 0x21},
                        {"soft_roce/pingpong_uc", "10.1.16.61", 0x21, 0x22},
                        {"soft_roce/rdma_send_bw", "10.1.16.61", 0x23, 0x24},
                        {"soft_roce/rdma_write_bw", "10.1.16.61", 0x1b, 0x1d},
                        {"soft_roce/rdma_read_bw", "10.1.16.61", 0x1c, 0x1e},
                        {"soft_roce/rdma_atomic_bw", "10.1.16.61", 0x28, 0x29},
                        {"soft_roce/rping", "10.1.16.62", 0x2c, 0x2b},
                        {"soft_roce/rdma_cm", "10.1.16.61", 0x3b, 0x3d},
                        {"soft_roce/rdma_cm", "10.1.16.61", 0x3c, 0x3e},
                        {"soft_roce/ring2_node0", "172.30.0.25", 0x23, 0x27},
                        {"soft_roce/ring2_node0", "172.30.0.25", 0x22, 0x23},
                        {"nic/nic_read", "172.17.242.56", 0x169, 0x139},
                        {"nic/nic_write", "172.17.242.56", 0x167, 0x137},
                        {"nic/nvmeof_discover", "172.16.0.103", 0x8ca, 0x106}}) {
    const CaptureSurvey s = survey(std::string(p.file) + ".pcap");
    bool found = false;
    const ReceiverSurvey mine = s.of_receiver(Address::parse(p.receiver));
    for (const SurveyedQp& q : mine.qps) {
      if (q.qpn != Qpn{p.own}) continue;
      found = true;
      EXPECT_EQ(q.peer_qpn, Qpn{p.peer}) << p.file;
      for (const SurveyedQp& back : s.of_receiver(q.peer).qps) {
        if (back.qpn != Qpn{p.peer} || back.peer != mine.receiver) continue;
        EXPECT_EQ(back.peer_qpn, Qpn{p.own}) << p.file;
      }
    }
    EXPECT_TRUE(found) << p.file;
  }
}

TEST_F(SurveyOfCaptures, LossesComeOutAsGapsOfEachQp) {
  const CaptureSurvey s = survey("nic/send_32qp_with_losses.pcap");
  for (const auto& [receiver, gaps] :
       std::map<std::string, std::uint64_t>{{"172.17.242.56", 157}, {"172.17.242.47", 154}}) {
    const ReceiverSurvey r = s.of_receiver(Address::parse(receiver));
    ASSERT_EQ(r.qps.size(), 16u);
    std::uint64_t sum = 0;
    for (const SurveyedQp& q : r.qps) {
      sum += q.psn_gaps;
      EXPECT_EQ(q.mtu, 1024);
      // Both hosts numbered their QPs alike.
      EXPECT_EQ(raw(q.peer_qpn) - raw(q.qpn), receiver == "172.17.242.47" ? 0x30u : 0u - 0x30u);
    }
    EXPECT_EQ(sum, gaps);
  }
}

TEST_F(SurveyOfCaptures, AtomicsAreSeededWithWhatTheyReturned) {
  const ReceiverSurvey r = survey("soft_roce/rdma_atomic_bw.pcap").of_receiver(Address::parse("10.1.16.61"));
  ASSERT_EQ(r.atomics.size(), 5u);
  EXPECT_EQ(r.atomics[0].va, 0x6320d6be5000u);
  EXPECT_EQ(r.atomics[0].original, 4179805055496059590u);
  EXPECT_EQ(r.atomics_unanswered, 0u);
}

}  // namespace
}  // namespace rxnic::survey_test
