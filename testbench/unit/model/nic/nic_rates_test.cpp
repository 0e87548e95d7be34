// SPDX-License-Identifier: Apache-2.0
// Rates of READs and atomics from many QPs against those published (NUMBERS.md, Inbound rates; Caches and contexts).
#include <algorithm>
#include <vector>

#include "testbench/unit/model/nic/nic_fixture.h"

namespace rxnic::nic_rates_test {
namespace {

class NicRates : public NicTest {
 protected:
  // Millions a second of requests of this kind, `each` from each of `qps`, one after the other on the wire. The first
  // request goes to va + 0, the next to `stride` behind it, and so on.
  double rate(Operation op, std::uint32_t qps, std::uint32_t each, std::uint32_t bytes, std::uint64_t stride) {
    std::vector<const QpContext*> all;
    for (std::uint32_t n = 0; n < qps; ++n) {
      QpContext& q = qp(Transport::kRc, 0x20 + n);
      q.max_dest_rd_atomic = 16;
      all.push_back(&q);
    }
    const Region data = region(64 << 10);
    const auto ask = [&](std::uint32_t psn, std::uint64_t at) {
      return Request{.op = op, .psn = psn, .va = data.va + at % (32 << 10), .rkey = data.key, .length = bytes};
    };
    // Contexts and translations are cached before the measurement.
    for (const QpContext* q : all) send(*q, ask(100, 32 << 10));
    at(100'000);
    std::uint64_t to = 0;
    for (std::uint32_t i = 0; i < each; ++i) {
      for (const QpContext* q : all) send(*q, ask(101 + i, (to += stride)));
    }
    run();
    std::vector<std::uint64_t> ns;
    for (const Answer& a : answers) {
      if (a.ns >= 100'000) ns.push_back(a.ns);
    }
    EXPECT_EQ(ns.size(), std::size_t{qps} * each);
    const std::size_t from = ns.size() / 4, until = ns.size() * 3 / 4;
    const double millions = 1000.0 * static_cast<double>(until - from) / static_cast<double>(ns[until] - ns[from]);
    RecordProperty("millions_a_second", std::to_string(millions));
    return millions;
  }
};

constexpr double kTolerance = 0.1;  // of what is published

TEST_F(NicRates, ShortReadsOfManyQps) {
  EXPECT_NEAR(rate(Operation::kReadRequest, 140, 12, 32, 0), 94.6, 94.6 * kTolerance);
}

TEST_F(NicRates, AtomicsOnOneAddress) { EXPECT_NEAR(rate(Operation::kFetchAdd, 64, 4, 8, 0), 2.24, 2.24 * kTolerance); }

TEST_F(NicRates, AtomicsOnManyAddresses) {
  EXPECT_NEAR(rate(Operation::kFetchAdd, 128, 8, 8, 8), 52.0, 52.0 * kTolerance);
}

TEST_F(NicRates, AtomicsOnAddressesOfOneBucket) {  // 4,096 buckets of 8 bytes: 32 KiB apart
  EXPECT_NEAR(rate(Operation::kFetchAdd, 64, 4, 8, 32 << 10), 2.24, 2.24 * kTolerance);
}

}  // namespace
}  // namespace rxnic::nic_rates_test
