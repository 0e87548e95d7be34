// SPDX-License-Identifier: Apache-2.0
// A part of params_program: rendezvous requests that come all at once to a TM SRQ.
#include <endian.h>
#include <infiniband/tm_types.h>

#include <array>
#include <cstring>
#include <vector>

#include "testbench/e2e/params_program.h"
#include "testbench/live/verbs_world.h"

namespace rxnic::live {

void rendezvous() {
  constexpr std::uint32_t kMessages = 16;
  constexpr std::size_t kBytes = 4096;
  const World near(0), far(1);
  const Owned<ibv_cq> send_cq = near.cq(), receive_cq = near.cq(), cq = far.cq();
  Arena from(near, 4 * kBytes), to(far, kMessages * kBytes);
  ibv_srq_init_attr_ex init{};
  init.attr = {16, 1, 0};
  init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
  init.srq_type = IBV_SRQT_TM;
  init.pd = far.pd.get();
  init.cq = cq.get();
  init.tm_cap = {kMessages, kMessages};
  const Owned<ibv_srq> srq = own(ibv_create_srq_ex(far.context.get(), &init), "ibv_create_srq_ex");
  QpShape shape;
  shape.srq = srq.get();
  shape.wrs = shape.inline_bytes = 0;
  const Owned<ibv_qp> asks = make_qp(near, send_cq.get(), receive_cq.get()),
                      reads = make_qp(far, cq.get(), cq.get(), shape);
  connect_both(asks.get(), near, reads.get(), far);
  for (std::uint32_t n = 0; n < kMessages; ++n) {
    ibv_sge buffer = to.sge(n * kBytes, kBytes);
    ibv_ops_wr wr{}, *bad = nullptr;
    wr.opcode = IBV_WR_TAG_ADD;
    wr.tm.add = {n, &buffer, 1, 7, ~std::uint64_t{0}};
    must(ibv_post_srq_ops(srq.get(), &wr, &bad), "ibv_post_srq_ops");
    std::array<ibv_sge, 1> fin{from.sge(3 * kBytes, 64)};
    post_receive(asks.get(), fin);
  }
  ibv_tmh tmh{};
  tmh.opcode = IBV_TMH_RNDV;
  tmh.tag = htobe64(7);
  ibv_rvh rvh{};
  rvh.va = htobe64(from.address(kBytes));
  rvh.rkey = htobe32(from.region->rkey);
  rvh.len = htobe32(kBytes);
  std::memcpy(from.at(0), &tmh, sizeof tmh);
  std::memcpy(from.at(sizeof tmh), &rvh, sizeof rvh);
  std::array<ibv_sge, 1> request{from.sge(0, sizeof tmh + sizeof rvh)};
  std::vector<ibv_send_wr> batch(kMessages, send_wr(IBV_WR_SEND, request));
  for (std::uint32_t n = 0; n + 1 < kMessages; ++n) batch[n].next = &batch[n + 1];
  post(asks.get(), batch.front());
  for (std::uint32_t n = 0; n < kMessages; ++n) {
    take(send_cq.get());
    take(receive_cq.get());  // FIN
    take(cq.get());          // the match
    take(cq.get());          // the end of the message
  }
}

}  // namespace rxnic::live
