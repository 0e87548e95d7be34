// SPDX-License-Identifier: Apache-2.0
// rtl/grh_scatter.sv against model/blocks/grh_scatter, with random packets and random back-pressure; and its latency.
#include <gtest/gtest.h>

#include "bridge/rtl/rtl_file.h"
#include "bridge/rtl/transactions.h"
#include "bridge/rtl/twin_pins.h"
#include "model/types/descriptor_bits.h"
#include "model/types/descriptor_text.h"
#include "testbench/cosim/in_lockstep.h"
#include "testbench/cosim/in_place.h"
#include "testbench/cosim/random.h"
#include "testbench/unit/model/blocks/grh_scatter_harness.h"

namespace rxnic::grh_scatter_cosim_test {
namespace {

constexpr std::uint32_t kSlots = 512;
constexpr std::uint32_t kLines = 16;
constexpr std::uint32_t kBufferBytes = 8192;  // of a packet: its headers and its payload fit
constexpr std::uint32_t kMostHeaders = 100;

// A length that is often short, or about a page.
std::uint32_t random_length(Random& random) {
  switch (random.below(6)) {
    case 0:
      return random.below(3);
    case 1:
      return 20 * random.below(4);
    case 2:
      return random.below(5000);
    default:
      return random.below(200);
  }
}
std::uint64_t random_address(Random& random) {
  const std::uint64_t page = random.bits() & ~std::uint64_t{0xfff};
  return random.one_in(2) ? page + random.below(4096) : page - random.below(100);
}

// The lists do not change: a packet may come to any of them at any time.
void make_lists(Random& random, WqeStore& store) {
  for (std::uint32_t n = 0; n < kSlots; ++n) {
    ScatterList& wqe = store[n];
    wqe.sge_count = static_cast<std::uint16_t>(random.below(kMaxSge + 1));
    const bool sparse = random.one_in(4);
    for (std::uint32_t i = 0; i < wqe.sge_count; ++i) {
      const bool empty = sparse ? !random.one_in(4) : random.one_in(10);
      wqe.sge[i] = {empty ? 0 : random_length(random), static_cast<std::uint32_t>(random.bits()),
                    random_address(random)};
    }
  }
}

// All fields are random; those that decide are likely to.
ScatterJob random_job(Random& random, WqeStore& store, std::uint32_t residence) {
  std::array<std::uint32_t, words_of_bits(Descriptor<ScatterJob>::kBits)> bits;
  for (std::uint32_t& word : bits) word = static_cast<std::uint32_t>(random.bits());
  ScatterJob p = unpack<ScatterJob>(bits.data());
  constexpr std::array<Transport, 4> kTransports{Transport::kRc, Transport::kUc, Transport::kUd, Transport::kXrc};
  constexpr std::array<Operation, 12> kOperations{
      Operation::kSendFirst,   Operation::kSendMiddle,        Operation::kSendLast,  Operation::kSendOnly,
      Operation::kSendOnlyImm, Operation::kSendOnlyInv,       Operation::kSendOnly,  Operation::kSendMiddle,
      Operation::kWriteMiddle, Operation::kReadResponseFirst, Operation::kAtomicAck, Operation::kReadRequest};
  const Transport transport = kTransports[random.below(4)];
  if (!random.one_in(8)) {
    p.opcode = opcode_of(transport, transport == Transport::kUd && !random.one_in(4)
                                        ? Operation::kSendOnly
                                        : kOperations[random.below(kOperations.size())]);
    p.transport = transport;
  }
  p.id = random.bits();
  p.message_start = random.bits();
  p.buffer = kNoPacket;  // a packet that no observer stamps
  if (!random.one_in(8)) p.role = PacketRole::kReceived;
  if (!random.one_in(4)) p.outcome = p.has(kResponse) ? Outcome::kAnswer : Outcome::kExecute;
  p.line = random.one_in(20) ? kNoLine : random.below(kLines);
  p.residence = residence;
  constexpr std::array<std::uint32_t, 4> kMessages{0, 1, 0x5555'5555, 0xaaaa'aaaa};  // each bit is 0 and 1
  p.message_sequence = kMessages[random.below(4)];
  p.payload_bytes =
      static_cast<std::uint16_t>(random.one_in(8) ? random.below(kBufferBytes - kMostHeaders) : random_length(random));
  p.network_offset = static_cast<std::uint16_t>(random.below(kMostHeaders));
  p.payload_offset = static_cast<std::uint16_t>(random.below(kMostHeaders));
  p.strip_bytes = static_cast<std::uint16_t>(random.one_in(3) ? random.below(32) : 0);
  p.network_header = NetworkHeader{static_cast<std::uint8_t>(random.below(3))};
  p.local_va = random_address(random);
  if (random.one_in(8)) p.local_bytes = 0;
  p.takes_wqe = random.one_in(3);
  p.wqe_slot = random.one_in(12) ? kNoWqeSlot : random.below(random.one_in(2) ? 8 : kSlots);
  p.wqe_bytes = 0;
  if (p.wqe_slot == kNoWqeSlot) return p;
  const ScatterList& list = store[p.wqe_slot];
  for (std::uint32_t i = 0; i < list.sge_count; ++i) p.wqe_bytes += list.sge[i].length;
  if (random.one_in(3)) {  // as long as its list, or a byte more
    const std::uint32_t head = p.transport == Transport::kUd ? kGrhBytes : 0;
    const std::uint32_t fits = p.wqe_bytes < head ? 0 : p.wqe_bytes - head;
    if (fits < 4097) p.payload_bytes = static_cast<std::uint16_t>(fits + random.below(2));
    p.takes_wqe = true;
    p.strip_bytes = 0;
  }
  return p;
}

GrhScatterParams params_of(std::uint32_t latency, std::uint32_t sges, std::uint32_t bytes) {
  GrhScatterParams p;
  p.latency_cycles = latency;
  p.sges_per_cycle = sges;
  p.bytes_per_cycle = bytes;
  return p;
}

class GrhScatterCosim : public testing::TestWithParam<GrhScatterParams> {
 protected:
  void SetUp() override {
    if (built_rtl().empty()) GTEST_SKIP() << "Verilator is not installed";
    params_.grh_scatter = GetParam();
    params_.srq_wqe_fetcher.wqe_store_entries = kSlots;
  }
  Params params_;
};

// The block, its lists, and an environment that sends random packets and takes their pieces now and then.
class Scene : public GrhScatterHarness {
 public:
  Scene(Bench& b, const Params& params, std::uint64_t seed, std::uint64_t cycles)
      : Scene(b, params, Random(seed), seed, cycles) {}

 private:
  Scene(Bench& b, const Params& params, Random random, std::uint64_t seed, std::uint64_t cycles)
      : GrhScatterHarness(b, params, {.in = 2 + random.below(4), .out = 3 + random.below(6)}),
        random_(random),
        cycles_(cycles) {
    make_lists(random_, shared.wqes);
    out.set_width(1 + random_.below(4));
    // In spans of 256 cycles the sink takes always, or in one cycle of some.
    out.accept_when([seed](Cycle c) {
      const std::uint64_t span = (c.count >> 8) * 0x9e3779b97f4a7c15u ^ seed;
      const std::uint64_t mixed = (c.count + span) * 0xd1342543de82ef95u >> 40;
      return mixed % (std::uint64_t{1} << (span >> 20) % 5) == 0;
    });
    for (std::uint32_t slot = 0; slot < kSlots; ++slot, ++sent_) in.push(Cycle{}, beginning(slot));
    send_more(Cycle{});
  }

  // Begins the message of a WQE: what continues one later finds how full it is, and no memory has to be 0.
  static ScatterJob beginning(std::uint32_t slot) {
    ScatterJob p{};
    p.opcode = opcode_of(Transport::kRc, Operation::kSendFirst);
    p.transport = Transport::kRc;
    p.role = PacketRole::kReceived;
    p.outcome = Outcome::kExecute;
    p.buffer = kNoPacket;
    p.line = kNoLine;
    p.takes_wqe = true;
    p.wqe_slot = slot;
    return p;
  }

  // Packets are made as time goes on, so that a mismatch in an early cycle needs few of them. Now and then all of them
  // leave before there are more.
  void send_more(Cycle now) {
    const std::size_t waiting = sent_ - in.pushed();
    pause_ = waiting > 0 && (pause_ || random_.one_in(16));
    if (waiting < 64 && !pause_) {
      std::uint64_t when = now.count;
      while (when < now.count + kSpan) {
        for (std::uint32_t n = 1 + random_.below(30); n > 0; --n, ++sent_) {
          residence_ += random_.one_in(40);
          in.push(Cycle{when}, random_job(random_, shared.wqes, residence_));
          when += random_.one_in(3) ? random_.below(8) : 0;
        }
        when += random_.one_in(4) ? 200 + random_.below(300) : random_.below(60);
      }
    }
    if (now.count + kSpan < cycles_) bench.at(now + kSpan, [this](Cycle later) { send_more(later); });
  }

  static constexpr std::uint64_t kSpan = 512;
  Random random_;
  const std::uint64_t cycles_;
  std::size_t sent_ = 0;
  bool pause_ = false;
  std::uint32_t residence_ = 0x7fff'fff0;  // every bit changes soon
};

TEST_P(GrhScatterCosim, ModelAndRtlAgreeOnRandomPackets) {
  const std::uint64_t seed = test_seed(2026), cycles = cosim_cycles();
  LockstepOptions options;
  options.every_cover = options.words_go = true;
  options.transactions = cycles / 20;
  expect_the_same_in_lockstep(
      "grh_scatter", params_, cycles, options, [&](Bench& bench) { return Scene(bench, params_, seed, cycles); },
      [&](const Scene& scene) { EXPECT_GT(scene.refusals.size(), cycles / 2000); });
}

// The model is slower or faster than the RTL: the same pieces leave, in other cycles.
TEST_P(GrhScatterCosim, TransactionsOfAnotherLatencyAgree) {
  const std::uint64_t seed = test_seed(11), cycles = 20'000;
  for (const std::uint32_t latency : {1u, 6u, 20u}) {
    Params other = params_;
    other.grh_scatter.latency_cycles = latency;
    Bench bench(EngineMode::kPerCycle);
    Scene scene(bench, other, seed, cycles);
    TransactionLockstep lockstep(bench.engine(), scene.dut, make_twin("grh_scatter", params_), {.least = cycles / 40});
    bench.run();
    const TransactionResult result = lockstep.finish();
    EXPECT_EQ(result.failure, "");
    for (const TransactionResult::Port& port : result.ports) {
      if (port.name == "out") std::cout << port.later.count() << " pieces; " << port.later.text() << '\n';
      EXPECT_GT(port.later.count(), cycles / 2000) << port.name;
    }
    if (HasFailure()) return;
  }
}

TEST_P(GrhScatterCosim, RandomBitsInWhatResetDoesNotSetMakeNoDifference) {
  constexpr std::uint64_t kCycles = 6000;
  expect_the_same_from_random_bits("grh_scatter", params_, kCycles, [&](Bench& bench, std::uint64_t seed) {
    return Scene(bench, params_, seed, kCycles);
  });
}

TEST_P(GrhScatterCosim, TheRtlInTheModelsPlaceGivesTheSame) {
  const std::uint64_t seed = test_seed(7), cycles = 20'000;
  expect_the_same_in_place(
      "grh_scatter", params_, cycles, cycles / 20, [&](Bench& bench) { return Scene(bench, params_, seed, cycles); },
      [](const ScatteredSegment& a, const ScatteredSegment& b) {  // fields of observers
        EXPECT_EQ(b.id, a.id);
        EXPECT_EQ(b.message_start, a.message_start);
      });
}

// From both sides: the RTL alone, driven at its pins.
TEST_P(GrhScatterCosim, APacketLeavesTheRtlAfterLatencyCycles) {  // R1
  TwinPins pins(make_twin("grh_scatter", params_));
  EXPECT_TRUE(pins.quiescent());
  ScatterJob p;
  p.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
  p.transport = Transport::kRc;
  p.outcome = Outcome::kExecute;
  p.takes_wqe = true;
  p.wqe_slot = 3;
  p.payload_bytes = 64;
  p.wqe_bytes = 64;
  pins.offer("in", p);
  EXPECT_TRUE(pins.ready("in"));
  EXPECT_TRUE(pins.valid("lists"));
  pins.tick();  // it was taken in cycle 0
  pins.withdraw("in");
  pins.answer("lists", DataSegment{64, 0x500, 0x7000});
  for (std::uint32_t cycle = 1; cycle <= params_.grh_scatter.latency_cycles + 1; ++cycle) {
    EXPECT_EQ(pins.valid("out"), cycle == params_.grh_scatter.latency_cycles) << "cycle " << cycle;
    pins.tick();
  }
  EXPECT_EQ(pins.failure(), "");
}

INSTANTIATE_TEST_SUITE_P(Configurations, GrhScatterCosim,
                         testing::Values(params_of(4, 1, 64), params_of(1, 2, 512), params_of(9, 3, 8)),
                         [](const testing::TestParamInfo<GrhScatterParams>& of) {
                           const GrhScatterParams& p = of.param;
                           return "Latency" + std::to_string(p.latency_cycles) + "Sges" +
                                  std::to_string(p.sges_per_cycle) + "Bytes" + std::to_string(p.bytes_per_cycle);
                         });

}  // namespace
}  // namespace rxnic::grh_scatter_cosim_test
