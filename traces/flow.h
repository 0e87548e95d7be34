// SPDX-License-Identifier: Apache-2.0
// Part of a survey: everything that one address sends to one QPN of another. Requests and answers to requests of the
// other side go to the same QPN, so a flow may hold both.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/types/wire.h"
#include "traces/strict_receiver.h"

namespace rxnic {

struct Flow {
  static constexpr std::size_t kEndsKept = 256;
  static constexpr std::size_t kAnswersKept = 8;
  static constexpr std::size_t kPortsKept = 4;
  static constexpr std::size_t kReceivesKept = 32;
  static constexpr std::size_t kCandidatesKept = 16;
  static constexpr std::size_t kSrqsKept = 256;
  static constexpr std::size_t kRnrKept = 16384;
  static constexpr std::size_t kNaksKept = 16384;
  static constexpr std::size_t kUsesKept = 32;

  struct Answer {
    Psn psn;
    std::uint32_t msn = 0;
  };
  struct Port {
    std::uint16_t port = 0;
    std::uint64_t packets = 0;
  };
  struct Receive {  // a request that takes a receive WQE
    Psn psn;
    std::uint64_t before = 0;  // how many did before
  };
  struct Candidate {
    std::uint32_t flow = 0;
    std::uint32_t votes = 0;
  };
  struct Nak {
    Psn psn;
    std::uint8_t syndrome = 0;
    std::uint64_t packet = 0;
  };
  struct Refused {  // by an RNR NAK: perhaps a request of that flow, which had used up so many receives
    std::uint32_t flow = 0;
    std::optional<std::uint64_t> receives, strictly;  // the latter: as StrictReceiver counts them
  };
  struct Use {  // of a region, by a request
    Psn psn;
    std::uint64_t packet = 0;
  };
  struct Restart {  // a new connection: its first request
    std::uint64_t packet = 0;
    Psn psn;
  };

  std::uint32_t source = 0;  // indices of addresses
  std::uint32_t destination = 0;
  Qpn qpn{};
  Transport transport = Transport::kNone;
  std::uint16_t pkey = kDefaultPkey;
  std::uint32_t qkey = 0;
  std::array<Port, kPortsKept> ports{};
  std::uint32_t full_payload = 0;     // largest of a FIRST or MIDDLE
  std::uint32_t largest_payload = 0;  // of any

  // Requests
  std::uint64_t requests = 0;
  Psn first_psn;
  Psn next_low, next_high;  // where the next PSN may be; they differ after a READ while the MTU is not known
  bool gap_seen = false;
  Psn first_gap;  // the first PSN that is missing
  std::uint64_t psn_gaps = 0;
  std::uint64_t psns_missing = 0;
  std::uint64_t repetitions = 0;
  std::uint32_t last_read = 0;  // bytes of the READ that was the last request, 0: it was none
  Psn last_read_psn;
  std::uint32_t stepped_bytes = 0;  // a READ of that many bytes ...
  std::uint32_t stepped_psns = 0;   // ... had that many responses
  std::vector<Psn> ends;            // PSNs at which messages ended, the first ones
  bool more_ends = false;
  std::uint64_t receives = 0;
  std::array<Receive, kReceivesKept> recent_receives{};
  std::uint64_t message_bytes = 0;
  std::uint64_t largest_send = 0;
  std::uint64_t largest_message = 0;
  std::uint64_t largest_read = 0;
  std::vector<Srqn> srqs;
  std::array<Use, kUsesKept> recent_uses{};
  std::uint64_t uses = 0;
  std::uint64_t saved = 0;  // READs and atomics
  std::vector<Restart> restarts;
  bool first_inside = false;  // the first request is the MIDDLE or LAST of a message
  StrictReceiver strict;      // of a connected QP

  // Answers
  std::uint64_t answers = 0;
  std::vector<Answer> first_answers;  // positive ones that carry an AETH
  std::vector<Candidate> candidates;  // flows of requests that these answers may answer
  std::uint64_t votes_cast = 0;
  std::vector<Nak> naks;  // the first ones
  std::vector<Refused> refused;

  void count(const Headers& h);  // every packet
  void count_request(const Headers& h, std::uint64_t packet);
  // The next request is the first of a new connection: what the PSNs, MSNs and messages were before says nothing.
  void restart(Psn psn, std::uint64_t packet);
  void count_answer(const Headers& h, std::uint64_t packet);
  void vote(std::uint32_t flow, std::uint32_t weight);
  std::uint32_t votes_for(std::uint32_t flow) const;
  // How many receives came before the request with that PSN; nothing when that is no longer known.
  std::optional<std::uint64_t> receives_before(Psn psn) const;
  bool uses_port_of(const Flow& other) const;

 private:
  void advance(const Headers& h, std::uint32_t traits);
};

}  // namespace rxnic
