// SPDX-License-Identifier: Apache-2.0
// Rule R16 of model/nic/fabric.h: which ICRCs a receiver computes again. A frame with one wrong bit shows it.
#include <gtest/gtest.h>

#include "testbench/unit/model/nic/fabric_fixture.h"

namespace rxnic::fabric_test {
namespace {

constexpr std::uint32_t kSealedPayload = 64;

// How many of three frames from NIC 0 to itself, NIC 1 and everybody, each with a wrong bit, their receivers refuse.
std::uint64_t refused(const Params& p, bool sealed) {
  Bench bench;
  Fixture fixture(bench, p, 2);
  std::uint32_t id = 0;
  for (const std::uint32_t to : {0u, 1u, kEverybody}) {
    fixture.requests[0]->push({Cycle{0}, to, kSealedPayload, ++id, sealed, true});
    fixture.answers[0]->push({Cycle{0}, to, kSealedPayload, ++id, sealed, true});
  }
  bench.run();
  EXPECT_EQ(fixture.arrivals(0).size() + fixture.arrivals(1).size(), 8u);
  return fixture.nics[0]->rx_parser.counters().icrc_errors + fixture.nics[1]->rx_parser.counters().icrc_errors;
}

constexpr std::uint64_t kAll = 4;  // NICs have no multicast group: what goes to everybody is dropped before its ICRC

TEST(FabricSeal, AnIcrcThatANicHasComputedIsNotComputedAgain) { EXPECT_EQ(refused(slow_link(), true), 0u); }

TEST(FabricSeal, AFrameOfWhichNothingIsKnownIsChecked) { EXPECT_EQ(refused(slow_link(), false), kAll); }

TEST(FabricSeal, AllAreCheckedWhenThatIsAskedFor) {
  Params p = slow_link();
  p.fabric.check_own_icrc = true;
  EXPECT_EQ(refused(p, true), kAll);
}

TEST(FabricSeal, WhatTheNetworkHasCorruptedIsChecked) {  // R13
  Params p = slow_link();
  p.fabric.corrupt_ppm = 1'000'000;
  Bench bench;
  Fixture fixture(bench, p, 2);
  for (std::uint32_t i = 1; i <= 5; ++i) fixture.requests[0]->push({Cycle{0}, 1, kSealedPayload, i, true});
  bench.run();
  EXPECT_EQ(fixture.nics[1]->rx_parser.counters().icrc_errors, 5u);
}

TEST(FabricSeal, ABufferThatIsUsedAgainIsNotSealed) {
  PacketPool pool({.receive = 1});
  const PacketHandle first = pool.allocate(PacketClass::kReceive);
  pool[first].sealed = true;
  pool.release(first);
  const PacketHandle second = pool.allocate(PacketClass::kReceive);
  EXPECT_EQ(first, second);
  EXPECT_FALSE(pool[second].sealed);
}

}  // namespace
}  // namespace rxnic::fabric_test
