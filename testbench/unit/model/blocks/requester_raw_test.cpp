// SPDX-License-Identifier: Apache-2.0
// RAW_PACKET (R11 of core/requester/send_qp.h): frames as they are.
#include "testbench/unit/model/blocks/requester_fixture.h"

namespace rxnic::requester_raw_test {
namespace {

using Fixture = RequesterFixture;
using Ends = std::vector<Fixture::Ended>;

constexpr std::uint32_t kMost = 4118;

SendQpContext raw_context() {
  SendQpContext c = Fixture::context(Transport::kRaw);
  c.qp.mtu = kMost;
  c.path = {};
  return c;
}
WqeSpec from_memory(std::uint32_t bytes, std::uint8_t flags = kSendSignaled) {
  WqeSpec spec;
  spec.flags = flags;
  spec.sge = {Fixture::segment(bytes)};
  return spec;
}

TEST(RequesterRaw, TheMessageIsTheFrame) {
  for (const std::uint32_t bytes : {14u, 59u, 60u, 61u, 1514u, kMost}) {
    Bench bench;
    Fixture f(bench);
    f.create(raw_context());
    f.post(10, {from_memory(bytes)});
    bench.run();
    ASSERT_EQ(f.tx.size(), 1u);
    const Packet& p = f.sent(0);
    EXPECT_EQ(p.frame_bytes, std::max(bytes, 60u));
    EXPECT_EQ(f.tx.value(0).bytes, p.frame_bytes);
    EXPECT_EQ(f.tx.value(0).link, LinkLayer::kEthernet);
    for (std::uint32_t n = 0; n < p.frame_bytes; ++n) {
      ASSERT_EQ(p.frame[n], n < bytes ? Fixture::byte_at(n) : 0) << n << " of " << bytes;
    }
    EXPECT_EQ(p.destination.kind, Address::Kind::kNone);
    EXPECT_FALSE(p.sealed) << "an ICRC, where it has one, is the program's";
    EXPECT_EQ(f.ended(), (Ends{{0, WcStatus::kSuccess}})) << "when it has left";
    EXPECT_EQ(f.notices.size(), 0u) << "nobody answers it";
  }
}

TEST(RequesterRaw, InlineDataIsAFrameToo) {
  Bench bench;
  Fixture f(bench);
  f.create(raw_context());
  WqeSpec spec = inline_send();
  spec.inline_data.assign(20, 0x5a);
  f.post(10, {spec});
  bench.run();
  ASSERT_EQ(f.tx.size(), 1u);
  for (std::uint32_t n = 0; n < 60; ++n) EXPECT_EQ(f.sent(0).frame[n], n < 20 ? 0x5a : 0) << n;
}

TEST(RequesterRaw, WhatIsNoFrameIsALengthError) {
  for (const std::uint32_t bytes : {0u, 13u, kMost + 1}) {
    Bench bench;
    Fixture f(bench);
    f.create(raw_context());
    f.post(10, {from_memory(bytes)});
    bench.run();
    EXPECT_EQ(f.tx.size(), 0u);
    EXPECT_EQ(f.ended(), (Ends{{0, WcStatus::kLocalLength}})) << bytes;
  }
}

}  // namespace
}  // namespace rxnic::requester_raw_test
