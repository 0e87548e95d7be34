// SPDX-License-Identifier: Apache-2.0
// Files, IDs, commands and events (R1, R5, R12 of manager.h).

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "bridge/cm/manager.h"
#include "bridge/cm/manager_details.h"

namespace rxnic::cm {

namespace {

// What a program must take of a command's reply; an older one does not know the last fields of some (R1).
std::size_t least_reply(std::uint32_t command) {
  switch (command) {
    case RDMA_USER_CM_CMD_CREATE_ID:
    case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
    case RDMA_USER_CM_CMD_JOIN_MCAST:
      return sizeof(rdma_ucm_create_id_resp);
    case RDMA_USER_CM_CMD_DESTROY_ID:
    case RDMA_USER_CM_CMD_LEAVE_MCAST:
      return sizeof(rdma_ucm_destroy_id_resp);
    case RDMA_USER_CM_CMD_MIGRATE_ID:
      return sizeof(rdma_ucm_migrate_resp);
    case RDMA_USER_CM_CMD_GET_EVENT:
      return offsetof(rdma_ucm_event_resp, reserved);
    case RDMA_USER_CM_CMD_QUERY_ROUTE:
      return offsetof(rdma_ucm_query_route_resp, ibdev_index);
    case RDMA_USER_CM_CMD_QUERY:
      return sizeof(rdma_ucm_query_path_resp);
    case RDMA_USER_CM_CMD_INIT_QP_ATTR:
      return sizeof(ib_uverbs_qp_attr);
    default:
      return 0;
  }
}

}  // namespace

bool Manager::Id::is_datagram() const { return qp_type == IBV_QPT_UD; }

Manager::Manager(std::vector<NicAddress> nics, Surroundings& surroundings, std::uint32_t seed)
    : nics_(std::move(nics)), surroundings_(surroundings), random_(seed) {
  last_local_ = static_cast<std::uint32_t>(random_());
  last_port_ = static_cast<std::uint16_t>(kFirstFreePort + random_() % (kLastFreePort - kFirstFreePort));
}

Manager::~Manager() = default;

void Manager::open(File file, std::optional<std::uint32_t> only_nic, std::uint64_t program) {
  const auto other = std::find_if(files_.begin(), files_.end(),
                                  [program](const auto& of) { return program != 0 && of.second.program == program; });
  auto ids = other == files_.end() ? std::make_shared<int>() : other->second.ids;
  files_[file] = {.only_nic = only_nic, .events = {}, .program = program, .ids = std::move(ids)};
}

void Manager::close(File file, Time now) {
  const auto at = files_.find(file);
  if (at == files_.end()) return;
  std::vector<Id*> own;
  for (const auto& [number, id] : ids_) {
    if (id->file == file) own.push_back(id.get());
  }
  for (Id* id : own) {
    forget(*id, now);
    erase(*id);
  }
  files_.erase(file);
}

Manager::Id* Manager::find(File file, std::uint32_t number, int& error) {  // (R1)
  const auto at = ids_.find(number);
  error = at == ids_.end() ? ENOENT : at->second->file != file ? EINVAL : 0;
  return error == 0 ? at->second.get() : nullptr;
}

int Manager::command(File file, std::uint32_t number, std::span<const std::uint8_t> in, std::size_t out, Time now,
                     std::vector<std::uint8_t>& reply) {
  reply.clear();
  if (!files_.contains(file)) return EBADF;
  if (out < least_reply(number)) return ENOSPC;
  switch (number) {
    case RDMA_USER_CM_CMD_CREATE_ID:
      return create_id(file, in, reply);
    case RDMA_USER_CM_CMD_DESTROY_ID:
      return destroy_id(file, in, now, reply);
    case RDMA_USER_CM_CMD_GET_EVENT:
      return take_event(file, out, reply);
    case RDMA_USER_CM_CMD_LEAVE_MCAST:
      return leave(file, in, reply);
    case RDMA_USER_CM_CMD_MIGRATE_ID:
      return migrate(file, in, reply);
    case RDMA_USER_CM_CMD_GET_OPTION:
      return ENOSYS;
    default:
      return number > RDMA_USER_CM_CMD_JOIN_MCAST ? EINVAL : on_id(file, number, in, out, now, reply);
  }
}

// A command on an ID, whose number lies at its own place in each struct.
int Manager::on_id(File file, std::uint32_t number, std::span<const std::uint8_t> in, std::size_t out, Time now,
                   Output& reply) {
  int error = 0;
  const auto with = [&](std::uint32_t id_number, auto action) {
    Id* const id = find(file, id_number, error);
    return id == nullptr ? error : action(*id);
  };
  const auto at = [](const auto& address) { return endpoint_of(bytes_of(address)); };
  switch (number) {
    case RDMA_USER_CM_CMD_BIND_IP: {
      const auto c = read<rdma_ucm_bind_ip>(in);
      const auto address = at(c.addr);
      return with(c.id, [&](Id& id) { return address ? bind(id, *address) : EAFNOSUPPORT; });
    }
    case RDMA_USER_CM_CMD_BIND: {
      const auto c = read<rdma_ucm_bind>(in);
      const auto address = at(c.addr);
      return with(c.id, [&](Id& id) { return address ? bind(id, *address) : EAFNOSUPPORT; });
    }
    case RDMA_USER_CM_CMD_RESOLVE_IP: {
      const auto c = read<rdma_ucm_resolve_ip>(in);
      const auto to = at(c.dst_addr);
      return with(c.id, [&](Id& id) { return to ? resolve_address(id, at(c.src_addr), *to) : EAFNOSUPPORT; });
    }
    case RDMA_USER_CM_CMD_RESOLVE_ADDR: {
      const auto c = read<rdma_ucm_resolve_addr>(in);
      const auto from = c.src_size == 0 ? std::nullopt : at(c.src_addr);
      const auto to = at(c.dst_addr);
      return with(c.id, [&](Id& id) { return to ? resolve_address(id, from, *to) : EAFNOSUPPORT; });
    }
    case RDMA_USER_CM_CMD_RESOLVE_ROUTE:
      return with(read<rdma_ucm_resolve_route>(in).id, [&](Id& id) { return resolve_route(id); });
    case RDMA_USER_CM_CMD_QUERY_ROUTE:
      return with(read<rdma_ucm_query>(in).id, [&](Id& id) { return query_route(id, out, reply); });
    case RDMA_USER_CM_CMD_QUERY: {
      const auto c = read<rdma_ucm_query>(in);
      return with(c.id, [&](Id& id) { return query(id, c.option, out, reply); });
    }
    case RDMA_USER_CM_CMD_CONNECT: {
      const auto c = read<rdma_ucm_connect>(in);
      return with(c.id, [&](Id& id) { return c.conn_param.valid == 0 ? EINVAL : connect(id, c.conn_param, now); });
    }
    case RDMA_USER_CM_CMD_LISTEN: {
      const auto c = read<rdma_ucm_listen>(in);
      return with(c.id, [&](Id& id) { return listen(id, c.backlog); });
    }
    case RDMA_USER_CM_CMD_ACCEPT: {
      const auto c = read<rdma_ucm_accept>(in);
      return with(c.id, [&](Id& id) { return accept(id, c, now); });
    }
    case RDMA_USER_CM_CMD_REJECT: {
      const auto c = read<rdma_ucm_reject>(in);
      return with(c.id, [&](Id& id) { return reject(id, c); });
    }
    case RDMA_USER_CM_CMD_DISCONNECT:
      return with(read<rdma_ucm_disconnect>(in).id, [&](Id& id) { return disconnect(id, now); });
    case RDMA_USER_CM_CMD_INIT_QP_ATTR: {
      const auto c = read<rdma_ucm_init_qp_attr>(in);
      return with(c.id, [&](Id& id) { return init_qp_attributes(id, c.qp_state, reply); });
    }
    case RDMA_USER_CM_CMD_SET_OPTION: {
      const auto c = read<rdma_ucm_set_option>(in);
      const auto value = in.subspan(std::min(in.size(), sizeof c));
      return with(c.id, [&](Id& id) { return value.size() != c.optlen ? EINVAL : set_option(id, c, value); });
    }
    case RDMA_USER_CM_CMD_NOTIFY: {
      const auto c = read<rdma_ucm_notify>(in);
      return with(c.id, [&](Id& id) { return notify(id, c.event); });
    }
    case RDMA_USER_CM_CMD_JOIN_IP_MCAST: {
      const auto c = read<rdma_ucm_join_ip_mcast>(in);
      const auto group = at(c.addr);
      return with(c.id, [&](Id& id) { return group ? join(id, *group, c.uid, reply) : EINVAL; });
    }
    case RDMA_USER_CM_CMD_JOIN_MCAST: {
      const auto c = read<rdma_ucm_join_mcast>(in);
      const auto group = at(c.addr);
      const bool known = c.join_flags < RDMA_MC_JOIN_FLAG_RESERVED;
      return with(c.id, [&](Id& id) { return group && known ? join(id, *group, c.uid, reply) : EINVAL; });
    }
    default:
      return EINVAL;
  }
}

int Manager::create_id(File file, std::span<const std::uint8_t> in, Output& reply) {
  const auto c = read<rdma_ucm_create_id>(in);
  auto id = std::make_unique<Id>();
  switch (c.ps) {
    case RDMA_PS_TCP:
      id->qp_type = IBV_QPT_RC;
      break;
    case RDMA_PS_UDP:
    case RDMA_PS_IPOIB:
      id->qp_type = IBV_QPT_UD;
      break;
    case RDMA_PS_IB:
      id->qp_type = c.qp_type;
      break;
    default:
      return EINVAL;
  }
  if (!has_room(file)) return ENOMEM;
  id->number = take_number();
  id->file = file;
  id->place = place_in(file);
  id->uid = c.uid;
  id->port_space = c.ps;
  id->first_psn = static_cast<std::uint32_t>(random_()) & 0xffffff;
  put(rdma_ucm_create_id_resp{id->number}, sizeof(rdma_ucm_create_id_resp), reply);
  ids_[id->number] = std::move(id);
  return 0;
}

int Manager::destroy_id(File file, std::span<const std::uint8_t> in, Time now, Output& reply) {
  int error = 0;
  Id* const id = find(file, read<rdma_ucm_destroy_id>(in).id, error);
  if (id == nullptr) return error;
  put(rdma_ucm_destroy_id_resp{id->events_reported}, sizeof(rdma_ucm_destroy_id_resp), reply);
  forget(*id, now);
  erase(*id);
  return 0;
}

bool Manager::has_room(File file) const {  // (R8)
  return files_.at(file).ids.use_count() <= kMostOfProgram && all_.use_count() <= kMost &&
         connections_.size() < kMostConnections;
}

// The least one that is free: librdmacm knows numbers up to 65,535.
std::uint32_t Manager::take_number() {
  if (free_numbers_.empty()) return ++last_id_;
  return free_numbers_.extract(free_numbers_.begin()).value();
}

void Manager::erase(const Id& id) {
  const std::uint32_t number = id.number;
  free_numbers_.insert(number);
  ids_.erase(number);
}

// The ID goes: what it has to say to its peer, and its events. (R5)
void Manager::forget(Id& id, Time now) {
  if (id.connection != nullptr) leave_connection(*id.connection, now);
  auto& events = files_.at(id.file).events;
  for (auto event = events.begin(); event != events.end();) {
    if (event->id != &id) {
      ++event;
      continue;
    }
    if (event->accepted && event->accepted->connection != nullptr) leave_connection(*event->accepted->connection, now);
    event = events.erase(event);
  }
  retract(id.file);
}

int Manager::set_option(Id& id, const rdma_ucm_set_option& asked, std::span<const std::uint8_t> value) {
  if (asked.level != RDMA_OPTION_ID) return ENOSYS;
  switch (asked.optname) {
    case RDMA_OPTION_ID_TOS:
      if (value.size() != 1) return EINVAL;
      id.tos = value[0];
      return 0;
    case RDMA_OPTION_ID_REUSEADDR: {  // (R12)
      if (value.size() != sizeof(int)) return EINVAL;
      const bool reuses = read<int>(value) != 0;
      if (id.listening || (id.source.known && !reuses)) return EINVAL;
      id.reuses = reuses;
      return 0;
    }
    case RDMA_OPTION_ID_AFONLY:
      if (value.size() != sizeof(int) || id.listening || id.addressed) return EINVAL;
      id.one_family = read<int>(value) != 0;
      return 0;
    case RDMA_OPTION_ID_ACK_TIMEOUT:
      if (value.size() != 1) return EINVAL;
      id.ack_timeout = value[0] & 0x1f;
      return 0;
    default:
      return ENOSYS;
  }
}

// To the file from the one whose number stands in the place of its descriptor.
int Manager::migrate(File to, std::span<const std::uint8_t> in, Output& reply) {
  const auto c = read<rdma_ucm_migrate_id>(in);
  int error = 0;
  Id* const id = find(File{c.fd}, c.id, error);
  if (id == nullptr) return error;
  if (id->file != to && !has_room(to)) return ENOMEM;
  put(rdma_ucm_migrate_resp{id->events_reported}, sizeof(rdma_ucm_migrate_resp), reply);
  if (id->file == to) return 0;
  auto& from = files_.at(id->file).events;
  for (auto event = from.begin(); event != from.end();) {
    if (event->id != id) {
      ++event;
      continue;
    }
    if (event->accepted) {
      event->accepted->file = to;
      event->accepted->place = place_in(to);
    }
    files_.at(to).events.push_back(std::move(*event));
    event = from.erase(event);
    surroundings_.notify(to);
  }
  retract(id->file);
  id->file = to;
  id->place = place_in(to);
  for (auto& [number, group] : id->groups) group.place = place_in(to);
  return 0;
}

int Manager::take_event(File file, std::size_t out, Output& reply) {
  auto& events = files_.at(file).events;
  if (events.empty()) return EAGAIN;
  Event event = std::move(events.front());
  events.pop_front();
  ++event.id->events_reported;
  if (event.text.event == kAddressError) --event.id->errors;
  if (event.multicast != 0) ++event.id->groups.at(event.multicast).events_reported;
  if (event.accepted) {
    ++event.id->backlog;
    event.accepted->number = event.text.id = take_number();
    ids_[event.text.id] = std::move(event.accepted);
  }
  put(event.text, out, reply);
  retract(file);
  return 0;
}

rdma_ucm_event_resp Manager::event_of(const Id& id, std::uint32_t event, std::int32_t status) const {
  rdma_ucm_event_resp text{};
  text.uid = id.uid;
  text.id = id.number;
  text.event = event;
  text.status = static_cast<std::uint32_t>(status);
  return text;
}

// An ID that the program has not accepted yet has no events.
void Manager::raise(Id& id, const rdma_ucm_event_resp& event, std::uint32_t multicast) {
  if (id.uid == 0 || id.number == 0) return;
  if (event.event == kAddressError) ++id.errors;
  files_.at(id.file).events.push_back({&id, multicast, nullptr, event});
  surroundings_.notify(id.file);
}

}  // namespace rxnic::cm
