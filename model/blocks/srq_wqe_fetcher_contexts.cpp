// SPDX-License-Identifier: Apache-2.0
// Queue contexts: who waits for one, commands (R14 .. R16 of srq_wqe_fetcher.h).
#include "model/blocks/srq_wqe_fetcher.h"

namespace rxnic {

void SrqWqeFetcher::take_context(Cycle now) {
  const DmaCompletion done = context_dma_done.pop(now);
  WorkQueueTable::Cache& cache = table_.cache();
  const std::uint32_t number = cache.number_of(done.cookie);
  const bool for_packet = cache.ahead(done.cookie);
  if (!cache.arrived(done.cookie, done.ok)) {
    for (Wait& w : waits_) w.absent |= w.number == number;
  } else if (look_ahead_ && for_packet) {
    table_.touch(WqId{number});  // (R15)
  }
}

// Whoever finds it kHere and goes on says so (use).
SrqWqeFetcher::Lookup SrqWqeFetcher::look_up(Asker asker, WqId id) {
  Wait& w = waits_[asker];
  if (w.number != raw(id)) {
    w = {};
    w.number = raw(id);
  }
  w.lacks_way = w.yields = false;
  if (table_.here(id)) return Lookup::kHere;
  if (w.absent || table_.closing(id) || id == kNoWq) return Lookup::kAbsent;
  counters_.context_misses += !w.missed;
  w.missed = true;
  WorkQueueTable::Cache& cache = table_.cache();
  w.lacks_way = !cache.coming(raw(id)) && cache.may_read() && !has_read(raw(id), false, asker);
  again_ |= w.lacks_way;
  return Lookup::kWaits;
}

// False: there is no way for it. (R14)
bool SrqWqeFetcher::has_read(std::uint32_t number, bool ahead, Asker asker) {
  const auto f = table_.fetch(number, ahead, [&](std::uint32_t line) {
    for (std::uint32_t a = 0; a < kAskers; ++a) {
      const Wait& w = waits_[a];
      if ((a != asker || ahead) && w.number == table_.cache().number_of(line) && !w.yields) return false;
    }
    return true;
  });
  if (f.line == kNobody) return false;
  ++counters_.context_reads;
  counters_.context_reads_ahead += ahead;
  counters_.context_write_backs += f.writes_back;
  return true;
}

// The asker goes on.
void SrqWqeFetcher::use(Asker asker, WqId id) {
  Wait& w = waits_[asker];
  if (table_.here(id)) {
    counters_.context_hits += !w.missed;
    table_.cache().touch(table_.cache().find(raw(id)));
  }
  w = {};
}

// The queue whose context a packet needs here, kNoWq: none. An RQ's QP takes its WQEs from that RQ.
WqId SrqWqeFetcher::context_needed(const WqeRequest& p) const {
  const bool fills = p.role == PacketRole::kReceived && p.outcome == Outcome::kExecute && (p.takes_wqe || p.has(kSend));
  if (fills) return p.queue;
  return p.acknowledge && !p.uses_srq && counts_credits_ ? p.receive_queue : kNoWq;
}

void SrqWqeFetcher::read_context_ahead(const WqeRequest& p) {  // (R15)
  const WqId id = context_needed(p);
  const WorkQueueTable::Cache& cache = table_.cache();
  if (id == kNoWq || p.line == kNoLine || cache.find(raw(id)) != kNobody || cache.coming(raw(id))) return;
  if (cache.may_read()) has_read(raw(id), true, kPacket);
}

bool SrqWqeFetcher::destroy(WqId id, HostMemory& memory) {
  forget_flush(id);
  if (!table_.destroy(id, memory)) return false;
  wake();  // its line is free
  return true;
}

bool SrqWqeFetcher::reset(WqId id, HostMemory& memory) {
  forget_flush(id);
  return table_.reset(id, memory);
}

}  // namespace rxnic
