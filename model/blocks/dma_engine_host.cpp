// SPDX-License-Identifier: Apache-2.0
// The DMA engine: what the host writes to the device, and the events and replies that the device writes to the host.
#include <algorithm>
#include <type_traits>

#include "model/blocks/dma_engine.h"

namespace rxnic {

void DmaEngine::take_host_writes(Cycle now) {  // (R10)
  const auto pass = [&](HostWrite kind, auto& from, auto& to, std::uint32_t bytes) {
    if ((inputs_ & bit_of(kHostWritesFrom + kind)) != 0) pass_on(now, from, to, bytes, kind);
  };
  pass(kReceiveDoorbells, receive_doorbells, receive_rung, params_.doorbell_bytes);
  pass(kCompletionDoorbells, completion_doorbells, completion_rung, params_.doorbell_bytes);
  pass(kTagOperations, tag_operations, tags_given, params_.tag_operation_bytes);
  pass(kSendDoorbells, send_doorbells, send_rung, params_.doorbell_bytes);
  pass(kCommands, commands, commands_given, params_.doorbell_bytes);
  pass(kPageReplies, page_replies, page_replied, params_.doorbell_bytes);
}

// A write stays in its link until it is passed on.
template <class T>
void DmaEngine::pass_on(Cycle now, In<T>& from, Out<T>& to, std::uint32_t bytes, HostWrite kind) {
  Cycle& arrives = arrives_[kind];
  if (arrives <= now && follows_all(kind) && to.can_push(now)) {
    to.push(now, *from.peek(now));
    from.drop(now);
    ++passed_[kind];
    arrives = kNever;
  }
  if (arrives != kNever || from.peek(now) == nullptr) return;
  if constexpr (std::is_same_v<T, Doorbell>) bytes = std::max<std::uint32_t>(bytes, from.peek(now)->wqe_bytes);
  const TlpCount down = host_writes(params_, bytes);
  arrives = down_.carry_between({now.count, 0}, down.link_bytes).ceiling();
  ++counters_.doorbells;
  counters_.tlps_down += down.tlps;
  counters_.link_bytes_down += down.link_bytes;
  In<Doorbell>* const rung[] = {&send_doorbells, &receive_doorbells, &completion_doorbells};
  for (const HostWrite other : kinds_before(kind)) {
    const auto waiting = [&](auto& link) {
      std::uint32_t n = 0;
      while (link.peek(now, n) != nullptr) ++n;
      return n;
    };
    after_[kind][other] = passed_[other] + (other == kTagOperations ? waiting(tag_operations) : waiting(*rung[other]));
  }
}

// The kinds of writes that one of this kind does not overtake.
std::span<const DmaEngine::HostWrite> DmaEngine::kinds_before(HostWrite kind) {
  static constexpr HostWrite kAll[] = {kReceiveDoorbells, kTagOperations, kSendDoorbells, kCompletionDoorbells};
  return {kAll, kind == kCommands ? 4u : kind == kSendDoorbells ? 2u : 0u};
}

bool DmaEngine::follows_all(HostWrite kind) const {
  for (const HostWrite other : kinds_before(kind)) {
    if (passed_[other] < after_[kind][other]) return false;
  }
  return true;
}

// At the source whose turn it is.
bool DmaEngine::event_waits(Cycle now) {
  return event_source_ == kReplies ? replies.peek(now) != nullptr : events_[event_source_]->peek(now) != nullptr;
}

bool DmaEngine::start_event(Cycle now) {  // (R11)
  Progress& done = progress_[kEvents];
  for (std::size_t n = 0; done.bytes == 0 && !event_waits(now); ++n) {
    if (n == kEventSources) return false;
    event_source_ = (event_source_ + 1) % kEventSources;
  }
  const bool interrupt = done.bytes > 0;
  const std::uint32_t bytes = interrupt ? params_.interrupt_bytes : params_.event_bytes;
  if ((interrupt && (raised_.full() || replied_.full())) || !has_credit(now, kEvents, bytes)) return false;
  const Sent sent = send_write(now, bytes, false);
  done.bytes += bytes;
  if (!interrupt) return true;
  if (event_source_ == kReplies) {
    keep(replied_, replies.pop(now), sent.lands.ceiling());
    ++counters_.replies;
  } else {
    const Event event = events_[event_source_]->pop(now);
    keep(raised_, Raised{event, event_source_}, sent.lands.ceiling());
    ++counters_.events;
    ++counters_.events_of[static_cast<std::size_t>(event.type)];
    notify({QpEventKind::kAsync, event.number, static_cast<std::uint32_t>(event.type)}, now);
  }
  done = {};
  event_source_ = (event_source_ + 1) % kEventSources;
  return true;
}

}  // namespace rxnic
