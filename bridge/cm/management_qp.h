// SPDX-License-Identifier: Apache-2.0
// QP 1 of one NIC: sends and receives management datagrams as a verbs program, over the drop-in library.
//
//   R1  A MAD is one datagram of 256 bytes to QP 1 of its destination, with the Q_Key of management. MADs that come
//       with another length are dropped.
//   R2  A MAD that finds no free buffer waits here, kMostWaiting at most. One more is lost, as on the wire: who wants
//       it answered sends it again (manager.h R3).
//   R3  The paths to the last kMostPaths destinations are kept, whatever a program names.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bridge/cm/manager.h"
#include "bridge/cm/recent.h"

namespace rxnic::cm {

class ManagementQp {
 public:
  static constexpr std::uint32_t kBuffers = 64;  // of each direction
  static constexpr std::size_t kMostWaiting = 16384, kMostPaths = 256;
  using Receive = std::function<void(const GidBytes& from, std::span<const std::uint8_t> mad)>;
  // Opens the NIC and makes its QP 1; throws std::runtime_error.
  explicit ManagementQp(ibv_device* device);
  ~ManagementQp();
  ManagementQp(const ManagementQp&) = delete;

  NicAddress address() const;
  int completions() const { return channel_->fd; }  // can be read: call take_completions()
  int events() const { return context_->async_fd; }
  void take_completions(const Receive& receive);
  // False: the NIC is gone.
  bool take_event();
  void send(std::uint8_t gid_index, const GidBytes& to, const Mad& mad);
  std::size_t waiting() const { return waiting_.size(); }
  // Whether every MAD has left: until then the NIC reads the memory of this process.
  bool all_sent() const { return free_.size() == kBuffers && waiting_.empty(); }

 private:
  static constexpr std::size_t kGrhBytes = 40, kStride = 512;
  struct Waiting {
    std::uint8_t gid_index;
    GidBytes to;
    Mad mad;
  };
  std::uint8_t* buffer(std::uint32_t n) { return memory_.data() + n * kStride; }
  void to_ready();
  void post_receive(std::uint32_t n);
  void post_send(const Waiting& w);
  ibv_ah* path(std::uint8_t gid_index, const GidBytes& to);

  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_qp* qp_ = nullptr;
  ibv_mr* region_ = nullptr;
  std::vector<std::uint8_t> memory_;  // buffers 0 to kBuffers - 1 for receives, then those for sends
  std::vector<std::uint32_t> free_;   // of those for sends
  std::deque<Waiting> waiting_;       // (R2)
  struct DestroyAh {
    void operator()(ibv_ah* ah) const;
  };
  Recent<std::pair<std::uint8_t, GidBytes>, std::unique_ptr<ibv_ah, DestroyAh>> paths_{kMostPaths};  // (R3)
};

}  // namespace rxnic::cm
