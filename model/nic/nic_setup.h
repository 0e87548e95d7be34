// SPDX-License-Identifier: Apache-2.0
// What the driver has set up before the first cycle: objects made in the blocks and in the tables in host memory, in no
// time. Once the simulation runs everything goes through the command processor (command_queue.h).
//
//   R1  Nothing of it is called after the first cycle: each call throws std::logic_error then.
//   R2  What uses an object is made after it: QPs after their queues, CQs and regions.
//   R3  False, or kNoWq: the NIC has no room for it (blocks/command_processor.h, R10), and nothing has changed.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>

#include "model/core/requester/send_qp.h"
#include "model/nic/nic.h"
#include "model/types/mailbox.h"

namespace rxnic {

class NicSetup {
 public:
  NicSetup(Nic& nic, HostMemory& memory) : nic_(nic), memory_(memory) {}

  // `qp.valid` is set here. Its receive queue exists already. Throws std::invalid_argument: there is a QP of that
  // number, or the number has more than 24 bits.
  bool create_qp(const QpContext& qp, const SendQueueContext& queue = {});
  // A QP that was created, with what ibv_modify_qp sets, its state and both PSNs.
  bool connect_qp(const SendQpContext& context, Psn rq_psn);
  WqId create_queue(const WqContext& queue);  // RQ or SRQ; kNoWq: no room
  void create_region(const MptEntry& entry, std::span<const BusAddress> pages);
  // Throws std::invalid_argument: the number of slots is no power of two up to 2^24.
  void create_cq(const CqContext& cq);

 private:
  void require_no_cycle() const;  // (R1)
  void store(const StoredQpContext& qp);

  Nic& nic_;
  HostMemory& memory_;
  std::unordered_set<std::uint32_t> qpns_;  // of create_qp()
  std::uint32_t srqs_ = 0;                  // that exist
};

}  // namespace rxnic
