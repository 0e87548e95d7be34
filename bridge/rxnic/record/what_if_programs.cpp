// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/record/what_if_programs.h"

#include <fmt/format.h>

#include <algorithm>

#include "bridge/rxnic/record/message_fields.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kLookCycles = 64;  // between two looks while no input is due

}  // namespace

void PlannedMemory::begin(std::uint32_t number) {
  const PlannedInput& in = plan_.inputs[number - 1];
  given_ = number;
  if (in.kind == PlannedInput::Kind::kControl && in.control->kind == ProgramEvent::Kind::kOpen) {
    current_[in.control->client] = in.session;
  }
  for (const MemoryChange& change : in.changes) image_.put(change.space, change.address, change.bytes, 1);
}

bool PlannedMemory::fails(std::uint32_t space, std::uint64_t address, std::uint64_t bytes, bool write) const {
  return std::any_of(plan_.failed.begin(), plan_.failed.end(), [&](const FailedRange& range) {
    return range.space == space && range.write == write && range.begin < address + bytes && address < range.end &&
           range.since <= given_ && given_ <= range.until;
  });
}

bool PlannedMemory::read(ClientId client, std::uint64_t address, std::span<std::uint8_t> to) {
  const auto session = current_.find(client);
  if (session == current_.end()) return false;
  const ProgramSession& s = plan_.sessions[session->second];
  const std::uint32_t space = space_of(s, session->second, address);
  if (is_own_memory(space)) {  // (R6)
    Asked& asked = asked_[session->second];
    asked.lost = asked.bytes >= s.lost_after;
    asked.bytes += to.size();
    if (asked.lost) return false;
  }
  if (fails(space, address, to.size(), false)) return false;
  unknown_ += image_.get(space, address, to);
  return true;
}

bool PlannedMemory::exists(ClientId client) {
  const auto session = current_.find(client);
  return session == current_.end() || !asked_[session->second].lost;
}

bool PlannedMemory::write(ClientId client, std::uint64_t address, std::span<const std::uint8_t> from) {
  const auto session = current_.find(client);
  if (session == current_.end()) return false;
  const ProgramSession& s = plan_.sessions[session->second];
  const std::uint32_t space = space_of(s, session->second, address);
  if (fails(space, address, from.size(), true)) return false;
  image_.put(space, address, from, 1);
  if (outputs_ != nullptr && !from.empty()) {
    const OutputKind kind = address < kShared ? OutputKind::kData : OutputKind::kRings;
    outputs_->add(outputs_->number_of({kind, s.program, 0, 0}), from.size(), state_->now());
    written_ = true;
  }
  return true;
}

WhatIfPrograms::WhatIfPrograms(const WhatIfPlan& plan, Loop loop, Clock clock, PlannedMemory& memory,
                               ReplayState& state)
    : plan_(plan),
      loop_(loop),
      clock_(clock),
      patience_(kPatiencePs / clock.here_ps),
      memory_(memory),
      state_(state),
      outputs_(plan.outputs.without_counts()),
      lines_(plan.programs.size() + 1),
      replies_(plan.sessions.size()) {
  memory_.count_in(&outputs_, &state_);
  const auto programs = static_cast<std::uint32_t>(plan.programs.size());
  for (std::uint32_t program = 0; program <= programs; ++program) lines_[program].program = program;
  std::map<std::uint32_t, std::size_t> polls;  // lines, by source
  for (std::uint32_t number = 1; number <= plan.inputs.size(); ++number) {
    const PlannedInput& in = input(number);
    const bool end = in.kind == PlannedInput::Kind::kEnd;
    const std::uint32_t program = end ? programs : plan.sessions[in.session].program;
    if (is_control(in)) controls_.push_back(number);
    if (loop == Loop::kClosed || in.kind != PlannedInput::Kind::kPoll) {
      lines_[program].inputs.push_back(number);
      continue;
    }
    const auto [line, added] = polls.try_emplace(in.cq, lines_.size());
    if (added) lines_.push_back({program, true, {}, 0, {}, {}});
    lines_[line->second].inputs.push_back(number);
  }
}

// (R3)
std::uint64_t WhatIfPrograms::cycles(std::uint64_t recorded) const {
  if (clock_.recorded_ps == clock_.here_ps) return recorded;
  return (recorded * clock_.recorded_ps + clock_.here_ps - 1) / clock_.here_ps;
}

// (R1, R2) `from`: when what the input before waited for had come.
void WhatIfPrograms::weigh(const PlannedInput& in, Cycle from, Head& head) const {
  const bool open_doorbell = loop_ == Loop::kOpen && !is_control(in);
  const bool polls = open_doorbell && in.kind == PlannedInput::Kind::kPoll;
  const bool give_up = idle_ && is_control(in);
  head.ready = open_doorbell ? Cycle{} : from;
  std::size_t missing = 0, data = 0;
  const auto wait_for = [&](std::uint32_t source, std::uint64_t count) {
    const auto at = outputs_.reached(source, count);
    missing += at ? 0 : 1;
    const OutputKind kind = outputs_.source(source).kind;
    data += !at && (kind == OutputKind::kData || kind == OutputKind::kRings) ? 1 : 0;
    return at.value_or(Cycle{});
  };
  const Cycle replied = wait_for(DeviceOutputs::kReplies, in.replies);
  if (!polls) head.ready = latest(head.ready, replied);
  if (polls) head.ready = wait_for(in.polled.source, in.polled.count);
  if (!open_doorbell) {
    for (const AwaitedCount& awaited : in.awaited) {
      head.ready = latest(head.ready, wait_for(awaited.source, awaited.count));
    }
  }
  head.missing = missing != 0;
  if (head.missing && !give_up) {
    head.only_data = missing == data;
    return;
  }
  head.due = head.ready + cycles(polls ? in.after_cqe : open_doorbell ? in.after_reply : in.after_output);
  if (polls) head.due = latest(head.due, replied);
}

bool WhatIfPrograms::is_behind_polls(std::uint32_t program, std::uint32_t number) const {
  return std::any_of(lines_.begin(), lines_.end(), [&](const Line& line) {
    const bool counts = line.program == program || program == plan_.programs.size();  // the end is behind all
    return line.polls && counts && line.next < line.inputs.size() && line.inputs[line.next] < number;
  });
}

void WhatIfPrograms::leave_out_polls(std::uint32_t program, std::uint32_t number) {
  for (Line& line : lines_) {
    if (!line.polls || line.program != program) continue;
    for (; line.next < line.inputs.size() && line.inputs[line.next] < number; ++line.next) ++left_out_;
  }
}

WhatIfPrograms::Head WhatIfPrograms::head_of(const Line& line) const {
  Head head;
  if (line.next == line.inputs.size()) return head;
  head.number = line.inputs[line.next];
  const PlannedInput& in = input(head.number);
  if (!is_control(in)) {
    weigh(in, line.ready, head);
    if (head.due != kNever) head.due = latest(head.due, line.given);
  } else if (controls_[next_control_] == head.number && (idle_ || !is_behind_polls(line.program, head.number))) {
    weigh(in, control_ready_, head);
    if (head.due != kNever) head.due = latest(head.due, latest(line.given, control_given_));
  }
  return head;
}

void WhatIfPrograms::look_at_heads() {
  if (!memory_.take_written() && !stale_) return;
  stale_ = false;
  next_ = kNever;
  watch_data_ = false;
  heads_.clear();
  for (const Line& line : lines_) {
    const Head& head = heads_.emplace_back(head_of(line));
    next_ = earliest(next_, head.due);
    watch_data_ = watch_data_ || head.only_data;
  }
}

bool WhatIfPrograms::take(Cycle now, ProgramEvent& event) {
  if (state_.over()) return false;
  look_at_heads();
  if (next_ > now) return false;
  std::size_t first = heads_.size();
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    if (heads_[i].due > now) continue;
    if (first == heads_.size() || heads_[i].number < heads_[first].number) first = i;
  }
  if (input(heads_[first].number).kind == PlannedInput::Kind::kEnd) {
    ended_ = true;
    given_up_ += heads_[first].missing ? 1 : 0;
    state_.stop();
    return false;
  }
  give(first, now, event);
  return true;
}

void WhatIfPrograms::give(std::size_t number_of_line, Cycle now, ProgramEvent& event) {
  const Head head = heads_[number_of_line];
  Line& line = lines_[number_of_line];
  const PlannedInput& in = input(head.number);
  memory_.begin(head.number);
  ++line.next;
  line.given = now;
  if (is_control(in)) {
    event = *in.control;
    if (event.kind == ProgramEvent::Kind::kOpen) current_[event.client] = in.session;
    leave_out_polls(line.program, head.number);
    ++next_control_;
    control_ready_ = head.missing ? now : head.ready;
    control_given_ = now;
  } else {
    event.kind = ProgramEvent::Kind::kDoorbell;
    event.client = plan_.sessions[in.session].client;
    event.board = in.board;
    event.index = in.index;
    event.value = in.value;
    line.ready = head.ready;
  }
  ++given_;
  given_up_ += head.missing ? 1 : 0;
  idle_ = false;
  stale_ = true;
  last_activity_ = now;
}

void WhatIfPrograms::output(std::uint32_t source, std::uint64_t count) {
  if (count == 0) return;
  outputs_.add(source, count, state_.now());
  last_activity_ = state_.now();
  stale_ = true;
}

void WhatIfPrograms::compare(ClientId client, const RecordedReply& reply) {
  const std::uint32_t session = current_.at(client);
  const std::vector<RecordedReply>& recorded = plan_.replies[session];
  // The record lacks the reply to a request whose client was closed meanwhile.
  if (replies_[session] == recorded.size()) return;
  const RecordedReply& was = recorded[replies_[session]++];
  if (was.type != reply.type || was.status != reply.status) {
    state_.differs(fmt::format("found a reply to {} of client {} with status {}; recorded: {} with status {}",
                               request_name(reply.type), raw(client), reply.status, request_name(was.type),
                               was.status));
  } else if (was.numbers != reply.numbers) {
    state_.differs(fmt::format("found number {} in the reply to {} of client {}; recorded: {}", reply.numbers,
                               request_name(reply.type), raw(client), was.numbers));
  }
}

void WhatIfPrograms::opened(ClientId client, std::int32_t status, const channel::DeviceAttributes&) {
  compare(client, {channel::Request::kOpen, status, 0});
  output(DeviceOutputs::kReplies, 1);
}

void WhatIfPrograms::reply(ClientId client, const channel::Message& message) {
  compare(client, reply_of(message));
  output(DeviceOutputs::kReplies, 1);
}

void WhatIfPrograms::completed(ClientId client, Cqn cq, std::uint32_t count) {
  const ProgramSession& s = plan_.sessions[current_.at(client)];
  output(outputs_.number_of({OutputKind::kCqes, s.program, s.nic, raw(cq)}), count);
}

void WhatIfPrograms::notify(ClientId client, std::uint32_t, const channel::EventRecord&) {
  output(outputs_.number_of({OutputKind::kEvents, plan_.sessions[current_.at(client)].program, 0, 0}), 1);
}

void WhatIfPrograms::released(ClientId) { output(DeviceOutputs::kReplies, 1); }

// What the earliest input that waits is, and for what. (R4)
std::string WhatIfPrograms::story() const {
  const Head* first = nullptr;
  for (const Head& head : heads_) {
    if (head.number != 0 && head.missing && (first == nullptr || head.number < first->number)) first = &head;
  }
  if (first == nullptr) return "no input is due";
  const PlannedInput& in = input(first->number);
  std::string who = "the end of the run";
  if (in.kind != PlannedInput::Kind::kEnd) {
    const ProgramSession& s = plan_.sessions[in.session];
    const std::string what = !is_control(in) ? fmt::format("doorbell {} {} = {}", board_name(in.board), in.index,
                                                           static_cast<std::uint32_t>(in.value))
                             : in.control->kind == ProgramEvent::Kind::kRequest ? request_name(in.control->message.type)
                             : in.control->kind == ProgramEvent::Kind::kOpen    ? "open"
                                                                                : "close";
    who = fmt::format("event {} ({} of client {}, {})", first->number, what, raw(s.client), plan_.programs[s.program]);
  }
  const auto missing = [&](std::uint32_t source, std::uint64_t count) {
    const OutputSource& s = outputs_.source(source);
    const std::string whose =
        s.kind == OutputKind::kReplies ? std::string() : fmt::format(" ({})", plan_.programs[s.program]);
    return fmt::format("{} waits for {} {}{}, and {} came", who, count, name_of(s), whose, outputs_.count(source));
  };
  if (in.kind == PlannedInput::Kind::kPoll && !outputs_.reached(in.polled.source, in.polled.count)) {
    return missing(in.polled.source, in.polled.count);
  }
  if (!outputs_.reached(DeviceOutputs::kReplies, in.replies)) return missing(DeviceOutputs::kReplies, in.replies);
  for (const AwaitedCount& awaited : in.awaited) {
    if (!outputs_.reached(awaited.source, awaited.count)) return missing(awaited.source, awaited.count);
  }
  return who;
}

bool WhatIfPrograms::stalls(Cycle now) {
  if (loop_ == Loop::kOpen && !idle_) {
    idle_ = stale_ = true;
    look_at_heads();
    if (next_ != kNever) {
      for (Head& head : heads_) {
        if (head.missing && head.due != kNever) head.due = latest(head.due, now);
      }
      next_ = latest(next_, now);
      return false;
    }
  }
  state_.differs(story() + " (--loop open does not wait for completions)");
  return true;
}

Cycle WhatIfPrograms::wait(Cycle now, Cycle due) {
  if (state_.over() || ended_) return kNever;
  look_at_heads();
  if (next_ == kNever && (due == kNever || (now - last_activity_).count > patience_) && stalls(now)) return kNever;
  return latest(now, earliest(due, next_));
}

Cycle WhatIfPrograms::next_look(Cycle now) {
  if (state_.over() || ended_) return kNever;
  look_at_heads();
  if (next_ == kNever && (now - last_activity_).count > patience_ && stalls(now)) return kNever;
  return latest(now + 1, earliest(next_, watch_data_ ? now + 1 : now + kLookCycles));
}

Cycle WhatIfPrograms::sooner(Cycle look) {
  if (state_.over() || ended_) return look;
  look_at_heads();
  if (watch_data_) look = earliest(look, state_.now() + 1);  // since a completion came, nothing but data is missing
  return earliest(look, next_);
}

}  // namespace rxnic
