// SPDX-License-Identifier: Apache-2.0
// What a replay finds out about packets of its capture besides its events. It is how the captured receiver's answers
// compare with the model's, and which frames are copies.
//
//   R1  An answer takes 32 bytes. Words are kept of kMostWords differences; further ones are differences without words.
#pragma once

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/types/address.h"
#include "traces/answer_observer.h"

namespace rxnic {

class PacketNotes final : public AnswerObserver {
 public:
  struct Answer {
    std::uint64_t captured = 0, model = 0;
    Qpn own{};
    AnswerVerdict verdict{};
    Uncompared reason{};
  };
  static constexpr std::size_t kMostWords = 65536;

  void on_compared(const ComparedAnswer& answer) override;
  // After the run, before what follows.
  void sort();

  // Those of the packets `first` to `last`, in their order.
  std::span<const Answer> answers(std::uint64_t first, std::uint64_t last) const;
  const Answer* answer(std::uint64_t captured) const;
  // The first captured answer that was compared with a frame of the model.
  const Answer* compared_with(std::uint64_t model) const;
  // What differs; "" when there are too many.
  std::string_view words(std::uint64_t captured) const;
  // Differences for which nothing is captured, by the number of the model's frame.
  const std::unordered_map<std::uint64_t, std::string>& uncaptured() const { return uncaptured_; }

  std::vector<std::uint64_t> copies;  // numbers of frames that were left out, in their order
  Address receiver;

 private:
  std::vector<Answer> answers_;
  std::vector<std::uint32_t> by_model_;  // indices into answers_
  std::unordered_map<std::uint64_t, std::string> words_, uncaptured_;
};

}  // namespace rxnic
