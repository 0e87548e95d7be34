// SPDX-License-Identifier: Apache-2.0
// The account of packets: each packet that arrives is counted once when it leaves: accepted, dropped for one reason, or
// not RDMA.
#pragma once

#include <array>
#include <cstdint>

#include "model/core/memory/qp_context_memory.h"
#include "model/engine/state_hash.h"
#include "model/types/packet.h"
#include "model/types/receive_path.h"

namespace rxnic {

struct LedgerCounters {
  std::uint64_t seen = 0;      // packets that arrived
  std::uint64_t accepted = 0;  // packets carried out or acknowledged (duplicates too)
  std::uint64_t not_rdma = 0;  // packets of other protocols
  std::uint64_t messages = 0;  // requests from peers that were carried out to their end
  std::array<std::uint64_t, kDropReasons> dropped{};
  std::uint64_t dropped_total() const;
};

// Is notified of every RDMA packet that leaves; nothing in the model depends on it. For a packet that was dropped
// before the transport checker only the outcome and the reason are known.
class PacketObserver {
 public:
  virtual ~PacketObserver() = default;
  virtual void on_retire(const AckRequest& p, const Packet& buffer, Cycle now) = 0;
  // A packet of another protocol.
  virtual void on_not_rdma([[maybe_unused]] const Packet& buffer, [[maybe_unused]] Cycle now) {}
};

class Ledger {
 public:
  Ledger(PacketPool& pool, QpContextMemory& contexts) : pool_(pool), contexts_(contexts) {}
  void set_observer(PacketObserver* observer) { observer_ = observer; }

  void arrived() { ++counters_.seen; }
  // To be called when the packet has passed the path: counts it by its drop_reason (kNone: accepted), unpins its
  // context and releases its buffer. When the packet is internal, only its context is unpinned.
  void retire(const AckRequest& p, Cycle now);
  // Retires for `reason` (or as not RDMA). `line`: of the context cache, when it has been pinned.
  void drop(PacketHandle buffer, DropReason reason, Cycle now, std::uint32_t line = kNoLine);
  void drop_not_rdma(PacketHandle buffer, Cycle now);

  const LedgerCounters& counters() const { return counters_; }
  void hash(StateHash& h) const;

 private:
  PacketPool& pool_;
  QpContextMemory& contexts_;
  PacketObserver* observer_ = nullptr;
  LedgerCounters counters_;
};

}  // namespace rxnic
