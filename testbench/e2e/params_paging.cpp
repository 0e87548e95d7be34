// SPDX-License-Identifier: Apache-2.0
// WRITEs to pages that are absent, one after the other.
#include <array>

#include "testbench/e2e/params_program.h"
#include "testbench/live/verbs_world.h"

namespace rxnic::live {

void paging() {
  constexpr std::size_t kPage = 4096, kPages = 32;
  const World near(0), far(1);
  const Owned<ibv_cq> near_cq = near.cq(), far_cq = far.cq();
  const Arena from(near, kPage), to(far, kPages * kPage, Arena::kAllRights | IBV_ACCESS_ON_DEMAND);
  const Owned<ibv_qp> writes = make_qp(near, near_cq.get(), near_cq.get()),
                      written = make_qp(far, far_cq.get(), far_cq.get());
  connect_both(writes.get(), near, written.get(), far);
  for (std::size_t page = 0; page < kPages; ++page) {
    std::array<ibv_sge, 1> list{from.sge(0, 64)};
    ibv_send_wr wr = send_wr(IBV_WR_RDMA_WRITE, list);
    wr.wr.rdma = {to.address(page * kPage), to.region->rkey};
    post(writes.get(), wr);
    take(near_cq.get());
  }
}

}  // namespace rxnic::live
