// SPDX-License-Identifier: Apache-2.0
#include "model/core/completion/cq_table.h"

#include <algorithm>

#include "model/types/context.h"

namespace rxnic {

namespace {

BusAddress address_of(std::uint32_t number) { return cq_context_address(Cqn{number}); }

CqRecord record_of(const CqContext& context) {
  CqRecord record;
  static_cast<CqContext&>(record) = context;
  record.valid = 1;
  return record;
}

}  // namespace

CqTable::CqTable(const Options& options, std::unique_ptr<Replacement> replacement)
    : options_(options),
      cache_(options.sizes, address_of, std::move(replacement)),
      sessions_(options.session_limit > 0 ? options.sizes.entries : 0) {}

bool CqTable::create(const CqContext& context, HostMemory& memory) {
  end_session_of(context.number);
  return cache_.create(raw(context.number), record_of(context), memory) != Cache::kNone;
}

bool CqTable::place(const CqContext& context, bool stored) {
  end_session_of(context.number);
  return cache_.place(raw(context.number), record_of(context), !stored) != Cache::kNone;
}

bool CqTable::destroy(Cqn number) {
  CqState* const cq = find(number);
  if (!cache_.remove(raw(number))) return false;
  if (cq != nullptr) end_session(*cq);
  return true;
}

void CqTable::close(CqState& cq) {  // (R2)
  end_session(cq);
  CqRecord& r = cq.record();
  r.closed = true;
  r.armed = CqArm::kNot;
  r.due = r.timer = kNever;
  changed(cq);
}

CqMove CqTable::resize(CqState& cq, const CqContext& context, std::uint32_t consumer) {  // (R3)
  const CqMove move = plan_move(cq.queue.context(), context, consumer, cq.queue.producer());
  cq.queue.renumber(context, move.first);
  cq.fresh = true;
  changed(cq);
  return move;
}

void CqTable::set_moderation(CqState& cq, std::uint16_t count, std::uint16_t period_us) {
  cq.record().moderation_count = count;
  cq.record().moderation_period_us = period_us;
  cq.fresh = true;
  changed(cq);
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
