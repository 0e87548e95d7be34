// SPDX-License-Identifier: Apache-2.0
#include "model/nic/nic_setup.h"

#include <fmt/format.h>

#include <bit>
#include <stdexcept>

#include "model/types/wire_constants.h"

namespace rxnic {

namespace {
constexpr std::uint32_t kMostSlots = 1u << 24;  // of a CQ
}

void NicSetup::require_no_cycle() const {
  const Cycle now = nic_.transport_checker.cycle();
  if (now == kNever || now.count == 0) return;
  throw std::logic_error(
      fmt::format("setup: found the NIC in cycle {}; expected objects to be made before the first one", now.count));
}

void NicSetup::store(const StoredQpContext& qp) {
  StoredQpContext stored = qp;
  stored.valid = 1;
  clear_padding(stored);
  memory_.store(qp_context_address(qp.qpn), stored);
}

bool NicSetup::create_qp(const QpContext& qp, const SendQueueContext& queue) {
  require_no_cycle();
  SendQpContext context;
  context.qp = qp;
  context.qp.valid = 1;
  context.queue = queue;
  const std::uint32_t qpn = raw(qp.qpn);
  if (qpn > k24Bits || qpns_.contains(qpn)) {
    throw std::invalid_argument(fmt::format("QPN: found {:#x}; expected one of 24 bits that no other QP has", qpn));
  }
  if (qpns_.size() == nic_.limits.qps || !nic_.transport_checker.reserve(qp)) return false;  // (R3)
  if (nic_.requester != nullptr && !nic_.requester->create(context)) return false;           // as many as limits.qps
  qpns_.insert(qpn);
  store(qp);
  return true;
}

bool NicSetup::connect_qp(const SendQpContext& context, Psn rq_psn) {
  require_no_cycle();
  StoredQpContext qp = context.qp;
  qp.expected_psn = rq_psn;
  if (!nic_.transport_checker.reserve(context.qp)) return false;
  store(qp);
  if (nic_.requester != nullptr) nic_.requester->modify(context, true);
  return true;
}

WqId NicSetup::create_queue(const WqContext& queue) {
  require_no_cycle();
  const bool srq = queue.kind == WqKind::kSrq;
  const bool room = (!srq || srqs_ < nic_.limits.srqs) && (!queue.tag_matching || nic_.tag_match_cam.has_room());
  if (!room) return kNoWq;  // (R3)
  const WqId id = nic_.srq_wqe_fetcher.create(queue, memory_);
  if (srq) {
    ++srqs_;
    nic_.transport_checker.add_srq(Srqn{queue.number}, {id, queue.cq, queue.xrcd, queue.pd});
    nic_.cqe_generator.attach_srq(id, Srqn{queue.number});
  }
  if (queue.tag_matching) nic_.tag_match_cam.create(id, queue);
  return id;
}

void NicSetup::create_region(const MptEntry& entry, std::span<const BusAddress> pages) {
  require_no_cycle();
  memory_.store(mpt_address(Key{entry.key}), entry);
  for (std::size_t n = 0; n < pages.size(); ++n) memory_.store(BusAddress{entry.mtt_base} + n * 8, pages[n]);
}

void NicSetup::create_cq(const CqContext& cq) {
  require_no_cycle();
  if (!std::has_single_bit(cq.slots) || cq.slots > kMostSlots) {
    throw std::invalid_argument(
        fmt::format("CQ: found {} slots; expected a power of two up to {}", cq.slots, kMostSlots));
  }
  nic_.cqe_generator.create(cq, memory_);
}

}  // namespace rxnic
