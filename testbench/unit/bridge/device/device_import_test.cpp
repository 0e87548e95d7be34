// SPDX-License-Identifier: Apache-2.0
// R14 of bridge/device/device.h: what a client has imported. What programs do with it: live.verbs.import.
#include <gtest/gtest.h>

#include <cerrno>

#include "testbench/unit/bridge/device/bridge_program.h"

namespace rxnic::device_import_test {
namespace {

using channel::Request;

struct DeviceImport : testing::Test {
  Lab lab{1};
  Program maker{lab, 0}, user{lab, 0}, other{lab, 0};
  std::uint32_t pd = maker.create_pd();
  // As `asker`: of what `from` has.
  static channel::Message import(Program& asker, const Program& from, Request what, std::uint32_t number,
                                 std::uint32_t of_pd = 0) {
    return asker.call(what, [&](auto& b) { b.import = {number, raw(from.id), of_pd, 0, 0}; });
  }
};

TEST_F(DeviceImport, OnlyWhoHasImportedAPdMayUseIt) {
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

TEST_F(DeviceImport, ARegionIsImportedWithItsPd) {
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

TEST_F(DeviceImport, AnImporterInheritsWhatItsMakerLeaves) {
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

}  // namespace
}  // namespace rxnic::device_import_test
