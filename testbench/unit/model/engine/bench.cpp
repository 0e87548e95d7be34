// SPDX-License-Identifier: Apache-2.0
#include "testbench/unit/model/engine/bench.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace rxnic {

std::size_t TestMemory::count(DmaKind kind) const {
  return static_cast<std::size_t>(
      std::count_if(log_.begin(), log_.end(), [kind](const Record& r) { return r.request.kind == kind; }));
}

Cycle TestMemory::step(Cycle now) {
  while (first_ < due_.size() && due_[first_].first <= now && completions.can_push(now)) {
    completions.push(now, due_[first_++].second);
  }
  const bool accepts = ready_ == nullptr || ready_(now);
  if (accepts && requests.can_pop(now)) perform(now, requests.pop(now));
  Cycle next = requests.empty() ? kNever : now + 1;
  if (first_ < due_.size()) next = earliest(next, latest(due_[first_].first, now + 1));
  return rest(now, first_ < due_.size() ? Activity::kBusy : Activity::kStarved, next);
}

void TestMemory::perform(Cycle now, const DmaRequest& r) {
  log_.push_back({now, r, {}});
  DmaCompletion done{r.cookie, true};
  if (r.kind == DmaKind::kWrite) {
    log_.back().data.assign(r.data, r.data + r.bytes);
    host_.write(r.address, {r.data, r.bytes});
    if (r.notify && completions.bound()) due_.emplace_back(now + latency_, done);
    return;
  }
  if (r.kind == DmaKind::kSwap) {
    done.ok = host_.write(r.address, {reinterpret_cast<const std::uint8_t*>(&r.operand), r.bytes});
  } else if (r.data != nullptr) {
    done.ok = raw(r.address) < raw(unmapped_) && host_.read(r.address, {r.data, r.bytes});
  }
  if (r.kind != DmaKind::kRead && r.kind != DmaKind::kSwap && done.ok) {
    std::uint64_t original = 0;
    std::memcpy(&original, r.data, sizeof original);
    if (r.kind == DmaKind::kFetchAdd) host_.store(r.address, original + r.operand);
    if (r.kind == DmaKind::kCompareSwap && original == r.compare) host_.store(r.address, r.operand);
  }
  done.gone = !done.ok && host_.gone(r.address);
  due_.push_back({now + latency_, done});
}

void Script::at(Cycle when, std::function<void(Cycle)> f) {
  calls_.push_back({when, std::move(f)});
  std::stable_sort(calls_.begin() + static_cast<std::ptrdiff_t>(next_), calls_.end(),
                   [](const Call& a, const Call& b) { return a.when < b.when; });
  wake();
}

Cycle Script::step(Cycle now) {
  while (next_ < calls_.size() && calls_[next_].when <= now) {
    const auto f = std::move(calls_[next_++].f);  // which may add calls
    f(now);
  }
  return rest(now, Activity::kStarved, next_ < calls_.size() ? calls_[next_].when : kNever);
}

Bench::Bench(EngineMode mode, std::uint32_t clock_period_ps, StepOrder order)
    : outer_(sc_core::sc_curr_simcontext),
      outer_default_(sc_core::sc_default_global_context),
      kernel_(std::make_unique<sc_core::sc_simcontext>()) {
  sc_core::sc_curr_simcontext = sc_core::sc_default_global_context = kernel_.get();
  EngineParams params;
  params.clock_period_ps = clock_period_ps;
  params.mode = mode;
  params.order = order;
  engine_ = std::make_unique<Engine>("engine", params);
  script_ = &keep<Script>("script");
  deadline_ = std::make_unique<sc_core::sc_event>("deadline");
}

Bench::~Bench() {
  while (!owned_.empty()) owned_.pop_back();  // the last built goes first
  deadline_.reset();
  engine_.reset();
  kernel_.reset();
  sc_core::sc_curr_simcontext = outer_;
  sc_core::sc_default_global_context = outer_default_;
}

TestMemory& Bench::memory(Out<DmaRequest>& requests, In<DmaCompletion>& completions, HostMemory& host,
                          std::uint64_t latency, std::uint32_t capacity) {
  auto& made = add<TestMemory>(fresh_name("memory").c_str(), host, latency);
  connect(requests, made.requests, capacity);
  connect(made.completions, completions);
  return made;
}

TestMemory& Bench::memory(Out<DmaRequest>& requests, HostMemory& host) {
  auto& made = add<TestMemory>(fresh_name("memory").c_str(), host, 1);
  connect(requests, made.requests);
  return made;
}

void Bench::run(Cycle limit) {
  run_to(limit);
  if (engine_->now() >= limit) throw std::runtime_error("still running in cycle " + std::to_string(limit.count));
}

void Bench::run_to(Cycle last) {
  if (!script_added_) engine_->add_outside(*script_);
  script_added_ = true;
  const sc_core::sc_time half = engine_->time_of(Cycle{1}) / 2;
  const sc_core::sc_time span = engine_->time_of(last) + half - sc_core::sc_time_stamp();
  deadline_->notify(span);  // the engine never runs ahead of a pending event
  sc_core::sc_start(span, sc_core::SC_RUN_TO_TIME);
}

}  // namespace rxnic
