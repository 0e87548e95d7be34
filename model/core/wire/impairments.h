// SPDX-License-Identifier: Apache-2.0
// What an imperfect network does to the frames of its links. The impairments are those of Linux's netem (tc-netem(8))
// besides delay and rate: loss, corruption, duplication, reordering; congestion marks and pauses are added.
//
//   R1  What happens to a frame follows from the seed, the link's number, and the frame's number on that link alone. No
//       state is kept: frames may be asked for in any order and again, and other links change nothing.
//   R2  Each impairment is drawn by itself. It happens to `ppm` of a million frames on average, and besides to the
//       frames whose numbers `at` names. A frame that is lost suffers nothing else but a pause.
//   R3  Only every `every`-th frame from `first` to `last` is drawn. `at` holds for all.
//   R4  A corrupted frame has one wrong bit, which its ICRC covers and no check before that of the ICRC looks at. It
//       is behind the BTH of a connected transport, in the payload, pad or ICRC of another. A frame without an ICRC has
//       it anywhere behind the MAC addresses.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/types/ids.h"
#include "model/types/wire.h"

namespace rxnic {

enum class Impairment : std::uint8_t { kLoss, kCorruption, kDuplication, kReordering, kMark, kPause };
inline constexpr std::size_t kImpairments = 6;

// Frames first to last of a link; the first frame of a link has number 1.
struct FrameRange {
  std::uint64_t first = 1, last = ~std::uint64_t{0};
  bool has(std::uint64_t number) const { return number >= first && number <= last; }
};

// How often one impairment happens. (R2)
struct ImpairmentRate {
  std::uint32_t ppm = 0;       // 0 to 1,000,000
  std::vector<FrameRange> at;  // in any order
};

struct ImpairmentPlan {
  std::array<ImpairmentRate, kImpairments> rates;
  FrameRange drawn;         // (R3)
  std::uint64_t every = 1;  // at least 1
  std::uint64_t seed = 1;
  ImpairmentRate& operator[](Impairment i) { return rates[static_cast<std::size_t>(i)]; }
};

// What happens to one frame: a set of impairments.
class FrameFate {
 public:
  void add(Impairment i) { bits_ |= bit(i); }
  void remove(Impairment i) { bits_ &= ~bit(i); }
  bool has(Impairment i) const { return (bits_ & bit(i)) != 0; }
  bool empty() const { return bits_ == 0; }
  std::uint32_t bits() const { return bits_; }  // bit by number of the impairment

 private:
  static std::uint32_t bit(Impairment i) { return 1u << static_cast<unsigned>(i); }
  std::uint32_t bits_ = 0;
};

class Impairments {
 public:
  explicit Impairments(ImpairmentPlan plan);
  bool any() const { return any_; }  // false: every fate is empty
  FrameFate fate_of(std::uint64_t link, std::uint64_t number) const;
  // The frame, link header to ICRC, gets its wrong bit. (R4)
  void corrupt(std::span<std::uint8_t> frame, LinkLayer layer, std::uint64_t link, std::uint64_t number) const;

 private:
  std::uint64_t drawn(std::uint64_t link, std::uint64_t number, std::uint64_t purpose, std::uint64_t below) const;
  ImpairmentPlan plan_;
  bool any_ = false;
};

}  // namespace rxnic
