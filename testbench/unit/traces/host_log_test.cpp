// SPDX-License-Identifier: Apache-2.0
#include "traces/host_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace rxnic::host_log_test {
namespace {

using Kind = HostLogEntry::Kind;
constexpr HostLogKinds kEverything = kHostLogEvents | kHostLogMemory;

HostLogHeader header() {
  return {2,
          "198.18.0.1",
          7,
          {"ibv_rc_pingpong", "-g", "2"},
          "tiny",
          {"nic.link_gbps=50"},
          "[nic]\nlink_gbps = 50 # \"\\\"\n"};
}

std::vector<std::uint8_t> bytes(std::size_t count) {
  std::vector<std::uint8_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint8_t>(i * 7);
  return out;
}

class HostLog : public testing::Test {
 protected:
  HostLog() : path_(testing::TempDir() + "host_log_" + std::to_string(::getpid()) + ".jsonl") {}
  ~HostLog() override { std::filesystem::remove(path_); }

  // A log of one of each.
  void write() {
    HostLogWriter log(path_, header());
    log.open(0, 1, 1, 4711, "ibv_\"rc\"\n");
    log.request(3, 1, "create_cq", R"({"slots":64})");
    log.doorbell(5, 1, "send", 12, 0x1234567890abcdef);
    log.read(7, 1, 0x7fff12345678, bytes(100), true);
    log.read(7, 1, 0x1000, bytes(5), false, true);
    log.written(9, 1, 0x800000000040, bytes(64), true);
    log.written(9, 1, 0x2000, bytes(3), false);
    log.disconnect(11, 1);
    log.end(20, 6, 1);
    log.close();
  }
  std::string content() const {
    std::ifstream in(path_, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void replace(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  std::vector<HostLogEntry> read(HostLogKinds kinds = kEverything) const {
    HostLogReader reader(path_);
    std::vector<HostLogEntry> out;
    do reader.next(out.emplace_back(), kinds);
    while (out.back().kind != Kind::kEnd);
    return out;
  }
  std::string refusal() const {
    try {
      read();
    } catch (const TraceError& e) {
      return std::string(e.what()).substr(path_.size());
    }
    return "none";
  }
  // The refusal when line `number` (from 1) is `line`, or is missing.
  std::string refusal_with(std::size_t number, const std::string& line) {
    write();
    std::istringstream in(content());
    std::string all;
    std::string one;
    for (std::size_t n = 1; std::getline(in, one); ++n) all += (n == number ? line : one) + "\n";
    replace(all);
    return refusal();
  }

  std::string path_;
};

TEST_F(HostLog, ALineWithoutAnEndIsRefusedAtItsBound) {  // R5
  const auto of_length = [this](std::size_t length) {
    replace(R"({"event":")" + std::string(length - 10, 'a'));
    return refusal();
  };
  EXPECT_THAT(of_length(kHostLogLineBytes), testing::StartsWith(":1: found no event"));
  EXPECT_EQ(of_length(kHostLogLineBytes + 1), ":1: found a line of more than 16777216 bytes; expected a shorter one");
  EXPECT_THAT(refusal_with(3, std::string(kHostLogLineBytes + 1, ' ')),
              testing::StartsWith(":3: found a line of more"));
}

TEST_F(HostLog, EveryFieldComesBack) {
  write();
  HostLogReader reader(path_);
  const HostLogHeader h = reader.header();
  EXPECT_EQ(h.nics, 2u);
  EXPECT_EQ(h.first_address, "198.18.0.1");
  EXPECT_EQ(h.seed, 7u);
  EXPECT_EQ(h.program, header().program);
  EXPECT_EQ(h.config, "tiny");
  EXPECT_EQ(h.overrides, header().overrides);
  EXPECT_EQ(h.params, header().params);

  const std::vector<HostLogEntry> e = read();
  ASSERT_EQ(e.size(), 9u);
  EXPECT_EQ(e[0].kind, Kind::kOpen);
  EXPECT_EQ(e[0].line, 2u);
  EXPECT_EQ(e[0].client, 1u);
  EXPECT_EQ(e[0].nic, 1u);
  EXPECT_EQ(e[0].pid, 4711u);
  EXPECT_EQ(e[0].program, "ibv_\"rc\"\n");
  EXPECT_EQ(e[1].kind, Kind::kRequest);
  EXPECT_EQ(e[1].cycle, 3u);
  EXPECT_EQ(e[1].type, "create_cq");
  EXPECT_EQ(e[1].body.at("slots"), 64);
  EXPECT_EQ(e[2].kind, Kind::kDoorbell);
  EXPECT_EQ(e[2].board, "send");
  EXPECT_EQ(e[2].index, 12u);
  EXPECT_EQ(e[2].value, 0x1234567890abcdefu);
  EXPECT_EQ(e[3].kind, Kind::kRead);
  EXPECT_EQ(e[3].address, 0x7fff12345678u);
  EXPECT_TRUE(e[3].ok);
  EXPECT_EQ(e[3].bytes, 100u);
  EXPECT_EQ(e[3].data, bytes(100));
  EXPECT_FALSE(e[4].ok);
  EXPECT_TRUE(e[4].gone);
  EXPECT_EQ(e[4].bytes, 5u);
  EXPECT_TRUE(e[4].data.empty());
  EXPECT_EQ(e[5].kind, Kind::kWrite);
  EXPECT_EQ(e[5].bytes, 64u);
  EXPECT_EQ(e[5].digest, digest_of(bytes(64)));
  EXPECT_TRUE(e[5].ok);
  EXPECT_FALSE(e[6].ok);
  EXPECT_EQ(e[7].kind, Kind::kClose);
  EXPECT_EQ(e[8].cycle, 20u);
  EXPECT_EQ(e[8].reads, 2u);
  EXPECT_EQ(e[8].writes, 2u);
  EXPECT_EQ(e[8].frames, 6u);
  EXPECT_EQ(e[8].cqes, 1u);
  std::uint64_t digest = digest_of_write(0, 9, 1, 0x800000000040, 64, digest_of(bytes(64)), true);
  digest = digest_of_write(digest, 9, 1, 0x2000, 3, digest_of(bytes(3)), false);
  EXPECT_EQ(e[8].digest, digest);
}

TEST_F(HostLog, OnlyTheKindsThatWereAskedForCome) {
  write();
  EXPECT_EQ(read(kHostLogEvents).size(), 5u);
  EXPECT_EQ(read(kHostLogMemory).size(), 5u);
  EXPECT_EQ(read(0).size(), 1u);
}

TEST_F(HostLog, EveryByteOfAWriteCounts) {
  std::vector<std::uint8_t> data = bytes(37);
  const std::uint64_t digest = digest_of(data);
  for (auto& byte : data) {
    ++byte;
    EXPECT_NE(digest_of(data), digest);
    --byte;
  }
  EXPECT_NE(digest_of(Bytes(data).first(36)), digest);
}

TEST_F(HostLog, ALogWithoutItsEndIsRefused) {
  EXPECT_EQ(refusal_with(10, ""), ":10: found an empty line; expected a JSON object whose first key is \"event\"");
  write();
  const std::string whole = content();
  const std::size_t last = whole.rfind("\n{");
  replace(whole.substr(0, last + 1));
  EXPECT_EQ(refusal(), ":10: found the end of the file; expected an event: a complete log ends with \"end\"");
  replace(whole.substr(0, last + 40));
  EXPECT_EQ(refusal(), ":10: found no JSON object, or one that is cut off; expected one JSON object a line");
  replace(whole + "{\"event\":\"end\"}\n");
  EXPECT_EQ(refusal(), ":11: found a line after the end; expected none");
}

TEST_F(HostLog, EachFaultNamesItsLine) {
  const std::pair<const char*, const char*> faults[] = {
      {"garbage", ":4: found no event; expected a JSON object whose first key is \"event\""},
      {R"({"event":"dorbell"})", ":4: found event \"dorbell\"; expected open, request"},
      {R"({"event":"doorbell"})", ":4: found no key \"cycle\"; expected one"},
      {R"({"event":"doorbell","cycle":2,"client":1})", ":4: found cycle 2; expected one from 3 on"},
      {R"({"event":"doorbell","cycle":-5,"client":1})", ":4: found \"cycle\": -5; expected an integer from 0 to"},
      {R"({"event":"doorbell","cycle":4.5,"client":1})", ":4: found \"cycle\": 4.5; expected an integer"},
      {R"({"event":"doorbell","cycle":5,"client":0})", ":4: found \"client\": 0; expected a number from 1 on"},
      {R"({"event":"doorbell","cycle":5,"client":16384})",
       ":4: found \"client\": 16384; expected an integer from 0 to"},
      {R"({"event":"doorbell","cycle":5,"client":1,"board":4})",
       ":4: found \"board\" of another type; expected a string"},
      {R"({"event":"read","cycle":5,"client":1,"address":"0x1","ok":1})",
       ":4: found \"ok\" of another type; expected true"},
      {R"({"event":"request","cycle":5,"client":1,"type":"x","body":[]})",
       ":4: found \"body\" of another type; expected"},
      {R"({"event":"read","cycle":5,"client":1,"address":"0x","ok":true})",
       ":4: found \"address\": \"0x\"; expected 0x"},
      {R"({"event":"read","cycle":5,"client":1,"address":"12","ok":true})",
       ":4: found \"address\": \"12\"; expected 0x"},
      {R"({"event":"read","cycle":5,"client":1,"address":"0x1","ok":true,"data":"abc"})",
       ":4: found \"data\" in another form; expected base64"},
      {R"({"event":"read","cycle":5,"client":1,"address":"0x1","ok":false,"bytes":4})",
       ":4: found no key \"gone\"; expected one"},
      {R"({"event":"write","cycle":5,"client":1,"address":"0x1","ok":true,"bytes":4,"digest":7})",
       ":4: found \"digest\" of another type; expected a string"},
  };
  for (const auto& [line, expected] : faults) EXPECT_THAT(refusal_with(4, line), testing::StartsWith(expected));
}

TEST_F(HostLog, AnotherFormatOrVersionIsRefused) {
  EXPECT_THAT(refusal_with(1, R"({"event":"open"})"), testing::StartsWith(":1: found an event; expected a header"));
  EXPECT_THAT(refusal_with(1, R"({"event":"header","format":"other"})"),
              testing::StartsWith(":1: found format \"other\"; expected rxnic.host_log"));
  EXPECT_THAT(refusal_with(1, R"({"event":"header","format":"rxnic.host_log","version":1})"),
              testing::StartsWith(":1: found version 1; expected version 8"));
  replace("");
  EXPECT_EQ(refusal(), ":1: found an empty file; expected a header");
  std::filesystem::remove(path_);
  EXPECT_EQ(refusal(), ": found No such file or directory; expected the log of a recorded run");
}

// Whatever happens to a log: entries or a TraceError, and nothing else.
TEST_F(HostLog, RandomDamageEndsInEntriesOrARefusal) {
  const char* const given = std::getenv("RXNIC_SEED");
  const unsigned seed = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : std::random_device()();
  SCOPED_TRACE("RXNIC_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  write();
  const std::string whole = content();
  unsigned refused = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = whole;
    for (unsigned n = random() % 4 + 1; n > 0; --n) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 4) {
        case 0:
          damaged[at] = static_cast<char>(random());
          break;
        case 1:
          damaged[at] = static_cast<char>(damaged[at] ^ 1 << random() % 8);
          break;
        case 2:
          damaged.erase(at, random() % 40);
          break;
        default:
          damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 40));
          break;
      }
    }
    replace(damaged);
    refused += refusal() != "none" ? 1 : 0;
  }
  EXPECT_GT(refused, 500u);
}

// (R6) The end stands behind the last cycle that is complete; what came after it is left out.
TEST_F(HostLog, ACutLogEndsWithItsLastWholeCycle) {
  {
    HostLogWriter log(path_, header());
    log.open(0, 1, 1, 4711, "program");
    log.written(9, 1, 0x2000, bytes(3), true);
    log.read(9, 1, 0x1000, bytes(5), true);
    log.written(11, 1, 0x3000, bytes(4), true);
    EXPECT_TRUE(log.cut("No space left on device"));
    log.close();
  }
  EXPECT_TRUE(is_cut_host_log(path_));
  const std::vector<HostLogEntry> e = read();
  ASSERT_EQ(e.size(), 4u);
  EXPECT_EQ(e[2].kind, Kind::kRead);
  EXPECT_EQ(e[3].cut, "No space left on device");
  EXPECT_EQ(e[3].cycle, 9u);
  EXPECT_EQ(e[3].reads, 1u);
  EXPECT_EQ(e[3].writes, 1u);
  EXPECT_EQ(e[3].digest, digest_of_write(0, 9, 1, 0x2000, 3, digest_of(bytes(3)), true));
  write();
  EXPECT_FALSE(is_cut_host_log(path_));
}

TEST_F(HostLog, AFullDiskIsSaid) {
  EXPECT_THROW(
      {
        HostLogWriter log("/dev/full", header());
        log.close();
      },
      TraceError);
}

}  // namespace
}  // namespace rxnic::host_log_test
