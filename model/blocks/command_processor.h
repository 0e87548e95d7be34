// SPDX-License-Identifier: Apache-2.0
// Command processor: the NIC's firmware. Carries out the driver's commands: objects are made, changed, failed and freed
// while packets are in flight. It accesses no block's state: it sends each a request for its part over a link, and the
// block answers when its part is done.
//
//   R1  One command is carried out at a time, in the order in which they were given. A command that is taken in cycle n
//       and needs no block is answered in cycle n + command_cycles (command_ps rounded up, at least 1). Its mailbox is
//       read, and the blocks are asked, from then on. The answer goes to the DMA engine, which writes it to the host.
//   R2  A command is answered when it is done. It waits only for work that is in flight in the NIC, so the wait ends.
//   R3  free_*: after the reply the device touches neither the memory nor the rings of the object. The DMA engine has
//       made the accesses that it was asked for. Packets of a freed QP are dropped, its completions that were not
//       written yet are lost. The driver rings no doorbell of the object once it gives the command; doorbells that are
//       in the NIC are waited for.
//   R4  fail_qp: the QP goes to the error state, and the WQEs of its receive and send queues are flushed. Packets of
//       the QP that passed the transport checker before are carried out.
//   R5  An object that does not exist: no_object, and nothing is done. The driver frees the users of an object first:
//       QPs before their queues, CQs and regions.
//   R6  reset_qp: as after create_qp, queues emptied, nothing in flight. Packets of the QP are dropped from the first
//       step on, and it sends nothing from the requester's step on.
//   R7  resize_cq: CQEs that were not polled (from the consumer index on) are moved in order to the new ring, which
//       software filled with ones. They are numbered from 0 on. The command is refused when they do not fit. They are
//       moved by DMA, a buffer of them at a time, once all CQEs for the old ring have been written.
//   R8  Mailboxes and table entries pass over PCI Express as a client of the DMA engine, no read or write longer than
//       buffer_bytes. A region is registered by its MPT entry alone: no other region's entries leave the caches. While
//       an entry is written the requester, which reads the table by itself, takes it for none.
//   R9  Refused: a receive queue with invalid attributes, a mailbox that is not mapped, a change of a QP that is in the
//       error state. Only reset_qp and free_qp take a QP out of the error state. A CQ whose slots are no power of two
//       is refused, too.
//   R10 kNoRoom: the NIC has no room for it, and nothing has changed. A QP needs one of send_queues and, from when it
//       is ready to receive until its reset, as many responder_resources as its max_dest_rd_atomic. An SRQ needs one of
//       max_srqs, a TM SRQ also one of the tag matcher's lists. A QP of a multicast group needs one of own_addresses, a
//       flow one of flows, and a QP that spreads its frames one of rss_contexts.
//   R11 `windows`: WQEs of send queues that change keys. Such a WQE is taken before the driver's next command and begun
//       at once, without command_cycles. Its answer says that no access by an old key is under way.
//   R12 A region counts the windows that are bound to it, in its MPT entry. To free such a region is refused with
//       in_use, unless the command's value is 1. With 1 the region goes, the reply's number says how many were bound,
//       and their keys allow what they allowed until release_window. A window that a peer has invalidated counts until
//       release_window, its next binding or its end. release_window leaves a window alone that is bound to a region
//       that exists.
//   R13 A copy between host and device memory goes through the buffer, a buffer at a time. A copy that is refused on
//       the way has copied what came before.
//   R14 query_qp: the state is kSqe when the send queue alone has failed (SendQp, R4). `recovers` takes it from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "model/core/memory/translation.h"
#include "model/params/params.h"
#include "model/ports/command_processor_ports.h"
#include "model/types/command.h"
#include "model/types/completion.h"
#include "model/types/mailbox.h"

namespace rxnic {

class CommandProcessor final : public CommandProcessorPorts {
 public:
  CommandProcessor(const sc_core::sc_module_name& name, const CommandProcessorParams& params,
                   std::uint32_t clock_period_ps);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const CommandProcessorCounters& counters() const override { return counters_; }

 private:
  // The step to be taken after this one: when its request is done, or at once when it made none.
  enum class Next : std::uint8_t { kGoesOn, kRepeats };
  using Step = Next (CommandProcessor::*)(Cycle now);
  using Steps = std::span<const Step>;
  static Steps steps_of(CommandKind kind);
  static Steps steps_of(WindowOperation operation);

  bool begin(Cycle now);
  bool reply(Cycle now);

  void take_answers(Cycle now);
  template <class Reply>
  void take_answer(In<Reply>& from, Reply& to, Cycle now);
  void run(Cycle now);

  // The steps of commands. Each makes a request to a block or to memory, or decides that the command ends here.
  // Sends a block a request; the next step waits for its answer. The link has room: only one request is outstanding.
  template <class Asked>
  Next ask(Out<Asked>& whom, const Asked& what, Cycle now) {
    waits_ = true;
    whom.push(now, what);
    ++counters_.steps;
    return Next::kGoesOn;
  }
  void set_status(CommandStatus status);
  Next end(CommandStatus status);
  Next fence(DmaClient client, Cycle now);
  void transfer(DmaKind kind, BusAddress address, std::uint32_t bytes, Cycle now);
  Next read(BusAddress from, std::uint32_t bytes, Cycle now);
  Next write(BusAddress to, std::uint32_t bytes, Cycle now);
  template <class T>
  T mailbox() const {  // in the buffer
    static_assert(sizeof(T) <= kMailboxBytes);
    T value;
    std::memcpy(&value, buffer_.data(), sizeof value);
    return value;
  }

  // command_processor_queues.cpp
  CqCommand cq_command(CqOperation operation) const;
  Next ask_cq(CqOperation operation, Cycle now);
  Next read_cq(Cycle now);
  Next create_cq(Cycle now);
  Next modify_cq(Cycle now);
  Next resize_cq(Cycle now);
  Next close_cq(Cycle now);
  Next fence_cqes(Cycle now);
  Next move_cqes(Cycle now);
  Next destroy_cq(Cycle now);
  Next end_unless_cq(Cycle now);
  WqCommand wq_command(WqOperation operation) const;
  Next read_wq(Cycle now);
  Next create_wq(Cycle now);
  Next create_tag_list(Cycle now);
  Next name_srq(Cycle now);
  Next attach_srq(Cycle now);
  Next give_back_tag_list(Cycle now);
  Next give_back_wq(Cycle now);
  Next end_without_room(Cycle now);
  Next query_wq(Cycle now);
  Next answer_query_wq(Cycle now);
  Next arm_limit(Cycle now);
  Next hide_srq(Cycle now);
  Next close_wq(Cycle now);
  Next wait_for_flushed(Cycle now);
  Next destroy_wq(Cycle now);
  Next destroy_tag_list(Cycle now);
  Next detach_srq(Cycle now);
  Next end_unless_wq(Cycle now);
  // command_processor_regions.cpp
  Next hide(Key key, Cycle now);
  Next read_region(Cycle now);
  Next hide_new_region(Cycle now);
  Next install_region(Cycle now);
  Next read_entry(Cycle now);
  Next hide_region(Cycle now);
  Next clear_entry(Cycle now);
  Next invalidate(Cycle now);
  Next wait_for_users(Cycle now);
  Next wait_for_gathers(Cycle now);
  Next settle_payload(Cycle now);
  Next end_if_bound(Cycle now);
  // command_processor_windows.cpp
  Accessor accessor() const { return {window_.pd, window_.qpn}; }
  WindowBinding binding() const { return {window_.key, window_.va, window_.length, window_.access}; }
  Next write_entry(const MptEntry& entry, Cycle now);
  Next write_count(const MptEntry& region, Cycle now);
  bool is_bound_to(const MptEntry& region) const { return region.valid != 0 && region.key == entry_.bound_to; }
  Next refuse_window();
  Next read_window(Cycle now);
  Next check_window(Cycle now);
  Next write_window(Cycle now);
  Next invalidate_key(Cycle now);
  Next forget_window(Cycle now);
  Next wait_for_packets(Cycle now);
  Next wait_for_responses(Cycle now);
  Next read_bound_region(Cycle now);
  Next release_window(Cycle now);
  Next forget_released(Cycle now);
  Next read_old_region(Cycle now);
  Next uncount_window(Cycle now);
  Next count_window(Cycle now);
  Next read_group(Cycle now);
  Next attach_group(Cycle now);
  Next detach_group(Cycle now);
  Next read_flow(Cycle now);
  Next add_flow(Cycle now);
  Next remove_flow(Cycle now);
  Next count_flow(Cycle now);
  Next write_counts(Cycle now);
  Next read_rss(Cycle now);
  Next add_rss(Cycle now);
  Next remove_rss(Cycle now);
  Next end_unless_added(Cycle now);
  SteeringCommand steer(SteeringOperation operation) const;
  Next copy(BusAddress from, BusAddress to, Cycle now);
  Next copy_to_device(Cycle now);
  Next copy_from_device(Cycle now);
  // command_processor_qps.cpp
  Next ask_context(ContextOperation operation, Cycle now);
  Next ask_qp(QpOperation operation, Cycle now);
  Next ask_send_queue(SendQueueOperation operation, Cycle now);
  SendQueueCommand send_queue_command(SendQueueOperation operation) const;
  Next read_qp(Cycle now);
  Next reserve_qp(Cycle now);
  Next create_send_queue(Cycle now);
  Next give_back_entries(Cycle now);
  Next store_qp(Cycle now);
  Next bring_qp(Cycle now);
  Next release_qp(Cycle now);
  Next end_unless_qp(Cycle now);
  Next query_qp(Cycle now);
  Next query_send_queue(Cycle now);
  Next answer_query_qp(Cycle now);
  Next modify_qp(Cycle now);
  Next modify_send_queue(Cycle now);
  Next fail_qp(Cycle now);
  Next fail_send_queue(Cycle now);
  Next read_silenced(Cycle now);
  Next silence(Cycle now);
  Next stop_qp(Cycle now);
  Next stop_receiving(Cycle now);
  Next reset_send_queue(Cycle now);
  Next fence_send_wqes(Cycle now);
  Next fence_payload(Cycle now);
  Next settle_qp(Cycle now);
  Next reset_receive_queue(Cycle now);
  Next settle_cqes(Cycle now);
  Next forget_qp(Cycle now);
  Next renew_qp(Cycle now);
  Next destroy_send_queue(Cycle now);
  Next clear_qp(Cycle now);
  Next drop_qp(Cycle now);

  const CommandProcessorParams params_;
  const std::uint64_t command_cycles_;
  bool carries_out_ = false;  // a command
  bool waits_ = false;        // for a block or for memory
  bool reads_ = false;        // it waits for memory
  Cycle due_{};               // when the command's steps begin (R1)
  bool of_window_ = false;    // `window_` is carried out, not `command_`
  DriverCommand command_;
  WindowRequest window_;
  CommandReply reply_;  // to either
  Steps steps_;
  std::size_t next_step_ = 0;
  bool ends_ = false;  // with reply_
  std::vector<std::uint8_t> buffer_;
  BusAddress new_ring_{};        // of the CQ that is being resized
  MptEntry entry_;               // of the region that is being freed, or of the window
  MptEntry region_entry_;        // of the region that the window is bound to
  bool was_bound_ = false;       // the window, or what is invalidated, allowed something
  std::uint32_t listed_ = 0;     // elements of a list (CQEs, numbers of QPs) that are done
  std::uint32_t in_buffer_ = 0;  // elements behind them that the buffer holds
  // The last answers.
  CqReply cq_;
  RegionReply region_;
  WqReply wq_;
  ContextReply context_;
  ContextReply place_;  // of the QP at hand: the answer to bring or stop
  QpReply qp_;
  SendQueueReply send_queue_;
  StepDone done_;
  SteeringReply steering_;
  DmaCompletion memory_;
  CommandProcessorCounters counters_;
};

}  // namespace rxnic
