// SPDX-License-Identifier: Apache-2.0
// A part of params_program: memory of the device, as much as there is, and WRITEs to it.
#include <array>
#include <memory>
#include <vector>

#include "testbench/e2e/params_program.h"
#include "testbench/live/verbs_world.h"

namespace rxnic::live {

void device_memory() {
  constexpr std::size_t kBytes = 4096, kMost = 8;
  constexpr int kAccess = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  const World near(0), far(1);
  const Owned<ibv_cq> near_cq = near.cq(), far_cq = far.cq();
  const Arena from(near, kBytes);
  const auto free_dm = [](ibv_dm* dm) { ibv_free_dm(dm); };
  std::vector<std::unique_ptr<ibv_dm, decltype(free_dm)>> memories;
  std::vector<std::uint8_t> zeros(kBytes);
  while (memories.size() < kMost) {
    ibv_alloc_dm_attr attributes{kBytes, 0, 0};
    ibv_dm* const dm = ibv_alloc_dm(far.context.get(), &attributes);
    if (dm == nullptr) break;
    memories.emplace_back(dm, free_dm);
    must(ibv_memcpy_to_dm(dm, 0, zeros.data(), kBytes), "ibv_memcpy_to_dm");
  }
  const Owned<ibv_mr> region =
      own(ibv_reg_dm_mr(far.pd.get(), memories.at(0).get(), 0, kBytes, kAccess), "ibv_reg_dm_mr");
  const Owned<ibv_qp> writes = make_qp(near, near_cq.get(), near_cq.get()),
                      written = make_qp(far, far_cq.get(), far_cq.get());
  Path path;
  path.mtu = IBV_MTU_4096;
  connect_both(writes.get(), near, written.get(), far, path);
  std::array<ibv_sge, 1> list{from.sge(0, kBytes)};
  ibv_send_wr wr = send_wr(IBV_WR_RDMA_WRITE, list);
  wr.wr.rdma = {0, region->rkey};
  for (int n = 0; n < 16; ++n) {
    post(writes.get(), wr);
    take(near_cq.get());
  }
}

}  // namespace rxnic::live
