// SPDX-License-Identifier: Apache-2.0
// What happened by QP, message size, opcode or NIC, from the events of a run.
//
//   R1  Rows of QPs are in the order of sickness, as in the report (model/system/table_rows.h, R1).
//   R2  Latencies are those of receives, as in the report: from a message's first packet until its CQE could be seen.
//       Those of a size and an opcode are also those of WRITEs, until their last byte could be seen.
//   R3  Waits are those in front of blocks, in the mean of a packet.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bridge/rxnic/explain/packet_life.h"
#include "model/system/histogram.h"
#include "model/system/table_rows.h"

namespace rxnic {

enum class TableBy { kQp, kSize, kOpcode, kNic };
// "qp", "size", "opcode", "nic"
TableBy table_of_name(const std::string& name);

// Several tables in one pass over the events.
class TableMaker {
 public:
  TableMaker(RunEvents& events, std::vector<TableBy> by);
  ~TableMaker();
  // `stays`: stays_of(row).
  void add(const PacketRow& row, const std::vector<StationStay>& stays);
  // `packet`: the one that ended its message (message_join.h); null: none.
  void add(const PacketRow* packet, const CompletionRow& row);
  // A list of rows, each with the same keys. After the last chunk was read.
  nlohmann::ordered_json rows(TableBy by) const;
  // The distribution behind each row that has latencies: its name and ns.
  std::vector<std::pair<std::string, const Histogram*>> latencies(TableBy by) const;

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // NIC (of kQp, kNic) and QP, size or opcode
  struct Figures;
  nlohmann::ordered_json row(TableBy by, const Key& key, const TableFigures& f) const;
  std::uint64_t ns(std::uint64_t cycles) const;

  RunEvents& events_;
  std::vector<TableBy> by_;
  std::vector<std::map<Key, Figures>> figures_;
};

nlohmann::ordered_json table_by(RunEvents& events, TableBy by);
// For people: `most` rows, and how many there are besides. Rows of report.json are printed, too: they leave out what
// is 0.
std::string table_text(const nlohmann::ordered_json& rows, TableBy by, std::size_t most);

}  // namespace rxnic
