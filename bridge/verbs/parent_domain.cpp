// SPDX-License-Identifier: Apache-2.0
// Thread domains and parent domains. A parent domain stands for its protection domain wherever a program gives it, and
// has allocators for what is made in it (records.h).
//
//   R1  A parent domain has a protection domain of the same device, which is not another parent domain. Besides, it has
//       a thread domain of the same device or none, and both allocators or none. Otherwise: EINVAL, as for bits of
//       comp_mask that are unknown.
//   R2  A thread domain promises that what is made in it is used by one thread. Nothing follows from that here: locks
//       are taken as ever.
//   R3  What is in use is not freed (EBUSY): a PD and a thread domain by parent domains, a parent domain by objects.
#include <cerrno>
#include <cstdlib>
#include <new>

#include "bridge/verbs/control_path.h"
#include "bridge/verbs/objects.h"
#include "bridge/verbs/records.h"

namespace rxnic::verbs {

namespace {

constexpr std::uint32_t kParentMask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;

bool is_valid(const ibv_context* context, const ibv_parent_domain_init_attr& a) {  // (R1)
  if ((a.comp_mask & ~kParentMask) != 0 || a.pd == nullptr || a.pd->context != context) return false;
  if (pd_of(a.pd).protection != nullptr || (a.td != nullptr && a.td->context != context)) return false;
  const bool allocates = (a.comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0;
  return !allocates || (a.alloc != nullptr && a.free != nullptr);
}

}  // namespace

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes) {
  const bool known = attributes->comp_mask == 0;
  auto* const td = known ? new (std::nothrow) Td : nullptr;
  if (td == nullptr) {
    errno = known ? ENOMEM : EINVAL;
    return nullptr;
  }
  td->td.context = context;
  return &td->td;
}

int dealloc_td(ibv_td* td) {
  if (td_of(td).users.load() != 0) return EBUSY;
  delete &td_of(td);
  return 0;
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
  const bool valid = is_valid(context, *attributes);
  auto* const domain = valid ? new (std::nothrow) Pd : nullptr;
  if (domain == nullptr) {
    errno = valid ? ENOMEM : EINVAL;
    return nullptr;
  }
  domain->pd.context = context;
  domain->pd.handle = attributes->pd->handle;
  domain->protection = &pd_of(attributes->pd);
  domain->protection->users.fetch_add(1);
  if (attributes->td != nullptr) {
    domain->thread = &td_of(attributes->td);
    domain->thread->users.fetch_add(1);
  }
  if ((attributes->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0) {
    domain->allocate = attributes->alloc;
    domain->free = attributes->free;
  }
  if ((attributes->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT) != 0) {
    domain->allocator_context = attributes->pd_context;
  }
  return &domain->pd;
}

void free_parent_domain(Pd& domain) {
  domain.protection->users.fetch_sub(1);
  if (domain.thread != nullptr) domain.thread->users.fetch_sub(1);
  delete &domain;
}

void* allocate_records(ibv_pd* pd, RecordsOf kind, std::size_t bytes, FreeRecords& owner) {
  Pd* const domain = pd == nullptr ? nullptr : &pd_of(pd);
  if (domain != nullptr && domain->allocate != nullptr) {
    void* const memory = domain->allocate(pd, domain->allocator_context, bytes, alignof(std::max_align_t),
                                          static_cast<std::uint64_t>(kind));
    if (memory != IBV_ALLOCATOR_USE_DEFAULT) {
      owner = {domain, kind};
      return memory;
    }
  }
  owner = {};
  return std::malloc(bytes);
}

void free_records(Pd* domain, RecordsOf kind, void* memory) {
  if (domain == nullptr) {
    std::free(memory);
  } else {
    domain->free(&domain->pd, domain->allocator_context, memory, static_cast<std::uint64_t>(kind));
  }
}

}  // namespace rxnic::verbs
