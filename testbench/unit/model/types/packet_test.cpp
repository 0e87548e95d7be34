// SPDX-License-Identifier: Apache-2.0
#include "model/types/packet.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <type_traits>

#include "testbench/unit/model/core/packet_builder.h"

namespace rxnic {
namespace {

bool is_snake_case(std::string_view s) {
  return !s.empty() && s.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

TEST(Packet, EveryDropReasonHasANameOfItsOwn) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kDropReasons; ++i) {
    const std::string name{name_of(static_cast<DropReason>(i))};
    EXPECT_TRUE(is_snake_case(name)) << i;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(name_of(DropReason::kNone), "none");
  EXPECT_EQ(name_of(DropReason::kPsnAhead), "psn_ahead");
  EXPECT_EQ(name_of(DropReason::kHostMemory), "host_memory");
}

TEST(Packet, EveryStationHasANameOfItsOwn) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kStations; ++i) {
    const std::string name{name_of(static_cast<Station>(i))};
    EXPECT_TRUE(is_snake_case(name)) << i;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(name_of(Station::kWire), "wire");
  EXPECT_EQ(name_of(Station::kAckGenerator), "ack_generator");
}

TEST(Packet, ResetForgetsEverythingThatADecisionReads) {
  QpContext qp = make_qp(Transport::kRc);
  Packet p;
  fill_packet(p, qp, {.operation = Operation::kSendOnly, .payload = 64, .ack_request = true});
  p.role = PacketRole::kTruncated;
  p.fail(DropReason::kRemoteAccess, Outcome::kNak, 0x62, WcStatus::kRemoteAccess);
  p.epoch = 9;
  p.message_sequence = 9;
  p.acknowledge = p.takes_wqe = p.ends_message = p.completes = p.resynchronised = p.bad_length = true;
  p.wqe_slot = p.resource = p.local_bytes = p.byte_count = 5;
  p.cqe_flags = kCqeSolicited;
  p.strip_bytes = 16;
  p.segment_count = 3;
  p.reset();
  EXPECT_EQ(p.qp, nullptr);
  EXPECT_EQ(p.h, Headers{});
  EXPECT_EQ(p.role, PacketRole::kReceived);
  EXPECT_EQ(p.outcome, Outcome::kUndecided);
  EXPECT_EQ(p.drop_reason, DropReason::kNone);
  EXPECT_EQ(p.status, WcStatus::kSuccess);
  EXPECT_EQ(p.syndrome, 0u);
  EXPECT_EQ(p.epoch + p.message_sequence, 0u);
  EXPECT_FALSE(p.icrc_ok || p.acknowledge || p.takes_wqe || p.ends_message || p.completes || p.resynchronised ||
               p.bad_length);
  EXPECT_EQ(p.wqe_slot, 0xffffffffu);
  EXPECT_EQ(p.resource + p.local_bytes + p.byte_count + p.cqe_flags + p.strip_bytes + p.segment_count, 0u);
  EXPECT_EQ(p.stamped(Station::kWire), Cycle{0});
}

TEST(Packet, FailureLeavesNothingToBeWritten) {
  Packet p;
  p.segment_count = 2;
  p.fail(DropReason::kRemoteAccess, Outcome::kNak, 0x62, WcStatus::kRemoteAccess);
  EXPECT_EQ(p.segment_count, 0u);
  EXPECT_EQ(p.syndrome, 0x62u);
  EXPECT_EQ(p.outcome, Outcome::kNak);
}

TEST(PacketPool, AClassCannotTakeWhatAnotherNeeds) {
  PacketPool pool({.receive = 2, .internal = 1, .response = 1});
  pool.allocate(PacketClass::kReceive);
  const PacketHandle second = pool.allocate(PacketClass::kReceive);
  EXPECT_FALSE(pool.available(PacketClass::kReceive));
  EXPECT_TRUE(pool.available(PacketClass::kSrqWqeFetcher));
  EXPECT_TRUE(pool.available(PacketClass::kResponse));
  EXPECT_EQ(pool.in_use(), 2u);
  pool.release(second);
  EXPECT_TRUE(pool.available(PacketClass::kReceive));
  EXPECT_EQ(pool.in_use(), 1u);
}

TEST(PacketPool, AClassWithoutALimitGrowsAndPacketsStay) {  // R2
  PacketPool pool({.receive = PacketPool::kNoLimit, .internal = 1, .response = 1});
  const PacketHandle first = pool.allocate(PacketClass::kReceive);
  Packet* const place = &pool[first];
  for (int i = 0; i < 999; ++i) {
    ASSERT_TRUE(pool.available(PacketClass::kReceive));
    pool.allocate(PacketClass::kReceive);
  }
  EXPECT_EQ(pool.in_use(), 1000u);
  EXPECT_EQ(&pool[first], place);
}

TEST(PacketPool, ReleaseGivesThePlaceBackToTheClassThatItWasTakenFor) {
  PacketPool pool({.receive = 1, .internal = 1, .response = 0});
  const PacketHandle a = pool.allocate(PacketClass::kReceive);
  const PacketHandle b = pool.allocate(PacketClass::kSrqWqeFetcher);
  EXPECT_NE(a, b);
  pool.release(b);
  EXPECT_FALSE(pool.available(PacketClass::kReceive));
  EXPECT_TRUE(pool.available(PacketClass::kSrqWqeFetcher));
  EXPECT_FALSE(pool.available(PacketClass::kResponse));
}

TEST(PacketPool, AnAllocatedPacketIsAsNew) {
  PacketPool pool({.receive = 1, .internal = 0, .response = 0});
  const PacketHandle first = pool.allocate(PacketClass::kReceive);
  pool[first].outcome = Outcome::kDrop;
  pool[first].h.opcode = 4;
  pool.release(first);
  const PacketHandle again = pool.allocate(PacketClass::kReceive);
  EXPECT_EQ(pool[again].outcome, Outcome::kUndecided);
  EXPECT_EQ(pool[again].h.opcode, 0u);
}

}  // namespace
}  // namespace rxnic
