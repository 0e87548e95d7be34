// SPDX-License-Identifier: Apache-2.0
#include "model/system/latencies.h"

#include <cassert>

namespace rxnic {

namespace {

// Calls f(station, wait, block) for each station that the message has passed, in their order.
template <class F>
void for_each_stay(const MessageTimes& times, Cycle visible, F f) {
  Cycle from = times.begun;
  const auto stay = [&](std::size_t n, Cycle left) {
    // A WRITE's data may be visible before the packet leaves the DMA engine for a block that has no room.
    const Cycle to = earliest(left, visible);
    const Cycle stamped = times.passed[n].taken;
    const Cycle taken = stamped == Cycle{} ? from : earliest(stamped, to);
    assert(from <= taken && taken <= to);
    f(n, taken.count - from.count, to.count - taken.count);
    from = to;
  };
  for (std::size_t n = 0; n <= static_cast<std::size_t>(Station::kCqeGenerator); ++n) {
    if (times.passed[n].left != Cycle{}) stay(n, times.passed[n].left);
  }
  stay(static_cast<std::size_t>(Station::kHostMemory), visible);
}

}  // namespace

Stays stays_of(const MessageTimes& times, Cycle visible) {
  Stays all{};
  for_each_stay(times, visible, [&all](std::size_t n, std::uint64_t wait, std::uint64_t block) {
    all[n] = {true, wait, block};
  });
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
  add(figures().write, times.begun, visible);                         // (R2)
  tables_.add_write(p, ns(times.begun, visible));
  add_stages(times, visible);
}

void Latencies::on_response(Cycle begun, Cycle leaves, std::uint32_t payload_bytes, bool last) {
  if (!has(leaves, leaves)) return;
  if (reads_ == Reads::kServed) history_.add(leaves, payload_bytes);   // (R6)
  if (last && has(begun, leaves)) add(figures().read, begun, leaves);  // (R3)
}

void Latencies::on_visible(WcStatus status, const MessageTimes& times, Cycle now) {  // (R1)
  if (status != WcStatus::kSuccess || times.begun == Cycle{} || !has(times.begun, now)) return;
  if (times.left(Station::kWire) == Cycle{}) return add(figures().no_end, times.begun, now);
  add(figures().receive, times.begun, now);
  tables_.add_receive(times, ns(times.begun, now));
  if (times.posted != Cycle{}) add(figures().one_way, times.posted, now);  // (R7)
  add(figures().handed_over, times.begun, times.left(Station::kCqeGenerator));
  add_stages(times, now);
}

void Latencies::on_matched(WcStatus status, const MessageTimes& times, Cycle now) {  // (R1)
  if (status == WcStatus::kSuccess && times.begun != Cycle{} && has(times.begun, now))
    add(figures().match, times.begun, now);
}

void Latencies::add_stages(const MessageTimes& times, Cycle visible) {  // (R4)
  for_each_stay(times, visible,
                [&stages = figures().stages, period_ps = period_ps_](
                    std::size_t n, std::uint64_t wait, std::uint64_t block) { stages[n].add(wait, block, period_ps); });
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
  for (std::size_t n = 0; n < to.stages.size(); ++n) to.stages[n].add(other.figures_->stages[n]);
}

void Latencies::collect(NicResult& r) const {
  r.bytes = bytes_;
  r.steady_gbps = history_.steady_bytes_per_cycle() * 8e3 / static_cast<double>(period_ps_);
  r.tag_depths.posted = depth_result(tag_depths_.posted());
  if (figures_ == nullptr) return;
  r.latency_ns = result_of(figures_->receive);
  r.handed_over_ns = result_of(figures_->handed_over);
  r.one_way_ns = result_of(figures_->one_way);
  r.match_ns = result_of(figures_->match);
  r.no_end_ns = result_of(figures_->no_end);
  r.write_ns = result_of(figures_->write);
  r.read_ns = result_of(figures_->read);
  for (std::size_t n = 0; n < kStations; ++n) {
    const StayTimes& stage = figures_->stages[n];
    const Histogram stay = stage.ns(StayTimes::Part::kWhole, period_ps_);
    if (stay.count() == 0) continue;
    r.stages.push_back({std::string(name_of(static_cast<Station>(n))), stage_result(stage, StayTimes::Part::kWhole),
                        stay.max(), stage_result(stage, StayTimes::Part::kWait),
                        stage_result(stage, StayTimes::Part::kBlock)});
  }
}

LatencyResult Latencies::result_of(const CycleTimes& t) const {
  const Histogram h = t.ns(period_ps_);
  return {h.count(), h.percentile(0.5), h.percentile(0.9), h.percentile(0.99), h.percentile(0.999), h.max()};
}

StageTimes Latencies::stage_result(const StayTimes& t, StayTimes::Part part) const {
  const Histogram h = t.ns(part, period_ps_);
  const double mean = static_cast<double>(t.cycles(part) * period_ps_) / static_cast<double>(h.count()) / 1000;
  return {mean, h.percentile(0.5), h.percentile(0.99)};
}

}  // namespace rxnic
