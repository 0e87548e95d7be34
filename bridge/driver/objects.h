// SPDX-License-Identifier: Apache-2.0
// The objects that programs have created on one NIC.
//
//   R1  Every object has one owner, and its number is unique among its kind on the NIC. An XRC_RECV QP may have further
//       holders: it goes to the next of them when its owner frees it.
//   R2  `users` counts the objects that refer to it: it cannot be destroyed before them.
//   R3  Destroying one takes time: `teardown` is the step that it has reached, 0 before its beginning.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "bridge/channel/protocol.h"
#include "bridge/driver/programs.h"
#include "bridge/driver/verbs_numbers.h"
#include "model/nic/command_queue.h"

namespace rxnic {

inline constexpr std::uint32_t kNoRecord = 0xffff'ffff;

struct Teardown {
  std::uint8_t step = 0;
  Ticket ticket = 0;  // of the command that is waited for, 0: none
};

struct PdObject {
  ClientId owner{};
  std::uint32_t users = 0;
  std::set<ClientId> importers{};
};

struct RegionObject {
  ClientId owner{};
  channel::Memory asked;
  std::uint64_t mtt_offset = 0, pages = 0;
  Teardown teardown{};
  std::uint32_t window = 0;             // whose binding is looked at meanwhile
  bool ends = false;                    // with its owner, whatever is bound to it
  std::uint64_t written = 0;            // of its pages, into the NIC's table
  std::vector<std::uint64_t> tables{};  // of its tree: offsets in the MTT, the root's first
};

inline bool is_on_demand(const channel::Memory& m) { return (m.access & kAccessOnDemand) != 0; }

// Memory of the device that a program has allocated.
struct DeviceMemoryObject {
  ClientId owner{};
  std::uint64_t offset = 0, length = 0;
  std::uint32_t users = 0;  // regions
  std::set<ClientId> importers{};
};

// A memory window, by the key that it was allocated with.
struct WindowObject {
  ClientId owner{};
  std::uint32_t pd = 0;
  Teardown teardown{};
};

struct CqObject {
  ClientId owner{};
  CqContext context;
  std::uint32_t channel = 0;  // 0: none
  std::uint32_t record = kNoRecord;
  std::uint32_t users = 0;
  Teardown teardown;
};

struct SrqObject {
  ClientId owner{};
  WqContext context;
  WqId queue = kNoWq;
  std::uint32_t record = kNoRecord;
  // Tag matching: the ring of operations on its tag list (channel/tag_ring.h).
  std::uint32_t tag_record = kNoRecord;
  BusAddress tag_ring{};
  std::uint32_t tag_slots = 0;
  std::uint32_t tag_writes = 0;  // operations that were given to the NIC, modulo 2^32
  std::uint32_t xrcd = 0;        // XRC: its owner's handle of its domain
  std::uint32_t users = 0;
  Teardown teardown;
};

// Handles of XRC domains by the file that they share.
struct XrcFile {
  std::uint64_t device = 0, number = 0;
  auto operator<=>(const XrcFile&) const = default;
};

// A client's handle of an XRC domain.
struct XrcdObject {
  ClientId owner{};
  Xrcdn domain{};
  std::uint32_t users = 0;  // its QPs and SRQs in the domain
};

struct XrcDomainObject {
  std::uint32_t handles = 0;
  std::optional<XrcFile> file{};  // that it belongs to
};

struct QpObject {
  ClientId owner{};
  QpType type = QpType::kRc;
  bool made = false;                   // the NIC has it
  SendQpContext created;               // what a reset goes back to
  SendQpContext context;               // as last given to the NIC
  channel::QpAttributes attributes;    // as software set them
  std::optional<WqContext> own_queue;  // its RQ; nothing: it takes from an SRQ
  std::uint32_t srqn = 0;              // with `has_srq`
  bool has_srq = false;
  std::uint32_t xrcd = 0;  // XRC_RECV: its owner's handle of its domain
  struct Holder {
    ClientId client{};
    std::uint32_t xrcd = 0;  // its handle of the domain
  };
  std::vector<Holder> holders;  // XRC_RECV: besides the owner
  std::uint32_t send_record = kNoRecord, receive_record = kNoRecord;
  std::uint32_t groups = 0;  // multicast groups that it is attached to
  std::uint32_t flows = 0;   // that name it
  std::uint32_t tables = 0;  // places in indirection tables
  Teardown teardown;

  Qpn qpn() const { return context.qp.qpn; }
};

// A rule of flow steering.
struct FlowObject {
  ClientId owner{};
  std::uint32_t qpn = 0;
  std::uint32_t counters = 0;  // 0: none
  Teardown teardown{};
};

// What flows count.
struct CountersObject {
  ClientId owner{};
  std::uint32_t users = 0;               // flows
  std::uint64_t packets = 0, bytes = 0;  // of flows that are gone
};

// A QP that spreads frames over the receive queues of others.
struct RssObject {
  ClientId owner{};
  std::uint32_t pd = 0;
  std::vector<std::uint32_t> queues{};  // the indirection table: QPNs
  std::uint32_t flows = 0;              // that name it
  Teardown teardown{};
};

// What one client has. Doorbell records: the object that each one belongs to.
struct ClientObjects {
  struct Record {
    bool used = false;
    std::uint32_t number = 0;  // QPN, WqId, CQN or, of tags, SRQN
    std::uint32_t last = 0;    // send: the producer index that was rung last; arm: how often for any
  };
  std::vector<Record> send, receive, completion, tags;
  std::set<std::uint32_t> channels;
  std::map<std::uint32_t, std::uint32_t> channel_users;  // by channel: CQs
  std::uint64_t pages = 0;                               // of its regions
  Teardown teardown;                                     // of all of it
  std::uint32_t next = 0;                                // of the kind that is being destroyed: its next number
  bool windows_remain = false;                           // others', that were bound to its regions
  std::uint32_t released = 0;                            // the last of them
};

}  // namespace rxnic
