// SPDX-License-Identifier: Apache-2.0
// Stages beside the simulation, with and without threads, and what a replay writes with either.
#include "bridge/rxnic/capture/stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bridge/rxnic/annotate/packet_notes.h"
#include "bridge/rxnic/capture/frames_ahead.h"
#include "bridge/rxnic/capture/replay.h"
#include "bridge/rxnic/report/report.h"
#include "testbench/unit/temporary_folder.h"
#include "traces/capture_writer.h"
#include "traces/sample_trace.h"

namespace rxnic::stage_test {
namespace {

const std::string kSample = RXNIC_SOURCE_DIR "/traces/sample.pcap";
constexpr int kMany = 10000;

class Stages : public testing::TestWithParam<bool> {};  // with threads
INSTANTIATE_TEST_SUITE_P(Threads, Stages, testing::Bool(),
                         [](const auto& threads) { return threads.param ? "Threads" : "OneThread"; });

TEST_P(Stages, ItemsThatAreMadeAheadComeInTheirOrder) {  // R1
  int made = 0;
  Ahead<int> ahead(
      [&made](int& item) {
        if (made == kMany) return false;
        item = made++;
        return true;
      },
      GetParam());
  int item = -1;
  for (int n = 0; n < kMany; ++n) {
    ASSERT_TRUE(ahead.next(item));
    ASSERT_EQ(item, n);
  }
  EXPECT_FALSE(ahead.next(item));
  EXPECT_FALSE(ahead.next(item)) << "the end stays the end";
}

TEST_P(Stages, AnErrorAheadComesBehindWhatWasMadeBefore) {  // R4
  int made = 0;
  Ahead<int> ahead(
      [&made](int& item) -> bool {
        if (made == 3) throw std::runtime_error("no fourth one");
        item = made++;
        return true;
      },
      GetParam());
  int item = -1;
  for (int n = 0; n < 3; ++n) {
    ASSERT_TRUE(ahead.next(item));
    ASSERT_EQ(item, n);
  }
  EXPECT_THROW(ahead.next(item), std::runtime_error);
}

TEST_P(Stages, WhatIsMadeAheadNeedNotBeTaken) {  // R4
  Ahead<int> ahead([](int& item) { return ++item > 0; }, GetParam());
  int item = 0;
  EXPECT_TRUE(ahead.next(item));
}

TEST_P(Stages, ItemsThatAreGivenAreUsedInTheirOrder) {  // R1, R3
  std::vector<int> used;
  Behind<std::vector<int>> behind(
      [&used](std::vector<int>& item) {
        used.insert(used.end(), item.begin(), item.end());
        item.clear();
      },
      GetParam());
  std::vector<int> item;
  for (int n = 0; n < kMany; ++n) {
    item.push_back(n);
    if (n % 7 != 0) continue;
    behind.add(item);
    ASSERT_TRUE(item.empty()) << "one comes back that was used";
  }
  behind.add(item);
  behind.finish();
  std::vector<int> all(kMany);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(used, all);
}

TEST_P(Stages, AnErrorBehindComesOutOfALaterCall) {  // R4
  int used = 0;
  Behind<int> behind(
      [&used](int&) {
        if (++used == 2) throw std::runtime_error("the second one");
      },
      GetParam());
  const auto give = [&behind] {
    for (int n = 0; n < kMany; ++n) behind.add(n);
    behind.finish();
  };
  EXPECT_THROW(give(), std::runtime_error);
  EXPECT_EQ(used, 2) << "nothing is used behind the error";
}

// A capture in memory with so many frames of so many bytes.
std::string capture_of(const std::string& path, std::size_t frames, std::size_t bytes) {
  CaptureWriter writer(path, LinkLayer::kEthernet);
  std::vector<std::uint8_t> frame(bytes);
  for (std::size_t n = 0; n < frames; ++n) {
    frame[n % bytes] = static_cast<std::uint8_t>(n);
    writer.write(n * 1000, frame);
  }
  writer.close();
  return path;
}

TEST_P(Stages, FramesAreThoseOfTheReader) {
  const TemporaryFolder folder;
  for (const std::size_t bytes : {std::size_t{60}, std::size_t{9000}, std::size_t{200'000}}) {
    const std::string path = capture_of(folder.file("c.pcap"), 700, bytes);
    CaptureReader plain(path), ahead(path);
    FramesAhead frames(
        ahead, [&ahead](FrameAhead& frame) { return ahead.next(frame); }, GetParam());
    std::size_t compared = 0;
    for (CapturedFrame expected; plain.next(expected); ++compared) {
      const FrameAhead* const frame = frames.next();
      ASSERT_NE(frame, nullptr);
      ASSERT_EQ(frame->number, expected.number);
      ASSERT_EQ(frame->time_ps, expected.time_ps);
      ASSERT_TRUE(std::ranges::equal(frame->bytes, expected.bytes)) << "frame " << frame->number;
    }
    EXPECT_EQ(compared, 700u);
    EXPECT_EQ(frames.next(), nullptr);
    EXPECT_EQ(frames.next(), nullptr);
  }
}

TEST_P(Stages, ATraceErrorComesBehindTheFramesBeforeIt) {
  const TemporaryFolder folder;
  CaptureReader reader(capture_of(folder.file("c.pcap"), 700, 60));
  const auto next = [&reader](FrameAhead& frame) {
    if (reader.frames() == 600) throw TraceError("c.pcap", 601, "damage", "none");
    return reader.next(frame);
  };
  FramesAhead frames(reader, next, GetParam());
  for (std::uint64_t n = 1; n <= 600; ++n) {
    const FrameAhead* const frame = frames.next();
    ASSERT_NE(frame, nullptr);
    ASSERT_EQ(frame->number, n);
  }
  EXPECT_THROW(frames.next(), TraceError);
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Written {
  std::string report, responses;
  std::size_t answers = 0;  // compared, as the notes have them
  bool operator==(const Written&) const = default;
};

Written write(const std::string& trace, const std::string& receiver, bool threads, std::uint64_t limit) {
  const TemporaryFolder folder;
  PacketNotes notes;
  ReplayOptions o;
  o.trace = trace;
  o.receiver = receiver;
  o.config = "nic_100g_gen3";
  o.responses_path = folder.file("responses.pcap");
  o.responses_limit = limit;
  o.notes = &notes;
  o.threads = threads;
  Written w;
  w.report = report_json(replay(o));
  w.responses = contents(o.responses_path);
  notes.sort();
  w.answers = notes.answers(0, ~std::uint64_t{0}).size();
  return w;
}

TEST(Replay, ThreadsWriteWhatOneThreadWrites) {
  std::size_t answers = 0;
  for (const std::string receiver : {"10.0.0.1", "10.0.0.2"}) {
    for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{200}}) {
      const Written threads = write(kSample, receiver, true, limit);
      EXPECT_EQ(threads, write(kSample, receiver, false, limit)) << receiver;
      EXPECT_GT(threads.responses.size(), 24u);
      answers += threads.answers;
    }
  }
  EXPECT_GT(answers, 20u);
}

// As a full disk, for the stage that writes while the simulation goes on.
TEST(Replay, AnAnswerThatCannotBeWrittenEndsTheRun) {
  for (const bool threads : {false, true}) {
    ReplayOptions o;
    o.trace = kSample;
    o.config = "nic_100g_gen3";
    o.responses_path = "/dev/full";
    o.threads = threads;
    EXPECT_THROW(replay(o), TraceError) << threads;
  }
}

}  // namespace
}  // namespace rxnic::stage_test
