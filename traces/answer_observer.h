// SPDX-License-Identifier: Apache-2.0
// What the comparison of answers (answer_compare.h) finds about each answer, as it finds it.
//
//   R1  Every captured answer is notified once. So is an answer of the model that differs because the captured receiver
//       sent none: it has no captured packet. How many have which verdict is what CompareCounts says.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/types/ids.h"

namespace rxnic {

enum class Uncompared : std::uint8_t;  // answer_compare.h

enum class AnswerVerdict : std::uint8_t { kEqual, kCovered, kGiven, kDifferent, kNotCompared };

struct ComparedAnswer {
  std::uint64_t captured = 0;  // number of the packet; 0: none (R1)
  std::uint64_t model = 0;     // number of the model's frame; 0: none of its own
  Qpn own{};                   // QP of the receiver; 0: not known
  AnswerVerdict verdict{};
  Uncompared reason{};     // of kNotCompared
  std::string_view words;  // of kDifferent
};

class AnswerObserver {
 public:
  virtual ~AnswerObserver() = default;
  virtual void on_compared(const ComparedAnswer& answer) = 0;
};

}  // namespace rxnic
