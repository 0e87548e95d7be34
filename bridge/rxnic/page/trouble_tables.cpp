// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/page/trouble_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "bridge/rxnic/explain/explain.h"
#include "model/system/units.h"
#include "model/types/opcode.h"
#include "model/types/receive_path.h"

namespace rxnic {

namespace {
constexpr std::size_t kMostOfKind = 100;  // (R1)
}

void TroubleTables::add(const PacketRow& row) {
  if (row.reason != static_cast<std::uint64_t>(DropReason::kNone)) add(drops_, row.reason, row);
  if (row.outcome == static_cast<std::uint64_t>(Outcome::kNak) && row.has(kPacketAcknowledges)) {
    add(naks_, row.syndrome, row);
  }
}

void TroubleTables::add(Kinds& kinds, std::uint64_t kind, const PacketRow& row) {
  Kind& of = kinds[kind];
  if (++of.packets > kMostOfKind) return;
  of.rows.push_back({{"packet", row.number},
                     {"nic", row.nic},
                     {"time_ns", row.left * events_.period_ps() / 1000},
                     {"qp", row.qp},
                     {"psn", row.psn},
                     {"opcode", opcode_name(static_cast<std::uint8_t>(row.opcode))},
                     {"reason", name_of(static_cast<DropReason>(row.reason))},
                     {"syndrome", row.has(kPacketAcknowledges) ? Json(fmt::format("{:#04x}", row.syndrome)) : Json("")},
                     {"words", decision_words(row)}});
}

Table TroubleTables::table(const char* id, const char* title, const Kinds& kinds) const {
  Table t;
  t.id = id, t.title = title;
  std::uint64_t packets = 0;
  for (const auto& [kind, of] : kinds) {
    packets += of.packets;
    for (const Json& row : of.rows) t.rows.push_back(row);
  }
  std::stable_sort(t.rows.begin(), t.rows.end(),
                   [](const Json& a, const Json& b) { return a["time_ns"] < b["time_ns"]; });
  t.about = packets == t.rows.size()
                ? fmt::format("{} in all.", count_text(packets))
                : fmt::format("{} in all; here are the first {} of each kind. rxnic explain --drops has the others.",
                              count_text(packets), kMostOfKind);
  if (packets == 0) t.absent = "there are none";
  return t;
}

}  // namespace rxnic
