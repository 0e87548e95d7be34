// SPDX-License-Identifier: Apache-2.0
#include "model/core/completion/cq_table.h"

#include <algorithm>

#include "model/types/context.h"

namespace rxnic {

namespace {

BusAddress address_of(std::uint32_t number) { return cq_context_address(Cqn{number}); }

}  // namespace

CqTable::CqTable(const Options& options) : options_(options), cache_(options.sizes, address_of) {}

void CqTable::create(const CqContext& context, HostMemory& memory) {
  CqRecord record;
  static_cast<CqContext&>(record) = context;
  record.valid = 1;
  cache_.create(raw(context.number), record, memory);
}

bool CqTable::destroy(Cqn number, HostMemory& memory) { return cache_.remove(raw(number), memory); }

bool CqTable::close(Cqn number, HostMemory& memory) {  // (R2)
  if (CqState* const cq = find(number)) {
    cq->session.clear();
    ++cq->session_stamp;
  }
  return cache_.change(raw(number), memory, [](CqRecord& r) {
    r.closed = true;
    r.armed = CqArm::kNot;
    r.due = r.timer = kNever;
  });
}

bool CqTable::resize(const CqContext& context, std::uint32_t consumer, HostMemory& memory, CqMove& move) {  // (R3)
  const bool done = cache_.change(raw(context.number), memory, [&](CqRecord& r) {
    move = plan_move(r, context, consumer, r.producer);
    CompletionQueue queue;
    queue.record() = r;
    queue.renumber(context, move.first);
    r = queue.record();
  });
  const std::uint32_t line = cache_.find(raw(context.number));
  if (line != Cache::kNone) cache_[line].fresh = true;
  return done;
}

bool CqTable::set_moderation(Cqn number, std::uint16_t count, std::uint16_t period_us, HostMemory& memory) {
  const bool done = cache_.change(raw(number), memory, [&](CqRecord& r) {
    r.moderation_count = count;
    r.moderation_period_us = period_us;
  });
  const std::uint32_t line = cache_.find(raw(number));
  if (line != Cache::kNone) cache_[line].fresh = true;
  return done;
}

// What follows from a record: the period in cycles, and how long a block may be: no longer than the ring.
void CqTable::prepare(CqState& cq) const {
  const CqContext& c = cq.queue.context();
  cq.queue.set_period((c.moderation_period_us * options_.moderation_unit_ps + options_.clock_period_ps - 1) /
                      options_.clock_period_ps);
  cq.session_limit = c.compress ? std::min(options_.session_limit, kMaxSession) : 0;
  while (cq.session_limit > 1 && block_slots(cq.session_limit) > c.slots) --cq.session_limit;
  cq.fresh = false;
}

}  // namespace rxnic
