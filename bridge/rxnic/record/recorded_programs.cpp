// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/record/recorded_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "bridge/rxnic/record/message_fields.h"

namespace rxnic {

using Kind = HostLogEntry::Kind;

namespace {

std::string text(Kind kind, std::uint32_t client, std::uint64_t address, std::uint64_t bytes) {
  return fmt::format("a {} of {} bytes at {:#x} of client {}", kind == Kind::kRead ? "read" : "write", bytes, address,
                     client);
}

std::string text(const HostLogEntry& e) {
  if (e.kind == Kind::kEnd) return fmt::format("no further access: the record ends in cycle {}", e.cycle);
  return fmt::format("{} in cycle {}", text(e.kind, e.client, e.address, e.bytes), e.cycle);
}

}  // namespace

void ReplayState::differs(const std::string& what) {
  if (over_) return;
  over_ = true;
  difference_ = fmt::format("cycle {}: {}", now().count, what);
  stop();
}

void ReplayState::damaged(std::exception_ptr why) {
  if (over_) return;
  over_ = true;
  damage_ = std::move(why);
  stop();
}

RecordedPrograms::RecordedPrograms(const std::string& path, ReplayState& state) : reader_(path), state_(state) {
  read_next();
}

ProgramEvent RecordedPrograms::event_of(const HostLogEntry& entry) const {
  ProgramEvent e;
  e.client = static_cast<ClientId>(entry.client);
  try {
    switch (entry.kind) {
      case Kind::kOpen:
        e.kind = ProgramEvent::Kind::kOpen;
        e.nic = entry.nic;
        e.pid = entry.pid;
        e.program = entry.program;
        break;
      case Kind::kRequest:
        e.kind = ProgramEvent::Kind::kRequest;
        e.message = parse_message(entry.type, entry.body);
        break;
      case Kind::kDoorbell:
        e.kind = ProgramEvent::Kind::kDoorbell;
        e.board = parse_board(entry.board);
        e.index = entry.index;
        e.value = entry.value;
        if (e.index >= channel::kDoorbells) {
          throw std::invalid_argument(fmt::format("doorbell {}; expected one below {}", e.index, channel::kDoorbells));
        }
        break;
      default:
        e.kind = ProgramEvent::Kind::kClose;
        break;
    }
  } catch (const std::invalid_argument& wrong) {
    const std::string what = wrong.what();
    const std::size_t semicolon = what.find("; expected ");
    reader_.refuse(entry.line, what.substr(0, semicolon), what.substr(semicolon + std::string("; expected ").size()));
  }
  return e;
}

// (R1)
bool RecordedPrograms::take(Cycle now, ProgramEvent& event) {
  if (state_.over()) return false;
  if (finished() && now.count >= next_.cycle) state_.stop();
  if (finished() || next_.cycle > now.count) return false;
  if (next_.cycle < now.count) {
    state_.differs(
        fmt::format("programs were not asked for events in cycle {}, in which event {} (line {}) was recorded",
                    next_.cycle, events_ + 1, next_.line));
    return false;
  }
  try {
    event = event_of(next_);
    read_next();
  } catch (const TraceError&) {
    state_.damaged(std::current_exception());
    return false;
  }
  ++events_;
  return true;
}

Cycle RecordedPrograms::wait(Cycle now, Cycle due) {
  if (state_.over() || (finished() && now.count >= next_.cycle)) return kNever;
  return std::max(now, std::min(due, Cycle{next_.cycle}));
}

Cycle RecordedPrograms::next_look(Cycle now) { return std::max(now + 1, Cycle{next_.cycle}); }

bool LogMemory::expect(Kind kind, ClientId client, std::uint64_t address, std::uint64_t bytes) {
  if (state_.over()) return false;
  try {
    reader_.next(next_, kHostLogMemory);
  } catch (const TraceError&) {
    state_.damaged(std::current_exception());
    return false;
  }
  const auto number = static_cast<std::uint32_t>(client);
  if (next_.kind == kind && next_.cycle == state_.now().count && next_.client == number && next_.address == address &&
      next_.bytes == bytes) {
    return true;
  }
  state_.differs(
      fmt::format("found {}; recorded (line {}): {}", text(kind, number, address, bytes), next_.line, text(next_)));
  return false;
}

bool LogMemory::read(ClientId client, std::uint64_t address, std::span<std::uint8_t> to) {
  if (!expect(Kind::kRead, client, address, to.size())) return false;
  ++reads_;
  if (next_.ok) {
    std::copy(next_.data.begin(), next_.data.end(), to.begin());
  } else {
    gone_[client] = next_.gone;
  }
  return next_.ok;
}

bool LogMemory::write(ClientId client, std::uint64_t address, std::span<const std::uint8_t> from) {
  if (!expect(Kind::kWrite, client, address, from.size())) return false;
  ++writes_;
  const std::uint64_t digest = digest_of(from);
  digest_ = digest_of_write(digest_, next_.cycle, next_.client, address, from.size(), digest, next_.ok);
  if (digest != next_.digest) {
    state_.differs(fmt::format("found other bytes in {} than were recorded (line {})",
                               text(Kind::kWrite, next_.client, address, from.size()), next_.line));
  }
  if (!next_.ok) gone_.erase(client);  // or it would have been without effect
  return next_.ok;
}

void LogMemory::finish() {
  if (state_.over()) return;
  reader_.next(next_, kHostLogMemory);
  if (next_.kind != Kind::kEnd) {
    state_.differs(fmt::format("found no further access; recorded (line {}): {}", next_.line, text(next_)));
  }
}

}  // namespace rxnic
