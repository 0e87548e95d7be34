// SPDX-License-Identifier: Apache-2.0
// What is wrong in a capture: one finding for each cause of a QP, or of the link.
//
//   R1  The QP of a finding is the one that the requests go to; its requester is the other end. A direction is the
//       requests to one QP, with the answers to them: the two QPs of a connection are two directions.
//   R2  "Before the sniffer" is between the sender of a packet and the place of the capture, "behind" it between that
//       place and the packet's receiver.
//   R3  Order: findings that ended a QP or a connection come first, then those that cost time (the more time, the
//       earlier), then hints. What remains equal is in the order of packets.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/types/wire.h"

namespace rxnic {

enum class FindingCause : std::uint8_t {
  kConnectionRefused,
  kConnectionUnanswered,
  kRemoteAccess,
  kInvalidRequest,
  kRemoteOperation,
  kOtherNak,
  kNoAnswer,
  kPkey,
  kQkey,
  kPsnReused,
  kOpcodeSequence,
  kMtu,
  kIcrc,
  kUnreadable,
  kRnr,
  kLostBeforeSniffer,
  kLostBehindSniffer,
  kLostBetween,
  kOvertaken,
  kReadAgain,
  kAckLost,
  kAckTimeout,
  kUcLoss,
  kPause,
  kCongestion,
  kSlowReceiver,
  kNoCredits,
  kAckBeyond,
  kPsnGap,
  kLostBySniffer,
  kKeepAlive,
  kCopies,
  kReordered,
  kOvertakenBetween,
  kSampled,
  kCount
};
std::string_view name_of(FindingCause cause);     // "lost_before_sniffer": in JSON, and to filter
std::string_view title_of(FindingCause cause);    // "lost before the sniffer"
std::string_view meaning_of(FindingCause cause);  // a sentence, for --causes

enum class Weight : std::uint8_t { kFatal, kCostsTime, kHint };
std::string_view name_of(Weight weight);

struct Finding {
  static constexpr std::size_t kMostPackets = 1000;
  FindingCause cause{};
  Weight weight = Weight::kCostsTime;
  std::optional<Qpn> qp;  // nothing: the link, or the capture (R1)
  std::optional<Qpn> peer_qp;
  std::string requester, responder;    // addresses
  std::optional<Psn> psn;              // the first one
  std::vector<std::uint64_t> packets;  // numbers in the capture, the first kMostPackets
  std::uint64_t count = 0;             // how often
  std::uint64_t from_ps = 0;           // on the capture's clock, from its first packet
  std::uint64_t stalled_ps = 0;        // what it cost the QP, as far as the capture shows that
  std::string words;
};

// What happened when, for congestion and pauses.
struct CongestionEvent {
  std::uint64_t time_ps = 0, packet = 0;
  std::string_view kind;  // "CE", "CNP", "pause", "resume"
  std::optional<Qpn> qp;  // of CE and CNP: as in Finding
};

struct Diagnosis {
  std::vector<std::string> captures;
  std::uint64_t packets = 0, rdma = 0, directions = 0, sick_qps = 0;
  std::uint64_t duration_ps = 0;
  std::vector<Finding> findings;   // R3
  std::vector<std::string> notes;  // what was assumed, and what the capture cannot tell
  std::vector<CongestionEvent> timeline;
  std::uint64_t timeline_left_out = 0;
};

void rank(std::vector<Finding>& findings);  // R3
// What the findings say of each packet that they name: "finding: lost_before_sniffer: ...".
std::map<std::uint64_t, std::string> words_by_packet(const Diagnosis& d);
nlohmann::ordered_json diagnosis_json(const Diagnosis& d);
// For people: `most` findings, and how many there are besides.
std::string diagnosis_text(const Diagnosis& d, std::size_t most);

}  // namespace rxnic
