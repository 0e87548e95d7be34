// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/record/device_outputs.h"

#include <fmt/format.h>

#include <algorithm>

namespace rxnic {

std::string name_of(const OutputSource& source) {
  switch (source.kind) {
    case OutputKind::kReplies:
      return "replies to requests of all programs";
    case OutputKind::kCqes:
      return fmt::format("CQEs of CQ {} of NIC {}", source.cqn, source.nic);
    case OutputKind::kEvents:
      return "events";
    case OutputKind::kData:
      return "bytes written to its memory";
    case OutputKind::kRings:
      return "bytes of CQEs";
  }
  return {};
}

DeviceOutputs DeviceOutputs::without_counts() const {
  DeviceOutputs same = *this;
  for (Counted& counted : same.sources_) counted.steps.clear();
  return same;
}

std::uint32_t DeviceOutputs::number_of(const OutputSource& source) {
  const auto [known, added] = numbers_.try_emplace(source, static_cast<std::uint32_t>(sources_.size()));
  if (added) sources_.push_back({source, {}});
  return known->second;
}

void DeviceOutputs::add(std::uint32_t number, std::uint64_t count, Cycle now) {
  Steps& steps = sources_[number].steps;
  if (steps.empty() || steps.back().at != now) {
    steps.push_back({this->count(number) + count, now});
  } else {
    steps.back().count += count;
  }
}

std::optional<Cycle> DeviceOutputs::reached(std::uint32_t number, std::uint64_t count) const {
  if (count == 0) return Cycle{};
  const Steps& steps = sources_[number].steps;
  const auto first = std::lower_bound(steps.begin(), steps.end(), count,
                                      [](const Step& step, std::uint64_t wanted) { return step.count < wanted; });
  if (first == steps.end()) return std::nullopt;
  return first->at;
}

}  // namespace rxnic
