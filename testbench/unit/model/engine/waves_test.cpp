// SPDX-License-Identifier: Apache-2.0
#include "model/engine/waves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "model/types/event.h"
#include "model/types/tag_operation.h"
#include "model/types/wire_frame.h"
#include "testbench/unit/model/engine/harness.h"
#include "testbench/unit/model/engine/vcd_reader.h"
#include "testbench/unit/temporary_folder.h"

namespace rxnic::waves_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

constexpr std::uint32_t kPeriodPs = 1000;

class WavesTest : public testing::Test {
 protected:
  TemporaryFolder folder;
  std::string path = folder.file("waves.vcd");
};

// Two events of a source; the sink takes nothing before cycle 40.
class TwoEvents : public WavesTest {
 protected:
  TwoEvents() {
    Bench bench(EngineMode::kPerCycle, kPeriodPs);
    auto& source = bench.add<Source<Event>>("source");
    auto& sink = bench.add<Sink<Event>>("sink");
    bench.connect(source.out, sink.in, 2);
    sink.stall(Cycle{0}, Cycle{40});
    for (const std::uint32_t n : {5u, 6u, 7u}) source.push(Cycle{10}, {EventType::kCqError, n});
    Waves waves(bench.engine(), path);
    bench.run();
    waves.finish();
    EXPECT_FALSE(waves.empty());
    signals = read_vcd(path);
  }
  std::map<std::string, Changes> signals;
};

TEST_F(TwoEvents, ActivityIsText) {  // (R1)
  EXPECT_EQ(signals.at("source.activity"), (Changes{{0, "starved"}, {10000, "blocked"}, {41000, "starved"}}));
  EXPECT_EQ(signals.at("sink.activity"),
            (Changes{{0, "starved"}, {11000, "blocked"}, {40000, "busy"}, {43000, "starved"}}));
}

TEST_F(TwoEvents, AnOutputIsValidAsItPassesAndReadyWhileThereIsRoom) {  // (R2)
  EXPECT_EQ(signals.at("source.link0_valid_o"),
            (Changes{{0, "0"}, {10000, "1"}, {11000, "0"}, {41000, "1"}, {42000, "0"}}));
  EXPECT_EQ(signals.at("source.link0_more"), (Changes{{0, "0"}, {10000, "1"}, {11000, "0"}}));
  EXPECT_EQ(signals.at("source.link0_ready_i"), (Changes{{0, "1"}, {11000, "0"}, {41000, "1"}}));
}

TEST_F(TwoEvents, AnInputIsValidWhileOfferedAndReadyAsItTakes) {  // (R2)
  EXPECT_EQ(signals.at("sink.link0_valid_i"), (Changes{{0, "0"}, {11000, "1"}, {43000, "0"}}));
  EXPECT_EQ(signals.at("sink.link0_ready_o"), (Changes{{0, "0"}, {40000, "1"}, {43000, "0"}}));
  EXPECT_EQ(signals.at("sink.link0_occupancy"), (Changes{{0, "0"}, {11000, "10"}, {41000, "1"}, {43000, "0"}}));
}

TEST_F(TwoEvents, FieldsHoldUntilTheNextDescriptor) {  // (R3)
  EXPECT_EQ(signals.at("source.link0_o.number"), (Changes{{0, "x"}, {10000, "101"}, {41000, "111"}}));
  EXPECT_EQ(signals.at("sink.link0_i.number"), (Changes{{0, "x"}, {11000, "101"}, {41000, "110"}, {42000, "111"}}));
  EXPECT_EQ(signals.at("sink.link0_i.type"), (Changes{{0, "x"}, {11000, "cq_error"}}));
}

TEST_F(TwoEvents, ClkStandsStillWhereNothingHappens) {  // (R5)
  const Changes& clk = signals.at("source.clk");
  EXPECT_THAT(clk, Contains(Pair(9000, "1")));
  EXPECT_THAT(clk, Contains(Pair(9500, "0")));
  EXPECT_EQ(clk, signals.at("sink.clk"));
}

TEST_F(WavesTest, EveryBlockAndPortIsShownIdleOnesAddNothing) {  // (R5)
  {
    Bench bench(EngineMode::kPerCycle, kPeriodPs);
    auto& source = bench.add<Source<TagOperation>>("source");
    bench.connect(source.out, bench.add<Sink<TagOperation>>("sink").in, 1);
    Waves waves(bench.engine(), path);
    bench.run();
    waves.finish();
  }
  const auto signals = read_vcd(path);
  for (const char* name : {"source.activity", "sink.activity", "source.link0_valid_o",
                           "source.link0_o.entry.buffer.lkey", "sink.link0_i.entry.tag", "sink.link0_occupancy"}) {
    ASSERT_THAT(signals, Contains(Key(name)));
    EXPECT_LE(signals.at(name).size(), 1u) << name;
  }
  EXPECT_THAT(signals, Not(Contains(Key("sink.link0_more"))));  // room for one only
  EXPECT_THAT(signals, Not(Contains(Key("sink.link0_packet.number"))));
}

// Packet n is in buffer n - 1; those from `released_from` on are not in theirs any more.
class FakePackets final : public WavePackets {
 public:
  Packet find(PacketHandle buffer) override {
    return {raw(buffer) + 1u, raw(buffer) != 2, Qpn{0x11}, Psn{raw(buffer)}, "RC_SEND_ONLY"};
  }
  bool holds(PacketHandle, std::uint64_t) override { return held; }
  bool held = false;
};

class PacketWaves : public WavesTest {
 protected:
  // Frames of packets 1, 2 and 3 in cycles 1000, 2000 and 3000; a buffer is held for 500 cycles.
  void run(const WaveWindow& window) {
    Bench bench(EngineMode::kPerCycle, kPeriodPs);
    auto& source = bench.add<Source<WireFrame>>("source");
    auto& link = bench.connect(source.out, bench.add<Sink<WireFrame>>("sink").in, 2);
    FakePackets packets;
    for (const std::uint32_t n : {0u, 1u, 2u}) {
      const Cycle begin{1000 * (n + 1)};
      source.push(begin, {PacketHandle{n}, 64, LinkLayer::kEthernet, false, false});
      bench.at(begin, [&](Cycle) { packets.held = true; });
      bench.at(begin + 500, [&](Cycle) { packets.held = false; });
    }
    Waves waves(bench.engine(), path, window);
    waves.show_packets(link, packets);
    bench.run();
    waves.finish();
    empty = waves.empty();
    if (!empty) signals = read_vcd(path);
  }
  // The first and the last time stamp.
  std::pair<std::uint64_t, std::uint64_t> times() const {
    const std::string text = text_of_file(path);
    return {std::stoull(text.substr(text.find("\n#") + 2)), std::stoull(text.substr(text.rfind("\n#") + 2))};
  }
  std::map<std::string, Changes> signals;
  bool empty = false;
};

TEST_F(PacketWaves, ThePacketOfADescriptorIsShown) {  // (R4)
  run({});
  EXPECT_EQ(signals.at("sink.link0_packet.number"),
            (Changes{{0, "x"}, {1'001'000, "1"}, {2'001'000, "10"}, {3'001'000, "11"}}));
  EXPECT_EQ(signals.at("sink.link0_packet.qpn"), (Changes{{0, "x"}, {1'001'000, "10001"}, {3'001'000, "x"}}));
  EXPECT_EQ(signals.at("source.link0_packet.psn"),
            (Changes{{0, "x"}, {1'000'000, "0"}, {2'000'000, "1"}, {3'000'000, "x"}}));
  EXPECT_EQ(signals.at("source.link0_packet.opcode"),
            (Changes{{0, "x"}, {1'000'000, "RC_SEND_ONLY"}, {3'000'000, "x"}}));
}

TEST_F(PacketWaves, AWindowAroundAPacketLastsWhileABufferHoldsIt) {  // wave_file.h R4
  run({.packet = 2, .margin = 100});
  EXPECT_EQ(times(), std::pair(1'900'000ul, 2'601'000ul));
  EXPECT_THAT(signals.at("source.link0_packet.number"), ElementsAre(Pair(1'900'000, "1"), Pair(2'000'000, "10")));
  run({.packet = 2});
  EXPECT_EQ(times(), std::pair(2'000'000ul, 2'501'000ul));
  run({.packet = 1, .margin = 5000});
  EXPECT_EQ(times().first, 0u);
  run({.packet = 4, .margin = 5000});
  EXPECT_TRUE(empty);
}

TEST_F(WavesTest, ResultsAreThoseWithoutWaves) {
  const auto digest = [&](bool with_waves) {
    Bench bench(EngineMode::kPerCycle, kPeriodPs);
    auto& source = bench.add<Source<Event>>("source");
    auto& sink = bench.sink(source.out);
    for (std::uint32_t n = 0; n < 100; ++n) source.push(Cycle{n * n}, {EventType::kCompletion, n});
    std::unique_ptr<Waves> waves;
    if (with_waves) waves = std::make_unique<Waves>(bench.engine(), path);
    bench.run();
    if (waves) waves->finish();
    EXPECT_EQ(sink.size(), 100u);
    return bench.state_hash();
  };
  EXPECT_EQ(digest(true), digest(false));
}

TEST_F(WavesTest, NeedsPerCycleModeAndAProperName) {
  {
    Bench bench(EngineMode::kFast);
    EXPECT_THROW(Waves(bench.engine(), path), std::invalid_argument);
  }
  Bench bench(EngineMode::kPerCycle);
  EXPECT_THROW(Waves(bench.engine(), "waves.fst"), std::invalid_argument);
  EXPECT_THROW(Waves(bench.engine(), folder.file("no/waves.vcd")), std::runtime_error);
}

TEST_F(WavesTest, TheSaveFileShowsEverySignal) {
  {
    Bench bench(EngineMode::kPerCycle, kPeriodPs);
    auto& source = bench.add<Source<Event>>("source");
    bench.connect(source.out, bench.add<Sink<Event>>("sink").in, 2);
    Waves waves(bench.engine(), path);
    bench.run();
    waves.finish();
    EXPECT_EQ(waves.save_file(), folder.file("waves.gtkw"));
  }
  const std::string save = text_of_file(folder.file("waves.gtkw"));
  EXPECT_THAT(save, HasSubstr("[dumpfile] \"waves.vcd\""));
  EXPECT_THAT(save, HasSubstr("@820\nsource.activity\n"));
  EXPECT_THAT(save, HasSubstr("-source\n@820\nsource.activity\n@28\nsource.link0_valid_o\n"));
  EXPECT_THAT(save, HasSubstr("source.link0_more\n@c00200\n-link0_o\n@820\nsource.link0_o.type\n"));
  EXPECT_THAT(save, HasSubstr("@24\nsink.link0_i.number[23:0]\n"));
}

}  // namespace
}  // namespace rxnic::waves_test
