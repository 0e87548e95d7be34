// SPDX-License-Identifier: Apache-2.0
// The memories on a NIC's chip that several blocks work on. Each block is given the memories that it works on, as what
// it may do with them (nic_blocks.cpp). So a block that reads attributes of a QP is given no other part of the context.
#pragma once

#include <cstdint>

#include "model/blocks/ledger.h"
#include "model/core/memory/qp_context_memory.h"
#include "model/core/receive_queue/wqe_store.h"
#include "model/types/packet.h"
#include "model/types/packet_stamps.h"

namespace rxnic {

struct NicShared {
  // `now`: the present cycle (PacketPool).
  explicit NicShared(const PacketPool::Quotas& quotas, const Cycle* now = nullptr, std::uint32_t wqes_in_use = 1024,
                     std::uint32_t context_lines = 64)
      : packets(quotas, now), contexts(context_lines), pins(contexts), ledger(packets, contexts), wqes(wqes_in_use) {}
  PacketPool packets;
  QpContextMemory contexts;
  QpPinMemory pins;
  Ledger ledger;
  WqeStore wqes;
};

}  // namespace rxnic
