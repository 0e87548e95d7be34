// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/sender_qp.h"

#include <algorithm>
#include <utility>

#include "model/types/opcode.h"
#include "model/types/syndrome.h"
#include "model/types/wire_constants.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};
constexpr std::uint64_t kPsPerUs = 1'000'000;

// READs and atomics: they have an answer of their own, not an ACK.
bool takes_a_read(const SenderMessage& m) { return has(m.kind->opcode, kRead | kAtomic); }

}  // namespace

std::uint64_t SenderQp::count_of(const SenderMessage& m) const {
  return has(m.kind->opcode, kAtomic) ? 1 : packets_of(m.bytes, limits_->mtu);
}

void SenderQp::post(const SenderMessage& message) {
  messages_.push_back({message, end_, count_of(message), false});
  end_ += messages_.back().count;
}

bool SenderQp::can_send(std::uint64_t now_ps) const {
  if (failed_ || next_ == end_ || now_ps < blocked_until_ps_) return false;
  const Posted& p = messages_[cursor_];
  return p.counts_as_read || !takes_a_read(p.m) || reads_ < limits_->reads;
}

SenderPayload SenderQp::next(Headers& h) {
  Posted& p = messages_[cursor_];
  const SenderMessage& m = p.m;
  const std::uint32_t traits = request_info(m.kind->opcode).traits;
  const auto index = static_cast<std::uint32_t>(next_ - p.first);
  const std::uint32_t done = index * limits_->mtu;
  SenderPayload payload;
  h.psn = first_ + static_cast<std::uint32_t>(next_);
  const bool first = index == 0;
  bool last = true;
  std::uint64_t behind = p.first + p.count;
  if ((traits & (kSend | kWrite)) != 0) {
    payload.bytes = std::min<std::uint32_t>(limits_->mtu, m.bytes - done);
    last = done + payload.bytes == m.bytes;
    behind = next_ + 1;
    if (first && m.kind->tag != TagUse::kNone) {
      payload = {payload.bytes, m.kind->tag, m.tag, m.va, raw(m.rkey), m.announced};
    }
    if ((traits & kWrite) != 0 && first) h.va = m.va, h.rkey = m.rkey, h.length = m.bytes;
    if (last && (traits & (kHasImm | kHasIeth)) != 0) h.immediate = m.immediate;
    h.solicited = last && (traits & kHasImm) != 0;
  } else {
    h.rkey = m.rkey;
    h.va = m.va;
    if ((traits & kRead) != 0) {  // R4
      h.va += done;
      h.length = m.bytes - done;
    } else if ((traits & kHasAtomicEth) != 0) {
      h.swap_add = m.swap_add;
      h.compare = m.compare;
    } else {
      h.length = payload.bytes = kAtomicBytes;
    }
  }
  h.opcode = opcode_of(limits_->transport, operation_of(m.kind->opcode, first, last));
  h.ack_request = reliable() && last;
  if (takes_a_read(m) && !p.counts_as_read) {
    p.counts_as_read = true;
    ++reads_;
  }
  repeated_ += next_ < highest_;
  next_ = behind;
  highest_ = std::max(highest_, next_);
  if (next_ == p.first + p.count) ++cursor_;
  return payload;
}

void SenderQp::sent(std::uint64_t now_ps) {
  if (reliable()) {
    wait_again(now_ps);
    return;
  }
  for (; cursor_ != 0; --cursor_) {  // R5
    messages_.pop_front();
    ++sent_messages_;
  }
}

std::uint32_t SenderQp::take_sent() { return std::exchange(sent_messages_, 0); }

// The number of a PSN near the oldest one without an answer; kNoNumber: one that was never sent, or was answered.
std::uint64_t SenderQp::number_of(Psn psn) const {
  const std::int64_t ahead = psn - (first_ + static_cast<std::uint32_t>(unanswered_));
  if (ahead < 0) return kNoNumber;
  const std::uint64_t number = unanswered_ + static_cast<std::uint64_t>(ahead);
  return number < highest_ ? number : kNoNumber;
}

void SenderQp::wait_again(std::uint64_t now_ps) {
  deadline_ps_ = std::max(now_ps, blocked_until_ps_) + limits_->timeout_ps;
}

// All packets before `number` have an answer, but for the data of READs and atomics. (R2)
std::uint32_t SenderQp::advance(std::uint64_t number) {
  std::uint32_t answered = 0;
  while (!messages_.empty()) {
    const Posted& front = messages_.front();
    const std::uint64_t end = front.first + front.count;
    if (unanswered_ < std::min(number, end)) {
      if (takes_a_read(front.m)) {  // its data was lost
        if (went_back_ != unanswered_) go_back(unanswered_);
        went_back_ = unanswered_;
        break;
      }
      unanswered_ = std::min(number, end);
    }
    if (unanswered_ < end) break;
    reads_ -= front.counts_as_read ? 1 : 0;
    messages_.pop_front();
    if (cursor_ != 0) --cursor_;
    ++answered;
    if (unanswered_ >= number) break;
  }
  if (next_ < unanswered_) go_back(unanswered_);  // what it was to repeat has arrived after all
  return answered;
}

void SenderQp::go_back(std::uint64_t number) {
  next_ = std::min(number, highest_);
  cursor_ = 0;
  for (Posted& p : messages_) {
    if (p.first + p.count > next_) {
      if (p.first >= next_ && p.counts_as_read) {
        p.counts_as_read = false;
        --reads_;
      }
      if (p.first >= highest_) break;
    } else {
      ++cursor_;
    }
  }
}

std::uint32_t SenderQp::on_answer(const Headers& h, std::uint64_t now_ps) {
  const std::uint64_t number = number_of(h.psn);
  if (!reliable() || failed_ || number == kNoNumber) return 0;
  const std::uint64_t before = unanswered_;
  const std::uint32_t answered = take_answer(h, number, now_ps);
  if (unanswered_ != before) {
    timeouts_in_row_ = 0;
    wait_again(now_ps);
  }
  return answered;
}

std::uint32_t SenderQp::take_answer(const Headers& h, std::uint64_t number, std::uint64_t now_ps) {
  const OpcodeInfo& op = opcode_info(h.opcode);
  if ((op.traits & (kReadResponse | kHasAtomicAckEth)) != 0) {
    const std::uint32_t before = advance(number);
    if (unanswered_ != number || messages_.empty() || !takes_a_read(messages_.front().m)) return before;
    ++unanswered_;
    return before + advance(unanswered_);
  }
  switch (ack_kind(h.syndrome)) {
    case AckKind::kAck:
      return advance(number + 1);
    case AckKind::kRnrNak: {  // R3
      const std::uint32_t answered = advance(number);
      blocked_until_ps_ = now_ps + rnr_timer_us(h.syndrome) * kPsPerUs;
      go_back(unanswered_);
      wait_again(now_ps);
      return answered;
    }
    case AckKind::kNak:
      break;
  }
  const std::uint32_t answered = advance(number);
  failed_ = ends_qp(h.syndrome);
  if (!failed_) go_back(unanswered_);
  wait_again(now_ps);
  return answered;
}

std::uint64_t SenderQp::alarm_ps() const {
  if (failed_ || !reliable()) return 0;
  if (blocked_until_ps_ != 0) return blocked_until_ps_;
  return unanswered_ < highest_ ? deadline_ps_ : 0;
}

void SenderQp::on_alarm(std::uint64_t now_ps) {
  if (blocked_until_ps_ != 0) {
    if (now_ps >= blocked_until_ps_) blocked_until_ps_ = 0;
    return;
  }
  if (failed_ || unanswered_ >= highest_ || now_ps < deadline_ps_) return;
  ++timeouts_;
  failed_ = ++timeouts_in_row_ > limits_->retries;
  went_back_ = kNoNumber;
  if (!failed_) go_back(unanswered_);
  wait_again(now_ps);
}

}  // namespace rxnic
