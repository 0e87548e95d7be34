// SPDX-License-Identifier: Apache-2.0
#include "model/system/run_region.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "model/system/units.h"

namespace rxnic {

namespace {

std::uint64_t cycles(std::uint64_t ps, const Engine& engine) {
  return ps / engine.clock_period_ps() + (ps % engine.clock_period_ps() != 0);
}

// (R2)
bool is_count(std::string_view name) { return !name.starts_with("high_water"); }

// What was counted since `before`. (R2)
void subtract(std::vector<NamedCount>& from, const std::vector<NamedCount>& before) {
  for (std::size_t n = 0; n < std::min(from.size(), before.size()); ++n) {
    if (is_count(from[n].first)) from[n].second -= std::min(from[n].second, before[n].second);
  }
}

void subtract(NicResult& from, const NicResult& before) {
  from.packets.seen -= before.packets.seen;
  from.packets.accepted -= before.packets.accepted;
  from.packets.not_rdma -= before.packets.not_rdma;
  from.packets.messages -= before.packets.messages;
  for (std::size_t n = 0; n < kDropReasons; ++n) from.packets.dropped[n] -= before.packets.dropped[n];
  from.messages -= before.messages;
  from.cqes -= before.cqes;
  from.error_cqes -= before.error_cqes;
  subtract(from.transport, before.transport);
  subtract(from.events, before.events);
  for (std::size_t b = 0; b < std::min(from.blocks.size(), before.blocks.size()); ++b) {
    for (std::size_t a = 0; a < kActivities; ++a) from.blocks[b].account[a] -= before.blocks[b].account[a];
    subtract(from.blocks[b].counters, before.blocks[b].counters);
  }
}

}  // namespace

RunRegion::RunRegion(const RegionRequest& request, Engine& engine, Count count, Begin begun)
    : request_(request), engine_(engine), count_(std::move(count)), begun_(std::move(begun)), to_(kNever) {
  if (request.to_ps != RegionRequest{}.to_ps) to_ = Cycle{cycles(request.to_ps, engine)};
  const Cycle from = request.warmup_ps ? Cycle{0} : Cycle{cycles(request.from_ps, engine)};
  engine.add_checkpoint(from, [this](Cycle now) { return at_begin(now); });
  if (to_ != kNever) engine.add_checkpoint(to_, [this](Cycle now) { return at_end(now); });
}

Cycle RunRegion::at_begin(Cycle now) {
  if (request_.warmup_ps && !first_packet_) {
    const Cycle next = find_first_packet(now);
    if (next > now || from_) return next;
  }
  from_ = request_.warmup_ps ? *first_packet_ + cycles(*request_.warmup_ps, engine_)
                             : Cycle{cycles(request_.from_ps, engine_)};
  at_begin_ = count_(*from_);
  begun_(*from_, to_);
  return kNever;
}

// Called in each active cycle until a packet has come: it came in the active cycle before.
Cycle RunRegion::find_first_packet(Cycle now) {
  RegionCounts counts = count_(now);
  if (counts.arrived == 0) {
    last_ = Counted{now, std::move(counts)};
    return now + 1;
  }
  Counted first = last_ ? std::move(*last_) : Counted{now, std::move(counts)};
  first_packet_ = first.at;
  if (*request_.warmup_ps != 0) return first.at + cycles(*request_.warmup_ps, engine_);
  from_ = first.at;
  at_begin_ = std::move(first.counts);
  begun_(*from_, to_);
  return kNever;
}

Cycle RunRegion::at_end(Cycle) {
  at_end_ = count_(to_);
  return kNever;
}

RegionCounts RunRegion::finish(RegionCounts all, RunResult& r) {
  const Cycle over = engine_.now() + 1;
  const bool without_packets = request_.warmup_ps && !first_packet_;
  if (!from_ || without_packets || (to_ != kNever && to_ <= *from_)) {
    throw std::invalid_argument(fmt::format("{}: found a region that {}; the run took {}",
                                            request_.warmup_ps ? "--warmup" : "--from, --to",
                                            without_packets ? "begins with a packet, and none came"
                                                            : "the run has not reached, or that ends before it begins",
                                            time_text(over.count * engine_.clock_period_ps())));
  }
  const Cycle to = at_end_ ? to_ : over;
  if (at_end_) all = std::move(*at_end_);
  for (std::size_t n = 0; n < all.nics.size(); ++n) subtract(all.nics[n], at_begin_->nics[n]);
  subtract(all.fabric, at_begin_->fabric);
  r.region = RegionResult{from_->count * engine_.clock_period_ps(), to.count * engine_.clock_period_ps(),
                          over.count * engine_.clock_period_ps()};
  r.cycles = to.count - from_->count;
  r.time_ps = r.cycles * engine_.clock_period_ps();
  return all;
}

}  // namespace rxnic
