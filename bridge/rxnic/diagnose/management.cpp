// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/diagnose/management.h"

#include <fmt/format.h>

#include "bridge/cm/mad.h"
#include "model/system/units.h"

namespace rxnic {

namespace {

// Table 109.
const char* reject_words(std::uint16_t reason) {
  constexpr const char* kWords[] = {
      nullptr,
      "no QP available",
      "no EEC available",
      "no resources available",
      "timeout",
      "unsupported request",
      "invalid communication ID",
      "invalid communication instance",
      "invalid service ID: nobody listens there",
      "invalid transport service type",
      "stale connection",
      "RDC does not exist",
      "primary remote port GID rejected",
      "primary remote port LID rejected",
      "invalid primary SL",
      "invalid primary traffic class",
      "invalid primary hop limit",
      "invalid primary packet rate",
      "alternate remote port GID rejected",
      "alternate remote port LID rejected",
      "invalid alternate SL",
      "invalid alternate traffic class",
      "invalid alternate hop limit",
      "invalid alternate packet rate",
      "port and CM redirection",
      "port redirection",
      "invalid path MTU",
      "insufficient responder resources",
      "refused by the program",
      "RNR retry count rejected",
      "duplicate local communication ID",
      "invalid class version",
      "invalid primary flow label",
      "invalid alternate flow label",
  };
  return reason < std::size(kWords) ? kWords[reason] : nullptr;
}

const char* lookup_words(std::uint16_t status) {  // table 121
  constexpr const char* kWords[] = {nullptr,           "no such service", "refused by the service",
                                    "no QP available", "redirected",      "unsupported version"};
  return status < std::size(kWords) ? kWords[status] : nullptr;
}

}  // namespace

Management::Exchange* Management::begin(const Headers& h, std::uint32_t id, const At& at) {
  const auto [place, fresh] = index_.try_emplace({h.source, id}, exchanges_.size());
  if (fresh) {
    if (exchanges_.size() == kMostKept) {
      index_.erase(place);
      return nullptr;
    }
    Exchange& e = exchanges_.emplace_back();
    e.from = h.source;
    e.to = h.destination;
    e.first_ps = at.ps;
  }
  Exchange& e = exchanges_[place->second];
  if (e.packets.size() < Occurrence::kMostPackets) e.packets.push_back(at.number);
  e.last_ps = at.ps;
  return &e;
}

Management::Exchange* Management::find(const Address& sender, std::uint32_t id) {
  const auto found = index_.find({sender, id});
  return found == index_.end() ? nullptr : &exchanges_[found->second];
}

void Management::add(const Headers& h, Bytes mad, const At& at) {
  const auto received = cm::parse(mad);
  if (!received) return;
  const auto answers = [&](std::uint32_t remote_id) {
    Exchange* const e = find(h.destination, remote_id);
    if (e != nullptr) e->answered = true;
    return e;
  };
  if (const auto* req = std::get_if<cm::Request>(&received->message)) {
    if (Exchange* e = begin(h, req->local_id, at)) {
      e->qpn = Qpn{req->qpn};
      e->service_id = req->service_id;
    }
    if (promises_.size() < kMostKept) {
      promises_[{h.source, req->qpn}] = {req->ack_timeout, req->retry_count, req->rnr_retry};
    }
  } else if (const auto* rep = std::get_if<cm::Reply>(&received->message)) {
    answers(rep->remote_id);
    if (Exchange* e = begin(h, rep->local_id, at)) {
      e->qpn = Qpn{rep->qpn};
      e->reply = true;
    }
  } else if (const auto* ready = std::get_if<cm::Ready>(&received->message)) {
    answers(ready->remote_id);
  } else if (const auto* more = std::get_if<cm::MoreTime>(&received->message)) {
    answers(more->remote_id);
  } else if (const auto* down = std::get_if<cm::Disconnect>(&received->message)) {
    answers(down->remote_id);
  } else if (const auto* rej = std::get_if<cm::Reject>(&received->message)) {
    if (Exchange* const e = answers(rej->remote_id); e != nullptr && e->refused_by == 0) {
      e->reason = rej->reason;
      e->refused_by = at.number;
    }
  } else if (const auto* lookup = std::get_if<cm::Lookup>(&received->message)) {
    if (Exchange* e = begin(h, lookup->request_id, at)) {
      e->lookup = true;
      e->service_id = lookup->service_id;
    }
  } else if (const auto* found = std::get_if<cm::Found>(&received->message)) {
    if (Exchange* const e = answers(found->request_id); e != nullptr && found->status != 0 && e->refused_by == 0) {
      e->reason = found->status;
      e->refused_by = at.number;
    }
  }
}

const Management::Promises* Management::of_requester(const Address& address, Qpn qpn) const {
  const auto found = promises_.find({address, raw(qpn)});
  return found == promises_.end() ? nullptr : &found->second;
}

std::vector<Finding> Management::findings() const {
  std::vector<Finding> all;
  for (const Exchange& e : exchanges_) {
    const char* const message = e.lookup ? "SIDR_REQ" : e.reply ? "REP" : "REQ";
    if (e.refused_by == 0 && (e.answered || e.packets.size() < 2)) continue;
    Finding f;
    f.weight = Weight::kFatal;
    if (!e.lookup) f.qp = e.qpn;
    f.requester = e.from.text();
    f.responder = e.to.text();
    f.packets = e.packets;
    f.count = e.packets.size();
    f.from_ps = e.first_ps;
    f.stalled_ps = e.last_ps - e.first_ps;
    const std::string of = e.lookup ? "" : fmt::format(" of QP {:#x}", raw(e.qpn));
    const std::string service = e.reply ? "" : fmt::format(" to service {:#x}", e.service_id);
    if (e.refused_by != 0) {
      f.cause = FindingCause::kConnectionRefused;
      f.packets.push_back(e.refused_by);
      const char* const words = e.lookup ? lookup_words(e.reason) : reject_words(e.reason);
      f.words = fmt::format("{}{} from {}{} refused by {} in packet {}: {} {}{}", message, of, f.requester, service,
                            f.responder, e.refused_by, e.lookup ? "status" : "reason", e.reason,
                            words != nullptr ? fmt::format(" ({})", words) : "");
    } else {
      f.cause = FindingCause::kConnectionUnanswered;
      f.words = fmt::format("{}{} from {}{} sent {} times within {}, {} never answered", message, of, f.requester,
                            service, e.packets.size(), time_text(f.stalled_ps), f.responder);
    }
    all.push_back(std::move(f));
  }
  return all;
}

}  // namespace rxnic
