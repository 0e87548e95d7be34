// SPDX-License-Identifier: Apache-2.0
// The program's side of RQs and SRQs: how WRs become receive WQEs (model/types/work_queue.h), when a slot is free.
//
//   R1  Refused with EINVAL: more SGEs than max_sge; an RQ whose QP is in RESET or has none of its own. With ENOMEM: a
//       full queue. (In ERR posting is allowed: the device flushes what is posted.)
//   R2  SGEs of length 0 are left out. A list shorter than its slot ends with kInvalidKey.
//   R3  RQ: cyclic; a slot is free again when its completion, or that of a later WQE, was polled.
//   R4  SRQ: a slot is free again when its completion was polled, in whatever order (rules 1.2). Linked list: slots are
//       handed out in the order of the free list, and a freed slot goes to its end. The last slot stays in the list, so
//       that a posted WQE always knows the next. Cyclic: in ring order.
//   R5  A program may have max_wr WRs in an SRQ, whatever the order of their completions. Where a cyclic ring has come
//       to a slot that is not free yet, WRs wait outside the ring. They move in, in order, as the slot becomes free.
#pragma once

#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

// The WQE in `slot` was completed: frees the slot, returns its wr_id. `slot` is taken modulo the queue.
std::uint64_t complete_receive(ReceiveQueue& queue, std::uint32_t slot);
std::uint64_t complete_receive(Srq& srq, std::uint32_t slot);

}  // namespace rxnic::verbs
