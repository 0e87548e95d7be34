// SPDX-License-Identifier: Apache-2.0
// Which QP of a receiver is connected with which QP of a peer, from what a survey has gathered.
//
//   R1  Ways of pairing, in this order, each QP once: what the caller has chosen; a CM REQ and REP that name both. Then
//       a UDP source port that both sides use, and on each side one QP only, unless the PSNs speak for others. Then
//       answers whose PSN is that of a recent request (votes); last, the only two QPs left between the two addresses.
//   R2  A vote is an answer with the PSN of a recent request. A vote counts kCertainVote times when one QP alone had
//       that PSN lately. It counts kNakVote times when the answer was a NAK and the QP then sent that PSN again. PSNs
//       that more QPs share than a slot holds give no vote.
//   R3  Pairs by votes that nothing contests are taken first: no other pair of one of the two has nine tenths of the
//       votes. The pairs that are left are taken by votes, and with equal votes as they appeared first: they are
//       ambiguous.
//   R4  Two QPs of one address are paired with each other, never one with itself.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "traces/survey_state.h"

namespace rxnic {

using FlowIndex = std::uint32_t;
inline constexpr FlowIndex kNoFlow = SurveyState::kNone;

struct Pairing {
  FlowIndex partner = kNoFlow;  // flow from the receiver to the peer's QP
  Qpn peer_qpn{};
  PairedBy by = PairedBy::kNone;
  bool ambiguous = false;  // (R3)
};

// What connection management says about a QP of the receiver.
struct CmQp {
  bool has_peer = false;
  Qpn peer_qpn{};
  std::uint16_t mtu = 0;
  CmMessage mine;
};
using CmQps = std::map<std::pair<std::uint32_t, std::uint32_t>, CmQp>;  // by peer and QPN of ours

bool pairs_up(const Flow& f);
CmQps find_cm(const SurveyState& s, std::uint32_t me);
// By flow; of flows that come to `me`.
std::vector<Pairing> find_pairs(const SurveyState& s, std::uint32_t me, const CmQps& of_cm, const ChosenPairs& chosen);

}  // namespace rxnic
