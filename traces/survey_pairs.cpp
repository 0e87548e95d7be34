// SPDX-License-Identifier: Apache-2.0
#include "traces/survey_pairs.h"

#include <algorithm>
#include <set>

namespace rxnic {
namespace {

struct Edge {
  FlowIndex in = kNoFlow;   // to a QP of ours
  FlowIndex out = kNoFlow;  // to a QP of the peer
  std::uint32_t votes = 0;
};

// The flows between two addresses: `in` to the receiver, `out` from it; the same ones when it is its own peer.
class Pairs {
 public:
  Pairs(const std::vector<Flow>& flows, std::vector<FlowIndex> in, std::vector<FlowIndex> out,
        std::vector<Pairing>& pairing, std::vector<std::uint8_t>& taken)
      : flows_(flows), in_(std::move(in)), out_(std::move(out)), pairing_(pairing), taken_(taken) {
    own_ = !in_.empty() && flows_[in_.front()].source == flows_[in_.front()].destination;
  }

  // `out` may be nothing: the capture has no packet of ours to that QP.
  void join(FlowIndex in, FlowIndex out, Qpn peer_qpn, PairedBy by, bool ambiguous = false) {
    take(in, out, peer_qpn, by, ambiguous);
    if (own_ && out != kNoFlow) take(out, in, flows_[in].qpn, by, ambiguous);  // (R4)
  }
  void pair_by_port();
  void pair_by_votes();
  void pair_the_last();

 private:
  enum Taken : std::uint8_t { kIn = 1, kOut = 2 };
  void take(FlowIndex in, FlowIndex out, Qpn peer_qpn, PairedBy by, bool ambiguous) {
    pairing_[in] = {out, peer_qpn, by, ambiguous};
    taken_[in] |= own_ ? kIn | kOut : kIn;
    if (out != kNoFlow) taken_[out] |= own_ ? kIn | kOut : kOut;
  }
  bool in_free(FlowIndex f) const { return (taken_[f] & kIn) == 0; }
  bool out_free(FlowIndex f) const { return (taken_[f] & kOut) == 0; }
  std::uint32_t votes(FlowIndex in, FlowIndex out) const {
    return flows_[in].votes_for(out) + flows_[out].votes_for(in);
  }
  bool contradicted(FlowIndex in, FlowIndex out) const;
  std::vector<Edge> edges() const;

  const std::vector<Flow>& flows_;
  std::vector<FlowIndex> in_, out_;
  std::vector<Pairing>& pairing_;
  std::vector<std::uint8_t>& taken_;  // Taken, by flow
  bool own_ = false;
};

// Whether the PSNs speak for others: one of the two has more than twice the votes for another.
bool Pairs::contradicted(FlowIndex in, FlowIndex out) const {
  const std::uint32_t mine = votes(in, out);
  const auto prefers_another = [&](FlowIndex flow, FlowIndex partner) {
    return std::any_of(flows_[flow].candidates.begin(), flows_[flow].candidates.end(), [&](const Flow::Candidate& c) {
      return c.flow != partner && c.flow != flow && flows_[c.flow].requests != 0 && c.votes > 2 * mine;
    });
  };
  return prefers_another(in, out) || prefers_another(out, in);
}

void Pairs::pair_by_port() {
  std::map<std::uint16_t, std::vector<FlowIndex>> ins, outs;  // by port
  const auto list = [this](const std::vector<FlowIndex>& of, bool in, auto& by_port) {
    for (const FlowIndex f : of) {
      if (in ? !in_free(f) : !out_free(f)) continue;
      for (const Flow::Port& p : flows_[f].ports) {
        if (p.packets != 0) by_port[p.port].push_back(f);
      }
    }
  };
  list(in_, true, ins);
  list(out_, false, outs);
  for (const auto& [port, in] : ins) {
    const auto found = outs.find(port);
    if (found == outs.end()) continue;
    const std::vector<FlowIndex>& out = found->second;
    const FlowIndex a = in.front(), b = out.back();
    const bool only_two = own_ ? in.size() == 2 : in.size() == 1 && out.size() == 1;
    if (!only_two || a == b || !in_free(a) || !out_free(b) || contradicted(a, b)) continue;
    join(a, b, flows_[b].qpn, PairedBy::kUdpPort);
  }
}

// All pairs of flows that are free and have votes, as they appeared.
std::vector<Edge> Pairs::edges() const {
  std::set<std::pair<FlowIndex, FlowIndex>> seen;
  const auto add = [&](FlowIndex in, FlowIndex out) {
    if (in != out && in_free(in) && out_free(out)) seen.emplace(in, out);
  };
  for (const FlowIndex i : in_) {
    for (const Flow::Candidate& c : flows_[i].candidates) add(i, c.flow);
  }
  for (const FlowIndex o : out_) {
    for (const Flow::Candidate& c : flows_[o].candidates) add(c.flow, o);
  }
  std::vector<Edge> all;
  for (const auto& [in, out] : seen) all.push_back({in, out, votes(in, out)});
  return all;
}

void Pairs::pair_by_votes() {  // (R3)
  std::vector<Edge> all = edges();
  for (bool joined = true; joined;) {
    joined = false;
    std::erase_if(all, [this](const Edge& e) { return !in_free(e.in) || !out_free(e.out); });
    std::map<FlowIndex, std::pair<std::uint32_t, std::uint32_t>> best_in, best_out;  // the two highest of each flow
    const auto rank = [](std::pair<std::uint32_t, std::uint32_t>& best, std::uint32_t v) {
      if (v > best.first) {
        best = {v, best.first};
      } else {
        best.second = std::max(best.second, v);
      }
    };
    for (const Edge& e : all) {
      rank(best_in[e.in], e.votes);
      rank(best_out[e.out], e.votes);
    }
    for (const Edge& e : all) {
      const auto clear = [&e](const std::pair<std::uint32_t, std::uint32_t>& best) {
        return e.votes == best.first && std::uint64_t{best.second} * 10 < std::uint64_t{e.votes} * 9;
      };
      if (!in_free(e.in) || !out_free(e.out) || !clear(best_in[e.in]) || !clear(best_out[e.out])) continue;
      join(e.in, e.out, flows_[e.out].qpn, PairedBy::kPsn);
      joined = true;
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Edge& a, const Edge& b) { return a.votes > b.votes; });
  for (const Edge& e : all) {
    if (in_free(e.in) && out_free(e.out)) join(e.in, e.out, flows_[e.out].qpn, PairedBy::kPsn, true);
  }
}

void Pairs::pair_the_last() {
  std::vector<FlowIndex> in, out;
  std::copy_if(in_.begin(), in_.end(), std::back_inserter(in), [this](FlowIndex f) { return in_free(f); });
  std::copy_if(out_.begin(), out_.end(), std::back_inserter(out), [this](FlowIndex f) { return out_free(f); });
  const std::size_t expected = own_ ? 2 : 1;
  if (in.size() != expected || out.size() != expected) return;
  join(in.front(), out.back(), flows_[out.back()].qpn, PairedBy::kOnlyPair);
}

}  // namespace

bool pairs_up(const Flow& f) {
  return f.qpn != kGsiQpn && f.transport != Transport::kUd && f.transport != Transport::kNone;
}

CmQps find_cm(const SurveyState& s, std::uint32_t me) {
  CmQps result;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, const SurveyState::CmEnd*> reqs;
  const auto note = [&](const SurveyState::CmEnd& mine, const SurveyState::CmEnd& theirs, std::uint16_t mtu) {
    if (mine.source != me) return;
    result[{theirs.source, raw(mine.message.local_qpn)}] = {true, theirs.message.local_qpn, mtu, mine.message};
  };
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
    note(req, end, req.message.mtu);
    note(end, req, req.message.mtu);
  }
  return result;
}

std::vector<Pairing> find_pairs(const SurveyState& s, std::uint32_t me, const CmQps& of_cm, const ChosenPairs& chosen) {
  std::vector<Pairing> pairing(s.flows.size());
  std::vector<std::uint8_t> taken(s.flows.size(), 0);
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
    Pairs pairs(s.flows, both.in, both.out, pairing, taken);
    const auto join = [&, at = peer](FlowIndex in, Qpn peer_qpn, PairedBy by) {
      const auto out = s.flow_index.find(s.flow_key(me, at, peer_qpn));
      const bool known = out != s.flow_index.end() && pairs_up(s.flows[out->second]) && out->second != in;
      pairs.join(in, known ? out->second : kNoFlow, peer_qpn, by);
    };
    for (const FlowIndex i : both.in) {  // (R1)
      const auto pair = chosen.find(raw(s.flows[i].qpn));
      if (pair != chosen.end()) join(i, Qpn{pair->second}, PairedBy::kOption);
    }
    for (const FlowIndex i : both.in) {
      const auto cm = of_cm.find({peer, raw(s.flows[i].qpn)});
      if (pairing[i].by != PairedBy::kNone || cm == of_cm.end() || !cm->second.has_peer) continue;
      join(i, cm->second.peer_qpn, PairedBy::kConnectionManagement);
    }
    pairs.pair_by_port();
    pairs.pair_by_votes();
    pairs.pair_the_last();
  }
  return pairing;
}

}  // namespace rxnic
