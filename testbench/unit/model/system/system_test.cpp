// SPDX-License-Identifier: Apache-2.0
// Rules of model/system/system.h, wire_end.h, host_side.h and handler.h, and what a program may do wrong with them.
// A Receiver has an SC_THREAD, so nothing throws after its simulation. SystemC's switch back from the thread's stack
// tells AddressSanitizer a wrong stack, and the frames that an exception leaves stay poisoned.
#include "model/system/system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/params/descriptor.h"
#include "model/system/kernel.h"
#include "model/system/start_simulation.h"
#include "testbench/examples/receiver.h"

namespace rxnic::system_test {
namespace {

using testing::HasSubstr;

// What the System says when it refuses these options; empty: it does not.
std::string refusal(const SystemOptions& options) {
  LocalMemory memory;
  try {
    const System system("system", options, memory);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

std::string refusal(const Params& params) {
  SystemOptions options;
  options.params = params;
  return refusal(options);
}

template <class Error, class F>
std::string words_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(System, AParameterOutOfItsRangeIsNamed) {
  std::size_t tried = 0;
  const Params good = load_config();
  for (const ParamDescriptor& d : param_descriptors()) {
    std::vector<std::uint64_t> values;
    if (d.least > 0) values.push_back(d.least - 1);
    if (d.type == ParamType::kU32 && d.greatest < 0xffff'ffffu) values.push_back(d.greatest + 1);
    if (d.type == ParamType::kU64 && d.greatest != ~std::uint64_t{0}) values.push_back(d.greatest + 1);
    if (d.power_of_two && d.least <= 3 && d.greatest > 3) values.push_back(3);
    for (const std::uint64_t value : values) {
      const Kernel kernel;
      Params params = good;
      d.set(params, value);
      const std::string name = std::string(d.section) + "." + std::string(d.key);
      EXPECT_THAT(refusal(params), HasSubstr(name + ": found " + std::to_string(value))) << name;
      ++tried;
    }
  }
  EXPECT_GT(tried, 200u);
  const Kernel kernel;
  EXPECT_EQ(refusal(good), "");
}

TEST(System, WhatWasRefusedOrDestroyedLeavesNothingToRun) {
  const Kernel kernel;
  SystemOptions none;
  none.nics = 0;
  EXPECT_THAT(refusal(none), HasSubstr("nics: found 0"));
  SystemOptions unmade;
  unmade.blocks.grh_scatter = [](const char*, const BlockPlace&) { return nullptr; };
  EXPECT_THAT(refusal(unmade), HasSubstr("grh_scatter"));  // its engine had been made
  LocalMemory memory;
  { const System destroyed("destroyed", {}, memory); }
  System system("system", {}, memory);
  start_simulation();
  EXPECT_GT(system.result().cycles, 0u);
}

TEST(System, TheKernelHasPicoseconds) {
  for (const auto& [value, unit, good] :
       {std::tuple{1.0, sc_core::SC_NS, false}, std::tuple{10.0, sc_core::SC_PS, false},
        std::tuple{1.0, sc_core::SC_PS, true}, std::tuple{1.0, sc_core::SC_FS, true}}) {
    const Kernel kernel;
    sc_core::sc_set_time_resolution(value, unit);
    const std::string words = refusal(SystemOptions{});
    EXPECT_EQ(words.empty(), good) << words;
    EXPECT_THAT(words + (good ? "expected 1 ps or finer" : ""), HasSubstr("expected 1 ps or finer"));
  }
}

TEST(System, OnAFabricTheLinesAreThoseOfTheSystem) {  // R2
  SystemOptions options;
  options.nics = 2;
  options.fabric = true;
  const std::vector<std::function<void(Params&)>> changes = {[](Params& p) { p.nic.link_gbps = 25; },
                                                             [](Params& p) { p.fabric.switch_latency_ps += 1000; },
                                                             [](Params& p) { p.wire.preamble_gap_bytes += 1; }};
  for (const auto& change : changes) {
    options.each = {options.params, options.params};
    {
      const Kernel kernel;
      EXPECT_EQ(refusal(options), "");
    }
    const Kernel kernel;
    change(options.each[1]);
    EXPECT_THAT(refusal(options), HasSubstr("each: found another"));
  }
}

TEST(System, EachNicIsAttachedOnceInOrder) {
  const auto address = [](std::uint32_t n) { return PortAddress{{}, {Address::ipv4(0xc6120001 + n)}}; };
  SystemOptions options;
  options.nics = 2;
  options.fabric = true;
  LocalMemory memory;
  {
    const Kernel kernel;
    System system("system", options, memory);
    EXPECT_THAT(words_of<std::logic_error>([&] { system.attach(1, address(1)); }),
                HasSubstr("found NIC 1; expected 0"));
    PortAddress many = address(0);
    many.addresses.resize(options.params.rx_parser.own_addresses + 1, many.addresses[0]);
    EXPECT_THAT(words_of<std::invalid_argument>([&] { system.attach(0, many); }), HasSubstr("rx_parser.own_addresses"));
    system.attach(0, address(0));
    EXPECT_THAT(words_of<std::logic_error>([&] { system.attach(0, address(0)); }),
                HasSubstr("found NIC 0; expected 1"));
    EXPECT_THAT(words_of<std::logic_error>([] { start_simulation(); }),
                HasSubstr("found 1 NICs attached; expected all 2"));
  }
  const Kernel kernel;
  System system("system", options, memory);
  system.attach(0, address(0));
  system.attach(1, address(1));
  EXPECT_THAT(words_of<std::logic_error>([&] { system.attach(1, address(1)); }), HasSubstr("expected none"));
  start_simulation();
}

// How often, and when.
struct Run {
  std::uint64_t cycles = 0, hash = 0, packets = 0;
  bool operator==(const Run&) const = default;
  friend std::ostream& operator<<(std::ostream& to, const Run& r) {
    return to << r.cycles << " cycles, hash " << std::hex << r.hash << std::dec << ", " << r.packets << " packets";
  }
};

// A receiver of 300 SENDs in all modes and step orders, with a handler of ours.
void expect_one_result(std::uint32_t nics, const std::function<void(Receiver&)>& set_up) {
  std::vector<Run> runs;
  for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
    for (const StepOrder::Kind kind : {StepOrder::Kind::kPath, StepOrder::Kind::kReverse, StepOrder::Kind::kRandom}) {
      const Kernel kernel;
      SystemOptions options{.requester = false};
      options.nics = nics;
      options.mode = mode;
      options.order.kind = kind;
      options.order.seed = 5;
      options.each.assign(nics, options.params);
      options.each.back().nic.link_gbps = nics > 1 ? 25 : 100;
      Receiver receiver("receiver", options, {.queues = 4, .messages = 300, .bytes = 700, .gap_ns = 1});
      set_up(receiver);
      start_simulation();
      RunResult result = receiver.system.result();
      runs.push_back({result.cycles, result.state_hash, result.packets.seen});
      EXPECT_EQ(runs.back(), runs.front()) << engine_mode_name(mode) << ", order " << static_cast<int>(kind);
    }
  }
  EXPECT_EQ(runs.size(), 9u);
  EXPECT_GE(runs.front().packets, 300u);
}

TEST(System, WiresThatAreJoinedByAHandlerGiveOneResult) {  // R4
  expect_one_result(2, [](Receiver& r) {
    r.system.wire(0).on_frame([&r](Bytes frame, std::uint64_t) { r.system.wire(1).send(frame); });
  });
}

TEST(System, ADoorbellThatAHandlerOfTheWireRingsGivesOneResult) {  // R4
  expect_one_result(1, [](Receiver& r) {
    r.system.wire(0).on_frame([&r, n = 0u](Bytes, std::uint64_t) mutable {
      r.system.host(0).ring({DoorbellKind::kCqArm, false, 1, ++n});
    });
  });
}

TEST(System, ACommandThatAHandlerOfTheWireGivesGivesOneResult) {  // R4
  expect_one_result(1, [](Receiver& r) {
    r.system.wire(0).on_frame([&r, given = 0](Bytes, std::uint64_t) mutable {
      HostSide& host = r.system.host(0);
      if (given++ < 5) host.give(host.command.query_qp(Qpn{0x11}));  // each takes 20 us
    });
  });
}

TEST(System, AHandlerMayBeReplacedWhileItIsCalled) {  // handler.h
  const Kernel kernel;
  Receiver receiver("receiver", {.requester = false}, {.queues = 1, .messages = 20});
  std::vector<int> called;
  const auto kept = std::make_shared<std::vector<int>>(1000, 1);
  receiver.system.wire(0).on_frame([&receiver, &called, kept](Bytes, std::uint64_t) {
    receiver.system.wire(0).on_frame([&called](Bytes, std::uint64_t) { called.push_back(2); });
    called.push_back(kept->at(999));  // what the closure holds is still there
  });
  receiver.system.host(0).on_event([](const Event&) {});
  start_simulation();
  ASSERT_GT(called.size(), 2u);
  EXPECT_EQ(called[0], 1);
  EXPECT_EQ(called[1], 2);
}

TEST(System, TheResultHasTheParametersAndTheSums) {
  const Kernel kernel;
  SystemOptions options{.requester = false};
  options.params.nic.link_gbps = 400;
  options.mode = EngineMode::kStepAll;
  Receiver receiver("receiver", options, {.queues = 2, .messages = 50});
  start_simulation();
  const RunResult r = receiver.system.result();
  EXPECT_EQ(r.params.nic.link_gbps, 400u);
  EXPECT_EQ(r.mode, "step-all");
  ASSERT_EQ(r.nics.size(), 1u);
  EXPECT_EQ(r.packets.seen, 50u);
  EXPECT_EQ(r.packets.accepted, r.nics[0].packets.accepted);
  EXPECT_EQ(r.messages, 50u);
  EXPECT_EQ(r.cqes, 50u);
  EXPECT_EQ(r.transport, r.nics[0].transport);
}

TEST(System, WhatIsNoFrameIsRefused) {
  const Kernel kernel;
  LocalMemory memory;
  System system("system", {}, memory);
  const std::vector<std::uint8_t> frame(64);
  EXPECT_THAT(words_of<std::invalid_argument>([&] { system.wire(0).send({}); }), HasSubstr("found 0 bytes"));
  EXPECT_THAT(words_of<std::invalid_argument>([&] { system.wire(0).send(frame, static_cast<LinkLayer>(200)); }),
              HasSubstr("link layer 200"));
  EXPECT_EQ(system.wire(0).sent(), 0u);
}

TEST(System, WhatTheSetupCannotMakeIsRefused) {  // nic_setup.h
  const Kernel kernel;
  LocalMemory memory;
  System system("system", {}, memory);
  NicSetup& setup = system.host(0).setup;
  for (const std::uint32_t slots : {0u, 3u, 1u << 25}) {
    CqContext cq;
    cq.number = Cqn{1};
    cq.slots = slots;
    EXPECT_THAT(words_of<std::invalid_argument>([&] { setup.create_cq(cq); }), HasSubstr("expected a power of two"));
  }
  QpContext qp;
  qp.qpn = Qpn{0x11};
  EXPECT_TRUE(setup.create_qp(qp));
  EXPECT_THAT(words_of<std::invalid_argument>([&] { setup.create_qp(qp); }), HasSubstr("found 0x11"));
  qp.qpn = Qpn{0x100'0000};
  EXPECT_THAT(words_of<std::invalid_argument>([&] { setup.create_qp(qp); }), HasSubstr("found 0x1000000"));
}

TEST(System, TheSetupIsOverWithTheFirstCycle) {  // nic_setup.h, R1
  const Kernel kernel;
  LocalMemory memory;
  System system("system", {}, memory);
  NicSetup& setup = system.host(0).setup;
  system.wire(0).send(std::vector<std::uint8_t>(64));  // so that there is a cycle
  start_simulation();
  const auto refused = [](const std::function<void()>& call) {
    EXPECT_THAT(words_of<std::logic_error>(call), HasSubstr("expected objects to be made before the first one"));
  };
  refused([&] { (void)setup.create_qp({}); });
  refused([&] { (void)setup.connect_qp({}, Psn{}); });
  refused([&] { (void)setup.create_queue({}); });
  refused([&] { setup.create_region({}, {}); });
  refused([&] { setup.create_cq({}); });
}

TEST(System, ATicketOfNoCommandIsRefused) {  // host_side.h
  const Kernel kernel;
  LocalMemory memory;
  System system("system", {}, memory);
  HostSide& host = system.host(0);
  EXPECT_THAT(words_of<std::invalid_argument>([&] { host.give(1); }), HasSubstr("ticket: found 1;"));
  const Ticket ticket = host.command.query_qp(Qpn{0x11});
  int replies = 0;
  host.give(ticket, [&](const CommandReply&) { ++replies; });
  start_simulation();
  EXPECT_EQ(replies, 1);
  EXPECT_THAT(words_of<std::invalid_argument>([&] { host.give(ticket); }), HasSubstr("without reply"));
}

}  // namespace
}  // namespace rxnic::system_test
