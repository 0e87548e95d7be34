// SPDX-License-Identifier: Apache-2.0
// Protection domains, memory regions and windows. Nothing is pinned: the simulator reaches the pages when it needs
// them.
#include <algorithm>
#include <cerrno>
#include <new>

#include "bridge/verbs/address_space.h"
#include "bridge/verbs/connection.h"
#include "bridge/verbs/control_path.h"
#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

namespace {

constexpr unsigned kLeastPageShift = 12;
constexpr unsigned kMemoryRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                   IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ON_DEMAND |
                                   IBV_ACCESS_HUGETLB;

// 0 or a positive errno. Flags of the optional range are dropped: a device may ignore them.
int check_access(unsigned& access) {
  access &= ~static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);
  if ((access & ~(kMemoryRights | IBV_ACCESS_ZERO_BASED)) != 0) return EINVAL;
  const bool remote_writes = (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
  return remote_writes && (access & IBV_ACCESS_LOCAL_WRITE) == 0 ? EINVAL : 0;
}

// The whole address space (ibv_reg_mr(3), IBV_ACCESS_ON_DEMAND).
bool is_implicit(const void* address, std::size_t length, unsigned access) {
  return (access & IBV_ACCESS_ON_DEMAND) != 0 && address == nullptr && length == SIZE_MAX;
}

int check_range(const void* address, std::size_t length, unsigned access) {
  if (is_implicit(address, length, access)) return 0;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (begin + length < begin) return EINVAL;
  // As the kernel, which pins pages: no byte at the beginning of a page is no page, elsewhere it is one.
  if (length == 0 && begin % (std::size_t{1} << kLeastPageShift) == 0) return EINVAL;
  if ((access & IBV_ACCESS_ON_DEMAND) != 0) return 0;  // it may be mapped later
  return is_mapped(begin, std::max<std::size_t>(length, 1), (access & IBV_ACCESS_LOCAL_WRITE) != 0) ? 0 : EFAULT;
}

// Has the device make the region; nullptr and errno.
ibv_mr* register_region(ibv_pd* pd, const channel::Memory& asked) {
  auto* const mr = new (std::nothrow) Mr;
  channel::Message message = request(channel::Request::kRegisterMemory);
  channel::Memory& m = message.body.memory;
  m = asked;
  m.pd = pd->handle;
  const int status = mr == nullptr ? ENOMEM : call(context_of(pd->context), message);
  if (status != 0) {
    delete mr;
    errno = status;
    return nullptr;
  }
  mr->access = static_cast<int>(asked.access);
  mr->is_null = asked.null_region != 0;
  mr->mr = {pd->context, pd, reinterpret_cast<void*>(asked.address), asked.length, m.lkey, m.lkey, m.rkey};
  pd_of(pd).users.fetch_add(1);
  return &mr->mr;
}

}  // namespace

ibv_pd* alloc_pd(ibv_context* context) {
  auto* pd = new (std::nothrow) Pd;
  channel::Message message = request(channel::Request::kAllocatePd);
  const int status = pd == nullptr ? ENOMEM : call(context_of(context), message);
  if (status != 0) {
    delete pd;
    errno = status;
    return nullptr;
  }
  pd->pd.context = context;
  pd->pd.handle = message.body.handle.number;
  return &pd->pd;
}

int dealloc_pd(ibv_pd* pd) {
  if (pd_of(pd).users.load() != 0) return EBUSY;
  if (pd_of(pd).protection != nullptr) {
    free_parent_domain(pd_of(pd));
    return 0;
  }
  if (const int status = free_object(context_of(pd->context), channel::Request::kFreePd, pd->handle); status != 0) {
    return status;
  }
  delete &pd_of(pd);
  return 0;
}

ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access) {
  int status = check_access(access);
  if (status == 0) status = check_range(address, length, access);
  if (status != 0) {
    errno = status;
    return nullptr;
  }
  channel::Memory m;
  m.access = access & (kMemoryRights | IBV_ACCESS_ZERO_BASED);
  m.address = reinterpret_cast<std::uintptr_t>(address);
  m.length = length;
  m.iova = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : iova;
  m.page_shift = is_implicit(address, length, access) ? kLeastPageShift : page_shift(m.address, length);
  return register_region(pd, m);
}

ibv_mr* alloc_null_mr(ibv_pd* pd) {
  channel::Memory m;
  m.access = IBV_ACCESS_LOCAL_WRITE;
  m.length = SIZE_MAX;
  m.null_region = 1;
  return register_region(pd, m);
}

int rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length, int access) {
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool changes_pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  const bool changes_access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
  auto rights = static_cast<unsigned>(changes_access ? access : mr_of(mr).access);
  int status = flags == 0 || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0 || (changes_pd && pd == nullptr) ? EINVAL : 0;
  if (status == 0 && moves && (address == nullptr || length == 0)) status = EINVAL;
  if (status == 0) status = check_access(rights);
  if (status == 0 && mr_of(mr).is_null) status = EINVAL;
  if (status == 0 && mr_of(mr).of_device) status = EOPNOTSUPP;
  void* const to = moves ? address : mr->addr;
  const std::size_t bytes = moves ? length : mr->length;
  if (status == 0) status = check_range(to, bytes, rights);
  if (status != 0) {
    errno = status;
    return IBV_REREG_MR_ERR_INPUT;
  }
  channel::Message message = request(channel::Request::kReregisterMemory);
  channel::Memory& m = message.body.memory;
  m = {};
  m.pd = (changes_pd ? pd : mr->pd)->handle;
  m.access = rights & (kMemoryRights | IBV_ACCESS_ZERO_BASED);
  m.address = reinterpret_cast<std::uintptr_t>(to);
  m.iova = (rights & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : m.address;
  m.length = bytes;
  m.page_shift = page_shift(m.address, bytes);
  m.rereg_flags = static_cast<std::uint32_t>(flags);
  m.lkey = mr->lkey;
  if (status = call(context_of(mr->context), message); status != 0) {
    errno = status;
    return status == EIO ? IBV_REREG_MR_ERR_CMD : IBV_REREG_MR_ERR_INPUT;  // a refusal has changed nothing
  }
  mr->addr = to;
  mr->length = bytes;
  mr->lkey = mr->handle = m.lkey;
  mr->rkey = m.rkey;
  mr_of(mr).access = static_cast<int>(rights);
  if (changes_pd) {
    pd_of(pd).users.fetch_add(1);
    pd_of(mr->pd).users.fetch_sub(1);
    mr->pd = pd;
  }
  return 0;
}

// Each element is a request; those before one that is refused have been carried out.
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list, std::uint32_t count) {
  if (count == 0) return EINVAL;
  for (std::uint32_t n = 0; n < count; ++n) {
    channel::Message message = request(channel::Request::kAdviseMemory);
    message.body.advice = {
        pd->handle, list[n].lkey, static_cast<std::uint32_t>(advice), flags, list[n].addr, list[n].length, 0};
    if (const int status = call(context_of(pd->context), message); status != 0) return status;
  }
  return 0;
}

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  auto* const mw = new (std::nothrow) Mw;
  channel::Message message = request(channel::Request::kAllocateWindow);
  message.body.window = {pd->handle, static_cast<std::uint32_t>(type), 0};
  const int status = mw == nullptr ? ENOMEM : call(context_of(pd->context), message);
  if (status != 0) {
    delete mw;
    errno = status;
    return nullptr;
  }
  mw->number = message.body.window.rkey;
  mw->mw = {pd->context, pd, mw->number, mw->number, type};
  pd_of(pd).users.fetch_add(1);
  return &mw->mw;
}

int dealloc_mw(ibv_mw* mw) {
  Mw& w = mw_of(mw);
  if (const int status = free_object(context_of(mw->context), channel::Request::kFreeWindow, w.number); status != 0) {
    return status;
  }
  pd_of(mw->pd).users.fetch_sub(1);
  delete &w;
  return 0;
}

int dereg_mr(ibv_mr* mr) {
  if (const int status = free_object(context_of(mr->context), channel::Request::kFreeMemory, mr->handle); status != 0) {
    return status;
  }
  pd_of(mr->pd).users.fetch_sub(1);
  delete &mr_of(mr);
  return 0;
}

}  // namespace rxnic::verbs
