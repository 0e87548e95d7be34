// SPDX-License-Identifier: Apache-2.0
// A run is recorded and repeated from its record; a record that was changed anywhere is not equal any more.
#include "bridge/rxnic/record/recorded_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <utility>
#include <vector>

#include "testbench/unit/bridge/rxnic/record/recording.h"
#include "testbench/unit/temporary_folder.h"
#include "traces/capture_reader.h"
#include "traces/trace_error.h"

namespace rxnic::recorded_run_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class RepeatedRun : public testing::Test {
 protected:
  void record() { record_pair(folder_); }
  std::string read(const char* name) const {
    std::ifstream in(folder_ + "/" + name, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void write(const char* name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
  }
  RecordedRun replay(EngineMode mode = EngineMode::kFast) const { return replay_recorded_run(folder_, {.mode = mode}); }
  // The first difference, or the refusal, when `text` of the log is replaced once.
  std::string with_log(const std::string& text, const std::string& replacement, std::size_t from = 0) const {
    std::string log = read(kHostLogFile);
    const std::string before = log;
    const std::size_t at = log.find(text, from);
    EXPECT_NE(at, std::string::npos) << text;
    log.replace(at, text.size(), replacement);
    write(kHostLogFile, log);
    const std::string found = outcome();
    write(kHostLogFile, before);
    return found;
  }
  std::string outcome() const {
    try {
      return replay().difference;
    } catch (const TraceError& e) {
      EXPECT_THAT(e.what(), StartsWith(folder_));
      return "refused" + std::string(e.what()).substr(folder_.size());
    }
  }

  std::vector<std::string> lines_of_log() const {
    std::vector<std::string> lines;
    std::istringstream log(read(kHostLogFile));
    for (std::string line; std::getline(log, line);) lines.push_back(line);
    return lines;
  }
  void write_log(const std::vector<std::string>& lines) const {
    std::string log;
    for (const std::string& line : lines) log += line + '\n';
    write(kHostLogFile, log);
  }
  // Two reads of two clients, one behind the other.
  std::vector<HostLogEntry> reads_of_one_cycle() const {
    HostLogReader reader(folder_ + "/" + kHostLogFile);
    std::vector<HostLogEntry> pair(2);
    for (reader.next(pair[1], kHostLogMemory); pair[1].kind != HostLogEntry::Kind::kEnd;) {
      pair[0] = pair[1];
      reader.next(pair[1], kHostLogMemory);
      const auto is_read = [](const HostLogEntry& e) { return e.kind == HostLogEntry::Kind::kRead; };
      if (is_read(pair[0]) && is_read(pair[1]) && pair[0].cycle == pair[1].cycle && pair[0].client != pair[1].client) {
        return pair;
      }
    }
    ADD_FAILURE() << "no two clients' memory was read in one cycle";
    return pair;
  }

  TemporaryFolder temporary_;
  std::string folder_ = temporary_.file(".");
};

TEST_F(RepeatedRun, IsEqualInEveryMode) {
  record();
  for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
    const RecordedRun run = replay(mode);
    EXPECT_EQ(run.difference, "");
    EXPECT_GT(run.events, 20u);
    EXPECT_GT(run.reads, 4u);
    EXPECT_GT(run.writes, 4u);
    EXPECT_GT(run.frames, 5u);
    EXPECT_EQ(run.result.nics.size(), 2u);
    EXPECT_EQ(run.result.cqes, 3u);
    EXPECT_EQ(run.result.one_way_ns.count, 1u);
    EXPECT_FALSE(run.report_compared);
  }
}

// (recorded_programs.h R2)
TEST_F(RepeatedRun, IsEqualInEveryStepOrder) {
  record_side_by_side(folder_);
  reads_of_one_cycle();  // there are some
  using Kind = StepOrder::Kind;
  for (const StepOrder order : {StepOrder{}, {Kind::kReverse, 0}, {Kind::kRandom, 1}, {Kind::kRandom, 2}}) {
    const RecordedRun run = replay_recorded_run(folder_, {.order = order});
    EXPECT_EQ(run.difference, "") << static_cast<int>(order.kind) << " " << order.seed;
    EXPECT_EQ(run.result.cqes, 4u);
  }
}

TEST_F(RepeatedRun, ARecordHoldsTheAccessesOfACycleInAnyOrder) {
  record_side_by_side(folder_);
  const std::vector<HostLogEntry> reads = reads_of_one_cycle();
  std::vector<std::string> lines = lines_of_log();
  std::swap(lines.at(reads[0].line - 1), lines.at(reads[1].line - 1));
  write_log(lines);
  EXPECT_EQ(outcome(), "");
  // One that is missing is named, although those behind it are there.
  lines[reads[0].line - 1] = lines[reads[1].line - 1];
  write_log(lines);
  EXPECT_THAT(outcome(), HasSubstr("recorded (line "));
}

// (recorded_programs.h R5) What stands behind too many lines of a cycle is not looked at.
TEST_F(RepeatedRun, LinesThatComeBeforeTheirAccessesAreBounded) {
  record_side_by_side(folder_);
  const HostLogEntry first = reads_of_one_cycle().front();
  std::vector<std::string> lines = lines_of_log();
  const auto at = lines.begin() + static_cast<std::ptrdiff_t>(first.line - 1);
  const std::string cycle = std::to_string(first.cycle);
  const std::string large = R"({"event":"read","cycle":)" + cycle +
                            R"(,"client":1,"address":"0x1","ok":true,"data":")" +
                            std::string(std::size_t{4} << 20, 'A') + "\"}";
  std::vector<std::string> inserted(2, large);
  inserted.emplace_back(R"({"event":"read","cycle":"none"})");
  lines.insert(at, inserted.begin(), inserted.end());
  write_log(lines);
  EXPECT_THAT(outcome(), HasSubstr(R"("cycle": "none")"));
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(first.line - 1), 6, large);
  write_log(lines);
  EXPECT_THAT(outcome(), HasSubstr("recorded (line " + std::to_string(first.line) + ")"));
}

TEST_F(RepeatedRun, WavesShowThePacketsOfAllNicsAndChangeNothing) {
  record();
  const std::uint64_t hash = replay(EngineMode::kPerCycle).result.state_hash;
  RecordedRunOptions o{.mode = EngineMode::kPerCycle};
  std::string said;
  o.say = [&](const std::string& text) { said += text; };
  o.waves.path = folder_ + "/waves.vcd";
  const RecordedRun run = replay_recorded_run(folder_, o);
  EXPECT_EQ(run.difference, "");
  EXPECT_EQ(run.result.state_hash, hash);
  EXPECT_EQ(said, "");
  const std::string waves = read("waves.vcd");
  EXPECT_THAT(waves, HasSubstr("$scope module nic0 $end"));
  EXPECT_THAT(waves, HasSubstr("$scope module nic1 $end"));
  // Each frame of wire.pcap is a packet of one of the NICs: its number is on a port of it.
  for (std::uint64_t number = 1; number <= run.frames; ++number) {
    o.waves.packet = number;
    EXPECT_EQ(replay_recorded_run(folder_, o).result.state_hash, hash);
    EXPECT_THAT(read("waves.vcd"), Not(HasSubstr("The window is empty."))) << "frame " << number;
  }
  EXPECT_EQ(said, "");
  o.waves.packet = run.frames + 1;
  replay_recorded_run(folder_, o);
  EXPECT_THAT(said, HasSubstr("packet " + std::to_string(run.frames + 1) + " did not come to any NIC"));
}

TEST_F(RepeatedRun, TheWireIsACaptureOfModelTime) {
  record();
  CaptureReader wire(folder_ + "/" + kWireFile);
  std::uint64_t frames = 0;
  for (CapturedFrame f; wire.next(f); ++frames) EXPECT_FALSE(f.truncated);
  EXPECT_EQ(frames, replay().frames);
  EXPECT_EQ(wire.times_clamped(), 0u);
}

TEST_F(RepeatedRun, OtherDataIsADifference) {
  record();
  const std::string log = read(kHostLogFile);
  const std::size_t payload =
      log.find(R"("data":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA)");
  ASSERT_NE(payload, std::string::npos);
  EXPECT_THAT(with_log(R"("data":"AAAA)", R"("data":"AAAB)", payload),
              AnyOf(HasSubstr("other bytes in frame"), HasSubstr("other bytes in a write")));
  EXPECT_THAT(with_log(R"("event":"write","cycle":)", R"("event":"write","cycle":1)"), HasSubstr("cycle"));
  EXPECT_THAT(with_log(R"("ok":true,"digest":"0x)", R"("ok":true,"digest":"0x1)"),
              AnyOf(HasSubstr("other bytes in a write"), HasSubstr("hexadecimal digits")));
}

TEST_F(RepeatedRun, OtherEventsAreADifference) {
  record();
  EXPECT_THAT(with_log(R"("board":"send","index":0,"value":1)", R"("board":"send","index":0,"value":2)"),
              StartsWith("cycle "));
  EXPECT_THAT(with_log(R"("board":"send")", R"("board":"sent")"), HasSubstr("board 'sent'"));
  EXPECT_THAT(with_log(R"("type":"create_qp")", R"("type":"create_pq")"), HasSubstr("type 'create_pq'"));
  EXPECT_THAT(with_log(R"("send_slots":64)", R"("send_slots":-64)"), HasSubstr("send_slots with another value"));
  EXPECT_THAT(with_log(R"("index":0)", R"("index":70000)"), HasSubstr("doorbell 70000"));
}

TEST_F(RepeatedRun, ACutRecordIsRefusedOrDifferent) {
  record();
  const std::string log = read(kHostLogFile), wire = read(kWireFile);
  write(kHostLogFile, log.substr(0, log.size() / 2));
  EXPECT_THAT(outcome(), HasSubstr("host.jsonl:"));
  write(kHostLogFile, log.substr(0, log.rfind("\n{") + 1));
  EXPECT_THAT(outcome(), HasSubstr("found the end of the file"));
  write(kHostLogFile, log);
  write(kWireFile, wire.substr(0, wire.size() - 3));
  EXPECT_THAT(outcome(), HasSubstr("on the wire; recorded: "));
  std::string other = wire;
  other[other.size() - 10] ^= 1;
  write(kWireFile, other);
  EXPECT_THAT(outcome(), HasSubstr("found other bytes in frame"));
  write(kWireFile, wire + wire.substr(24, 16) + std::string(5000, 'x'));
  EXPECT_THAT(outcome(), HasSubstr("found no frame on the wire after frame"));
  write(kWireFile, wire + std::string(40, 'x'));
  EXPECT_THAT(outcome(), HasSubstr("on the wire; recorded: "));
  std::filesystem::remove(folder_ + "/" + kWireFile);
  EXPECT_THAT(outcome(), HasSubstr("wire.pcap"));
}

TEST_F(RepeatedRun, ParametersThatAreNoneAreRefused) {
  record();
  EXPECT_THAT(with_log(R"(link_gbps = 100)", R"(link_gbps = 0)"), HasSubstr("host.jsonl:1: found the parameter"));
  EXPECT_THAT(with_log(R"("nics":2)", R"("nics":0)"), HasSubstr("host.jsonl:1: found 0 NICs"));
  EXPECT_THAT(with_log(R"("nics":2)", R"("nics":1)"), StartsWith("cycle "));
}

// Whatever is done to a record: equal, another run, or a refusal that names the file; and an end.
TEST_F(RepeatedRun, RandomDamageHasAnEnd) {
  const char* const given = std::getenv("RXNIC_SEED");
  const unsigned seed = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : std::random_device()();
  SCOPED_TRACE("RXNIC_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  record();
  const std::string log = read(kHostLogFile);
  const std::size_t header = log.find('\n') + 1;
  unsigned different = 0;
  for (int round = 0; round < 60; ++round) {
    std::string damaged = log;
    const std::size_t at = header + random() % (damaged.size() - header);
    const std::size_t line = damaged.rfind('\n', at) + 1;
    const std::size_t length = damaged.find('\n', at) + 1 - line;
    switch (random() % 4) {
      case 0:  // a digit
        damaged[damaged.find_first_of("0123456789", at)] = static_cast<char>('0' + random() % 10);
        break;
      case 1:
        damaged[at] = static_cast<char>(random());
        break;
      case 2:
        damaged.erase(line, length);
        break;
      default:
        damaged.insert(line, damaged.substr(line, length));
        break;
    }
    write(kHostLogFile, damaged);
    different += outcome().empty() ? 0 : 1;
  }
  EXPECT_GT(different, 20u);
}

}  // namespace
}  // namespace rxnic::recorded_run_test
