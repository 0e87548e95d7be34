// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/heap.h"

#include <new>

namespace rxnic::verbs {

PageHeap::PageHeap(std::uint64_t begin, std::uint64_t end) : first_(new (std::nothrow) Run{begin, end, nullptr}) {}

PageHeap::~PageHeap() {
  while (first_ != nullptr) {
    Run* next = first_->next;
    delete first_;
    first_ = next;
  }
}

std::optional<std::uint64_t> PageHeap::allocate(std::uint64_t bytes) {
  const std::uint64_t length = whole_pages(bytes);
  if (length == 0 || length < bytes) return std::nullopt;
  for (Run** at = &first_; *at != nullptr; at = &(*at)->next) {
    Run* run = *at;
    if (run->end - run->begin < length) continue;
    const std::uint64_t offset = run->begin;
    run->begin += length;
    if (run->begin == run->end) {
      *at = run->next;
      delete run;
    }
    return offset;
  }
  return std::nullopt;
}

void PageHeap::free(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t end = offset + whole_pages(bytes);
  Run** at = &first_;
  Run* before = nullptr;
  while (*at != nullptr && (*at)->begin < offset) {
    before = *at;
    at = &before->next;
  }
  Run* after = *at;
  const bool joins_before = before != nullptr && before->end == offset;
  const bool joins_after = after != nullptr && after->begin == end;
  if (joins_before) {
    before->end = joins_after ? after->end : end;
    if (joins_after) {
      before->next = after->next;
      delete after;
    }
  } else if (joins_after) {
    after->begin = offset;
  } else if (Run* run = new (std::nothrow) Run{offset, end, after}) {
    *at = run;
  }
}

std::uint64_t PageHeap::free_bytes() const {
  std::uint64_t sum = 0;
  for (const Run* run = first_; run != nullptr; run = run->next) sum += run->end - run->begin;
  return sum;
}

}  // namespace rxnic::verbs
