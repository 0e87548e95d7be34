// SPDX-License-Identifier: Apache-2.0
// Lengths on RC (R6, R9 of core/responder/responder.h): each limit from both sides.
#include "model/core/responder/responder.h"
#include "testbench/unit/model/core/responder/responder_fixture.h"

namespace rxnic::responder_length_test {
namespace {

using O = Operation;

class ResponderLength : public ResponderFixture {
 protected:
  ResponderLength() : ResponderFixture(Transport::kRc) {}
};

TEST_F(ResponderLength, FirstAndMiddleAreExactlyTheMtu) {  // (R6)
  for (const std::uint32_t bytes : {0u, kTestMtu - 1u, kTestMtu + 1u}) {
    restart();
    CheckedPacket& first = check({.operation = O::kSendFirst, .payload = bytes});
    EXPECT_TRUE(first.bad_length) << bytes << ": judged when it has its WQE (R9)";
    EXPECT_EQ(first.outcome, Outcome::kExecute);
    restart();
    in_send();
    expect_refused(check({.operation = O::kSendMiddle, .psn = 101, .payload = bytes}));
    restart();
    expect_refused(check({.operation = O::kWriteFirst, .payload = bytes, .length = 5000}));
    restart();
    in_write(5000);
    expect_refused(check({.operation = O::kWriteMiddle, .psn = 101, .payload = bytes}));
  }
  restart();
  in_send();
  EXPECT_FALSE(packets.back()->bad_length);
  expect_executed(check({.operation = O::kSendMiddle, .psn = 101, .payload = kTestMtu}));
}

TEST_F(ResponderLength, LastIsOneByteToTheMtu) {  // (R6)
  for (const O last : {O::kSendLast, O::kSendLastImm, O::kSendLastInv}) {
    for (const std::uint32_t bytes : {0u, 1u, std::uint32_t{kTestMtu}, kTestMtu + 1u}) {
      restart();
      in_send();
      CheckedPacket& p = check({.operation = last, .psn = 101, .payload = bytes});
      if (bytes >= 1 && bytes <= kTestMtu) {
        expect_executed(p);
      } else {
        expect_refused(p);
      }
    }
  }
}

TEST_F(ResponderLength, OnlyIsAtMostTheMtu) {  // (R6)
  for (const std::uint32_t bytes : {0u, 1u, std::uint32_t{kTestMtu}, kTestMtu + 1u}) {
    restart();
    EXPECT_EQ(check({.operation = O::kSendOnly, .payload = bytes}).bad_length, bytes > kTestMtu) << bytes;
    restart();
    CheckedPacket& p = check({.operation = O::kWriteOnly, .payload = bytes, .length = bytes});
    if (bytes <= kTestMtu) {
      expect_executed(p);
    } else {
      expect_refused(p);
    }
  }
}

TEST_F(ResponderLength, AWriteAddsUpToItsRethLength) {  // (R6)
  restart();
  expect_refused(check({.operation = O::kWriteOnly, .payload = 8, .length = 9}));
  restart();
  expect_refused(check({.operation = O::kWriteOnly, .payload = 8, .length = 7}));
  restart();
  expect_refused(check({.operation = O::kWriteFirst, .payload = kTestMtu, .length = kTestMtu}));  // all at once
  for (const std::uint32_t bytes : {9u, 10u, 11u}) {
    restart();
    in_write(kTestMtu + 10);
    CheckedPacket& p = check({.operation = O::kWriteLast, .psn = 101, .payload = bytes});
    if (bytes == 10) {
      expect_executed(p);
    } else {
      expect_refused(p);
    }
  }
  restart();
  in_write(2 * kTestMtu);
  expect_refused(check({.operation = O::kWriteMiddle, .psn = 101, .payload = kTestMtu}));  // a LAST was due
}

TEST_F(ResponderLength, AWriteWithImmediateIsJudgedWithItsWqe) {  // (R9)
  CheckedPacket& only = check({.operation = O::kWriteOnlyImm, .payload = 8, .length = 9});
  EXPECT_TRUE(only.bad_length && only.takes_wqe);
  EXPECT_EQ(only.outcome, Outcome::kExecute);
  EXPECT_EQ(qp.state, QpState::kRts);
  restart();
  in_write(kTestMtu + 10);
  EXPECT_TRUE(check({.operation = O::kWriteLastImm, .psn = 101, .payload = 9}).bad_length);
  restart();
  in_write(kTestMtu + 10);
  EXPECT_FALSE(check({.operation = O::kWriteLastImm, .psn = 101, .payload = 10}).bad_length);
}

TEST_F(ResponderLength, ARethLengthIsAtMost2To31) {  // (R6)
  constexpr std::uint32_t kMost = 1u << 31;
  expect_executed(check({.operation = O::kReadRequest, .length = kMost}));
  restart();
  expect_refused(check({.operation = O::kReadRequest, .length = kMost + 1}));
  restart();
  expect_executed(check({.operation = O::kWriteFirst, .payload = kTestMtu, .length = kMost}));
  restart();
  expect_refused(check({.operation = O::kWriteFirst, .payload = kTestMtu, .length = kMost + 1}));
}

TEST_F(ResponderLength, AZeroLengthReadOrWriteAsksForNoRkeyCheck) {
  CheckedPacket& read = check({.operation = O::kReadRequest, .psn = 100, .length = 0});
  CheckedPacket& write = check({.operation = O::kWriteOnly, .psn = 101, .length = 0});
  expect_executed(read);
  expect_executed(write);
  EXPECT_EQ(read.local_bytes + write.local_bytes, 0u);
}

TEST_F(ResponderLength, AnAtomicIsAlignedToEightBytes) {  // (R6)
  for (std::uint64_t va = 0x10000; va < 0x10009; ++va) {
    restart();
    CheckedPacket& p = check({.operation = O::kFetchAdd, .va = va});
    if (va % 8 == 0) {
      expect_executed(p);
    } else {
      expect_refused(p);
    }
  }
}

TEST_F(ResponderLength, AnAtomicWriteIsEightAlignedBytes) {  // (R6)
  for (std::uint64_t va = 0x10000; va < 0x10009; ++va) {
    restart();
    CheckedPacket& p = check({.operation = O::kAtomicWrite, .payload = 8, .length = 8, .va = va});
    if (va % 8 == 0) {
      expect_executed(p);
    } else {
      expect_refused(p);
    }
  }
  for (const std::uint32_t wrong : {0u, 4u, 7u, 9u, 12u, 16u}) {
    restart();
    expect_refused(check({.operation = O::kAtomicWrite, .payload = wrong, .length = 8}));
    restart();
    expect_refused(check({.operation = O::kAtomicWrite, .payload = 8, .length = wrong}));
    restart();
    expect_refused(check({.operation = O::kAtomicWrite, .payload = wrong, .length = wrong}));
  }
}

TEST_F(ResponderLength, RequestsWithoutPayloadCarryNone) {  // (R6)
  for (const O operation : {O::kReadRequest, O::kCompareSwap, O::kFetchAdd}) {
    restart();
    expect_refused(check({.operation = operation, .payload = 4, .length = 8}));
  }
}

}  // namespace
}  // namespace rxnic::responder_length_test
