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
