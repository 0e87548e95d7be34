// SPDX-License-Identifier: Apache-2.0
// DMA engine, the NIC's end of PCI Express: carries out the blocks' accesses to host memory as TLPs on a PCIe link.
//
//   R1  At most one TLP is started in a cycle. It is the next TLP of a client's request, or of the segment at hand of
//       `payload` or `gather`. The TLP starts in the first cycle in which the link up is free and its request can be
//       popped. Its bytes follow those before it without a gap. The requesters take turns TLP by TLP (round robin).
//   R2  A request accesses all of its memory in the cycle in which its first TLP starts; so accesses are in the order
//       of those starts. A client's read, and the last segment of a gathered packet, may be read later. The time for
//       that is from the start of their last TLP until their data is complete (R5). What the host writes meanwhile may
//       be seen, what the device writes is not (host_memory.h, read_later).
//   R3  A segment is taken when the link is free, and then waits for its turn. A packet is pushed to payload_done in
//       the first cycle that begins at or after the end of the last byte of its last segment. Packets are pushed one a
//       cycle, in the order of arrival, and not before the last byte of their frame has come (Packet::complete). A
//       segment without bytes takes no turn: its packet is pushed one cycle after it was taken.
//   R4  A write is visible when the host's latency (core/memory/host_latency.h) has passed since its last byte left,
//       and not before the writes that were started earlier. With relaxed_ordering payload may overtake, and the other
//       writes stay behind everything. A write that carries CQEs is reported to `landed` when it is visible, with the
//       cycle in which its last TLP was started. Its client gets a completion in the same cycle when the request asks
//       for one.
//   R5  A read request TLP, and an atomic, takes a tag and room for its completions from its start until its data is
//       complete. It takes non-posted credit until the host has its data. The host has the data when the TLP has left
//       and the host's latency has passed since then. The writes that were started before the TLP must be visible, too.
//       Payload (segments of `gather` and the reads of kSendPayload) does not wait for those with relaxed_ordering.
//       Reads are answered one behind the other, in the order in which the host has their data. When the host has data
//       of several in one cycle, the order of their starts counts. A request is completed in the first cycle that
//       begins at or after the last byte of all its TLPs.
//   R6  A write TLP takes posted credit from its start until it is visible. Credit is counted as in core/memory/pcie.h
//       R5.
//   R7  A read that lacks a tag, room or credit holds up all reads, a write that lacks credit all writes. So neither is
//       starved by smaller ones of its kind. The other kind goes on.
//   R8  Memory that is not mapped: what completes of a client has ok = false. A payload packet fails its QP
//       (kHostMemory), writes no further segment and is pushed without them. A gathered response reads no further
//       segment and has syndrome 0x63. A response with a segment that the translator refused (`failed`) has syndrome
//       0x62. When a response has several failures, the first counts. What failed because its program has ended
//       (HostMemory::gone) is `gone`, too.
//   R9  Clients' completions and gathered responses come in the order in which their data is complete: a slow read
//       holds up no other one. Only those of the tag CAM, whose entries are a list, come in the order of its requests.
//       They keep no tag and no room while they wait for that.
//   R10 The host's writes to the device (doorbells, tag operations, commands) take the link down with their headers
//       (core/memory/pcie.h, R6). A send WQE takes the link in place of the doorbell that it came with. They go between
//       the completions that are on their way (core/wire/link_time.h, R2). Each write is passed on in the first cycle
//       that begins at or after its last byte. Writes of one kind stay in order, and one of a kind is passed on in a
//       cycle. A command is not passed on before the doorbells and tag operations that came before it. A send doorbell
//       is not passed on before the receive doorbells and tag operations that came before it.
//   R11 An event, and the reply to a command, is two posted writes, into its queue and for its interrupt. They take
//       turns like a client's request, the four sources of events and the replies one after the other. The host is
//       notified when the interrupt is visible.
//   R12 A fence is answered when the requests of its client that had come before it have accessed memory. As many
//       segments as the fence says must have been gathered, too.
//   R13 The device's own memory (icm::kDeviceMemory) is accessed without TLPs, tags and credit. A segment or a request
//       is one turn, like a TLP's start (R1: when the link up is free). The turn comes in the first cycle in which the
//       device's memory is free. This memory is occupied for a cycle per device_memory_beat_bytes. The access is done
//       device_memory_cycles later: then a packet may be pushed on, and a client or a response has its data. Such a
//       write is visible when it is done.
//   R14 With atomic_operations = read_write a fetch-and-add or compare-and-swap is a read of 8 bytes and, unless the
//       comparison fails, a write of 8 bytes. The write takes its turn when the read's data is complete. The operation
//       is completed when the write's last byte has left. Memory is accessed in the cycle of R2, so nothing comes
//       between. With `pcie` it is one AtomicOp, as a swap (ATOMIC WRITE) always is.
//   R15 A packet is `pressed` when it waited for the path to host memory and much payload waits behind it. It waited
//       when one of its TLPs lacked credit. It also waited when the link was busy in the cycle before its first TLP
//       started, or before it was taken without bytes. Much payload: in the cycle of its last TLP, `payload` holds all
//       but one of the segments that it can hold, or more. So packets that are not pressed follow one that is.
//   R16 Memory that has latencies of its own (host_memory.h, has_latency) says one with each access. It is the host's
//       latency (R4, R5) of all TLPs of the request or the segment, and nothing is read later than R2's cycle. Memory
//       is also read when the client gets the bytes elsewhere. An AtomicOp has the latencies of its read and of its
//       write, one behind the other; with `read_write` each TLP has its own. What has no such memory takes what the
//       parameters say: tables, events, interrupts and replies.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/blocks/ledger.h"
#include "model/core/memory/dma_arbiter.h"
#include "model/core/memory/host_latency.h"
#include "model/core/memory/pcie.h"
#include "model/core/responder/refusal.h"
#include "model/core/wire/link_time.h"
#include "model/engine/delay_line.h"
#include "model/engine/growing_queue.h"
#include "model/engine/sorted_line.h"
#include "model/ports/dma_engine_ports.h"
#include "model/types/bits.h"
#include "model/types/command.h"
#include "model/types/context.h"
#include "model/types/doorbell.h"
#include "model/types/event.h"
#include "model/types/host_memory.h"
#include "model/types/packet_stamps.h"
#include "model/types/segment.h"
#include "model/types/tag_operation.h"

namespace rxnic {

class DmaEngine final : public DmaEnginePorts {
 public:
  DmaEngine(const sc_core::sc_module_name& name, const DmaEngineParams& params, std::uint32_t clock_period_ps,
            PacketPool& packets, HostMemory& memory, std::unique_ptr<DmaArbiter> arbiter = nullptr);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const DmaEngineCounters& counters() const override { return counters_; }
  // For tests.
  std::uint32_t tags_in_use() const { return params_.tags - tags_left_; }

 protected:
  void end_of_elaboration() override;

 private:
  // Requesters in the order of their turns: the clients, then the two packet streams, then events.
  static constexpr std::size_t kPayload = kDmaClients;
  static constexpr std::size_t kGather = kDmaClients + 1;
  static constexpr std::size_t kEvents = kDmaClients + 2;
  static constexpr std::size_t kRequesters = kDmaClients + 3;
  static constexpr std::size_t kNobody = kRequesters;
  static constexpr std::size_t kHostWrites = 6;    // kinds of them
  static constexpr std::size_t kEventSources = 5;  // receive, completion, send, page requests; replies
  // Bits of inputs_: the clients and the packet streams by the number of the requester, then the other inputs.
  static constexpr std::size_t kFences = kRequesters;
  static constexpr std::size_t kEventsFrom = kFences + 1;                      // by source
  static constexpr std::size_t kHostWritesFrom = kEventsFrom + kEventSources;  // by kind
  static constexpr std::uint64_t kClientBits = bit_of(kDmaClients) - 1;
  static constexpr std::uint64_t kStreamBits = bit_of(kPayload) | bit_of(kGather);
  static constexpr std::uint64_t kEventBits = bit_of(kHostWritesFrom) - bit_of(kEventsFrom);
  static constexpr std::uint64_t kHostWriteBits = bit_of(kHostWritesFrom + kHostWrites) - bit_of(kHostWritesFrom);
  static constexpr auto kTagClient = static_cast<std::size_t>(DmaClient::kTag);
  static constexpr auto kResponseClient = static_cast<std::size_t>(DmaClient::kResponse);

  using Latency = std::optional<Instant>;  // as memory says (R16); without: as the parameters say

  struct OpenRead {            // a read or an atomic of a client, or a response, from its first part on
    std::uint32_t id = 0;      // cookie, or packet handle
    std::uint32_t parts = 0;   // whose data is not complete
    bool all = false;          // no further part comes
    bool writes_back = false;  // an atomic whose write is to come (R14)
    bool ok = true;
    bool gone = false;
    std::uint8_t syndrome = 0;  // of a gathered response
    std::uint64_t late = 0;     // number of its late read, if it has one (R2); then `ok` is that one's result
    BusAddress from{};          // of its late read
    Latency write_latency;      // of an atomic
    bool is_complete() const { return all && parts == 0; }
  };
  struct Part {              // a read request TLP, an atomic, or an access to device memory
    std::uint32_t read = 0;  // of open_
    bool takes_tag = true;   // and room (R5)
    Credit room{};           // for its completions
    std::uint64_t segment = kNoSegment;
  };
  static constexpr std::uint64_t kNoSegment = ~std::uint64_t{0};
  struct Answer {          // to a read request TLP or an atomic
    std::uint32_t to = 0;  // client, or kDmaClients: gather
    std::uint32_t part = 0;
    TlpCount down;
    Instant ready;
  };
  struct Sent {  // of a write TLP
    Instant left;
    Instant lands;
  };
  struct Landing {  // of a write that is reported to the host, its client, or both
    HostNotice notice;
    std::uint32_t client = 0;
    bool notify = false;
    bool ok = true;  // its memory is mapped
  };
  enum HostWrite : std::size_t {
    kSendDoorbells,
    kReceiveDoorbells,
    kCompletionDoorbells,
    kTagOperations,
    kCommands,
    kPageReplies
  };
  static constexpr std::size_t kReplies = 4;
  struct Raised {
    Event event;
    std::size_t source = 0;
  };
  struct Progress {           // of the request whose turn it was last, by requester
    std::uint32_t bytes = 0;  // that its TLPs so far carried or asked for; 0: none was started
    bool ok = true;           // its memory is mapped (R8)
    std::uint32_t read = kNone;
    Latency latency;  // of its access
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  Cycle work(Cycle now);
  void carry_out_fence(Cycle now);
  void give_back(Cycle now);
  void take_host_writes(Cycle now);
  template <class T>
  void pass_on(Cycle now, In<T>& from, Out<T>& to, std::uint32_t bytes, HostWrite kind);
  static std::span<const HostWrite> kinds_before(HostWrite kind);
  bool follows_all(HostWrite kind) const;
  bool take_payload(Cycle now);
  bool take_gather(Cycle now);
  void note_busy_link(Cycle now) { held_up_ |= up_.free().ceiling() >= now; }
  void leave(CompletionRequest& p, Cycle due, Cycle now);
  bool start_one(Cycle now);
  bool start(std::size_t who, Cycle now);
  bool start_client(Cycle now, std::size_t client);
  bool start_write_back(Cycle now);
  bool start_payload(Cycle now);
  bool start_gather(Cycle now);
  bool start_event(Cycle now);
  bool event_waits(Cycle now);
  bool read_memory(Cycle now, BusAddress from, std::span<std::uint8_t> to, Latency& latency);
  bool write_memory(Cycle now, BusAddress to, std::span<const std::uint8_t> from, Latency& latency);
  bool take(const TimedAccess& access, Latency& latency);
  std::span<std::uint8_t> buffer_of(const DmaRequest& r);
  bool perform(Cycle now, const DmaRequest& r, Latency& read, Latency& write);
  static bool writes(const DmaRequest& atomic);
  // Device memory (R13): the cycle in which an access is done that begins now; kNever: it cannot begin.
  Cycle access_device(Cycle now, std::uint32_t bytes);
  bool start_device_request(Cycle now, std::size_t client, const DmaRequest& r);
  std::span<const std::uint8_t> bytes_of(const SegmentWrite& s) const;
  void end_segment(SegmentWrite& s, Cycle now);
  bool has_credit(Cycle now, std::size_t who, std::uint32_t bytes);
  bool may_read(Cycle now, std::size_t who, std::uint32_t operand_bytes, const TlpCount& down, std::uint32_t bytes);
  Sent send_write(Cycle now, std::uint32_t bytes, bool relaxed, const Latency& latency = {});
  OpenRead& open_read(Progress& progress, std::uint32_t id);
  std::uint32_t add_part(std::size_t to, Part part);
  void send_read(Cycle now, std::size_t to, const TlpCount& up, const TlpCount& down, Part part, bool relaxed,
                 const Latency& latency);
  void read_late(BusAddress from, std::span<std::uint8_t> to, OpenRead& of);
  void settle_late_reads();
  void finish_late_read(OpenRead& of);
  void end_segment(const GatherRead& s, OpenRead& response);
  bool has_gathered(std::uint64_t segments) const;
  void answer(const Answer& a);
  void take_data(Cycle now, std::size_t line);
  bool is_full(std::size_t line) const { return parts_open_[line] == params_.tags; }
  bool can_complete(std::size_t line, Cycle now) const {
    return line == kDmaClients ? gathered.can_push(now) : completions[line].can_push(now);
  }
  void complete(std::size_t line, std::uint32_t read, Cycle now);
  bool link_free(Cycle now) const { return up_.free().floor() <= now; }
  std::uint32_t requesters() const;
  bool only_link_is_awaited(Cycle now) const;
  Activity activity_of_idle_link() const;
  Cycle next_step(Cycle now, bool worked) const;
  // Pushes into one of the lines that due_ is about.
  template <class Line, class T>
  void keep(Line& line, const T& value, Cycle ready) {
    line.push(value, ready);
    due_ = earliest(due_, line.next_ready());
  }
  template <class F>
  void for_each_due(F f) const;

  const DmaEngineParams params_;
  PacketPool& packets_;
  PacketStamps stamps_;
  HostMemory& memory_;
  const bool timed_;                   // it has latencies of its own (R16)
  std::vector<std::uint8_t> nowhere_;  // what is read for clients that get it elsewhere
  LinkTime time_;
  Line up_;
  Line down_;
  HostLatency latency_;

  std::uint32_t tags_left_;
  CreditPool posted_;      // credit of landed writes is returned only when a write needs it
  CreditPool non_posted_;  // likewise, of reads whose data the host has
  CreditPool completion_;
  Credit write_credit_;    // of the write that has_credit() has looked for
  Credit request_credit_;  // of the read that may_read() has allowed, and of its completions
  Credit answer_room_;
  std::unique_ptr<DmaArbiter> arbiter_;  // nullptr: in turn
  std::size_t turn_ = 0;
  std::size_t lacks_to_read_ = kNobody;   // who waits for a tag, room or credit
  Activity read_wait_ = Activity::kBusy;  // for which of them
  std::size_t lacks_to_write_ = kNobody;
  Refusals refused_;
  std::array<Progress, kRequesters> progress_;
  SegmentWrite writing_;  // the segment at hand
  bool has_writing_ = false;
  bool writing_begun_ = false;    // a TLP of its packet has started
  bool held_up_ = false;          // its packet waited for the link or for credit (R15)
  std::uint32_t last_place_ = 0;  // of `payload`, but for one
  bool swallows_ = false;         // discards the remaining segments of a packet that failed
  GatherRead gathering_;
  bool has_gathering_ = false;
  std::uint8_t gather_syndrome_ = 0;                   // of the response at hand
  bool gather_gone_ = false;                           // likewise
  std::uint64_t segments_taken_ = 0;                   // of `gather`: the one at hand has this number
  std::uint64_t late_started_ = 0, late_settled_ = 0;  // numbers of late reads (R2)
  DelayLine<CompletionRequest> leaving_;               // payload packets on the link, leaving_depth of them (R3)
  DelayLine<bool> sent_;                               // further ones that were sent ahead of their cycle
  Cycle last_leaves_{};                                // of the last packet
  std::deque<OpenRead> open_;                          // as many as were ever open together
  std::vector<std::uint32_t> free_open_;
  std::vector<Part> parts_;  // likewise
  std::vector<std::uint32_t> free_parts_;
  static constexpr std::size_t kLines = kDmaClients + 1;  // the clients, then gather
  std::array<std::uint32_t, kLines> parts_open_{};
  std::array<SortedLine<std::uint32_t>, kLines> data_;  // parts, by the cycle in which their data is complete (R9)
  GrowingQueue<std::uint32_t> in_order_;                // reads of the tag CAM (R9)
  GrowingQueue<std::uint32_t> write_backs_;             // atomics that have been read (R14)
  SortedLine<Credit> unlanded_;                         // of writes that have not landed (R6)
  SortedLine<Credit> held_;                             // of reads whose data the host does not have yet (R5)
  SortedLine<Answer> in_host_;                          // reads whose data the host does not have yet
  DelayLine<Landing> landings_;                         // (R4)
  Instant last_landing_;                                // of all writes
  Instant payload_lands_;                               // of the segments of the packet at hand
  Cycle payload_done_at_{};                             // when all of them have left, or are in device memory
  Cycle device_free_{};                                 // from then on that memory can be accessed
  bool waits_for_device_ = false;
  std::array<Cycle, kHostWrites> arrives_;           // the first write of each kind; kNever: it has not begun
  std::array<std::uint64_t, kHostWrites> passed_{};  // so far
  using Counts = std::array<std::uint64_t, kHostWrites>;
  std::array<Counts, kHostWrites> after_{};  // by kind: of the others, those that its first write follows
  std::array<In<Event>*, kReplies> events_{&receive_events, &completion_events, &send_events, &page_requests};
  std::array<Out<Event>*, kReplies> raised_ports_{&receive_raised, &completion_raised, &send_raised, &page_raised};
  std::size_t event_source_ = 0;  // whose turn it is
  DelayLine<Raised> raised_;
  DelayLine<CommandReply> replied_;
  std::uint64_t inputs_ = 0;    // bit by input whose link is not empty
  std::uint32_t awaiting_ = 0;  // bit per line of parts that is not empty
  Cycle due_ = kNever;          // when the next entry of all these delay lines is due
  bool more_leaving_ = false;   // another packet is due, next cycle
  bool output_blocked_ = false;
  bool fence_begun_ = false;        // for the fence at the head of its link, fence_behind_ is known
  std::uint64_t fence_behind_ = 0;  // requests of its client that are waited for
  DmaEngineCounters counters_;
};

// Inlined: two TLPs of each packet are writes.
[[gnu::always_inline]] inline bool DmaEngine::has_credit(Cycle now, std::size_t who, std::uint32_t bytes) {  // (R6, R7)
  if (lacks_to_write_ != kNobody && lacks_to_write_ != who) return false;
  while (unlanded_.ready(now)) posted_.give(unlanded_.pop());
  write_credit_ = posted_.of(1, bytes);
  lacks_to_write_ = posted_.covers(write_credit_) ? kNobody : who;
  return lacks_to_write_ == kNobody;
}

// Sends one TLP, for which has_credit() has found credit.
[[gnu::always_inline]] inline DmaEngine::Sent DmaEngine::send_write(Cycle now, std::uint32_t bytes, bool relaxed,
                                                                    const Latency& latency) {  // (R4, R6)
  const TlpCount up = write_tlp(params_, bytes);
  const Instant left = up_.carry({now.count, 0}, up.link_bytes);
  Instant lands = time_.after_span(left, latency ? *latency : latency_.of_write());
  if (!relaxed) lands = std::max(lands, last_landing_);
  last_landing_ = std::max(lands, last_landing_);
  posted_.take(write_credit_);
  unlanded_.push(write_credit_, lands.ceiling());
  counters_.write_bytes += bytes;
  counters_.tlps_up += up.tlps;
  counters_.link_bytes_up += up.link_bytes;
  return {left, lands};
}

}  // namespace rxnic
