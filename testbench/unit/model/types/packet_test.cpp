// SPDX-License-Identifier: Apache-2.0
#include "model/types/packet.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "model/types/receive_path.h"

namespace rxnic::packet_test {
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

TEST(Packet, ResetForgetsEverythingButTheBytes) {
  Packet p;
  p.frame_bytes = 64;
  p.frame[3] = 7;
  p.id = 5;
  p.posted = Cycle{9};
  p.sealed = p.decoded = true;
  p.stamp(Station::kWire, Cycle{10});
  p.stamp_taken(Station::kRxParser, Cycle{12});
  p.reset();
  EXPECT_EQ(p.frame_bytes, 0u);
  EXPECT_EQ(p.id, 0u);
  EXPECT_EQ(p.posted, Cycle{0});
  EXPECT_FALSE(p.sealed || p.decoded) << "somebody else's word for other bytes";
  EXPECT_EQ(p.stamped(Station::kWire), Cycle{0});
  EXPECT_EQ(p.taken(Station::kRxParser), Cycle{0});
  EXPECT_EQ(p.frame[3], 7u);
}

TEST(Packet, AShortFrameLiesInThePacketALongOneBesideIt) {
  Packet p;
  p.hold(Packet::kShortFrame);
  const auto* const at = reinterpret_cast<const std::uint8_t*>(&p);
  EXPECT_EQ(p.frame.size(), Packet::kShortFrame);
  EXPECT_TRUE(p.frame.data() >= at && p.frame.data() + p.frame.size() <= at + sizeof p);
  p.hold(Packet::kShortFrame + 1);
  EXPECT_EQ(p.frame.size(), kMaxFrameBytes);
  const std::uint8_t* const beside = p.frame.data();
  p.hold(1);
  p.hold(kMaxFrameBytes);
  EXPECT_EQ(p.frame.data(), beside) << "kept";
}

// More lines of the machine's cache for each packet on its way would be a decision.
TEST(Packet, WhatEveryPacketUsesIsInFourLines) {
  const Packet p;
  const auto* const at = reinterpret_cast<const std::uint8_t*>(&p);
  EXPECT_EQ(p.scratch.data() - at, 256);
  EXPECT_LT(reinterpret_cast<const std::uint8_t*>(&p.complete), p.scratch.data());
}

TEST(PathPacket, AFailureIsOutcomeReasonAnswerAndStatus) {
  PathPacket p;
  p.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
  EXPECT_TRUE(p.has(kSend | kRead));
  EXPECT_FALSE(p.has(kRead));
  p.fail(DropReason::kRemoteAccess, Outcome::kNak, 0x62, WcStatus::kRemoteAccess);
  EXPECT_EQ(p.drop_reason, DropReason::kRemoteAccess);
  EXPECT_EQ(p.outcome, Outcome::kNak);
  EXPECT_EQ(p.syndrome, 0x62u);
  EXPECT_EQ(p.status, WcStatus::kRemoteAccess);
}

TEST(PacketPool, AClassCannotTakeWhatAnotherNeeds) {
  PacketPool pool({.receive = 2, .response = 1});
  pool.allocate(PacketClass::kReceive);
  const PacketHandle second = pool.allocate(PacketClass::kReceive);
  EXPECT_FALSE(pool.available(PacketClass::kReceive));
  EXPECT_TRUE(pool.available(PacketClass::kResponse));
  EXPECT_EQ(pool.in_use(), 2u);
  pool.release(second);
  EXPECT_TRUE(pool.available(PacketClass::kReceive));
  EXPECT_EQ(pool.in_use(), 1u);
}

TEST(PacketPool, WasEmptyIsWhatTheCycleBeganWith) {
  Cycle now{5};
  PacketPool pool({.receive = 4, .response = 4}, &now);
  EXPECT_TRUE(pool.was_empty());
  const PacketHandle first = pool.allocate(PacketClass::kReceive);
  EXPECT_TRUE(pool.was_empty()) << "allocated in this cycle";
  now = Cycle{6};
  EXPECT_FALSE(pool.was_empty());
  pool.release(first);
  EXPECT_FALSE(pool.was_empty()) << "released in this cycle";
  const PacketHandle second = pool.allocate(PacketClass::kResponse);
  EXPECT_FALSE(pool.was_empty());
  now = Cycle{7};
  pool.release(second);
  EXPECT_FALSE(pool.was_empty());
  now = Cycle{8};
  EXPECT_TRUE(pool.was_empty());
}

TEST(PacketPool, AClassWithoutALimitGrowsAndPacketsStay) {  // R2
  PacketPool pool({.receive = PacketPool::kNoLimit, .response = 1});
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
  PacketPool pool({.receive = 1, .response = 1, .request = 0});
  const PacketHandle a = pool.allocate(PacketClass::kReceive);
  const PacketHandle b = pool.allocate(PacketClass::kResponse);
  EXPECT_NE(a, b);
  pool.release(b);
  EXPECT_FALSE(pool.available(PacketClass::kReceive));
  EXPECT_TRUE(pool.available(PacketClass::kResponse));
  EXPECT_FALSE(pool.available(PacketClass::kRequest));
}

TEST(PacketPool, AnAllocatedPacketIsAsNew) {
  PacketPool pool({.receive = 1, .response = 0});
  const PacketHandle first = pool.allocate(PacketClass::kReceive);
  pool[first].id = 7;
  pool.release(first);
  const PacketHandle again = pool.allocate(PacketClass::kReceive);
  EXPECT_EQ(pool[again].id, 0u);
}

}  // namespace
}  // namespace rxnic::packet_test
