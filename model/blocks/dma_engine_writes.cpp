// SPDX-License-Identifier: Apache-2.0
// The DMA engine: writes, and the payload of packets.
#include <algorithm>

#include "model/blocks/dma_engine.h"
#include "model/types/syndrome.h"

namespace rxnic {

bool DmaEngine::start_payload(Cycle now) {
  if (!has_writing_) return false;
  SegmentWrite& s = writing_;
  Progress& done = progress_[kPayload];
  if (icm::is_device_memory(s.address)) {  // (R13)
    const Cycle finished = access_device(now, s.bytes);
    if (finished == kNever) return false;
    memory_.write(s.address, bytes_of(s));
    payload_done_at_ = latest(payload_done_at_, finished);
    payload_lands_ = std::max(payload_lands_, Instant{finished.count, 0});
    end_segment(s, now);
    return true;
  }
  const BusAddress at = s.address + done.bytes;
  const std::uint32_t bytes = std::min(s.bytes - done.bytes, write_tlp_room(params_, raw(at)));
  if (!has_credit(now, kPayload, bytes)) {
    held_up_ = true;
    return false;
  }
  if (!writing_begun_) note_busy_link(now);
  writing_begun_ = true;
  if (done.bytes == 0 && !write_memory(now, s.address, bytes_of(s), done.latency)) {  // (R8)
    ++counters_.failed;
    refused_.fail_qp(s, DropReason::kHostMemory, kNakRemoteOperation, WcStatus::kLocalProtection);
    refused_.report(refusals, now);
    swallows_ = !s.last;
    s.last = true;
  }
  const Sent sent = send_write(now, bytes, params_.relaxed_ordering, done.latency);
  payload_lands_ = std::max(payload_lands_, sent.lands);
  done.bytes += bytes;
  if (done.bytes < s.bytes) return true;
  ++counters_.writes;
  payload_done_at_ = latest(payload_done_at_, sent.left.ceiling());
  done = {};
  end_segment(s, now);
  return true;
}

void DmaEngine::end_segment(SegmentWrite& s, Cycle now) {
  has_writing_ = false;
  if (!s.last) return;
  stamps_.stamp(s.buffer, Station::kHostMemory, payload_lands_.ceiling());
  leave(s, latest(payload_done_at_, now + 1), now);
  payload_lands_ = {};
  payload_done_at_ = {};
}

Cycle DmaEngine::access_device(Cycle now, std::uint32_t bytes) {
  if (device_free_ > now) {
    waits_for_device_ = true;
    return kNever;
  }
  device_free_ = now + (bytes + params_.device_memory_beat_bytes - 1) / params_.device_memory_beat_bytes;
  ++counters_.device_accesses;
  counters_.device_bytes += bytes;
  return device_free_ + params_.device_memory_cycles;
}

// Whole, in one turn. (R13)
bool DmaEngine::start_device_request(Cycle now, std::size_t client, const DmaRequest& r) {
  const bool writes = r.kind == DmaKind::kWrite;
  if (writes ? r.notify && landings_.full() : is_full(client)) return false;
  const Cycle done = access_device(now, r.bytes);
  if (done == kNever) return false;
  if (writes) {
    memory_.write(r.address, {r.data, r.bytes});
    last_landing_ = std::max(last_landing_, Instant{done.count, 0});
    if (r.notify)
      keep(landings_, Landing{{r.cookie, 0, now}, static_cast<std::uint32_t>(client), true}, last_landing_.ceiling());
  } else {
    Progress& progress = progress_[client];
    perform(now, r, progress.latency, progress.latency);
    open_read(progress, r.cookie).all = true;
    keep(data_[client], add_part(client, {progress.read, false}), done);
    progress = {};
  }
  ++counters_.client_requests[client];
  requests[client].drop(now);
  return true;
}

std::span<const std::uint8_t> DmaEngine::bytes_of(const SegmentWrite& s) const {
  const Packet& p = packets_[s.buffer];
  return {(s.area == BufferArea::kFrame ? p.frame.data() : p.scratch.data()) + s.offset, s.bytes};
}

}  // namespace rxnic
