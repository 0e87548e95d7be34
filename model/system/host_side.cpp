// SPDX-License-Identifier: Apache-2.0
#include "model/system/host_side.h"

#include <stdexcept>
#include <string>

namespace rxnic {

namespace {

bool is_kind(DoorbellKind kind) { return name_of(kind) != "?"; }  // a number that came in a packed one may be none

}  // namespace

HostSide::HostSide(const sc_core::sc_module_name& name, HostMemory& memory, Nic& nic)
    : Block(name), setup(nic, memory), command(memory), sends_(nic.requester != nullptr) {
  bind(nic);
}

bool HostSide::has(DoorbellKind kind) const { return kind == DoorbellKind::kSend ? sends_ : is_kind(kind); }

void HostSide::ring(const Doorbell& doorbell) {
  if (doorbell.kind == DoorbellKind::kSend && !sends_) {
    throw std::invalid_argument("doorbell: found one of a send queue; expected a NIC with a requester");
  }
  if (!is_kind(doorbell.kind)) {
    throw std::invalid_argument("doorbell: found kind " + std::to_string(raw(doorbell.kind)) +
                                "; expected one of DoorbellKind");
  }
  doorbells_.push_back({doorbell, from_call()});
  wake();
}

void HostSide::operate(const TagOperation& operation) {
  operations_.push_back({operation, from_call()});
  wake();
}

void HostSide::give(Ticket ticket, ReplyHandler then) {
  if (!command.in_progress(ticket)) {
    throw std::invalid_argument("ticket: found " + std::to_string(ticket) +
                                "; expected that of a command without reply");
  }
  given_[ticket] = std::move(then);
  if (const Cycle from = from_call(); from > first_new_.from) first_new_ = {ticket, from};
  wake();
}

Out<Doorbell>& HostSide::board_of(DoorbellKind kind) {
  switch (kind) {
    case DoorbellKind::kReceive:
    case DoorbellKind::kSrqLimit:
      return receive_doorbells;
    case DoorbellKind::kCqConsumer:
    case DoorbellKind::kCqArm:
      return completion_doorbells;
    case DoorbellKind::kSend:
      return send_doorbells;
    case DoorbellKind::kPageReply:
      return page_replies;
  }
  return receive_doorbells;
}

// (1) what the NIC has to say, (2) replies and commands, (3) doorbells and tag operations
Cycle HostSide::step(Cycle now) {
  for (In<Event>* in : {&receive_events, &completion_events, &send_events, &page_requests}) {
    while (in->can_pop(now)) {
      const Event event = in->pop(now);
      ++events_;
      event_(event);
    }
  }
  while (landed.can_pop(now)) {
    const HostNotice notice = landed.pop(now);
    completions_ += notice.completions;
    completion_(notice);
  }
  if (command.take(command_replies, now)) {
    for (auto at = given_.begin(); at != given_.end();) {
      if (!command.done(at->first)) {
        ++at;
        continue;
      }
      const CommandReply reply = command.collect(at->first);
      const ReplyHandler then = std::move(at->second);
      at = given_.erase(at);
      if (then) then(reply);
    }
  }
  const Ticket before = first_new_.from > now ? first_new_.what : ~Ticket{0};
  command.deliver(commands, now, before);
  const auto is_due = [now](const auto& called) { return !called.empty() && called.front().from <= now; };
  while (is_due(doorbells_) && board_of(doorbells_.front().what.kind).can_push(now)) {
    board_of(doorbells_.front().what.kind).push(now, doorbells_.front().what);
    doorbells_.pop_front();
  }
  while (is_due(operations_) && tag_operations.can_push(now)) {
    tag_operations.push(now, operations_.front().what);
    operations_.pop_front();
  }
  const bool blocked = is_due(doorbells_) || is_due(operations_) || command.waits(before);
  const bool waits = !doorbells_.empty() || !operations_.empty() || command.waiting() > 0;
  return rest(now, blocked ? Activity::kBlocked : Activity::kStarved, waits ? now + 1 : kNever);
}

}  // namespace rxnic
