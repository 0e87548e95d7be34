// SPDX-License-Identifier: Apache-2.0
// RTL of which the clock rises in a call of its own, as that in a simulator or with a trace is (bridge/rtl/twin.h, R3).
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "bridge/rtl/twin.h"

namespace rxnic {

class TwoCallTwin final : public Twin {
 public:
  explicit TwoCallTwin(std::unique_ptr<Twin> fused) : fused_(std::move(fused)) {
    clock = fused_->clock;
    reset_n = fused_->reset_n;
    now = fused_->now;
    quiescent = fused_->quiescent;
    activity = fused_->activity;
    ports_ = fused_->ports();
    requests_ = fused_->requests();
    counters_ = fused_->counters();
  }
  void eval() override { fused_->eval(); }
  std::string_view failure() const override { return fused_->failure(); }
  std::vector<CoverPoint> cover_points() const override { return fused_->cover_points(); }

 private:
  std::unique_ptr<Twin> fused_;
};

}  // namespace rxnic
