// SPDX-License-Identifier: Apache-2.0
#include "model/core/responder/responder_resources.h"

#include <gtest/gtest.h>

namespace rxnic::responder_resources_test {
namespace {

constexpr Qpn kQp{1};
constexpr Qpn kOther{2};
constexpr std::uint32_t kEntries = 16;

ResponderResource read(std::uint32_t psn, std::uint32_t responses = 1) {
  ResponderResource r;
  r.first_psn = Psn{psn};
  r.psn_count = responses;
  return r;
}

class ResponderResourcesTest : public testing::Test {
 protected:
  // The QP has `depth` entries.
  std::uint32_t add(Qpn qp, std::uint32_t depth, const ResponderResource& r) {
    EXPECT_TRUE(resources.reserve(qp, depth));
    return resources.add(qp, r);
  }
  ResponderResources resources{kEntries};
};

TEST_F(ResponderResourcesTest, FindsTheRequestWhoseRangeHoldsThePsn) {  // (R2)
  const std::uint32_t a = add(kQp, 4, read(10, 3));
  const std::uint32_t b = add(kQp, 4, read(13));
  EXPECT_EQ(resources.find(kQp, Psn{9}), kNoResource);
  EXPECT_EQ(resources.find(kQp, Psn{10}), a);
  EXPECT_EQ(resources.find(kQp, Psn{12}), a);
  EXPECT_EQ(resources.find(kQp, Psn{13}), b);
  EXPECT_EQ(resources.find(kQp, Psn{14}), kNoResource);
}

TEST_F(ResponderResourcesTest, ARangeMayWrap) {
  const std::uint32_t a = add(kQp, 4, read(0xfffffe, 4));
  EXPECT_EQ(resources.find(kQp, Psn{0xffffff}), a);
  EXPECT_EQ(resources.find(kQp, Psn{1}), a);
  EXPECT_EQ(resources.find(kQp, Psn{2}), kNoResource);
}

TEST_F(ResponderResourcesTest, ANewRequestOverwritesTheOldest) {  // (R1)
  for (std::uint32_t psn = 10; psn < 13; ++psn) add(kQp, 2, read(psn));
  EXPECT_EQ(resources.find(kQp, Psn{10}), kNoResource);
  EXPECT_NE(resources.find(kQp, Psn{11}), kNoResource);
  EXPECT_NE(resources.find(kQp, Psn{12}), kNoResource);
}

TEST_F(ResponderResourcesTest, QpsDoNotSeeEachOther) {
  const std::uint32_t a = add(kQp, 2, read(10));
  const std::uint32_t b = add(kOther, 2, read(10));
  EXPECT_NE(a, b);
  EXPECT_EQ(resources.find(kOther, Psn{10}), b);
  EXPECT_EQ(resources.find(Qpn{3}, Psn{10}), kNoResource);
}

TEST_F(ResponderResourcesTest, ARequestThatComesAgainTakesItsOldPlace) {  // (R3)
  add(kQp, 2, read(10));
  for (int i = 0; i < 5; ++i) {  // the request at 11 is taken back by an RNR NAK each time
    add(kQp, 2, read(11));
    EXPECT_NE(resources.find(kQp, Psn{10}), kNoResource);
    EXPECT_NE(resources.find(kQp, Psn{11}), kNoResource);
  }
}

TEST_F(ResponderResourcesTest, WhatWasTakenBackIsForgotten) {  // (R3)
  add(kQp, 4, read(10));
  add(kQp, 4, read(11, 2));
  add(kQp, 4, read(13));
  add(kQp, 4, read(11));
  EXPECT_NE(resources.find(kQp, Psn{10}), kNoResource);
  EXPECT_NE(resources.find(kQp, Psn{11}), kNoResource);
  EXPECT_EQ(resources.find(kQp, Psn{12}), kNoResource);
  EXPECT_EQ(resources.find(kQp, Psn{13}), kNoResource);
}

TEST_F(ResponderResourcesTest, AQpThatGivesAllBackIsForgotten) {  // (R4)
  add(kQp, 2, read(10));
  EXPECT_TRUE(resources.reserve(kQp, 0));
  EXPECT_TRUE(resources.reserve(kOther, 0));
  EXPECT_EQ(resources.find(kQp, Psn{10}), kNoResource);
  EXPECT_EQ(resources.reserved(kQp), 0u);
  EXPECT_EQ(resources.left(), kEntries);
}

TEST_F(ResponderResourcesTest, WhatIsReservedIsTheQpsAlone) {  // (R4)
  EXPECT_TRUE(resources.reserve(kQp, 10));
  EXPECT_FALSE(resources.reserve(kOther, 7));
  EXPECT_EQ(resources.reserved(kOther), 0u);
  EXPECT_TRUE(resources.reserve(kOther, 6));
  EXPECT_EQ(resources.left(), 0u);
  EXPECT_FALSE(resources.reserve(kQp, 11));
  EXPECT_EQ(resources.reserved(kQp), 10u) << "and keeps what it has";
  EXPECT_TRUE(resources.reserve(kQp, 10));
  EXPECT_TRUE(resources.reserve(kOther, 0));
  EXPECT_TRUE(resources.reserve(kQp, 16));
  for (std::uint32_t psn = 10; psn < 26; ++psn) resources.add(kQp, read(psn));
  for (std::uint32_t psn = 10; psn < 26; ++psn) EXPECT_NE(resources.find(kQp, Psn{psn}), kNoResource) << psn;
}

TEST_F(ResponderResourcesTest, MoreOfThemKeepWhatIsSaved) {  // (R4)
  for (std::uint32_t psn = 10; psn < 13; ++psn) add(kQp, 2, read(psn));
  for (std::uint32_t psn = 13; psn < 15; ++psn) add(kQp, 4, read(psn));
  EXPECT_EQ(resources.find(kQp, Psn{10}), kNoResource);
  for (std::uint32_t psn = 11; psn < 15; ++psn) EXPECT_NE(resources.find(kQp, Psn{psn}), kNoResource) << psn;
}

TEST_F(ResponderResourcesTest, OfFewerTheOldestAreGivenBack) {  // (R4)
  for (std::uint32_t psn = 10; psn < 14; ++psn) add(kQp, 4, read(psn));
  EXPECT_TRUE(resources.reserve(kQp, 2));
  EXPECT_EQ(resources.find(kQp, Psn{11}), kNoResource);
  EXPECT_NE(resources.find(kQp, Psn{12}), kNoResource);
  EXPECT_NE(resources.find(kQp, Psn{13}), kNoResource);
  EXPECT_TRUE(resources.reserve(kOther, 14));
  resources.add(kQp, read(14));
  EXPECT_EQ(resources.find(kQp, Psn{12}), kNoResource);
  EXPECT_NE(resources.find(kQp, Psn{13}), kNoResource);
}

TEST_F(ResponderResourcesTest, KeepsWhatWasAskedFor) {
  ResponderResource r = read(10);
  r.operation = Operation::kAtomicWrite;
  r.va = 77;
  const std::uint32_t a = add(kQp, 2, r);
  add(kOther, 8, read(1));
  EXPECT_EQ(resources[resources.find(kQp, Psn{10})].va, 77u);
  EXPECT_EQ(resources[a].operation, Operation::kAtomicWrite);
}

TEST_F(ResponderResourcesTest, KnowsWhatWasOverwritten) {  // (R5)
  add(kQp, 2, read(10, 4));
  add(kQp, 2, read(14));
  EXPECT_FALSE(resources.overwrote(kQp, Psn{9})) << "nothing was";
  add(kQp, 2, read(15));
  EXPECT_TRUE(resources.overwrote(kQp, Psn{10}));
  EXPECT_TRUE(resources.overwrote(kQp, Psn{13}));
  EXPECT_FALSE(resources.overwrote(kOther, Psn{10}));
  add(kQp, 2, read(14));  // what was taken back is not overwritten
  EXPECT_EQ(resources.find(kQp, Psn{15}), kNoResource);
  EXPECT_FALSE(resources.overwrote(kQp, Psn{15}));
  EXPECT_TRUE(resources.reserve(kQp, 0));
  EXPECT_TRUE(resources.reserve(kQp, 2));
  EXPECT_FALSE(resources.overwrote(kQp, Psn{13})) << "a new session";
}

}  // namespace
}  // namespace rxnic::responder_resources_test
