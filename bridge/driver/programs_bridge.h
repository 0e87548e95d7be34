// SPDX-License-Identifier: Apache-2.0
// The programs' side of the simulation as a block. The block takes requests from a Programs, carries them out on the
// NICs, and notifies the programs of completions and events.
//
//   R1  It is the engine's outside block (engine.h R7): stepped after all others, so that it sees whether any other
//       block has something to do.
//   R2  A doorbell reaches its NIC doorbell_latency after the event was taken; in order for each board.
//   R3  A request is begun in the cycle in which it was taken. While it waits the requests of its client behind it
//       wait, too; doorbells do not. It goes on in the cycle in which the NIC's reply to its command is taken
//       (CommandResult::kGiven), or is tried again every kRetryCycles (kBusy).
//   R4  When nothing is due for longer than `timer_gap`, what is due is a timer, which passes no faster than wall time
//       (Programs::wait). This holds while nothing is on a wire, and no NIC carries out a command or waits for a page.
//   R5  The events and their cycles, and the data that DMA reads from programs, determine every result: a run can be
//       repeated from them exactly.
//   R6  The objects of a client that is gone are freed, once the command that its request waits for is done. The QPs
//       that were connected to its QPs find out as with hardware: what they send is not acknowledged (retry exceeded).
//   R7  The observer is notified of each receive completion in the cycle in which its write has landed. Compressed or
//       not, a completion comes with the times of its own message.
//   R8  An exception that escapes from a client's request, or from its end, ends that client (programs.h R3).
//   R9  The events of an object that a program has freed go with it, before the reply to that request.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "bridge/driver/driver.h"
#include "bridge/driver/program_observer.h"
#include "bridge/driver/programs.h"
#include "model/blocks/written_completions.h"
#include "model/engine/engine.h"
#include "model/nic/fabric.h"
#include "model/nic/nic.h"

namespace rxnic {

struct ProgramsBridgeCounters {
  std::uint64_t events = 0;       // taken from the programs
  std::uint64_t requests = 0;     // carried out, refused ones too
  std::uint64_t refused = 0;      // of them with an errno
  std::uint64_t retries = 0;      // times that a request was tried again
  std::uint64_t doorbells = 0;    // taken from the programs
  std::uint64_t completions = 0;  // CQEs that became visible
  std::uint64_t notices = 0;      // events sent to programs
  std::uint64_t opened = 0;       // clients
  std::uint64_t closed = 0;       // of them gone and cleaned up after
  std::uint64_t failed = 0;       // of them ended by a fault of the simulator (R8)
};

class ProgramsBridge final : public Block {
 public:
  static constexpr std::uint64_t kRetryCycles = 64;

  struct Attachment {
    Nic& nic;  // with a requester
    HostMemory& memory;
  };
  // The NICs in order, each attached to the fabric with port_address(n, addresses). The bridge adds itself to the
  // engine: it is to be built last.
  ProgramsBridge(const sc_core::sc_module_name& name, const Params& params, Engine& engine, const Fabric& fabric,
                 const std::vector<Attachment>& nics, Programs& programs, ProgramObserver* observer = nullptr,
                 NicAddresses addresses = {});
  ~ProgramsBridge() override;
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const ProgramsBridgeCounters& counters() const { return counters_; }

  std::uint32_t clients() const { return static_cast<std::uint32_t>(clients_.size()); }
  const Driver& driver(std::uint32_t nic) const;
  WrittenCompletions& written(std::uint32_t nic);
  std::size_t not_landed(std::uint32_t nic) const;  // completions that were written and are not visible yet

 private:
  struct Port;  // one NIC's links and its driver
  struct Client {
    std::uint32_t nic = 0;
    std::deque<Command> requests;  // the first one is being carried out
    Cycle retry = kNever;          // when it is tried again
    bool awaits_reply = false;     // of its NIC; then it is tried again
    bool closing = false;
  };
  using Clients = std::map<ClientId, Client>;

  bool report_completions(Port& port, Cycle now);
  bool report_events(Port& port, Cycle now);
  bool take_replies(Cycle now);
  void notify(const Driver::Notice& notice);
  bool retry(Cycle now);
  bool take_events(Cycle now);
  void take(const ProgramEvent& event, Cycle now);
  void open(const ProgramEvent& event);
  bool advance(ClientId id, Client& client, Cycle now);
  bool go_on(ClientId id, Client& client, Cycle now);
  bool deliver_doorbells(Cycle now);
  bool commands_in_progress() const;
  // A notice, an event or a reply came in this cycle: it is seen in the next one.
  bool arrives() const {
    return (landed_ | receive_events_ | completion_events_ | send_events_ | page_requests_ | replies_) != 0;
  }
  Cycle next_own(Cycle now) const;

  Engine& engine_;
  const Fabric& fabric_;
  Programs& programs_;
  ProgramObserver* observer_;
  const std::uint64_t doorbell_cycles_, timer_gap_cycles_;
  std::vector<std::unique_ptr<Port>> nics_;
  // One bit per NIC: its link of notices, events or replies is not empty; it has doorbells or commands on their way.
  // Other NICs are skipped.
  std::uint64_t landed_ = 0, receive_events_ = 0, completion_events_ = 0, send_events_ = 0, page_requests_ = 0;
  std::uint64_t replies_ = 0, ringing_ = 0;
  Clients clients_;
  Cycle look_{};               // when to look for events
  Cycle next_retry_ = kNever;  // of all clients
  ProgramEvent event_;
  ProgramsBridgeCounters counters_;
};

}  // namespace rxnic
