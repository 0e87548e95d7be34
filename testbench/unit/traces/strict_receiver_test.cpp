// SPDX-License-Identifier: Apache-2.0
#include "traces/strict_receiver.h"

#include <gtest/gtest.h>

namespace rxnic::strict_receiver_test {
namespace {

struct Requests {
  StrictReceiver strict;
  std::uint64_t packet = 0;

  void request(std::uint32_t psn, Operation op = Operation::kSendOnly, std::uint16_t bytes = 64,
               std::uint32_t mtu = 0) {
    Headers h;
    h.opcode = opcode_of(Transport::kRc, op);
    h.psn = Psn{psn};
    h.payload_bytes = bytes;
    strict.request(h, mtu, ++packet);
  }
  void read(std::uint32_t psn, std::uint32_t length) {
    Headers h;
    h.opcode = opcode_of(Transport::kRc, Operation::kReadRequest);
    h.psn = Psn{psn};
    h.length = length;
    strict.request(h, 0, ++packet);
  }
};

TEST(StrictReceiver, ARequestAheadIsOneLossUntilTheExpectedOneComes) {  // R1
  Requests r;
  for (const std::uint32_t psn : {0xffffffu, 1u, 2u}) r.request(psn);
  ASSERT_EQ(r.strict.losses().size(), 1u);
  EXPECT_TRUE(StrictReceiver::may_be(r.strict.losses()[0], Psn{0}));
  EXPECT_FALSE(StrictReceiver::may_be(r.strict.losses()[0], Psn{1}));
  EXPECT_EQ(r.strict.losses()[0].packet, 2u);
  EXPECT_FALSE(r.strict.is_certain(1024)) << "it still waits";
  for (const std::uint32_t psn : {0u, 1u, 2u}) r.request(psn);
  EXPECT_TRUE(r.strict.is_certain(1024));
  EXPECT_EQ(r.strict.receives_before(Psn{2}), 3u);
}

TEST(StrictReceiver, SoManyLossesAreKeptAndOneMoreIsUncertain) {  // R5
  Requests r;
  r.request(0);
  std::uint32_t psn = 0;
  const auto lose = [&] {
    r.request(psn + 2);
    r.request(psn + 1);
    r.request(psn += 2);
  };
  while (r.strict.losses().size() < StrictReceiver::kLossesKept) lose();
  EXPECT_TRUE(r.strict.is_certain(1024));
  lose();
  EXPECT_EQ(r.strict.losses().size(), StrictReceiver::kLossesKept);
  EXPECT_FALSE(r.strict.is_certain(1024));
}

TEST(StrictReceiver, WhatWasNotTakenIsInNoMessage) {  // R1
  Requests r;
  r.request(0, Operation::kSendFirst, 1024);
  r.request(2, Operation::kSendOnly, 8);
  r.request(1, Operation::kSendLast, 8);
  EXPECT_EQ(r.strict.largest_send(), 1032u);
  EXPECT_EQ(r.strict.ends(), std::vector<Psn>{Psn{1}});
}

TEST(StrictReceiver, AnRnrNakTakesBackItsRequestAndThoseBehindIt) {  // R2
  Requests r;
  for (std::uint32_t psn = 0; psn < 4; ++psn) r.request(psn);
  r.strict.not_ready(Psn{1});
  EXPECT_EQ(r.strict.refusals(), 1u);
  EXPECT_EQ(r.strict.ends(), std::vector<Psn>{Psn{0}});
  EXPECT_FALSE(r.strict.is_certain(1024));
  r.request(4);  // on its way
  for (std::uint32_t psn = 1; psn < 5; ++psn) r.request(psn);
  EXPECT_TRUE(r.strict.is_certain(1024));
  EXPECT_TRUE(r.strict.losses().empty());
  EXPECT_EQ(r.strict.receives_before(Psn{4}), 4u);
}

TEST(StrictReceiver, ARefusalCountsWhenRequestsAreBehindIt) {  // R2
  Requests r;
  r.request(0);
  r.strict.not_ready(Psn{0});
  r.request(0);
  EXPECT_EQ(r.strict.refusals(), 0u);
  r.strict.not_ready(Psn{0});
  for (const std::uint32_t psn : {1u, 2u, 0u}) r.request(psn);
  EXPECT_EQ(r.strict.refusals(), 1u);
}

TEST(StrictReceiver, AnRnrNakOfWhatIsNotTakenOrForgottenChangesNothing) {  // R2, R5
  Requests r;
  for (std::uint32_t psn = 0; psn < 40; ++psn) r.request(psn);
  r.strict.not_ready(Psn{40});
  EXPECT_TRUE(r.strict.is_certain(1024));
  r.strict.not_ready(Psn{7});
  EXPECT_EQ(r.strict.refusals(), 0u);
  EXPECT_FALSE(r.strict.is_certain(1024));
}

TEST(StrictReceiver, ANakBeforeTheFirstRequestTakesAllBack) {  // R4
  for (const bool not_ready : {false, true}) {
    Requests r;
    r.request(5, Operation::kSendOnly);
    r.request(6, Operation::kSendOnly);
    r.strict.begins_at(Psn{4}, not_ready);
    EXPECT_EQ(r.strict.losses().size(), not_ready ? 0u : 1u);
    EXPECT_EQ(r.strict.refusals(), not_ready ? 1u : 0u);
    r.request(4, Operation::kSendLast);
    EXPECT_TRUE(r.strict.is_certain(1024));
    EXPECT_EQ(r.strict.first(), Psn{4});
    EXPECT_TRUE(r.strict.begins_inside());
    EXPECT_EQ(r.strict.ends(), std::vector<Psn>{Psn{4}});
  }
}

TEST(StrictReceiver, ThePsnAfterAReadRulesOutMtus) {  // R3
  Requests r;
  r.read(0, 3072);
  r.read(3, 3072);
  EXPECT_TRUE(r.strict.is_certain(1024));
  EXPECT_FALSE(r.strict.is_certain(512));
  r.read(7, 8);  // PSN 6 is missing: the MTU is known now
  ASSERT_EQ(r.strict.losses().size(), 1u);
  EXPECT_TRUE(StrictReceiver::may_be(r.strict.losses()[0], Psn{6}));
}

TEST(StrictReceiver, APsnThatNoMtuLeadsToIsALoss) {  // R3
  Requests r;
  r.read(0, 3072);
  r.request(5);  // 1, 2, 3, 6 or 12 responses
  EXPECT_EQ(r.strict.losses().size(), 1u);
  Requests known;
  known.read(0, 3072);
  known.request(6, Operation::kSendOnly, 64, 1024);
  EXPECT_EQ(known.strict.losses().size(), 1u) << "three, as the MTU says";
}

}  // namespace
}  // namespace rxnic::strict_receiver_test
