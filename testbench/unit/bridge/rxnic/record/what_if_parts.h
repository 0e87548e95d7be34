// SPDX-License-Identifier: Apache-2.0
// A plan of a what-if, made by hand: programs, their posts and what the device reads.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "bridge/rxnic/record/what_if_planner.h"

namespace rxnic {

class WhatIfParts : public testing::Test {
 protected:
  using Board = channel::Board;
  using Request = channel::Request;
  static constexpr ClientId kA{1}, kB{2};
  static constexpr Cqn kCq{7};
  static constexpr std::uint64_t kBuffer = 0x10000, kRing = 0x200000;
  static constexpr std::uint32_t kStride = 128, kKey = 0x201;

  void open(Cycle now, ClientId client, std::uint32_t pid = 0) {
    ProgramEvent event;
    event.client = client;
    event.pid = pid;
    event.program = client == kA ? "alpha" : "beta";
    planner_->input(now, event);
    planner_->opened(now, client, 0);
  }
  void ring(Cycle now, ClientId client, std::uint64_t value, Board board = Board::kSend) {
    ProgramEvent event;
    event.kind = ProgramEvent::Kind::kDoorbell;
    event.client = client;
    event.board = board;
    event.value = value;
    planner_->input(now, event);
  }
  void request(Cycle now, ClientId client, Request type) {
    ProgramEvent event;
    event.kind = ProgramEvent::Kind::kRequest;
    event.client = client;
    event.message.type = type;
    planner_->input(now, event);
  }
  void reply(Cycle now, ClientId client, Request type, const std::function<void(channel::Message::Body&)>& fill) {
    channel::Message message;
    message.type = type;
    fill(message.body);
    planner_->replied(now, client, message);
  }
  // A region of 64 KiB at kBuffer and a QP with a send ring of 4 slots.
  void make_objects(Cycle now, ClientId client) {
    request(now, client, Request::kRegisterMemory);
    reply(now, client, Request::kRegisterMemory, [](auto& body) {
      body.memory = {};
      body.memory.address = body.memory.iova = kBuffer;
      body.memory.length = 0x10000;
      body.memory.lkey = kKey;
    });
    request(now, client, Request::kCreateQp);
    reply(now, client, Request::kCreateQp, [](auto& body) {
      body.qp = {};
      body.qp.type = static_cast<std::uint32_t>(QpType::kRc);
      body.qp.qpn = 17;
      body.qp.send_ring = kRing;
      body.qp.send_slots = 4;
      body.qp.send_stride = kStride;
    });
  }
  static std::vector<std::uint8_t> wqe(std::uint64_t address, std::uint32_t bytes) {
    std::vector<std::uint8_t> slot(kStride);
    SendControl control;
    control.sge_count = 1;
    const DataSegment segment{bytes, kKey, address};
    std::memcpy(slot.data(), &control, sizeof control);
    std::memcpy(slot.data() + kSendHeaderBytes, &segment, sizeof segment);
    return slot;
  }
  static std::uint64_t slot_address(std::uint32_t slot) {
    return ProgramMemory::kShared + kRing + std::uint64_t{slot} * kStride;
  }
  static std::vector<std::uint8_t> letters(std::size_t bytes, char letter) {
    return std::vector<std::uint8_t>(bytes, static_cast<std::uint8_t>(letter));
  }
  // The inputs (by number) with which memory of this plan changes.
  static std::vector<std::uint32_t> changing(const WhatIfPlan& plan) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t n = 1; n <= plan.inputs.size(); ++n) {
      if (!plan.inputs[n - 1].changes.empty()) found.push_back(n);
    }
    return found;
  }

  std::optional<WhatIfPlanner> planner_{std::in_place, 1, NicAddresses{}, true, false};
};

}  // namespace rxnic
