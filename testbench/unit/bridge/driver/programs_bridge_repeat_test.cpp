// SPDX-License-Identifier: Apache-2.0
// bridge/driver/programs_bridge.h R5: events, their cycles and the data that memory returned determine everything. A
// run with live programs is recorded and repeated from the recording in each mode of the engine. The cycles in which
// the bridge looks for events, and those in which it is stepped besides, make no difference.
#include <gtest/gtest.h>

#include "testbench/unit/bridge/driver/bridge_program.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic::programs_bridge_repeat_test {
namespace {

using channel::Request;

struct Access {
  Cycle at{};
  bool write = false, ok = false;
  ClientId client{};
  std::uint64_t address = 0;
  std::vector<std::uint8_t> data;
  bool operator==(const Access&) const = default;
};

struct Record final : ProgramObserver {
  void on_event(Cycle now, const ProgramEvent& event) override { events.push_back({now, event}); }
  void on_read(Cycle now, ClientId client, std::uint64_t address, std::span<const std::uint8_t> data, bool ok,
               bool) override {
    accesses.push_back({now, false, ok, client, address, {data.begin(), data.end()}});
  }
  void on_write(Cycle now, ClientId client, std::uint64_t address, std::span<const std::uint8_t> data,
                bool ok) override {
    accesses.push_back({now, true, ok, client, address, {data.begin(), data.end()}});
  }
  void on_visible(Cycle now, std::uint32_t, Cqn, WcStatus, const MessageTimes& times) override {
    visible.push_back({now, times.posted});
  }
  std::vector<std::pair<Cycle, ProgramEvent>> events;
  std::vector<Access> accesses;
  std::vector<std::pair<Cycle, Cycle>> visible;
  Cycle end{};
  std::uint64_t hash = 0;
};

class RepeatPort final : public Programs {
 public:
  explicit RepeatPort(const Record& record) : record_(record) {}
  bool take(Cycle now, ProgramEvent& event) override {
    if (next_ == record_.events.size() || record_.events[next_].first > now) return false;
    EXPECT_EQ(record_.events[next_].first, now);
    event = record_.events[next_++].second;
    return true;
  }
  void opened(ClientId, std::int32_t, const channel::DeviceAttributes&) override {}
  void reply(ClientId, const channel::Message&) override { ++replies; }
  void completed(ClientId, Cqn, std::uint32_t) override {}
  void released(ClientId) override {}
  void notify(ClientId, std::uint32_t, const channel::EventRecord&) override {}
  Cycle wait(Cycle now, Cycle due) override { return now >= record_.end ? kNever : earliest(due, next_look(now)); }
  Cycle next_look(Cycle now) override {
    return latest(now + 1, next_ == record_.events.size() ? record_.end : record_.events[next_].first);
  }
  std::size_t replies = 0;

 private:
  const Record& record_;
  std::size_t next_ = 0;
};

// Returns for each read the recorded data.
class RepeatMemory final : public ProgramMemory {
 public:
  explicit RepeatMemory(const Record& record) : record_(record) {}
  bool read(ClientId, std::uint64_t, std::span<std::uint8_t> to) override {
    while (next_ < record_.accesses.size() && record_.accesses[next_].write) ++next_;
    if (next_ == record_.accesses.size() || record_.accesses[next_].data.size() != to.size()) return false;
    const Access& was = record_.accesses[next_++];
    std::copy(was.data.begin(), was.data.end(), to.begin());
    return was.ok;
  }
  bool write(ClientId, std::uint64_t, std::span<const std::uint8_t>) override {
    while (writes_ < record_.accesses.size() && !record_.accesses[writes_].write) ++writes_;
    return writes_ < record_.accesses.size() && record_.accesses[writes_++].ok;
  }

 private:
  const Record& record_;
  std::size_t next_ = 0, writes_ = 0;
};

void use(Lab& lab) {
  ConnectedPair rc(lab, QpType::kRc, 0, 1);
  ConnectedPair uc(lab, QpType::kUc, 1, 0, 1);
  for (int round = 0; round < 3; ++round) {
    for (ConnectedPair* p : {&rc, &uc}) {
      for (std::uint32_t i = 0; i < 4; ++i) {
        p->b.post_receive(p->right.qp, p->right.sge(3000, i * 3000));
        p->a.post_send(p->left.qp, {.sge = p->left.sge(2000 + i * 100)});
      }
      if (round != 1) p->b.ring_receive(p->right.qp);
      p->a.ring_send(p->left.qp);
    }
    if (round == 1) {  // receives are posted late: RNR and dropped messages
      lab.run(20'000);
      rc.b.ring_receive(rc.right.qp);
    }
    for (int i = 0; i < 4; ++i) {
      rc.b.wait_for(rc.right.cq);
      rc.a.wait_for(rc.left.cq);
    }
  }
  RemoteSegment remote = rc.right.remote();
  remote.rkey ^= 0x100;  // a key that is not its own
  rc.a.post_send(rc.left.qp, {.opcode = SendOpcode::kWrite, .sge = rc.left.sge(100), .remote = remote});
  rc.a.post_send(rc.left.qp, {.sge = rc.left.sge(100)});
  rc.a.ring_send(rc.left.qp);
  EXPECT_EQ(rc.a.wait_for(rc.left.cq).status, WcStatus::kRemoteAccess);
  EXPECT_EQ(rc.a.wait_for(rc.left.cq).status, WcStatus::kFlushed);
  rc.a.call(Request::kReadClock);
  uc.a.die();
  EXPECT_EQ(rc.b.to_state(rc.right.qp, QpState::kReset), 0);
  lab.run(5000);
  rc.a.close();
  lab.run(777);
  rc.b.close();
  uc.b.close();
  lab.own_port.over = true;
  lab.run(100'000);
}

void expect_equal(const std::vector<Access>& found, const std::vector<Access>& expected) {
  for (std::size_t i = 0; i < found.size() && i < expected.size(); ++i) {
    if (found[i] == expected[i]) continue;
    ADD_FAILURE() << "access " << i << " in cycle " << found[i].at.count << ", recorded in " << expected[i].at.count
                  << ": " << (found[i].write ? "write" : "read") << " of " << found[i].data.size() << " bytes at "
                  << found[i].address << ", recorded " << (expected[i].write ? "write" : "read") << " of "
                  << expected[i].data.size() << " bytes at " << expected[i].address;
    return;
  }
  EXPECT_EQ(found.size(), expected.size());
}

Record live(std::uint64_t look_cycles) {
  Record record;
  Lab lab(2, EngineMode::kFast, &record);
  lab.own_port.look_cycles = look_cycles;
  use(lab);
  EXPECT_EQ(lab.bridge->clients(), 0u);
  EXPECT_EQ(lab.bridge->driver(0).objects() + lab.bridge->driver(1).objects(), 0u);
  record.end = lab.engine.now();
  record.hash = lab.engine.state_hash();
  return record;
}

TEST(ProgramsBridgeRepeat, ARunIsRepeatedFromItsEventsInEveryMode) {
  for (const std::uint64_t look_cycles : {1, 37}) {
    const Record first = live(look_cycles);
    EXPECT_GT(first.events.size(), 70u);
    EXPECT_GT(first.accesses.size(), 100u);
    EXPECT_GE(first.visible.size(), 12u);
    for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
      if (mode != EngineMode::kFast && look_cycles == 1) continue;
      SCOPED_TRACE(static_cast<int>(mode));
      Record second;
      RepeatPort port(first);
      RepeatMemory memory(first);
      Lab lab(2, mode, &second, port, memory);
      lab.run_to(first.end + 10);
      EXPECT_EQ(lab.engine.now(), first.end);
      EXPECT_EQ(lab.engine.state_hash(), first.hash);
      expect_equal(second.accesses, first.accesses);
      EXPECT_EQ(second.visible, first.visible);
      EXPECT_EQ(second.events.size(), first.events.size());
    }
  }
}

TEST(ProgramsBridgeRepeat, TheSameProgramsTwiceGiveTheSameRun) {
  const Record first = live(50), second = live(50);
  EXPECT_EQ(first.hash, second.hash);
  EXPECT_EQ(first.end, second.end);
  expect_equal(second.accesses, first.accesses);
}

}  // namespace
}  // namespace rxnic::programs_bridge_repeat_test
