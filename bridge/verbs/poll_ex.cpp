// SPDX-License-Identifier: Apache-2.0
// ibv_cq_ex: start_poll holds the CQ's lock up to end_poll; the readers in between return fields of the completion that
// start_poll or next_poll took last.
#include <cerrno>

#include "bridge/verbs/data_path.h"
#include "bridge/verbs/poll.h"
#include "bridge/verbs/wait.h"

namespace rxnic::verbs {

namespace {

const Cqe& current(ibv_cq_ex* cq) { return cq_of(cq).current.cqe; }

// Takes the next completion into the public fields.
bool take_next(Context& context, Cq& cq) {
  if (!next_completion(context, cq, cq.current) && !(cq.flushing && next_flushed(context, cq, cq.current)))
    return false;
  cq.cq.wr_id = cq.current.wr_id;
  cq.cq.status = static_cast<ibv_wc_status>(cq.current.cqe.status);
  return true;
}

void end(Context& context, Cq& cq) {
  const bool flushing = cq.flushing;
  cq.flushing = false;
  report_consumer(context, cq);
  cq.lock.unlock();
  if (flushing) context.objects.unlock();
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) {
  if (attr != nullptr && attr->comp_mask != 0) return EINVAL;
  Cq& q = cq_of(cq);
  Context& context = context_of(cq->context);
  const std::uint32_t seen = completions_seen(context);
  q.lock.lock();
  if (take_next(context, q)) {
    made_progress();
    return 0;
  }
  end(context, q);
  if (!context.dead.load(std::memory_order_acquire)) found_nothing(context, seen);
  if (!context.dead.load(std::memory_order_acquire)) return ENOENT;
  context.objects.lock();
  q.lock.lock();
  q.flushing = true;
  if (take_next(context, q)) return 0;
  end(context, q);
  return EIO;
}

int next_poll(ibv_cq_ex* cq) { return take_next(context_of(cq->context), cq_of(cq)) ? 0 : ENOENT; }

void end_poll(ibv_cq_ex* cq) { end(context_of(cq->context), cq_of(cq)); }

ibv_wc_opcode read_opcode(ibv_cq_ex* cq) { return cq_of(cq).current.opcode; }
std::uint32_t read_vendor_err(ibv_cq_ex* cq) { return current(cq).vendor_error; }
std::uint32_t read_byte_len(ibv_cq_ex* cq) { return current(cq).byte_count; }
__be32 read_imm_data(ibv_cq_ex* cq) { return immediate_of(current(cq)); }
std::uint32_t read_qp_num(ibv_cq_ex* cq) { return current(cq).qp_number; }
std::uint32_t read_src_qp(ibv_cq_ex* cq) { return current(cq).source_qp; }
unsigned int read_wc_flags(ibv_cq_ex* cq) { return wc_flags_of(current(cq)); }
std::uint32_t read_slid(ibv_cq_ex* cq) { return current(cq).source_lid; }
std::uint8_t read_sl(ibv_cq_ex* cq) { return current(cq).service_level; }
std::uint8_t read_dlid_path_bits(ibv_cq_ex*) { return 0; }
std::uint16_t read_cvlan(ibv_cq_ex*) { return 0; }
std::uint32_t read_flow_tag(ibv_cq_ex*) { return 0; }
// For the completion that reports the match (rules 5.6).
void read_tm_info(ibv_cq_ex* cq, ibv_wc_tm_info* info) {
  const bool match = (current(cq).flags & kCqeTagMatch) != 0;
  info->tag = match ? current(cq).tag : 0;
  info->priv = match ? current(cq).tag_context : 0;
}

std::uint64_t model_time_ps(ibv_cq_ex* cq) {
  return current(cq).timestamp * context_of(cq->context).attributes.timestamp_period_ps;
}
// In ticks of hca_core_clock.
std::uint64_t read_completion_ts(ibv_cq_ex* cq) {
  return clock_ticks(context_of(cq->context).attributes, model_time_ps(cq));
}
std::uint64_t read_completion_wallclock_ns(ibv_cq_ex* cq) { return model_time_ps(cq) / 1000; }

}  // namespace

std::uint64_t clock_ticks(const channel::DeviceAttributes& attributes, std::uint64_t model_time_ps) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(model_time_ps) * attributes.core_clock_khz /
                                    1'000'000'000);
}

int set_up_cq_ex(Cq& cq) {
  if ((cq.wc_flags & ~std::uint64_t{IBV_CREATE_CQ_SUP_WC_FLAGS}) != 0) return EOPNOTSUPP;
  ibv_cq_ex& ex = cq.cq;
  ex.start_poll = start_poll;
  ex.next_poll = next_poll;
  ex.end_poll = end_poll;
  // All readers are set, also those that wc_flags did not ask for: a program that calls one of them does not crash.
  ex.read_opcode = read_opcode;
  ex.read_vendor_err = read_vendor_err;
  ex.read_byte_len = read_byte_len;
  ex.read_imm_data = read_imm_data;
  ex.read_qp_num = read_qp_num;
  ex.read_src_qp = read_src_qp;
  ex.read_wc_flags = read_wc_flags;
  ex.read_slid = read_slid;
  ex.read_sl = read_sl;
  ex.read_dlid_path_bits = read_dlid_path_bits;
  ex.read_completion_ts = read_completion_ts;
  ex.read_cvlan = read_cvlan;
  ex.read_flow_tag = read_flow_tag;
  ex.read_tm_info = read_tm_info;
  ex.read_completion_wallclock_ns = read_completion_wallclock_ns;
  return 0;
}

}  // namespace rxnic::verbs
