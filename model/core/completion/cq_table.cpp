// SPDX-License-Identifier: Apache-2.0
#include "model/core/completion/cq_table.h"

#include <algorithm>

namespace rxnic {

void CqTable::create(const CqContext& context, std::uint64_t period) {
  destroy(context.number);
  const std::size_t number = raw(context.number);
  if (number >= index_of_.size()) index_of_.resize(number + 1);
  CqState made(CompletionQueue(context, period));
  limit_session(made);
  if (free_.empty()) {
    cqs_.push_back(made);
    index_of_[number] = static_cast<std::uint32_t>(cqs_.size());
    return;
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  made.session_stamp = cqs_[place].session_stamp + 1;  // (R1)
  cqs_[place] = made;
  index_of_[number] = place + 1;
}

void CqTable::destroy(Cqn number) {
  CqState* const cq = find(number);
  if (cq == nullptr) return;
  close(number);
  index_of_[raw(number)] = 0;
  free_.push_back(place_of(*cq));
}

void CqTable::close(Cqn number) {  // (R2)
  CqState* const cq = find(number);
  if (cq == nullptr) return;
  cq->closed = true;
  cq->queue.disarm();
  cq->session.clear();
  ++cq->session_stamp;
}

CqMove CqTable::resize(const CqContext& context, std::uint32_t consumer) {  // (R3)
  CqState* const cq = find(context.number);
  if (cq == nullptr) return {};
  const CqMove move = plan_move(cq->queue.context(), context, consumer, cq->queue.producer());
  cq->queue.renumber(context, move.first);
  limit_session(*cq);
  return move;
}

// No block is longer than the ring.
void CqTable::limit_session(CqState& cq) const {
  const CqContext& c = cq.queue.context();
  cq.session_limit = c.compress ? std::min(session_limit_, kMaxSession) : 0;
  while (cq.session_limit > 1 && block_slots(cq.session_limit) > c.slots) --cq.session_limit;
}

}  // namespace rxnic
