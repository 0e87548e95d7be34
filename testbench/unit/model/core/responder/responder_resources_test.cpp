// SPDX-License-Identifier: Apache-2.0
#include "model/core/responder/responder_resources.h"

#include <gtest/gtest.h>

namespace rxnic {
namespace {

constexpr Qpn kQp{1};
constexpr Qpn kOther{2};

ResponderResource read(std::uint32_t psn, std::uint32_t responses = 1) {
  ResponderResource r;
  r.first_psn = Psn{psn};
  r.psn_count = responses;
  return r;
}

TEST(ResponderResources, FindsTheRequestWhoseRangeHoldsThePsn) {  // (R2)
  ResponderResources resources;
  const std::uint32_t a = resources.add(kQp, 4, read(10, 3));
  const std::uint32_t b = resources.add(kQp, 4, read(13));
  EXPECT_EQ(resources.find(kQp, Psn{9}), kNoResource);
  EXPECT_EQ(resources.find(kQp, Psn{10}), a);
  EXPECT_EQ(resources.find(kQp, Psn{12}), a);
  EXPECT_EQ(resources.find(kQp, Psn{13}), b);
  EXPECT_EQ(resources.find(kQp, Psn{14}), kNoResource);
}

TEST(ResponderResources, ARangeMayWrap) {
  ResponderResources resources;
  const std::uint32_t a = resources.add(kQp, 4, read(0xfffffe, 4));
  EXPECT_EQ(resources.find(kQp, Psn{0xffffff}), a);
  EXPECT_EQ(resources.find(kQp, Psn{1}), a);
  EXPECT_EQ(resources.find(kQp, Psn{2}), kNoResource);
}

TEST(ResponderResources, ANewRequestOverwritesTheOldest) {  // (R1)
  ResponderResources resources;
  for (std::uint32_t psn = 10; psn < 13; ++psn) resources.add(kQp, 2, read(psn));
  EXPECT_EQ(resources.find(kQp, Psn{10}), kNoResource);
  EXPECT_NE(resources.find(kQp, Psn{11}), kNoResource);
  EXPECT_NE(resources.find(kQp, Psn{12}), kNoResource);
}

TEST(ResponderResources, QpsDoNotSeeEachOther) {
  ResponderResources resources;
  const std::uint32_t a = resources.add(kQp, 2, read(10));
  const std::uint32_t b = resources.add(kOther, 2, read(10));
  EXPECT_NE(a, b);
  EXPECT_EQ(resources.find(kOther, Psn{10}), b);
  EXPECT_EQ(resources.find(Qpn{3}, Psn{10}), kNoResource);
}

TEST(ResponderResources, ARequestThatComesAgainTakesItsOldPlace) {  // (R3)
  ResponderResources resources;
  resources.add(kQp, 2, read(10));
  for (int i = 0; i < 5; ++i) {  // the request at 11 is taken back by an RNR NAK each time
    resources.add(kQp, 2, read(11));
    EXPECT_NE(resources.find(kQp, Psn{10}), kNoResource);
    EXPECT_NE(resources.find(kQp, Psn{11}), kNoResource);
  }
}

TEST(ResponderResources, WhatWasTakenBackIsForgotten) {  // (R3)
  ResponderResources resources;
  resources.add(kQp, 4, read(10));
  resources.add(kQp, 4, read(11, 2));
  resources.add(kQp, 4, read(13));
  resources.add(kQp, 4, read(11));
  EXPECT_NE(resources.find(kQp, Psn{10}), kNoResource);
  EXPECT_NE(resources.find(kQp, Psn{11}), kNoResource);
  EXPECT_EQ(resources.find(kQp, Psn{12}), kNoResource);
  EXPECT_EQ(resources.find(kQp, Psn{13}), kNoResource);
}

TEST(ResponderResources, ForgetsAQp) {
  ResponderResources resources;
  resources.add(kQp, 2, read(10));
  resources.forget(kQp);
  resources.forget(kOther);
  EXPECT_EQ(resources.find(kQp, Psn{10}), kNoResource);
}

TEST(ResponderResources, AQpMadeAnewMayHaveMore) {
  ResponderResources resources;
  resources.add(kQp, 1, read(10));
  resources.forget(kQp);
  for (std::uint32_t psn = 20; psn < 24; ++psn) resources.add(kQp, 4, read(psn));
  for (std::uint32_t psn = 20; psn < 24; ++psn) EXPECT_NE(resources.find(kQp, Psn{psn}), kNoResource) << psn;
}

TEST(ResponderResources, DepthZeroStillHoldsOne) {
  ResponderResources resources;
  const std::uint32_t a = resources.add(kQp, 0, read(10));
  EXPECT_EQ(resources.find(kQp, Psn{10}), a);
}

TEST(ResponderResources, KeepsTheResultOfAnAtomic) {
  ResponderResources resources;
  ResponderResource r = read(10);
  r.operation = Operation::kAtomicWrite;
  const std::uint32_t a = resources.add(kQp, 2, r);
  resources[a].va = 77;
  resources.add(kOther, 8, read(1));
  EXPECT_EQ(resources[resources.find(kQp, Psn{10})].va, 77u);
  EXPECT_TRUE(resources[a].atomic());
  EXPECT_FALSE(read(10).atomic());
}

}  // namespace
}  // namespace rxnic
