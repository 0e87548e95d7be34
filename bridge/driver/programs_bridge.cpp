// SPDX-License-Identifier: Apache-2.0
#include "bridge/driver/programs_bridge.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <exception>
#include <new>
#include <string>

#include "model/nic/host_ports.h"
#include "model/types/bits.h"

namespace rxnic {

namespace {

constexpr std::size_t kMaxWaitingRequests = 256;  // of a client, though it should wait for the reply to each

}  // namespace

// One NIC: the ports to its links, its driver, and the completions that have not landed.
struct ProgramsBridge::Port final : DriverPorts {
  Port(std::uint32_t n, std::uint32_t nics, NicAddresses addresses, const Params& params, const Attachment& attached)
      : DriverPorts(std::to_string(n)), number(n), driver(n, nics, addresses, params, attached.nic, attached.memory) {
    bind(attached.nic);
    attached.nic.cqe_generator.set_observer(&written);
  }

  const std::uint32_t number;
  Driver driver;
  WrittenCompletions written;
};

ProgramsBridge::ProgramsBridge(const sc_core::sc_module_name& name, const Params& params, Engine& engine,
                               const Fabric& fabric, const std::vector<Attachment>& nics, Programs& programs,
                               ProgramObserver* observer, NicAddresses addresses)
    : Block(name),
      engine_(engine),
      fabric_(fabric),
      programs_(programs),
      observer_(observer),
      doorbell_cycles_(
          std::max<std::uint64_t>(1, cycles_in(params.host.doorbell_latency_ps, params.nic.clock_period_ps))),
      timer_gap_cycles_(cycles_in(params.live.timer_gap_ps, params.nic.clock_period_ps)) {
  const auto count = static_cast<std::uint32_t>(nics.size());
  assert(count <= channel::kMaxNics && channel::kMaxNics <= 64);
  for (std::uint32_t n = 0; n < count; ++n) {
    Port& made = *nics_.emplace_back(std::make_unique<Port>(n, count, addresses, params, nics[n]));
    made.landed.show_in(landed_, bit_of(n));
    made.receive_events.show_in(receive_events_, bit_of(n));
    made.completion_events.show_in(completion_events_, bit_of(n));
    made.send_events.show_in(send_events_, bit_of(n));
    made.page_requests.show_in(page_requests_, bit_of(n));
    made.command_replies.show_in(replies_, bit_of(n));
  }
  engine.add_outside(*this);
}

ProgramsBridge::~ProgramsBridge() = default;

const Driver& ProgramsBridge::driver(std::uint32_t nic) const { return nics_[nic]->driver; }

WrittenCompletions& ProgramsBridge::written(std::uint32_t nic) { return nics_[nic]->written; }

std::size_t ProgramsBridge::not_landed(std::uint32_t nic) const { return nics_[nic]->written.waiting(); }

// (1) notify the programs of completions and events, (2) go on with requests that had to wait, (3) take events from the
// programs, (4) send doorbells to the NICs, (5) decide when to look for events again, or wait
Cycle ProgramsBridge::step(Cycle now) {
  bool busy = false;
  for_each_bit(landed_ | receive_events_ | completion_events_ | send_events_ | page_requests_, [&](std::size_t n) {
    busy |= report_completions(*nics_[n], now);
    busy |= report_events(*nics_[n], now);
  });
  busy |= take_replies(now);
  if (retry(now)) {
    busy = true;
    look_ = now + 1;  // the program that waited for this reply may go on: look before model time passes
  }
  look_ = programs_.sooner(look_);
  const bool looks = now >= look_;
  if (looks) busy |= take_events(now);
  busy |= deliver_doorbells(now);
  const Cycle own = busy || arrives() ? now + 1 : next_own(now);
  if (looks) {
    const Cycle due = earliest(own, engine_.next_due());
    const bool far = due == kNever || due.count - now.count > timer_gap_cycles_;
    const bool only_timers = far && !commands_in_progress();
    const Cycle resume = only_timers && fabric_.idle() ? programs_.wait(now, due) : programs_.next_look(now);  // (R4)
    if (resume == kNever) engine_.stop();
    look_ = latest(resume, now + 1);
  }
  return rest(now, busy ? Activity::kBusy : Activity::kStarved, earliest(own, look_));
}

bool ProgramsBridge::report_completions(Port& nic, Cycle now) {
  bool any = false;
  while (nic.landed.can_pop(now)) {
    const HostNotice notice = nic.landed.pop(now);
    const Cqn cq{notice.number};
    any = true;
    counters_.completions += notice.completions;
    for (std::uint32_t n = 0; n < notice.completions; ++n) {
      const WrittenCompletions::Completion c = nic.written.take(notice, now);
      if (observer_ == nullptr) continue;
      if (c.received()) observer_->on_visible(now, nic.number, cq, c.status, c.times);
      if (c.matched) observer_->on_matched(now, nic.number, c.status, c.times);
    }
    if (const auto owner = nic.driver.owner_of(cq)) programs_.completed(*owner, cq, notice.completions);
  }
  return any;
}

bool ProgramsBridge::report_events(Port& nic, Cycle now) {
  bool any = false;
  for (In<Event>* events : {&nic.receive_events, &nic.completion_events, &nic.send_events, &nic.page_requests}) {
    while (events->can_pop(now)) {
      any = true;
      const Event event = events->pop(now);
      if (event.type == EventType::kPageRequest) {
        nic.driver.request_page(event, events == &nic.send_events, now);
        ringing_ |= bit_of(nic.number);
      }
      const auto notice = nic.driver.notice_of(event);
      if (!notice) continue;
      notify(*notice);
      for (const ClientId other : nic.driver.other_holders(*notice)) notify({other, 0, notice->record});
    }
  }
  return any;
}

// Clients that wait for a command of their NIC go on. (R3)
bool ProgramsBridge::take_replies(Cycle now) {
  bool any = false;
  for_each_bit(replies_, [&](std::size_t n) {
    if (!nics_[n]->driver.commands().take(nics_[n]->command_replies, now)) return;
    any = true;
    for (auto& [id, client] : clients_) {
      if (client.nic != n || !client.awaits_reply) continue;
      client.retry = next_retry_ = now;
    }
  });
  return any;
}

void ProgramsBridge::notify(const Driver::Notice& notice) {
  const auto it = clients_.find(notice.client);
  if (it == clients_.end() || it->second.closing) return;
  ++counters_.notices;
  programs_.notify(notice.client, notice.channel, notice.record);
}

bool ProgramsBridge::retry(Cycle now) {
  if (next_retry_ > now) return false;
  next_retry_ = kNever;
  bool any = false;
  for (auto it = clients_.begin(); it != clients_.end();) {
    const auto here = it++;  // the client may be erased
    if (here->second.retry > now) {
      next_retry_ = earliest(next_retry_, here->second.retry);
      continue;
    }
    any = true;
    ++counters_.retries;
    advance(here->first, here->second, now);
  }
  return any;
}

bool ProgramsBridge::take_events(Cycle now) {
  bool any = false;
  while (programs_.take(now, event_)) {
    any = true;
    ++counters_.events;
    if (observer_ != nullptr) observer_->on_event(now, event_);
    take(event_, now);
  }
  return any;
}

void ProgramsBridge::take(const ProgramEvent& event, Cycle now) {
  if (event.kind == ProgramEvent::Kind::kOpen) {
    open(event);
    return;
  }
  const auto it = clients_.find(event.client);
  if (it == clients_.end() || it->second.closing) return;
  Client& client = it->second;
  switch (event.kind) {
    case ProgramEvent::Kind::kOpen:
      return;
    case ProgramEvent::Kind::kDoorbell:
      ++counters_.doorbells;
      if (event.index < channel::kDoorbells) {
        nics_[client.nic]->driver.ring(event.client, event.board, event.index, event.value, now,
                                       now + doorbell_cycles_);
        ringing_ |= bit_of(client.nic);
      }
      return;
    case ProgramEvent::Kind::kRequest: {
      Command command;
      command.message = event.message;
      if (client.requests.size() == kMaxWaitingRequests) {
        command.message.status = EAGAIN;
        programs_.reply(event.client, command.message);
        return;
      }
      client.requests.push_back(command);
      if (client.requests.size() == 1) advance(it->first, client, now);
      return;
    }
    case ProgramEvent::Kind::kClose:  // (R6)
      client.closing = true;
      // What no command carries out just now goes no further. (driver.h R17)
      if (!client.requests.empty()) client.requests.resize(client.requests.front().ticket != 0 ? 1 : 0);
      if (client.requests.empty()) advance(it->first, client, now);
      return;
  }
}

void ProgramsBridge::open(const ProgramEvent& event) {
  if (clients_.contains(event.client)) return;  // its programs' mistake (programs.h R2)
  if (event.nic >= nics_.size()) {
    programs_.opened(event.client, ENODEV, {});
    return;
  }
  Driver& driver = nics_[event.nic]->driver;
  std::int32_t status = ENOMEM;
  try {
    status = driver.open(event.client);
  } catch (const std::bad_alloc&) {  // (R8)
  }
  if (status == 0) {
    clients_[event.client].nic = event.nic;
    ++counters_.opened;
  }
  programs_.opened(event.client, status, driver.attributes());
}

// R8. False: the client is gone.
bool ProgramsBridge::advance(ClientId id, Client& client, Cycle now) {
  try {
    return go_on(id, client, now);
  } catch (const std::exception& e) {
    ++counters_.failed;
    client.requests.clear();
    client.retry = kNever;
    programs_.failed(id, e.what());
    if (client.closing) clients_.erase(id);  // what it leaves behind is its own
    return false;
  }
}

// Carries out the client's requests until one has to wait.
bool ProgramsBridge::go_on(ClientId id, Client& client, Cycle now) {
  client.retry = kNever;
  client.awaits_reply = false;
  ringing_ |= bit_of(client.nic);  // some requests give commands
  const auto wait = [&](CommandResult result, Cycle due) {
    client.awaits_reply = result == CommandResult::kGiven;
    if (client.awaits_reply) return;
    client.retry = latest(now + kRetryCycles, due);
    next_retry_ = earliest(next_retry_, client.retry);
  };
  Driver& driver = nics_[client.nic]->driver;
  while (!client.requests.empty()) {
    Command& command = client.requests.front();
    const CommandResult result = driver.execute(id, command, now);
    if (result != CommandResult::kDone) {
      wait(result, command.due);
      return true;
    }
    ++counters_.requests;
    if (command.message.status != 0) ++counters_.refused;
    if (driver.has_let_go(id, command.message)) {  // (R9)
      programs_.discard_events(id, command.message.type, command.message.body.handle.number);
    }
    if (!client.closing) programs_.reply(id, command.message);
    client.requests.pop_front();
  }
  if (!client.closing) return true;
  if (const CommandResult result = driver.close(id); result != CommandResult::kDone) {
    wait(result, now);
    return true;
  }
  ++counters_.closed;
  clients_.erase(id);
  programs_.released(id);
  return false;
}

// A receive or a tag that was posted before a send is never behind it: their doorbells first. (shared_mapping.h R5)
bool ProgramsBridge::deliver_doorbells(Cycle now) {
  bool any = false;
  for_each_bit(ringing_, [&](std::size_t n) {
    Port& nic = *nics_[n];
    DoorbellLine &receive = nic.driver.receive_line(), &completion = nic.driver.completion_line(),
                 &send = nic.driver.send_line(), &tags = nic.driver.tag_line();
    any |= receive.deliver(nic.receive_doorbells, now);
    any |= tags.deliver(now, [&](const Doorbell& rung) { return nic.driver.give_tags(rung, nic.tag_operations, now); });
    any |= completion.deliver(nic.completion_doorbells, now);
    any |= send.deliver(nic.send_doorbells, now);
    any |= nic.driver.commands().deliver(nic.commands, now);
    any |= nic.driver.answer_pages(nic.page_replies, nic.send_doorbells, now);
    const std::size_t left = nic.driver.doorbells() + nic.driver.commands().waiting() + nic.driver.page_work();
    if (left == 0) ringing_ &= ~bit_of(n);
  });
  return any;
}

bool ProgramsBridge::commands_in_progress() const {
  return std::any_of(nics_.begin(), nics_.end(),
                     [](const auto& n) { return n->driver.commands().in_progress() > 0 || n->driver.page_work() > 0; });
}

Cycle ProgramsBridge::next_own(Cycle now) const {
  Cycle next = next_retry_;
  for_each_bit(ringing_, [&](std::size_t n) {
    Driver& driver = nics_[n]->driver;
    for (const DoorbellLine* line :
         {&driver.receive_line(), &driver.completion_line(), &driver.send_line(), &driver.tag_line()}) {
      next = earliest(next, line->next(now));
    }
    next = earliest(next, driver.next_page(now));
  });
  return next;
}

void ProgramsBridge::hash(StateHash& h) const {
  const ProgramsBridgeCounters& c = counters_;
  for (const std::uint64_t n :
       {c.events, c.requests, c.refused, c.retries, c.doorbells, c.completions, c.notices, c.opened, c.closed}) {
    h.mix(n);
  }
  for (const auto& nic : nics_) h.mix(nic->driver.objects());
}

}  // namespace rxnic
