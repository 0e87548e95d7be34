// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/diagnose/occurrence_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "model/system/units.h"
#include "model/types/syndrome.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kAckTimeoutUnitPs = 4'096'000;

std::string number_text(std::uint64_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string psns_text(Psn psn, std::uint32_t psns) {
  return psns <= 1 ? fmt::format("PSN {}", psn.value)
                   : fmt::format("PSNs {} to {}", psn.value, (psn + (psns - 1)).value);
}

std::string operation(const Occurrence& i) { return i.opcode ? std::string(opcode_name(*i.opcode)) + " " : ""; }

std::string lasted(const Occurrence& i) { return time_text(i.until_ps - std::min(i.from_ps, i.until_ps)); }

std::string came_again(const Occurrence& i) {
  return i.repeats == 0 ? "no packet came again" : number_text(i.repeats, "packet") + " came again";
}

std::string repaired(const Occurrence& i) {
  if (i.until_ps == 0) return "; the capture does not show that it got through";
  return fmt::format("; got through after {}", lasted(i));
}

// The codes of a timeout that lasts once to four times its time (IBTA volume 1, 9.7.6.1.3).
std::string timeout_codes(std::uint64_t interval_ps, const Management::Promises* promises) {
  const auto code = [](std::uint64_t ps) {
    return static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(ps / kAckTimeoutUnitPs, 2))) - 1;
  };
  if (interval_ps < Direction::kLeastTimeoutPs) return "too soon for an ACK timeout: for a NAK that the capture lacks";
  const unsigned most = std::min(code(interval_ps), 31u);
  if (promises != nullptr && promises->ack_timeout != 0) {
    return fmt::format("ACK timeout {} ({}) of the CM REQ", promises->ack_timeout,
                       time_text(kAckTimeoutUnitPs << std::min<unsigned>(promises->ack_timeout, 31)));
  }
  const unsigned least = code(interval_ps / 4);
  return fmt::format("as with ACK timeout {} ({}){}", most, time_text(kAckTimeoutUnitPs << most),
                     least < most ? fmt::format(", down to {}", least) : "");
}

const char* nak_words(std::uint8_t syndrome) {
  switch (syndrome) {
    case kNakInvalidRequest:
      return "invalid request";
    case kNakRemoteAccess:
      return "remote access error";
    case kNakRemoteOperation:
      return "remote operational error";
    default:
      return "a code that is reserved";
  }
}

std::string detail_of(const Occurrence& i) { return i.detail.empty() ? "" : ": " + i.detail; }

// What shows that the responder lacked it.
std::string asked_for(const Occurrence& i, const DirectionEnds& e) {
  std::string text;
  if (i.syndrome != 0) text = fmt::format(", {} asked for it with NAK 0x60", e.responder.text());
  if (i.interval_ps != 0) text += fmt::format(", came again after a timeout of {}", time_text(i.interval_ps));
  return i.detail.empty() ? text : text + ": " + i.detail;
}

std::string words_of(const Occurrence& i, const Direction& d, const Management::Promises* promises, bool gave_up) {
  const DirectionEnds& e = d.ends();
  switch (i.cause) {
    case FindingCause::kLostBehindSniffer:
      return fmt::format("{}{} was captured (packet {}) and then lost on the way to {}{}; {}{}", operation(i),
                         psns_text(i.psn, i.psns), i.packets.front(), e.responder.text(), asked_for(i, e),
                         came_again(i), repaired(i));
    case FindingCause::kLostBeforeSniffer:
      return fmt::format("{} never came to the sniffer{}: lost between {} and the sniffer{}; {}{}",
                         psns_text(i.psn, i.psns),
                         i.packets.empty() ? "" : fmt::format(" before packet {}", i.packets.front()),
                         e.requester.text(), asked_for(i, e), came_again(i), repaired(i));
    case FindingCause::kOvertaken:
      return fmt::format(
          "{}{} (packet {}) came behind later ones, and {} refused that with NAK 0x60; nothing was lost, "
          "{}{}",
          operation(i), psns_text(i.psn, 1), i.packets.front(), e.responder.text(), came_again(i), repaired(i));
    case FindingCause::kRnr: {
      const std::uint32_t us = rnr_timer_us(i.syndrome);
      std::string text = fmt::format("{}{} refused with {} (timer {}: {})", operation(i), psns_text(i.psn, 1),
                                     number_text(i.count, "RNR NAK"), i.syndrome & kMaxRnrTimer,
                                     time_text(std::uint64_t{us} * 1'000'000));
      if (i.until_ps != 0) {
        return text +
               fmt::format("; accepted after {}: for so long {} had no receive posted", lasted(i), e.responder.text());
      }
      return text +
             (gave_up ? ", then the requester gave up (RNR retry count)" : ", and still so when the capture ends");
    }
    case FindingCause::kRemoteAccess:
    case FindingCause::kInvalidRequest:
    case FindingCause::kRemoteOperation:
    case FindingCause::kOtherNak:
      return fmt::format("{}{} refused with NAK {:#x} ({}) in packet {}{}; the QP stops there", operation(i),
                         psns_text(i.psn, 1), i.syndrome, nak_words(i.syndrome), i.packets.back(), detail_of(i));
    case FindingCause::kNoAnswer:
      return fmt::format("{}{} sent {} and not acknowledged any more, first again after {} ({}){}", operation(i),
                         psns_text(i.psn, 1), number_text(i.count + 1, "time"), time_text(i.interval_ps),
                         timeout_codes(i.interval_ps, promises), detail_of(i));
    case FindingCause::kAckTimeout:
      return fmt::format(
          "{}{} came again after {} without an answer ({}): the request was lost behind the sniffer, or its ACK or NAK "
          "was lost before it{}{}",
          operation(i), psns_text(i.psn, 1), time_text(i.interval_ps), timeout_codes(i.interval_ps, promises),
          detail_of(i), d.responses() == 0 ? "" : repaired(i));
    case FindingCause::kAckLost:
      return fmt::format("{}{} came again after {} ({}), although {} had it: its ACK was lost{}", operation(i),
                         psns_text(i.psn, 1), time_text(i.interval_ps), timeout_codes(i.interval_ps, promises),
                         e.responder.text(), detail_of(i));
    case FindingCause::kReadAgain:
      return fmt::format("READ asked for again from PSN {} on, after {}{}{}", i.psn.value, time_text(i.interval_ps),
                         detail_of(i), repaired(i));
    case FindingCause::kUcLoss:
      return fmt::format("{} missing before packet {}: lost before the sniffer or by it, which UC does not tell",
                         psns_text(i.psn, i.psns), i.packets.front());
    case FindingCause::kPsnGap:
      return fmt::format("{} missing before packet {}; neither a NAK nor an ACK tells whether {} got them",
                         psns_text(i.psn, i.psns), i.packets.front(), e.responder.text());
    case FindingCause::kLostBySniffer:
      return fmt::format("{} missing before packet {}, only in the capture{}", psns_text(i.psn, i.psns),
                         i.packets.front(), detail_of(i));
    case FindingCause::kIcrc:
    case FindingCause::kUnreadable:
      return fmt::format("{}{} in packet {}: {}{}{}", operation(i), psns_text(i.psn, 1), i.packets.front(), i.detail,
                         i.syndrome != 0 ? fmt::format("; {} asked for it with NAK 0x60", e.responder.text()) : "",
                         i.until_ps != 0 ? repaired(i) : "");
    case FindingCause::kPsnReused:
      return fmt::format("packet {}: {}", i.packets.back(), i.detail);
    case FindingCause::kOpcodeSequence:
    case FindingCause::kMtu:
      return fmt::format("packet {}, PSN {}{}", i.packets.front(), i.psn.value, detail_of(i));
    case FindingCause::kAckBeyond:
      return fmt::format("packet {}: {}: the capture lacks requests, or the responder is wrong", i.packets.front(),
                         i.detail);
    case FindingCause::kNoCredits:
      return fmt::format(
          "{} with credit count 0, the first in packet {}: no receive posted, the requester may send one "
          "packet at a time",
          number_text(i.count, "ACK"), i.packets.front());
    default:
      return i.detail;
  }
}

Weight weight_of(FindingCause cause) {
  switch (cause) {
    case FindingCause::kRemoteAccess:
    case FindingCause::kInvalidRequest:
    case FindingCause::kRemoteOperation:
    case FindingCause::kOtherNak:
    case FindingCause::kNoAnswer:
      return Weight::kFatal;
    case FindingCause::kNoCredits:
    case FindingCause::kPsnGap:
    case FindingCause::kAckBeyond:
    case FindingCause::kLostBySniffer:
      return Weight::kHint;
    default:
      return Weight::kCostsTime;
  }
}

}  // namespace

std::string direction_text(const DirectionEnds& ends) {
  const std::string peer = raw(ends.peer_qpn) != 0 ? fmt::format(" QP {:#x}", raw(ends.peer_qpn)) : "";
  return fmt::format("QP {:#x} at {} (from {}{})", raw(ends.qpn), ends.responder.text(), ends.requester.text(), peer);
}

Finding finding_of(const Direction& d, FindingCause cause, Weight weight) {
  Finding f;
  f.cause = cause;
  f.weight = weight;
  f.qp = d.ends().qpn;
  f.peer_qp = d.ends().peer_qpn;
  f.requester = d.ends().requester.text();
  f.responder = d.ends().responder.text();
  return f;
}

namespace {

bool counts_psns(FindingCause cause) {
  return cause == FindingCause::kLostBySniffer || cause == FindingCause::kPsnGap || cause == FindingCause::kUcLoss ||
         cause == FindingCause::kLostBeforeSniffer;
}

// Its timer has run out, no request of the QP followed, and the capture goes on; or a new connection followed.
bool was_given_up(const Occurrence& o, const Direction& d, std::uint64_t end_ps) {
  if (o.cause != FindingCause::kRnr || o.until_ps != 0) return false;
  const std::uint64_t timer_ps = std::uint64_t{rnr_timer_us(o.syndrome)} * 1'000'000;
  return o.ended || d.last().ps + 4 * timer_ps < end_ps;
}

}  // namespace

std::vector<Finding> findings_of(const Direction& d, const Management::Promises* promises, std::uint64_t end_ps) {
  std::map<FindingCause, std::vector<const Occurrence*>> by_cause;
  for (const Occurrence& o : d.occurrences()) {
    if (o.cause != FindingCause::kCount) by_cause[o.cause].push_back(&o);
  }
  std::vector<Finding> all;
  for (const auto& [cause, occurrences] : by_cause) {
    const bool fatal = weight_of(cause) == Weight::kFatal;
    Finding f = finding_of(d, cause, weight_of(cause));
    // What it cost the QP; what never ended costs it until the end of the capture, unless that is not known.
    const auto cost = [&](const Occurrence* o) -> std::uint64_t {
      if (o->beyond || (o->until_ps == 0 && d.responses() == 0)) return 0;
      const std::uint64_t until = o->until_ps != 0 ? o->until_ps : o->ended ? o->from_ps : end_ps;
      return until - std::min(o->from_ps, until);
    };
    // The one that took longest stands for all.
    const Occurrence* const worst = *std::ranges::max_element(
        occurrences, [&](const Occurrence* a, const Occurrence* b) { return cost(a) < cost(b); });
    bool gave_up = false;
    std::uint64_t times = 0;
    for (const Occurrence* o : occurrences) {
      times += o->beyond ? o->count : 1;
      f.count += counts_psns(cause) && !o->beyond ? o->psns : o->count;
      f.stalled_ps += cost(o);
      f.packets.insert(f.packets.end(), o->packets.begin(), o->packets.end());
      gave_up |= was_given_up(*o, d, end_ps);
    }
    if (gave_up) f.weight = Weight::kFatal;
    if (fatal) f.stalled_ps = std::max(f.stalled_ps, end_ps - std::min(worst->from_ps, end_ps));
    if (weight_of(cause) == Weight::kHint) f.stalled_ps = 0;
    f.psn = worst->psn;
    f.from_ps = occurrences.front()->from_ps;
    std::ranges::sort(f.packets);
    f.packets.erase(std::unique(f.packets.begin(), f.packets.end()), f.packets.end());
    if (f.packets.size() > Finding::kMostPackets) f.packets.resize(Finding::kMostPackets);
    f.words =
        fmt::format("{}: {}", direction_text(d.ends()), words_of(*worst, d, promises, was_given_up(*worst, d, end_ps)));
    if (times > 1) {
      f.words += fmt::format("; {} more of the kind, {} in all", times - 1, number_text(f.count, "occurrence"));
    }
    all.push_back(std::move(f));
  }
  return all;
}

}  // namespace rxnic
