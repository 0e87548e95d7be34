// SPDX-License-Identifier: Apache-2.0
#include "model/core/responder/answer_table.h"

#include <bit>

namespace rxnic {

AnswerTable::AnswerTable(std::uint32_t capacity)
    : next_in_bucket_(std::size_t{2} * capacity, kNone),  // a flow may stay listed for a while without answers
      buckets_(std::bit_ceil(capacity) * 2, kNone) {
  answers_.reserve(capacity);
  flows_.reserve(next_in_bucket_.size());
  for (Index i = capacity; i-- > 0;) free_answers_.push_back(i);
  for (auto i = static_cast<Index>(next_in_bucket_.size()); i-- > 0;) free_flows_.push_back(i);
}

AnswerTable::Index AnswerTable::find(std::uint32_t qpn) const {
  Index at = buckets_[bucket(qpn)];
  while (at != kNone && flows_[at].qpn != qpn) at = next_in_bucket_[at];
  return at;
}

AnswerTable::Index AnswerTable::find_or_make(std::uint32_t qpn) {
  Index at = find(qpn);
  if (at != kNone) return at;
  at = free_flows_.back();
  free_flows_.pop_back();
  if (at == flows_.size()) flows_.emplace_back();
  flows_[at] = {};
  flows_[at].qpn = qpn;
  Index& head = buckets_[bucket(qpn)];
  next_in_bucket_[at] = head;
  head = at;
  return at;
}

void AnswerTable::free_if_empty(Index flow) {
  const Flow& f = flows_[flow];
  if (f.first != kNone || f.held != kNone || f.listed) return;
  Index* link = &buckets_[bucket(f.qpn)];
  while (*link != flow) link = &next_in_bucket_[*link];
  *link = next_in_bucket_[flow];
  free_flows_.push_back(flow);
}

AnswerTable::Index AnswerTable::add() {
  const Index at = free_answers_.back();
  free_answers_.pop_back();
  if (at == answers_.size()) answers_.emplace_back();
  answers_[at].next = kNone;
  return at;
}

void AnswerTable::append(Index flow, Index answer) {
  Flow& f = flows_[flow];
  if (f.first == kNone) {
    f.first = answer;
  } else {
    answers_[f.last].next = answer;
  }
  f.last = answer;
  ++f.count;
  f.counted += answers_[answer].owed.counted;
}

AnswerTable::Index AnswerTable::take_first(Index flow) {
  Flow& f = flows_[flow];
  const Index at = f.first;
  f.first = answers_[at].next;
  --f.count;
  f.counted -= answers_[at].owed.counted;
  return at;
}

void AnswerTable::remove(Index answer) {
  answers_[answer].owed.line = kNoLine;
  free_answers_.push_back(answer);
}

}  // namespace rxnic
