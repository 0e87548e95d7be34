// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/diagnose/connections.h"

#include "model/types/syndrome.h"

namespace rxnic {

Connections::Connections(const CaptureSurvey& survey) {
  for (const EndpointCounts& e : survey.endpoints()) {
    if (e.packets_received == 0) continue;
    for (const SurveyedQp& qp : survey.of_receiver(e.address).qps) {
      if (!qp.has_requests || raw(qp.qpn) <= raw(kGsiQpn)) continue;
      if (is_datagram(qp.transport)) continue;  // each of its senders is a direction
      Direction* const d = make({.requester = qp.peer,
                                 .responder = e.address,
                                 .qpn = qp.qpn,
                                 .peer_qpn = qp.peer_qpn,
                                 .transport = qp.transport,
                                 .mtu = qp.mtu,
                                 .mtu_known = qp.mtu_from != MtuFrom::kAssumed,
                                 .ambiguous = qp.ambiguous});
      if (d == nullptr) return;
      roles({qp.peer, e.address, qp.qpn}).requests = d;
      if (raw(qp.peer_qpn) != 0) roles({e.address, qp.peer, qp.peer_qpn}).answers = d;
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

// Makes it when the survey has not.
Direction* Connections::of_request(const Headers& h, Roles& roles) {
  const Transport transport = opcode_info(h.opcode).transport;
  const DirectionEnds ends{.requester = h.source,
                           .responder = h.destination,
                           .qpn = h.destination_qp,
                           .peer_qpn = h.source_qp,  // 0: no datagram
                           .transport = transport};
  if (!is_datagram(transport)) {
    if (roles.requests == nullptr) roles.requests = make(ends);
    return roles.requests;
  }
  Direction*& d = datagrams_[{{h.source, h.destination, h.destination_qp}, raw(h.source_qp)}];
  if (d == nullptr) d = make(ends);
  return d;
}

void Connections::add(const Headers& h, const At& at) {
  if (raw(h.destination_qp) <= raw(kGsiQpn)) return;  // management
  const SniffedFlow flow{h.source, h.destination, h.destination_qp};
  Roles& r = roles(flow);
  const OpcodeInfo& op = opcode_info(h.opcode);
  if ((op.traits & kIsCnp) != 0) {  // R2
    Direction* const d = r.answers != nullptr ? r.answers : r.requests;
    if (d != nullptr) {
      d->cnp(at, r.answers != nullptr);
    } else if (other_cnps_.size() < kMostDirections) {
      other_cnps_[flow].add(at);
    }
  } else if ((op.traits & kResponse) != 0) {
    if (r.answers != nullptr) return r.answers->response(h, at);
    ++unpaired_;
    const bool nak = (op.traits & kAckKind) != 0 && ack_kind(h.syndrome) != AckKind::kAck;
    if (nak && orphan_naks_.size() < kMostDirections) orphan_naks_[flow][h.syndrome].add(at);
  } else if ((op.traits & kRequest) != 0) {
    if (Direction* const d = of_request(h, r)) {
      d->request(h, at);
    } else {
      ++beyond_;
    }
  }
}

void Connections::overtaken(const SniffedFlow& flow, std::uint64_t packet) {
  if (Direction* const d = roles(flow).requests) d->overtaken(packet);
}

// A wrong ICRC leaves no QPN that could be relied on: such a packet makes no direction.
void Connections::damaged(const Headers& h, DropReason reason, const At& at) {
  if (raw(h.destination_qp) <= raw(kGsiQpn)) return;
  Roles& r = roles({h.source, h.destination, h.destination_qp});
  if (r.requests == nullptr && r.answers == nullptr && reason != DropReason::kIcrc) {
    r.requests = make({.requester = h.source, .responder = h.destination, .qpn = h.destination_qp});
  }
  if (r.requests != nullptr) r.requests->damaged(h, reason, at);
}

void Connections::restart(const SniffedFlow& flow) {
  if (Direction* const d = roles(flow).requests) d->restart();
}

void Connections::finish() {
  for (Direction& d : directions_) d.finish();
  std::map<std::pair<Address, Address>, std::vector<Direction*>> by_ends;
  for (Direction& d : directions_) by_ends[{d.ends().requester, d.ends().responder}].push_back(&d);
  std::erase_if(other_cnps_, [&by_ends](const auto& entry) {  // R2
    const auto& [flow, marks] = entry;
    Direction* only = nullptr;
    for (Direction* d : by_ends[{flow.destination, flow.source}]) {
      if (raw(d->ends().peer_qpn) != 0 && d->ends().peer_qpn != flow.qpn) continue;
      if (only != nullptr) return false;
      only = d;
    }
    if (only != nullptr) only->add_cnps(marks);
    return only != nullptr;
  });
}

}  // namespace rxnic
