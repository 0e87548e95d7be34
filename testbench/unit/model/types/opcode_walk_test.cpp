// SPDX-License-Identifier: Apache-2.0
// Every row of model/types/opcode_table.h through all code that decides by opcode: an opcode that was added to the
// table and forgotten somewhere fails here. The contents of the rows are checked in opcode_test.cpp and in the tests of
// the code that reads them.
#include <gtest/gtest.h>

#include <bit>
#include <cerrno>
#include <set>

#include "bridge/verbs/send_queue.h"
#include "model/core/requester/request_packet.h"
#include "model/core/requester/request_table.h"
#include "model/types/opcode_table.h"
#include "model/types/syndrome.h"
#include "testbench/unit/bridge/verbs/verbs_fixture.h"
#include "testbench/unit/model/core/responder/responder_fixture.h"
#include "testbench/unit/send_wqes.h"
#include "traces/answer_compare.h"
#include "traces/traffic.h"

namespace rxnic::opcode_walk_test {
namespace {

using opcode_table::kOperations;
using opcode_table::kSends;
using opcode_table::OperationRow;
using opcode_table::SendRow;

constexpr std::array kTransports{Transport::kRc, Transport::kXrc, Transport::kUc, Transport::kUd};
constexpr std::uint8_t kAllRights = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic | kRemoteFlush;

bool is_on(const OperationRow& row, Transport t) { return (row.transports & opcode_table::bit(t)) != 0; }
bool is_request(const OperationRow& row) { return (row.traits & kRequest) != 0; }
bool is_asked_for(const SendRow& row) { return row.only != Operation::kUnknown; }
bool may_post(const SendRow& row, Transport t) {
  if (row.local != 0) return (row.local & opcode_table::bit(t)) != 0;
  return is_on(*opcode_table::row_of(row.only), t) && (row.within & opcode_table::bit(t)) != 0;
}

// A legal packet of the row's opcode; FIRST, MIDDLE and LAST belong to a message of two MTUs.
PacketSpec legal(const OperationRow& row, std::uint32_t psn) {
  PacketSpec spec{.operation = row.operation, .psn = psn};
  if (row.length == LengthRule::kPart) {
    spec.payload = kTestMtu;
    spec.length = row.traits & kFirst ? 2 * kTestMtu : kTestMtu;
  } else {
    spec.length = kAtomicBytes;
    if (row.length == LengthRule::kOperand) spec.payload = kAtomicBytes;
  }
  return spec;
}

class Checker : public ResponderFixture {
 protected:
  Checker() : ResponderFixture(Transport::kRc) {}
  void begin(Transport t, const OperationRow& row) {
    qp.transport = t;
    restart();
    qp.access = kAllRights;
    if (row.traits & kFirst) return;
    if (row.traits & kOnly) return;
    // MIDDLE and LAST: check the FIRST of their message before.
    for (const SendRow& send : kSends) {
      if (send.middle != row.operation && send.last != row.operation) continue;
      const OperationRow& first = *opcode_table::row_of(send.first);
      PacketSpec spec = legal(first, qp.expected_psn.value);
      if (row.traits & kMiddle) spec.length = 3 * kTestMtu;
      check(spec);
      return;
    }
  }
  template <class F>
  void for_each_request(F&& f) {
    for (const OperationRow& row : kOperations) {
      for (const Transport t : kTransports) {
        if (!is_request(row) || !is_on(row, t)) continue;
        SCOPED_TRACE(opcode_name(opcode_of(t, row.operation)));
        begin(t, row);
        f(row, t);
      }
    }
  }
};
using OpcodeWalkChecker = Checker;

TEST_F(OpcodeWalkChecker, CarriesOutEveryRequestOfTheTransport) {
  for_each_request([&](const OperationRow& row, Transport t) {
    const std::uint32_t psn = qp.expected_psn.value;
    const CheckedPacket& p = check(legal(row, psn));
    expect_executed(p);
    EXPECT_FALSE(p.bad_length);
    EXPECT_EQ(p.takes_wqe, (row.traits & kTakesWqe) != 0);
    if (row.access != 0) {
      EXPECT_EQ(p.access, row.access);
    }
    if (p.completes) {
      EXPECT_EQ(p.cqe_opcode, row.received);
    }
    EXPECT_EQ(p.acknowledge, (row.traits & kSaved) != 0) << "unless it asks for an ACK";
    if (!is_reliable(t)) return;
    EXPECT_EQ(resources.find(qp.qpn, Psn{psn}) != kNoResource, (row.traits & kSaved) != 0);
    forget_resources();
  });
}

TEST_F(OpcodeWalkChecker, ReplaysADuplicateOfWhatIsSavedAndAcknowledgesEveryOther) {
  for_each_request([&](const OperationRow& row, Transport t) {
    if (!is_reliable(t)) return;
    const std::uint32_t psn = qp.expected_psn.value;
    check(legal(row, psn));
    const CheckedPacket& again = check(legal(row, psn));
    EXPECT_EQ(again.outcome, row.traits & kSaved ? Outcome::kReplay : Outcome::kAckAgain);
  });
}

TEST_F(OpcodeWalkChecker, AsksForTheRightOfTheRow) {
  for_each_request([&](const OperationRow& row, Transport t) {
    if (t == Transport::kUd) return;
    qp.access = static_cast<std::uint8_t>(kAllRights & ~row.access);
    const CheckedPacket& p = check(legal(row, qp.expected_psn.value));
    EXPECT_EQ(p.outcome == Outcome::kExecute, row.access == 0);
  });
}

TEST_F(OpcodeWalkChecker, RefusesPayloadThatTheRowForbids) {
  for_each_request([&](const OperationRow& row, Transport) {
    PacketSpec spec = legal(row, qp.expected_psn.value);
    spec.payload += row.length == LengthRule::kPart ? kTestMtu : kAtomicBytes;
    const CheckedPacket& p = check(spec);
    EXPECT_TRUE(p.bad_length || p.outcome != Outcome::kExecute);
  });
}

TEST(OpcodeWalk, TheRequesterMakesEveryRequestOfTheTransport) {
  for (const SendRow& row : kSends) {
    for (const Transport t : kTransports) {
      if (row.local != 0) continue;  // SendWqeFormat
      const std::uint32_t traits = request_info(row.opcode).traits;
      const bool one_operand = (traits & kAtomic) != 0;
      SCOPED_TRACE(opcode_name(opcode_of(t, row.only)));
      WqeSpec spec{.opcode = row.opcode, .sge = {{one_operand ? kAtomicBytes : 64, 1, 0x1000}}};
      if (row.opcode == SendOpcode::kTso) {
        spec.mss = 64;
        spec.header = {1};
      }
      SendWqe wqe;
      const bool legal = is_asked_for(row) && may_post(row, t);
      const WcStatus status = parse_send_wqe(wqe_bytes(spec, 256, t == Transport::kUd), t, kTestMtu, wqe);
      EXPECT_EQ(status == WcStatus::kSuccess, legal);
      if (!legal) continue;
      QpContext qp = make_qp(t);
      Headers h;
      SendRequest r;
      r.opcode = row.opcode;
      r.bytes = wqe.bytes;
      set_request_headers(h, qp, r, {.psn = {}, .bytes = wqe.bytes, .first = true, .last = true});
      EXPECT_EQ(h.opcode, opcode_of(t, row.only));
      if (traits & (kHasReth | kHasAtomicEth)) {
        EXPECT_TRUE(h.length == wqe.bytes) << "RETH";
      }
    }
  }
}

TEST(OpcodeWalk, EveryRequestIsCompletedByItsAnswer) {
  for (const SendRow& row : kSends) {
    if (!is_asked_for(row) || !may_post(row, Transport::kRc)) continue;
    const OpcodeInfo& info = request_info(row.opcode);
    SCOPED_TRACE(opcode_name(opcode_of(Transport::kRc, row.only)));
    QpContext qp = make_qp(Transport::kRc);
    RequestTable table{{}};
    table.add({.qpn = qp.qpn, .first_psn = Psn{10}, .opcode = completion_opcode(row.opcode), .bytes = kAtomicBytes});
    const bool data = (info.traits & kReturnsData) != 0 &&
                      (opcode_info(opcode_of(Transport::kRc, info.answer)).traits & kHasPayload) != 0;
    const auto answer = make_packet(
        qp, {.operation = info.answer, .psn = 10, .payload = data ? kAtomicBytes : 0, .syndrome = kAckUnlimited});
    RequestNotice completed;
    const bool by_ack = table.take_completed(*answer, completed);
    EXPECT_EQ(by_ack, (info.traits & kSaved) == 0);
    table.check_answer(*answer);
    EXPECT_EQ(answer->outcome, Outcome::kAnswer);
    EXPECT_EQ(table.outstanding(qp.qpn), 0u);
    if (!by_ack) {
      EXPECT_EQ(answer->cqe_opcode, row.completion);
    }
  }
}

TEST(OpcodeWalk, TheSurveyGivesTheRegionTheRightsThatARequestNeeds) {
  for (const OperationRow& row : kOperations) {
    if ((row.traits & (kHasReth | kHasAtomicEth)) == 0) continue;
    SCOPED_TRACE(std::string(row.name));
    Headers h;
    h.source = Address::ipv4(1);
    h.destination = Address::ipv4(2);
    h.destination_qp = Qpn{0x21};
    h.opcode = opcode_of(Transport::kRc, row.operation);
    h.rkey = Key{0x900};
    h.length = kAtomicBytes;
    CaptureSurvey survey;
    survey.add(h, {}, 1);
    const auto regions = survey.of_receiver(h.destination).regions;
    ASSERT_EQ(regions.size(), 1u);
    EXPECT_EQ(regions[0].access & ~kLocalWrite, row.access);
  }
}

TEST(OpcodeWalk, EveryAnswerIsComparedWithTheModels) {
  for (const OperationRow& row : kOperations) {
    if (!is_request(row)) continue;
    SCOPED_TRACE(std::string(row.name));
    ReceiverSurvey survey;
    SurveyedQp q;
    q.qpn = Qpn{0x21};
    q.peer = Address::ipv4(1);
    q.peer_qpn = Qpn{0x11};
    q.paired_by = PairedBy::kPsn;
    q.has_requests = q.msn_known = true;
    survey.qps.push_back(q);
    AnswerCompare compare(survey, {.atomic_results = true});
    Headers request;
    request.source = q.peer;
    request.destination_qp = q.qpn;
    request.opcode = opcode_of(Transport::kRc, row.operation);
    Headers answer;
    answer.destination = q.peer;
    answer.destination_qp = q.peer_qpn;
    answer.opcode = opcode_of(Transport::kRc, row.answer);
    answer.syndrome = kAckUnlimited;
    compare.request(request);
    compare.captured(answer, 1);
    compare.model(answer, 1);
    compare.finish();
    EXPECT_EQ(compare.counts().equal + compare.counts().given, 1u);
  }
}

TEST(OpcodeWalk, GeneratedTrafficHasEveryRequestOfTheTransport) {
  TrafficConfig config;
  config.rc_qps = config.uc_qps = config.ud_qps = config.xrc_qps = 1;
  config.min_bytes = 1;
  config.max_bytes = 3 * config.mtu;
  std::array<std::uint32_t, sizeof(TrafficMix) / sizeof(std::uint32_t)> weights;
  weights.fill(1);
  config.mix = std::bit_cast<TrafficMix>(weights);
  Traffic traffic(config);
  std::set<unsigned> seen;
  std::array<std::uint8_t, kMaxFrameBytes> frame;
  for (int i = 0; i < 20'000; ++i) seen.insert(traffic.next(frame).h.opcode);
  for (const OperationRow& row : kOperations) {
    for (const Transport t : kTransports) {
      const std::uint8_t opcode = opcode_of(t, row.operation);
      const bool sent = is_request(row) && is_on(row, t) && row.operation != Operation::kFlush;  // no WR has it
      EXPECT_EQ(seen.contains(opcode), sent) << opcode_name(opcode);
    }
  }
}

class OpcodeWalkVerbs : public verbs::VerbsTest {
 protected:
  static ibv_qp_type type_of(Transport t) {
    return t == Transport::kRc ? IBV_QPT_RC : t == Transport::kUc ? IBV_QPT_UC : IBV_QPT_UD;
  }
  verbs::Cq& cq = make_cq(64);
};

TEST_F(OpcodeWalkVerbs, ThePostedWrIsTheRowsAndCompletesAsIt) {
  for (const Transport t : {Transport::kRc, Transport::kUc, Transport::kUd}) {
    for (const SendRow& row : kSends) {
      const auto wr = static_cast<ibv_wr_opcode>(row.wr);
      SCOPED_TRACE(row.wr);
      const bool legal = may_post(row, t);
      EXPECT_EQ(verbs::check_opcode(type_of(t), wr) == 0, legal);
      if (!legal) continue;
      verbs::Qp& qp = make_qp(type_of(t), cq, cq);
      verbs::begin_wqe(qp.send, 0, wr, 0, 7);
      qp.send.producer = 1;
      EXPECT_EQ(verbs::control_of(wqe(qp.send, 0).data()).opcode, row.opcode);
      write_cqe(cq, send_cqe(qp, 0, row.completion));
      const auto wcs = poll(cq);
      ASSERT_EQ(wcs.size(), 1u);
      EXPECT_EQ(wcs[0].opcode, opcode_table::row_of(row.completion)->wc);
    }
  }
}

TEST_F(OpcodeWalkVerbs, EveryRequestHasItsCallInTheExtendedInterface) {
  for (const Transport t : {Transport::kRc, Transport::kUc, Transport::kUd}) {
    verbs::Qp& qp = make_qp(type_of(t), cq, cq);
    unsigned calls = 0;
    for (unsigned flag = 0; flag < 64; ++flag) calls += verbs::set_up_qp_ex(qp, std::uint64_t{1} << flag) == 0;
    unsigned expected = 0;
    for (const SendRow& row : kSends) expected += may_post(row, t);
    EXPECT_EQ(calls, expected);
  }
}

TEST_F(OpcodeWalkVerbs, ReceivesCompleteWithTheRowsNumber) {
  verbs::Qp& qp = make_qp(IBV_QPT_RC, cq, cq);
  for (const opcode_table::CompletionRow& row : opcode_table::kCompletions) {
    EXPECT_EQ(row.name, cqe_opcode_name(row.opcode));
    if (row.opcode < CqeOpcode::kReceive) continue;
    receive(qp, 1);
    Cqe cqe = receive_cqe(qp, qp.receive.producer - 1);
    cqe.opcode = row.opcode;
    write_cqe(cq, cqe);
    const auto wcs = poll(cq);
    ASSERT_EQ(wcs.size(), 1u);
    EXPECT_EQ(wcs[0].opcode, row.wc);
  }
}

}  // namespace
}  // namespace rxnic::opcode_walk_test
