// SPDX-License-Identifier: Apache-2.0
#include "model/core/responder/header_check.h"

#include <gtest/gtest.h>

#include "testbench/unit/model/core/packet_builder.h"

namespace rxnic::header_check_test {
namespace {

DropReason reason_for(QpContext qp, const PacketSpec& spec = {}) { return check_headers(*make_packet(qp, spec), qp); }

TEST(HeaderCheck, AGoodPacketOfEachTransportGoesOn) {
  for (const Transport t : {Transport::kRc, Transport::kUc, Transport::kUd, Transport::kXrc}) {
    EXPECT_EQ(reason_for(make_qp(t)), DropReason::kNone);
  }
}

// (R1) A packet with every fault: each is found only when those before it in the order have been removed.
TEST(HeaderCheck, TheFirstFaultInOrderCounts) {
  QpContext qp = make_qp(Transport::kRc);
  auto p = make_packet(qp, {});
  p->opcode = opcode_of(Transport::kUc, Operation::kSendOnly);
  p->h.source = Address::ipv4(0x0a000003);
  p->h.pkey = 0x8001;
  p->h.icrc_ok = false;
  EXPECT_EQ(check_headers(*p, qp), DropReason::kQpTypeOrState);
  p->opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
  EXPECT_EQ(check_headers(*p, qp), DropReason::kQpAddress);
  p->h.source = Address::ipv4(0x0a000002);
  EXPECT_EQ(check_headers(*p, qp), DropReason::kPkey);
  p->h.pkey = 0xffff;
  EXPECT_EQ(check_headers(*p, qp), DropReason::kIcrc);
  p->h.icrc_ok = true;
  EXPECT_EQ(check_headers(*p, qp), DropReason::kNone);
}

TEST(HeaderCheck, UdLooksAtPkeyThenQkeyThenIcrc) {
  QpContext qp = make_qp(Transport::kUd);
  auto p = make_packet(qp, {});
  p->h.pkey = 0x8001;
  p->h.qkey = qp.qkey + 1;
  p->h.icrc_ok = false;
  EXPECT_EQ(check_headers(*p, qp), DropReason::kPkey);
  p->h.pkey = 0xffff;
  EXPECT_EQ(check_headers(*p, qp), DropReason::kQkey);
  p->h.qkey = qp.qkey;
  EXPECT_EQ(check_headers(*p, qp), DropReason::kIcrc);
}

TEST(HeaderCheck, AQpOfACaptureMayTakeEveryPkey) {  // R3
  QpContext qp = make_qp(Transport::kRc);
  for (const std::uint16_t pkey : {0x0000, 0x8001}) {
    auto p = make_packet(qp, {});
    p->h.pkey = pkey;
    qp.any_pkey = false;
    EXPECT_EQ(check_headers(*p, qp), DropReason::kPkey);
    qp.any_pkey = true;
    EXPECT_EQ(check_headers(*p, qp), DropReason::kNone);
  }
}

// It has no header in which anything could be wrong.
TEST(HeaderCheck, RawPacketLooksAtTransportAndStateAlone) {
  QpContext qp = make_qp(Transport::kRaw);
  auto p = make_packet(qp, {});
  p->opcode = opcode_of(Transport::kRaw, Operation::kSendOnly);
  p->h.pkey = 0;
  EXPECT_EQ(check_headers(*p, qp), DropReason::kNone);
  p->opcode = opcode_of(Transport::kUd, Operation::kSendOnly);
  EXPECT_EQ(check_headers(*p, qp), DropReason::kQpTypeOrState);
  p->opcode = opcode_of(Transport::kRaw, Operation::kSendOnly);
  qp.state = QpState::kInit;
  EXPECT_EQ(check_headers(*p, qp), DropReason::kQpTypeOrState);
}

TEST(HeaderCheck, UdTakesPacketsFromAnybody) {
  QpContext qp = make_qp(Transport::kUd);
  auto p = make_packet(qp, {});
  p->h.source = Address::ipv4(0x01020304);
  EXPECT_EQ(check_headers(*p, qp), DropReason::kNone);
}

TEST(HeaderCheck, ConnectedQpsLookAtBothAddresses) {
  for (const Transport t : {Transport::kRc, Transport::kUc, Transport::kXrc}) {
    QpContext qp = make_qp(t);
    auto p = make_packet(qp, {});
    p->h.destination = Address::ipv4(0x0a000009);
    EXPECT_EQ(check_headers(*p, qp), DropReason::kQpAddress);
    qp.local = Address{};  // not known: anything goes
    EXPECT_EQ(check_headers(*p, qp), DropReason::kNone);
    p->h.source = Address::ipv6(Bytes{qp.remote.bytes});
    EXPECT_EQ(check_headers(*p, qp), DropReason::kQpAddress);
    qp.remote = Address{};
    EXPECT_EQ(check_headers(*p, qp), DropReason::kNone);
  }
}

TEST(HeaderCheck, RequestsNeedRtrAnswersRts) {  // (R2)
  struct Row {
    QpState state;
    bool request, answer;
  };
  constexpr Row kRows[] = {{QpState::kReset, false, false}, {QpState::kInit, false, false},
                           {QpState::kRtr, true, false},    {QpState::kRts, true, true},
                           {QpState::kSqd, true, true},     {QpState::kSqe, true, true},
                           {QpState::kError, false, false}};
  for (const Row& row : kRows) {
    QpContext qp = make_qp(Transport::kRc);
    qp.state = row.state;
    const auto expected = [](bool taken) { return taken ? DropReason::kNone : DropReason::kQpTypeOrState; };
    EXPECT_EQ(reason_for(qp), expected(row.request)) << static_cast<int>(row.state);
    EXPECT_EQ(reason_for(qp, {.operation = Operation::kAck}), expected(row.answer)) << static_cast<int>(row.state);
  }
}

TEST(HeaderCheck, PkeysMatchWhenOneSideIsAFullMember) {  // (R3)
  EXPECT_TRUE(pkeys_match(0xffff, 0xffff));
  EXPECT_TRUE(pkeys_match(0xffff, 0x7fff));
  EXPECT_TRUE(pkeys_match(0x0001, 0x8001));
  EXPECT_FALSE(pkeys_match(0x7fff, 0x7fff)) << "two limited members";
  EXPECT_FALSE(pkeys_match(0x8001, 0x8002));
  EXPECT_FALSE(pkeys_match(0x8000, 0x8000)) << "zero is invalid";
}

TEST(HeaderCheck, ACnpIsForAnyConnectedQp) {  // (R4)
  for (const Transport t : {Transport::kRc, Transport::kUc, Transport::kXrc}) {
    EXPECT_EQ(reason_for(make_qp(t), {.operation = Operation::kCnp}), DropReason::kNone);
  }
  EXPECT_EQ(reason_for(make_qp(Transport::kUd), {.operation = Operation::kCnp}), DropReason::kQpTypeOrState);
  QpContext reset = make_qp(Transport::kRc);
  reset.state = QpState::kReset;
  EXPECT_EQ(reason_for(reset, {.operation = Operation::kCnp}), DropReason::kQpTypeOrState);
}

}  // namespace
}  // namespace rxnic::header_check_test
