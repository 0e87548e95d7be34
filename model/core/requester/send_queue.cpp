// SPDX-License-Identifier: Apache-2.0
#include "model/core/requester/send_queue.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "model/types/syndrome.h"
#include "model/types/wire_constants.h"

namespace rxnic {

namespace {

constexpr std::uint8_t kForEver = 7;
constexpr std::int32_t kPsnSpan = (1 << 23) - 1;  // largest distance at which the order of two PSNs is known

WcStatus nak_status(std::uint8_t syndrome) {  // (R8)
  switch (syndrome) {
    case kNakRemoteAccess:
      return WcStatus::kRemoteAccess;
    case kNakRemoteOperation:
      return WcStatus::kRemoteOperation;
    default:
      return WcStatus::kRemoteInvalidRequest;
  }
}

std::uint32_t psns_of(SendOpcode opcode, std::uint32_t bytes, std::uint32_t most) {  // (R1)
  return has(opcode, kAtomic) ? 1 : packets_of(bytes, most);
}

}  // namespace

void SendQueue::set_limits(const SendQueueLimits& limits) {
  limits_ = limits;
  if (ring_.empty()) ring_.resize(std::bit_ceil(limits.window));
  retries_left_ = limits.retry_count;
  rnr_left_ = limits.rnr_retry;
}

void SendQueue::restart(Psn psn) {
  first_ = size_ = cursor_ = cursor_number_ = extra_ = data_ = since_ack_request_ = 0;
  waiting_ = went_back_ = resumes_ = false;
  retries_left_ = limits_.retry_count;
  rnr_left_ = limits_.rnr_retry;
  set_psn(psn);
}

SendHold SendQueue::hold(SendOpcode opcode, std::uint8_t flags, std::uint32_t bytes) const {  // (R2)
  if (waiting_ || cursor_ < size_) return SendHold::kUnsent;
  if (!limits_.reliable) return SendHold::kNone;
  if (in_flight() >= limits_.window) return SendHold::kWindow;
  const std::int32_t outstanding = next_psn_ - unacked_;
  if (outstanding > 0 && outstanding + static_cast<std::int32_t>(psns_of(opcode, bytes, limits_.mtu)) > kPsnSpan) {
    return SendHold::kWindow;
  }
  if (has(opcode, kSaved) && data_ >= limits_.max_rd_atomic) return SendHold::kData;
  if ((flags & kSendFence) != 0 && (data_ > 0 || data_end_ - placed_ > 0)) return SendHold::kFence;
  return SendHold::kNone;
}

const SendRequest& SendQueue::begin(const SendRequest& request) {
  assert(cursor_ == size_ && size_ < ring_.size());
  SendRequest& r = at(size_++);
  r = request;
  r.psn_count = psns_of(r.opcode, r.bytes, most_bytes(r));
  r.packets = has(r.opcode, kReturnsData) ? 1 : r.psn_count;
  r.first_psn = next_psn_;
  next_psn_ = next_psn_ + r.psn_count;
  if (has(r.opcode, kSaved)) {
    ++data_;
    if (data_end_ - placed_ <= 0) placed_ = r.first_psn;  // PSNs wrap around
    data_end_ = r.first_psn + r.psn_count;
  }
  cursor_number_ = 0;
  return r;
}

// Request packets between the first without an answer and the cursor.
std::uint32_t SendQueue::in_flight() const {
  if (size_ == 0) return 0;
  const SendRequest& front = at(0);
  const bool data = has(front.opcode, kReturnsData);
  const std::uint32_t answered = data ? 0 : static_cast<std::uint32_t>(unacked_ - front.first_psn);
  if (cursor_ == 0) return data ? 0 : cursor_number_ - answered;
  const Psn next = cursor_ == size_ ? next_psn_ : at(cursor_).first_psn + cursor_number_;
  return static_cast<std::uint32_t>(next - front.first_psn) - extra_ - answered;
}

RequestPacket SendQueue::packet() const {
  const SendRequest& r = at(cursor_);
  RequestPacket p;
  p.number = cursor_number_;
  p.psn = r.first_psn + cursor_number_;
  p.offset = cursor_number_ * most_bytes(r);
  p.first = cursor_number_ == 0;
  p.repeated = p.psn - sent_end_ < 0;
  p.repeats_request = p.repeated && (p.first || resumes_);
  if (has(r.opcode, kReturnsData)) {
    p.bytes = r.bytes - p.offset;  // (R7)
    p.last = true;
  } else {
    p.bytes = std::min(most_bytes(r), r.bytes - p.offset);
    p.last = cursor_number_ + 1 == r.packets;
  }
  p.ack_request = limits_.reliable &&
                  (p.last || since_ack_request_ + 1 >= limits_.ack_every || in_flight() + 1 >= limits_.window);  // (R3)
  return p;
}

bool SendQueue::sent() {
  const SendRequest& r = at(cursor_);
  const RequestPacket p = packet();
  const Psn end = p.last ? r.first_psn + r.psn_count : p.psn + 1;
  if (end - sent_end_ > 0) sent_end_ = end;
  resumes_ = false;
  since_ack_request_ = p.ack_request ? 0 : since_ack_request_ + 1;
  if (!p.last) {
    ++cursor_number_;
    return false;
  }
  ++cursor_;
  cursor_number_ = 0;
  extra_ += r.psn_count - r.packets;
  if (!limits_.reliable) {  // (R9)
    unacked_ = sent_end_;
    pop();
  }
  return true;
}

void SendQueue::pop() {
  const SendRequest& r = at(0);
  data_ -= has(r.opcode, kSaved);
  if (cursor_ > 0) {
    --cursor_;
    extra_ -= r.psn_count - r.packets;
  } else {
    cursor_number_ = 0;
  }
  ++first_;
  --size_;
}

// Everything before `end` was answered; false when it was answered before. (R4)
bool SendQueue::acknowledge(Psn end) {
  if (end - unacked_ <= 0 || end - sent_end_ > 0) return false;
  unacked_ = end;
  while (size_ > 0 && end - (at(0).first_psn + at(0).psn_count) >= 0) pop();
  if (cursor_ == 0 && size_ > 0) {  // it had gone back to a request that has now been answered
    const std::int32_t answered = unacked_ - at(0).first_psn;
    cursor_number_ = std::max(cursor_number_, static_cast<std::uint32_t>(std::max(answered, 0)));
  }
  went_back_ = false;
  retries_left_ = limits_.retry_count;  // (R6)
  rnr_left_ = limits_.rnr_retry;
  return true;
}

void SendQueue::go_back() {
  cursor_ = 0;
  extra_ = 0;
  cursor_number_ = static_cast<std::uint32_t>(unacked_ - at(0).first_psn);  // (R7)
  since_ack_request_ = 0;
  went_back_ = resumes_ = true;
}

SendVerdict SendQueue::try_again(WcStatus& status) {
  if (retries_left_ == 0) {
    status = WcStatus::kRetryExceeded;
    return SendVerdict::kFail;
  }
  --retries_left_;
  go_back();
  return SendVerdict::kBack;
}

SendVerdict SendQueue::answer(const AnswerNotice& notice, WcStatus& status) {
  const bool positive = notice.kind == AnswerKind::kAck || notice.kind == AnswerKind::kReadResponse ||
                        notice.kind == AnswerKind::kAtomicAck;
  const bool progress = acknowledge(positive ? notice.psn + 1 : notice.psn);
  const SendVerdict other = progress ? SendVerdict::kProgress : SendVerdict::kNothing;
  if (positive) return other;
  if (notice.kind == AnswerKind::kNak && notice.syndrome != kNakSequence) {
    if (notice.psn - sent_end_ >= 0 || notice.psn - unacked_ < 0) return other;
    status = nak_status(notice.syndrome);
    return SendVerdict::kFail;
  }
  if (notice.psn != unacked_ || !unanswered() || waiting_) return other;  // an old one
  if (notice.kind != AnswerKind::kRnrNak) {                               // (R5)
    return went_back_ ? other : try_again(status);
  }
  if (rnr_left_ == 0) {
    status = WcStatus::kRnrRetryExceeded;
    return SendVerdict::kFail;
  }
  if (limits_.rnr_retry != kForEver) --rnr_left_;
  waiting_ = true;
  return SendVerdict::kWait;
}

void SendQueue::place(Psn psn) {
  if (psn + 1 - placed_ > 0 && data_end_ - psn > 0) placed_ = psn + 1;
}

SendVerdict SendQueue::timeout(WcStatus& status) {
  if (!unanswered() || waiting_) return SendVerdict::kNothing;
  return try_again(status);
}

void SendQueue::resume() {
  if (!waiting_) return;
  waiting_ = false;
  if (size_ > 0) go_back();
  went_back_ = false;
}

}  // namespace rxnic
