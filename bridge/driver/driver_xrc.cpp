// SPDX-License-Identifier: Apache-2.0
// XRC domains, and QPs that several clients have (R11 of driver.h).
#include <algorithm>
#include <cerrno>

#include "bridge/driver/driver.h"

namespace rxnic {

CommandResult Driver::open_xrcd(ClientId client, Command& c) {
  channel::XrcDomain& asked = c.message.body.xrcd;
  const XrcFile file{asked.file_device, asked.file_number};
  const auto shared = asked.has_file != 0 ? xrc_files_.find(file) : xrc_files_.end();
  const bool exists = shared != xrc_files_.end();
  // As open(2) of the file: O_CREAT makes a domain that does not exist, with O_EXCL none that does.
  if (exists && asked.create != 0 && asked.exclusive != 0) return refuse(c, EEXIST);
  if (!exists && asked.create == 0) return refuse(c, asked.has_file != 0 ? EAGAIN : EINVAL);
  const auto number = xrcd_numbers_.take(xrcds_.size(), [this](std::uint32_t n) { return xrcds_.contains(n); });
  if (xrcds_.size() == attributes_.max_pds || !number) return refuse(c, ENOMEM);
  const Xrcdn domain = exists ? shared->second : Xrcdn{++last_domain_};
  XrcDomainObject& object = domains_[raw(domain)];
  ++object.handles;
  if (!exists && asked.has_file != 0) {
    object.file = file;
    xrc_files_[file] = domain;
  }
  xrcds_[*number] = {client, domain, 0};
  asked.number = *number;
  return CommandResult::kDone;
}

CommandResult Driver::close_xrcd(ClientId client, Command& c) {
  const std::uint32_t number = c.message.body.xrcd.number;
  const XrcdObject* const xrcd = owned(xrcds_, client, number);
  if (xrcd == nullptr) return refuse(c, EINVAL);
  if (xrcd->users != 0) return refuse(c, EBUSY);
  forget_xrcd(number);
  return CommandResult::kDone;
}

// The last handle takes the domain along.
void Driver::forget_xrcd(std::uint32_t number) {
  const auto domain = domains_.find(raw(xrcds_.at(number).domain));
  xrcds_.erase(number);
  if (--domain->second.handles != 0) return;
  if (domain->second.file) xrc_files_.erase(*domain->second.file);
  domains_.erase(domain);
}

CommandResult Driver::open_qp(ClientId client, Command& c) {
  channel::QueuePair& asked = c.message.body.qp;
  XrcdObject* const xrcd = owned(xrcds_, client, asked.xrcd);
  const auto it = qps_.find(asked.qpn);
  if (xrcd == nullptr || it == qps_.end()) return refuse(c, EINVAL);
  QpObject& qp = it->second;
  // One that is being made, or goes with its owner, is not there for others.
  const bool there = qp.made && qp.teardown.step == 0 && clients_.at(qp.owner).teardown.step == 0;
  if (!there || qp.type != QpType::kXrcReceive || qp.context.qp.xrcd != xrcd->domain) return refuse(c, EINVAL);
  if (qp.holders.size() == attributes_.max_qps) return refuse(c, ENOMEM);
  qp.holders.push_back({client, asked.xrcd});
  ++xrcd->users;
  asked.type = static_cast<std::uint32_t>(qp.type);
  return CommandResult::kDone;
}

QpObject* Driver::held(ClientId client, std::uint32_t qpn) {
  const auto it = qps_.find(qpn);
  if (it == qps_.end()) return nullptr;
  QpObject& qp = it->second;
  const bool holds =
      std::any_of(qp.holders.begin(), qp.holders.end(), [&](const auto& h) { return h.client == client; });
  return qp.owner == client || holds ? &qp : nullptr;
}

std::vector<ClientId> Driver::other_holders(const Notice& notice) const {
  using channel::EventKind;
  std::vector<ClientId> others;
  const EventKind kind = notice.record.kind;
  if (kind < EventKind::kQpFatal || kind > EventKind::kQpCommunicationEstablished) return others;
  for (const auto& holder : qps_.at(notice.record.number).holders) {
    const bool told = std::find(others.begin(), others.end(), holder.client) != others.end();
    if (holder.client != notice.client && !told) others.push_back(holder.client);
  }
  return others;
}

// One holding of the client's ends. False: it is the last of all.
bool Driver::pass_on(QpObject& qp, ClientId from) {
  auto holder = std::find_if(qp.holders.begin(), qp.holders.end(), [&](const auto& h) { return h.client == from; });
  if (holder == qp.holders.end()) {
    if (qp.holders.empty()) return false;
    holder = qp.holders.begin();
    std::swap(qp.owner, holder->client);
    std::swap(qp.xrcd, holder->xrcd);
  }
  --xrcds_.at(holder->xrcd).users;
  qp.holders.erase(holder);
  return true;
}

void Driver::leave_domains(ClientId client) {
  for (auto& [number, qp] : qps_) {
    std::erase_if(qp.holders, [&](const QpObject::Holder& holder) {
      if (holder.client == client) --xrcds_.at(holder.xrcd).users;
      return holder.client == client;
    });
    if (qp.owner == client) pass_on(qp, client);
  }
}

}  // namespace rxnic
