// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/send_queue.h"

#include <endian.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "bridge/verbs/data_path.h"
#include "bridge/verbs/wait.h"
#include "model/types/access.h"
#include "model/types/opcode_table.h"

namespace rxnic::verbs {

namespace {

// Facts of a WR by its ibv_wr_opcode (rules 4). Opcodes without a row are on no transport.
struct OpcodeRule {
  SendOpcode opcode = SendOpcode::kSend;
  ibv_wc_opcode completion = IBV_WC_SEND;
  unsigned transports = 0;  // as OperationRow
  std::uint32_t traits = 0;
};
constexpr std::size_t kWrOpcodes = [] {
  unsigned greatest = 0;
  for (const opcode_table::SendRow& send : opcode_table::kSends) greatest = std::max(greatest, send.wr);
  return greatest + 1;
}();
constexpr auto kRules = [] {
  std::array<OpcodeRule, kWrOpcodes> rules{};
  for (const opcode_table::SendRow& send : opcode_table::kSends) {
    const auto completion = static_cast<ibv_wc_opcode>(opcode_table::row_of(send.completion)->wc);
    rules[send.wr] = {send.opcode, completion, send.local, 0};
    if (send.local != 0) continue;
    const opcode_table::OperationRow& operation = *opcode_table::row_of(send.only);
    rules[send.wr] = {send.opcode, completion, operation.transports & send.within, operation.traits};
  }
  return rules;
}();
constexpr bool has(ibv_wr_opcode opcode, std::uint32_t traits) { return (kRules[opcode].traits & traits) != 0; }

constexpr bool is_local(ibv_wr_opcode opcode) { return opcode == IBV_WR_LOCAL_INV || opcode == IBV_WR_BIND_MW; }

constexpr unsigned transport_bit(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_UD:
      return opcode_table::bit(Transport::kUd);
    case IBV_QPT_UC:
      return opcode_table::bit(Transport::kUc);
    case IBV_QPT_RC:
      return opcode_table::bit(Transport::kRc);
    case IBV_QPT_XRC_SEND:
      return opcode_table::bit(Transport::kXrc);
    case IBV_QPT_RAW_PACKET:
      return opcode_table::bit(Transport::kRaw);
    default:
      return 0;
  }
}

int add_inline_list(const SendQueue& queue, std::uint8_t* wqe, const ibv_sge* sges, int count) {
  for (int i = 0; i < count; ++i) {
    if (const int error = add_inline(queue, wqe, reinterpret_cast<const void*>(sges[i].addr), sges[i].length)) {
      return error;
    }
  }
  return 0;
}

void write_remote(const ibv_send_wr& wr, std::uint8_t* wqe) {
  RemoteSegment& remote = remote_of(wqe);
  if (has(wr.opcode, kHasAtomicEth)) {
    remote.va = wr.wr.atomic.remote_addr;
    remote.rkey = wr.wr.atomic.rkey;
    remote.compare_add = wr.wr.atomic.compare_add;
    remote.swap = wr.wr.atomic.swap;
  } else {
    remote.va = wr.wr.rdma.remote_addr;
    remote.rkey = wr.wr.rdma.rkey;
  }
}

// A WR of BIND_MW or LOCAL_INV: what it needs of the data path's checks. 0 or EINVAL.
int write_local(const ibv_send_wr& wr, std::uint8_t* wqe) {
  if (wr.opcode == IBV_WR_LOCAL_INV) {
    control_of(wqe).immediate = wr.invalidate_rkey;
    return 0;
  }
  return set_window_2(wqe, wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info);
}

int write_wr(Qp& qp, std::uint32_t index, const ibv_send_wr& wr) {
  const ibv_qp_type type = qp.qp.qp_base.qp_type;
  SendQueue& queue = qp.send;
  if (!may_send(qp) || type == IBV_QPT_XRC_RECV) return EINVAL;
  if (!has_room(queue, index)) return ENOMEM;
  if (const int error = check_opcode(type, wr.opcode)) return error;
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > queue.max_sge) return EINVAL;
  if (const int error = check_flags(type, wr.send_flags)) return error;
  const bool is_inline = (wr.send_flags & IBV_SEND_INLINE) != 0;
  if (is_inline && !takes_inline(kRules[wr.opcode].opcode)) return EINVAL;
  if (type == IBV_QPT_UD && wr.wr.ud.ah == nullptr) return EINVAL;

  std::uint8_t* wqe = begin_wqe(queue, index, wr.opcode, wr.send_flags, wr.wr_id);
  if (is_local(wr.opcode)) return write_local(wr, wqe);
  SendControl& control = control_of(wqe);
  if (has(wr.opcode, kHasIeth)) {
    control.immediate = wr.invalidate_rkey;
  } else if (has(wr.opcode, kHasImm)) {
    control.immediate = be32toh(wr.imm_data);
  }
  if (type == IBV_QPT_XRC_SEND) control.remote_srqn = wr.qp_type.xrc.remote_srqn;
  if (type == IBV_QPT_UD) {
    control.remote_qpn = wr.wr.ud.remote_qpn;
    control.remote_qkey = wr.wr.ud.remote_qkey;
    address_of(wqe) = ah_of(wr.wr.ud.ah).path;
  } else if (has(wr.opcode, kHasReth | kHasAtomicEth)) {
    write_remote(wr, wqe);
  }
  if (is_inline) return add_inline_list(queue, wqe, wr.sg_list, wr.num_sge);
  if (wr.opcode == IBV_WR_TSO) {
    if (const int error = set_tso(qp, wqe, wr.tso.hdr, wr.tso.hdr_sz, wr.tso.mss)) return error;
  }
  return add_sges(qp, wqe, wr.sg_list, static_cast<std::size_t>(wr.num_sge));
}

// The lengths of a WR of TSO: of its data, and of its longest packet. 0 or EINVAL.
int check_tso(const Qp& qp, std::uint64_t bytes, const SendControl& control) {
  const channel::DeviceAttributes& device = context_of(qp.qp.qp_base.context).attributes;
  const std::uint32_t link = qp.qp.qp_base.qp_type == IBV_QPT_RAW_PACKET ? kMostLinkHeaderBytes : 0;
  const std::uint64_t packet = control.header_bytes + std::min<std::uint64_t>(bytes, control.mss);
  return bytes > device.max_tso || packet > device.active_mtu + link ? EINVAL : 0;
}

}  // namespace

bool may_send(const Qp& qp) {
  const ibv_qp_state state = __atomic_load_n(&qp.qp.qp_base.state, __ATOMIC_RELAXED);
  return state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_SQE || state == IBV_QPS_ERR;
}

int check_opcode(ibv_qp_type type, ibv_wr_opcode opcode) {
  constexpr unsigned kWrFlush = 14;  // IBV_WR_FLUSH of versions behind rdma-core 44
  if (opcode == IBV_WR_DRIVER1 || static_cast<unsigned>(opcode) == kWrFlush) return EOPNOTSUPP;
  if (static_cast<unsigned>(opcode) >= kRules.size()) return EINVAL;
  if ((kRules[opcode].transports & transport_bit(type)) != 0) return 0;
  // The manual page gives it to UC, too, whose wire has no SEND with invalidate.
  return opcode == IBV_WR_SEND_WITH_INV && type == IBV_QPT_UC ? EOPNOTSUPP : EINVAL;
}

int check_flags(ibv_qp_type type, unsigned int send_flags) {
  const bool has_checksums = type == IBV_QPT_UD || type == IBV_QPT_RAW_PACKET;
  return (send_flags & IBV_SEND_IP_CSUM) != 0 && !has_checksums ? EINVAL : 0;
}

bool takes_inline(SendOpcode opcode) {
  const opcode_table::SendRow& send = opcode_table::kSends[static_cast<std::size_t>(opcode)];
  return send.local == 0 && opcode != SendOpcode::kTso && (opcode_table::row_of(send.only)->traits & kHasPayload) != 0;
}

bool takes_data(SendOpcode opcode) { return opcode_table::kSends[static_cast<std::size_t>(opcode)].local == 0; }

int set_window(std::uint8_t* wqe, std::uint32_t rkey, const ibv_mw_bind_info& to) {
  if (to.mr == nullptr && (to.addr != 0 || to.length != 0)) return EINVAL;
  control_of(wqe).immediate = rkey;
  WindowSegment& window = window_of(wqe);
  window.va = to.addr;
  window.length = to.length;
  window.region = to.mr == nullptr ? 0 : to.mr->lkey;
  window.access = static_cast<std::uint8_t>(to.mw_access_flags & (kRemoteRights | kZeroBased));
  return 0;
}

int set_window_2(std::uint8_t* wqe, const ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info& to) {
  const bool is_its_key = mw != nullptr && mw->type == IBV_MW_TYPE_2 && (rkey ^ mw->rkey) >> 8 == 0;
  return is_its_key ? set_window(wqe, rkey, to) : EINVAL;
}

std::uint8_t* begin_wqe(SendQueue& queue, std::uint32_t index, ibv_wr_opcode opcode, unsigned int send_flags,
                        std::uint64_t wr_id) {
  const OpcodeRule& rule = kRules[opcode];
  queue.sent[index & (queue.slots - 1)] = {wr_id, rule.completion};
  std::uint8_t* wqe = slot_of(queue, index);
  std::memset(wqe, 0, kSendHeaderBytes);
  SendControl& control = control_of(wqe);
  control.opcode = rule.opcode;
  control.flags = static_cast<std::uint8_t>(((send_flags & IBV_SEND_SIGNALED) != 0 ? kSendSignaled : 0) |
                                            ((send_flags & IBV_SEND_SOLICITED) != 0 ? kSendSolicited : 0) |
                                            ((send_flags & IBV_SEND_FENCE) != 0 ? kSendFence : 0) |
                                            ((send_flags & IBV_SEND_INLINE) != 0 ? kSendInline : 0) |
                                            ((send_flags & IBV_SEND_IP_CSUM) != 0 ? kSendChecksums : 0));
  return wqe;
}

int set_tso(const Qp& qp, std::uint8_t* wqe, const void* header, std::uint16_t bytes, std::uint16_t mss) {
  const std::size_t least = qp.qp.qp_base.qp_type == IBV_QPT_RAW_PACKET ? kEthernetBytes : 1;
  if (header == nullptr || bytes < least || bytes > qp.send.max_tso_header || mss == 0) return EINVAL;
  SendControl& control = control_of(wqe);
  control.mss = mss;
  control.header_bytes = bytes;
  std::memcpy(wqe + kSendHeaderBytes, header, bytes);
  return check_tso(qp, 0, control);
}

int add_sges(const Qp& qp, std::uint8_t* wqe, const ibv_sge* sges, std::size_t count) {
  SendControl& control = control_of(wqe);
  auto* segments = reinterpret_cast<DataSegment*>(wqe + send_data_offset(control.header_bytes));
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (sges[i].length == 0) continue;  // (R2)
    if (control.sge_count == qp.send.max_sge) return EINVAL;
    segments[control.sge_count++] = {sges[i].length, sges[i].lkey, sges[i].addr};
    bytes += sges[i].length;
  }
  return control.opcode == SendOpcode::kTso ? check_tso(qp, bytes, control) : 0;
}

int add_inline(const SendQueue& queue, std::uint8_t* wqe, const void* data, std::size_t bytes) {
  SendControl& control = control_of(wqe);
  if (bytes > queue.max_inline - control.inline_bytes) return EINVAL;
  control.flags |= kSendInline;
  if (bytes != 0) std::memcpy(wqe + kSendHeaderBytes + control.inline_bytes, data, bytes);
  control.inline_bytes += static_cast<std::uint32_t>(bytes);
  return 0;
}

void publish(Context& context, SendQueue& queue, std::uint32_t producer) {
  const std::uint32_t posted = producer - queue.producer.load(std::memory_order_relaxed);
  if (posted == 0) return;
  queue.producer.store(producer, std::memory_order_release);
  const std::uint64_t alone = posted == 1 ? send_wqe_bytes(control_of(slot_of(queue, producer - 1))) : 0;  // (R4)
  ring_doorbell(context, channel::Board::kSend, queue.doorbell, producer | alone << channel::kWqeBytesShift);
  made_progress();
}

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  Qp& q = qp_of(qp);
  const std::lock_guard guard(q.send.lock);
  std::uint32_t producer = q.send.producer.load(std::memory_order_relaxed);
  int error = 0;
  for (; wr != nullptr; wr = wr->next, ++producer) {
    error = write_wr(q, producer, *wr);
    if (error != 0) {
      *bad_wr = wr;
      break;
    }
  }
  publish(context_of(qp->context), q.send, producer);
  return error;
}

// A type 1 window. Its new key is known at once, though the QP binds it later.
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  Qp& q = qp_of(qp);
  const std::lock_guard guard(q.send.lock);
  const std::uint32_t producer = q.send.producer.load(std::memory_order_relaxed);
  if (!may_send(q)) return EINVAL;
  if (mw->pd != qp->pd) return EPERM;
  if (const int error = check_opcode(qp->qp_type, IBV_WR_BIND_MW)) return error;
  if ((bind->send_flags & ~unsigned{IBV_SEND_FENCE | IBV_SEND_SIGNALED}) != 0) return EINVAL;
  if (!has_room(q.send, producer)) return ENOMEM;
  std::uint8_t* const wqe = begin_wqe(q.send, producer, IBV_WR_BIND_MW, bind->send_flags, bind->wr_id);
  const std::uint32_t rkey = ibv_inc_rkey(mw->rkey);
  if (const int error = set_window(wqe, rkey, bind->bind_info)) return error;
  publish(context_of(qp->context), q.send, producer + 1);
  mw->rkey = rkey;
  return 0;
}

SentWr complete_send(SendQueue& queue, std::uint32_t slot) {
  slot &= queue.slots - 1;
  const std::uint32_t producer = queue.producer.load(std::memory_order_acquire);
  const std::uint32_t consumer = queue.consumer.load(std::memory_order_relaxed);
  const SentWr sent = queue.sent[slot];
  const std::uint32_t distance = (slot - consumer) & (queue.slots - 1);
  if (distance < producer - consumer) queue.consumer.store(consumer + distance + 1, std::memory_order_release);
  return sent;
}

}  // namespace rxnic::verbs
