// SPDX-License-Identifier: Apache-2.0
// Gives the inputs of a plan (what_if_plan.h) to a device in the place of its programs, and the memory that comes with
// them.
//
//   R1  Closed loop: an input is issued once every output that it waited for in the record has recurred, after the
//       recorded delay. It is never issued before the inputs that it stays behind.
//   R2  Open loop: a post waits for the replies to control messages alone, so long after the last one as in the record.
//       So without control messages between them posts keep their recorded times. A poll waits for its CQ's CQEs
//       besides, and not for posts. Control inputs are those of the closed loop. When nothing is going on in the model
//       any more they are given although something is missing, and the polls before them are left out.
//   R3  Delays are times: with another clock they are rounded up to its cycles. Inputs of one cycle are given in the
//       order of the record.
//   R4  The run ends with the plan's last input. The run may end with a difference that names an input and what it
//       waits for. One such difference: nothing is going on any more and an input still waits. Another: nothing came
//       for kPatiencePs and no input is due. A third: a reply has another status or allocates another number, so that
//       the recorded program would have gone another way.
//   R5  A byte that the record does not hold is read as 0, and counted.
//   R6  A program may have ended before its QPs were freed. Its memory is gone once the device has asked for as many
//       bytes of it as in the record.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bridge/rxnic/record/program_image.h"
#include "bridge/rxnic/record/recorded_programs.h"
#include "bridge/rxnic/record/what_if_plan.h"

namespace rxnic {

enum class Loop : std::uint8_t { kClosed, kOpen };

// The memory of the programs of a plan.
class PlannedMemory final : public ProgramMemory {
 public:
  explicit PlannedMemory(const WhatIfPlan& plan) : plan_(plan), asked_(plan.sessions.size()) {}
  bool read(ClientId client, std::uint64_t address, std::span<std::uint8_t> to) override;
  bool write(ClientId client, std::uint64_t address, std::span<const std::uint8_t> from) override;
  bool exists(ClientId client) override;

  // The input of this number is given: its memory changes, and from now on the client is this session.
  void begin(std::uint32_t number);
  // What writes to programs' memory are added to.
  void count_in(DeviceOutputs* outputs, ReplayState* state) {
    outputs_ = outputs;
    state_ = state;
  }
  const ProgramImage& image() const { return image_; }
  std::uint64_t unknown_bytes() const { return unknown_; }
  // Whether anything was counted since the last call.
  bool take_written() { return std::exchange(written_, false); }

 private:
  bool fails(std::uint32_t space, std::uint64_t address, std::uint64_t bytes, bool write) const;

  struct Asked {
    std::uint64_t bytes = 0;
    bool lost = false;  // by its last read
  };

  const WhatIfPlan& plan_;
  std::vector<Asked> asked_;  // of own memory, by session (R6)
  ProgramImage image_;
  std::map<ClientId, std::uint32_t> current_;  // sessions
  std::uint32_t given_ = 0;                    // inputs
  std::uint64_t unknown_ = 0;
  DeviceOutputs* outputs_ = nullptr;
  ReplayState* state_ = nullptr;
  bool written_ = false;
};

class WhatIfPrograms final : public Programs {
 public:
  static constexpr std::uint64_t kPatiencePs = 10'000'000'000'000;  // 10 s

  struct Clock {
    std::uint64_t recorded_ps = 1, here_ps = 1;  // periods
  };
  WhatIfPrograms(const WhatIfPlan& plan, Loop loop, Clock clock, PlannedMemory& memory, ReplayState& state);

  bool take(Cycle now, ProgramEvent& event) override;
  void opened(ClientId client, std::int32_t status, const channel::DeviceAttributes& attributes) override;
  void reply(ClientId client, const channel::Message& message) override;
  void completed(ClientId client, Cqn cq, std::uint32_t count) override;
  void notify(ClientId client, std::uint32_t channel, const channel::EventRecord& event) override;
  void released(ClientId client) override;
  Cycle wait(Cycle now, Cycle due) override;
  Cycle next_look(Cycle now) override;
  Cycle sooner(Cycle look) override;

  std::uint64_t given() const { return given_; }        // inputs
  std::uint64_t given_up() const { return given_up_; }  // of them although something was missing (R2)
  std::uint64_t left_out() const { return left_out_; }  // polls (R2)

 private:
  struct Head {  // the next input of a program
    std::uint32_t number = 0;
    Cycle due = kNever;
    Cycle ready{};           // when what it waits for had come
    bool missing = false;    // something has not come
    bool only_data = false;  // nothing but data, of which no notice is given
  };
  struct Line {
    std::uint32_t program = 0;
    bool polls = false;                 // open loop: those of one CQ
    std::vector<std::uint32_t> inputs;  // numbers, in order
    std::size_t next = 0;
    Cycle ready{}, given{};
  };
  const PlannedInput& input(std::uint32_t number) const { return plan_.inputs[number - 1]; }
  static bool is_control(const PlannedInput& in) {
    return in.kind == PlannedInput::Kind::kControl || in.kind == PlannedInput::Kind::kEnd;
  }
  std::uint64_t cycles(std::uint64_t recorded) const;
  void look_at_heads();
  Head head_of(const Line& line) const;
  void weigh(const PlannedInput& in, Cycle from, Head& head) const;
  bool is_behind_polls(std::uint32_t program, std::uint32_t number) const;
  void leave_out_polls(std::uint32_t program, std::uint32_t number);
  void give(std::size_t line, Cycle now, ProgramEvent& event);
  void output(std::uint32_t source, std::uint64_t count);
  void compare(ClientId client, const RecordedReply& reply);
  bool stalls(Cycle now);
  std::string story() const;

  const WhatIfPlan& plan_;
  const Loop loop_;
  const Clock clock_;
  const std::uint64_t patience_;  // cycles
  PlannedMemory& memory_;
  ReplayState& state_;
  DeviceOutputs outputs_;
  std::vector<Line> lines_;  // by program; that of the end of the run; in the open loop those of polls
  std::vector<std::uint32_t> controls_;
  std::size_t next_control_ = 0;
  Cycle control_ready_{}, control_given_{};
  std::vector<Head> heads_;  // of the lines, while !stale_
  bool stale_ = true;
  Cycle next_ = kNever;      // the earliest of them
  bool watch_data_ = false;  // one of them waits for data alone
  bool idle_ = false;        // open loop: the next control input is given whatever is missing
  Cycle last_activity_{};
  std::vector<std::size_t> replies_;           // by session
  std::map<ClientId, std::uint32_t> current_;  // sessions
  std::uint64_t given_ = 0, given_up_ = 0, left_out_ = 0;
  bool ended_ = false;
};

}  // namespace rxnic
