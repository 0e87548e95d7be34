// SPDX-License-Identifier: Apache-2.0
// Who sends to whom: the peers and QPs of a page, their numbers and addresses, and what the NIC's host must have.
//
//   R1  QPs are counted from 0 over all [[senders]]. QP k of one of them belongs to its peer k % peers, so that QPs in
//       order are peers in turn.
//   R2  Peer n has the address 10.1.0.0 + n, the NIC 10.0.0.2. Over IPv6 and RoCEv1 these are the last four bytes of
//       fd00::/96.
#pragma once

#include <cstdint>
#include <vector>

#include "bridge/rxnic/workload/workload_page.h"
#include "model/types/ids.h"
#include "model/types/wire.h"
#include "traces/survey.h"

namespace rxnic {

struct SenderPlace {
  std::uint32_t group = 0;
  std::uint32_t peer = 0;  // over all groups
};

class WorkloadLayout {
 public:
  explicit WorkloadLayout(const WorkloadPage& page);

  std::uint32_t qps() const { return static_cast<std::uint32_t>(places_.size()); }
  std::uint32_t peers() const { return peers_; }
  const SenderPlace& place(std::uint32_t qp) const { return places_[qp]; }
  std::uint32_t first_qp(std::size_t group) const { return first_qps_[group]; }
  std::uint32_t qps_of(std::size_t group) const { return first_qps_[group + 1] - first_qps_[group]; }
  Psn first_psn(std::uint32_t qp) const;
  Qpn qpn(std::uint32_t qp) const;       // of the NIC
  Qpn peer_qpn(std::uint32_t qp) const;  // of the sender
  // The QP of this number of a sender; qps(): there is none.
  std::uint32_t qp_of_peer(Qpn peer_qpn) const;
  Address receiver() const { return address(0x0a000002); }
  Address peer_address(std::uint32_t peer) const { return address(0x0a010000 + peer); }
  // What all packets of a QP have in common.
  Headers headers(std::uint32_t qp) const;
  // For make_host_plan().
  ReceiverSurvey survey() const;
  // The regions that WRITEs, READs and atomics go to: bytes of each, and where they are.
  std::uint64_t region_bytes() const { return region_bytes_; }
  static Key region_key(std::uint32_t region);
  std::uint64_t region_va(std::uint32_t region) const;

 private:
  Address address(std::uint32_t ipv4) const;

  const WorkloadPage& page_;
  std::vector<SenderPlace> places_;
  std::vector<std::uint32_t> first_qps_;  // by group, and one behind the last
  std::uint32_t peers_ = 0;
  std::uint64_t region_bytes_ = 0;
};

}  // namespace rxnic
