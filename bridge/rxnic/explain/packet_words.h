// SPDX-License-Identifier: Apache-2.0
// What was decided about a packet, and what answered it, in words.
#pragma once

#include <string>

#include "bridge/rxnic/events/event_tables.h"
#include "model/system/units.h"

namespace rxnic {

// A value of a table of events; its sentence as a part of another one.
template <class E>
E value_of(std::uint64_t n) {
  return static_cast<E>(n);
}
template <class E>
std::string words_of(E value) {
  for (const EnumeratorInfo& info : Enumeration<E>::kValues) {
    if (info.value == static_cast<std::uint8_t>(value)) return clause(info.sentence);
  }
  return "?";
}

// "psn_ahead: RC: ahead of the expected PSN (rule 6.8)": of a packet that was not carried out.
std::string refusal(std::uint64_t outcome, std::uint64_t reason, std::uint64_t syndrome);
// "carried out (rule 6.1)": of any other packet.
std::string acceptance(std::uint64_t outcome, std::uint64_t syndrome);
// How the NIC decided, and why.
std::string decision(std::uint64_t outcome, std::uint64_t reason, std::uint64_t syndrome);

// "ACKNOWLEDGE", "NAK 0x62"
std::string answer_name(const FrameRow& f);

}  // namespace rxnic
