// SPDX-License-Identifier: Apache-2.0
// Memory of the device (ibv_alloc_dm(3)): allocated there, copied by the device, registered as zero-based regions.
#include <cerrno>
#include <new>

#include "bridge/verbs/connection.h"
#include "bridge/verbs/control_path.h"
#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

namespace {

constexpr unsigned kDeviceMemoryRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                         IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED;

// Between `program` and the memory's byte `offset`.
int copy(ibv_dm* dm, channel::Request direction, std::uint64_t offset, const void* program, std::size_t length) {
  channel::Message message = request(direction);
  message.body.device_memory = {dm->handle, 0, offset, length, reinterpret_cast<std::uintptr_t>(program)};
  return call(context_of(dm->context), message);
}

int copy_to(ibv_dm* dm, std::uint64_t offset, const void* from, std::size_t length) {
  return copy(dm, channel::Request::kCopyToDevice, offset, from, length);
}

int copy_from(void* to, ibv_dm* dm, std::uint64_t offset, std::size_t length) {
  return copy(dm, channel::Request::kCopyFromDevice, offset, to, length);
}

}  // namespace

ibv_dm* new_dm(ibv_context* context, std::uint32_t handle) {
  return new (std::nothrow) ibv_dm{context, copy_to, copy_from, 0, handle};
}

ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes) {
  ibv_dm* const dm = new_dm(context, 0);
  channel::Message message = request(channel::Request::kAllocateDeviceMemory);
  message.body.device_memory = {0, attributes->log_align_req, 0, attributes->length, 0};
  int status = dm == nullptr ? ENOMEM : attributes->comp_mask != 0 ? EINVAL : 0;
  if (status == 0) status = call(context_of(context), message);
  if (status != 0) {
    delete dm;
    errno = status;
    return nullptr;
  }
  dm->handle = message.body.device_memory.number;
  return dm;
}

int free_dm(ibv_dm* dm) {
  const int status = free_object(context_of(dm->context), channel::Request::kFreeDeviceMemory, dm->handle);
  if (status == 0) delete dm;
  return status;
}

ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length, unsigned access) {
  access &= ~static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);
  auto* const mr = new (std::nothrow) Mr;
  channel::Message message = request(channel::Request::kRegisterMemory);
  channel::Memory& m = message.body.memory;
  m = {};
  m.pd = pd->handle;
  m.access = access;
  m.address = offset;
  m.length = length;
  m.device_memory = dm->handle;
  int status = mr == nullptr ? ENOMEM : (access & ~kDeviceMemoryRights) != 0 ? EINVAL : 0;
  if (status == 0) status = call(context_of(pd->context), message);
  if (status != 0) {
    delete mr;
    errno = status;
    return nullptr;
  }
  mr->access = static_cast<int>(access);
  mr->of_device = true;
  mr->mr = {pd->context, pd, nullptr, length, m.lkey, m.lkey, m.rkey};
  pd_of(pd).users.fetch_add(1);
  return &mr->mr;
}

}  // namespace rxnic::verbs
