// SPDX-License-Identifier: Apache-2.0
// Send WQEs and memory regions as a driver writes them, for tests.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "model/types/context.h"
#include "model/types/host_memory.h"
#include "model/types/send_work_queue.h"

namespace rxnic {

struct WqeSpec {
  SendOpcode opcode = SendOpcode::kSend;
  std::uint8_t flags = kSendSignaled;
  std::uint32_t immediate = 0;
  std::uint32_t remote_qpn = 0, remote_qkey = 0, remote_srqn = 0;
  RemoteSegment remote = {};
  AddressVector address = {};  // UD, instead of `remote`
  WindowSegment window = {};   // BIND_MW, instead of `remote`
  std::vector<DataSegment> sge = {};
  std::vector<std::uint8_t> inline_data = {};  // sets kSendInline
  std::uint16_t mss = 0;                       // TSO, as the next
  std::vector<std::uint8_t> header = {};
};

// The bytes of a slot.
inline std::vector<std::uint8_t> wqe_bytes(const WqeSpec& spec, std::uint32_t stride = 256, bool datagram = false) {
  std::vector<std::uint8_t> slot(stride);
  SendControl c;
  c.opcode = spec.opcode;
  c.flags = spec.flags;
  c.sge_count = static_cast<std::uint16_t>(spec.sge.size());
  c.immediate = spec.immediate;
  c.remote_qpn = spec.remote_qpn;
  c.remote_qkey = spec.remote_qkey;
  c.remote_srqn = spec.remote_srqn;
  c.mss = spec.mss;
  c.header_bytes = static_cast<std::uint16_t>(spec.header.size());
  std::copy(spec.header.begin(), spec.header.end(), slot.begin() + kSendHeaderBytes);
  if (!spec.inline_data.empty()) {
    c.flags |= kSendInline;
    c.inline_bytes = static_cast<std::uint32_t>(spec.inline_data.size());
    std::memcpy(slot.data() + kSendHeaderBytes, spec.inline_data.data(), spec.inline_data.size());
  } else if (!spec.sge.empty()) {
    std::memcpy(slot.data() + send_data_offset(c.header_bytes), spec.sge.data(), spec.sge.size() * sizeof(DataSegment));
  }
  std::memcpy(slot.data(), &c, sizeof c);
  if (datagram) {
    std::memcpy(slot.data() + sizeof c, &spec.address, sizeof spec.address);
  } else if (spec.opcode == SendOpcode::kBindWindow) {
    std::memcpy(slot.data() + sizeof c, &spec.window, sizeof spec.window);
  } else {
    std::memcpy(slot.data() + sizeof c, &spec.remote, sizeof spec.remote);
  }
  return slot;
}

// A region of 4 KiB pages; its page list is at `mtt`.
inline void put_region(HostMemory& memory, Key key, Pdn pd, std::uint8_t access, std::uint64_t va, std::uint64_t length,
                       std::span<const std::uint64_t> pages, std::uint64_t mtt) {
  MptEntry e;
  e.key = raw(key);
  e.valid = 1;
  e.access = access;
  e.page_shift = 12;
  e.pd = raw(pd);
  e.va = va;
  e.length = length;
  e.mtt_base = mtt;
  memory.store(mpt_address(key), e);
  for (const std::uint64_t page : pages) {
    memory.store(BusAddress{mtt}, page);
    mtt += sizeof page;
  }
}

}  // namespace rxnic
