// SPDX-License-Identifier: Apache-2.0
#include "model/core/requester/send_wqe_format.h"

#include <cstring>

#include "model/types/wire_constants.h"

namespace rxnic {

namespace {

template <class T>
void load(std::span<const std::uint8_t> slot, std::size_t offset, T& to) {
  std::memcpy(&to, slot.data() + offset, sizeof to);
}

// The data segments that are not empty; false when there are too many. `bytes`: their sum.
bool parse_segments(std::span<const std::uint8_t> slot, std::uint32_t count, SendWqe& out, std::uint64_t& bytes) {
  if (count > kMaxSge || kSendHeaderBytes + count * sizeof(DataSegment) > slot.size()) return false;  // (R2)
  for (std::uint32_t i = 0; i < count; ++i) {
    DataSegment& segment = out.sge[out.sge_count];
    load(slot, kSendHeaderBytes + i * sizeof segment, segment);
    bytes += segment.length;
    if (segment.length > 0) ++out.sge_count;
  }
  return true;
}

}  // namespace

WcStatus parse_send_wqe(std::span<const std::uint8_t> slot, Transport transport, std::uint32_t mtu, SendWqe& out) {
  if (slot.size() < kSendHeaderBytes) return WcStatus::kLocalQpOperation;
  SendControl control;
  load(slot, 0, control);
  out.opcode = control.opcode;
  out.flags = control.flags;
  out.immediate = control.immediate;
  out.remote_qpn = control.remote_qpn & k24Bits;
  out.remote_qkey = control.remote_qkey;
  out.remote_srqn = control.remote_srqn & k24Bits;
  out.sge_count = 0;
  out.bytes = 0;
  out.inline_data = nullptr;
  if (!is_legal(out.opcode, transport)) return WcStatus::kLocalQpOperation;  // (R1)
  if (is_local(out.opcode)) {
    load(slot, sizeof control, out.window);
    const bool alone = control.sge_count == 0 && (out.flags & kSendInline) == 0;
    return alone ? WcStatus::kSuccess : WcStatus::kLocalQpOperation;  // (R5)
  }
  if (transport == Transport::kUd) {
    load(slot, sizeof control, out.address);
  } else {
    load(slot, sizeof control, out.remote);
  }
  std::uint64_t bytes = 0;
  if ((out.flags & kSendInline) != 0) {
    bytes = control.inline_bytes;
    const bool fits = bytes <= slot.size() - kSendHeaderBytes;
    if (!fits || !has(out.opcode, kHasPayload)) return WcStatus::kLocalQpOperation;  // (R2)
    out.inline_data = slot.data() + kSendHeaderBytes;
  } else if (!parse_segments(slot, control.sge_count, out, bytes)) {
    return WcStatus::kLocalQpOperation;
  }
  if (has(out.opcode, kReturnsData) && out.sge_count > 1) return WcStatus::kLocalQpOperation;  // (R3)
  if (has(out.opcode, kAtomic) && bytes != kAtomicBytes) return WcStatus::kLocalQpOperation;
  if (bytes > (is_datagram(transport) ? mtu : kMaxSendBytes)) return WcStatus::kLocalLength;  // (R4)
  if (transport == Transport::kRaw && bytes < kEthernetBytes) return WcStatus::kLocalLength;
  out.bytes = static_cast<std::uint32_t>(bytes);
  return WcStatus::kSuccess;
}

}  // namespace rxnic
