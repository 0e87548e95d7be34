// SPDX-License-Identifier: Apache-2.0
#include "traces/survey.h"

#include <algorithm>
#include <span>
#include <utility>

#include "model/types/syndrome.h"
#include "model/types/tag_matching.h"
#include "traces/survey_state.h"

namespace rxnic {
namespace {
constexpr std::size_t kCmKept = 65536;
constexpr std::uint64_t kVotesEnough = 1024;
constexpr std::uint32_t kCertainVote = 4;  // only one flow had that PSN
constexpr std::uint32_t kNakVote = 64;     // the flow sent again what the NAK asked for

// Bytes of the region that a request names in this packet.
std::uint64_t bytes_named(const OpcodeInfo& op, const Headers& h) {
  if ((op.traits & kHasFeth) != 0 && (h.immediate & kFethLevelMask) != 0) return 0;  // the whole region
  if (op.traits & kHasReth) return h.length;
  return op.traits & kHasAtomicEth ? kAtomicBytes : 0;
}
// A region that others may change must be one that its owner may write (ibv_reg_mr).
std::uint8_t region_rights(std::uint8_t access) {
  return access & (kRemoteWrite | kRemoteAtomic) ? access | kLocalWrite : access;
}

}  // namespace

bool is_marked(const Headers& h) {
  constexpr std::uint8_t kBoth = 3;
  const bool roce_v2 = h.encapsulation == Encapsulation::kRoceV2Ipv4 || h.encapsulation == Encapsulation::kRoceV2Ipv6;
  return roce_v2 && (h.traffic_class & kBoth) == kBoth;
}

const char* paired_by_name(PairedBy p) {
  constexpr std::array kNames{"none", "option", "cm", "udp_port", "psn", "only_pair"};
  return kNames[static_cast<std::size_t>(p)];
}

const char* mtu_from_name(MtuFrom m) {
  constexpr std::array kNames{"packets", "connection management", "READ PSNs", "assumed"};
  return kNames[static_cast<std::size_t>(m)];
}

std::uint32_t SurveyState::endpoint(const Address& a) {
  for (const std::uint32_t last : last_endpoints) {
    if (last < endpoints.size() && endpoints[last].address == a) return last;
  }
  const auto found = endpoint_index.find(a);
  if (found != endpoint_index.end()) {
    last_endpoints = {found->second, last_endpoints[0]};
    return found->second;
  }
  if (endpoints.size() >= limits.endpoints) return kNone;
  const auto index = static_cast<std::uint32_t>(endpoints.size());
  endpoint_index.emplace(a, index);
  endpoints.push_back({.address = a});
  first_as_destination.push_back(~std::uint64_t{0});
  return index;
}

std::uint32_t SurveyState::flow(std::uint32_t source, std::uint32_t destination, Qpn qpn) {
  const std::uint64_t key = flow_key(source, destination, qpn);
  const auto found = flow_index.find(key);
  if (found != flow_index.end()) return found->second;
  if (flows.size() >= limits.flows) return kNone;
  const auto index = static_cast<std::uint32_t>(flows.size());
  flow_index.emplace(key, index);
  Flow& f = flows.emplace_back();
  f.source = source;
  f.destination = destination;
  f.qpn = qpn;
  return index;
}

SurveyState::Recent& SurveyState::recent_slot(std::uint32_t source, std::uint32_t destination, Psn psn,
                                              std::uint64_t& key) {
  key = flow_key(source, destination, Qpn{psn.value});
  const std::uint64_t mixed = key * 0x9e3779b97f4a7c15u;
  return recent[(mixed >> 40) % kRecentSlots];
}

void SurveyState::use_region(std::uint32_t destination, const Headers& h, std::uint64_t bytes, std::uint8_t access,
                             std::uint64_t number) {
  if (bytes == 0) return;  // a zero-length request looks at no region (rules 6.3)
  const std::uint64_t key = std::uint64_t{destination} << 32 | raw(h.rkey);
  const std::uint64_t end = h.va + bytes < h.va ? ~std::uint64_t{0} : h.va + bytes;
  const auto found = region_index.find(key);
  if (found == region_index.end()) {
    if (regions.size() >= limits.regions) {
      ++counts.ignored;
      return;
    }
    region_index.emplace(key, static_cast<std::uint32_t>(regions.size()));
    regions.push_back({destination, {h.rkey, h.va, end, access, 1, number}, {}});
    return;
  }
  SurveyedRegion& r = regions[found->second].region;
  if (h.va < r.lowest || end > r.end || (access & ~r.access) != 0) {
    std::vector<Extent>& extents = regions[found->second].extents;
    if (extents.size() == kExtentsKept) extents.erase(extents.begin());
    extents.push_back({number, r.lowest, r.end, r.access});
  }
  r.lowest = std::min(r.lowest, h.va);
  r.end = std::max(r.end, end);
  r.access |= access;
  ++r.packets;
}

void SurveyState::invalidate_region(std::uint32_t destination, Key key, std::uint64_t number) {
  const auto found = region_index.find(std::uint64_t{destination} << 32 | raw(key));
  if (found != region_index.end()) {
    regions[found->second].region.invalidated = true;
    region_index.erase(found);
  } else if (regions.size() < limits.regions) {  // nothing else in the capture uses it
    regions.push_back({destination, {key, 0, 1, 0, 1, number, true}, {}});
  } else {
    ++counts.ignored;
  }
}

void SurveyState::use_atomic(std::uint32_t flow_at, const Headers& h) {
  const std::uint32_t destination = flows[flow_at].destination;
  const auto [at, fresh] = atomic_index.try_emplace({destination, raw(h.rkey), h.va}, kNone);
  if (!fresh) return;
  if (atomics.size() >= limits.atomics) {
    atomic_index.erase(at);
    ++counts.ignored;
    return;
  }
  at->second = static_cast<std::uint32_t>(atomics.size());
  atomics.push_back({destination, false, {h.rkey, h.va, 0}});
  if (pending_atomics.size() >= kPendingAtomics) pending_atomics.erase(pending_atomics.begin());
  pending_atomics.push_back({flow_at, at->second, h.psn});
}

// Gives the result to the first atomic at an address that is still without its result and has that PSN. When several
// flows have such an atomic, the result goes to the flow which got most votes so far.
void SurveyState::answer_atomic(const Flow& answers, const Headers& h) {
  auto best = pending_atomics.end();
  std::uint32_t best_votes = 0;
  for (auto p = pending_atomics.begin(); p != pending_atomics.end(); ++p) {
    const Flow& f = flows[p->flow];
    if (p->psn != h.psn || f.source != answers.destination || f.destination != answers.source) continue;
    const std::uint32_t votes = 1 + answers.votes_for(p->flow);
    if (votes <= best_votes) continue;
    best = p;
    best_votes = votes;
  }
  if (best == pending_atomics.end()) return;
  atomics[best->atomic].answered = true;
  atomics[best->atomic].atomic.original = h.original;
  pending_atomics.erase(best);
}

void SurveyState::use_tag(const Flow& f, const Headers& h, Bytes payload) {  // R9
  const OpcodeInfo& op = opcode_info(h.opcode);
  const bool begins = (op.traits & kSend) != 0 && (op.traits & (kFirst | kOnly)) != 0;
  if (!begins || h.destination_qp == kGsiQpn || f.transport == Transport::kXrc || payload.size() < kTmhBytes) return;
  const Tmh tmh = parse_tmh(payload.data());
  const auto opcode = static_cast<TmhOpcode>(tmh.opcode);
  if (opcode != TmhOpcode::kEager && opcode != TmhOpcode::kRendezvous) return;
  Tags& of = tags[f.destination];
  if (tags_kept == limits.tags) {
    ++of.beyond;
    return;
  }
  ++tags_kept;
  of.kept.push_back(tmh.tag);
}

void SurveyState::request(std::uint32_t index, const Headers& h, std::uint64_t number) {
  Flow& f = flows[index];
  const OpcodeInfo& op = opcode_info(h.opcode);
  const std::uint64_t repetitions = f.repetitions;
  if (std::binary_search(restarts.begin(), restarts.end(), number)) f.restart(h.psn, number);
  f.count_request(h, number);
  if (f.repetitions != repetitions) sent_again(index, h.psn);
  EndpointCounts& to = endpoints[f.destination];
  if (!is_management(h.destination_qp)) {
    ++to.requests_received;
    to.request_bytes += h.payload_bytes;
  }
  if (f.transport == Transport::kUd) return;
  std::uint64_t key = 0;
  Recent& slot = recent_slot(f.source, f.destination, h.psn, key);
  if (slot.key != key) {
    slot.key = key;
    slot.count = 0;
    slot.too_many = false;
  }
  if (std::find(slot.flows.begin(), slot.flows.begin() + slot.count, index) == slot.flows.begin() + slot.count) {
    if (slot.count == kFlowsPerPsn) {
      slot.too_many = true;
      std::rotate(slot.flows.begin(), slot.flows.begin() + 1, slot.flows.end());
      slot.flows.back() = index;
    } else {
      slot.flows[slot.count++] = index;
    }
  }
  if (op.access != 0) f.recent_uses[f.uses++ % Flow::kUsesKept] = {h.psn, number};
  if (op.access != 0) use_region(f.destination, h, bytes_named(op, h), region_rights(op.access), number);
  if (op.traits & kHasAtomicEth) use_atomic(index, h);
  if ((op.traits & kHasIeth) && f.repetitions == repetitions)
    invalidate_region(f.destination, Key{h.immediate}, number);
}

// What came again was refused by the oldest NAK that asked for it.
void SurveyState::sent_again(std::uint32_t index, Psn psn) {
  const Flow& f = flows[index];
  const auto nak = std::find_if(open_naks.begin(), open_naks.end(), [&](const OpenNak& n) {
    const Flow& from = flows[n.flow];
    return n.flow != index && n.psn == psn && from.source == f.destination && from.destination == f.source;
  });
  if (nak == open_naks.end()) return;
  flows[nak->flow].vote(index, kNakVote);
  open_naks.erase(nak);
}

// An RNR NAK to a request of one of these flows. It is the one with most votes, then one with a UDP port of the NAK's.
void SurveyState::not_ready(Flow& answers, Psn psn, std::span<const std::uint32_t> among) {
  std::uint32_t best = kNone;
  std::pair<std::uint32_t, bool> best_rank;
  bool several = false;
  for (const std::uint32_t i : among) {
    Flow& f = flows[i];
    const Flow::Refused refused{i, f.receives_before(psn), f.strict.receives_before(psn)};
    if ((refused.receives || refused.strictly) && answers.refused.size() < Flow::kRnrKept) {
      answers.refused.push_back(refused);
    }
    const std::pair rank{answers.votes_for(i), f.uses_port_of(answers)};
    several = rank == best_rank && best != kNone ? true : several && rank < best_rank;
    if (best != kNone && rank <= best_rank) continue;
    best = i;
    best_rank = rank;
  }
  for (const std::uint32_t i : among) {
    if (several) {
      flows[i].strict.forget_certainty();
    } else if (i == best) {
      flows[i].strict.not_ready(psn);
    }
  }
}

// A NAK of a PSN that no request had. It may name the one before the first request of a flow. This is the only flow
// that begins shortly behind it, or the only one of these with a UDP port of the NAK's.
void SurveyState::begins_before(const Flow& answers, const Headers& nak) {
  if (flows_looked_at > kMostLookedAt) return;
  flows_looked_at += flows.size();
  Flow* found = nullptr;
  bool several = false;
  for (Flow& f : flows) {
    if (f.source != answers.destination || f.destination != answers.source) continue;
    if (f.requests == 0 || f.requests > kFarBefore) continue;  // a long one's PSNs may be in front of its first again
    const std::int32_t before = f.strict.first() - nak.psn;
    if (before <= 0 || before > kFarBefore || !f.restarts.empty()) continue;
    const bool port = f.uses_port_of(answers);
    const bool other_port = found != nullptr && found->uses_port_of(answers);
    if (found != nullptr && other_port && !port) continue;
    several = found != nullptr && port == other_port;
    found = &f;
  }
  if (found != nullptr && !several) {
    found->strict.begins_at(nak.psn, ack_kind(nak.syndrome) == AckKind::kRnrNak);
  }
}

// R3
void SurveyState::answer(std::uint32_t index, const Headers& h, std::uint64_t number) {
  Flow& f = flows[index];
  f.count_answer(h, number);
  if (!(opcode_info(h.opcode).traits & kHasAeth) || (opcode_info(h.opcode).traits & kLast)) return;
  std::uint64_t key = 0;
  const Recent& slot = recent_slot(f.destination, f.source, h.psn, key);
  const std::uint32_t matches = slot.key == key ? slot.count : 0;
  if (f.votes_cast < kVotesEnough && !(matches != 0 && slot.too_many)) {
    f.votes_cast += matches != 0;
    for (std::uint32_t i = 0; i < matches; ++i) f.vote(slot.flows[i], matches == 1 ? kCertainVote : 1);
  }
  if (ack_kind(h.syndrome) == AckKind::kRnrNak) {
    not_ready(f, h.psn, std::span(slot.flows).first(matches));
  }
  if (ack_kind(h.syndrome) == AckKind::kRnrNak || h.syndrome == kNakSequence) {
    if (matches == 0) begins_before(f, h);
    if (open_naks.size() == kOpenNaks) open_naks.erase(open_naks.begin());
    open_naks.push_back({index, h.psn});
  }
  if (opcode_info(h.opcode).traits & kHasAtomicAckEth) answer_atomic(f, h);
}

CaptureSurvey::CaptureSurvey(FrameCheck check, const SurveyLimits& limits) : state_(std::make_unique<SurveyState>()) {
  state_->check = check;
  state_->limits = limits;
  state_->census = CaptureCensus(limits.pause_quantum_ps);
  state_->limits.endpoints = std::min<std::size_t>(limits.endpoints, 1u << 20);
}
CaptureSurvey::~CaptureSurvey() = default;
CaptureSurvey::CaptureSurvey(CaptureSurvey&&) noexcept = default;
CaptureSurvey& CaptureSurvey::operator=(CaptureSurvey&&) noexcept = default;

const SurveyCounts& CaptureSurvey::counts() const { return state_->counts; }
const CaptureCensus& CaptureSurvey::census() const { return state_->census; }
const std::vector<EndpointCounts>& CaptureSurvey::endpoints() const { return state_->endpoints; }

void CaptureSurvey::set_restarts(std::vector<std::uint64_t> packets) { state_->restarts = std::move(packets); }

void CaptureSurvey::add(const Headers& h, Bytes payload, std::uint64_t number) {
  SurveyState& s = *state_;
  ++s.counts.frames;
  ++s.counts.rdma;
  const std::uint32_t source = s.endpoint(h.source);
  const std::uint32_t destination = s.endpoint(h.destination);
  const std::uint32_t index = source == SurveyState::kNone || destination == SurveyState::kNone
                                  ? SurveyState::kNone
                                  : s.flow(source, destination, h.destination_qp);
  if (index == SurveyState::kNone) {  // R7
    ++s.counts.ignored;
    return;
  }
  ++s.endpoints[source].packets_sent;
  ++s.endpoints[destination].packets_received;
  s.endpoints[destination].marked_received += is_marked(h);
  const bool cnp = (opcode_info(h.opcode).traits & kIsCnp) != 0;
  s.endpoints[source].cnps_sent += cnp;
  s.endpoints[destination].cnps_received += cnp;
  s.first_as_destination[destination] = std::min(s.first_as_destination[destination], number);
  s.flows[index].count(h);
  const std::uint32_t traits = opcode_info(h.opcode).traits;
  if (traits & kRequest) {
    const std::uint64_t repetitions = s.flows[index].repetitions;
    s.request(index, h, number);
    if (s.limits.tags != 0 && s.flows[index].repetitions == repetitions) s.use_tag(s.flows[index], h, payload);
  }
  if (traits & kResponse) s.answer(index, h, number);
  if (h.destination_qp == kGsiQpn && s.cm.size() < kCmKept) {
    if (const std::optional<CmMessage> m = parse_cm(payload)) s.cm.push_back({source, destination, *m});
  }
}

// R2
std::optional<Address> CaptureSurvey::busier_receiver() const {
  const SurveyState& s = *state_;
  std::size_t best = s.endpoints.size();
  const auto rank = [&s](std::size_t i) {
    const EndpointCounts& e = s.endpoints[i];
    return std::tuple(e.requests_received, e.request_bytes, e.requests_received ? 0 : e.packets_received,
                      ~s.first_as_destination[i]);
  };
  for (std::size_t i = 0; i < s.endpoints.size(); ++i) {
    if (s.endpoints[i].packets_received == 0 || s.endpoints[i].address.is_multicast()) continue;
    if (best == s.endpoints.size() || rank(i) > rank(best)) best = i;
  }
  if (best == s.endpoints.size()) return std::nullopt;
  return s.endpoints[best].address;
}

CaptureSurvey survey_capture(CaptureReader& reader, CaptureSurvey::FrameCheck check) {
  CaptureSurvey survey(check);
  for (CapturedFrame frame; reader.next(frame);) survey.add(frame);
  return survey;
}

}  // namespace rxnic
