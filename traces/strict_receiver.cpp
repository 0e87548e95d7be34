// SPDX-License-Identifier: Apache-2.0
#include "traces/strict_receiver.h"

#include <algorithm>
#include <bit>

namespace rxnic {
namespace {

constexpr unsigned kMtus = 5;  // 256 to 4096

}  // namespace

void StrictReceiver::request(const Headers& h, std::uint32_t mtu, std::uint64_t packet) {
  if (!any_) first_ = low_ = high_ = h.psn;
  any_ = true;
  learn_mtu(mtu);
  if (h.psn - low_ < 0) return;
  const std::uint8_t mtus = low_ == high_ ? mtus_ : mtus_that_expect(h.psn);
  if (h.psn - high_ <= 0 && mtus != 0) {
    mtus_ = mtus;
    return take(h);
  }
  refusals_ += alone_;
  alone_ = false;
  if (!waits_ && losses_.size() < kLossesKept) {
    losses_.push_back({low_, high_, packet});  // (R1)
  } else {
    certain_ &= waits_;  // (R5)
  }
  waits_ = true;
}

void StrictReceiver::learn_mtu(std::uint32_t mtu) {
  std::uint8_t known = 0;
  for (unsigned n = 0; n < kMtus; ++n) known |= static_cast<std::uint8_t>((kMinMtu << n == mtu) << n);
  if (known == 0 || known == mtus_) return;
  certain_ &= (mtus_ & known) != 0;
  mtus_ = known;
  if (low_ != high_) low_ = high_ = read_psn_ + packets_of(read_bytes_, mtu);
}

// For which MTUs the READ before leads to that PSN. (R3)
std::uint8_t StrictReceiver::mtus_that_expect(Psn psn) const {
  std::uint8_t all = 0;
  for (unsigned n = 0; n < kMtus; ++n) {
    const bool fits = read_psn_ + packets_of(read_bytes_, std::uint32_t{kMinMtu} << n) == psn;
    all |= static_cast<std::uint8_t>(mtus_ & (fits << n));
  }
  return all;
}

void StrictReceiver::take(const Headers& h) {
  waits_ = alone_ = false;
  const std::uint32_t traits = opcode_info(h.opcode).traits;
  if (!took_any_) begins_inside_ = (traits & (kMiddle | kLast)) != 0;
  took_any_ = true;
  low_ = high_ = h.psn + 1;
  if ((traits & kRead) != 0) {
    read_psn_ = h.psn;
    read_bytes_ = h.length;
    const unsigned largest = static_cast<unsigned>(std::bit_width(unsigned{mtus_})) - 1;
    const auto smallest = static_cast<unsigned>(std::countr_zero(unsigned{mtus_}));
    low_ = h.psn + packets_of(h.length, std::uint32_t{kMinMtu} << largest);
    high_ = h.psn + packets_of(h.length, std::uint32_t{kMinMtu} << smallest);
  }
  if ((traits & (kFirst | kOnly)) != 0) message_bytes_ = 0;
  message_bytes_ += h.payload_bytes;
  if ((traits & kSend) != 0) largest_send_ = std::max(largest_send_, message_bytes_);
  if ((traits & kTakesWqe) != 0) {
    recent_[receives_ % kReceivesKept] = {h.psn, receives_};
    ++receives_;
  }
  if ((traits & (kLast | kOnly)) == 0) return;
  if (ends_.size() < kEndsKept && !more_ends_) {
    ends_.push_back(h.psn);
  } else {
    more_ends_ = true;
  }
}

void StrictReceiver::not_ready(Psn psn) {  // (R2)
  if (!any_ || psn - low_ >= 0) return;
  const std::optional<std::uint64_t> before = receives_before(psn);
  if (!before) return forget_certainty();
  receives_ = *before;
  const std::int32_t behind = low_ - psn;
  low_ = high_ = psn;
  waits_ = true;
  alone_ = behind == 1;  // nothing came behind it so far
  refusals_ += !alone_;
  while (!ends_.empty() && ends_.back() - psn >= 0) ends_.pop_back();
}

void StrictReceiver::begins_at(Psn psn, bool not_ready) {  // (R4)
  first_ = low_ = high_ = psn;
  waits_ = true;
  took_any_ = false;
  receives_ = message_bytes_ = 0;
  ends_.clear();
  losses_.clear();
  begins_not_ready_ = not_ready;
  refusals_ = not_ready;
  if (!not_ready) losses_.push_back({psn, psn, 0});
}

void StrictReceiver::restart(Psn psn) {
  low_ = high_ = psn;
  waits_ = false;
  message_bytes_ = 0;
  more_ends_ = true;  // the MSN begins anew
}

std::optional<std::uint64_t> StrictReceiver::receives_before(Psn psn) const {
  for (std::uint64_t back = 0; back < std::min<std::uint64_t>(receives_, kReceivesKept); ++back) {
    const Receive& r = recent_[(receives_ - 1 - back) % kReceivesKept];
    if (r.psn == psn) return r.before;
  }
  return std::nullopt;
}

bool StrictReceiver::is_certain(std::uint32_t mtu) const {
  if (mtu < kMinMtu) return false;
  return certain_ && !waits_ && (mtus_ & mtu / kMinMtu) != 0;
}

}  // namespace rxnic
