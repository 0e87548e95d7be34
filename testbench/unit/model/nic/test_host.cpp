// SPDX-License-Identifier: Apache-2.0
#include "testbench/unit/model/nic/test_host.h"
#include "testbench/unit/model/nic/model_blocks.h"

#include <algorithm>

namespace rxnic {

TestHost::TestHost(const sc_core::sc_module_name& name, Bench& bench, const Params& params, std::uint32_t number)
    : Block(name),
      nic("nic", params, memory, bench.engine(), {true}),
      setup(nic, memory),
      driver(memory),
      bench_(bench),
      engine_(bench.engine()),
      number_(number),
      cqe_bytes_(params.cqe_generator.cqe_bytes),
      doorbell_wqe_bytes_(params.requester.doorbell_wqe_bytes) {
  const SourceGid gids[] = {{Encapsulation::kRoceV2Ipv4, address(number)}};
  nic.requester->set_port(mac(number), gids);
  bind(nic);
  engine_.add(*this);
}

Cycle TestHost::step(Cycle now) {
  for (auto* in : {&receive_events, &completion_events, &send_events, &page_requests}) {
    while (in->can_pop(now)) events.push_back(in->pop(now));
  }
  while (landed.can_pop(now)) {
    const HostNotice notice = landed.pop(now);
    if (const auto cq = cqs_.find(notice.number); cq != cqs_.end()) cq->second.landed += notice.completions;
    poll(Cqn{notice.number}, now);
  }
  if (driver.take(command_replies, now)) {
    std::erase_if(given_, [&](const auto& given) {
      if (!driver.done(given.first)) return false;
      const CommandReply reply = driver.collect(given.first);
      if (given.second) bench_.at(now + 1, [=, then = given.second](Cycle) { then(reply, now); });
      return true;
    });
  }
  driver.deliver(commands, now);
  while (!to_ring_.empty() && to_ring_.front().first->can_push(now)) {
    to_ring_.front().first->push(now, to_ring_.front().second);
    to_ring_.pop_front();
  }
  while (!to_operate_.empty() && tag_operations.can_push(now)) {
    tag_operations.push(now, to_operate_.front());
    to_operate_.pop_front();
  }
  return rest(now, Activity::kStarved, to_ring_.empty() && to_operate_.empty() ? kNever : now + 1);
}

void TestHost::hash(StateHash& h) const {
  for (const HostCompletion& c : completions) {
    h.mix(c.seen.count);
    h.mix(std::uint64_t{c.cqe.qp_number} << 32 | c.cqe.wqe_index);
    h.mix(std::uint64_t{c.cqe.byte_count} << 8 | static_cast<std::uint8_t>(c.cqe.status));
  }
  h.mix(memory.digest());
}

void TestHost::give(Ticket ticket, Then then) {
  given_[ticket] = std::move(then);
  wake();
}

void TestHost::ring(Out<Doorbell>& board, const Doorbell& doorbell) {
  to_ring_.emplace_back(&board, doorbell);
  wake();
}

void TestHost::poll(Cqn number, Cycle now) {
  const auto it = cqs_.find(raw(number));
  if (it == cqs_.end() || !it->second.polled) return;
  Cq& cq = it->second;
  const std::uint32_t before = cq.consumer;
  for (; cq.landed > 0; --cq.landed) {
    const std::uint32_t slot = cq.consumer & (cq.context.slots - 1);
    const auto cqe = memory.load<Cqe>(cq.context.base + std::uint64_t{slot} * cqe_bytes_ + (cqe_bytes_ - sizeof(Cqe)));
    if (cqe.owner != ((cq.consumer & cq.context.slots) != 0)) break;
    ++cq.consumer;
    completions.push_back({number, cqe, now});
  }
  if (cq.consumer != before) {
    ring(completion_doorbells, {DoorbellKind::kCqConsumer, false, raw(number), cq.consumer});
  }
}

AddressVector TestHost::path_to(std::uint32_t nic) {
  AddressVector path;
  const Address to = address(nic);
  std::copy(to.bytes.begin(), to.bytes.end(), path.destination_gid.begin());
  path.destination_mac = mac(nic);
  return path;
}

HostRegion TestHost::region(std::uint32_t bytes, std::uint8_t access) {
  const auto n = static_cast<std::uint32_t>(regions_.size()) + 1;
  HostRegion r{Key{(n + 16) << 8 | 0x5a}, 0x7f00'0000'0000u + std::uint64_t{n} * 0x100'0000u + 40, bytes};
  MptEntry mpt;
  mpt.key = raw(r.key);
  mpt.valid = 1;
  mpt.access = access;
  mpt.pd = raw(kHostPd);
  mpt.va = r.va;
  mpt.length = bytes;
  mpt.mtt_base = raw(icm::kMtt) + std::uint64_t{n} * 0x10000u;
  std::vector<BusAddress> pages;
  for (std::uint64_t va = r.va & ~(kPage - 1); va < r.va + bytes; va += kPage) {
    next_page_ -= 2 * kPage;
    for (std::uint64_t at = next_page_; at < next_page_ + 2 * kPage; ++at) memory.store(BusAddress{at}, canary(at));
    pages_[va] = next_page_;
    pages.push_back(BusAddress{next_page_});
  }
  setup.create_region(mpt, pages);
  regions_.push_back(r);
  return r;
}

Cqn TestHost::cq(std::uint32_t slots) {
  CqContext c;
  c.number = Cqn{static_cast<std::uint32_t>(cqs_.size()) + 1};
  c.base = ring_memory();
  c.slots = slots;
  const std::vector<std::uint8_t> ones(std::size_t{slots} * cqe_bytes_, 0xff);
  memory.write(c.base, ones);
  setup.create_cq(c);
  cqs_[raw(c.number)] = {c, {}, 0, 0, true};
  return c.number;
}

void TestHost::resize(Cqn number, std::uint32_t slots) {
  Cq& cq = cqs_.at(raw(number));
  cq.next = cq.context;
  cq.next.base = ring_memory();
  cq.next.slots = slots;
  cq.polled = false;
  const std::vector<std::uint8_t> ones(std::size_t{slots} * cqe_bytes_, 0xff);
  memory.write(cq.next.base, ones);
}

void TestHost::switched(Cqn number) {
  Cq& cq = cqs_.at(raw(number));
  cq.context = cq.next;
  cq.consumer = 0;
  cq.polled = true;
  poll(number, engine_.now());
}

HostQp& TestHost::srq_holder(std::uint32_t srqn, std::uint32_t slots) { return make_srq({}, srqn, slots); }

HostQp& TestHost::tm_srq_holder(std::uint32_t srqn, Cqn cq, std::uint32_t slots) {
  WqContext c;
  c.tag_matching = true;
  c.cq = cq;
  return make_srq(c, srqn, slots);
}

HostQp& TestHost::make_srq(WqContext context, std::uint32_t srqn, std::uint32_t slots) {
  HostQp& q = qps_.emplace_back();
  WqContext& c = q.receive_queue = context;
  c.kind = WqKind::kSrq;
  c.number = srqn;
  c.base = ring_memory();
  c.slots = slots;
  c.stride = 64;
  c.pd = kHostPd;
  q.rq = setup.create_queue(c);
  return q;
}

HostQp& TestHost::tagged_qp(const HostQp& tm_srq, Cqn cq) {
  HostQp& q = qps_.emplace_back();
  QpContext& c = q.software.qp;
  c.transport = Transport::kRc;
  c.qpn = Qpn{0x40 + static_cast<std::uint32_t>(qps_.size())};
  c.pd = kHostPd;
  c.send_cq = c.receive_cq = cq;
  c.uses_srq = c.tag_matching = true;
  c.receive_queue = tm_srq.rq;
  EXPECT_TRUE(setup.create_qp(c, q.software.queue));
  return q;
}

HostQp& TestHost::qp(Transport transport, Cqn cq, std::uint32_t slots, WqId srq) {
  HostQp& q = qps_.emplace_back();
  QpContext& c = q.software.qp;
  c.transport = transport;
  c.qpn = Qpn{0x40 + static_cast<std::uint32_t>(qps_.size())};
  c.pd = kHostPd;
  c.qkey = kHostQkey;
  c.send_cq = c.receive_cq = cq;
  c.uses_srq = srq != kNoWq;
  if (!c.uses_srq) {
    WqContext& rq = q.receive_queue;
    rq.kind = WqKind::kRq;
    rq.number = raw(c.qpn);
    rq.base = ring_memory();
    rq.slots = slots;
    rq.stride = 64;
    rq.pd = kHostPd;
    q.rq = setup.create_queue(rq);
  }
  c.receive_queue = c.uses_srq ? srq : q.rq;
  q.software.queue = {ring_memory(), slots, 256, false};
  EXPECT_TRUE(setup.create_qp(c, q.software.queue));
  return q;
}

void TestHost::connect(HostQp& q, std::uint32_t to, const HostQp& peer) {
  QpContext& c = q.software.qp;
  c.valid = 1;
  c.state = QpState::kRts;
  c.access = kEveryRight;
  c.mtu = static_cast<decltype(c.mtu)>(mtu);
  c.min_rnr_timer = 1;
  if (c.transport != Transport::kUd) {
    c.remote_qpn = peer.qpn();
    c.local = address(number_);
    c.remote = address(to);
    q.software.path = path_to(to);
    q.software.max_rd_atomic = 4;
    q.software.timeout = 8;
  }
  q.software.sq_psn = 100 * raw(c.qpn);
  ASSERT_TRUE(setup.connect_qp(q.software, Psn{100 * raw(peer.qpn())}));
}

void TestHost::receive(HostQp& q, const DataSegment& buffer) {
  std::vector<std::uint8_t> wqe(q.receive_queue.stride);
  ASSERT_TRUE(write_wqe(wqe, WqLayout::kCyclic, 0, std::array{buffer}));
  memory.write(wqe_address(q.receive_queue, q.receives++ & (q.receive_queue.slots - 1)), wqe);
  ring(receive_doorbells, {DoorbellKind::kReceive, false, raw(q.rq), q.receives});
}

void TestHost::send(HostQp& q, const Work& work) {
  std::vector<std::uint8_t> wqe(q.software.queue.stride);
  SendControl control_segment;
  control_segment.opcode = work.opcode;
  control_segment.flags = work.flags;
  control_segment.sge_count = static_cast<std::uint16_t>(work.sges.size());
  control_segment.immediate = work.immediate;
  if (!work.inline_data.empty()) {
    control_segment.flags |= kSendInline;
    control_segment.inline_bytes = static_cast<std::uint32_t>(work.inline_data.size());
    std::copy(work.inline_data.begin(), work.inline_data.end(), wqe.begin() + kSendHeaderBytes);
  }
  if (work.to != nullptr) {
    control_segment.remote_qpn = raw(work.to->qpn());
    control_segment.remote_qkey = kHostQkey;
    const AddressVector path = path_to(work.to_nic);
    std::memcpy(wqe.data() + sizeof(SendControl), &path, sizeof path);
  } else {
    const RemoteSegment remote{work.va, raw(work.rkey), 0, work.compare_add, work.swap};
    std::memcpy(wqe.data() + sizeof(SendControl), &remote, sizeof remote);
  }
  std::memcpy(wqe.data(), &control_segment, sizeof control_segment);
  for (std::size_t i = 0; i < work.sges.size(); ++i) {
    std::memcpy(wqe.data() + kSendHeaderBytes + i * sizeof(DataSegment), &work.sges[i], sizeof(DataSegment));
  }
  const SendQueueContext& sq = q.software.queue;
  memory.write(sq.base + std::uint64_t{q.sends++ & (sq.slots - 1)} * sq.stride, wqe);
  const std::uint64_t bytes = send_wqe_bytes(control_segment);
  const bool with_wqe = bytes <= doorbell_wqe_bytes_;
  ring(send_doorbells, {DoorbellKind::kSend, false, raw(q.qpn()), q.sends,
                        static_cast<std::uint16_t>(with_wqe ? bytes : 0), engine_.now()});
}

void TestHost::add_tag(const HostQp& tm_srq, const TagEntry& entry) {
  TagOperation o;
  o.opcode = TagOpcode::kAdd;
  o.srq = tm_srq.rq;
  o.entry = entry;
  to_operate_.push_back(o);
  wake();
}

std::vector<std::uint8_t> TestHost::read(std::uint64_t va, std::size_t bytes) {
  std::vector<std::uint8_t> v(bytes);
  for (std::size_t i = 0; i < bytes; ++i) v[i] = memory.load<std::uint8_t>(BusAddress{bus(va + i)});
  return v;
}

void TestHost::write(std::uint64_t va, const std::vector<std::uint8_t>& bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) memory.store(BusAddress{bus(va + i)}, bytes[i]);
}

void TestHost::expect_canaries() {
  for (const auto& [va, page] : pages_) {
    for (std::uint64_t at = page; at < page + 2 * kPage; ++at) {
      const std::uint64_t here = va + (at - page);
      const bool inside = at < page + kPage && std::any_of(regions_.begin(), regions_.end(), [&](const HostRegion& r) {
                            return here >= r.va && here < r.va + r.bytes;
                          });
      if (inside || memory.load<std::uint8_t>(BusAddress{at}) == canary(at)) continue;
      ADD_FAILURE() << "NIC " << number_ << ": a byte outside of all regions was written, at " << std::hex << here;
      return;
    }
  }
}

std::size_t TestHost::count(WcStatus status) const {
  return static_cast<std::size_t>(std::count_if(completions.begin(), completions.end(),
                                                [&](const HostCompletion& c) { return c.cqe.status == status; }));
}

TwoNics::TwoNics(Bench& made_in, const Params& params)
    : bench(made_in),
      fabric("fabric", params, made_in.engine(), 2),
      a("host_a", made_in, params, 0),
      b("host_b", made_in, params, 1) {
  fabric.attach(a.nic, {TestHost::mac(0), {TestHost::address(0)}});
  fabric.attach(b.nic, {TestHost::mac(1), {TestHost::address(1)}});
  cq_a = a.cq();
  cq_b = b.cq();
}

std::pair<HostQp*, HostQp*> TwoNics::connected(Transport transport, std::uint32_t slots) {
  HostQp& qa = a.qp(transport, cq_a, slots);
  HostQp& qb = b.qp(transport, cq_b, slots);
  a.connect(qa, 1, qb);
  b.connect(qb, 0, qa);
  return {&qa, &qb};
}

void TwoNics::expect_quiet() {
  EXPECT_TRUE(fabric.idle());
  for (TestHost* host : {&a, &b}) {
    EXPECT_EQ(host->nic.shared.packets.in_use(), 0u);
    EXPECT_EQ(fetcher_of(host->nic).wqes_in_use(), 0u);
    const LedgerCounters& ledger = host->nic.shared.ledger.counters();
    EXPECT_EQ(ledger.seen, ledger.accepted + ledger.dropped_total());
    host->expect_canaries();
  }
}

std::shared_ptr<Given> give(Bench& bench, TestHost& host, Cycle from, std::function<Ticket(CommandQueue&)> command,
                            std::function<void(Cycle)> then) {
  auto given = std::make_shared<Given>();
  bench.at(from, [&bench, &host, command, then, given](Cycle now) {
    given->from = now;
    host.give(command(host.driver), [then, given](const CommandReply& reply, Cycle came) {
      given->done = came;
      given->reply = reply;
      if (then) then(came);
    });
  });
  return given;
}

}  // namespace rxnic
