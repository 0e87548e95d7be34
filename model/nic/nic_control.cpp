// SPDX-License-Identifier: Apache-2.0
#include "model/nic/nic_control.h"

namespace rxnic {

namespace {

constexpr CommandResult done_when(bool condition) { return condition ? CommandResult::kDone : CommandResult::kBusy; }

// Clears the bytes between the members: the context is written to host memory, with the same bytes in every run.
void clear_padding(StoredQpContext& qp) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
  __builtin_clear_padding(&qp);
#endif
#endif
  (void)qp;
}

// Takes over the attributes that ibv_modify_qp may change.
void take_attributes(ResponderContext& qp, const ResponderContext& from) {
  qp.state = from.state;
  qp.own_error = false;
  qp.access = from.access;
  qp.remote_qpn = from.remote_qpn;
  qp.local = from.local;
  qp.remote = from.remote;
  qp.mtu = from.mtu;
  qp.pkey = from.pkey;
  qp.qkey = from.qkey;
  qp.min_rnr_timer = from.min_rnr_timer;
  qp.max_dest_rd_atomic = from.max_dest_rd_atomic;
}

// A QP as it was created.
StoredQpContext fresh(const StoredQpContext& qp) {
  StoredQpContext made;
  made.valid = 1;
  made.transport = qp.transport;
  made.qpn = qp.qpn;
  made.pd = qp.pd;
  made.xrcd = qp.xrcd;
  made.receive_cq = qp.receive_cq;
  made.send_cq = qp.send_cq;
  made.receive_queue = qp.receive_queue;
  made.uses_srq = qp.uses_srq;
  made.tag_matching = qp.tag_matching;
  made.resynchronise = qp.resynchronise;
  return made;
}

}  // namespace

// What the QP may be asked for again in its state. (R6)
bool NicControl::reserve(const ResponderContext& qp) {
  const bool ready = qp.state >= QpState::kRtr && qp.state <= QpState::kSqe;
  return nic_.transport_checker.reserve(qp.qpn, ready && is_reliable(qp.transport) ? qp.max_dest_rd_atomic : 0);
}

CommandResult NicControl::create_qp(const QpContext& qp, const SendQueueContext& queue) {
  SendQpContext context;
  context.qp = qp;
  context.qp.valid = 1;
  context.queue = queue;
  if (qps_ == nic_.limits.qps || !reserve(context.qp)) return CommandResult::kNoRoom;  // (R6)
  if (nic_.requester != nullptr && !nic_.requester->create(context)) {
    nic_.transport_checker.reserve(qp.qpn, 0);
    return CommandResult::kNoRoom;
  }
  ++qps_;
  StoredQpContext stored = context.qp;
  clear_padding(stored);
  memory_.store(qp_context_address(qp.qpn), stored);
  return CommandResult::kDone;
}

bool NicControl::exists(Qpn qpn) {
  return nic_.qp_context_cache.find(qpn) != nullptr ||
         memory_.load<StoredQpContext>(qp_context_address(qpn)).valid != 0;
}

CommandResult NicControl::read_qp(Qpn qpn, QpContext& out) {  // (R2)
  if (nic_.qp_context_cache.moving(qpn)) return CommandResult::kBusy;
  const QpContext* const here = nic_.qp_context_cache.find(qpn);
  if (here != nullptr) {
    out = *here;
  } else {
    static_cast<StoredQpContext&>(out) = memory_.load<StoredQpContext>(qp_context_address(qpn));
  }
  return CommandResult::kDone;
}

CommandResult NicControl::modify_qp(const SendQpContext& context, bool set_rq_psn, Psn rq_psn, bool set_sq_psn) {
  const Qpn qpn = context.qp.qpn;
  if (nic_.qp_context_cache.moving(qpn)) return CommandResult::kBusy;  // (R2)
  if (exists(qpn) && !reserve(context.qp)) return CommandResult::kNoRoom;
  const auto change = [&](ResponderContext& qp) {
    take_attributes(qp, context.qp);
    if (!set_rq_psn) return;
    qp.expected_psn = rq_psn;
    qp.nak_sent = false;
  };
  if (QpContext* const here = nic_.qp_context_cache.find(qpn)) {
    change(*here);
    here->dirty = true;
  } else {
    auto stored = memory_.load<StoredQpContext>(qp_context_address(qpn));
    if (stored.valid == 0) return CommandResult::kDone;  // (R5)
    change(stored);
    memory_.store(qp_context_address(qpn), stored);
  }
  if (nic_.requester != nullptr) nic_.requester->modify(context, set_sq_psn);
  return CommandResult::kDone;
}

CommandResult NicControl::fail_qp(Qpn qpn) {  // (R4)
  if (!exists(qpn)) return CommandResult::kDone;
  QpContext* const qp = nic_.qp_context_cache.bring(qpn, memory_);
  if (qp == nullptr) return CommandResult::kBusy;
  if (qp->state != QpState::kError) {
    // Packets that were checked before are before the failure, but no RNR NAK of theirs takes it back.
    fail_for_good(*qp);
    qp->dirty = true;
    if (nic_.requester != nullptr) nic_.requester->fail(qpn);
  }
  if (qp->flush_requested) return CommandResult::kDone;
  if (qp->pins.count() > 0) return CommandResult::kBusy;
  nic_.cqe_generator.fail(qp->line);
  return CommandResult::kDone;
}

// Whether something that refers to the QP, or to its WQEs, is on its way.
bool NicControl::in_flight(const QpContext& qp) const {
  const auto of_qp = [&](const SendCompletion& c) { return c.qpn == qp.qpn; };
  const auto of_sq = [&](const Doorbell& d) { return d.number == raw(qp.qpn); };
  const auto of_rq = [&](const Doorbell& d) { return !qp.uses_srq && d.number == raw(qp.receive_queue); };
  return qp.pins.count() > 0 || nic_.commands.any_of(of_qp) || nic_.send_doorbells.any_of(of_sq) ||
         nic_.receive_doorbells.any_of(of_rq) ||
         (!qp.uses_srq && nic_.ack_generator.retired() < nic_.srq_wqe_fetcher.last_flushed(qp.receive_queue));
}

void NicControl::begin_stop(QpContext& qp) {
  if (!stopping_.try_emplace(raw(qp.qpn), kNoTicket).second) return;
  qp.state = QpState::kReset;
  qp.dirty = true;
  if (nic_.requester != nullptr) nic_.requester->reset(qp.qpn);
}

void NicControl::silence_qp(Qpn qpn) {
  if (!exists(qpn)) return;
  if (QpContext* const qp = nic_.qp_context_cache.bring(qpn, memory_)) begin_stop(*qp);
}

// To kReset: its packets are dropped from now on. Done when none of them is in flight and all its CQEs are written.
CommandResult NicControl::stop_qp(Qpn qpn) {
  QpContext* const qp = nic_.qp_context_cache.bring(qpn, memory_);
  if (qp == nullptr) return CommandResult::kBusy;
  begin_stop(*qp);
  const auto stop = stopping_.find(raw(qpn));
  if (in_flight(*qp)) return CommandResult::kBusy;
  if (stop->second == kNoTicket) stop->second = nic_.cqe_generator.writes();
  if (nic_.dma_engine.started(DmaClient::kCqe) < stop->second) return CommandResult::kBusy;
  const bool has_rq = !qp->uses_srq && qp->receive_queue != kNoWq;
  if (has_rq && !nic_.srq_wqe_fetcher.reset(qp->receive_queue, memory_)) return CommandResult::kBusy;  // (R2)
  stopping_.erase(stop);
  nic_.srq_wqe_fetcher.forget_message(*qp);
  nic_.transport_checker.reserve(qpn, 0);
  StoredQpContext made = fresh(*qp);
  clear_padding(made);
  static_cast<StoredQpContext&>(*qp) = made;
  qp->dirty = true;
  nic_.qp_context_cache.renew(*qp);
  return CommandResult::kDone;
}

CommandResult NicControl::reset_qp(Qpn qpn) {
  if (!exists(qpn)) return CommandResult::kDone;
  return stop_qp(qpn);
}

CommandResult NicControl::free_qp(Qpn qpn) {  // (R3)
  if (!exists(qpn)) return CommandResult::kDone;
  if (stop_qp(qpn) == CommandResult::kBusy) return CommandResult::kBusy;
  if (nic_.requester != nullptr) nic_.requester->destroy(qpn);
  nic_.qp_context_cache.forget(qpn);
  StoredQpContext none;
  clear_padding(none);
  memory_.store(qp_context_address(qpn), none);
  --qps_;
  return CommandResult::kDone;
}

WqId NicControl::create_queue(const WqContext& queue) {
  const bool srq = queue.kind == WqKind::kSrq;
  if (srq && srqs_ == nic_.limits.srqs) return kNoWq;  // (R6)
  const WqId id = nic_.srq_wqe_fetcher.create(queue, memory_);
  if (queue.tag_matching && !nic_.tag_match_cam.create(id, queue)) {
    nic_.srq_wqe_fetcher.destroy(id, memory_);
    return kNoWq;
  }
  srqs_ += srq;
  if (srq) {
    nic_.transport_checker.add_srq(Srqn{queue.number}, {id, queue.cq, queue.xrcd});
    nic_.cqe_generator.attach_srq(id, Srqn{queue.number});
  }
  return id;
}

CommandResult NicControl::read_queue(WqId id, WqRecord& out) {  // (R2)
  return done_when(nic_.srq_wqe_fetcher.read(id, memory_, out));
}

CommandResult NicControl::free_queue(WqId id, const WqContext& queue) {  // (R3)
  const auto for_it = [&](const Doorbell& d) { return d.number == raw(id); };
  if (queue.kind == WqKind::kSrq) nic_.transport_checker.remove_srq(Srqn{queue.number});
  if (nic_.receive_doorbells.any_of(for_it)) return CommandResult::kBusy;
  if (nic_.ack_generator.retired() < nic_.srq_wqe_fetcher.last_flushed(id)) return CommandResult::kBusy;
  if (!nic_.srq_wqe_fetcher.destroy(id, memory_)) return CommandResult::kBusy;
  if (queue.kind == WqKind::kSrq) {
    nic_.cqe_generator.detach_srq(id);
    --srqs_;
  }
  if (queue.tag_matching) nic_.tag_match_cam.destroy(id);
  return CommandResult::kDone;
}

void NicControl::create_region(const MptEntry& entry, std::span<const BusAddress> pages) {
  memory_.store(mpt_address(Key{entry.key}), entry);
  for (std::size_t n = 0; n < pages.size(); ++n) memory_.store(BusAddress{entry.mtt_base} + n * 8, pages[n]);
  nic_.address_translator.invalidate(Key{entry.key});
}

CommandResult NicControl::free_region(Key key) {  // (R3)
  auto region = freeing_.find(raw(key));
  if (region == freeing_.end()) {
    const auto entry = memory_.load<MptEntry>(mpt_address(key));
    if (entry.valid == 0 || entry.key != raw(key)) return CommandResult::kDone;
    memory_.store(mpt_address(key), MptEntry{});
    nic_.address_translator.invalidate(entry);
    region = freeing_.emplace(raw(key), nic_.address_translator.translated()).first;
  }
  // An atomic touches memory after its packet has retired.
  const AddressTranslator::Translated& before = region->second;
  const bool unused = nic_.ack_generator.retired() >= before.packets &&
                      nic_.dma_engine.gathered_segments() >= before.gathers && !nic_.ack_generator.has_atomic_on(key);
  if (unused) freeing_.erase(region);
  return done_when(unused);
}

void NicControl::create_cq(const CqContext& cq) { nic_.cqe_generator.create(cq, memory_); }

CommandResult NicControl::read_cq(Cqn number, CqRecord& out) {  // (R2)
  return done_when(nic_.cqe_generator.read(number, memory_, out));
}

CommandResult NicControl::moderate_cq(Cqn number, std::uint16_t count, std::uint16_t period_us) {  // (R2)
  return done_when(nic_.cqe_generator.set_moderation(number, count, period_us, memory_));
}

CommandResult NicControl::resize_cq(const CqContext& cq, std::uint32_t consumer) {
  CqeGenerator& generator = nic_.cqe_generator;
  auto resize = resizing_.find(raw(cq.number));
  if (resize == resizing_.end()) {
    CqRecord now;
    if (read_cq(cq.number, now) == CommandResult::kBusy) return CommandResult::kBusy;
    if (now.valid == 0) return CommandResult::kDone;  // (R5)
    Resize begun;
    begun.after = generator.last_write(cq.number);
    generator.resize(cq, consumer, memory_, begun.move);  // it is not moving
    resize = resizing_.emplace(raw(cq.number), begun).first;
  }
  if (nic_.dma_engine.started(DmaClient::kCqe) < resize->second.after) return CommandResult::kBusy;
  move_cqes(memory_, resize->second.move, generator.cqe_bytes());
  resizing_.erase(resize);
  return CommandResult::kDone;
}

CommandResult NicControl::free_cq(Cqn number) {  // (R3)
  const auto for_it = [&](const Doorbell& d) { return d.number == raw(number); };
  if (!nic_.cqe_generator.close(number, memory_)) return CommandResult::kBusy;  // (R2)
  if (nic_.completion_doorbells.any_of(for_it)) return CommandResult::kBusy;
  if (nic_.dma_engine.started(DmaClient::kCqe) < nic_.cqe_generator.last_write(number)) return CommandResult::kBusy;
  return done_when(nic_.cqe_generator.destroy(number, memory_));
}

}  // namespace rxnic
