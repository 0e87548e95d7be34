// SPDX-License-Identifier: Apache-2.0
#include "model/core/request_table.h"

#include <gtest/gtest.h>

#include <vector>

#include "testbench/unit/plain/packet_builder.h"

namespace rxnic {
namespace {

constexpr std::uint8_t kAck = 0x1f;
constexpr std::uint8_t kNakSequence = 0x60;
constexpr std::uint8_t kRnrNak = 0x2e;

class RequestTableTest : public testing::Test {
 protected:
  void request(std::uint32_t psn, std::uint32_t count, CqeOpcode opcode = CqeOpcode::kSend, std::uint32_t bytes = 0) {
    table.add({.qpn = qp.qpn,
               .first_psn = Psn{psn},
               .psn_count = count,
               .opcode = opcode,
               .wqe_index = psn,
               .bytes = bytes,
               .va = 0x50000,
               .lkey = Key{0x900}});
  }
  // The WQEs that an answer completes before itself, then its own decision in `last`.
  std::vector<std::uint32_t> answer(const PacketSpec& spec) {
    last = make_packet(qp, spec);
    std::vector<std::uint32_t> completed;
    RequestNotice notice;
    while (table.take_completed(*last, notice)) completed.push_back(notice.wqe_index);
    table.check_answer(*last);
    return completed;
  }
  std::vector<std::uint32_t> ack(std::uint32_t psn, std::uint8_t syndrome = kAck) {
    return answer({.operation = Operation::kAck, .psn = psn, .syndrome = syndrome});
  }
  std::vector<std::uint32_t> read_response(Operation operation, std::uint32_t psn, std::uint32_t bytes) {
    return answer({.operation = operation, .psn = psn, .payload = bytes, .syndrome = kAck});
  }

  QpContext qp = make_qp(Transport::kRc);
  RequestTable table;
  std::unique_ptr<Packet> last;
  using Wqes = std::vector<std::uint32_t>;
};

TEST_F(RequestTableTest, AnAckCompletesWhatEndsAtOrBeforeIt) {  // (R1)
  request(10, 1);
  request(11, 3, CqeOpcode::kRdmaWrite);
  request(14, 2);
  EXPECT_EQ(ack(12), Wqes{10});
  EXPECT_EQ(last->outcome, Outcome::kAnswer);
  EXPECT_EQ(ack(13), Wqes{11});
  EXPECT_EQ(ack(13), Wqes{}) << "a repetition completes nothing";
  EXPECT_EQ(last->outcome, Outcome::kAnswer);
  EXPECT_EQ(ack(15), Wqes{14});
  EXPECT_EQ(table.outstanding(qp.qpn), 0u);
  EXPECT_EQ(table.counters().completed, 3u);
}

TEST_F(RequestTableTest, PsnsMayWrap) {  // (R1)
  request(0xfffffe, 4);
  EXPECT_EQ(ack(0), Wqes{});
  EXPECT_EQ(ack(1), Wqes{0xfffffe});
}

TEST_F(RequestTableTest, AnAckDoesNotCompleteAReadBeforeIt) {  // (R1)
  request(10, 2, CqeOpcode::kRdmaRead, 2 * kTestMtu);
  request(12, 1);
  EXPECT_EQ(ack(12), Wqes{12});
  EXPECT_EQ(table.outstanding(qp.qpn), 1u);
}

TEST_F(RequestTableTest, InACaptureAReadWhoseAnswerWasLostIsDone) {  // (R1)
  qp.resynchronise = true;
  request(10, 2, CqeOpcode::kRdmaRead, 2 * kTestMtu);
  request(12, 1);
  EXPECT_EQ(ack(12), (Wqes{10, 12}));
}

TEST_F(RequestTableTest, EachReadResponseGoesToItsPlace) {  // (R2)
  request(10, 3, CqeOpcode::kRdmaRead, 2 * kTestMtu + 5);
  EXPECT_EQ(read_response(Operation::kReadResponseFirst, 10, kTestMtu), Wqes{});
  EXPECT_EQ(last->local_va, 0x50000u);
  EXPECT_EQ(last->local_bytes, kTestMtu);
  EXPECT_EQ(last->local_key, Key{0x900});
  EXPECT_EQ(last->access, kLocalWrite);
  EXPECT_EQ(last->pd, kTestPd);
  EXPECT_FALSE(last->completes);
  read_response(Operation::kReadResponseMiddle, 11, kTestMtu);
  EXPECT_EQ(last->local_va, 0x50000u + kTestMtu);
  EXPECT_FALSE(last->completes);
  read_response(Operation::kReadResponseLast, 12, 5);
  EXPECT_EQ(last->local_va, 0x50000u + 2 * kTestMtu);
  EXPECT_EQ(last->local_bytes, 5u);
  EXPECT_TRUE(last->completes && last->ends_message);
  EXPECT_EQ(last->cqe_opcode, CqeOpcode::kRdmaRead);
  EXPECT_EQ(last->cq, kTestSendCq);
  EXPECT_EQ(last->wqe_index, 10u);
  EXPECT_EQ(last->byte_count, 2u * kTestMtu + 5);
  EXPECT_EQ(table.outstanding(qp.qpn), 0u);
}

TEST_F(RequestTableTest, TheLastReadResponseCompletesSendsBeforeIt) {  // (R2)
  request(9, 1);
  request(10, 2, CqeOpcode::kRdmaRead, kTestMtu + 1);
  request(12, 1);
  EXPECT_EQ(read_response(Operation::kReadResponseFirst, 10, kTestMtu), Wqes{9});
  EXPECT_EQ(read_response(Operation::kReadResponseLast, 11, 1), Wqes{});
  EXPECT_TRUE(last->completes);
  EXPECT_EQ(table.outstanding(qp.qpn), 1u);
}

TEST_F(RequestTableTest, AResponseWithMoreThanWasAskedForIsDropped) {
  request(10, 1, CqeOpcode::kRdmaRead, 8);
  read_response(Operation::kReadResponseOnly, 10, 9);
  EXPECT_EQ(last->outcome, Outcome::kDrop);
  EXPECT_EQ(last->drop_reason, DropReason::kInvalidRequest);
  read_response(Operation::kReadResponseOnly, 10, 8);
  EXPECT_EQ(last->outcome, Outcome::kAnswer);
}

TEST_F(RequestTableTest, AnAtomicAckGoesToTheBufferOfItsAtomic) {  // (R3)
  request(10, 1, CqeOpcode::kFetchAdd, 8);
  EXPECT_EQ(answer({.operation = Operation::kAtomicAck, .psn = 10, .syndrome = kAck, .original = 0x1122334455667788}),
            Wqes{});
  EXPECT_TRUE(last->completes);
  EXPECT_EQ(last->cqe_opcode, CqeOpcode::kFetchAdd);
  EXPECT_EQ(last->local_va, 0x50000u);
  EXPECT_EQ(last->local_bytes, 8u);
}

TEST_F(RequestTableTest, AnAtomicAckIsNotForARead) {  // (R3)
  request(10, 1, CqeOpcode::kRdmaRead, 8);
  answer({.operation = Operation::kAtomicAck, .psn = 10});
  EXPECT_EQ(last->drop_reason, DropReason::kUnsolicitedAnswer);
  EXPECT_EQ(table.outstanding(qp.qpn), 1u);
}

TEST_F(RequestTableTest, ANakCompletesWhatIsBeforeItsPsn) {  // (R4)
  for (const std::uint8_t syndrome : {kNakSequence, kRnrNak}) {
    table = {};
    request(10, 1);
    request(11, 1);
    EXPECT_EQ(ack(11, syndrome), Wqes{10});
    EXPECT_EQ(last->outcome, Outcome::kAnswer);
    EXPECT_EQ(table.outstanding(qp.qpn), 1u);
    EXPECT_EQ(table.counters().naks, 1u);
  }
}

TEST_F(RequestTableTest, AnAnswerThatNoRequestExplainsIsDropped) {  // (R5)
  ack(10);
  EXPECT_EQ(last->drop_reason, DropReason::kUnsolicitedAnswer);
  request(10, 1);
  ack(11);
  EXPECT_EQ(last->drop_reason, DropReason::kUnsolicitedAnswer) << "never sent";
  read_response(Operation::kReadResponseOnly, 10, 8);
  EXPECT_EQ(last->drop_reason, DropReason::kUnsolicitedAnswer) << "a SEND has no response";
}

TEST_F(RequestTableTest, InACaptureItIsAcceptedAndCounted) {  // (R5)
  qp.resynchronise = true;
  read_response(Operation::kReadResponseOnly, 10, 8);
  EXPECT_EQ(last->outcome, Outcome::kAnswer);
  EXPECT_EQ(last->local_bytes, 0u);
  EXPECT_EQ(last->h.payload_bytes, 0u) << "nowhere to put it";
  EXPECT_FALSE(last->completes);
  EXPECT_EQ(table.counters().unexplained_answers, 1u);
}

TEST_F(RequestTableTest, ARequestThatIsSentAgainIsNotNew) {  // (R6)
  request(10, 2);
  request(10, 2);
  request(12, 1);
  request(12, 1);
  request(11, 1);
  EXPECT_EQ(table.outstanding(qp.qpn), 2u);
  EXPECT_EQ(table.counters().requests, 5u);
  EXPECT_EQ(table.counters().repeated, 3u);
  EXPECT_EQ(ack(12), (Wqes{10, 12}));
}

TEST_F(RequestTableTest, QpsDoNotSeeEachOther) {
  request(10, 1);
  QpContext other = make_qp(Transport::kRc);
  other.qpn = Qpn{0x99};
  RequestNotice notice;
  EXPECT_FALSE(table.take_completed(*make_packet(other, {.operation = Operation::kAck, .psn = 10}), notice));
  EXPECT_EQ(table.outstanding(other.qpn), 0u);
  EXPECT_EQ(table.outstanding(qp.qpn), 1u);
}

TEST_F(RequestTableTest, UnsignaledReadsCompleteNothing) {
  table.add({.qpn = qp.qpn, .first_psn = Psn{10}, .opcode = CqeOpcode::kRdmaRead, .signaled = false, .bytes = 8});
  read_response(Operation::kReadResponseOnly, 10, 8);
  EXPECT_EQ(last->outcome, Outcome::kAnswer);
  EXPECT_TRUE(last->ends_message);
  EXPECT_FALSE(last->completes);
}

}  // namespace
}  // namespace rxnic
