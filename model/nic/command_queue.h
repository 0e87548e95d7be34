// SPDX-License-Identifier: Apache-2.0
// The driver's side of the NIC's command interface (blocks/command_processor.h). It makes up commands and their
// mailboxes, hands them to the NIC, and keeps the replies until they are asked for.
//
//   R1  Commands reach the NIC in the order in which they were given, as there is room in its queue; further ones wait
//       here.
//   R2  A ticket is good until its reply is collected. It is never 0.
//   R3  A region's pages are written into the MTT by the driver itself, before the command: the table lies in host
//       memory.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "model/core/requester/send_qp.h"
#include "model/engine/link.h"
#include "model/types/command.h"
#include "model/types/completion.h"
#include "model/types/flow.h"
#include "model/types/host_memory.h"
#include "model/types/mailbox.h"
#include "model/types/work_queue.h"

namespace rxnic {

using Ticket = std::uint32_t;  // of a command

class CommandQueue {
 public:
  explicit CommandQueue(HostMemory& memory) : memory_(memory) {}

  Ticket create_cq(const CqContext& cq);
  Ticket modify_cq(const CqContext& cq);
  // To the ring in `cq`, which software filled with ones; CQEs from `consumer` on are moved over and numbered from 0.
  Ticket resize_cq(const CqContext& cq, std::uint32_t consumer);
  Ticket free_cq(Cqn number);
  Ticket create_region(const MptEntry& entry, std::span<const BusAddress> pages);
  // For a region that was created without pages: writes the pages from `first` on. (R3) (R3)
  void write_pages(const MptEntry& entry, std::uint64_t first, std::span<const BusAddress> pages);
  // Or a memory window. `bound`: although windows are bound to it; the reply's number says how many.
  Ticket free_region(Key key, bool bound = false);
  Ticket release_window(Key key);
  Ticket create_queue(const WqContext& queue);  // the reply's number: WqId
  Ticket query_queue(WqId id);
  Ticket arm_limit(WqId id, std::uint32_t limit);
  Ticket free_queue(WqId id, const WqContext& queue);
  Ticket create_qp(const SendQpContext& context);
  Ticket query_qp(Qpn qpn);
  // Replaces software's part of the context (context.h) and of the send side; the state, too (not to kError: fail_qp,
  // not to kReset: reset_qp).
  struct Changes {
    bool set_rq_psn = false;
    Psn rq_psn;
    bool set_sq_psn = false;
    bool notify_drained = false;  // to kSqd: an event when the last request is answered
    bool recovers = false;        // from kSqe to kRts
  };
  Ticket modify_qp(const SendQpContext& context, const Changes& changes);
  Ticket fail_qp(Qpn qpn);
  Ticket silence_qps(std::span<const Qpn> qpns);
  Ticket reset_qp(Qpn qpn);
  Ticket free_qp(Qpn qpn);
  Ticket attach_multicast(const Address& group, Qpn qpn);
  Ticket detach_multicast(const Address& group, Qpn qpn);
  Ticket add_flow(std::uint32_t number, const FlowMailbox& flow);
  // What it has counted is written to `counts`.
  Ticket remove_flow(std::uint32_t number, BusAddress counts) {
    return ask_for_counts(CommandKind::kRemoveFlow, number, counts);
  }
  Ticket read_flow(std::uint32_t number, BusAddress counts) {
    return ask_for_counts(CommandKind::kReadFlow, number, counts);
  }
  Ticket add_rss(Qpn qpn, const RssMailbox& rss);
  Ticket remove_rss(Qpn qpn);
  // Between a program's memory and the device's own, from `offset` on.
  Ticket copy_to_device(BusAddress from, std::uint32_t offset, std::uint32_t bytes);
  Ticket copy_from_device(std::uint32_t offset, BusAddress to, std::uint32_t bytes);

  // (R1) True when any went into the link. `before`: those of earlier tickets alone.
  bool deliver(Out<DriverCommand>& to, Cycle now, Ticket before = ~Ticket{0});
  // Takes the replies that have come. True when there was any.
  bool take(In<CommandReply>& from, Cycle now);
  // The reply has come; collect() forgets it. (R2)
  bool done(Ticket ticket) const { return replies_.contains(ticket); }
  CommandReply collect(Ticket ticket);
  void forget(Ticket ticket) { forgotten_.insert(ticket); }  // nobody asks for it
  std::size_t waiting() const { return waiting_.size(); }    // to be delivered
  bool waits(Ticket before) const { return !waiting_.empty() && waiting_.front().id < before; }
  std::size_t in_progress() const { return mailbox_of_.size(); }  // without a reply
  bool in_progress(Ticket ticket) const { return mailbox_of_.contains(ticket); }

 private:
  static constexpr std::uint64_t kMailboxStride = 1u << 20;  // room for a list of 2^18 numbers

  template <class Mailbox>
  Ticket give(DriverCommand command, const Mailbox& mailbox);
  Ticket give(DriverCommand command);
  Ticket give(CommandKind kind, std::uint32_t number, std::uint32_t value = 0);
  Ticket ask_for_counts(CommandKind kind, std::uint32_t number, BusAddress counts);
  BusAddress next_mailbox() const { return icm::kMailboxes + std::uint64_t{free_slot()} * kMailboxStride; }
  std::uint32_t free_slot() const { return free_.empty() ? slots_ : free_.back(); }

  HostMemory& memory_;
  Ticket last_ = 0;
  std::deque<DriverCommand> waiting_;
  std::map<Ticket, std::uint32_t> mailbox_of_;  // slot
  std::map<Ticket, CommandReply> replies_;
  std::set<Ticket> forgotten_;
  std::vector<std::uint32_t> free_;  // slots that were used before
  std::uint32_t slots_ = 0;
};

}  // namespace rxnic
