// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "bridge/rxnic/diagnose/direction.h"
#include "model/types/syndrome.h"
#include "traces/unreadable_requests.h"

namespace rxnic {

void Direction::response(const Headers& h, const At& at) {
  if (responses_++ == 0) responder_pkey_ = h.pkey;
  if (is_marked(h)) response_marks_.add(at);
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
      if (h.syndrome == kNakSequence) {
        acknowledge(h.psn.previous(), at);
        return sequence_nak(h.psn, at);
      }
      return fatal_nak(h, at);
  }
}

// R4: the first ACK behind a timeout. `psn`: the responder's last one.
void Direction::judge_timeout(Psn psn, const At& at) {
  round_.answered = true;
  Occurrence& o = occurrences_[*round_.occurrence];
  if (o.cause != FindingCause::kAckTimeout || psn - round_.next < 0) return;  // perhaps of the repeats alone
  const Psn missing = psn + 1;
  const bool all = missing - round_.sent_before >= 0 && !round_.inside_before;
  if (all) {
    bool asked = false;
    for (const Sent& s : sent_) {
      asked |= s.asks_ack && s.psn - o.psn >= 0 && s.psn - psn <= 0;
    }
    if (!asked && ends_.transport == Transport::kRc) return;
    o.cause = FindingCause::kAckLost;
    o.detail = fmt::format("packet {} acknowledges PSN {}, which had come once: the responder had all of them",
                           at.number, psn.value);
    o.add(at.number);
    return;
  }
  const auto gap = std::ranges::find_if(round_.before, [missing](const Gap& g) { return g.has(missing); });
  const Sent* const sent = find(missing);
  const std::string shows =
      fmt::format("no NAK, but packet {} shows that the responder had nothing behind PSN {}", at.number, psn.value);
  if (gap != round_.before.end() || sent == nullptr || missing - round_.sent_before >= 0) {
    o.cause = FindingCause::kLostBeforeSniffer;
    if (gap != round_.before.end()) o.packets.insert(o.packets.begin(), gap->seen.number);
  } else {
    o.cause = FindingCause::kLostBehindSniffer;
    o.opcode = sent->opcode;
    o.packets.insert(o.packets.begin(), sent->first.number);
  }
  o.psn = missing;
  o.detail = shows;
  o.add(at.number);
  for (Occurrence& other : occurrences_) {  // the same loss, from when its PSN came
    if (&other == &o || other.psn != missing || other.settled() || other.cause != FindingCause::kLostBeforeSniffer) {
      continue;
    }
    o.from_ps = std::min(o.from_ps, other.from_ps);
    for (const std::uint64_t packet : other.packets) o.add(packet);
    other.cause = FindingCause::kCount;
  }
}

// Everything up to that PSN.
void Direction::acknowledge(Psn psn, const At& at) {
  const std::int32_t ahead = psn - next_;
  if (ahead >= 0) {  // what the capture does not hold (yet)
    if (!ack_ahead_ || psn - ack_ahead_->first > 0) ack_ahead_ = {psn, at};
    if (ahead > static_cast<std::int32_t>(kMostKept)) return;
  }
  if (refused_) {  // it has the PSN that it refused, and nothing came again (R2)
    Occurrence& o = occurrences_[*refused_];
    if (o.cause == FindingCause::kLostBehindSniffer && o.repeats == 0 && psn - o.psn >= 0) {
      o.cause = FindingCause::kOvertaken;
    }
  }
  const bool of_timeout =
      round_.timeout && !round_.answered && round_.occurrence && psn - occurrences_[*round_.occurrence].psn >= 0;
  if (of_timeout) judge_timeout(psn, at);
  const Psn behind = psn + 1;
  if (any_ack_ && behind - acked_ <= 0) return settle(at);
  if (!any_ack_ && !sent_.empty() && psn - sent_.front().psn < 0) return;  // of before the capture
  if (const Sent* s = find(psn); s != nullptr && s->times == 1 && !of_timeout && (!s->has(kRead) || psn == s->psn)) {
    add_delay(*s, at);
  }
  for (const Sent& s : sent_) {
    if (s.psn - behind >= 0) break;
    if (any_ack_ && s.psn - acked_ < 0) continue;
    largest_acked_ = std::max<std::uint32_t>(largest_acked_, s.payload);
    add_use(s);
  }
  any_ack_ = true;
  acked_ = behind;
  acked_at_ = at;
  std::size_t acked = 0;
  while (acked < sent_.size() && sent_[acked].psn - behind < 0) ++acked;
  while (acked > kAckedKept) {
    sent_.pop_front();
    --acked;
  }
  settle(at);
  settle_gaps(at);
}

void Direction::settle(const At& at) {
  while (settled_ < occurrences_.size() && occurrences_[settled_].settled()) ++settled_;
  for (std::size_t n = settled_; n < occurrences_.size(); ++n) {
    Occurrence& o = occurrences_[n];
    if (o.settled() || o.cause == FindingCause::kReadAgain || o.psn - acked_ >= 0) continue;
    o.until_ps = std::max<std::uint64_t>(at.ps, 1);
  }
}

// R1: acknowledged although the capture does not hold them.
void Direction::settle_gaps(const At& at) {
  std::erase_if(gaps_, [this, &at](const Gap& g) {
    if ((g.psn + (g.psns - 1)) - acked_ >= 0) return false;
    if (g.refused) return true;
    for (const FindingCause cause : {FindingCause::kIcrc, FindingCause::kUnreadable}) {
      for (Occurrence& i : occurrences_) {
        if (i.cause != cause || !g.has(i.psn)) continue;
        i.detail += fmt::format("{}packet {} acknowledges it all the same: only the captured copy is so",
                                i.detail.empty() ? "" : "; ", acked_at_.number);
        if (g.psns == 1) return true;
      }
    }
    Occurrence& i = note(FindingCause::kLostBySniffer, g.psn, g.seen);
    i.psns = g.psns - g.filled;
    i.until_ps = g.seen.ps;
    i.detail = fmt::format("packet {} acknowledges what is behind", acked_at_.number);
    i.add(at.number == g.seen.number ? acked_at_.number : at.number);
    return true;
  });
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
  if (recent_responses_.size() == kResponsesKept) recent_responses_.pop_front();
  recent_responses_.emplace_back(h.psn, at.number);
  if (Occurrence* const o = open(FindingCause::kReadAgain, h.psn)) o->until_ps = std::max<std::uint64_t>(at.ps, 1);
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
  Occurrence* i = open(cause, h.psn);
  if (i != nullptr) {
    ++i->count;
    i->add(at.number);
  } else {
    i = &note(cause, h.psn, at);
    if (reason != DropReason::kUnknownOpcode && reason != DropReason::kVendorOpcode) i->opcode = h.opcode;
    i->detail = unreadable_words(reason);
    if (!i->opcode) i->detail += " " + opcode_words(h.opcode);
  }
}

// What a message uses counts when its LAST is acknowledged: a NAK may refuse what its FIRST names.
void Direction::add_use(const Sent& sent) {
  if (sent.has(kHasReth) || sent.has(kHasAtomicEth)) {
    const std::uint64_t bytes = sent.has(kHasAtomicEth) ? kAtomicBytes : sent.length;
    use_at_hand_ = Use{sent.rkey, sent.va, sent.va + bytes};
  }
  if (!use_at_hand_ || sent.has(kFirst) || sent.has(kMiddle)) return;
  const Use use = *use_at_hand_;
  use_at_hand_.reset();
  if (use.from == use.to) return;
  for (Use& u : uses_) {
    if (u.key != use.key) continue;
    u.from = std::min(u.from, use.from);
    u.to = std::max(u.to, use.to);
    return;
  }
  if (uses_.size() == kMostUses) uses_.erase(uses_.begin());
  uses_.push_back(use);
}

// Every n-th, so that kMostDelays of them are from all of the capture.
void Direction::add_delay(const Sent& sent, const At& at) {
  const std::uint64_t ps = at.ps - sent.first.ps;
  if (ps > slowest_.ps) slowest_ = {ps, sent.first, at, sent.psn};
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
  for (Occurrence& o : occurrences_) {
    if (o.until_ps != 0 || o.beyond) continue;
    const bool unanswered = o.cause == FindingCause::kAckTimeout || o.cause == FindingCause::kReadAgain;
    if (unanswered && responses_ != 0) o.cause = FindingCause::kNoAnswer;
    if (unanswered && responses_ == 0) o.detail = "the capture holds no answer to this QP";
  }
  for (const Gap& g : gaps_) {
    if (g.refused) continue;
    Occurrence& i = note(FindingCause::kPsnGap, g.psn, g.seen);
    i.psns = g.psns - g.filled;
    i.until_ps = g.seen.ps;
  }
  for (const Gap& g : response_gaps_) {
    Occurrence& i = note(FindingCause::kLostBySniffer, g.psn, g.seen);
    i.psns = g.psns;
    i.until_ps = g.seen.ps;
    i.detail = "responses to a READ, which the requester did not ask for again";
  }
  if (no_credits_.count != 0 && counts_credits_) {
    Occurrence& i = note(FindingCause::kNoCredits, acked_, no_credits_.first);
    i.packets = no_credits_.packets();
    if (i.packets.size() > Occurrence::kMostPackets) i.packets.resize(Occurrence::kMostPackets);
    i.count = no_credits_.count;
    i.until_ps = std::max<std::uint64_t>(no_credits_.last.ps, 1);
  }
  if (ack_ahead_) {
    const auto& [psn, at] = *ack_ahead_;
    Occurrence& i = note(FindingCause::kAckBeyond, psn, at);
    i.until_ps = std::max<std::uint64_t>(at.ps, 1);
    i.detail = fmt::format("PSN {} is acknowledged, and the last request of the capture has PSN {}", psn.value,
                           next_.previous().value);
  }
}

}  // namespace rxnic
