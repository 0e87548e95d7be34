// SPDX-License-Identifier: Apache-2.0
// Statistics of a live run while it goes on: which program opened which NIC, and how long completions took. Passes
// every notification on to another observer.
//
//   R1  A program is a name and a NIC. Names are chosen by programs: those after the first 256 programs are counted
//       together, as "(others)", for each NIC.
#pragma once

#include <deque>
#include <string_view>
#include <vector>

#include "bridge/driver/programs_bridge.h"
#include "model/system/latencies.h"
#include "model/system/run_result.h"

namespace rxnic {

class LiveStatistics final : public ProgramObserver {
 public:
  LiveStatistics(std::uint32_t nics, std::uint64_t period_ps, ProgramObserver* next) : next_(next) {
    for (std::uint32_t n = 0; n < nics; ++n) latencies_.emplace_back(period_ps, Latencies::Reads::kReceived);
  }

  void on_event(Cycle now, const ProgramEvent& event) override;
  void on_read(Cycle now, ClientId client, std::uint64_t address, Bytes data, bool ok, bool gone) override;
  void on_write(Cycle now, ClientId client, std::uint64_t address, Bytes data, bool ok) override;
  void on_visible(Cycle now, std::uint32_t nic, Cqn cq, WcStatus status, const MessageTimes& times) override;
  void on_matched(Cycle now, std::uint32_t nic, WcStatus status, const MessageTimes& times) override;

  const std::vector<ProgramResult>& programs() const { return programs_; }
  Latencies& latencies(std::uint32_t nic) { return latencies_[nic]; }
  const Latencies& latencies(std::uint32_t nic) const { return latencies_[nic]; }
  std::uint64_t clients() const { return clients_; }

 private:
  void count_program(std::string_view name, std::uint32_t nic);

  ProgramObserver* next_;
  std::vector<ProgramResult> programs_;
  std::deque<Latencies> latencies_;  // by NIC
  std::uint64_t clients_ = 0;        // now
};

}  // namespace rxnic
