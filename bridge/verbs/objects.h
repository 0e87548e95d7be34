// SPDX-License-Identifier: Apache-2.0
// The library's objects: each begins with the public struct of <infiniband/verbs.h> that the program is given.
//
//   R1  Fields without a mark are set by the control path before the program sees the object, and do not change.
//       Fields with [D] belong to the data path (post, poll, events), under the lock named there. Fields with [C]
//       change in the control path.
//   R2  Order of locks: Connection's own < Context::objects < Cq::lock (of two: the smaller address first) < Srq::lock,
//       ReceiveQueue::lock < SendQueue::lock. Events are waited for with none held.
//   R3  An object is in its table from the device's reply to its creation until just before its destruction. A QP is
//       erased holding Context::objects and the locks of its CQs: a poll never sees half a QP.
//   R4  Layouts begin as the ones that rdma-core's providers have (verbs_device, verbs_mr, verbs_qp...). So vendors'
//       libraries (mlx5dv, efadv), which look for their own mark just behind the public part, do not find it.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bridge/channel/protocol.h"
#include "bridge/verbs/lock.h"
#include "bridge/verbs/number_table.h"
#include "bridge/verbs/queues.h"
#include "bridge/verbs/records.h"
#include "model/types/completion.h"
#include "model/types/send_work_queue.h"

namespace rxnic::verbs {

class Connection;

struct Device {
  ibv_device device{};
  const void* provider_ops = nullptr;  // (R4) none of theirs
  std::uint32_t nic = 0;
  std::uint64_t guid = 0;  // as in memory: network byte order
};

struct Td {
  ibv_td td{};
  std::atomic<std::uint32_t> users{0};  // [C] parent domains with it
};

struct Pd {
  ibv_pd pd{};
  std::atomic<std::uint32_t> users{0};  // [C] MRs, MWs, QPs, SRQs and AHs in it, parent domains of it
  // For a parent domain (parent_domain.cpp).
  Pd* protection = nullptr;  // whose number is pd.handle; nullptr: it is none
  Td* thread = nullptr;
  void* (*allocate)(ibv_pd*, void*, std::size_t, std::size_t, std::uint64_t) = nullptr;  // records.h R1
  void (*free)(ibv_pd*, void*, void*, std::uint64_t) = nullptr;
  void* allocator_context = nullptr;
};

struct Mr {
  ibv_mr mr{};
  std::uint32_t type = 0;  // (R4)
  int access = 0;          // [C] ibv_rereg_mr
  bool of_device = false;  // ibv_reg_dm_mr
  bool is_null = false;    // ibv_alloc_null_mr
};

struct Mw {
  ibv_mw mw{};
  std::uint32_t number = 0;  // the device's
};

struct Ah {
  ibv_ah ah{};
  AddressVector path;
};

struct Channel {
  // fd: the read end of a pipe of EventRecords. refcnt: CQs with it, under Context::objects.
  ibv_comp_channel channel{};
  std::uint32_t number = 0;  // the device's
  Lock lock;
};

struct Cq {
  ibv_cq_ex cq{};
  Pd* domain = nullptr;  // the parent domain that it was made in
  std::uint32_t number = 0;
  std::uint32_t doorbell = 0;  // record of the boards kConsumer and kArm
  Lock lock;
  std::uint8_t* ring = nullptr;  // [C] under lock: ibv_resize_cq
  std::uint32_t slots = 0;       // [C] under lock
  std::uint32_t cqe_bytes = 64;
  std::uint32_t consumer = 0;               // [D] lock: free-running index of the next CQE
  Cqe title;                                // [D] lock: of the compressed block that is being polled
  std::uint32_t minis_left = 0;             // [D] lock: completions of that block that are not polled yet
  std::uint32_t next_mini = 0;              // [D] lock: in the slot at `consumer`
  std::uint32_t reported = 0;               // [D] lock: the consumer index that the device knows
  std::uint32_t armed_for_any = 0;          // [D] lock: how often
  Completion current;                       // [D] lock: between start_poll and end_poll
  bool flushing = false;                    // [D] lock: start_poll found the simulator dead, holds Context::objects
  std::uint64_t wc_flags = 0;               // ibv_create_cq_ex
  bool single_threaded = false;             // IBV_CREATE_CQ_ATTR_SINGLE_THREADED
  std::atomic<bool> armed{false};           // [D] req_notify_cq was called since the last event
  std::atomic<bool> event_taken{false};     // [D] since the last completion was polled
  std::uint32_t comp_events_reported = 0;   // [D] Context::objects
  std::uint32_t async_events_reported = 0;  // [D] Context::objects
  std::uint32_t users = 0;                  // [C] Context::objects: QPs and SRQs with this CQ
};

struct Xrcd {  // begins as rdma-core's verbs_xrcd (R4)
  ibv_xrcd xrcd{};
  std::uint32_t comp_mask = 0;
  std::uint32_t number = 0;             // the device's handle
  int file = -1;                        // keeps the file open whose number names the domain: no other gets it meanwhile
  std::atomic<std::uint32_t> users{0};  // [C] SRQs and QPs made with it
};

struct Srq {
  ibv_srq srq{};
  std::uint32_t type = 0;  // (R4) ibv_srq_type
  std::uint32_t number = 0;
  Lock lock;
  std::uint8_t* ring = nullptr;
  std::uint32_t slots = 0, stride = 0, max_sge = 0, max_wr = 0, doorbell = 0;
  bool linked_list = false;          // work_queue.h R2; else cyclic
  Records<std::uint64_t> wr_ids;     // [D] lock: by slot
  Records<std::uint8_t> busy;        // [D] lock: by slot: posted, not yet polled
  Records<std::uint16_t> next;       // [D] lock: linked list: by slot; control path: i -> i + 1
  std::uint32_t head = 0, tail = 0;  // [D] lock: of the list of free slots; control path: 0, slots - 1
  // Cyclic: WRs whose slot is not free yet wait in memory laid out as the ring. [D] lock
  Records<std::uint8_t> waiting;
  Records<std::uint64_t> waiting_wr_ids;
  std::uint32_t accepted = 0;               // [D] lock: free-running count of WRs
  std::uint32_t producer = 0;               // [D] lock: of WQEs in the ring
  std::uint32_t posted = 0;                 // [D] lock: WRs that were accepted and not yet polled
  std::unique_ptr<TagList> tags;            // of a TM SRQ
  ibv_cq* cq = nullptr;                     // of a TM or XRC SRQ: where all its messages complete
  Xrcd* xrcd = nullptr;                     // of an XRC SRQ
  std::uint32_t async_events_reported = 0;  // [D] Context::objects
  std::uint32_t users = 0;                  // [C] Context::objects: QPs
};

// ibv_create_counters: what its flows count, in which places of the program's array.
struct Counters {
  static constexpr std::size_t kMostPoints = 32;
  struct Point {
    ibv_counter_description what{};
    std::uint32_t index = 0;
  };
  ibv_counters counters{};
  std::uint32_t number = 0;
  Lock lock;
  std::array<Point, kMostPoints> points{};  // [C] under lock
  std::size_t count = 0;                    // [C] under lock
  std::uint32_t places = 0;                 // [C] under lock: that the points need
  std::uint32_t flows = 0;                  // [C] under lock: with it
};

struct Flow {
  ibv_flow flow{};
  Counters* counters = nullptr;
};

struct Qp;

struct Wq {
  ibv_wq wq{};
  Qp* queue = nullptr;                      // a RAW_PACKET QP without a send queue
  std::atomic<std::uint32_t> users{0};      // [C] places in tables
  std::uint32_t async_events_reported = 0;  // [D] Context::objects
};

struct RwqTable {
  ibv_rwq_ind_table table{};
  std::uint32_t log_entries = 0;
  std::array<Wq*, kMostRssEntries> wqs{};
  std::atomic<std::uint32_t> users{0};  // [C] RSS QPs with it
};

struct Qp {
  ibv_qp_ex qp{};
  std::uint32_t comp_mask = 0;  // (R4)
  ibv_xrcd* xrcd = nullptr;     // (R4) of an XRC_RECV QP
  bool extended = false;        // made with send_ops_flags: ibv_qp_to_qp_ex works
  bool all_signaled = false;
  bool management = false;     // QP 1
  bool receives_only = false;  // of a WQ
  Wq* wq = nullptr;            // whose queue it is
  RwqTable* table = nullptr;   // of an RSS QP, which has neither queues nor a place in Context::qps
  SendQueue send;
  ReceiveQueue receive;
  std::atomic<bool> fatal_reported{false};  // [D] the simulator died: the first flushed WR had IBV_WC_FATAL_ERR
  std::uint32_t async_events_reported = 0;  // [D] Context::objects
};

struct Context {
  Device* device = nullptr;
  Connection* connection = nullptr;
  void* mapping = nullptr;  // channel::MappingHeader at its start
  int wake_fd = -1;         // eventfd: written when channel::ring() says so
  std::uint32_t simulator_pid = 0;
  int imported_from = -1;                       // ibv_import_device: the descriptor that it was given
  std::vector<std::unique_ptr<Pd>> unimported;  // under `objects`: those with users left then
  channel::DeviceAttributes attributes;
  std::atomic<bool> dead{false};            // the simulator is gone, or this is a forked child
  std::atomic<bool> fatal_reported{false};  // [D] IBV_EVENT_DEVICE_FATAL was returned
  Lock objects;                             // tables, users, async_events_reported
  NumberTable<Qp> qps;
  std::vector<Qp*> more_qps;  // further objects of a QP of the table (ibv_open_qp), which has its events
  NumberTable<Cq> cqs;
  NumberTable<Srq> srqs;
  Context* next = nullptr;  // fork_guard.cpp
  verbs_context verbs{};    // last: the program has &verbs.context
};

inline Context& context_of(ibv_context* context) {
  return *reinterpret_cast<Context*>(reinterpret_cast<char*>(context) - offsetof(Context, verbs) -
                                     offsetof(verbs_context, context));
}
// The public struct is the first member.
inline Device& device_of(ibv_device* p) { return *reinterpret_cast<Device*>(p); }
inline Td& td_of(ibv_td* p) { return *reinterpret_cast<Td*>(p); }
inline Pd& pd_of(ibv_pd* p) { return *reinterpret_cast<Pd*>(p); }
inline Mr& mr_of(ibv_mr* p) { return *reinterpret_cast<Mr*>(p); }
inline Mw& mw_of(ibv_mw* p) { return *reinterpret_cast<Mw*>(p); }
inline Ah& ah_of(ibv_ah* p) { return *reinterpret_cast<Ah*>(p); }
inline Channel& channel_of(ibv_comp_channel* p) { return *reinterpret_cast<Channel*>(p); }
inline Cq& cq_of(ibv_cq* p) { return *reinterpret_cast<Cq*>(p); }
inline Cq& cq_of(ibv_cq_ex* p) { return *reinterpret_cast<Cq*>(p); }
inline Xrcd& xrcd_of(ibv_xrcd* p) { return *reinterpret_cast<Xrcd*>(p); }
inline Srq& srq_of(ibv_srq* p) { return *reinterpret_cast<Srq*>(p); }
inline Counters& counters_of(ibv_counters* p) { return *reinterpret_cast<Counters*>(p); }
inline Flow& flow_of(ibv_flow* p) { return *reinterpret_cast<Flow*>(p); }
inline Wq& wq_of(ibv_wq* p) { return *reinterpret_cast<Wq*>(p); }
inline RwqTable& table_of(ibv_rwq_ind_table* p) { return *reinterpret_cast<RwqTable*>(p); }
inline Qp& qp_of(ibv_qp* p) { return *reinterpret_cast<Qp*>(p); }
inline Qp& qp_of(ibv_qp_ex* p) { return *reinterpret_cast<Qp*>(p); }

}  // namespace rxnic::verbs
