// SPDX-License-Identifier: Apache-2.0
// Memories of the NIC that are filled to their size, and drained again.
#include <set>

#include "testbench/unit/model/nic/nic_fixture.h"

namespace rxnic::nic_sizes_test {
namespace {

using Op = Operation;

constexpr std::uint8_t kRnr = 0x20 | kRnrTimer;

class NicSizes : public NicTest {
 protected:
  // `n` QPs on one SRQ, with a buffer of `bytes` for each.
  void make(std::uint32_t n, std::uint32_t bytes) {
    Queue& queue = srq(7, WqLayout::kCyclic, 64);
    buffer = buffers(queue, n, bytes);
    for (std::uint32_t i = 0; i < n; ++i) qps.push_back(&qp(Transport::kRc, 0x21 + i, &queue));
  }
  std::vector<DataSegment> buffer;
  std::vector<QpContext*> qps;
};

TEST_F(NicSizes, LinksHaveTheirDepths) {
  set("nic.doorbell_depth=3");
  set("nic.event_depth=5");
  set("nic.notice_depth=7");
  set("ack_generator.packet_buffers=3");
  Nic& nic = sim().nic;
  for (const auto* link : {&nic.send_doorbells, &nic.receive_doorbells, &nic.completion_doorbells}) {
    EXPECT_EQ(link->capacity(), 3u);
  }
  EXPECT_EQ(nic.tag_operations.capacity(), 3u);
  std::set<std::string> event_links;
  for (const auto& link : nic.links()) {
    const std::string name = link->basename();
    if (name == "srq_wqe_fetcher_events" || name == "cqe_generator_events") {
      event_links.insert(name);
      EXPECT_EQ(link->capacity(), 5u) << name;
    }
  }
  EXPECT_EQ(event_links.size(), 2u);
  EXPECT_EQ(nic.requests.capacity(), 7u);
  EXPECT_EQ(nic.commands.capacity(), 7u);
  PacketPool& packets = nic.shared.packets;
  std::vector<PacketHandle> taken;
  while (packets.available(PacketClass::kResponse)) taken.push_back(packets.allocate(PacketClass::kResponse));
  EXPECT_EQ(taken.size(), 3u);
  for (const PacketHandle h : taken) packets.release(h);
}

// Messages of three packets, interleaved, of more QPs than the store has entries. Messages that get an entry end; the
// others are refused with RNR NAKs and succeed when they come again.
TEST_F(NicSizes, MoreOpenMessagesThanTheStoreHasEntries) {
  set("srq_wqe_fetcher.wqe_store_entries=2");
  set("srq_wqe_fetcher.wqe_store_share=0");
  constexpr std::uint32_t kQps = 5, kBytes = 2 * kMtu + 7;
  make(kQps, kBytes);
  const auto part = [&](std::uint32_t qp, std::uint32_t n) {
    const Op op = n == 0 ? Op::kSendFirst : n == 1 ? Op::kSendMiddle : Op::kSendLast;
    return send(*qps[qp], {.op = op, .psn = kFirstPsn + n, .bytes = n == 2 ? 7 : kMtu});
  };
  for (std::uint32_t n = 0; n < 3; ++n) {
    at(n * 20'000);
    for (std::uint32_t qp = 0; qp < kQps; ++qp) part(qp, n);
  }
  std::uint32_t next_buffer = 2;
  for (std::uint32_t qp = 2; qp < kQps; ++qp) {
    at(100'000 + qp * 20'000);
    ByteVector all;
    for (std::uint32_t n = 0; n < 3; ++n) {
      const ByteVector bytes = part(qp, n);
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    expect_written(buffer[next_buffer++].address, all);
  }
  for (std::uint32_t qp = 0; qp < 2; ++qp) {
    ByteVector all;
    for (std::uint32_t n = 0; n < 3; ++n) {
      const ByteVector bytes = pattern(kFirstPsn + n, n == 2 ? 7 : kMtu);
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    expect_written(buffer[qp].address, all);
  }
  run();
  EXPECT_EQ(dropped(DropReason::kWqeStoreFull), 3u);
  EXPECT_EQ(std::count_if(answers.begin(), answers.end(), [](const Answer& a) { return a.h.syndrome == kRnr; }), 3);
  ASSERT_EQ(cqes.size(), kQps);
  for (std::uint32_t n = 0; n < kQps; ++n) expect_receive(n, 0x21 + n, n, kBytes);
}

// Single packets at line rate, which PCIe carries more slowly: the store fills and drains, and no packet is refused.
TEST_F(NicSizes, AFullStoreWaitsAndDrains) {
  set("srq_wqe_fetcher.wqe_store_entries=2");
  set("srq_wqe_fetcher.wqe_store_share=0");
  constexpr std::uint32_t kMessages = 40;
  make(kMessages, 64);
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    expect_written(buffer[i].address, send(*qps[i], {.psn = kFirstPsn, .bytes = 64}));
  }
  run();
  EXPECT_EQ(ledger().dropped_total(), 0u);
  ASSERT_EQ(cqes.size(), kMessages);
  sim().nic.srq_wqe_fetcher.settle(sim().engine.now());
  const auto waited = static_cast<std::size_t>(Activity::kWaitWqeStore);
  EXPECT_GT(sim().nic.srq_wqe_fetcher.account()[waited], kMessages);
}

}  // namespace
}  // namespace rxnic::nic_sizes_test
