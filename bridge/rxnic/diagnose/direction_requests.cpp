// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "bridge/rxnic/diagnose/direction.h"
#include "model/system/units.h"
#include "model/types/syndrome.h"

namespace rxnic {

namespace {

bool is_a_mtu(std::uint32_t bytes) { return bytes >= kMinMtu && bytes <= kMaxMtu && (bytes & (bytes - 1)) == 0; }

bool ends_the_qp(FindingCause cause) {
  return cause == FindingCause::kRemoteAccess || cause == FindingCause::kInvalidRequest ||
         cause == FindingCause::kRemoteOperation || cause == FindingCause::kOtherNak;
}

}  // namespace

// R8: beyond the limit an occurrence stands for all others of its cause.
Occurrence& Direction::note(FindingCause cause, Psn psn, const At& at) {
  const std::size_t most = kMostOccurrences + (ends_the_qp(cause) ? kFatalKept : 0);
  if (occurrences_.size() >= most) {
    const auto known =
        std::ranges::find_if(occurrences_, [cause](const Occurrence& o) { return o.beyond && o.cause == cause; });
    if (known != occurrences_.end()) {
      ++known->count;
      return *known;
    }
  }
  Occurrence o;
  o.cause = cause;
  o.psn = psn;
  o.from_ps = at.ps;
  o.count = 1;
  o.beyond = occurrences_.size() >= most;
  o.ended = o.beyond;
  o.add(at.number);
  occurrences_.push_back(std::move(o));
  return occurrences_.back();
}

// The last one of a PSN that is not settled.
Occurrence* Direction::open(FindingCause cause, Psn psn) {
  constexpr std::size_t kLookedAt = 16;
  std::size_t looked = 0;
  for (auto o = occurrences_.rbegin(); o != occurrences_.rend() && looked < kLookedAt; ++o, ++looked) {
    if (o->cause == cause && o->psn == psn && !o->settled()) return &*o;
  }
  return nullptr;
}

Direction::Sent* Direction::find(Psn psn) {
  const auto behind =
      std::partition_point(sent_.begin(), sent_.end(), [psn](const Sent& s) { return s.psn - psn <= 0; });
  if (behind == sent_.begin()) return nullptr;
  Sent& s = *(behind - 1);
  return psn - s.psn < static_cast<std::int32_t>(s.span) ? &s : nullptr;
}

void Direction::restart() {
  for (Occurrence& o : occurrences_) {
    o.ended |= !o.settled();
  }
  started_ = any_ack_ = in_message_ = false;
  slack_ = 0;
  sent_.clear();
  gaps_.clear();
  response_gaps_.clear();
  recent_responses_.clear();
  round_ = {};
  refused_.reset();
  use_at_hand_.reset();
  ack_ahead_.reset();
}

void Direction::request(const Headers& h, const At& at) {
  if (requests_++ == 0) {
    first_at_ = at;
    pkey_ = h.pkey;
  }
  last_at_ = at;
  if (is_marked(h)) marks_.add(at);
  const OpcodeInfo& op = opcode_info(h.opcode);
  empty_ += (op.traits & (kSend | kWrite | kRead)) != 0 && h.payload_bytes == 0 && h.length == 0;
  if ((op.traits & kHasDeth) != 0 && (qkeys_.size() < kMostQkeys || qkeys_.contains(h.qkey))) qkeys_[h.qkey].add(at);
  if (!is_reliable(ends_.transport) && ends_.transport != Transport::kUc) return;
  if (!started_) {
    started_ = true;
    next_ = round_.next = round_.sent_before = h.psn;
  }
  const std::int32_t ahead = h.psn - next_;
  const bool within_slack = ahead < 0 && -ahead <= static_cast<std::int32_t>(slack_);  // R7
  if (ahead >= 0 || within_slack) {
    if (within_slack && !sent_.empty()) sent_.back().span = static_cast<std::uint32_t>(h.psn - sent_.back().psn);
    const std::uint32_t skipped = ahead > 0 ? static_cast<std::uint32_t>(ahead) : 0;
    if (skipped != 0) open_gap(next_, skipped, at);
    check_sequence(h, at, skipped != 0);
    advance(h, at);
    return;
  }
  if (ends_.transport == Transport::kUc) return;
  if (fill_gap(h, at)) return;
  again(h, find(h.psn), at);
}

Direction::Sent Direction::made(const Headers& h, std::uint32_t span, const At& at) const {
  Sent s;
  s.psn = h.psn;
  s.span = span;
  s.length = h.length;
  s.va = h.va;
  s.rkey = h.rkey;
  s.first = s.last = at;
  s.payload = h.payload_bytes;
  s.opcode = h.opcode;
  s.asks_ack = h.ack_request;
  return s;
}

// A new PSN.
void Direction::advance(const Headers& h, const At& at) {
  std::uint32_t span = 1;
  slack_ = 0;
  if ((opcode_info(h.opcode).traits & kRead) != 0) {
    span = packets_of(h.length, ends_.mtu_known ? ends_.mtu : kMinMtu);
    if (!ends_.mtu_known) slack_ = span - 1;
  }
  if (sent_.size() == kMostKept) sent_.pop_front();
  sent_.push_back(made(h, span, at));
  next_ = h.psn + span;
  if (ack_ahead_ && next_ - ack_ahead_->first > 0) ack_ahead_.reset();
  round_.next = next_;
}

// Packets of a message follow each other, and all but the last carry the MTU (rules 6).
void Direction::check_sequence(const Headers& h, const At& at, bool behind_gap) {
  const std::uint32_t traits = opcode_info(h.opcode).traits;
  const bool inside = (traits & (kMiddle | kLast)) != 0;
  const bool write = (traits & kWrite) != 0;
  if (!behind_gap && requests_ > 1 && !sent_.empty()) {
    std::string wrong;
    if (inside && !in_message_) wrong = "without the FIRST of its message";
    if (inside && in_message_ && write != message_is_write_) wrong = "inside a message of another kind";
    if (!inside && in_message_) wrong = "before the LAST of the message at hand";
    if (!wrong.empty()) {
      Occurrence& o = note(FindingCause::kOpcodeSequence, h.psn, at);
      o.detail = fmt::format("{} {}", opcode_name(h.opcode), wrong);
      o.until_ps = at.ps;
    }
  }
  in_message_ = (traits & (kFirst | kMiddle)) != 0;
  message_is_write_ = write;
  if (!in_message_) return;
  if (full_payload_ == 0) full_payload_ = h.payload_bytes;
  if (is_a_mtu(h.payload_bytes) && h.payload_bytes == full_payload_) return;
  Occurrence& o = note(FindingCause::kMtu, h.psn, at);
  o.until_ps = at.ps;
  o.detail = is_a_mtu(h.payload_bytes)
                 ? fmt::format("{} carries {} bytes, packets before it carried {}", opcode_name(h.opcode),
                               h.payload_bytes, full_payload_)
                 : fmt::format("{} carries {} bytes, which is no MTU", opcode_name(h.opcode), h.payload_bytes);
}

void Direction::open_gap(Psn psn, std::uint32_t psns, const At& at) {
  if (ends_.transport == Transport::kUc) {
    Occurrence& o = note(FindingCause::kUcLoss, psn, at);
    o.psns = psns;
    o.until_ps = at.ps;
    return;
  }
  if (gaps_.size() == kMostGaps) {
    if (!gaps_.front().refused) {
      Occurrence& o = note(FindingCause::kPsnGap, gaps_.front().psn, gaps_.front().seen);
      o.psns = gaps_.front().psns - gaps_.front().filled;
      o.until_ps = at.ps;
    }
    gaps_.erase(gaps_.begin());
  }
  gaps_.push_back({psn, psns, 0, at, false});
  if (round_.gaps.size() < kMostGaps) round_.gaps.push_back(gaps_.back());
  if (any_ack_) settle_gaps(at);  // the ACK may have come first
}

// R2: within a round, PSNs are stepped over as among new ones.
void Direction::step(const Headers& h, const At& at) {
  const std::int32_t skipped = h.psn - round_.next;
  if (skipped > 0 && round_.gaps.size() < kMostGaps) {
    round_.gaps.push_back({round_.next, static_cast<std::uint32_t>(skipped), 0, at, false});
  }
  const Sent* const sent = find(h.psn);
  const std::uint32_t span = sent != nullptr ? sent->span - static_cast<std::uint32_t>(h.psn - sent->psn) : 1;
  round_.next = h.psn + span;
}

// A request that goes back, and why.
void Direction::begin_round(const Headers& h, Sent* sent, const At& at) {
  Round r;
  r.sent_before = next_;
  r.inside_before = in_message_;
  r.before = std::move(round_.gaps);
  for (const Gap& g : gaps_) {
    if (!g.refused && r.before.size() < 2 * kMostGaps) r.before.push_back(g);
  }
  const bool read = (opcode_info(h.opcode).traits & kRead) != 0;
  if (refused_) {
    r.occurrence = refused_;
    refused_.reset();
  } else if (read && sent != nullptr) {
    r.occurrence = begin_read_again(h, *sent, at);
  } else {
    r.occurrence = begin_timeout(h, sent, at);
    r.timeout = true;
  }
  r.first = r.next = h.psn;
  r.at = at;
  round_ = std::move(r);
}

// A request whose PSN the capture did not hold. (R1)
bool Direction::fill_gap(const Headers& h, const At& at) {
  auto gap = std::ranges::find_if(gaps_, [&h](const Gap& g) { return g.has(h.psn); });
  if (gap == gaps_.end() || find(h.psn) != nullptr) return false;
  const bool begins = h.psn - round_.next < 0;
  if (!gap->refused) {  // nothing asked for it: a timeout, or a NAK that the capture lacks
    Occurrence* o = open(FindingCause::kIcrc, h.psn);
    if (o == nullptr) o = open(FindingCause::kUnreadable, h.psn);
    if (o == nullptr) {
      o = &note(FindingCause::kLostBeforeSniffer, gap->psn, gap->seen);
      o->psns = gap->psns;
      o->detail = begins ? fmt::format("it came {} later without a NAK in the capture", time_text(at.ps - gap->seen.ps))
                         : "it came among repeats: lost before the sniffer, or only by it";
    }
    gap->refused = true;
    if (begins && !refused_) refused_ = place_of(*o);
  }
  if (begins) {
    begin_round(h, nullptr, at);
    gap = std::ranges::find_if(gaps_, [&h](const Gap& g) { return g.has(h.psn); });
  }
  step(h, at);
  if (round_.occurrence) {
    Occurrence& o = occurrences_[*round_.occurrence];
    ++o.repeats;
    o.add(at.number);
  }
  const std::uint32_t span = (opcode_info(h.opcode).traits & kRead) != 0 ? packets_of(h.length, ends_.mtu) : 1;
  const auto place = std::ranges::find_if(sent_, [&h](const Sent& s) { return s.psn - h.psn > 0; });
  Sent s = made(h, span, at);
  s.times = 2;  // no first copy, so that its delay says nothing
  sent_.insert(place, s);
  gap->filled += span;
  if (gap->filled >= gap->psns) gaps_.erase(gap);
  return true;
}

// R3 to R6: a request with a PSN from before. `sent`: nullptr: it is older than what is kept.
void Direction::again(const Headers& h, Sent* sent, const At& at) {
  const bool read = (opcode_info(h.opcode).traits & kRead) != 0;
  if (sent != nullptr && (read ? !sent->has(kRead) : sent->opcode != h.opcode)) {  // R6
    Occurrence& o = note(FindingCause::kPsnReused, h.psn, sent->first);
    o.add(at.number);
    o.opcode = h.opcode;
    o.until_ps = at.ps;
    o.detail =
        sent->has(kRead) && h.psn != sent->psn
            ? fmt::format("{} with PSN {}, which is that of a response to the READ of PSN {} to {}",
                          opcode_name(h.opcode), h.psn.value, sent->psn.value, (sent->psn + (sent->span - 1)).value)
            : fmt::format("{} with PSN {}, which {} had", opcode_name(h.opcode), h.psn.value,
                          opcode_name(sent->opcode));
    return;
  }
  const bool begins = h.psn - round_.next < 0;
  if (begins) begin_round(h, sent, at);
  step(h, at);
  if (round_.occurrence) {
    Occurrence& o = occurrences_[*round_.occurrence];
    ++o.repeats;
    if (!begins || !round_.timeout) o.add(at.number);
  }
  if (sent == nullptr) return;
  if (sent->times != 0xffff) ++sent->times;
  sent->last = at;
}

// R3, R4. The occurrence's number.
std::size_t Direction::begin_timeout(const Headers& h, const Sent* sent, const At& at) {
  for (const FindingCause cause :
       {FindingCause::kLostBeforeSniffer, FindingCause::kLostBehindSniffer, FindingCause::kIcrc}) {
    Occurrence* const o = open(cause, h.psn);  // what was lost came again, and was lost again
    if (o == nullptr) continue;
    o->add(at.number);
    o->detail = "its repeat came again, too";
    return place_of(*o);
  }
  const bool acknowledged = any_ack_ && h.psn - acked_ < 0;
  const FindingCause cause = acknowledged ? FindingCause::kAckLost : FindingCause::kAckTimeout;
  if (Occurrence* o = open(cause, h.psn)) {
    ++o->count;
    o->add(at.number);
    return place_of(*o);
  }
  At from = sent != nullptr ? sent->last : acked_at_;
  if (any_ack_ && !acknowledged && acked_at_.ps > from.ps) from = acked_at_;
  Occurrence& o = note(cause, h.psn, sent != nullptr ? sent->first : At{0, from.ps});
  o.from_ps = from.ps;
  o.interval_ps = at.ps - from.ps;
  o.opcode = h.opcode;
  o.add(at.number);
  if (acknowledged) {
    o.detail = fmt::format("packet {} acknowledged it before", acked_at_.number);
    o.add(acked_at_.number);
    std::ranges::sort(o.packets);
    o.until_ps = at.ps;
  } else if (sent != nullptr && largest_acked_ != 0 && sent->payload > largest_acked_) {
    o.detail = fmt::format("no packet of more than {} bytes was acknowledged before, and it has {}", largest_acked_,
                           sent->payload);
  }
  return place_of(o);
}

// R5
std::size_t Direction::begin_read_again(const Headers& h, Sent& sent, const At& at) {
  const auto from = static_cast<std::uint32_t>(h.psn - sent.psn);
  const auto gap = std::ranges::find_if(response_gaps_, [&h](const Gap& g) { return g.has(h.psn); });
  if (Occurrence* const known = open(FindingCause::kReadAgain, h.psn)) {
    ++known->count;
    sent.answered = std::min(sent.answered, from);
    return place_of(*known);
  }
  Occurrence& o = note(FindingCause::kReadAgain, h.psn, sent.first);
  o.from_ps = gap != response_gaps_.end() ? gap->seen.ps : std::max(sent.last.ps, acked_at_.ps);
  o.opcode = h.opcode;
  o.interval_ps = at.ps - std::min(o.from_ps, at.ps);
  const auto response = std::ranges::find_if(recent_responses_, [&h](const auto& r) { return r.first == h.psn; });
  if (gap != response_gaps_.end()) {
    o.detail = fmt::format("the response with PSN {} is missing in front of packet {}: it was lost before the sniffer",
                           gap->psn.value, gap->seen.number);
    o.add(gap->seen.number);
    response_gaps_.erase(gap);
  } else if (from < sent.answered) {
    o.detail = fmt::format(
        "the capture holds the response with PSN {}: it was lost behind the sniffer, on the way to the requester",
        h.psn.value);
    if (response != recent_responses_.end()) o.add(response->second);
  } else if (from != 0 || (any_ack_ && h.psn - acked_ < 0)) {
    o.detail = "the rest of its responses is not in the capture: it was lost before the sniffer";
  } else {
    o.detail = "no response to it is in the capture: the READ or its responses were lost";
  }
  sent.answered = std::min(sent.answered, from);
  return place_of(o);
}

}  // namespace rxnic
