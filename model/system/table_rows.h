// SPDX-License-Identifier: Apache-2.0
// What happened by QP, message size, opcode and NIC, and what went wrong: these parts of the results of a run.
//
//   R1  The sickest QP comes first. QPs that got a NAK which ends them, or completions in error, are the sickest. Then
//       come packets that were not carried out or asked to come again, and timeouts. Then come repeats, gaps, and what
//       the requester sent again. Marks of congestion and CNPs follow, and the p99.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "model/types/qp_event.h"

namespace rxnic {

struct RowCounts {
  std::uint64_t packets = 0, messages = 0, payload_bytes = 0;
  std::uint64_t not_carried_out = 0, psn_ahead = 0, psn_gaps = 0, missing_psns = 0, repeats = 0;
  std::array<std::uint64_t, 4> naks{};  // 0x60 to 0x63
  std::uint64_t rnr_naks = 0, error_cqes = 0;
  std::uint64_t marked = 0, cnps_sent = 0, cnps_received = 0;
  std::uint64_t timeouts = 0, rnr_waits = 0, went_back = 0, sent_again = 0;
  bool operator==(const RowCounts&) const = default;
};

struct TableFigures : RowCounts {
  double payload_gbps = 0;
  double mean_ns = 0, wait_ns = 0;  // of a packet
  std::string waits_most_at;        // name of a station; empty: nothing waited
  std::uint64_t longest_pause_ns = 0;
  std::uint64_t latency_count = 0, p50_ns = 0, p99_ns = 0, max_ns = 0;

  bool operator==(const TableFigures&) const = default;
  // (R1)
  auto sickness() const {
    return std::tuple(naks[1] + naks[2] + naks[3] + error_cqes, not_carried_out + rnr_naks + timeouts,
                      repeats + psn_gaps + sent_again, marked + cnps_sent + cnps_received, p99_ns);
  }
  bool sick() const {
    const auto [ended, refused, repeated, congested, p99] = sickness();
    return ended + refused + repeated + congested != 0;
  }
};

struct QpRow {
  std::uint32_t nic = 0, qp = 0;
  std::string peer;  // address; empty: there is none, or it is not known
  std::uint32_t peer_qp = 0;
  TableFigures figures;
};
struct OtherQps {  // all together
  std::uint64_t qps = 0;
  TableFigures figures;
};
struct SizeRow {
  std::uint64_t bytes_from = 0, bytes_to = 0;
  TableFigures figures;
};
struct OpcodeRow {
  std::string opcode;
  TableFigures figures;
};
struct NicRow {
  std::uint32_t nic = 0;
  TableFigures figures;
};

struct RunTables {
  static constexpr std::size_t kMostQps = 1024;  // that have a row
  std::vector<QpRow> qps;                        // (R1)
  std::optional<OtherQps> other_qps;
  std::vector<SizeRow> sizes;      // the smallest first
  std::vector<OpcodeRow> opcodes;  // in the order of their numbers
  std::vector<NicRow> nics;
};

// Something that went wrong, or an event of the device.
struct Incident {
  std::uint64_t cycle = 0;
  std::uint32_t nic = 0;
  QpEvent event;
  auto order() const { return std::tuple(cycle, nic, event.kind, event.number, event.packet, event.detail); }
};

struct IncidentRow {
  std::uint64_t time_ps = 0;
  std::uint32_t nic = 0;
  std::string kind;          // name_of(QpEventKind)
  std::uint32_t number = 0;  // of the QP; of other events: of the CQ or the SRQ
  std::uint64_t packet = 0;
  std::string cause;
};

struct RunIncidents {
  static constexpr std::size_t kMost = 1000;                  // that are listed
  std::vector<std::pair<std::string, std::uint64_t>> counts;  // all of them, by kind
  std::vector<IncidentRow> first;                             // in the order of time
};

}  // namespace rxnic
