// SPDX-License-Identifier: Apache-2.0
#include "model/nic/command_queue.h"

namespace rxnic {

Ticket CommandQueue::give(DriverCommand command) {
  if (++last_ == 0) ++last_;
  command.id = last_;
  if (raw(command.mailbox_address) == 0) command.mailbox_address = next_mailbox();  // unless it names memory itself
  mailbox_of_[last_] = free_slot();
  if (free_.empty()) {
    ++slots_;
  } else {
    free_.pop_back();
  }
  waiting_.push_back(command);
  return last_;
}

template <class Mailbox>
Ticket CommandQueue::give(DriverCommand command, const Mailbox& mailbox) {
  Mailbox stored = mailbox;
  clear_padding(stored);
  memory_.store(next_mailbox(), stored);
  return give(command);
}

Ticket CommandQueue::give(CommandKind kind, std::uint32_t number, std::uint32_t value) {
  DriverCommand c;
  c.kind = kind;
  c.number = number;
  c.value = value;
  return give(c);
}

bool CommandQueue::deliver(Out<DriverCommand>& to, Cycle now, Ticket before) {
  bool any = false;
  for (; waits(before) && to.can_push(now); waiting_.pop_front()) {
    to.push(now, waiting_.front());
    any = true;
  }
  return any;
}

bool CommandQueue::take(In<CommandReply>& from, Cycle now) {
  bool any = false;
  while (from.can_pop(now)) {
    const CommandReply reply = from.pop(now);
    if (forgotten_.erase(reply.id) == 0) replies_[reply.id] = reply;
    const auto mailbox = mailbox_of_.find(reply.id);
    free_.push_back(mailbox->second);
    mailbox_of_.erase(mailbox);
    any = true;
  }
  return any;
}

CommandReply CommandQueue::collect(Ticket ticket) {
  const auto at = replies_.find(ticket);
  const CommandReply reply = at->second;
  replies_.erase(at);
  return reply;
}

Ticket CommandQueue::create_cq(const CqContext& cq) {
  DriverCommand c;
  c.kind = CommandKind::kCreateCq;
  c.number = raw(cq.number);
  return give(c, cq);
}

Ticket CommandQueue::modify_cq(const CqContext& cq) {
  DriverCommand c;
  c.kind = CommandKind::kModifyCq;
  c.number = raw(cq.number);
  return give(c, cq);
}

Ticket CommandQueue::resize_cq(const CqContext& cq, std::uint32_t consumer) {
  DriverCommand c;
  c.kind = CommandKind::kResizeCq;
  c.number = raw(cq.number);
  c.value = consumer;
  return give(c, cq);
}

Ticket CommandQueue::free_cq(Cqn number) { return give(CommandKind::kFreeCq, raw(number)); }

Ticket CommandQueue::create_region(const MptEntry& entry, std::span<const BusAddress> pages) {
  write_pages(entry, 0, pages);
  DriverCommand c;
  c.kind = CommandKind::kCreateRegion;
  c.number = entry.key;
  return give(c, entry);
}

void CommandQueue::write_pages(const MptEntry& entry, std::uint64_t first, std::span<const BusAddress> pages) {
  if (pages.empty()) return;
  memory_.write(BusAddress{entry.mtt_base} + first * sizeof(BusAddress),
                {reinterpret_cast<const std::uint8_t*>(pages.data()), pages.size_bytes()});
}

Ticket CommandQueue::free_region(Key key, bool bound) {
  return give(CommandKind::kFreeRegion, raw(key), bound ? 1 : 0);
}

Ticket CommandQueue::release_window(Key key) { return give(CommandKind::kReleaseWindow, raw(key)); }

Ticket CommandQueue::create_queue(const WqContext& queue) {
  DriverCommand c;
  c.kind = CommandKind::kCreateQueue;
  c.number = queue.number;
  return give(c, queue);
}

Ticket CommandQueue::query_queue(WqId id) { return give(CommandKind::kQueryQueue, raw(id)); }

Ticket CommandQueue::arm_limit(WqId id, std::uint32_t limit) { return give(CommandKind::kArmLimit, raw(id), limit); }

Ticket CommandQueue::free_queue(WqId id, const WqContext& queue) {
  DriverCommand c;
  c.kind = CommandKind::kFreeQueue;
  c.number = raw(id);
  return give(c, queue);
}

namespace {

QpMailbox mailbox_of(const SendQpContext& context) {
  QpMailbox m;
  m.qp = context.qp;
  m.qp.valid = 1;
  m.queue = context.queue;
  m.path = context.path;
  m.max_rd_atomic = context.max_rd_atomic;
  m.timeout = context.timeout;
  m.retry_count = context.retry_count;
  m.rnr_retry = context.rnr_retry;
  m.sq_psn = context.sq_psn;
  return m;
}

}  // namespace

Ticket CommandQueue::create_qp(const SendQpContext& context) {
  DriverCommand c;
  c.kind = CommandKind::kCreateQp;
  c.number = raw(context.qp.qpn);
  return give(c, mailbox_of(context));
}

Ticket CommandQueue::query_qp(Qpn qpn) { return give(CommandKind::kQueryQp, raw(qpn)); }

Ticket CommandQueue::modify_qp(const SendQpContext& context, const Changes& changes) {
  DriverCommand c;
  c.kind = CommandKind::kModifyQp;
  c.number = raw(context.qp.qpn);
  c.value = changes.rq_psn.value;
  c.set_rq_psn = changes.set_rq_psn;
  c.set_sq_psn = changes.set_sq_psn;
  c.notify_drained = changes.notify_drained;
  c.recovers = changes.recovers;
  return give(c, mailbox_of(context));
}

Ticket CommandQueue::fail_qp(Qpn qpn) { return give(CommandKind::kFailQp, raw(qpn)); }

Ticket CommandQueue::silence_qps(std::span<const Qpn> qpns) {
  BusAddress at = next_mailbox();
  for (const Qpn qpn : qpns) {
    memory_.store(at, raw(qpn));
    at = at + sizeof(std::uint32_t);
  }
  return give(CommandKind::kSilenceQps, 0, static_cast<std::uint32_t>(qpns.size()));
}

Ticket CommandQueue::reset_qp(Qpn qpn) { return give(CommandKind::kResetQp, raw(qpn)); }

Ticket CommandQueue::free_qp(Qpn qpn) { return give(CommandKind::kFreeQp, raw(qpn)); }

Ticket CommandQueue::attach_multicast(const Address& group, Qpn qpn) {
  DriverCommand c;
  c.kind = CommandKind::kAttachMulticast;
  c.number = raw(qpn);
  return give(c, group);
}

Ticket CommandQueue::detach_multicast(const Address& group, Qpn qpn) {
  DriverCommand c;
  c.kind = CommandKind::kDetachMulticast;
  c.number = raw(qpn);
  return give(c, group);
}

Ticket CommandQueue::add_flow(std::uint32_t number, const FlowMailbox& flow) {
  DriverCommand c;
  c.kind = CommandKind::kAddFlow;
  c.number = number;
  return give(c, flow);
}

Ticket CommandQueue::ask_for_counts(CommandKind kind, std::uint32_t number, BusAddress counts) {
  DriverCommand c;
  c.kind = kind;
  c.number = number;
  c.mailbox_address = counts;
  return give(c);
}

Ticket CommandQueue::add_rss(Qpn qpn, const RssMailbox& rss) {
  DriverCommand c;
  c.kind = CommandKind::kAddRss;
  c.number = raw(qpn);
  return give(c, rss);
}

Ticket CommandQueue::remove_rss(Qpn qpn) { return give(CommandKind::kRemoveRss, raw(qpn)); }

namespace {

DriverCommand copy(CommandKind kind, BusAddress program, std::uint32_t offset, std::uint32_t bytes) {
  DriverCommand c;
  c.kind = kind;
  c.number = bytes;
  c.value = offset;
  c.mailbox_address = program;
  return c;
}

}  // namespace

Ticket CommandQueue::copy_to_device(BusAddress from, std::uint32_t offset, std::uint32_t bytes) {
  return give(copy(CommandKind::kCopyToDevice, from, offset, bytes));
}

Ticket CommandQueue::copy_from_device(std::uint32_t offset, BusAddress to, std::uint32_t bytes) {
  return give(copy(CommandKind::kCopyFromDevice, to, offset, bytes));
}

}  // namespace rxnic
