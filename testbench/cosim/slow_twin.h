// SPDX-License-Identifier: Apache-2.0
// A design of other latencies, for tests of lockstep by transactions: the RTL of a block, slowed down at its inputs.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "bridge/rtl/twin.h"

namespace rxnic {

// RTL that takes something in every third cycle only, and what it has been offered then until it has taken it.
class SlowTwin final : public Twin {
 public:
  explicit SlowTwin(std::unique_ptr<Twin> fast) : fast_(std::move(fast)), sides_(fast_->ports().size()) {
    ports_ = fast_->ports();
    requests_ = fast_->requests();
    clock = fast_->clock;
    reset_n = fast_->reset_n;
    quiescent = fast_->quiescent;
    now = fast_->now;
    for (std::size_t n = 0; n < ports_.size(); ++n) {
      if (ports_[n].kind != PortKind::kIn) continue;
      ports_[n].valid = {&sides_[n].valid, 1};
      ports_[n].ready = {&sides_[n].ready, 1};
    }
  }
  void eval() override {
    const bool rises = *clock != 0 && !high_;
    cycle_ += *clock == 0 && high_;
    high_ = *clock != 0;
    for (std::size_t n = 0; n < ports_.size(); ++n) {
      if (ports_[n].kind != PortKind::kIn) continue;
      Side& side = sides_[n];
      auto& valid = *static_cast<std::uint8_t*>(fast_->ports()[n].valid.at);
      if (rises) {
        side.held = valid != 0 && side.ready == 0;
      } else {
        valid = side.held || cycle_ % 3 == 0 ? side.valid : 0;
      }
    }
    fast_->eval();
    for (std::size_t n = 0; n < ports_.size(); ++n) {
      if (ports_[n].kind != PortKind::kIn || high_) continue;
      const TwinPort& port = fast_->ports()[n];
      sides_[n].ready = *static_cast<std::uint8_t*>(port.valid.at) & *static_cast<std::uint8_t*>(port.ready.at);
    }
  }
  std::string_view failure() const override { return fast_->failure(); }
  std::vector<CoverPoint> cover_points() const override { return fast_->cover_points(); }

 private:
  struct Side {
    std::uint8_t valid = 0, ready = 0;
    bool held = false;
  };
  std::unique_ptr<Twin> fast_;
  std::vector<Side> sides_;
  std::uint64_t cycle_ = 0;
  bool high_ = false;
};

}  // namespace rxnic
