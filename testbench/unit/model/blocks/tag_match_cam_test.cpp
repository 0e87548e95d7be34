// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "model/nic/nic_shared.h"
#include "testbench/unit/model/blocks/tag_match_cam_fixture.h"

namespace rxnic::tag_match_cam_test {
namespace {

using namespace tag_match_cam_test;

TEST(TagMatchCam, ResultComesAfterSearchCyclesAndNotBefore) {  // R1
  Bench bench;
  Fixture fixture(bench);
  fixture.add(Cycle{1}, 2, 7);
  fixture.send(Cycle{19}, 7);  // taken in cycle 20
  bench.run_to(Cycle{24});     // a push in cycle n is seen by the sink in n + 1
  EXPECT_EQ(fixture.out.size(), 0u);
  bench.run_to(Cycle{25});
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{24});
  EXPECT_EQ(fixture.shared.packets[fixture.at(0).buffer].stamped(Station::kTagMatchCam), Cycle{24});
  EXPECT_EQ(fixture.shared.packets[fixture.at(0).buffer].taken(Station::kTagMatchCam), Cycle{20});
}

TEST(TagMatchCam, OneSearchACycle) {  // R1
  Bench bench;
  Fixture fixture(bench);
  for (std::uint64_t i = 0; i < 6; ++i) fixture.send(Cycle{19 + i}, i);
  bench.run();
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(fixture.out.cycle(i), Cycle{24 + i});
  EXPECT_EQ(fixture.dut.account()[static_cast<std::size_t>(Activity::kBlocked)], 0u);
}

TEST(TagMatchCam, SearchesWaitForEachOtherWhenNothingIsForwarded) {  // R1
  TagMatchCamParams params = defaults();
  params.hazard = SearchHazard::kStall;
  Bench bench;
  Fixture fixture(bench, params);
  for (std::uint64_t i = 0; i < 3; ++i) fixture.send(Cycle{19 + i}, i);
  bench.run();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(fixture.out.cycle(i), Cycle{24 + 4 * i});
  EXPECT_EQ(fixture.dut.counters().hazard_stalls, 2u);
}

TEST(TagMatchCam, ABankedSearchTakesARoundForEachGroupOfBanks) {  // R1
  struct Case {
    std::uint32_t entries, bank_entries, banks_per_cycle;
    std::uint64_t rounds;
  };
  for (const Case c : {Case{8, 8, 1, 1}, Case{8, 2, 1, 4}, Case{8, 2, 3, 2}, Case{9, 2, 1, 5}, Case{8, 2, 64, 1}}) {
    TagMatchCamParams params = defaults();
    params.organisation = TagOrganisation::kBanked;
    params.entries = c.entries;
    params.bank_entries = c.bank_entries;
    params.banks_per_cycle = c.banks_per_cycle;
    Bench bench;
    Fixture fixture(bench, params);
    fixture.send(Cycle{19}, 7);  // taken in cycle 20
    fixture.send(Cycle{19}, 8);
    bench.run();
    EXPECT_EQ(fixture.out.cycle(0), Cycle{23 + c.rounds});
    EXPECT_EQ(fixture.out.cycle(1), Cycle{23 + 2 * c.rounds});
  }
}

TEST(TagMatchCam, AHashedSearchComparesTheOlderWildcardsOneAfterTheOther) {  // R1
  struct Case {
    std::uint64_t tag;
    std::uint32_t wildcards_per_cycle;
    std::uint64_t more;
  };
  for (const Case c : {Case{7, 1, 2}, Case{7, 2, 1}, Case{99, 1, 3}, Case{99, 2, 2}, Case{0x21, 1, 2}}) {
    TagMatchCamParams params = defaults();
    params.organisation = TagOrganisation::kHashed;
    params.wildcards_per_cycle = c.wildcards_per_cycle;
    Bench bench;
    Fixture fixture(bench, params);
    for (std::uint32_t i = 0; i < 4; ++i) {
      TagOperation op = fixture.operation(TagOpcode::kAdd, i, i == 2 ? 7 : 0x10 * (i + 1));
      if (i != 2) op.entry.mask = 0xf0;
      fixture.operations.push(Cycle{1}, op);
    }
    fixture.send(Cycle{19}, c.tag);  // taken in cycle 20
    const WqeRequest behind = fixture.send(Cycle{19}, 0, TmhOpcode::kEager, Operation::kReadRequest, 1);
    bench.run();
    EXPECT_EQ(fixture.at(0).tag_verdict, c.tag == 99 ? TagVerdict::kUnexpected : TagVerdict::kMatched);
    EXPECT_EQ(fixture.out.cycle(0), Cycle{24 + c.more});
    EXPECT_EQ(fixture.at(1), behind);
    EXPECT_EQ(fixture.out.cycle(1), Cycle{24 + c.more + 1})
        << "taken when the list has been walked, or in order behind";
  }
}

TEST(TagMatchCam, PacketsWithoutSearchKeepTheirPlace) {  // R1, R4
  Bench bench;
  Fixture fixture(bench);
  const WqeRequest a = fixture.send(Cycle{1}, 7, TmhOpcode::kEager, Operation::kSendFirst);
  const WqeRequest b = fixture.send(Cycle{1}, 0, TmhOpcode::kEager, Operation::kReadRequest, 1);
  const WqeRequest c = fixture.send(Cycle{1}, 0, TmhOpcode::kEager, Operation::kSendLast);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 3u);
  EXPECT_EQ(fixture.at(0).buffer, a.buffer);
  EXPECT_EQ(fixture.at(1), b) << "as it came";
  EXPECT_EQ(fixture.at(2).buffer, c.buffer);
  EXPECT_EQ(fixture.dut.counters().searches, 1u);
  EXPECT_EQ(fixture.at(1).cqe_opcode, CqeOpcode::kReceive);
}

TEST(TagMatchCam, PacketsThatAreNotOfATmSrqPassAsTheyCame) {  // R1, R4
  Bench bench;
  Fixture fixture(bench);
  fixture.add(Cycle{1}, 0, 7);
  std::vector<WqeRequest> sent;
  for (const WqId queue : {WqId{1}, WqId{99}, kNoWq}) {  // below the only list, above it, none
    sent.push_back(fixture.packet(7));
    sent.back().receive_queue = sent.back().queue = queue;
    fixture.in.push(Cycle{9}, sent.back());
  }
  sent.push_back(fixture.of_qp(1));  // internal, without a buffer
  sent.back().role = PacketRole::kSendCompletion;
  sent.back().completes = true;
  fixture.in.push(Cycle{9}, sent.back());
  bench.run();
  EXPECT_EQ(fixture.out.values(), sent);
  for (std::size_t i = 0; i < fixture.out.size(); ++i) EXPECT_EQ(fixture.out.cycle(i), Cycle{14 + i});
  EXPECT_EQ(fixture.list().size(), 1u);
}

TEST(TagMatchCam, SearchDoesNotSeeAnAppendOfTheSameCycle) {  // R2
  for (const std::uint64_t later : {0u, 1u}) {
    Bench bench;
    Fixture fixture(bench);
    fixture.add(Cycle{9}, 0, 7);
    fixture.send(Cycle{9 + later}, 7);
    bench.run();
    EXPECT_EQ((fixture.at(0).cqe_flags & kCqeTagMatch) != 0, later == 1);
  }
}

TEST(TagMatchCam, AnAppendOccupiesTheCam) {  // R3
  TagMatchCamParams p = defaults();
  p.append_cycles = 10;
  Bench bench;
  Fixture fixture(bench, p);
  fixture.add(Cycle{9}, 0, 7, true);  // taken in 10, completes in 20
  fixture.send(Cycle{10}, 7);         // taken in 20
  bench.run_to(Cycle{20});
  EXPECT_EQ(fixture.out.size(), 0u);
  bench.run();
  EXPECT_EQ(fixture.out.cycle(0), Cycle{20});
  EXPECT_EQ(fixture.at(0).role, PacketRole::kTagOperation);
  EXPECT_EQ(fixture.out.cycle(1), Cycle{24});
}

TEST(TagMatchCam, OneCompletionForAMatchOfOnePacket) {  // R10, rules 5.6
  Bench bench;
  Fixture fixture(bench);
  fixture.add(Cycle{1}, 2, 7);
  fixture.send(Cycle{9}, 7);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 1u);
  const WqeRequest& p = fixture.at(0);
  EXPECT_EQ(p.tag_verdict, TagVerdict::kMatched);
  EXPECT_TRUE(p.completes);
  EXPECT_FALSE(p.takes_wqe);
  EXPECT_EQ(p.cqe_opcode, CqeOpcode::kTagReceive);
  EXPECT_EQ(p.cqe_flags & (kCqeTagMatch | kCqeTagDataValid), kCqeTagMatch | kCqeTagDataValid);
  EXPECT_EQ(p.strip_bytes, 16u);
  EXPECT_EQ(p.wqe_index, 2u);
  EXPECT_EQ(p.tag, 7u);
  EXPECT_EQ(p.tag_context, 0xabcu);
  EXPECT_EQ(p.cq, Cqn{50});
  EXPECT_EQ(p.pd, Pdn{60});
  EXPECT_EQ(p.wqe_slot, kNoWqeSlot) << "the WQE fetcher finds one";
  EXPECT_EQ(p.tag_buffer.address, 0x30000u);
  EXPECT_EQ(p.tag_buffer.length, 4096u);
}

TEST(TagMatchCam, TwoCompletionsForAMatchOfSeveralPackets) {  // R10, rules 5.6
  Bench bench;
  Fixture fixture(bench);
  fixture.add(Cycle{1}, 2, 7);
  fixture.send(Cycle{9}, 7, TmhOpcode::kEager, Operation::kSendFirst);
  fixture.send(Cycle{9}, 0, TmhOpcode::kNoTag, Operation::kSendOnly, 1);  // another QP in between
  fixture.send(Cycle{9}, 0, TmhOpcode::kNoTag, Operation::kSendMiddle);
  fixture.send(Cycle{9}, 0, TmhOpcode::kNoTag, Operation::kSendLast);
  bench.run();
  EXPECT_TRUE(fixture.at(0).completes);
  EXPECT_EQ(fixture.at(0).cqe_flags & (kCqeTagMatch | kCqeTagDataValid), kCqeTagMatch);
  EXPECT_FALSE(fixture.at(2).completes);
  EXPECT_EQ(fixture.at(2).strip_bytes, 0u);
  EXPECT_TRUE(fixture.at(3).completes);
  EXPECT_EQ(fixture.at(3).cqe_flags & (kCqeTagMatch | kCqeTagDataValid), kCqeTagDataValid);
  EXPECT_EQ(fixture.at(3).cqe_opcode, CqeOpcode::kTagReceive);
  EXPECT_EQ(fixture.at(3).tag, 7u);
  EXPECT_EQ(fixture.at(3).tag_context, 0xabcu);
  EXPECT_EQ(fixture.dut.counters().searches, 1u);
}

TEST(TagMatchCam, AMessageWhoseEndWasNeverSeenEndsAsItBegan) {  // R10, R11
  for (const bool matches : {true, false}) {
    Bench bench;
    Fixture fixture(bench);
    if (matches) fixture.add(Cycle{1}, 2, 7);
    fixture.send(Cycle{9}, 7, TmhOpcode::kEager, Operation::kSendFirst);
    fixture.send(Cycle{9}, 8, TmhOpcode::kNoTag, Operation::kSendFirst, 1);
    for (const std::uint32_t line : {0u, 1u}) {
      WqeRequest end = fixture.of_qp(line);
      end.role = PacketRole::kTruncated;
      end.ends_message = true;
      fixture.in.push(Cycle{9}, end);
    }
    bench.run();
    ASSERT_EQ(fixture.out.size(), 4u);
    EXPECT_EQ(fixture.at(2).cqe_opcode, CqeOpcode::kTagReceive);
    EXPECT_EQ(fixture.at(2).cqe_flags, matches ? kCqeTagDataValid : 0);
    EXPECT_EQ(fixture.at(2).tag, 7u);
    EXPECT_EQ(fixture.at(2).tag_context, 0xabcu);
    EXPECT_EQ(fixture.at(2).cq, Cqn{50});
    EXPECT_EQ(fixture.at(3).cqe_opcode, CqeOpcode::kTagNoTag);
    EXPECT_EQ(fixture.at(3).tag, 8u);
    EXPECT_EQ(fixture.list().unexpected(), matches ? 0u : 1u) << "the first packet is counted";
  }
}

TEST(TagMatchCam, AMissTakesAWqeAndIsUnexpected) {  // R11
  for (const auto status : {UnexpectedStatus::kTmRecv, UnexpectedStatus::kRecv}) {
    TagMatchCamParams params = defaults();
    params.unexpected_status = status;
    Bench bench;
    Fixture fixture(bench, params);
    fixture.add(Cycle{1}, 2, 8);
    fixture.send(Cycle{9}, 7);
    bench.run();
    const WqeRequest& p = fixture.at(0);
    EXPECT_EQ(p.tag_verdict, TagVerdict::kUnexpected);
    EXPECT_TRUE(p.takes_wqe);
    EXPECT_EQ(p.strip_bytes, 0u);
    EXPECT_EQ(p.wqe_slot, kNoWqeSlot);
    EXPECT_EQ(p.cqe_opcode, status == UnexpectedStatus::kTmRecv ? CqeOpcode::kTagReceive : CqeOpcode::kReceive);
    EXPECT_EQ(p.cqe_flags, 0);
    EXPECT_EQ(p.tag, 7u);
    EXPECT_EQ(fixture.list().unexpected(), 1u);
  }
}

TEST(TagMatchCam, NoTagFinUnknownAndShortAreNotCounted) {  // R11
  Bench bench;
  Fixture fixture(bench);
  fixture.add(Cycle{1}, 0, 7);
  fixture.send(Cycle{9}, 7, TmhOpcode::kNoTag);
  fixture.send(Cycle{9}, 7, TmhOpcode::kFinish);
  fixture.send(Cycle{9}, 7, static_cast<TmhOpcode>(77));
  WqeRequest too_short = fixture.packet(7);
  too_short.payload_bytes = 15;
  too_short.tmh_opcode = 0;
  too_short.tag = too_short.tag_context = 0;
  fixture.carry_headers(too_short);
  fixture.in.push(Cycle{9}, too_short);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 4u);
  const CqeOpcode expected[] = {CqeOpcode::kTagNoTag, CqeOpcode::kReceive, CqeOpcode::kTagNoTag, CqeOpcode::kTagNoTag};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(fixture.at(i).takes_wqe);
    EXPECT_EQ(fixture.at(i).cqe_opcode, expected[i]) << i;
  }
  EXPECT_EQ(fixture.list().unexpected(), 0u);
  EXPECT_EQ(fixture.list().size(), 1u);
}

// A rendezvous request for `length` bytes at 0x12345678abc, R_Key 0x777; the fixture's buffers have 4096.
WqeRequest request(Fixture& fixture, std::uint64_t tag, std::uint32_t length, std::uint16_t payload = 32,
                   Operation op = Operation::kSendOnly) {
  WqeRequest p = fixture.packet(tag, TmhOpcode::kRendezvous, op);
  p.payload_bytes = payload;
  build_rvh({0x12345678abc, 0x777, length}, fixture.shared.packets[p.buffer].frame.data() + 64 + kTmhBytes);
  fixture.carry_headers(p);
  fixture.in.push(Cycle{9}, p);
  return p;
}

TEST(TagMatchCam, ARendezvousMatchPlacesNothingAndCarriesTheAddress) {  // R16
  for (const std::uint16_t payload : {32, 64}) {
    Bench bench;
    Fixture fixture(bench);
    fixture.add(Cycle{1}, 3, 7);
    request(fixture, 7, 4096, payload);
    bench.run();
    const WqeRequest& p = fixture.at(0);
    EXPECT_EQ(p.tag_verdict, TagVerdict::kMatched);
    EXPECT_TRUE(p.rendezvous);
    EXPECT_EQ(p.strip_bytes, payload);
    EXPECT_EQ(p.local_va, 0x12345678abcu);
    EXPECT_EQ(p.local_key, Key{0x777});
    EXPECT_EQ(p.local_bytes, 4096u);
    EXPECT_EQ(p.cqe_flags, kCqeTagMatch);
    EXPECT_EQ(p.cqe_opcode, CqeOpcode::kTagReceive);
    EXPECT_EQ(p.wqe_index, 3u);
    EXPECT_TRUE(p.completes);
    EXPECT_EQ(p.status, WcStatus::kSuccess);
    EXPECT_EQ(fixture.list().size(), 0u);
    EXPECT_EQ(fixture.dut.counters().searches, 1u);
    EXPECT_EQ(fixture.dut.counters().rendezvous, 1u);
  }
}

TEST(TagMatchCam, ARendezvousThatDoesNotFitIsIncomplete) {  // R16
  Bench bench;
  Fixture fixture(bench);
  fixture.add(Cycle{1}, 3, 7);
  request(fixture, 7, 4097);
  bench.run();
  const WqeRequest& p = fixture.at(0);
  EXPECT_EQ(p.tag_verdict, TagVerdict::kMatched);
  EXPECT_FALSE(p.rendezvous);
  EXPECT_EQ(p.strip_bytes, 0u);
  EXPECT_EQ(p.local_bytes, 0u);
  EXPECT_EQ(p.status, WcStatus::kRendezvousIncomplete);
  EXPECT_EQ(p.cqe_flags, kCqeTagMatch | kCqeTagDataValid);
  EXPECT_EQ(fixture.dut.counters().rendezvous_incomplete, 1u);
}

TEST(TagMatchCam, AnUnexpectedRendezvousIsAsItCame) {  // R11, R16
  Bench bench;
  Fixture fixture(bench);
  fixture.add(Cycle{1}, 0, 8);
  request(fixture, 7, 100);
  bench.run();
  EXPECT_TRUE(fixture.at(0).takes_wqe);
  EXPECT_FALSE(fixture.at(0).rendezvous);
  EXPECT_EQ(fixture.at(0).local_va, 0u);
  EXPECT_EQ(fixture.at(0).local_key, Key{});
  EXPECT_EQ(fixture.at(0).local_bytes, 0u);
  EXPECT_EQ(fixture.list().unexpected(), 1u);
  EXPECT_EQ(fixture.dut.counters().searches, 1u);
}

TEST(TagMatchCam, OtherRendezvousRequestsAreNotSearched) {  // R16
  struct Case {
    std::uint16_t payload;
    Operation op;
  };
  for (const Case c :
       {Case{31, Operation::kSendOnly}, Case{65, Operation::kSendOnly}, Case{64, Operation::kSendFirst}}) {
    Bench bench;
    Fixture fixture(bench);
    fixture.add(Cycle{1}, 0, 7);
    request(fixture, 7, 100, c.payload, c.op);
    bench.run();
    EXPECT_TRUE(fixture.at(0).takes_wqe);
    EXPECT_EQ(fixture.at(0).tag_verdict, TagVerdict::kUnexpected);
    EXPECT_EQ(fixture.list().size(), 1u);
    EXPECT_EQ(fixture.list().unexpected(), 1u);
    EXPECT_EQ(fixture.dut.counters().searches, 0u);
  }
}

TEST(TagMatchCam, TheDevicesReadReportsTheEndOfTheMessageAndFinNothing) {  // R17
  Bench bench;
  Fixture fixture(bench);
  const auto own = [&](CqeOpcode opcode, PacketRole role, bool rendezvous) {
    WqeRequest p = fixture.of_qp(0);
    p.role = role;
    p.opcode = opcode_of(Transport::kRc, Operation::kReadResponseOnly);
    p.outcome = role == PacketRole::kReceived ? Outcome::kAnswer : Outcome::kExecute;
    p.cqe_opcode = opcode;
    p.cq = Cqn{9};
    p.wqe_index = 5;
    p.rendezvous = rendezvous;
    p.completes = true;
    fixture.in.push(Cycle{9}, p);
  };
  own(CqeOpcode::kRdmaRead, PacketRole::kReceived, true);
  own(CqeOpcode::kRdmaRead, PacketRole::kSendCompletion, true);
  own(CqeOpcode::kSend, PacketRole::kSendCompletion, true);
  own(CqeOpcode::kRdmaRead, PacketRole::kReceived, false);  // of a capture
  bench.run();
  for (std::size_t n = 0; n < 2; ++n) {
    EXPECT_EQ(fixture.at(n).cqe_opcode, CqeOpcode::kTagReceive);
    EXPECT_EQ(fixture.at(n).cqe_flags, kCqeTagDataValid);
    EXPECT_EQ(fixture.at(n).cq, Cqn{50});
    EXPECT_EQ(fixture.at(n).queue, kSrq);
    EXPECT_EQ(fixture.at(n).wqe_index, 5u);
    EXPECT_TRUE(fixture.at(n).completes);
  }
  EXPECT_FALSE(fixture.at(2).completes);
  EXPECT_EQ(fixture.at(3).cqe_opcode, CqeOpcode::kRdmaRead);
  EXPECT_EQ(fixture.at(3).cq, Cqn{9});
}

TEST(TagMatchCam, OnlySignaledAndFailedOperationsComplete) {  // R13, rules 5.4
  Bench bench;
  Fixture fixture(bench);
  fixture.add(Cycle{1}, 0, 7);
  fixture.add(Cycle{2}, 1, 8, true);
  fixture.operations.push(Cycle{3}, fixture.operation(TagOpcode::kDelete, 1));
  fixture.operations.push(Cycle{4}, fixture.operation(TagOpcode::kSync, 5, 0, true));
  fixture.operations.push(Cycle{5}, fixture.operation(TagOpcode::kDelete, 0, 0, true));
  bench.run();
  ASSERT_EQ(fixture.out.size(), 3u);
  const CqeOpcode expected[] = {CqeOpcode::kTagAdd, CqeOpcode::kTagSync, CqeOpcode::kTagDelete};
  const std::uint32_t indices[] = {1001, 1005, 1000};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(fixture.at(i).cqe_opcode, expected[i]);
    EXPECT_EQ(fixture.at(i).wqe_index, indices[i]);
    EXPECT_EQ(fixture.at(i).status, WcStatus::kSuccess);
    EXPECT_EQ(fixture.at(i).cq, Cqn{50});
    EXPECT_EQ(fixture.at(i).queue, kSrq);
    EXPECT_TRUE(fixture.at(i).completes);
    EXPECT_EQ(fixture.at(i).buffer, kNoPacket);
    EXPECT_EQ(fixture.at(i).line, kNoLine) << "of no QP";
    EXPECT_EQ(fixture.at(i).cqe_flags & kCqeTagSyncRequest, 0);
  }
  EXPECT_EQ(fixture.list().size(), 0u);
}

TEST(TagMatchCam, DeletingAConsumedEntryFails) {  // R13, rules 5.4
  Bench bench;
  Fixture fixture(bench);
  fixture.add(Cycle{1}, 0, 7);
  fixture.send(Cycle{9}, 7);
  fixture.operations.push(Cycle{20}, fixture.operation(TagOpcode::kDelete, 0));
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.at(1).cqe_opcode, CqeOpcode::kTagDelete);
  EXPECT_EQ(fixture.at(1).status, WcStatus::kTagMatch);
}

TEST(TagMatchCam, AppendToAFullListFails) {  // R13
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t i = 0; i < 32; ++i) fixture.add(Cycle{1}, i, i);
  fixture.add(Cycle{1}, 32, 7);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.at(0).status, WcStatus::kTagMatch);
  EXPECT_EQ(fixture.list().size(), 32u);
}

TEST(TagMatchCam, PhasesAreReportedInTheCompletionsOfOperations) {  // R12, rules 5.5
  Bench bench;
  Fixture fixture(bench);
  fixture.send(Cycle{1}, 7);  // unexpected
  fixture.add(Cycle{10}, 0, 7, true);
  fixture.send(Cycle{20}, 7);  // software has not seen the first: no match
  TagOperation sync = fixture.operation(TagOpcode::kSync, 1, 0, true);
  sync.unexpected_count = 2;
  fixture.operations.push(Cycle{30}, sync);  // without TM_SYNC the count is not valid
  sync.tm_sync = true;
  fixture.operations.push(Cycle{40}, sync);
  fixture.send(Cycle{50}, 7);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 6u);
  EXPECT_NE(fixture.at(1).cqe_flags & kCqeTagSyncRequest, 0);
  EXPECT_EQ(fixture.at(2).tag_verdict, TagVerdict::kUnexpected);
  EXPECT_NE(fixture.at(3).cqe_flags & kCqeTagSyncRequest, 0);
  EXPECT_EQ(fixture.at(4).cqe_flags & kCqeTagSyncRequest, 0);
  EXPECT_EQ(fixture.at(5).tag_verdict, TagVerdict::kMatched);
}

TEST(TagMatchCam, AnUnexpectedMessageAsksForASyncBeyond0x3fff) {  // R12, rules 5.5
  Bench bench;
  Fixture fixture(bench);
  TagOperation sync = fixture.operation(TagOpcode::kSync, 0);
  sync.tm_sync = true;
  sync.unexpected_count = static_cast<std::uint16_t>(0u - 0x3ffe);
  fixture.operations.push(Cycle{1}, sync);
  for (std::uint64_t i = 0; i < 2; ++i) fixture.send(Cycle{9}, 7);
  bench.run();
  EXPECT_EQ(fixture.at(0).cqe_flags & kCqeTagSyncRequest, 0);  // 0x3fff not acknowledged
  EXPECT_NE(fixture.at(1).cqe_flags & kCqeTagSyncRequest, 0);
}

TEST(TagMatchCam, WhatDoesNotFitIsWrittenToMemory) {  // R5
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t i = 0; i < 10; ++i) fixture.add(Cycle{1}, i, 100 + i);
  bench.run();
  ASSERT_EQ(fixture.memory.count(DmaKind::kWrite), 2u);
  for (std::uint32_t i = 0; i < 2; ++i) {
    const auto e = fixture.host.load<TagOverflowEntry>(icm::kTagOverflow + (raw(kSrq) * 64ull + i) * 64);
    EXPECT_EQ(e.tag, 108u + i);
    EXPECT_EQ(e.handle, 8u + i);
    EXPECT_EQ(e.mask, kExact);
    EXPECT_EQ(e.buffer.address, 0x10000u * (9 + i));
    EXPECT_EQ(e.sequence, 8u + i);
    EXPECT_EQ(e.live, 1u);
  }
}

TEST(TagMatchCam, AWalkCostsOneDependentReadForSoManyEntries) {  // R7
  struct Case {
    std::uint64_t tag;
    std::uint64_t reads;
    std::uint64_t entries;  // that are looked at
  };
  // 8 entries in the CAM, 10 in the overflow, 4 entries a read.
  for (const Case c :
       {Case{107, 0, 0}, Case{108, 1, 1}, Case{111, 1, 4}, Case{112, 2, 5}, Case{117, 3, 10}, Case{999, 3, 10}}) {
    Bench bench;
    Fixture fixture(bench);
    for (std::uint32_t i = 0; i < 18; ++i) fixture.add(Cycle{1}, i, 100 + i);
    fixture.send(Cycle{999}, c.tag);  // taken in cycle 1000
    const WqeRequest behind = fixture.send(Cycle{999}, 0, TmhOpcode::kEager, Operation::kReadRequest, 1);
    bench.run();
    // A read: one cycle to memory, the latency, one cycle back; then a cycle for each entry.
    const std::uint64_t due = 1004 + c.reads * (kReadLatency + 2) + c.entries;
    EXPECT_EQ(fixture.out.cycle(0), Cycle{due}) << c.tag;
    EXPECT_EQ(fixture.dut.counters().walk_reads, c.reads);
    EXPECT_EQ(fixture.dut.counters().refill_reads, c.tag == 107 ? 1u : 0u) << "the match made room in the CAM";
    EXPECT_EQ(fixture.memory.count(DmaKind::kRead), c.reads + fixture.dut.counters().refill_reads);
    EXPECT_EQ(fixture.at(0).tag_verdict, c.tag == 999 ? TagVerdict::kUnexpected : TagVerdict::kMatched);
    EXPECT_EQ(fixture.out.value(1), behind);
    EXPECT_EQ(fixture.out.cycle(1).count, c.reads == 0 ? 1005 : due + 1 + 4);  // taken when the walk has ended
  }
}

TEST(TagMatchCam, AWalkReadsTheOverflowInOrder) {  // R7
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t i = 0; i < 14; ++i) fixture.add(Cycle{1}, i, 100 + i);
  fixture.send(Cycle{999}, 1);
  bench.run();
  std::vector<TestMemory::Record> reads;
  for (const auto& r : fixture.memory.log()) {
    if (r.request.kind == DmaKind::kRead) reads.push_back(r);
  }
  ASSERT_EQ(reads.size(), 2u);
  const std::uint64_t base = raw(icm::kTagOverflow) + raw(kSrq) * 64ull * 64;
  EXPECT_EQ(raw(reads[0].request.address), base);
  EXPECT_EQ(reads[0].request.bytes, 256u);
  EXPECT_EQ(raw(reads[1].request.address), base + 256);
  EXPECT_EQ(reads[1].request.bytes, 128u);
}

TEST(TagMatchCam, WalkedEntriesMoveIntoTheCamWhileThereIsRoom) {  // R7
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t i = 0; i < 14; ++i) fixture.add(Cycle{1}, i, 100 + i);
  for (std::uint32_t i = 0; i < 3; ++i) fixture.send(Cycle{499}, 100 + i);  // room for three
  fixture.send(Cycle{502}, 113);  // before the refill: it waits for its reads, then walks
  fixture.send(Cycle{1999}, 110);
  fixture.send(Cycle{2999}, 111);
  fixture.send(Cycle{3999}, 113);
  bench.run();
  EXPECT_EQ(fixture.dut.counters().walk_reads, 1u);
  EXPECT_EQ(fixture.out.cycle(4), Cycle{2004}) << "was refilled";
  EXPECT_EQ(fixture.out.cycle(5), Cycle{3004}) << "was refilled in its place";
  EXPECT_EQ(fixture.at(3).wqe_index, 13u);
  EXPECT_EQ(fixture.at(6).tag_verdict, TagVerdict::kUnexpected) << "was matched in memory";
  EXPECT_EQ(fixture.out.cycle(6), Cycle{4004});
}

TEST(TagMatchCam, OperationsOnTheListWaitForAWalk) {  // R7
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t i = 0; i < 9; ++i) fixture.add(Cycle{1}, i, 100 + i);
  fixture.send(Cycle{999}, 50);     // walks
  fixture.add(Cycle{1010}, 9, 50);  // too late for that search
  fixture.operations.push(Cycle{1020}, fixture.operation(TagOpcode::kDelete, 0));
  bench.run();
  EXPECT_EQ(fixture.at(0).tag_verdict, TagVerdict::kUnexpected);
  EXPECT_EQ(fixture.list().size(), 9u);
}

TEST(TagMatchCam, DecisionsAreTakenBack) {  // R14
  Bench bench;
  Fixture fixture(bench);
  fixture.add(Cycle{1}, 0, 7);
  fixture.add(Cycle{1}, 1, 7);
  fixture.send(Cycle{9}, 7);
  fixture.send(Cycle{9}, 99);
  fixture.returned.push(Cycle{30}, {kSrq, 0});
  fixture.returned.push(Cycle{30}, {kSrq, kNoTagEntry});
  fixture.returned.push(Cycle{30}, {WqId{77}, 0});  // an SRQ that is gone
  fixture.send(Cycle{40}, 7);
  bench.run();
  EXPECT_EQ(fixture.at(2).wqe_index, 0u);  // as old as it was
  EXPECT_EQ(fixture.list().unexpected(), 0u);
}

TEST(TagMatchCam, TheCamIsSharedByAllLists) {  // R5
  Bench bench;
  Fixture fixture(bench);
  WqContext other;
  fixture.dut.create(WqId{0}, other);
  for (std::uint32_t i = 0; i < 6; ++i) fixture.add(Cycle{1}, i, i);
  for (std::uint32_t i = 0; i < 6; ++i) {
    TagOperation op = fixture.operation(TagOpcode::kAdd, i, i);
    op.srq = WqId{0};
    fixture.operations.push(Cycle{20}, op);
  }
  bench.run();
  EXPECT_EQ(fixture.list().in_cam(), 6u);
  EXPECT_EQ(fixture.model.list(WqId{0})->in_cam(), 2u);
  EXPECT_EQ(fixture.model.list(WqId{0})->in_overflow(), 4u);
}

TEST(TagMatchCam, OneListMoreIsRefused) {  // R15
  Bench bench;
  TagMatchCamParams params;
  params.lists = 2;
  TagMatchCamHarness at(bench, params_with(&Params::tag_match_cam, params));
  EXPECT_TRUE(at.dut.create(WqId{3}, {}));
  EXPECT_TRUE(at.dut.create(WqId{9}, {}));
  EXPECT_FALSE(at.dut.create(WqId{1}, {}));
  EXPECT_EQ(at.model.list(WqId{1}), nullptr);
  EXPECT_TRUE(at.dut.create(WqId{9}, {})) << "in the place of itself";
  EXPECT_FALSE(at.dut.has_room());
  at.lists.push(Cycle{10}, {true, WqId{1}, {}, {}});
  at.lists.push(Cycle{20}, {false, WqId{3}, {}, {}});
  at.lists.push(Cycle{30}, {true, WqId{1}, {}, {}});
  at.lists.push(Cycle{40}, {true, WqId{3}, {}, {}});
  bench.run();
  ASSERT_EQ(at.list_done.size(), 4u);
  EXPECT_FALSE(at.list_done.value(0).ok);
  EXPECT_TRUE(at.list_done.value(1).ok);
  EXPECT_TRUE(at.list_done.value(2).ok);
  EXPECT_FALSE(at.list_done.value(3).ok);
}

TEST(TagMatchCam, BlockedOutputLosesNothing) {
  Bench bench;
  Fixture fixture(bench);
  fixture.out.stall(Cycle{0}, Cycle{500});
  for (std::uint32_t i = 0; i < 16; ++i) fixture.add(Cycle{1}, i, i, true);
  std::vector<PacketHandle> sent;
  for (std::uint64_t i = 0; i < 40; ++i) sent.push_back(fixture.send(Cycle{2 + i}, i).buffer);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 56u);
  std::vector<PacketHandle> got;
  for (const WqeRequest& p : fixture.out.values()) {
    if (p.role == PacketRole::kReceived) got.push_back(p.buffer);
  }
  EXPECT_EQ(got, sent);
  EXPECT_GT(fixture.dut.account()[static_cast<std::size_t>(Activity::kBlocked)], 400u);
}

// Calls in the order of time, each scheduled by the one before.
struct Play {
  std::vector<std::pair<Cycle, std::function<void(Cycle)>>> calls;
  std::size_t next = 0;
  void at(Cycle when, std::function<void(Cycle)> f) { calls.emplace_back(when, std::move(f)); }
  void start(Bench& bench) {
    if (next == calls.size()) return;
    bench.at(calls[next].first, [this, &bench](Cycle now) {
      while (next < calls.size() && calls[next].first <= now) calls[next++].second(now);
      start(bench);
    });
  }
};

std::uint64_t random_run(Bench& bench, std::uint64_t seed, TagMatchCamCounters& total) {
  std::mt19937_64 random(seed);
  TagMatchCamParams params = defaults();
  params.search_cycles = static_cast<std::uint32_t>(1 + random() % 6);
  params.append_cycles = static_cast<std::uint32_t>(1 + random() % 6);
  params.entries = static_cast<std::uint32_t>(1 + random() % 12);
  params.overflow_entries_per_read = static_cast<std::uint32_t>(1 + random() % 4);
  params.refill_reads = static_cast<std::uint32_t>(1 + random() % 4);
  params.organisation = static_cast<TagOrganisation>(random() % 3);
  params.bank_entries = static_cast<std::uint32_t>(1 + random() % 4);
  Fixture& fixture = bench.keep<Fixture>(bench, params);
  fixture.memory.set_latency(5 + random() % 40);
  Cycle when{1};
  auto& play = bench.keep<Play>();
  bool inside = false;
  for (int i = 0; i < 4000; ++i) {
    when += random() % 8 == 0 ? random() % 200 : random() % 3;
    const std::uint64_t tag = random() % 12;
    const auto handle = static_cast<std::uint32_t>(random() % 33);
    switch (random() % 10) {
      case 0:
      case 1:
      case 2: {
        TagOperation op = fixture.operation(TagOpcode::kAdd, handle, tag, random() % 4 == 0);
        if (random() % 4 == 0) {
          op.entry.mask = random() % 32;
          op.entry.tag &= op.entry.mask;
        }
        play.at(when, [&fixture, op](Cycle now) { fixture.operations.push(now, op); });
        break;
      }
      case 3:
        play.at(when, [&fixture, handle](Cycle now) {
          fixture.operations.push(now, fixture.operation(TagOpcode::kDelete, handle));
        });
        break;
      case 4:
      case 5:
        play.at(when, [&fixture, signaled = random() % 2 == 0](Cycle now) {
          TagOperation op = fixture.operation(TagOpcode::kSync, 0, 0, signaled);
          op.tm_sync = true;
          op.unexpected_count = fixture.list().unexpected();
          fixture.operations.push(now, op);
        });
        break;
      default: {
        const Operation op = inside         ? (random() % 2 ? Operation::kSendMiddle : Operation::kSendLast)
                             : random() % 2 ? Operation::kSendOnly
                                            : Operation::kSendFirst;
        inside = op == Operation::kSendFirst || op == Operation::kSendMiddle;
        const auto opcode = static_cast<TmhOpcode>(random() % 8 < 6 ? 3 : random() % 4);
        play.at(when, [&fixture, tag, opcode, op](Cycle now) {
          if (fixture.shared.packets.available(PacketClass::kReceive)) fixture.send(now, tag, opcode, op);
        });
      }
    }
  }
  const std::uint64_t stalls = random();
  fixture.out.accept_when(
      [stalls](Cycle now) { return (stalls >> (now.count / 16 % 64) & 1) != 0 || now.count % 3 == 0; });
  fixture.out.on_value([&fixture](Cycle, const WqeRequest& p) {
    if (p.buffer != kNoPacket) fixture.shared.packets.release(p.buffer);
  });
  play.start(bench);
  bench.run();
  const TagMatchCamCounters& c = fixture.dut.counters();
  total.matches += c.matches;
  total.unexpected += c.unexpected;
  total.untagged += c.untagged;
  total.operations += c.operations;
  total.failed_operations += c.failed_operations;
  total.walks += c.walks;
  total.promotions += c.promotions;
  total.refill_reads += c.refill_reads;
  total.refill_waits += c.refill_waits;
  total.list_reads += c.list_reads;
  total.list_writes += c.list_writes;
  EXPECT_EQ(c.bad_reads, 0u);
  StateHash h;
  h.mix(bench.state_hash());
  mix_all_of(h, fixture.out);
  return h.value();
}

TEST(TagMatchCam, AllEngineModesAgreeOnRandomTraffic) {
  const std::uint64_t seed = test_seed(21);
  TagMatchCamCounters total;
  for (std::uint64_t i = 0; i < 8; ++i) {
    expect_equal_in_all_orders([&](Bench& bench) { return random_run(bench, seed + i, total); });
  }
  // The test covered every case.
  const auto covered = [&](const char* what, std::uint64_t n) { EXPECT_GT(n, 3000u) << what; };
  covered("matches", total.matches);
  covered("unexpected", total.unexpected);
  covered("untagged", total.untagged);
  covered("operations", total.operations);
  covered("failed operations", total.failed_operations);
  covered("walks", total.walks);
  covered("promotions", total.promotions);
  covered("refill reads", total.refill_reads);
  EXPECT_GT(total.refill_waits, 100u);  // more in TagMatchCamOverflow
  covered("list reads", total.list_reads);
  covered("list writes", total.list_writes);
}

}  // namespace
}  // namespace rxnic::tag_match_cam_test
