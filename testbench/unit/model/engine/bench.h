// SPDX-License-Identifier: Apache-2.0
// The environment of a block in a timed test: a fresh SystemC kernel and an engine (Bench), and host memory with a
// fixed latency (TestMemory). A block pushes given values in given cycles (Source), and one records when values come
// (Sink). Needs no GoogleTest: rxnic exercise has it, too. What compares modes and step orders: harness.h.
//
//   TEST(GrhScatter, ResultComesAfterLatency) {
//     Bench bench;                                                 // EngineMode::kFast, 1000 ps
//     auto& shared = bench.keep<NicShared>(PacketPool::Quotas{});  // lives as long as the bench
//     auto& dut = bench.add<GrhScatter>("dut", params, shared.packets);    // blocks are stepped in the order of adding
//     auto& in = bench.source(dut.in);                             // a Source and a link of capacity 8 at port `in`
//     auto& out = bench.sink(dut.out);
//     bench.memory(dut.dma, dut.dma_done, host, 100);              // answers DMA 100 cycles after taking a request
//     in.push(Cycle{9}, handle);                                   // visible to the block in cycle 10
//     bench.at(Cycle{50}, [&](Cycle now) { ... });                 // anything else, at the end of a cycle
//     bench.run();                                                 // until nothing is due ever; or run_to(Cycle{13})
//     ASSERT_EQ(out.size(), 1u);
//     EXPECT_EQ(out.cycle(0), Cycle{15});  // cycle in which it was pushed by the block: one before the sink's pop
//   }
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/engine/engine.h"
#include "model/engine/link.h"
#include "model/engine/state_hash.h"
#include "model/types/descriptor.h"
#include "model/types/dma.h"
#include "model/types/host_memory.h"

namespace rxnic {

// Pushes each value in its cycle, or as soon after it as the values before it are pushed and the link has room.
template <class T>
class Source final : public Block {
 public:
  explicit Source(const sc_core::sc_module_name& name) : Block(name) {}
  Out<T> out;

  // `when` never decreases from call to call. Before the run, or from Bench::at.
  void push(Cycle when, const T& value) {
    values_.push_back({when, value});
    wake();
  }
  std::size_t pushed() const { return next_; }
  Cycle pushed_in(std::size_t n) const { return pushed_in_[n]; }
  Cycle step(Cycle now) override {
    while (next_ < values_.size() && values_[next_].first <= now) {
      if (!out.can_push(now)) return rest(now, Activity::kBlocked, kNever);
      out.push(now, values_[next_++].second);
      pushed_in_.push_back(now);
    }
    return rest(now, Activity::kStarved, next_ < values_.size() ? values_[next_].first : kNever);
  }

 private:
  std::vector<std::pair<Cycle, T>> values_;
  std::vector<Cycle> pushed_in_;
  std::size_t next_ = 0;
};

// Takes one value a cycle (or set_width) and records it with the cycle in which the block under test pushed it. This is
// the cycle before the pop unless the sink was stalled.
template <class T>
class Sink final : public Block {
 public:
  explicit Sink(const sc_core::sc_module_name& name) : Block(name) {}
  In<T> in;

  // Takes nothing in cycles in [from, to).
  void stall(Cycle from, Cycle to) {
    ready_ = [from, to](Cycle now) { return now < from || now >= to; };
  }
  // Takes something only in cycles for which `ready` holds; a function of the cycle alone.
  void accept_when(std::function<bool(Cycle)> ready) { ready_ = std::move(ready); }
  // Does not look before this cycle: it takes nothing, and cycles can be left out.
  void rest_until(Cycle when) { rests_until_ = when; }
  // Takes up to `values` values in a cycle.
  void set_width(std::uint32_t values) { width_ = values; }
  // Records nothing but how many values come: a benchmark measures the block.
  void forget() { records_ = false; }
  // Called for each value as it is taken.
  void on_value(std::function<void(Cycle, const T&)> f) { on_value_ = std::move(f); }

  std::uint64_t taken() const { return taken_; }
  std::size_t size() const { return values_.size(); }
  const T& value(std::size_t n) const { return values_[n]; }
  Cycle cycle(std::size_t n) const { return Cycle{popped_in_[n].count - 1}; }
  const std::vector<T>& values() const { return values_; }
  Cycle step(Cycle now) override {
    if (!in.can_pop(now)) return rest(now, Activity::kStarved, kNever);
    if (now < rests_until_) return rest(now, Activity::kBlocked, rests_until_);
    if (ready_ && !ready_(now)) return rest(now, Activity::kBlocked, now + 1);
    for (std::uint32_t n = 0; n < width_ && in.can_pop(now); ++n) {
      if (!records_) values_.clear(), popped_in_.clear();
      ++taken_;
      values_.push_back(in.pop(now));
      popped_in_.push_back(now);
      if (on_value_) on_value_(now, values_.back());
    }
    return rest(now, Activity::kBusy, now + 1);
  }

 private:
  std::function<bool(Cycle)> ready_;
  std::function<void(Cycle, const T&)> on_value_;
  std::vector<T> values_;
  std::vector<Cycle> popped_in_;
  std::uint32_t width_ = 1;
  Cycle rests_until_{};
  bool records_ = true;
  std::uint64_t taken_ = 0;
};

// Mixes the values and their cycles into a hash: every number on the port.
template <Described T>
void mix_all_of(StateHash& h, const Sink<T>& sink) {
  for (std::size_t i = 0; i < sink.size(); ++i) {
    h.mix(sink.cycle(i).count);
    for_each_number([&](const FieldPath&, std::uint64_t number) { h.mix(number); }, sink.value(i));
  }
}

// Host memory behind a client's DMA ports: takes one request a cycle, does it at once and completes it `latency` cycles
// later. The requests are on record.
class TestMemory final : public Block {
 public:
  TestMemory(const sc_core::sc_module_name& name, HostMemory& host, std::uint64_t latency)
      : Block(name), host_(host), latency_(latency) {}
  In<DmaRequest> requests;
  Out<DmaCompletion> completions;

  struct Record {
    Cycle taken;
    DmaRequest request;
    std::vector<std::uint8_t> data;  // writes
  };
  const std::vector<Record>& log() const { return log_; }
  std::size_t count(DmaKind kind) const;
  void set_latency(std::uint64_t cycles) { latency_ = cycles; }
  void fail_reads_from(BusAddress address) { unmapped_ = address; }
  // Takes requests only in cycles for which `ready` holds; a function of the cycle alone.
  void accept_when(std::function<bool(Cycle)> ready) { ready_ = std::move(ready); }
  Cycle step(Cycle now) override;

 private:
  void perform(Cycle now, const DmaRequest& r);

  HostMemory& host_;
  std::uint64_t latency_;
  std::function<bool(Cycle)> ready_;
  BusAddress unmapped_{~std::uint64_t{0}};  // and all above it
  std::vector<Record> log_;
  std::vector<std::pair<Cycle, DmaCompletion>> due_;
  std::size_t first_ = 0;
};

// Calls functions in given cycles.
class Script final : public Block {
 public:
  explicit Script(const sc_core::sc_module_name& name) : Block(name) {}
  void at(Cycle when, std::function<void(Cycle)> f);
  Cycle step(Cycle now) override;

 private:
  struct Call {
    Cycle when;
    std::function<void(Cycle)> f;
  };
  std::vector<Call> calls_;
  std::size_t next_ = 0;
};

// A SystemC kernel of its own, with an engine and the blocks of the test. Only one may exist at a time.
class Bench {
 public:
  explicit Bench(EngineMode mode = EngineMode::kFast, std::uint32_t clock_period_ps = 1000, StepOrder order = {});
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench();

  Engine& engine() { return *engine_; }

  // Builds an object that lives as long as the bench.
  template <class T, class... Args>
  T& keep(Args&&... args) {
    auto* const object = new T(std::forward<Args>(args)...);
    owned_.emplace_back(object, [](void* p) { delete static_cast<T*>(p); });
    return *object;
  }
  template <class B, class... Args>
  B& add(const char* name, Args&&... args) {
    B& block = keep<B>(name, std::forward<Args>(args)...);
    engine_->add(block);
    return block;
  }
  // Adds `block`, or what set_in_place() gives for it: a block with the same ports.
  template <class Ports>
  Ports& place(Ports& block) {
    Block& placed = in_place_ ? in_place_(block) : block;
    engine_->add(placed);
    return dynamic_cast<Ports&>(placed);
  }
  void set_in_place(std::function<Block&(Block&)> in_place) { in_place_ = std::move(in_place); }
  template <class T>
  Link<T>& link(std::uint32_t capacity = kCapacity) {
    auto& made = keep<Link<T>>(fresh_name("link").c_str(), capacity);
    engine_->add(made);
    return made;
  }
  template <class T>
  Link<T>& connect(Out<T>& from, In<T>& to, std::uint32_t capacity = kCapacity) {
    auto& made = link<T>(capacity);
    from.bind(made);
    to.bind(made);
    return made;
  }
  template <class T>
  Source<T>& source(In<T>& port, std::uint32_t capacity = kCapacity) {
    auto& made = add<Source<T>>(fresh_name("source").c_str());
    connect(made.out, port, capacity);
    return made;
  }
  template <class T>
  Sink<T>& sink(Out<T>& port, std::uint32_t capacity = kCapacity) {
    auto& made = add<Sink<T>>(fresh_name("sink").c_str());
    connect(port, made.in, capacity);
    return made;
  }
  TestMemory& memory(Out<DmaRequest>& requests, In<DmaCompletion>& completions, HostMemory& host, std::uint64_t latency,
                     std::uint32_t capacity = kCapacity);
  TestMemory& memory(Out<DmaRequest>& requests, HostMemory& host);  // for blocks that only write
  // Calls `f` at the end of a cycle, after all blocks: they see its changes in the next cycle, in every mode.
  void at(Cycle when, std::function<void(Cycle)> f) { script_->at(when, std::move(f)); }

  // Runs until nothing is due any more. Throws std::runtime_error when the model does not rest within `limit` cycles.
  void run(Cycle limit = Cycle{100'000'000});
  // Runs the cycles up to and including `last`.
  void run_to(Cycle last);
  // Equal after run() in every mode (after run_to() the last active cycle may differ).
  std::uint64_t state_hash() { return engine_->state_hash(); }

 private:
  static constexpr std::uint32_t kCapacity = 8;
  std::string fresh_name(const char* stem) { return stem + std::to_string(names_++); }

  sc_core::sc_simcontext* outer_;
  sc_core::sc_simcontext* outer_default_;
  std::unique_ptr<sc_core::sc_simcontext> kernel_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<sc_core::sc_event> deadline_;
  Script* script_ = nullptr;
  bool script_added_ = false;
  std::vector<std::unique_ptr<void, void (*)(void*)>> owned_;
  unsigned names_ = 0;
  std::function<Block&(Block&)> in_place_;
};

}  // namespace rxnic
