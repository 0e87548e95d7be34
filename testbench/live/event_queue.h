// SPDX-License-Identifier: Apache-2.0
// A CQ with a completion channel of its own.
#pragma once

#include <poll.h>

#include <chrono>
#include <stdexcept>

#include "testbench/live/verbs_world.h"

namespace rxnic::live {

struct EventQueue {
  explicit EventQueue(const World& world)
      : channel(ibv_create_comp_channel(world.context.get())),
        cq(own(ibv_create_cq(world.context.get(), 64, nullptr, channel.get(), 0), "ibv_create_cq")) {}

  void arm(bool solicited_only = false) const {
    must(ibv_req_notify_cq(cq.get(), solicited_only), "ibv_req_notify_cq");
  }
  bool has_event(int patience_ms) const {
    pollfd ready{channel->fd, POLLIN, 0};
    return poll(&ready, 1, patience_ms) == 1;
  }
  void take_event() const {
    if (!has_event(std::chrono::milliseconds(kPatience).count())) throw std::runtime_error("no event came");
    ibv_cq* of = nullptr;
    void* context = nullptr;
    must(ibv_get_cq_event(channel.get(), &of, &context), "ibv_get_cq_event");
    ibv_ack_cq_events(of, 1);
    if (of != cq.get()) throw std::runtime_error("an event of another CQ");
  }

  Owned<ibv_comp_channel> channel;
  Owned<ibv_cq> cq;
};

}  // namespace rxnic::live
