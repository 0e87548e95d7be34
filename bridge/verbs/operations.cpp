// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/operations.h"

#include <cerrno>
#include <type_traits>

#include "bridge/verbs/data_path.h"

namespace rxnic::verbs {

namespace {

// Stands for every operation that is not supported: converts to the type of the entry that it is assigned to.
template <class Result, class... Arguments>
Result unsupported(Arguments...) {
  if constexpr (std::is_pointer_v<Result>) {
    errno = EOPNOTSUPP;
    return nullptr;
  } else {
    return EOPNOTSUPP;
  }
}

}  // namespace

const Operations kOperations = {
    .get_device_list = get_device_list,
    .get_device_guid = get_device_guid,
    .get_device_index = get_device_index,
    .open_device = open_device,
    .close_device = close_device,
    .import_device = import_device,
    .query_device = query_device,
    .query_device_ex = query_device_ex,
    .query_port = query_port,
    .query_gid = query_gid,
    .query_gid_ex = query_gid_ex,
    .query_gid_table = query_gid_table,
    .query_pkey = query_pkey,
    .get_pkey_index = get_pkey_index,
    .query_rt_values = query_rt_values,
    .alloc_pd = alloc_pd,
    .dealloc_pd = dealloc_pd,
    .alloc_td = alloc_td,
    .dealloc_td = dealloc_td,
    .alloc_parent_domain = alloc_parent_domain,
    .import_pd = import_pd,
    .unimport_pd = unimport_pd,
    .reg_mr = reg_mr,
    .alloc_null_mr = alloc_null_mr,
    .reg_dmabuf_mr = unsupported,
    .import_mr = import_mr,
    .unimport_mr = unimport_mr,
    .rereg_mr = rereg_mr,
    .dereg_mr = dereg_mr,
    .advise_mr = advise_mr,
    .alloc_mw = alloc_mw,
    .dealloc_mw = dealloc_mw,
    .alloc_dm = alloc_dm,
    .free_dm = free_dm,
    .reg_dm_mr = reg_dm_mr,
    .import_dm = import_dm,
    .unimport_dm = unimport_dm,
    .create_ah = create_ah,
    .destroy_ah = destroy_ah,
    .init_ah_from_wc = init_ah_from_wc,
    .resolve_eth_l2_from_gid = resolve_eth_l2_from_gid,
    .attach_mcast = attach_mcast,
    .detach_mcast = detach_mcast,
    .create_comp_channel = create_comp_channel,
    .destroy_comp_channel = destroy_comp_channel,
    .create_cq = create_cq,
    .create_cq_ex = create_cq_ex,
    .resize_cq = resize_cq,
    .modify_cq = modify_cq,
    .destroy_cq = destroy_cq,
    .create_srq = create_srq,
    .create_srq_ex = create_srq_ex,
    .modify_srq = modify_srq,
    .query_srq = query_srq,
    .get_srq_num = get_srq_num,
    .destroy_srq = destroy_srq,
    .create_qp = create_qp,
    .create_qp_ex = create_qp_ex,
    .qp_to_qp_ex = qp_to_qp_ex,
    .query_qp = query_qp,
    .modify_qp = modify_qp,
    .destroy_qp = destroy_qp,
    .query_ece = unsupported,
    .set_ece = unsupported,
    .query_qp_data_in_order = query_qp_data_in_order,
    .post_send = post_send,
    .bind_mw = bind_mw,
    .post_recv = post_recv,
    .post_srq_recv = post_srq_recv,
    .post_srq_ops = post_srq_ops,
    .poll_cq = poll_cq,
    .req_notify_cq = req_notify_cq,
    .get_cq_event = get_cq_event,
    .ack_cq_events = ack_cq_events,
    .get_async_event = get_async_event,
    .ack_async_event = ack_async_event,
};

void fill(verbs_context& context) {
  context.query_port = kOperations.query_port;
  context.query_device_ex = kOperations.query_device_ex;
  context.query_rt_values = kOperations.query_rt_values;
  context.create_cq_ex = kOperations.create_cq_ex;
  context.modify_cq = kOperations.modify_cq;
  context.create_srq_ex = kOperations.create_srq_ex;
  context.post_srq_ops = kOperations.post_srq_ops;
  context.get_srq_num = kOperations.get_srq_num;
  context.create_qp_ex = kOperations.create_qp_ex;
  context.open_qp = open_qp;
  context.create_wq = create_wq;
  context.modify_wq = modify_wq;
  context.destroy_wq = destroy_wq;
  context.create_rwq_ind_table = create_rwq_ind_table;
  context.destroy_rwq_ind_table = destroy_rwq_ind_table;
  context.ibv_create_flow = create_flow;
  context.ibv_destroy_flow = destroy_flow;
  context.create_counters = create_counters;
  context.destroy_counters = destroy_counters;
  context.attach_counters_point_flow = attach_counters_point_flow;
  context.read_counters = read_counters;
  context.open_xrcd = open_xrcd;
  context.close_xrcd = close_xrcd;
  context.alloc_td = kOperations.alloc_td;
  context.dealloc_td = kOperations.dealloc_td;
  context.alloc_parent_domain = kOperations.alloc_parent_domain;
  context.alloc_null_mr = kOperations.alloc_null_mr;
  context.advise_mr = kOperations.advise_mr;
  context.alloc_dm = kOperations.alloc_dm;
  context.free_dm = kOperations.free_dm;
  context.reg_dm_mr = kOperations.reg_dm_mr;
  context.context.ops.alloc_mw = kOperations.alloc_mw;
  context.context.ops.dealloc_mw = kOperations.dealloc_mw;
  context.context.ops.bind_mw = kOperations.bind_mw;
  context.context.ops.poll_cq = kOperations.poll_cq;
  context.context.ops.req_notify_cq = kOperations.req_notify_cq;
  context.context.ops.post_srq_recv = kOperations.post_srq_recv;
  context.context.ops.post_send = kOperations.post_send;
  context.context.ops.post_recv = kOperations.post_recv;
  context.sz = sizeof context;
}

}  // namespace rxnic::verbs
