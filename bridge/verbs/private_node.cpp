// SPDX-License-Identifier: Apache-2.0
// The version node IBVERBS_PRIVATE_34: symbols that providers (libmlx5.so.1, libefa.so.1) need, which programs load
// beside this library. There is no kernel driver and no device of theirs: EOPNOTSUPP. Only ibv_query_gid_type is ever
// called.
//
// The functions ignore the arguments that their callers pass, so they declare none.
#include <infiniband/verbs.h>

#include <cerrno>

#include "bridge/verbs/export.h"
#include "bridge/verbs/operations.h"

#define RXNIC_NOT_HERE(name) \
  RXNIC_EXPORT int name(void) { return EOPNOTSUPP; }

RXNIC_EXPORT bool verbs_allow_disassociate_destroy;
bool verbs_allow_disassociate_destroy = false;

// A GID's type as sysfs names it: 0 "IB/RoCE v1", 1 "RoCE v2". An empty slot is of type 0.
RXNIC_EXPORT int ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index, int* type) {
  ibv_gid_entry entry{};
  const int status = rxnic::verbs::kOperations.query_gid_ex(context, port, index, &entry, 0, sizeof entry);
  if (status != 0 && status != ENODATA) {
    errno = status;
    return -1;
  }
  *type = status == 0 && entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 1 : 0;
  return 0;
}

RXNIC_EXPORT void verbs_register_driver_34(const void*) {}
RXNIC_EXPORT ibv_context* verbs_open_device(ibv_device* device, void*) {
  return rxnic::verbs::kOperations.open_device(device);
}
// NOLINTBEGIN(readability-identifier-naming): the providers' names
RXNIC_EXPORT void* _verbs_init_and_alloc_context(void) {
  errno = EOPNOTSUPP;
  return nullptr;
}
RXNIC_EXPORT void verbs_uninit_context(void*) {}
RXNIC_EXPORT void verbs_set_ops(void*, const void*) {}
RXNIC_EXPORT void verbs_init_cq(void) {}
RXNIC_EXPORT void __verbs_log(void) {}
RXNIC_EXPORT unsigned __ioctl_final_num_attrs(unsigned count) { return count; }
// NOLINTEND(readability-identifier-naming)
RXNIC_EXPORT int ibv_read_ibdev_sysfs_file(void) {
  errno = ENOENT;
  return -1;
}
RXNIC_EXPORT int ibv_cmd_poll_cq(void) { return -EOPNOTSUPP; }

RXNIC_NOT_HERE(execute_ioctl)
RXNIC_NOT_HERE(ibv_cmd_advise_mr)
RXNIC_NOT_HERE(ibv_cmd_alloc_dm)
RXNIC_NOT_HERE(ibv_cmd_alloc_mw)
RXNIC_NOT_HERE(ibv_cmd_alloc_pd)
RXNIC_NOT_HERE(ibv_cmd_attach_mcast)
RXNIC_NOT_HERE(ibv_cmd_close_xrcd)
RXNIC_NOT_HERE(ibv_cmd_create_ah)
RXNIC_NOT_HERE(ibv_cmd_create_counters)
RXNIC_NOT_HERE(ibv_cmd_create_cq)
RXNIC_NOT_HERE(ibv_cmd_create_cq_ex)
RXNIC_NOT_HERE(ibv_cmd_create_flow)
RXNIC_NOT_HERE(ibv_cmd_create_flow_action_esp)
RXNIC_NOT_HERE(ibv_cmd_create_qp)
RXNIC_NOT_HERE(ibv_cmd_create_qp_ex)
RXNIC_NOT_HERE(ibv_cmd_create_qp_ex2)
RXNIC_NOT_HERE(ibv_cmd_create_rwq_ind_table)
RXNIC_NOT_HERE(ibv_cmd_create_srq)
RXNIC_NOT_HERE(ibv_cmd_create_srq_ex)
RXNIC_NOT_HERE(ibv_cmd_create_wq)
RXNIC_NOT_HERE(ibv_cmd_dealloc_mw)
RXNIC_NOT_HERE(ibv_cmd_dealloc_pd)
RXNIC_NOT_HERE(ibv_cmd_dereg_mr)
RXNIC_NOT_HERE(ibv_cmd_destroy_ah)
RXNIC_NOT_HERE(ibv_cmd_destroy_counters)
RXNIC_NOT_HERE(ibv_cmd_destroy_cq)
RXNIC_NOT_HERE(ibv_cmd_destroy_flow)
RXNIC_NOT_HERE(ibv_cmd_destroy_flow_action)
RXNIC_NOT_HERE(ibv_cmd_destroy_qp)
RXNIC_NOT_HERE(ibv_cmd_destroy_rwq_ind_table)
RXNIC_NOT_HERE(ibv_cmd_destroy_srq)
RXNIC_NOT_HERE(ibv_cmd_destroy_wq)
RXNIC_NOT_HERE(ibv_cmd_detach_mcast)
RXNIC_NOT_HERE(ibv_cmd_free_dm)
RXNIC_NOT_HERE(ibv_cmd_get_context)
RXNIC_NOT_HERE(ibv_cmd_modify_cq)
RXNIC_NOT_HERE(ibv_cmd_modify_flow_action_esp)
RXNIC_NOT_HERE(ibv_cmd_modify_qp)
RXNIC_NOT_HERE(ibv_cmd_modify_qp_ex)
RXNIC_NOT_HERE(ibv_cmd_modify_srq)
RXNIC_NOT_HERE(ibv_cmd_modify_wq)
RXNIC_NOT_HERE(ibv_cmd_open_qp)
RXNIC_NOT_HERE(ibv_cmd_open_xrcd)
RXNIC_NOT_HERE(ibv_cmd_post_recv)
RXNIC_NOT_HERE(ibv_cmd_post_send)
RXNIC_NOT_HERE(ibv_cmd_post_srq_recv)
RXNIC_NOT_HERE(ibv_cmd_query_context)
RXNIC_NOT_HERE(ibv_cmd_query_device_any)
RXNIC_NOT_HERE(ibv_cmd_query_mr)
RXNIC_NOT_HERE(ibv_cmd_query_port)
RXNIC_NOT_HERE(ibv_cmd_query_qp)
RXNIC_NOT_HERE(ibv_cmd_query_srq)
RXNIC_NOT_HERE(ibv_cmd_read_counters)
RXNIC_NOT_HERE(ibv_cmd_reg_dm_mr)
RXNIC_NOT_HERE(ibv_cmd_reg_dmabuf_mr)
RXNIC_NOT_HERE(ibv_cmd_reg_mr)
RXNIC_NOT_HERE(ibv_cmd_req_notify_cq)
RXNIC_NOT_HERE(ibv_cmd_rereg_mr)
RXNIC_NOT_HERE(ibv_cmd_resize_cq)
