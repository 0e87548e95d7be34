// SPDX-License-Identifier: Apache-2.0
#include "bridge/rtl/transaction_queues.h"

#include <utility>

namespace rxnic {

std::optional<TransactionQueues::Pair> TransactionQueues::add(Made made, bool by_model) {  // (R1)
  made.of_queue = ++numbers_[by_model ? 1 : 0][made.queue];
  Queue& queue = queues_[made.queue];
  if (queue.waiting.empty() || queue.of_model == by_model) {
    queue.of_model = by_model;
    queue.waiting.push_back(std::move(made));
    return {};
  }
  Made other = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  if (queue.waiting.empty()) queues_.erase(made.queue);
  return by_model ? Pair{std::move(made), std::move(other)} : Pair{std::move(other), std::move(made)};
}

TransactionQueues::Oldest TransactionQueues::oldest_of(bool either_side) const {  // (R2)
  Oldest oldest;
  for (const auto& [number, queue] : queues_) {
    if (!queue.of_model && !either_side) continue;
    const Made& first = queue.waiting.front();
    if (oldest.made == nullptr || first.cycle < oldest.made->cycle) oldest = {&first, queue.of_model};
  }
  return oldest;
}

std::uint64_t TransactionQueues::waiting_of_rtl() const {
  std::uint64_t waiting = 0;
  for (const auto& [number, queue] : queues_) waiting += queue.of_model ? 0 : queue.waiting.size();
  return waiting;
}

const TransactionQueues::Made* TransactionQueues::last_of_rtl(std::uint64_t queue) const {
  const auto at = queues_.find(queue);
  return at == queues_.end() || at->second.of_model ? nullptr : &at->second.waiting.back();
}

}  // namespace rxnic
