// SPDX-License-Identifier: Apache-2.0
// The simulator's NICs as verbs devices: rxnic0, rxnic1... Each listing asks for their number and GUIDs; a Device, once
// listed, is never moved or freed: pointers to it stay valid.
#include <arpa/inet.h>
#include <endian.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "bridge/verbs/connection.h"
#include "bridge/verbs/control_path.h"
#include "bridge/verbs/fork_guard.h"
#include "bridge/verbs/objects.h"
#include "bridge/verbs/operations.h"

namespace rxnic::verbs {

namespace {

Lock devices_lock;
Device devices[channel::kMaxNics];

std::uint64_t guid_of(const channel::Hello& hello, std::uint32_t nic) {
  if (nic < hello.node_guids.size()) return hello.node_guids[nic];
  return htobe64(be64toh(hello.node_guids[0]) + nic);
}

void name_device(Device& device, std::uint32_t nic, std::uint64_t guid) {
  ibv_device& d = device.device;
  device.nic = nic;
  device.guid = guid;
  d.node_type = IBV_NODE_CA;
  d.transport_type = IBV_TRANSPORT_IB;
  std::snprintf(d.name, sizeof d.name, "rxnic%u", nic);
  std::snprintf(d.dev_name, sizeof d.dev_name, "rxnic%u", nic);
  // Programs look for files there: bridge/device_files shows them.
  std::snprintf(d.dev_path, sizeof d.dev_path, "/sys/class/infiniband_verbs/rxnic%u", nic);
  std::snprintf(d.ibdev_path, sizeof d.ibdev_path, "/sys/class/infiniband/rxnic%u", nic);
}

// RXNIC_NIC: the only NIC that the program is shown. False: not set.
bool only_nic(std::uint32_t& nic) {
  const char* text = std::getenv(channel::kNicVariable);
  if (text == nullptr || *text == '\0') return false;
  const char* end = text + std::strlen(text);
  if (const auto result = std::from_chars(text, end, nic); result.ec != std::errc{} || result.ptr != end) {
    std::fprintf(stderr, "rxnic: %s=%s is not the number of a NIC\n", channel::kNicVariable, text);
    nic = channel::kMaxNics;
  }
  return true;
}

}  // namespace

ibv_device** get_device_list(int* count) {
  if (count != nullptr) *count = 0;
  Connection connection;
  const int status = connection.connect();  // ENODEV and the like: an empty list is no failure
  const std::uint32_t nics = status != 0 ? 0 : connection.hello().nics;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers
  auto** list = static_cast<ibv_device**>(std::calloc(channel::kMaxNics + 1, sizeof(ibv_device*)));
  if (list == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  std::uint32_t only = 0;
  const bool restricted = only_nic(only);
  int listed = 0;
  const std::lock_guard guard(devices_lock);
  for (std::uint32_t nic = 0; nic < nics && nic < channel::kMaxNics; ++nic) {
    if (restricted && nic != only) continue;
    if (devices[nic].guid == 0) name_device(devices[nic], nic, guid_of(connection.hello(), nic));
    list[listed++] = &devices[nic].device;
  }
  if (restricted && listed == 0 && nics != 0) {
    std::fprintf(stderr, "rxnic: %s=%u: the simulator has NICs 0 to %u\n", channel::kNicVariable, only, nics - 1);
  }
  if (count != nullptr) *count = listed;
  return list;
}

std::uint64_t get_device_guid(ibv_device* device) { return device_of(device).guid; }

int get_device_index(ibv_device* device) { return static_cast<int>(device_of(device).nic); }

namespace {

// The device that the context with that descriptor is of. 0 or a positive errno.
int find_imported(Connection& connection, int from, ibv_device*& device) {
  std::uint32_t nic = 0;
  if (const int status = connection.find_nic(from, nic)) return status;
  if (nic >= channel::kMaxNics) return EPROTO;
  const std::lock_guard guard(devices_lock);
  if (devices[nic].guid == 0) name_device(devices[nic], nic, guid_of(connection.hello(), nic));
  device = &devices[nic].device;
  return 0;
}

// `from`: a descriptor of the context that is imported, or -1; `device`: nullptr: the one of that.
ibv_context* open_nic(ibv_device* device, int from) {
  auto* context = new (std::nothrow) Context;
  auto* connection = new (std::nothrow) Connection;
  int status = context != nullptr && connection != nullptr ? 0 : ENOMEM;
  if (status == 0) {
    context->verbs.context.num_comp_vectors = 1;
    context->verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    pthread_mutex_init(&context->verbs.context.mutex, nullptr);
    fill(context->verbs);
    status = connection->connect();
  }
  if (status == 0 && from >= 0) status = find_imported(*connection, from, device);
  if (status == 0) {
    context->device = &device_of(device);
    context->verbs.context.device = device;
    context->imported_from = from;
  }
  if (status == 0) status = connection->open(context->device->nic, *context);
  if (status != 0) {
    delete connection;
    delete context;
    errno = status;
    return nullptr;
  }
  guard_fork(*context);
  return &context->verbs.context;
}

}  // namespace

ibv_context* open_device(ibv_device* device) { return open_nic(device, -1); }

ibv_context* import_device(int cmd_fd) {
  if (cmd_fd >= 0) return open_nic(nullptr, cmd_fd);
  errno = EBADF;
  return nullptr;
}

int close_device(ibv_context* context) {
  Context& c = context_of(context);
  unguard_fork(c);
  close(context->async_fd);
  if (c.imported_from >= 0) close(c.imported_from);
  pthread_mutex_destroy(&context->mutex);
  delete c.connection;
  delete &c;
  return 0;
}

}  // namespace rxnic::verbs
