// SPDX-License-Identifier: Apache-2.0
// The kinds of endless.cpp, and what they share.
#pragma once

#include <array>

#include "testbench/live/endless.h"

namespace rxnic::live {

void exchange_tags(const World& world, Meeting& meeting, bool is_server);
void exchange_xrc(const World& world, Meeting& meeting, bool is_server);
void exchange_windows(const World& world, Meeting& meeting, bool is_server);
void exchange_frames(const World& world, Meeting& meeting, bool is_server);

inline constexpr std::size_t kPage = 4096;
using Sges = std::array<ibv_sge, 1>;

// Connected to the peer's QP. A peer that is gone is noticed in 0.1 s of model time.
inline void connect(ibv_qp* qp, const World& world, Meeting& meeting) {
  struct Introduction {
    ibv_gid gid;
    std::uint32_t qpn;
  };
  Path path;
  path.timeout = 12;
  const auto peer = meeting.exchange(Introduction{world.gid(path.gid_index), qp->qp_num});
  connect(qp, peer.gid, peer.qpn, path);
}
// Both are, and have no more to exchange.
inline void wait_until_ready(Meeting& meeting) {
  (void)meeting.exchange(true);
  meeting.end();
}

inline void require(ibv_wc_status status) {
  if (status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(status));
}
inline ibv_wc take_good(ibv_cq* cq) {
  const ibv_wc wc = take(cq);
  require(wc.status);
  return wc;
}

}  // namespace rxnic::live
