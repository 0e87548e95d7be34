// SPDX-License-Identifier: Apache-2.0
// N NICs on a fabric behind a ProgramsBridge. Its port takes the events that a test gives it, and the programs' memory
// consists of byte arrays of the test. The programs are in bridge_program.h.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "bridge/driver/attributes.h"
#include "bridge/driver/nic_memory.h"
#include "bridge/driver/programs_bridge.h"
#include "bridge/driver/verbs_numbers.h"
#include "model/params/config.h"
#include "model/system/kernel.h"
#include "testbench/unit/faulty_memory.h"

namespace rxnic {

// The memory of a test's programs.
class TestPrograms final : public ProgramMemory {
 public:
  static constexpr std::uint64_t kLocalBase = 0x7f00'0000'0000;
  static constexpr std::size_t kHeapBytes = 8u << 20, kLocalBytes = 8u << 20;
  struct Space {
    std::vector<std::uint8_t> heap = std::vector<std::uint8_t>(kHeapBytes);
    std::vector<std::uint8_t> local = std::vector<std::uint8_t>(kLocalBytes);
    std::uint64_t read_only_from = ~std::uint64_t{0}, read_only_to = 0;  // addresses
    bool ended = false;                                                  // of it only the heap is left
    bool throws = false;                                                 // whoever reads from it
  };
  bool read(ClientId client, std::uint64_t address, std::span<std::uint8_t> to) override {
    const std::uint8_t* from = find(client, address, to.size());
    if (from == nullptr) return false;
    if (spaces.at(client)->throws) throw std::bad_alloc();
    std::memcpy(to.data(), from, to.size());
    return true;
  }
  bool write(ClientId client, std::uint64_t address, std::span<const std::uint8_t> from) override {
    std::uint8_t* to = find(client, address, from.size());
    if (to == nullptr) return false;
    const Space& space = *spaces.at(client);
    if (address < space.read_only_to && address + from.size() > space.read_only_from) return false;
    std::memcpy(to, from.data(), from.size());
    return true;
  }
  bool exists(ClientId client) override { return spaces.contains(client) && !spaces.at(client)->ended; }
  std::uint8_t* find(ClientId client, std::uint64_t address, std::size_t bytes) {
    const auto it = spaces.find(client);
    if (it == spaces.end()) return nullptr;
    Space& space = *it->second;
    const auto within = [&](std::vector<std::uint8_t>& v, std::uint64_t base) -> std::uint8_t* {
      return address >= base && address - base <= v.size() && bytes <= v.size() - (address - base)
                 ? v.data() + (address - base)
                 : nullptr;
    };
    if (address >= kShared) return within(space.heap, kShared + channel::kHeapOffset);
    return space.ended ? nullptr : within(space.local, kLocalBase);
  }
  std::map<ClientId, std::unique_ptr<Space>> spaces;
};

// Takes the events of a test in the order in which it gives them.
class TestPort final : public Programs {
 public:
  bool take(Cycle, ProgramEvent& event) override {
    if (events.empty()) return false;
    event = events.front();
    events.pop_front();
    return true;
  }
  void opened(ClientId client, std::int32_t status, const channel::DeviceAttributes& a) override {
    open_status[client] = status;
    attributes = a;
  }
  void reply(ClientId client, const channel::Message& message) override { replies[client].push_back(message); }
  void completed(ClientId client, Cqn, std::uint32_t) override { ++completions[client]; }
  void notify(ClientId client, std::uint32_t channel, const channel::EventRecord& event) override {
    notices[client].push_back({channel, event});
  }
  void discard_events(ClientId client, channel::Request frees, std::uint32_t number) override {
    discards.push_back({client, frees, number, replies[client].size()});
  }
  void released(ClientId client) override { released_clients.push_back(client); }
  void failed(ClientId client, const std::string& why) override {
    failures[client] = why;
    ProgramEvent close;
    close.kind = ProgramEvent::Kind::kClose;
    close.client = client;
    events.push_back(close);
  }
  Cycle wait(Cycle now, Cycle due) override {
    ++waits;
    if (due == kNever) known_at_waits.push_back(completions);
    if (over && events.empty()) return kNever;
    return events.empty() ? earliest(due, now + idle_cycles) : now;
  }
  Cycle next_look(Cycle now) override { return now + look_cycles; }

  struct Notice {
    std::uint32_t channel;
    channel::EventRecord event;
  };
  struct Discard {
    ClientId client;
    channel::Request frees;
    std::uint32_t number;
    std::size_t replies;  // that the client had by then
    bool operator==(const Discard&) const = default;
  };
  std::vector<Discard> discards;
  std::deque<ProgramEvent> events;
  std::map<ClientId, std::int32_t> open_status;
  std::map<ClientId, std::vector<channel::Message>> replies;
  std::map<ClientId, std::uint64_t> completions;
  std::map<ClientId, std::string> failures;
  std::map<ClientId, std::vector<Notice>> notices;
  std::vector<ClientId> released_clients;
  channel::DeviceAttributes attributes;
  std::uint64_t waits = 0;
  std::vector<std::map<ClientId, std::uint64_t>> known_at_waits;  // completions, whenever only a program can go on
  std::uint16_t clients = 0;
  std::uint64_t look_cycles = 50, idle_cycles = 200;
  bool over = false;
};

class Lab {
 public:
  explicit Lab(std::uint32_t count, EngineMode mode = EngineMode::kFast, ProgramObserver* observer = nullptr,
               std::span<const std::string> overrides = {}, NicAddresses addresses = {})
      : Lab(count, mode, observer, own_port, own_memory, overrides, addresses) {}
  Lab(std::uint32_t count, EngineMode mode, ProgramObserver* observer, Programs& port, ProgramMemory& programs,
      std::span<const std::string> overrides = {}, NicAddresses addresses = {})
      : params(load_config(kDefaultConfig, overrides)), engine("engine", {params.nic.clock_period_ps, mode}) {
    for (std::uint32_t n = 0; n < count; ++n) {
      memories.push_back(std::make_unique<NicMemory>(engine, programs, observer));
      nics.push_back(std::make_unique<Nic>(("nic" + std::to_string(n)).c_str(), params, *memories[n], engine,
                                           NicOptions{.requester = true}));
    }
    fabric = std::make_unique<Fabric>("fabric", params, engine, count);
    std::vector<ProgramsBridge::Attachment> attached;
    for (std::uint32_t n = 0; n < count; ++n) {
      fabric->attach(*nics[n], port_address(n, addresses));
      driver_memories.push_back(std::make_unique<FaultyMemory>(*memories[n]));
      attached.push_back({*nics[n], *driver_memories[n]});
    }
    bridge =
        std::make_unique<ProgramsBridge>("host_bridge", params, engine, *fabric, attached, port, observer, addresses);
    deadline_ = std::make_unique<sc_core::sc_event>("deadline");
  }

  // Cycles up to and with `last` are done.
  void run_to(Cycle last) {
    const sc_core::sc_time half = engine.time_of(Cycle{1}) / 2;
    const sc_core::sc_time span = engine.time_of(last) + half - sc_core::sc_time_stamp();
    deadline_->notify(span);  // the engine never runs ahead of a pending event
    sc_core::sc_start(span, sc_core::SC_RUN_TO_TIME);
    at_ = last;
  }
  void run(std::uint64_t cycles) { run_to(at_ + cycles); }
  bool run_until(const std::function<bool()>& holds, std::uint64_t limit = 20'000'000) {
    for (std::uint64_t step = 100, done = 0; !holds(); done += step) {
      if (done > limit) return false;
      if (done > 100'000) step = 10'000;
      run(step);
    }
    return true;
  }
  Cycle at() const { return at_; }

  TestPort own_port;
  TestPrograms own_memory;

 private:
  Kernel kernel_;

 public:
  Params params;
  Engine engine;
  std::vector<std::unique_ptr<NicMemory>> memories;
  std::vector<std::unique_ptr<FaultyMemory>> driver_memories;  // the same, as the drivers see it
  std::vector<std::unique_ptr<Nic>> nics;
  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<ProgramsBridge> bridge;

 private:
  std::unique_ptr<sc_core::sc_event> deadline_;
  Cycle at_{};
};

}  // namespace rxnic
