// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/identity.h"

#include <sys/mman.h>
#include <sys/random.h>

#include <cstring>

namespace rxnic::verbs {

IdentityPage::~IdentityPage() {
  if (page_ != nullptr) munmap(page_, channel::kIdentityBytes);
}

// The kernel makes the mapping a whole page.
void IdentityPage::make(channel::Open& open) {
  void* const page = mmap(nullptr, channel::kIdentityBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  page_ = page;
  if (madvise(page, channel::kIdentityBytes, MADV_WIPEONFORK) != 0) return;
  if (getrandom(open.identity.data(), open.identity.size(), 0) != static_cast<ssize_t>(open.identity.size())) return;
  std::memcpy(page, open.identity.data(), open.identity.size());
  open.identity_at = reinterpret_cast<std::uintptr_t>(page);
}

}  // namespace rxnic::verbs
