// SPDX-License-Identifier: Apache-2.0
// Queue contexts: waiting for one (R14 .. R16 of srq_wqe_fetcher.h).
#include "model/blocks/srq_wqe_fetcher.h"

namespace rxnic {

void SrqWqeFetcher::take_context(Cycle now) {
  const DmaCompletion done = context_dma_done.pop(now);
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
