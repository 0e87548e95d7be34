// SPDX-License-Identifier: Apache-2.0
// RTL that is not as it should be, for tests of what lockstep says and shows then.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bridge/rtl/twin.h"

namespace rxnic {

// A twin of which one port is missing, or bit 0 of one port's data is wrong from its eval() number `begin` on. It
// says nothing of its activity, as a user's own RTL may, unless say() tells where that stands.
class WrongTwin final : public Twin {
 public:
  WrongTwin(std::unique_ptr<Twin> right, const std::string& missing, const std::string& wrong, std::uint64_t begin = 0)
      : right_(std::move(right)), right_evals_(begin) {
    clock = right_->clock;
    reset_n = right_->reset_n;
    quiescent = right_->quiescent;
    for (TwinPort port : right_->ports()) {
      if (port.name == missing) continue;
      if (port.name == wrong) {
        from_ = port.data;
        data_.resize(port.data.bytes);
        port.data.at = data_.data();
      }
      ports_.push_back(port);
    }
  }
  void say(const std::uint8_t* where) { activity = where; }
  const Twin& right() const { return *right_; }
  void eval() override {
    right_->eval();
    if (data_.empty()) return;
    std::memcpy(data_.data(), from_.at, from_.bytes);
    if (right_evals_ != 0) {
      --right_evals_;
    } else {
      data_[0] ^= 1;
    }
  }
  std::string_view failure() const override { return right_->failure(); }
  std::vector<CoverPoint> cover_points() const override { return right_->cover_points(); }

 private:
  std::unique_ptr<Twin> right_;
  std::uint64_t right_evals_;
  TwinSignal from_;
  std::vector<std::uint8_t> data_;
};

// A twin that refuses each value that is offered at one of its inputs for so many cycles.
class DeafTwin final : public Twin {
 public:
  DeafTwin(std::unique_ptr<Twin> right, const std::string& input, std::uint64_t cycles)
      : right_(std::move(right)), cycles_(cycles), left_(cycles) {
    clock = right_->clock;
    reset_n = right_->reset_n;
    quiescent = right_->quiescent;
    for (TwinPort port : right_->ports()) {
      if (port.name == input) {
        of_ = port;
        port.valid = {&valid_, 1};
        port.ready = {&ready_, 1};
      }
      ports_.push_back(port);
    }
  }
  void eval() override {
    const bool rises = *clock != 0 && !high_;
    high_ = *clock != 0;
    const bool refuses = left_ != 0, taken = valid_ != 0 && ready_ != 0;
    *static_cast<std::uint8_t*>(of_.valid.at) = refuses ? 0 : valid_;
    right_->eval();
    ready_ = refuses ? 0 : *static_cast<const std::uint8_t*>(of_.ready.at);
    if (rises && refuses && valid_ != 0) --left_;
    if (rises && taken) left_ = cycles_;
  }
  std::string_view failure() const override { return right_->failure(); }
  std::vector<CoverPoint> cover_points() const override { return right_->cover_points(); }

 private:
  std::unique_ptr<Twin> right_;
  const std::uint64_t cycles_;
  std::uint64_t left_;
  TwinPort of_;
  std::uint8_t valid_ = 0, ready_ = 0;
  bool high_ = false;
};

}  // namespace rxnic
