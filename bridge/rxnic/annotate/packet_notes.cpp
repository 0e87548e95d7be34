// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/annotate/packet_notes.h"

#include <algorithm>
#include <numeric>

namespace rxnic {

// (R1)
void PacketNotes::on_compared(const ComparedAnswer& answer) {
  const bool has_words = answer.verdict == AnswerVerdict::kDifferent && words_.size() + uncaptured_.size() < kMostWords;
  if (answer.captured == 0) {
    if (has_words) uncaptured_.emplace(answer.model, answer.words);
    return;
  }
  answers_.push_back({answer.captured, answer.model, answer.own, answer.verdict, answer.reason});
  if (has_words) words_.emplace(answer.captured, answer.words);
}

void PacketNotes::sort() {
  std::ranges::stable_sort(answers_, {}, &Answer::captured);
  std::ranges::sort(copies);
  by_model_.resize(answers_.size());
  std::iota(by_model_.begin(), by_model_.end(), 0u);
  std::ranges::stable_sort(by_model_, {}, [this](std::uint32_t n) { return answers_[n].model; });
}

std::span<const PacketNotes::Answer> PacketNotes::answers(std::uint64_t first, std::uint64_t last) const {
  const auto from = std::ranges::lower_bound(answers_, first, {}, &Answer::captured);
  const auto to = std::ranges::upper_bound(from, answers_.end(), last, {}, &Answer::captured);
  return {from, to};
}

const PacketNotes::Answer* PacketNotes::answer(std::uint64_t captured) const {
  const std::span<const Answer> found = answers(captured, captured);
  return found.empty() ? nullptr : &found.front();
}

const PacketNotes::Answer* PacketNotes::compared_with(std::uint64_t model) const {
  const auto of = [this](std::uint32_t n) { return answers_[n].model; };
  const auto at = std::ranges::lower_bound(by_model_, model, {}, of);
  return model == 0 || at == by_model_.end() || of(*at) != model ? nullptr : &answers_[*at];
}

std::string_view PacketNotes::words(std::uint64_t captured) const {
  const auto found = words_.find(captured);
  return found == words_.end() ? std::string_view() : found->second;
}

}  // namespace rxnic
