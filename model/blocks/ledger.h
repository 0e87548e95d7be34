// SPDX-License-Identifier: Apache-2.0
// The account of packets: every packet that entered leaves exactly once, accepted, dropped for one reason, or not RDMA.
#pragma once

#include <array>
#include <cstdint>

#include "model/core/receive_queue/wqe_store.h"
#include "model/engine/state_hash.h"
#include "model/types/packet.h"

namespace rxnic {

struct LedgerCounters {
  std::uint64_t seen = 0;      // packets that arrived
  std::uint64_t accepted = 0;  // packets carried out or acknowledged (duplicates too)
  std::uint64_t not_rdma = 0;  // packets of other protocols
  std::array<std::uint64_t, kDropReasons> dropped{};
  std::uint64_t dropped_total() const;
};

// Told of every packet that leaves; nothing in the model depends on it.
class PacketObserver {
 public:
  virtual ~PacketObserver() = default;
  virtual void on_retire(const Packet& p, Cycle now) = 0;
};

class Ledger {
 public:
  explicit Ledger(PacketPool& pool) : pool_(pool) {}
  void set_observer(PacketObserver* observer) { observer_ = observer; }

  void arrived() { ++counters_.seen; }
  // The packet has passed the path: counted by its drop_reason (kNone: accepted) and its context unpinned. The buffer
  // stays the caller's: reuse it for the answer, or release it.
  void retire(Packet& p, Cycle now);
  // Retires for `reason` (or as not RDMA) and releases the buffer.
  void drop(PacketHandle h, DropReason reason, Cycle now);
  void drop_not_rdma(PacketHandle h);

  const LedgerCounters& counters() const { return counters_; }
  void hash(StateHash& h) const;

 private:
  PacketPool& pool_;
  PacketObserver* observer_ = nullptr;
  LedgerCounters counters_;
};

// A QP that went to the error state after its packet had passed the completion generator, which is told of it. The
// context is pinned for it.
struct QpFailure {
  QpContext* qp = nullptr;
  EventType event = EventType::kQpFatal;
};

// On-chip memories that several blocks of one NIC work on.
struct NicShared {
  // `now`: the present cycle (PacketPool).
  explicit NicShared(const PacketPool::Quotas& quotas, const Cycle* now = nullptr, const WqeStore::Sizes& store = {})
      : packets(quotas, now), ledger(packets), wqes(store, now) {}
  PacketPool packets;
  Ledger ledger;
  WqeStore wqes;
};

}  // namespace rxnic
