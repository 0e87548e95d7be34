// SPDX-License-Identifier: Apache-2.0
// Completion channels, completion queues and shared receive queues.
#include <array>
#include <bit>
#include <cerrno>

#include "bridge/channel/tag_ring.h"
#include "bridge/driver/driver.h"

namespace rxnic {

namespace {

TagOperation tag_operation(const channel::TagWrite& written, std::uint32_t slot, WqId queue) {
  TagOperation op;
  op.srq = queue;
  op.wqe_index = slot;
  if (written.kind < channel::TagWriteKind::kAdd || written.kind > channel::TagWriteKind::kSync) return op;
  op.opcode = written.kind == channel::TagWriteKind::kAdd      ? TagOpcode::kAdd
              : written.kind == channel::TagWriteKind::kDelete ? TagOpcode::kDelete
                                                               : TagOpcode::kSync;
  op.signaled = (written.flags & channel::kTagWriteSignaled) != 0;
  op.tm_sync = (written.flags & channel::kTagWriteSync) != 0;
  op.unexpected_count = written.unexpected_count;
  op.entry.handle = written.handle;
  if (op.opcode == TagOpcode::kAdd) op.entry = {written.handle, written.tag, written.mask, written.buffer};
  return op;
}

}  // namespace

// Programs chooses the number, because it owns the event pipe.
CommandResult Driver::create_channel(ClientId client, Command& c) {
  Objects& own = clients_.at(client);
  const std::uint32_t number = c.message.body.handle.number;
  if (number == 0 || !own.channels.insert(number).second) return refuse(c, EINVAL);
  return CommandResult::kDone;
}

CommandResult Driver::free_channel(ClientId client, Command& c) {
  Objects& own = clients_.at(client);
  const std::uint32_t number = c.message.body.handle.number;
  if (!own.channels.contains(number)) return refuse(c, EINVAL);
  if (own.channel_users[number] != 0) return refuse(c, EBUSY);
  own.channels.erase(number);
  own.channel_users.erase(number);
  return CommandResult::kDone;
}

CommandResult Driver::create_cq(ClientId client, Command& c) {
  channel::CompletionQueue& asked = c.message.body.cq;
  if (c.begun) {
    CommandReply reply;
    if (const CommandResult r = await(c.ticket, &reply); r != CommandResult::kDone) return r;
    if (reply.status == CommandStatus::kDone) return CommandResult::kDone;
    forget_cq(Cqn{asked.cqn});
    return refuse(c, ENOMEM);
  }
  Objects& own = clients_.at(client);
  if (asked.slots > std::bit_ceil(attributes_.max_cqes) || !ring_fits(asked.ring, asked.slots, attributes_.cqe_bytes) ||
      !is_free(own.completion, asked.doorbell) || (asked.channel != 0 && !own.channels.contains(asked.channel))) {
    return refuse(c, EINVAL);
  }
  const auto number = cq_numbers_.take(cqs_.size(), [this](std::uint32_t n) { return cqs_.contains(n); });
  if (cqs_.size() == attributes_.max_cqs || !number) return refuse(c, ENOMEM);
  CqObject cq;
  cq.owner = client;
  cq.context.number = Cqn{*number};
  cq.context.base = ring_address(client, asked.ring);
  cq.context.slots = asked.slots;
  cq.context.ignore_overrun = asked.ignore_overrun != 0;
  cq.context.compress = true;  // the NIC compresses only when its parameters say so
  cq.context.polled_only = asked.channel == 0;
  cq.channel = asked.channel;
  cq.record = asked.doorbell;
  c.ticket = commands_.create_cq(cq.context);
  c.begun = true;
  if (cq.channel != 0) ++own.channel_users[cq.channel];
  assign(own.completion, cq.record, *number);
  cqs_[*number] = cq;
  asked.cqn = *number;
  return CommandResult::kGiven;
}

// Doorbells that were rung before take effect first: they refer to the old ring.
CommandResult Driver::resize_cq(ClientId client, Command& c) {
  channel::CompletionQueue& asked = c.message.body.cq;
  CqObject* cq = owned(cqs_, client, asked.cqn);
  if (cq == nullptr) return refuse(c, EINVAL);
  CqContext context = cq->context;
  context.base = ring_address(client, asked.ring);
  context.slots = asked.slots;
  if (!c.begun) {
    if (asked.slots > std::bit_ceil(attributes_.max_cqes) ||
        !ring_fits(asked.ring, asked.slots, attributes_.cqe_bytes)) {
      return refuse(c, EINVAL);
    }
    if (completion_line_.waits(asked.cqn)) return CommandResult::kBusy;
    c.ticket = commands_.resize_cq(context, asked.consumer);
    c.begun = true;
  }
  CommandReply reply;
  if (const CommandResult r = await(c.ticket, &reply); r != CommandResult::kDone) return r;
  if (reply.status != CommandStatus::kDone) return refuse(c, EINVAL);  // the CQEs that were not polled do not fit
  cq->context = context;
  asked.consumer = 0;  // CQEs of the new ring are numbered from 0
  return CommandResult::kDone;
}

CommandResult Driver::modify_cq(ClientId client, Command& c) {
  const channel::CompletionQueue& asked = c.message.body.cq;
  CqObject* cq = owned(cqs_, client, asked.cqn);
  if (cq == nullptr) return refuse(c, EINVAL);
  if (!c.begun) {
    cq->context.moderation_count = asked.moderation_count;
    cq->context.moderation_period_us = asked.moderation_period_us;
    c.ticket = commands_.modify_cq(cq->context);
    c.begun = true;
  }
  return await(c.ticket);
}

CommandResult Driver::free_cq(ClientId client, Command& c) {
  const std::uint32_t number = c.message.body.handle.number;
  const CqObject* cq = owned(cqs_, client, number);
  if (cq == nullptr) return refuse(c, EINVAL);
  if (cq->users != 0) return refuse(c, EBUSY);
  return destroy_cq(Cqn{number});
}

CommandResult Driver::destroy_cq(Cqn number) {
  CqObject& cq = cqs_.at(raw(number));
  if (cq.teardown.step == 0) {
    release(clients_.at(cq.owner).completion, cq.record);
    completion_line_.drop(raw(number));
    cq.teardown = {1, commands_.free_cq(number)};
  }
  if (const CommandResult r = await(cq.teardown.ticket); r != CommandResult::kDone) return r;
  forget_cq(number);
  return CommandResult::kDone;
}

void Driver::forget_cq(Cqn number) {
  const CqObject& cq = cqs_.at(raw(number));
  Objects& own = clients_.at(cq.owner);
  release(own.completion, cq.record);
  if (cq.channel != 0) --own.channel_users[cq.channel];
  cqs_.erase(raw(number));
}

std::int32_t Driver::check_srq(ClientId client, const channel::SharedReceiveQueue& asked) {
  const Objects& own = clients_.at(client);
  if (asked.type != kSrqBasic && asked.type != kSrqXrc && asked.type != kSrqTagMatching) return EOPNOTSUPP;
  const bool fits = asked.slots >= 2 && asked.slots <= std::bit_ceil(attributes_.max_srq_wrs) &&
                    asked.stride >= kMinReceiveStride && asked.stride <= kMaxReceiveStride &&
                    ring_fits(asked.ring, asked.slots, asked.stride);
  if (shared(pds_, client, asked.pd) == nullptr || !fits || !is_free(own.receive, asked.doorbell)) return EINVAL;
  if (asked.type == kSrqBasic) return 0;
  if (owned(cqs_, client, asked.cqn) == nullptr) return EINVAL;
  if (asked.type == kSrqXrc) return owned(xrcds_, client, asked.xrcd) != nullptr ? 0 : EINVAL;
  const bool tags_fit = asked.tag_slots <= std::bit_ceil(attributes_.max_tag_operations) &&
                        ring_fits(asked.tag_ring, asked.tag_slots, channel::kTagWriteBytes);
  return tags_fit && is_free(own.tags, asked.tag_doorbell) ? 0 : EINVAL;
}

CommandResult Driver::create_srq(ClientId client, Command& c) {
  channel::SharedReceiveQueue& asked = c.message.body.srq;
  if (c.begun) {
    CommandReply reply;
    if (const CommandResult r = await(c.ticket, &reply); r != CommandResult::kDone) return r;
    if (reply.status != CommandStatus::kDone) {
      forget_srq(Srqn{asked.srqn});
      return refuse(c, ENOMEM);
    }
    SrqObject& srq = srqs_.at(asked.srqn);
    srq.queue = WqId{reply.number};
    assign(clients_.at(client).receive, srq.record, raw(srq.queue));
    return CommandResult::kDone;
  }
  if (const std::int32_t error = check_srq(client, asked); error != 0) return refuse(c, error);
  const auto number = srq_numbers_.take(srqs_.size(), [this](std::uint32_t n) { return srqs_.contains(n); });
  if (srqs_.size() == attributes_.max_srqs || !number) return refuse(c, ENOMEM);
  SrqObject srq;
  srq.owner = client;
  srq.context.kind = WqKind::kSrq;
  srq.context.layout = srq_layout_;
  srq.context.number = *number;
  srq.context.base = ring_address(client, asked.ring);
  srq.context.slots = asked.slots;
  srq.context.stride = asked.stride;
  srq.context.pd = Pdn{asked.pd};
  if (asked.type == kSrqTagMatching) {
    srq.context.tag_matching = true;
    srq.tag_record = asked.tag_doorbell;
    srq.tag_ring = ring_address(client, asked.tag_ring);
    srq.tag_slots = asked.tag_slots;
    assign(clients_.at(client).tags, srq.tag_record, *number);
  }
  if (asked.type == kSrqXrc) {
    srq.xrcd = asked.xrcd;
    srq.context.xrcd = xrcds_.at(asked.xrcd).domain;
    ++xrcds_.at(asked.xrcd).users;
  }
  if (asked.type != kSrqBasic) {
    srq.context.cq = Cqn{asked.cqn};
    ++cqs_.at(asked.cqn).users;
  }
  c.ticket = commands_.create_queue(srq.context);
  c.begun = true;
  srq.record = asked.doorbell;
  ++pds_.at(asked.pd).users;
  srqs_[*number] = srq;
  asked.srqn = *number;
  return CommandResult::kGiven;
}

// The limit is armed after the doorbells that were rung before have taken effect, and before the reply.
CommandResult Driver::modify_srq(ClientId client, Command& c) {
  const channel::SharedReceiveQueue& asked = c.message.body.srq;
  const SrqObject* srq = owned(srqs_, client, asked.srqn);
  if (srq == nullptr) return refuse(c, EINVAL);
  const std::uint32_t unused = srq->context.layout == WqLayout::kLinkedList ? 1 : 0;
  if (asked.limit > srq->context.slots - unused) return refuse(c, EINVAL);
  if (!c.begun) {
    if (receive_line_.waits(raw(srq->queue))) return CommandResult::kBusy;
    c.ticket = commands_.arm_limit(srq->queue, asked.limit);
    c.begun = true;
  }
  return await(c.ticket);
}

CommandResult Driver::query_srq(ClientId client, Command& c) {
  channel::SharedReceiveQueue& asked = c.message.body.srq;
  const SrqObject* srq = owned(srqs_, client, asked.srqn);
  if (srq == nullptr) return refuse(c, EINVAL);
  if (!c.begun) c.ticket = commands_.query_queue(srq->queue);
  c.begun = true;
  CommandReply reply;
  if (const CommandResult r = await(c.ticket, &reply); r != CommandResult::kDone) return r;
  asked.pd = raw(srq->context.pd);
  asked.slots = srq->context.slots;
  asked.stride = srq->context.stride;
  asked.limit = reply.number;
  return CommandResult::kDone;
}

CommandResult Driver::free_srq(ClientId client, Command& c) {
  const std::uint32_t number = c.message.body.handle.number;
  const SrqObject* srq = owned(srqs_, client, number);
  if (srq == nullptr) return refuse(c, EINVAL);
  if (srq->users != 0) return refuse(c, EBUSY);
  return destroy_srq(Srqn{number});
}

CommandResult Driver::destroy_srq(Srqn number) {
  SrqObject& srq = srqs_.at(raw(number));
  if (srq.teardown.step == 0) {
    Objects& own = clients_.at(srq.owner);
    release(own.receive, srq.record);
    release(own.tags, srq.tag_record);
    receive_line_.drop(raw(srq.queue));
    tag_line_.drop(raw(number));
    srq.teardown = {1, commands_.free_queue(srq.queue, srq.context)};
  }
  if (const CommandResult r = await(srq.teardown.ticket); r != CommandResult::kDone) return r;
  forget_srq(number);
  return CommandResult::kDone;
}

void Driver::forget_srq(Srqn number) {
  const SrqObject& srq = srqs_.at(raw(number));
  --pds_.at(raw(srq.context.pd)).users;
  if (srq.context.tag_matching) release(clients_.at(srq.owner).tags, srq.tag_record);
  if (srq.context.cq != Cqn{}) --cqs_.at(raw(srq.context.cq)).users;
  if (srq.xrcd != 0) --xrcds_.at(srq.xrcd).users;
  srqs_.erase(raw(number));
}

// (R9)
bool Driver::give_tags(const Doorbell& rung, Out<TagOperation>& out, Cycle now) {
  const auto it = srqs_.find(rung.number);
  if (it == srqs_.end()) return true;
  SrqObject& srq = it->second;
  if (rung.value - srq.tag_writes > srq.tag_slots) srq.tag_writes = rung.value - srq.tag_slots;
  for (; srq.tag_writes != rung.value; ++srq.tag_writes) {
    if (!out.can_push(now)) return false;
    const std::uint32_t slot = srq.tag_writes & (srq.tag_slots - 1);
    std::array<std::uint8_t, channel::kTagWriteBytes> bytes{};
    memory_.read(srq.tag_ring + std::uint64_t{slot} * channel::kTagWriteBytes, bytes);
    out.push(now, tag_operation(std::bit_cast<channel::TagWrite>(bytes), slot, srq.queue));
  }
  return true;
}

}  // namespace rxnic
