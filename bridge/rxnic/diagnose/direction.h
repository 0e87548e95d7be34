// SPDX-License-Identifier: Apache-2.0
// One direction of a connection in a capture: the requests to a QP, and the answers to them.
//
//   R1  A gap is a step of the requests over PSNs that the capture does not hold. A NAK of such a PSN: the packet was
//       lost before the sniffer. An ACK beyond the gap: only the sniffer lost it. Neither: it stays open.
//   R2  A sequence NAK (0x60) of a PSN that the capture holds: the packet was lost behind the sniffer.
//   R3  A request that comes again does so for the NAK before it, or without one: after a timeout. Its time counts from
//       the request's last copy or from the last progress of the ACKs, whichever is later. An ACK timeout of code n
//       lasts 4.096 us * 2^n to four times that (IBTA volume 1, 9.7.6.1.3): several codes may give one time.
//   R4  A timeout is that of a lost ACK in two cases. In the first, the capture holds an ACK of the PSN from before. In
//       the second, the next ACK is for later PSNs, which had come only once: the responder had all of them.
//   R5  A READ comes again, whole or from a response on, because responses were lost. When one is missing in front of
//       those captured, it was lost before the sniffer. When the capture holds it, it was lost behind the sniffer.
//   R6  A request that is no READ and has a PSN of a READ's responses is the requester's fault. So is another request
//       with the PSN of an earlier one.
//   R7  Without a known MTU the request behind a READ may have any PSN that an MTU of 256 or more gives.
//   R8  Memory is bounded: kMostKept requests that are not acknowledged, kMostIncidents.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "bridge/rxnic/diagnose/finding.h"
#include "model/types/drop_reason.h"
#include "model/types/opcode.h"
#include "traces/survey.h"

namespace rxnic {

struct At {  // a packet of the capture
  std::uint64_t number = 0, ps = 0;
};

// One occurrence of a cause.
struct Incident {
  static constexpr std::size_t kMostPackets = 64;
  FindingCause cause{};
  Psn psn;
  std::uint32_t psns = 1;
  std::uint64_t from_ps = 0, until_ps = 0;  // until: 0: not settled in the capture
  std::vector<std::uint64_t> packets;
  std::uint64_t count = 0;        // NAKs or timeouts
  std::uint64_t repeats = 0;      // requests that came again for it
  std::uint64_t interval_ps = 0;  // of the first timeout
  std::uint8_t syndrome = 0;      // of a NAK
  std::uint8_t opcode = 0;        // of the request; 0: not known
  std::string detail;             // words

  void add(std::uint64_t packet) {
    if (packets.size() < kMostPackets && packet != 0) packets.push_back(packet);
  }
  bool settled() const { return until_ps != 0; }
};

struct DirectionEnds {
  Address requester, responder;
  Qpn qpn{}, peer_qpn{};  // peer's: 0: not known
  Transport transport = Transport::kRc;
  std::uint16_t mtu = kMinMtu;
  bool mtu_known = false;
  bool ambiguous = false;
};

struct Marks {  // CE, or CNPs
  static constexpr std::size_t kMostPackets = 1000;
  std::uint64_t count = 0;
  At first, last;
  std::vector<std::uint64_t> packets;
  void add(const At& at) {
    if (count++ == 0) first = at;
    last = at;
    if (packets.size() < kMostPackets) packets.push_back(at.number);
  }
};

class Direction {
 public:
  static constexpr std::size_t kMostKept = 512, kAckedKept = 64, kMostIncidents = 4096, kMostGaps = 256, kMostUses = 16;
  static constexpr std::size_t kMostDelays = 128;

  explicit Direction(const DirectionEnds& ends) : ends_(ends) {}

  void request(const Headers& h, const At& at);
  void response(const Headers& h, const At& at);
  void damaged(const Headers& h, DropReason reason, const At& at);
  void restart();  // a new connection begins with the next request
  void cnp(const At& at) { cnps_.add(at); }
  void add_cnps(const Marks& marks) { cnps_ = marks; }
  // After the last packet.
  void finish();

  const DirectionEnds& ends() const { return ends_; }
  const std::vector<Incident>& incidents() const { return incidents_; }
  std::uint64_t requests() const { return requests_; }
  std::uint64_t responses() const { return responses_; }
  std::uint16_t pkey() const { return pkey_; }
  std::uint32_t qkey() const { return qkey_; }
  std::optional<std::uint16_t> responder_pkey() const { return responder_pkey_; }
  const Marks& marks() const { return marks_; }
  const Marks& cnps() const { return cnps_; }
  const std::vector<std::uint64_t>& delays() const { return delays_; }  // ps, a sample
  bool only_empty() const { return requests_ > 1 && empty_ == requests_; }
  const At& first() const { return first_at_; }
  const At& last() const { return last_at_; }

 private:
  struct Sent {
    Psn psn;
    std::uint32_t span = 1;      // PSNs: more than one of a READ
    std::uint32_t answered = 0;  // responses to a READ, without those behind a missing one
    std::uint32_t length = 0;
    std::uint64_t va = 0;
    Key rkey{};
    At first, last;
    std::uint16_t payload = 0, times = 1;
    std::uint8_t opcode = 0;
    bool has(OpcodeTrait trait) const { return (opcode_info(opcode).traits & trait) != 0; }
  };
  struct Gap {
    Psn psn;
    std::uint32_t psns = 0, filled = 0;
    At seen;               // the packet behind it
    bool refused = false;  // by a NAK (R1)
    bool has(Psn p) const { return p - psn >= 0 && p - psn < static_cast<std::int32_t>(psns); }
  };
  struct Episode {  // requests that come again, one after the other
    std::size_t incident = 0;
    Psn last;
    bool timeout = false, answered = false;
  };
  struct Use {  // of a region, acknowledged
    Key key{};
    std::uint64_t from = 0, to = 0;
  };

  // direction_requests.cpp
  void advance(const Headers& h, const At& at);
  void check_sequence(const Headers& h, const At& at, bool behind_gap);
  void open_gap(Psn psn, std::uint32_t psns, const At& at);
  bool fill_gap(const Headers& h, const At& at);
  void again(const Headers& h, Sent* sent, const At& at);
  std::size_t begin_timeout(const Headers& h, const Sent* sent, const At& at);
  std::size_t begin_read_again(const Headers& h, Sent& sent, const At& at);
  void keep(const Headers& h, std::uint32_t span, const At& at);
  Sent* find(Psn psn);
  Incident& note(FindingCause cause, Psn psn, const At& at);
  Incident* open(FindingCause cause, Psn psn);

  // direction_responses.cpp
  void acknowledge(Psn psn, const At& at);
  void settle_gaps(const At& at);
  void sequence_nak(Psn psn, const At& at);
  void rnr_nak(const Headers& h, const At& at);
  void fatal_nak(const Headers& h, const At& at);
  void read_response(const Headers& h, const At& at);
  void add_use(const Sent& sent);
  void add_delay(std::uint64_t ps);
  std::string describe_refused(Psn psn, std::uint8_t syndrome);

  DirectionEnds ends_;
  std::vector<Incident> incidents_;
  std::size_t settled_ = 0;  // so many of the first ones are

  bool started_ = false;
  Psn next_;                 // behind the furthest request
  std::uint32_t slack_ = 0;  // R7: so many PSNs less are right, too
  std::deque<Sent> sent_;    // by PSN
  std::vector<Gap> gaps_;
  std::vector<Gap> response_gaps_;  // R5
  std::vector<Psn> damaged_;
  std::optional<Episode> episode_;
  std::optional<std::size_t> refused_;  // incident of the last NAK, until requests come again
  bool ended_ = false;                  // by a fatal NAK

  bool any_ack_ = false;
  Psn acked_;  // behind the last PSN that was acknowledged
  At acked_at_;
  std::uint32_t largest_acked_ = 0;  // payload
  std::vector<Use> uses_;

  // Message at hand: the operation of its packets
  bool in_message_ = false, message_is_write_ = false;
  std::uint32_t full_payload_ = 0;

  std::uint64_t requests_ = 0, responses_ = 0, empty_ = 0;
  std::uint16_t pkey_ = 0;
  std::uint32_t qkey_ = 0;
  std::optional<std::uint16_t> responder_pkey_;
  At first_at_, last_at_;
  Marks marks_, cnps_, no_credits_;
  bool counts_credits_ = false;  // an ACK had other credits than none and unlimited
  std::vector<std::uint64_t> delays_;
  std::uint64_t delays_seen_ = 0, delay_stride_ = 1;
};

}  // namespace rxnic
