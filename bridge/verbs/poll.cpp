// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/poll.h"

#include <endian.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <mutex>

#include "bridge/verbs/data_path.h"
#include "bridge/verbs/receive_queue.h"
#include "bridge/verbs/send_queue.h"
#include "bridge/verbs/tag_list.h"
#include "bridge/verbs/wait.h"
#include "model/types/opcode_table.h"

namespace rxnic::verbs {

namespace {

constexpr std::uint32_t kNoQp = 0xffffffff;  // qp_number of a CQE that is to be skipped

static_assert(offsetof(Cqe, owner) == sizeof(Cqe) - 1 && offsetof(MiniCqeSlot, owner) == sizeof(MiniCqeSlot) - 1);
static_assert(offsetof(Cqe, format) == offsetof(MiniCqeSlot, format));

// The 64 bytes of CQE `index`; nullptr: the device has not written it yet.
std::uint8_t* entry_at(const Cq& cq, std::uint32_t index) {
  std::uint8_t* entry =
      cq.ring + static_cast<std::size_t>(index & (cq.slots - 1)) * cq.cqe_bytes + (cq.cqe_bytes - sizeof(Cqe));
  const std::uint8_t owner = std::atomic_ref(entry[offsetof(Cqe, owner)]).load(std::memory_order_acquire);
  const bool expected = (index & cq.slots) != 0;  // `slots` is a power of two: whether the lap is odd
  return ((owner & 1) != 0) == expected ? entry : nullptr;
}

// The next CQE as if nothing were compressed (R1).
bool next_cqe(Cq& cq, Cqe& out) {
  for (;;) {
    const std::uint8_t* entry = entry_at(cq, cq.consumer);
    if (entry == nullptr) return false;
    if (cq.minis_left == 0) {
      std::memcpy(&out, entry, sizeof out);
      ++cq.consumer;
      if (out.format == CqeFormat::kPlain) return true;
      if (out.format == CqeFormat::kTitle) {
        cq.title = out;
        cq.minis_left = out.mini_count;
        cq.next_mini = 0;
      }
      continue;
    }
    MiniCqeSlot slot;
    std::memcpy(&slot, entry, sizeof slot);
    if (slot.format != CqeFormat::kMini) {  // no device does that
      cq.minis_left = 0;
      continue;
    }
    out = cq.title;
    out.byte_count = slot.mini[cq.next_mini].byte_count;
    out.wqe_index = slot.mini[cq.next_mini].wqe_index;
    --cq.minis_left;
    if (++cq.next_mini == kMiniCqesPerSlot || cq.minis_left == 0) {
      cq.next_mini = 0;
      ++cq.consumer;
    }
    return true;
  }
}

ibv_wc_opcode receive_opcode(CqeOpcode opcode) {
  const opcode_table::CompletionRow* row = opcode_table::row_of(opcode);
  return row == nullptr ? IBV_WC_RECV : static_cast<ibv_wc_opcode>(row->wc);
}

// Completes an operation on a tag list, a message on a TM SRQ whose QP is gone, or a message on an XRC SRQ. The QP of
// the last may be of another program. (R3)
bool complete_without_qp(Context& context, Completion& out) {
  Srq* const srq = (out.cqe.flags & kCqeSrq) != 0 ? context.srqs.find(out.cqe.srq_number) : nullptr;
  if (srq == nullptr || srq->cq == nullptr) return false;
  out.opcode = receive_opcode(out.cqe.opcode);
  out.wr_id = srq->tags != nullptr ? complete_tagged(*srq, out.cqe) : complete_receive(*srq, out.cqe.wqe_index);
  return true;
}

// Completes the WQE that `out.cqe` names (R2). False: its QP is not known.
bool complete(Context& context, Completion& out) {
  const Cqe& cqe = out.cqe;
  Qp* qp = context.qps.find(cqe.qp_number);
  if (qp == nullptr) return complete_without_qp(context, out);
  if (cqe.opcode < CqeOpcode::kReceive) {
    if (qp->send.slots == 0) return false;
    const SentWr sent = complete_send(qp->send, cqe.wqe_index);
    out.wr_id = sent.wr_id;
    out.opcode = sent.opcode;
    return true;
  }
  out.opcode = receive_opcode(cqe.opcode);
  if ((cqe.flags & kCqeSrq) == 0) {
    if (qp->receive.slots == 0) return false;
    out.wr_id = complete_receive(qp->receive, cqe.wqe_index);
    return true;
  }
  if (qp->qp.qp_base.srq == nullptr) return complete_without_qp(context, out);
  Srq& srq = srq_of(qp->qp.qp_base.srq);
  out.wr_id = srq.tags != nullptr ? complete_tagged(srq, cqe) : complete_receive(srq, cqe.wqe_index);
  return true;
}

void fill(const Completion& from, ibv_wc& wc) {
  const Cqe& cqe = from.cqe;
  wc = {};
  wc.wr_id = from.wr_id;
  wc.status = static_cast<ibv_wc_status>(cqe.status);
  wc.opcode = from.opcode;
  wc.vendor_err = cqe.vendor_error;
  wc.qp_num = cqe.qp_number;
  if (cqe.status != WcStatus::kSuccess) return;  // (R5)
  wc.byte_len = cqe.byte_count;
  wc.imm_data = immediate_of(cqe);
  wc.src_qp = cqe.source_qp;
  wc.wc_flags = wc_flags_of(cqe);
  wc.pkey_index = cqe.pkey_index;
  wc.slid = cqe.source_lid;
  wc.sl = cqe.service_level;
}

// poll_cq of a CQ whose simulator is gone (R6).
int poll_flushed(Context& context, Cq& cq, int entries, ibv_wc* wc) {
  const std::lock_guard objects(context.objects);
  const std::lock_guard guard(cq.lock);
  int found = 0;
  while (found < entries && next_completion(context, cq, cq.current)) fill(cq.current, wc[found++]);
  while (found < entries && next_flushed(context, cq, cq.current)) fill(cq.current, wc[found++]);
  return found != 0 || entries <= 0 ? found : -EIO;
}

}  // namespace

unsigned int wc_flags_of(const Cqe& cqe) {
  if (cqe.status != WcStatus::kSuccess) return 0;
  const auto flag = [&](CqeFlag in, ibv_wc_flags out) -> unsigned int { return (cqe.flags & in) != 0 ? out : 0; };
  return flag(kCqeGrh, IBV_WC_GRH) | flag(kCqeImmediate, IBV_WC_WITH_IMM) | flag(kCqeInvalidated, IBV_WC_WITH_INV) |
         flag(kCqeTagMatch, IBV_WC_TM_MATCH) | flag(kCqeTagDataValid, IBV_WC_TM_DATA_VALID) |
         flag(kCqeTagSyncRequest, IBV_WC_TM_SYNC_REQ) | flag(kCqeChecksumsOk, IBV_WC_IP_CSUM_OK);
}

__be32 immediate_of(const Cqe& cqe) {
  return (cqe.flags & kCqeInvalidated) != 0 ? cqe.immediate_or_rkey : htobe32(cqe.immediate_or_rkey);
}

bool next_completion(Context& context, Cq& cq, Completion& out) {
  while (next_cqe(cq, out.cqe)) {
    if (out.cqe.qp_number != kNoQp && complete(context, out)) return true;
  }
  return false;
}

void report_consumer(Context& context, Cq& cq) {
  if (cq.reported == cq.consumer) return;
  cq.reported = cq.consumer;
  cq.event_taken.store(false, std::memory_order_relaxed);
  ring_doorbell(context, channel::Board::kConsumer, cq.doorbell, cq.consumer);
}

int poll_cq(ibv_cq* cq, int entries, ibv_wc* wc) {
  Cq& q = cq_of(cq);
  Context& context = context_of(cq->context);
  const std::uint32_t seen = completions_seen(context);
  int found = 0;
  {
    const std::lock_guard guard(q.lock);
    while (found < entries && next_completion(context, q, q.current)) fill(q.current, wc[found++]);
    report_consumer(context, q);
  }
  if (found != 0) {
    made_progress();
    return found;
  }
  if (!context.dead.load(std::memory_order_acquire)) found_nothing(context, seen);
  return context.dead.load(std::memory_order_acquire) ? poll_flushed(context, q, entries, wc) : 0;
}

// Arming a CQ that holds completions raises an event at once, as with hardware. For example, ib_send_bw -e polls 16
// completions and waits for the event of the rest. But the completion whose event has just been taken raises no second
// event. ib_send_lat -e takes an event, arms, polls once, and does not check that the poll returned a completion.
int req_notify_cq(ibv_cq* cq, int solicited_only) {
  Cq& q = cq_of(cq);
  Context& context = context_of(cq->context);
  const std::lock_guard guard(q.lock);
  q.armed.store(true, std::memory_order_relaxed);
  const bool reported_already = q.event_taken.load(std::memory_order_relaxed) && entry_at(q, q.consumer) != nullptr;
  const std::uint32_t seen = q.consumer + (reported_already ? 1 : 0);
  report_consumer(context, q);
  if (solicited_only == 0) ++q.armed_for_any;
  ring_doorbell(context, channel::Board::kArm, q.doorbell,
                seen | (solicited_only != 0 ? channel::kArmSolicited : std::uint64_t{0}) |
                    std::uint64_t{q.armed_for_any} << channel::kArmedForAnyShift);
  return 0;
}

void forget_completions(Cq& cq, std::uint32_t qpn, Srq* srq) {
  const bool tagged = srq != nullptr && srq->tags != nullptr;  // its completions are not the QP's
  const auto forget = [&](const Cqe& cqe, std::uint32_t wqe_index) {
    if (srq != nullptr && cqe.opcode >= CqeOpcode::kReceive && (cqe.flags & kCqeSrq) != 0) {
      complete_receive(*srq, wqe_index);
    }
  };
  // As next_cqe(), but the CQEs stay where they are, marked to be skipped (kNoQp).
  Cqe title = cq.title;
  std::uint32_t minis_left = cq.minis_left;
  std::uint32_t mini = cq.next_mini;
  if (minis_left != 0 && title.qp_number == qpn) cq.title.qp_number = kNoQp;
  for (std::uint32_t index = cq.consumer; index - cq.consumer < cq.slots; ++index) {
    std::uint8_t* entry = entry_at(cq, index);
    if (entry == nullptr) return;
    if (minis_left != 0) {
      MiniCqeSlot slot;
      std::memcpy(&slot, entry, sizeof slot);
      for (; mini < kMiniCqesPerSlot && minis_left != 0; ++mini, --minis_left) {
        if (title.qp_number == qpn) forget(title, slot.mini[mini].wqe_index);
      }
      mini = 0;
      continue;
    }
    Cqe cqe;
    std::memcpy(&cqe, entry, sizeof cqe);
    if (cqe.format == CqeFormat::kTitle) {
      title = cqe;
      minis_left = cqe.mini_count;
    }
    if (cqe.qp_number != qpn || (tagged && (cqe.flags & kCqeSrq) != 0)) continue;
    if (cqe.format == CqeFormat::kPlain) forget(cqe, cqe.wqe_index);
    std::memcpy(entry + offsetof(Cqe, qp_number), &kNoQp, sizeof kNoQp);
  }
}

void begin_resize(Context& context, Cq& cq) {
  // A doorbell with an index of the old ring that is not taken yet would be applied to the new ring.
  channel::board(context.mapping, channel::Board::kConsumer).value[cq.doorbell].store(0, std::memory_order_release);
}

void finish_resize(Cq& cq, std::uint8_t* ring, std::uint32_t slots, std::uint32_t consumer) {
  cq.ring = ring;
  cq.slots = slots;
  cq.consumer = cq.reported = consumer;
}

}  // namespace rxnic::verbs
