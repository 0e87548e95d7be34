// SPDX-License-Identifier: Apache-2.0
// Rules R1..R3 of model/core/responder/cnp_pacer.h.
#include "model/core/responder/cnp_pacer.h"

#include <gtest/gtest.h>

namespace rxnic::cnp_pacer_test {
namespace {

constexpr Qpn kOne{1}, kTwo{2};
const Address kHere = Address::ipv4(0x0a000001), kThere = Address::ipv4(0x0a000002);

TEST(CnpPacer, OneInAnInterval) {  // R1
  CnpPacer pacer(CnpScope::kQp, 4, 100);
  EXPECT_EQ(pacer.marked(kOne, kHere, Cycle{10}), CnpVerdict::kSend);
  EXPECT_EQ(pacer.marked(kOne, kHere, Cycle{10}), CnpVerdict::kPaced);
  EXPECT_EQ(pacer.marked(kOne, kHere, Cycle{109}), CnpVerdict::kPaced);
  EXPECT_EQ(pacer.marked(kOne, kHere, Cycle{110}), CnpVerdict::kSend);
  EXPECT_EQ(pacer.marked(kOne, kHere, Cycle{209}), CnpVerdict::kPaced);
  EXPECT_EQ(pacer.marked(kOne, kHere, Cycle{500}), CnpVerdict::kSend);
}

TEST(CnpPacer, TheScopeSaysWhatCountsForItself) {  // R1
  struct Row {
    CnpScope scope;
    CnpVerdict other_qp, other_address;
  };
  constexpr Row kRows[] = {{CnpScope::kQp, CnpVerdict::kSend, CnpVerdict::kPaced},
                           {CnpScope::kAddress, CnpVerdict::kPaced, CnpVerdict::kSend},
                           {CnpScope::kPort, CnpVerdict::kPaced, CnpVerdict::kPaced}};
  for (const Row& row : kRows) {
    CnpPacer pacer(row.scope, 4, 100);
    EXPECT_EQ(pacer.marked(kOne, kHere, Cycle{10}), CnpVerdict::kSend);
    EXPECT_EQ(pacer.marked(kTwo, kHere, Cycle{11}), row.other_qp);
    EXPECT_EQ(pacer.marked(kOne, kThere, Cycle{12}), row.other_address);
  }
}

TEST(CnpPacer, ATimerForEachThatIsWithinItsInterval) {  // R2
  CnpPacer pacer(CnpScope::kQp, 2, 100);
  EXPECT_EQ(pacer.marked(Qpn{1}, kHere, Cycle{10}), CnpVerdict::kSend);
  EXPECT_EQ(pacer.marked(Qpn{2}, kHere, Cycle{20}), CnpVerdict::kSend);
  EXPECT_EQ(pacer.marked(Qpn{3}, kHere, Cycle{109}), CnpVerdict::kNoTimer);
  EXPECT_EQ(pacer.marked(Qpn{2}, kHere, Cycle{109}), CnpVerdict::kPaced);
  EXPECT_EQ(pacer.timers_running(), 2u);
  EXPECT_EQ(pacer.marked(Qpn{3}, kHere, Cycle{110}), CnpVerdict::kSend);
  EXPECT_EQ(pacer.marked(Qpn{1}, kHere, Cycle{119}), CnpVerdict::kNoTimer);
  EXPECT_EQ(pacer.marked(Qpn{1}, kHere, Cycle{120}), CnpVerdict::kSend);
}

TEST(CnpPacer, WithoutRoomForACnpNoTimerStarts) {
  CnpPacer pacer(CnpScope::kQp, 2, 100);
  EXPECT_EQ(pacer.marked(kOne, kHere, Cycle{10}, false), CnpVerdict::kNoTimer);
  EXPECT_EQ(pacer.timers_running(), 0u);
  EXPECT_EQ(pacer.marked(kOne, kHere, Cycle{11}), CnpVerdict::kSend);
  EXPECT_EQ(pacer.marked(kOne, kHere, Cycle{12}, false), CnpVerdict::kPaced);
}

TEST(CnpPacer, WithoutAnIntervalEachPacketGivesOne) {  // R3
  CnpPacer pacer(CnpScope::kPort, 1, 0);
  for (std::uint32_t n = 0; n < 5; ++n) EXPECT_EQ(pacer.marked(kOne, kHere, Cycle{10}), CnpVerdict::kSend);
  EXPECT_EQ(pacer.timers_running(), 0u);
}

}  // namespace
}  // namespace rxnic::cnp_pacer_test
