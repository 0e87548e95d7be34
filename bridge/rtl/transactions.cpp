// SPDX-License-Identifier: Apache-2.0
#include "bridge/rtl/transactions.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>

#include "bridge/rtl/read_history.h"
#include "bridge/rtl/twin_ports.h"
#include "model/types/descriptor_bits.h"

namespace rxnic {

constexpr std::uint64_t kRequestsUnknown = std::numeric_limits<std::uint64_t>::max();

struct TransactionLockstep::Port : TwinJoint {
  using TwinJoint::TwinJoint;
  struct Offer {
    std::vector<std::uint32_t> bits;
    Cycle taken = kNever;                       // by the model
    std::uint64_t requests = kRequestsUnknown;  // that the model had made when this was the next value (R1)
    bool shown = false;
    std::map<std::string_view, std::vector<std::uint32_t>> words{};  // of each lookup, when the model took it
  };
  std::uint64_t pushed = 0, popped = 0;    // values of the link, after the cycle before
  std::uint64_t by_model = 0, by_rtl = 0;  // transactions
  std::deque<Offer> offers;                // at an input, what the RTL has not taken
  TransactionQueues queues;                // at an output
  CycleSpread later;
  ReadHistory history;  // of a read port
};

std::uint64_t TransactionResult::transactions() const {
  return std::accumulate(ports.begin(), ports.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Port& p) { return sum + p.later.count(); });
}

std::vector<std::string> TransactionResult::lines(const std::string& block) const {
  std::vector<std::string> out{fmt::format("{}: {} transactions equal; {} cycles, {} clocked{}", block, transactions(),
                                           cycles, clocked, cover_text(cover_points))};
  for (const Port& p : ports) {
    const std::string order = p.queue.empty() ? "" : " in the order of each " + p.queue;
    if (p.later.count() == 0) {
      out.push_back(fmt::format("  {}: none", p.name));
      continue;
    }
    out.push_back(
        fmt::format("  {}: {}{}; cycles later than the model: {}", p.name, p.later.count(), order, p.later.text()));
    for (const std::string& line : p.later.histogram()) out.push_back(line);
    if (p.ahead != 0) out.push_back(fmt::format("  {}: {} more, which the run's end came before", p.name, p.ahead));
  }
  return out;
}

TransactionLockstep::TransactionLockstep(Engine& engine, const Block& block, std::unique_ptr<Twin> twin,
                                         const TransactionOptions& options)
    : engine_(engine), block_(block), twin_(std::move(twin)), options_(options) {
  if (engine.mode() != EngineMode::kPerCycle) throw std::invalid_argument("lockstep needs the per-cycle mode");
  engine.add_probe([this](Cycle now) { sample(now); });
}

TransactionLockstep::~TransactionLockstep() = default;

void TransactionLockstep::connect() {
  connected_ = true;
  for (const TwinPort& port : twin_->ports()) ports_.emplace_back(engine_, block_, port);
  refuse_missing_ports(engine_, block_, *twin_);
  for (const Port& p : ports_) {
    if (p.twin.name == twin_->requests()) requests_ = &p;
  }
  reset_twin(*twin_);
  set_up_twin(*twin_, ports_, behind_rtl(block_));
}

void TransactionLockstep::sample(Cycle now) {
  if (failed()) return;
  if (!connected_) {
    try {
      connect();
    } catch (const std::runtime_error& e) {
      return fail(e.what());
    }
  }
  for (; next_ < now && !failed(); next_ += 1) {  // the engine has left these out: nothing came, nothing left
    if (may_leave_out()) {
      result_.cycles += now.count - next_.count;
      next_ = now;
      break;
    }
    pass(next_);
  }
  for (Port& p : ports_) note_model(p, now);
  pass(now);
  // What was pushed in this cycle can be seen in the next one.
  for (Port& p : ports_) {
    if (p.link == nullptr) continue;
    for (; p.pushed < p.link->transfers(); ++p.pushed) {
      if (p.twin.kind != PortKind::kIn) continue;
      p.link->copy_value(p.pushed, p.value.data());
      p.link->operations()->pack(p.value.data(), p.model.data());
      p.offers.push_back({p.model});
    }
    p.popped = p.link->popped();
    if (requests_ != nullptr && p.popped >= p.by_rtl && p.popped - p.by_rtl < p.offers.size()) {
      Port::Offer& next = p.offers[p.popped - p.by_rtl];
      next.requests = std::min(next.requests, requests_->by_model);
    }
  }
  next_ = now + 1;
}

// Nothing would change in the RTL.
bool TransactionLockstep::may_leave_out() const {
  const bool offered = std::any_of(ports_.begin(), ports_.end(), [](const Port& p) { return !p.offers.empty(); });
  return !options_.always && !offered && *twin_->quiescent != 0;
}

// A cycle of the RTL.
void TransactionLockstep::pass(Cycle cycle) {
  if (!draining_) ++result_.cycles;
  ++result_.clocked;
  drive(cycle);
  for (Port& p : ports_) {
    if (!twin_->failure().empty()) break;  // what stands at its ports is nothing
    if (p.twin.kind == PortKind::kIn) take(p);
    if (p.twin.kind == PortKind::kOut) give(p, cycle);
    if (p.twin.kind == PortKind::kRead) read(p, cycle);
  }
  clock_twin(*twin_);
  for (Port& p : ports_) p.words_come();
  if (const std::string_view text = twin_->failure(); !text.empty()) {
    fail(fmt::format("{}: cycle {}: {}", block_.name(), cycle.count, text));
  }
}

void TransactionLockstep::drive(Cycle cycle) {
  if (twin_->now != nullptr) *twin_->now = cycle.count;
  lags_ = lags_ || (requests_ != nullptr && is_behind(cycle));
  for (Port& p : ports_) {
    if (p.twin.kind == PortKind::kIn) {  // (R1)
      if (!may_offer(p)) {
        p.offer(false, 0);
        continue;
      }
      p.offers.front().shown = true;  // and stays so
      p.offer_bits(p.offers.front().bits);
    } else if (p.twin.kind == PortKind::kOut) {  // (R2)
      const bool bounded = p.link != nullptr && !draining_;
      p.give_room(bounded ? p.link->capacity() - (p.by_rtl - std::min(p.by_rtl, p.popped)) : p.lanes);
    }
  }
  for (Port& p : ports_) {
    if (p.twin.kind == PortKind::kLookup) look_up(p);
  }
  twin_->eval();
}

// (R1)
bool TransactionLockstep::may_offer(const Port& p) const {
  if (p.offers.empty()) return false;
  const Port::Offer& offer = p.offers.front();
  if (offer.shown) return true;
  if (offer.taken == kNever) return !draining_ && !lags_;
  if (!lags_) return true;
  const Port* first = nullptr;
  for (const Port& other : ports_) {
    if (other.offers.empty()) continue;
    if (first == nullptr || other.offers.front().taken < first->offers.front().taken) first = &other;
  }
  return &p == first && requests_->by_rtl >= offer.requests;
}

bool TransactionLockstep::is_behind(Cycle cycle) const {
  return std::any_of(ports_.begin(), ports_.end(),
                     [&](const Port& p) { return !p.offers.empty() && p.offers.front().taken < cycle; });
}

TransactionLockstep::Port* TransactionLockstep::input_of(const Port& lookup) {
  const auto at =
      std::find_if(ports_.begin(), ports_.end(), [&](const Port& p) { return p.twin.name == lookup.twin.of; });
  return at == ports_.end() || at->link == nullptr ? nullptr : &*at;
}

// (R4)
void TransactionLockstep::look_up(Port& p) {
  Port* const input = input_of(p);
  if (input == nullptr || input->offers.empty()) return;
  const Port::Offer& offer = input->offers.front();
  if (const auto known = offer.words.find(p.twin.name); known != offer.words.end()) return p.stand(known->second);
  const std::uint64_t address = input->number(offer.bits, p.twin.field, 0);
  for (const Port& writes : ports_) {
    if (writes.write == nullptr || writes.bits != p.bits + p.memory->word_bits()) continue;
    if (const Made* made = writes.queues.last_of_rtl(address)) return p.stand(made->bits);
  }
  p.stand(p.words_at_number(address));
}

void TransactionLockstep::take(Port& p) {
  if (p.transfers() == 0) return;
  p.offers.pop_front();
  ++p.by_rtl;
}

void TransactionLockstep::give(Port& p, Cycle cycle) {
  const std::uint64_t leaving = p.transfers();
  if (leaving == 0 || !p.joined()) return;
  const auto count = static_cast<unsigned>(std::popcount(leaving));
  if (leaving != (std::uint64_t{1} << count) - 1) {
    return fail(fmt::format("{}: cycle {}: port {}: valid: a lane is left out: {:#b}", block_.name(), cycle.count,
                            p.twin.name, leaving));
  }
  p.get_lanes();
  for (unsigned n = 0; n < count && !failed(); ++n) {
    p.get_lane(n);
    make(p, {.cycle = cycle, .bits = p.lane}, false);
  }
}

void TransactionLockstep::read(Port& p, Cycle cycle) {
  if (p.transfers() == 0) return;
  p.get_lanes();
  p.get_lane(0);
  const std::vector<std::uint32_t>* const words = p.history.near(p.lane, behind(cycle), cycle);  // (R4)
  words != nullptr ? p.answer_read(*words) : p.answer_read();
}

// What the model did in the cycle.
void TransactionLockstep::note_model(Port& p, Cycle now) {
  if (p.twin.kind == PortKind::kRead) {
    if (p.memory->last_read() != now) return;
    p.memory->pack_address(p.model.data());
    p.history.note(p.model, p.words_at(p.model), now, behind(now));
    return;
  }
  if (p.write != nullptr && p.write->last_write() == now) {
    for (std::uint32_t n = 0; n < p.write->writes(); ++n) {
      p.get_value(n);
      make(p, {.cycle = now, .bits = p.model, .value = p.value}, true);
    }
  }
  if (p.link == nullptr) return;
  if (p.twin.kind == PortKind::kIn) {
    for (std::uint64_t n = p.by_model; n < p.link->popped(); ++n, ++p.by_model) {
      if (n < p.by_rtl) continue;
      Port::Offer& offer = p.offers[n - p.by_rtl];
      offer.taken = now;
      if (requests_ != nullptr) offer.requests = std::min(offer.requests, requests_->by_model);
      for (const Port& lookup : ports_) {
        if (lookup.twin.kind != PortKind::kLookup || lookup.twin.of != p.twin.name) continue;
        offer.words[lookup.twin.name] = lookup.words_at_number(p.number(offer.bits, lookup.twin.field, 0));
      }
    }
    return;
  }
  for (std::uint64_t n = p.pushed; n < p.link->transfers(); ++n) {
    p.link->copy_value(n, p.value.data());
    p.link->operations()->pack(p.value.data(), p.model.data());
    make(p, {.cycle = now, .bits = p.model, .value = p.value}, true);
  }
}

// (block_facts.h, R6)
static bool equal_but_for_the_time(const TwinPort& port, const std::vector<std::uint32_t>& model,
                                   const std::vector<std::uint32_t>& rtl) {
  const auto is_time = [&](std::size_t bit) { return bit - port.time_from < port.time_bits; };
  for (std::size_t n = 0; n < model.size(); ++n) {
    for (std::uint32_t differs = model[n] ^ rtl[n]; differs != 0; differs &= differs - 1) {
      if (!is_time(32 * n + std::countr_zero(differs))) return false;
    }
  }
  return true;
}

// One side has made a transaction: it is compared when the other one has, too. (R3)
void TransactionLockstep::make(Port& p, Made made, bool by_model) {
  if (failed()) return;
  if (!p.twin.order.empty()) made.queue = p.number(made.bits, p.twin.order, 0);
  made.number = ++(by_model ? p.by_model : p.by_rtl);
  if (const auto pair = p.queues.add(std::move(made), by_model)) compare(p, pair->model, pair->rtl);
}

void TransactionLockstep::compare(Port& p, const Made& model, const Made& rtl) {
  if (!equal_but_for_the_time(p.twin, model.bits, rtl.bits)) {
    return fail(fmt::format("{}: {} (model in cycle {}, RTL in cycle {})\n  model: {}\n  RTL: {}", where(p, rtl),
                            p.operations().difference(model.value.data(), rtl.bits.data()), model.cycle.count,
                            rtl.cycle.count, p.text(model.bits.data()), p.text(rtl.bits.data())));
  }
  p.later.add(static_cast<std::int64_t>(rtl.cycle.count) - static_cast<std::int64_t>(model.cycle.count));
}

// The first cycle in which the model did what the RTL has still to do; `now` when there is nothing.
Cycle TransactionLockstep::behind(Cycle now) const {
  Cycle first = now;
  for (const Port& p : ports_) {
    if (!p.offers.empty()) first = earliest(first, p.offers.front().taken);
    if (const Made* made = p.queues.oldest_of_model().made) first = earliest(first, made->cycle);
  }
  return first;
}

void TransactionLockstep::fail(const std::string& text) {
  if (failed()) return;
  failure_ = text;
  engine_.stop();  // (R6)
}

std::string TransactionLockstep::where(const Port& p, const Made& made) const {
  const std::string queue =
      p.twin.order.empty() ? "" : fmt::format(", {} of {}={}", made.of_queue, p.twin.order, made.queue);
  return fmt::format("{}: port {}: transaction {}{}", block_.name(), p.twin.name, made.number, queue);
}

// (R5)
void TransactionLockstep::drain() {
  draining_ = true;
  const auto made = [this] {
    return std::accumulate(ports_.begin(), ports_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Port& p) { return sum + p.by_rtl; });
  };
  const auto has_work = [this] {
    return std::any_of(ports_.begin(), ports_.end(),
                       [](const Port& p) { return !p.offers.empty() && p.offers.front().taken != kNever; });
  };
  for (std::uint64_t idle = 0; idle < options_.drain && !failed(); next_ += 1, ++idle) {
    if (*twin_->quiescent != 0 && !has_work()) return;
    const std::uint64_t before = made();
    pass(next_);
    if (made() != before) idle = 0;
  }
}

bool TransactionLockstep::model_rests() const {
  return block_.activity() == Activity::kStarved && std::none_of(ports_.begin(), ports_.end(), [](const Port& p) {
           return p.twin.kind == PortKind::kIn && p.link != nullptr && p.link->size() > 0;
         });
}

void TransactionLockstep::look_at_rest() {
  const bool rests = model_rests();
  for (Port& p : ports_) {
    if (p.twin.kind == PortKind::kOut) {
      result_.ports.push_back(
          {std::string(p.twin.name), std::string(p.twin.order), p.later, p.queues.waiting_of_rtl()});
    }
    const auto [first, of_model] = rests ? p.queues.oldest() : p.queues.oldest_of_model();
    if (first != nullptr) {
      fail(fmt::format("{}: {}: the {} made it in cycle {}, the {} did not\n  {}", where(p, *first),
                       of_model ? "missing" : "surplus", of_model ? "model" : "RTL", first->cycle.count,
                       of_model ? "RTL" : "model", p.text(first->bits.data())));
    }
  }
  for (const Port& p : ports_) {
    if (p.offers.empty() || p.offers.front().taken == kNever) continue;
    fail(fmt::format("{}: port {}: transaction {}: the model took it in cycle {}, the RTL did not", block_.name(),
                     p.twin.name, p.by_rtl + 1, p.offers.front().taken.count));
  }
}

TransactionResult TransactionLockstep::finish() {
  if (!failed() && connected_) drain();
  if (!failed() && connected_) look_at_rest();
  TransactionResult r = result_;
  r.cover_points = twin_->cover_points();
  r.failure = failure_;
  if (r.failure.empty() && r.transactions() < options_.least) {
    r.failure = fmt::format("{}: {} transactions compared; expected {} or more", block_.name(), r.transactions(),
                            options_.least);
  }
  return r;
}

}  // namespace rxnic
