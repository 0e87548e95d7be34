// SPDX-License-Identifier: Apache-2.0
// The control path: one function for each operation, in the file named above it. Those of the data path are in
// data_path.h.
//
//   R1  As the manual page of ibv_<name>: 0 or a positive errno, or a pointer and errno, unless it says otherwise.
//   R2  Structs whose size the caller gives (query_device_ex, query_port, query_gid_ex) are filled up to that size.
//   R3  When the simulator is gone: EIO. Functions that free an object succeed all the same.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace rxnic::verbs {

struct Pd;
struct Qp;

// device.cpp
ibv_device** get_device_list(int* count);
std::uint64_t get_device_guid(ibv_device* device);
int get_device_index(ibv_device* device);
ibv_context* open_device(ibv_device* device);
int close_device(ibv_context* context);

// import.cpp
ibv_context* import_device(int cmd_fd);
ibv_pd* import_pd(ibv_context* context, std::uint32_t handle);
void unimport_pd(ibv_pd* pd);
ibv_mr* import_mr(ibv_pd* pd, std::uint32_t handle);
void unimport_mr(ibv_mr* mr);
ibv_dm* import_dm(ibv_context* context, std::uint32_t handle);
void unimport_dm(ibv_dm* dm);

// port.cpp
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attributes,
                    std::size_t bytes);
int query_device(ibv_context* context, ibv_device_attr* attributes);
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes, std::size_t bytes);
int query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid);  // -1 and errno
int query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry* entry,
                 std::uint32_t flags, std::size_t bytes);
ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t count, std::uint32_t flags,
                        std::size_t bytes);                                        // number or -errno
int query_pkey(ibv_context* context, std::uint8_t port, int index, __be16* pkey);  // -1 and errno
int get_pkey_index(ibv_context* context, std::uint8_t port, __be16 pkey);          // index, or -1 and errno
int query_rt_values(ibv_context* context, ibv_values_ex* values);

// parent_domain.cpp
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes);
int dealloc_td(ibv_td* td);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes);
void free_parent_domain(Pd& domain);  // for dealloc_pd()

// memory.cpp
ibv_pd* alloc_pd(ibv_context* context);
int dealloc_pd(ibv_pd* pd);
ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access);
ibv_mr* alloc_null_mr(ibv_pd* pd);
int rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length,
             int access);  // ibv_rereg_mr_err_code
int dereg_mr(ibv_mr* mr);
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list, std::uint32_t count);
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int dealloc_mw(ibv_mw* mw);
ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes);
ibv_dm* new_dm(ibv_context* context, std::uint32_t handle);  // the device's memory of that number; nullptr: ENOMEM
int free_dm(ibv_dm* dm);
ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length, unsigned access);

// address.cpp
ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attributes);
int destroy_ah(ibv_ah* ah);
int init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* wc, ibv_grh* grh, ibv_ah_attr* attributes);
int resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attributes, std::uint8_t mac[6], std::uint16_t* vlan);
int attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid);
int detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid);

// cq_control.cpp
ibv_comp_channel* create_comp_channel(ibv_context* context);
int destroy_comp_channel(ibv_comp_channel* channel);
ibv_cq* create_cq(ibv_context* context, int cqes, void* cq_context, ibv_comp_channel* channel, int vector);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes);
int resize_cq(ibv_cq* cq, int cqes);
int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attributes);
int destroy_cq(ibv_cq* cq);

// xrc_domain.cpp
ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes);
int close_xrcd(ibv_xrcd* xrcd);

// srq_control.cpp
ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes);
int modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask);
int query_srq(ibv_srq* srq, ibv_srq_attr* attributes);
int get_srq_num(ibv_srq* srq, std::uint32_t* number);
int destroy_srq(ibv_srq* srq);

// qp_creation.cpp
ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes);
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes);
ibv_qp* create_management_qp(ibv_context* context, const ibv_qp_init_attr_ex& attributes);  // QP 1
Qp* create_receiver(ibv_context* context, const ibv_qp_init_attr_ex& attributes);           // without a send queue

// qp_control.cpp
ibv_qp_ex* qp_to_qp_ex(ibv_qp* qp);
int query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* init);
int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask);
int destroy_qp(ibv_qp* qp);
int query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode opcode, std::uint32_t flags);  // 1: yes

// receive_wq.cpp
ibv_wq* create_wq(ibv_context* context, ibv_wq_init_attr* attributes);
int modify_wq(ibv_wq* wq, ibv_wq_attr* attributes);
int destroy_wq(ibv_wq* wq);
ibv_rwq_ind_table* create_rwq_ind_table(ibv_context* context, ibv_rwq_ind_table_init_attr* attributes);
int destroy_rwq_ind_table(ibv_rwq_ind_table* table);
bool is_rss(const ibv_qp_init_attr_ex& attributes);
ibv_qp* create_rss_qp(ibv_context* context, const ibv_qp_init_attr_ex& attributes);
int destroy_rss_qp(Qp& qp);

// flow.cpp
ibv_flow* create_flow(ibv_qp* qp, ibv_flow_attr* attributes);
int destroy_flow(ibv_flow* flow);
ibv_counters* create_counters(ibv_context* context, ibv_counters_init_attr* attributes);
int destroy_counters(ibv_counters* counters);
int attach_counters_point_flow(ibv_counters* counters, ibv_counter_attach_attr* attributes, ibv_flow* flow);
int read_counters(ibv_counters* counters, std::uint64_t* values, std::uint32_t count, std::uint32_t flags);

}  // namespace rxnic::verbs
