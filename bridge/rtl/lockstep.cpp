// SPDX-License-Identifier: Apache-2.0
#include "bridge/rtl/lockstep.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "bridge/rtl/twin_ports.h"
#include "model/types/descriptor_bits.h"

namespace rxnic {

namespace {

constexpr std::size_t kShown = 12;  // transactions shown with a mismatch

}  // namespace

std::string LockstepResult::text(const std::string& block) const {
  return fmt::format("{}: {} cycles compared, {} of them clocked; {} transactions, {} bits{}", block, cycles, clocked,
                     transactions, bits, cover_text(cover_points));
}

Lockstep::Lockstep(Engine& engine, Block& block, std::shared_ptr<Twin> twin, const LockstepOptions& options)
    : engine_(engine), block_(block), twin_(std::move(twin)), options_(options) {
  if (engine.mode() != EngineMode::kPerCycle) throw std::invalid_argument("lockstep needs the per-cycle mode");
  engine.add_probe([this](Cycle now) { sample(now); });
}

Lockstep::~Lockstep() = default;

// The links are known when the simulation has started. (R1)
void Lockstep::connect() {
  connected_ = true;
  hit_before_ = twin_->cover_points();
  for (const TwinPort& port : twin_->ports()) ports_.emplace_back(engine_, block_, port);
  refuse_missing_ports(engine_, block_, *twin_);
  reset_twin(*twin_);
  set_up_twin(*twin_, ports_, behind_rtl(block_));
}

// What happened in cycle `now`, and in those before it that were left out.
void Lockstep::sample(Cycle now) {
  if (ended_) return;
  if (!connected_) {
    try {
      connect();
    } catch (const std::runtime_error& e) {
      mismatch_ = e.what();
      ended_ = true;
      engine_.stop();
      return;
    }
  }
  for (; next_ < now && !ended_; next_ += 1) {  // (R3)
    bool offered = false;
    for (const Port& p : ports_) {
      offered = offered || (p.twin.kind == PortKind::kIn && p.link != nullptr && p.pushed > p.popped);
    }
    if (!options_.always && !offered && *twin_->quiescent != 0) {
      if (twin_->activity != nullptr)
        compare_activity(next_, activity_, static_cast<std::uint64_t>(Activity::kStarved));
      if (mismatched()) break;
      result_.cycles += now.count - next_.count;
      next_ = now;
      break;
    }
    for (Port& p : ports_) p.pushes = p.pops = 0;
    drive(next_);
    compare(next_);
    clock();
  }
  if (ended_) return;
  activity_ = block_.activity();
  for (Port& p : ports_) {
    if (p.write != nullptr) p.pushes = p.write->last_write() == now ? p.write->writes() : 0;
    if (p.link == nullptr) continue;
    p.pushes = p.link->transfers() - p.pushed;
    p.pops = p.link->popped() - p.popped;
  }
  drive(now);
  compare(now);
  clock();
  for (Port& p : ports_) {
    p.pushed += p.pushes;
    p.popped += p.pops;
  }
  next_ = now + 1;
}

// What stands at the inputs in the cycle; the words of memory reads stand there already.
void Lockstep::drive(Cycle cycle) {
  if (twin_->now != nullptr) *twin_->now = cycle.count;
  for (Port& p : ports_) {
    const std::uint64_t in_link = p.pushed - p.popped;
    if (p.twin.kind == PortKind::kIn) p.offer(in_link > 0, p.popped);
    if (p.twin.kind == PortKind::kOut) p.give_room(p.link == nullptr ? p.lanes : p.link->capacity() - in_link);
  }
  look_up_all(ports_);
  twin_->eval();
}

void Lockstep::clock() {
  ++result_.clocked;
  clock_twin(*twin_);
  for (Port& p : ports_) {
    if (options_.words_go) p.words_go();
    p.words_come();
  }
}

void Lockstep::compare(Cycle cycle) {
  if (!mismatched() && !twin_->failure().empty()) mismatch(cycle, std::string(twin_->failure()));
  if (!mismatched()) {
    ++result_.cycles;
    for (Port& p : ports_) {
      if (p.twin.kind == PortKind::kIn) compare_input(p, cycle);
      if (p.twin.kind == PortKind::kOut) compare_output(p, cycle);
      if (p.twin.kind == PortKind::kRead) compare_read(p, cycle);
    }
    if (twin_->activity != nullptr) compare_activity(cycle, activity_, *twin_->activity);
  }
  answer_reads();
  if (!options_.waves.empty()) waves_.record(cycle, ports_);
  ended_ = mismatched() && (options_.waves.empty() || after_++ == MismatchWaves::kAfter);  // (R4)
  if (ended_) return engine_.stop();
  if (mismatched()) block_.wake();  // so that there is a next cycle
}

void Lockstep::compare_input(Port& p, Cycle cycle) {
  const std::uint64_t taken = p.transfers();
  if (taken != p.pops) return differ(p, cycle, fmt::format("ready: {} and {}", p.pops, taken));
  if (taken != 0) keep(p, cycle, p.model.data());
  p.transactions += taken;
}

void Lockstep::compare_output(Port& p, Cycle cycle) {
  const std::uint64_t leaving = p.transfers();
  const auto count = static_cast<std::uint64_t>(std::popcount(leaving));
  if (!p.joined()) return;
  p.get_lanes();
  for (unsigned n = 0; n < std::min(count, p.pushes); ++n) {
    p.get_pushed(n);
    p.get_lane(n);
    keep(p, cycle, p.model.data());
    if (p.lane != p.model) return differ(p, cycle, p.operations().difference(p.value.data(), p.lane.data()));
  }
  if (count != p.pushes) return differ(p, cycle, fmt::format("valid: {} and {}", p.pushes, count));
  if (leaving != (std::uint64_t{1} << count) - 1)
    differ(p, cycle, fmt::format("valid: a lane is left out: {:#b}", leaving));
  p.transactions += count;
}

void Lockstep::compare_read(Port& p, Cycle cycle) {
  const bool reads = p.transfers() != 0, expected = p.memory->last_read() == cycle;
  p.get_lanes();
  p.get_lane(0);
  if (reads != expected) {
    return differ(p, cycle, fmt::format("valid: {} and {}", static_cast<int>(expected), static_cast<int>(reads)));
  }
  if (!reads) return;
  p.memory->pack_address(p.model.data());
  keep(p, cycle, p.model.data());
  if (p.lane != p.model) return differ(p, cycle, p.memory->difference(p.lane.data()));
  ++p.transactions;
}

void Lockstep::compare_activity(Cycle cycle, Activity model, std::uint64_t rtl) {
  if (mismatched() || static_cast<std::uint64_t>(model) == rtl) return;
  const std::string found = rtl < kActivities ? std::string(name_of(static_cast<Activity>(rtl))) : std::to_string(rtl);
  mismatch(cycle, fmt::format("activity: {} and {} (model and RTL)", name_of(model), found));
}

// (R2) Behind a mismatch, too: its waveform shows what the twin goes on to do.
void Lockstep::answer_reads() {
  for (Port& p : ports_) {
    if (p.twin.kind != PortKind::kRead || p.transfers() == 0) continue;
    p.get_lanes();
    p.get_lane(0);
    p.answer_read();
  }
}

void Lockstep::keep(const Port& p, Cycle cycle, const std::uint32_t* bits) {
  ++result_.transactions;
  result_.bits += p.bits;
  if (last_.size() == kShown) last_.pop_front();
  last_.push_back({cycle, &p, {bits, bits + words_of_bits(p.bits)}});
}

void Lockstep::differ(const Port& p, Cycle cycle, const std::string& what) {
  if (!mismatched()) mismatch(cycle, fmt::format("port {}: {} (model and RTL)", p.twin.name, what));
}

void Lockstep::mismatch(Cycle cycle, const std::string& what) {
  mismatch_in_ = cycle;
  mismatch_ = fmt::format("{}: cycle {}: {}", block_.name(), cycle.count, what);
  for (const Transaction& t : last_) {
    mismatch_ += fmt::format("\n  cycle {} {}: {}", t.cycle.count, t.port->twin.name, t.port->text(t.bits.data()));
  }
}

// What is said of the waveform.
std::string Lockstep::write_waves() const {
  if (options_.waves.empty() || after_ == 0) return "";
  try {
    waves_.write(options_.waves, block_.name(), engine_.clock_period_ps(), mismatch_in_, ports_);
  } catch (const std::runtime_error& e) {
    return fmt::format("\n  no waveform: {}", e.what());
  }
  return fmt::format("\n  waveform of the cycles around it: {}", options_.waves);
}

LockstepResult Lockstep::finish() {
  LockstepResult r = result_;
  r.cover_points = twin_->cover_points();
  for (std::size_t n = 0; n < hit_before_.size(); ++n) r.cover_points[n].hits -= hit_before_[n].hits;
  for (const Port& p : ports_) {
    if (p.twin.kind != PortKind::kLookup) r.ports.emplace_back(p.twin.name, p.transactions);
  }
  if (mismatched()) {
    r.failure = mismatch_ + write_waves();
    return r;
  }
  if (!twin_->failure().empty()) {  // with the last clock
    r.failure = fmt::format("{}: {}", block_.name(), twin_->failure());
    return r;
  }
  if (r.transactions < options_.transactions) {  // (R5)
    r.failure = fmt::format("{}: {} transactions compared; expected {} or more", block_.name(), r.transactions,
                            options_.transactions);
  }
  for (const Port& p : ports_) {
    if (options_.every_port && p.transactions == 0 && p.twin.kind != PortKind::kLookup) {
      r.failure = fmt::format("{}: port {}: nothing was compared", block_.name(), p.twin.name);
    }
  }
  std::string unhit;
  for (const CoverPoint& c : r.cover_points) {
    if (c.hits == 0) unhit += " " + c.name;
  }
  if (options_.every_cover && !unhit.empty()) r.failure = fmt::format("{}: not hit:{}", block_.name(), unhit);
  return r;
}

}  // namespace rxnic
