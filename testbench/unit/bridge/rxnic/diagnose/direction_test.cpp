// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/diagnose/direction.h"

#include <gtest/gtest.h>

#include "model/types/syndrome.h"

namespace rxnic {
namespace {

constexpr std::uint8_t kSendOnly = 0x04, kReadRequest = 0x0c, kReadFirst = 0x0d, kReadLast = 0x0f, kAck = 0x11;
constexpr std::uint64_t kUs = 1'000'000;

class DirectionOfQp : public testing::Test {
 protected:
  explicit DirectionOfQp(bool mtu_known = true)
      : direction_(
            {.requester = Address::ipv4(1), .responder = Address::ipv4(2), .mtu = 1024, .mtu_known = mtu_known}) {}

  At at(std::uint64_t us) { return {++number_, us * kUs}; }
  std::uint64_t request(std::uint32_t psn, std::uint64_t us, std::uint8_t opcode = kSendOnly,
                        std::uint32_t length = 0) {
    Headers h;
    h.opcode = opcode;
    h.psn = Psn{psn};
    h.length = length;
    h.payload_bytes = opcode == kSendOnly ? 64 : 0;
    h.ack_request = true;
    direction_.request(h, at(us));
    return number_;
  }
  std::uint64_t answer(std::uint32_t psn, std::uint64_t us, std::uint8_t syndrome = kAckUnlimited,
                       std::uint8_t opcode = kAck) {
    Headers h;
    h.opcode = opcode;
    h.psn = Psn{psn};
    h.syndrome = syndrome;
    direction_.response(h, at(us));
    return number_;
  }
  const Occurrence& only(FindingCause cause) {
    direction_.finish();
    EXPECT_EQ(direction_.occurrences().size(), 1u);
    static const Occurrence kNone{};
    if (direction_.occurrences().empty()) return kNone;
    EXPECT_EQ(direction_.occurrences()[0].cause, cause);
    return direction_.occurrences()[0];
  }

  Direction direction_;
  std::uint64_t number_ = 0;
};

class DirectionWithoutMtu : public DirectionOfQp {
 protected:
  DirectionWithoutMtu() : DirectionOfQp(false) {}
};

// R1
TEST_F(DirectionOfQp, AGapThatAnAckCoversIsOfTheSniffer) {
  request(0xfffffe, 0);
  answer(0xfffffe, 1);
  const std::uint64_t behind = request(1, 2);
  const std::uint64_t ack = answer(0, 3);  // all of the gap, not the request behind it
  const Occurrence& i = only(FindingCause::kLostBySniffer);
  EXPECT_EQ(i.psn, Psn{0xffffff});
  EXPECT_EQ(i.psns, 2u);
  EXPECT_EQ(i.packets, (std::vector{behind, ack}));
}

TEST_F(DirectionOfQp, AGapThatAnAckCoversInPartStaysOpen) {
  request(10, 0);
  request(13, 1);
  answer(11, 2);
  EXPECT_EQ(only(FindingCause::kPsnGap).psns, 2u);
}

// R1, R2
TEST_F(DirectionOfQp, ANakOfAGapIsALossBeforeTheSnifferAndOneOfACapturedPacketBehindIt) {
  request(10, 0);
  const std::uint64_t behind = request(12, 1);
  const std::uint64_t nak = answer(11, 2, kNakSequence);
  request(11, 3);
  request(12, 4);
  answer(12, 5);
  EXPECT_EQ(direction_.occurrences()[0].cause, FindingCause::kLostBeforeSniffer);
  EXPECT_EQ(direction_.occurrences()[0].packets[0], behind);
  EXPECT_EQ(direction_.occurrences()[0].packets[1], nak);
  EXPECT_EQ(direction_.occurrences()[0].until_ps, 5 * kUs);
  request(13, 6);
  request(14, 7);
  answer(13, 8, kNakSequence);
  ASSERT_EQ(direction_.occurrences().size(), 2u);
  EXPECT_EQ(direction_.occurrences()[1].cause, FindingCause::kLostBehindSniffer);
  EXPECT_EQ(direction_.occurrences()[1].from_ps, 6 * kUs);
}

// R3
TEST_F(DirectionOfQp, ATimeoutCountsFromTheLastProgressOfTheAcks) {
  request(10, 0);
  request(11, 1);
  answer(10, 5);
  request(11, 105);
  EXPECT_EQ(direction_.occurrences()[0].interval_ps, 100 * kUs);
  request(11, 305);
  answer(11, 306);
  const Occurrence& i = only(FindingCause::kAckTimeout);
  EXPECT_EQ(i.count, 2u);
  EXPECT_EQ(i.until_ps, 306 * kUs);
}

TEST_F(DirectionOfQp, ATimeoutThatNothingAnswersIsNoAnswer) {
  request(9, 0);
  answer(9, 1);
  request(10, 5);
  request(10, 105);
  EXPECT_EQ(only(FindingCause::kNoAnswer).interval_ps, 100 * kUs);
}

TEST_F(DirectionOfQp, WithoutAnyAnswerATimeoutShowsNoMore) {
  request(10, 0);
  request(10, 100);
  only(FindingCause::kAckTimeout);
}

// R4
TEST_F(DirectionOfQp, AnAckOfLaterPsnsShowsThatAcksWereLost) {
  for (const std::uint32_t psn : {10u, 11u, 12u}) request(psn, psn);
  request(10, 100);
  answer(12, 101);
  EXPECT_EQ(only(FindingCause::kAckLost).psn, Psn{10});
}

TEST_F(DirectionOfQp, AnAckOfWhatCameAgainShowsNothing) {
  for (const std::uint32_t psn : {10u, 11u, 12u}) request(psn, psn);
  for (const std::uint32_t psn : {10u, 11u, 12u}) request(psn, 100 + psn);
  answer(12, 200);
  only(FindingCause::kAckTimeout);
}

// R5
TEST_F(DirectionOfQp, AMissingResponseIsLostBeforeTheSniffer) {
  request(10, 0, kReadRequest, 4096);
  answer(10, 1, kAckUnlimited, kReadFirst);
  const std::uint64_t behind = answer(12, 2, kAckUnlimited, kReadFirst + 1);
  request(11, 10, kReadRequest, 3072);
  answer(11, 11, kAckUnlimited, kReadFirst);
  answer(13, 13, kAckUnlimited, kReadLast);
  EXPECT_EQ(direction_.occurrences()[0].cause, FindingCause::kReadAgain);
  EXPECT_NE(direction_.occurrences()[0].detail.find("lost before the sniffer"), std::string::npos);
  EXPECT_NE(direction_.occurrences()[0].detail.find("packet " + std::to_string(behind)), std::string::npos);
}

// R6, R7
TEST_F(DirectionOfQp, APsnOfAResponseIsUsedAgain) {
  request(10, 0, kReadRequest, 4096);
  request(13, 1);  // the last of the four
  EXPECT_EQ(only(FindingCause::kPsnReused).psn, Psn{13});
}

TEST_F(DirectionOfQp, ThePsnBehindTheResponsesIsNew) {
  request(10, 0, kReadRequest, 4096);
  request(14, 1);
  direction_.finish();
  EXPECT_TRUE(direction_.occurrences().empty());
}

TEST_F(DirectionWithoutMtu, AnyPsnThatAnMtuGivesIsNew) {
  for (const std::uint32_t packets : {1u, 2u, 4u, 16u}) {
    request(10, 0, kReadRequest, 4096);
    request(10 + packets, 1);
    answer(10 + packets, 2);
    direction_.finish();
    EXPECT_TRUE(direction_.occurrences().empty()) << packets;
    direction_.restart();
  }
  request(10, 3, kReadRequest, 4096);
  request(10 + 17, 4);  // behind 16 responses of 256 bytes
  only(FindingCause::kPsnGap);
}

// R8
TEST_F(DirectionOfQp, WhatIsKeptIsBounded) {
  for (std::uint32_t n = 0; n < 3 * Direction::kMostOccurrences; ++n) request(2 * n, n);
  for (std::uint32_t n = 0; n < Direction::kMostOccurrences; ++n) request(3, 100'000 + n);
  direction_.finish();
  // And one for each cause that stands for the rest.
  EXPECT_LE(direction_.occurrences().size(), Direction::kMostOccurrences + 3);
}

}  // namespace
}  // namespace rxnic
