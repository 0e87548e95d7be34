// SPDX-License-Identifier: Apache-2.0
// A whole NIC with its host, for tests that check only what a user sees. This is responses on the wire, completions,
// events, bytes in host memory, the account of packets.
//
//   R1  set() comes first; the NIC is built when the first object is made. Frames, doorbells and operations come at the
//       times given (`at`), frames of one time back to back at line rate.
//   R2  Regions lie on pages that are neither contiguous nor in order, with unused pages between. Every byte of every
//       page starts as a canary and must be what expect_written() said, or still the canary, when the test ends.
//   R3  When the test ends no packet is left in the NIC, and every packet is accounted for once. WQEs are held only by
//       the messages that the test left unfinished.
//   R4  Payloads are made of the PSN, so that each packet's bytes differ.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/core/receive_queue/wqe_format.h"
#include "model/core/wire/icrc.h"
#include "model/params/config.h"
#include "model/system/simulation.h"
#include "model/types/syndrome.h"
#include "testbench/unit/model/nic/model_blocks.h"
#include "testbench/unit/request_packets.h"

namespace rxnic {

using ByteVector = std::vector<std::uint8_t>;

inline constexpr Pdn kPd{1};
inline constexpr Pdn kOtherPd{2};
inline constexpr Xrcdn kXrcd{5};
inline constexpr Cqn kRecvCq{1};
inline constexpr Cqn kSendCq{2};
inline constexpr Cqn kSrqCq{3};
inline constexpr std::uint32_t kMtu = 1024;
inline constexpr std::uint32_t kQkeyOfAll = 0x11111111;
inline constexpr std::uint8_t kRnrTimer = 9;
inline constexpr std::uint8_t kAllRights = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic | kRemoteFlush;

// Bytes of the packet with that PSN.
inline ByteVector pattern(std::uint32_t psn, std::size_t bytes) {
  ByteVector v(bytes);
  for (std::size_t i = 0; i < bytes; ++i) v[i] = static_cast<std::uint8_t>(psn * 37 + 11 + i * 7 + (i >> 8) * 29);
  return v;
}
inline ByteVector little_endian(std::uint64_t value) {
  ByteVector v(8);
  for (int i = 0; i < 8; ++i) v[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(value >> (8 * i));
  return v;
}

// Calls functions at given times, as drivers and programs act.
class FrameScript final : public Block {
 public:
  explicit FrameScript(const sc_core::sc_module_name& name) : Block(name) {}
  void at(Cycle when, std::function<void(Cycle)> what) { todo_.emplace(when, std::move(what)); }
  Cycle step(Cycle now) override {
    while (!todo_.empty() && todo_.begin()->first <= now) {
      todo_.begin()->second(now);
      todo_.erase(todo_.begin());
    }
    return rest(now, Activity::kBusy, todo_.empty() ? kNever : todo_.begin()->first);
  }

 private:
  std::multimap<Cycle, std::function<void(Cycle)>> todo_;
};

struct Region {
  Key key{};
  std::uint64_t va = 0;
  std::uint32_t bytes = 0;
  DataSegment piece(std::uint64_t offset, std::uint32_t n) const { return {n, raw(key), va + offset}; }
  DataSegment whole() const { return piece(0, bytes); }
};
struct RegionOptions {
  std::uint8_t access = kAllRights;
  Pdn pd = kPd;
  std::uint32_t offset = 0;  // of the region's start in its first page
  MemoryKind kind = MemoryKind::kRegion;
  Qpn window_qp{};
};

struct Queue {
  WqId id = kNoWq;
  WqContext context;
  std::uint32_t posted = 0;
  std::uint32_t rung = 0;
};

// A request packet; fields that are not given are those that a correct requester would send.
struct Request {
  Operation op = Operation::kSendOnly;
  std::uint32_t psn = 0;
  std::size_t bytes = 0;  // of payload
  int ack = -1;           // BTH.A; -1: at a message's end
  std::uint64_t va = 0;
  Key rkey{};
  std::uint32_t length = 0;
  std::uint64_t swap_add = 0, compare = 0;
  std::uint32_t immediate = 0;
  std::uint32_t srq = 0;
  bool solicited = false;
  std::uint32_t qkey = kQkeyOfAll;
  Encapsulation encapsulation = Encapsulation::kRoceV2Ipv4;
  ByteVector payload{};  // instead of the pattern
  std::function<void(Headers&)> amend{};
  std::function<void(ByteVector&, const Headers&)> damage{};  // of the sealed frame
};

struct Answer {
  Headers h;
  ByteVector payload;
  std::uint64_t ns = 0;
  bool is(Operation o) const { return opcode_info(h.opcode).operation == o; }
};
struct Completion {
  Cqn cq{};
  Cqe cqe;
  std::uint64_t ns = 0;
};

class NicTest : public testing::Test, StimulusStream, FrameObserver, CqeObserver {
 protected:
  // ---- Set-up.
  void set(const std::string& override) { overrides_.push_back(override); }
  Simulation& sim() {
    if (sim_ != nullptr) return *sim_;
    Simulation::Options o;
    o.params = load_config("nic_100g_gen3", overrides_);
    o.mode = mode_;
    o.frames = this;
    o.cqes = this;
    period_ps_ = o.params.nic.clock_period_ps;
    sim_ = std::make_unique<Simulation>(o, static_cast<StimulusStream&>(*this));
    script_ = std::make_unique<FrameScript>("script");
    sim_->engine.add_outside(*script_);
    for (const Cqn cq : {kRecvCq, kSendCq, kSrqCq}) this->cq(cq, 256);
    return *sim_;
  }
  void cq(Cqn number, std::uint32_t slots, const std::function<void(CqContext&)>& amend = {}) {
    CqContext c;
    c.number = number;
    c.base = BusAddress{0x9'0000'0000u + raw(number) * 0x10'0000u};
    c.slots = slots;
    if (amend) amend(c);
    sim().create_cq(c);
  }
  QpContext& qp(Transport transport, std::uint32_t qpn, const Queue* queue = nullptr) {
    sim();
    QpContext& q = qps_.emplace_back();
    q.state = QpState::kRts;
    q.transport = transport;
    q.access = kAllRights;
    q.qpn = Qpn{qpn};
    q.remote_qpn = Qpn{qpn + 0x1000};
    q.pd = kPd;
    q.xrcd = kXrcd;
    q.mtu = kMtu;
    q.qkey = kQkeyOfAll;
    q.receive_cq = kRecvCq;
    q.send_cq = kSendCq;
    q.min_rnr_timer = kRnrTimer;
    q.expected_psn = Psn{kFirstPsn};
    q.uses_srq = transport == Transport::kXrc;
    if (queue != nullptr) {
      q.receive_queue = queue->id;
      q.uses_srq = queue->context.kind == WqKind::kSrq;
      q.tag_matching = queue->context.tag_matching;
      if (q.tag_matching) q.receive_cq = queue->context.cq;
    }
    return q;
  }
  Queue& rq(std::uint32_t qpn, std::uint32_t slots = 16) {
    WqContext c;
    c.kind = WqKind::kRq;
    c.number = qpn;
    return queue(c, slots);
  }
  Queue& srq(std::uint32_t srqn, WqLayout layout = WqLayout::kLinkedList, std::uint32_t slots = 16,
             const std::function<void(WqContext&)>& amend = {}) {
    WqContext c;
    c.kind = WqKind::kSrq;
    c.layout = layout;
    c.number = srqn;
    c.cq = kSrqCq;
    c.xrcd = kXrcd;
    if (amend) amend(c);
    return queue(c, slots);
  }
  Region region(std::uint32_t bytes, const RegionOptions& o = {}) {
    const std::uint32_t n = ++regions_;
    Region r{Key{(n + 16) << 8 | 0x5a}, 0x7f00'0000'0000u + std::uint64_t{n} * 0x10'0000u + o.offset, bytes};
    MptEntry mpt;
    mpt.key = raw(r.key);
    mpt.valid = 1;
    mpt.access = o.access;
    mpt.kind = o.kind;
    mpt.window_qp = o.window_qp;
    mpt.pd = raw(o.pd);
    mpt.va = r.va;
    mpt.length = bytes;
    mpt.mtt_base = raw(icm::kMtt) + std::uint64_t{n} * 0x1000u;
    std::vector<BusAddress> pages;
    for (std::uint64_t va = r.va & ~kPageMask; va < r.va + bytes; va += kPage) {  // (R2)
      next_page_ -= 2 * kPage;
      fill_with_canary(next_page_ + kPage);
      fill_with_canary(next_page_);
      pages_[va] = next_page_;
      pages.push_back(BusAddress{next_page_});
    }
    sim().create_region(mpt, pages);
    return r;
  }
  // The WQE is written now; the doorbell is rung by ring(), or at time 0.
  std::uint32_t post(Queue& q, const std::vector<DataSegment>& sges) {
    const std::uint32_t slot = q.posted++ % q.context.slots;
    ByteVector wqe(q.context.stride);
    EXPECT_TRUE(write_wqe(wqe, q.context.layout, (slot + 1) % q.context.slots, sges));
    sim().memory.write(wqe_address(q.context, slot), wqe);
    return slot;
  }
  void ring(Queue& q, std::uint64_t at) {
    q.rung = q.posted;
    doorbell(true, {DoorbellKind::kReceive, false, raw(q.id), q.posted}, at);
  }
  // `n` WQEs of one buffer each, in a region of their own with canaries between. The buffers cross pages.
  std::vector<DataSegment> buffers(Queue& q, std::uint32_t n, std::uint32_t bytes) {
    const std::uint32_t stride = bytes + 24;
    const Region r = region(n * stride, {kAllRights, q.context.pd, 4096 - bytes / 2 % 4096});
    std::vector<DataSegment> all;
    for (std::uint32_t i = 0; i < n; ++i) {
      all.push_back(r.piece(i * stride + 8, bytes));
      post(q, {all.back()});
    }
    return all;
  }

  // ---- Stimulus.
  void at(std::uint64_t ns) { now_ns_ = ns; }
  ByteVector send(const QpContext& to, const Request& r) {
    Headers h = request_headers(r.encapsulation, to.transport, r.op, Psn{r.psn});
    const std::uint32_t traits = opcode_info(h.opcode).traits;
    h.destination_qp = to.qpn;
    h.ack_request = r.ack >= 0 ? r.ack != 0 : to.transport != Transport::kUc && (traits & (kLast | kOnly)) != 0;
    h.va = r.va;
    h.rkey = r.rkey;
    h.length = (traits & kHasReth) != 0 && r.length == 0 ? static_cast<std::uint32_t>(r.bytes) : r.length;
    h.swap_add = r.swap_add;
    h.compare = r.compare;
    h.immediate = r.immediate;
    h.xrc_srq = Srqn{r.srq};
    h.solicited = r.solicited;
    h.qkey = r.qkey;
    if (r.amend) r.amend(h);
    const ByteVector payload = r.payload.empty() ? pattern(r.psn, r.bytes) : r.payload;
    Item item;
    item.bytes.resize(9000);
    item.ns = now_ns_;
    const std::size_t n = build(h, payload, item.bytes);
    EXPECT_GT(n, 0u);
    item.bytes.resize(n);
    seal(item.bytes, h);
    if (r.damage) r.damage(item.bytes, h);
    item.link = h.link;
    items_.push_back(std::move(item));
    return payload;
  }
  // Sends a whole message and returns its bytes. `r`: the fields that its packets share, but `bytes` of the message.
  ByteVector message(const QpContext& to, bool write, Request r, Operation end = Operation::kUnknown) {
    const std::uint32_t mtu = to.mtu;
    const auto total = static_cast<std::uint32_t>(r.bytes);
    const std::uint32_t packets = total == 0 ? 1 : (total + mtu - 1) / mtu;
    const auto op = [&](unsigned send_op) { return static_cast<Operation>(send_op + (write ? 6 : 0)); };
    ByteVector all;
    r.length = total;
    for (std::uint32_t i = 0; i < packets; ++i) {
      const bool last = i + 1 == packets;
      r.op = packets == 1 ? op(4) : i == 0 ? op(0) : last ? op(2) : op(1);
      if (last && end != Operation::kUnknown) r.op = end;
      r.bytes = last ? total - i * mtu : mtu;
      const ByteVector part = send(to, r);
      all.insert(all.end(), part.begin(), part.end());
      ++r.psn;
    }
    return all;
  }
  void request_of_ours(const RequestNotice& notice) {
    Item item;
    item.kind = Stimulus::Kind::kRequest;
    item.request = notice;
    items_.push_back(std::move(item));
  }
  void doorbell(bool receive, const Doorbell& d, std::uint64_t at_ns) {
    Simulation& s = sim();
    auto& link = receive ? s.nic.receive_doorbells : s.nic.completion_doorbells;
    script_->at(cycle_of(at_ns), [&link, d](Cycle now) { link.push(now, d); });
  }
  void arm(Cqn number, std::uint32_t consumer, bool solicited_only, std::uint64_t at_ns) {
    doorbell(false, {DoorbellKind::kCqArm, solicited_only, raw(number), consumer}, at_ns);
  }
  void operate(const TagOperation& operation, std::uint64_t at_ns) {
    Simulation& s = sim();
    script_->at(cycle_of(at_ns), [&s, operation](Cycle now) { s.nic.tag_operations.push(now, operation); });
  }
  void at_time(std::uint64_t ns, std::function<void()> what) {
    sim();
    script_->at(cycle_of(ns), [what](Cycle) { what(); });
  }
  void run() {
    for (const QpContext& q : qps_) sim().create_qp(q);
    for (Queue& q : queues_) {
      if (q.rung == 0 && q.posted > 0) ring(q, 0);
    }
    sim().run();
  }

  // ---- Results.
  std::vector<Answer> answers;
  std::vector<Completion> cqes;
  std::uint64_t events(EventType t) { return sim().nic.dma_engine.counters().events_of[static_cast<std::size_t>(t)]; }
  const LedgerCounters& ledger() { return sim().nic.shared.ledger.counters(); }
  std::uint64_t dropped(DropReason r) { return ledger().dropped[static_cast<std::size_t>(r)]; }
  ByteVector memory(std::uint64_t va, std::size_t bytes) {
    ByteVector v(bytes);
    for (std::size_t i = 0; i < bytes; ++i) sim().memory.read(BusAddress{bus(va + i)}, {&v[i], 1});
    return v;
  }
  // Before the run: sets bytes that memory holds from the start.
  void store(std::uint64_t va, const ByteVector& bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) sim().memory.write(BusAddress{bus(va + i)}, {&bytes[i], 1});
    expect_written(va, bytes);
  }
  void expect_written(std::uint64_t va, const ByteVector& bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::uint64_t b = bus(va + i);
      expected_[b & ~kPageMask][b & kPageMask] = bytes[i];
    }
  }
  // The contents of the page are not checked.
  void ignore_page(std::uint64_t va) { expected_.erase(bus(va) & ~kPageMask); }
  void expect_answers(std::size_t n) const { ASSERT_EQ(answers.size(), n); }
  void expect_ack(std::size_t n, std::uint32_t psn, std::uint32_t msn, std::uint8_t syndrome = kAckUnlimited) const {
    ASSERT_GT(answers.size(), n);
    EXPECT_TRUE(answers[n].is(Operation::kAck)) << opcode_name(answers[n].h.opcode);
    EXPECT_EQ(answers[n].h.psn.value, psn) << "answer " << n;
    EXPECT_EQ(answers[n].h.msn, msn) << "answer " << n;
    EXPECT_EQ(answers[n].h.syndrome, syndrome) << "answer " << n;
  }
  void expect_receive(std::size_t n, std::uint32_t qpn, std::uint32_t wqe, std::uint32_t bytes) const {
    ASSERT_GT(cqes.size(), n);
    const Cqe& c = cqes[n].cqe;
    EXPECT_EQ(c.status, WcStatus::kSuccess) << "completion " << n;
    EXPECT_EQ(c.qp_number, qpn) << "completion " << n;
    EXPECT_EQ(c.wqe_index, wqe) << "completion " << n;
    EXPECT_EQ(c.byte_count, bytes) << "completion " << n;
  }
  void expect_error(std::size_t n, std::uint32_t qpn, std::uint32_t wqe, WcStatus status) const {
    ASSERT_GT(cqes.size(), n);
    const Cqe& c = cqes[n].cqe;
    EXPECT_EQ(static_cast<int>(c.status), static_cast<int>(status)) << "completion " << n;
    EXPECT_EQ(c.qp_number, qpn) << "completion " << n;
    EXPECT_EQ(c.wqe_index, wqe) << "completion " << n;
  }
  // The WQEs `first` .. `last` were flushed, from completion `n` on, and nothing else follows.
  void expect_flushed(std::size_t n, std::uint32_t qpn, std::uint32_t first, std::uint32_t last) const {
    for (std::uint32_t wqe = first; wqe != last + 1; ++wqe) expect_error(n++, qpn, wqe, WcStatus::kFlushed);
    EXPECT_EQ(cqes.size(), n);
  }

  EngineMode mode_ = EngineMode::kFast;  // before sim()
  std::uint32_t unfinished_ = 0;         // messages that the test leaves in the middle
  std::uint64_t period_ps_ = 0;

  void TearDown() override {
    if (sim_ == nullptr) return;
    EXPECT_EQ(sim_->nic.shared.packets.in_use(), 0u);  // (R3)
    EXPECT_EQ(fetcher_of(sim_->nic).wqes_in_use(), unfinished_);
    EXPECT_EQ(ledger().seen, ledger().accepted + ledger().not_rdma + ledger().dropped_total());
    EXPECT_EQ(ledger().seen, sim_->source.frames());
    for (const auto& [page, bytes] : expected_) {  // (R2)
      ByteVector found(kPage);
      sim_->memory.read(BusAddress{page}, found);
      if (found == bytes) continue;
      std::size_t i = 0;
      while (found[i] == bytes[i]) ++i;
      std::size_t last = kPage - 1;
      while (found[last] == bytes[last]) --last;
      ADD_FAILURE() << "memory differs in bytes " << i << ".." << last << " of the page at va " << std::hex
                    << va_of(page);
    }
  }

 private:
  static constexpr std::uint64_t kPage = 4096;
  static constexpr std::uint64_t kPageMask = kPage - 1;
  struct Item {
    Stimulus::Kind kind = Stimulus::Kind::kFrame;
    ByteVector bytes;
    std::uint64_t ns = 0;
    LinkLayer link = LinkLayer::kEthernet;
    RequestNotice request;
  };

  Cycle cycle_of(std::uint64_t ns) const { return Cycle{ns * 1000 / period_ps_}; }
  std::uint64_t bus(std::uint64_t va) const { return pages_.at(va & ~kPageMask) + (va & kPageMask); }
  std::uint64_t va_of(std::uint64_t page) const {
    for (const auto& [va, at] : pages_) {
      if (at == page) return va;
    }
    return 0;
  }
  void fill_with_canary(std::uint64_t page) {
    ByteVector& bytes = expected_[page];
    bytes.resize(kPage);
    for (std::size_t i = 0; i < kPage; ++i) bytes[i] = static_cast<std::uint8_t>((page >> 12) * 53 + i * 3 + (i >> 7));
    sim().memory.write(BusAddress{page}, bytes);
  }
  Queue& queue(WqContext c, std::uint32_t slots) {
    sim();
    c.base = BusAddress{0x8'0000'0000u + queues_.size() * 0x10'0000u};
    c.slots = slots;
    c.stride = 128;
    if (raw(c.pd) == 0) c.pd = kPd;
    ReceiveRingParams ring;
    ring.queue = c;
    Queue& q = queues_.emplace_back();
    q.context = c;
    q.id = sim().create_queue(ring);
    if (c.tag_matching) sim().nic.tag_match_cam.create(q.id, c);
    return q;
  }
  bool next(Stimulus& s) override {
    if (next_item_ == items_.size()) return false;
    const Item& item = items_[next_item_++];
    s.kind = item.kind;
    s.bytes = item.bytes;
    s.wire_bytes = static_cast<std::uint32_t>(item.bytes.size());
    s.link = item.link;
    s.time_ps = item.ns * 1000;
    s.id = next_item_;
    s.request = item.request;
    return true;
  }
  void on_frame(const Packet& p, std::uint64_t time_ps) override {
    Answer a;
    ASSERT_EQ(parse(p.frame_view(), p.h.link, a.h), ParseStatus::kOk);
    EXPECT_TRUE(icrc_matches(p.frame_view(), a.h));
    const Bytes payload = payload_of(p.frame_view(), a.h);
    a.payload.assign(payload.begin(), payload.end());
    a.ns = time_ps / 1000;
    answers.push_back(std::move(a));
  }
  void on_cqe(Cqn cq, const Cqe& cqe, Cycle polled) override {
    cqes.push_back({cq, cqe, polled.count * period_ps_ / 1000});
  }

  std::vector<std::string> overrides_;
  std::deque<QpContext> qps_;
  std::deque<Queue> queues_;
  std::vector<Item> items_;
  std::size_t next_item_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint32_t regions_ = 0;
  std::uint64_t next_page_ = 0x4000'0000;
  std::map<std::uint64_t, std::uint64_t> pages_;  // virtual page: physical page
  std::map<std::uint64_t, ByteVector> expected_;  // by physical page
  std::unique_ptr<Simulation> sim_;
  std::unique_ptr<FrameScript> script_;
};

// RC with an RQ, or XRC with an SRQ: one QP, WQEs of `bytes`, requests that name the SRQ.
class ReliableTest : public NicTest, public testing::WithParamInterface<Transport> {
 protected:
  static constexpr std::uint32_t kQpn = 0x21;
  static constexpr std::uint32_t kSrqn = 7;
  bool xrc() const { return GetParam() == Transport::kXrc; }
  void make(std::uint32_t wqes = 0, std::uint32_t bytes = 0) {
    queue = xrc() ? &srq(kSrqn) : &rq(kQpn);
    q = &qp(GetParam(), kQpn, xrc() ? nullptr : queue);
    if (wqes > 0) buffer = buffers(*queue, wqes, bytes);
  }
  ByteVector send(Request r) {
    r.srq = kSrqn;
    return NicTest::send(*q, r);
  }
  ByteVector message(bool write, Request r, Operation end = Operation::kUnknown) {
    r.srq = kSrqn;
    return NicTest::message(*q, write, r, end);
  }
  // Expects the consequences of the QP's error state: the RQ's WQEs from `first` to `last` are flushed in order from
  // completion `n` on. Those of an SRQ are not, except such as packets in flight had taken, but the last-WQE event
  // comes once.
  void expect_queue_after_error(std::size_t n, std::uint32_t first, std::uint32_t last) {
    if (!xrc()) {
      expect_flushed(n, kQpn, first, last);
    } else {
      EXPECT_LE(cqes.size(), n + (last - first));
      expect_flushed(n, kQpn, first, first + static_cast<std::uint32_t>(cqes.size() - n) - 1);
    }
    EXPECT_EQ(events(EventType::kQpLastWqeReached), xrc() ? 1u : 0u);
    for (const Completion& c : cqes) {
      EXPECT_EQ(c.cq, xrc() ? kSrqCq : kRecvCq);
      EXPECT_EQ(c.cqe.srq_number, xrc() ? kSrqn : 0u);
      EXPECT_EQ(c.cqe.flags & kCqeSrq, xrc() ? kCqeSrq : 0);
    }
  }

  Queue* queue = nullptr;
  QpContext* q = nullptr;
  std::vector<DataSegment> buffer;
};
inline std::string transport_name(const testing::TestParamInfo<Transport>& info) {
  return info.param == Transport::kXrc ? "Xrc" : info.param == Transport::kRc ? "Rc" : "Uc";
}

}  // namespace rxnic
