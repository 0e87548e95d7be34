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

std::size_t size_of(const HostLogEntry& e) { return sizeof e + e.data.size(); }
bool is_access(const HostLogEntry& e) { return e.kind == Kind::kRead || e.kind == Kind::kWrite; }

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

// (R2) The next line is nearly always the one. Other lines of its cycle are kept until their accesses come.
bool LogMemory::expect(Kind kind, ClientId client, std::uint64_t address, std::uint64_t bytes) {
  if (state_.over()) return false;
  const std::uint64_t now = state_.now().count;
  const auto number = static_cast<std::uint32_t>(client);
  const auto fits = [&](const HostLogEntry& e) {
    return e.kind == kind && e.cycle == now && e.client == number && e.address == address && e.bytes == bytes;
  };
  if (const auto early = std::find_if(early_.begin(), early_.end(), fits); early != early_.end()) {
    next_ = std::move(*early);
    early_.erase(early);
    return true;
  }
  try {
    std::size_t kept = 0;
    for (const HostLogEntry& e : early_) kept += size_of(e);
    while (early_.empty() || (is_access(early_.back()) && early_.back().cycle == now && kept <= kHostLogLineBytes)) {
      read_next();
      if (fits(next_)) return true;
      kept += size_of(early_.emplace_back(next_));
    }
  } catch (const TraceError&) {
    state_.damaged(std::current_exception());
    return false;
  }
  const HostLogEntry& recorded = early_.front();
  state_.differs(fmt::format("found {}; recorded (line {}): {}", text(kind, number, address, bytes), recorded.line,
                             text(recorded)));
  return false;
}

// (R4)
void LogMemory::read_next() {
  reader_.next(next_, kHostLogMemory);
  if (next_.kind != Kind::kWrite) return;
  digest_ = digest_of_write(digest_, next_.cycle, next_.client, next_.address, next_.bytes, next_.digest, next_.ok);
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
  if (digest_of(from) != next_.digest) {
    state_.differs(fmt::format("found other bytes in {} than were recorded (line {})",
                               text(Kind::kWrite, next_.client, address, from.size()), next_.line));
  }
  if (!next_.ok) gone_.erase(client);  // or it would have been without effect
  return next_.ok;
}

void LogMemory::finish() {
  if (state_.over()) return;
  if (early_.empty()) read_next();
  const HostLogEntry& recorded = early_.empty() ? next_ : early_.front();
  if (is_access(recorded)) {
    state_.differs(fmt::format("found no further access; recorded (line {}): {}", recorded.line, text(recorded)));
  }
}

}  // namespace rxnic
