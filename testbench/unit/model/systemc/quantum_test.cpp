// SPDX-License-Identifier: Apache-2.0
// Rules of model/systemc/quantum.h.
#include "model/systemc/quantum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "model/system/kernel.h"
#include "testbench/examples/receiver.h"
#include "testbench/unit/model/engine/engine_fixture.h"

namespace rxnic::quantum_test {
namespace {

constexpr std::uint32_t kPs = 2000;  // of a cycle

sc_core::sc_time ps(std::uint64_t n) { return {static_cast<double>(n), sc_core::SC_PS}; }
void set(const sc_core::sc_time& quantum) { tlm::tlm_global_quantum::instance().set(quantum); }

class GlobalQuantum : public testing::Test {
 protected:
  ~GlobalQuantum() override { set(sc_core::SC_ZERO_TIME); }  // as it is at first, for the next test
};

SystemOptions options() {
  SystemOptions o;
  o.params.nic.clock_period_ps = kPs;
  o.requester = false;
  return o;
}

// A system in which one block is stepped in each cycle up to `last`.
struct Stepped {
  explicit Stepped(std::uint64_t last) : system("system", options(), memory), probe("probe") {
    system.engine.add(probe);
    probe.next = [this, last](Cycle now) {
      if (each) each(now.count);
      return now.count < last ? now + 1 : kNever;
    };
  }
  // The cycle in which the activation began that stepped cycle `c`.
  std::uint64_t begun(std::uint64_t c) const { return probe.times.at(c).value() / kPs; }

  Kernel kernel;
  LocalMemory memory;
  System system;
  Probe probe;
  std::function<void(std::uint64_t)> each;
};

TEST_F(GlobalQuantum, AnActivationEndsAtItsNextMultiple) {  // R1
  set(ps(21 * kPs / 2));                                    // every second multiple is within a cycle
  Stepped s(100);
  follow_global_quantum(s.system);
  sc_core::sc_start();
  for (std::uint64_t c = 0; c <= 100; ++c) EXPECT_EQ(s.begun(c), (c * 2 / 21 * 21 + 1) / 2) << c;
}

TEST_F(GlobalQuantum, AChangeActsWhenTheModelNextSynchronizes) {  // R2
  set(ps(10 * kPs));
  Stepped s(300);
  follow_global_quantum(s.system);
  s.each = [](std::uint64_t c) {
    if (c == 55) set(ps(8 * kPs));
    if (c == 101) set(sc_core::SC_ZERO_TIME);
    if (c == 201) set(sc_core::sc_max_time());
  };
  sc_core::sc_start();
  for (std::uint64_t c = 0; c <= 300; ++c) {
    const std::uint64_t by_ten = c / 10 * 10, by_eight = std::max<std::uint64_t>(60, c / 8 * 8);
    EXPECT_EQ(s.begun(c), c < 60 ? by_ten : c < 104 ? by_eight : std::min<std::uint64_t>(c, 202)) << c;
  }
}

TEST_F(GlobalQuantum, OneOfZeroOrBelowACycleIsACycle) {  // R3
  for (const std::uint64_t quantum : {0u, 1u, kPs / 2, kPs}) {
    set(ps(quantum));
    Stepped s(50);
    follow_global_quantum(s.system);
    sc_core::sc_start();
    for (std::uint64_t c = 0; c <= 50; ++c) EXPECT_EQ(s.begun(c), c) << quantum;
  }
}

// Those that another process of the kernel sees, too: it sends while the model runs ahead.
TEST_F(GlobalQuantum, ResultsAreTheSameWithAny) {
  constexpr std::uint32_t kMessages = 40;
  const auto run = [&](std::optional<std::uint64_t> quantum_ps) {
    Kernel kernel;
    Receiver receiver("receiver", options(), {.messages = kMessages, .bytes = 700, .gap_ns = 333});
    if (quantum_ps) {
      set(ps(*quantum_ps));
      follow_global_quantum(receiver.system);
    }
    sc_core::sc_start();
    EXPECT_EQ(receiver.good, kMessages);
    return std::pair(receiver.system.result().state_hash, receiver.last.value());
  };
  const auto expected = run({});
  for (const std::uint64_t quantum : {0u, kPs, 7 * kPs / 2, 100 * kPs, 1'000'000u, 1'000'000'000u}) {
    EXPECT_EQ(run(quantum), expected) << quantum;
  }
}

}  // namespace
}  // namespace rxnic::quantum_test
