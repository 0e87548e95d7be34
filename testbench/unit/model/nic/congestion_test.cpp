// SPDX-License-Identifier: Apache-2.0
// Congestion from end to end: NICs that all write to one, a switch that marks, pauses or drops, CNPs, and requesters
// that slow down.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/params/config.h"
#include "testbench/unit/model/nic/test_host.h"

namespace rxnic::congestion_test {
namespace {

constexpr std::uint32_t kPeriodPs = 2325;
using Overrides = std::vector<std::string>;

const Overrides kMarks{"fabric.ecn_threshold_bytes=20000"};
const Overrides kDrops{"fabric.switch_full=drop", "fabric.switch_buffer_bytes=16384"};

// kSenders NICs, each with a QP that writes to the last NIC.
class Incast {
 public:
  static constexpr std::uint32_t kSenders = 3;

  Incast(Bench& bench, const Overrides& overrides, std::uint32_t messages, std::uint32_t bytes,
         FabricObserver* observer = nullptr)
      : params(load_config("nic_100g_gen3", overrides)), fabric("fabric", params, bench.engine(), kSenders + 1) {
    fabric.set_observer(observer);
    for (std::uint32_t n = 0; n <= kSenders; ++n) {
      hosts.push_back(std::make_unique<TestHost>(("host_" + std::to_string(n)).c_str(), bench, params, n));
      fabric.attach(hosts[n]->nic, {TestHost::mac(n), {TestHost::address(n)}});
    }
    const Cqn cq = receiver().cq();
    for (std::uint32_t n = 0; n < kSenders; ++n) {
      HostQp& from = hosts[n]->qp(Transport::kRc, hosts[n]->cq());
      HostQp& to = receiver().qp(Transport::kRc, cq);
      hosts[n]->connect(from, kSenders, to);
      receiver().connect(to, n, from);
      const HostRegion source = hosts[n]->region(bytes), target = receiver().region(bytes);
      std::vector<std::uint8_t> data(bytes);
      for (std::uint32_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(n + i * 7 + (i >> 8) * 29);
      hosts[n]->write(source.va, data);
      checks.emplace_back([this, target, data] { EXPECT_EQ(receiver().read(target.va, data.size()), data); });
      for (std::uint32_t m = 0; m < messages; ++m) {
        hosts[n]->send(from,
                       {.opcode = SendOpcode::kWrite, .sges = {source.whole()}, .va = target.va, .rkey = target.key});
      }
    }
    bench.run();
    end = bench.engine().now();
    expect_all_done(messages);
  }
  TestHost& receiver() { return *hosts.back(); }
  const RequesterPorts& requester(std::uint32_t n) { return *hosts[n]->nic.requester; }
  std::uint64_t sum(std::uint64_t RequesterCounters::*counter) {
    std::uint64_t all = 0;
    for (std::uint32_t n = 0; n < kSenders; ++n) all += requester(n).counters().*counter;
    return all;
  }
  const AckGeneratorCounters& acks() { return receiver().nic.ack_generator.counters(); }
  // What a report would show of it all.
  std::vector<std::uint64_t> figures() {
    std::vector<std::uint64_t> all{fabric.counters().ecn_marked,
                                   fabric.counters().dropped,
                                   fabric.counters().paused,
                                   acks().cnps,
                                   acks().cnps_paced,
                                   acks().cnps_refused};
    for (const auto& host : hosts) {
      const RequesterCounters& c = host->nic.requester->counters();
      all.insert(all.end(), {c.cnps, c.paced, c.rate_increases, c.rate_recoveries, c.repeated});
      for (const HostCompletion& done : host->completions) all.push_back(done.seen.count);
    }
    return all;
  }

  Params params;
  Fabric fabric;
  std::vector<std::unique_ptr<TestHost>> hosts;
  std::vector<std::function<void()>> checks;
  Cycle end{};

 private:
  void expect_all_done(std::uint32_t messages) {
    EXPECT_TRUE(fabric.idle());
    for (const auto& check : checks) check();
    for (std::uint32_t n = 0; n < kSenders; ++n) {
      EXPECT_EQ(hosts[n]->completions.size(), messages);
      EXPECT_EQ(hosts[n]->count(WcStatus::kSuccess), messages);
    }
    for (const auto& host : hosts) {
      EXPECT_EQ(host->nic.shared.packets.in_use(), 0u);
      const LedgerCounters& ledger = host->nic.shared.ledger.counters();
      EXPECT_EQ(ledger.seen, ledger.accepted + ledger.dropped_total());
      host->expect_canaries();
    }
  }
};

Overrides operator+(Overrides a, const Overrides& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Congestion, WithoutAThresholdThereIsNone) {
  Bench bench{EngineMode::kFast, kPeriodPs};
  Incast incast(bench, {}, 2, 100'000);
  EXPECT_EQ(incast.fabric.counters().ecn_marked, 0u);
  EXPECT_EQ(incast.fabric.counters().dropped, 0u);
  EXPECT_EQ(incast.acks().cnps, 0u);
  EXPECT_EQ(incast.sum(&RequesterCounters::paced), 0u);
}

TEST(Congestion, MarksGiveCnpsThatSlowTheSenders) {
  std::uint64_t paused = 0;
  const Overrides small{"fabric.switch_buffer_bytes=32768"};
  {
    Bench bench{EngineMode::kFast, kPeriodPs};
    paused = Incast(bench, small, 6, 200'000).fabric.counters().paused;
  }
  Bench bench{EngineMode::kFast, kPeriodPs};
  Incast incast(bench, small + kMarks, 6, 200'000);
  const FabricCounters& fabric = incast.fabric.counters();
  EXPECT_GT(fabric.ecn_marked, 100u);
  EXPECT_EQ(incast.receiver().nic.rx_parser.counters().ecn_marked, fabric.ecn_marked);
  EXPECT_GT(incast.acks().cnps, 10u);
  EXPECT_EQ(incast.acks().cnps + incast.acks().cnps_paced, fabric.ecn_marked) << "each marked packet is accounted for";
  EXPECT_EQ(incast.sum(&RequesterCounters::cnps), incast.acks().cnps);
  EXPECT_GT(incast.sum(&RequesterCounters::paced), 100u);
  EXPECT_GT(incast.sum(&RequesterCounters::rate_increases), 20u);
  EXPECT_LT(fabric.paused, paused) << "fewer pauses than without congestion control";
  EXPECT_EQ(fabric.dropped, 0u);
  EXPECT_EQ(incast.sum(&RequesterCounters::repeated), 0u) << "nothing is lost";
}

// 39 MB to one receiver, marked from 100 KB on.
TEST(Congestion, AnIncastWithMarksKeepsTheLineBusy) {
  Bench bench{EngineMode::kFast, kPeriodPs};
  Incast incast(bench, {"fabric.ecn_threshold_bytes=100000"}, 13, 1'000'000);
  EXPECT_GT(incast.fabric.counters().ecn_marked, 100u);
  const double gbps = 39e6 * 8 * 1000 / (static_cast<double>(incast.end.count) * kPeriodPs);
  RecordProperty("gbps", std::to_string(gbps));
  EXPECT_GT(gbps, 60.0);
}

TEST(Congestion, CnpsAreAtLeastTheirIntervalApart) {
  struct Wire final : FabricObserver {
    void on_frame(std::uint32_t from, std::uint32_t to, Bytes frame, std::uint64_t time_ps) override {
      Headers h;
      ASSERT_EQ(parse(frame, LinkLayer::kEthernet, h), ParseStatus::kOk);
      if (h.opcode != kOpcodeCnp) return;
      EXPECT_EQ(from, Incast::kSenders);
      if (last.contains(to)) {
        EXPECT_GE(time_ps + 100'000, last[to] + 4'000'000) << "but for the wait for the line";
      }
      last[to] = time_ps;
    }
    std::map<std::uint32_t, std::uint64_t> last;
  } wire;
  Bench bench{EngineMode::kFast, kPeriodPs};
  Incast incast(bench, kMarks, 4, 200'000, &wire);
  EXPECT_EQ(wire.last.size(), Incast::kSenders);
}

TEST(Congestion, WithoutDcqcnPacketsAreNotCapable) {
  Bench bench{EngineMode::kFast, kPeriodPs};
  Incast incast(bench, kMarks + Overrides{"requester.dcqcn=false"}, 4, 200'000);
  EXPECT_EQ(incast.fabric.counters().ecn_marked, 0u);
  EXPECT_EQ(incast.acks().cnps, 0u);
}

TEST(Congestion, WhatTheSwitchDropsIsRepeated) {
  Bench bench{EngineMode::kFast, kPeriodPs};
  Incast incast(bench, kDrops, 2, 100'000);
  EXPECT_GT(incast.fabric.counters().dropped, 0u);
  EXPECT_EQ(incast.fabric.counters().paused, 0u);
  EXPECT_GT(incast.sum(&RequesterCounters::repeated), 0u);
}

TEST(Congestion, ModesAndOrdersAgree) {
  for (const Overrides& overrides : {kMarks, kMarks + kDrops}) {
    expect_equal_in_all_orders(
        [&](Bench& bench) {
          Incast incast(bench, overrides, 2, 100'000);
          EXPECT_GT(incast.fabric.counters().ecn_marked, 0u);
          EXPECT_GT(incast.sum(&RequesterCounters::paced), 0u);
          return bench.state_hash();
        },
        kPeriodPs);
  }
}

// Frames are lost, corrupted and marked, and requesters and ACK generators build all of them. (fabric.h R16)
TEST(Congestion, NoResultDependsOnWhetherOwnIcrcsAreChecked) {
  const Overrides network{"fabric.corrupt_ppm=20000", "fabric.loss_ppm=5000", "fabric.mark_ppm=10000",
                          "fabric.duplicate_ppm=10000"};
  const auto run = [&](const std::string& check, std::uint64_t& hash) {
    Bench bench{EngineMode::kFast, kPeriodPs};
    Incast incast(bench, network + Overrides{"fabric.check_own_icrc=" + check}, 8, 100'000);
    std::vector<std::uint64_t> figures = incast.figures();
    std::uint64_t dropped = 0;
    for (const auto& host : incast.hosts) {
      const std::uint64_t errors = host->nic.rx_parser.counters().icrc_errors;
      EXPECT_EQ(host->nic.shared.ledger.counters().dropped[static_cast<std::size_t>(DropReason::kIcrc)], errors);
      dropped += errors;
    }
    EXPECT_GT(dropped, 0u);
    EXPECT_EQ(dropped, incast.fabric.counters().corrupted);
    figures.push_back(incast.end.count);
    hash = bench.state_hash();
    return figures;
  };
  std::uint64_t without = 0, with = 0;
  EXPECT_EQ(run("false", without), run("true", with));
  EXPECT_EQ(without, with);
}

// Each of these changes what a report shows. The other parameters of the rate: send_rate_test.cpp.
TEST(Congestion, ParametersActOnFigures) {
  const Overrides base = kMarks + Overrides{"fabric.switch_buffer_bytes=32768",
                                            "requester.dcqcn_alpha_timer_ps=3000000",
                                            "requester.dcqcn_increase_timer_ps=2000000",
                                            "requester.dcqcn_increase_bytes=4096",
                                            "requester.dcqcn_fast_stages=1",
                                            "requester.dcqcn_additive_mbps=100",
                                            "requester.dcqcn_hyper_mbps=1000",
                                            "ack_generator.cnp_interval_ps=8000000"};
  const auto figures = [](const Overrides& overrides) {
    Bench bench{EngineMode::kFast, kPeriodPs};
    return Incast(bench, overrides, 2, 200'000).figures();
  };
  const std::vector<std::uint64_t> before = figures(base);
  for (const std::string other :
       {"fabric.ecn_threshold_bytes=40000", "fabric.switch_full=drop", "ack_generator.cnp_interval_ps=4000000",
        "ack_generator.cnp_scope=port", "ack_generator.cnp_timers=1", "requester.dcqcn=false",
        "requester.dcqcn_increase_timer_ps=1000000", "requester.dcqcn_increase_bytes=8192"}) {
    EXPECT_NE(figures(base + Overrides{other}), before) << other;
  }
  const Overrides unpaced = base + Overrides{"ack_generator.cnp_interval_ps=0", "ack_generator.response_cycles=64"};
  EXPECT_NE(figures(unpaced + Overrides{"ack_generator.cnp_depth=1"}), figures(unpaced));
}

}  // namespace
}  // namespace rxnic::congestion_test
