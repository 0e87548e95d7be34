// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/diagnose/connections.h"

namespace rxnic {

Connections::Connections(const CaptureSurvey& survey) {
  for (const EndpointCounts& e : survey.endpoints()) {
    if (e.packets_received == 0) continue;
    for (const SurveyedQp& qp : survey.of_receiver(e.address).qps) {
      if (!qp.has_requests || raw(qp.qpn) <= raw(kGsiQpn)) continue;
      const bool datagram = is_datagram(qp.transport);
      Direction* const d = make({.requester = qp.peer,
                                 .responder = e.address,
                                 .qpn = qp.qpn,
                                 .peer_qpn = qp.peer_qpn,
                                 .transport = qp.transport,
                                 .mtu = qp.mtu,
                                 .mtu_known = qp.mtu_from != MtuFrom::kAssumed,
                                 .ambiguous = qp.ambiguous});
      if (d == nullptr) return;
      if (!datagram) roles({qp.peer, e.address, qp.qpn}).requests = d;
      if (!datagram && raw(qp.peer_qpn) != 0) roles({e.address, qp.peer, qp.peer_qpn}).answers = d;
    }
  }
}

Direction* Connections::make(const DirectionEnds& ends) {
  if (directions_.size() == kMostDirections) return nullptr;
  return &directions_.emplace_back(ends);
}

Connections::Roles& Connections::roles(const SniffedFlow& flow) {
  if (last_ == nullptr || flow != last_flow_) {
    last_ = &flows_[flow];
    last_flow_ = flow;
  }
  return *last_;
}

void Connections::add(const Headers& h, const At& at) {
  if (raw(h.destination_qp) <= raw(kGsiQpn)) return;  // management
  Roles& r = roles({h.source, h.destination, h.destination_qp});
  const OpcodeInfo& op = opcode_info(h.opcode);
  if ((op.traits & kIsCnp) != 0) {  // R2
    Direction* const d = r.answers != nullptr ? r.answers : r.requests;
    if (d != nullptr) {
      d->cnp(at);
    } else if (other_cnps_.size() < kMostDirections) {
      other_cnps_[{h.source, h.destination, h.destination_qp}].add(at);
    }
  } else if ((op.traits & kResponse) != 0) {
    if (r.answers != nullptr) {
      r.answers->response(h, at);
    } else {
      ++unpaired_;
    }
  } else if ((op.traits & kRequest) != 0) {
    if (r.requests == nullptr) {
      r.requests = make({.requester = h.source,
                         .responder = h.destination,
                         .qpn = h.destination_qp,
                         .peer_qpn = h.source_qp,  // of a datagram
                         .transport = op.transport});
    }
    if (r.requests == nullptr) {
      ++beyond_;
    } else {
      r.requests->request(h, at);
    }
  }
}

void Connections::damaged(const Headers& h, DropReason reason, const At& at) {
  const auto found = flows_.find({h.source, h.destination, h.destination_qp});
  if (found != flows_.end() && found->second.requests != nullptr) found->second.requests->damaged(h, reason, at);
}

void Connections::restart(const SniffedFlow& flow) {
  if (Direction* const d = roles(flow).requests) d->restart();
}

void Connections::finish() {
  for (Direction& d : directions_) d.finish();
  std::erase_if(other_cnps_, [this](const auto& entry) {  // R2
    const auto& [flow, marks] = entry;
    Direction* only = nullptr;
    for (Direction& d : directions_) {
      if (d.ends().responder != flow.source || d.ends().requester != flow.destination) continue;
      if (raw(d.ends().peer_qpn) != 0 && d.ends().peer_qpn != flow.qpn) continue;
      if (only != nullptr) return false;
      only = &d;
    }
    if (only != nullptr) only->add_cnps(marks);
    return only != nullptr;
  });
}

}  // namespace rxnic
