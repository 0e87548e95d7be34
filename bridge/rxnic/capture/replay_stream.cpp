// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/capture/replay_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/core/responder/responder.h"
#include "model/core/wire/icrc.h"
#include "model/core/wire/parsed.h"
#include "model/types/parse_reason.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kProgressFrames = 4096;

}  // namespace

ReplayStream::ReplayStream(FramesAhead& frames, std::uint64_t bytes, const Address& receiver, const HostPlan& plan,
                           AnswerStage& answers, UnreadableRequests& unreadable, Progress& progress)
    : frames_(frames),
      bytes_(bytes),
      receiver_(receiver),
      answers_(answers),
      unreadable_(unreadable),
      progress_(progress) {
  for (const QpPlan& qp : plan.qps) {
    if (is_reliable(qp.context.transport) && raw(qp.context.remote_qpn) != 0) {
      by_peer_[{qp.context.remote, raw(qp.context.remote_qpn)}].plan = &qp;
    }
  }
  for (const QpPlan& qp : plan.qps) {
    for (const SurveyedRestart& at : qp.restarts) restarts_.push_back({at, &qp});
  }
  std::sort(restarts_.begin(), restarts_.end(),
            [](const Restart& a, const Restart& b) { return a.at.packet > b.at.packet; });
  for (const RegionPlan& region : plan.regions) {
    if (region.install_before != 0) {
      installs_.push_back(&region);
    } else {
      keys_[region.mpt.key >> 8] = Key{region.mpt.key};
    }
  }
  std::sort(installs_.begin(), installs_.end(),
            [](const RegionPlan* a, const RegionPlan* b) { return a->install_before > b->install_before; });
}

bool ReplayStream::next(Stimulus& item) {
  for (;;) {
    if (frame_ == nullptr) {
      frame_ = frames_.next();
      over_ = frame_ == nullptr;
      if (over_) return false;
      ++captured_;
      copies_ = frame_->copies;
      if (captured_ % kProgressFrames == 0 && progress_.drawing()) {
        progress_.update(frames_.position(), bytes_, fmt::format("{} packets", captured_));
      }
    }
    const FrameAhead& frame = *frame_;
    const bool restarts = !restarts_.empty() && restarts_.back().at.packet == frame.number;
    if (restarts || (!installs_.empty() && installs_.back()->install_before <= frame.number)) {
      item.kind = Stimulus::Kind::kControl;
      return true;
    }
    frame_ = nullptr;
    const ParseStatus status = frame.status;
    const Headers& h = frame.headers;
    // What the receiver sends to itself: its requests reach it, its answers are compared.
    const bool to_itself = status == ParseStatus::kOk && h.destination == receiver_ && is_request(h);
    if (status != ParseStatus::kNotRdma && h.source == receiver_ && !to_itself) {
      ++from_receiver_;
      if (status != ParseStatus::kOk) continue;
      if (frame.reason != DropReason::kNone) {
        if ((opcode_info(h.opcode).traits & kResponse) != 0) answers_.leave_out(Uncompared::kUnreadable, frame.number);
      } else if (from_receiver(frame, item)) {
        return true;
      }
      continue;
    }
    if (status != ParseStatus::kNotRdma && is_for_another(h)) {
      ++to_others_;
      continue;
    }
    if (status != ParseStatus::kNotRdma && h.destination == receiver_) {
      if (frame.reason != DropReason::kNone) {
        unreadable_.request(frame, frame.reason);
      } else if (is_request(h)) {
        answers_.request(h);
      }
    }
    item.kind = Stimulus::Kind::kFrame;
    item.bytes = frame.bytes;
    item.wire_bytes = frame.wire_bytes;
    if (!vcrcs_ && status == ParseStatus::kOk && has_vcrc(frame.bytes, h)) {
      item.bytes = item.bytes.first(h.icrc_offset + kIcrcBytes);
      item.wire_bytes = static_cast<std::uint32_t>(item.bytes.size());
    }
    item.link = frame.link;
    item.headers = has_no_fault(frame, frame.reason) ? &h : nullptr;
    item.time_ps = frame.time_ps;
    item.id = frame.number;
    return true;
  }
}

// The QP goes through RESET in no time: it is ready to receive at the new PSN, and its MSN begins anew.
void ReplayStream::connect_anew(CommandQueue& driver) {
  const Restart restart = restarts_.back();
  restarts_.pop_back();
  SendQpContext context;
  context.qp = restart.qp->context;
  driver.forget(driver.modify_qp(context, {.set_rq_psn = true, .rq_psn = restart.at.psn}));
  answers_.restart(restart.qp->context.remote, restart.qp->context.qpn);
}

void ReplayStream::control(const Stimulus&, CommandQueue& driver) {
  if (!restarts_.empty() && restarts_.back().at.packet == frame_->number) return connect_anew(driver);
  const RegionPlan& region = *installs_.back();
  installs_.pop_back();
  Key& key = keys_[region.mpt.key >> 8];
  for (const Ticket ticket : {driver.free_region(key), driver.create_region(region.mpt, region.pages)}) {
    driver.forget(ticket);
  }
  key = Key{region.mpt.key};
}

bool ReplayStream::is_request(const Headers& h) { return (opcode_info(h.opcode).traits & kRequest) != 0; }

DropReason ReplayStream::unreadable_reason(const CapturedFrame& frame) {
  if (frame.bytes.size() > kMaxFrameBytes) return DropReason::kTooLong;
  if (frame.wire_bytes > frame.bytes.size()) return DropReason::kTruncatedInCapture;
  if (frame.status != ParseStatus::kOk) return reason_of(frame.status);
  return frame.headers.version != 0 ? DropReason::kVersion : wrong_checksum(frame.bytes, frame.headers);
}

// A unicast packet between other hosts: a switch would not have brought it to the receiver's port.
bool ReplayStream::is_for_another(const Headers& h) const {
  if (h.destination.kind == Address::Kind::kNone || h.destination == receiver_) return false;
  return receiver_.kind != Address::Kind::kNone && !h.destination.is_multicast();
}

bool ReplayStream::from_receiver(const CapturedFrame& frame, Stimulus& item) {
  const Headers& h = frame.headers;
  const std::uint32_t traits = opcode_info(h.opcode).traits;
  if ((traits & (kResponse | kIsCnp)) != 0) {
    answers_.captured(h, frame.number);
    unreadable_.answer(frame);
    return false;
  }
  if ((traits & kRequest) == 0) return false;
  item.kind = Stimulus::Kind::kRequest;
  return request(h, item.request);
}

// A SEND or WRITE is noted packet by packet, so that an ACK in its middle is understood; its last packet completes.
bool ReplayStream::request(const Headers& h, RequestNotice& out) {
  const auto it = by_peer_.find({h.destination, raw(h.destination_qp)});
  if (it == by_peer_.end()) return false;
  LocalQp& local = it->second;
  const OpcodeInfo& op = opcode_info(h.opcode);
  out = RequestNotice{};
  out.qpn = local.plan->context.qpn;
  out.first_psn = h.psn;
  // FLUSH has no completion of its own; its response is that of an ATOMIC WRITE.
  out.opcode = (op.traits & kFlushes) != 0 ? CqeOpcode::kAtomicWrite : op.completion;
  out.signaled = (op.traits & (kLast | kOnly)) != 0;
  if ((op.traits & kFirst) != 0 || (op.traits & kOnly) != 0) local.message_bytes = 0;
  local.message_bytes += h.payload_bytes;
  out.bytes = local.message_bytes;
  out.wqe_index = local.wqe_index;
  if ((op.traits & kRead) != 0) {
    out.psn_count = packets_of(h.length, local.plan->context.mtu);
    out.bytes = std::min(h.length, local.plan->answer_bytes);
  } else if ((op.traits & kAtomic) != 0) {
    out.bytes = kAtomicBytes;
  }
  out.va = local.plan->answer_va;
  out.lkey = local.plan->answer_lkey;
  if (out.signaled) ++local.wqe_index;
  return true;
}

}  // namespace rxnic
