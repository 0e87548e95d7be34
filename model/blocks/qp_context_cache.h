// SPDX-License-Identifier: Apache-2.0
// QP context cache: a set-associative, write-back cache of the QP contexts in host memory. Gives each packet its
// context.
//
//   R1  A packet that is taken in cycle n and finds its context is pushed in cycle n + hit_cycles, its context pinned
//       from n on. One packet is taken in a cycle, in the order of arrival.
//   R2  A miss reads the context from qp_context_address. When it comes in cycle m, the packet that waits for it goes
//       on in m as if it had been taken then.
//   R3  A context takes a free way of its set or the least recently used one that is not pinned and not being read
//       into. When there is none the packet waits for one (wait_context_way).
//   R4  A changed context (dirty) that is evicted is written to host memory by a posted write before the new one is
//       read.
//   R5  While a packet waits, those behind it are looked at, one a cycle, and their contexts are read too, up to
//       misses_in_flight together. One DMA request is made in a cycle. A context is read once however many packets wait
//       for it.
//   R6  No such QP (valid == 0, or its memory is not mapped): the packet is dropped at once as qp_not_found. The result
//       is not cached, so that a QP that is created later is found.
//   R7  Completions that the requester sends (`commands`) go before the packets that have arrived, in their
//       order, and get their contexts in the same way. A completion of a QP that does not exist or is stopped is
//       discarded without being counted as a drop.
//   R8  `contexts` brings commands of the command processor on one QP at a time. The QP's context is brought here, as
//       for a packet (R2, R3), and kept until it is released. Packets for a stopped QP are dropped as qp_type_or_state.
//       Settle is answered when the line is not pinned and no completion of the QP waits here. A renewed context is as
//       created, with a new residence number; one that is dropped is removed without being written back.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/blocks/ledger.h"
#include "model/core/memory/set_cache.h"
#include "model/engine/delay_line.h"
#include "model/params/params.h"
#include "model/ports/qp_context_cache_ports.h"
#include "model/types/command.h"
#include "model/types/host_memory.h"
#include "model/types/packet_stamps.h"
#include "model/types/parsed_packet.h"

namespace rxnic {

class QpContextCache final : public QpContextCachePorts {
 public:
  QpContextCache(const sc_core::sc_module_name& name, const QpContextCacheParams& params, QpContextMemory& lines,
                 Ledger& ledger, PacketStamps stamps, std::unique_ptr<Replacement> replacement = nullptr);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const QpContextCacheCounters& counters() const override { return counters_; }

  // For tests. The cached context, nullptr when it is not here; a caller that changes it sets `dirty`.
  QpContext* find(Qpn qpn);
  // Whether the context is on its way between here and host memory.
  bool moving(Qpn qpn) const;
  // Writes all changed contexts to host memory, at once.
  void flush_to(HostMemory& memory);

 private:
  enum class LineState : std::uint8_t { kEmpty, kReading, kHere };
  static constexpr std::uint32_t kNone = SetCache::kNoLine;

  void carry_out_command(Cycle now);
  bool carry_out(const ContextCommand& command, ContextReply& reply, Cycle now);
  bool bring(const ContextCommand& command, ContextReply& reply, Cycle now);
  bool settled(Qpn qpn, Cycle now);
  void renew(std::uint32_t line);
  bool may_evict(std::uint32_t line, Cycle now) const {
    return states_[line] == LineState::kHere && line != kept_ && !lines_[line].pins.held(now);
  }
  bool take_head(Cycle now);
  bool more_to_take(Cycle now) const { return commands.can_pop(now) || in.can_pop(now); }
  void give_up_head(DropReason reason, Cycle now);
  static void write_back(const QpContext& context, HostMemory& memory);
  bool fill(std::uint32_t line, bool ok, Cycle now);
  void settle(std::uint32_t line);
  void leave(Cycle now);
  void advance(Cycle now);
  bool pass(Cycle now);
  void found(ContextPacket& p, std::uint32_t line);
  void count(const ContextPacket& p, Cycle leaves);
  void look_ahead(Cycle now);
  bool fetch(Qpn qpn, Cycle now);
  void make_request(Cycle now);

  const QpContextCacheParams params_;
  Ledger& ledger_;
  PacketStamps stamps_;
  SetCache tags_;  // by QPN
  QpContextMemory& lines_;
  std::vector<LineState> states_;
  std::vector<std::uint32_t> displaced_;  // by line being read: QPN of the context written back for it, or kNone
  DelayLine<DmaRequest> requests_;        // to be made, one a cycle
  DelayLine<ContextPacket> found_;        // on the way out
  Cycle last_found_{};                    // when the last of them is due
  ContextPacket head_;                    // waits for its context
  bool has_head_ = false;
  bool head_has_no_way_ = false;  // (R3) tried again in every cycle: the removal of a pin is not notified
  std::uint32_t reading_ = 0;
  std::uint32_t residences_ = 0;  // contexts that have been here
  std::uint32_t ahead_ = 0;       // packets behind the head that were looked at
  std::uint32_t kept_ = kNone;    // line of the QP that a command is at work on
  bool stopped_ = false;          // packets for that QP are dropped
  bool asked_for_ = false;        // its context was not here and is being read
  bool again_ = false;            // there is work left for the next cycle
  QpContextCacheCounters counters_;
};

}  // namespace rxnic
