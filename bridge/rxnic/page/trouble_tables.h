// SPDX-License-Identifier: Apache-2.0
// Packets that were not carried out, and those that were answered with a NAK, each with its packet number.
//
//   R1  The first 100 of each reason, or of each syndrome of a NAK, have a row: a flood of one hides no other.
#pragma once

#include <map>
#include <string>

#include "bridge/rxnic/explain/run_events.h"
#include "bridge/rxnic/page/chart.h"

namespace rxnic {

class TroubleTables {
 public:
  explicit TroubleTables(RunEvents& events) : events_(events) {}
  void add(const PacketRow& row);
  Table drops() const { return table("drops", "Packets that were not carried out", drops_); }
  Table naks() const { return table("naks", "Packets that were answered with a NAK", naks_); }

 private:
  struct Kind {
    Json rows = Json::array();
    std::uint64_t packets = 0;
  };
  using Kinds = std::map<std::uint64_t, Kind>;  // by reason, or syndrome
  void add(Kinds& kinds, std::uint64_t kind, const PacketRow& row);
  Table table(const char* id, const char* title, const Kinds& kinds) const;

  RunEvents& events_;
  Kinds drops_, naks_;
};

}  // namespace rxnic
