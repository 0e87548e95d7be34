// SPDX-License-Identifier: Apache-2.0
// What a replay makes of requests that a capture holds twice, out of order, or with an answer that contradicts them.
#include <gtest/gtest.h>

#include "testbench/unit/sim/capture_scene.h"

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

}  // namespace
}  // namespace rxnic::capture_events_test
