// SPDX-License-Identifier: Apache-2.0
#include "model/system/latencies.h"

#include <cassert>

namespace rxnic {

Stays stays_of(const MessageTimes& times, Cycle visible) {
  Stays all{};
  Cycle from = times.begun;
  const auto add = [&](std::size_t n, Cycle left) {
    // A WRITE's data may be visible before the packet leaves the DMA engine for a block that has no room.
    const Cycle to = earliest(left, visible);
    const Cycle stamped = times.passed[n].taken;
    const Cycle taken = stamped == Cycle{} ? from : earliest(stamped, to);
    assert(from <= taken && taken <= to);
    all[n] = {true, taken.count - from.count, to.count - taken.count};
    from = to;
  };
  for (std::size_t n = 0; n <= static_cast<std::size_t>(Station::kCqeGenerator); ++n) {
    if (times.passed[n].left != Cycle{}) add(n, times.passed[n].left);
  }
  add(static_cast<std::size_t>(Station::kHostMemory), visible);
  return all;
}

DepthResult depth_result(const Histogram& h) {
  DepthResult result{h.count(), h.percentile(0.5), h.percentile(0.9), h.percentile(0.99), h.max(), {}};
  h.for_each([&result](std::uint64_t depth, std::uint64_t searches) {
    result.depths.emplace_back(std::to_string(depth), searches);
  });
  return result;
}

void Latencies::on_retire(const AckRequest& p, const Packet& buffer, Cycle now) {
  tables_.on_retire(p, buffer, now);
  if (p.drop_reason != DropReason::kNone || !has(now, now)) return;
  const bool executed = p.outcome == Outcome::kExecute;
  const bool serves_read = p.has(kRead) && p.has(kRequest);
  if ((executed || p.outcome == Outcome::kAnswer) && !(serves_read && reads_ == Reads::kReceived)) {  // (R6)
    const std::uint64_t bytes = p.has(kRead) ? p.local_bytes : p.payload_bytes;
    bytes_ += bytes;
    if (!serves_read) history_.add(buffer.stamped(Station::kWire), bytes);
  }
  if (!executed || !p.ends_message) return;
  if (!p.has(kWrite) || p.has(kHasImm)) return;
  MessageTimes times{{}, Cycle{p.message_start}, buffer.stamps};
  if (!has(times.begun, now)) return;
  times.leaves(Station::kCqeGenerator, Cycle{});
  Cycle visible = times.left(Station::kHostMemory);
  if (visible == Cycle{}) visible = times.left(Station::kDmaEngine);  // it has no bytes
  figures().write.add(ns(times.begun, visible));                      // (R2)
  tables_.add_write(p, ns(times.begun, visible));
  add_stages(times, visible);
}

void Latencies::on_response(Cycle begun, Cycle leaves, std::uint32_t payload_bytes, bool last) {
  if (!has(leaves, leaves)) return;
  if (reads_ == Reads::kServed) history_.add(leaves, payload_bytes);      // (R6)
  if (last && has(begun, leaves)) figures().read.add(ns(begun, leaves));  // (R3)
}

void Latencies::on_visible(WcStatus status, const MessageTimes& times, Cycle now) {  // (R1)
  if (status != WcStatus::kSuccess || times.begun == Cycle{} || !has(times.begun, now)) return;
  if (times.left(Station::kWire) == Cycle{}) return figures().no_end.add(ns(times.begun, now));
  figures().receive.add(ns(times.begun, now));
  tables_.add_receive(times, ns(times.begun, now));
  if (times.posted != Cycle{}) figures().one_way.add(ns(times.posted, now));  // (R7)
  figures().handed_over.add(ns(times.begun, times.left(Station::kCqeGenerator)));
  add_stages(times, now);
}

void Latencies::on_matched(WcStatus status, const MessageTimes& times, Cycle now) {  // (R1)
  if (status == WcStatus::kSuccess && times.begun != Cycle{} && has(times.begun, now))
    figures().match.add(ns(times.begun, now));
}

void Latencies::add_stages(const MessageTimes& times, Cycle visible) {  // (R4)
  const Stays stays = stays_of(times, visible);
  for (std::size_t n = 0; n < kStations; ++n) {
    if (!stays[n].passed) continue;
    Stage& stage = figures().stages[n];
    add(stage.stay, stays[n].wait + stays[n].block);
    add(stage.wait, stays[n].wait);
    add(stage.block, stays[n].block);
  }
}

void Latencies::add(Times& to, std::uint64_t cycles) const {
  to.ns.add(ns(cycles));
  to.cycles += cycles;
}

void Latencies::add(const Latencies& other) {
  bytes_ += other.bytes_;
  history_.add(other.history_);
  tag_depths_.add(other.tag_depths_);
  if (other.figures_ == nullptr) return;
  Figures& to = figures();
  to.receive.add(other.figures_->receive);
  to.handed_over.add(other.figures_->handed_over);
  to.one_way.add(other.figures_->one_way);
  to.match.add(other.figures_->match);
  to.no_end.add(other.figures_->no_end);
  to.write.add(other.figures_->write);
  to.read.add(other.figures_->read);
  for (std::size_t n = 0; n < to.stages.size(); ++n) {
    for (Times Stage::*part : {&Stage::stay, &Stage::wait, &Stage::block}) {
      (to.stages[n].*part).ns.add((other.figures_->stages[n].*part).ns);
      (to.stages[n].*part).cycles += (other.figures_->stages[n].*part).cycles;
    }
  }
}

void Latencies::collect(NicResult& r) const {
  r.bytes = bytes_;
  r.steady_gbps = history_.steady_bytes_per_cycle() * 8e3 / static_cast<double>(period_ps_);
  r.tag_depths.posted = depth_result(tag_depths_.posted());
  if (figures_ == nullptr) return;
  r.latency_ns = latency_result(figures_->receive);
  r.handed_over_ns = latency_result(figures_->handed_over);
  r.one_way_ns = latency_result(figures_->one_way);
  r.match_ns = latency_result(figures_->match);
  r.no_end_ns = latency_result(figures_->no_end);
  r.write_ns = latency_result(figures_->write);
  r.read_ns = latency_result(figures_->read);
  for (std::size_t n = 0; n < kStations; ++n) {
    const Stage& stage = figures_->stages[n];
    if (stage.stay.ns.count() == 0) continue;
    r.stages.push_back({std::string(name_of(static_cast<Station>(n))), result_of(stage.stay), stage.stay.ns.max(),
                        result_of(stage.wait), result_of(stage.block)});
  }
}

StageTimes Latencies::result_of(const Times& t) const {
  const double mean = static_cast<double>(t.cycles * period_ps_) / static_cast<double>(t.ns.count()) / 1000;
  return {mean, t.ns.percentile(0.5), t.ns.percentile(0.99)};
}

}  // namespace rxnic
