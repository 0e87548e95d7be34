// SPDX-License-Identifier: Apache-2.0
#include "traces/flow.h"

#include <algorithm>

#include "model/types/syndrome.h"

namespace rxnic {

void Flow::count(const Headers& h) {
  const OpcodeInfo& op = opcode_info(h.opcode);
  if (transport == Transport::kNone && op.transport != Transport::kCnp) transport = op.transport;
  if (op.transport == Transport::kCnp) return;
  if (requests + answers == 0) {
    pkey = h.pkey;
    qkey = h.qkey;
  }
  largest_payload = std::max<std::uint32_t>(largest_payload, h.payload_bytes);
  if (op.traits & (kFirst | kMiddle)) full_payload = std::max<std::uint32_t>(full_payload, h.payload_bytes);
  if (h.udp_source_port == 0) return;
  for (Port& p : ports) {
    if (p.packets != 0 && p.port != h.udp_source_port) continue;
    p.port = h.udp_source_port;
    ++p.packets;
    break;
  }
}

// R5 of survey.h
void Flow::advance(const Headers& h, std::uint32_t traits) {
  if (requests == 0) {
    first_psn = next_low = next_high = h.psn;
  } else if (h.psn - next_high > 0) {
    ++psn_gaps;
    psns_missing += static_cast<std::uint64_t>(h.psn - next_high);
    if (!gap_seen) first_gap = next_high;
    gap_seen = true;
  } else if (last_read != 0 && stepped_psns == 0) {
    stepped_bytes = last_read;
    stepped_psns = static_cast<std::uint32_t>(h.psn - last_read_psn);
  }
  next_low = next_high = h.psn + 1;
  last_read = 0;
  if (traits & kRead) {
    last_read = h.length;
    last_read_psn = h.psn;
    // Without a known MTU anything from 4096 down to 256 may be.
    next_low = h.psn + packets_of(h.length, full_payload ? full_payload : std::uint32_t{kMaxMtu});
    next_high = h.psn + packets_of(h.length, full_payload ? full_payload : std::uint32_t{kMinMtu});
    if (full_payload) last_read = 0;
  }
}

void Flow::count_request(const Headers& h, std::uint64_t packet) {
  const std::uint32_t traits = opcode_info(h.opcode).traits;
  const bool connected = transport != Transport::kUd;
  if (requests == 0) first_inside = (traits & (kMiddle | kLast)) != 0;
  if (connected) strict.request(h, full_payload, packet);
  saved += (traits & kSaved) != 0;
  if (connected && requests != 0 && h.psn - next_low < 0) {
    ++requests;
    ++repetitions;
    return;
  }
  if (connected) advance(h, traits);
  ++requests;
  if (traits & kTakesWqe) {
    recent_receives[receives % kReceivesKept] = {h.psn, receives};
    ++receives;
  }
  // A gap does not end a message here: a receiver that takes the PSN as it is may go on with the same one.
  if (traits & (kFirst | kOnly)) message_bytes = 0;
  message_bytes += h.payload_bytes;
  if (traits & kSend) largest_send = std::max(largest_send, message_bytes);
  std::uint64_t bytes = message_bytes;
  if ((traits & (kHasReth | kHasFeth)) == kHasReth) bytes = std::max<std::uint64_t>(bytes, h.length);
  if (traits & kRead) largest_read = std::max<std::uint64_t>(largest_read, h.length);
  if (traits & kHasAtomicEth) largest_read = std::max<std::uint64_t>(largest_read, bytes = kAtomicBytes);
  largest_message = std::max(largest_message, bytes);
  if (traits & (kLast | kOnly)) {
    if (ends.size() < kEndsKept && restarts.empty()) {
      ends.push_back(h.psn);
    } else {
      more_ends = true;
    }
  }
  if ((traits & kHasXrceth) && srqs.size() < kSrqsKept &&
      std::find(srqs.begin(), srqs.end(), h.xrc_srq) == srqs.end()) {
    srqs.push_back(h.xrc_srq);
  }
}

void Flow::restart(Psn psn, std::uint64_t packet) {
  restarts.push_back({packet, psn});
  next_low = next_high = psn;
  strict.restart(psn);
  last_read = 0;
  message_bytes = 0;
}

void Flow::count_answer(const Headers& h, std::uint64_t packet) {
  ++answers;
  const bool has_aeth = (opcode_info(h.opcode).traits & kHasAeth) != 0;
  const bool positive = has_aeth && ack_kind(h.syndrome) == AckKind::kAck;
  if (has_aeth && !positive && naks.size() < kNaksKept) naks.push_back({h.psn, h.syndrome, packet});
  if (positive && first_answers.size() < kAnswersKept) first_answers.push_back({h.psn, h.msn});
}

// The frequent ones stay (Misra and Gries): a new one that finds no room takes one vote from each.
void Flow::vote(std::uint32_t flow, std::uint32_t weight) {
  for (Candidate& c : candidates) {
    if (c.flow != flow) continue;
    c.votes += weight;
    return;
  }
  if (candidates.size() < kCandidatesKept) {
    candidates.push_back({flow, weight});
    return;
  }
  for (Candidate& c : candidates) --c.votes;
  std::erase_if(candidates, [](const Candidate& c) { return c.votes == 0; });
}

std::uint32_t Flow::votes_for(std::uint32_t flow) const {
  for (const Candidate& c : candidates) {
    if (c.flow == flow) return c.votes;
  }
  return 0;
}

std::optional<std::uint64_t> Flow::receives_before(Psn psn) const {
  for (std::uint64_t back = 0; back < std::min<std::uint64_t>(receives, kReceivesKept); ++back) {
    const Receive& r = recent_receives[(receives - 1 - back) % kReceivesKept];
    if (r.psn == psn) return r.before;
  }
  return std::nullopt;
}

bool Flow::uses_port_of(const Flow& other) const {
  return std::any_of(ports.begin(), ports.end(), [&other](const Port& mine) {
    return mine.packets != 0 && std::any_of(other.ports.begin(), other.ports.end(), [&mine](const Port& theirs) {
             return theirs.packets != 0 && theirs.port == mine.port;
           });
  });
}

}  // namespace rxnic
