// SPDX-License-Identifier: Apache-2.0
// The rules are those of bridge/driver/driver.h: which requests are refused, with which errno, and that a refusal
// changes nothing.
#include "bridge/driver/driver.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <limits>
#include <set>

#include "model/core/memory/translation.h"
#include "testbench/unit/bridge/driver/bridge_program.h"
#include "testbench/unit/model/nic/model_blocks.h"

namespace rxnic::driver_test {
namespace {

using channel::Request;

class DriverTest : public testing::Test {
 protected:
  DriverTest() : lab(2), a(lab, 0), other(lab, 0), pd(a.create_pd()), cq(a.create_cq()) {}
  template <class Change>
  std::int32_t create_cq(Change change) {
    auto asked = a.cq_request();
    change(asked);
    return a.call(Request::kCreateCq, [&](auto& b) { b.cq = asked; }).status;
  }
  template <class Change>
  std::int32_t create_srq(Change change) {
    auto asked = a.srq_request(pd);
    change(asked);
    return a.call(Request::kCreateSrq, [&](auto& b) { b.srq = asked; }).status;
  }
  template <class Change>
  std::int32_t create_qp(Change change) {
    auto asked = a.qp_request(QpType::kRc, pd, cq.number, cq.number);
    change(asked);
    return a.call(Request::kCreateQp, [&](auto& b) { b.qp = asked; }).status;
  }
  std::size_t objects() const { return lab.bridge->driver(0).objects(); }

  Lab lab;
  Program a, other;
  std::uint32_t pd;
  Program::Cq cq;
};

TEST_F(DriverTest, ANicThatIsNotThereIsRefused) {
  ProgramEvent open;
  open.kind = ProgramEvent::Kind::kOpen;
  open.client = ClientId{9};
  open.nic = 2;
  lab.own_port.events.push_back(open);
  lab.run(500);
  EXPECT_EQ(lab.own_port.open_status.at(ClientId{9}), ENODEV);
  EXPECT_EQ(lab.bridge->clients(), 2u);
}

TEST_F(DriverTest, AClientLearnsWhatItsNicIs) {
  const auto& t = lab.own_port.attributes;
  EXPECT_EQ(t.mac, (std::array<std::uint8_t, 8>{2, 0x72, 0x78, 0, 0, 1, 0, 0}));
  EXPECT_EQ(t.gids[0].type, channel::GidType::kRoceV1);
  EXPECT_EQ(t.gids[1].type, channel::GidType::kRoceV2);
  EXPECT_EQ(t.gids[0].bytes, (GidBytes{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x72, 0x78, 0xff, 0xfe, 0, 0, 1}));
  EXPECT_EQ(t.gids[2].bytes, (GidBytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 18, 0, 1}));
  EXPECT_EQ(t.gids[3].type, channel::GidType::kNone);
  EXPECT_GE(t.max_qp_wrs, 16384u);
  EXPECT_EQ(t.timestamp_period_ps, lab.params.nic.clock_period_ps);
}

TEST_F(DriverTest, ForeignAndUnknownHandlesAreRefused) {
  const auto foreign_pd = other.create_pd();
  const auto foreign_cq = other.create_cq();
  EXPECT_EQ(a.free(Request::kFreePd, foreign_pd), EINVAL);
  EXPECT_EQ(a.free(Request::kFreePd, 12345), EINVAL);
  EXPECT_EQ(a.free(Request::kFreeCq, foreign_cq.number), EINVAL);
  EXPECT_EQ(a.free(Request::kFreeQp, 0), EINVAL);
  EXPECT_EQ(a.free(Request::kFreeSrq, 1), EINVAL);
  EXPECT_EQ(a.free(Request::kFreeMemory, 0x100), EINVAL);
  EXPECT_EQ(a.free(Request::kFreeWindow, 0x100), EINVAL);
  EXPECT_EQ(a.free(Request::kFreeChannel, 3), EINVAL);
  EXPECT_EQ(create_qp([&](auto& q) { q.pd = foreign_pd; }), EINVAL);
  EXPECT_EQ(create_qp([&](auto& q) { q.send_cq = foreign_cq.number; }), EINVAL);
  EXPECT_EQ(create_qp([&](auto& q) { q.receive_cq = foreign_cq.number; }), EINVAL);
  EXPECT_EQ(create_srq([&](auto& q) { q.pd = foreign_pd; }), EINVAL);
  EXPECT_EQ(a.register_memory(foreign_pd, a.local(64), 64, 1).status, EINVAL);
  channel::QpAttributes modify;
  modify.qpn = 0x11;
  EXPECT_EQ(a.modify(modify), EINVAL);
  EXPECT_EQ(a.call(Request::kQueryQp).status, EINVAL);
  EXPECT_EQ(a.call(Request::kQuerySrq).status, EINVAL);
  EXPECT_EQ(a.call(Request::kModifyCq).status, EINVAL);
  EXPECT_EQ(a.call(Request::kModifySrq).status, EINVAL);
  EXPECT_EQ(a.call(Request::kResizeCq).status, EINVAL);
  EXPECT_EQ(a.call(Request::kReregisterMemory).status, EINVAL);
  EXPECT_EQ(a.call(Request::kHello).status, EINVAL);
  EXPECT_EQ(a.call(static_cast<Request>(999)).status, EOPNOTSUPP);
  EXPECT_EQ(objects(), 4u);
}

TEST_F(DriverTest, WhatIsInUseStays) {
  const auto srq = a.create_srq(pd);
  auto asked = a.qp_request(QpType::kRc, pd, cq.number, cq.number);
  asked.has_srq = 1;
  asked.srqn = srq.number;
  const auto qp = a.create_qp(asked);
  const auto key = a.create_mr(pd, a.local(4096), 4096);
  EXPECT_EQ(a.free(Request::kFreeCq, cq.number), EBUSY);
  EXPECT_EQ(a.free(Request::kFreeSrq, srq.number), EBUSY);
  EXPECT_EQ(a.free(Request::kFreePd, pd), EBUSY);
  EXPECT_EQ(a.free(Request::kFreeQp, qp.number), 0);
  EXPECT_EQ(a.free(Request::kFreeCq, cq.number), 0);
  EXPECT_EQ(a.free(Request::kFreePd, pd), EBUSY);
  EXPECT_EQ(a.free(Request::kFreeSrq, srq.number), 0);
  EXPECT_EQ(a.free(Request::kFreeMemory, key), 0);
  EXPECT_EQ(a.free(Request::kFreePd, pd), 0);
  EXPECT_EQ(a.free(Request::kFreePd, pd), EINVAL);
  EXPECT_EQ(objects(), 0u);
}

TEST_F(DriverTest, RingsOutsideTheHeapAreRefused) {  // R2
  const std::size_t before = objects();
  EXPECT_EQ(create_cq([](auto& q) { q.ring = 0; }), EINVAL);
  EXPECT_EQ(create_cq([](auto& q) { q.ring = channel::kHeapOffset - 64; }), EINVAL);
  EXPECT_EQ(create_cq([](auto& q) { q.ring += 32; }), EINVAL);
  EXPECT_EQ(create_cq([](auto& q) { q.ring = channel::kMappingBytes - 64; }), EINVAL);
  EXPECT_EQ(create_cq([](auto& q) { q.ring = ~std::uint64_t{63}; }), EINVAL);
  EXPECT_EQ(create_cq([](auto& q) { q.slots = 0; }), EINVAL);
  EXPECT_EQ(create_cq([](auto& q) { q.slots = 63; }), EINVAL);
  EXPECT_EQ(create_cq([](auto& q) { q.slots = 1u << 31; }), EINVAL);
  EXPECT_EQ(create_cq([](auto& q) { q.channel = 5; }), EINVAL);
  EXPECT_EQ(create_srq([](auto& q) { q.ring = channel::kMappingBytes; }), EINVAL);
  EXPECT_EQ(create_srq([](auto& q) { q.slots = 1; }), EINVAL);
  EXPECT_EQ(create_srq([](auto& q) { q.slots = 1u << 16; }), EINVAL);
  EXPECT_EQ(create_srq([](auto& q) { q.stride = 16; }), EINVAL);
  EXPECT_EQ(create_srq([](auto& q) { q.stride = 96; }), EINVAL);
  EXPECT_EQ(create_srq([](auto& q) { q.stride = 2048; }), EINVAL);
  EXPECT_EQ(create_srq([](auto& q) { q.type = 3; }), EOPNOTSUPP);
  EXPECT_EQ(create_qp([](auto& q) { q.send_stride = 32; }), EINVAL);
  EXPECT_EQ(create_qp([](auto& q) { q.send_stride = 2048; }), EINVAL);
  EXPECT_EQ(create_qp([](auto& q) { q.send_slots = 100; }), EINVAL);
  EXPECT_EQ(create_qp([](auto& q) { q.send_ring = 4096; }), EINVAL);
  EXPECT_EQ(create_qp([](auto& q) { q.receive_stride = 0; }), EINVAL);
  EXPECT_EQ(create_qp([](auto& q) { q.receive_slots = 1u << 20; }), EINVAL);
  EXPECT_EQ(create_qp([](auto& q) { q.receive_ring = 1; }), EINVAL);
  EXPECT_EQ(create_qp([](auto& q) { q.type = 7; }), EOPNOTSUPP);
  EXPECT_EQ(create_qp([](auto& q) { q.has_srq = 1; }), EINVAL);
  EXPECT_EQ(objects(), before);
}

TEST_F(DriverTest, ADoorbellRecordHasOneUserAtATime) {  // R2
  EXPECT_EQ(create_cq([&](auto& q) { q.doorbell = cq.record; }), EINVAL);
  EXPECT_EQ(create_cq([](auto& q) { q.doorbell = channel::kDoorbells; }), EINVAL);
  const auto qp = a.create_qp(QpType::kRc, pd, cq);
  EXPECT_EQ(create_qp([&](auto& q) { q.send_doorbell = qp.send_record; }), EINVAL);
  EXPECT_EQ(create_qp([&](auto& q) { q.receive_doorbell = qp.receive_record; }), EINVAL);
  EXPECT_EQ(create_srq([&](auto& q) { q.doorbell = qp.receive_record; }), EINVAL);
  EXPECT_EQ(a.free(Request::kFreeQp, qp.number), 0);
  EXPECT_EQ(create_qp([&](auto& q) { q.send_doorbell = qp.send_record; }), 0);
  EXPECT_EQ(create_srq([&](auto& q) { q.doorbell = qp.receive_record; }), 0);
}

// R7: what the MPT entry of a region says.
TEST_F(DriverTest, ARegionHasThePagesOfItsMapping) {
  const auto entry = [&](std::uint64_t address, std::uint64_t iova, std::uint32_t page_shift) {
    const auto reply = a.call(Request::kRegisterMemory, [&](auto& b) {
      b.memory = {};
      b.memory.pd = pd;
      b.memory.access = 0xf;
      b.memory.address = address;
      b.memory.iova = iova;
      b.memory.length = 4u << 20;
      b.memory.page_shift = page_shift;
    });
    EXPECT_EQ(reply.status, 0);
    return lab.memories[0]->load<MptEntry>(mpt_address(Key{reply.body.memory.lkey}));
  };
  const std::uint64_t base = TestPrograms::kLocalBase;  // aligned to 2 MiB and more
  const auto page = [&](const MptEntry& e, std::uint64_t n) {
    return lab.memories[0]->load<std::uint64_t>(BusAddress{e.mtt_base} + 8 * n);
  };
  const MptEntry small = entry(base, base, 12);
  EXPECT_EQ(small.page_shift, 12);
  EXPECT_EQ(page(small, 1023) - page(small, 0), 1023u << 12);
  const MptEntry huge = entry(base + 0x1000, base + 0x1000, 21);
  EXPECT_EQ(huge.page_shift, 21);
  EXPECT_EQ(page(huge, 0) & 0xffff'ffff'ffff, base);
  EXPECT_EQ(page(huge, 2) - page(huge, 0), std::uint64_t{2} << 21) << "4 MiB from the middle of a page: three pages";
  EXPECT_EQ(entry(base, 0, 21).page_shift, 21) << "zero based";
  EXPECT_EQ(entry(base + 0x10000, 0, 21).page_shift, 16) << "zero based within a page: what lies alike";
  EXPECT_EQ(entry(base, base ^ 0x1000, 30).page_shift, 12);
}

TEST_F(DriverTest, RegionsAreChecked) {
  const auto address = a.local(8192);
  const auto status = [&](auto change) {
    channel::Memory m;
    m.pd = pd;
    m.access = 0xf;
    m.address = m.iova = address;
    m.length = 8192;
    change(m);
    return a.call(Request::kRegisterMemory, [&](auto& b) { b.memory = m; }).status;
  };
  EXPECT_EQ(status([](auto&) {}), 0);
  EXPECT_EQ(status([](auto& m) { m.length = 0; }), 0);
  EXPECT_EQ(status([](auto& m) { m.access = 0; }), 0);
  EXPECT_EQ(status([](auto& m) { m.access = kRemoteRead; }), 0);
  EXPECT_EQ(status([](auto& m) { m.access = kRemoteWrite; }), EINVAL);
  EXPECT_EQ(status([](auto& m) { m.access = kRemoteAtomic; }), EINVAL);
  EXPECT_EQ(status([](auto& m) { m.access = kRemoteAtomic | kLocalWrite; }), 0);
  EXPECT_EQ(status([](auto& m) { m.access |= 1u << 20; }), 0);      // relaxed ordering
  EXPECT_EQ(status([](auto& m) { m.access |= 1u << 8; }), EINVAL);  // flush
  EXPECT_EQ(status([](auto& m) { m.access |= 1u << 31; }), EINVAL);
  EXPECT_EQ(status([](auto& m) { m.iova = 0x1000; }), 0);
  EXPECT_EQ(status([](auto& m) { m.iova += 8; }), EINVAL);
  EXPECT_EQ(status([](auto& m) { m.page_shift = 34; }), 0);
  EXPECT_EQ(status([](auto& m) { m.page_shift = 11; }), EINVAL);
  EXPECT_EQ(status([](auto& m) { m.page_shift = 35; }), EINVAL);
  EXPECT_EQ(status([](auto& m) { m.page_shift = 0xffffffff; }), EINVAL);
  EXPECT_EQ(status([](auto& m) { m.iova = ~std::uint64_t{4095}; }), EINVAL);
  EXPECT_EQ(status([](auto& m) { m.address = m.iova = ProgramMemory::kShared; }), EINVAL);
  EXPECT_EQ(status([](auto& m) { m.length = ProgramMemory::kShared; }), EINVAL);
  EXPECT_EQ(status([](auto& m) { m.length = std::numeric_limits<std::uint64_t>::max(); }), EINVAL);
  EXPECT_EQ(status([](auto& m) { m.address = m.iova = 0, m.length = std::uint64_t{1} << 40; }), ENOMEM);
  EXPECT_EQ(status([](auto& m) { m.pd = 0; }), EINVAL);
}

TEST_F(DriverTest, AZeroBasedRegionHasThePagesOfItsMemory) {
  const auto address = a.local(3 * 4096) + 777;
  const auto status = [&](std::uint64_t iova) {
    return a.call(Request::kRegisterMemory, [&](auto& b) {
      b.memory = {};
      b.memory.pd = pd;
      b.memory.access = kLocalWrite | kAccessZeroBased;
      b.memory.address = address;
      b.memory.length = 4096;
      b.memory.iova = iova;
    });
  };
  EXPECT_EQ(status(address).status, EINVAL);
  const auto made = status(0);
  ASSERT_EQ(made.status, 0);
  const auto entry = lab.memories[0]->load<MptEntry>(mpt_address(Key{made.body.memory.lkey}));
  EXPECT_EQ(entry.va, 0u);
  EXPECT_EQ(entry.access, kLocalWrite | kZeroBased);
  const auto at = [&](std::uint64_t va) {
    const auto page = lab.memories[0]->load<std::uint64_t>(BusAddress{mtt_entry_address(entry, va)});
    return bus_address_in_page(entry, page, va);
  };
  for (const std::uint64_t va : {0u, 3318u, 3319u, 4095u}) EXPECT_EQ(at(va), program_address(a.id, address + va));
}

channel::Message allocate_device_memory(Program& by, std::uint64_t bytes) {
  return by.call(Request::kAllocateDeviceMemory, [&](auto& b) { b.device_memory = {0, 0, 0, bytes, 0}; });
}

TEST_F(DriverTest, ARegionOfDeviceMemoryHasItsPages) {
  const std::uint32_t padding = allocate_device_memory(a, 3 * 4096 + 64).body.device_memory.number;
  const std::uint32_t number = allocate_device_memory(a, 10'000).body.device_memory.number;
  const auto register_it = [&](Program& by, std::uint64_t offset, std::uint64_t bytes, std::uint32_t access) {
    return by.call(Request::kRegisterMemory, [&](auto& b) {
      b.memory = {};
      b.memory.pd = pd;
      b.memory.access = access;
      b.memory.address = offset;
      b.memory.length = bytes;
      b.memory.device_memory = number;
    });
  };
  constexpr std::uint32_t kZeroBasedWrite = kLocalWrite | kAccessZeroBased;
  EXPECT_EQ(register_it(a, 0, 10'000, kLocalWrite).status, EINVAL) << "not zero-based";
  EXPECT_EQ(register_it(a, 1, 10'000, kZeroBasedWrite).status, EINVAL);
  EXPECT_EQ(register_it(a, 10'001, 0, kZeroBasedWrite).status, EINVAL);
  EXPECT_EQ(register_it(other, 0, 10'000, kZeroBasedWrite).status, EINVAL);
  const auto made = register_it(a, 100, 9'900, kZeroBasedWrite);
  ASSERT_EQ(made.status, 0);
  const std::uint32_t key = made.body.memory.lkey;
  const auto entry = lab.memories[0]->load<MptEntry>(mpt_address(Key{key}));
  for (const std::uint64_t va : {0u, 3931u, 3932u, 9899u}) {
    const auto page = lab.memories[0]->load<std::uint64_t>(BusAddress{mtt_entry_address(entry, va)});
    EXPECT_EQ(bus_address_in_page(entry, page, va), icm::kDeviceMemory + (3 * 4096 + 64 + 100 + va));
  }
  EXPECT_EQ(a.free(Request::kFreeDeviceMemory, number), EBUSY) << "it has a region";
  const auto again = a.call(Request::kReregisterMemory, [&](auto& b) {
    b.memory = {};
    b.memory.lkey = key;
    b.memory.rereg_flags = kReregAccess;
  });
  EXPECT_EQ(again.status, EOPNOTSUPP);
  EXPECT_EQ(a.free(Request::kFreeMemory, key), 0);
  EXPECT_EQ(a.free(Request::kFreeDeviceMemory, number), 0);
  EXPECT_EQ(a.free(Request::kFreeDeviceMemory, number), EINVAL);
  EXPECT_EQ(a.free(Request::kFreeDeviceMemory, padding), 0);
}

TEST_F(DriverTest, DeviceMemoryIsCopiedToAndFrom) {
  allocate_device_memory(other, 64);
  const std::uint32_t number = allocate_device_memory(a, 1000).body.device_memory.number;
  const std::uint64_t from = a.local(1000), to = a.local(1000);
  for (std::size_t n = 0; n < 1000; ++n) a.bytes(from)[n] = static_cast<std::uint8_t>(n * 7 + 1);
  const auto copy = [&](Program& by, Request way, std::uint64_t offset, std::uint64_t length, std::uint64_t program) {
    return by.call(way, [&](auto& b) { b.device_memory = {number, 0, offset, length, program}; }).status;
  };
  EXPECT_EQ(copy(a, Request::kCopyToDevice, 0, 1000, from), 0);
  EXPECT_EQ(copy(a, Request::kCopyFromDevice, 400, 600, to), 0);
  EXPECT_EQ(std::memcmp(a.bytes(to), a.bytes(from) + 400, 600), 0);
  EXPECT_EQ(a.bytes(to)[600], 0);
  EXPECT_EQ(copy(a, Request::kCopyToDevice, 2, 4, from), EINVAL) << "offset";
  EXPECT_EQ(copy(a, Request::kCopyToDevice, 0, 3, from), EINVAL) << "length";
  EXPECT_EQ(copy(a, Request::kCopyFromDevice, 4, 1000, to), EFAULT) << "beyond its end";
  EXPECT_EQ(copy(a, Request::kCopyFromDevice, ~std::uint64_t{3}, 8, to), EFAULT) << "a sum that wraps";
  EXPECT_EQ(copy(other, Request::kCopyFromDevice, 0, 8, other.local(8)), EINVAL) << "another program's";
  EXPECT_EQ(copy(a, Request::kCopyToDevice, 0, 8, 0), EFAULT);
  EXPECT_EQ(copy(a, Request::kCopyToDevice, 0, 8, std::uint64_t{1} << 46), EFAULT) << "not mapped";
  EXPECT_EQ(copy(a, Request::kCopyFromDevice, 0, 8, std::uint64_t{1} << 46), EFAULT) << "not mapped";
  EXPECT_EQ(copy(a, Request::kCopyToDevice, 0, 0, 0), 0);
  const std::size_t left = objects();
  a.close();
  ASSERT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == 1; }));
  EXPECT_LT(objects(), left);
  EXPECT_EQ(allocate_device_memory(other, 131072 - 64).status, 0) << "its memory is free again";
}

std::int32_t allocate_window(Program& by, std::uint32_t pd, std::uint32_t type, std::uint32_t* rkey = nullptr) {
  const auto reply = by.call(Request::kAllocateWindow, [&](auto& b) { b.window = {pd, type, 0}; });
  if (rkey != nullptr) *rkey = reply.body.window.rkey;
  return reply.status;
}

TEST_F(DriverTest, AWindowIsNotBoundWhenItIsAllocated) {
  EXPECT_EQ(allocate_window(a, pd, 0), EINVAL);
  EXPECT_EQ(allocate_window(a, pd, 3), EINVAL);
  EXPECT_EQ(allocate_window(a, other.create_pd(), 1), EINVAL);
  std::uint32_t one = 0, two = 0;
  ASSERT_EQ(allocate_window(a, pd, kWindowType1, &one), 0);
  ASSERT_EQ(allocate_window(a, pd, kWindowType2, &two), 0);
  EXPECT_NE(one >> 8, two >> 8);
  const auto entry = lab.memories[0]->load<MptEntry>(mpt_address(Key{two}));
  EXPECT_EQ(entry.key, two);
  EXPECT_EQ(entry.kind, MemoryKind::kWindow2);
  EXPECT_EQ(entry.pd, pd);
  EXPECT_EQ(entry.invalidated, 1);
  EXPECT_EQ(a.free(Request::kFreePd, pd), EBUSY);
  EXPECT_EQ(other.free(Request::kFreeWindow, one), EINVAL);
  EXPECT_EQ(a.free(Request::kFreeMemory, one), EINVAL) << "no region";
  EXPECT_EQ(a.free(Request::kFreeWindow, one), 0);
  EXPECT_EQ(a.free(Request::kFreeWindow, one), EINVAL);
  EXPECT_EQ(a.free(Request::kFreeWindow, two), 0);
  EXPECT_EQ(lab.memories[0]->load<MptEntry>(mpt_address(Key{two})).valid, 0);
  EXPECT_EQ(a.free(Request::kFreePd, pd), 0);
}

TEST_F(DriverTest, WindowsOfAClientGoWithItBeforeTheirRegions) {
  const std::uint32_t region = a.create_mr(pd, a.local(4096), 4096, kLocalWrite | kAccessBindWindow);
  std::uint32_t window = 0;
  ASSERT_EQ(allocate_window(a, pd, kWindowType1, &window), 0);
  auto entry = lab.memories[0]->load<MptEntry>(mpt_address(Key{window}));  // as the NIC binds it
  entry.invalidated = 0;
  entry.bound_to = region;
  lab.memories[0]->store(mpt_address(Key{window}), entry);
  entry = lab.memories[0]->load<MptEntry>(mpt_address(Key{region}));
  entry.windows = 1;
  lab.memories[0]->store(mpt_address(Key{region}), entry);
  EXPECT_EQ(a.free(Request::kFreeMemory, region), EBUSY);
  EXPECT_EQ(a.free(Request::kFreeMemory, region), EBUSY) << "it can be tried again";
  const std::size_t left = objects() - 4;
  a.close();
  ASSERT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == 1; }));
  EXPECT_EQ(objects(), left);
  EXPECT_EQ(lab.memories[0]->load<MptEntry>(mpt_address(Key{region})).valid, 0);
}

TEST_F(DriverTest, AWindowThatAPeerHasInvalidatedDoesNotKeepItsRegion) {
  const std::uint32_t region = a.create_mr(pd, a.local(4096), 4096, kLocalWrite | kAccessBindWindow);
  std::uint32_t windows[3];
  for (std::uint32_t& window : windows) {
    ASSERT_EQ(allocate_window(a, pd, kWindowType2, &window), 0);
    auto entry = lab.memories[0]->load<MptEntry>(mpt_address(Key{window}));  // as the translator invalidates it
    entry.bound_to = region;
    lab.memories[0]->store(mpt_address(Key{window}), entry);
  }
  auto entry = lab.memories[0]->load<MptEntry>(mpt_address(Key{region}));
  entry.windows = 3;
  lab.memories[0]->store(mpt_address(Key{region}), entry);
  EXPECT_EQ(a.free(Request::kFreeMemory, region), 0);
  for (const std::uint32_t window : windows) EXPECT_EQ(a.free(Request::kFreeWindow, window), 0);
}

TEST_F(DriverTest, KeysAndNumbersAreNotReusedSoon) {  // R3
  std::set<std::uint32_t> keys, numbers;
  const auto address = a.local(64);
  for (int i = 0; i < 200; ++i) {
    const auto key = a.create_mr(pd, address, 64);
    EXPECT_NE(key & 0xff, 0u);
    EXPECT_GT(key >> 8, 1u);
    EXPECT_TRUE(keys.insert(key).second);
    EXPECT_EQ(a.free(Request::kFreeMemory, key), 0);
    const auto qp = a.create_qp(a.qp_request(QpType::kRc, pd, cq.number, cq.number, 2));
    EXPECT_GT(qp.number, 0x10u);
    EXPECT_TRUE(numbers.insert(qp.number).second);
    EXPECT_EQ(a.free(Request::kFreeQp, qp.number), 0);
  }
}

TEST_F(DriverTest, AnUnusedNumberTakesItsTurn) {
  NumberPool pool(5, 7);
  std::set<std::uint32_t> used;
  const auto take = [&] { return pool.take(used.size(), [&](std::uint32_t n) { return used.contains(n); }); };
  for (const std::uint32_t expected : {5u, 6u, 7u, 5u}) EXPECT_EQ(take(), expected);
  used = {6, 7};
  EXPECT_EQ(take(), 5u);
  used = {5, 6, 7};
  EXPECT_FALSE(take());
}

TEST_F(DriverTest, TheWindowOfNumbersGrowsWithThoseInUse) {
  NumberPool pool(1, 1'000'000);
  std::set<std::uint32_t> used;
  const auto take = [&] { return *pool.take(used.size(), [&](std::uint32_t n) { return used.contains(n); }); };
  std::uint32_t largest = 0;
  for (int i = 0; i < 10'000; ++i) largest = std::max(largest, take());
  EXPECT_EQ(largest, NumberPool::kLeastWindow);
  for (int i = 0; i < 5000; ++i) used.insert(take());
  EXPECT_EQ(used.size(), 5000u);
  for (int i = 0; i < 20'000; ++i) largest = std::max(largest, take());
  EXPECT_EQ(largest, 10'000u);
}

// What is made and destroyed leaves nothing behind.
TEST_F(DriverTest, MemoryDoesNotGrowWithWhatWasMadeBefore) {
  const auto address = a.local(64);
  const auto asked = a.qp_request(QpType::kRc, pd, cq.number, cq.number, 2);
  const auto make = [&](std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) {
      ASSERT_EQ(a.free(Request::kFreeMemory, a.create_mr(pd, address, 64)), 0);
      ASSERT_EQ(a.free(Request::kFreeQp, a.create_qp(asked).number), 0);
    }
  };
  make(NumberPool::kLeastWindow);
  const std::size_t bytes = lab.memories[0]->tables_bytes();
  make(NumberPool::kLeastWindow);
  EXPECT_EQ(lab.memories[0]->tables_bytes(), bytes);
}

TEST_F(DriverTest, FreeRangesAreJoined) {
  RangePool pool(100);
  const auto first = pool.take(40), second = pool.take(40), third = pool.take(20);
  EXPECT_EQ(*first + 40, *second);
  EXPECT_FALSE(pool.take(1));
  pool.give_back(*first, 40);
  pool.give_back(*third, 20);
  EXPECT_FALSE(pool.take(41));
  pool.give_back(*second, 40);
  EXPECT_EQ(pool.take(100), 0u);
}

TEST_F(DriverTest, ALargeRangeIsWhereThatBeforeWasThoughSmallOnesStay) {
  constexpr std::uint64_t kLarge = RangePool::kLargeBytes;
  RangePool pool(4 * kLarge);
  const auto large = pool.take(kLarge);
  EXPECT_EQ(large, 3 * kLarge);
  EXPECT_EQ(pool.take(8), 0u);
  pool.give_back(*large, kLarge);
  EXPECT_EQ(pool.take(kLarge - 8), 8u) << "not large";
  EXPECT_EQ(pool.take(kLarge), large);
  EXPECT_FALSE(pool.take(3 * kLarge));
  EXPECT_EQ(pool.take(2 * kLarge), kLarge);
  EXPECT_FALSE(pool.take(1));
  pool.give_back(*large, kLarge);
  pool.give_back(0, 8);
  EXPECT_EQ(pool.take(8), 0u);
}

TEST_F(DriverTest, OfSeveralFreeRangesTheHighestThatFitsHasALargeOne) {
  constexpr std::uint64_t kLarge = RangePool::kLargeBytes;
  RangePool pool(6 * kLarge);
  EXPECT_EQ(pool.take(2 * kLarge), 4 * kLarge);
  EXPECT_EQ(pool.take(2 * kLarge), 2 * kLarge);
  pool.give_back(4 * kLarge, 2 * kLarge);
  EXPECT_EQ(pool.take(kLarge), 5 * kLarge);
  EXPECT_EQ(pool.take(kLarge + 1), kLarge - 1) << "one byte is missing in the highest";
  EXPECT_EQ(pool.take(kLarge), 4 * kLarge);
  EXPECT_FALSE(pool.take(kLarge));
  pool.give_back(4 * kLarge, kLarge);
  EXPECT_EQ(pool.take(kLarge), 4 * kLarge) << "a range that was taken as a whole comes back as one";
}

TEST_F(DriverTest, ReregistrationChangesWhatIsAsked) {
  const auto address = a.local(8192);
  const auto key = a.create_mr(pd, address, 4096, kLocalWrite);
  const auto second_pd = a.create_pd();
  channel::Memory m;
  m.lkey = key;
  m.rereg_flags = kReregPd | kReregAccess;
  m.pd = second_pd;
  m.access = kRemoteWrite;
  const auto rereg = [&] { return a.call(Request::kReregisterMemory, [&](auto& b) { b.memory = m; }).status; };
  EXPECT_EQ(rereg(), EINVAL);
  EXPECT_EQ(a.free(Request::kFreePd, pd), EBUSY);
  m.access = kRemoteWrite | kLocalWrite;
  EXPECT_EQ(rereg(), 0);
  EXPECT_EQ(a.free(Request::kFreePd, second_pd), EBUSY);
  EXPECT_EQ(a.free(Request::kFreePd, pd), 0);
  m.rereg_flags = kReregTranslation;
  m.address = m.iova = address + 4096;
  m.length = 100;
  EXPECT_EQ(rereg(), 0);
  const auto entry = lab.memories[0]->load<MptEntry>(mpt_address(Key{key}));
  EXPECT_EQ(entry.key, key);
  EXPECT_EQ(entry.va, address + 4096);
  EXPECT_EQ(entry.length, 100u);
  EXPECT_EQ(entry.pd, second_pd);
  EXPECT_EQ(entry.access, kRemoteWrite | kLocalWrite);
  EXPECT_EQ(lab.memories[0]->load<std::uint64_t>(BusAddress{entry.mtt_base}),
            raw(program_address(a.id, address + 4096)));
  m.rereg_flags = 0;
  EXPECT_EQ(rereg(), EINVAL);
}

TEST_F(DriverTest, AFreedRegionIsGone) {
  const auto key = a.create_mr(pd, a.local(4096), 4096);
  EXPECT_EQ(a.free(Request::kFreeMemory, key), 0);
  EXPECT_EQ(lab.memories[0]->load<MptEntry>(mpt_address(Key{key})).valid, 0);
}

TEST_F(DriverTest, ModifyFollowsTheStateThatTheQpIsIn) {
  const auto qp = a.create_qp(QpType::kRc, pd, cq);
  EXPECT_EQ(a.state(qp), QpState::kReset);
  EXPECT_EQ(a.to_state(qp, QpState::kError), EINVAL);
  EXPECT_EQ(a.modify(Program::to_rtr(qp, QpType::kRc, 1, 0x11)), EINVAL);
  EXPECT_EQ(a.modify(Program::to_init(qp, QpType::kRc)), 0);
  auto rtr = Program::to_rtr(qp, QpType::kRc, 1, 0x11);
  rtr.path.destination_gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 0, 1};
  EXPECT_EQ(a.modify(rtr), EHOSTUNREACH);
  rtr.path.destination_gid[12] = 0xe0;  // multicast
  EXPECT_EQ(a.modify(rtr), EINVAL);
  rtr.path.destination_gid = nic_gids(1)[0].bytes;  // IPv6 from an IPv4 address
  EXPECT_EQ(a.modify(rtr), EINVAL);
  EXPECT_EQ(a.state(qp), QpState::kInit);
  EXPECT_EQ(a.modify(Program::to_rtr(qp, QpType::kRc, 1, 0x11)), 0);
  const auto found = a.query(qp);
  EXPECT_EQ(found.path_mtu, 3u);
  EXPECT_EQ(found.remote_qpn, 0x11u);
  EXPECT_EQ(found.path.destination_mac, nic_mac(1));
  EXPECT_EQ(found.access, 0xfu);
  EXPECT_EQ(a.to_state(qp, QpState::kError), 0);
  EXPECT_EQ(a.modify(Program::to_rts(qp, QpType::kRc)), EINVAL);
  EXPECT_EQ(a.to_state(qp, QpState::kReset), 0);
  EXPECT_EQ(a.query(qp).path_mtu, 0u);
}

TEST_F(DriverTest, AResetQpIsAsItWasCreated) {
  const auto qp = a.create_qp(QpType::kUd, pd, cq);
  const auto context = [&]() -> StoredQpContext {
    const QpContext* const here = context_cache_of(*lab.nics[0]).find(Qpn{qp.number});
    if (here != nullptr) return *here;
    return lab.memories[0]->load<StoredQpContext>(qp_context_address(Qpn{qp.number}));
  };
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(a.modify(Program::to_init(qp, QpType::kUd)), 0);
    EXPECT_EQ(a.modify(Program::to_rtr(qp, QpType::kUd, 1, 0)), 0);
    EXPECT_EQ(a.modify(Program::to_rts(qp, QpType::kUd)), 0);
    EXPECT_EQ(context().mtu, 4096);  // the port's
    EXPECT_EQ(context().qkey, 0x1111'1111u);
    EXPECT_EQ(a.to_state(qp, QpState::kReset), 0);
    EXPECT_EQ(context().state, QpState::kReset);
    EXPECT_EQ(context().qkey, 0u);
  }
}

TEST_F(DriverTest, GidsResolve) {                                   // attributes.h R3
  constexpr std::uint8_t kRoceV1 = 0, kLinkLocal = 1, kMapped = 2;  // own GIDs
  const auto mac_of = [&](const GidBytes& gid, std::uint8_t source) {
    const auto reply = a.call(Request::kResolve, [&](auto& b) {
      b.resolve = {};
      b.resolve.path.destination_gid = gid;
      b.resolve.path.source_gid_index = source;
    });
    return std::pair{reply.status, reply.body.resolve.path.destination_mac};
  };
  for (const std::uint8_t gid : {kRoceV1, kLinkLocal, kMapped}) {
    EXPECT_EQ(mac_of(nic_gids(1)[gid].bytes, gid), (std::pair{0, nic_mac(1)}));
  }
  EXPECT_EQ(mac_of(nic_gids(1)[0].bytes, 3).first, EINVAL);
  EXPECT_EQ(mac_of(nic_gids(1)[0].bytes, 200).first, EINVAL);
  EXPECT_EQ(mac_of(nic_gids(5)[0].bytes, kLinkLocal), (std::pair{0, nic_mac(5)}));  // the MAC in it, which no NIC has
  EXPECT_EQ(mac_of(nic_gids(5)[2].bytes, kMapped).first, EHOSTUNREACH);
  EXPECT_EQ(mac_of({}, kMapped).first, EHOSTUNREACH);
  const GidBytes ipv4_group{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 0x81, 2, 3};
  const GidBytes ipv6_group{0xff, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4};
  EXPECT_EQ(mac_of(ipv4_group, kMapped), (std::pair{0, Mac{1, 0, 0x5e, 1, 2, 3}}));
  EXPECT_EQ(mac_of(ipv6_group, kLinkLocal), (std::pair{0, Mac{0x33, 0x33, 1, 2, 3, 4}}));
  // No IP header has addresses of both kinds; RoCEv1 has GIDs.
  EXPECT_EQ(mac_of(nic_gids(1)[kMapped].bytes, kLinkLocal).first, EINVAL);
  EXPECT_EQ(mac_of(nic_gids(1)[kLinkLocal].bytes, kMapped).first, EINVAL);
  EXPECT_EQ(mac_of(ipv4_group, kLinkLocal).first, EINVAL);
  EXPECT_EQ(mac_of(ipv6_group, kMapped).first, EINVAL);
  EXPECT_EQ(mac_of(nic_gids(1)[kMapped].bytes, kRoceV1), (std::pair{0, nic_mac(1)}));
}

TEST_F(DriverTest, AServiceLevelHasFourBits) {
  for (const auto& [level, status] : {std::pair<std::uint8_t, std::int32_t>{15, 0}, {16, EINVAL}, {255, EINVAL}}) {
    const auto reply = a.call(Request::kResolve, [&, level = level](auto& b) {
      b.resolve = {};
      b.resolve.path.destination_gid = nic_gids(1)[2].bytes;
      b.resolve.path.source_gid_index = 2;
      b.resolve.path.service_level = level;
    });
    EXPECT_EQ(reply.status, status) << int{level};
  }
}

TEST_F(DriverTest, AGroupHasSeveralQps) {
  const auto qp = a.create_qp(QpType::kUd, pd, cq), second = a.create_qp(QpType::kUd, pd, cq);
  const auto rc = a.create_qp(QpType::kRc, pd, cq);
  const GidBytes group{0xff, 0x12, 1};
  const auto ask = [&](Request type, const Program::Qp& q, const GidBytes& gid) {
    return a.call(type, [&](auto& b) { b.multicast = {q.number, gid}; }).status;
  };
  EXPECT_EQ(ask(Request::kAttachMulticast, rc, group), EINVAL);
  EXPECT_EQ(ask(Request::kAttachMulticast, qp, nic_gids(0)[0].bytes), EINVAL);
  EXPECT_EQ(ask(Request::kAttachMulticast, qp, group), 0);
  EXPECT_EQ(ask(Request::kAttachMulticast, qp, group), 0);
  EXPECT_EQ(ask(Request::kDetachMulticast, second, group), EINVAL);
  EXPECT_EQ(ask(Request::kAttachMulticast, second, group), 0);
  EXPECT_EQ(a.free(Request::kFreeQp, qp.number), EBUSY);
  EXPECT_EQ(ask(Request::kDetachMulticast, qp, group), 0);
  EXPECT_EQ(ask(Request::kDetachMulticast, qp, group), EINVAL);
  EXPECT_EQ(a.free(Request::kFreeQp, qp.number), 0);
  EXPECT_EQ(a.free(Request::kFreeQp, second.number), EBUSY) << "it is in the group still";
  EXPECT_EQ(ask(Request::kDetachMulticast, second, group), 0);
  EXPECT_EQ(a.free(Request::kFreeQp, second.number), 0);
}

TEST_F(DriverTest, LimitsAreOfANic) {
  const std::uint32_t most = lab.own_port.attributes.max_pds;
  for (std::uint32_t n = 1; n < most; ++n) ASSERT_NE(a.create_pd(), 0u);
  EXPECT_EQ(a.call(Request::kAllocatePd).status, ENOMEM);
  EXPECT_EQ(other.call(Request::kAllocatePd).status, ENOMEM);
  Program elsewhere(lab, 1);
  EXPECT_NE(elsewhere.create_pd(), 0u);
}

TEST_F(DriverTest, ACompletionChannelIsTheOneOfItsClient) {
  EXPECT_EQ(a.free(Request::kCreateChannel, 0), EINVAL);
  EXPECT_EQ(a.free(Request::kCreateChannel, 4), 0);
  EXPECT_EQ(a.free(Request::kCreateChannel, 4), EINVAL);
  EXPECT_EQ(other.free(Request::kFreeChannel, 4), EINVAL);
  EXPECT_EQ(other.free(Request::kCreateChannel, 4), 0);
  EXPECT_EQ(a.free(Request::kFreeChannel, 4), 0);
}

// programs.h R2. A client that is gone is released only when nothing of it is left, and then another one may have its
// number.
TEST_F(DriverTest, ANumberOfAClientIsUsedAgain) {
  a.create_qp(QpType::kRc, pd, cq);
  a.create_mr(pd, a.local(100), 100);
  a.close();
  std::size_t held = 0;
  EXPECT_TRUE(lab.run_until([&] {
    if (lab.own_port.released_clients.empty()) held = objects();
    return !lab.own_port.released_clients.empty();
  }));
  EXPECT_GT(held, 0u);
  EXPECT_EQ(objects(), 0u);
  EXPECT_EQ(lab.own_port.released_clients, std::vector<ClientId>{a.id});
  lab.own_port.open_status.clear();
  ProgramEvent open;
  open.kind = ProgramEvent::Kind::kOpen;
  open.client = a.id;
  open.nic = a.nic;
  lab.own_port.events.push_back(open);
  EXPECT_TRUE(lab.run_until([&] { return lab.own_port.open_status.contains(a.id); }));
  EXPECT_EQ(lab.own_port.open_status.at(a.id), 0);
  EXPECT_NE(a.create_pd(), 0u);
}

TEST_F(DriverTest, AClosedClientLeavesNothing) {
  const auto srq = other.create_srq(other.create_pd());
  (void)srq;
  const auto qp = a.create_qp(QpType::kUd, pd, cq);
  a.create_mr(pd, a.local(100), 100);
  a.create_srq(pd);
  EXPECT_EQ(a.call(Request::kAttachMulticast, [&](auto& b) { b.multicast = {qp.number, GidBytes{0xff}}; }).status, 0);
  a.close();
  EXPECT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == 1; }));
  EXPECT_EQ(objects(), 2u);
  const auto before = lab.own_port.replies[a.id].size();
  channel::Message late;
  late.type = Request::kAllocatePd;
  a.send(late);
  a.ring(channel::Board::kSend, 0, 1);
  lab.run(1000);
  EXPECT_EQ(lab.own_port.replies[a.id].size(), before);
}

// With a longer WQE the doorbell comes alone: it has the length of any other.
TEST_F(DriverTest, AWqeComesWithItsDoorbellWhenItIsShortEnough) {  // R8
  const std::uint32_t longest = lab.params.requester.doorbell_wqe_bytes;
  for (const std::uint64_t bytes : {std::uint64_t{longest}, std::uint64_t{longest} + 1, std::uint64_t{0xffff'ffff}}) {
    ConnectedPair pair(lab, QpType::kRc, 0, 1);
    pair.b.post_receive(pair.right.qp, pair.right.sge(100));
    pair.b.ring_receive(pair.right.qp);
    lab.run(5'000);
    const auto& counters = lab.nics[0]->requester->counters();
    const std::uint64_t reads = counters.memory_reads;
    pair.a.post_send(pair.left.qp, {.sge = pair.left.sge(100)});
    pair.a.ring_send(pair.left.qp, bytes);
    EXPECT_EQ(pair.a.wait_for(pair.left.cq).status, WcStatus::kSuccess);
    EXPECT_EQ(counters.memory_reads - reads, bytes <= longest ? 1u : 2u) << bytes << ": payload, and WQE";
  }
}

TEST_F(DriverTest, ADoorbellThatPostsSeveralWqesComesAlone) {  // R8
  ConnectedPair pair(lab, QpType::kRc, 0, 1);
  const auto& counters = lab.nics[0]->dma_engine.counters();
  const auto bytes_of_doorbell = [&](std::uint32_t posted) {
    for (std::uint32_t n = 0; n < posted; ++n) {
      pair.b.post_receive(pair.right.qp, pair.right.sge(0));
      pair.a.post_send(pair.left.qp, {.sge = {}});
    }
    pair.b.ring_receive(pair.right.qp);
    lab.run(5'000);
    const std::uint64_t before = counters.doorbells, tlps = counters.tlps_down;
    pair.a.ring_send(pair.left.qp, 250);
    while (counters.doorbells == before) lab.run(1);
    return counters.tlps_down - tlps;
  };
  EXPECT_EQ(bytes_of_doorbell(1), 4u) << "250 bytes in writes of 64";
  EXPECT_EQ(bytes_of_doorbell(2), 1u);
  EXPECT_EQ(bytes_of_doorbell(1), 4u);
}

TEST_F(DriverTest, ManyRequestsAreAnsweredInOrder) {
  channel::Message m;
  for (std::uint32_t i = 0; i < 50; ++i) {
    m.type = i % 2 == 0 ? Request::kReadClock : Request::kAllocatePd;
    m.sequence = i;
    a.send(m);
  }
  const auto& replies = lab.own_port.replies[a.id];
  const std::size_t before = replies.size();
  lab.run_until([&] { return replies.size() == before + 50; });
  ASSERT_EQ(replies.size(), before + 50);
  for (std::uint32_t i = 0; i < 50; ++i) EXPECT_EQ(replies[before + i].sequence, i);
}

TEST_F(DriverTest, ANullRegionIsAnEntryWithoutPages) {  // R15
  const auto null_region = [&](std::uint32_t access, std::uint64_t length, std::uint32_t of_pd) {
    return a.call(Request::kRegisterMemory, [&](auto& b) {
      b.memory = {};
      b.memory.pd = of_pd;
      b.memory.access = access;
      b.memory.length = length;
      b.memory.null_region = 1;
    });
  };
  constexpr std::uint64_t kWhole = ~std::uint64_t{0};
  EXPECT_EQ(null_region(kLocalWrite | kRemoteWrite, kWhole, pd).status, EINVAL) << "it has no rkey";
  EXPECT_EQ(null_region(kLocalWrite, 4096, pd).status, EINVAL);
  EXPECT_EQ(null_region(kLocalWrite, kWhole, other.create_pd()).status, EINVAL);
  const auto made = null_region(kLocalWrite, kWhole, pd);
  ASSERT_EQ(made.status, 0);
  const std::uint32_t key = made.body.memory.lkey;
  EXPECT_EQ(made.body.memory.rkey, 0u);
  EXPECT_EQ(lab.memories[0]->load<MptEntry>(mpt_address(Key{key})).kind, MemoryKind::kNull);
  EXPECT_EQ(a.call(Request::kReregisterMemory,
                   [&](auto& b) {
                     b.memory = {};
                     b.memory.lkey = key;
                     b.memory.rereg_flags = kReregAccess;
                   })
                .status,
            EINVAL);
  EXPECT_EQ(a.free(Request::kFreePd, pd), EBUSY);
  EXPECT_EQ(a.free(Request::kFreeMemory, key), 0);
  EXPECT_EQ(a.free(Request::kFreePd, pd), 0);
}

}  // namespace
}  // namespace rxnic::driver_test
