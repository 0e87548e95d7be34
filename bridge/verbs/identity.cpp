// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/identity.h"

#include <sys/mman.h>
#include <sys/random.h>

#include <cstring>

#include "bridge/verbs/heap.h"

namespace rxnic::verbs {

namespace {

constexpr std::uint64_t kPlaces = std::uint64_t{1} << 28, kFirstPlace = 0x7e80'0000'0000;
constexpr int kTries = 8;  // a place may be taken

// MAP_FAILED: there is none. Before Linux 4.17 the place is only a wish; then another one is not taken.
void* map_at_random() {
  for (int n = 0; n < kTries; ++n) {
    std::uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) break;
    void* const place = reinterpret_cast<void*>(kFirstPlace + random % kPlaces * kPageBytes);
    void* const page = mmap(place, channel::kIdentityBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (page == place) return page;
    if (page != MAP_FAILED) munmap(page, channel::kIdentityBytes);
  }
  return MAP_FAILED;
}

}  // namespace

IdentityPage::~IdentityPage() {
  if (page_ != nullptr) munmap(page_, channel::kIdentityBytes);
}

// The kernel makes the mapping a whole page.
void IdentityPage::make(channel::Open& open) {
  void* const page = map_at_random();
  if (page == MAP_FAILED) return;
  page_ = page;
  if (madvise(page, channel::kIdentityBytes, MADV_DONTFORK) != 0) return;
  if (getrandom(open.identity.data(), open.identity.size(), 0) != static_cast<ssize_t>(open.identity.size())) return;
  std::memcpy(page, open.identity.data(), open.identity.size());
  open.identity_at = reinterpret_cast<std::uintptr_t>(page);
}

}  // namespace rxnic::verbs
