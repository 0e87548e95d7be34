// SPDX-License-Identifier: Apache-2.0
// Events, doorbells and time; live_poll.cpp waits, the connections are in live_connections.cpp.
#include "bridge/live/live_programs.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <utility>

namespace rxnic {

using channel::Board;
using std::chrono::nanoseconds;

namespace {

// Lines at once and a second: on the terminal, and in the log of programs that come and go.
constexpr double kLogBurst = 50, kLogPerSecond = 5, kNoteBurst = 2000, kNotesPerSecond = 100;

constexpr std::uint64_t kDescriptorsOfConnection = 2, kDescriptorsOfClient = 6;
constexpr std::uint64_t kOtherDescriptors = 64;  // the program's own files, and those that are on their way

// R17.
std::uint64_t most_channels(const LiveOptions& o) {
  rlimit files{};
  std::uint64_t all = o.descriptors;
  if (all == 0) all = getrlimit(RLIMIT_NOFILE, &files) == 0 ? std::uint64_t{files.rlim_cur} : 0;
  const std::uint64_t needed = kOtherDescriptors + LivePrograms::kMoreConnections * kDescriptorsOfConnection +
                               o.most_clients * kDescriptorsOfClient;
  return std::max(all / 4, all - std::min(all, needed));
}

// Programs that spin on their memory share the CPUs with this thread. With a time slice shorter than theirs the thread
// runs as soon as it is woken (Linux 6.12 and later; no effect elsewhere). Processes that this one starts do not
// inherit the slice.
void ask_for_short_slices() {
  struct {  // sched_setattr(2); the C library has no declaration of it
    std::uint32_t size = 48, policy = SCHED_OTHER;
    std::uint64_t flags = 0x01;                        // SCHED_FLAG_RESET_ON_FORK
    std::int32_t nice = getpriority(PRIO_PROCESS, 0);  // as it is
    std::uint32_t priority = 0;
    std::uint64_t runtime = 100'000;  // ns, the shortest slice there is
    std::uint64_t deadline = 0, period = 0;
  } attributes;
  static_assert(sizeof attributes == 48);
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

LivePrograms::LivePrograms(LiveOptions options)
    : options_(std::move(options)),
      log_(kLogBurst, kLogPerSecond, [this](const std::string& line) { options_.log(line); }),
      notes_(kNoteBurst, kNotesPerSecond, [this](const std::string& line) { options_.note(line); }) {
  most_channels_ = most_channels(options_);
  if (!options_.log) {
    options_.log = [](const std::string& line) { std::fprintf(stderr, "rxnic: %s\n", line.c_str()); };
  }
  ask_for_short_slices();
  if (!options_.note) options_.note = [](const std::string&) {};
  if (!options_.on_death) options_.on_death = [](const std::string&) {};
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &old_pipe_action_);
  stop_event_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  clients_.push_back(nullptr);  // ids begin with 1
  serials_.push_back(0);
}

LivePrograms::~LivePrograms() {
  end_all(false);
  log_.report_now();
  notes_.report_now();
  sigaction(SIGPIPE, &old_pipe_action_, nullptr);
}

bool LivePrograms::take(Cycle now, ProgramEvent& event) {
  if (--events_to_poll_ == 0) {  // R11
    events_to_poll_ = kEventsPerPoll;
    poll(nanoseconds{0});
  }
  if (cut_off_) return false;
  if (!pending()) {
    if (now < next_look_) return false;
    look(now);
  }
  if (next_doorbell_ < doorbells_.size()) {
    const Doorbell& d = doorbells_[next_doorbell_++];
    event.kind = ProgramEvent::Kind::kDoorbell;
    event.client = d.client;
    event.board = d.board;
    event.index = d.index;
    event.value = d.value;
    ++counters_.doorbells;
    return true;
  }
  if (events_.empty()) return false;
  event = std::move(events_.front());
  events_.pop_front();
  if (event.kind == ProgramEvent::Kind::kRequest) ++counters_.requests;
  if (event.kind == ProgramEvent::Kind::kClose) {
    show();
    if (Connection* const connection = connection_of(event.client)) {
      kept_.emplace(event.client, std::move(connection->client->mapping()));
      forget(*connection);
    }
  }
  return true;
}

// R4, R6.
void LivePrograms::look(Cycle now) {
  ++counters_.looks;
  next_look_ = now + options_.look_cycles;
  if (looks_to_poll_ == 0) {
    looks_to_poll_ = options_.looks_per_poll;
    poll(nanoseconds{0});
  }
  if (looks_to_poll_ != 0) --looks_to_poll_;
  doorbells_.clear();
  next_doorbell_ = 0;
  bool any = false;
  const std::uint64_t model_time_ps = now.count * options_.cycle_ps;
  for (LiveClient* client : active_) {
    channel::MappingHeader& header = client->mapping().header();
    header.model_time_ps.store(model_time_ps, std::memory_order_relaxed);
    if (header.rung.load(std::memory_order_relaxed) == 0) continue;
    header.rung.exchange(0, std::memory_order_seq_cst);
    begin_look(*client);
    if (!client->doorbells.exceeded) take_board(*client, Board::kSend);
    any = true;
  }
  if (later_ != nullptr && (any || !events_.empty() || completions_wait_ || later_->is_due(counters_.looks))) show();
  if (looks_to_wake_ != 0) --looks_to_wake_;
  if (wake_due_ && looks_to_wake_ == 0) wake_programs();
  if (!any) return;
  // The boards of all clients: a receive that one client posted before another one's send has rung its doorbell by now.
  for (LiveClient* client : active_) {
    if (client->doorbells.look != counters_.looks) begin_look(*client);
    if (!client->doorbells.exceeded) take_board(*client, Board::kArm);
  }
  for (const Board b : {Board::kReceive, Board::kTags, Board::kConsumer}) {
    for (LiveClient* client : active_) take_board(*client, b);
  }
  held_back_ = std::count_if(active_.begin(), active_.end(),
                             [](const LiveClient* client) { return client->doorbells.left() == 0; });
  for (const Board b : {Board::kReceive, Board::kTags, Board::kConsumer, Board::kArm, Board::kSend}) {
    auto& taken = taken_[static_cast<std::size_t>(b)];
    doorbells_.insert(doorbells_.end(), taken.begin(), taken.end());
    taken.clear();
  }
}

// R16: whether what goes before sends is more than may be taken. Hardly ever has anything to be counted.
void LivePrograms::begin_look(LiveClient& client) {
  DoorbellBudget& budget = client.doorbells;
  budget.begin(counters_.looks, held_back_);
  if (budget.parts < DoorbellBudget::kFull) {
    for (const Board b : {Board::kArm, Board::kReceive, Board::kTags, Board::kConsumer}) {
      budget.before_sends += channel::count_rung(channel::board(client.mapping().base(), b), budget.left());
    }
  }
  budget.exceeded = budget.before_sends > budget.left();
  if (budget.exceeded) client.mapping().header().rung.store(1, std::memory_order_seq_cst);
}

void LivePrograms::take_board(LiveClient& client, Board b) {
  auto& taken = taken_[static_cast<std::size_t>(b)];
  const std::size_t before = taken.size();
  const DoorbellBudget& budget = client.doorbells;
  std::uint32_t most = channel::kDoorbells;
  if (budget.exceeded) most = budget.left();
  if (b == Board::kSend) most = budget.left() - budget.before_sends;
  const bool more = channel::take_rung(channel::board(client.mapping().base(), b), most,
                                       [&](std::uint32_t index, std::uint64_t value) {
                                         taken.push_back({client.id(), b, index, value});
                                       });
  client.doorbells.spend(taken.size() - before);
  if (more) client.mapping().header().rung.store(1, std::memory_order_seq_cst);
}

Cycle LivePrograms::next_look(Cycle now) {
  if (cut_off_) return kNever;
  return pending() ? now + 1 : latest(next_look_, now + 1);
}

void LivePrograms::completed(ClientId client, Cqn, std::uint32_t) {
  LiveClient* const c = raw(client) < clients_.size() ? clients_[raw(client)] : nullptr;
  if (c == nullptr) return;
  ++counters_.completions;
  if (later_ != nullptr && later_->waits()) {
    ++c->completions;
    completions_wait_ = true;
    return;
  }
  c->mapping().completed();
  wake_due_ = true;
}

void LivePrograms::show_all(bool idle) {  // (R18)
  if (later_ != nullptr && (idle || later_->waits())) later_->show(idle);
  if (!completions_wait_) return;
  completions_wait_ = false;
  wake_due_ = true;
  for (LiveClient* client : active_) {
    for (; client->completions != 0; --client->completions) client->mapping().completed();
  }
}

void LivePrograms::wake_programs() {  // (R10)
  wake_due_ = false;
  looks_to_wake_ = options_.looks_per_wake;
  ++counters_.wakes;
  for (LiveClient* client : active_) client->mapping().wake();
}

void LivePrograms::notify(ClientId client, std::uint32_t channel, const channel::EventRecord& event) {
  LiveClient* c = raw(client) < clients_.size() ? clients_[raw(client)] : nullptr;
  if (c == nullptr) return;
  ++counters_.events;
  show();
  bool kept = false;
  try {
    kept = c->notify(channel, event);
  } catch (const std::bad_alloc&) {  // (R15)
  }
  if (!kept && counters_.lost_events++ == 0) {
    say("process " + std::to_string(c->pid()) + " (" + c->program() + ") does not read its events: some are lost");
  }
  backlog_ = true;  // possibly: poll() checks
}

void LivePrograms::discard_events(ClientId client, channel::Request frees, std::uint32_t number) {
  LiveClient* const c = raw(client) < clients_.size() ? clients_[raw(client)] : nullptr;
  if (c == nullptr) return;
  show();
  c->discard(frees, number);
  backlog_ = true;  // possibly: poll() checks
}

// R12.
const LiveMapping* LivePrograms::mapping_of(ClientId client) const {
  if (const LiveClient* const found = find(client)) return &found->mapping();
  const auto kept = kept_.find(client);
  return kept == kept_.end() ? nullptr : &kept->second;
}

void LivePrograms::released(ClientId client) {
  show();
  kept_.erase(client);
  if (raw(client) < clients_.size() && clients_[raw(client)] == nullptr) free_ids_.push_back(client);
}

bool LivePrograms::rung() const {
  return std::any_of(active_.begin(), active_.end(), [](const LiveClient* client) {
    return client->mapping().header().rung.load(std::memory_order_seq_cst) != 0;
  });
}

void LivePrograms::report_sleeping(bool sleeps) {
  for (LiveClient* client : active_) {
    client->mapping().header().simulator_sleeps.store(sleeps ? 1 : 0, std::memory_order_seq_cst);
  }
}

// Lets programs that have work run first: yielding costs little, a sleep and a wake-up cost much.
bool LivePrograms::spin(nanoseconds longest) const {
  const auto end = Clock::now() + std::min<nanoseconds>(longest, std::chrono::microseconds{options_.spin_us});
  do {
    if (rung()) return true;
    sched_yield();
  } while (Clock::now() < end);
  return rung();
}

bool LivePrograms::over() const { return cut_off_ || (connections_.empty() && !pending() && (ended_ || until_idle_)); }

// R7.
Cycle LivePrograms::wait(Cycle now, Cycle due) {
  ++counters_.waits;
  show_all(true);
  if (wake_due_) wake_programs();
  on_show_();  // (R14)
  constexpr nanoseconds kForEver = nanoseconds::max();
  const auto begin = Clock::now();
  const nanoseconds limit =
      due == kNever ? kForEver
                    : nanoseconds{static_cast<std::int64_t>(std::min<double>(
                          static_cast<double>((due - now).count) * options_.cycle_ps / 1000.0 + 1.0, 1e18))};
  nanoseconds waited{0};
  if (connections_.empty()) poll(nanoseconds{0});  // accept a program that has just connected before over()
  bool asked = pending() || rung();
  if (!asked && !over() && options_.spin_us != 0) asked = spin(limit);
  while (!asked && !over() && (waited = Clock::now() - begin) < limit) {
    report_sleeping(true);
    if (!rung()) {
      ++counters_.sleeps;
      poll(limit == kForEver ? kForEver : limit - waited);
    }
    report_sleeping(false);
    asked = pending() || rung();
  }
  waited = Clock::now() - begin;
  counters_.waited_ns += static_cast<std::uint64_t>(waited.count());
  if (cut_off_ || (!asked && over())) return kNever;
  next_look_ = Cycle{};
  if (due == kNever) return now;
  if (waited >= limit) return due;
  const auto cycles = static_cast<std::uint64_t>(static_cast<double>(waited.count()) * 1000.0 / options_.cycle_ps);
  return earliest(now + cycles, due);
}

void LivePrograms::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  const int saved = errno;
  [[maybe_unused]] const ssize_t written = write(stop_event_.get(), &one, sizeof one);
  errno = saved;
}

}  // namespace rxnic
