// SPDX-License-Identifier: Apache-2.0
// The data path: what a program calls for each message. No system call, unless the simulator has to be woken or the
// program only waits. The control path (creation, modification and destruction of objects) calls the second half.
//
//   R1  post follows the rules of ibv_post_send, ibv_post_srq_recv and ibv_post_srq_ops: in list order, one doorbell a
//       call. It stops at the first failure: *bad_wr is the WR that failed, the earlier WRs stay posted.
//   R2  poll_cq that finds nothing repeatedly waits on the mapping's `completions`, never longer than about 1 ms, so
//       that the simulator gets a CPU. A CQE of a QP that no longer exists is skipped (its SRQ slot is freed).
//   R3  A simulator may have died (Context::dead; found by wait.h R5, by EOF of an event pipe, or by a control call).
//       Then every posted WR of a polled CQ completes with IBV_WC_WR_FLUSH_ERR, the first of a QP with
//       IBV_WC_FATAL_ERR. IBV_EVENT_DEVICE_FATAL comes once; channels give an event for each CQ that was armed.
#pragma once

#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

// Operations of ibv_context::ops. 0 or a positive errno; poll_cq: number of WCs or a negative errno.
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr);
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int post_srq_ops(ibv_srq* srq, ibv_ops_wr* wr, ibv_ops_wr** bad_wr);
int poll_cq(ibv_cq* cq, int entries, ibv_wc* wc);
int req_notify_cq(ibv_cq* cq, int solicited_only);

// Events: as the public functions of these names. -1 and errno, or 0. An event whose object is gone is skipped.
int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context);
void ack_cq_events(ibv_cq* cq, unsigned int events);
int get_async_event(ibv_context* context, ibv_async_event* event);
void ack_async_event(ibv_async_event* event);

// Called while an object is created. 0, EOPNOTSUPP or EINVAL.
int set_up_cq_ex(Cq& cq);                                // start_poll, read_* as Cq::wc_flags asks for
int set_up_qp_ex(Qp& qp, std::uint64_t send_ops_flags);  // wr_*; flags that the QP's transport does not have: refused
bool allocate_bookkeeping(Srq& srq);                     // for its slots and, with tag matching, tags; false: no memory
bool allocate_bookkeeping(Qp& qp);                       // for qp.send.slots and qp.receive.slots

// The QP was moved to RESET: its queues are empty, indices start at 0 again. The caller holds no lock; the doorbell
// records are already 0.
void reset_queues(Qp& qp);
// Removes the CQEs of a QP that are not polled yet; their SRQ slots become free. CQEs of a TM SRQ stay. `srq` may be
// null. cq.lock is held.
void forget_completions(Cq& cq, std::uint32_t qpn, Srq* srq);

// ibv_resize_cq, with cq.lock held over both and the request between them. The device numbers the CQEs of the new ring
// (filled with ones) from `consumer` of its reply on. CQEs that were not polled yet are moved there.
void begin_resize(Context& context, Cq& cq);
void finish_resize(Cq& cq, std::uint8_t* ring, std::uint32_t slots, std::uint32_t consumer);

// Model time in ticks of hca_core_clock: completion timestamps and ibv_query_rt_values_ex.
std::uint64_t clock_ticks(const channel::DeviceAttributes& attributes, std::uint64_t model_time_ps);

// Control path, for the data path (connection.cpp): the simulator is gone; once per context; prints one line on stderr.
void simulator_gone(Context& context);

}  // namespace rxnic::verbs
