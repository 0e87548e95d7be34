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
//       requester: those of a captured peer are in no NIC.
//   R6  kMostQps QPs of a NIC have counts of their own. Those that come later are counted together.
//   R7  Incidents are what QpEventKind names up to kAsync. Left out are flushed WQEs, and events of completions and of
//       absent pages, which are ordinary. The first RunIncidents::kMost are kept.
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
    bool knows_peer = false;
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

  std::span<const Qp> qps() const { return qps_; }
  const std::deque<Cell>& cells() const { return cells_; }
  // In the order of Incident, but for its NIC.
  std::vector<Incident> incidents() const;
  std::span<const std::uint64_t> incident_counts() const { return incident_counts_; }

 private:
  void add_unchecked(const AckRequest& p, const Packet& buffer, Cycle now);
  void note_peer(Qp& qp, const AckRequest& p, const Packet& buffer);
  void note(const QpEvent& event, Cycle now);
  Qp& qp(std::uint32_t number) {
    const std::uint32_t at = index_.find(number);
    return at != FlatIndex::kNone ? qps_[at] : make_qp(number);
  }
  Cell& cell(std::uint8_t opcode, std::uint64_t bytes) {
    const auto size = std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes)), kSizes - 1);
    Cell* const found = cell_index_ != nullptr ? (*cell_index_)[opcode][size] : nullptr;
    return found != nullptr ? *found : make_cell(opcode, size);
  }
  Qp& make_qp(std::uint32_t number);
  Cell& make_cell(std::uint8_t opcode, std::size_t size);
  bool has(Cycle now) const { return now >= from_ && now < to_; }

  QpObserver* next_ = nullptr;
  Cycle from_{}, to_ = kNever;
  FlatIndex index_;  // of qps_, by number
  std::vector<Qp> qps_;
  std::deque<Cell> cells_;
  std::unique_ptr<std::array<std::array<Cell*, kSizes>, 256>> cell_index_;
  std::vector<Incident> incidents_;  // a heap, the last one first
  std::array<std::uint64_t, static_cast<std::size_t>(QpEventKind::kCount)> incident_counts_{};
};

}  // namespace rxnic
