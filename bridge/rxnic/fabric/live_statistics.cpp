// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/fabric/live_statistics.h"

#include <algorithm>
#include <string>

namespace rxnic {

namespace {

constexpr std::size_t kMostPrograms = 256;  // R1
constexpr std::string_view kOthers = "(others)";

}  // namespace

// R1.
void LiveStatistics::count_program(std::string_view name, std::uint32_t nic) {
  const auto find = [&] {
    return std::find_if(programs_.begin(), programs_.end(),
                        [&](const ProgramResult& p) { return p.name == name && p.nic == nic; });
  };
  auto known = find();
  if (known == programs_.end() && programs_.size() >= kMostPrograms) {
    name = kOthers;
    known = find();
  }
  if (known == programs_.end()) known = programs_.insert(known, {std::string(name), nic, 0});
  ++known->clients;
}

void LiveStatistics::on_event(Cycle now, const ProgramEvent& e) {
  if (e.kind == ProgramEvent::Kind::kOpen) {
    ++clients_;
    count_program(e.program, e.nic);
  } else if (e.kind == ProgramEvent::Kind::kClose) {
    --clients_;
  }
  if (next_ != nullptr) next_->on_event(now, e);
}

void LiveStatistics::on_read(Cycle now, ClientId client, std::uint64_t address, Bytes data, bool ok, bool gone) {
  if (next_ != nullptr) next_->on_read(now, client, address, data, ok, gone);
}

void LiveStatistics::on_write(Cycle now, ClientId client, std::uint64_t address, Bytes data, bool ok) {
  if (next_ != nullptr) next_->on_write(now, client, address, data, ok);
}

void LiveStatistics::on_visible(Cycle now, std::uint32_t nic, Cqn cq, WcStatus status, const MessageTimes& times) {
  if (nic < latencies_.size()) latencies_[nic].on_visible(status, times, now);
  if (next_ != nullptr) next_->on_visible(now, nic, cq, status, times);
}

void LiveStatistics::on_matched(Cycle now, std::uint32_t nic, WcStatus status, const MessageTimes& times) {
  if (nic < latencies_.size()) latencies_[nic].on_matched(status, times, now);
  if (next_ != nullptr) next_->on_matched(now, nic, status, times);
}

}  // namespace rxnic
