// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/record/posted_memory.h"

#include <algorithm>

#include "bridge/channel/tag_ring.h"
#include "bridge/driver/attributes.h"
#include "model/core/receive_queue/wqe_format.h"

namespace rxnic {

using channel::Board;
using channel::Request;

namespace {

constexpr unsigned kBucketShift = 16;

constexpr std::uint64_t bucket_of(std::uint32_t space, std::uint64_t address) {
  return std::uint64_t{space} << 32 | address >> kBucketShift;
}

std::pair<std::uint32_t, std::uint64_t> record_of(std::uint32_t session, Board board, std::uint32_t index) {
  return {session, std::uint64_t{static_cast<std::uint8_t>(board)} << 32 | index};
}

constexpr bool reads_remotely(SendOpcode opcode) {
  return opcode == SendOpcode::kRead || opcode == SendOpcode::kCompareSwap || opcode == SendOpcode::kFetchAdd;
}

}  // namespace

void PostedMemory::replied(std::uint32_t session, const channel::Message& message) {
  if (message.status != 0) return;
  const std::uint32_t nic = sessions_[session].nic;
  switch (message.type) {
    case Request::kRegisterMemory:
    case Request::kReregisterMemory:
      if (message.body.memory.device_memory != 0) return;
      regions_[{nic, message.body.memory.lkey}] = {session, message.body.memory};
      return;
    case Request::kCreateQp: {
      const channel::QueuePair& qp = message.body.qp;
      const Transport transport = transport_of(static_cast<QpType>(qp.type));
      if (qp.send_slots != 0) {
        add_queue({QueueKind::kSend, session, qp.send_ring, qp.send_slots, qp.send_stride, transport, qp.qpn, 0, {}, 0},
                  Board::kSend, qp.send_doorbell);
      }
      if (qp.has_srq == 0 && qp.receive_slots != 0) {
        add_queue({QueueKind::kCyclic,
                   session,
                   qp.receive_ring,
                   qp.receive_slots,
                   qp.receive_stride,
                   transport,
                   qp.qpn,
                   0,
                   {},
                   0},
                  Board::kReceive, qp.receive_doorbell);
      }
      return;
    }
    case Request::kCreateSrq: {
      const channel::SharedReceiveQueue& srq = message.body.srq;
      add_queue({linked_lists_ ? QueueKind::kLinkedList : QueueKind::kCyclic,
                 session,
                 srq.ring,
                 srq.slots,
                 srq.stride,
                 Transport::kRc,
                 0,
                 0,
                 {},
                 0},
                Board::kReceive, srq.doorbell);
      if (srq.tag_slots != 0) {
        add_queue({QueueKind::kCyclic,
                   session,
                   srq.tag_ring,
                   srq.tag_slots,
                   channel::kTagWriteBytes,
                   Transport::kRc,
                   0,
                   0,
                   {},
                   0},
                  Board::kTags, srq.tag_doorbell);
      }
      return;
    }
    case Request::kModifyQp: {
      const channel::QpAttributes& a = message.body.attributes;
      if ((a.mask & kAttrPath) != 0) {
        if (const auto mac = resolve(a.path.destination_gid, nics_, addresses_)) {
          peers_[{nic, a.qpn}] = (*mac)[5] - 1u;
        }
      }
      if ((a.mask & kAttrState) != 0 && a.state == static_cast<std::uint32_t>(QpState::kReset)) reset(nic, a.qpn);
      return;
    }
    default:
      return;
  }
}

void PostedMemory::add_queue(const Queue& queue, Board board, std::uint32_t index) {
  const Place record = record_of(queue.session, board, index);
  const std::uint64_t end = queue.ring + std::uint64_t{queue.slots} * queue.stride;
  // Queues that the program has destroyed: of the same record, or in the same memory.
  std::erase_if(rings_, [&](const auto& ring) {
    if (ring.first.first != queue.session) return false;
    const Queue& old = queues_.at(ring.second);
    return ring.second == record || (old.ring < end && queue.ring < old.ring + std::uint64_t{old.slots} * old.stride);
  });
  queues_[record] = queue;
  rings_[{queue.session, queue.ring}] = record;
}

void PostedMemory::reset(std::uint32_t nic, std::uint32_t qpn) {
  for (auto& [place, queue] : queues_) {
    if (queue.qpn != qpn || nic_of(queue) != nic) continue;
    queue.producer = queue.slot = 0;
    queue.posted.clear();
  }
}

// (R1)
void PostedMemory::rung(std::uint32_t session, Board board, std::uint32_t index, std::uint64_t value,
                        std::uint32_t input) {
  const auto found = queues_.find(record_of(session, board, index));
  if (found == queues_.end()) return;
  Queue& queue = found->second;
  const std::uint32_t posted = std::min(static_cast<std::uint32_t>(value) - queue.producer, queue.slots);
  for (std::uint32_t n = 0; n < posted; ++n) {
    const std::uint32_t slot = (queue.producer + n) % queue.slots;
    if (queue.kind != QueueKind::kLinkedList) {
      const std::uint64_t begin = ProgramMemory::kShared + queue.ring + std::uint64_t{slot} * queue.stride;
      bring(space_of(sessions_[session], session, begin), {begin, begin + queue.stride, What::kSlot}, input);
    }
    if (queue.kind != QueueKind::kCyclic) queue.posted.push_back(input);
  }
  queue.producer = static_cast<std::uint32_t>(value);
  if (queue.kind == QueueKind::kSend) {
    queue.slot = (queue.producer - static_cast<std::uint32_t>(queue.posted.size())) % queue.slots;
  }
}

void PostedMemory::mapping_read(std::uint32_t session, std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t offset = address - ProgramMemory::kShared;
  for (auto ring = rings_.lower_bound({session, offset + bytes}); ring != rings_.begin();) {
    --ring;
    if (ring->first.first != session) return;
    Queue& queue = queues_.at(ring->second);
    if (queue.ring + std::uint64_t{queue.slots} * queue.stride <= offset) return;
    look_at(queue);
  }
}

// (R3)
void PostedMemory::look_at(Queue& queue) {
  std::vector<std::uint8_t> bytes(queue.stride);
  while (!queue.posted.empty()) {
    const std::uint32_t input = queue.posted.front();
    const std::uint64_t begin = ProgramMemory::kShared + queue.ring + std::uint64_t{queue.slot} * queue.stride;
    const std::uint32_t space = space_of(sessions_[queue.session], queue.session, begin);
    const bool linked = queue.kind == QueueKind::kLinkedList;
    if (linked) bring(space, {begin, begin + queue.stride, What::kSlot}, input);
    if (!image_.is_since(space, begin, queue.stride, input)) return;
    image_.get(space, begin, bytes);
    if (linked) {
      queue.slot = next_wqe_index(bytes, queue.slots);
    } else {
      bring_wqe(queue, bytes, input);
      queue.slot = (queue.slot + 1) % queue.slots;
    }
    queue.posted.pop_front();
  }
}

// (R2)
void PostedMemory::bring_wqe(const Queue& queue, std::span<const std::uint8_t> slot, std::uint32_t input) {
  SendWqe wqe;
  constexpr std::uint32_t kMost = kMaxMtu + kMostLinkHeaderBytes;  // of a RAW_PACKET QP
  if (parse_send_wqe(slot, queue.transport, kMost, wqe) != WcStatus::kSuccess) return;
  const std::uint32_t nic = nic_of(queue);
  if (reads_remotely(wqe.opcode)) {
    const auto peer = peers_.find({nic, queue.qpn});
    if (peer == peers_.end()) return;
    const bool read = wqe.opcode == SendOpcode::kRead;
    bring_region(peer->second, wqe.remote.rkey, wqe.remote.va, read ? wqe.bytes : sizeof(std::uint64_t),
                 read ? What::kData : What::kOperand, input);
    return;
  }
  if (wqe.inline_data != nullptr) return;
  for (const DataSegment& segment : wqe.segments()) {
    bring_region(nic, segment.lkey, segment.address, segment.length, What::kData, input);
  }
}

void PostedMemory::bring_region(std::uint32_t nic, std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                                What what, std::uint32_t input) {
  const auto found = regions_.find({nic, key});
  if (found == regions_.end()) return;
  const channel::Memory& m = found->second.memory;
  if (address < m.iova || address - m.iova > m.length || bytes > m.length - (address - m.iova)) return;
  const std::uint64_t begin = m.address + (address - m.iova);
  const std::uint32_t session = found->second.session;
  bring(space_of(sessions_[session], session, begin), {begin, begin + bytes, what}, input);
}

void PostedMemory::bring(std::uint32_t space, const Post& post, std::uint32_t input) {
  if (post.begin == post.end) return;
  for (std::uint64_t bucket = bucket_of(space, post.begin); bucket <= bucket_of(space, post.end - 1); ++bucket) {
    auto& posts = posts_[bucket];
    const auto [first, behind] = posts.equal_range(input);
    const bool known = std::any_of(first, behind, [&](const auto& other) {
      return other.second.what == post.what && other.second.begin <= post.begin && post.end <= other.second.end;
    });
    if (!known) posts.emplace(input, post);
  }
}

std::vector<PostedMemory::Part> PostedMemory::parts(std::uint32_t space, std::uint64_t begin, std::uint64_t end,
                                                    std::uint32_t after, std::uint32_t last, bool data_only) const {
  std::vector<Part> found, left = {{begin, end, 0}};
  const auto cut = [&](const Post& post, std::uint32_t input) {
    std::vector<Part> rest;
    for (const Part& part : left) {
      const std::uint64_t from = std::max(part.begin, post.begin), to = std::min(part.end, post.end);
      if (from >= to) {
        rest.push_back(part);
        continue;
      }
      found.push_back({from, to, input});
      if (part.begin < from) rest.push_back({part.begin, from, 0});
      if (to < part.end) rest.push_back({to, part.end, 0});
    }
    left = std::move(rest);
  };
  for (std::uint64_t bucket = bucket_of(space, begin); bucket <= bucket_of(space, end - 1); ++bucket) {
    const auto posts = posts_.find(bucket);
    if (posts == posts_.end()) continue;
    for (auto post = posts->second.upper_bound(after); post != posts->second.end() && !left.empty(); ++post) {
      if (post->first > last && (data_only || post->second.what != What::kSlot)) continue;
      if (data_only && post->second.what != What::kData) continue;
      const std::uint64_t from = (bucket & 0xffff'ffff) << kBucketShift;
      const Post here{std::max(post->second.begin, from),
                      std::min(post->second.end, from + (std::uint64_t{1} << kBucketShift)), post->second.what};
      cut(here, post->first);
    }
  }
  found.insert(found.end(), left.begin(), left.end());
  return found;
}

}  // namespace rxnic
