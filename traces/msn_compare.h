// SPDX-License-Identifier: Apache-2.0
// The MSNs of one captured receiver QP against the model's (R4, R7 of answer_compare.h).
//
//   R1  A captured MSN is compared with that of the model's answer to the same PSN, less a distance. The distance is 0
//       from the start, or not known. When it is not known, and behind a gap in the captured requests, the next answer
//       sets it.
//   R2  model_at(): what the model would have answered a PSN with, when it acknowledged a later one. This is the MSN of
//       the later answer less the messages that end between them. Not known across a gap.
//   R3  Two rules: the MSN counts every message, as specified, or leaves WRITEs without immediate out (Soft-RoCE). Both
//       hold until an answer breaks one of them; an answer that breaks all that still hold is a difference.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "model/types/wire.h"

namespace rxnic {

class MsnCompare {
 public:
  // A captured request behind all before it; `gap`: requests before it are missing.
  void request(const Headers& h, bool gap);
  // The first request is that PSN, and how many messages ended before it is not known.
  void begins_anywhere(Psn first) { gaps_.push_back(first); }
  // An answer of the model with an MSN.
  void model(Psn psn, std::uint32_t msn);

  // Forgets the distance when a gap lies before the PSN. (R1)
  void pass_gaps(Psn psn);
  std::optional<std::uint32_t> model_at(Psn psn) const;  // (R2)
  enum class Verdict : std::uint8_t { kAgrees, kDeviates, kDiffers };
  // `model`: the model's MSN for that PSN. kDeviates: it agrees, but for the first time only by the second rule. (R3)
  Verdict compare(Psn psn, std::uint32_t captured, std::uint32_t model);
  std::uint32_t rebased() const { return rebased_; }  // times that a gap changed the distance
  // What the captured receiver should have sent where the model sent that.
  std::uint32_t expected(std::uint32_t model) const { return (model + rules_[kEveryMessage].ahead) & k24Bits; }

 private:
  struct MessageEnd {  // of a request; messages so far, this one included
    Psn psn;
    std::uint32_t messages = 0;
    std::uint32_t writes = 0;  // of them: WRITEs without immediate
  };
  enum : std::uint8_t { kEveryMessage, kWithoutWrites, kRules };
  struct Rule {
    bool holds = true;
    bool based = false;       // `ahead` is known
    std::uint32_t ahead = 0;  // captured MSN less the model's
  };
  const MessageEnd* end_before(Psn psn) const;

  std::deque<Psn> gaps_;  // first PSNs behind them
  std::deque<MessageEnd> ends_;
  bool forgot_ends_ = false;
  std::array<Rule, kRules> rules_{Rule{.based = true}, Rule{}};
  bool any_ = false;  // an answer of the model
  Psn model_psn_;     // its newest
  std::uint32_t model_msn_ = 0;
  std::uint32_t rebased_ = 0;
};

}  // namespace rxnic
