// SPDX-License-Identifier: Apache-2.0
// A message that the device cuts into segments, unless it is longer than the device's limit.
#include <array>
#include <cerrno>

#include "testbench/e2e/params_program.h"
#include "testbench/live/verbs_world.h"

namespace rxnic::live {

void tso() {
  constexpr std::size_t kBytes = 65536;
  const World near(0), far(1);
  const Owned<ibv_cq> cq = near.cq();
  Arena arena(near, kBytes);
  ibv_qp_init_attr_ex init{};
  init.send_cq = init.recv_cq = cq.get();
  init.qp_type = IBV_QPT_UD;
  init.cap = {1, 1, 1, 1, 0};
  init.pd = near.pd.get();
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
  init.max_tso_header = 64;
  const Owned<ibv_qp> qp = own(ibv_create_qp_ex(near.context.get(), &init), "ibv_create_qp_ex");
  connect(qp.get(), near, 0);
  ibv_ah_attr to = address_of(far, {});
  const Owned<ibv_ah> ah = own(ibv_create_ah(near.pd.get(), &to), "ibv_create_ah");
  std::array<std::uint8_t, 64> header{};
  std::array<ibv_sge, 1> list{arena.sge(0, kBytes)};
  ibv_send_wr wr = send_wr(IBV_WR_TSO, list), *bad = nullptr;
  wr.wr.ud = {ah.get(), qp->qp_num, Path{}.qkey};
  wr.tso.hdr = header.data();
  wr.tso.hdr_sz = static_cast<std::uint16_t>(header.size());
  wr.tso.mss = 1024;
  const int result = ibv_post_send(qp.get(), &wr, &bad);
  if (result == EINVAL) return;
  must(result, "ibv_post_send");
  take(cq.get());
}

}  // namespace rxnic::live
