// SPDX-License-Identifier: Apache-2.0
// A sender's QP as responder of the NIC: rules of peer_responder.h.
#include "bridge/rxnic/workload/peer_responder.h"

#include <gtest/gtest.h>

#include "model/types/opcode.h"
#include "model/types/syndrome.h"

namespace rxnic {
namespace {

constexpr std::uint32_t kMtu = 1024;

Headers asked(Operation operation, std::uint32_t psn, std::uint32_t length = 0) {
  Headers h;
  h.opcode = opcode_of(Transport::kRc, operation);
  h.psn = Psn{psn};
  h.length = length;
  return h;
}

void expect_next(PeerResponder& responder, Operation operation, std::uint32_t psn, std::uint32_t bytes,
                 std::uint32_t msn) {
  ASSERT_TRUE(responder.pending());
  Headers h;
  EXPECT_EQ(responder.next(h, kMtu).bytes, bytes);
  EXPECT_EQ(h.opcode, opcode_of(Transport::kRc, operation));
  EXPECT_EQ(h.psn, Psn{psn});
  EXPECT_EQ(h.msn, msn);
  EXPECT_EQ(h.syndrome, kAckUnlimited);
}

TEST(PeerResponder, AnswersAReadPacketByPacketAndThenTheFin) {
  PeerResponder responder;
  EXPECT_FALSE(responder.pending());
  responder.on_request(asked(Operation::kReadRequest, 0xffffff, 2500));
  responder.on_request(asked(Operation::kSendOnly, 2));
  expect_next(responder, Operation::kReadResponseFirst, 0xffffff, 1024, 1);
  expect_next(responder, Operation::kReadResponseMiddle, 0, 1024, 1);
  expect_next(responder, Operation::kReadResponseLast, 1, 452, 1);
  expect_next(responder, Operation::kAck, 2, 0, 2);
  EXPECT_FALSE(responder.pending());
}

TEST(PeerResponder, AReadOfOnePacketHasOneResponse) {
  PeerResponder responder;
  responder.on_request(asked(Operation::kReadRequest, 5, 1024));
  responder.on_request(asked(Operation::kReadRequest, 6, 0));
  expect_next(responder, Operation::kReadResponseOnly, 5, 1024, 1);
  expect_next(responder, Operation::kReadResponseOnly, 6, 0, 2);
}

TEST(PeerResponder, OnlyTheEndOfAMessageIsAcknowledged) {
  PeerResponder responder;
  responder.on_request(asked(Operation::kSendFirst, 1));
  EXPECT_FALSE(responder.pending());
  responder.on_request(asked(Operation::kSendLast, 2));
  expect_next(responder, Operation::kAck, 2, 0, 1);
}

}  // namespace
}  // namespace rxnic
