// SPDX-License-Identifier: Apache-2.0
// Rules of traces/requested_psns.h.
#include "traces/requested_psns.h"

#include <gtest/gtest.h>

namespace rxnic::requested_psns_test {
namespace {

using Place = RequestedPsns::Place;

TEST(RequestedPsns, ARequestIsNextOrBehindAGapOrEarlier) {
  RequestedPsns r;
  EXPECT_EQ(r.add(Psn{0xfffffe}, 1, false), Place::kNext) << "the first one, wherever it begins";
  EXPECT_EQ(r.add(Psn{0xffffff}, 2, true), Place::kNext);
  EXPECT_EQ(r.add(Psn{1}, 1, false), Place::kNext) << "PSNs go round";
  EXPECT_EQ(r.add(Psn{3}, 1, false), Place::kBehindGap);
  EXPECT_EQ(r.add(Psn{2}, 1, false), Place::kEarlier);
}

TEST(RequestedPsns, APsnIsRequestedInWhateverOrderTheRequestsCame) {  // R1
  RequestedPsns r;
  r.add(Psn{10}, 4, true);
  r.add(Psn{20}, 1, false);
  EXPECT_FALSE(r.contains(Psn{9}));
  EXPECT_TRUE(r.contains(Psn{10}));
  EXPECT_TRUE(r.contains(Psn{13}));
  EXPECT_FALSE(r.contains(Psn{14}));
  EXPECT_TRUE(r.contains(Psn{20}));
  EXPECT_FALSE(r.contains(Psn{21}));
  r.add(Psn{15}, 1, false);
  EXPECT_TRUE(r.contains(Psn{15})) << "it came late";
  EXPECT_FALSE(r.contains(Psn{16}));
}

TEST(RequestedPsns, OnlyAReadThatBeginsEarlierAsksAgain) {  // R2
  RequestedPsns r;
  r.add(Psn{0}, 4, true);
  EXPECT_FALSE(r.asked_again(Psn{2}));
  r.add(Psn{0}, 1, false);
  EXPECT_FALSE(r.asked_again(Psn{0})) << "no READ";
  r.add(Psn{2}, 2, true);
  EXPECT_FALSE(r.asked_again(Psn{1}));
  EXPECT_TRUE(r.asked_again(Psn{2}));
  EXPECT_TRUE(r.asked_again(Psn{3}));
  EXPECT_FALSE(r.asked_again(Psn{4}));
}

TEST(RequestedPsns, WhatIsFarBehindCountsAsRequested) {  // R3
  RequestedPsns r;
  r.add(Psn{100}, 1, false);
  r.add(Psn{102}, 1, false);
  EXPECT_FALSE(r.contains(Psn{101}));
  r.add(Psn{102 + (1 << 22)}, 1, false);
  EXPECT_TRUE(r.contains(Psn{101}));
  EXPECT_TRUE(r.contains(Psn{102}));
  EXPECT_FALSE(r.contains(Psn{103}));
}

TEST(RequestedPsns, TheNewestLateRequestsAreKept) {  // R3
  RequestedPsns r;
  r.add(Psn{0}, 1, false);
  r.add(Psn{10'000}, 1, false);
  for (std::uint32_t n = 0; n <= RequestedPsns::kLateKept; ++n) r.add(Psn{2 + 2 * n}, 1, false);
  EXPECT_FALSE(r.contains(Psn{2}));
  EXPECT_TRUE(r.contains(Psn{4}));
}

}  // namespace
}  // namespace rxnic::requested_psns_test
