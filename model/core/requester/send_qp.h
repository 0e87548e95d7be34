// SPDX-License-Identifier: Apache-2.0
// The send side of one QP: what was posted, what is outstanding, and the next packet with its bytes. The requester
// (model/blocks/requester.h) adds ports, turns and timers.
//
//   R1  Packets are sent in the states kRts and kSqd. In kSqd no WQE is begun; those that were begun go on.
//   R2  A WQE is checked when it is in the device and the next to be begun. Checked are its format (send_wqe_format.h),
//       its path, and its segments (payload_locator.h; READ and atomics: the right to write there). Its payload is
//       located as its packets are made.
//   R3  A WQE that cannot be carried out stops the queue: no packet of it, or of a later one, is sent. It fails when
//       all WQEs before it are answered. A WQE that software changed after it was begun stops the queue likewise.
//   R4  After a failure all WQEs that are not finished complete in order. The first completes with its status. The
//       others, and those that are posted later, complete as flushed. RC, XRC: the QP is in kError. UC, UD, RAW_PACKET:
//       the QP is in kSqe, unless the failure was found elsewhere (kFlushed). When software takes the QP back to kRts,
//       what was posted by then is flushed, and what is posted from then on is sent.
//   R5  A producer index that send_ring.h refuses counts as one more WQE that cannot be carried out. When no slot is
//       left for such a WQE, the index counts as none.
//   R6  WQEs are read when none is in the device, in kRts only. A WQE that came with its doorbell is in the device at
//       once when all of its bytes came. No packet and no other WQE may wait before it. Otherwise it is read like the
//       others.
//   R7  Packets of a connected QP over RoCEv2 are ECN capable, ECT(0), with dcqcn; a path that says otherwise is kept.
//   R8  A QP without a ring has WQEs of the device itself, which are never read. A rendezvous is a READ and, when the
//       READ is answered, a FIN, which goes before READs that have not begun. Their completions are marked
//       (`rendezvous`); a READ's has the handle of the entry that matched as its wqe_index. After a failure no FIN
//       follows, whatever has come.
//   R9  BIND_MW and LOCAL_INV send nothing: the command processor carries them out. Such a WQE is begun in kRts when
//       all WQEs before it are answered (UC: have left), and the next WQE when it is done. A WQE that is refused fails
//       as R3.
//   R10 A packet is made when no page of its payload is absent. A WQE with a page that does not exist fails as R3.
//   R11 RAW_PACKET: the message is the frame, padded with zeros to the shortest that Ethernet has; no FCS. It has no
//       destination but its MAC address.
//   R12 TSO: a packet is the header, which core/wire/ip_offload.h (R5) makes this segment's, and a part of the message.
//       Its checksums, and those of a packet with kSendChecksums, are filled in when its payload has come.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "model/core/requester/payload_locator.h"
#include "model/core/requester/rendezvous_table.h"
#include "model/core/requester/request_packet.h"
#include "model/core/requester/send_ring.h"
#include "model/params/params.h"
#include "model/types/command.h"
#include "model/types/context.h"
#include "model/types/packet.h"
#include "model/types/send_completion.h"

namespace rxnic {

// The attributes of a QP that software sets for the requester. MTU, P_Key, remote QPN and PD come from the QpContext,
// addresses from `path` and the port's GID table.
struct SendQpContext {
  QpContext qp;
  SendQueueContext queue;
  AddressVector path;              // RC, UC
  std::uint8_t max_rd_atomic = 1;  // READs and atomics in flight
  std::uint8_t timeout = 14;       // code: 4.096 us * 2^timeout, 0: never
  std::uint8_t retry_count = 7;    // 0..7
  std::uint8_t rnr_retry = 7;      // 0..7, 7: for ever
  std::uint32_t sq_psn = 0;
};

// State that the QPs of a port share.
struct SendState {
  explicit SendState(HostMemory& m, std::uint32_t most_rendezvous = RequesterParams{}.rendezvous)
      : memory(m), locator(m), rendezvous(most_rendezvous) {}
  HostMemory& memory;
  PayloadLocator locator;
  RendezvousTable rendezvous;
  MacAddress mac{};
  std::vector<SourceGid> gids;
};

class SendQp {
 public:
  SendQp(const SendQpContext& context, const RequesterParams& params, SendState& port);

  // Software's side. configure: everything but the ring; a QP that has failed stays so unless it recovers.
  void configure(const SendQpContext& context);
  void recover();  // from kSqe; before it is configured (R4)
  bool resume();   // it has recovered, and its last old WQE is flushed: it goes on
  void reset();    // as it was created
  // A doorbell, and `wqe_bytes` bytes of the WQE before `producer` with it. (R6)
  void post(std::uint32_t producer, Cycle rung, std::uint32_t wqe_bytes);

  // The QP's WQEs are the device's own (R8).
  bool has_own_wqes() const { return own_; }
  // Begins a rendezvous; false: the QP cannot send any more, or has a ring.
  bool post_rendezvous(const RendezvousRequest& request, Cycle now);
  // READs that were answered since are followed by their FIN; the entries of FINs that were, are released. Returns the
  // FINs that were posted. `fails`: the answer ends the QP. READs before it have not got their data: they fail with it.
  std::uint32_t settle_rendezvous(bool fails, Cycle now);

  // The WQEs that one read brings, 0: none are to be read now (R6); where they are; they are in the device.
  std::uint32_t wqes_to_read() const;
  MemoryPiece wqe_read(std::uint32_t count) const { return slots_at(ring_.next(), count); }
  void fetched(std::uint32_t count) { ring_.fetched(count); }
  // Where the oldest WQE is that has packets to send, to send them again.
  MemoryPiece repeated_read() const { return slots_at(next_wqe(), 1); }

  // The next WQE is one that the command processor carries out, and may be begun (R9); begins it; its outcome.
  bool has_window_request();
  WindowRequest begin_window_request();
  bool window_request_begun() const { return local_.has_value(); }
  SendRequest end_window_request(bool ok);

  // There is a packet to send; may read memory and find that a WQE cannot be carried out.
  bool has_packet();
  // What a packet carries: bytes of its WQE, or what is in memory, zeros for null regions.
  struct Payload {
    Bytes in_wqe;  // in front of what is in memory
    std::uint32_t bytes = 0;
    std::uint32_t zeros = 0;          // of them in no piece
    std::vector<MemoryPiece> pieces;  // of memory
  };
  // The packet that make_packet() would make needs that page, which is absent (R10); there is none.
  std::optional<MissingPage> missing_page();
  std::uint32_t next_wqe() const { return queue_.unsent() ? queue_.current().wqe : ring_.next(); }  // make_packet()'s
  // A page of that WQE's payload does not exist; what has completed since did not need it.
  void refuse_page(std::uint32_t wqe);
  // Begins the next WQE when no packet is left of those before. False when the packet's payload is nowhere.
  bool make_packet(RequestPacket& packet, Payload& payload);
  // Writes the frame of the packet just made, but for what of its payload is in memory, checksums and the ICRC. Returns
  // where that part of the payload begins in it.
  std::size_t write_frame(const RequestPacket& packet, const Payload& payload, Packet& p) const;
  // The payload of a packet of that WQE could not be read.
  void lose(std::uint32_t wqe);
  // The checksums of the packet just made are to be filled in. (R12)
  bool wants_checksums() const { return queue_.current().mss != 0 || (queue_.current().flags & kSendChecksums) != 0; }
  // The notice of the packet's request for the receive path.
  RequestNotice notice() const;

  // RC: all packets of the WQE are acknowledged.
  bool completed(std::uint32_t wqe) const { return reliable() && static_cast<std::int32_t>(wqe - oldest()) < 0; }
  // All before the WQE that stopped the queue are answered (R3).
  bool stop_reached() const { return stopped_ && !failed_ && oldest() == stop_wqe_; }
  WcStatus stop_status() const { return stop_status_; }
  void fail(WcStatus status);
  bool failed() const { return failed_; }
  // Failed: there is a WQE to complete, and which (R4).
  bool has_flush() const { return failed_ && next_completion_ != recovers_at_.value_or(ring_.producer()); }
  SendCompletion take_flush();
  // UC, UD: the completion of a request that succeeded.
  SendCompletion success(const SendRequest& request) const;

  bool signaled(std::uint8_t flags) const {
    return (ring_.context().all_signaled && !own_) || (flags & kSendSignaled) != 0;
  }
  bool reliable() const { return is_reliable(context_.qp.transport); }
  Qpn qpn() const { return context_.qp.qpn; }
  const SendQpContext& context() const { return context_; }
  SendQueue& queue() { return queue_; }
  const SendQueue& queue() const { return queue_; }

 private:
  // The first WQE that is not finished.
  std::uint32_t oldest() const {
    if (failed_) return next_completion_;
    if (local_) return local_->wqe;
    return queue_.empty() ? ring_.next() : queue_.oldest().wqe;
  }
  MemoryPiece slots_at(std::uint32_t wqe, std::uint32_t count) const {
    const SendQueueContext& sq = ring_.context();
    return {sq.base + std::uint64_t{ring_.slot_index(wqe)} * sq.stride, count * sq.stride};
  }
  struct OwnWqe {
    std::uint32_t entry = 0;  // of the rendezvous table
    bool finish = false;      // FIN, or else the READ
    Cycle posted{};
  };
  const OwnWqe& own_wqe(std::uint32_t wqe) const { return own_wqes_[wqe - first_own_]; }
  void post_own(const OwnWqe& wqe);
  WcStatus compose(std::uint32_t wqe);
  std::uint32_t handle_of(const OwnWqe& wqe) const { return port_.rendezvous[wqe.entry].handle; }
  void drop_own();
  void release_own();
  bool load(std::uint32_t wqe);
  std::uint64_t bytes_of_next();
  WcStatus parse(std::uint32_t wqe);
  WcStatus check(Pdn pd);
  void set_path(const AddressVector& path, Qpn remote);
  SendRequest take_next();
  static void write_known(const Payload& payload, std::uint8_t* to);
  static void write_raw_frame(const Payload& payload, Packet& p);
  bool find_payload(const RequestPacket& packet, Payload& payload);
  void fail_from(std::uint32_t wqe, WcStatus status);
  void stop_at(std::uint32_t wqe, WcStatus status);
  bool is_stopped(std::uint32_t wqe) const { return static_cast<std::int32_t>(wqe - stop_wqe_) >= 0; }

  const RequesterParams& params_;
  SendState& port_;
  SendQpContext context_;
  bool own_ = false;  // (R8)
  SendRing ring_;
  SendQueue queue_;
  std::deque<OwnWqe> own_wqes_;  // from number first_own_ on
  std::uint32_t first_own_ = 0;
  std::optional<SendRequest> local_;  // (R9)
  Headers path_;                      // below the BTH; UD: of the WQE at hand
  SendWqe wqe_;                       // WQE `loaded_`
  std::uint32_t loaded_ = 0;
  bool has_wqe_ = false;
  bool on_demand_ = false;  // pages of wqe_'s segments may be absent
  bool stopped_ = false;    // (R3)
  std::uint32_t stop_wqe_ = 0;
  WcStatus stop_status_ = WcStatus::kSuccess;
  bool failed_ = false;                        // (R4)
  std::optional<std::uint32_t> recovers_at_;   // failed: the first WQE that is sent again
  WcStatus fail_status_ = WcStatus::kFlushed;  // of the next completion
  std::uint32_t next_completion_ = 0;
};

}  // namespace rxnic
