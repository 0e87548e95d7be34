// SPDX-License-Identifier: Apache-2.0
// ibv_qp_ex: work requests built call by call, straight into their WQEs.
//
//   R1  wr_start takes the send queue's lock, wr_complete and wr_abort give it back.
//   R2  The first error of a list sticks: what follows is ignored, wr_complete returns it and nothing is posted.
//   R3  Data given to the setters is copied at once (inline) or noted (SGEs); a setter replaces what an earlier one
//       gave for the same WR.
//   R4  Every operation has a function: one that the transport does not have fails the list (check_opcode()).
#include <endian.h>

#include <cerrno>

#include "bridge/verbs/data_path.h"
#include "bridge/verbs/send_queue.h"

namespace rxnic::verbs {

namespace {

// An operation that ibv_qp_ex has a function for: verbs.h has a flag and an opcode for it.
struct ExOperation {
  std::uint64_t flag;
  ibv_wr_opcode opcode;
};
constexpr ExOperation kExOperations[] = {{IBV_QP_EX_WITH_SEND, IBV_WR_SEND},
                                         {IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM},
                                         {IBV_QP_EX_WITH_SEND_WITH_INV, IBV_WR_SEND_WITH_INV},
                                         {IBV_QP_EX_WITH_RDMA_WRITE, IBV_WR_RDMA_WRITE},
                                         {IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM},
                                         {IBV_QP_EX_WITH_RDMA_READ, IBV_WR_RDMA_READ},
                                         {IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_CMP_AND_SWP},
                                         {IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD},
                                         {IBV_QP_EX_WITH_LOCAL_INV, IBV_WR_LOCAL_INV},
                                         {IBV_QP_EX_WITH_BIND_MW, IBV_WR_BIND_MW},
                                         {IBV_QP_EX_WITH_TSO, IBV_WR_TSO},
                                         {IBV_QP_EX_WITH_ATOMIC_WRITE, IBV_WR_ATOMIC_WRITE}};

// Begins the next WQE of the list. False: the list has failed.
bool begin(ibv_qp_ex* ex, ibv_wr_opcode opcode, std::uint8_t*& wqe) {
  Qp& qp = qp_of(ex);
  SendQueue& queue = qp.send;
  queue.wqe = nullptr;
  if (queue.build_error != 0) return false;
  if (!has_room(queue, queue.building)) {
    queue.build_error = ENOMEM;
  } else {
    queue.build_error = check_opcode(ex->qp_base.qp_type, opcode);
    if (queue.build_error == 0) queue.build_error = check_flags(ex->qp_base.qp_type, ex->wr_flags);
  }
  if (queue.build_error != 0) return false;
  // Only wr_set_inline_data makes a WR inline.
  wqe = queue.wqe = begin_wqe(queue, queue.building++, opcode, ex->wr_flags & ~unsigned{IBV_SEND_INLINE}, ex->wr_id);
  return true;
}

void remote(ibv_qp_ex* ex, ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t va, std::uint64_t compare_add = 0,
            std::uint64_t swap = 0) {
  std::uint8_t* wqe = nullptr;
  if (!begin(ex, opcode, wqe)) return;
  RemoteSegment& segment = remote_of(wqe);
  segment.va = va;
  segment.rkey = rkey;
  segment.compare_add = compare_add;
  segment.swap = swap;
}

void send(ibv_qp_ex* ex, ibv_wr_opcode opcode, std::uint32_t immediate) {
  std::uint8_t* wqe = nullptr;
  if (begin(ex, opcode, wqe)) control_of(wqe).immediate = immediate;
}

void wr_atomic_cmp_swp(ibv_qp_ex* ex, std::uint32_t rkey, std::uint64_t va, std::uint64_t compare, std::uint64_t swap) {
  remote(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, va, compare, swap);
}
void wr_atomic_fetch_add(ibv_qp_ex* ex, std::uint32_t rkey, std::uint64_t va, std::uint64_t add) {
  remote(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, va, add);
}
void wr_atomic_write(ibv_qp_ex* ex, std::uint32_t rkey, std::uint64_t va, const void* value) {
  remote(ex, IBV_WR_ATOMIC_WRITE, rkey, va);
  SendQueue& queue = qp_of(ex).send;
  if (queue.wqe != nullptr) queue.build_error = add_inline(queue, queue.wqe, value, sizeof(std::uint64_t));
}
void wr_rdma_read(ibv_qp_ex* ex, std::uint32_t rkey, std::uint64_t va) { remote(ex, IBV_WR_RDMA_READ, rkey, va); }
void wr_rdma_write(ibv_qp_ex* ex, std::uint32_t rkey, std::uint64_t va) { remote(ex, IBV_WR_RDMA_WRITE, rkey, va); }
void wr_rdma_write_imm(ibv_qp_ex* ex, std::uint32_t rkey, std::uint64_t va, __be32 immediate) {
  remote(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, va);
  if (qp_of(ex).send.wqe != nullptr) control_of(qp_of(ex).send.wqe).immediate = be32toh(immediate);
}
void wr_send(ibv_qp_ex* ex) { send(ex, IBV_WR_SEND, 0); }
void wr_send_imm(ibv_qp_ex* ex, __be32 immediate) { send(ex, IBV_WR_SEND_WITH_IMM, be32toh(immediate)); }
void wr_send_inv(ibv_qp_ex* ex, std::uint32_t rkey) { send(ex, IBV_WR_SEND_WITH_INV, rkey); }
void wr_local_inv(ibv_qp_ex* ex, std::uint32_t rkey) { send(ex, IBV_WR_LOCAL_INV, rkey); }
void wr_bind_mw(ibv_qp_ex* ex, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info* to) {
  std::uint8_t* wqe = nullptr;
  if (!begin(ex, IBV_WR_BIND_MW, wqe)) return;
  qp_of(ex).send.build_error = set_window_2(wqe, mw, rkey, *to);
}
void wr_send_tso(ibv_qp_ex* ex, void* header, std::uint16_t bytes, std::uint16_t mss) {
  std::uint8_t* wqe = nullptr;
  if (begin(ex, IBV_WR_TSO, wqe)) qp_of(ex).send.build_error = set_tso(qp_of(ex), wqe, header, bytes, mss);
}
void wr_set_xrc_srqn(ibv_qp_ex* ex, std::uint32_t remote_srqn) {
  SendQueue& queue = qp_of(ex).send;
  if (queue.wqe == nullptr) return;
  if (ex->qp_base.qp_type != IBV_QPT_XRC_SEND) {
    queue.build_error = EINVAL;
    return;
  }
  control_of(queue.wqe).remote_srqn = remote_srqn;
}

void wr_set_ud_addr(ibv_qp_ex* ex, ibv_ah* ah, std::uint32_t remote_qpn, std::uint32_t remote_qkey) {
  SendQueue& queue = qp_of(ex).send;
  if (queue.wqe == nullptr) return;
  if (ex->qp_base.qp_type != IBV_QPT_UD || ah == nullptr) {
    queue.build_error = EINVAL;
    return;
  }
  control_of(queue.wqe).remote_qpn = remote_qpn;
  control_of(queue.wqe).remote_qkey = remote_qkey;
  address_of(queue.wqe) = ah_of(ah).path;
}

// The WQE that a setter fills, without what an earlier setter gave (R3). nullptr: the list has failed.
std::uint8_t* emptied(SendQueue& queue) {
  if (queue.wqe == nullptr || queue.build_error != 0) return nullptr;
  if (!takes_data(control_of(queue.wqe).opcode)) {
    queue.build_error = EINVAL;
    return nullptr;
  }
  SendControl& control = control_of(queue.wqe);
  control.sge_count = 0;
  control.inline_bytes = 0;
  control.flags &= static_cast<std::uint8_t>(~kSendInline);
  return queue.wqe;
}

void wr_set_sge_list(ibv_qp_ex* ex, std::size_t count, const ibv_sge* sges) {
  SendQueue& queue = qp_of(ex).send;
  std::uint8_t* wqe = emptied(queue);
  if (wqe != nullptr) queue.build_error = count > queue.max_sge ? EINVAL : add_sges(qp_of(ex), wqe, sges, count);
}
void wr_set_sge(ibv_qp_ex* ex, std::uint32_t lkey, std::uint64_t address, std::uint32_t length) {
  const ibv_sge sge{address, length, lkey};
  wr_set_sge_list(ex, 1, &sge);
}

void wr_set_inline_data_list(ibv_qp_ex* ex, std::size_t count, const ibv_data_buf* buffers) {
  SendQueue& queue = qp_of(ex).send;
  std::uint8_t* wqe = emptied(queue);
  if (wqe == nullptr) return;
  if (!takes_inline(control_of(wqe).opcode)) queue.build_error = EINVAL;
  for (std::size_t i = 0; i < count && queue.build_error == 0; ++i) {
    queue.build_error = add_inline(queue, wqe, buffers[i].addr, buffers[i].length);
  }
}
void wr_set_inline_data(ibv_qp_ex* ex, void* address, std::size_t length) {
  const ibv_data_buf buffer{address, length};
  wr_set_inline_data_list(ex, 1, &buffer);
}

void wr_start(ibv_qp_ex* ex) {  // (R1)
  Qp& qp = qp_of(ex);
  qp.send.lock.lock();
  qp.send.building = qp.send.producer.load(std::memory_order_relaxed);
  qp.send.wqe = nullptr;
  qp.send.build_error = may_send(qp) ? 0 : EINVAL;
}

int wr_complete(ibv_qp_ex* ex) {
  SendQueue& queue = qp_of(ex).send;
  const int error = queue.build_error;
  if (error == 0) publish(context_of(ex->qp_base.context), queue, queue.building);
  queue.lock.unlock();
  return error;
}

void wr_abort(ibv_qp_ex* ex) { qp_of(ex).send.lock.unlock(); }

}  // namespace

int set_up_qp_ex(Qp& qp, std::uint64_t send_ops_flags) {
  ibv_qp_ex& ex = qp.qp;
  const ibv_qp_type type = ex.qp_base.qp_type;
  std::uint64_t possible = 0;
  for (const ExOperation& operation : kExOperations) {
    if (check_opcode(type, operation.opcode) == 0) possible |= operation.flag;
  }
  if ((send_ops_flags & ~possible) != 0) return EOPNOTSUPP;
  ex.wr_atomic_cmp_swp = wr_atomic_cmp_swp;
  ex.wr_atomic_fetch_add = wr_atomic_fetch_add;
  ex.wr_bind_mw = wr_bind_mw;
  ex.wr_local_inv = wr_local_inv;
  ex.wr_rdma_read = wr_rdma_read;
  ex.wr_rdma_write = wr_rdma_write;
  ex.wr_rdma_write_imm = wr_rdma_write_imm;
  ex.wr_send = wr_send;
  ex.wr_send_imm = wr_send_imm;
  ex.wr_send_inv = wr_send_inv;
  ex.wr_send_tso = wr_send_tso;
  ex.wr_set_ud_addr = wr_set_ud_addr;
  ex.wr_set_xrc_srqn = wr_set_xrc_srqn;
  ex.wr_set_inline_data = wr_set_inline_data;
  ex.wr_set_inline_data_list = wr_set_inline_data_list;
  ex.wr_set_sge = wr_set_sge;
  ex.wr_set_sge_list = wr_set_sge_list;
  ex.wr_start = wr_start;
  ex.wr_complete = wr_complete;
  ex.wr_abort = wr_abort;
  ex.wr_atomic_write = wr_atomic_write;
  return 0;
}

}  // namespace rxnic::verbs
