// SPDX-License-Identifier: Apache-2.0
// Random sequences of receives, tag operations, windows, lists of requests and polls on random sets of QPs, against a
// plain reference (reference.h). With RXNIC_IMPAIRED the network may be imperfect. Both have equal completions and
// events, and equal memory of hosts and devices. A sequence depends on its number alone. RXNIC_SEED, and
// RXNIC_SEQUENCES for another number of them.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <span>
#include <vector>

#include "testbench/live/differential.h"

namespace rxnic::live::differential_test {
namespace {

constexpr const char* kNames[kWays] = {"RC", "UC", "UD", "SRQ", "XRC", "tags", "group"};

class DifferentialTest : public Differential {
 protected:
  void step(Way way) {
    if (chance(30)) {
      const Way members[] = {way, Way::kGroup2, Way::kGroupOfA};
      receive(way == Way::kGroup ? members[below(3)] : way);
    } else if (way == Way::kTags && chance(50)) {
      operate();
    } else if ((way == Way::kRc || way == Way::kSrq || way == Way::kUc) && chance(12)) {
      use_window(way);
    } else {
      if (!tags_in_use_ && !armed() && chance(15)) arm(chance(50));
      requests(way, chance(60) ? 1 : 2 + below(way == Way::kTags ? 3 : 4));
    }
  }

  // What is wrong, if anything is, in one of the memories.
  static void compare(const Reference::Bytes& found, const Reference::Bytes& wanted, const char* whose) {
    std::size_t first = kSpace, last = 0, wrong = 0;
    for (std::size_t n = 0; n < kSpace; ++n) {
      if (found[n] == wanted[n]) continue;
      first = std::min(first, n);
      last = n;
      ++wrong;
    }
    if (wrong == 0) return;
    ADD_FAILURE() << wrong << " bytes of " << whose << "'s memory are wrong, the first at " << first << " (is "
                  << unsigned{found[first]} << "; expected " << unsigned{wanted[first]} << "), the last at " << last;
  }

  std::span<const Way> all_ways() const {
    static constexpr Way kReliable[] = {Way::kRc, Way::kSrq, Way::kXrc, Way::kTags};
    static constexpr Way kAll[] = {Way::kRc, Way::kUc, Way::kUd, Way::kSrq, Way::kXrc, Way::kTags, Way::kGroup};
    static_assert(std::size(kAll) == kWays);
    return impaired_ ? std::span<const Way>(kReliable) : kAll;
  }

  void run_sequence(std::uint64_t number) {
    if (traces_) std::cout << "sequence " << number << '\n';
    random_.seed(number);
    reference().set_memory(a_space_.fill(number), b_space_.fill(~number));
    std::vector<Way> ways;
    for (const Way way : all_ways()) {
      if (chance(40)) ways.push_back(way);
    }
    if (ways.empty()) ways.push_back(all_ways()[below(all_ways().size())]);
    for (const Way way : ways) set_up(way);
    tags_in_use_ = std::find(ways.begin(), ways.end(), Way::kTags) != ways.end();
    for (std::size_t left = 4 + below(24); left > 0 && !HasFailure(); --left) step(ways[below(ways.size())]);
    for (const Way way : ways) {
      if (!HasFailure()) drain(way);
    }
    if (!HasFailure()) close_windows();
    if (!HasFailure()) disarm();
    fence();
    compare(a_space_.bytes(), reference().a(), "A");
    compare(b_space_.bytes(), reference().b(), "B");
    expect_empty();
    read_events();
    if (!HasFailure()) return;  // RXNIC_TRACE=1 shows its steps
    std::cout << "sequence " << number << ":";
    for (const Way way : ways) std::cout << ' ' << kNames[static_cast<std::size_t>(way)];
    std::cout << '\n';
  }
};

TEST_P(DifferentialTest, RandomSequencesAgreeWithAPlainReference) {
  const char* const asked = std::getenv("RXNIC_SEQUENCES");
  const std::uint64_t sequences = asked == nullptr ? 300 : std::strtoull(asked, nullptr, 10);
  const std::uint64_t first = seed() * 1'000'003;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t n = 0; n < sequences && !HasFailure(); ++n) run_sequence(first + n);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::cout << sequences << " sequences from number " << first << " on: " << requests_ << " requests (" << lists_
            << " lists of several, " << fenced_ << " held by a fence), of which " << waits_ << " waited for a receive, "
            << failures_ << " failed; " << refused_ << " calls refused; " << window_requests_ << " window requests; "
            << operations_ << " tag operations; " << completions_ << " completions, " << events_ << " events; "
            << static_cast<std::uint64_t>(double(sequences) / took.count()) << " sequences/s\n";
}

RXNIC_ON_ONE_AND_TWO_NICS(DifferentialTest);

}  // namespace
}  // namespace rxnic::live::differential_test
