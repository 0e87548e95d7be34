// SPDX-License-Identifier: Apache-2.0
// One block under load, as the model has it and as RTL in its place. The measure is simulated cycles a second, with the
// source and the sink around the block. `load`: per cent of the cycles in which a packet comes. RXNIC_BENCH_RTL: a
// folder with RTL of other parameters or made with other options of the compiler, BLOCK.so or BLOCK_ENTRIES.so
// (scripts/bench makes it).
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>

#include "bridge/rtl/twin.h"
#include "testbench/cosim/put_in_place.h"
#include "testbench/unit/model/blocks/block_harness.h"
#include "testbench/unit/model/blocks/srq_wqe_fetcher_fixture.h"

namespace rxnic {
namespace {

constexpr std::uint64_t kCycles = 100'000;

bool comes(std::uint64_t cycle, std::int64_t load) {
  const auto percent = static_cast<std::uint64_t>(load);
  return cycle * percent / 100 != (cycle + 1) * percent / 100;
}

// Pushes packets in turn from a cycle on, as often as the load says and the block takes them.
template <class T>
class OfferedLoad final : public Block {
 public:
  OfferedLoad(const sc_core::sc_module_name& name, std::vector<T> packets, Cycle from, std::int64_t load)
      : Block(name), packets_(std::move(packets)), from_(from), load_(load) {}
  Out<T> out;

  Cycle step(Cycle now) override {
    if (now < from_) return rest(now, Activity::kStarved, from_);
    const std::uint64_t n = now.count - from_.count;
    if (n >= kCycles) return rest(now, Activity::kStarved, kNever);
    if (comes(n, load_)) {
      if (!out.can_push(now)) return rest(now, Activity::kBlocked, kNever);
      out.push(now, packets_[pushed_++ % packets_.size()]);
    }
    std::uint64_t next = n + 1;
    while (next < kCycles && !comes(next, load_)) ++next;
    return rest(now, Activity::kBusy, from_ + next);
  }

 private:
  const std::vector<T> packets_;
  const Cycle from_;
  const std::int64_t load_;
  std::uint64_t pushed_ = 0;
};

template <class T>
void offer(Bench& bench, In<T>& in, std::vector<T> packets, std::uint64_t from, std::int64_t load) {
  bench.connect(bench.add<OfferedLoad<T>>("load", std::move(packets), Cycle{from}, load).out, in, 8);
}

template <class T>
Sink<T>& drain(Bench& bench, Out<T>& out, std::uint32_t width = 1) {
  Sink<T>& sink = bench.sink(out, 64);
  sink.set_width(width);
  sink.forget();
  return sink;
}

struct Scatter : BlockHarness<GrhScatterPorts> {
  Scatter(Bench& b, const Params& params, std::int64_t load)
      : BlockHarness(b, &NicBlocks::grh_scatter, params, "dut"), out(drain(bench, dut.out, 4)) {
    shared.wqes[0].sge_count = 1;
    shared.wqes[0].sge[0] = {4096, 1, 0x10000};
    dut.lists.bind(shared.wqes);
    drain(bench, dut.refusals);
    ScatterJob p;
    p.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
    p.role = PacketRole::kReceived;
    p.outcome = Outcome::kExecute;
    p.line = 1;
    p.payload_bytes = 64;
    p.payload_offset = 54;
    p.takes_wqe = true;
    p.wqe_slot = 0;
    p.wqe_bytes = 4096;
    offer(bench, dut.in, {p}, kBegin, load);
  }
  static constexpr std::uint64_t kBegin = 10;
  static constexpr const char* kBlock = "grh_scatter";
  Sink<ScatteredSegment>& out;
};

// Every packet has a CQE, of a CQ that is here and overruns without an error.
struct Completions : BlockHarness<CqeGeneratorPorts> {
  Completions(Bench& b, const Params& params, std::int64_t load)
      : BlockHarness(b, &NicBlocks::cqe_generator, params, "dut"), out(drain(bench, dut.out)) {
    auto& host = bench.keep<LocalMemory>();
    CqContext cq;
    cq.number = Cqn{3};
    cq.base = BusAddress{0x10000};
    cq.slots = 4096;
    cq.ignore_overrun = true;
    bench.memory(dut.dma, dut.dma_done, host, 50, 64);
    bench.memory(dut.context_dma, dut.context_dma_done, host, 50);
    CqCommand create{.operation = CqOperation::kCreate, .number = cq.number, .base = cq.base, .slots = cq.slots};
    create.ignore_overrun = true;
    bench.source(dut.commands).push(Cycle{1}, create);
    drain(bench, dut.command_replies);
    drain(bench, dut.events);
    CompletionRequest p;
    p.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
    p.outcome = Outcome::kExecute;
    p.completes = p.ends_message = true;
    p.cq = cq.number;
    offer(bench, dut.in, {p}, kBegin, load);
  }
  static constexpr std::uint64_t kBegin = 100;
  static constexpr const char* kBlock = "cqe_generator";
  Sink<AckRequest>& out;
};

// Messages of 16 QPs, each with an SRQ whose WQEs are prefetched.
struct Fetches {
  Fetches(Bench& bench, const Params& params, std::int64_t load)
      : fixture(bench, params), dut(fixture.dut), out(fixture.out) {
    out.forget();
    fixture.wqes.set_latency(50);  // otherwise packets wait for reads
    constexpr std::uint32_t kQps = 16, kSlots = 8192;
    std::vector<srq_wqe_fetcher_test::Queue> queues;
    for (std::uint32_t n = 0; n < kQps; ++n) queues.push_back(fixture.make(WqKind::kSrq, WqLayout::kCyclic, kSlots));
    for (auto& q : queues) fixture.post(q, kSlots, Cycle{10});
    std::vector<WqeRequest> packets;
    for (std::uint32_t n = 0; n < kQps; ++n) {
      WqeRequest p = fixture.packet(queues[n], Operation::kSendOnly, n);
      p.buffer = kNoPacket;
      packets.push_back(p);
    }
    std::uint64_t sent = 0;
    for (std::uint64_t n = 0; n < kCycles; ++n) {
      if (comes(n, load)) fixture.in.push(Cycle{kBegin + n}, packets[sent++ % kQps]);
    }
    fixture.out.on_value([this](Cycle now, const ScatterJob& p) {
      if (p.releases_wqe && fixture.released.out.can_push(now)) fixture.released.out.push(now, {p.wqe_slot});
    });
  }
  static constexpr std::uint64_t kBegin = 5000;
  static constexpr const char* kBlock = "srq_wqe_fetcher";
  srq_wqe_fetcher_test::Fixture fixture;
  SrqWqeFetcherPorts& dut;
  Sink<ScatterJob>& out;
};

// Every message searches a full CAM for a tag that is not there.
struct Tags : BlockHarness<TagMatchCamPorts> {
  Tags(Bench& b, const Params& params, std::int64_t load)
      : BlockHarness(b, &NicBlocks::tag_match_cam, params, "dut"), out(drain(bench, dut.out)) {
    auto& operations = bench.source(dut.operations);
    bench.source(dut.lists).push(Cycle{1}, {true, WqId{7}, Pdn{8}, Cqn{9}});
    bench.source(dut.returned);
    drain(bench, dut.list_done);
    bench.memory(dut.dma, dut.dma_done, bench.keep<LocalMemory>(), 50);
    for (std::uint32_t n = 0; n < params.tag_match_cam.entries; ++n) {
      TagOperation op;
      op.opcode = TagOpcode::kAdd;
      op.srq = WqId{7};
      op.entry = {n, n, ~std::uint64_t{0}, {4096, 1, 2}};
      operations.push(Cycle{10}, op);
    }
    WqeRequest p;
    p.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
    p.outcome = Outcome::kExecute;
    p.takes_wqe = true;
    p.line = 1;
    p.receive_queue = WqId{7};
    p.tmh_opcode = static_cast<std::uint8_t>(TmhOpcode::kEager);
    p.tag = 0xffff'0000'0000;
    offer(bench, dut.in, {p}, kBegin, load);
  }
  static constexpr std::uint64_t kBegin = 10'000;  // all tags are there
  static constexpr const char* kBlock = "tag_match_cam";
  Sink<WqeRequest>& out;
};

double seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

std::string rtl_of(const std::string& name) {
  const char* const folder = std::getenv("RXNIC_BENCH_RTL");
  if (folder == nullptr) return "";
  const std::string file = std::string(folder) + "/" + name + ".so";
  return std::filesystem::exists(file) ? file : "";
}

template <class Scene>
void run(benchmark::State& state, const Params& params, const std::string& name, bool rtl) {
  std::uint64_t values = 0;
  for (auto _ : state) {
    Bench bench(EngineMode::kFast);
    if (rtl) {
      put_in_place(bench, Scene::kBlock, [&] { return make_twin(Scene::kBlock, params, rtl_of(name)); });
    }
    std::optional<Scene> scene;
    try {
      scene.emplace(bench, params, state.range(0));
    } catch (const std::invalid_argument& why) {
      state.SkipWithError(why.what());
      return;
    }
    bench.run_to(Cycle{Scene::kBegin});
    const std::uint64_t before = scene->out.taken();
    const double begin = seconds();
    bench.run_to(Cycle{Scene::kBegin + kCycles});
    state.SetIterationTime(seconds() - begin);
    values = scene->out.taken() - before;
    const auto* const twin = dynamic_cast<const RtlBlock*>(&scene->dut);
    if (twin != nullptr && !twin->failure().empty()) state.SkipWithError(std::string(twin->failure()).c_str());
  }
  state.counters["cycles/s"] =
      benchmark::Counter(static_cast<double>(kCycles), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["out/cycle"] = static_cast<double>(values) / static_cast<double>(kCycles);
}

template <class Scene>
void add(const std::string& name, const Params& params) {
  for (const std::int64_t load : {100, 5}) {
    for (const bool rtl : {false, true}) {
      benchmark::RegisterBenchmark((name + "_" + std::to_string(load) + "/" + (rtl ? "rtl" : "model")).c_str(),
                                   [=](benchmark::State& state) { run<Scene>(state, params, name, rtl); })
          ->Arg(load)
          ->Iterations(5)
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
}

const bool kAdded = [] {
  add<Scatter>("grh_scatter", Params{});
  add<Fetches>("srq_wqe_fetcher", Params{});
  add<Completions>("cqe_generator", Params{});
  for (const std::uint32_t entries : {64u, 256u, 1024u}) {
    Params params;
    params.tag_match_cam.entries = entries;
    params.tag_match_cam.max_tags = std::max(params.tag_match_cam.max_tags, entries);
    add<Tags>("tag_match_cam_" + std::to_string(entries), params);
  }
  return true;
}();

}  // namespace
}  // namespace rxnic
