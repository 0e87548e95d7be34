// SPDX-License-Identifier: Apache-2.0
#include "bridge/driver/driver.h"

#include <bit>
#include <cerrno>

namespace rxnic {

namespace {

constexpr std::uint32_t kFirstQpn = 0x11;    // QPs 0 and 1 are for management
constexpr std::uint32_t kLastQpn = 0x3ffff;  // of every kind of number: several times as many as a program can have
constexpr std::uint32_t kLastNumber = 0x3ffff;
constexpr std::uint32_t kFirstKeyIndex = 2;  // kInvalidKey is of index 1
constexpr std::uint64_t kMttBytes = std::uint64_t{1} << 40;
constexpr std::uint8_t kMostServiceLevel = 15;
// The first steps of a client's end; those of its objects follow.
constexpr std::uint8_t kSilences = 1, kSilenced = 2;

}  // namespace

bool ring_fits(std::uint64_t offset, std::uint32_t slots, std::uint32_t stride) {
  const std::uint64_t bytes = std::uint64_t{slots} * stride;
  return std::has_single_bit(slots) && std::has_single_bit(stride) && offset % 64 == 0 &&
         offset >= channel::kHeapOffset && offset <= channel::kMappingBytes && bytes <= channel::kMappingBytes - offset;
}

BusAddress ring_address(ClientId client, std::uint64_t offset) {
  return program_address(client, ProgramMemory::kShared | offset);
}

Driver::Driver(std::uint32_t number, std::uint32_t nics, NicAddresses addresses, const Params& params, Nic& nic,
               HostMemory& memory)
    : number_(number),
      nics_(nics),
      addresses_(addresses),
      timing_(params.nic),
      host_(params.host),
      doorbell_wqe_bytes_(params.requester.doorbell_wqe_bytes),
      attributes_(device_attributes(number, params, addresses)),
      srq_layout_(attributes_.srq_linked_list != 0 ? WqLayout::kLinkedList : WqLayout::kCyclic),
      memory_(memory),
      commands_(memory),
      pd_numbers_(1, kLastNumber),
      key_indices_(kFirstKeyIndex, kLastNumber),
      cq_numbers_(1, kLastNumber),
      srq_numbers_(1, kLastNumber),
      qp_numbers_(kFirstQpn, kLastQpn),
      xrcd_numbers_(1, kLastNumber),
      device_memory_numbers_(1, kLastNumber),
      counters_numbers_(1, kLastNumber),
      mtt_(kMttBytes),
      device_memory_(attributes_.device_memory_bytes) {
  nic.requester->set_port(nic_mac(number), source_gids(number, addresses));
}

std::int32_t Driver::open(ClientId client) { return clients_.emplace(client, Objects{}).second ? 0 : EINVAL; }

CommandResult Driver::execute(ClientId client, Command& c, Cycle now) {
  using channel::Request;
  c.message.status = 0;
  switch (c.message.type) {
    case Request::kAllocatePd:
      return allocate_pd(client, c);
    case Request::kFreePd:
      return free_pd(client, c);
    case Request::kRegisterMemory:
      return register_memory(client, c, now);
    case Request::kReregisterMemory:
      return reregister_memory(client, c, now);
    case Request::kFreeMemory:
      return free_memory(client, c);
    case Request::kAdviseMemory:
      return advise_memory(client, c, now);
    case Request::kCreateChannel:
      return create_channel(client, c);
    case Request::kFreeChannel:
      return free_channel(client, c);
    case Request::kCreateCq:
      return create_cq(client, c);
    case Request::kResizeCq:
      return resize_cq(client, c);
    case Request::kModifyCq:
      return modify_cq(client, c);
    case Request::kFreeCq:
      return free_cq(client, c);
    case Request::kCreateSrq:
      return create_srq(client, c);
    case Request::kModifySrq:
      return modify_srq(client, c);
    case Request::kQuerySrq:
      return query_srq(client, c);
    case Request::kFreeSrq:
      return free_srq(client, c);
    case Request::kCreateQp:
      return create_qp(client, c);
    case Request::kModifyQp:
      return modify_qp(client, c);
    case Request::kQueryQp:
      return query_qp(client, c);
    case Request::kFreeQp:
      return free_qp(client, c);
    case Request::kResolve:
      return resolve_path(c);
    case Request::kAttachMulticast:
      return attach_multicast(client, c);
    case Request::kDetachMulticast:
      return detach_multicast(client, c);
    case Request::kReadClock:
      return read_clock(c, now);
    case Request::kOpenXrcd:
      return open_xrcd(client, c);
    case Request::kCloseXrcd:
      return close_xrcd(client, c);
    case Request::kOpenQp:
      return open_qp(client, c);
    case Request::kAllocateWindow:
      return allocate_window(client, c);
    case Request::kFreeWindow:
      return free_window(client, c);
    case Request::kAllocateDeviceMemory:
      return allocate_device_memory(client, c);
    case Request::kFreeDeviceMemory:
      return free_device_memory(client, c);
    case Request::kCopyToDevice:
      return copy_device_memory(client, c, true);
    case Request::kCopyFromDevice:
      return copy_device_memory(client, c, false);
    case Request::kCreateFlow:
      return create_flow(client, c);
    case Request::kFreeFlow:
      return free_flow(client, c);
    case Request::kCreateRss:
      return create_rss(client, c);
    case Request::kFreeRss:
      return free_rss(client, c);
    case Request::kCreateCounters:
      return create_counters(client, c);
    case Request::kFreeCounters:
      return free_counters(client, c);
    case Request::kReadCounters:
      return read_counters(client, c);
    case Request::kImportPd:
    case Request::kImportMemory:
    case Request::kImportDeviceMemory:
      return import(client, c);
    case Request::kHello:
    case Request::kOpen:
    case Request::kImportDevice:
      return refuse(c, EINVAL);  // Programs handles these
  }
  return refuse(c, EOPNOTSUPP);
}

// The reply to the command; 0 afterwards.
CommandResult Driver::await(Ticket& ticket, CommandReply* reply) {
  if (ticket == 0) return CommandResult::kDone;
  if (!commands_.done(ticket)) return CommandResult::kGiven;
  const CommandReply came = commands_.collect(ticket);
  if (reply != nullptr) *reply = came;
  ticket = 0;
  return CommandResult::kDone;
}

// None of its QPs sends anything any more, before the first is freed. (R17)
CommandResult Driver::silence(ClientId client) {
  Objects& own = clients_.at(client);
  Teardown& t = own.teardown;
  while (t.step < kSilenced) {
    if (const CommandResult r = await(t.ticket); r != CommandResult::kDone) return r;
    std::vector<Qpn> qpns;
    auto it = qps_.lower_bound(own.next);
    for (; it != qps_.end() && qpns.size() < kSilencedAtOnce; ++it) {
      if (it->second.owner == client) qpns.push_back(Qpn{it->first});
    }
    own.next = it == qps_.end() ? ~std::uint32_t{0} : it->first;
    if (!qpns.empty()) {
      t.ticket = commands_.silence_qps(qpns);
      continue;
    }
    own.next = 0;
    t.step = kSilenced;
  }
  return CommandResult::kDone;
}

CommandResult Driver::close(ClientId client) {
  Objects& own = clients_.at(client);
  if (own.teardown.step == 0) {
    leave_domains(client);
    own.teardown.step = kSilences;
  }
  if (const CommandResult r = silence(client); r != CommandResult::kDone) return r;
  // What refers to QPs, the QPs, then what they refer to. A step is over when `destroy` is done with each of them;
  // those that have a smaller number than `next` are not looked at again.
  std::uint8_t step = kSilenced;
  const auto all = [&](auto& objects, auto concerns, auto destroy) {
    if (own.teardown.step != step++) return CommandResult::kDone;
    for (auto it = objects.lower_bound(own.next); it != objects.end();) {
      const auto here = it++;  // it may go
      if (!concerns(here->second)) continue;
      own.next = here->first;
      if (const CommandResult r = destroy(here->first); r != CommandResult::kDone) return r;
    }
    own.next = 0;
    own.teardown.step = step;
    return CommandResult::kDone;
  };
  const auto is_own = [client](const auto& object) { return object.owner == client; };
  CommandResult r = all(flows_, is_own, [this](std::uint32_t n) { return destroy_flow(n); });
  if (r == CommandResult::kDone) r = all(rss_, is_own, [this](std::uint32_t n) { return destroy_rss(Qpn{n}); });
  if (r == CommandResult::kDone) r = all(qps_, is_own, [this](std::uint32_t n) { return destroy_qp(Qpn{n}); });
  if (r == CommandResult::kDone) r = all(srqs_, is_own, [this](std::uint32_t n) { return destroy_srq(Srqn{n}); });
  if (r == CommandResult::kDone) r = all(windows_, is_own, [this](std::uint32_t n) { return destroy_window(Key{n}); });
  if (r == CommandResult::kDone) r = all(regions_, is_own, [this](std::uint32_t n) { return end_region(Key{n}); });
  const auto may_be_bound = [&](const WindowObject& window) {
    return own.windows_remain && shared(pds_, client, window.pd) != nullptr;
  };
  if (r == CommandResult::kDone) r = all(windows_, may_be_bound, [&](std::uint32_t n) { return release(own, Key{n}); });
  if (r == CommandResult::kDone) r = await(own.teardown.ticket);
  if (r == CommandResult::kDone) r = all(regions_, is_own, [this](std::uint32_t n) { return forget_region(Key{n}); });
  if (r == CommandResult::kDone) r = all(cqs_, is_own, [this](std::uint32_t n) { return destroy_cq(Cqn{n}); });
  if (r != CommandResult::kDone) return r;
  std::erase_if(page_work_, [client](const PageWork& work) { return work.number == 0 && work.client == client; });
  leave_imports(client);
  std::erase_if(counters_, [client](const auto& entry) { return entry.second.owner == client; });
  for (auto it = xrcds_.begin(); it != xrcds_.end();) {
    const auto here = it++;  // it goes
    if (here->second.owner == client) forget_xrcd(here->first);
  }
  clients_.erase(client);
  return CommandResult::kDone;
}

void Driver::ring(ClientId client, channel::Board board, std::uint32_t index, std::uint64_t value, Cycle now,
                  Cycle arrival) {
  const auto it = clients_.find(client);
  if (it == clients_.end()) return;
  Objects& own = it->second;
  Records& records = board == channel::Board::kSend      ? own.send
                     : board == channel::Board::kReceive ? own.receive
                     : board == channel::Board::kTags    ? own.tags
                                                         : own.completion;
  if (index >= records.size() || !records[index].used) return;
  Doorbell d;
  d.number = records[index].number;
  d.value = static_cast<std::uint32_t>(value);
  d.rung = now;
  switch (board) {
    case channel::Board::kSend:
      d.kind = DoorbellKind::kSend;
      if (d.value - records[index].last == 1 && value >> channel::kWqeBytesShift <= doorbell_wqe_bytes_) {  // (R8)
        d.wqe_bytes = static_cast<std::uint16_t>(value >> channel::kWqeBytesShift);
      }
      records[index].last = d.value;
      send_line_.push(d, arrival);
      return;
    case channel::Board::kReceive:
      d.kind = DoorbellKind::kReceive;
      receive_line_.push(d, arrival);
      return;
    case channel::Board::kConsumer:
      d.kind = DoorbellKind::kCqConsumer;
      completion_line_.push(d, arrival);
      return;
    case channel::Board::kArm: {
      const auto times = static_cast<std::uint32_t>(value >> channel::kArmedForAnyShift);
      d.kind = DoorbellKind::kCqArm;
      d.solicited_only = (value & channel::kArmSolicited) != 0 && times == records[index].last;  // shared_mapping.h R4
      records[index].last = times;
      completion_line_.push(d, arrival);
      return;
    }
    case channel::Board::kTags:
      tag_line_.push(d, arrival);
      return;
    case channel::Board::kCount:
      return;
  }
}

std::optional<Driver::Notice> Driver::qp_notice(channel::EventKind kind, Qpn qpn) const {
  const auto it = qps_.find(raw(qpn));
  if (it == qps_.end() || it->second.teardown.step != 0) return std::nullopt;
  const bool receives = it->second.type != QpType::kXrcSend;
  if (kind == channel::EventKind::kQpLastWqeReached && !receives) return std::nullopt;
  return Notice{it->second.owner, 0, {kind, raw(qpn)}};
}

std::optional<Driver::Notice> Driver::notice_of(const Event& event) const {
  using channel::EventKind;
  switch (event.type) {
    case EventType::kCompletion:
    case EventType::kCqError: {
      const auto it = cqs_.find(event.number);
      if (it == cqs_.end() || it->second.teardown.step != 0) return std::nullopt;
      if (event.type == EventType::kCqError) return Notice{it->second.owner, 0, {EventKind::kCqError, event.number}};
      if (it->second.channel == 0) return std::nullopt;
      return Notice{it->second.owner, it->second.channel, {EventKind::kCompletion, event.number}};
    }
    case EventType::kQpFatal:
      return qp_notice(EventKind::kQpFatal, Qpn{event.number});
    case EventType::kQpAccessError:
      return qp_notice(EventKind::kQpAccessError, Qpn{event.number});
    case EventType::kQpRequestError:
      return qp_notice(EventKind::kQpRequestError, Qpn{event.number});
    case EventType::kQpLastWqeReached:
      return qp_notice(EventKind::kQpLastWqeReached, Qpn{event.number});
    case EventType::kQpSqDrained:
      return qp_notice(EventKind::kQpSqDrained, Qpn{event.number});
    case EventType::kQpCommunicationEstablished:
      return qp_notice(EventKind::kQpCommunicationEstablished, Qpn{event.number});
    case EventType::kPageRequest:
      return std::nullopt;  // for the driver
    case EventType::kSrqLimitReached: {
      const auto it = srqs_.find(event.number);
      if (it == srqs_.end() || it->second.teardown.step != 0) return std::nullopt;
      return Notice{it->second.owner, 0, {EventKind::kSrqLimitReached, event.number}};
    }
  }
  return std::nullopt;
}

std::optional<ClientId> Driver::owner_of(Cqn cq) const {
  const auto it = cqs_.find(raw(cq));
  if (it == cqs_.end()) return std::nullopt;
  return it->second.owner;
}

bool Driver::has_let_go(ClientId client, const channel::Message& carried_out) {
  using channel::Request;
  if (carried_out.status != 0) return false;
  switch (carried_out.type) {
    case Request::kFreeCq:
    case Request::kFreeSrq:
      return true;
    case Request::kFreeQp:
      return held(client, carried_out.body.handle.number) == nullptr;  // (R11)
    default:
      return false;
  }
}

CommandResult Driver::resolve_path(Command& c) const {
  const std::int32_t error = complete(c.message.body.resolve.path);
  return error == 0 ? CommandResult::kDone : refuse(c, error);
}

std::int32_t Driver::complete(AddressVector& path) const {
  if (path.source_gid_index >= channel::kGids || path.service_level > kMostServiceLevel) return EINVAL;
  const channel::Gid& source = attributes_.gids[path.source_gid_index];
  if (source.type == channel::GidType::kNone) return EINVAL;
  const auto mac = resolve(path.destination_gid, nics_, addresses_);
  if (!mac) return EHOSTUNREACH;
  // No IP header has an address of each kind.
  if (address_of(path.destination_gid, source.type).kind != address_of(source.bytes, source.type).kind) return EINVAL;
  path.destination_mac = *mac;
  return 0;
}

Cycle Driver::after(Cycle now, std::uint64_t ps) const { return now + cycles_in(ps, timing_.clock_period_ps); }

// The program waits for the reply as a CPU waits for a register of the device.
CommandResult Driver::read_clock(Command& c, Cycle now) const {
  if (!c.begun) {
    c.begun = true;
    c.due = after(now, timing_.register_read_ps);
  }
  if (now < c.due) return CommandResult::kBusy;
  c.message.body.clock.model_time_ps = now.count * timing_.clock_period_ps;
  return CommandResult::kDone;
}

bool Driver::is_free(const Records& records, std::uint32_t index) {
  return index < channel::kDoorbells && (index >= records.size() || !records[index].used);
}
void Driver::assign(Records& records, std::uint32_t index, std::uint32_t number) {
  if (index == kNoRecord) return;
  if (index >= records.size()) records.resize(index + 1);
  records[index] = {true, number};
}
void Driver::release(Records& records, std::uint32_t index) {
  if (index < records.size()) records[index] = {};
}

}  // namespace rxnic
