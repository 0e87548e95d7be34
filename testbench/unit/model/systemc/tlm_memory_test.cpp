// SPDX-License-Identifier: Apache-2.0
// Rules of model/systemc/tlm_memory.h, and R16 of model/blocks/dma_engine.h: a DMA engine whose host memory is a
// TLM-2.0 target.
#include "model/systemc/tlm_memory.h"

#include <gtest/gtest.h>
#include <tlm_utils/simple_target_socket.h>

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/types/syndrome.h"
#include "testbench/examples/receiver.h"
#include "testbench/unit/model/blocks/dma_engine_fixture.h"

namespace rxnic::tlm_memory_test {
namespace {

using sc_core::SC_NS;
using sc_core::SC_PS;
using sc_core::sc_time;

constexpr std::uint64_t kNear = 0x10000, kFar = 0x900000;  // regions of 200 ns and of 900 ns
constexpr std::uint64_t kNearNs = 200, kFarNs = 900;

// Memory that takes as long as its region says, or as a test does.
class Target final : public sc_core::sc_module {
 public:
  explicit Target(const sc_core::sc_module_name& name) : sc_module(name) {
    socket.register_b_transport(this, &Target::b_transport);
    socket.register_transport_dbg(this, &Target::transport_dbg);
    socket.register_get_direct_mem_ptr(this, &Target::get_direct_mem_ptr);
  }
  tlm_utils::simple_target_socket<Target> socket{"socket"};

  struct Access {
    bool reads;
    std::uint64_t at;
    unsigned bytes;
    sc_time when;
    bool operator==(const Access&) const = default;
  };
  // What a test sets.
  std::function<sc_time(std::uint64_t)> latency = [](std::uint64_t at) {
    return sc_time(static_cast<double>(at < kFar ? kNearNs : kFarNs), SC_NS);
  };
  std::function<void(tlm::tlm_generic_payload&, sc_time&)> finally = [](auto&, auto&) {};
  // What it looks at.
  std::vector<Access> accesses;
  unsigned debugged = 0, pointers = 0;
  LocalMemory memory;
  HostMemory* below = &memory;

 private:
  void b_transport(tlm::tlm_generic_payload& p, sc_time& delay) {
    accesses.push_back({p.is_read(), p.get_address(), p.get_data_length(), sc_core::sc_time_stamp() + delay});
    copy(p);
    delay += latency(p.get_address());
    p.set_response_status(tlm::TLM_OK_RESPONSE);
    finally(p, delay);
  }
  unsigned transport_dbg(tlm::tlm_generic_payload& p) {
    ++debugged;
    copy(p);
    return p.get_data_length();
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) { return ++pointers != 0; }
  void copy(tlm::tlm_generic_payload& p) {
    const std::span<std::uint8_t> bytes(p.get_data_ptr(), p.get_data_length());
    if (p.is_read()) {
      below->read(BusAddress{p.get_address()}, bytes);
    } else {
      below->write(BusAddress{p.get_address()}, bytes);
    }
  }
};

// A DMA engine above it. A byte takes a cycle of 1 ns on the link; the parameters' latencies are 100 ns and 50 ns.
struct Behind {
  explicit Behind(Bench& b, TlmDelay delay = TlmDelay::kOfTarget, const DmaEngineParams& params = byte_a_cycle(),
                  std::uint32_t period_ps = 1000)
      : target(b.keep<Target>("target")), dma(b.keep<TlmMemory>("dma", delay)), fixture(b, params, period_ps, &dma) {
    dma.socket.bind(target.socket);
  }
  void read(Cycle when, std::uint64_t at, std::uint32_t bytes = 64) {
    fixture.requests[kWqeClient]->push(when, fixture.read(1, bytes, at));
  }
  void read_into(Cycle when, std::uint64_t at, std::uint8_t* to, std::uint32_t bytes = 64) {
    DmaRequest r = fixture.read(1, bytes, at);
    r.data = to;
    fixture.requests[kWqeClient]->push(when, r);
  }
  void write(Cycle when, std::uint64_t at) { fixture.requests[kWqeClient]->push(when, fixture.write(1, 64, at, 1)); }
  const Sink<DmaCompletion>& done() const { return *fixture.completions[kWqeClient]; }
  const Sink<HostNotice>& landed() const { return fixture.landed; }
  Target& target;
  TlmMemory& dma;
  DmaEngineFixture fixture;
};

constexpr std::uint64_t kRequest = 24, kWrite = 24 + 64, kCompletion = 20 + 64;  // bytes of TLPs

std::string words_of_error(Bench& bench) {
  try {
    bench.run();
  } catch (const sc_core::sc_report& report) {
    return report.get_msg();
  }
  return "";
}

TEST(TlmMemory, AReadTakesWhatTheTargetSays) {  // R3
  Bench bench;
  Behind behind(bench);
  const std::uint64_t near = 10 + kRequest + kNearNs + kCompletion, far = 2010 + kRequest + kFarNs + kCompletion;
  behind.read(Cycle{9}, kNear);  // the engine takes it in cycle 10
  behind.read(Cycle{2009}, kFar);
  bench.run_to(Cycle{near});
  EXPECT_EQ(behind.done().size(), 0u);  // pushed in this cycle, taken in the next
  bench.run_to(Cycle{near + 1});
  EXPECT_EQ(behind.done().size(), 1u);
  bench.run_to(Cycle{far});
  EXPECT_EQ(behind.done().size(), 1u);
  bench.run_to(Cycle{far + 1});
  EXPECT_EQ(behind.done().size(), 2u);
  EXPECT_EQ(behind.done().cycle(1).count - 2000 - behind.done().cycle(0).count, kFarNs - kNearNs);
}

TEST(TlmMemory, ParametersSayItOtherwise) {  // R2
  Bench bench;
  Behind behind(bench, TlmDelay::kOfParameters);
  std::uint8_t bytes[64];
  behind.read_into(Cycle{9}, kNear, bytes);
  behind.read_into(Cycle{2009}, kFar, bytes);
  bench.run();
  EXPECT_EQ(behind.done().cycle(0), Cycle{10 + kRequest + 100 + kCompletion});
  EXPECT_EQ(behind.done().cycle(1), Cycle{2010 + kRequest + 100 + kCompletion});
  EXPECT_TRUE(behind.target.accesses.empty());
  EXPECT_EQ(behind.target.debugged, 2u);
}

TEST(TlmMemory, TheTargetSeesTheCycleOfTheFirstTlp) {  // R3
  for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
    Bench bench(mode);
    Behind behind(bench);
    sc_time stamp;
    behind.target.finally = [&](auto&, auto&) { stamp = sc_core::sc_time_stamp(); };
    behind.read(Cycle{9}, kNear, 1024);  // two TLPs, one access
    behind.write(Cycle{2009}, kFar);
    bench.run();
    using Access = Target::Access;
    EXPECT_EQ(behind.target.accesses,
              (std::vector<Access>{{true, kNear, 1024, sc_time(10, SC_NS)}, {false, kFar, 64, sc_time(2010, SC_NS)}}));
    EXPECT_EQ(behind.target.debugged, 0u);
    // The engine runs ahead of SystemC's time, unless each cycle is an activation of its own.
    EXPECT_EQ(stamp, mode == EngineMode::kPerCycle ? sc_time(2010, SC_NS) : sc_core::SC_ZERO_TIME);
  }
}

TEST(TlmMemory, EachTlpOfARequestHasTheLatency) {  // R3
  Bench bench;
  Behind behind(bench);
  behind.read(Cycle{9}, kFar, 1024);  // of 512 bytes each, answered by four completions of 256
  bench.run();
  EXPECT_EQ(behind.done().cycle(0), Cycle{10 + kRequest + kFarNs + 4 * 276});
}

TEST(TlmMemory, ASlowReadHoldsUpNoOther) {  // R3
  Bench bench;
  Behind behind(bench);
  behind.fixture.requests[kWqeClient]->push(Cycle{9}, behind.fixture.read(1, 64, kFar));
  behind.fixture.requests[kWqeClient]->push(Cycle{9}, behind.fixture.read(2, 64, kNear));
  bench.run();
  ASSERT_EQ(behind.done().size(), 2u);
  EXPECT_EQ(behind.done().value(0).cookie, 2u);
  EXPECT_EQ(behind.done().cycle(0), Cycle{10 + 2 * kRequest + kNearNs + kCompletion});
  EXPECT_EQ(behind.done().cycle(1), Cycle{10 + kRequest + kFarNs + kCompletion});
}

TEST(TlmMemory, AWriteIsVisibleWhenTheTargetSays) {  // R3
  Bench bench;
  Behind behind(bench);
  const std::uint64_t near = 10 + kWrite + kNearNs, far = 2010 + kWrite + kFarNs;
  behind.write(Cycle{9}, kNear);
  behind.write(Cycle{2009}, kFar);
  bench.run_to(Cycle{near});
  EXPECT_EQ(behind.landed().size(), 0u);
  bench.run_to(Cycle{near + 1});
  EXPECT_EQ(behind.landed().size(), 1u);
  bench.run_to(Cycle{far});
  EXPECT_EQ(behind.landed().size(), 1u);
  bench.run_to(Cycle{far + 1});
  EXPECT_EQ(behind.landed().size(), 2u);
}

TEST(TlmMemory, PostedWritesStayInOrder) {  // dma_engine.h R4
  Bench bench;
  Behind behind(bench);
  behind.fixture.landed.set_width(2);
  behind.write(Cycle{9}, kFar);
  behind.write(Cycle{9}, kNear);
  bench.run();
  ASSERT_EQ(behind.landed().size(), 2u);
  EXPECT_EQ(behind.landed().cycle(0), Cycle{10 + kWrite + kFarNs});
  EXPECT_EQ(behind.landed().cycle(1), Cycle{10 + kWrite + kFarNs});
}

TEST(TlmMemory, AWriteHoldsItsCreditAsLong) {  // dma_engine.h R6
  DmaEngineParams params = byte_a_cycle();
  params.posted_header_credits = 1;
  Bench bench;
  Behind behind(bench, TlmDelay::kOfTarget, params);
  behind.write(Cycle{9}, kFar);
  behind.write(Cycle{9}, kNear);  // starts when the first is visible
  bench.run();
  ASSERT_EQ(behind.landed().size(), 2u);
  EXPECT_EQ(behind.landed().cycle(1), Cycle{10 + kWrite + kFarNs + kWrite + kNearNs});
}

TEST(TlmMemory, PayloadAndResponsesTakeItToo) {  // dma_engine.h R16
  Bench bench;
  Behind behind(bench);
  DmaEngineFixture& f = behind.fixture;
  std::vector<PacketHandle> written;
  std::uint64_t when = 9;
  for (const std::uint64_t at : {kNear, kFar}) {
    const auto packet = f.packet({64}, at);
    written.push_back(packet[0].buffer);
    f.write_packet(Cycle{when}, packet);
    f.gather_response(Cycle{when + 5000}, f.response({64}, at));
    when += 10'000;
  }
  bench.run();
  const auto visible = [&](std::size_t n) { return f.shared.packets[written[n]].stamped(Station::kHostMemory); };
  EXPECT_EQ(visible(0), Cycle{10 + kWrite + kNearNs});
  EXPECT_EQ(visible(1), Cycle{10'010 + kWrite + kFarNs});
  EXPECT_EQ(f.gathered.cycle(0), Cycle{5010 + kRequest + kNearNs + kCompletion});
  EXPECT_EQ(f.gathered.cycle(1), Cycle{15'010 + kRequest + kFarNs + kCompletion});
  EXPECT_EQ(behind.target.accesses.size(), 4u);
  EXPECT_EQ(behind.target.debugged, 0u);  // none of it twice
}

TEST(TlmMemory, AnAtomicTakesItsReadAndItsWrite) {  // dma_engine.h R14, R16
  const auto cycles = [](AtomicOperations kind, std::uint64_t at) {
    DmaEngineParams params = byte_a_cycle();
    params.atomic_operations = kind;
    Bench bench;
    Behind behind(bench, TlmDelay::kOfTarget, params);
    behind.target.memory.store<std::uint64_t>(BusAddress{at}, 40);
    std::uint64_t original = 0;
    behind.fixture.requests[kResponseClient]->push(Cycle{9}, {DmaKind::kFetchAdd, false, 0, 1, BusAddress{at}, 8,
                                                              reinterpret_cast<std::uint8_t*>(&original), 2, 0});
    bench.run();
    EXPECT_EQ(original, 40u);
    EXPECT_EQ(behind.target.memory.load<std::uint64_t>(BusAddress{at}), 42u);
    return behind.fixture.completions[kResponseClient]->cycle(0).count;
  };
  using enum AtomicOperations;
  EXPECT_EQ(cycles(kPcie, kFar) - cycles(kPcie, kNear), 2 * (kFarNs - kNearNs));
  EXPECT_EQ(cycles(kReadWrite, kFar) - cycles(kReadWrite, kNear), kFarNs - kNearNs);  // the write is posted
}

TEST(TlmMemory, TheWriteOfAnAtomicIsPosted) {  // dma_engine.h R6, R14, R16
  DmaEngineParams params = byte_a_cycle();
  params.atomic_operations = AtomicOperations::kReadWrite;
  params.posted_header_credits = 1;
  Bench bench;
  Behind behind(bench, TlmDelay::kOfTarget, params);
  std::uint64_t original = 0;
  behind.fixture.requests[kResponseClient]->push(Cycle{9}, {DmaKind::kFetchAdd, false, 0, 1, BusAddress{kFar}, 8,
                                                            reinterpret_cast<std::uint8_t*>(&original), 2, 0});
  behind.write(Cycle{1499}, kNear);  // starts when the atomic's write is visible
  bench.run();
  const std::uint64_t visible = 10 + kRequest + kFarNs + (20 + 8) + (24 + 8) + kFarNs;
  EXPECT_EQ(behind.landed().cycle(0), Cycle{visible + kWrite + kNearNs});
}

TEST(TlmMemory, PartOfAPicosecondAndOfACycleCountsAsWhole) {  // R3
  const auto cycle = [](const sc_time& latency) {
    Bench bench;
    Behind behind(bench);
    behind.target.latency = [&](std::uint64_t) { return latency; };
    behind.read(Cycle{9}, kNear);
    bench.run();
    return behind.done().cycle(0).count - (10 + kRequest + kCompletion);
  };
  EXPECT_EQ(cycle(sc_core::SC_ZERO_TIME), 0u);
  EXPECT_EQ(cycle(sc_time(199'001, SC_PS)), 200u);
  EXPECT_EQ(cycle(sc_time(200'000, SC_PS)), 200u);
  EXPECT_EQ(cycle(sc_time(200'001, SC_PS)), 201u);
}

// Reads, writes, payload, responses and atomics in 50 us; the digest of all that the engine did.
std::uint64_t digest_of_traffic(Bench& bench, DmaEngineFixture& f) {
  std::uint64_t original = 0;
  for (std::uint64_t n = 0; n < 100; ++n) {
    const Cycle when{9 + n * 97};
    const std::uint64_t at = kNear + n * 4096 + n;
    f.requests[kWqeClient]->push(when, f.read(static_cast<std::uint32_t>(n), 64 + 8 * n, at));
    f.requests[kCqeClient]->push(when, f.write(static_cast<std::uint32_t>(n), 64, at, 1));
    f.requests[kResponseClient]->push(
        when, {DmaKind::kFetchAdd, false, 0, 1, BusAddress{at}, 8, reinterpret_cast<std::uint8_t*>(&original), 2, 0});
    if (n % 3 == 0) f.write_packet(when, f.packet({64, 300}, at));
    if (n % 5 == 0) f.gather_response(when, f.response({100, 700}, at));
    f.send_doorbells.push(when, {});
  }
  bench.run();
  return bench.state_hash();
}

TEST(TlmMemory, EqualLatenciesOfTargetAndParametersGiveTheSameResult) {  // R3
  DmaEngineParams params = byte_a_cycle();
  params.atomic_operations = AtomicOperations::kReadWrite;
  const auto of_target = [&](EngineMode mode, std::uint64_t read_ps) {
    Bench bench(mode, 2325);
    Behind behind(bench, TlmDelay::kOfTarget, params, 2325);
    behind.target.latency = [](std::uint64_t) { return sc_core::SC_ZERO_TIME; };
    behind.target.finally = [&](tlm::tlm_generic_payload& p, sc_time& delay) {
      delay += sc_time(static_cast<double>(p.is_read() ? read_ps : 250'000), SC_PS);
    };
    return digest_of_traffic(bench, behind.fixture);
  };
  const auto of_parameters = [&](std::uint64_t read_ps) {
    DmaEngineParams same = params;
    same.read_latency = ReadLatency::kRange;  // whichever it draws
    same.read_latency_min_ps = same.read_latency_max_ps = read_ps;
    same.write_latency_ps = 250'000;
    Bench bench(EngineMode::kFast, 2325);
    DmaEngineFixture fixture(bench, same, 2325);
    return digest_of_traffic(bench, fixture);
  };
  const std::uint64_t expected = of_parameters(403'000);
  EXPECT_NE(of_parameters(406'000), expected);
  for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
    EXPECT_EQ(of_target(mode, 403'000), expected) << static_cast<int>(mode);
  }
}

TEST(TlmMemory, AnErrorResponseFailsTheAccess) {  // R4
  for (const tlm::tlm_response_status status :
       {tlm::TLM_INCOMPLETE_RESPONSE, tlm::TLM_GENERIC_ERROR_RESPONSE, tlm::TLM_ADDRESS_ERROR_RESPONSE,
        tlm::TLM_COMMAND_ERROR_RESPONSE, tlm::TLM_BURST_ERROR_RESPONSE, tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE}) {
    SCOPED_TRACE(status);
    Bench bench;
    Behind behind(bench);
    DmaEngineFixture& f = behind.fixture;
    auto& refusals = bench.sink(f.dut.refusals);
    behind.target.finally = [&](tlm::tlm_generic_payload& p, auto&) {
      if (p.get_address() >= kFar) p.set_response_status(status);
    };
    std::uint8_t bytes[64];
    behind.read_into(Cycle{9}, kFar, bytes);
    behind.write(Cycle{2009}, kFar);
    f.write_packet(Cycle{4009}, f.packet({64}, kFar));
    f.gather_response(Cycle{6009}, f.response({64}, kFar));
    f.gather_response(Cycle{8009}, f.response({64}, kNear));
    bench.run();
    ASSERT_EQ(behind.done().size(), 2u);
    EXPECT_FALSE(behind.done().value(0).ok);
    EXPECT_EQ(behind.done().cycle(0), Cycle{10 + kRequest + kFarNs + kCompletion});  // it took its time
    EXPECT_FALSE(behind.done().value(1).ok);
    EXPECT_EQ(behind.done().cycle(1), Cycle{2010 + kWrite + kFarNs});
    EXPECT_EQ(refusals.size(), 1u);
    ASSERT_EQ(f.gathered.size(), 2u);
    EXPECT_EQ(f.gathered.value(0).syndrome, kNakRemoteOperation);
    EXPECT_EQ(f.gathered.value(1).syndrome, 0u);
    EXPECT_EQ(f.dut.counters().failed, 4u);
  }
}

TEST(TlmMemory, ADelayMayBeAsLongAsALatencyOfTheParameters) {  // R5
  Bench bench;
  Behind behind(bench);
  behind.target.latency = [](std::uint64_t) { return sc_time(100, sc_core::SC_US); };
  behind.read(Cycle{9}, kNear);
  bench.run();
  EXPECT_EQ(behind.done().cycle(0), Cycle{10 + kRequest + 100'000 + kCompletion});
}

TEST(TlmMemory, ALongerDelayIsAnError) {  // R5
  Bench bench;
  Behind behind(bench);
  behind.target.latency = [](std::uint64_t) { return sc_time(100'000'001, SC_PS); };
  behind.read(Cycle{9}, 0x12345);
  EXPECT_EQ(
      words_of_error(bench),
      "dma: address 0x12345: b_transport() has left a delay of 100010001 ps, more than 100 us above the 10 ns that "
      "it was given; expected up to 100 us more");
}

TEST(TlmMemory, ADelayThatShrinksIsAnError) {  // R5
  Bench bench;
  Behind behind(bench);
  behind.target.finally = [](auto&, sc_time& delay) { delay = sc_time(9, SC_NS); };
  behind.read(Cycle{9}, 0x12345);
  EXPECT_EQ(words_of_error(bench),
            "dma: address 0x12345: b_transport() has left a delay of 9 ns, less than the 10 ns that it was given; "
            "expected up to 100 us more");
}

TEST(TlmMemory, AReportThatDoesNotThrowFailsTheAccess) {  // R5
  sc_core::sc_report_handler::set_actions(TlmMemory::kReport, sc_core::SC_ERROR, sc_core::SC_DO_NOTHING);
  for (const bool shrinks : {false, true}) {
    Bench bench;
    Behind behind(bench);
    behind.target.finally = [&](auto&, sc_time& delay) { delay = sc_time(shrinks ? 0 : 1, sc_core::SC_SEC); };
    std::uint8_t bytes[64];
    behind.read_into(Cycle{9}, kNear, bytes);
    bench.run();
    ASSERT_EQ(behind.done().size(), 1u);
    EXPECT_FALSE(behind.done().value(0).ok);
    EXPECT_EQ(behind.done().cycle(0), Cycle{10 + kRequest + (shrinks ? 0 : 100'000) + kCompletion});
  }
  sc_core::sc_report_handler::set_actions(TlmMemory::kReport, sc_core::SC_ERROR, sc_core::SC_UNSPECIFIED);
}

TEST(TlmMemory, ATargetMayNotWait) {  // R5
  Bench bench;
  Behind behind(bench);
  behind.target.finally = [](auto&, auto&) { sc_core::wait(sc_time(1, SC_NS)); };
  behind.read(Cycle{9}, kNear);
  EXPECT_NE(words_of_error(bench), "");
}

TEST(TlmMemory, DirectMemoryIsNotUsed) {  // R6
  Bench bench;
  Behind behind(bench);
  behind.target.finally = [&](tlm::tlm_generic_payload& p, auto&) {
    p.set_dmi_allowed(true);
    behind.target.socket->invalidate_direct_mem_ptr(0, ~sc_dt::uint64{0});
  };
  for (int n = 0; n < 3; ++n) behind.read(Cycle{9}, kNear);
  bench.run();
  EXPECT_EQ(behind.done().size(), 3u);
  EXPECT_EQ(behind.target.accesses.size(), 3u);
  EXPECT_EQ(behind.target.pointers, 0u);
}

TEST(TlmMemory, ADriverTakesNoTime) {  // R3
  Bench bench;
  Behind behind(bench);
  behind.dma.store<std::uint32_t>(BusAddress{kNear}, 7);
  EXPECT_EQ(behind.dma.load<std::uint32_t>(BusAddress{kNear}), 7u);
  EXPECT_TRUE(behind.target.accesses.empty());
  EXPECT_EQ(behind.target.debugged, 2u);
}

// A NIC whose SENDs are received in two regions. Rings are as near as they can be.
class TwoRegions final : public Receiver {
 public:
  TwoRegions(const SystemOptions& options, TlmMemory& dma, Target& target)
      : Receiver("top", options, {.queues = 2, .messages = 40, .bytes = 256, .gap_ns = 5000}, &dma) {
    dma.socket.bind(target.socket);
    target.latency = [](std::uint64_t at) {
      return sc_time(at < kBuffers ? 50 : at < kBuffers + kSlots * kPage ? 200 : 900, SC_NS);
    };
    target.below = &memory;
  }
  std::vector<sc_time> took[2];

 private:
  void put(const std::vector<std::uint8_t>& frame) override {
    put_ = sc_core::sc_time_stamp();
    Receiver::put(frame);
  }
  void completed(std::uint32_t q) override { took[q].push_back(system.engine.time_of(system.engine.now()) - put_); }
  sc_time put_;
};

TEST(TlmMemory, CompletionsOfTwoRegionsDifferByTheirDelays) {  // R3, in a system
  Bench bench;
  SystemOptions options{.requester = false};
  options.params.nic.clock_period_ps = 1000;
  auto& dma = bench.keep<TlmMemory>("dma", TlmDelay::kOfTarget);
  auto& target = bench.keep<Target>("target");
  auto& top = bench.keep<TwoRegions>(options, dma, target);
  sc_core::sc_start();
  ASSERT_EQ(top.good, 40u);
  for (std::size_t n = 5; n < 20; ++n) {
    EXPECT_EQ(top.took[1][n] - top.took[0][n], sc_time(700, SC_NS)) << n;
  }
}

}  // namespace
}  // namespace rxnic::tlm_memory_test
