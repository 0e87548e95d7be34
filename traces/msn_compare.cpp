// SPDX-License-Identifier: Apache-2.0
#include "traces/msn_compare.h"

#include <algorithm>

namespace rxnic {
namespace {

constexpr std::size_t kGapsKept = 4096;
constexpr std::size_t kEndsKept = 65536;
constexpr std::int32_t kEndsSpan = 1 << 22;  // PSNs: they are circular

}  // namespace

void MsnCompare::request(const Headers& h, bool gap) {
  if (gap) {
    gaps_.push_back(h.psn);
    if (gaps_.size() > kGapsKept) gaps_.pop_front();
  }
  const std::uint32_t traits = opcode_info(h.opcode).traits;
  if (!(traits & (kLast | kOnly))) return;
  MessageEnd end = ends_.empty() ? MessageEnd{} : ends_.back();
  end.psn = h.psn;
  ++end.messages;
  end.writes += (traits & kWrite) != 0 && !(traits & kHasImm);
  ends_.push_back(end);
  if (ends_.size() <= kEndsKept && h.psn - ends_.front().psn < kEndsSpan) return;
  ends_.pop_front();
  forgot_ends_ = true;
}

void MsnCompare::model(Psn psn, std::uint32_t msn) {
  if (any_ && psn - model_psn_ <= 0) return;
  any_ = true;
  model_psn_ = psn;
  model_msn_ = msn;
}

// The last message that ends at or before the PSN; nullptr: it is not known any more.
const MsnCompare::MessageEnd* MsnCompare::end_before(Psn psn) const {
  const auto behind =
      std::upper_bound(ends_.begin(), ends_.end(), psn, [](Psn a, const MessageEnd& b) { return a - b.psn < 0; });
  static constexpr MessageEnd kNone{};
  if (behind == ends_.begin()) return forgot_ends_ ? nullptr : &kNone;
  return &*(behind - 1);
}

std::optional<std::uint32_t> MsnCompare::model_at(Psn psn) const {  // (R2)
  if (!any_ || psn - model_psn_ > 0) return std::nullopt;
  const bool gap = !gaps_.empty() && gaps_.front() - model_psn_ <= 0;
  const MessageEnd* const then = end_before(psn);
  const MessageEnd* const later = end_before(model_psn_);
  if (gap || then == nullptr || later == nullptr) return std::nullopt;
  return model_msn_ - (later->messages - then->messages);
}

void MsnCompare::pass_gaps(Psn psn) {  // (R1)
  for (; !gaps_.empty() && psn - gaps_.front() >= 0; gaps_.pop_front()) {
    for (Rule& rule : rules_) rule.based = false;
  }
}

MsnCompare::Verdict MsnCompare::compare(Psn psn, std::uint32_t captured, std::uint32_t model) {  // (R3)
  const MessageEnd* const end = end_before(psn);
  std::array<bool, kRules> holds{};
  for (std::size_t n = 0; n < kRules; ++n) {
    Rule& rule = rules_[n];
    if (!rule.holds || (n == kWithoutWrites && end == nullptr)) continue;
    const std::uint32_t left_out = n == kWithoutWrites ? end->writes : 0;
    const std::uint32_t ahead = (captured - (model - left_out)) & k24Bits;
    if (rule.based) {
      holds[n] = rule.ahead == ahead;
    } else {  // one answer alone shows no deviation
      holds[n] = n == kEveryMessage || !rules_[kEveryMessage].holds || holds[kEveryMessage];
      rebased_ += n == kEveryMessage && rule.ahead != ahead;
      rule.ahead = ahead;
      rule.based = true;
    }
  }
  if (!holds[kEveryMessage] && !holds[kWithoutWrites]) return Verdict::kDiffers;
  const bool deviates = rules_[kEveryMessage].holds && !holds[kEveryMessage];
  for (std::size_t n = 0; n < kRules; ++n) rules_[n].holds &= holds[n];
  return deviates ? Verdict::kDeviates : Verdict::kAgrees;
}

}  // namespace rxnic
