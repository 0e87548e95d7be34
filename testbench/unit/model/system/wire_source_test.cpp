// SPDX-License-Identifier: Apache-2.0
// Rules R5 and R6 of model/system/wire_source.h on a whole NIC; R3 on one block that takes the frames.
#include <gtest/gtest.h>

#include <vector>

#include "model/system/wire_source.h"
#include "testbench/unit/model/engine/bench.h"
#include "testbench/unit/model/system/traffic_run.h"

namespace rxnic::wire_source_test {
namespace {

// So many doorbells take longer than the first frames would.
TEST(WireSource, TheFirstFramesFindTheReceivesOfThousandsOfQps) {
  TrafficConfig config;
  config.rc_qps = 4096;
  constexpr std::uint64_t kPackets = 6000;
  const TrafficRun run(config, kPackets);
  EXPECT_EQ(run.packets().seen, kPackets);
  EXPECT_EQ(run.packets().accepted, kPackets);
  EXPECT_EQ(run.packets().dropped_total(), 0u);
}

// R6: at a twentieth of the line's rate the source is busy for a twentieth of the time.
TEST(WireSource, IsBusyWhileTheLineCarriesAFrame) {
  TrafficConfig config;
  config.load = 0.05;
  const TrafficRun run(config, 2000, {}, {Pace::Kind::kCaptured, 0});
  const CycleAccount& account = run.sim.source.account();
  std::uint64_t all = 0;
  for (const std::uint64_t cycles : account) all += cycles;
  const auto share = [&](Activity a) {
    return static_cast<double>(account[static_cast<std::size_t>(a)]) / static_cast<double>(all);
  };
  EXPECT_NEAR(share(Activity::kBusy), 0.05, 0.005);
  EXPECT_NEAR(share(Activity::kStarved), 0.95, 0.005);
}

// A frame, a control item, and another frame.
struct WithControl final : StimulusStream {
  explicit WithControl(const Engine& of) : engine(of) {}
  bool next(Stimulus& item) override {
    item = {};
    item.kind = given == 1 ? Stimulus::Kind::kControl : Stimulus::Kind::kFrame;
    item.bytes = frame;
    item.wire_bytes = static_cast<std::uint32_t>(frame.size());
    return given++ < 3;
  }
  void control(const Stimulus&, CommandQueue&) override { controlled = engine.now(); }
  const Engine& engine;
  const std::vector<std::uint8_t> frame = std::vector<std::uint8_t>(100);
  int given = 0;
  Cycle controlled = kNever;
};

// Has each frame for some cycles.
class Path final : public Block {
 public:
  Path(const sc_core::sc_module_name& name, PacketPool& packets) : Block(name), packets_(packets) {}
  Cycle step(Cycle now) override {
    if (held_ == kNoPacket && in.can_pop(now)) {
      held_ = in.pop(now).buffer;
      until_ = now + 7;
    }
    if (held_ == kNoPacket) return rest(now, Activity::kStarved, kNever);
    if (until_ > now) return rest(now, Activity::kBusy, until_);
    packets_.release(held_);
    held_ = kNoPacket;
    released.push_back(now);
    return rest(now, Activity::kBusy, now + 1);
  }
  In<WireFrame> in{"in"};
  std::vector<Cycle> released;

 private:
  PacketPool& packets_;
  PacketHandle held_ = kNoPacket;
  Cycle until_{};
};

TEST(WireSource, AControlItemWaitsForTheCycleThatBeginsWithoutPackets) {  // R3, in all step orders
  for (const StepOrder::Kind kind : {StepOrder::Kind::kPath, StepOrder::Kind::kReverse}) {
    StepOrder order;
    order.kind = kind;
    Bench bench(EngineMode::kFast, 1000, order);
    Params params = load_config();
    params.nic.clock_period_ps = 1000;
    auto& packets = bench.keep<PacketPool>(PacketPool::Quotas{}, &bench.engine().now());
    auto& memory = bench.keep<LocalMemory>();
    auto& stream = bench.keep<WithControl>(bench.engine());
    auto& source = bench.add<WireSource>("source", params, Pace{Pace::Kind::kLineRate, 0}, packets, memory, stream);
    auto& path = bench.add<Path>("path", packets);
    bench.connect(source.wire, path.in);
    source.requests.bind(bench.link<RequestNotice>());
    source.commands.bind(bench.link<DriverCommand>());
    source.replies.bind(bench.link<CommandReply>());
    bench.run();
    ASSERT_EQ(path.released.size(), 2u);
    EXPECT_EQ(stream.controlled, path.released[0] + 1) << "order " << static_cast<int>(kind);
  }
}

}  // namespace
}  // namespace rxnic::wire_source_test
