// SPDX-License-Identifier: Apache-2.0
// What this library can do: one table. The public functions (shell.cpp) and the function pointers of verbs_context call
// its entries. What is not supported returns EOPNOTSUPP.
#pragma once

#include "bridge/verbs/control_path.h"

namespace rxnic::verbs {

struct Operations {
  decltype(&verbs::get_device_list) get_device_list;
  decltype(&verbs::get_device_guid) get_device_guid;
  decltype(&verbs::get_device_index) get_device_index;
  decltype(&verbs::open_device) open_device;
  decltype(&verbs::close_device) close_device;
  decltype(&verbs::import_device) import_device;
  decltype(&verbs::query_device) query_device;
  decltype(&verbs::query_device_ex) query_device_ex;
  decltype(&verbs::query_port) query_port;
  decltype(&verbs::query_gid) query_gid;
  decltype(&verbs::query_gid_ex) query_gid_ex;
  decltype(&verbs::query_gid_table) query_gid_table;
  decltype(&verbs::query_pkey) query_pkey;
  decltype(&verbs::get_pkey_index) get_pkey_index;
  decltype(&verbs::query_rt_values) query_rt_values;
  decltype(&verbs::alloc_pd) alloc_pd;
  decltype(&verbs::dealloc_pd) dealloc_pd;
  decltype(&verbs::alloc_td) alloc_td;
  decltype(&verbs::dealloc_td) dealloc_td;
  decltype(&verbs::alloc_parent_domain) alloc_parent_domain;
  decltype(&verbs::import_pd) import_pd;
  decltype(&verbs::unimport_pd) unimport_pd;
  decltype(&verbs::reg_mr) reg_mr;
  decltype(&verbs::alloc_null_mr) alloc_null_mr;
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova, int fd,
                           int access);
  decltype(&verbs::import_mr) import_mr;
  decltype(&verbs::unimport_mr) unimport_mr;
  decltype(&verbs::rereg_mr) rereg_mr;
  decltype(&verbs::dereg_mr) dereg_mr;
  decltype(&verbs::advise_mr) advise_mr;
  decltype(&verbs::alloc_mw) alloc_mw;
  decltype(&verbs::dealloc_mw) dealloc_mw;
  decltype(&verbs::alloc_dm) alloc_dm;
  decltype(&verbs::free_dm) free_dm;
  decltype(&verbs::reg_dm_mr) reg_dm_mr;
  decltype(&verbs::import_dm) import_dm;
  decltype(&verbs::unimport_dm) unimport_dm;
  decltype(&verbs::create_ah) create_ah;
  decltype(&verbs::destroy_ah) destroy_ah;
  decltype(&verbs::init_ah_from_wc) init_ah_from_wc;
  decltype(&verbs::resolve_eth_l2_from_gid) resolve_eth_l2_from_gid;
  decltype(&verbs::attach_mcast) attach_mcast;
  decltype(&verbs::detach_mcast) detach_mcast;
  decltype(&verbs::create_comp_channel) create_comp_channel;
  decltype(&verbs::destroy_comp_channel) destroy_comp_channel;
  decltype(&verbs::create_cq) create_cq;
  decltype(&verbs::create_cq_ex) create_cq_ex;
  decltype(&verbs::resize_cq) resize_cq;
  decltype(&verbs::modify_cq) modify_cq;
  decltype(&verbs::destroy_cq) destroy_cq;
  decltype(&verbs::create_srq) create_srq;
  decltype(&verbs::create_srq_ex) create_srq_ex;
  decltype(&verbs::modify_srq) modify_srq;
  decltype(&verbs::query_srq) query_srq;
  decltype(&verbs::get_srq_num) get_srq_num;
  decltype(&verbs::destroy_srq) destroy_srq;
  decltype(&verbs::create_qp) create_qp;
  decltype(&verbs::create_qp_ex) create_qp_ex;
  decltype(&verbs::qp_to_qp_ex) qp_to_qp_ex;
  decltype(&verbs::query_qp) query_qp;
  decltype(&verbs::modify_qp) modify_qp;
  decltype(&verbs::destroy_qp) destroy_qp;
  int (*query_ece)(ibv_qp* qp, ibv_ece* ece);
  int (*set_ece)(ibv_qp* qp, ibv_ece* ece);
  decltype(&verbs::query_qp_data_in_order) query_qp_data_in_order;
  // data_path.h
  int (*post_send)(ibv_qp*, ibv_send_wr*, ibv_send_wr**);
  int (*bind_mw)(ibv_qp*, ibv_mw*, ibv_mw_bind*);
  int (*post_recv)(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**);
  int (*post_srq_recv)(ibv_srq*, ibv_recv_wr*, ibv_recv_wr**);
  int (*post_srq_ops)(ibv_srq*, ibv_ops_wr*, ibv_ops_wr**);
  int (*poll_cq)(ibv_cq*, int, ibv_wc*);
  int (*req_notify_cq)(ibv_cq*, int);
  int (*get_cq_event)(ibv_comp_channel*, ibv_cq**, void**);
  void (*ack_cq_events)(ibv_cq*, unsigned);
  int (*get_async_event)(ibv_context*, ibv_async_event*);
  void (*ack_async_event)(ibv_async_event*);
};

extern const Operations kOperations;

// The function pointers that inline functions of <infiniband/verbs.h> call.
void fill(verbs_context& context);

}  // namespace rxnic::verbs
