// SPDX-License-Identifier: Apache-2.0
// The rules are those of bridge/driver/nic_memory.h.
#include "bridge/driver/nic_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "model/system/kernel.h"
#include "model/types/context.h"

namespace rxnic::nic_memory_test {
namespace {

struct Programs final : ProgramMemory {
  struct Access {
    bool write;
    ClientId client;
    std::uint64_t address;
    std::size_t bytes;
    bool operator==(const Access&) const = default;
  };
  bool read(ClientId client, std::uint64_t address, std::span<std::uint8_t> to) override {
    log.push_back({false, client, address, to.size()});
    return mapped && address != hole;
  }
  void read_all(std::span<const Read> reads) override {
    together.push_back(reads.size());
    ProgramMemory::read_all(reads);
  }
  bool exists(ClientId) override { return alive; }
  bool write(ClientId client, std::uint64_t address, std::span<const std::uint8_t> from) override {
    log.push_back({true, client, address, from.size()});
    return mapped;
  }
  std::vector<Access> log;
  std::vector<std::size_t> together;  // reads, by call of read_all()
  bool mapped = true, alive = true;
  std::uint64_t hole = ~std::uint64_t{0};
};

struct Observer final : ProgramObserver {
  void on_read(Cycle, ClientId, std::uint64_t, std::span<const std::uint8_t>, bool ok, bool is_gone) override {
    ++reads;
    failed += !ok;
    gone += is_gone;
  }
  void on_write(Cycle, ClientId, std::uint64_t, std::span<const std::uint8_t>, bool ok) override {
    ++writes;
    failed += !ok;
  }
  int reads = 0, writes = 0, failed = 0, gone = 0;
};

class NicMemoryTest : public testing::Test {
 protected:
  Kernel kernel;
  Engine engine{"engine", {}};
  Programs programs;
  Observer observer;
  NicMemory memory{engine, programs, &observer};
  std::array<std::uint8_t, 64> bytes{};
};

TEST_F(NicMemoryTest, TablesAreItsOwn) {  // R1
  EXPECT_EQ(memory.load<std::uint64_t>(icm::kMpt + 64), 0u);
  memory.store(icm::kMpt + 64, std::uint64_t{42});
  EXPECT_EQ(memory.load<std::uint64_t>(icm::kMpt + 64), 42u);
  for (const BusAddress table : {icm::kQpContexts, icm::kMtt, icm::kTagOverflow, BusAddress{~std::uint64_t{4095}}}) {
    EXPECT_TRUE(memory.write(table, bytes));
  }
  EXPECT_TRUE(programs.log.empty());
  EXPECT_EQ(observer.reads + observer.writes, 0);
}

TEST_F(NicMemoryTest, ProgramsAreFoundByTheirClient) {  // R2, R3
  const ClientId first{1}, last{0x3fff};
  EXPECT_TRUE(memory.read(program_address(first, 0x7fff'ffff'f000), bytes));
  EXPECT_TRUE(memory.write(program_address(last, ProgramMemory::kShared | 4096), bytes));
  const std::vector<Programs::Access> expected = {{false, first, 0x7fff'ffff'f000, 64},
                                                  {true, last, ProgramMemory::kShared | 4096, 64}};
  EXPECT_EQ(programs.log, expected);
  EXPECT_EQ(observer.reads, 1);
  EXPECT_EQ(observer.writes, 1);
  EXPECT_EQ(observer.failed, 0);
  programs.mapped = false;
  EXPECT_FALSE(memory.read(program_address(first, 0), bytes));
  EXPECT_FALSE(memory.write(program_address(first, 0), bytes));
  EXPECT_EQ(observer.failed, 2);
}

TEST_F(NicMemoryTest, NoRangeReachesTheNextClient) {  // R2
  const BusAddress end = program_address(ClientId{2}, 0);
  EXPECT_TRUE(memory.read(BusAddress{raw(end) - 64}, bytes));
  EXPECT_FALSE(memory.read(BusAddress{raw(end) - 63}, bytes));
  EXPECT_FALSE(memory.write(BusAddress{raw(end) - 1}, bytes));
  EXPECT_EQ(programs.log.size(), 1u);
}

class LateReads : public NicMemoryTest {
 protected:
  using Together = std::vector<std::size_t>;
  void read_later(std::uint64_t address, bool& result) {
    memory.read_later(program_address(one, address), bytes, result);
  }
  const ClientId one{1}, two{2};
  std::array<bool, NicMemory::kMostLate> ok{};
};

TEST_F(LateReads, AreCarriedOutTogetherWhenTheyAreSettled) {  // R5, R3
  programs.hole = 0x2000;
  for (std::size_t n = 0; n < 3; ++n) read_later(0x1000 * (n + 1), ok[n]);
  EXPECT_TRUE(programs.log.empty());
  memory.settle();
  memory.settle();
  EXPECT_EQ(programs.together, Together{3});
  EXPECT_EQ(ok[0], true);
  EXPECT_EQ(ok[1], false);
  EXPECT_EQ(ok[2], true);
  EXPECT_EQ(observer.reads, 3);
  EXPECT_EQ(observer.failed, 1);
}

TEST_F(LateReads, SeeNoWriteThatFollowsThem) {  // R5
  read_later(0x1000, ok[0]);
  memory.write(program_address(one, 0x1000 - bytes.size()), bytes);
  memory.write(program_address(one, 0x1000 + bytes.size()), bytes);
  memory.write(program_address(two, 0x1000), bytes);
  EXPECT_TRUE(programs.together.empty()) << "none of these is of its bytes";
  memory.write(program_address(one, 0x1000 + bytes.size() - 1), bytes);
  EXPECT_EQ(programs.together, Together{1});
  EXPECT_FALSE(programs.log[3].write) << "the read comes first";
  read_later(0x1000, ok[0]);
  memory.write(program_address(one, 0x1001 - bytes.size()), bytes);
  EXPECT_EQ(programs.together, (Together{1, 1}));
}

TEST_F(LateReads, AreNeverMoreThanSoMany) {  // R5
  for (bool& result : ok) read_later(0x1000, result);
  EXPECT_EQ(programs.together, Together{NicMemory::kMostLate});
}

TEST_F(LateReads, OfTablesAndOfMappingsAreNotLate) {  // R5, R2
  memory.read_later(icm::kMpt, bytes, ok[0]);
  read_later(ProgramMemory::kShared | 4096, ok[1]);
  EXPECT_TRUE(ok[0] && ok[1]);
  memory.read_later(BusAddress{raw(program_address(two, 0)) - 63}, bytes, ok[0]);
  EXPECT_FALSE(ok[0]) << "across the end of a client";
  memory.settle();
  EXPECT_TRUE(programs.together.empty());
}

TEST_F(LateReads, OfAProgramThatHasEndedFailAndItsMemoryIsGone) {  // R4
  const BusAddress at = program_address(one, 0x1000);
  bytes.fill(7);
  programs.mapped = programs.alive = false;
  ok[0] = true;
  read_later(0x1000, ok[0]);
  EXPECT_FALSE(memory.gone(at)) << "not read yet";
  memory.settle();
  EXPECT_FALSE(ok[0]);
  EXPECT_TRUE(memory.gone(at));
  EXPECT_EQ(bytes[63], 7) << "nothing is made up";
  EXPECT_FALSE(memory.gone(program_address(two, 0x1000)));
  EXPECT_FALSE(memory.gone(icm::kMpt));
  EXPECT_TRUE(memory.write(at, bytes)) << "without effect";
  EXPECT_FALSE(memory.read(at, bytes));
  EXPECT_EQ(observer.failed, 2);
  EXPECT_EQ(observer.gone, 2);
  // The number is another program's now.
  programs.alive = true;
  EXPECT_FALSE(memory.read(at, bytes));
  EXPECT_FALSE(memory.gone(at));
  EXPECT_EQ(observer.gone, 2);
  // And so on for a write that fails.
  programs.alive = false;
  EXPECT_FALSE(memory.read(at, bytes));
  EXPECT_TRUE(memory.gone(at));
  programs.alive = true;
  EXPECT_FALSE(memory.write(at, bytes));
  EXPECT_FALSE(memory.gone(at));
}

}  // namespace
}  // namespace rxnic::nic_memory_test
