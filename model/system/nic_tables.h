// SPDX-License-Identifier: Apache-2.0
// What happens in one NIC by QP, opcode and message size, and what goes wrong, for the report.
//
//   R1  A packet counts for its QP when it leaves. A packet that was dropped before its QP was known counts for the QP
//       that its headers name. When they cannot be read, it counts for QP 0, without an opcode.
//   R2  A packet that ends a message has the size of the message, any other packet that of its payload. Sizes are
//       counted by powers of two.
//   R3  A wait is the time in front of a block, up to the ACK generator (latencies.h, R5).
//   R4  Latencies of a QP are those of its receives. Those of an opcode and a size are also those of WRITEs without
//       immediate (latencies.h, R1, R2).
//   R5  NAKs and CNPs count when they are sent. Timeouts, RNR waits and packets sent again are those of the NIC's own
//       requester: those of a captured peer are in no NIC. Frames that came to harm on their way count for no QP.
//   R6  kMostQps QPs of a NIC have counts of their own. Those that come later are counted together.
//   R7  Incidents are what QpEventKind names up to kAsync. Left out are flushed WQEs, and events of completions and of
//       absent pages, which are ordinary. The first RunIncidents::kMost are kept.
//   R8  What is counted by QP is in no cache when there are thousands of them. Its memory is asked for when a packet
//       retires, and changed kLater packets later, or when somebody looks.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "model/blocks/ledger.h"
#include "model/system/flat_index.h"
#include "model/system/histogram.h"
#include "model/system/table_counts.h"
#include "model/types/large_pages.h"
#include "model/types/message_times.h"
#include "model/types/qp_event.h"

namespace rxnic {

class NicTables final : public QpObserver {
 public:
  static constexpr std::size_t kMostQps = 65536;      // (R6)
  static constexpr std::uint32_t kNoQp = 0xffffffff;  // those together
  static constexpr std::uint32_t kNoOpcode = 0xff;    // (R1)
  static constexpr std::size_t kSizes = 34;           // bit widths of sizes

  struct Qp {
    std::uint32_t number = kNoQp;
    std::uint32_t peer_qp = 0;
    Address peer;
    TableCounts counts;
    StationWaits waits{};
    CoarseHistogram latency_ns;
  };
  struct Cell {
    std::uint8_t opcode = 0;
    std::uint8_t size = 0;  // bit width
    TableCounts counts;
    Histogram latency_ns;
  };

  // Counts what is within these cycles alone (run_region.h, R2).
  void set_region(Cycle from, Cycle to) { from_ = from, to_ = to; }
  // Incidents of the whole run are shown to `next`.
  void pass_incidents_to(QpObserver* next) { next_ = next; }
  void on_retire(const AckRequest& p, const Packet& buffer, Cycle now);
  void on_qp_event(const QpEvent& event, Cycle now) override;
  // (R4)
  void add_receive(const MessageTimes& times, std::uint64_t ns);
  void add_write(const AckRequest& p, std::uint64_t ns) { cell(p.opcode, p.message_bytes).latency_ns.add(ns); }

  std::span<const Qp> qps() const {
    settle();
    return qps_;
  }
  const std::deque<Cell>& cells() const {
    settle();
    return cells_;
  }
  // In the order of Incident, but for its NIC.
  std::vector<Incident> incidents() const;
  std::span<const std::uint64_t> incident_counts() const { return incident_counts_; }

 private:
  static constexpr std::uint64_t kLater = 16;
  struct Retired {
    std::uint32_t qp = 0;  // index
    std::uint8_t opcode = 0;
    bool ends = false, dropped = false, ahead = false, again = false, marked = false;
    std::uint64_t bytes = 0, payload_bytes = 0;
    std::uint64_t arrived = 0, wait_cycles = 0;
    Cycle now{};
    StationWaits waits{};
  };
  struct Received {
    std::uint32_t qp = 0;  // index
    std::uint64_t ns = 0;
  };

  void add_unchecked(const AckRequest& p, const Packet& buffer, Cycle now);
  void note_peer(Qp& qp, const AckRequest& p, const Packet& buffer);
  // (R8)
  void settle() const;
  void apply(const Retired& r) const;
  void note(const QpEvent& event, Cycle now);
  std::uint32_t place(std::uint32_t number) {
    const std::uint32_t at = index_.find(number);
    return at != FlatIndex::kNone ? at : make_qp(number);
  }
  Qp& qp(std::uint32_t number) { return qps_[place(number)]; }
  Cell& cell(std::uint8_t opcode, std::uint64_t bytes) const {
    const auto size = std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes)), kSizes - 1);
    Cell* const found = cell_index_ != nullptr ? (*cell_index_)[opcode][size] : nullptr;
    return found != nullptr ? *found : make_cell(opcode, size);
  }
  std::uint32_t make_qp(std::uint32_t number);
  Cell& make_cell(std::uint8_t opcode, std::size_t size) const;
  bool has(Cycle now) const { return now >= from_ && now < to_; }

  QpObserver* next_ = nullptr;
  Cycle from_{}, to_ = kNever;
  FlatIndex index_;                              // of qps_, by number
  mutable std::vector<Qp, LargePages<Qp>> qps_;  // mutable: (R8)
  std::vector<bool> knows_peer_;                 // by place
  mutable std::deque<Cell> cells_;
  mutable std::unique_ptr<std::array<std::array<Cell*, kSizes>, 256>> cell_index_;
  mutable std::array<Retired, kLater> retired_{};
  mutable std::uint64_t retired_count_ = 0, applied_ = 0;
  mutable std::array<Received, kLater> received_{};
  mutable std::uint64_t received_count_ = 0, added_ = 0;
  std::vector<Incident> incidents_;  // a heap, the last one first
  std::array<std::uint64_t, static_cast<std::size_t>(QpEventKind::kCount)> incident_counts_{};
};

}  // namespace rxnic
