// SPDX-License-Identifier: Apache-2.0
// A receive queue's attributes in the command that makes it (descriptors.toml, WqCommand), and back.
#pragma once

#include "model/types/command.h"
#include "model/types/work_queue.h"

namespace rxnic {

inline WqCommand wq_command(WqOperation operation, const WqContext& wq) {
  WqCommand c;
  c.operation = operation;
  c.is_srq = wq.kind == WqKind::kSrq;
  c.linked_list = wq.layout == WqLayout::kLinkedList;
  c.tag_matching = wq.tag_matching;
  c.number = wq.number;
  c.base = wq.base;
  c.slots = wq.slots;
  c.stride = wq.stride;
  c.first_wqe = wq.first_wqe;
  c.pd = wq.pd;
  c.cq = wq.cq;
  c.xrcd = wq.xrcd;
  c.limit = wq.limit;
  return c;
}

inline WqContext context_of(const WqCommand& command) {
  WqContext c;
  c.kind = command.is_srq ? WqKind::kSrq : WqKind::kRq;
  c.layout = command.linked_list ? WqLayout::kLinkedList : WqLayout::kCyclic;
  c.tag_matching = command.tag_matching;
  c.number = command.number;
  c.base = command.base;
  c.slots = command.slots;
  c.stride = command.stride;
  c.first_wqe = command.first_wqe;
  c.pd = command.pd;
  c.cq = command.cq;
  c.xrcd = command.xrcd;
  c.limit = command.limit;
  return c;
}

}  // namespace rxnic
