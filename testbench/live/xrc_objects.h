// SPDX-License-Identifier: Apache-2.0
// Domains, SRQs and QPs of XRC. What fails throws, but for open_xrcd.
#pragma once

#include <fcntl.h>

#include <cerrno>

#include "testbench/live/verbs_world.h"

namespace rxnic::live {

using OwnedXrcd = Owned<ibv_xrcd>;

// A domain of the file, or with -1 one that nobody else has; nullptr and errno.
inline ibv_xrcd* open_xrcd(ibv_context* context, int fd, int flags) {
  ibv_xrcd_init_attr init{};
  init.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  init.fd = fd;
  init.oflags = flags;
  return ibv_open_xrcd(context, &init);
}

inline Owned<ibv_srq> make_srq(const World& world, ibv_xrcd* xrcd, ibv_cq* cq) {
  ibv_srq_init_attr_ex init{};
  init.attr = {64, 4, 0};
  init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_XRCD;
  init.srq_type = IBV_SRQT_XRC;
  init.pd = world.pd.get();
  init.xrcd = xrcd;
  init.cq = cq;
  ibv_srq* const srq = ibv_create_srq_ex(world.context.get(), &init);
  must(srq == nullptr ? errno : 0, "ibv_create_srq_ex");
  return Owned<ibv_srq>(srq);
}

inline std::uint32_t number_of(ibv_srq* srq) {
  std::uint32_t number = 0;
  must(ibv_get_srq_num(srq, &number), "ibv_get_srq_num");
  return number;
}

inline Owned<ibv_qp> make_sender(const World& world, ibv_cq* cq) {
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_XRC_SEND;
  init.send_cq = cq;
  init.cap = {64, 0, 4, 0, 64};
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.pd = world.pd.get();
  init.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ;
  ibv_qp* const qp = ibv_create_qp_ex(world.context.get(), &init);
  must(qp == nullptr ? errno : 0, "ibv_create_qp_ex");
  return Owned<ibv_qp>(qp);
}

inline Owned<ibv_qp> make_receiver(const World& world, ibv_xrcd* xrcd) {
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_XRC_RECV;
  init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  init.xrcd = xrcd;
  ibv_qp* const qp = ibv_create_qp_ex(world.context.get(), &init);
  must(qp == nullptr ? errno : 0, "ibv_create_qp_ex");
  return Owned<ibv_qp>(qp);
}

}  // namespace rxnic::live
