// SPDX-License-Identifier: Apache-2.0
// What a live run says of itself: the status line, the report of several NICs, numbers for people.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/rxnic/output/status_line.h"
#include "bridge/rxnic/report/report.h"
#include "bridge/rxnic/report/verdict_parameters.h"
#include "model/params/config.h"
#include "model/system/histogram.h"
#include "model/system/units.h"

namespace rxnic::live_report_test {
namespace {

using testing::HasSubstr;

TEST(StatusLine, GivesRatesSinceTheLastOneInModelTime) {
  const LiveFigures before{1'000'000, 100, 5'000, 2};
  const LiveFigures now{3'000'000, 300, 30'000, 2};
  EXPECT_EQ(StatusLine::text(before, now, 0.25),
            "rxnic: 3.00 us of model time, 300 packets, 100 Mpackets/s, 100.00 Gb/s, slowdown 125000, 2 clients");
}

TEST(StatusLine, WithoutPacketsTheModelIsIdle) {
  const LiveFigures figures{5'000'000'000'000, 7, 0, 1};
  EXPECT_EQ(StatusLine::text(figures, figures, 0.25), "rxnic: 5.000 s of model time, 7 packets, idle, 1 client");
}

TEST(Units, NumbersForPeople) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1234567), "1 234 567");
  EXPECT_EQ(with_prefix(12), "12 ");
  EXPECT_EQ(with_prefix(1234567), "1.23 M");
  EXPECT_EQ(time_text(999'999), "1000.0 ns");
  EXPECT_EQ(time_text(12'345'678), "12.35 us");
}

TEST(Histogram, APercentileIsRightWithin04Percent) {
  for (const std::uint64_t value : {1u, 255u, 256u, 830u, 5'119u, 1'000'003u}) {
    Histogram h;
    for (int i = 0; i < 100; ++i) h.add(value);
    h.add(2 * value);  // so that the maximum is not the answer
    EXPECT_GE(h.percentile(0.5), value);
    EXPECT_LE(static_cast<double>(h.percentile(0.5)), static_cast<double>(value) * 1.004);
  }
}

TEST(Histogram, TheSumOfTwoHoldsBoth) {
  Histogram a, b;
  a.add(10);
  b.add(20);
  b.add(1000);
  a.add(b);
  EXPECT_EQ(a.count(), 3u);
  EXPECT_EQ(a.percentile(0.5), 20u);
  EXPECT_EQ(a.max(), 1000u);
}

RunResult two_nics() {
  RunResult r;
  r.command = {"ib_send_bw", "-a"};
  r.programs = {{"ib_send_bw", 0, 1}, {"ib_send_bw", 1, 3}};
  r.config = std::string(kDefaultConfig);
  r.params = load_config();
  r.seed = 9;
  r.mode = "fast";
  r.cycles = 1000;
  r.time_ps = 2'325'000;
  r.packets.seen = r.packets.accepted = 7;
  r.cqes = 5;
  r.one_way_ns = {4, 1, 2, 3, 4, 5};
  r.fabric = {{"frames", 14}};
  for (std::uint64_t n = 1; n <= 2; ++n) {
    NicResult& nic = r.nics.emplace_back();
    nic.packets.seen = nic.packets.accepted = n;
    nic.packets.dropped[1] = n;
    nic.messages = 10 * n;
    nic.cqes = 20 * n;
    nic.bytes = 30 * n;
    nic.latency_ns = {n, n + 1, n + 2, n + 3, n + 4, n + 5};
    nic.one_way_ns = {n, n + 11, n + 12, n + 13, n + 14, n + 15};
    nic.transport = {{"duplicates", n}};
    nic.events = {{"completion", n}};
    nic.blocks = {{"rx_buffer", {}, {{"packets", n}}}, {"requester", {}, {{"wqes", n}}}};
  }
  RunTables& t = r.tables.emplace();
  for (std::uint32_t n = 0; n < 8; ++n) {
    QpRow& row = t.qps.emplace_back();
    row.nic = n % 2;
    row.qp = 0x20 + n;
    row.peer = n == 0 ? "fe80::1234:5678:9abc:def0" : "198.18.0.2";
    row.peer_qp = 0x30 + n;
    row.figures.packets = 100 + n;
    row.figures.payload_gbps = 1.5;
    row.figures.waits_most_at = "dma_engine";
    if (n == 7) continue;  // it is well
    row.figures.naks = {n, 0, 7 - n, 0};
    row.figures.timeouts = 7 - n;
    row.figures.p99_ns = 1234;
    row.figures.latency_count = 1;
  }
  t.other_qps = OtherQps{3, t.qps[0].figures};
  t.sizes.push_back({64, 127, t.qps[1].figures});
  t.opcodes.push_back({"RC SEND_ONLY", t.qps[2].figures});
  for (std::uint32_t n = 0; n < 2; ++n) t.nics.push_back({n, t.qps[n].figures});
  r.incidents = RunIncidents{{{"drop", 1}, {"timeout", 2001}}, {{1'500, 1, "drop", 0x21, 17, "psn_ahead"}}};
  return r;
}

TEST(ReportOfPrograms, ComesBack) {
  const std::string text = report_json(two_nics());
  const RunResult back = parse_report(text, "report.json");
  EXPECT_EQ(report_json(back), text);
  ASSERT_EQ(back.nics.size(), 2u);
  EXPECT_EQ(back.nics[1].one_way_ns.p50, 13u);
  EXPECT_EQ(back.nics[1].blocks[1].counters[0].second, 2u);
  EXPECT_EQ(back.programs[1].clients, 3u);
  ASSERT_TRUE(back.tables && back.tables->other_qps && back.incidents);
  for (std::size_t n = 0; n < 8; ++n) EXPECT_EQ(back.tables->qps[n].figures, two_nics().tables->qps[n].figures);
  EXPECT_EQ(back.tables->qps[3].peer, "198.18.0.2");
  EXPECT_EQ(back.tables->other_qps->qps, 3u);
  EXPECT_EQ(back.tables->sizes[0].bytes_to, 127u);
  EXPECT_EQ(back.tables->opcodes[0].opcode, "RC SEND_ONLY");
  EXPECT_EQ(back.tables->nics[1].figures.timeouts, 6u);
  EXPECT_EQ(back.incidents->counts[1].second, 2001u);
  EXPECT_EQ(back.incidents->first[0].cause, "psn_ahead");
}

TEST(ReportOfPrograms, OneOfAVersionWithoutTablesIsRead) {
  RunResult old = two_nics();
  old.tables.reset();
  old.incidents.reset();
  const RunResult back = parse_report(report_json(old), "report.json");
  EXPECT_FALSE(back.tables || back.incidents);
  EXPECT_THAT(report_summary(back), Not(HasSubstr("sickest")));
}

TEST(ReportOfPrograms, TheSummaryHasTheSickestQps) {
  EXPECT_THAT(report_summary(two_nics()),
              HasSubstr("\nthe sickest QPs\n"
                        "  NIC, QP      peer              packets    NAKs timeout PSN gap  p99 ns\n"
                        "  0, 0x20      ..5678:9abc:def0      100       7       7       0   1 234\n"
                        "  1, 0x21      198.18.0.2            101       6       6       1   1 234\n"
                        "  0, 0x22      198.18.0.2            102       5       5       2   1 234\n"
                        "  1, 0x23      198.18.0.2            103       4       4       3   1 234\n"
                        "  0, 0x24      198.18.0.2            104       3       3       4   1 234\n"
                        "  and 5 more: rxnic report --by qp DIR\n"));
  RunResult well = two_nics();
  well.tables->other_qps.reset();
  for (QpRow& row : well.tables->qps) static_cast<RowCounts&>(row.figures) = {};
  EXPECT_THAT(report_summary(well), Not(HasSubstr("sickest")));
}

TEST(ReportOfPrograms, TheSummaryHasASectionForEachNic) {
  const std::string text = report_summary(two_nics());
  for (const char* part :
       {"rxnic run -- ib_send_bw -a", "2 NICs", "ib_send_bw on NIC 1, 3 times", "NIC 0\n", "NIC 1\n",
        "where the cycles of NIC 1 went",
        "one way, from doorbell          13       14       15       16       17       2\n", "fabric      frames 14"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  RunResult served = two_nics();
  served.command.clear();
  served.nics.pop_back();
  EXPECT_THAT(report_summary(served),
              AllOf(HasSubstr("rxnic serve"), HasSubstr("1 NIC\n"), Not(HasSubstr("\nNIC 0\n"))));
}

TEST(Verdict, EachParameterThatItMayNameIsOneOfTheModel) {
  const Params params = load_config();
  std::size_t named = 0;
  for (const char* block : {"rx_parser", "qp_context_cache", "transport_checker", "tag_match_cam", "srq_wqe_fetcher",
                            "grh_scatter", "address_translator", "dma_engine", "cqe_generator", "ack_generator"}) {
    for (std::size_t a = 0; a < kActivities; ++a) {
      for (const std::string_view name : movers(block, static_cast<Activity>(a))) {
        EXPECT_EQ(verdict_parameter(name, params).name, name);
        ++named;
      }
    }
    EXPECT_FALSE(movers(block, Activity::kBusy).empty()) << block;
  }
  EXPECT_GT(named, 100u);
}

TEST(ReportOfPrograms, NoWallClockIsInIt) {
  for (const char* word : {"wall", "slowdown", "pid"}) {
    EXPECT_THAT(report_json(two_nics()), Not(HasSubstr(std::string("\"") + word)));
  }
}

}  // namespace
}  // namespace rxnic::live_report_test
