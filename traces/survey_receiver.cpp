// SPDX-License-Identifier: Apache-2.0
// From what was gathered to one receiver's QPs: pairing (R3), MTU (R4), MSN (R6).
#include <algorithm>
#include <bit>

#include "traces/survey_state.h"

namespace rxnic {
namespace {

using FlowIndex = std::uint32_t;
constexpr FlowIndex kNoFlow = SurveyState::kNone;

bool pairs_up(const Flow& f) {
  return f.qpn != kGsiQpn && f.transport != Transport::kUd && f.transport != Transport::kNone;
}

struct Pairing {
  FlowIndex partner = kNoFlow;  // flow from the receiver to the peer's QP
  Qpn peer_qpn{};
  PairedBy by = PairedBy::kNone;
};

struct Edge {
  FlowIndex in = kNoFlow;   // to a QP of ours
  FlowIndex out = kNoFlow;  // to a QP of the peer
  std::uint32_t votes = 0;
  bool port = false;
};

// Joins the flows `in` (peer to receiver) and `out` (receiver to peer) of one pair of addresses by votes and ports.
void pair_up(const std::vector<Flow>& flows, const std::vector<FlowIndex>& in, const std::vector<FlowIndex>& out,
             std::vector<Pairing>& pairing, std::vector<bool>& taken) {
  const auto join = [&](const Edge& e, PairedBy by) {
    if (taken[e.in] || taken[e.out]) return;
    taken[e.in] = taken[e.out] = true;
    pairing[e.in] = {e.out, flows[e.out].qpn, by};
  };
  std::vector<Edge> edges;
  for (const FlowIndex i : in) {
    // Answers of ours (out) to requests (in), and answers of the peer (in) to requests of ours (out).
    for (const Flow::Candidate& c : flows[i].candidates) edges.push_back({i, c.flow, c.votes, false});
  }
  for (const FlowIndex o : out) {
    for (const Flow::Candidate& c : flows[o].candidates) edges.push_back({c.flow, o, c.votes, false});
  }
  for (Edge& e : edges) {
    e.votes = flows[e.in].votes_for(e.out) + flows[e.out].votes_for(e.in);
    e.port = flows[e.in].shares_port_with(flows[e.out]);
  }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::tuple(a.votes, a.port) > std::tuple(b.votes, b.port);
  });
  for (const Edge& e : edges) join(e, PairedBy::kPsn);
  for (const FlowIndex i : in) {
    if (taken[i]) continue;
    FlowIndex only = kNoFlow;
    std::size_t found = 0;
    for (const FlowIndex o : out) {
      if (taken[o] || !flows[i].shares_port_with(flows[o])) continue;
      only = o;
      ++found;
    }
    if (found == 1) join({i, only, 0, true}, PairedBy::kUdpPort);
  }
  const auto left = [&taken](const std::vector<FlowIndex>& of) {
    return std::count_if(of.begin(), of.end(), [&taken](FlowIndex f) { return !taken[f]; });
  };
  if (left(in) != 1 || left(out) != 1) return;
  const auto is_free = [&taken](FlowIndex f) { return !taken[f]; };
  join({*std::find_if(in.begin(), in.end(), is_free), *std::find_if(out.begin(), out.end(), is_free), 0, false},
       PairedBy::kOnlyPair);
}

std::uint16_t fitting_mtu(std::uint64_t bytes) {
  return static_cast<std::uint16_t>(
      std::clamp<std::uint64_t>(std::bit_ceil(std::max<std::uint64_t>(bytes, 1)), kMinMtu, kMaxMtu));
}

// R4. `out` may be nothing.
void find_mtu(const Flow& in, const Flow* out, std::uint16_t of_cm, SurveyedQp& qp) {
  const std::uint32_t full = std::max(in.full_payload, out ? out->full_payload : 0);
  const std::uint32_t largest = std::max(in.largest_payload, out ? out->largest_payload : 0);
  if (full != 0 && largest <= fitting_mtu(full)) {
    qp.mtu = fitting_mtu(full);
    qp.mtu_from = MtuFrom::kPackets;
    return;
  }
  if (of_cm != 0 && largest <= of_cm) {
    qp.mtu = of_cm;
    qp.mtu_from = MtuFrom::kConnectionManagement;
    return;
  }
  for (std::uint32_t mtu = kMaxMtu; mtu >= kMinMtu; mtu /= 2) {
    const auto steps = [mtu](const Flow& f) {
      return f.stepped_psns > 1 && (f.stepped_bytes + mtu - 1) / mtu == f.stepped_psns;
    };
    if (mtu < largest || !(steps(in) || (out && steps(*out)))) continue;
    qp.mtu = static_cast<std::uint16_t>(mtu);
    qp.mtu_from = MtuFrom::kReadPsns;
    return;
  }
  std::uint64_t smallest = largest;
  const auto one_response = [&smallest](const Flow& f) {
    if (f.stepped_psns == 1) smallest = std::max<std::uint64_t>(smallest, f.stepped_bytes);
  };
  one_response(in);
  if (out) one_response(*out);
  qp.mtu = fitting_mtu(smallest);
}

// R6. `answers` went to the peer's QP.
void find_msn(const Flow& in, const Flow& answers, SurveyedQp& qp) {
  for (const Flow::Answer& a : answers.first_answers) {
    if (in.requests == 0 || a.psn - in.first_psn < 0) continue;
    const auto ended = static_cast<std::uint32_t>(
        std::count_if(in.ends.begin(), in.ends.end(), [&a](Psn end) { return end - a.psn <= 0; }));
    qp.initial_msn = (a.msn - ended) & k24Bits;
    const bool all_counted = !in.more_ends || a.psn - in.ends.back() <= 0;
    qp.msn_known = all_counted && !(in.gap_seen && a.psn - in.first_gap >= 0);
    return;
  }
}

// What connection management says about a QP of the receiver.
struct CmQp {
  bool has_peer = false;
  Qpn peer_qpn{};
  std::uint16_t mtu = 0;
  CmMessage mine;
};
using CmQps = std::map<std::pair<std::uint32_t, std::uint32_t>, CmQp>;  // by peer and QPN of ours

CmQps find_cm(const SurveyState& s, std::uint32_t me) {
  CmQps result;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, const SurveyState::CmEnd*> reqs;
  for (const SurveyState::CmEnd& end : s.cm) {
    // Alone it says something about its own QP only.
    if (end.source == me) {
      result[{end.destination, raw(end.message.local_qpn)}] = {false, Qpn{}, end.message.mtu, end.message};
    }
    if (!end.message.reply) {
      reqs[{end.source, end.destination, end.message.local_id}] = &end;
      continue;
    }
    const auto found = reqs.find({end.destination, end.source, end.message.remote_id});
    if (found == reqs.end()) continue;
    const SurveyState::CmEnd& req = *found->second;
    const SurveyState::CmEnd& mine = req.source == me ? req : end;
    const SurveyState::CmEnd& theirs = req.source == me ? end : req;
    if (mine.source != me) continue;
    result[{theirs.source, raw(mine.message.local_qpn)}] = {true, theirs.message.local_qpn, req.message.mtu,
                                                            mine.message};
  }
  return result;
}

std::vector<Pairing> find_pairs(const SurveyState& s, std::uint32_t me, const CmQps& of_cm) {
  std::vector<Pairing> pairing(s.flows.size());
  std::vector<bool> taken(s.flows.size(), false);
  struct Both {
    std::vector<FlowIndex> in, out;
  };
  std::map<std::uint32_t, Both> by_peer;
  for (FlowIndex i = 0; i < s.flows.size(); ++i) {
    const Flow& f = s.flows[i];
    if (!pairs_up(f)) continue;
    if (f.destination == me) by_peer[f.source].in.push_back(i);
    if (f.source == me) by_peer[f.destination].out.push_back(i);
  }
  for (const auto& [peer, both] : by_peer) {
    for (const FlowIndex i : both.in) {
      const auto cm = of_cm.find({peer, raw(s.flows[i].qpn)});
      if (cm == of_cm.end() || !cm->second.has_peer) continue;
      pairing[i] = {kNoFlow, cm->second.peer_qpn, PairedBy::kConnectionManagement};
      taken[i] = true;
      const auto out = s.flow_index.find(s.flow_key(me, peer, cm->second.peer_qpn));
      if (out == s.flow_index.end() || taken[out->second]) continue;
      pairing[i].partner = out->second;
      taken[out->second] = true;
    }
    pair_up(s.flows, both.in, both.out, pairing, taken);
  }
  return pairing;
}

SurveyedQp make_qp(const SurveyState& s, const Flow& f, const Pairing& pair, const CmQp* cm) {
  const Flow* out = pair.partner == kNoFlow ? nullptr : &s.flows[pair.partner];
  SurveyedQp qp;
  qp.qpn = f.qpn;
  qp.transport = f.transport == Transport::kNone ? Transport::kRc : f.transport;
  qp.peer = s.endpoints[f.source].address;
  qp.peer_qpn = pair.peer_qpn;
  qp.paired_by = pair.by;
  qp.assumed = !cm && f.qpn != kGsiQpn;
  qp.pkey = f.pkey;
  qp.qkey = f.qpn == kGsiQpn ? kGsiQkey : qp.transport == Transport::kUd ? f.qkey : 0;
  find_mtu(f, out, cm ? cm->mtu : 0, qp);
  qp.has_requests = f.requests != 0;
  qp.first_psn = f.requests != 0 ? f.first_psn : cm ? cm->mine.starting_psn : Psn{};
  if (cm && cm->mine.responder_resources != 0) qp.responder_resources = cm->mine.responder_resources;
  if (out) find_msn(f, *out, qp);
  if (cm && f.requests != 0 && f.first_psn == cm->mine.starting_psn) {
    qp.initial_msn = 0;
    qp.msn_known = true;
  }
  qp.requests = f.requests;
  qp.answers_received = f.answers;
  qp.psn_gaps = f.psn_gaps;
  qp.psns_missing = f.psns_missing;
  qp.repetitions = f.repetitions;
  qp.largest_send = f.largest_send;
  qp.largest_message = f.largest_message;
  qp.xrc_srqs = f.srqs;
  qp.rnr_after_receives = f.rnr_after_receives;
  if (out) {
    qp.local_requests = out->requests;
    qp.largest_local_read = out->largest_read;
  }
  return qp;
}

// A connected QPN with several senders is the QP of the one that sends most; a UD QP has any number of them.
void find_qps(const SurveyState& s, std::uint32_t me, ReceiverSurvey& result) {
  const CmQps of_cm = find_cm(s, me);
  const std::vector<Pairing> pairing = find_pairs(s, me, of_cm);
  struct Chosen {
    FlowIndex flow = kNoFlow;
    std::uint64_t requests = 0;  // from all
    std::uint64_t largest_send = 0;
  };
  std::vector<Chosen> chosen;
  std::map<std::uint32_t, std::size_t> by_qpn;
  for (FlowIndex i = 0; i < s.flows.size(); ++i) {
    const Flow& f = s.flows[i];
    if (f.destination != me || raw(f.qpn) == 0 || f.qpn == kMulticastQpn) continue;
    const auto [at, fresh] = by_qpn.try_emplace(raw(f.qpn), chosen.size());
    if (fresh) chosen.push_back({i});
    Chosen& c = chosen[at->second];
    c.requests += f.requests;
    c.largest_send = std::max(c.largest_send, f.largest_send);
    const Flow& old = s.flows[c.flow];
    if (pairs_up(old) && !pairs_up(f)) continue;
    if ((!pairs_up(old) && pairs_up(f)) || f.requests + f.answers > old.requests + old.answers) c.flow = i;
  }
  for (const Chosen& c : chosen) {
    const Flow& f = s.flows[c.flow];
    const auto cm = of_cm.find({f.source, raw(f.qpn)});
    SurveyedQp& qp = result.qps.emplace_back(make_qp(s, f, pairing[c.flow], cm == of_cm.end() ? nullptr : &cm->second));
    qp.largest_send = c.largest_send;
    if (qp.transport == Transport::kUd) qp.requests = c.requests;
  }
}

void add_notes(ReceiverSurvey& result) {
  const auto note = [&result](const char* what, auto&& which) {
    const auto count = std::count_if(result.qps.begin(), result.qps.end(), which);
    if (count == 0) return;
    result.notes.push_back(std::to_string(count) + " of " + std::to_string(result.qps.size()) + " QPs: " + what);
  };
  const auto answered = [](const SurveyedQp& q) {
    return q.transport != Transport::kUd && q.transport != Transport::kUc && q.has_requests;
  };
  note("no connection management in the capture, their state was taken from the first packets",
       [](const SurveyedQp& q) { return q.assumed; });
  note("MTU assumed, the smallest that fits what was seen",
       [](const SurveyedQp& q) { return q.mtu_from == MtuFrom::kAssumed && q.transport != Transport::kUd; });
  note("the peer's QP was not found, its number is assumed",
       [](const SurveyedQp& q) { return q.paired_by == PairedBy::kNone && q.transport != Transport::kUd; });
  note("the MSN before the first request is not certain",
       [&answered](const SurveyedQp& q) { return answered(q) && !q.msn_known; });
}

}  // namespace

ReceiverSurvey CaptureSurvey::of_receiver(const Address& receiver) const {
  const SurveyState& s = *state_;
  ReceiverSurvey result;
  result.receiver = receiver;
  const auto found = s.endpoint_index.find(receiver);
  if (found == s.endpoint_index.end()) return result;
  const std::uint32_t me = found->second;
  find_qps(s, me, result);
  for (const SurveyState::Region& r : s.regions) {
    if (r.destination == me) result.regions.push_back(r.region);
  }
  for (const SurveyState::Atomic& a : s.atomics) {
    if (a.destination != me) continue;
    if (a.answered) {
      result.atomics.push_back(a.atomic);
    } else {
      ++result.atomics_unanswered;
    }
  }
  if (const auto tags = s.tags.find(me); tags != s.tags.end()) {
    result.tags = tags->second.kept;
    result.tags_beyond = tags->second.beyond;
  }
  add_notes(result);
  return result;
}

}  // namespace rxnic
