// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "bridge/rxnic/diagnose/direction.h"
#include "model/types/syndrome.h"
#include "traces/unreadable_requests.h"

namespace rxnic {

void Direction::response(const Headers& h, const At& at) {
  if (responses_++ == 0) responder_pkey_ = h.pkey;
  const OpcodeInfo& op = opcode_info(h.opcode);
  if (!started_) return;
  if ((op.traits & kReadResponse) != 0) {
    read_response(h, at);
    acknowledge(h.psn, at);
    return;
  }
  if ((op.traits & kAckKind) == 0) return;
  switch (ack_kind(h.syndrome)) {
    case AckKind::kAck:
      if (h.syndrome == 0) no_credits_.add(at);
      counts_credits_ |= h.syndrome != 0 && h.syndrome != kAckUnlimited;
      acknowledge(h.psn, at);
      return;
    case AckKind::kRnrNak:
      acknowledge(h.psn.previous(), at);
      return rnr_nak(h, at);
    case AckKind::kNak:
      acknowledge(h.psn.previous(), at);
      if (h.syndrome == kNakSequence) return sequence_nak(h.psn, at);
      return fatal_nak(h, at);
  }
}

// Everything up to that PSN.
void Direction::acknowledge(Psn psn, const At& at) {
  if (psn - next_ >= 0) {  // what the capture does not hold (yet)
    if (psn - next_ > static_cast<std::int32_t>(kMostKept)) return;
  }
  if (episode_ && episode_->timeout && !episode_->answered && psn - acked_ >= 0) {
    episode_->answered = true;
    Incident& i = incidents_[episode_->incident];
    if (i.cause == FindingCause::kAckTimeout && psn - episode_->last > 0 && psn - next_ < 0) {  // R4
      i.cause = FindingCause::kAckLost;
      i.detail = fmt::format("packet {} acknowledges PSN {}, which had come once: the responder had all of them",
                             at.number, psn.value);
      i.add(at.number);
    }
  }
  const Psn behind = psn + 1;
  if (any_ack_ && behind - acked_ <= 0) return;
  if (!any_ack_ && !sent_.empty() && psn - sent_.front().psn < 0) return;  // of before the capture
  any_ack_ = true;
  if (const Sent* s = find(psn); s != nullptr && s->times == 1) {
    if (!s->has(kRead) || psn == s->psn) add_delay(at.ps - s->first.ps);
  }
  for (const Sent& s : sent_) {
    if (s.psn - behind >= 0) break;
    if (acked_at_.number != 0 && s.psn - acked_ < 0) continue;
    largest_acked_ = std::max<std::uint32_t>(largest_acked_, s.payload);
    add_use(s);
  }
  acked_ = behind;
  acked_at_ = at;
  std::size_t acked = 0;
  while (acked < sent_.size() && sent_[acked].psn - behind < 0) ++acked;
  while (acked > kAckedKept) {
    sent_.pop_front();
    --acked;
  }
  while (settled_ < incidents_.size() && incidents_[settled_].settled()) ++settled_;
  for (std::size_t i = settled_; i < incidents_.size(); ++i) {
    if (!incidents_[i].settled() && incidents_[i].psn - behind < 0) {
      incidents_[i].until_ps = std::max<std::uint64_t>(at.ps, 1);
    }
  }
  settle_gaps(at);
}

// R1: acknowledged although the capture does not hold them.
void Direction::settle_gaps(const At& at) {
  std::erase_if(gaps_, [this, &at](const Gap& g) {
    if ((g.psn + (g.psns - 1)) - acked_ >= 0) return false;
    if (g.refused) return true;
    for (const FindingCause cause : {FindingCause::kIcrc, FindingCause::kUnreadable}) {
      for (Incident& i : incidents_) {
        if (i.cause != cause || !g.has(i.psn)) continue;
        i.detail += fmt::format("{}packet {} acknowledges it all the same: only the captured copy is so",
                                i.detail.empty() ? "" : "; ", acked_at_.number);
        if (g.psns == 1) return true;
      }
    }
    Incident& i = note(FindingCause::kLostBySniffer, g.psn, g.seen);
    i.psns = g.psns - g.filled;
    i.until_ps = g.seen.ps;
    i.detail = fmt::format("packet {} acknowledges them", acked_at_.number);
    i.add(at.number == g.seen.number ? acked_at_.number : at.number);
    return true;
  });
}

// R1, R2
void Direction::sequence_nak(Psn psn, const At& at) {
  for (const FindingCause cause : {FindingCause::kLostBeforeSniffer, FindingCause::kLostBehindSniffer,
                                   FindingCause::kIcrc, FindingCause::kUnreadable}) {
    Incident* const i = open(cause, psn);
    if (i == nullptr) continue;
    ++i->count;
    i->add(at.number);
    i->syndrome = kNakSequence;
    refused_ = static_cast<std::size_t>(i - incidents_.data());
    for (Gap& g : gaps_) g.refused |= g.has(psn);
    return;
  }
  const auto gap = std::ranges::find_if(gaps_, [psn](const Gap& g) { return g.has(psn); });
  Incident* i = nullptr;
  if (gap != gaps_.end()) {
    i = &note(FindingCause::kLostBeforeSniffer, psn, gap->seen);
    i->psns = gap->psns - static_cast<std::uint32_t>(psn - gap->psn);
    gap->refused = true;
  } else if (const Sent* s = find(psn)) {
    i = &note(FindingCause::kLostBehindSniffer, psn, s->last);
    i->opcode = s->opcode;
  } else {
    i = &note(FindingCause::kLostBeforeSniffer, psn, at);
    i->packets.clear();
  }
  i->syndrome = kNakSequence;
  i->add(at.number);
  refused_ = static_cast<std::size_t>(i - incidents_.data());
}

void Direction::rnr_nak(const Headers& h, const At& at) {
  Incident* i = open(FindingCause::kRnr, h.psn);
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
  refused_ = static_cast<std::size_t>(i - incidents_.data());
}

void Direction::fatal_nak(const Headers& h, const At& at) {
  FindingCause cause = FindingCause::kOtherNak;
  if (h.syndrome == kNakInvalidRequest) cause = FindingCause::kInvalidRequest;
  if (h.syndrome == kNakRemoteAccess) cause = FindingCause::kRemoteAccess;
  if (h.syndrome == kNakRemoteOperation) cause = FindingCause::kRemoteOperation;
  if (Incident* const known = open(cause, h.psn)) {
    ++known->count;
    known->add(at.number);
    return;
  }
  const Sent* const s = find(h.psn);
  std::string detail = describe_refused(h.psn, h.syndrome);
  Incident& i = note(cause, h.psn, s != nullptr ? s->last : At{0, at.ps});
  i.detail = std::move(detail);
  i.syndrome = h.syndrome;
  if (s != nullptr) i.opcode = s->opcode;
  i.add(at.number);
  ended_ = true;
  refused_ = static_cast<std::size_t>(&i - incidents_.data());
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

// R5
void Direction::read_response(const Headers& h, const At& at) {
  Sent* const s = find(h.psn);
  if (s == nullptr || !s->has(kRead)) return;
  const auto k = static_cast<std::uint32_t>(h.psn - s->psn);
  if (k > s->answered) {
    if (response_gaps_.size() == kMostGaps) response_gaps_.erase(response_gaps_.begin());
    response_gaps_.push_back({s->psn + s->answered, k - s->answered, 0, at});
  }
  s->answered = std::max(s->answered, k + 1);
  // READs are answered in their order: what one before this one lacks is missing.
  if (!ends_.mtu_known) return;
  for (auto before = sent_.rbegin(); before != sent_.rend(); ++before) {
    if (before->psn - s->psn >= 0) continue;
    if (any_ack_ && (before->psn + (before->span - 1)) - acked_ < 0) break;
    if (!before->has(kRead) || before->answered >= before->span) continue;
    const Psn missing = before->psn + before->answered;
    const bool known = std::ranges::any_of(response_gaps_, [missing](const Gap& g) { return g.has(missing); });
    if (!known && response_gaps_.size() < kMostGaps) {
      response_gaps_.push_back({missing, before->span - before->answered, 0, at});
    }
  }
}

void Direction::damaged(const Headers& h, DropReason reason, const At& at) {
  const FindingCause cause = reason == DropReason::kIcrc ? FindingCause::kIcrc : FindingCause::kUnreadable;
  Incident* i = open(cause, h.psn);
  if (i != nullptr) {
    ++i->count;
    i->add(at.number);
  } else {
    i = &note(cause, h.psn, at);
    if (reason != DropReason::kUnknownOpcode && reason != DropReason::kVendorOpcode) i->opcode = h.opcode;
    i->detail = unreadable_words(reason);
    if (i->opcode == 0) i->detail += " " + opcode_words(h.opcode);
  }
}

void Direction::add_use(const Sent& sent) {
  if (!sent.has(kHasReth) && !sent.has(kHasAtomicEth)) return;
  const std::uint64_t bytes = sent.has(kHasAtomicEth) ? kAtomicBytes : sent.length;
  if (bytes == 0) return;
  for (Use& u : uses_) {
    if (u.key != sent.rkey) continue;
    u.from = std::min(u.from, sent.va);
    u.to = std::max(u.to, sent.va + bytes);
    return;
  }
  if (uses_.size() == kMostUses) uses_.erase(uses_.begin());
  uses_.push_back({sent.rkey, sent.va, sent.va + bytes});
}

// Every n-th, so that kMostDelays of them are from all of the capture.
void Direction::add_delay(std::uint64_t ps) {
  if (delays_seen_++ % delay_stride_ != 0) return;
  if (delays_.size() == kMostDelays) {
    for (std::size_t i = 0; i < kMostDelays / 2; ++i) delays_[i] = delays_[2 * i];
    delays_.resize(kMostDelays / 2);
    delay_stride_ *= 2;
    if ((delays_seen_ - 1) % delay_stride_ != 0) return;
  }
  delays_.push_back(ps);
}

void Direction::finish() {
  for (Incident& i : incidents_) {
    if (i.settled()) continue;
    if (i.cause == FindingCause::kAckTimeout) i.cause = FindingCause::kNoAnswer;
    if (i.cause == FindingCause::kReadAgain && !any_ack_) i.cause = FindingCause::kNoAnswer;
  }
  for (const Gap& g : gaps_) {
    if (g.refused) continue;
    Incident& i = note(FindingCause::kPsnGap, g.psn, g.seen);
    i.psns = g.psns - g.filled;
    i.until_ps = g.seen.ps;
  }
  for (const Gap& g : response_gaps_) {
    Incident& i = note(FindingCause::kLostBySniffer, g.psn, g.seen);
    i.psns = g.psns;
    i.until_ps = g.seen.ps;
    i.detail = "responses to a READ, which the requester did not ask for again";
  }
  if (no_credits_.count != 0 && counts_credits_) {
    Incident& i = note(FindingCause::kNoCredits, acked_, no_credits_.first);
    i.packets = no_credits_.packets;
    if (i.packets.size() > Incident::kMostPackets) i.packets.resize(Incident::kMostPackets);
    i.count = no_credits_.count;
    i.until_ps = std::max<std::uint64_t>(no_credits_.last.ps, 1);
  }
}

}  // namespace rxnic
