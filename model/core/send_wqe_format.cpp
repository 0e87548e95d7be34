// SPDX-License-Identifier: Apache-2.0
#include "model/core/send_wqe_format.h"

#include <cstring>

#include "model/types/wire_constants.h"

namespace rxnic {

namespace {

bool allowed(SendOpcode opcode, Transport transport) {  // (R1)
  if (opcode == SendOpcode::kSend || opcode == SendOpcode::kSendImm) return true;
  if (opcode == SendOpcode::kSendInvalidate || is_write(opcode)) return transport != Transport::kUd;
  if (opcode == SendOpcode::kAtomicWrite) return transport == Transport::kRc;
  return asks_for_data(opcode) && is_reliable(transport);
}

template <class T>
void load(std::span<const std::uint8_t> slot, std::size_t offset, T& to) {
  std::memcpy(&to, slot.data() + offset, sizeof to);
}

// The data segments that hold something; false when there are too many. `bytes`: their sum.
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
  if (!allowed(out.opcode, transport)) return WcStatus::kLocalQpOperation;
  if (transport == Transport::kUd) {
    load(slot, sizeof control, out.address);
  } else {
    load(slot, sizeof control, out.remote);
  }
  std::uint64_t bytes = 0;
  if ((out.flags & kSendInline) != 0) {
    bytes = control.inline_bytes;
    const bool fits = bytes <= slot.size() - kSendHeaderBytes;
    if (!fits || asks_for_data(out.opcode)) return WcStatus::kLocalQpOperation;  // (R2)
    out.inline_data = slot.data() + kSendHeaderBytes;
  } else if (!parse_segments(slot, control.sge_count, out, bytes)) {
    return WcStatus::kLocalQpOperation;
  }
  if (asks_for_data(out.opcode) && out.sge_count > 1) return WcStatus::kLocalQpOperation;  // (R3)
  const bool atomic = is_atomic(out.opcode) || out.opcode == SendOpcode::kAtomicWrite;
  if (atomic && bytes != kAtomicBytes) return WcStatus::kLocalQpOperation;
  if (bytes > (transport == Transport::kUd ? mtu : kMaxSendBytes)) return WcStatus::kLocalLength;  // (R4)
  out.bytes = static_cast<std::uint32_t>(bytes);
  return WcStatus::kSuccess;
}

CqeOpcode completion_opcode(SendOpcode opcode) {
  switch (opcode) {
    case SendOpcode::kWrite:
    case SendOpcode::kWriteImm:
      return CqeOpcode::kRdmaWrite;
    case SendOpcode::kRead:
      return CqeOpcode::kRdmaRead;
    case SendOpcode::kCompareSwap:
      return CqeOpcode::kCompareSwap;
    case SendOpcode::kFetchAdd:
      return CqeOpcode::kFetchAdd;
    case SendOpcode::kAtomicWrite:
      return CqeOpcode::kAtomicWrite;
    case SendOpcode::kLocalInvalidate:
      return CqeOpcode::kLocalInvalidate;
    default:
      return CqeOpcode::kSend;
  }
}

std::uint32_t send_wqe_bytes(const SendWqe& wqe) {
  if (wqe.inline_data != nullptr) return kSendHeaderBytes + wqe.bytes;
  return kSendHeaderBytes + wqe.sge_count * static_cast<std::uint32_t>(sizeof(DataSegment));
}

}  // namespace rxnic
