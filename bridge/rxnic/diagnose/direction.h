// SPDX-License-Identifier: Apache-2.0
// One direction of a connection in a capture: the requests to a QP, and the answers to them.
//
//   R1  A gap is a step of the requests over PSNs that the capture does not hold. A NAK of such a PSN: the packet was
//       lost before the sniffer. An ACK beyond the gap: only the sniffer lost it. Neither: it stays open. A gap whose
//       PSN comes later was lost before the sniffer, too. When it came among repeats of another one, perhaps only by
//       the sniffer.
//   R2  A sequence NAK (0x60) of a PSN that the capture holds: the packet was lost behind the sniffer. Requests that
//       come again are a round: what counts is the PSN's copy in the last round. When that round stepped over the PSN,
//       its repeat was lost before the sniffer. When the responder has the PSN although nothing came again, the packet
//       was overtaken.
//   R3  A request that comes again does so for the NAK before it, or without one: after a timeout. Its time counts from
//       the request's last copy or from the last progress of the ACKs, whichever is later. An ACK timeout of code n
//       lasts 4.096 us * 2^n to four times that (IBTA volume 1, 9.7.6.1.3): several codes may give one time.
//   R4  An ACK of a PSN from before shows that the ACK was lost. So does the first ACK behind a timeout when it is for
//       PSNs that had come only once: the responder had them. When it ends before a PSN that was sent before the
//       timeout, that PSN is what was lost: as in R2, without a NAK.
//   R5  A READ comes again, whole or from a response on, because responses were lost. When one is missing in front of
//       those captured, it was lost before the sniffer. When the capture holds it, it was lost behind the sniffer. The
//       response that was asked for ends the wait.
//   R6  A request that is no READ and has a PSN of a READ's responses is the requester's fault. So is another request
//       with the PSN of an earlier one.
//   R7  Without a known MTU the request behind a READ may have any PSN that an MTU of 256 or more gives.
//   R8  Memory is bounded: kMostKept requests, kMostOccurrences. What is beyond is counted by cause; what ends a QP is
//       always kept.
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
struct Occurrence {
  static constexpr std::size_t kMostPackets = 64;
  FindingCause cause{};  // kCount: it is told with another one
  Psn psn;
  std::uint32_t psns = 1;
  std::uint64_t from_ps = 0, until_ps = 0;  // until: 0: not settled in the capture
  std::vector<std::uint64_t> packets;
  std::uint64_t count = 0;             // NAKs or timeouts
  std::uint64_t repeats = 0;           // requests that came again for it
  std::uint64_t interval_ps = 0;       // of the first timeout
  std::uint8_t syndrome = 0;           // of a NAK
  std::optional<std::uint8_t> opcode;  // of the request
  bool ended = false;                  // a new connection came before it was settled
  bool beyond = false;                 // stands for all beyond the limit (R8)
  std::string detail;                  // words

  void add(std::uint64_t packet) {
    if (packets.size() < kMostPackets && packet != 0) packets.push_back(packet);
  }
  bool settled() const { return until_ps != 0 || ended; }
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
  std::vector<At> kept;  // the first ones
  void add(const At& at) {
    if (count++ == 0) first = at;
    last = at;
    if (kept.size() < kMostPackets) kept.push_back(at);
  }
  std::vector<std::uint64_t> packets() const {
    std::vector<std::uint64_t> numbers;
    for (const At& at : kept) numbers.push_back(at.number);
    return numbers;
  }
};

class Direction {
 public:
  static constexpr std::size_t kMostKept = 512, kAckedKept = 64, kMostOccurrences = 4096, kMostGaps = 256,
                               kMostUses = 16;
  static constexpr std::uint64_t kLeastTimeoutPs = 8'192'000;  // of code 1
  static constexpr std::size_t kMostQkeys = 8, kResponsesKept = 128, kFatalKept = 64;
  static constexpr std::size_t kMostDelays = 128;

  explicit Direction(const DirectionEnds& ends) : ends_(ends) {}

  void request(const Headers& h, const At& at);
  void response(const Headers& h, const At& at);
  void damaged(const Headers& h, DropReason reason, const At& at);
  void restart();  // a new connection begins with the next request
  void cnp(const At& at, bool to_requester) { (to_requester ? cnps_ : cnps_to_responder_).add(at); }
  void add_cnps(const Marks& marks) { cnps_ = marks; }
  // The packet was overtaken on its way to the sniffer, and has been put in order.
  void overtaken(std::uint64_t packet) { overtaken_.push_back(packet); }
  // After the last packet.
  void finish();

  const DirectionEnds& ends() const { return ends_; }
  const std::vector<Occurrence>& occurrences() const { return occurrences_; }
  std::uint64_t requests() const { return requests_; }
  std::uint64_t responses() const { return responses_; }
  std::uint16_t pkey() const { return pkey_; }
  std::optional<std::uint16_t> responder_pkey() const { return responder_pkey_; }
  const std::map<std::uint32_t, Marks>& qkeys() const { return qkeys_; }  // of datagrams, the first kMostQkeys
  const Marks& marks() const { return marks_; }                           // of requests
  const Marks& response_marks() const { return response_marks_; }
  const Marks& cnps() const { return cnps_; }  // to the requester
  const Marks& cnps_to_responder() const { return cnps_to_responder_; }
  const std::vector<std::uint64_t>& delays() const { return delays_; }  // ps, a sample
  struct Slowest {
    std::uint64_t ps = 0;
    At request, answer;
    Psn psn;
  };
  const Slowest& slowest() const { return slowest_; }
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
    bool asks_ack = false;
    bool has(OpcodeTrait trait) const { return (opcode_info(opcode).traits & trait) != 0; }
  };
  struct Gap {
    Psn psn;
    std::uint32_t psns = 0, filled = 0;
    At seen;               // the packet behind it
    bool refused = false;  // by a NAK (R1)
    bool has(Psn p) const { return p - psn >= 0 && p - psn < static_cast<std::int32_t>(psns); }
  };
  // Requests that come one after the other, from where they went back to on (R2).
  struct Round {
    std::optional<std::size_t> occurrence;  // for which they came again
    Psn first, next;                        // the first one, and behind the last one
    At at;                                  // of the first one
    Psn sent_before;                        // behind the furthest one of the rounds before
    bool timeout = false, answered = false;
    bool inside_before = false;     // the last message of the round before lacked its LAST
    std::vector<Gap> gaps, before;  // steps of this round, of the one before
  };
  struct Use {  // of a region, acknowledged
    Key key{};
    std::uint64_t from = 0, to = 0;
  };

  // direction_requests.cpp
  Sent made(const Headers& h, std::uint32_t span, const At& at) const;
  void advance(const Headers& h, const At& at);
  void step(const Headers& h, const At& at);
  void begin_round(const Headers& h, Sent* sent, const At& at);
  void check_sequence(const Headers& h, const At& at, bool behind_gap);
  void open_gap(Psn psn, std::uint32_t psns, const At& at);
  bool fill_gap(const Headers& h, const At& at);
  void again(const Headers& h, Sent* sent, const At& at);
  std::size_t begin_timeout(const Headers& h, const Sent* sent, const At& at);
  std::size_t begin_read_again(const Headers& h, Sent& sent, const At& at);
  Sent* find(Psn psn);
  Occurrence& note(FindingCause cause, Psn psn, const At& at);
  Occurrence* open(FindingCause cause, Psn psn);
  std::size_t place_of(const Occurrence& o) const { return static_cast<std::size_t>(&o - occurrences_.data()); }

  // direction_responses.cpp
  void acknowledge(Psn psn, const At& at);
  void judge_timeout(Psn psn, const At& at);
  void settle(const At& at);
  void settle_gaps(const At& at);
  void read_response(const Headers& h, const At& at);
  void add_use(const Sent& sent);
  void add_delay(const Sent& sent, const At& at);

  // direction_refusals.cpp
  Occurrence& note_loss(Psn psn, const At& at);
  void sequence_nak(Psn psn, const At& at);
  void rnr_nak(const Headers& h, const At& at);
  void fatal_nak(const Headers& h, const At& at);
  std::string describe_refused(Psn psn, std::uint8_t syndrome);

  DirectionEnds ends_;
  std::vector<Occurrence> occurrences_;
  std::size_t settled_ = 0;  // so many of the first ones are

  bool started_ = false;
  Psn next_;                 // behind the furthest request
  std::uint32_t slack_ = 0;  // R7: so many PSNs less are right, too
  std::deque<Sent> sent_;    // by PSN
  std::vector<Gap> gaps_;
  std::vector<Gap> response_gaps_;                              // R5
  std::deque<std::pair<Psn, std::uint64_t>> recent_responses_;  // to READs: PSN, packet
  std::vector<std::uint64_t> overtaken_;
  Round round_;
  std::optional<std::size_t> refused_;  // occurrence of the last NAK, until requests come again

  bool any_ack_ = false;
  Psn acked_;  // behind the last PSN that was acknowledged
  At acked_at_;
  std::uint32_t largest_acked_ = 0;  // payload
  std::vector<Use> uses_;
  std::optional<Use> use_at_hand_;               // of a message whose LAST is not acknowledged yet
  std::optional<std::pair<Psn, At>> ack_ahead_;  // of a PSN that no request had so far

  // Message at hand: the operation of its packets
  bool in_message_ = false, message_is_write_ = false;
  std::uint32_t full_payload_ = 0;

  std::uint64_t requests_ = 0, responses_ = 0, empty_ = 0;
  std::uint16_t pkey_ = 0;
  std::optional<std::uint16_t> responder_pkey_;
  At first_at_, last_at_;
  Marks marks_, response_marks_, cnps_, cnps_to_responder_, no_credits_;
  std::map<std::uint32_t, Marks> qkeys_;
  Slowest slowest_;
  bool counts_credits_ = false;  // an ACK had other credits than none and unlimited
  std::vector<std::uint64_t> delays_;
  std::uint64_t delays_seen_ = 0, delay_stride_ = 1;
};

}  // namespace rxnic
