// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/tag_match_cam.h"

#include <algorithm>

namespace rxnic {

TagMatchCam::TagMatchCam(const sc_core::sc_module_name& name, const TagMatchCamParams& params, NicShared& shared)
    : Block(name),
      params_(params),
      shared_(shared),
      contexts_(shared.contexts),
      pipeline_(params.pipeline_depth),
      walk_buffer_(std::size_t{params.overflow_entries_per_read} * sizeof(TagOverflowEntry)) {}

// An overflow entry must stay in its write buffer until the DMA engine has taken the request from the link.
void TagMatchCam::end_of_elaboration() { write_buffers_.resize((dma.size() > 0 ? dma[0]->link().capacity() : 0) + 1); }

bool TagMatchCam::create(WqId srq, const WqContext& context) {
  destroy(srq);
  if (lists_used_ == params_.lists) return false;  // (R12)
  if (raw(srq) >= lists_.size()) lists_.resize(raw(srq) + 1);
  lists_[raw(srq)] = std::make_unique<List>(List{context, TagMatchList(params_.max_tags)});
  ++lists_used_;
  return true;
}

void TagMatchCam::destroy(WqId srq) {
  if (!exists(srq)) return;
  cam_used_ -= lists_[raw(srq)]->tags.in_cam();
  lists_[raw(srq)].reset();
  --lists_used_;
}

void TagMatchCam::carry_out_command(Cycle now) {
  if (!list_done.can_push(now)) return wake();
  const TagListCommand command = lists.pop(now);
  StepDone done;
  if (command.create) {
    WqContext srq;
    srq.pd = command.pd;
    srq.cq = command.cq;
    done.ok = create(command.queue, srq);
  } else {
    destroy(command.queue);
  }
  list_done.push(now, done);
}

Cycle TagMatchCam::step(Cycle now) {
  bool worked = false;
  bool blocked = false;
  lacks_dma_ = false;
  // (1) a command; returned matches and unexpected messages (R11)
  if (lists.can_pop(now)) carry_out_command(now);
  while (returned.can_pop(now)) {
    take_back(returned.pop(now));
    worked = true;
  }
  // (2) a read of the overflow has come
  if (dma_done.can_pop(now)) {
    dma_done.pop(now);
    walk_waits_ = false;
    worked = true;
  }
  // (3) the oldest result walks on, or leaves
  const bool head_is_ready = pipeline_.ready(now);
  if (head_is_ready && pipeline_.front().walks) worked |= walk(now);
  if (head_is_ready && !pipeline_.front().walks) {
    blocked = !out.can_push(now);
    if (!blocked) {
      const WqeRequest& p = pipeline_.front().packet;
      shared_.stamp(p.buffer, Station::kTagMatchCam, now);
      out.push(now, p);
      pipeline_.drop();
      worked = true;
    }
  }
  // (4) take a packet and an operation, the packet first (R2)
  if (now >= cam_free_) {
    if (walk_srq_ == kNoWq && !pipeline_.full() && in.can_pop(now)) {
      accept_packet(now);
      worked = true;
    }
    if (!pipeline_.full() && operations.can_pop(now)) worked |= accept_operation(now);
  }
  // (5) rest
  if (worked) return rest(now, Activity::kBusy, now + 1);
  Cycle next = kNever;
  if (!head_is_ready) next = earliest(next, pipeline_.next_ready());
  if (now < cam_free_) next = earliest(next, cam_free_);
  if (blocked || lacks_dma_) return rest(now, Activity::kBlocked, next);
  if (!pipeline_.empty()) return rest(now, Activity::kWaitTag, next);
  return rest(now, now < cam_free_ ? Activity::kBusy : Activity::kStarved, next);
}

void TagMatchCam::take_back(const TagReturn& r) {
  ++counters_.returned;
  if (!exists(r.srq)) return;
  TagMatchList& tags = lists_[raw(r.srq)]->tags;
  if (r.handle == kNoTag) {
    tags.discount_unexpected();
    return;
  }
  const std::uint32_t before = tags.in_cam();
  tags.restore(r.handle);
  cam_used_ += tags.in_cam() - before;
}

bool TagMatchCam::walk(Cycle now) {  // (R6)
  if (walk_waits_) return false;
  if (walk_entries_ > 0) {
    if (!dma.can_push(now)) return false;
    const std::uint32_t n = std::min(walk_entries_, params_.overflow_entries_per_read);
    DmaRequest read;
    read.address = overflow_address(walk_srq_, walk_position_);
    read.bytes = n * static_cast<std::uint32_t>(sizeof(TagOverflowEntry));
    read.data = walk_buffer_.data();
    dma.push(now, read);
    walk_entries_ -= n;
    walk_position_ += n;
    walk_waits_ = true;
    ++counters_.walk_reads;
    return true;
  }
  if (exists(walk_srq_)) {
    TagMatchList& tags = lists_[raw(walk_srq_)]->tags;
    const std::uint32_t before = tags.in_cam();
    tags.promote(std::min(walk_promotes_, params_.entries - std::min(cam_used_, params_.entries)));
    cam_used_ += tags.in_cam() - before;
    counters_.promotions += tags.in_cam() - before;
  }
  walk_srq_ = kNoWq;
  pipeline_.front().walks = false;
  return true;
}

void TagMatchCam::accept_packet(Cycle now) {
  Result result{in.pop(now), false};
  WqeRequest& p = result.packet;
  ++counters_.packets;
  const WqId srq = p.receive_queue;
  if (exists(srq)) {
    const bool received = p.role == PacketRole::kReceived;
    const bool starts = received && p.outcome == Outcome::kExecute && p.has(kSend) && p.takes_wqe;
    if (starts) result.walks = search(p, srq);
    if (p.role == PacketRole::kTruncated || (received && p.has(kSend) && !starts)) label_end(p);
  }
  pipeline_.push(result, now + params_.search_cycles);  // (R1)
}

// True when the search must walk the overflow.
bool TagMatchCam::search(WqeRequest& p, WqId srq) {
  List& list = *lists_[raw(srq)];
  TagMatchList& tags = list.tags;
  TagContext& qp = contexts_[p.line];
  p.cq = list.srq.cq;
  Tmh tmh;
  const bool has_tmh = p.has(kFirst | kOnly) && p.payload_bytes >= kTmhBytes;
  if (has_tmh) tmh = parse_tmh(shared_.packets[p.buffer].frame.data() + p.payload_offset);
  const auto opcode = static_cast<TmhOpcode>(tmh.opcode);
  qp.tag = p.tag = tmh.tag;
  qp.tag_context = p.tag_context = tmh.app_context;
  bool walks = false;
  if (opcode == TmhOpcode::kEager) {
    ++counters_.searches;
    const std::uint32_t before = tags.in_cam();
    const TagMatchList::Match found = tags.search(tmh.tag);
    cam_used_ += tags.in_cam() - before;
    if (found.overflow_walked > 0) {
      walks = true;
      walk_srq_ = srq;
      walk_entries_ = found.overflow_walked;
      walk_position_ = 0;
      walk_promotes_ = found.overflow_walked - (found.handle == kNoTag ? 0 : 1);
      ++counters_.walks;
    }
    if (found.handle != kNoTag) {
      match(p, list, found.handle);
      return walks;
    }
  }
  if (opcode == TmhOpcode::kEager || opcode == TmhOpcode::kRendezvous) {  // (R8)
    tags.count_unexpected();
    ++counters_.unexpected;
    qp.tag_verdict = TagVerdict::kUnexpected;
  } else {
    ++counters_.untagged;
    qp.tag_verdict = opcode == TmhOpcode::kFinish ? TagVerdict::kOrdinary : TagVerdict::kNoTag;
  }
  p.tag_verdict = qp.tag_verdict;
  label_end(p);
  return walks;
}

void TagMatchCam::match(WqeRequest& p, const List& list, std::uint32_t handle) {  // (R7)
  ++counters_.matches;
  const TagEntry& entry = list.tags.entry(handle);
  p.wqe_index = handle;
  p.takes_wqe = false;
  p.strip_bytes = kTmhBytes;
  p.pd = list.srq.pd;
  p.tag_buffer = entry.buffer;
  p.cqe_opcode = CqeOpcode::kTagReceive;
  p.cqe_flags |= kCqeTagMatch;
  if (p.ends_message) p.cqe_flags |= kCqeTagDataValid;
  p.completes = true;
  p.tag_verdict = contexts_[p.line].tag_verdict = TagVerdict::kMatched;
}

// Sets the tag fields of the completion of a message's packet, which reports success or failure.
void TagMatchCam::label_end(WqeRequest& p) const {
  const TagContext& qp = contexts_[p.line];
  const List& list = *lists_[raw(p.receive_queue)];
  p.cq = list.srq.cq;
  p.tag = qp.tag;
  p.tag_context = qp.tag_context;
  switch (qp.tag_verdict) {
    case TagVerdict::kMatched:
      p.cqe_opcode = CqeOpcode::kTagReceive;
      if (p.ends_message) p.cqe_flags |= kCqeTagDataValid;
      break;
    case TagVerdict::kUnexpected:
      p.cqe_opcode =
          params_.unexpected_status == UnexpectedStatus::kTmRecv ? CqeOpcode::kTagReceive : CqeOpcode::kReceive;
      if (list.tags.wants_sync()) p.cqe_flags |= kCqeTagSyncRequest;  // (R9)
      break;
    case TagVerdict::kNoTag:
      p.cqe_opcode = CqeOpcode::kTagNoTag;
      break;
    case TagVerdict::kOrdinary:
    case TagVerdict::kNone:
      break;
  }
}

bool TagMatchCam::accept_operation(Cycle now) {
  const TagOperation& op = *operations.peek(now);
  if (!exists(op.srq)) {
    operations.pop(now);
    ++counters_.operations;
    ++counters_.failed_operations;
    return true;
  }
  lacks_dma_ = !dma.can_push(now);
  if (lacks_dma_) return false;
  List& list = *lists_[raw(op.srq)];
  ++counters_.operations;
  if (op.tm_sync) list.tags.acknowledge(op.unexpected_count);
  bool ok = true;
  if (op.opcode == TagOpcode::kAdd) {
    ok = add(list, op, now);
  } else if (op.opcode == TagOpcode::kDelete) {
    const std::uint32_t before = list.tags.in_cam();
    ok = list.tags.remove(op.entry.handle);
    cam_used_ += list.tags.in_cam() - before;
  }
  const bool occupies = op.opcode != TagOpcode::kSync;
  cam_free_ = now + (occupies ? params_.append_cycles : 1);  // (R3)
  counters_.failed_operations += !ok;
  if (op.signaled || !ok) complete(op, list, ok, cam_free_);  // (R10)
  operations.pop(now);
  return true;
}

bool TagMatchCam::add(List& list, const TagOperation& op, Cycle now) {
  TagMatchList& tags = list.tags;
  const std::uint32_t before = tags.in_cam();
  if (!tags.append(op.entry, cam_used_ < params_.entries)) return false;
  cam_used_ += tags.in_cam() - before;
  if (!tags.in_overflow(op.entry.handle)) return true;
  TagOverflowEntry& record = write_buffers_[next_write_buffer_];  // (R5)
  next_write_buffer_ = (next_write_buffer_ + 1) % write_buffers_.size();
  record.tag = op.entry.tag;
  record.mask = op.entry.mask;
  record.buffer = op.entry.buffer;
  record.handle = op.entry.handle;
  DmaRequest write;
  write.kind = DmaKind::kWrite;
  write.address = overflow_address(op.srq, tags.in_overflow() - 1);
  write.bytes = sizeof record;
  write.data = reinterpret_cast<std::uint8_t*>(&record);
  dma.push(now, write);
  ++counters_.overflow_appends;
  return true;
}

void TagMatchCam::complete(const TagOperation& op, const List& list, bool ok, Cycle when) {
  Result result;
  WqeRequest& p = result.packet;
  p.role = PacketRole::kTagOperation;
  p.outcome = Outcome::kExecute;
  p.completes = true;
  p.ends_message = true;
  p.status = ok ? WcStatus::kSuccess : WcStatus::kTagMatch;
  p.cq = list.srq.cq;
  p.queue = op.srq;
  p.wqe_index = op.wqe_index;
  p.cqe_opcode = op.opcode == TagOpcode::kAdd      ? CqeOpcode::kTagAdd
                 : op.opcode == TagOpcode::kDelete ? CqeOpcode::kTagDelete
                                                   : CqeOpcode::kTagSync;
  p.cqe_flags = kCqeSrq;
  if (!list.tags.in_phase()) p.cqe_flags |= kCqeTagSyncRequest;  // (R9)
  pipeline_.push(result, when);
}

BusAddress TagMatchCam::overflow_address(WqId srq, std::uint32_t position) const {
  return icm::kTagOverflow + (std::uint64_t{raw(srq)} * params_.max_tags + position) * sizeof(TagOverflowEntry);
}

void TagMatchCam::hash(StateHash& h) const {
  h.mix(counters_);
  for (const auto& list : lists_) {
    if (list != nullptr) h.mix(std::uint64_t{list->tags.size()} << 32 | list->tags.unexpected());
  }
  h.mix(cam_used_);
  h.mix(pipeline_.size());
}

}  // namespace rxnic
