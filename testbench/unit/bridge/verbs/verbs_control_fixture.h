// SPDX-License-Identifier: Apache-2.0
// The control path of bridge/verbs against a FakeSimulator: a device that is open, and its PD.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>

#include "bridge/verbs/control_path.h"
#include "bridge/verbs/objects.h"
#include "testbench/unit/bridge/verbs/fake_simulator.h"

namespace rxnic::verbs {

class VerbsControlTest : public ::testing::Test {
 protected:
  using Request = channel::Request;

  VerbsControlTest() { open(); }
  ~VerbsControlTest() override {
    if (pd != nullptr) dealloc_pd(pd);
    if (context != nullptr) close_device(context);
  }

  void open() {
    int count = 0;
    ibv_device** list = get_device_list(&count);
    ASSERT_GE(count, 1);
    context = open_device(list[0]);
    std::free(list);
    ASSERT_NE(context, nullptr);
    pd = alloc_pd(context);
    ASSERT_NE(pd, nullptr);
  }
  ibv_qp_init_attr qp_attributes(ibv_cq* cq, ibv_srq* srq = nullptr, ibv_qp_type type = IBV_QPT_RC) {
    ibv_qp_init_attr a{};
    a.send_cq = a.recv_cq = cq;
    a.srq = srq;
    a.cap = {10, 10, 1, 1, 0};
    a.qp_type = type;
    return a;
  }
  // The body of the newest request of a type.
  channel::Message::Body asked(Request type) {
    const auto all = simulator.asked(type);
    EXPECT_FALSE(all.empty());
    return all.empty() ? channel::Message::Body{} : all.back().body;
  }
  void refuse(Request type, int status) {
    simulator.edit_reply = [type, status](channel::Message& m) {
      if (m.type == type) m.status = status;
    };
  }

  FakeSimulator simulator;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
};

}  // namespace rxnic::verbs
