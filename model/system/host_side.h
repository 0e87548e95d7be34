// SPDX-License-Identifier: Apache-2.0
// A NIC's host for a program that embeds the model: doorbells and commands to the NIC, notices of completions, events
// and replies from it. Memory is the HostMemory that the NIC was given.
//
//   R1  Doorbells, tag operations and commands reach the NIC in the order of the calls, as there is room for them.
//   R2  Objects that exist before the first cycle are made with `setup`, in no time; later ones by commands.
//   R3  Handlers are called within a cycle of the model: they may call anything here, and must not wait. What is called
//       within a cycle goes to the NIC in the next one at the earliest, whoever is stepped first.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>

#include "model/engine/link.h"
#include "model/nic/command_queue.h"
#include "model/nic/host_ports.h"
#include "model/nic/nic.h"
#include "model/nic/nic_setup.h"
#include "model/system/handler.h"

namespace rxnic {

class HostSide final : public Block, public DriverPorts {
 public:
  using CompletionHandler = std::function<void(const HostNotice& landed)>;
  using EventHandler = std::function<void(const Event& event)>;
  using ReplyHandler = std::function<void(const CommandReply& reply)>;

  HostSide(const sc_core::sc_module_name& name, HostMemory& memory, Nic& nic);

  NicSetup setup;        // (R2)
  CommandQueue command;  // gives tickets, for give()

  // False: a send doorbell of a NIC without requester, or a number that is no kind.
  bool has(DoorbellKind kind) const;
  // A posted write to the doorbell page. Throws std::invalid_argument: the NIC does not have this doorbell.
  void ring(const Doorbell& doorbell);
  void operate(const TagOperation& operation);
  // Sends the command of this ticket; `then` gets its reply. Throws std::invalid_argument: no command has this ticket,
  // or its reply has been given.
  void give(Ticket ticket, ReplyHandler then = {});
  // CQEs of a CQ have become visible in host memory.
  void on_completion(CompletionHandler handler) { completion_.set(std::move(handler)); }
  // An SRQ's limit, a CQ's or a QP's event, a page request.
  void on_event(EventHandler handler) { event_.set(std::move(handler)); }

  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override { h.mix(completions_), h.mix(events_); }
  std::uint64_t completions() const { return completions_; }
  std::uint64_t events() const { return events_; }

 private:
  Out<Doorbell>& board_of(DoorbellKind kind);

  const bool sends_;
  template <class T>
  struct Called {
    T what;
    Cycle from;  // (R3)
  };
  Handler<const HostNotice&> completion_;
  Handler<const Event&> event_;
  std::deque<Called<Doorbell>> doorbells_;
  std::deque<Called<TagOperation>> operations_;
  Called<Ticket> first_new_{~Ticket{0}, {}};  // of the commands: the first one that was given in a cycle
  std::map<Ticket, ReplyHandler> given_;
  std::uint64_t completions_ = 0, events_ = 0;
};

}  // namespace rxnic
