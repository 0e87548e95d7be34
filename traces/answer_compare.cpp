// SPDX-License-Identifier: Apache-2.0
#include "traces/answer_compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/types/syndrome.h"

namespace rxnic {
namespace {

constexpr std::size_t kUnaskedKept = 64;
constexpr std::size_t kSettledKept = 64;  // answers of the model kept for repetitions
constexpr std::size_t kLookedThrough = 256;
constexpr std::int64_t kPsnsCompared = 1 << 23;  // PSNs that are further apart have no order
constexpr std::int32_t kLongPassed = 1024;       // PSNs after which no captured answer is waited for
constexpr std::size_t kSeededKept = 65536;       // addresses of atomics

bool has(std::uint8_t opcode, std::uint32_t traits) { return (opcode_info(opcode).traits & traits) != 0; }
bool is_plain_ack(std::uint8_t opcode) { return has(opcode, kAckKind) && !has(opcode, kHasAtomicAckEth); }

std::string words(std::uint8_t opcode, std::uint8_t syndrome) {
  switch (has(opcode, kHasAeth) ? ack_kind(syndrome) : AckKind::kAck) {
    case AckKind::kRnrNak:
      return "RNR NAK";
    case AckKind::kNak:
      return fmt::format("NAK {:#04x}", syndrome);
    default:
      return opcode_name(opcode);
  }
}

}  // namespace

const char* uncompared_name(Uncompared u) {
  constexpr std::array kNames{"no_request",      "no_answer",    "qp_not_paired", "atomic_result", "too_far_behind",
                              "lost_on_the_way", "captured_cnp", "model_cnp",     "unreadable"};
  static_assert(kNames.size() == kUncomparedReasons);
  return kNames[static_cast<std::size_t>(u)];
}

std::size_t AnswerCompare::Hash::operator()(const std::pair<Address, std::uint32_t>& k) const {
  const std::uint64_t mixed =
      (load_be64(&k.first.bytes[0]) ^ load_be64(&k.first.bytes[8]) ^ k.second) * 0x9e3779b97f4a7c15u;
  return static_cast<std::size_t>(mixed ^ mixed >> 32);
}

AnswerCompare::AnswerCompare(const ReceiverSurvey& survey, const CompareOptions& options) : options_(options) {
  for (const SurveyedQp& qp : survey.qps) {
    if (!is_reliable(qp.transport)) continue;
    Lane& lane = lanes_.emplace_back();
    lane.name = fmt::format("{} QP {:#x}", qp.peer.text(), raw(qp.peer_qpn));
    lane.own = qp.qpn;
    lane.mtu = qp.mtu;
    lane.withheld = options.withheld_wqes && !qp.rnr_after_receives.empty();
    lane.refused = !qp.refused_uses.empty();
    lane.strict = options.strict_by_naks && qp.strict;
    if (lane.strict) lane.requested.add(qp.first_psn, 0, false);
    if (qp.has_requests && !qp.msn_known) lane.msn.begins_anywhere(qp.first_psn);
    by_own_.emplace(std::pair(qp.peer, raw(qp.qpn)), &lane);
    if (qp.paired_by != PairedBy::kNone) by_peer_.emplace(std::pair(qp.peer, raw(qp.peer_qpn)), &lane);
  }
}

AnswerCompare::Lane* AnswerCompare::find(const Address& peer, Qpn peer_qpn) {
  const auto found = by_peer_.find({peer, raw(peer_qpn)});
  return found == by_peer_.end() ? nullptr : found->second;
}

void AnswerCompare::leave_out(Uncompared reason, std::uint64_t packet, Qpn own) {
  ++counts_.uncompared[static_cast<std::size_t>(reason)];
  if (packet == 0 || options_.observer == nullptr) return;
  options_.observer->on_compared({packet, 0, own, AnswerVerdict::kNotCompared, reason, {}});
}

AnswerCompare::Answer AnswerCompare::answer_of(const Headers& h, std::uint64_t number) {
  return {h.psn, h.msn, h.opcode, h.syndrome, h.payload_bytes, false, h.original, number};
}

void AnswerCompare::request(const Headers& h) {
  const OpcodeInfo& op = opcode_info(h.opcode);
  if (!(op.traits & kRequest) || !is_reliable(op.transport)) return;
  const auto found = by_own_.find({h.source, raw(h.destination_qp)});
  if (found == by_own_.end()) return;
  Lane& lane = *found->second;
  const std::uint32_t psns = op.traits & kRead ? packets_of(h.length, lane.mtu) : 1;
  const RequestedPsns::Place place = lane.requested.place(h.psn);
  const bool gap = place == RequestedPsns::Place::kBehindGap;
  if (lane.strict && gap) return;  // neither receiver takes it
  lane.requested.add(h.psn, psns, (op.traits & kSaved) != 0);
  lost_requests_ |= gap;
  if (place != RequestedPsns::Place::kEarlier) lane.msn.request(h, gap);
  if ((op.traits & kHasAtomicEth) && seeded_.size() < kSeededKept && lane.given.size() < kSeededKept &&
      seeded_.emplace(h.destination, raw(h.rkey), h.va).second) {
    lane.given.insert(h.psn.value);
  }
  for (auto a = lane.unasked.begin(); a != lane.unasked.end();) {
    if (!lane.requested.contains(a->psn)) {
      ++a;
      continue;
    }
    if (has(a->opcode, kHasAeth) && ack_kind(a->syndrome) != AckKind::kAck) {  // of a packet before the capture
      leave_out(Uncompared::kNoRequest, a->number, lane.own);
      --held_;
    } else {
      lane.pending.push_back(*a);
    }
    a = lane.unasked.erase(a);
  }
}

void AnswerCompare::captured(const Headers& h, std::uint64_t packet) {
  const OpcodeInfo& op = opcode_info(h.opcode);
  if ((op.traits & kIsCnp) != 0) leave_out(Uncompared::kCapturedCnp, packet);  // (R5)
  if (!(op.traits & kResponse)) return;
  Lane* lane = find(h.destination, h.destination_qp);
  if (!lane) return leave_out(Uncompared::kQpNotPaired, packet);
  const Answer a = answer_of(h, packet);
  if (!lane->captured_any || h.psn - lane->captured_high > 0) lane->captured_high = h.psn;
  lane->captured_any = true;
  make_room(*lane, lane->pending);
  ++held_;
  // A sequence NAK names a request that did not arrive.
  if (lane->requested.contains(h.psn) || (h.syndrome == kNakSequence && (op.traits & kHasAeth))) {
    lane->pending.push_back(a);
  } else {
    lane->unasked.push_back(a);
    if (lane->unasked.size() > kUnaskedKept) {
      leave_out(Uncompared::kNoRequest, lane->unasked.front().number, lane->own);
      forget(lane->unasked);
    }
  }
  settle_ready(*lane);
}

void AnswerCompare::model(const Headers& h, std::uint64_t number) {
  const OpcodeInfo& op = opcode_info(h.opcode);
  if ((op.traits & kIsCnp) != 0) leave_out(Uncompared::kModelCnp, 0);  // (R5)
  if (!(op.traits & kResponse)) return;
  Lane* lane = find(h.destination, h.destination_qp);
  if (!lane) return leave_out(Uncompared::kQpNotPaired, 0);
  make_room(*lane, lane->of_model);
  keep_model(*lane, answer_of(h, number));
  if (ack_kind(h.syndrome) == AckKind::kAck) {
    if (!lane->model_acked || h.psn - lane->model_high > 0) lane->model_high = h.psn;
    lane->model_acked = true;
    if (op.traits & kHasAeth) lane->msn.model(h.psn, h.msn);
  }
  settle_ready(*lane);
}

void AnswerCompare::settle_ready(Lane& lane) {
  while (!lane.pending.empty() && settle(lane, lane.pending.front(), false) == Settled::kYes) forget(lane.pending);
  while (lane.of_model.size() > kSettledKept && lane.captured_any) {
    const Answer& a = lane.of_model.front();
    if (!lane.pending.empty() && a.psn - lane.pending.front().psn >= 0 && !a.matched) break;
    const bool covered = is_plain_ack(a.opcode) && ack_kind(a.syndrome) == AckKind::kAck;
    const std::int32_t behind = lane.captured_high - a.psn;
    if (!a.matched && behind < (covered ? 0 : kLongPassed)) break;
    settle_model(lane, a);
    if (!lane.forgot_answers || a.psn - lane.forgotten_high > 0) lane.forgotten_high = a.psn;
    lane.forgot_answers = true;
    forget_model(lane);
  }
}

// The answer of the model with that PSN, when each has a later one than the one before.
AnswerCompare::Answer* AnswerCompare::find_ordered(Lane& lane, Psn psn) {
  std::deque<Answer>& all = lane.of_model;
  if (all.empty() || psn - all.front().psn < 0 || psn - all.back().psn > 0) return nullptr;
  const auto at = static_cast<std::size_t>(psn - all.front().psn);
  if (at < all.size() && all[at].psn == psn) return &all[at];  // there is one for each PSN, as a rule
  const auto found =
      std::lower_bound(all.begin(), all.end(), psn, [](const Answer& a, Psn b) { return a.psn - b < 0; });
  return found != all.end() && found->psn == psn ? &*found : nullptr;
}

// How well an answer of the model of the same PSN and kind fits. Its position in a READ counts most, then whether
// nothing was compared with it yet, then its MSN.
int AnswerCompare::fit(const Lane& lane, const Answer& captured, const Answer& model) {
  const bool same = model.opcode == captured.opcode && model.payload == captured.payload;
  const bool same_msn = !has(captured.opcode, kHasAeth) || lane.msn.expected(model.msn) == captured.msn;
  return (same ? 4 : 0) + (model.matched ? 0 : 2) + (same_msn ? 1 : 0);
}

// The answer of the model of the same PSN and kind that fits best.
AnswerCompare::Answer* AnswerCompare::exact(Lane& lane, const Answer& captured) {
  if (lane.backwards == 0 && lane.psns_spanned < kPsnsCompared) {
    Answer* a = find_ordered(lane, captured.psn);
    return a != nullptr && ack_kind(a->syndrome) == ack_kind(captured.syndrome) ? a : nullptr;
  }
  Answer* found = nullptr;
  int best = -1;
  std::size_t looked = 0;
  for (Answer& a : lane.of_model) {
    if (++looked > kLookedThrough && a.psn - captured.psn > 0) break;
    if (a.psn != captured.psn || ack_kind(a.syndrome) != ack_kind(captured.syndrome)) continue;
    const int fits = fit(lane, captured, a);
    if (fits <= best) continue;
    found = &a;
    best = fits;
    if (fits == kBestFit) break;
  }
  return found;
}

AnswerCompare::Settled AnswerCompare::settle(Lane& lane, const Answer& captured, bool at_end) {
  const AckKind kind = has(captured.opcode, kHasAeth) ? ack_kind(captured.syndrome) : AckKind::kAck;
  const bool passed = lane.model_acked && captured.psn - lane.model_high <= 0;
  Answer* const model = exact(lane, captured);
  const bool may_come_again = kind != AckKind::kAck && !passed && !at_end;
  // The model's answer to the first request, and the captured one to the second. (R2)
  const bool other = model != nullptr && fit(lane, captured, *model) != kBestFit;
  if (other && !at_end && lane.requested.asked_again(captured.psn)) return Settled::kWait;
  if (model != nullptr && !(model->matched && may_come_again)) {
    compare_exact(lane, captured, *model);
    model->matched = true;
    return Settled::kYes;
  }
  if (!passed && !at_end) return Settled::kWait;
  if (passed && kind == AckKind::kAck && is_plain_ack(captured.opcode)) {  // R1
    ++counts_.covered;
    const std::optional<std::uint32_t> msn = lane.msn.model_at(captured.psn);
    if (!msn || compare_msn(lane, captured, *msn, 0)) agree(lane, captured, 0, AnswerVerdict::kCovered);
    return Settled::kYes;
  }
  if (passed && kind == AckKind::kAck && lane.forgot_answers && captured.psn - lane.forgotten_high <= 0) {  // R6
    leave_out(Uncompared::kTooFarBehind, captured.number, lane.own);
    return Settled::kYes;
  }
  if (passed && captured.syndrome == kNakSequence && has(captured.opcode, kHasAeth)) {  // R3
    leave_out(Uncompared::kLostOnTheWay, captured.number, lane.own);
    return Settled::kYes;
  }
  if (passed) {
    differ(lane, captured, 0, kind == AckKind::kAck ? "the model did not send it" : "the model acknowledged");
    return Settled::kYes;
  }
  std::string instead = "the model did not answer";
  for (const Answer& a : lane.of_model) {
    if (ack_kind(a.syndrome) != AckKind::kAck) {
      instead = fmt::format("the model sent {} at PSN {}", words(a.opcode, a.syndrome), a.psn.value);
    }
  }
  differ(lane, captured, 0, instead);
  return Settled::kYes;
}

// R2, R3, R4
void AnswerCompare::compare_exact(Lane& lane, const Answer& captured, const Answer& model) {
  const auto different = [&](const std::string& what) { differ(lane, captured, model.number, what); };
  const bool aeth = has(captured.opcode, kHasAeth);
  if (aeth && ack_kind(captured.syndrome) == AckKind::kNak && captured.syndrome != model.syndrome) {
    return different(fmt::format("the model sent {}", words(model.opcode, model.syndrome)));
  }
  if (opcode_info(captured.opcode).operation != opcode_info(model.opcode).operation) {
    return different(fmt::format("the model sent {}", words(model.opcode, model.syndrome)));
  }
  if (captured.payload != model.payload) {
    return different(fmt::format("{} bytes of payload, the model {}", captured.payload, model.payload));
  }
  const bool again = model.matched;  // a repetition carries a later MSN
  if (aeth && !again) {
    lane.msn.pass_gaps(captured.psn);
    if (!compare_msn(lane, captured, model.msn, model.number)) return;
  }
  bool given = aeth && ((lane.withheld && ack_kind(captured.syndrome) == AckKind::kRnrNak) ||
                        (lane.strict && captured.syndrome == kNakSequence) ||
                        (lane.refused && captured.syndrome == kNakRemoteAccess));  // R8
  if (has(captured.opcode, kHasAtomicAckEth)) {
    if (!options_.atomic_results || lost_requests_) {
      ++counts_.uncompared[static_cast<std::size_t>(Uncompared::kAtomicResult)];
    } else if (captured.original != model.original) {
      return different(fmt::format("result {:#x}, the model {:#x}", captured.original, model.original));
    } else {
      given = lane.given.contains(captured.psn.value);
    }
  }
  agree(lane, captured, model.number, given ? AnswerVerdict::kGiven : AnswerVerdict::kEqual);
}

// R7. False: a difference, which has been counted.
bool AnswerCompare::compare_msn(Lane& lane, const Answer& captured, std::uint32_t model, std::uint64_t frame) {
  const std::uint32_t expected = lane.msn.expected(model);
  const std::uint32_t rebased = lane.msn.rebased();
  const MsnCompare::Verdict verdict = lane.msn.compare(captured.psn, captured.msn, model);
  counts_.msn_rebased += lane.msn.rebased() - rebased;
  if (verdict == MsnCompare::Verdict::kDeviates) {
    rules_.push_back(lane.name + ": the captured receiver's MSN leaves WRITEs without immediate out; compared so");
  } else if (verdict == MsnCompare::Verdict::kDiffers) {
    differ(lane, captured, frame, fmt::format("MSN {}, the model {}", captured.msn, expected));
  }
  return verdict != MsnCompare::Verdict::kDiffers;
}

// An answer of the model that nothing captured was compared with.
void AnswerCompare::settle_model(Lane& lane, const Answer& model) {
  if (model.matched) return;
  const bool passed = lane.captured_any && model.psn - lane.captured_high <= 0;
  const AckKind kind = has(model.opcode, kHasAeth) ? ack_kind(model.syndrome) : AckKind::kAck;
  if (passed && kind != AckKind::kAck) return differ(lane, model, {}, "the captured receiver sent none");
  if (passed && is_plain_ack(model.opcode)) return;  // a later one covers it
  leave_out(Uncompared::kNoAnswer, 0);
}

void AnswerCompare::keep_model(Lane& lane, const Answer& a) {
  if (!lane.of_model.empty()) {
    const std::int32_t step = a.psn - lane.of_model.back().psn;
    lane.backwards += step <= 0;
    lane.psns_spanned += step;
  }
  lane.of_model.push_back(a);
  ++held_;
}

void AnswerCompare::forget_model(Lane& lane) {
  if (lane.of_model.size() > 1) {
    const std::int32_t step = lane.of_model[1].psn - lane.of_model[0].psn;
    lane.backwards -= step <= 0;
    lane.psns_spanned -= step;
  }
  forget(lane.of_model);
}

void AnswerCompare::forget(std::deque<Answer>& from) {
  from.pop_front();
  --held_;
}

// R6
void AnswerCompare::make_room(Lane& lane, std::deque<Answer>& in) {
  if (in.size() < kMostHeldByQp && held_ < kMostHeld) return;
  const bool model = !lane.of_model.empty() && (&in == &lane.of_model || lane.pending.empty());
  if (model) {
    settle_model(lane, lane.of_model.front());
    forget_model(lane);
  } else if (!lane.pending.empty()) {
    settle(lane, lane.pending.front(), true);
    forget(lane.pending);
  }
}

void AnswerCompare::finish() {
  for (Lane& lane : lanes_) settle_all(lane);
}

void AnswerCompare::settle_all(Lane& lane) {
  for (const Answer& a : lane.pending) settle(lane, a, true);
  for (const Answer& a : lane.unasked) leave_out(Uncompared::kNoRequest, a.number, lane.own);
  for (const Answer& a : lane.of_model) settle_model(lane, a);
  held_ -= lane.pending.size() + lane.unasked.size() + lane.of_model.size();
  lane.pending.clear();
  lane.unasked.clear();
  lane.of_model.clear();
  lane.backwards = 0;
  lane.psns_spanned = 0;
}

void AnswerCompare::restart(const Address& peer, Qpn own) {
  const auto found = by_own_.find({peer, raw(own)});
  if (found == by_own_.end()) return;
  Lane& lane = *found->second;
  settle_all(lane);
  lane.requested = {};
  lane.given.clear();
  lane.model_acked = lane.captured_any = lane.forgot_answers = false;
  lane.msn = {};
}

void AnswerCompare::agree(const Lane& lane, const Answer& captured, std::uint64_t model, AnswerVerdict verdict) {
  ++counts_.compared;
  ++(verdict == AnswerVerdict::kGiven ? counts_.given : counts_.equal);
  if (options_.observer == nullptr) return;
  options_.observer->on_compared({captured.number, model, lane.own, verdict, Uncompared{}, {}});
}

// `model`: number of the model's frame that a captured answer differs from, 0: none. Without: `at` is the model's.
void AnswerCompare::differ(const Lane& lane, const Answer& at, std::optional<std::uint64_t> model,
                           const std::string& what) {
  ++counts_.compared;
  ++counts_.different;
  const bool kept = differences_.size() < options_.differences_kept;
  if (!kept && options_.observer == nullptr) return;
  const std::string text =
      fmt::format("{} {}: {}", model ? "captured" : "the model's", words(at.opcode, at.syndrome), what);
  if (kept)
    differences_.push_back(fmt::format("packet {} to {}, PSN {}: {}", at.number, lane.name, at.psn.value, text));
  if (options_.observer == nullptr) return;
  options_.observer->on_compared(
      {model ? at.number : 0, model.value_or(at.number), lane.own, AnswerVerdict::kDifferent, Uncompared{}, text});
}

}  // namespace rxnic
