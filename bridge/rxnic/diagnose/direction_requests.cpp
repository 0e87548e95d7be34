// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "bridge/rxnic/diagnose/direction.h"
#include "model/system/units.h"
#include "model/types/syndrome.h"

namespace rxnic {

namespace {

bool is_marked_ce(const Headers& h) {  // both bits of the ECN field (RFC 3168)
  return (h.encapsulation == Encapsulation::kRoceV2Ipv4 || h.encapsulation == Encapsulation::kRoceV2Ipv6) &&
         (h.traffic_class & 3) == 3;
}

bool is_a_mtu(std::uint32_t bytes) { return bytes >= kMinMtu && bytes <= kMaxMtu && (bytes & (bytes - 1)) == 0; }

}  // namespace

Incident& Direction::note(FindingCause cause, Psn psn, const At& at) {
  if (incidents_.size() == kMostIncidents) {  // R8: the last one stands for those that are left out, too
    Incident& last = incidents_.back();
    ++last.count;
    return last;
  }
  Incident i;
  i.cause = cause;
  i.psn = psn;
  i.from_ps = at.ps;
  i.count = 1;
  i.add(at.number);
  incidents_.push_back(std::move(i));
  return incidents_.back();
}

// The last one of a PSN that is not settled.
Incident* Direction::open(FindingCause cause, Psn psn) {
  constexpr std::size_t kLookedAt = 16;
  std::size_t looked = 0;
  for (auto i = incidents_.rbegin(); i != incidents_.rend() && looked < kLookedAt; ++i, ++looked) {
    if (i->cause == cause && i->psn == psn && !i->settled()) return &*i;
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
  for (Incident& i : incidents_) {
    if (!i.settled()) i.until_ps = i.from_ps;  // the connection that they are of is no more
  }
  started_ = any_ack_ = ended_ = in_message_ = false;
  slack_ = 0;
  sent_.clear();
  gaps_.clear();
  response_gaps_.clear();
  damaged_.clear();
  episode_.reset();
  refused_.reset();
}

void Direction::request(const Headers& h, const At& at) {
  if (requests_++ == 0) {
    first_at_ = at;
    pkey_ = h.pkey;
    qkey_ = h.qkey;
  }
  last_at_ = at;
  if (is_marked_ce(h)) marks_.add(at);
  const OpcodeInfo& op = opcode_info(h.opcode);
  empty_ += (op.traits & (kSend | kWrite | kRead)) != 0 && h.payload_bytes == 0 && h.length == 0;
  if (!is_reliable(ends_.transport) && ends_.transport != Transport::kUc) return;
  if (!started_) {
    started_ = true;
    next_ = h.psn;
  }
  const std::int32_t ahead = h.psn - next_;
  const bool within_slack = ahead < 0 && -ahead <= static_cast<std::int32_t>(slack_);  // R7
  if (ahead >= 0 || within_slack) {
    if (within_slack && !sent_.empty()) sent_.back().span = static_cast<std::uint32_t>(h.psn - sent_.back().psn);
    const std::uint32_t skipped = ahead > 0 ? static_cast<std::uint32_t>(ahead) : 0;
    if (skipped != 0) open_gap(next_, skipped, at);
    check_sequence(h, at, skipped != 0);
    episode_.reset();
    advance(h, at);
    return;
  }
  if (ends_.transport == Transport::kUc) return;
  if (fill_gap(h, at)) return;
  again(h, find(h.psn), at);
}

void Direction::advance(const Headers& h, const At& at) {
  const OpcodeInfo& op = opcode_info(h.opcode);
  std::uint32_t span = 1;
  slack_ = 0;
  if ((op.traits & kRead) != 0) {
    span = packets_of(h.length, ends_.mtu_known ? ends_.mtu : kMinMtu);
    if (!ends_.mtu_known) slack_ = span - 1;
  }
  keep(h, span, at);
  next_ = h.psn + span;
}

void Direction::keep(const Headers& h, std::uint32_t span, const At& at) {
  if (sent_.size() == kMostKept) sent_.pop_front();
  Sent s;
  s.psn = h.psn;
  s.span = span;
  s.length = h.length;
  s.va = h.va;
  s.rkey = h.rkey;
  s.first = s.last = at;
  s.payload = h.payload_bytes;
  s.opcode = h.opcode;
  sent_.push_back(s);
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
      Incident& i = note(FindingCause::kOpcodeSequence, h.psn, at);
      i.detail = fmt::format("{} {}", opcode_name(h.opcode), wrong);
      i.until_ps = at.ps;
    }
  }
  in_message_ = (traits & (kFirst | kMiddle)) != 0;
  message_is_write_ = write;
  if (!in_message_) return;
  if (full_payload_ == 0) full_payload_ = h.payload_bytes;
  if (is_a_mtu(h.payload_bytes) && h.payload_bytes == full_payload_) return;
  Incident& i = note(FindingCause::kMtu, h.psn, at);
  i.until_ps = at.ps;
  i.detail = is_a_mtu(h.payload_bytes)
                 ? fmt::format("{} carries {} bytes, packets before it carried {}", opcode_name(h.opcode),
                               h.payload_bytes, full_payload_)
                 : fmt::format("{} carries {} bytes, which is no MTU", opcode_name(h.opcode), h.payload_bytes);
}

void Direction::open_gap(Psn psn, std::uint32_t psns, const At& at) {
  if (ends_.transport == Transport::kUc) {
    Incident& i = note(FindingCause::kUcLoss, psn, at);
    i.psns = psns;
    i.until_ps = at.ps;
    return;
  }
  if (gaps_.size() == kMostGaps) gaps_.erase(gaps_.begin());
  gaps_.push_back({psn, psns, 0, at});
  if (any_ack_) settle_gaps(at);  // the ACK may have come first
}

// A request whose PSN the capture did not hold.
bool Direction::fill_gap(const Headers& h, const At& at) {
  const auto gap = std::ranges::find_if(gaps_, [&h](const Gap& g) { return g.has(h.psn); });
  if (gap == gaps_.end() || find(h.psn) != nullptr) return false;
  const bool begins = !episode_ || h.psn - episode_->last <= 0;
  if (begins && refused_) {
    episode_ = Episode{*refused_, h.psn};
    refused_.reset();
  } else if (begins && !gap->refused) {  // nothing asked for it: a timeout, or a NAK that the capture lacks
    Incident* i = open(FindingCause::kIcrc, h.psn);
    if (i == nullptr) i = open(FindingCause::kUnreadable, h.psn);
    if (i == nullptr) {
      i = &note(FindingCause::kLostBeforeSniffer, gap->psn, gap->seen);
      i->psns = gap->psns;
      i->detail = fmt::format("it came {} later without a NAK in the capture", time_text(at.ps - gap->seen.ps));
    }
    gap->refused = true;
    episode_ = Episode{static_cast<std::size_t>(i - incidents_.data()), h.psn};
  }
  if (episode_) {
    episode_->last = h.psn;
    Incident& i = incidents_[episode_->incident];
    ++i.repeats;
    i.add(at.number);
  }
  gap->filled += 1;
  // Among those that were kept: by PSN.
  const auto place = std::ranges::find_if(sent_, [&h](const Sent& s) { return s.psn - h.psn > 0; });
  Sent s;
  s.psn = h.psn;
  s.span = (opcode_info(h.opcode).traits & kRead) != 0 ? packets_of(h.length, ends_.mtu) : 1;
  s.length = h.length;
  s.va = h.va;
  s.rkey = h.rkey;
  s.first = s.last = at;
  s.payload = h.payload_bytes;
  s.opcode = h.opcode;
  s.times = 2;  // no first copy, so that its delay says nothing
  gap->filled += s.span - 1;
  sent_.insert(place, s);
  if (gap->filled >= gap->psns) gaps_.erase(gap);
  return true;
}

// R3 to R6: a request with a PSN from before. `sent`: nullptr: it is older than what is kept.
void Direction::again(const Headers& h, Sent* sent, const At& at) {
  const bool read = (opcode_info(h.opcode).traits & kRead) != 0;
  if (sent != nullptr && (read ? !sent->has(kRead) : sent->opcode != h.opcode)) {  // R6
    Incident& i = note(FindingCause::kPsnReused, h.psn, sent->first);
    i.add(at.number);
    i.opcode = h.opcode;
    i.until_ps = at.ps;
    i.detail =
        sent->has(kRead) && h.psn != sent->psn
            ? fmt::format("{} with PSN {}, which is that of a response to the READ of PSN {} to {}",
                          opcode_name(h.opcode), h.psn.value, sent->psn.value, (sent->psn + (sent->span - 1)).value)
            : fmt::format("{} with PSN {}, which {} had", opcode_name(h.opcode), h.psn.value,
                          opcode_name(sent->opcode));
    return;
  }
  const bool begins = !episode_ || h.psn - episode_->last <= 0;
  if (begins) {
    Episode e;
    if (refused_) {
      e.incident = *refused_;
      refused_.reset();
    } else if (read && sent != nullptr) {
      e.incident = begin_read_again(h, *sent, at);
    } else {
      e.incident = begin_timeout(h, sent, at);
      e.timeout = true;
    }
    episode_ = e;
  }
  episode_->last = h.psn;
  Incident& i = incidents_[episode_->incident];
  ++i.repeats;
  if (!begins || !episode_->timeout) i.add(at.number);
  if (sent == nullptr) return;
  if (sent->times != 0xffff) ++sent->times;
  sent->last = at;
}

// R3, R4. The incident's number.
std::size_t Direction::begin_timeout(const Headers& h, const Sent* sent, const At& at) {
  const bool acknowledged = any_ack_ && h.psn - acked_ < 0;
  const FindingCause cause = acknowledged ? FindingCause::kAckLost : FindingCause::kAckTimeout;
  if (Incident* i = open(cause, h.psn)) {
    ++i->count;
    i->add(at.number);
    return static_cast<std::size_t>(i - incidents_.data());
  }
  At from = sent != nullptr ? sent->last : acked_at_;
  if (any_ack_ && !acknowledged && acked_at_.ps > from.ps) from = acked_at_;
  Incident& i = note(cause, h.psn, sent != nullptr ? sent->first : At{0, from.ps});
  i.from_ps = from.ps;
  i.interval_ps = at.ps - from.ps;
  i.opcode = h.opcode;
  i.add(at.number);
  if (acknowledged) {
    i.detail = fmt::format("packet {} acknowledged it before", acked_at_.number);
    i.add(acked_at_.number);
    std::ranges::sort(i.packets);
    i.until_ps = at.ps;
  } else if (sent != nullptr && largest_acked_ != 0 && sent->payload > largest_acked_) {
    i.detail = fmt::format("no packet of more than {} bytes was acknowledged before, and it has {}", largest_acked_,
                           sent->payload);
  }
  return static_cast<std::size_t>(&i - incidents_.data());
}

// R5
std::size_t Direction::begin_read_again(const Headers& h, Sent& sent, const At& at) {
  const auto from = static_cast<std::uint32_t>(h.psn - sent.psn);
  const auto gap = std::ranges::find_if(response_gaps_, [&h](const Gap& g) { return g.has(h.psn); });
  Incident* i = open(FindingCause::kReadAgain, h.psn);
  if (i != nullptr) {
    ++i->count;
  } else {
    i = &note(FindingCause::kReadAgain, h.psn, sent.first);
    i->from_ps = gap != response_gaps_.end() ? gap->seen.ps : std::max(sent.last.ps, acked_at_.ps);
    i->opcode = h.opcode;
  }
  i->interval_ps = at.ps - i->from_ps;
  if (gap != response_gaps_.end()) {
    i->detail = fmt::format("the response with PSN {} is missing in front of packet {}: it was lost before the sniffer",
                            gap->psn.value, gap->seen.number);
    i->add(gap->seen.number);
    response_gaps_.erase(gap);
  } else if (from < sent.answered) {
    i->detail = fmt::format(
        "the capture holds the response with PSN {}: it was lost behind the sniffer, on the way to the requester",
        h.psn.value);
  } else {
    i->detail = "no response to it is in the capture: the READ or its responses were lost";
  }
  sent.answered = std::min(sent.answered, from);
  return static_cast<std::size_t>(i - incidents_.data());
}

}  // namespace rxnic
