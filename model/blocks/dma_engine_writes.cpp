// SPDX-License-Identifier: Apache-2.0
// The DMA engine: writes, and the payload of packets.
#include <algorithm>

#include "model/blocks/dma_engine.h"
#include "model/types/syndrome.h"

namespace rxnic {

bool DmaEngine::has_credit(Cycle now, std::size_t who, std::uint32_t bytes) {  // (R6, R7)
  if (lacks_to_write_ != kNobody && lacks_to_write_ != who) return false;
  while (unlanded_.ready(now)) posted_.give(unlanded_.pop());
  lacks_to_write_ = posted_.covers(posted_.of(1, bytes)) ? kNobody : who;
  return lacks_to_write_ == kNobody;
}

// Sends one TLP.
DmaEngine::Sent DmaEngine::send_write(Cycle now, std::uint32_t bytes, bool relaxed) {  // (R4, R6)
  const TlpCount up = write_tlp(params_, bytes);
  const Instant left = up_.carry({now.count, 0}, up.link_bytes);
  Instant lands = time_.after_span(left, latency_.of_write());
  if (!relaxed) lands = std::max(lands, last_landing_);
  last_landing_ = std::max(lands, last_landing_);
  const Credit credit = posted_.of(1, bytes);
  posted_.take(credit);
  unlanded_.push(credit, lands.ceiling());
  counters_.write_bytes += bytes;
  counters_.tlps_up += up.tlps;
  counters_.link_bytes_up += up.link_bytes;
  return {left, lands};
}

bool DmaEngine::start_payload(Cycle now) {
  if (!has_writing_) return false;
  SegmentWrite& s = writing_;
  Progress& done = progress_[kPayload];
  const BusAddress at = s.address + done.bytes;
  const std::uint32_t bytes = std::min(s.bytes - done.bytes, write_tlp_room(params_, raw(at)));
  if (!has_credit(now, kPayload, bytes)) return false;
  const Sent sent = send_write(now, bytes, params_.relaxed_ordering);
  payload_lands_ = std::max(payload_lands_, sent.lands);
  if (done.bytes == 0 && !memory_.write(s.address, bytes_of(s))) {  // (R8)
    ++counters_.failed;
    refused_.fail_qp(s, DropReason::kHostMemory, kNakRemoteOperation, WcStatus::kLocalProtection);
    refused_.report(refusals, now);
    swallows_ = !s.last;
    s.last = true;
  }
  done.bytes += bytes;
  if (done.bytes < s.bytes) return true;
  ++counters_.writes;
  if (s.last) {
    shared_.stamp(s.buffer, Station::kHostMemory, payload_lands_.ceiling());
    payload_lands_ = {};
    leave(s, latest(sent.left.ceiling(), now + 1), now);
  }
  done = {};
  has_writing_ = false;
  return true;
}

std::span<const std::uint8_t> DmaEngine::bytes_of(const SegmentWrite& s) const {
  const Packet& p = shared_.packets[s.buffer];
  return {(s.area == BufferArea::kFrame ? p.frame.data() : p.scratch.data()) + s.offset, s.bytes};
}

}  // namespace rxnic
