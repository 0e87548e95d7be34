// SPDX-License-Identifier: Apache-2.0
// What the examples have in common: two NICs of the model in one program, and RC queue pairs between them. Ordinary
// verbs: nothing here knows of the model.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <vector>

#include "testbench/live/examples/check.h"

namespace example {

// An opened NIC with a protection domain, and registered memory for this example.
struct Nic {
  explicit Nic(int number, std::size_t bytes = 1 << 20) : memory(bytes) {
    int count = 0;
    ibv_device** list = check(ibv_get_device_list(&count), "ibv_get_device_list");
    check(number < count, "fewer NICs than the example needs: rxnic run --nics 2");
    context = check(ibv_open_device(list[number]), "ibv_open_device");
    ibv_free_device_list(list);
    pd = check(ibv_alloc_pd(context), "ibv_alloc_pd");
    const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
    mr = check(ibv_reg_mr(pd, memory.data(), memory.size(), access), "ibv_reg_mr");
  }
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;
  ~Nic() {
    ibv_dereg_mr(mr);
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
  }
  ibv_sge sge(std::size_t offset, std::size_t bytes) {
    return {reinterpret_cast<std::uint64_t>(memory.data() + offset), static_cast<std::uint32_t>(bytes), mr->lkey};
  }

  std::vector<std::uint8_t> memory;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_mr* mr = nullptr;
};

// `sends` is 0 for a QP on a tag-matching SRQ: the NIC sends on it by itself.
inline ibv_qp* make_qp(const Nic& nic, ibv_cq* cq, ibv_srq* srq, std::uint32_t sends) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.srq = srq;
  init.qp_type = IBV_QPT_RC;
  init.sq_sig_all = 1;
  init.cap = {sends, srq == nullptr ? 16u : 0u, 1, 1, 0};
  return check(ibv_create_qp(nic.pd, &init), "ibv_create_qp");
}

// RESET -> INIT -> RTR -> RTS, towards a QP of another NIC. GID 2 is RoCEv2 over IPv4.
inline void connect(ibv_qp* qp, const Nic& to, std::uint32_t qpn) {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  a.qp_access_flags = IBV_ACCESS_REMOTE_READ;
  must(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = IBV_MTU_4096;
  a.dest_qp_num = qpn;
  a.max_dest_rd_atomic = 1;
  a.min_rnr_timer = 1;
  a.ah_attr.is_global = 1;
  a.ah_attr.port_num = 1;
  a.ah_attr.grh.sgid_index = 2;
  a.ah_attr.grh.hop_limit = 64;
  must(ibv_query_gid(to.context, 1, 2, &a.ah_attr.grh.dgid), "ibv_query_gid");
  must(ibv_modify_qp(qp, &a,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
       "RTR");
  a.qp_state = IBV_QPS_RTS;
  a.timeout = 14;
  a.retry_cnt = a.rnr_retry = 7;
  a.max_rd_atomic = 1;
  must(ibv_modify_qp(qp, &a,
                     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                         IBV_QP_MAX_QP_RD_ATOMIC),
       "RTS");
}

inline void send(ibv_qp* qp, ibv_sge sge, std::uint64_t id) {
  ibv_send_wr wr{}, *bad = nullptr;
  wr.wr_id = id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  must(ibv_post_send(qp, &wr, &bad), "ibv_post_send");
}

inline void post_receive(ibv_srq* srq, ibv_sge sge, std::uint64_t id) {
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.wr_id = id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  must(ibv_post_srq_recv(srq, &wr, &bad), "ibv_post_srq_recv");
}

inline void post_receive(ibv_qp* qp, ibv_sge sge, std::uint64_t id) {
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.wr_id = id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  must(ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
}

// The next completion, which has to be a success.
inline ibv_wc take(ibv_cq* cq) {
  ibv_wc wc{};
  int count = 0;
  while ((count = ibv_poll_cq(cq, 1, &wc)) == 0) {
  }
  check(count > 0, "ibv_poll_cq");
  if (wc.status != IBV_WC_SUCCESS) {
    std::fprintf(stderr, "a work request failed: %s\n", ibv_wc_status_str(wc.status));
    std::exit(1);
  }
  return wc;
}

}  // namespace example
