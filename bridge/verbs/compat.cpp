// SPDX-License-Identifier: Apache-2.0
// Symbols of version IBVERBS_1.0, whose structs had another layout in 2006 than they have today: ENOSYS. They are here
// so that a program that asks for that version loads, and fails in an orderly manner.
#include <infiniband/verbs.h>

#include <cerrno>

#include "bridge/verbs/export.h"

// rxnic_old_<name> is exported as ibv_<name>@IBVERBS_1.0, a version that the linker does not take by default.
#define RXNIC_OLD(name) __asm__(".symver rxnic_old_" #name ",ibv_" #name "@IBVERBS_1.0")

#define RXNIC_OLD_POINTER(name)               \
  RXNIC_OLD(name);                            \
  RXNIC_EXPORT void* rxnic_old_##name(void) { \
    errno = ENOSYS;                           \
    return nullptr;                           \
  }
#define RXNIC_OLD_ERRNO(name) \
  RXNIC_OLD(name);            \
  RXNIC_EXPORT int rxnic_old_##name(void) { return ENOSYS; }
#define RXNIC_OLD_MINUS_ONE(name)           \
  RXNIC_OLD(name);                          \
  RXNIC_EXPORT int rxnic_old_##name(void) { \
    errno = ENOSYS;                         \
    return -1;                              \
  }
#define RXNIC_OLD_NOTHING(name) \
  RXNIC_OLD(name);              \
  RXNIC_EXPORT void rxnic_old_##name(void) {}

RXNIC_OLD_POINTER(alloc_pd)
RXNIC_OLD_POINTER(create_ah)
RXNIC_OLD_POINTER(create_cq)
RXNIC_OLD_POINTER(create_qp)
RXNIC_OLD_POINTER(create_srq)
RXNIC_OLD_POINTER(get_device_name)
RXNIC_OLD_POINTER(open_device)
RXNIC_OLD_POINTER(reg_mr)
RXNIC_OLD_ERRNO(attach_mcast)
RXNIC_OLD_ERRNO(close_device)
RXNIC_OLD_ERRNO(dealloc_pd)
RXNIC_OLD_ERRNO(dereg_mr)
RXNIC_OLD_ERRNO(destroy_ah)
RXNIC_OLD_ERRNO(destroy_cq)
RXNIC_OLD_ERRNO(destroy_qp)
RXNIC_OLD_ERRNO(destroy_srq)
RXNIC_OLD_ERRNO(detach_mcast)
RXNIC_OLD_ERRNO(modify_qp)
RXNIC_OLD_ERRNO(modify_srq)
RXNIC_OLD_ERRNO(query_device)
RXNIC_OLD_ERRNO(query_port)
RXNIC_OLD_ERRNO(query_qp)
RXNIC_OLD_ERRNO(query_srq)
RXNIC_OLD_ERRNO(resize_cq)
RXNIC_OLD_MINUS_ONE(get_async_event)
RXNIC_OLD_MINUS_ONE(get_cq_event)
RXNIC_OLD_MINUS_ONE(query_gid)
RXNIC_OLD_MINUS_ONE(query_pkey)
RXNIC_OLD_NOTHING(ack_async_event)
RXNIC_OLD_NOTHING(ack_cq_events)
RXNIC_OLD_NOTHING(free_device_list)

RXNIC_OLD(get_device_list);
RXNIC_EXPORT void* rxnic_old_get_device_list(int* count) {
  if (count != nullptr) *count = 0;
  errno = ENOSYS;
  return nullptr;
}

RXNIC_OLD(get_device_guid);
RXNIC_EXPORT unsigned long long rxnic_old_get_device_guid(void) { return 0; }

// What a provider of 2008 calls when it is loaded.
__asm__(".symver rxnic_old_register_driver,ibv_register_driver@IBVERBS_1.1");
RXNIC_EXPORT void rxnic_old_register_driver(void) {}
