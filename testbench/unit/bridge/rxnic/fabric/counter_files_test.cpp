// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/fabric/counter_files.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "model/params/config.h"
#include "testbench/unit/model/engine/harness.h"
#include "testbench/unit/temporary_folder.h"

namespace rxnic::counter_files_test {
namespace {

constexpr const char* kSent = "counters/port_xmit_data";

// Programs whose memory takes every write, and what a program would have read from a file by then.
class Programs final : public ProgramMemory {
 public:
  explicit Programs(std::string file) : file_(std::move(file)) {}
  bool read(ClientId, std::uint64_t, std::span<std::uint8_t>) override { return true; }
  bool write(ClientId, std::uint64_t, std::span<const std::uint8_t>) override {
    seen = text();
    return true;
  }
  std::string text() const {
    std::ifstream file(file_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string seen;

 private:
  std::string file_;
};

struct Fixture {
  Fixture() { memory.watch(folder.file(CountedMemory::kMark)); }
  void show() { memory.show(folder.file("port"), nic, bytes_sent); }
  void write() { memory.write(ClientId{1}, 0, {}); }
  static std::string line(const std::string& number) { return number + std::string(20 - number.size(), ' ') + "\n"; }
  TemporaryFolder folder;
  Bench bench;
  Nic nic{"nic", load_config("tiny", {}), bench.keep<LocalMemory>(), bench.engine(), NicOptions{.requester = true}};
  std::uint64_t bytes_sent = 0;
  Programs programs{folder.file(std::string("port/") + kSent)};
  CountedMemory memory{programs};
};

TEST(CounterFiles, ANumberAndBlanksAreALine) {  // R1
  Fixture f;
  f.show();
  EXPECT_EQ(f.programs.text(), Fixture::line("0"));
  f.bytes_sent = 4 * 1234567890123;
  f.memory.publish();
  EXPECT_EQ(f.programs.text(), Fixture::line("1234567890123"));
  f.bytes_sent = ~std::uint64_t{0};
  f.memory.publish();
  EXPECT_EQ(f.programs.text(), Fixture::line("4611686018427387903"));
}

TEST(CounterFiles, WhoHasLookedFindsTheNumbersOfBeforeAWrite) {  // R3
  Fixture f;
  f.show();
  f.bytes_sent = 4000;
  f.write();
  EXPECT_EQ(f.programs.seen, Fixture::line("0")) << "nobody has looked";
  std::ofstream(f.folder.file(CountedMemory::kMark), std::ios::in | std::ios::out) << '1';
  f.write();
  EXPECT_EQ(f.programs.seen, Fixture::line("1000"));
  f.bytes_sent = 4004;
  f.write();
  EXPECT_EQ(f.programs.seen, Fixture::line("1001"));
}

TEST(CounterFiles, NoneIsLeftWhenOneCannotBeMade) {
  Fixture f;
  std::filesystem::create_directories(f.folder.file("port/hw_counters/out_of_buffer"));
  EXPECT_THROW(f.show(), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(f.folder.file("port/counters")));
  f.write();
}

}  // namespace
}  // namespace rxnic::counter_files_test
