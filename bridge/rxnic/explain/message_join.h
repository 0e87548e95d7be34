// SPDX-License-Identifier: Apache-2.0
// Completions of a run beside the packets that ended their messages, in one pass over the events.
//
//   R1  A completion is joined with the packet that it names, in whichever order the two come. Copies of a
//       packet have one number: it is the one of the completion's QP.
//   R2  A packet waits for one completion that has its data. The completion of a match, which comes before, leaves the
//       packet waiting. So what is held is bounded by what is on its way in the run.
//   R3  A completion of a receive whose packet does not come has none; so has each completion of another kind.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "bridge/rxnic/explain/packet_life.h"
#include "model/types/completion.h"

namespace rxnic {

class MessageJoin {
 public:
  // f(packet, completion) for what is joined by this row; finish(): f(null, completion) for what is left. (R3)
  template <class F>
  void add(const PacketRow& row, F f) {
    if (!ends_message(row) || !row.has(kPacketCompletes)) return;
    for (auto [at, end] = completions_.equal_range(key_of(row.nic, row.number)); at != end; ++at) {
      if (at->second.qp != row.qp) continue;
      f(&row, at->second);
      completions_.erase(at);
      return;
    }
    packets_.emplace(key_of(row.nic, row.number), row);
  }
  template <class F>
  void add(const CompletionRow& row, F f) {
    if (!is_receive_opcode(row) || row.packet == 0) return f(nullptr, row);
    const auto [first, end] = packets_.equal_range(key_of(row.nic, row.packet));
    auto found = first;
    while (found != end && found->second.qp != row.qp) ++found;
    if (found == end) {
      completions_.emplace(key_of(row.nic, row.packet), row);
      return;
    }
    f(&found->second, row);
    if (is_receive(row)) packets_.erase(found);  // (R2)
  }
  template <class F>
  void finish(F f) {
    for (const auto& [key, row] : completions_) f(nullptr, row);
    completions_.clear();
    packets_.clear();
  }

 private:
  static bool is_receive_opcode(const CompletionRow& row) {
    return row.opcode >= static_cast<std::uint64_t>(CqeOpcode::kReceive);
  }
  static std::uint64_t key_of(std::uint64_t nic, std::uint64_t number) { return number << 6 | (nic & 63); }

  std::unordered_multimap<std::uint64_t, PacketRow> packets_;
  std::unordered_multimap<std::uint64_t, CompletionRow> completions_;
};

}  // namespace rxnic
