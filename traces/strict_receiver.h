// SPDX-License-Identifier: Apache-2.0
// Part of a survey: what a receiver that takes each PSN in its turn has taken of a flow's requests.
//
//   R1  A request ahead of the expected PSN is not taken, and neither are those behind it, until the expected one
//       comes. The first of them is a loss: a sequence NAK (0x60) is due. A request behind the expected PSN is a
//       repetition.
//   R2  An RNR NAK takes its request back, and all behind it. The request then comes again.
//   R3  Without a known MTU a READ leaves several PSNs for the next request, one for each MTU. The one that comes rules
//       out the MTUs of the others.
//   R4  A NAK may name a PSN before the first request: nothing of the flow was taken before that PSN comes.
//   R5  Memory is bounded; `certain` is false when something is left out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/types/wire.h"

namespace rxnic {

class StrictReceiver {
 public:
  static constexpr std::size_t kLossesKept = 16384;
  static constexpr std::size_t kReceivesKept = 32;
  static constexpr std::size_t kEndsKept = 256;

  static constexpr std::uint8_t kEveryMtu = 0x1f;

  struct Loss {                // a sequence NAK was due there (R1)
    Psn low, high;             // the expected PSN
    std::uint64_t packet = 0;  // the request that was ahead of it
  };

  // `mtu`: 0 when it is not known (R3).
  void request(const Headers& h, std::uint32_t mtu, std::uint64_t packet);
  // The captured receiver has sent an RNR NAK of that PSN (R2).
  void not_ready(Psn psn);
  // The captured receiver has sent a NAK of a PSN before that of the first request, an RNR NAK or a sequence NAK. (R4)
  void begins_at(Psn psn, bool not_ready);
  void forget_certainty() { certain_ = false; }
  // A new connection begins with that PSN.
  void restart(Psn psn);

  // How many receive WQEs were taken before the request with that PSN; nothing when that is not known (any more).
  std::optional<std::uint64_t> receives_before(Psn psn) const;
  // Whether that PSN is one of those that the loss may mean.
  static bool may_be(const Loss& loss, Psn psn) { return psn - loss.low >= 0 && psn - loss.high <= 0; }
  // Whether all is known, nothing is waited for at the end, and the READs have as many responses as this MTU gives.
  bool is_certain(std::uint32_t mtu) const;

  Psn first() const { return first_; }                         // the PSN that it expected first
  bool begins_inside() const { return begins_inside_; }        // with the MIDDLE or LAST of a message
  bool begins_not_ready() const { return begins_not_ready_; }  // R4: with an RNR NAK
  const std::vector<Loss>& losses() const { return losses_; }
  std::uint64_t refusals() const { return refusals_; }  // R2, with requests behind it that were not taken
  std::uint64_t largest_send() const { return largest_send_; }
  const std::vector<Psn>& ends() const { return ends_; }  // PSNs at which messages ended, the first ones
  bool more_ends() const { return more_ends_; }

 private:
  struct Receive {
    Psn psn;
    std::uint64_t before = 0;
  };
  void learn_mtu(std::uint32_t mtu);
  std::uint8_t mtus_that_expect(Psn psn) const;
  void take(const Headers& h);

  bool any_ = false, waits_ = false, alone_ = false, certain_ = true, more_ends_ = false;
  bool took_any_ = false, begins_inside_ = false, begins_not_ready_ = false;
  Psn first_;
  Psn low_, high_;  // the next PSN is one of these
  Psn read_psn_;    // of the READ that left several
  std::uint32_t read_bytes_ = 0;
  std::uint8_t mtus_ = kEveryMtu;  // bit n: kMinMtu << n is possible (R3)
  std::vector<Loss> losses_;
  std::uint64_t refusals_ = 0;
  std::array<Receive, kReceivesKept> recent_{};
  std::uint64_t receives_ = 0;
  std::uint64_t message_bytes_ = 0, largest_send_ = 0;
  std::vector<Psn> ends_;
};

}  // namespace rxnic
