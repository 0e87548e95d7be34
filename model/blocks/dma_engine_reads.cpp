// SPDX-License-Identifier: Apache-2.0
// The DMA engine: reads and atomics, and the data of responses.
#include <algorithm>
#include <cstring>

#include "model/blocks/dma_engine.h"
#include "model/types/syndrome.h"

namespace rxnic {

// Whether a read or an atomic of `bytes` that is answered by `down` may be sent. (R5, R7)
bool DmaEngine::may_read(Cycle now, std::size_t who, std::uint32_t operand_bytes, const TlpCount& down,
                         std::uint32_t bytes) {
  if (lacks_to_read_ != kNobody && lacks_to_read_ != who) return false;
  while (held_.ready(now)) non_posted_.give(held_.pop());
  request_credit_ = non_posted_.of(1, operand_bytes);
  answer_room_ = completion_.of(down.tlps, bytes);
  const bool may = tags_left_ > 0 && non_posted_.covers(request_credit_) && completion_.covers(answer_room_);
  lacks_to_read_ = may ? kNobody : who;
  if (!may) read_wait_ = tags_left_ == 0 ? Activity::kWaitDmaTag : Activity::kWaitDmaCredit;
  return may;
}

// Sends one read request or atomic that may_read() has allowed. (R5)
void DmaEngine::send_read(Cycle now, std::size_t to, const TlpCount& up, const TlpCount& down, Part part, bool relaxed,
                          const Latency& latency) {
  const Instant left = up_.carry({now.count, 0}, up.link_bytes);
  --tags_left_;
  non_posted_.take(request_credit_);
  completion_.take(answer_room_);
  part.room = answer_room_;
  Instant ready = time_.after_span(left, latency ? *latency : latency_.of_read());
  if (!relaxed) ready = std::max(ready, last_landing_);
  held_.push(request_credit_, ready.ceiling());
  const Answer a{static_cast<std::uint32_t>(to), add_part(to, part), down, ready};
  if (latency_.constant_reads() && !params_.relaxed_ordering && !timed_) {  // the host has no later one's data before
    answer(a);
  } else {
    keep(in_host_, a, ready.floor());
  }
  counters_.tlps_up += up.tlps;
  counters_.link_bytes_up += up.link_bytes;
}

// The read of a requester whose progress this is: a new one when it has none.
DmaEngine::OpenRead& DmaEngine::open_read(Progress& progress, std::uint32_t id) {
  if (progress.read != kNone) return open_[progress.read];
  if (free_open_.empty()) {
    free_open_.push_back(static_cast<std::uint32_t>(open_.size()));
    open_.emplace_back();
  }
  progress.read = free_open_.back();
  free_open_.pop_back();
  OpenRead& read = open_[progress.read] = {};
  read.id = id;
  if (&progress == &progress_[kTagClient]) in_order_.push_back(progress.read);
  return read;
}

std::uint32_t DmaEngine::add_part(std::size_t to, Part part) {
  if (free_parts_.empty()) {
    free_parts_.push_back(static_cast<std::uint32_t>(parts_.size()));
    parts_.emplace_back();
  }
  const std::uint32_t at = free_parts_.back();
  free_parts_.pop_back();
  parts_[at] = part;
  ++open_[part.read].parts;
  ++parts_open_[to];
  awaiting_ |= 1u << to;
  return at;
}

// Those parts of the line whose data is complete. (R5, R9)
void DmaEngine::take_data(Cycle now, std::size_t line) {
  const bool ordered = line == kTagClient;
  for (auto& data = data_[line]; data.ready(now);) {
    Part& part = parts_[data.front()];
    OpenRead& read = open_[part.read];
    const bool ends = read.all && read.parts == 1;
    if (ends && !ordered && !can_complete(line, now)) {
      output_blocked_ = true;
      break;
    }
    if (part.takes_tag) {
      ++tags_left_;
      completion_.give(part.room);
    }
    if (--read.parts == 0 && read.writes_back) write_backs_.push_back(part.read);  // (R14)
    --parts_open_[line];
    part.segment = kNoSegment;
    free_parts_.push_back(data.pop());
    if (ends && !ordered) complete(line, part.read, now);
  }
  if (parts_open_[line] == 0) awaiting_ &= ~(1u << line);
}

void DmaEngine::complete(std::size_t line, std::uint32_t read, Cycle now) {
  OpenRead& done = open_[read];
  if (done.late != 0) finish_late_read(done);
  if (line == kDmaClients) {
    ++counters_.packets_gathered;
    gathered.push(now, {PacketHandle{done.id}, done.syndrome, done.gone});
  } else {
    completions[line].push(now, {done.id, done.ok, done.gone});
  }
  free_open_.push_back(read);
}

// Starts the late access of read `of`, whose last TLP was sent. (R2)
void DmaEngine::read_late(BusAddress from, std::span<std::uint8_t> to, OpenRead& of) {
  of.late = ++late_started_;
  of.from = from;
  memory_.read_later(from, to, of.ok);
}

void DmaEngine::settle_late_reads() {
  if (late_settled_ != late_started_) memory_.settle();
  late_settled_ = late_started_;
}

// Its data is complete: it is read, and with it all that were started. (R2)
void DmaEngine::finish_late_read(OpenRead& of) {
  if (of.late > late_settled_) settle_late_reads();
  if (of.ok) return;
  ++counters_.failed;  // (R8)
  of.syndrome = kNakRemoteOperation;
  of.gone = memory_.gone(of.from);
}

// The host sends the completions of a read. (R5)
void DmaEngine::answer(const Answer& a) {
  const Cycle done = down_.carry(a.ready, a.down.link_bytes).ceiling();
  keep(data_[a.to], a.part, done);
  counters_.tlps_down += a.down.tlps;
  counters_.link_bytes_down += a.down.link_bytes;
}

// Accesses to memory in the present cycle; `latency` is set when memory says one. (R2, R16)
bool DmaEngine::read_memory(Cycle now, BusAddress from, std::span<std::uint8_t> to, Latency& latency) {
  return timed_ ? take(memory_.read_at(time_.to_ps({now.count, 0}), from, to), latency) : memory_.read(from, to);
}

bool DmaEngine::write_memory(Cycle now, BusAddress to, std::span<const std::uint8_t> from, Latency& latency) {
  return timed_ ? take(memory_.write_at(time_.to_ps({now.count, 0}), to, from), latency) : memory_.write(to, from);
}

bool DmaEngine::take(const TimedAccess& access, Latency& latency) {
  latency.reset();
  if (access.latency_ps) latency = time_.after_ps({}, *access.latency_ps);
  return access.ok;
}

std::span<std::uint8_t> DmaEngine::buffer_of(const DmaRequest& r) {
  if (r.data != nullptr) return {r.data, r.bytes};
  nowhere_.resize(r.bytes);
  return nowhere_;
}

// Carries out an atomic in memory, or a read of device memory; false when it is not mapped. (R2)
bool DmaEngine::perform(Cycle now, const DmaRequest& r, Latency& read, Latency& write) {
  std::uint64_t result = r.operand;
  if (r.kind != DmaKind::kSwap) {
    if (r.data == nullptr) return true;
    if (!read_memory(now, r.address, {r.data, r.bytes}, read)) return false;
    if (r.kind == DmaKind::kRead) return true;
    std::uint64_t original = 0;
    std::memcpy(&original, r.data, sizeof original);
    if (r.kind == DmaKind::kCompareSwap && original != r.compare) return true;
    if (r.kind == DmaKind::kFetchAdd) result += original;
  }
  return write_memory(now, r.address, {reinterpret_cast<const std::uint8_t*>(&result), sizeof result}, write);
}

// Whether an atomic that was carried out has changed memory.
bool DmaEngine::writes(const DmaRequest& atomic) {
  if (atomic.kind != DmaKind::kCompareSwap || atomic.data == nullptr) return true;
  std::uint64_t original = 0;
  std::memcpy(&original, atomic.data, sizeof original);
  return original == atomic.compare;
}

bool DmaEngine::start_write_back(Cycle now) {  // (R14)
  if (is_full(kResponseClient) || !has_credit(now, kResponseClient, kAtomicBytes)) return false;
  const std::uint32_t at = write_backs_.front();
  write_backs_.pop_front();
  open_[at].writes_back = false;
  open_[at].all = true;
  const Sent sent = send_write(now, kAtomicBytes, false, open_[at].write_latency);
  keep(data_[kResponseClient], add_part(kResponseClient, {at, false}), sent.left.ceiling());
  return true;
}

// The last part of the segment has been added. Behind the last segment of the response, its failure is over.
void DmaEngine::end_segment(const GatherRead& s, OpenRead& response) {
  has_gathering_ = false;
  progress_[kGather].bytes = 0;
  if (!s.last) return;
  response.all = true;
  response.syndrome = gather_syndrome_;
  response.gone = gather_gone_;
  gather_syndrome_ = 0;
  gather_gone_ = false;
  progress_[kGather] = {};
}

bool DmaEngine::start_gather(Cycle now) {
  if (!has_gathering_ || is_full(kDmaClients)) return false;
  const GatherRead& s = gathering_;
  Progress& done = progress_[kGather];
  if (icm::is_device_memory(s.address)) {  // (R13)
    const Cycle finished = access_device(now, s.bytes);
    if (finished == kNever) return false;
    memory_.read(s.address, {packets_[s.buffer].frame.data() + s.offset, s.bytes});
    OpenRead& response = open_read(done, raw(s.buffer));
    keep(data_[kDmaClients], add_part(kDmaClients, {done.read, false, {}, segments_taken_}), finished);
    end_segment(s, response);
    return true;
  }
  const BusAddress at = s.address + done.bytes;
  const std::uint32_t bytes = std::min(s.bytes - done.bytes, read_tlp_room(params_, raw(at)));
  const TlpCount down = completion_tlps(params_, raw(at), bytes);
  if (!may_read(now, kGather, 0, down, bytes)) return false;
  const std::span<std::uint8_t> to{packets_[s.buffer].frame.data() + s.offset, s.bytes};
  if (done.bytes == 0 && (timed_ || !s.last) && !read_memory(now, s.address, to, done.latency)) {
    ++counters_.failed;  // (R8)
    gather_syndrome_ = kNakRemoteOperation;
    gather_gone_ = memory_.gone(s.address);
  }
  done.bytes += bytes;
  OpenRead& response = open_read(done, raw(s.buffer));
  const Part part{done.read, true, {}, segments_taken_};
  send_read(now, kDmaClients, read_request_tlp(params_), down, part, params_.relaxed_ordering, done.latency);
  counters_.read_bytes += bytes;
  if (done.bytes < s.bytes) return true;
  if (s.last && !timed_) read_late(s.address, to, response);
  ++counters_.reads;
  end_segment(s, response);
  return true;
}

}  // namespace rxnic
