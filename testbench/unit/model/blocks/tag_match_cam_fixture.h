// SPDX-License-Identifier: Apache-2.0
// A tag matcher with one TM SRQ, and four QPs on it.
#pragma once

#include <gtest/gtest.h>

#include "model/core/responder/responder.h"
#include "model/core/tag_matching/tag_headers.h"
#include "testbench/unit/model/blocks/tag_match_cam_harness.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic::tag_match_cam_test {

inline constexpr std::uint64_t kReadLatency = TagMatchCamLinks{}.read_cycles;
inline constexpr std::uint64_t kExact = ~std::uint64_t{0};
inline constexpr WqId kSrq{3};

inline TagMatchCamParams defaults() {
  TagMatchCamParams p;
  p.entries = 8;
  p.max_tags = 32;
  p.search_cycles = 4;
  p.append_cycles = 1;
  p.overflow_entries_per_read = 4;
  p.unexpected_status = UnexpectedStatus::kTmRecv;
  p.queue_depth = 8;
  p.pipeline_depth = 18;
  return p;
}

struct Fixture : TagMatchCamHarness {
  explicit Fixture(Bench& b, const TagMatchCamParams& params = defaults())
      : TagMatchCamHarness(b, params_with(&Params::tag_match_cam, params)) {
    WqContext srq;
    srq.kind = WqKind::kSrq;
    srq.tag_matching = true;
    srq.number = 9;
    srq.cq = Cqn{50};
    srq.pd = Pdn{60};
    dut.create(kSrq, srq);
    for (std::uint32_t line = 0; line < 4; ++line) {
      QpContext& qp = shared.contexts[line];
      qp.qpn = Qpn{100 + line};
      qp.transport = Transport::kRc;
      qp.state = QpState::kRts;
      qp.tag_matching = qp.uses_srq = true;
      qp.receive_queue = kSrq;
      qp.residence = 1;
    }
  }
  // A packet of the QP on a line, as the checker passes it on.
  WqeRequest of_qp(std::uint32_t line) {
    WqeRequest p;
    p.line = line;
    p.residence = shared.contexts[line].residence;
    describe_qp(p, shared.contexts[line]);
    return p;
  }
  WqeRequest packet(std::uint64_t tag, TmhOpcode opcode = TmhOpcode::kEager, Operation op = Operation::kSendOnly,
                    std::uint32_t line = 0) {
    WqeRequest p = of_qp(line);
    p.buffer = shared.packets.allocate(PacketClass::kReceive);
    p.opcode = opcode_of(Transport::kRc, op);
    p.payload_offset = 64;
    p.payload_bytes = 80;
    build_tmh({static_cast<std::uint8_t>(opcode), 0xabc, tag}, shared.packets[p.buffer].frame.data() + 64);
    p.outcome = Outcome::kExecute;
    p.queue = kSrq;
    p.takes_wqe = p.has(kTakesWqe);
    p.ends_message = p.has(kLast | kOnly);
    p.completes = p.ends_message && p.has(kSend);
    carry_headers(p);
    return p;
  }
  // What the checker reads of the payload.
  void carry_headers(WqeRequest& p) {
    if (begins_tagged_message(p)) read_tag_headers(p, shared.packets[p.buffer].frame.data() + p.payload_offset);
  }
  WqeRequest send(Cycle when, std::uint64_t tag, TmhOpcode opcode = TmhOpcode::kEager,
                  Operation op = Operation::kSendOnly, std::uint32_t line = 0) {
    const WqeRequest p = packet(tag, opcode, op, line);
    in.push(when, p);
    return p;
  }
  TagOperation operation(TagOpcode opcode, std::uint32_t handle, std::uint64_t tag = 0, bool signaled = false) {
    TagOperation op;
    op.opcode = opcode;
    op.signaled = signaled;
    op.srq = kSrq;
    op.wqe_index = 1000 + handle;
    op.entry = {handle, tag, kExact, {4096, 0x777, 0x10000 * (handle + 1ull)}};
    return op;
  }
  void add(Cycle when, std::uint32_t handle, std::uint64_t tag, bool signaled = false) {
    operations.push(when, operation(TagOpcode::kAdd, handle, tag, signaled));
  }
  const WqeRequest& at(std::size_t n) const { return out.value(n); }
  const TagMatchList& list() const { return *model.list(kSrq); }
  // Where the n-th entry that was written to the overflow lies.
  static BusAddress overflow(std::uint32_t n, std::uint32_t max_tags = 32) {
    return icm::kTagOverflow + (std::uint64_t{raw(kSrq)} * 2 * max_tags + n) * sizeof(TagOverflowEntry);
  }
  std::vector<TestMemory::Record> requests(DmaKind kind) const {
    std::vector<TestMemory::Record> found;
    for (const auto& r : memory.log()) {
      if (r.request.kind == kind) found.push_back(r);
    }
    return found;
  }
};

}  // namespace rxnic::tag_match_cam_test
