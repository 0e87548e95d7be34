// SPDX-License-Identifier: Apache-2.0
// The NIC's end of PCI Express: what the blocks ask of host memory becomes TLPs on a link, and takes the time of them.
//
//   R1  One request is started in a cycle: a client's, the next segment of the payload packet at hand, or that of the
//       gather packet at hand. It starts in the cycle in which the link up becomes free, or in that in which it can be
//       popped; its bytes follow those before it without a gap. The requesters take turns (round robin).
//   R2  Memory is touched in the cycle of the start, in the order of the starts; a write's data is moved then,
//       a payload packet's all together with its first segment.
//   R3  A packet is taken when the link is free; it waits for its turn then. It is pushed to payload_done in the cycle
//       in which the last byte of its last segment has left (the first that begins at or after it), one packet a
//       cycle, in the order of arrival. A packet that writes nothing is pushed one cycle after it was taken.
//   R4  Posted writes stay in order over all requesters: what is started later lands later. `landed` gets a notice
//       when such a write is visible: write_latency_ps after its last byte has left. Its client gets a completion in
//       the same cycle, when it wants to be told.
//   R5  A read or an atomic takes as many tags as it has read requests (at most all of them), from its start to its
//       completion. Its first byte comes read_latency_ps after its first request has left, or behind the data of the
//       reads before it. It is completed in the first cycle that begins at or after its last byte.
//   R6  A write takes posted credit for its bytes, in units of 16 (at most all of it), from its start until it has
//       landed.
//   R7  A read that lacks tags holds up all reads, a write that lacks credit all writes, so that neither is starved by
//       smaller ones. The other kind goes on.
//   R8  Memory that is not mapped: a completion with ok = false; a payload packet fails its QP (kHostMemory) and
//       writes no further segment; a gather packet comes back with outcome kNak and drop reason kHostMemory.
//   R9  Clients' completions and gather packets come in the order of their requests.
#pragma once

#include <array>
#include <cstdint>

#include "model/blocks/dma.h"
#include "model/blocks/ledger.h"
#include "model/core/memory/pcie.h"
#include "model/core/responder/refusal.h"
#include "model/core/wire/link_time.h"
#include "model/engine/delay_line.h"
#include "model/engine/link.h"
#include "model/types/dma_engine_counters.h"
#include "model/types/host_memory.h"

namespace rxnic {

class DmaEngine final : public Block {
 public:
  DmaEngine(const sc_core::sc_module_name& name, const DmaEngineParams& params, std::uint32_t clock_period_ps,
            NicShared& shared, HostMemory& memory);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const DmaEngineCounters& counters() const { return counters_; }
  // Requests of a client, and gather packets, that have touched memory.
  std::uint64_t started(DmaClient c) const { return counters_.client_requests[static_cast<std::size_t>(c)]; }
  std::uint64_t gathered_packets() const { return counters_.packets_gathered; }
  std::uint32_t tags_in_use() const { return params_.tags - tags_left_; }

  In<PacketHandle> payload;
  Out<PacketHandle> payload_done;
  In<PacketHandle> gather;
  Out<PacketHandle> gathered;
  std::array<In<DmaRequest>, kDmaClients> requests;
  std::array<Out<DmaCompletion>, kDmaClients> completions;
  Out<HostNotice> landed;
  Out<Refusal> refusals;

 private:
  // Requesters in the order of their turns: the clients, then the two packet streams.
  static constexpr std::size_t kPayload = kDmaClients;
  static constexpr std::size_t kGather = kDmaClients + 1;
  static constexpr std::size_t kRequesters = kDmaClients + 2;
  static constexpr std::size_t kNobody = kRequesters;

  struct Answer {          // of a read or an atomic
    std::uint32_t id = 0;  // cookie, or packet handle
    std::uint32_t tags = 0;
    bool last = true;  // of its packet: something is pushed
    bool ok = true;
  };
  struct Landing {  // of a write that the host and perhaps its client are told of
    HostNotice notice;
    std::uint32_t client = 0;
    bool told = false;
  };
  struct Stream {  // a packet whose segments are being started
    PacketHandle packet = kNoPacket;
    std::uint32_t segment = 0;
    std::uint32_t written = 0;  // segments whose data is moved (R2)
  };

  void give_back(Cycle now);
  bool take_packets(Cycle now);
  bool start_one(Cycle now);
  bool start_client(Cycle now, std::size_t client);
  bool start_payload(Cycle now);
  bool start_gather(Cycle now);
  bool perform(const DmaRequest& r);
  std::uint32_t write_segments(const Packet& p);
  bool has_credit(Cycle now, std::size_t who, std::uint32_t bytes);
  bool has_tags(std::size_t who, std::uint32_t tags);
  Instant send_write(Cycle now, BusAddress address, std::uint32_t bytes);
  void send_read(Cycle now, std::size_t to, const TlpCount& up, const TlpCount& down, Answer answer);
  bool link_free(Cycle now) const { return up_.free().floor() <= now; }
  std::uint32_t requesters() const;
  Activity activity_of_idle_link() const;
  Cycle next_step(Cycle now, bool worked);

  const DmaEngineParams params_;
  NicShared& shared_;
  HostMemory& memory_;
  LinkTime time_;
  Line up_;
  Line down_;
  Instant read_latency_;
  Instant write_latency_;

  std::uint32_t tags_left_;
  std::uint64_t credit_left_;  // bytes; given back only when somebody asks
  std::size_t turn_ = 0;
  std::size_t lacks_tags_ = kNobody;
  std::size_t lacks_credit_ = kNobody;
  Refusals refused_;
  Stream writing_;
  std::array<HostWrite, kMaxSegments> writes_;  // of the packet whose first segment starts
  Stream gathering_;
  DelayLine<PacketHandle> leaving_;                         // payload packets on the link, leaving_depth of them (R3)
  std::array<DelayLine<Answer>, kDmaClients + 1> answers_;  // by client, then gather (R5, R9)
  DelayLine<std::uint64_t> unlanded_;                       // credit of writes that have not landed (R6)
  DelayLine<Landing> landings_;                             // (R4)
  std::uint64_t asking_ = 0;                                // bit by client whose link is not empty
  std::uint32_t awaiting_ = 0;                              // bit per line of answers_ that is not empty
  Cycle due_ = kNever;                                      // when the next of all these has something to give back
  bool more_leaving_ = false;                               // another packet is due, next cycle
  bool output_blocked_ = false;
  DmaEngineCounters counters_;
};

}  // namespace rxnic
