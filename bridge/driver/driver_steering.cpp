// SPDX-License-Identifier: Apache-2.0
// Which QPs get what comes without naming them: multicast groups, flows, and QPs that spread frames over others (RSS).
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "bridge/driver/driver.h"

namespace rxnic {

namespace {

constexpr std::size_t kMaxCounters = 65536;  // of all programs

// Where the NIC writes what a flow of the client has counted: each has one request at a time.
BusAddress counts_of(ClientId client) {
  return icm::kFlowCounts + sizeof(FlowCounts) * static_cast<std::uint64_t>(client);
}

template <class Sum>
void add(Sum& sum, const FlowCounts& counts) {
  sum.packets += counts.packets;
  sum.bytes += counts.bytes;
}

}  // namespace

CommandResult Driver::attach_multicast(ClientId client, Command& c) {
  const channel::Multicast& asked = c.message.body.multicast;
  QpObject* qp = owned(qps_, client, asked.qpn);
  const Address group = address_of(asked.gid, channel::GidType::kRoceV2);
  if (c.begun) {
    CommandReply reply;
    if (const CommandResult r = await(c.ticket, &reply); r != CommandResult::kDone) return r;
    if (reply.status == CommandStatus::kDone) return CommandResult::kDone;
    groups_.erase({group, qp->qpn()});
    --qp->groups;
    return refuse(c, ENOMEM);
  }
  if (qp == nullptr || qp->type != QpType::kUd || !group.is_multicast()) return refuse(c, EINVAL);
  if (!groups_.emplace(group, qp->qpn()).second) return CommandResult::kDone;  // it is already
  c.ticket = commands_.attach_multicast(group, qp->qpn());
  c.begun = true;
  ++qp->groups;
  return CommandResult::kGiven;
}

CommandResult Driver::detach_multicast(ClientId client, Command& c) {
  const channel::Multicast& asked = c.message.body.multicast;
  if (c.begun) return await(c.ticket);
  QpObject* qp = owned(qps_, client, asked.qpn);
  const Address group = address_of(asked.gid, channel::GidType::kRoceV2);
  if (qp == nullptr || groups_.erase({group, qp->qpn()}) == 0) return refuse(c, EINVAL);
  c.ticket = commands_.detach_multicast(group, qp->qpn());
  c.begun = true;
  --qp->groups;
  return CommandResult::kGiven;
}

// One after the other.
CommandResult Driver::leave_groups(QpObject& qp) {
  for (;;) {
    if (const CommandResult r = await(qp.teardown.ticket); r != CommandResult::kDone) return r;
    if (qp.groups == 0) return CommandResult::kDone;
    const auto group =
        std::find_if(groups_.begin(), groups_.end(), [&](const auto& g) { return g.second == qp.qpn(); });
    if (group == groups_.end()) return CommandResult::kDone;
    qp.teardown.ticket = commands_.detach_multicast(group->first, qp.qpn());
    groups_.erase(group);
    --qp.groups;
  }
}

// The count of the flows that name the QP; nullptr: none may.
std::uint32_t* Driver::flows_of(ClientId client, std::uint32_t qpn) {
  if (QpObject* qp = owned(qps_, client, qpn)) return qp->type == QpType::kRawPacket ? &qp->flows : nullptr;
  RssObject* rss = owned(rss_, client, qpn);
  return rss == nullptr ? nullptr : &rss->flows;
}

CommandResult Driver::create_flow(ClientId client, Command& c) {
  channel::Flow& asked = c.message.body.flow;
  std::uint32_t* const flows = flows_of(client, asked.qpn);
  if (c.begun) {
    CommandReply reply;
    if (const CommandResult r = await(c.ticket, &reply); r != CommandResult::kDone) return r;
    if (reply.status == CommandStatus::kDone) return CommandResult::kDone;
    forget_flow(asked.number);
    return refuse(c, ENOMEM);
  }
  if (flows == nullptr || asked.kind > static_cast<std::uint8_t>(FlowKind::kMulticastDefault)) {
    return refuse(c, EINVAL);
  }
  CountersObject* const counters = owned(counters_, client, asked.counters);
  if (asked.counters != 0 && counters == nullptr) return refuse(c, EINVAL);
  FlowMailbox mailbox;
  std::memcpy(&mailbox.value, asked.value.data(), sizeof mailbox.value);
  std::memcpy(&mailbox.mask, asked.mask.data(), sizeof mailbox.mask);
  mailbox.qpn = asked.qpn;
  mailbox.priority = asked.priority;
  mailbox.kind = static_cast<FlowKind>(asked.kind);
  asked.number = ++last_flow_;
  flows_[asked.number] = {client, asked.qpn, asked.counters};
  ++*flows;
  if (counters != nullptr) ++counters->users;
  c.ticket = commands_.add_flow(asked.number, mailbox);
  c.begun = true;
  return CommandResult::kGiven;
}

CommandResult Driver::free_flow(ClientId client, Command& c) {
  const std::uint32_t number = c.message.body.handle.number;
  return owned(flows_, client, number) == nullptr ? refuse(c, EINVAL) : destroy_flow(number);
}

CommandResult Driver::destroy_flow(std::uint32_t number) {
  FlowObject& flow = flows_.at(number);
  const BusAddress counts = counts_of(flow.owner);
  if (flow.teardown.step == 0) flow.teardown = {1, commands_.remove_flow(number, counts)};
  if (const CommandResult r = await(flow.teardown.ticket); r != CommandResult::kDone) return r;
  if (const auto counters = counters_.find(flow.counters); counters != counters_.end()) {
    add(counters->second, memory_.load<FlowCounts>(counts));
  }
  forget_flow(number);
  return CommandResult::kDone;
}

void Driver::forget_flow(std::uint32_t number) {
  const FlowObject& flow = flows_.at(number);
  --*flows_of(flow.owner, flow.qpn);
  if (flow.counters != 0) --counters_.at(flow.counters).users;
  flows_.erase(number);
}

CommandResult Driver::create_counters(ClientId client, Command& c) {
  const auto number =
      counters_numbers_.take(counters_.size(), [this](std::uint32_t n) { return counters_.contains(n); });
  if (counters_.size() >= kMaxCounters || !number) return refuse(c, ENOMEM);
  counters_[*number] = {client};
  c.message.body.handle.number = *number;
  return CommandResult::kDone;
}

CommandResult Driver::free_counters(ClientId client, Command& c) {
  const std::uint32_t number = c.message.body.handle.number;
  const CountersObject* const counters = owned(counters_, client, number);
  if (counters == nullptr) return refuse(c, EINVAL);
  if (counters->users != 0) return refuse(c, EBUSY);
  counters_.erase(number);
  return CommandResult::kDone;
}

// One flow after the other.
CommandResult Driver::read_counters(ClientId client, Command& c) {
  channel::Counters& asked = c.message.body.counters;
  if (c.begun) {
    if (const CommandResult r = await(c.ticket); r != CommandResult::kDone) return r;
    add(asked, memory_.load<FlowCounts>(counts_of(client)));
  } else {
    const CountersObject* const counters = owned(counters_, client, asked.number);
    if (counters == nullptr) return refuse(c, EINVAL);
    asked = {asked.number, 0, counters->packets, counters->bytes};
  }
  const auto next = std::find_if(flows_.upper_bound(asked.last_flow), flows_.end(),
                                 [&](const auto& flow) { return flow.second.counters == asked.number; });
  if (next == flows_.end()) return CommandResult::kDone;
  asked.last_flow = next->first;
  c.ticket = commands_.read_flow(next->first, counts_of(client));
  c.begun = true;
  return CommandResult::kGiven;
}

CommandResult Driver::create_rss(ClientId client, Command& c) {
  channel::Rss& asked = c.message.body.rss;
  if (c.begun) {
    CommandReply reply;
    if (const CommandResult r = await(c.ticket, &reply); r != CommandResult::kDone) return r;
    if (reply.status == CommandStatus::kDone) return CommandResult::kDone;
    forget_rss(Qpn{asked.qpn});
    return refuse(c, ENOMEM);
  }
  if (shared(pds_, client, asked.pd) == nullptr || asked.log_entries > kMostLogRssEntries) {
    return refuse(c, EINVAL);
  }
  RssObject rss{client, asked.pd};
  for (std::uint32_t n = 0; n < 1u << asked.log_entries; ++n) {
    const QpObject* const qp = owned(qps_, client, asked.queues[n]);
    if (qp == nullptr || qp->type != QpType::kRawPacket || qp->send_record != kNoRecord) return refuse(c, EINVAL);
    rss.queues.push_back(asked.queues[n]);
  }
  const auto number = take_qp_number();
  if (!number) return refuse(c, ENOMEM);
  RssMailbox mailbox;
  mailbox.key = asked.key;
  mailbox.fields = asked.fields;
  mailbox.log_entries = asked.log_entries;
  mailbox.qpns = asked.queues;
  asked.qpn = *number;
  count_queues(rss, 1);
  rss_[*number] = std::move(rss);
  c.ticket = commands_.add_rss(Qpn{*number}, mailbox);
  c.begun = true;
  return CommandResult::kGiven;
}

CommandResult Driver::free_rss(ClientId client, Command& c) {
  const std::uint32_t qpn = c.message.body.handle.number;
  const RssObject* const rss = owned(rss_, client, qpn);
  if (rss == nullptr) return refuse(c, EINVAL);
  return rss->flows != 0 ? refuse(c, EBUSY) : destroy_rss(Qpn{qpn});
}

CommandResult Driver::destroy_rss(Qpn qpn) {
  RssObject& rss = rss_.at(raw(qpn));
  if (rss.teardown.step == 0) rss.teardown = {1, commands_.remove_rss(qpn)};
  if (const CommandResult r = await(rss.teardown.ticket); r != CommandResult::kDone) return r;
  forget_rss(qpn);
  return CommandResult::kDone;
}

void Driver::forget_rss(Qpn qpn) {
  count_queues(rss_.at(raw(qpn)), ~std::uint32_t{0});
  rss_.erase(raw(qpn));
}

// Adds to the users of its queues and its PD.
void Driver::count_queues(const RssObject& rss, std::uint32_t one) {
  for (const std::uint32_t qpn : rss.queues) qps_.at(qpn).tables += one;
  pds_.at(rss.pd).users += one;
}

}  // namespace rxnic
