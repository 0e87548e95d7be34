// SPDX-License-Identifier: Apache-2.0
// Queue contexts: waiting for one (R14 .. R16 of srq_wqe_fetcher.h).
#include "model/blocks/srq_wqe_fetcher.h"

#include <algorithm>
#include <cstring>

namespace rxnic {

const DataSegment* SrqWqeFetcher::FetchedWqes::read(const WqeRead& at, std::uint32_t& words) const {
  const auto data = table.read_buffer(at.read);
  words = static_cast<std::uint32_t>(data.size());
  return data.data();
}

const StoredQueue* SrqWqeFetcher::Queues::read(const QueueLine& at, std::uint32_t& words) const {
  words = at.line < cache.size() ? 1 : 0;
  if (words == 0) return nullptr;
  return at.line == line ? &came : &cache[at.line].record();
}

void SrqWqeFetcher::Queues::write(Cycle, const QueueWrite& what) {
  if (what.line < cache.size()) static_cast<StoredQueue&>(cache[what.line].record()) = what.record;
}

// A request of RTL, whose data is in this block's memory.
void SrqWqeFetcher::complete(const sc_core::sc_object& port, void* value) {
  auto& request = *static_cast<DmaRequest*>(value);
  if (&port == &face_->dma) {
    const auto to = table_.read_buffer(request.cookie);
    request.data = reinterpret_cast<std::uint8_t*>(to.data());
    request.bytes = std::min<std::uint32_t>(request.bytes, to.size_bytes());
  } else if (&port == &face_->context_dma) {
    request.data = table_.cache().data(request.cookie);
    request.bytes = std::min<std::uint32_t>(request.bytes, kWqContextBytes);
  }
}

void SrqWqeFetcher::request_context(Cycle now) {  // (R21)
  const DmaRequest request = table_.cache().take_request();
  if (request.kind == DmaKind::kWrite) {
    QueueWrite write{request.cookie, {}};
    std::memcpy(static_cast<void*>(&write.record), request.data, sizeof write.record);
    written_back.write(now, write);
  }
  context_dma.push(now, request);
  again_ |= table_.cache().has_request();
}

void SrqWqeFetcher::take_context(Cycle now) {
  const DmaCompletion done = context_dma_done.pop(now);
  queue_data_.line = done.cookie;
  queue_data_.came = table_.cache()[done.cookie].record();
  const WqId id{table_.cache().number_of(done.cookie)};
  const bool for_packet = table_.cache().ahead(done.cookie);
  if (waits_.arrived(done.cookie, done.ok) && look_ahead_ && for_packet) table_.ask(id);  // (R15)
}

// Whoever finds it kHere and goes on says so (waits_.use).
ContextLookup SrqWqeFetcher::look_up(Asker asker, WqId id) {
  const ContextLookup found = waits_.look_up(asker, raw(id));
  again_ |= waits_.lacks_way(asker);
  return found;
}

// The queue whose context a packet needs here, kNoWq: none. An RQ's QP takes its WQEs from that RQ.
WqId SrqWqeFetcher::context_needed(const WqeRequest& p) const {
  const bool fills = p.role == PacketRole::kReceived && p.outcome == Outcome::kExecute && (p.takes_wqe || p.has(kSend));
  if (fills) return p.queue;
  return p.acknowledge && !p.uses_srq && counts_credits_ ? p.receive_queue : kNoWq;
}

void SrqWqeFetcher::read_context_ahead(const WqeRequest& p) {  // (R15)
  const WqId id = context_needed(p);
  if (id != kNoWq && p.line != kNoLine) waits_.read_ahead(kPacket, raw(id));
}

}  // namespace rxnic
