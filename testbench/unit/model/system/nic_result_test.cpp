// SPDX-License-Identifier: Apache-2.0
// What a report says of a NIC (model/system/nic_result.h). What was taken back, refused or sent again is not counted as
// done, and each event that came is counted.
#include "model/system/nic_result.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "testbench/unit/model/nic/test_host.h"

namespace rxnic::nic_result_test {
namespace {

constexpr std::uint32_t kPeriodPs = 2325;

using Figures = std::map<std::string, std::uint64_t>;
Figures figures(const std::vector<NamedCount>& counts) { return {counts.begin(), counts.end()}; }

struct NicResultTest : testing::Test {
  Bench bench{EngineMode::kFast, kPeriodPs};
  TwoNics nics{bench};
  TestHost& a = nics.a;
  TestHost& b = nics.b;
  // A WRITE to memory that a peer may not write.
  Work refused_write() {
    const HostRegion source = a.region(64), target = b.region(64, kLocalWrite);
    return {.opcode = SendOpcode::kWrite, .sges = {source.piece(0, 50)}, .va = target.va, .rkey = target.key};
  }
};

TEST_F(NicResultTest, OnlyWhatWasCarriedOutIsAMessage) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion to = b.region(4096);
  const Work write = refused_write();
  for (int n = 0; n < 3; ++n) a.send(*qa, {.inline_data = std::vector<std::uint8_t>(100, 1)});
  bench.at(Cycle{20'000}, [&, peer = qb](Cycle) {  // until then RNR NAKs
    for (int n = 0; n < 3; ++n) b.receive(*peer, to.piece(0, 200));
  });
  bench.at(Cycle{2'000'000}, [&, sender = qa](Cycle) { a.send(*sender, write); });
  bench.run();
  ASSERT_EQ(b.count(WcStatus::kSuccess), 3u);
  const NicResult r = nic_result(b.nic);
  ASSERT_GT(figures(r.transport).at("rnr_naks"), 0u);
  EXPECT_EQ(r.messages, 3u) << "neither the SENDs that got RNR NAKs nor the WRITE";
  EXPECT_EQ(figures(r.transport).at("messages"), 3u);
}

TEST_F(NicResultTest, ARequestThatIsSentAgainIsARepetition) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion to = b.region(4096);
  a.send(*qa, {.inline_data = std::vector<std::uint8_t>(100, 1)});
  bench.at(Cycle{20'000}, [&, peer = qb](Cycle) { b.receive(*peer, to.piece(0, 200)); });
  bench.run();
  const Figures requests = figures(nic_result(a.nic).transport);
  EXPECT_EQ(requests.at("requests_sent"), 1u);
  EXPECT_GT(requests.at("requests_repeated"), 0u);
  EXPECT_EQ(requests.at("requests_repeated"), a.nic.requester->counters().repeated) << "one packet each";
}

TEST_F(NicResultTest, EachKindOfEventIsCounted) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  a.send(*qa, refused_write());
  bench.run();
  for (TestHost* const host : {&a, &b}) {
    Figures came;
    for (const EnumeratorInfo& kind : Enumeration<EventType>::kValues) came[std::string(kind.name)] = 0;
    for (const Event& event : host->events) ++came[std::string(name_of(event.type))];
    EXPECT_EQ(figures(nic_result(host->nic).events), came);
  }
  EXPECT_EQ(figures(nic_result(b.nic).events).at("qp_access_error"), 1u);
}

}  // namespace
}  // namespace rxnic::nic_result_test
