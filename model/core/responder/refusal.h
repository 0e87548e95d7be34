// SPDX-License-Identifier: Apache-2.0
// What happens to a QP, and to the packets behind, when a block finds that a packet cannot be carried out.
//
// The path is in order within a QP. So a block that refuses a packet records that, by QP, and refuses the packets that
// follow. It reports the refusal to the transport checker, which owns the QP's state. No other block is involved.
//
//   R1  A packet that fails on RC moves its QP to the error state. Packets behind it are squashed by the block that
//       refused it, also those that have failed before; packets ahead of it complete.
//   R2  RNR: the transport checker goes back to the packet and begins a new epoch. Packets of the old epoch are
//       squashed, and an error state that one of them caused in the checker is taken back. The QP stays usable and is
//       silent until the packet's PSN comes again (rules 6).
//   R3  UC, UD: only the rest of the packet's message is dropped.
//   R4  A squashed packet completes and answers nothing. Its WQE, when it has one, is flushed with the last packet that
//       uses it (blocks/cqe_generator.h, R8).
//   R5  Answers to our own requests are not squashed by failures on the responder's side. When one fails, no NAK is
//       sent: its request completes in error. Answers behind it write nothing, and completions behind it are flushed.
//       The requester completes the other requests.
//   R6  The record of a QP is cleared when its context leaves the chip or is reset: none of its packets is in flight
//       then.
#pragma once

#include <vector>

#include "model/types/context.h"
#include "model/types/receive_path.h"
#include "model/types/refusal.h"

namespace rxnic {

// The packets that one block refuses, by QP. Refusals that are to be reported wait in `reports`.
class Refusals {
 public:
  // To be called first for each packet that a block takes. A packet behind one that was refused here is squashed, or
  // its answer is abandoned. Returns whether this was so.
  bool squash_when_behind(PathPacket& p) { return !records_.empty() && p.line != kNoLine && squash_behind(p); }
  bool refuses(const PathPacket& p) const {  // it is a request that squash_when_behind() would squash
    return !records_.empty() && refuses_some(p);
  }
  bool gives_up(const PathPacket& p) const {  // it completes a request of ours that squash_when_behind() would give up
    return !records_.empty() && gives_up_some(p);
  }

  // RC, XRC and local errors of any transport: QP to the error state. The packet is answered with `syndrome` (RC, XRC)
  // and, when it holds a WQE, completes it with `status`.
  void fail_qp(PathPacket& p, DropReason reason, std::uint8_t syndrome, WcStatus status);
  // UC, UD: the message is abandoned.
  void fail_message(PathPacket& p, DropReason reason);
  // No receive WQE, or no room for it: RNR NAK with the timer code on RC and XRC, a drop on UC and UD.
  void fail_rnr(PathPacket& p, std::uint8_t timer, DropReason reason = DropReason::kNoReceiveWqe);
  // The QP fails for another reason than a packet at hand: requests are refused from now on.
  void fail_requests(std::uint32_t line, std::uint32_t residence);
  // As fail_requests(), but without a report, when the transport checker knows of the failure.
  void refuse_requests(std::uint32_t line, std::uint32_t residence) { record(line, residence).requests = true; }

  // Sends what is to be reported; `port` is an Out<Refusal>, which may be unbound: then nobody wants to know.
  template <class Port>
  void report(Port& port, Cycle now) {
    for (const Refusal& r : reports_) {
      if (port.bound()) port.push(now, r);
    }
    reports_.clear();
  }

 private:
  struct Record {
    std::uint32_t residence = 0;  // of the context that it is about
    std::uint32_t message = 0;    // refused (R3), 0: none
    std::uint32_t request = 0;    // of ours that failed (R5)
    std::uint16_t epoch = 0;      // refused (R2), when has_epoch
    bool has_epoch = false;
    bool requests = false;  // all are refused (R1)
    bool answers = false;   // and what completes requests of ours (R5)
  };
  // What these do when something has been refused here.
  bool squash_behind(PathPacket& p);
  bool refuses_some(const PathPacket& p) const;
  bool gives_up_some(const PathPacket& p) const;
  Record& record(std::uint32_t line, std::uint32_t residence);
  const Record* find(const PathPacket& p) const;  // nullptr: nothing is refused

  std::vector<Record> records_;  // by line of the context cache
  Record without_line_;          // of packets for no QP in the cache: nobody asks for it
  std::vector<Refusal> reports_;
};

void squash(PathPacket& p);
// Marks the packet alone as failed, as fail_qp() does, without an effect on the QP.
void mark_failed(PathPacket& p, DropReason reason, std::uint8_t syndrome, WcStatus status);

}  // namespace rxnic
