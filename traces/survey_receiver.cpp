// SPDX-License-Identifier: Apache-2.0
// From what was gathered to one receiver's QPs: MTU (R4), MSN (R6); pairing: survey_pairs.h.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

#include "model/types/syndrome.h"
#include "traces/survey_pairs.h"

namespace rxnic {
namespace {

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
  const std::vector<Psn>& ends = qp.strict ? in.strict.ends() : in.ends;
  const bool more_ends = qp.strict ? in.strict.more_ends() : in.more_ends;
  for (const Flow::Answer& a : answers.first_answers) {
    if (in.requests == 0 || a.psn - qp.first_psn < 0) continue;
    const auto ended =
        static_cast<std::uint32_t>(std::count_if(ends.begin(), ends.end(), [&a](Psn end) { return end - a.psn <= 0; }));
    qp.initial_msn = (a.msn - ended) & k24Bits;
    const bool all_counted = !more_ends || (!ends.empty() && a.psn - ends.back() <= 0);
    qp.msn_known = all_counted && (qp.strict || !(in.gap_seen && a.psn - in.first_gap >= 0));
    return;
  }
}

// What the captured receiver refused, and what that shows. (R10, R11)
void find_naks(const Flow& in, FlowIndex flow, const Flow& out, SurveyedQp& qp) {
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::size_t> places;
  for (const Flow::Nak& nak : out.naks) {
    const auto [place, is_new] = places.try_emplace({nak.psn.value, nak.syndrome}, qp.naks.size());
    if (is_new) qp.naks.push_back({nak.psn, nak.syndrome, {}});
    qp.naks[place->second].packets.push_back(nak.packet);
  }
  auto later = out.naks.begin();  // than the loss: both are in the order of their packets
  for (const StrictReceiver::Loss& loss : in.strict.losses()) {
    later = std::find_if(later, out.naks.end(), [&loss](const Flow::Nak& nak) { return nak.packet > loss.packet; });
    qp.network_losses += std::any_of(later, out.naks.end(), [&loss](const Flow::Nak& nak) {
      return nak.syndrome == kNakSequence && StrictReceiver::may_be(loss, nak.psn);
    });
  }
  const bool any = !in.strict.losses().empty() || in.strict.refusals() != 0;
  qp.strict = any && in.strict.is_certain(qp.mtu) && qp.network_losses == in.strict.losses().size();
  for (const Flow::Refused& r : out.refused) {
    if (r.flow != flow) continue;
    const std::optional<std::uint64_t>& before = qp.strict ? r.strictly : r.receives;
    if (before) qp.rnr_after_receives.push_back(*before);
  }
  for (const Flow::Nak& nak : out.naks) {
    if (nak.syndrome != kNakRemoteAccess) continue;
    for (std::uint64_t n = 0; n < std::min<std::uint64_t>(in.uses, Flow::kUsesKept); ++n) {
      const Flow::Use& use = in.recent_uses[n];
      if (use.psn - nak.psn >= 0) qp.refused_uses.push_back(use.packet);
    }
    break;
  }
  qp.any_pkey = (in.pkey & kPkeyBase) == 0 && out.answers > out.naks.size();
}

// `flow`: the number of f; kNoFlow: no answer belongs to it.
SurveyedQp make_qp(const SurveyState& s, const Flow& f, FlowIndex flow, const Pairing& pair, const CmQp* cm) {
  const Flow* out = pair.partner == kNoFlow ? nullptr : &s.flows[pair.partner];
  SurveyedQp qp;
  qp.qpn = f.qpn;
  qp.transport = f.transport == Transport::kNone ? Transport::kRc : f.transport;
  qp.peer = s.endpoints[f.source].address;
  qp.peer_qpn = pair.peer_qpn;
  qp.paired_by = pair.by;
  qp.ambiguous = pair.ambiguous;
  qp.assumed = !cm && f.qpn != kGsiQpn;
  qp.pkey = f.pkey;
  qp.qkey = f.qpn == kGsiQpn ? kGsiQkey : qp.transport == Transport::kUd ? f.qkey : 0;
  find_mtu(f, out, cm ? cm->mtu : 0, qp);
  qp.has_requests = f.requests != 0;
  qp.first_psn = f.requests != 0 ? f.first_psn : cm ? cm->mine.starting_psn : Psn{};
  if (cm && cm->mine.responder_resources != 0) qp.responder_resources = cm->mine.responder_resources;
  if (f.saved == 0) qp.responder_resources = 0;
  if (out) find_naks(f, flow, *out, qp);
  if (qp.strict) qp.first_psn = f.strict.first();
  qp.first_not_ready = qp.strict && f.strict.begins_not_ready();
  if (out) find_msn(f, *out, qp);
  if (cm && f.requests != 0 && qp.first_psn == cm->mine.starting_psn) {
    qp.initial_msn = 0;
    qp.msn_known = true;
  }
  qp.requests = f.requests;
  qp.answers_received = f.answers;
  qp.psn_gaps = f.psn_gaps;
  qp.psns_missing = f.psns_missing;
  qp.repetitions = f.repetitions;
  qp.largest_send = std::max(f.largest_send, f.strict.largest_send());
  qp.largest_message = std::max(f.largest_message, qp.largest_send);
  qp.xrc_srqs = f.srqs;
  qp.first_inside = qp.strict ? f.strict.begins_inside() : f.first_inside;
  for (const Flow::Restart& r : f.restarts) qp.restarts.push_back({r.packet, r.psn});
  if (out) {
    qp.local_requests = out->requests;
    qp.largest_local_read = out->largest_read;
  }
  return qp;
}

// A connected QPN with several senders is the QP of the one that sends most; a UD QP has any number of them.
void find_qps(const SurveyState& s, std::uint32_t me, const ChosenPairs& pairs, ReceiverSurvey& result) {
  const CmQps of_cm = find_cm(s, me);
  const std::vector<Pairing> pairing = find_pairs(s, me, of_cm, pairs);
  struct Chosen {
    FlowIndex flow = kNoFlow;
    std::uint64_t requests = 0;  // from all
    std::uint64_t largest_send = 0;
    std::uint64_t hosts = 0;  // that send them
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
    c.hosts += f.requests != 0;
    c.largest_send = std::max({c.largest_send, f.largest_send, f.strict.largest_send()});
    const Flow& old = s.flows[c.flow];
    if (pairs_up(old) && !pairs_up(f)) continue;
    if ((!pairs_up(old) && pairs_up(f)) || f.requests + f.answers > old.requests + old.answers) c.flow = i;
  }
  for (const Chosen& c : chosen) {
    const Flow& f = s.flows[c.flow];
    const auto cm = of_cm.find({f.source, raw(f.qpn)});
    SurveyedQp& qp =
        result.qps.emplace_back(make_qp(s, f, c.flow, pairing[c.flow], cm == of_cm.end() ? nullptr : &cm->second));
    qp.largest_send = c.largest_send;
    if (qp.transport == Transport::kUd) qp.requests = c.requests;
    if (c.hosts < 2 || qp.transport == Transport::kUd || qp.qpn == kGsiQpn) continue;
    result.notes.push_back(
        fmt::format("QP {:#x} gets requests from {} hosts: it is connected with {}, {} packets of others are dropped "
                    "(qp address)",
                    raw(qp.qpn), c.hosts, qp.peer.text(), c.requests - qp.requests));
  }
  for (const Flow& f : s.damaged_flows) {  // R13
    if (f.destination != me || !by_qpn.try_emplace(raw(f.qpn), 0).second) continue;
    result.qps.push_back(make_qp(s, f, kNoFlow, {}, nullptr));
  }
}

void add_notes(ReceiverSurvey& result) {
  const auto note = [&result](const char* what, auto&& which) {
    const auto count = std::count_if(result.qps.begin(), result.qps.end(), which);
    if (count == 0) return;
    result.notes.push_back(std::to_string(count) + " of " + std::to_string(result.qps.size()) + " QPs: " + what);
  };
  note("they use P_Key 0, which is none, and the captured receiver answered: their P_Keys are not checked",
       [](const SurveyedQp& q) { return q.any_pkey; });
  note("the network lost packets to them, as NAKs of the captured receiver prove: their PSNs are strict",
       [](const SurveyedQp& q) { return q.strict && q.network_losses != 0; });
  note("the captured receiver took nothing between an RNR NAK and the repetition: their PSNs are strict",
       [](const SurveyedQp& q) { return q.strict && q.network_losses == 0; });
  const auto answered = [](const SurveyedQp& q) {
    return q.transport != Transport::kUd && q.transport != Transport::kUc && q.has_requests;
  };
  note("no connection management in the capture, their state was taken from the first packets",
       [](const SurveyedQp& q) { return q.assumed; });
  note("MTU assumed, the smallest that fits what was seen",
       [](const SurveyedQp& q) { return q.mtu_from == MtuFrom::kAssumed && q.transport != Transport::kUd; });
  note("the peer's QP was not found, its number is assumed",
       [](const SurveyedQp& q) { return q.paired_by == PairedBy::kNone && q.transport != Transport::kUd; });
  const auto ambiguous =
      std::count_if(result.qps.begin(), result.qps.end(), [](const SurveyedQp& q) { return q.ambiguous; });
  if (ambiguous != 0) {
    result.notes.push_back("pairing of " + std::to_string(ambiguous) +
                           " QPs is ambiguous: their PSNs are alike and their UDP ports differ (--pair sets it)");
  }
  note("the MSN before the first request is not certain",
       [&answered](const SurveyedQp& q) { return answered(q) && !q.msn_known; });
}

}  // namespace

ReceiverSurvey CaptureSurvey::of_receiver(const Address& receiver, const ChosenPairs& pairs) const {
  const SurveyState& s = *state_;
  ReceiverSurvey result;
  result.receiver = receiver;
  const auto found = s.endpoint_index.find(receiver);
  if (found == s.endpoint_index.end()) return result;
  const std::uint32_t me = found->second;
  find_qps(s, me, pairs, result);
  std::set<std::uint64_t> refused;
  for (const SurveyedQp& qp : result.qps) refused.insert(qp.refused_uses.begin(), qp.refused_uses.end());
  for (const SurveyState::Region& r : s.regions) {
    if (r.destination != me) continue;
    if (refused.contains(r.region.first_packet) && r.region.packets <= refused.size()) continue;
    SurveyedRegion& region = result.regions.emplace_back(r.region);
    for (auto e = r.extents.rbegin(); e != r.extents.rend() && refused.contains(e->packet); ++e) {
      region.lowest = e->lowest;
      region.end = e->end;
      region.access = e->access;
    }
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
