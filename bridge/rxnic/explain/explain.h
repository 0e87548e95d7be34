// SPDX-License-Identifier: Apache-2.0
// What became of packets, messages and QPs, in words or as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bridge/rxnic/explain/packet_life.h"

namespace rxnic {

// What was decided about a packet, and by which rule.
std::string decision_words(const PacketRow& row);
std::string explain_text(RunEvents& events, const PacketLife& life);
nlohmann::ordered_json explain_json(RunEvents& events, const PacketLife& life);

// A QP from its first packet to its last.
struct QpLife {
  std::uint64_t nic = 0, qp = 0;
  std::uint64_t packets = 0, messages = 0, payload_bytes = 0;
  std::uint64_t first = 0, last = 0;             // cycles
  std::vector<std::uint64_t> outcomes, reasons;  // packets, by Outcome and DropReason
  std::uint64_t marked = 0;
  std::uint64_t completions = 0, completions_in_error = 0;
  std::vector<std::uint64_t> latencies;  // of receives, in cycles, sorted
  struct Trouble {
    std::uint64_t number, at, psn, outcome, reason, syndrome;
  };
  std::vector<Trouble> troubles;  // the first ones
  std::uint64_t troubles_in_all = 0;
};
std::vector<QpLife> qps_of(RunEvents& events, std::uint64_t qp, std::optional<std::uint64_t> nic);
std::string explain_text(RunEvents& events, const QpLife& life);
nlohmann::ordered_json explain_json(RunEvents& events, const QpLife& life);

}  // namespace rxnic
