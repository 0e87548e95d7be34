// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/tag_match_cam.h"

#include <algorithm>

#include "model/core/tag_matching/tag_headers.h"

namespace rxnic {

namespace {

void forget_rvh(WqeRequest& p) {
  p.rendezvous = false;
  p.local_va = 0;
  p.local_key = {};
  p.local_bytes = 0;
}

}  // namespace

TagMatchCam::TagMatchCam(const sc_core::sc_module_name& name, const TagMatchCamParams& params,
                         QpPartMemory<TagContext, TagContextWrite> contexts, PacketStamps stamps,
                         std::uint32_t most_returns)
    : TagMatchCamPorts(name),
      params_(params),
      stamps_(stamps),
      contexts_(contexts),
      pipeline_(params.pipeline_depth),
      bursts_(params.refill_reads),
      most_returns_(most_returns) {
  fetched_.in_burst = params.overflow_entries_per_read;
  fetched_.entries.resize(std::size_t{params.refill_reads} * fetched_.in_burst);
  bind_memories(*this);
}

void TagMatchCam::bind_memories(TagMatchCamPorts& to) {
  to.context.bind(contexts_);
  to.context_write.bind(contexts_);
  to.bursts.bind(fetched_);
  to.written.bind(leaving_);
}

void TagMatchCam::stand_behind(Block& face) {
  face_ = static_cast<TagMatchCamPorts*>(&face);
  bind_memories(*face_);
}

// What is written must stay in its place until the DMA engine has taken the request from the link.
void TagMatchCam::end_of_elaboration() {
  leaving_.entries.resize((face_->dma.size() > 0 ? face_->dma[0]->capacity() : 0) + 1);
}

bool TagMatchCam::create(WqId srq, const WqContext& attributes) {
  destroy(srq);
  if (lists_used_ == params_.lists) return false;  // (R15)
  if (raw(srq) >= lists_.size()) lists_.resize(raw(srq) + 1);
  lists_[raw(srq)] = std::make_unique<List>(
      List{attributes, TagMatchList(params_.max_tags), TagOverflow(params_.max_tags), ++lists_made_, 0, false, false});
  ++lists_used_;
  if (observer_ != nullptr) observer_->on_list(srq, params_.max_tags);
  return true;
}

void TagMatchCam::destroy(WqId srq) {
  List* const list = find(srq);
  if (list == nullptr) return;
  cam_used_ -= list->tags.in_cam();
  if (list->spilled) spilled_.erase(std::find(spilled_.begin(), spilled_.end(), srq));
  if (job_.list == srq) {
    job_.list = kNoWq;
    if (job_.kind != JobKind::kSearch) job_ = {};
  }
  for (TagReturn& r : returns_) {
    if (r.srq == srq) r.srq = kNoWq;  // nothing is put back
  }
  lists_[raw(srq)].reset();
  --lists_used_;
}

bool TagMatchCam::carry_out_command(Cycle now) {
  if (!lists.can_pop(now) || !list_done.can_push(now)) return false;
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
  return true;
}

Cycle TagMatchCam::step(Cycle now) {
  bool blocked = false;
  asked_ = lacks_dma_ = kept_ = came_back_ = false;
  // (1) a command; a returned match or unexpected message (R14)
  bool worked = carry_out_command(now);
  if (returns_.size() < most_returns_ && returned.can_pop(now)) {
    take_back(returned.pop(now));
    worked = came_back_ = true;
  }
  // (2) a read of the overflow has come; one of its entries is looked at
  if (dma_done.can_pop(now)) {
    bursts_[(first_burst_ + bursts_landed_++) % bursts_.size()].ok = dma_done.pop(now).ok;
    worked = true;
  }
  worked |= look(now);
  worked |= put_back(now);
  // (3) the oldest result walks on, or leaves
  const bool head_is_ready = pipeline_.ready(now);
  if (head_is_ready && pipeline_.front().walks) worked |= search_on(now);
  if (head_is_ready && !pipeline_.front().walks) {
    blocked = !out.can_push(now);
    if (!blocked) {
      const WqeRequest& p = pipeline_.front().packet;
      stamps_.stamp(p.buffer, Station::kTagMatchCam, now);
      out.push(now, p);
      pipeline_.drop();
      worked = true;
    }
  }
  // (4) a read of the overflow; it goes before the writes of appends, which would keep the CAM from being refilled
  worked |= read_overflow(now);
  // (5) take a packet and an operation, the packet first (R2)
  if (now >= cam_free_ && !came_back_) {
    if (takes_packets(now)) {
      accept_packet(now);
      worked = true;
    }
    if (!pipeline_.full() && operations.can_pop(now)) worked |= accept_operation(now);
  }
  // (6) the next entry of a read
  fetch_entry(now);
  // (7) rest
  if (worked) return rest(now, Activity::kBusy, now + 1);
  Cycle next = kNever;
  if (!head_is_ready) next = earliest(next, pipeline_.next_ready());
  if (now < cam_free_) next = earliest(next, cam_free_);
  if (now < search_free_) next = earliest(next, search_free_);
  if (blocked || lacks_dma_) return rest(now, Activity::kBlocked, next);
  if (!pipeline_.empty()) return rest(now, Activity::kWaitTag, next);
  const bool busy = now < cam_free_ || now < search_free_;
  return rest(now, busy ? Activity::kBusy : Activity::kStarved, next);
}

bool TagMatchCam::takes_packets(Cycle now) {
  return now >= search_free_ && job_.kind == JobKind::kNone && !kept_ && returns_.empty() && !operation_waits_ &&
         !pipeline_.full() && in.can_pop(now) &&
         !(params_.hazard == SearchHazard::kStall && stalls(*in.peek(now), now));
}

// Whether a search waits for the one before it. (R1)
bool TagMatchCam::stalls(const WqeRequest& p, Cycle now) {
  if (!starts_search(p)) return false;
  const Cycle result = lists_[raw(p.receive_queue)]->result_at;
  if (result <= now) return false;
  search_free_ = result;
  ++counters_.hazard_stalls;
  return true;
}

bool TagMatchCam::starts_search(const WqeRequest& p) const {
  return exists(p.receive_queue) && begins_tagged_message(p);
}

void TagMatchCam::accept_packet(Cycle now) {
  Result result{in.pop(now), false};
  WqeRequest& p = result.packet;
  stamps_.stamp_taken(p.buffer, Station::kTagMatchCam, now);
  ++counters_.packets;
  const WqId srq = p.receive_queue;
  Cycle due = now + params_.search_cycles;  // (R1)
  if (exists(srq)) {
    const bool received = p.role == PacketRole::kReceived;
    const bool starts = starts_search(p);
    if (starts) {
      result.walks = search(p, srq, due, now);
      if (!result.walks) keep(p, now);
      lists_[raw(srq)]->result_at = due;
    }
    if (p.role == PacketRole::kTruncated || (received && p.has(kSend) && !starts)) {
      const TagContext* const kept = context.peek({p.line});
      label_end(p, kept == nullptr ? TagContext{} : *kept);
    } else if (p.rendezvous && !starts) {
      label_own(p);
    }
  } else if (begins_tagged_message(p)) {  // its list is gone: nobody reads the message
    forget_rvh(p);
  }
  pipeline_.push(result, due);
}

// When a search of the CAM has its result, which is the entry `found`. (R1)
Cycle TagMatchCam::time_search(const List& list, std::uint32_t found, Cycle now) {
  std::uint32_t more = 0;
  switch (params_.organisation) {
    case TagOrganisation::kParallel:
      break;
    case TagOrganisation::kBanked: {
      const std::uint32_t banks = (params_.entries + params_.bank_entries - 1) / params_.bank_entries;
      more = (banks + params_.banks_per_cycle - 1) / params_.banks_per_cycle - 1;
      search_free_ = now + 1 + more;
      break;
    }
    case TagOrganisation::kHashed:
      more = (list.tags.wildcards_before(found) + params_.wildcards_per_cycle - 1) / params_.wildcards_per_cycle;
      search_free_ = now + std::max(more, 1u);
      break;
  }
  return now + params_.search_cycles + more;
}

// True when the overflow has to decide.
bool TagMatchCam::search(WqeRequest& p, WqId srq, Cycle& due, Cycle now) {
  List& list = *lists_[raw(srq)];
  TagMatchList& tags = list.tags;
  p.cq = list.srq.cq;
  const auto opcode = static_cast<TmhOpcode>(p.tmh_opcode);
  if (opcode == TmhOpcode::kEager || (opcode == TmhOpcode::kRendezvous && p.rendezvous)) {
    ++counters_.searches;
    const std::uint32_t found = tags.find(p.tag);
    due = time_search(list, found, now);
    if (found == kNoTagEntry ? tags.in_overflow() > 0 : !tags.settled(found)) {  // (R7)
      job_ = {};
      job_.kind = JobKind::kSearch;
      job_.list = srq;
      job_.handle = found;
      job_.tag = p.tag;
      job_.held_from = tags.held_from();
      return true;
    }
    if (found != kNoTagEntry) {
      tags.consume(found);
      --cam_used_;
      match(p, list, found, now);
      return false;
    }
  }
  miss(p, list, opcode, now);
  return false;
}

// The oldest packet's search goes on in the overflow. (R7)
bool TagMatchCam::search_on(Cycle now) {
  Result& result = pipeline_.front();
  WqeRequest& p = result.packet;
  List* const list = find(job_.list);
  if (list != nullptr && list->failed && !job_.decided) {  // (R9)
    forget_rvh(p);
    p.tag_verdict = TagVerdict::kFailed;
  } else if (list != nullptr) {
    if (!job_.decided) {
      if (list->in_flight > 0) return false;
      if (!job_.reads) job_.position = list->overflow.head();
      const bool all_read = list->tags.in_overflow() == 0 || job_.position == list->overflow.tail();
      if (job_.handle == kNoTagEntry && !all_read) {
        const bool begins = !job_.reads;
        job_.reads = true;
        return begins;
      }
    }
    if (!job_.walked) ++counters_.refill_waits;
    if (job_.found == kNoTagEntry && job_.handle != kNoTagEntry) {
      list->tags.consume(job_.handle);
      --cam_used_;
      job_.found = job_.handle;
    }
    if (job_.found != kNoTagEntry) {
      match(p, *list, job_.found, now);
    } else {
      miss(p, *list, p.rendezvous ? TmhOpcode::kRendezvous : TmhOpcode::kEager, now);
    }
  } else {
    forget_rvh(p);
  }
  if (list != nullptr) keep(p, now);
  kept_ = true;
  result.walks = false;
  job_ = {};
  return true;
}

// What the later packets of the message, and its end, are to be labelled with. (R18)
void TagMatchCam::keep(const WqeRequest& p, Cycle now) {
  context_write.write(now, {p.line, {.tag_verdict = p.tag_verdict, .tag_context = p.tag_context, .tag = p.tag}});
}

void TagMatchCam::miss(WqeRequest& p, List& list, TmhOpcode opcode, Cycle now) {
  forget_rvh(p);
  if (opcode == TmhOpcode::kEager || opcode == TmhOpcode::kRendezvous) {  // (R11)
    list.tags.count_unexpected();
    ++counters_.unexpected;
    if (observer_ != nullptr) observer_->on_unexpected(p.receive_queue, now);
    p.tag_verdict = TagVerdict::kUnexpected;
  } else {
    ++counters_.untagged;
    p.tag_verdict = opcode == TmhOpcode::kFinish ? TagVerdict::kOrdinary : TagVerdict::kNoTag;
  }
  label_end(p, {.tag_verdict = p.tag_verdict, .tag_context = p.tag_context, .tag = p.tag});
}

void TagMatchCam::match(WqeRequest& p, List& list, std::uint32_t handle, Cycle now) {  // (R10)
  ++counters_.matches;
  if (observer_ != nullptr) observer_->on_match(p.receive_queue, handle, now);
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
  p.tag_verdict = TagVerdict::kMatched;
  if (p.rendezvous) match_rendezvous(p, entry);
}

void TagMatchCam::match_rendezvous(WqeRequest& p, const TagEntry& entry) {  // (R16)
  ++counters_.rendezvous;
  if (p.local_bytes <= entry.buffer.length) {
    p.strip_bytes = p.payload_bytes;
    p.cqe_flags &= static_cast<std::uint16_t>(~kCqeTagDataValid);
    return;
  }
  ++counters_.rendezvous_incomplete;
  forget_rvh(p);
  p.strip_bytes = 0;
  p.status = WcStatus::kRendezvousIncomplete;
}

void TagMatchCam::label_own(WqeRequest& p) const {  // (R17)
  const List& list = *lists_[raw(p.receive_queue)];
  p.pd = list.srq.pd;
  p.cq = list.srq.cq;
  p.queue = p.receive_queue;
  if (p.cqe_opcode == CqeOpcode::kRdmaRead) {
    p.cqe_opcode = CqeOpcode::kTagReceive;
    p.cqe_flags |= kCqeTagDataValid;
  } else {
    p.completes = false;
  }
}

// Sets the tag fields of the completion of a message's packet, which reports success or failure.
void TagMatchCam::label_end(WqeRequest& p, const TagContext& qp) const {
  const List& list = *lists_[raw(p.receive_queue)];
  p.cq = list.srq.cq;
  p.tag = qp.tag;
  p.tag_context = qp.tag_context;
  switch (qp.tag_verdict) {
    case TagVerdict::kMatched:
      p.cqe_opcode = CqeOpcode::kTagReceive;
      p.cqe_flags |= kCqeTagDataValid;  // reported at the end of the message, or by an error (completion.h R3)
      break;
    case TagVerdict::kUnexpected:
      p.cqe_opcode =
          params_.unexpected_status == UnexpectedStatus::kTmRecv ? CqeOpcode::kTagReceive : CqeOpcode::kReceive;
      if (list.tags.wants_sync()) p.cqe_flags |= kCqeTagSyncRequest;  // (R12)
      break;
    case TagVerdict::kNoTag:
      p.cqe_opcode = CqeOpcode::kTagNoTag;
      break;
    case TagVerdict::kOrdinary:
    case TagVerdict::kFailed:
    case TagVerdict::kNone:
      break;
  }
}

void TagMatchCam::hash(StateHash& h) const {
  h.mix(counters_);
  for (const auto& list : lists_) {
    if (list == nullptr) continue;
    h.mix(std::uint64_t{list->tags.size()} << 32 | list->tags.unexpected());
    h.mix(list->overflow.head());
    h.mix(list->overflow.tail());
  }
  h.mix(cam_used_);
  h.mix(cam_reserved_);
  h.mix(bursts_used_);
  h.mix(pipeline_.size());
}

}  // namespace rxnic
