// SPDX-License-Identifier: Apache-2.0
// The public functions of libibverbs.so.1: each one calls its entry of the table (operations.h).
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "bridge/verbs/export.h"
#include "bridge/verbs/operations.h"

// Macros of the header that hide the functions of these names.
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

using rxnic::verbs::kOperations;

// Devices
RXNIC_EXPORT ibv_device** ibv_get_device_list(int* count) { return kOperations.get_device_list(count); }
RXNIC_EXPORT void ibv_free_device_list(ibv_device** list) { std::free(list); }
RXNIC_EXPORT const char* ibv_get_device_name(ibv_device* device) { return device->name; }
RXNIC_EXPORT __be64 ibv_get_device_guid(ibv_device* device) { return kOperations.get_device_guid(device); }
RXNIC_EXPORT int ibv_get_device_index(ibv_device* device) { return kOperations.get_device_index(device); }
RXNIC_EXPORT ibv_context* ibv_open_device(ibv_device* device) { return kOperations.open_device(device); }
RXNIC_EXPORT int ibv_close_device(ibv_context* context) { return kOperations.close_device(context); }
RXNIC_EXPORT ibv_context* ibv_import_device(int cmd_fd) { return kOperations.import_device(cmd_fd); }
RXNIC_EXPORT int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  return kOperations.query_device(context, attributes);
}

// Ports. The exported ibv_query_port fills the struct of the first release.
RXNIC_EXPORT int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attributes) {
  constexpr std::size_t kFirstReleaseBytes = 48;
  return kOperations.query_port(context, port, reinterpret_cast<ibv_port_attr*>(attributes), kFirstReleaseBytes);
}
RXNIC_EXPORT int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  return kOperations.query_gid(context, port, index, gid);
}
RXNIC_EXPORT int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry* entry,
                                   std::uint32_t flags, std::size_t bytes) {
  return kOperations.query_gid_ex(context, port, index, entry, flags, bytes);
}
RXNIC_EXPORT ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t count,
                                          std::uint32_t flags, std::size_t bytes) {
  return kOperations.query_gid_table(context, entries, count, flags, bytes);
}
RXNIC_EXPORT int ibv_query_pkey(ibv_context* context, std::uint8_t port, int index, __be16* pkey) {
  return kOperations.query_pkey(context, port, index, pkey);
}
RXNIC_EXPORT int ibv_get_pkey_index(ibv_context* context, std::uint8_t port, __be16 pkey) {
  return kOperations.get_pkey_index(context, port, pkey);
}

// Protection domains and memory
RXNIC_EXPORT ibv_pd* ibv_alloc_pd(ibv_context* context) { return kOperations.alloc_pd(context); }
RXNIC_EXPORT int ibv_dealloc_pd(ibv_pd* pd) { return kOperations.dealloc_pd(pd); }
RXNIC_EXPORT ibv_pd* ibv_import_pd(ibv_context* context, std::uint32_t handle) {
  return kOperations.import_pd(context, handle);
}
RXNIC_EXPORT void ibv_unimport_pd(ibv_pd* pd) { kOperations.unimport_pd(pd); }
RXNIC_EXPORT ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  return kOperations.reg_mr(pd, address, length, reinterpret_cast<std::uintptr_t>(address),
                            static_cast<unsigned>(access));
}
RXNIC_EXPORT ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, int access) {
  return kOperations.reg_mr(pd, address, length, iova, static_cast<unsigned>(access));
}
RXNIC_EXPORT ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                                      unsigned access) {
  return kOperations.reg_mr(pd, address, length, iova, access);
}
RXNIC_EXPORT ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova, int fd,
                                       int access) {
  return kOperations.reg_dmabuf_mr(pd, offset, length, iova, fd, access);
}
RXNIC_EXPORT ibv_mr* ibv_import_mr(ibv_pd* pd, std::uint32_t handle) { return kOperations.import_mr(pd, handle); }
RXNIC_EXPORT void ibv_unimport_mr(ibv_mr* mr) { kOperations.unimport_mr(mr); }
RXNIC_EXPORT int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length, int access) {
  return kOperations.rereg_mr(mr, flags, pd, address, length, access);
}
RXNIC_EXPORT int ibv_dereg_mr(ibv_mr* mr) { return kOperations.dereg_mr(mr); }
RXNIC_EXPORT ibv_dm* ibv_import_dm(ibv_context* context, std::uint32_t handle) {
  return kOperations.import_dm(context, handle);
}
RXNIC_EXPORT void ibv_unimport_dm(ibv_dm* dm) { kOperations.unimport_dm(dm); }

// Address handles and multicast
RXNIC_EXPORT ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  return kOperations.create_ah(pd, attributes);
}
RXNIC_EXPORT int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* wc, ibv_grh* grh,
                                     ibv_ah_attr* attributes) {
  return kOperations.init_ah_from_wc(context, port, wc, grh, attributes);
}
RXNIC_EXPORT ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
  ibv_ah_attr attributes;
  if (const int status = kOperations.init_ah_from_wc(pd->context, port, wc, grh, &attributes); status != 0) {
    errno = status;
    return nullptr;
  }
  return kOperations.create_ah(pd, &attributes);
}
RXNIC_EXPORT int ibv_destroy_ah(ibv_ah* ah) { return kOperations.destroy_ah(ah); }
RXNIC_EXPORT int ibv_resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attributes, std::uint8_t mac[6],
                                             std::uint16_t* vlan) {
  return kOperations.resolve_eth_l2_from_gid(context, attributes, mac, vlan);
}
RXNIC_EXPORT int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  return kOperations.attach_mcast(qp, gid, lid);
}
RXNIC_EXPORT int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  return kOperations.detach_mcast(qp, gid, lid);
}

// Completion queues and events
RXNIC_EXPORT ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  return kOperations.create_comp_channel(context);
}
RXNIC_EXPORT int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  return kOperations.destroy_comp_channel(channel);
}
RXNIC_EXPORT ibv_cq* ibv_create_cq(ibv_context* context, int cqes, void* cq_context, ibv_comp_channel* channel,
                                   int vector) {
  return kOperations.create_cq(context, cqes, cq_context, channel, vector);
}
RXNIC_EXPORT int ibv_resize_cq(ibv_cq* cq, int cqes) { return kOperations.resize_cq(cq, cqes); }
RXNIC_EXPORT int ibv_destroy_cq(ibv_cq* cq) { return kOperations.destroy_cq(cq); }
RXNIC_EXPORT int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  return kOperations.get_cq_event(channel, cq, cq_context);
}
RXNIC_EXPORT void ibv_ack_cq_events(ibv_cq* cq, unsigned count) { kOperations.ack_cq_events(cq, count); }
RXNIC_EXPORT int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  return kOperations.get_async_event(context, event);
}
RXNIC_EXPORT void ibv_ack_async_event(ibv_async_event* event) { kOperations.ack_async_event(event); }

// Queues
RXNIC_EXPORT ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) {
  return kOperations.create_srq(pd, attributes);
}
RXNIC_EXPORT int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) {
  return kOperations.modify_srq(srq, attributes, mask);
}
RXNIC_EXPORT int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attributes) {
  return kOperations.query_srq(srq, attributes);
}
RXNIC_EXPORT int ibv_destroy_srq(ibv_srq* srq) { return kOperations.destroy_srq(srq); }
RXNIC_EXPORT ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  return kOperations.create_qp(pd, attributes);
}
RXNIC_EXPORT ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) { return kOperations.qp_to_qp_ex(qp); }
RXNIC_EXPORT int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* init) {
  return kOperations.query_qp(qp, attributes, mask, init);
}
RXNIC_EXPORT int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  return kOperations.modify_qp(qp, attributes, mask);
}
RXNIC_EXPORT int ibv_destroy_qp(ibv_qp* qp) { return kOperations.destroy_qp(qp); }
RXNIC_EXPORT int ibv_query_ece(ibv_qp* qp, ibv_ece* ece) { return kOperations.query_ece(qp, ece); }
RXNIC_EXPORT int ibv_set_ece(ibv_qp* qp, ibv_ece* ece) { return kOperations.set_ece(qp, ece); }
RXNIC_EXPORT int ibv_query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode opcode, std::uint32_t flags) {
  return kOperations.query_qp_data_in_order(qp, opcode, flags);
}

// fork needs no preparation: fork_guard.h
RXNIC_EXPORT int ibv_fork_init(void) { return 0; }
RXNIC_EXPORT ibv_fork_status ibv_is_fork_initialized(void) { return IBV_FORK_UNNEEDED; }
RXNIC_EXPORT int ibv_dontfork_range(void*, std::size_t) { return 0; }
RXNIC_EXPORT int ibv_dofork_range(void*, std::size_t) { return 0; }
