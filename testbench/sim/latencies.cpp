// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/latencies.h"

namespace rxnic {

void Latencies::on_retire(const AckRequest& p, const Packet& buffer, Cycle) {
  if (p.drop_reason != DropReason::kNone) return;
  const bool executed = p.outcome == Outcome::kExecute;
  if (executed || p.outcome == Outcome::kAnswer) bytes_ += p.has(kRead) ? p.local_bytes : p.payload_bytes;
  if (!executed || !p.ends_message) return;
  ++messages_;
  if (!p.has(kWrite) || p.has(kHasImm)) return;
  MessageTimes times{{}, Cycle{p.message_start}, buffer.stamps};
  times.left[static_cast<std::size_t>(Station::kCqeGenerator)] = Cycle{};
  Cycle visible = times.of(Station::kHostMemory);
  if (visible == Cycle{}) visible = times.of(Station::kDmaEngine);  // it has no bytes
  figures().write.add(ns(times.begun, visible));                    // (R2)
  add_stages(times, visible);
}

void Latencies::on_answered(Cycle begun, Cycle leaves) { figures().read.add(ns(begun, leaves)); }  // (R3)

void Latencies::on_visible(WcStatus status, const MessageTimes& times, Cycle now) {  // (R1)
  if (status != WcStatus::kSuccess || times.begun == Cycle{}) return;
  figures().receive.add(ns(times.begun, now));
  figures().handed_over.add(ns(times.begun, times.of(Station::kCqeGenerator)));
  add_stages(times, now);
}

void Latencies::add_stages(const MessageTimes& times, Cycle visible) {  // (R4)
  Cycle from = times.begun;
  for (std::size_t n = 0; n <= static_cast<std::size_t>(Station::kCqeGenerator); ++n) {
    if (times.left[n] == Cycle{}) continue;
    // A WRITE's data may be visible before the packet leaves the DMA engine for a block that has no room.
    const Cycle to = earliest(times.left[n], visible);
    add_stage(static_cast<Station>(n), from, to);
    from = to;
  }
  add_stage(Station::kHostMemory, from, visible);
}

void Latencies::add_stage(Station s, Cycle from, Cycle to) {
  Stage& stage = figures().stages[static_cast<std::size_t>(s)];
  stage.ns.add(ns(from, to));
  stage.cycles += to.count - from.count;
}

void Latencies::add(const Latencies& other) {
  messages_ += other.messages_;
  bytes_ += other.bytes_;
  if (other.figures_ == nullptr) return;
  Figures& to = figures();
  to.receive.add(other.figures_->receive);
  to.handed_over.add(other.figures_->handed_over);
  to.write.add(other.figures_->write);
  to.read.add(other.figures_->read);
  for (std::size_t n = 0; n < to.stages.size(); ++n) {
    to.stages[n].ns.add(other.figures_->stages[n].ns);
    to.stages[n].cycles += other.figures_->stages[n].cycles;
  }
}

void Latencies::collect(NicResult& r) const {
  r.messages = messages_;
  r.bytes = bytes_;
  if (figures_ == nullptr) return;
  r.latency_ns = latency_result(figures_->receive);
  r.handed_over_ns = latency_result(figures_->handed_over);
  r.write_ns = latency_result(figures_->write);
  r.read_ns = latency_result(figures_->read);
  for (std::size_t n = 0; n < kStations; ++n) {
    const Stage& stage = figures_->stages[n];
    if (stage.ns.count() == 0) continue;
    const double mean = static_cast<double>(stage.cycles * period_ps_) / static_cast<double>(stage.ns.count()) / 1000;
    r.stages.push_back({std::string(name_of(static_cast<Station>(n))), mean, stage.ns.percentile(0.5),
                        stage.ns.percentile(0.99), stage.ns.max()});
  }
}

}  // namespace rxnic
