// SPDX-License-Identifier: Apache-2.0
#include "model/core/requester/rendezvous_table.h"

#include <cassert>

namespace rxnic {

std::uint32_t RendezvousTable::add(const RendezvousRequest& request) {
  assert(used_ < entries_);
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(rows_.size()));
    rows_.reserve(entries_);  // pointers into a row stay valid
    rows_.emplace_back();
  }
  const std::uint32_t entry = free_.back();
  free_.pop_back();
  ++used_;
  Row& row = rows_[entry];
  row.request = request;
  build_tmh({static_cast<std::uint8_t>(TmhOpcode::kFinish), request.tag_context, request.tag}, row.fin.data());
  build_rvh({request.va, raw(request.rkey), request.bytes}, row.fin.data() + kTmhBytes);
  return entry;
}

void RendezvousTable::release(std::uint32_t entry) {
  free_.push_back(entry);
  --used_;
  ++freed_;
}

SendWqe RendezvousTable::read_wqe(std::uint32_t entry) const {
  const RendezvousRequest& r = rows_[entry].request;
  SendWqe wqe;
  wqe.opcode = SendOpcode::kRead;
  wqe.flags = kSendSignaled;
  wqe.bytes = r.bytes;
  wqe.remote.va = r.va;
  wqe.remote.rkey = raw(r.rkey);
  wqe.sge_count = r.bytes > 0 ? 1 : 0;
  wqe.sge[0] = {r.bytes, raw(r.lkey), r.buffer};
  return wqe;
}

SendWqe RendezvousTable::finish_wqe(std::uint32_t entry) const {
  SendWqe wqe;
  wqe.opcode = SendOpcode::kSend;
  wqe.flags = kSendInline;
  wqe.inline_data = rows_[entry].fin.data();
  wqe.bytes = static_cast<std::uint32_t>(rows_[entry].fin.size());
  return wqe;
}

}  // namespace rxnic
