// SPDX-License-Identifier: Apache-2.0
// Rules of model/systemc/frame_fifos.h.
#include "model/systemc/frame_fifos.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/system/kernel.h"
#include "model/system/start_simulation.h"
#include "testbench/examples/receiver.h"
#include "testbench/unit/model/engine/engine_fixture.h"

namespace rxnic::frame_fifos_test {
namespace {

constexpr std::uint32_t kPs = 1000;        // of a cycle
constexpr std::size_t kBytes = 1000;       // of a frame
constexpr std::uint64_t kLinePs = 81'920;  // of the frame on a line of 100 Gb/s, with FCS, preamble and gap
constexpr std::uint64_t kLineCycles = 82;

sc_core::sc_time ps(std::uint64_t n) { return {static_cast<double>(n), sc_core::SC_PS}; }
void wait_until(std::uint64_t n) { sc_core::wait(ps(n) - sc_core::sc_time_stamp()); }

SystemOptions options() {
  SystemOptions o;
  o.params.nic.clock_period_ps = kPs;
  o.params.nic.link_gbps = 100;
  o.requester = false;
  return o;
}

// A NIC that drops what it gets, behind FIFOs of two frames.
struct Wire {
  Wire() {
    fifos.in.bind(to_nic);
    fifos.out.bind(from_nic);
  }
  std::uint64_t arrived() { return system.nic(0).wire_in.transfers(); }

  Kernel kernel;
  LocalMemory memory;
  System system{"system", options(), memory};
  FrameFifos fifos{"fifos", system, 0};
  sc_core::sc_fifo<Frame> to_nic{"to_nic", 2}, from_nic{"from_nic", 2};
};

TEST(FrameFifos, AWriterWaitsAsLongAsTheLineNeeds) {  // R1
  constexpr std::uint64_t kFrames = 8;
  Wire wire;
  std::vector<std::uint64_t> written;
  Outsider writer("writer", [&] {
    for (std::uint64_t n = 0; n < kFrames; ++n) {
      wire.to_nic.write({std::vector<std::uint8_t>(kBytes)});
      written.push_back(sc_core::sc_time_stamp().value());
    }
  });
  start_simulation();
  ASSERT_EQ(written.size(), kFrames);
  for (std::uint64_t n = 0; n < kFrames; ++n) {  // one is on the line, two are in the FIFO
    EXPECT_EQ(written[n], n < 3 ? 0 : (n - 2) * kLinePs) << n;
  }
  EXPECT_EQ(wire.arrived(), kFrames);
}

TEST(FrameFifos, AFrameArrivesWhenTheLineHasCarriedAllOfIt) {  // R1
  Wire wire;
  constexpr std::uint64_t kFrom = 500;
  std::vector<std::uint64_t> seen;  // before the cycle and in it, of each frame
  Outsider writer("writer", [&] {
    wait_until(kFrom * kPs - kPs / 2);  // the line carries it from cycle kFrom on
    for (int n = 0; n < 2; ++n) wire.to_nic.write({std::vector<std::uint8_t>(kBytes)});
    for (const std::uint64_t cycle : {kFrom + kLineCycles, kFrom + 2 * kLinePs / kPs + 1}) {
      wait_until(cycle * kPs - kPs / 2);
      seen.push_back(wire.arrived());
      wait_until(cycle * kPs + kPs / 2);
      seen.push_back(wire.arrived());
    }
  });
  start_simulation();
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{0, 1, 1, 2}));
}

TEST(FrameFifos, AFrameKeepsItsBytesAndItsLinkLayer) {
  for (const LinkLayer link : {LinkLayer::kEthernet, LinkLayer::kInfiniband}) {
    Wire wire;
    const std::vector<std::uint8_t> bytes{1, 2, 3, 4, 5};
    Outsider writer("writer", [&] { wire.to_nic.write({bytes, link}); });
    start_simulation();
    ASSERT_EQ(wire.arrived(), 1u);
    WireFrame frame;
    wire.system.nic(0).wire_in.copy_value(0, &frame);
    EXPECT_EQ(frame.bytes, bytes.size());
    EXPECT_EQ(frame.link, link);
  }
}

TEST(FrameFifos, AFrameThatIsTooLongEndsTheRunWithItsSize) {
  Wire wire;
  Outsider writer("writer", [&] { wire.to_nic.write({std::vector<std::uint8_t>(kMaxFrameBytes + 1)}); });
  try {
    start_simulation();
    ADD_FAILURE() << "expected an error";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("found " + std::to_string(kMaxFrameBytes + 1) + " bytes"),
              std::string::npos)
        << error.what();
  }
}

// A NIC that answers SENDs, and a process that begins to take its answers late.
class Answers final : public Receiver {
 public:
  SC_HAS_PROCESS(Answers);
  Answers(std::uint32_t messages, std::uint64_t from_us) : Answers({1, messages}, from_us, options()) {}
  Answers(const Shape& messages, std::uint64_t from_us, const SystemOptions& of)
      : Receiver("answers", of, messages), from(from_us) {
    fifos.in.bind(to_nic);
    fifos.out.bind(from_nic);
    SC_THREAD(take);
  }
  const std::uint64_t from;
  std::vector<Frame> taken;
  std::vector<std::uint64_t> times;  // [ps]
  sc_core::sc_fifo<Frame> to_nic{"to_nic", 2}, from_nic{"from_nic", 2};

 private:
  void put(const std::vector<std::uint8_t>& frame) override { to_nic.write({frame}); }
  void take() {
    wait(static_cast<double>(from), sc_core::SC_US);
    for (;;) {
      taken.push_back(from_nic.read());
      times.push_back(sc_core::sc_time_stamp().value());
    }
  }
  FrameFifos fifos{"fifos", system, 0};
};

TEST(FrameFifos, AWriterFeelsANicThatDoesNotAcceptFrames) {  // R1
  constexpr std::uint32_t kFrames = 400;
  const Kernel kernel;
  SystemOptions slow = options();
  slow.params.dma_engine.tlp_rate_mbps = 1000;  // a hundredth of the line
  slow.params.rx_parser.out_depth = 2;
  slow.params.wire.rx_buffer_bytes = 16384;
  Answers answers({.queues = 1, .messages = kFrames, .bytes = 1000, .gap_ns = 1}, 0, slow);
  std::size_t most = 0;
  Outsider watcher("watcher", [&] {
    for (int n = 0; n < 1000; ++n) {
      sc_core::wait(1, sc_core::SC_US);
      most = std::max(most, answers.system.wire(0).waiting());
    }
  });
  start_simulation();
  EXPECT_EQ(most, 2u) << "one is on the line, one more was taken";
  EXPECT_EQ(answers.system.wire(0).sent(), kFrames);
}

TEST(FrameFifos, NoFrameIsLostWhileOutIsFull) {  // R2
  constexpr std::uint32_t kMessages = 50;        // within 20 us
  const auto run = [&](std::uint64_t from_us) {
    Kernel kernel;
    Answers answers(kMessages, from_us);
    start_simulation();
    EXPECT_EQ(answers.good, kMessages);
    EXPECT_EQ(answers.taken.size(), answers.system.wire(0).received());
    return answers.taken;
  };
  const std::vector<Frame> at_once = run(0);
  EXPECT_GT(at_once.size(), 10u);
  EXPECT_EQ(run(1000), at_once) << "in order";
}

TEST(FrameFifos, AFrameIsWrittenToOutWhenTheLineHasCarriedIt) {  // R2
  constexpr std::uint32_t kMessages = 50;
  std::vector<std::uint64_t> carried;
  {
    Kernel kernel;
    Receiver direct("direct", options(), {1, kMessages});
    direct.system.wire(0).on_frame([&](Bytes, std::uint64_t time_ps) { carried.push_back(time_ps); });
    start_simulation();
  }
  Kernel kernel;
  Answers answers(kMessages, 0);
  start_simulation();
  EXPECT_GT(carried.size(), 10u);
  EXPECT_EQ(answers.times, carried);
}

}  // namespace
}  // namespace rxnic::frame_fifos_test
