// SPDX-License-Identifier: Apache-2.0
// The queues of a QP and what is remembered about a WR in them. [D]: see objects.h R1.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>

#include "bridge/verbs/lock.h"
#include "bridge/verbs/records.h"
#include "model/types/completion.h"

namespace rxnic::verbs {

// One completion, as a program reads it.
struct Completion {
  Cqe cqe;
  std::uint64_t wr_id = 0;
  ibv_wc_opcode opcode = IBV_WC_SEND;
};

struct ReceiveQueue {  // of a QP without an SRQ: cyclic
  Lock lock;
  std::uint8_t* ring = nullptr;
  std::uint32_t slots = 0;  // 0: none
  std::uint32_t stride = 0, max_sge = 0, doorbell = 0;
  Records<std::uint64_t> wr_ids;           // [D] lock: by slot
  std::atomic<std::uint32_t> producer{0};  // [D] lock; stored when the WQE and its wr_id are written
  std::atomic<std::uint32_t> consumer{0};  // [D] the QP's receive CQ's lock: WQEs whose completion was polled
};

struct SentWr {  // what a completion reports about its WR
  std::uint64_t wr_id = 0;
  ibv_wc_opcode opcode = IBV_WC_SEND;
};

struct SendQueue {
  Lock lock;
  std::uint8_t* ring = nullptr;
  std::uint32_t slots = 0;  // 0: none
  std::uint32_t stride = 0, max_sge = 0, max_inline = 0, max_tso_header = 0, doorbell = 0;
  Records<SentWr> sent;                    // [D] lock: by slot
  std::atomic<std::uint32_t> producer{0};  // [D] lock; stored when the WQE and what is in `sent` are written
  std::atomic<std::uint32_t> consumer{0};  // [D] the QP's send CQ's lock: (send_work_queue.h R4)
  // Between wr_start and wr_complete of ibv_qp_ex, lock held.
  std::uint32_t building = 0;   // [D] producer index after the WR that is being built
  std::uint8_t* wqe = nullptr;  // [D] the WQE that is being built
  int build_error = 0;          // [D] first errno of this list
};

struct TagOp {  // what a completion reports about an operation on a tag list, and what it says about its entry
  std::uint64_t wr_id = 0;
  std::uint32_t handle = 0;
  ibv_ops_wr_opcode opcode = IBV_WR_TAG_SYNC;
};

struct TagList {                 // of a TM SRQ (tag_list.h), under Srq::lock
  std::uint8_t* ring = nullptr;  // of channel::TagWrites
  std::uint32_t slots = 0, doorbell = 0;
  std::uint32_t max_tags = 0;
  Records<TagOp> ops;              // [D] by slot
  std::uint32_t written = 0;       // [D] operations, free-running
  std::uint32_t carried_out = 0;   // [D] of them, as far as completions have shown
  Records<std::uint64_t> wr_ids;   // [D] by handle: recv_wr_id
  Records<std::uint32_t> added;    // [D] by handle: number of the operation that added it
  Records<std::uint8_t> used;      // [D] by handle
  Records<std::uint32_t> free;     // [D] a ring of the handles that are not used
  std::uint32_t next_free = 0;     // [D] in it
  std::uint32_t free_handles = 0;  // [D]
};

}  // namespace rxnic::verbs
