// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/record/what_if_planner.h"

#include <fmt/format.h>

#include <algorithm>

namespace rxnic {

using channel::Request;

RecordedReply reply_of(const channel::Message& message) {
  RecordedReply reply{message.type, message.status, 0};
  if (message.status != 0) return reply;
  switch (message.type) {
    case Request::kAllocatePd:
      reply.numbers = message.body.handle.number;
      break;
    case Request::kRegisterMemory:
      reply.numbers = message.body.memory.lkey;
      break;
    case Request::kAllocateDeviceMemory:
      reply.numbers = message.body.device_memory.number;
      break;
    case Request::kCreateCq:
      reply.numbers = message.body.cq.cqn;
      break;
    case Request::kCreateSrq:
      reply.numbers = message.body.srq.srqn;
      break;
    case Request::kCreateQp:
      reply.numbers = message.body.qp.qpn;
      break;
    default:
      break;
  }
  return reply;
}

std::uint32_t WhatIfPlanner::session_of(ClientId client) const { return current_.at(client); }

void WhatIfPlanner::output(std::uint32_t source, std::uint64_t count, Cycle now) {
  if (count == 0) return;
  plan_.outputs.add(source, count, now);
  control_.last = now;
  if (source == DeviceOutputs::kReplies) {
    last_reply_ = now;
    return;
  }
  if (source >= risen_.size()) risen_.resize(source + 1);
  Line& line = lines_[plan_.outputs.source(source).program];
  line.last = now;
  if (!risen_[source].of_program) line.risen.push_back(source);
  if (!risen_[source].of_control) control_.risen.push_back(source);
  risen_[source] = {true, true};
}

void WhatIfPlanner::take_risen(Line& line, bool control, PlannedInput& input) {
  for (const std::uint32_t source : line.risen) {
    input.awaited.push_back({source, plan_.outputs.count(source)});
    (control ? risen_[source].of_control : risen_[source].of_program) = false;
  }
  line.risen.clear();
  const Cycle last = latest(line.last, last_reply_);
  input.replies = plan_.outputs.count(DeviceOutputs::kReplies);
  input.after_output = (input.recorded - last).count;
  input.after_reply = (input.recorded - last_reply_).count;
}

// (R1)
void WhatIfPlanner::input(Cycle now, const ProgramEvent& event) {
  if (event.kind == ProgramEvent::Kind::kOpen) {
    const auto number = static_cast<std::uint32_t>(plan_.programs.size());
    const auto known = event.pid == 0 ? by_pid_.end() : by_pid_.find(event.pid);
    const std::uint32_t program = known == by_pid_.end() ? number : known->second;
    if (program == number) {
      plan_.programs.push_back(event.program);
      lines_.emplace_back();
      if (event.pid != 0) by_pid_[event.pid] = number;
    }
    current_[event.client] = static_cast<std::uint32_t>(plan_.sessions.size());
    plan_.sessions.push_back({event.client, event.nic, program});
    asked_.push_back(0);
    plan_.replies.emplace_back();
  }
  const auto session = current_.find(event.client);
  if (session == current_.end()) return;  // of a client that has no NIC: the device leaves it out
  PlannedInput input;
  input.session = session->second;
  input.recorded = now;
  if (event.kind == ProgramEvent::Kind::kDoorbell) {
    input.kind = PlannedInput::Kind::kPost;
    input.board = event.board;
    input.index = event.index;
    input.value = event.value;
    Line& line = lines_[plan_.sessions[input.session].program];
    const auto cq = cqs_.find({input.session, event.index});
    const bool polls = event.board == channel::Board::kConsumer || event.board == channel::Board::kArm;
    if (polls && cq != cqs_.end()) add_poll(cq->second, line, input);
    take_risen(line, false, input);
  } else {
    input.kind = PlannedInput::Kind::kControl;
    input.control = std::make_unique<ProgramEvent>(event);
    take_risen(control_, true, input);
  }
  plan_.inputs.push_back(std::move(input));
  if (event.kind == ProgramEvent::Kind::kDoorbell) {
    posted_.rung(session->second, event.board, event.index, event.value, inputs());
  }
}

// (R4)
void WhatIfPlanner::add_poll(std::uint32_t cq, Line& line, PlannedInput& input) {
  DeviceOutputs& outputs = plan_.outputs;
  input.kind = PlannedInput::Kind::kPoll;
  input.cq = cq;
  input.polled = {cq, outputs.count(cq)};
  const auto ahead = static_cast<std::int32_t>(input.value - input.polled.count);
  if (single_cqes_ && input.board == channel::Board::kConsumer && ahead > 0) {
    const std::uint32_t rings = outputs.number_of({OutputKind::kRings, outputs.source(cq).program, 0, 0});
    input.polled = {rings, outputs.count(rings)};
    input.awaited.push_back(input.polled);
    line.last = latest(line.last, *outputs.reached(rings, input.polled.count));
  }
  input.after_cqe = (input.recorded - *outputs.reached(input.polled.source, input.polled.count)).count;
}

void WhatIfPlanner::opened(Cycle now, ClientId client, std::int32_t status) {
  plan_.replies[session_of(client)].push_back({Request::kOpen, status, 0});
  output(DeviceOutputs::kReplies, 1, now);
}

void WhatIfPlanner::replied(Cycle now, ClientId client, const channel::Message& message) {
  plan_.replies[session_of(client)].push_back(reply_of(message));
  const std::uint32_t number = session_of(client);
  const ProgramSession& session = plan_.sessions[number];
  posted_.replied(number, message);
  if (message.type == Request::kCreateCq && message.status == 0) {
    cqs_[{number, message.body.cq.doorbell}] =
        plan_.outputs.number_of({OutputKind::kCqes, session.program, session.nic, message.body.cq.cqn});
  }
  output(DeviceOutputs::kReplies, 1, now);
}

void WhatIfPlanner::completed(Cycle now, ClientId client, Cqn cq, std::uint32_t count) {
  const ProgramSession& session = plan_.sessions[session_of(client)];
  output(plan_.outputs.number_of({OutputKind::kCqes, session.program, session.nic, raw(cq)}), count, now);
}

void WhatIfPlanner::notified(Cycle now, ClientId client) {
  const ProgramSession& session = plan_.sessions[session_of(client)];
  output(plan_.outputs.number_of({OutputKind::kEvents, session.program, 0, 0}), 1, now);
}

// Returns `ok`.
bool WhatIfPlanner::accessed(std::uint32_t space, std::uint64_t address, std::uint64_t bytes, bool write, bool ok) {
  if (!ok) {
    open_failed_.push_back(plan_.failed.size());
    plan_.failed.push_back({space, address, address + bytes, write, inputs()});
    return false;
  }
  std::erase_if(open_failed_, [&](std::size_t n) {
    FailedRange& range = plan_.failed[n];
    const bool ends =
        range.space == space && range.write == write && range.begin < address + bytes && address < range.end;
    if (ends) range.until = inputs();
    return ends;
  });
  return true;
}

// (R2)
void WhatIfPlanner::read(ClientId client, std::uint64_t address, std::span<const std::uint8_t> data, bool ok,
                         bool gone) {
  const std::uint32_t session = session_of(client);
  const std::uint32_t space = space_of(plan_.sessions[session], session, address);
  if (is_own_memory(space)) {
    if (gone) plan_.sessions[session].lost_after = std::min(plan_.sessions[session].lost_after, asked_[session]);
    asked_[session] += data.size();
  }
  if (gone) return;
  if (!accessed(space, address, data.size(), false, ok)) return;
  Found* open = nullptr;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const ProgramImage::Byte known = image_.at(space, address + i);
    const bool unchanged = known.stamp != 0 && known.value == data[i];
    if (unchanged && !(keep_data_ && known.by_device)) {
      open = nullptr;
      continue;
    }
    if (open == nullptr || open->after != known.stamp || open->by_device != unchanged) {
      open = &found_.emplace_back(Found{{space, address + i, {}}, known.stamp, inputs(), unchanged});
    }
    open->change.bytes.push_back(data[i]);
  }
  image_.put(space, address, data, inputs());
  if (address >= ProgramMemory::kShared) posted_.mapping_read(session, address, data.size());
}

// (R3)
void WhatIfPlanner::written(Cycle now, ClientId client, std::uint64_t address, std::span<const std::uint8_t> data,
                            bool ok) {
  const std::uint32_t session = session_of(client);
  const ProgramSession& s = plan_.sessions[session];
  const std::uint32_t space = space_of(s, session, address);
  if (!accessed(space, address, data.size(), true, ok)) return;
  image_.put(space, address, data, inputs(), true);
  if (address >= ProgramMemory::kShared) {
    plan_.outputs.add(plan_.outputs.number_of({OutputKind::kRings, s.program, 0, 0}), data.size(), now);
    return;
  }
  output(plan_.outputs.number_of({OutputKind::kData, s.program, 0, 0}), data.size(), now);
}

void WhatIfPlanner::add_found(Found& found) {
  const std::uint64_t begin = found.change.address, end = begin + found.change.bytes.size();
  for (const PostedMemory::Part& part :
       posted_.parts(found.change.space, begin, end, found.after, found.last, found.by_device)) {
    if (part.input == 0 && found.by_device) continue;
    if (part.input == 0 && is_own_memory(found.change.space)) plan_.unposted_bytes += part.end - part.begin;
    const std::uint32_t input = part.input == 0 ? found.last : part.input;
    const auto first = found.change.bytes.begin() + static_cast<std::ptrdiff_t>(part.begin - begin);
    plan_.inputs[input - 1].changes.push_back(
        {found.change.space, part.begin, {first, first + static_cast<std::ptrdiff_t>(part.end - part.begin)}});
  }
}

WhatIfPlan WhatIfPlanner::finish(Cycle end) {
  for (Found& found : found_) add_found(found);
  found_.clear();
  PlannedInput last;
  last.recorded = end;
  take_risen(control_, true, last);
  plan_.inputs.push_back(std::move(last));
  return std::move(plan_);
}

bool PlanningPrograms::take(Cycle now, ProgramEvent& event) {
  if (!programs_.take(now, event)) return false;
  planner_.input(now, event);
  return true;
}

void PlanningPrograms::opened(ClientId client, std::int32_t status, const channel::DeviceAttributes& attributes) {
  planner_.opened(now_(), client, status);
  programs_.opened(client, status, attributes);
}

void PlanningPrograms::reply(ClientId client, const channel::Message& message) {
  planner_.replied(now_(), client, message);
  programs_.reply(client, message);
}

void PlanningPrograms::completed(ClientId client, Cqn cq, std::uint32_t count) {
  planner_.completed(now_(), client, cq, count);
  programs_.completed(client, cq, count);
}

void PlanningPrograms::notify(ClientId client, std::uint32_t channel, const channel::EventRecord& event) {
  planner_.notified(now_(), client);
  programs_.notify(client, channel, event);
}

void PlanningPrograms::released(ClientId client) {
  planner_.released(now_());
  programs_.released(client);
}

bool PlanningMemory::read(ClientId client, std::uint64_t address, std::span<std::uint8_t> to) {
  const bool ok = memory_.read(client, address, to);
  planner_.read(client, address, to, ok, !ok && !memory_.exists(client));
  return ok;
}

bool PlanningMemory::write(ClientId client, std::uint64_t address, std::span<const std::uint8_t> from) {
  const bool ok = memory_.write(client, address, from);
  planner_.written(now_(), client, address, from, ok);
  return ok;
}

}  // namespace rxnic
