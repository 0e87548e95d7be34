// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/explain/packet_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "bridge/rxnic/explain/drop_rules.h"
#include "model/types/opcode.h"
#include "model/types/syndrome.h"

namespace rxnic {

namespace {

// "NAK 0x62 (remote access error)", "RNR NAK (not before 0.01 ms)" (rules 6.8, 6.9).
std::string nak_name(std::uint64_t syndrome) {
  const auto s = static_cast<std::uint8_t>(syndrome);
  if (ack_kind(s) == AckKind::kRnrNak)
    return fmt::format("an RNR NAK (try again in {})", time_text(std::uint64_t{rnr_timer_us(s)} * 1000000));
  constexpr const char* kCodes[] = {"PSN sequence error", "invalid request", "remote access error",
                                    "remote operational error", "invalid RD request"};
  const std::size_t code = s & 0x1fu;
  return fmt::format("NAK {:#04x} ({})", s, code < std::size(kCodes) ? kCodes[code] : "reserved");
}

std::string in_brackets(std::string_view rule) { return rule.empty() ? "" : fmt::format(" (rule {})", rule); }

}  // namespace

std::string refusal(std::uint64_t outcome, std::uint64_t reason, std::uint64_t syndrome) {
  const auto why = value_of<DropReason>(reason);
  const bool is_nak = value_of<Outcome>(outcome) == Outcome::kNak;
  std::string words = words_of(why);
  const bool says_more = why == DropReason::kNoReceiveWqe || why == DropReason::kWqeStoreFull;  // of RC
  if (says_more || is_nak) words.resize(std::min(words.size(), words.find(';')));
  if (is_nak) words += fmt::format("; answered with {}", nak_name(syndrome));
  return fmt::format("{}: {}{}", name_of(why), words, in_brackets(rule_of(why)));
}

std::string acceptance(std::uint64_t outcome, std::uint64_t syndrome) {
  const auto what = value_of<Outcome>(outcome);
  const std::string rule = in_brackets(rule_of(what));
  switch (what) {
    case Outcome::kExecute:
      return "carried out" + rule;
    case Outcome::kAckAgain:
      return "a duplicate: acknowledged again, not carried out" + rule;
    case Outcome::kReplay:
      return "a duplicate READ or atomic: answered from what is saved" + rule;
    case Outcome::kAnswer:
      return "an answer to a request of this NIC";
    case Outcome::kNak:
      return fmt::format("refused with {}{}", nak_name(syndrome), rule);
    case Outcome::kUndecided:
    case Outcome::kDrop:
      break;
  }
  return "passed on only to keep the order";
}

std::string decision(std::uint64_t outcome, std::uint64_t reason, std::uint64_t syndrome) {
  if (value_of<DropReason>(reason) != DropReason::kNone)
    return "not carried out, " + refusal(outcome, reason, syndrome);
  const auto what = value_of<Outcome>(outcome);
  const char* const before = what == Outcome::kExecute ? "accepted and " : what == Outcome::kAnswer ? "accepted, " : "";
  return before + acceptance(outcome, syndrome);
}

std::string answer_name(const FrameRow& f) {
  const auto opcode = static_cast<std::uint8_t>(f.opcode);
  std::string name = opcode_name(opcode);
  if ((opcode_info(opcode).traits & kAckKind) == 0) return name;
  const AckKind kind = ack_kind(static_cast<std::uint8_t>(f.syndrome));
  if (kind == AckKind::kNak) return fmt::format("NAK {:#04x}", f.syndrome);
  if (kind == AckKind::kRnrNak) return fmt::format("RNR NAK {:#04x}", f.syndrome);
  return name;
}

}  // namespace rxnic
