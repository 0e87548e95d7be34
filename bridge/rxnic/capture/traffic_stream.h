// SPDX-License-Identifier: Apache-2.0
// Generated traffic as the NIC's stimulus.
#pragma once

#include <array>

#include "model/system/wire_source.h"
#include "traces/traffic.h"

namespace rxnic {

class TrafficStream final : public StimulusStream {
 public:
  TrafficStream(const TrafficConfig& config, std::uint64_t packets) : traffic_(config), left_(packets) {}
  bool next(Stimulus& item) override;
  ReceiverSurvey survey() const { return traffic_.survey(); }
  // Packets by what is wrong with them, kNone included.
  const std::array<std::uint64_t, kInjectedCauses>& injected() const { return injected_; }

 private:
  Traffic traffic_;
  std::uint64_t left_;
  std::uint64_t sent_ = 0;
  std::array<std::uint64_t, kInjectedCauses> injected_{};
  alignas(64) std::array<std::uint8_t, kMaxFrameBytes> frame_{};
};

}  // namespace rxnic
