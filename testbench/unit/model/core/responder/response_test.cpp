// SPDX-License-Identifier: Apache-2.0
// Rules R1..R6 of model/core/responder/response.h.
#include "model/core/responder/response.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "model/core/memory/scatter_plan.h"
#include "model/types/syndrome.h"
#include "testbench/unit/request_packets.h"

namespace rxnic::response_test {
namespace {

constexpr std::array kEncapsulations{Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6, Encapsulation::kRoceV1,
                                     Encapsulation::kIbLocal, Encapsulation::kIbGlobal};

// The headers of the response as its receiver parses them. Expects that its ICRC is right.
Headers parsed(const Packet& p) {
  Headers h;
  EXPECT_EQ(parse(p.frame_view(), p.h.link, h), ParseStatus::kOk);
  EXPECT_TRUE(icrc_matches(p.frame_view(), h));
  return h;
}

TEST(Response, AnAckGoesBackTheWayItsRequestCame) {
  for (const Encapsulation e : kEncapsulations) {
    Headers request = request_headers(e, Transport::kRc, Operation::kSendOnly, Psn{0x123456});
    if (e == Encapsulation::kRoceV2Ipv4) {
      request.vlan_tags = 1;
      request.vlan = 0x2005;
    }
    request.solicited = request.ack_request = request.fecn = true;
    auto p = std::make_unique<Packet>();
    p->hold(kMaxFrameBytes);
    set_frame(*p, request, counting_bytes(8));
    Headers answer = answer_headers(parsed(*p), kTestPeer);
    answer.psn = Psn{0x123456};
    answer.msn = 0xabcdef;
    answer.syndrome = kAckUnlimited;
    p->h = answer;
    const WireFrame frame = build_answer(PacketHandle{7}, *p, 0);
    EXPECT_EQ(frame.buffer, PacketHandle{7});
    EXPECT_EQ(frame.bytes, p->frame_bytes);
    EXPECT_EQ(frame.link, p->link);
    EXPECT_FALSE(frame.too_long || frame.cut_short);
    const Headers h = parsed(*p);
    EXPECT_EQ(h.opcode, opcode_of(Transport::kRc, Operation::kAck));
    EXPECT_EQ(h.source, request.destination);
    EXPECT_EQ(h.destination, request.source);
    if (h.link == LinkLayer::kEthernet) {
      EXPECT_EQ(h.source_mac, request.destination_mac);
      EXPECT_EQ(h.destination_mac, request.source_mac);
    } else {
      EXPECT_EQ(h.source_lid, request.destination_lid);
      EXPECT_EQ(h.destination_lid, request.source_lid);
      EXPECT_EQ(h.service_level, request.service_level);
    }
    EXPECT_EQ(h.vlan, request.vlan);
    EXPECT_EQ(h.destination_qp, kTestPeer);
    EXPECT_EQ(h.psn, Psn{0x123456});
    EXPECT_EQ(h.msn, 0xabcdefu);
    EXPECT_EQ(h.syndrome, 0x1f);
    EXPECT_EQ(h.pkey, 0xffff);
    EXPECT_EQ(h.payload_bytes, 0);
    EXPECT_FALSE(h.solicited || h.ack_request || h.fecn);
    if (e == Encapsulation::kRoceV2Ipv4) {
      EXPECT_EQ(h.udp_source_port, 0xc123);
      EXPECT_FALSE(h.may_fragment);
    }
    if (e != Encapsulation::kIbLocal) {
      EXPECT_EQ(h.hop_limit, 64);
      EXPECT_EQ(h.traffic_class, 0x6a) << "DSCP 26, ECT(0)";
    }
  }
}

TEST(Response, ACnpHasItsOpcodeBecnAndReservedBytes) {  // (R6)
  for (const Encapsulation e : {Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6}) {
    for (const Transport t : {Transport::kRc, Transport::kUc}) {
      Headers request = request_headers(e, t, Operation::kSendOnly, Psn{0x123456});
      request.traffic_class = 0x6b;
      request.ack_request = request.solicited = true;
      auto p = std::make_unique<Packet>();
      p->hold(kMaxFrameBytes);
      p->h = cnp_headers(answer_headers(request, kTestPeer));
      std::fill(p->frame.begin(), p->frame.end(), std::uint8_t{0xee});
      const WireFrame frame = build_answer(PacketHandle{7}, *p, 0);
      const Headers h = parsed(*p);
      EXPECT_EQ(h.opcode, 0x81);
      EXPECT_TRUE(h.becn);
      EXPECT_FALSE(h.fecn || h.ack_request || h.solicited);
      EXPECT_EQ(h.psn, Psn{0});
      EXPECT_EQ(h.pkey, request.pkey);
      EXPECT_EQ(h.destination_qp, kTestPeer);
      EXPECT_EQ(h.destination, request.source);
      EXPECT_EQ(h.source, request.destination);
      EXPECT_EQ(h.traffic_class, 0x6a) << "DSCP 26, ECT(0)";
      EXPECT_EQ(h.payload_bytes, 0u);
      const std::size_t bth = h.bth_offset;
      EXPECT_EQ(frame.bytes, bth + 12 + 16 + 4);
      for (std::size_t n = 0; n < 16; ++n) EXPECT_EQ(p->frame[bth + 12 + n], 0u);
    }
  }
}

TEST(Response, CongestionOfTheRequestIsNotThatOfItsAnswer) {
  Headers request = request_headers(Encapsulation::kRoceV2Ipv4, Transport::kRc, Operation::kSendOnly, Psn{1});
  request.traffic_class = 0x6b;
  EXPECT_EQ(answer_headers(request, kTestPeer).traffic_class, 0x6a);
  request.traffic_class = 0x68;
  EXPECT_EQ(answer_headers(request, kTestPeer).traffic_class, 0x68);
}

TEST(Response, XrcIsAnsweredByXrc) {
  const Headers request = request_headers(Encapsulation::kRoceV2Ipv4, Transport::kXrc, Operation::kSendOnly, Psn{1});
  EXPECT_EQ(answer_headers(request, kTestPeer).opcode, opcode_of(Transport::kXrc, Operation::kAck));
}

struct ReadCase {
  std::uint32_t bytes;
  std::vector<Operation> operations;
};

TEST(Response, AReadIsCutIntoPacketsOfTheMtu) {
  using enum Operation;
  constexpr std::uint32_t kMtu = 1024;
  const std::vector<ReadCase> cases{{1, {kReadResponseOnly}},
                                    {kMtu - 1, {kReadResponseOnly}},
                                    {kMtu, {kReadResponseOnly}},
                                    {kMtu + 1, {kReadResponseFirst, kReadResponseLast}},
                                    {3 * kMtu, {kReadResponseFirst, kReadResponseMiddle, kReadResponseLast}}};
  for (const ReadCase& c : cases) {
    Headers request = request_headers(Encapsulation::kRoceV2Ipv4, Transport::kRc, kReadRequest, Psn{0xffffff});
    Headers shared = answer_headers(request, kTestPeer);
    shared.msn = 5;
    shared.syndrome = kAckUnlimited;
    ReadInProgress read{0x10000 - 100, Key{0x700}, c.bytes, kMtu, Psn{0xffffff}, false};
    std::uint64_t va = 0x10000 - 100;
    Psn psn{0xffffff};
    for (std::size_t i = 0; i < c.operations.size(); ++i) {
      auto p = std::make_unique<Packet>();
      p->hold(kMaxFrameBytes);
      PieceList pieces;
      next_read_response(*p, shared, read, pieces);
      const std::uint32_t bytes = std::min(kMtu, static_cast<std::uint32_t>(c.bytes - i * kMtu));
      const auto payload_offset = static_cast<std::uint32_t>(payload_offset_for(p->h));
      std::uint32_t gathered = 0;
      for (std::uint32_t n = 0; n < pieces.size(); ++n) {
        const Piece& piece = pieces[n];
        EXPECT_EQ(piece.va, va + gathered);
        EXPECT_EQ(piece.key, Key{0x700});
        EXPECT_EQ(piece.area, BufferArea::kFrame);
        EXPECT_EQ(piece.offset, payload_offset + gathered);
        EXPECT_EQ(piece.va / kScatterPageBytes, (piece.va + piece.bytes - 1) / kScatterPageBytes);
        for (std::uint32_t b = 0; b < piece.bytes; ++b) {
          p->frame[piece.offset + b] = static_cast<std::uint8_t>(gathered + b);
        }
        gathered += piece.bytes;
      }
      EXPECT_EQ(gathered, bytes);
      EXPECT_EQ(pieces.size(), i == 0 && bytes > 100 ? 2u : 1u) << "100 bytes before a page";
      const WireFrame frame = build_answer(PacketHandle{9}, *p, p->h.payload_bytes);
      EXPECT_EQ(frame.buffer, PacketHandle{9});
      EXPECT_EQ(frame.bytes, p->frame_bytes);
      const Headers h = parsed(*p);
      EXPECT_EQ(h.opcode, opcode_of(Transport::kRc, c.operations[i]));
      EXPECT_EQ(h.psn, psn);
      ASSERT_EQ(h.payload_bytes, bytes);
      for (std::uint32_t b = 0; b < bytes; ++b) {
        ASSERT_EQ(p->frame[h.payload_offset + b], static_cast<std::uint8_t>(b));
      }
      const bool aeth = c.operations[i] != kReadResponseMiddle;
      EXPECT_EQ(h.msn, aeth ? 5u : 0u);
      EXPECT_EQ(h.syndrome, aeth ? 0x1f : 0);
      va += bytes;
      psn = psn + 1;
    }
    EXPECT_EQ(read.bytes_left, 0u);
  }
}

TEST(Response, ACreditCodePromisesNoMoreThanThereIs) {
  EXPECT_EQ(credit_code(0), 0);
  EXPECT_EQ(credit_code(1), 1);
  EXPECT_EQ(credit_code(4), 4);
  EXPECT_EQ(credit_code(5), 4);
  EXPECT_EQ(credit_code(6), 5);
  EXPECT_EQ(credit_code(8), 6);
  EXPECT_EQ(credit_code(1023), 19);
  EXPECT_EQ(credit_code(1024), 20);
  EXPECT_EQ(credit_code(32768), 30);
  EXPECT_EQ(credit_code(0xffffffff), 30);
}

}  // namespace
}  // namespace rxnic::response_test
