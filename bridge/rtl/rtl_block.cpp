// SPDX-License-Identifier: Apache-2.0
#include "bridge/rtl/rtl_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "bridge/rtl/port_counts.h"

namespace rxnic {

struct RtlBlock::Port : TwinJoint {
  Port(const Engine& engine, const Block& face, BehindRtl& behind, const TwinPort& of_twin, const Twin& rtl)
      : TwinJoint(engine, face, of_twin), counts(rtl.counters(), *this, behind) {}
  PacketHandle buffer_of(const std::vector<std::uint32_t>& bits_of_value) const {
    return PacketHandle{static_cast<std::uint32_t>(number(bits_of_value, buffer, raw(kNoPacket)))};
  }
  PortCounts counts;
  bool has_packets = false;  // its values have observers' fields (R5)
  Place buffer{}, role{}, qpn{}, last{};
};

RtlBlock::RtlBlock(Engine& engine, Block& face, std::shared_ptr<Block> model, std::unique_ptr<Twin> twin,
                   Options options)
    : engine_(engine),
      face_(face),
      model_(std::move(model)),
      behind_(behind_rtl(*model_)),
      twin_(std::move(twin)),
      options_(std::move(options)) {
  model_->take_time_of(face_);
}

RtlBlock::~RtlBlock() = default;

void RtlBlock::start() {
  for (const TwinPort& port : twin_->ports()) ports_.emplace_back(engine_, face_, behind_, port, *twin_);
  refuse_missing_ports(engine_, face_, *twin_);
  for (Port& p : ports_) {
    p.has_packets = p.link != nullptr && !p.link->operations()->observers(p.value.data()).empty();
    if (!p.has_packets) continue;
    p.buffer = p.place_of("buffer");
    p.role = p.place_of("role");
    p.qpn = p.place_of("qpn");
    p.last = p.place_of("last");
  }
  reset_twin(*twin_);
  set_up_twin(*twin_, ports_, behind_);
}

RtlBlock::Step RtlBlock::step_rtl(Cycle now) {
  for (; options_.always && next_ < now && failure().empty(); next_ += 1) {  // (R3)
    drive(next_);
    clock(next_);
  }
  drive(now);
  look_at_activity();
  look_for_stall(now);
  if (!failure().empty()) {  // (R4)
    engine_.stop();
    return {Activity::kStarved, kNever};
  }
  const bool rested = *twin_->quiescent != 0;
  bool passes = false;
  for (Port& p : ports_) {
    passes = passes || (p.twin.kind != PortKind::kLookup && p.transfers() != 0);
    if (p.twin.kind == PortKind::kIn) take(p, now);
    if (p.twin.kind == PortKind::kOut) give(p, now);
    if (p.twin.kind == PortKind::kRead) read(p);
  }
  next_ = now + 1;
  const bool occupied_anyway = passes || !rested || knows_activity();
  if (twin_->fused() && occupied_anyway && expects_value(next_)) {  // (R6)
    ++clocked_;
    rises_ = true;
    return {knows_activity() ? activity_ : Activity::kBusy, next_};
  }
  clock(now);
  const bool gives_up = idle_from_ != kNever && now.count + 1 - idle_from_.count >= options_.patience;
  const bool rests = *twin_->quiescent != 0 || gives_up;
  if (rests) idle_from_ = kNever;
  const bool occupied = passes || !rested || !rests;
  const Activity is = knows_activity() ? activity_ : occupied ? Activity::kBusy : Activity::kStarved;  // (R2)
  Cycle next = rests ? kNever : now + 1;
  for (const Port& p : ports_) {
    if (!rests || p.twin.kind != PortKind::kIn || p.link == nullptr || p.link->size() == 0) continue;
    next = earliest(next, latest(p.link->head_visible_from(), now + 1));
  }
  return {is, next};
}

void RtlBlock::look_at_activity() {
  if (!knows_activity()) return;
  activity_ = static_cast<Activity>(*twin_->activity);
  if (*twin_->activity < kActivities) return;
  wrong_ = fmt::format("activity_o: found {}; expected an Activity, {} at most", *twin_->activity, kActivities - 1);
}

// (R3, R4)
void RtlBlock::look_for_stall(Cycle now) {
  const Port* waits = nullptr;
  for (const Port& p : ports_) {
    const bool in = p.twin.kind == PortKind::kIn;
    if ((!in && p.twin.kind != PortKind::kOut) || get_signal(p.twin.valid) == 0) continue;
    if (!in || p.transfers() != 0) {
      waits_from_ = idle_from_ = kNever;
      return;
    }
    if (waits == nullptr) waits = &p;
  }
  if (waits == nullptr) {
    waits_from_ = kNever;
    if (idle_from_ == kNever) idle_from_ = now;
    return;
  }
  idle_from_ = kNever;
  if (waits_from_ == kNever) waits_from_ = now;
  if (now.count + 1 - waits_from_.count >= options_.patience && wrong_.empty()) {
    wrong_ = fmt::format(
        "port {}: valid from cycle {} on, and not taken in {} cycles in which nothing else passed the block: it stands "
        "still",
        waits->twin.name, waits_from_.count, options_.patience);
  }
}

void RtlBlock::drive(Cycle now) {
  bool other = !evaluated_;
  evaluated_ = false;
  if (twin_->now != nullptr && *twin_->now != now.count) {
    *twin_->now = now.count;
    other = true;
  }
  for (Port& p : ports_) {
    if (p.twin.kind == PortKind::kIn) {
      const bool valid = p.link != nullptr && p.link->head_visible_from() <= now;
      other |= p.offer(valid, p.link == nullptr ? 0 : p.link->popped());
    } else if (p.twin.kind == PortKind::kOut) {
      other |= p.give_room(p.link == nullptr ? p.lanes : p.link->room(now));
    }
  }
  look_up_all(ports_);
  if (rises_) {
    rises_ = false;
    words_come();
    twin_->next_cycle();
  } else if (other) {
    twin_->eval();
  }
}

void RtlBlock::take(Port& p, Cycle now) {
  if (p.transfers() == 0) return;
  if (p.has_packets) {  // (R5)
    const PacketHandle buffer = p.buffer_of(p.model);
    auto& kept = observers_[buffer];
    if (buffer != kNoPacket) kept.clear();
    kept.push_back(
        {p.number(p.model, p.role, 0), p.number(p.model, p.qpn, 0), p.link->operations()->observers(p.value.data())});
    if (options_.stamp) options_.stamp(buffer, now, false);
  }
  p.counts.passes(p.model);
  p.link->take_head(now, behind_);
  ++transactions_;
}

void RtlBlock::give(Port& p, Cycle now) {
  const auto count = static_cast<unsigned>(std::popcount(p.transfers()));
  if (count == 0 || !p.joined()) return;
  p.get_lanes();
  for (unsigned n = 0; n < count; ++n) {
    p.get_lane(n);
    p.counts.passes(p.lane);
    ++transactions_;
    if (p.write != nullptr) {
      p.write->write_bits(now, p.lane.data());
      continue;
    }
    if (!p.has_packets) {
      p.link->push_bits(now, p.lane.data(), {}, behind_);
      continue;
    }
    const PacketHandle buffer = p.buffer_of(p.lane);
    auto& kept = observers_[buffer];
    const std::uint64_t role = p.number(p.lane, p.role, 0), qpn = p.number(p.lane, p.qpn, 0);
    const auto from = std::find_if(kept.begin(), kept.end(), [&](const Kept& k) {
      return buffer != kNoPacket || (k.role == role && k.qpn == qpn);
    });
    if (buffer != kNoPacket && from == kept.end()) {  // (R5)
      if (wrong_.empty()) {
        wrong_ = fmt::format("port {}: cycle {}: found packet buffer {}; expected one of a packet that it has taken",
                             p.twin.name, now.count, raw(buffer));
      }
      engine_.stop();
      return;
    }
    p.link->push_bits(now, p.lane.data(), from == kept.end() ? DescriptorOperations::Observers{} : from->observers,
                      behind_);
    if (p.number(p.lane, p.last, 1) == 0) continue;
    if (buffer == kNoPacket && from != kept.end()) kept.erase(from);
    if (options_.stamp) options_.stamp(buffer, now, true);
  }
}

void RtlBlock::read(Port& p) {
  if (p.transfers() == 0) return;
  p.get_lanes();
  p.get_lane(0);
  p.answer_read();
  ++transactions_;
}

std::string RtlBlock::passed() const {
  std::string text;
  for (const Port& p : ports_) {
    if (p.link == nullptr) continue;
    if (!text.empty()) text += "; ";
    if (p.twin.kind == PortKind::kIn) {
      text += fmt::format("{}: {} taken, {} left", p.twin.name, p.link->popped(), p.link->size());
    } else {
      text += fmt::format("{}: {} given", p.twin.name, p.link->transfers());
    }
  }
  return text;
}

// Whether something is known to be at an input then.
bool RtlBlock::expects_value(Cycle at) const {
  return std::any_of(ports_.begin(), ports_.end(), [at](const Port& p) {
    return p.twin.kind == PortKind::kIn && p.link != nullptr && p.link->head_visible_from() <= at;
  });
}

// The cycle ends, and the clock rises.
void RtlBlock::clock(Cycle now) {
  ++clocked_;
  if (twin_->fused()) {  // (R6)
    if (twin_->now != nullptr) *twin_->now = now.count + 1;
    for (Port& p : ports_) {
      if (p.twin.kind == PortKind::kIn) p.offer(false, 0);
      if (p.twin.kind == PortKind::kOut) p.give_room(p.link == nullptr ? p.lanes : p.link->room(now + 1));
    }
    words_come();
    twin_->next_cycle();
    evaluated_ = true;
  } else {
    clock_twin(*twin_);
    words_come();
  }
  if (!twin_->failure().empty()) engine_.stop();  // (R4)
}

void RtlBlock::words_come() {
  for (Port& p : ports_) p.words_come();
}

void RtlBlock::finish() {
  if (rises_) twin_->next_cycle();
  rises_ = false;
}

}  // namespace rxnic
