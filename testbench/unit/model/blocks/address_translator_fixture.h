// SPDX-License-Identifier: Apache-2.0
// A harness for model/blocks/address_translator.h.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "model/blocks/address_translator.h"
#include "model/core/responder/refusal.h"
#include "model/nic/nic_shared.h"
#include "testbench/unit/model/engine/harness.h"
#include "testbench/unit/request_packets.h"

namespace rxnic {

inline AddressTranslatorParams small_translator() {
  AddressTranslatorParams p;
  p.mpt_sets = 16;
  p.mpt_ways = 2;
  p.mtt_sets = 16;
  p.mtt_ways = 2;
  p.hit_cycles = 2;
  p.walks_in_flight = 8;
  return p;
}

using Segments = std::vector<ScatteredSegment>;     // of one packet
using GatherSegments = std::vector<GatherSegment>;  // of one response

struct AddressTranslatorFixture {
  static constexpr Pdn kPd{7};
  static constexpr std::uint64_t kLatency = 100;  // of the test memory, from taking a request to its completion
  // From a walk's start to the cycle in which the entry that it read is used.
  static constexpr std::uint64_t kWalk = kLatency + 2;

  explicit AddressTranslatorFixture(Bench& b, const AddressTranslatorParams& params = small_translator(),
                                    WqeErrorStatus wqe_error = {})
      : bench(b),
        host(b.keep<LocalMemory>()),
        shared(b.keep<NicShared>(PacketPool::Quotas{})),
        dut(b.add<AddressTranslator>("dut", params, shared.packets, wqe_error)),
        in(b.source(dut.in)),
        out(b.sink(dut.out)),
        gather_in(b.source(dut.gather_in)),
        gather_out(b.sink(dut.gather_out)),
        memory(b.memory(dut.dma, dut.dma_done, host, kLatency)),
        commands(b.source(dut.commands)),
        command_replies(b.sink(dut.command_replies)),
        page_requests(b.sink(dut.page_requests)),
        page_replies(b.source(dut.page_replies)),
        rc(place_qp(shared, test_qp(Transport::kRc))),
        uc(place_qp(shared, test_qp(Transport::kUc))) {}
  // The region is freed, or changed to another; the block sees it from cycle `at` + 1 on.
  void invalidate(Cycle at, const MptEntry& e) {
    commands.push(at, {Key{e.key}, e.page_shift, e.va, e.length, BusAddress{e.mtt_base}});
  }
  static Key key(std::uint32_t n) { return Key{n << 8 | 0x42}; }
  static std::uint64_t va(std::uint32_t n) { return std::uint64_t{n} << 32; }
  static BusAddress bus(std::uint32_t n, std::uint64_t page, std::uint64_t offset = 0) {
    return BusAddress{0x1'0000'0000u * n + 0x100'0000u + page * 0x2000u + offset};
  }
  // Region n: `pages` pages of 4 KiB at va(n), page i at bus(n, i).
  MptEntry region(std::uint32_t n, std::uint8_t access = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic,
                  std::uint64_t pages = 16) {
    MptEntry e;
    e.key = raw(key(n));
    e.valid = 1;
    e.access = access;
    e.pd = raw(kPd);
    e.va = va(n);
    e.length = pages * 4096;
    e.mtt_base = raw(icm::kMtt) + std::uint64_t{n} * 0x10000;
    host.store(mpt_address(key(n)), e);
    for (std::uint64_t i = 0; i < pages; ++i) host.store(BusAddress{e.mtt_base + 8 * i}, raw(bus(n, i)));
    return e;
  }
  // A packet that writes nothing.
  Segments packet(QpContext& qp, Operation operation, Outcome outcome = Outcome::kExecute) {
    ScatteredSegment s;
    s.buffer = shared.packets.allocate(PacketClass::kReceive);
    s.opcode = opcode_of(qp.transport, operation);
    s.transport = qp.transport;
    s.qpn = qp.qpn;
    s.line = qp.line;
    s.residence = qp.residence;
    s.message_sequence = ++qp.messages;
    s.outcome = outcome;
    s.acknowledge = is_reliable(qp.transport);
    s.pd = kPd;
    return {s};
  }
  static void add(Segments& p, Key key, std::uint64_t va, std::uint32_t bytes) {
    if (p.back().bytes > 0) {
      p.push_back(p.back());
      p.back().first = p[p.size() - 2].last = false;
      p.back().offset = static_cast<std::uint16_t>(p.back().offset + p.back().bytes);
    }
    p.back().key = key;
    p.back().va = va;
    p.back().bytes = bytes;
  }
  // A SEND with one segment in each of `pages` of region n.
  Segments send(QpContext& qp, std::uint32_t n, const std::vector<std::uint64_t>& pages, std::uint32_t bytes = 64) {
    Segments p = packet(qp, Operation::kSendOnly);
    for (const std::uint64_t page : pages) add(p, key(n), va(n) + 4096 * page + 16, bytes);
    return p;
  }
  Segments send(std::uint32_t n, const std::vector<std::uint64_t>& pages, std::uint32_t bytes = 64) {
    return send(rc, n, pages, bytes);
  }
  // A packet that names a range of region n: of `range` bytes, of which it writes `bytes`.
  Segments with_range(QpContext& qp, Operation operation, std::uint32_t n, std::uint64_t offset, std::uint32_t range,
                      std::uint8_t access, Outcome outcome = Outcome::kExecute) {
    Segments p = packet(qp, operation, outcome);
    p[0].local_key = key(n);
    p[0].local_va = va(n) + offset;
    p[0].local_bytes = range;
    p[0].access = access;
    return p;
  }
  Segments write(QpContext& qp, std::uint32_t n, std::uint64_t offset, std::uint32_t bytes, std::uint32_t range) {
    Segments p = with_range(qp, Operation::kWriteOnly, n, offset, range, kRemoteWrite);
    for (std::uint32_t done = 0; done < bytes;) {
      const std::uint64_t at = va(n) + offset + done;
      const auto piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes - done, 4096 - at % 4096));
      add(p, key(n), at, piece);
      done += piece;
    }
    return p;
  }
  Segments write(QpContext& qp, std::uint32_t n, std::uint64_t offset, std::uint32_t bytes) {
    return write(qp, n, offset, bytes, bytes);
  }
  // A READ response being built, from `pages` of region n.
  GatherSegments response(std::uint32_t n, const std::vector<std::uint64_t>& pages, std::uint32_t bytes = 64) {
    GatherSegments r;
    const PacketHandle buffer = shared.packets.allocate(PacketClass::kReceive);
    for (const std::uint64_t page : pages) {
      const auto offset = static_cast<std::uint16_t>(58 + bytes * r.size());
      r.push_back({buffer, false, offset, rc.qpn, kPd, key(n), va(n) + 4096 * page + 16, bytes});
    }
    r.back().last = true;
    return r;
  }
  void push(Cycle when, const Segments& p) {
    for (const ScatteredSegment& s : p) in.push(when, s);
  }
  void push(Cycle when, const GatherSegments& r) {
    for (const GatherSegment& s : r) gather_in.push(when, s);
  }
  // The segments of a packet that left the block.
  std::vector<SegmentWrite> left(const Segments& p) const {
    std::vector<SegmentWrite> found;
    std::copy_if(out.values().begin(), out.values().end(), std::back_inserter(found),
                 [&](const SegmentWrite& w) { return w.buffer == p[0].buffer; });
    return found;
  }
  SegmentWrite only(const Segments& p) const {  // of a packet that leaves as one segment
    const std::vector<SegmentWrite> found = left(p);
    EXPECT_EQ(found.size(), 1u);
    if (found.size() != 1) return {};
    EXPECT_TRUE(found[0].last);
    return found[0];
  }
  std::size_t packets_out() const {
    return static_cast<std::size_t>(
        std::count_if(out.values().begin(), out.values().end(), [](const SegmentWrite& w) { return w.last; }));
  }
  std::size_t responses_out() const {
    return static_cast<std::size_t>(std::count_if(gather_out.values().begin(), gather_out.values().end(),
                                                  [](const GatherRead& r) { return r.last; }));
  }

  Bench& bench;
  LocalMemory& host;
  NicShared& shared;
  AddressTranslator& dut;
  Source<ScatteredSegment>& in;
  Sink<SegmentWrite>& out;
  Source<GatherSegment>& gather_in;
  Sink<GatherRead>& gather_out;
  TestMemory& memory;
  Source<RegionCommand>& commands;
  Sink<RegionReply>& command_replies;
  Sink<Event>& page_requests;
  Source<Doorbell>& page_replies;
  QpContext& rc;
  QpContext& uc;
};

}  // namespace rxnic
