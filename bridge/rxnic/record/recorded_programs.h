// SPDX-License-Identifier: Apache-2.0
// Plays a recorded run (traces/host_log.h) in the place of live programs: their events and the content of their memory.
//
//   R1  An event is given in the cycle in which it was recorded. The run ends in the cycle in which the recorded one
//       ended.
//   R2  Every access to the programs' memory has to be one of the log. The cycle, client, address and length are the
//       same, for a write the bytes, too. Accesses of one cycle come in any order: NICs and their blocks are stepped in
//       any (engine.h R1). The first access that differs ends the run: what would follow it cannot be compared.
//   R3  A damaged log ends the run, too; rethrow() then throws its TraceError.
//   R4  The digest of all writes is that of the log's lines, in their order: each is compared with a write of the run.
//   R5  Memory is bounded: lines of a cycle that come before their accesses are as long as one line may be, together.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <string>

#include "bridge/driver/programs.h"
#include "traces/host_log.h"

namespace rxnic {

// What a replayed run has come to. Shared by everything that compares.
class ReplayState {
 public:
  // How the run is ended and what time it is: the engine's.
  void connect(std::function<void()> stop, std::function<Cycle()> now) {
    stop_ = std::move(stop);
    now_ = std::move(now);
  }
  Cycle now() const { return now_(); }
  // Only the first one counts.
  void differs(const std::string& what);
  void damaged(std::exception_ptr why);
  void stop() { stop_(); }
  bool over() const { return over_; }
  const std::string& difference() const { return difference_; }
  void rethrow() const {
    if (damage_) std::rethrow_exception(damage_);
  }

 private:
  std::function<void()> stop_;
  std::function<Cycle()> now_;
  bool over_ = false;
  std::string difference_;
  std::exception_ptr damage_;
};

class RecordedPrograms final : public Programs {
 public:
  // Throws TraceError.
  RecordedPrograms(const std::string& path, ReplayState& state);
  bool take(Cycle now, ProgramEvent& event) override;
  void opened(ClientId, std::int32_t, const channel::DeviceAttributes&) override {}
  void reply(ClientId, const channel::Message&) override {}
  void completed(ClientId, Cqn, std::uint32_t) override {}
  void notify(ClientId, std::uint32_t, const channel::EventRecord&) override {}
  void released(ClientId) override {}
  Cycle wait(Cycle now, Cycle due) override;
  Cycle next_look(Cycle now) override;

  const HostLogHeader& header() const { return reader_.header(); }
  std::uint64_t events() const { return events_; }
  // Whether every event was given; then end() is the log's last entry.
  bool finished() const { return next_.kind == HostLogEntry::Kind::kEnd; }
  const HostLogEntry& end() const { return next_; }

 private:
  void read_next() { reader_.next(next_, kHostLogEvents); }
  ProgramEvent event_of(const HostLogEntry& entry) const;

  HostLogReader reader_;
  ReplayState& state_;
  HostLogEntry next_;
  std::uint64_t events_ = 0;
};

class LogMemory final : public ProgramMemory {
 public:
  LogMemory(const std::string& path, ReplayState& state) : reader_(path), state_(state) {}
  bool read(ClientId client, std::uint64_t address, std::span<std::uint8_t> to) override;
  bool write(ClientId client, std::uint64_t address, std::span<const std::uint8_t> from) override;
  bool exists(ClientId client) override { return !gone_[client]; }
  // Behind the run: accesses of the log that did not happen are a difference.
  void finish();

  std::uint64_t reads() const { return reads_; }
  std::uint64_t writes() const { return writes_; }
  std::uint64_t digest() const { return digest_; }  // of all writes, as in the log's last line

 private:
  // Whether the log has this access in this cycle; it is in next_ then.
  bool expect(HostLogEntry::Kind kind, ClientId client, std::uint64_t address, std::uint64_t bytes);
  void read_next();

  HostLogReader reader_;
  ReplayState& state_;
  HostLogEntry next_;
  std::deque<HostLogEntry> early_;  // lines that were read before their accesses came, in order
  std::uint64_t reads_ = 0, writes_ = 0, digest_ = 0;
  std::map<ClientId, bool> gone_;  // by the last read of theirs that failed
};

}  // namespace rxnic
