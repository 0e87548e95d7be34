// SPDX-License-Identifier: Apache-2.0
// Queue pairs.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <optional>

#include "bridge/driver/driver.h"
#include "bridge/driver/qp_rules.h"

namespace rxnic {

namespace {

constexpr std::uint32_t kMinSendStride = 64;
constexpr std::uint32_t kManagementQpn = 1;
constexpr Xrcdn kNoDomain{0xffff'ffff};  // no SRQ is in it

// The commands by which a QP is created; the last one only when there is no room for the QP.
enum CreateStep : std::uint8_t { kMakesQp, kMakesQueue, kFreesQueue };

constexpr bool has(const channel::QpAttributes& a, QpAttribute attribute) { return (a.mask & attribute) != 0; }

QpState next_state(const QpObject& qp, const channel::QpAttributes& asked) {
  return static_cast<QpState>(has(asked, kAttrState) ? asked.state : qp.attributes.state);
}

}  // namespace

std::int32_t Driver::check_qp(ClientId client, const channel::QueuePair& asked) {
  const Objects& own = clients_.at(client);
  const auto type = static_cast<QpType>(asked.type);
  const bool known =
      type == QpType::kRc || type == QpType::kUc || type == QpType::kUd || type == QpType::kRawPacket || is_xrc(type);
  if (!known) return EOPNOTSUPP;
  if (is_xrc(type) && (asked.has_srq != 0 || asked.receive_slots != 0)) return EINVAL;
  if (type == QpType::kRawPacket && asked.has_srq != 0) return EINVAL;
  if (asked.management > 1 || (asked.management != 0 && type != QpType::kUd)) return EINVAL;
  if (asked.management != 0 && qps_.contains(kManagementQpn)) return EBUSY;
  if (type == QpType::kXrcReceive) {
    if (owned(xrcds_, client, asked.xrcd) == nullptr || asked.send_slots != 0) return EINVAL;
    return qps_.size() == attributes_.max_qps ? ENOMEM : 0;
  }
  if (shared(pds_, client, asked.pd) == nullptr || owned(cqs_, client, asked.send_cq) == nullptr) return EINVAL;
  if (!is_xrc(type) && owned(cqs_, client, asked.receive_cq) == nullptr) return EINVAL;
  if (asked.has_srq != 0) {
    const SrqObject* srq = owned(srqs_, client, asked.srqn);
    if (srq == nullptr) return EINVAL;
    if (srq->context.tag_matching && (type != QpType::kRc || asked.send_slots != 0)) return EINVAL;  // (R10)
  }
  const std::uint32_t most = std::bit_ceil(attributes_.max_qp_wrs);
  if (asked.send_slots != 0) {
    if (asked.send_slots > most || asked.send_stride < kMinSendStride || asked.send_stride > kMaxSendStride ||
        !ring_fits(asked.send_ring, asked.send_slots, asked.send_stride) || !is_free(own.send, asked.send_doorbell)) {
      return EINVAL;
    }
  }
  if (asked.has_srq == 0 && asked.receive_slots != 0) {
    if (asked.receive_slots > most || asked.receive_stride < kMinReceiveStride ||
        asked.receive_stride > kMaxReceiveStride ||
        !ring_fits(asked.receive_ring, asked.receive_slots, asked.receive_stride) ||
        !is_free(own.receive, asked.receive_doorbell)) {
      return EINVAL;
    }
  }
  return qps_.size() == attributes_.max_qps ? ENOMEM : 0;
}

// RSS QPs have their numbers from the same pool.
std::optional<std::uint32_t> Driver::take_qp_number() {
  return qp_numbers_.take(qps_.size() + rss_.size(),
                          [this](std::uint32_t n) { return qps_.contains(n) || rss_.contains(n); });
}

CommandResult Driver::create_qp(ClientId client, Command& c) {
  channel::QueuePair& asked = c.message.body.qp;
  if (c.begun) {
    CommandReply reply;
    if (const CommandResult r = await(c.ticket, &reply); r != CommandResult::kDone) return r;
    QpObject& made = qps_.at(asked.qpn);
    if (c.step == kFreesQueue || (c.step == kMakesQueue && reply.status != CommandStatus::kDone)) {
      forget_qp(made.qpn());
      return refuse(c, ENOMEM);
    }
    if (c.step == kMakesQp) {
      made.made = reply.status == CommandStatus::kDone;
      if (made.made) return CommandResult::kDone;
      if (!made.own_queue) {
        forget_qp(made.qpn());
        return refuse(c, ENOMEM);
      }
      c.step = kFreesQueue;  // nobody has used it
      c.ticket = commands_.free_queue(made.context.qp.receive_queue, *made.own_queue);
      return CommandResult::kGiven;
    }
    c.step = kMakesQp;
    made.context.qp.receive_queue = made.created.qp.receive_queue = WqId{reply.number};
    assign(clients_.at(client).receive, made.receive_record, reply.number);
    c.ticket = commands_.create_qp(made.context);
    return CommandResult::kGiven;
  }
  if (const std::int32_t error = check_qp(client, asked); error != 0) return refuse(c, error);
  const auto number = asked.management != 0 ? std::optional{kManagementQpn} : take_qp_number();
  if (!number) return refuse(c, ENOMEM);
  Objects& own = clients_.at(client);
  QpObject qp;
  qp.owner = client;
  qp.type = static_cast<QpType>(asked.type);
  QpContext& context = qp.context.qp;
  context.qpn = Qpn{*number};
  context.transport = transport_of(qp.type);
  if (qp.type != QpType::kXrcReceive) context.pd = Pdn{asked.pd};
  context.xrcd = qp.type == QpType::kXrcReceive ? xrcds_.at(asked.xrcd).domain : kNoDomain;
  context.mtu = static_cast<std::uint16_t>(attributes_.active_mtu);  // UD: the port's; RC, UC: until IBV_QP_PATH_MTU
  if (qp.type == QpType::kRawPacket) context.mtu += kMostLinkHeaderBytes;
  context.send_cq = Cqn{qp.type == QpType::kXrcReceive ? 0 : asked.send_cq};
  context.receive_cq = Cqn{is_xrc(qp.type) ? 0 : asked.receive_cq};
  qp.has_srq = asked.has_srq != 0;
  context.uses_srq = qp.has_srq || is_xrc(qp.type);
  if (is_xrc(qp.type)) {
    if (qp.type == QpType::kXrcReceive) qp.xrcd = asked.xrcd;
  } else if (qp.has_srq) {
    SrqObject& srq = srqs_.at(asked.srqn);
    context.receive_queue = srq.queue;
    context.tag_matching = srq.context.tag_matching;
    qp.srqn = asked.srqn;
  } else {  // (R4)
    WqContext queue;
    queue.number = *number;
    queue.pd = Pdn{asked.pd};
    const bool posts = asked.receive_slots != 0;
    queue.base = ring_address(client, posts ? asked.receive_ring : channel::kHeapOffset);
    queue.slots = posts ? asked.receive_slots : 1;
    queue.stride = posts ? asked.receive_stride : kMinReceiveStride;
    if (posts) qp.receive_record = asked.receive_doorbell;
    qp.own_queue = queue;
  }
  if (asked.send_slots != 0) {
    qp.context.queue = {ring_address(client, asked.send_ring), asked.send_slots, asked.send_stride,
                        asked.all_signaled != 0};
    qp.send_record = asked.send_doorbell;
  }
  qp.created = qp.context;
  assign(own.send, qp.send_record, *number);
  count_user(qp, 1);
  qps_[*number] = qp;
  asked.qpn = *number;
  c.begun = true;
  c.step = qp.own_queue ? kMakesQueue : kMakesQp;
  c.ticket = qp.own_queue ? commands_.create_queue(*qp.own_queue) : commands_.create_qp(qp.context);
  return CommandResult::kGiven;
}

// Writes the attributes into the NIC's context.
std::int32_t Driver::apply(const channel::QpAttributes& asked, QpState next, SendQpContext& context,
                           channel::QpAttributes& set) const {
  context.qp.state = next;
  set.state = set.current_state = static_cast<std::uint32_t>(next);
  if (has(asked, kAttrPort)) set.port = asked.port;
  if (has(asked, kAttrPkeyIndex)) set.pkey_index = asked.pkey_index;
  if (has(asked, kAttrAccess)) {
    set.access = asked.access;
    context.qp.access = static_cast<std::uint8_t>(asked.access & kAccessRights);
  }
  if (has(asked, kAttrQkey)) context.qp.qkey = set.qkey = asked.qkey;
  if (has(asked, kAttrRemoteQpn)) {
    set.remote_qpn = asked.remote_qpn;
    context.qp.remote_qpn = Qpn{asked.remote_qpn};
  }
  if (has(asked, kAttrPathMtu)) {
    set.path_mtu = asked.path_mtu;
    context.qp.mtu = mtu_of_code(asked.path_mtu);
  }
  if (has(asked, kAttrPath)) {
    set.path = asked.path;
    if (const std::int32_t error = complete(set.path); error != 0) return error;
    if (address_of(asked.path.destination_gid, channel::GidType::kRoceV2).is_multicast()) return EINVAL;
    set.is_global = 1;
    context.path = set.path;
    const channel::Gid& source = attributes_.gids[asked.path.source_gid_index];
    context.qp.local = address_of(source.bytes, source.type);
    context.qp.remote = address_of(asked.path.destination_gid, source.type);
  }
  const auto byte = [](std::uint32_t value) { return static_cast<std::uint8_t>(value); };
  if (has(asked, kAttrMinRnrTimer)) context.qp.min_rnr_timer = byte(set.min_rnr_timer = asked.min_rnr_timer);
  if (has(asked, kAttrMaxDestRdAtomic)) {
    context.qp.max_dest_rd_atomic = byte(set.max_dest_rd_atomic = asked.max_dest_rd_atomic);
  }
  if (has(asked, kAttrMaxRdAtomic)) context.max_rd_atomic = byte(set.max_rd_atomic = asked.max_rd_atomic);
  if (has(asked, kAttrTimeout)) context.timeout = byte(set.timeout = asked.timeout);
  if (has(asked, kAttrRetryCount)) context.retry_count = byte(set.retry_count = asked.retry_count);
  if (has(asked, kAttrRnrRetry)) context.rnr_retry = byte(set.rnr_retry = asked.rnr_retry);
  if (has(asked, kAttrRqPsn)) set.rq_psn = asked.rq_psn;
  if (has(asked, kAttrSqPsn)) context.sq_psn = set.sq_psn = asked.sq_psn;
  return 0;
}

CommandResult Driver::modify_qp(ClientId client, Command& c) {
  channel::QpAttributes& asked = c.message.body.attributes;
  QpObject* qp = held(client, asked.qpn);
  if (qp == nullptr) return refuse(c, EINVAL);
  asked.mask = without_ignored(qp->type, asked.mask);
  const auto state = static_cast<QpState>(qp->attributes.state);  // that software has set
  constexpr std::uint8_t kAsked = 1, kKnown = 2;                  // steps: whether the NIC has moved the QP to SQE
  if (!c.begun && has_send_error_state(qp->type) && (state == QpState::kRts || state == QpState::kSqd)) {
    c.ticket = commands_.query_qp(qp->qpn());
    c.step = kAsked;
    c.begun = true;
    return CommandResult::kGiven;
  }
  if (c.step == kAsked) {
    CommandReply found;
    if (const CommandResult r = await(c.ticket, &found); r != CommandResult::kDone) return r;
    c.step = kKnown;
    const bool send_error = static_cast<QpState>(found.number) == QpState::kSqe;
    return begin_modify(c, *qp, send_error ? QpState::kSqe : state);
  }
  if (!c.begun) return begin_modify(c, *qp, state);
  CommandReply reply;
  if (const CommandResult r = await(c.ticket, &reply); r != CommandResult::kDone) return r;
  if (reply.status == CommandStatus::kNoRoom) return refuse(c, ENOMEM);
  if (reply.status != CommandStatus::kDone) return refuse(c, EINVAL);  // it has moved to the error state meanwhile
  const bool to_reset = has(asked, kAttrState) && asked.state == static_cast<std::uint32_t>(QpState::kReset);
  const bool to_error = has(asked, kAttrState) && asked.state == static_cast<std::uint32_t>(QpState::kError);
  if (to_reset) {
    qp->context = qp->created;
    qp->attributes = {};
  } else if (to_error) {
    qp->attributes.state = asked.state;
  } else {
    apply(asked, next_state(*qp, asked), qp->context, qp->attributes);
  }
  return CommandResult::kDone;
}

// What a QP in error may not do the NIC refuses (blocks/command_processor.h, R9).
CommandResult Driver::begin_modify(Command& c, QpObject& qp, QpState state) {
  const channel::QpAttributes& asked = c.message.body.attributes;
  QpState next{};
  const int error = check_modify(qp.type, state, asked, attributes_.max_rd_atomic, next);
  if (error != 0) return refuse(c, error);
  if (has(asked, kAttrState) && next == QpState::kReset) {
    drop_doorbells(qp);
    c.ticket = commands_.reset_qp(qp.qpn());
  } else if (has(asked, kAttrState) && next == QpState::kError) {
    c.ticket = commands_.fail_qp(qp.qpn());
  } else {
    SendQpContext context = qp.context;
    channel::QpAttributes set = qp.attributes;
    if (const std::int32_t refused = apply(asked, next, context, set); refused != 0) return refuse(c, refused);
    CommandQueue::Changes changes;
    changes.set_rq_psn = has(asked, kAttrRqPsn);
    changes.rq_psn = Psn{asked.rq_psn};
    changes.set_sq_psn = has(asked, kAttrSqPsn);
    changes.notify_drained = has(asked, kAttrDrainedNotify) && asked.drained_notify != 0;
    changes.recovers = state == QpState::kSqe;
    c.ticket = commands_.modify_qp(context, changes);
  }
  c.begun = true;
  return CommandResult::kGiven;
}

// R6.
bool Driver::doorbells_wait(const QpObject& qp) const {
  return send_line_.waits(raw(qp.qpn())) || (qp.own_queue && receive_line_.waits(raw(qp.context.qp.receive_queue)));
}

// Nothing of a doorbell that was rung before a reset may reach the QP afterwards; what has entered the NIC it waits for
// itself.
void Driver::drop_doorbells(const QpObject& qp) {
  send_line_.drop(raw(qp.qpn()));
  if (qp.send_record != kNoRecord) clients_.at(qp.owner).send[qp.send_record].last = 0;
  if (qp.own_queue) receive_line_.drop(raw(qp.context.qp.receive_queue));
}

CommandResult Driver::query_qp(ClientId client, Command& c) {
  const std::uint32_t number = c.message.body.attributes.qpn;
  const QpObject* qp = held(client, number);
  if (qp == nullptr) return refuse(c, EINVAL);
  if (!c.begun) c.ticket = commands_.query_qp(qp->qpn());
  c.begun = true;
  CommandReply reply;
  if (const CommandResult r = await(c.ticket, &reply); r != CommandResult::kDone) return r;
  channel::QpAttributes found = qp->attributes;
  found.qpn = number;
  found.mask = c.message.body.attributes.mask;
  found.state = found.current_state = reply.number;
  const auto set = static_cast<QpState>(qp->attributes.state);  // by software: from then on the NIC counts the PSNs
  if (set >= QpState::kRtr && qp->type != QpType::kUd && qp->type != QpType::kRawPacket) found.rq_psn = reply.value;
  if (set >= QpState::kRts) found.sq_psn = reply.psn.value;
  c.message.body.attributes = found;
  return CommandResult::kDone;
}

CommandResult Driver::free_qp(ClientId client, Command& c) {
  const std::uint32_t number = c.message.body.handle.number;
  QpObject* qp = held(client, number);
  if (qp == nullptr) return refuse(c, EINVAL);
  if (qp->groups + qp->flows + qp->tables != 0) return refuse(c, EBUSY);
  if (qp->teardown.step == 0 && pass_on(*qp, client)) return CommandResult::kDone;
  return destroy_qp(Qpn{number});
}

CommandResult Driver::destroy_qp(Qpn qpn) {
  QpObject& qp = qps_.at(raw(qpn));
  Teardown& t = qp.teardown;
  if (t.step == 0) {
    Objects& own = clients_.at(qp.owner);
    release(own.send, qp.send_record);
    release(own.receive, qp.receive_record);
    t.step = 1;
  }
  if (t.step == 1) {
    if (doorbells_wait(qp)) return CommandResult::kBusy;
    if (const CommandResult r = leave_groups(qp); r != CommandResult::kDone) return r;
    t = {2, commands_.free_qp(qpn)};
  }
  if (const CommandResult r = await(t.ticket); r != CommandResult::kDone) return r;
  if (t.step == 2 && qp.own_queue) {
    t = {3, commands_.free_queue(qp.context.qp.receive_queue, *qp.own_queue)};
    return CommandResult::kGiven;
  }
  forget_qp(qpn);
  return CommandResult::kDone;
}

void Driver::forget_qp(Qpn qpn) {
  const QpObject& qp = qps_.at(raw(qpn));
  Objects& own = clients_.at(qp.owner);
  release(own.send, qp.send_record);
  release(own.receive, qp.receive_record);
  count_user(qp, ~std::uint32_t{0});
  for (const auto& holder : qp.holders) --xrcds_.at(holder.xrcd).users;
  qps_.erase(raw(qpn));
}

// Adds to the users of what the QP refers to.
void Driver::count_user(const QpObject& qp, std::uint32_t one) {
  const QpContext& context = qp.context.qp;
  if (qp.has_srq) srqs_.at(qp.srqn).users += one;
  if (qp.type == QpType::kXrcReceive) {
    xrcds_.at(qp.xrcd).users += one;
    return;
  }
  pds_.at(raw(context.pd)).users += one;
  cqs_.at(raw(context.send_cq)).users += one;
  if (!is_xrc(qp.type)) cqs_.at(raw(context.receive_cq)).users += one;
}

}  // namespace rxnic
