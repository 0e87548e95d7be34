// SPDX-License-Identifier: Apache-2.0
// Rules R1..R7 of model/system/nic_tables.h, and what a report makes of the counts (table_rows.h, R1).
#include "model/system/nic_tables.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "model/system/table_result.h"
#include "model/types/completion_codes.h"
#include "model/types/event.h"
#include "model/types/opcode.h"
#include "model/types/syndrome.h"
#include "testbench/unit/model/system/traffic_run.h"

namespace rxnic::nic_tables_test {
namespace {

constexpr std::uint64_t kPeriodPs = 1000;
constexpr std::uint8_t kSendOnlyOfRc = opcode_of(Transport::kRc, Operation::kSendOnly);
constexpr std::uint8_t kWriteOnlyOfRc = opcode_of(Transport::kRc, Operation::kWriteOnly);

AckRequest packet_of(std::uint32_t qp, std::uint16_t bytes = 100) {
  AckRequest p;
  p.transport = Transport::kRc;
  p.qpn = Qpn{qp};
  p.opcode = kSendOnlyOfRc;
  p.outcome = Outcome::kExecute;
  p.ends_message = true;
  p.payload_bytes = bytes;
  p.message_bytes = bytes;
  return p;
}

struct Tables {
  Latencies latencies{kPeriodPs};
  NicTables& of() { return latencies.tables(); }
  void retire(const AckRequest& p, std::uint64_t arrived = 10, std::uint64_t now = 20) {
    Packet buffer;
    buffer.id = 7;
    buffer.stamp(Station::kWire, Cycle{arrived});
    of().on_retire(p, buffer, Cycle{now});
  }
  void notify(QpEventKind kind, std::uint32_t number, std::uint32_t detail = 0, std::uint64_t now = 20,
              std::uint64_t packet = 0) {
    of().on_qp_event({kind, number, detail, packet}, Cycle{now});
  }
  RunResult result() const {
    RunResult r;
    collect_tables(std::array{&latencies}, kPeriodPs, r);
    return r;
  }
};

const TableFigures& of_qp(const RunResult& r, std::uint32_t qp) {
  static const TableFigures kNone{};
  for (const QpRow& row : r.tables->qps) {
    if (row.qp == qp) return row.figures;
  }
  ADD_FAILURE() << "no QP " << qp;
  return kNone;
}

TEST(NicTables, APacketCountsForItsQp) {  // R1
  Tables t;
  t.retire(packet_of(0x11));
  t.retire(packet_of(0x12));
  AckRequest middle = packet_of(0x11);
  middle.ends_message = false;
  t.retire(middle);
  AckRequest refused = packet_of(0x11);
  refused.outcome = Outcome::kNak;
  refused.drop_reason = DropReason::kNoReceiveWqe;
  t.retire(refused);
  AckRequest again = packet_of(0x12);
  again.outcome = Outcome::kAckAgain;
  again.congested = true;
  t.retire(again);
  const RunResult r = t.result();
  EXPECT_EQ(of_qp(r, 0x11).packets, 3u);
  EXPECT_EQ(of_qp(r, 0x11).messages, 1u);
  EXPECT_EQ(of_qp(r, 0x11).payload_bytes, 300u);
  EXPECT_EQ(of_qp(r, 0x11).not_carried_out, 1u);
  EXPECT_EQ(of_qp(r, 0x11).repeats, 0u);
  EXPECT_EQ(of_qp(r, 0x12).packets, 2u);
  EXPECT_EQ(of_qp(r, 0x12).messages, 1u);
  EXPECT_EQ(of_qp(r, 0x12).repeats, 1u);
  EXPECT_EQ(of_qp(r, 0x12).marked, 1u);
  EXPECT_EQ(r.tables->nics[0].figures.packets, 5u);
}

TEST(NicTables, APacketThatCannotBeReadHasNoOpcode) {  // R1
  Tables t;
  AckRequest p;
  p.outcome = Outcome::kDrop;
  p.drop_reason = DropReason::kIcrc;
  t.retire(p);
  const RunResult r = t.result();
  EXPECT_EQ(of_qp(r, 0).not_carried_out, 1u);
  ASSERT_EQ(r.tables->opcodes.size(), 1u);
  EXPECT_EQ(r.tables->opcodes[0].opcode, "not readable");
}

TEST(NicTables, SizesArePowersOfTwo) {  // R2
  Tables t;
  for (const std::uint16_t bytes : {0, 1023, 1024, 2047, 2048}) t.retire(packet_of(1, bytes));
  AckRequest last = packet_of(1, 100);
  last.message_bytes = 5000;
  t.retire(last);
  last.ends_message = false;
  t.retire(last);
  const RunResult r = t.result();
  std::vector<std::array<std::uint64_t, 3>> found;
  for (const SizeRow& row : r.tables->sizes) found.push_back({row.bytes_from, row.bytes_to, row.figures.packets});
  const std::vector<std::array<std::uint64_t, 3>> expected{{0, 0, 1},       {64, 127, 1},    {512, 1023, 1},
                                                           {1024, 2047, 2}, {2048, 4095, 1}, {4096, 8191, 1}};
  EXPECT_EQ(found, expected);
}

TEST(NicTables, AWaitIsInFrontOfABlock) {  // R3
  Tables t;
  Packet buffer;
  buffer.stamp(Station::kWire, Cycle{100});
  buffer.stamp_taken(Station::kRxParser, Cycle{103});
  buffer.stamp(Station::kRxParser, Cycle{110});
  buffer.stamp_taken(Station::kDmaEngine, Cycle{117});
  buffer.stamp(Station::kDmaEngine, Cycle{150});
  t.of().on_retire(packet_of(1), buffer, Cycle{151});
  const RunResult r = t.result();
  const TableFigures& f = of_qp(r, 1);
  EXPECT_EQ(f.mean_ns, 51);
  EXPECT_EQ(f.wait_ns, 3 + 7 + 1);
  EXPECT_EQ(f.waits_most_at, "dma_engine");
  EXPECT_EQ(f.payload_gbps, 100 * 8.0 / 51);
  EXPECT_EQ(r.tables->opcodes[0].figures.wait_ns, f.wait_ns);
}

TEST(NicTables, APauseIsBetweenTwoPackets) {
  Tables t;
  for (const std::uint64_t left : {100, 110, 150, 160}) t.retire(packet_of(1), left - 5, left);
  t.retire(packet_of(2), 500, 510);
  const RunResult r = t.result();
  EXPECT_EQ(of_qp(r, 1).longest_pause_ns, 40u);
  EXPECT_EQ(of_qp(r, 2).longest_pause_ns, 0u);
}

TEST(NicTables, ReceivesAreOfTheQpAndOfTheOpcodeAndWritesOfTheOpcode) {  // R4
  Tables t;
  MessageTimes times;
  times.qpn = Qpn{1};
  t.of().add_receive(times, 500);
  times.ended = true;
  times.opcode = kSendOnlyOfRc;
  times.bytes = 64;
  t.of().add_receive(times, 700);
  AckRequest write = packet_of(1, 64);
  write.opcode = kWriteOnlyOfRc;
  t.of().add_write(write, 900);
  const RunResult r = t.result();
  EXPECT_EQ(of_qp(r, 1).latency_count, 2u);
  EXPECT_EQ(of_qp(r, 1).max_ns, 700u);
  ASSERT_EQ(r.tables->opcodes.size(), 2u);
  EXPECT_EQ(r.tables->opcodes[0].figures.p50_ns, 700u);
  EXPECT_EQ(r.tables->opcodes[1].figures.p50_ns, 900u);
  ASSERT_EQ(r.tables->sizes.size(), 1u);
  EXPECT_EQ(r.tables->sizes[0].figures.latency_count, 2u);
}

TEST(NicTables, WhatHappensToAQpCountsForIt) {  // R5
  Tables t;
  t.retire(packet_of(2));
  for (const std::uint8_t syndrome : {kNakSequence, kNakRemoteAccess, kNakRemoteAccess, rnr_nak(3)}) {
    t.notify(QpEventKind::kNak, 1, syndrome);
  }
  t.notify(QpEventKind::kGap, 1, 5);
  t.notify(QpEventKind::kGap, 1, 2);
  for (const QpEventKind kind : {QpEventKind::kTimeout, QpEventKind::kErrorCqe, QpEventKind::kCnp,
                                 QpEventKind::kRnrWait, QpEventKind::kWentBack, QpEventKind::kSentAgain}) {
    t.notify(kind, 1);
  }
  const RunResult r = t.result();
  const TableFigures& f = of_qp(r, 1);
  EXPECT_EQ(f.naks, (std::array<std::uint64_t, 4>{1, 0, 2, 0}));
  EXPECT_EQ(f.rnr_naks, 1u);
  EXPECT_EQ(f.psn_gaps, 2u);
  EXPECT_EQ(f.missing_psns, 7u);
  for (const std::uint64_t n : {f.timeouts, f.error_cqes, f.cnps_sent, f.rnr_waits, f.went_back, f.sent_again}) {
    EXPECT_EQ(n, 1u);
  }
  EXPECT_FALSE(of_qp(r, 2).sick());
  EXPECT_TRUE(f.sick());
  EXPECT_EQ(r.tables->nics[0].figures.rnr_naks, 1u);
}

TEST(NicTables, QpsBeyondTheLimitsAreCountedTogether) {  // R6
  Tables t;
  constexpr std::uint32_t kMore = 3;
  for (std::uint32_t qp = 1; qp <= NicTables::kMostQps + kMore; ++qp) t.retire(packet_of(qp));
  EXPECT_EQ(t.of().qps().size(), NicTables::kMostQps + 1);
  EXPECT_EQ(t.of().qps().back().counts.packets, kMore);
  const RunResult r = t.result();
  EXPECT_EQ(r.tables->qps.size(), RunTables::kMostQps);
  ASSERT_TRUE(r.tables->other_qps);
  EXPECT_EQ(r.tables->other_qps->qps, NicTables::kMostQps - RunTables::kMostQps + 1) << "those together are one";
  EXPECT_EQ(r.tables->other_qps->figures.packets, NicTables::kMostQps - RunTables::kMostQps + kMore);
}

TEST(NicTables, AsManyQpsAsThereAreRowsLeaveNoOthers) {
  Tables t;
  for (std::uint32_t qp = 1; qp <= RunTables::kMostQps; ++qp) t.retire(packet_of(qp));
  const RunResult full = t.result();
  EXPECT_EQ(full.tables->qps.size(), RunTables::kMostQps);
  EXPECT_FALSE(full.tables->other_qps);
  t.retire(packet_of(0xabcdef));
  const RunResult more = t.result();
  EXPECT_EQ(more.tables->qps.size(), RunTables::kMostQps);
  ASSERT_TRUE(more.tables->other_qps);
  EXPECT_EQ(more.tables->other_qps->qps, 1u);
}

TEST(NicTables, WhatIsOrdinaryIsNoIncident) {  // R7
  Tables t;
  t.notify(QpEventKind::kErrorCqe, 1, static_cast<std::uint32_t>(WcStatus::kFlushed));
  t.notify(QpEventKind::kAsync, 1, static_cast<std::uint32_t>(EventType::kCompletion));
  t.notify(QpEventKind::kAsync, 1, static_cast<std::uint32_t>(EventType::kPageRequest));
  for (const QpEventKind kind :
       {QpEventKind::kCnp, QpEventKind::kRnrWait, QpEventKind::kWentBack, QpEventKind::kSentAgain}) {
    t.notify(kind, 1);
  }
  EXPECT_TRUE(t.result().incidents->first.empty());
  t.notify(QpEventKind::kAsync, 1, static_cast<std::uint32_t>(EventType::kQpFatal), 23);
  t.notify(QpEventKind::kErrorCqe, 1, static_cast<std::uint32_t>(WcStatus::kLocalLength), 22, 9);
  AckRequest dropped = packet_of(1);
  dropped.drop_reason = DropReason::kRemoteAccess;
  t.retire(dropped, 10, 21);
  const RunIncidents incidents = *t.result().incidents;
  ASSERT_EQ(incidents.first.size(), 3u);
  EXPECT_EQ(incidents.first[0].kind, "drop");
  EXPECT_EQ(incidents.first[0].cause, "remote_access");
  EXPECT_EQ(incidents.first[0].packet, 7u);
  EXPECT_EQ(incidents.first[0].time_ps, 21 * kPeriodPs);
  EXPECT_EQ(incidents.first[1].packet, 9u);
  EXPECT_EQ(incidents.first[2].cause, "qp_fatal");
  EXPECT_EQ(incidents.counts.size(), 3u);
}

TEST(NicTables, AFrameThatCameToHarmIsAnIncidentAndMakesNoQp) {  // R5, R7
  Tables t;
  const char* const causes[] = {"lost", "corrupted", "duplicated", "reordered", "switch_full"};
  for (std::uint32_t n = 0; n < std::size(causes); ++n) t.notify(QpEventKind::kNetwork, 1, n, 10 + n, 100 + n);
  const RunResult r = t.result();
  ASSERT_EQ(r.incidents->first.size(), std::size(causes));
  for (std::size_t n = 0; n < std::size(causes); ++n) {
    EXPECT_EQ(r.incidents->first[n].kind, "network");
    EXPECT_EQ(r.incidents->first[n].cause, causes[n]);
    EXPECT_EQ(r.incidents->first[n].number, 1u);
    EXPECT_EQ(r.incidents->first[n].packet, 100 + n);
  }
  EXPECT_TRUE(t.of().qps().empty());
}

TEST(NicTables, TheFirstIncidentsAreKept) {  // R7
  constexpr std::uint64_t kAll = RunIncidents::kMost + 250;
  Tables t;
  for (std::uint64_t n = kAll; n > 0; --n) t.notify(QpEventKind::kTimeout, 1, 0, 1000 + n);
  const RunIncidents incidents = *t.result().incidents;
  ASSERT_EQ(incidents.first.size(), RunIncidents::kMost);
  for (std::uint64_t n = 0; n < RunIncidents::kMost; ++n) {
    ASSERT_EQ(incidents.first[n].time_ps, (1001 + n) * kPeriodPs);
  }
  ASSERT_EQ(incidents.counts.size(), 1u);
  EXPECT_EQ(incidents.counts[0], (NamedCount{"timeout", kAll}));
}

TEST(NicTables, ARegionHasWhatIsWithinIt) {
  Tables t;
  t.latencies.set_region(Cycle{100}, Cycle{200});
  for (const std::uint64_t now : {99, 100, 199, 200}) {
    t.retire(packet_of(1), 90, now);
    t.notify(QpEventKind::kTimeout, 1, 0, now);
  }
  const RunResult r = t.result();
  EXPECT_EQ(of_qp(r, 1).packets, 2u);
  EXPECT_EQ(of_qp(r, 1).timeouts, 2u);
  EXPECT_EQ(r.incidents->first.size(), 2u);
}

TEST(NicTables, TheSickestQpComesFirst) {
  Tables t;
  for (std::uint32_t qp = 1; qp <= 6; ++qp) t.retire(packet_of(qp));
  MessageTimes slow;
  slow.qpn = Qpn{6};
  t.of().add_receive(slow, 1'000'000);
  for (int n = 0; n < 9; ++n) t.notify(QpEventKind::kCnp, 5);
  for (int n = 0; n < 3; ++n) t.notify(QpEventKind::kGap, 4, 1);
  for (int n = 0; n < 2; ++n) t.notify(QpEventKind::kNak, 3, rnr_nak(1));
  t.notify(QpEventKind::kNak, 2, kNakRemoteAccess);
  const RunResult r = t.result();
  std::vector<std::uint32_t> order;
  for (const QpRow& row : r.tables->qps) order.push_back(row.qp);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{2, 3, 4, 5, 6, 1}));
}

// Whatever table adds them up, the packets of a run are those of its report.
TEST(NicTables, EachTableHasAllPackets) {
  TrafficConfig config;
  config.rc_qps = 40;
  config.mix = {.send = 2, .write = 1, .read = 1};
  config.max_bytes = 9000;
  constexpr std::uint64_t kPackets = 3000;
  const TrafficRun run(config, kPackets, {}, {Pace::Kind::kLineRate, 0}, "", "tiny");
  NicResult nic;
  run.latencies.collect(nic);
  RunResult r;
  collect_tables(std::array{&run.latencies}, run.sim.engine.clock_period_ps(), r);
  const auto expect_all = [&](const auto& rows) {
    TableFigures sum;
    for (const auto& row : rows) {
      sum.packets += row.figures.packets;
      sum.messages += row.figures.messages;
      sum.not_carried_out += row.figures.not_carried_out;
    }
    EXPECT_EQ(sum.packets, kPackets);
    EXPECT_EQ(sum.messages, run.packets().messages);
    EXPECT_EQ(sum.not_carried_out, run.packets().dropped_total());
  };
  expect_all(r.tables->qps);
  expect_all(r.tables->sizes);
  expect_all(r.tables->opcodes);
  expect_all(r.tables->nics);
  EXPECT_GT(run.packets().dropped_total(), 100u) << "the packet buffer is small";
  EXPECT_EQ(r.tables->qps.size(), config.rc_qps);
  EXPECT_EQ(r.tables->nics[0].figures.p99_ns, nic.latency_ns.p99);
  const AckGeneratorCounters& sent = run.sim.nic.ack_generator.counters();
  EXPECT_EQ(r.incidents->counts,
            (std::vector<NamedCount>{{"drop", run.packets().dropped_total()}, {"nak", sent.naks + sent.rnr_naks}}));
  for (const QpRow& row : r.tables->qps) {
    EXPECT_FALSE(row.peer.empty());
    EXPECT_NE(row.peer_qp, 0u);
  }
}

}  // namespace
}  // namespace rxnic::nic_tables_test
