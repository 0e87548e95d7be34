// SPDX-License-Identifier: Apache-2.0
#include "model/core/requester/send_wqe_format.h"

#include <algorithm>
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
  const std::size_t at = send_data_offset(static_cast<std::uint32_t>(out.header.size()));
  if (count > kMaxSge || at + count * sizeof(DataSegment) > slot.size()) return false;  // (R2)
  for (std::uint32_t i = 0; i < count; ++i) {
    DataSegment& segment = out.sge[out.sge_count];
    load(slot, at + i * sizeof segment, segment);
    bytes += segment.length;
    if (segment.length > 0) ++out.sge_count;
  }
  return true;
}

bool parse_header(std::span<const std::uint8_t> slot, const SendControl& control, SendWqe& out) {  // (R6)
  const std::uint32_t bytes = control.header_bytes;
  if (bytes == 0 || bytes > kMaxTsoHeaderBytes || send_data_offset(bytes) > slot.size()) return false;
  out.mss = control.mss;
  out.header = slot.subspan(kSendHeaderBytes, bytes);
  return out.mss != 0 && (out.flags & kSendInline) == 0;
}

// Whether a message of so many bytes may be sent. (R4, R6)
bool is_good_length(std::uint64_t bytes, const SendWqe& wqe, Transport transport, std::uint32_t mtu,
                    std::uint32_t max_tso) {
  const bool cut = wqe.opcode == SendOpcode::kTso;
  if (cut && bytes > max_tso) return false;
  const std::uint64_t packet = cut ? wqe.header.size() + std::min<std::uint64_t>(bytes, wqe.mss) : bytes;
  if (packet > (is_datagram(transport) ? mtu : kMaxSendBytes)) return false;
  return transport != Transport::kRaw || (cut ? wqe.header.size() : bytes) >= kEthernetBytes;
}

}  // namespace

WcStatus parse_send_wqe(std::span<const std::uint8_t> slot, Transport transport, std::uint32_t mtu, SendWqe& out,
                        std::uint32_t max_tso) {
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
  out.mss = 0;
  out.inline_data = nullptr;
  out.header = {};
  if (!is_legal(out.opcode, transport)) return WcStatus::kLocalQpOperation;                              // (R1)
  if ((out.flags & kSendChecksums) != 0 && !is_datagram(transport)) return WcStatus::kLocalQpOperation;  // (R7)
  if (out.opcode == SendOpcode::kTso && !parse_header(slot, control, out)) return WcStatus::kLocalQpOperation;
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
  if (!is_good_length(bytes, out, transport, mtu, max_tso)) return WcStatus::kLocalLength;
  out.bytes = static_cast<std::uint32_t>(bytes);
  return WcStatus::kSuccess;
}

}  // namespace rxnic
