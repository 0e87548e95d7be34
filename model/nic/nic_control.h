// SPDX-License-Identifier: Apache-2.0
// The NIC's command interface: the commands of a driver, besides posting work. They change the state of the blocks and
// the tables in host memory, and take no model time by themselves.
//
//   R1  A command that has to wait for packets or writes in flight returns kBusy. It may already have begun, so it must
//       be repeated until kDone. Something is in flight while it returns kBusy, so the wait ends.
//   R2  A context is changed where it is: in the cache's line, otherwise in host memory; kBusy while it is moving.
//   R3  free_*: afterwards the device touches neither the memory nor the rings of the object. Packets of a freed QP
//       are dropped, its completions that were not written yet are lost.
//   R4  fail_qp: the QP goes to the error state, the WQEs posted to its receive and send queues are flushed. Packets of
//       the QP that passed the transport checker before are carried out.
//   R5  An object that does not exist is kDone at once. What uses an object is gone before it: QPs before their queues,
//       CQs and regions.
//   R6  kNoRoom, or kNoWq: the NIC has no room for it, and nothing has changed. A QP needs one of send_queues; as many
//       responder_resources as it has max_dest_rd_atomic, from when it is ready to receive until its reset; an SRQ one
//       of max_srqs; a TM SRQ also one of the tag matcher's lists.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "model/blocks/requester.h"
#include "model/nic/nic.h"

namespace rxnic {

enum class CommandResult : std::uint8_t { kDone, kBusy, kNoRoom };

class NicControl {
 public:
  NicControl(Nic& nic, HostMemory& memory) : nic_(nic), memory_(memory) {}

  // `qp.valid` is set here. Its receive queue exists already.
  CommandResult create_qp(const QpContext& qp, const SendQueueContext& queue = {});
  // The context as it is now; kBusy: moving.
  CommandResult read_qp(Qpn qpn, QpContext& out);
  // Software's part of the context (context.h) and of the send side replaced; the state, too (not to kError: fail_qp,
  // not to kReset: reset_qp). expected_psn is `rq_psn` when `set_rq_psn`, likewise the requester's.
  CommandResult modify_qp(const SendQpContext& context, bool set_rq_psn, Psn rq_psn, bool set_sq_psn);
  CommandResult fail_qp(Qpn qpn);
  // From now on its packets are dropped and it sends nothing; reset_qp() or free_qp() has to follow. May have no effect
  // while its context is moving.
  void silence_qp(Qpn qpn);
  // Back to kReset: queues emptied, nothing in flight, as after create_qp.
  CommandResult reset_qp(Qpn qpn);
  CommandResult free_qp(Qpn qpn);

  WqId create_queue(const WqContext& queue);  // RQ or SRQ; kNoWq: no room
  // `valid` is 0 when there is no such queue; kBusy: moving.
  CommandResult read_queue(WqId id, WqRecord& out);
  CommandResult free_queue(WqId id, const WqContext& queue);
  void create_region(const MptEntry& entry, std::span<const BusAddress> pages);
  CommandResult free_region(Key key);
  void create_cq(const CqContext& cq);
  // `valid` is 0 when there is no such CQ; kBusy: moving.
  CommandResult read_cq(Cqn number, CqRecord& out);
  CommandResult moderate_cq(Cqn number, std::uint16_t count, std::uint16_t period_us);
  // To another ring, which software filled with ones: CQEs that were not polled (from `consumer` on) are moved over, in
  // order, and numbered from 0 on. kBusy while CQEs are on their way to the old ring.
  CommandResult resize_cq(const CqContext& cq, std::uint32_t consumer);
  CommandResult free_cq(Cqn number);

 private:
  static constexpr std::uint64_t kNoTicket = ~std::uint64_t{0};

  bool exists(Qpn qpn);
  bool reserve(const ResponderContext& qp);
  void begin_stop(QpContext& qp);
  CommandResult stop_qp(Qpn qpn);
  bool in_flight(const QpContext& qp) const;

  Nic& nic_;
  HostMemory& memory_;
  std::uint32_t qps_ = 0, srqs_ = 0;  // that exist
  std::unordered_map<std::uint32_t, std::uint64_t>
      stopping_;  // QPs: number of CQE writes to wait for, when it is known
  std::unordered_map<std::uint32_t, AddressTranslator::Translated> freeing_;  // regions, by key
  struct Resize {
    CqMove move;
    std::uint64_t after = 0;  // CQE writes to wait for
  };
  std::unordered_map<std::uint32_t, Resize> resizing_;  // CQs
};

}  // namespace rxnic
