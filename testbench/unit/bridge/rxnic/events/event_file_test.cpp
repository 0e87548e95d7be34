// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/events/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <stdexcept>

namespace rxnic::event_file_test {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

class EventFile : public testing::Test {
 protected:
  EventFile() : path_(testing::TempDir() + "events_" + std::to_string(getpid())) {}
  ~EventFile() override { std::filesystem::remove(path_); }
  std::string bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  static std::vector<std::uint64_t> rows(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> all(count * columns_of(EventTable::kActivityChanges));
    for (std::uint64_t& n : all) n = random() >> random() % 64;
    return all;
  }

  const std::string path_;
};

TEST_F(EventFile, GivesBackWhatWasWritten) {
  const std::vector<std::uint64_t> some = rows(1000, 7);
  const std::vector<std::uint64_t> bounds = {0, kMost, 1, kMost, 0, kMost - 1, std::uint64_t{1} << 63, 0, 0};
  {
    EventWriter writer(path_, {{"name", "value"}}, 0);
    writer.write(EventTable::kActivityChanges, some);
    writer.write(EventTable::kCounters, bounds);
    writer.write(EventTable::kPackets, {});
    writer.close({{"cycles", 12}});
  }
  EventReader reader(path_);
  EXPECT_EQ(reader.description()["name"], "value");
  for (int time = 0; time < 2; ++time) {
    ASSERT_TRUE(reader.next());
    EXPECT_EQ(reader.table(), EventTable::kActivityChanges);
    ASSERT_EQ(reader.rows(), 1000u);
    for (std::size_t n = 0; n < reader.rows(); ++n) {
      const ActivityRow row = reader.row<ActivityRow>(n);
      ASSERT_THAT((std::vector{row.from, row.block, row.activity}), testing::ElementsAreArray(some.data() + 3 * n, 3));
    }
    ASSERT_TRUE(reader.next());
    EXPECT_EQ(reader.table(), EventTable::kCounters);
    ASSERT_EQ(reader.rows(), 3u);
    EXPECT_EQ(reader.row<CounterRow>(0).counter, kMost);
    EXPECT_EQ(reader.row<CounterRow>(2).at, std::uint64_t{1} << 63);
    EXPECT_FALSE(reader.next());
    EXPECT_EQ(reader.end()["cycles"], 12);
    EXPECT_EQ(reader.end()["rows"]["counters"], 3);
    reader.rewind();
  }
}

TEST_F(EventFile, EndsAtItsLimitAndSaysWhatIsLeftOut) {
  const auto left_out = [this](std::uint64_t limit) {
    EventWriter writer(path_, nlohmann::ordered_json::object(), limit);
    for (std::uint64_t n = 0; n < 4; ++n) writer.write(EventTable::kActivityChanges, rows(100, n));
    writer.write(EventTable::kCounters, std::vector<std::uint64_t>{1, 2, 3});
    writer.close({});
    EXPECT_EQ(writer.is_full(), writer.left_out() != 0);
    std::uint64_t found = 0;
    EventReader reader(path_);
    while (reader.next()) found += reader.rows();
    EXPECT_EQ(found + writer.left_out(), 401u) << limit;
    EXPECT_EQ(reader.end()["left_out"]["counters"], writer.left_out() == 0 ? 0 : 1) << limit;  // no gap
    return writer.left_out();
  };
  EXPECT_EQ(left_out(0), 0u);
  std::uint64_t least = 1, most = 1 << 20;  // the smallest limit that leaves nothing out
  while (least < most) {
    const std::uint64_t middle = (least + most) / 2;
    (left_out(middle) == 0 ? most : least) = left_out(middle) == 0 ? middle : middle + 1;
  }
  EXPECT_GT(least, 400u);
  EXPECT_EQ(left_out(least), 0u);
  EXPECT_EQ(left_out(least - 1), 1u);
  EXPECT_EQ(left_out(1), 401u);
}

TEST_F(EventFile, OfAFileThatEndsTooSoonTheWholeChunksAreRead) {
  {
    EventWriter writer(path_, nlohmann::ordered_json::object(), 0);
    for (std::uint64_t n = 0; n < 3; ++n) writer.write(EventTable::kActivityChanges, rows(50, n));
    writer.close({});
  }
  const std::string whole = bytes();
  std::uint64_t most = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    try {
      EventReader reader(path_);
      std::uint64_t found = 0;
      while (reader.next()) found += reader.rows();
      EXPECT_EQ(found % 50, 0u);
      EXPECT_TRUE(reader.end().is_null());
      most = std::max(most, found);
    } catch (const std::invalid_argument& e) {
      EXPECT_EQ(most, 0u) << size << ": " << e.what();
      EXPECT_THAT(e.what(), testing::HasSubstr(path_ + ": byte "));
    }
  }
  EXPECT_EQ(most, 150u);
}

TEST_F(EventFile, AFileThatIsNoneIsRefusedWithThePlace) {
  const auto refusal = [this] {
    try {
      EventReader reader(path_);
      while (reader.next()) continue;
    } catch (const std::invalid_argument& e) {
      return std::string(e.what()).substr(path_.size());
    }
    return std::string("read");
  };
  EXPECT_THAT(refusal(), testing::HasSubstr("No such file or directory; expected the events of a run"));
  write("something else");
  EXPECT_EQ(refusal(), ": byte 0: found another beginning; expected 'rxnic events 1'");
  write("rxnic events 7\n");
  EXPECT_EQ(refusal(), ": byte 0: found version 7; expected 'rxnic events 1'");
  write(std::string(kEventMagic));
  EXPECT_EQ(refusal(), ": byte 15: found no description; expected one as the first chunk");

  {
    EventWriter writer(path_, nlohmann::ordered_json::object(), 0);
    writer.write(EventTable::kActivityChanges, rows(50, 3));
    writer.close({});
  }
  const std::string whole = bytes();
  std::uint64_t refused = 0;
  for (std::size_t at = kEventMagic.size(); at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(~changed[at]);
    write(changed);
    const std::string said = refusal();
    EXPECT_TRUE(said == "read" || said.find("; expected ") != std::string::npos) << at << said;
    refused += said != "read";
  }
  EXPECT_GT(refused, 10u);
}

// Text that is no UTF-8 is replaced; what is nested deeper than what is written is refused, however deep.
TEST_F(EventFile, NamesMayBeAnythingAndNothingIsDeep) {
  {
    EventWriter writer(path_, {{"trace", "caf\xe9.pcap"}}, 0);
    writer.close({{"why", "\xff"}});
  }
  EventReader reader(path_);
  EXPECT_EQ(reader.description()["trace"], "caf\xef\xbf\xbd.pcap");
  nlohmann::ordered_json deep = 1;
  for (int n = 0; n < 1000; ++n) deep = nlohmann::ordered_json::array({std::move(deep)});
  { EventWriter(path_, {{"deep", deep}}, 0).close({}); }
  EXPECT_THROW(EventReader{path_}, std::invalid_argument);
  { EventWriter(path_, nlohmann::ordered_json::object(), 0).close({{"deep", deep}}); }
  EventReader other(path_);
  EXPECT_THROW(other.next(), std::invalid_argument);
}

TEST_F(EventFile, AFullDiskIsNamed) {
  EXPECT_THROW(
      {
        std::filesystem::create_symlink("/dev/full", path_);
        EventWriter writer(path_, nlohmann::ordered_json::object(), 0);
        for (std::uint64_t n = 0; n < 200; ++n) writer.write(EventTable::kActivityChanges, rows(1000, n));
        writer.close({});
      },
      std::runtime_error);
}

}  // namespace
}  // namespace rxnic::event_file_test
