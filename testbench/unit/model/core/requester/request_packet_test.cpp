// SPDX-License-Identifier: Apache-2.0
// Rules R1..R5 of model/core/requester/request_packet.h.
#include "model/core/requester/request_packet.h"

#include <gtest/gtest.h>

#include "testbench/unit/model/core/packet_builder.h"

namespace rxnic::request_packet_test {
namespace {

using S = SendOpcode;
using O = Operation;
constexpr MacAddress kMac{2, 0x72, 0x78, 0, 0, 1};

AddressVector path_to(const char* address) {
  AddressVector path;
  path.destination_gid = Address::parse(address).bytes;
  path.destination_mac = {2, 0x72, 0x78, 0, 0, 2};
  path.traffic_class = 0x68;
  path.hop_limit = 31;
  path.flow_label = 0xfff12345;
  return path;
}

SourceGid source(Encapsulation e) {
  return {e, Address::parse(e == Encapsulation::kRoceV2Ipv4 ? "10.0.0.1" : "fe80::1")};
}

TEST(RequestPacket, TheSourceGidDecidesTheEncapsulation) {  // (R1)
  const Headers v4 = path_headers(path_to("10.0.0.2"), source(Encapsulation::kRoceV2Ipv4), kMac, Qpn{0x11}, Qpn{0x22});
  EXPECT_EQ(v4.encapsulation, Encapsulation::kRoceV2Ipv4);
  EXPECT_EQ(v4.source, Address::parse("10.0.0.1"));
  EXPECT_EQ(v4.destination, Address::parse("10.0.0.2"));
  EXPECT_EQ(v4.source_mac, kMac);
  EXPECT_EQ(v4.destination_mac[5], 2);
  EXPECT_EQ(v4.traffic_class, 0x68);
  EXPECT_EQ(v4.hop_limit, 31);
  EXPECT_EQ(v4.flow_label, 0x12345u) << "20 bits";

  const Headers v6 = path_headers(path_to("fe80::2"), source(Encapsulation::kRoceV2Ipv6), kMac, Qpn{1}, Qpn{2});
  EXPECT_EQ(v6.encapsulation, Encapsulation::kRoceV2Ipv6);
  EXPECT_EQ(v6.destination, Address::parse("fe80::2"));
  EXPECT_NE(v6.udp_source_port, 0);

  const Headers v1 = path_headers(path_to("fe80::2"), source(Encapsulation::kRoceV1), kMac, Qpn{1}, Qpn{2});
  EXPECT_EQ(v1.encapsulation, Encapsulation::kRoceV1);
  EXPECT_EQ(v1.udp_source_port, 0) << "no UDP";
}

TEST(RequestPacket, GidsThatDoNotGoTogetherGiveNoPath) {  // (R1)
  EXPECT_EQ(path_headers(path_to("fe80::2"), source(Encapsulation::kRoceV2Ipv4), kMac, Qpn{1}, Qpn{2}).encapsulation,
            Encapsulation::kNone);
  EXPECT_EQ(path_headers(path_to("fe80::2"), SourceGid{}, kMac, Qpn{1}, Qpn{2}).encapsulation, Encapsulation::kNone);
}

TEST(RequestPacket, HopLimitIs64WhenThePathHasNone) {
  AddressVector path = path_to("10.0.0.2");
  path.hop_limit = 0;
  EXPECT_EQ(path_headers(path, source(Encapsulation::kRoceV2Ipv4), kMac, Qpn{1}, Qpn{2}).hop_limit, 64);
}

TEST(RequestPacket, SourcePortIsAHashOfTheQpns) {  // (R2)
  AddressVector path = path_to("10.0.0.2");
  const auto port = [&](std::uint32_t a, std::uint32_t b) {
    return path_headers(path, source(Encapsulation::kRoceV2Ipv4), kMac, Qpn{a}, Qpn{b}).udp_source_port;
  };
  EXPECT_EQ(port(0x11, 0x22), 0xc000 | 0x11 * 0x22);
  EXPECT_EQ(port(0x11, 0x22), port(0x22, 0x11));
  EXPECT_NE(port(0x11, 0x22), port(0x11, 0x23));
  for (std::uint32_t q = 1; q < 0xffffff; q = q * 3 + 1) EXPECT_GE(port(q, 0xfffffe), 0xc000) << q;
  path.udp_source_port = 0x1234;
  EXPECT_EQ(port(0x11, 0x22), 0x1234);
}

class RequestHeadersTest : public testing::Test {
 protected:
  Headers headers(SendRequest r, bool first, bool last) {
    RequestPacket p;
    p.first = first;
    p.last = last;
    p.ack_request = last;
    p.psn = Psn{123};
    p.bytes = r.bytes;
    Headers h;
    set_request_headers(h, qp, r, p);
    return h;
  }
  O operation(S opcode, bool first, bool last) {
    SendRequest r;
    r.opcode = opcode;
    return opcode_info(headers(r, first, last).opcode).operation;
  }
  QpContext qp = make_qp(Transport::kRc);
};

TEST_F(RequestHeadersTest, FirstMiddleLastOnly) {  // (R3)
  struct Row {
    S opcode;
    O first, middle, last, only;
  };
  constexpr Row kRows[] = {{S::kSend, O::kSendFirst, O::kSendMiddle, O::kSendLast, O::kSendOnly},
                           {S::kSendImm, O::kSendFirst, O::kSendMiddle, O::kSendLastImm, O::kSendOnlyImm},
                           {S::kSendInvalidate, O::kSendFirst, O::kSendMiddle, O::kSendLastInv, O::kSendOnlyInv},
                           {S::kWrite, O::kWriteFirst, O::kWriteMiddle, O::kWriteLast, O::kWriteOnly},
                           {S::kWriteImm, O::kWriteFirst, O::kWriteMiddle, O::kWriteLastImm, O::kWriteOnlyImm}};
  for (const Row& row : kRows) {
    EXPECT_EQ(operation(row.opcode, true, false), row.first);
    EXPECT_EQ(operation(row.opcode, false, false), row.middle);
    EXPECT_EQ(operation(row.opcode, false, true), row.last);
    EXPECT_EQ(operation(row.opcode, true, true), row.only);
  }
  EXPECT_EQ(operation(S::kRead, true, true), O::kReadRequest);
  EXPECT_EQ(operation(S::kCompareSwap, true, true), O::kCompareSwap);
  EXPECT_EQ(operation(S::kFetchAdd, true, true), O::kFetchAdd);
  EXPECT_EQ(operation(S::kAtomicWrite, true, true), O::kAtomicWrite);
}

TEST_F(RequestHeadersTest, BthIsTheQps) {
  SendRequest r;
  const Headers h = headers(r, true, true);
  EXPECT_EQ(opcode_info(h.opcode).transport, Transport::kRc);
  EXPECT_EQ(h.destination_qp, qp.remote_qpn);
  EXPECT_EQ(h.pkey, qp.pkey);
  EXPECT_EQ(h.psn, Psn{123});
  EXPECT_TRUE(h.ack_request);
}

TEST_F(RequestHeadersTest, RemoteAddressesAndOperands) {  // (R3)
  SendRequest r;
  r.bytes = 5000;
  r.immediate = 0xabcd;
  r.remote_srqn = 9;
  r.remote = {.va = 0x1000, .rkey = 0x777, .compare_add = 11, .swap = 22};
  r.opcode = S::kWriteImm;
  Headers h = headers(r, false, true);
  EXPECT_EQ(h.length, 5000u);
  EXPECT_EQ(h.va, 0x1000u);
  EXPECT_EQ(h.rkey, Key{0x777});
  EXPECT_EQ(h.immediate, 0xabcdu);
  EXPECT_EQ(h.xrc_srq, Srqn{9});
  EXPECT_EQ(headers(r, true, false).immediate, 0u);
  r.opcode = S::kCompareSwap;
  h = headers(r, true, true);
  EXPECT_EQ(h.compare, 11u);
  EXPECT_EQ(h.swap_add, 22u);
  r.opcode = S::kFetchAdd;
  EXPECT_EQ(headers(r, true, true).swap_add, 11u);
  r.opcode = S::kRead;
  RequestPacket rest;
  rest.first = false;
  rest.last = true;
  rest.offset = 2048;
  rest.bytes = 5000 - 2048;
  set_request_headers(h, qp, r, rest);
  EXPECT_EQ(h.va, 0x1000u + 2048);
  EXPECT_EQ(h.length, 5000u - 2048);
}

TEST_F(RequestHeadersTest, SolicitedIsTheLastPacketOfWhatTakesAWqe) {  // (R4)
  SendRequest r;
  r.flags = kSendSolicited;
  for (const S opcode : {S::kSend, S::kSendImm, S::kSendInvalidate, S::kWriteImm}) {
    r.opcode = opcode;
    EXPECT_TRUE(headers(r, false, true).solicited);
    EXPECT_FALSE(headers(r, true, false).solicited);
  }
  r.opcode = S::kWrite;
  EXPECT_FALSE(headers(r, true, true).solicited);
  r.opcode = S::kSend;
  r.flags = 0;
  EXPECT_FALSE(headers(r, true, true).solicited);
}

TEST_F(RequestHeadersTest, ADatagramGoesWhereItsWqeSays) {  // (R5)
  qp = make_qp(Transport::kUd);
  SendWqe wqe;
  wqe.remote_qpn = 0x99;
  wqe.remote_qkey = 0x5555;
  Headers h;
  set_datagram_headers(h, qp, wqe);
  set_request_headers(h, qp, {}, {});
  EXPECT_EQ(h.destination_qp, Qpn{0x99});
  EXPECT_EQ(h.source_qp, qp.qpn);
  EXPECT_EQ(h.qkey, 0x5555u);
  wqe.remote_qkey = 0x80000001;
  set_datagram_headers(h, qp, wqe);
  EXPECT_EQ(h.qkey, qp.qkey) << "its own";
}

}  // namespace
}  // namespace rxnic::request_packet_test
