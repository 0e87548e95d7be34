// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "bridge/rxnic/diagnose/direction.h"
#include "model/types/syndrome.h"

namespace rxnic {

// R2: why the responder has not got that PSN, from the round at hand.
Occurrence& Direction::note_loss(Psn psn, const At& at) {
  const auto stepped = std::ranges::find_if(round_.gaps, [psn](const Gap& g) { return g.has(psn); });
  const auto gap = std::ranges::find_if(gaps_, [psn](const Gap& g) { return g.has(psn); });
  const Sent* const s = find(psn);
  // The round was to begin with it: it came again for a NAK of that PSN.
  const bool before_round = round_.occurrence && psn - round_.first < 0 && occurrences_[*round_.occurrence].psn == psn;
  if (stepped != round_.gaps.end() || gap != gaps_.end() || before_round) {
    const Gap at_begin{psn, 1, 0, round_.at, false};
    const Gap& g = stepped != round_.gaps.end() ? *stepped : gap != gaps_.end() ? *gap : at_begin;
    Occurrence& o = note(FindingCause::kLostBeforeSniffer, psn, g.seen);
    o.psns = g.psns - static_cast<std::uint32_t>(psn - g.psn);
    if (s != nullptr) {
      o.psns = 1;
      o.detail = "it had come before, and the requester repeats it: this copy is missing";
    }
    if (gap != gaps_.end()) gap->refused = true;
    return o;
  }
  if (s == nullptr) {
    Occurrence& o = note(FindingCause::kLostBeforeSniffer, psn, at);
    o.packets.clear();
    return o;
  }
  const bool overtaken = std::ranges::count(overtaken_, s->last.number) != 0;
  Occurrence& o = note(overtaken ? FindingCause::kOvertaken : FindingCause::kLostBehindSniffer, psn, s->last);
  o.opcode = s->opcode;
  return o;
}

// R1, R2
void Direction::sequence_nak(Psn psn, const At& at) {
  for (const FindingCause cause : {FindingCause::kLostBeforeSniffer, FindingCause::kLostBehindSniffer,
                                   FindingCause::kIcrc, FindingCause::kUnreadable, FindingCause::kOvertaken}) {
    Occurrence* const i = open(cause, psn);
    if (i == nullptr) continue;
    ++i->count;
    i->add(at.number);
    i->syndrome = kNakSequence;
    refused_ = place_of(*i);
    for (Gap& g : gaps_) g.refused |= g.has(psn);
    return;
  }
  if (refused_ && occurrences_[*refused_].cause == FindingCause::kOvertaken) {  // what it discarded meanwhile
    ++occurrences_[*refused_].count;
    occurrences_[*refused_].add(at.number);
    return;
  }
  Occurrence& o = note_loss(psn, at);
  o.syndrome = kNakSequence;
  o.add(at.number);
  refused_ = place_of(o);
}

void Direction::rnr_nak(const Headers& h, const At& at) {
  Occurrence* i = open(FindingCause::kRnr, h.psn);
  if (i != nullptr) {
    ++i->count;
  } else {
    const Sent* const s = find(h.psn);
    i = &note(FindingCause::kRnr, h.psn, s != nullptr ? s->last : At{0, at.ps});
    i->from_ps = at.ps;
    if (s != nullptr) i->opcode = s->opcode;
  }
  i->syndrome = h.syndrome;
  i->add(at.number);
  refused_ = place_of(*i);
}

void Direction::fatal_nak(const Headers& h, const At& at) {
  FindingCause cause = FindingCause::kOtherNak;
  if (h.syndrome == kNakInvalidRequest) cause = FindingCause::kInvalidRequest;
  if (h.syndrome == kNakRemoteAccess) cause = FindingCause::kRemoteAccess;
  if (h.syndrome == kNakRemoteOperation) cause = FindingCause::kRemoteOperation;
  if (Occurrence* const known = open(cause, h.psn)) {
    ++known->count;
    known->add(at.number);
    return;
  }
  std::string detail = describe_refused(h.psn, h.syndrome);
  acknowledge(h.psn.previous(), at);
  const Sent* const s = find(h.psn);
  Occurrence& i = note(cause, h.psn, s != nullptr ? s->last : At{0, at.ps});
  i.detail = std::move(detail);
  i.syndrome = h.syndrome;
  if (s != nullptr) i.opcode = s->opcode;
  i.add(at.number);
  refused_ = place_of(i);
}

// What was refused, against what the QP used before.
std::string Direction::describe_refused(Psn psn, std::uint8_t syndrome) {
  const Sent* refused = find(psn);
  if (refused == nullptr) return {};
  const Sent* named = refused;  // the packet of its message that has the address
  for (auto s = sent_.rbegin(); s != sent_.rend(); ++s) {
    if (s->psn - refused->psn > 0) continue;
    if (s->has(kHasReth) || s->has(kHasAtomicEth)) {
      named = &*s;
      break;
    }
    if (!s->has(kMiddle) && !s->has(kLast)) break;
  }
  const std::uint32_t bytes = named->has(kHasAtomicEth) ? kAtomicBytes : named->length;
  if (!named->has(kHasReth) && !named->has(kHasAtomicEth)) {
    if (syndrome != kNakInvalidRequest || !named->has(kSend)) return {};
    if (largest_acked_ != 0 && named->payload > largest_acked_) {
      return fmt::format(
          "a SEND with {} bytes in this packet, and none with more than {} was acknowledged before: longer than the "
          "responder's MTU, or than the receive that was posted",
          named->payload, largest_acked_);
    }
    return fmt::format(
        "a SEND with {} bytes in this packet: longer than the receive that was posted, or an operation that the QP "
        "does not take",
        named->payload);
  }
  std::string text = fmt::format("address {:#x}, rkey {:#x}, {} bytes", named->va, raw(named->rkey), bytes);
  if (syndrome == kNakInvalidRequest) {
    if (named->has(kHasAtomicEth) && named->va % kAtomicBytes != 0) return text + ": the address is not aligned to 8";
    std::uint32_t outstanding = 0;
    for (const Sent& s : sent_) {
      outstanding += s.has(kSaved) && s.psn - acked_ >= 0 && s.psn - psn <= 0;
    }
    if (named->has(kSaved)) text += fmt::format("; {} READs and atomics were outstanding with it", outstanding);
    return text;
  }
  if (syndrome != kNakRemoteAccess) return text;
  const auto same = std::ranges::find_if(uses_, [&](const Use& u) { return u.key == named->rkey; });
  if (same != uses_.end()) {
    const bool inside = named->va >= same->from && named->va + bytes <= same->to;
    return text + fmt::format("; with this rkey the QP used {:#x} to {:#x} before{}", same->from, same->to,
                              inside ? ", which holds it: the right is missing, or the region is no more" : "");
  }
  if (uses_.empty()) return text + "; nothing was acknowledged before that names memory";
  std::string keys;
  for (const Use& u : uses_) {
    keys += fmt::format("{}rkey {:#x} ({:#x} to {:#x})", keys.empty() ? "" : ", ", raw(u.key), u.from, u.to);
    if (keys.size() > 160) break;
  }
  return text + "; before the QP used " + keys;
}

}  // namespace rxnic
