// SPDX-License-Identifier: Apache-2.0
// Notified of everything that determines a run, and of completions: for recording, reports and the status line. Nothing
// in the model depends on it.
#pragma once

#include "bridge/driver/programs.h"
#include "model/types/completion_codes.h"
#include "model/types/message_times.h"

namespace rxnic {

class ProgramObserver {
 public:
  virtual ~ProgramObserver() = default;
  virtual void on_event(Cycle now, const ProgramEvent& event) { (void)now, (void)event; }
  // gone: it was not ok because the program has ended.
  virtual void on_read(Cycle now, ClientId client, std::uint64_t address, std::span<const std::uint8_t> data, bool ok,
                       bool gone) {
    (void)now, (void)client, (void)address, (void)data, (void)ok, (void)gone;
  }
  virtual void on_write(Cycle now, ClientId client, std::uint64_t address, std::span<const std::uint8_t> data,
                        bool ok) {
    (void)now, (void)client, (void)address, (void)data, (void)ok;
  }
  // A receive completion has become visible.
  virtual void on_visible(Cycle now, std::uint32_t nic, Cqn cq, WcStatus status, const MessageTimes& times) {
    (void)now, (void)nic, (void)cq, (void)status, (void)times;
  }
  // A completion has become visible that says that a message has matched a tag; that of its data is still to come.
  virtual void on_matched(Cycle now, std::uint32_t nic, WcStatus status, const MessageTimes& times) {
    (void)now, (void)nic, (void)status, (void)times;
  }
};

}  // namespace rxnic
