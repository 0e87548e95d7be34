// SPDX-License-Identifier: Apache-2.0
// What an imperfect network does to frames between NICs (R13 to R15 of fabric.h).
#include "model/core/wire/ecn.h"
#include "model/nic/fabric.h"
#include "model/nic/fabric_port.h"

namespace rxnic {

Impairments Fabric::impairments_of(const FabricParams& params) {
  ImpairmentPlan plan;
  plan[Impairment::kLoss].ppm = params.loss_ppm;
  plan[Impairment::kCorruption].ppm = params.corrupt_ppm;
  plan[Impairment::kDuplication].ppm = params.duplicate_ppm;
  plan[Impairment::kReordering].ppm = params.reorder_ppm;
  plan[Impairment::kMark].ppm = params.mark_ppm;
  plan[Impairment::kPause].ppm = params.pause_ppm;
  plan.drawn = {params.impaired_first, params.impaired_last};
  plan.every = params.impaired_every;
  plan.seed = params.impairment_seed;
  return Impairments(plan);
}

void Fabric::cross(Port& from, Port& to, const Packet& p, Instant first_byte) {  // (R13)
  const std::uint64_t link = std::uint64_t{from.number} * kMaxPorts + to.number;
  const bool spared = params_.impaired_sender != kMaxPorts && params_.impaired_sender != from.number;
  const FrameFate fate = spared ? FrameFate{} : network_.fate_of(link, from.crossing);
  const auto suffers = [&](Impairment i, NetworkHarm harm) {
    if (fate.has(i)) from.harms.push_back({to.number, harm});
    return fate.has(i);
  };
  if (fate.has(Impairment::kPause)) {  // (R14)
    const Instant resumes = time_.after_ps(from.tx.free(), params_.pause_ps);
    counters_.pauses += resumes != from.resumes;  // a frame to everybody pauses its line once
    from.resumes = resumes;
  }
  if (suffers(Impairment::kLoss, NetworkHarm::kLost)) {
    ++counters_.lost;
    return;
  }
  const bool late = suffers(Impairment::kReordering, NetworkHarm::kReordered);
  counters_.reordered += late;
  Frame& frame = carry(from, to, p, late ? time_.after_ps(first_byte, params_.reorder_delay_ps) : first_byte);
  const std::span<std::uint8_t> bytes(frame.data.data(), frame.bytes);
  if (fate.has(Impairment::kMark) && mark_congested(bytes)) ++counters_.ecn_marked;
  if (suffers(Impairment::kCorruption, NetworkHarm::kCorrupted)) {
    ++counters_.corrupted;
    frame.sealed = false;
    network_.corrupt(bytes, p.link, link, from.crossing);
  }
  if (suffers(Impairment::kDuplication, NetworkHarm::kDuplicated)) {
    ++counters_.duplicated;
    carry(from, to, p, first_byte);
  }
}

// The frame that `from` has sent has its number. (R15)
void Fabric::report_harms(Port& from, Cycle now) {
  const Bytes frame = from.nic->shared.packets[from.sending].frame_view();
  for (const Harm& harm : from.harms) notify(*ports_[harm.to], harm.what, frame, frames_left_, now);
  from.harms.clear();
}

void Fabric::notify(const Port& to, NetworkHarm harm, Bytes frame, std::uint64_t number, Cycle now) const {
  if (to.qp_observer == nullptr) return;
  Headers h;
  const bool rdma = parse(frame, LinkLayer::kEthernet, h) == ParseStatus::kOk;
  const std::uint32_t qpn = rdma ? raw(h.destination_qp) : 0;
  to.qp_observer->on_qp_event({QpEventKind::kNetwork, qpn, static_cast<std::uint32_t>(harm), number}, now);
}

void Fabric::set_qp_observer(std::uint32_t nic, QpObserver* observer) { ports_[nic]->qp_observer = observer; }

}  // namespace rxnic
