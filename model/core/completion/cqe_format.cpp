// SPDX-License-Identifier: Apache-2.0
#include "model/core/completion/cqe_format.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace rxnic {

namespace {

// No padding: entries are compared and written as bytes.
static_assert(std::has_unique_object_representations_v<Cqe>);
static_assert(std::has_unique_object_representations_v<MiniCqeSlot>);

template <class Entry>
void put(Entry entry, std::uint32_t index, std::uint32_t slots, std::uint32_t stride, std::uint8_t* to) {
  static_assert(sizeof(Entry) == sizeof(Cqe));
  entry.owner = owner_bit(index, slots);
  if (stride > sizeof entry) std::memset(to, 0, stride - sizeof entry);
  std::memcpy(to + (stride - sizeof entry), &entry, sizeof entry);
}

// A received message's part of the CQE.
void add_receive_fields(const CompletionRequest& p, Cqe& cqe) {
  if (p.has(kHasImm | kHasIeth) && p.ends_message) {
    cqe.immediate_or_rkey = p.immediate;
    cqe.flags |= p.has(kHasImm) ? kCqeImmediate : kCqeInvalidated;
  }
  if (p.solicited) cqe.flags |= kCqeSolicited;
  if (!p.has(kHasDeth)) return;
  cqe.source_qp = raw(p.source_qp);
  cqe.source_lid = p.source_lid;
  cqe.service_level = p.service_level;
  if (p.network_header != NetworkHeader::kNone) cqe.flags |= kCqeGrh;  // (R2)
}

}  // namespace

Cqe make_cqe(const CompletionRequest& p, std::uint32_t srq_plus_1, Cycle now) {  // (R1)
  Cqe cqe;
  cqe.qp_number = raw(p.qpn);
  cqe.wqe_index = p.wqe_index;
  cqe.status = p.status;
  cqe.timestamp = now.count;
  if (srq_plus_1 != 0) {
    cqe.srq_number = srq_plus_1 - 1;
    cqe.flags = kCqeSrq;
  }
  cqe.opcode = p.cqe_opcode;
  if (p.status != WcStatus::kSuccess) {
    cqe.vendor_error = static_cast<std::uint8_t>(p.drop_reason);
    cqe.flags |= p.cqe_flags & (kCqeTagMatch | kCqeTagDataValid);  // whose wqe_index is an entry's
    return cqe;
  }
  cqe.byte_count = p.byte_count;
  cqe.flags |= p.cqe_flags;
  cqe.tag = p.tag;
  cqe.tag_context = p.tag_context;
  if (p.role == PacketRole::kReceived && p.has(kRequest)) add_receive_fields(p, cqe);
  return cqe;
}

void write_slot(const Cqe& cqe, std::uint32_t index, std::uint32_t slots, std::uint32_t stride, std::uint8_t* to) {
  put(cqe, index, slots, stride, to);
}

bool CompressionSession::joins(const Cqe& cqe) const {  // (R4)
  Cqe as_title = cqe;
  as_title.byte_count = title_.byte_count;
  as_title.wqe_index = title_.wqe_index;
  as_title.timestamp = title_.timestamp;
  return cqe.status == WcStatus::kSuccess && std::memcmp(&as_title, &title_, sizeof title_) == 0;
}

void CompressionSession::add(const Cqe& cqe) {
  if (count_ == 0) title_ = cqe;
  minis_[count_++] = {cqe.byte_count, cqe.wqe_index};
}

void CompressionSession::write(std::uint32_t index, std::uint32_t slots, std::uint32_t stride, std::uint8_t* to) const {
  Cqe first = title_;
  if (count_ > 1) {
    first.format = CqeFormat::kTitle;
    first.mini_count = static_cast<std::uint16_t>(count_);
  }
  put(first, index, slots, stride, to);
  for (std::uint32_t done = 0; count_ > 1 && done < count_; done += kMiniCqesPerSlot) {
    MiniCqeSlot slot;
    std::copy_n(minis_.begin() + done, std::min(kMiniCqesPerSlot, count_ - done), slot.mini.begin());
    to += stride;
    put(slot, ++index, slots, stride, to);
  }
}

}  // namespace rxnic
