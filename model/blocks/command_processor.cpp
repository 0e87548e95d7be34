// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/command_processor.h"

#include <algorithm>
#include <cassert>

namespace rxnic {

CommandProcessor::CommandProcessor(const sc_core::sc_module_name& name, const CommandProcessorParams& params,
                                   std::uint32_t clock_period_ps)
    : CommandProcessorPorts(name),
      params_(params),
      command_cycles_(std::max<std::uint64_t>(1, cycles_in(params.command_ps, clock_period_ps))),
      buffer_(params.buffer_bytes) {
  assert(params.buffer_bytes >= kMailboxBytes);
}

Cycle CommandProcessor::step(Cycle now) {
  // (1) the answer of a block or of memory
  if (waits_) take_answers(now);
  // (2) the next request of a send queue, or else the next command
  if (!carries_out_) carries_out_ = begin(now);
  // (3) its steps
  run(now);
  // (4) the reply
  const bool blocked = ends_ && !reply(now);
  // (5) rest
  if (blocked) return rest(now, Activity::kBlocked, kNever);
  if (!carries_out_) {
    const bool more = !commands.empty() || (windows.bound() && !windows.empty());
    return rest(now, Activity::kStarved, more ? now + 1 : kNever);
  }
  if (waits_) return rest(now, reads_ ? Activity::kWaitDmaData : Activity::kWaitBlock, kNever);
  return rest(now, Activity::kBusy, due_);
}

bool CommandProcessor::begin(Cycle now) {
  of_window_ = windows.bound() && windows.can_pop(now);
  if (!of_window_ && !commands.can_pop(now)) return false;
  if (of_window_) {  // (R11)
    window_ = windows.pop(now);
    due_ = now;
    steps_ = steps_of(window_.operation);
  } else {
    command_ = commands.pop(now);
    ++counters_.commands;
    due_ = now + command_cycles_;
    steps_ = steps_of(command_.kind);
  }
  next_step_ = 0;
  listed_ = in_buffer_ = 0;
  reply_ = {};
  reply_.id = command_.id;
  return true;
}

// False: there is no room for the reply.
bool CommandProcessor::reply(Cycle now) {
  if (of_window_ ? !windows_done.can_push(now) : !replies.can_push(now)) return false;
  if (of_window_) {
    windows_done.push(now, {reply_.status == CommandStatus::kDone});
  } else {
    replies.push(now, reply_);
  }
  carries_out_ = ends_ = false;
  return true;
}

template <class Reply>
void CommandProcessor::take_answer(In<Reply>& from, Reply& to, Cycle now) {
  if (!from.can_pop(now)) return;
  to = from.pop(now);
  waits_ = false;
}

void CommandProcessor::take_answers(Cycle now) {
  take_answer(dma_done, memory_, now);
  if (!waits_ && reads_ && !memory_.ok) end(CommandStatus::kRefused);
  reads_ &= waits_;
  take_answer(cq_replies, cq_, now);
  take_answer(region_replies, region_, now);
  take_answer(retired, done_, now);
  take_answer(fenced, done_, now);
  take_answer(wq_replies, wq_, now);
  take_answer(context_replies, context_, now);
  take_answer(qp_replies, qp_, now);
  take_answer(send_queue_done, send_queue_, now);
  take_answer(srq_done, done_, now);
  take_answer(tag_list_done, done_, now);
  take_answer(steering_done, steering_, now);
}

void CommandProcessor::run(Cycle now) {
  while (carries_out_ && !waits_ && !ends_ && now >= due_) {
    if (next_step_ == steps_.size()) {
      ends_ = true;
    } else if ((this->*steps_[next_step_])(now) == Next::kGoesOn) {
      ++next_step_;
    }
  }
}

void CommandProcessor::set_status(CommandStatus status) {
  reply_.status = status;
  counters_.no_object += status == CommandStatus::kNoObject;
  counters_.no_room += status == CommandStatus::kNoRoom;
  counters_.refused += status == CommandStatus::kRefused;
}

CommandProcessor::Next CommandProcessor::end(CommandStatus status) {
  set_status(status);
  ends_ = true;
  return Next::kGoesOn;
}

// Waits until the DMA engine has accessed memory for what this client has asked for.
CommandProcessor::Next CommandProcessor::fence(DmaClient client, Cycle now) {
  DmaFence f;
  f.of_client = true;
  f.client = client;
  return ask(fences, f, now);
}

void CommandProcessor::transfer(DmaKind kind, BusAddress address, std::uint32_t bytes, Cycle now) {
  assert(bytes <= buffer_.size());
  DmaRequest r;
  r.kind = kind;
  r.notify = kind == DmaKind::kWrite;
  r.address = address;
  r.bytes = bytes;
  r.data = buffer_.data();
  dma.push(now, r);
  waits_ = reads_ = true;
}

CommandProcessor::Next CommandProcessor::read(BusAddress from, std::uint32_t bytes, Cycle now) {
  transfer(DmaKind::kRead, from, bytes, now);
  counters_.bytes_read += bytes;
  return Next::kGoesOn;
}

// Writes from the buffer; done when the data has landed in memory.
CommandProcessor::Next CommandProcessor::write(BusAddress to, std::uint32_t bytes, Cycle now) {
  transfer(DmaKind::kWrite, to, bytes, now);
  counters_.bytes_written += bytes;
  return Next::kGoesOn;
}

CommandProcessor::Steps CommandProcessor::steps_of(CommandKind kind) {
  using P = CommandProcessor;
  static constexpr Step kCreateCq[] = {&P::read_cq, &P::create_cq};
  static constexpr Step kModifyCq[] = {&P::read_cq, &P::modify_cq, &P::end_unless_cq};
  static constexpr Step kResizeCq[] = {&P::read_cq, &P::resize_cq, &P::end_unless_cq, &P::fence_cqes, &P::move_cqes};
  static constexpr Step kFreeCq[] = {&P::close_cq, &P::end_unless_cq, &P::fence_cqes, &P::destroy_cq};
  static constexpr Step kCreateRegion[] = {&P::read_region, &P::hide_new_region, &P::install_region,
                                           &P::settle_payload};
  static constexpr Step kFreeRegion[] = {&P::read_entry,       &P::end_if_bound,   &P::hide_region,
                                         &P::clear_entry,      &P::invalidate,     &P::wait_for_users,
                                         &P::wait_for_gathers, &P::settle_payload, &P::fence_payload,
                                         &P::read_old_region,  &P::uncount_window};
  static constexpr Step kReleaseWindow[] = {&P::read_entry,      &P::read_bound_region, &P::release_window,
                                            &P::forget_released, &P::wait_for_packets,  &P::wait_for_responses,
                                            &P::read_old_region, &P::uncount_window};
  static constexpr Step kCreateQueue[] = {&P::read_wq,      &P::create_wq,       &P::create_tag_list,
                                          &P::name_srq,     &P::attach_srq,      &P::give_back_tag_list,
                                          &P::give_back_wq, &P::end_without_room};
  static constexpr Step kQueryQueue[] = {&P::query_wq, &P::end_unless_wq, &P::answer_query_wq};
  static constexpr Step kArmLimit[] = {&P::arm_limit, &P::end_unless_wq};
  static constexpr Step kFreeQueue[] = {&P::read_wq,          &P::hide_srq,   &P::close_wq,         &P::end_unless_wq,
                                        &P::wait_for_flushed, &P::destroy_wq, &P::destroy_tag_list, &P::detach_srq};
  static constexpr Step kCreateQp[] = {&P::read_qp, &P::reserve_qp, &P::create_send_queue, &P::give_back_entries,
                                       &P::store_qp};
  static constexpr Step kQueryQp[] = {&P::bring_qp,         &P::end_unless_qp, &P::query_qp,
                                      &P::query_send_queue, &P::release_qp,    &P::answer_query_qp};
  static constexpr Step kModifyQp[] = {&P::read_qp,   &P::bring_qp,          &P::end_unless_qp,
                                       &P::modify_qp, &P::modify_send_queue, &P::release_qp};
  static constexpr Step kFailQp[] = {&P::bring_qp, &P::end_unless_qp, &P::fail_qp, &P::fail_send_queue, &P::release_qp};
  static constexpr Step kSilenceQps[] = {&P::read_silenced, &P::silence};
  static constexpr Step kResetQp[] = {&P::stop_qp,          &P::end_unless_qp,       &P::stop_receiving,
                                      &P::reset_send_queue, &P::fence_send_wqes,     &P::fence_payload,
                                      &P::settle_qp,        &P::reset_receive_queue, &P::wait_for_flushed,
                                      &P::settle_cqes,      &P::fence_cqes,          &P::forget_qp,
                                      &P::renew_qp};
  static constexpr Step kFreeQp[] = {
      &P::stop_qp,       &P::end_unless_qp, &P::stop_receiving,      &P::reset_send_queue, &P::fence_send_wqes,
      &P::fence_payload, &P::settle_qp,     &P::reset_receive_queue, &P::wait_for_flushed, &P::settle_cqes,
      &P::fence_cqes,    &P::forget_qp,     &P::destroy_send_queue,  &P::clear_qp,         &P::drop_qp};
  static constexpr Step kAttachMulticast[] = {&P::read_group, &P::attach_group, &P::end_unless_added};
  static constexpr Step kDetachMulticast[] = {&P::read_group, &P::detach_group};
  static constexpr Step kAddFlow[] = {&P::read_flow, &P::add_flow, &P::end_unless_added};
  static constexpr Step kRemoveFlow[] = {&P::remove_flow, &P::write_counts};
  static constexpr Step kReadFlow[] = {&P::count_flow, &P::write_counts};
  static constexpr Step kAddRss[] = {&P::read_rss, &P::add_rss, &P::end_unless_added};
  static constexpr Step kRemoveRss[] = {&P::remove_rss};
  static constexpr Step kCopyToDevice[] = {&P::copy_to_device};
  static constexpr Step kCopyFromDevice[] = {&P::copy_from_device};
  switch (kind) {
    case CommandKind::kCreateCq:
      return kCreateCq;
    case CommandKind::kModifyCq:
      return kModifyCq;
    case CommandKind::kResizeCq:
      return kResizeCq;
    case CommandKind::kFreeCq:
      return kFreeCq;
    case CommandKind::kCreateRegion:
      return kCreateRegion;
    case CommandKind::kFreeRegion:
      return kFreeRegion;
    case CommandKind::kReleaseWindow:
      return kReleaseWindow;
    case CommandKind::kCreateQueue:
      return kCreateQueue;
    case CommandKind::kQueryQueue:
      return kQueryQueue;
    case CommandKind::kArmLimit:
      return kArmLimit;
    case CommandKind::kFreeQueue:
      return kFreeQueue;
    case CommandKind::kCreateQp:
      return kCreateQp;
    case CommandKind::kQueryQp:
      return kQueryQp;
    case CommandKind::kModifyQp:
      return kModifyQp;
    case CommandKind::kFailQp:
      return kFailQp;
    case CommandKind::kSilenceQps:
      return kSilenceQps;
    case CommandKind::kResetQp:
      return kResetQp;
    case CommandKind::kFreeQp:
      return kFreeQp;
    case CommandKind::kAttachMulticast:
      return kAttachMulticast;
    case CommandKind::kDetachMulticast:
      return kDetachMulticast;
    case CommandKind::kAddFlow:
      return kAddFlow;
    case CommandKind::kRemoveFlow:
      return kRemoveFlow;
    case CommandKind::kReadFlow:
      return kReadFlow;
    case CommandKind::kAddRss:
      return kAddRss;
    case CommandKind::kRemoveRss:
      return kRemoveRss;
    case CommandKind::kCopyToDevice:
      return kCopyToDevice;
    case CommandKind::kCopyFromDevice:
      return kCopyFromDevice;
  }
  return {};
}

CommandProcessor::Steps CommandProcessor::steps_of(WindowOperation operation) {  // (R11)
  using P = CommandProcessor;
  static constexpr Step kBind[] = {&P::read_window,     &P::check_window,     &P::write_window,
                                   &P::forget_window,   &P::wait_for_packets, &P::wait_for_responses,
                                   &P::read_old_region, &P::uncount_window,   &P::count_window};
  static constexpr Step kInvalidate[] = {&P::read_window,      &P::invalidate_key,     &P::forget_window,
                                         &P::wait_for_packets, &P::wait_for_responses, &P::read_old_region,
                                         &P::uncount_window};
  if (operation == WindowOperation::kBind) return kBind;
  return kInvalidate;
}

void CommandProcessor::hash(StateHash& h) const {
  h.mix(counters_);
  h.mix(std::uint64_t{carries_out_} << 32 | next_step_);
}

}  // namespace rxnic
