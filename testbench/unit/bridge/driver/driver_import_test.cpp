// SPDX-License-Identifier: Apache-2.0
// R14 of bridge/driver/driver.h: what a client has imported. What programs do with it: live.verbs.import.
#include <gtest/gtest.h>

#include <cerrno>

#include "testbench/unit/bridge/driver/bridge_program.h"

namespace rxnic::driver_import_test {
namespace {

using channel::Request;

struct DriverImport : testing::Test {
  Lab lab{1};
  Program maker{lab, 0}, user{lab, 0}, other{lab, 0};
  std::uint32_t pd = maker.create_pd();
  // As `asker`: of what `from` has.
  static channel::Message import(Program& asker, const Program& from, Request what, std::uint32_t number,
                                 std::uint32_t of_pd = 0) {
    return asker.call(what, [&](auto& b) { b.import = {number, raw(from.id), of_pd, 0, 0}; });
  }
};

TEST_F(DriverImport, OnlyWhoHasImportedAPdMayUseIt) {
  EXPECT_EQ(user.register_memory(pd, user.local(64), 64, 1).status, EINVAL);
  EXPECT_EQ(import(user, other, Request::kImportPd, pd).status, EINVAL) << "the other one does not have it";
  EXPECT_EQ(import(user, maker, Request::kImportPd, pd).status, 0);
  const std::uint32_t mr = user.create_mr(pd, user.local(64), 64);
  EXPECT_EQ(maker.free(Request::kFreePd, pd), EBUSY);
  EXPECT_EQ(other.register_memory(pd, other.local(64), 64, 1).status, EINVAL);
  EXPECT_EQ(import(other, user, Request::kImportPd, pd).status, 0) << "from who has imported it";
  EXPECT_EQ(other.free(Request::kFreeMemory, mr), 0);
  EXPECT_EQ(maker.free(Request::kFreePd, pd), 0);
  EXPECT_EQ(user.free(Request::kFreePd, pd), EINVAL);
}

TEST_F(DriverImport, ARegionIsImportedWithItsPd) {
  const std::uint32_t mr = maker.create_mr(pd, maker.local(100), 100);
  const std::uint32_t elsewhere = maker.create_mr(maker.create_pd(), maker.local(100), 100);
  EXPECT_EQ(import(user, maker, Request::kImportMemory, mr, pd).status, EINVAL) << "its PD is not imported";
  EXPECT_EQ(import(user, maker, Request::kImportPd, pd).status, 0);
  const channel::Message found = import(user, maker, Request::kImportMemory, mr, pd);
  EXPECT_EQ(found.status, 0);
  EXPECT_EQ(found.body.import.length, 100u);
  EXPECT_EQ(found.body.import.rkey, mr);
  EXPECT_EQ(import(user, maker, Request::kImportMemory, elsewhere, pd).status, EINVAL);
  EXPECT_EQ(user.free(Request::kFreeMemory, elsewhere), EINVAL);
}

TEST_F(DriverImport, AnImporterInheritsWhatItsMakerLeaves) {
  const auto wanted = maker.call(Request::kAllocateDeviceMemory, [](auto& b) { b.device_memory = {0, 0, 0, 256, 0}; });
  const std::uint32_t memory = wanted.body.device_memory.number;
  EXPECT_EQ(import(user, maker, Request::kImportPd, pd).status, 0);
  EXPECT_EQ(import(user, maker, Request::kImportDeviceMemory, memory).body.import.length, 256u);
  EXPECT_EQ(import(other, maker, Request::kImportPd, pd).status, 0);
  const std::uint32_t mr = maker.create_mr(pd, maker.local(64), 64);
  maker.close();
  EXPECT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == 1; }));
  EXPECT_EQ(import(user, user, Request::kImportMemory, mr, pd).status, EINVAL) << "its memory is gone";
  EXPECT_EQ(user.free(Request::kFreeDeviceMemory, memory), 0);
  EXPECT_EQ(user.free(Request::kFreeMemory, user.create_mr(pd, user.local(64), 64)), 0);
  user.close();
  EXPECT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == 2; }));
  EXPECT_EQ(other.free(Request::kFreePd, pd), 0);
}

// A client that has the PD of `maker` and a QP in it that is connected to itself. What the client writes to a window's
// key goes by the window. What is refused fails as that, or is flushed because its QP has refused it.
struct Importer {
  Importer(Lab& lab, const Program& maker, std::uint32_t pd_number) : program(lab, 0), pd(pd_number) {
    EXPECT_EQ(DriverImport::import(program, maker, Request::kImportPd, pd).status, 0);
    buffer = program.local(64);
    lkey = program.create_mr(pd, buffer, 64);
    cq = program.create_cq();
    renew();
  }
  void renew() {
    qp = program.create_qp(QpType::kRc, pd, cq);
    program.connect(qp, QpType::kRc, 0, qp.number);
  }
  std::uint32_t window(std::uint32_t type) {
    const auto reply = program.call(Request::kAllocateWindow, [&](auto& b) { b.window = {pd, type, 0}; });
    EXPECT_EQ(reply.status, 0);
    return reply.body.window.rkey;
  }
  WcStatus bind(std::uint32_t new_key, std::uint32_t region, std::uint64_t va, std::uint64_t length) {
    SendControl control;
    control.opcode = SendOpcode::kBindWindow;
    control.flags = kSendSignaled;
    control.immediate = new_key;
    program.post_send(qp, {});
    const std::uint64_t slot = qp.send_ring + std::uint64_t{(qp.posted_sends - 1) % qp.slots} * Program::kSendStride;
    program.store(slot, control);
    program.store(slot + sizeof control, WindowSegment{va, length, region, kRemoteWrite, {}});
    program.ring_send(qp);
    return program.wait_for(cq).status;
  }
  WcStatus write(std::uint32_t rkey, std::uint64_t va) {
    std::memset(program.bytes(buffer), 0x77, 64);
    program.post_send(qp, {.opcode = SendOpcode::kWrite, .sge = {64, lkey, buffer}, .remote = {va, rkey, 0, 0, 0}});
    program.ring_send(qp);
    return program.wait_for(cq).status;
  }

  Program program;
  std::uint32_t pd, lkey = 0;
  std::uint64_t buffer = 0;
  Program::Cq cq;
  Program::Qp qp;
};

constexpr std::uint32_t kAllAccess = 0x1f;  // with the right to bind windows

struct DriverImportWindows : testing::TestWithParam<std::uint32_t> {  // the windows' type
  std::size_t end(Program& program) {
    const std::size_t before = lab.own_port.released_clients.size();
    program.die();
    EXPECT_TRUE(lab.run_until([&] { return lab.own_port.released_clients.size() > before; }));
    return lab.bridge->driver(0).objects();
  }
  Lab lab{1};
  Program maker{lab, 0}, other{lab, 0};
  std::uint32_t pd = maker.create_pd();
  Importer importer{lab, maker, pd};
};
INSTANTIATE_TEST_SUITE_P(Type, DriverImportWindows, testing::Values(kWindowType1, kWindowType2));

// And its number, keys and pages are another's afterwards, whom the window does not reach.
TEST_P(DriverImportWindows, ARegionGoesWithItsOwnerWhoeverHasBoundWindowsToIt) {
  constexpr std::uint32_t kRegions = 3, kWindows = 2;  // of each region
  std::vector<std::uint32_t> windows, keys;
  std::vector<std::uint64_t> memory;
  for (std::uint32_t n = 0; n < kRegions; ++n) {
    memory.push_back(maker.local(8192));
    const std::uint32_t region = maker.create_mr(pd, memory.back(), 8192, kAllAccess);
    for (std::uint32_t w = 0; w < kWindows; ++w) {
      windows.push_back(importer.window(GetParam()));
      keys.push_back(windows.back() + 1);
      ASSERT_EQ(importer.bind(keys.back(), region, memory.back(), 4096), WcStatus::kSuccess);
    }
  }
  ASSERT_EQ(importer.write(keys[0], memory[0]), WcStatus::kSuccess);
  EXPECT_EQ(*maker.bytes(memory[0]), 0x77);
  const std::size_t before = lab.bridge->driver(0).objects();
  EXPECT_EQ(end(maker), before - kRegions);

  const std::uint32_t theirs = other.create_pd();
  std::vector<std::uint64_t> innocent;
  for (std::uint32_t n = 0; n < 2 * kRegions; ++n) {
    innocent.push_back(other.local(8192));
    other.create_mr(theirs, innocent.back(), 8192);
  }
  for (std::uint32_t n = 0; n < keys.size(); ++n) {
    EXPECT_NE(importer.write(keys[n], memory[n / kWindows]), WcStatus::kSuccess) << n;
    importer.renew();
  }
  for (const std::uint64_t at : innocent) EXPECT_EQ(*other.bytes(at), 0);
  // The windows are there, and can be bound elsewhere.
  const std::uint64_t again = importer.program.local(4096);
  const std::uint32_t region = importer.program.create_mr(pd, again, 4096, kAllAccess);
  ASSERT_EQ(importer.bind(keys[0] + 1, region, again, 4096), WcStatus::kSuccess);
  EXPECT_EQ(importer.write(keys[0] + 1, again), WcStatus::kSuccess);
  EXPECT_EQ(*importer.program.bytes(again), 0x77);
  EXPECT_EQ(importer.program.free(Request::kFreeMemory, region), EBUSY);
  for (const std::uint32_t window : windows) EXPECT_EQ(importer.program.free(Request::kFreeWindow, window), 0);
  EXPECT_EQ(importer.program.free(Request::kFreeMemory, region), 0);
  end(other);
  EXPECT_EQ(end(importer.program), 0u);
}

TEST_P(DriverImportWindows, AnImporterEndsBeforeTheOwnerOfTheRegion) {
  const std::uint64_t memory = maker.local(4096);
  const std::uint32_t region = maker.create_mr(pd, memory, 4096, kAllAccess);
  const std::uint32_t window = importer.window(GetParam());
  ASSERT_EQ(importer.bind(window + 1, region, memory, 4096), WcStatus::kSuccess);
  EXPECT_EQ(maker.free(Request::kFreeMemory, region), EBUSY);
  end(importer.program);
  EXPECT_EQ(maker.free(Request::kFreeMemory, region), 0);
  EXPECT_EQ(maker.free(Request::kFreePd, pd), 0);
  EXPECT_EQ(lab.bridge->driver(0).objects(), 0u);
}

// The region is the importer's, in the maker's PD, and the window the maker's.
TEST_P(DriverImportWindows, TheRegionOfAnImporterGoesWithItToo) {
  Importer owner(lab, maker, pd);
  const std::uint64_t memory = owner.program.local(4096);
  const std::uint32_t region = owner.program.create_mr(pd, memory, 4096, kAllAccess);
  const std::uint32_t window = importer.window(GetParam());
  ASSERT_EQ(importer.bind(window + 1, region, memory, 4096), WcStatus::kSuccess);
  end(owner.program);
  EXPECT_NE(importer.write(window + 1, memory), WcStatus::kSuccess);
  end(maker);
  EXPECT_EQ(importer.program.free(Request::kFreeWindow, window), 0);
  EXPECT_EQ(end(importer.program), 0u);
}

// Both ask for its end at once, in either order.
TEST_P(DriverImportWindows, ARegionIsFreedByAnImporterWhileItsOwnerEnds) {
  for (const bool owner_first : {true, false}) {
    Program owner(lab, 0);
    ASSERT_EQ(DriverImport::import(owner, maker, Request::kImportPd, pd).status, 0);
    const std::uint64_t memory = owner.local(4096);
    const std::uint32_t region = owner.create_mr(pd, memory, 4096, kAllAccess);
    const std::uint32_t window = importer.window(GetParam());
    ASSERT_EQ(importer.bind(window + 1, region, memory, 4096), WcStatus::kSuccess);
    channel::Message free;
    free.type = Request::kFreeMemory;
    free.body.handle.number = region;
    const std::size_t replies = lab.own_port.replies[importer.program.id].size();
    if (owner_first) owner.die();
    importer.program.send(free);
    if (!owner_first) owner.die();
    EXPECT_TRUE(lab.run_until([&] { return !lab.own_port.released_clients.empty(); }));
    EXPECT_TRUE(lab.run_until([&] { return lab.own_port.replies[importer.program.id].size() > replies; }));
    EXPECT_NE(lab.own_port.replies[importer.program.id].back().status, 0);
    lab.own_port.released_clients.clear();
    EXPECT_EQ(importer.program.free(Request::kFreeWindow, window), 0);
  }
  end(maker);
  EXPECT_EQ(end(importer.program), 0u);
}

}  // namespace
}  // namespace rxnic::driver_import_test
