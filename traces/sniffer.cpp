// SPDX-License-Identifier: Apache-2.0
#include "traces/sniffer.h"

#include <algorithm>
#include <cmath>

#include "model/types/syndrome.h"
#include "traces/cm_message.h"

namespace rxnic {
namespace {

std::uint64_t mix(std::uint64_t digest, std::uint64_t word) {
  digest = (digest ^ word) * 0x9e3779b97f4a7c15u;
  return digest ^ digest >> 29;
}

// Digest of these bytes of the frame, as far as it has them.
std::uint64_t digest_of(Bytes frame, std::size_t from, std::size_t to) {
  Bytes rest = frame.first(std::min(frame.size(), to));
  rest = rest.subspan(std::min(rest.size(), from));
  std::uint64_t digest = rest.size();
  for (; rest.size() >= 8; rest = rest.subspan(8)) digest = mix(digest, load_be64(rest.data()));
  if (rest.size() >= 4) {
    digest = mix(digest, load_be32(rest.data()));
    rest = rest.subspan(4);
  }
  for (const std::uint8_t byte : rest) digest = mix(digest, byte);
  return digest;
}

bool is_nak(const Headers& h) {
  return (opcode_info(h.opcode).traits & kHasAeth) != 0 && ack_kind(h.syndrome) != AckKind::kAck;
}

SnifferEffects::Pair pair_of(const Headers& h) { return std::minmax(h.source, h.destination); }

bool has_congestion_mark(const Headers& h) {
  constexpr std::uint8_t kCongestionExperienced = 3;
  return (h.traffic_class & kCongestionExperienced) == kCongestionExperienced;
}

}  // namespace

const Headers* WholeHeaders::of(const CapturedFrame& frame) {
  if (!frame.truncated || frame.filled_bytes != 0 || frame.wire_bytes > kMaxFrameBytes) {
    return frame.status == ParseStatus::kOk ? &frame.headers : nullptr;
  }
  padded_.assign(frame.bytes.begin(), frame.bytes.end());
  padded_.resize(frame.wire_bytes);
  const bool whole =
      parse(padded_, frame.link, headers_) == ParseStatus::kOk && headers_.payload_offset <= frame.captured().size();
  return whole ? &headers_ : nullptr;
}

void CopyFinder::ask_again(const Headers& nak) {
  for (std::size_t n = 0; n < count_; ++n) {
    Seen& s = seen_[n];
    const std::int32_t behind = s.psn - nak.psn;
    if (s.source == nak.destination && s.destination == nak.source && behind >= 0 && behind < kMostAskedFor) {
      s.asked_again = true;
    }
  }
}

bool CopyFinder::is_same(const Seen& a, const Seen& b) {
  const bool same_data = a.cut || b.cut ? a.payload_bytes == b.payload_bytes : a.rest == b.rest;
  return same_data && a.headers == b.headers && a.psn == b.psn && a.destination_qp == b.destination_qp &&
         a.ip_identification == b.ip_identification && a.udp_source_port == b.udp_source_port && a.source == b.source &&
         a.destination == b.destination;
}

CopyFinder::Seen* CopyFinder::original(const CapturedFrame& frame, const Headers& h) {  // (R1)
  const Seen fresh{.time_ps = frame.time_ps,
                   .number = frame.number,
                   .headers = digest_of(frame.bytes, h.bth_offset, h.payload_offset),
                   .rest = frame.truncated ? 0 : digest_of(frame.bytes, h.payload_offset, h.icrc_offset + kIcrcBytes),
                   .source = h.source,
                   .destination = h.destination,
                   .destination_qp = h.destination_qp,
                   .psn = h.psn,
                   .ip_identification = h.ip_identification,
                   .udp_source_port = h.udp_source_port,
                   .payload_bytes = h.payload_bytes,
                   .cut = frame.truncated,
                   .marked = has_congestion_mark(h)};
  const auto tag = static_cast<std::uint16_t>(fresh.headers);
  unsigned equal = 0;
  for (const std::uint16_t other : tags_) equal |= static_cast<unsigned>(other == tag);
  for (std::size_t n = 0; equal != 0 && n < count_; ++n) {
    Seen& s = seen_[n];
    const bool soon = frame.time_ps - s.time_ps < kShortestTimeoutPs;
    if (tags_[n] == tag && soon && !s.asked_again && is_same(s, fresh)) return &s;
  }
  if (is_nak(h)) ask_again(h);  // the first one of its copies
  seen_[next_] = fresh;
  tags_[next_] = tag;
  next_ = (next_ + 1) % kFramesKept;
  count_ = std::max(count_, next_ == 0 ? kFramesKept : next_);
  return nullptr;
}

void SnifferSurvey::add(const CapturedFrame& frame) {
  if (frames_++ == 0) first_ps_ = frame.time_ps;
  last_ps_ = frame.time_ps;
  const Headers* const found = headers_.of(frame);
  if (found == nullptr) return;
  const Headers& h = *found;
  const Bytes rest = frame.captured().subspan(h.payload_offset);
  const Bytes payload = rest.first(std::min<std::size_t>(rest.size(), h.payload_bytes));
  Direction* const d = direction(h);
  if (d == nullptr) return;
  CopyFinder::Seen* const first = copies_.original(frame, h);
  ++(first != nullptr ? d->copies : d->packets);
  if (first != nullptr) {
    d->half_cut += first->cut != frame.truncated;
    if (has_congestion_mark(h) && !first->marked && found_.marked.size() < kMostMoves)
      found_.marked.push_back(first->number);
    first->marked |= has_congestion_mark(h);
  }
  if (h.destination_qp == kGsiQpn) {
    if (const auto m = parse_cm(payload)) cm_[{h.source, raw(m->local_qpn)}] = {m->starting_psn, frame.number};
    return;
  }
  const OpcodeInfo& op = opcode_info(h.opcode);
  if (op.transport == Transport::kUd) return;
  if ((op.traits & kRequest) != 0) request(frame, h, *d);
  if ((op.traits & kResponse) != 0) answer(h);
}

// nullptr: there are too many. (R5)
SnifferSurvey::Direction* SnifferSurvey::direction(const Headers& h) {
  for (auto* const known : recent_) {
    if (known != nullptr && known->first.first == h.source && known->first.second == h.destination)
      return &known->second;
  }
  const Ends ends{h.source, h.destination};
  if (directions_.size() >= kMostFlows && !directions_.contains(ends)) return nullptr;
  recent_ = {&*directions_.try_emplace(ends).first, recent_[0]};
  return &recent_[0]->second;
}

void SnifferSurvey::request(const CapturedFrame& frame, const Headers& h, Direction& d) {
  const SniffedFlow key{h.source, h.destination, h.destination_qp};
  auto place = d.flows.find(raw(key.qpn));
  if (place == d.flows.end()) {
    if (flows_ == kMostFlows) return;
    ++flows_;
    place = d.flows.try_emplace(raw(key.qpn)).first;
  }
  Flow& f = place->second;
  if (f.any && h.psn == f.last && !is_named(h, f)) return;  // once more at once: a copy, or of no matter here
  f.last = h.psn;
  const std::uint32_t traits = opcode_info(h.opcode).traits;
  const std::int32_t ahead = f.any && !f.unknown ? h.psn - f.next : 0;
  const auto missing = std::find(f.missing.begin(), f.missing.end(), h.psn);
  const bool far = ahead > kFarAway || ahead < -kFarAway || is_named(h, f);
  for (Jump& j : jumps_) {
    const bool ends = j.at.flow == key && (traits & (kLast | kOnly)) != 0;
    if (ends && (j.ends.empty() || h.psn - j.ends.back() > 0)) j.ends.push_back(h.psn);
  }
  if (f.any && ahead >= 0 && !f.unknown && !far) {  // (R4)
    ++steps_;
    skips_ += ahead > 0;
    span_ += static_cast<std::uint64_t>(ahead) + 1;
  }
  if (far) {
    jump(frame, h, f);
    settle_swap(key, f, false);
  } else if (missing != f.missing.end()) {  // (R2)
    f.missing.erase(missing);
    const bool soon = frame.time_ps - f.early_ps < CopyFinder::kShortestTimeoutPs;
    if (f.missing.empty() && soon) f.filled = frame.number;
    if (f.missing.empty() && !soon) settle_swap(key, f, false);
    f.last_packet = frame.number;
    return;
  } else if (f.filled != 0 || ahead < 0) {
    settle_swap(key, f, ahead >= 0);
  } else if (ahead > 0 && f.early != 0) {
    settle_swap(key, f, false);
  }
  if (!far && ahead > 0 && ahead <= kMostSwapped) {
    f.early = frame.number;
    f.early_ps = frame.time_ps;
    for (std::int32_t n = 0; n < ahead; ++n) f.missing.push_back(f.next + static_cast<std::uint32_t>(n));
  }
  f.last_packet = frame.number;
  if (f.any && ahead < 0 && !far) return;  // a repetition
  f.any = true;
  if ((traits & (kFirst | kMiddle)) != 0) f.full_payload = h.payload_bytes;
  f.unknown = (traits & kRead) != 0 && f.full_payload == 0 && h.length > kMinMtu;
  f.next =
      h.psn +
      ((traits & kRead) != 0 ? packets_of(h.length, f.full_payload != 0 ? f.full_payload : std::uint32_t{kMinMtu}) : 1);
}

// Connection management has named the PSN since the QP's last request. (R3)
bool SnifferSurvey::is_named(const Headers& h, const Flow& f) const {
  const auto cm = f.any && !cm_.empty() ? cm_.find({h.destination, raw(h.destination_qp)}) : cm_.end();
  return cm != cm_.end() && cm->second.first == h.psn && cm->second.second > f.last_packet;
}

// `goes_on`: the QP has sent a new PSN. (R2)
void SnifferSurvey::settle_swap(const SniffedFlow& key, Flow& f, bool goes_on) {
  if (goes_on && f.filled != 0 && found_.moves.size() < kMostMoves) found_.moves.push_back({f.early, f.filled, key});
  f.early = f.filled = 0;
  f.missing.clear();
}

void SnifferSurvey::jump(const CapturedFrame& frame, const Headers& h, const Flow& f) {  // (R3)
  const SniffedFlow key{h.source, h.destination, h.destination_qp};
  Jump j{{frame.number, key, h.psn}, {}};
  if (is_named(h, f)) {
    if (found_.restarts.size() < kMostMoves) found_.restarts.push_back(j.at);
    return;
  }
  if ((opcode_info(h.opcode).traits & (kLast | kOnly)) != 0) j.ends.push_back(h.psn);
  std::erase_if(jumps_, [&key](const Jump& old) { return old.at.flow == key; });
  if (jumps_.size() == kMostJumps) jumps_.pop_front();
  jumps_.push_back(std::move(j));
}

void SnifferSurvey::answer(const Headers& h) {
  if (is_nak(h)) {
    const auto back = directions_.find({h.destination, h.source});
    if (back == directions_.end()) return;
    for (auto& [qpn, f] : back->second.flows) {
      if (std::find(f.missing.begin(), f.missing.end(), h.psn) != f.missing.end())
        settle_swap({h.destination, h.source, Qpn{qpn}}, f, false);
    }
    return;
  }
  if ((opcode_info(h.opcode).traits & kHasAeth) == 0) return;
  for (auto j = jumps_.begin(); j != jumps_.end(); ++j) {
    if (j->at.flow.source != h.destination || j->at.flow.destination != h.source) continue;
    const auto end = std::find(j->ends.begin(), j->ends.end(), h.psn);
    if (end == j->ends.end() || h.msn != static_cast<std::uint32_t>(end - j->ends.begin()) + 1) continue;
    if (found_.restarts.size() < kMostMoves) found_.restarts.push_back(j->at);
    jumps_.erase(j);
    return;
  }
}

SnifferEffects SnifferSurvey::finish() {
  for (auto& [ends, d] : directions_) {
    for (auto& [qpn, f] : d.flows) settle_swap({ends.first, ends.second, Qpn{qpn}}, f, true);
  }
  std::sort(found_.moves.begin(), found_.moves.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::sort(found_.marked.begin(), found_.marked.end());
  std::sort(found_.restarts.begin(), found_.restarts.end(),
            [](const auto& a, const auto& b) { return a.packet < b.packet; });
  const auto doubled = [](const Direction& d) { return d.copies * 4 >= d.packets * 3; };
  const Direction none;
  for (const auto& [ends, d] : directions_) {  // (R1)
    const auto found = ends.first == ends.second ? directions_.end() : directions_.find({ends.second, ends.first});
    const Direction& back = found == directions_.end() ? none : found->second;
    if (!doubled(d) || !doubled(back) || d.copies + back.copies < kFewestCopies) continue;
    found_.doubled.insert(std::minmax(ends.first, ends.second));
    const std::uint64_t half_cut = d.half_cut + back.half_cut;
    if (half_cut * 4 >= (d.packets + back.packets) * 3) found_.half_cut.insert(std::minmax(ends.first, ends.second));
    found_.copies += d.copies;
  }
  const double n = steps_ == 0 ? 0 : static_cast<double>(span_) / static_cast<double>(steps_);
  const double skipped = steps_ == 0 ? 0 : static_cast<double>(skips_) / static_cast<double>(steps_);
  if (steps_ >= kFewestSteps && n >= 2.5 && skipped >= 1 - 1 / n - 0.1)
    found_.one_in = static_cast<std::uint32_t>(std::lround(n));
  found_.no_times = frames_ > 1 && last_ps_ == first_ps_;
  return found_;
}

bool SnifferFilter::is_left_out(const CapturedFrame& frame, const Headers& h) {
  if (!effects_.doubled.contains(pair_of(h))) return false;
  const bool cut_one = frame.truncated && effects_.half_cut.contains(pair_of(h));
  const bool copy = cut_one || finder_.original(frame, h) != nullptr;
  copies_left_out_ += copy;
  if (copy && list_ != nullptr) list_->push_back(frame.number);
  return copy;
}

// Marks the frame when a copy of it is marked: the receiver's, behind the switch that marked it.
void SnifferFilter::mark(CapturedFrame& frame, const Headers& h) {
  std::size_t& n = next_marked_;
  while (n < effects_.marked.size() && effects_.marked[n] < frame.number) ++n;
  if (n == effects_.marked.size() || effects_.marked[n] != frame.number || !effects_.doubled.contains(pair_of(h))) {
    return;
  }
  marked_.assign(frame.bytes.begin(), frame.bytes.end());
  std::uint8_t* const network = marked_.data() + h.network_offset;
  if (h.encapsulation == Encapsulation::kRoceV2Ipv4) {
    const std::uint16_t before = load_be16(network);
    network[1] |= 3;
    // RFC 1624: the new checksum from the old one, wrong as it may be.
    std::uint32_t sum = (~load_be16(network + 10) & 0xffffu) + (~before & 0xffffu) + load_be16(network);
    sum = (sum & 0xffff) + (sum >> 16);
    store_be16(network + 10, static_cast<std::uint16_t>(~(sum + (sum >> 16))));
  } else if (h.encapsulation == Encapsulation::kRoceV2Ipv6) {
    network[1] |= 0x30;
  }
  frame.set_bytes(marked_);
}

bool SnifferFilter::next(CapturedFrame& out) {
  for (;;) {
    if (!released_.empty()) {
      current_ = std::move(released_.front());
      released_.pop_front();
      out = current_.frame;
      out.bytes = current_.bytes;
      return true;
    }
    if (!reader_.next(out)) {
      if (holding_.empty()) return false;
      for (Held& h : holding_.front().held) released_.push_back(std::move(h));
      holding_.erase(holding_.begin());
      continue;
    }
    if (effects_.doubled.empty() && effects_.moves.empty()) return true;
    const Headers* const found = headers_.of(out);
    if (found == nullptr) return true;
    const Headers h = *found;
    if (is_left_out(out, h)) continue;
    mark(out, h);
    while (next_move_ < effects_.moves.size() && effects_.moves[next_move_].first <= out.number) {
      holding_.push_back({effects_.moves[next_move_++], {}});
    }
    const SniffedFlow key{h.source, h.destination, h.destination_qp};
    const auto of =
        std::find_if(holding_.begin(), holding_.end(), [&](const Holding& x) { return x.move.flow == key; });
    if (of == holding_.end() || (opcode_info(h.opcode).traits & kRequest) == 0) return true;
    of->held.push_back({out, {out.bytes.begin(), out.bytes.end()}, h.psn});
    if (out.number < of->move.until) continue;
    std::stable_sort(of->held.begin(), of->held.end(), [](const Held& a, const Held& b) { return a.psn - b.psn < 0; });
    for (Held& held : of->held) {
      held.frame.time_ps = out.time_ps;
      released_.push_back(std::move(held));
    }
    holding_.erase(of);
  }
}

}  // namespace rxnic
