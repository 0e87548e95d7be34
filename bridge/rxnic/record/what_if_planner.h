// SPDX-License-Identifier: Apache-2.0
// Makes the plan of a what-if (what_if_plan.h) while a recorded run is repeated: between the repeated run and the log.
//
//   R1  An input is registered when it is taken: what the device has given until then, in this cycle too, is before it.
//   R2  A read may find another byte than the device knew of, or a byte that it did not know of. Then the program has
//       written this byte since the last access. The byte changes with the first post since then that hands it to the
//       device (posted_memory.h). When no post does so, the byte changes with the last input before the read, and is
//       counted.
//   R3  Device writes are not recorded as changes, since the what-if repeats them. Only with keep_data (the open loop)
//       posts do not wait for device writes. What a SEND, WRITE or READ reads of them then comes with the first such
//       post.
//   R4  A consumer index ahead of the CQEs that were visible is that of a program which found CQEs in its memory
//       before. It waits for as many bytes of CQEs as had been written. When the what-if may write them otherwise,
//       compressed, it waits for the CQEs that were visible alone.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bridge/rxnic/record/posted_memory.h"
#include "bridge/rxnic/record/program_image.h"
#include "bridge/rxnic/record/what_if_plan.h"

namespace rxnic {

class WhatIfPlanner {
 public:
  // single_cqes: each CQE is written by itself, in the what-if, too.
  WhatIfPlanner(std::uint32_t nics, NicAddresses addresses, bool linked_lists, bool keep_data, bool single_cqes = true)
      : keep_data_(keep_data),
        single_cqes_(single_cqes),
        posted_(image_, plan_.sessions, nics, addresses, linked_lists) {}
  WhatIfPlanner(const WhatIfPlanner&) = delete;

  void input(Cycle now, const ProgramEvent& event);
  void opened(Cycle now, ClientId client, std::int32_t status);
  void replied(Cycle now, ClientId client, const channel::Message& message);
  void released(Cycle now) { output(DeviceOutputs::kReplies, 1, now); }
  void completed(Cycle now, ClientId client, Cqn cq, std::uint32_t count);
  void notified(Cycle now, ClientId client);
  void read(ClientId client, std::uint64_t address, std::span<const std::uint8_t> data, bool ok, bool gone = false);
  void written(Cycle now, ClientId client, std::uint64_t address, std::span<const std::uint8_t> data, bool ok);
  // The run ended in this cycle.
  WhatIfPlan finish(Cycle end);
  const ProgramImage& image() const { return image_; }

 private:
  struct Line {  // of the inputs of one program, or of all control inputs
    std::vector<std::uint32_t> risen;
    Cycle last{};  // of the outputs that it waits for
  };
  struct Found {
    MemoryChange change;
    std::uint32_t after = 0, last = 0;  // inputs
    bool by_device = false;
  };
  void output(std::uint32_t source, std::uint64_t count, Cycle now);
  void add_poll(std::uint32_t cq, Line& line, PlannedInput& input);
  void take_risen(Line& line, bool control, PlannedInput& input);
  std::uint32_t inputs() const { return static_cast<std::uint32_t>(plan_.inputs.size()); }
  std::uint32_t session_of(ClientId client) const;
  bool accessed(std::uint32_t space, std::uint64_t address, std::uint64_t bytes, bool write, bool ok);
  void add_found(Found& found);

  const bool keep_data_, single_cqes_;
  WhatIfPlan plan_;
  ProgramImage image_;
  PostedMemory posted_;
  std::map<ClientId, std::uint32_t> current_;      // the session of a client
  std::map<std::uint32_t, std::uint32_t> by_pid_;  // programs
  std::vector<Line> lines_;                        // by program
  Line control_;
  struct Risen {
    bool of_program = false, of_control = false;
  };
  std::vector<Risen> risen_;  // by source: whether it is in the lists of its lines
  Cycle last_reply_{};
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> cqs_;  // sources, by session and doorbell record
  std::vector<Found> found_;
  std::vector<std::size_t> open_failed_;  // of plan_.failed
  std::vector<std::uint64_t> asked_;      // bytes of own memory so far, by session
};

// A Programs and a ProgramMemory that pass everything on, and to the planner.
class PlanningPrograms final : public Programs {
 public:
  PlanningPrograms(Programs& programs, WhatIfPlanner& planner, std::function<Cycle()> now)
      : programs_(programs), planner_(planner), now_(std::move(now)) {}
  bool take(Cycle now, ProgramEvent& event) override;
  void opened(ClientId client, std::int32_t status, const channel::DeviceAttributes& attributes) override;
  void reply(ClientId client, const channel::Message& message) override;
  void completed(ClientId client, Cqn cq, std::uint32_t count) override;
  void notify(ClientId client, std::uint32_t channel, const channel::EventRecord& event) override;
  void discard_events(ClientId client, channel::Request frees, std::uint32_t number) override {
    programs_.discard_events(client, frees, number);
  }
  void released(ClientId client) override;
  Cycle wait(Cycle now, Cycle due) override { return programs_.wait(now, due); }
  Cycle next_look(Cycle now) override { return programs_.next_look(now); }
  Cycle sooner(Cycle look) override { return programs_.sooner(look); }

 private:
  Programs& programs_;
  WhatIfPlanner& planner_;
  std::function<Cycle()> now_;
};

class PlanningMemory final : public ProgramMemory {
 public:
  PlanningMemory(ProgramMemory& memory, WhatIfPlanner& planner, std::function<Cycle()> now)
      : memory_(memory), planner_(planner), now_(std::move(now)) {}
  bool read(ClientId client, std::uint64_t address, std::span<std::uint8_t> to) override;
  bool write(ClientId client, std::uint64_t address, std::span<const std::uint8_t> from) override;
  bool exists(ClientId client) override { return memory_.exists(client); }

 private:
  ProgramMemory& memory_;
  WhatIfPlanner& planner_;
  std::function<Cycle()> now_;
};

}  // namespace rxnic
