// SPDX-License-Identifier: Apache-2.0
// Both sides of bridge/dpi/pins.h, and a simulator that lies.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <thread>

#include "bridge/channel/packet.h"
#include "bridge/dpi/pin_client.h"
#include "bridge/dpi/pin_server.h"
#include "testbench/unit/bridge/live/lingering_socket.h"

namespace rxnic::pins_test {
namespace {

using dpi::PinClient;
using dpi::PinKind;
using dpi::PinModule;
using dpi::PinRecord;
using dpi::PinServer;

// In the abstract name space, of this process alone.
std::string address() { return "@rxnic-pins-test-" + std::to_string(getpid()); }

// A module that adds: sum_o = a_i + 1, of 40 bits.
PinModule& adder(PinServer& server) {
  PinModule& module = server.add("adder");
  module.parameter("Width", 40);
  module.signal("clk_i", PinKind::kInput, 1);
  module.signal("sum_o", PinKind::kOutput, 40);
  module.signal("a_i", PinKind::kInput, 40);
  return module;
}
void add(PinModule& module) {
  const std::uint64_t sum = module.get(2, 0) + (std::uint64_t{module.get(2, 1)} << 32) + 1;
  module.put(1, 0, static_cast<std::uint32_t>(sum));
  module.put(1, 1, static_cast<std::uint32_t>(sum >> 32));
}

// A simulator with an adder, in a thread of its own until the other side is gone.
class Simulator {
 public:
  // `turn` gets the number of turns before.
  explicit Simulator(const std::function<void(PinModule&, int)>& turn = [](PinModule& m, int) { add(m); }) {
    std::string error;
    const bool listens = server_.open(address(), error);
    EXPECT_TRUE(listens) << error;
    adder(server_);
    if (listens) thread_ = std::thread([this, turn] { serve(turn); });
  }
  ~Simulator() { turns(); }
  int turns() {  // when it has ended
    if (thread_.joinable()) thread_.join();
    return turns_;
  }

 private:
  void serve(const std::function<void(PinModule&, int)>& turn) {
    while (PinModule* const module = server_.wait()) {
      turn(*module, turns_++);
      module->answer();
    }
  }
  PinServer server_;
  int turns_ = 0;
  std::thread thread_;
};

TEST(Pins, InputsGoThereAndOutputsComeBack) {  // R2, R3
  Simulator simulator;
  {
    PinClient client;
    ASSERT_EQ(client.connect("adder", address()), "");
    ASSERT_EQ(client.records().size(), 4u);
    EXPECT_EQ(name_of(client.records()[0]), "Width");
    EXPECT_EQ(client.records()[0].value, 40u);
    EXPECT_EQ(name_of(client.records()[2]), "sum_o");
    EXPECT_EQ(client.records()[2].kind, PinKind::kOutput);
    EXPECT_TRUE(client.words(0).empty());
    for (std::uint32_t n = 0; n < 100; ++n) {
      client.words(3)[0] = 0xffffffffu - n % 2;
      client.words(3)[1] = n;
      client.exchange();
      ASSERT_EQ(client.failure(), "");
      EXPECT_EQ(client.words(2)[0], n % 2 == 0 ? 0u : 0xffffffffu);
      EXPECT_EQ(client.words(2)[1], n % 2 == 0 ? n + 1 : n);
    }
  }
  EXPECT_EQ(simulator.turns(), 100);  // R5
}

TEST(Pins, AModuleIsTakenOnce) {  // R2
  Simulator simulator;
  {
    PinClient first;
    ASSERT_EQ(first.connect("adder", address()), "");
    for (const char* block : {"adder", "multiplier"}) {
      PinClient second;
      EXPECT_EQ(second.connect(block, address()), std::string("found no module for ") + block +
                                                      ", or each is taken, or it has no signals (RXNIC_DESCRIBE)");
    }
    first.exchange();
    EXPECT_EQ(first.words(2)[0], 1u);
  }
  EXPECT_EQ(simulator.turns(), 1);
}

TEST(Pins, WhatTheTestbenchFindsWrongIsSaid) {  // R4
  for (const bool by_name : {true, false}) {
    Simulator simulator([by_name](PinModule& module, int before) {
      add(module);
      if (before < 2) return;
      by_name ? module.fail("a sum of two") : module.put(2, 0, 1);
    });
    PinClient client;
    ASSERT_EQ(client.connect("adder", address()), "");
    client.exchange();
    client.exchange();
    EXPECT_EQ(client.failure(), "");
    client.exchange();
    EXPECT_EQ(client.failure(),
              by_name ? "a sum of two" : "the testbench asks for word 0 of signal 2, which is not an output");
    EXPECT_EQ(client.words(2)[0], 1u) << "the text does not stand at the outputs";
    client.exchange();
    EXPECT_EQ(simulator.turns(), 3);
  }
}

TEST(Pins, AServerRefusesWhatIsNoRequest) {
  Simulator simulator;
  const auto answer_to = [](const void* data, std::size_t bytes) {
    std::string why;
    const channel::Descriptor socket = channel::connect_to(address(), why);
    EXPECT_TRUE(socket) << why;
    dpi::send_packet(socket.get(), data, bytes);
    std::array<PinRecord, 8> answer;
    return dpi::receive_packet(socket.get(), answer.data(), sizeof answer) / sizeof(PinRecord);
  };
  PinRecord request;
  request.kind = PinKind::kModule;
  set_name(request, "adder");
  EXPECT_EQ(answer_to(&request, sizeof request - 1), 0u);
  request.kind = PinKind::kInput;
  EXPECT_EQ(answer_to(&request, sizeof request), 0u);
  request.kind = PinKind::kModule;
  request.value = dpi::kPinsVersion + 1;
  EXPECT_EQ(answer_to(&request, sizeof request), 1u);  // its version, and nothing else
  {
    PinClient client;
    EXPECT_EQ(client.connect("adder", address()), "");
  }
  EXPECT_EQ(simulator.turns(), 0);
}

// A check at the end of a test comes too late for rxnic.
TEST(Pins, AFailureBehindTheLastAnswerIsInTheStatus) {
  for (const char* const command : {"exit 0", "exit 7"}) {
    PinServer server;
    std::string error;
    ASSERT_TRUE(server.open(address(), error)) << error;
    PinModule& module = adder(server);
    ASSERT_TRUE(server.start(command, error)) << error;
    EXPECT_EQ(server.wait(), nullptr);
    module.fail("too few sums");
    EXPECT_EQ(server.close(), command == std::string("exit 0") ? 4 : 7);
    EXPECT_EQ(server.close(), 0) << "said once";
  }
}

TEST(Pins, ACommandsEndAndStatusAreSeen) {
  std::string error;
  for (const auto& [command, status] : {std::pair("exit 0", 0), std::pair("exit 7", 7), std::pair("kill -9 $$", 137)}) {
    PinServer server;
    ASSERT_TRUE(server.open(address(), error)) << error;
    adder(server);
    ASSERT_TRUE(server.start(command, error)) << error;
    EXPECT_FALSE(server.start(command, error));
    EXPECT_EQ(server.wait(), nullptr);
    EXPECT_EQ(server.close(), status);
  }
}

TEST(Pins, WhoSaysNothingDelaysNobody) {  // R4
  Simulator simulator;
  std::vector<channel::Descriptor> silent;
  const auto begin = std::chrono::steady_clock::now();
  std::string error;
  for (std::size_t n = 0; n < PinServer::kMostSilent + 5; ++n) {
    silent.push_back(channel::connect_to(address(), error));
    ASSERT_TRUE(silent.back()) << error;
  }
  {
    PinClient client;
    ASSERT_EQ(client.connect("adder", address()), "");
    for (int n = 0; n < 10; ++n) {
      silent.push_back(channel::connect_to(address(), error));
      client.exchange();
    }
    EXPECT_EQ(client.failure(), "");
  }
  EXPECT_EQ(simulator.turns(), 10);
  // Waiting for each one took a second.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{20});
}

// As the first packet of a connection that is accepted, and in one that is not.
TEST(Pins, ASocketThatLingersDelaysNobody) {  // R4
  std::string error;
  const auto send_lingering = [](const channel::Descriptor& connection) {
    LingeringSocket given(8);
    constexpr std::array<std::uint8_t, 1> kPacket{};
    const int number = given.socket.get();
    EXPECT_EQ(channel::send_packet(connection.get(), kPacket, {&number, 1}, channel::Waiting::kYes), 0);
    given.socket.reset();
    return std::move(given.peer);
  };
  {
    Simulator simulator;
    const channel::Descriptor bad = channel::connect_to(address(), error);
    const channel::Descriptor peer = send_lingering(bad);
    const auto begin = std::chrono::steady_clock::now();
    PinClient client;
    ASSERT_EQ(client.connect("adder", address()), "");
    client.exchange();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{3});
  }
  PinServer server;
  ASSERT_TRUE(server.open(address(), error)) << error;
  const channel::Descriptor waits = channel::connect_to(address(), error);
  const channel::Descriptor peer = send_lingering(waits);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(server.close(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{3});
}

TEST(Pins, WhoDoesNotTakeItsOutputsIsDisconnected) {  // R4
  Simulator simulator;
  std::string error;
  const channel::Descriptor socket = channel::connect_to(address(), error);
  ASSERT_TRUE(socket) << error;
  PinRecord request;
  request.kind = PinKind::kModule;
  request.value = dpi::kPinsVersion;
  set_name(request, "adder");
  ASSERT_TRUE(dpi::send_packet(socket.get(), &request, sizeof request));
  const std::array<std::uint32_t, 3> inputs{};
  int sent = 0;
  while (dpi::send_packet(socket.get(), inputs.data(), sizeof inputs)) ++sent;
  EXPECT_GT(sent, 0);
  EXPECT_GT(simulator.turns(), 0) << "and then it ends";
}

TEST(Pins, AfterTheCommandsEndAConnectionIsWaitedForAsleep) {  // R3
  PinServer server;
  std::string error;
  ASSERT_TRUE(server.open(address(), error)) << error;
  adder(server);
  const std::string connected = testing::TempDir() + "rxnic-pins-" + std::to_string(getpid());
  ASSERT_TRUE(server.start("while [ ! -e " + connected + " ]; do sleep 0.01; done; exit 3", error)) << error;
  PinClient client;
  std::thread other([&client, connected] {
    EXPECT_EQ(client.connect("adder", address()), "");
    client.exchange();
    std::ofstream file(connected);
    usleep(300'000);  // the command has ended; the server waits
    client.exchange();
    client = PinClient{};
  });
  const auto cpu_ms = [] {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
  };
  int turns = 0;
  const auto before = cpu_ms();
  while (PinModule* const module = server.wait()) {
    module->answer();
    ++turns;
  }
  EXPECT_LT(cpu_ms() - before, 100) << "of 300 ms";
  other.join();
  EXPECT_EQ(turns, 2);
  EXPECT_EQ(server.close(), 3);
  unlink(connected.c_str());
}

TEST(Pins, AnotherUserIsNoModulesOtherSide) {  // R4
  if (geteuid() != 0) GTEST_SKIP() << "two users: we are not root";
  constexpr uid_t kNobody = 65534;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::string error;
    const std::string where = "@rxnic-pins-test-" + std::to_string(getppid());
    if (setresuid(kNobody, kNobody, kNobody) != 0) _exit(2);
    channel::Descriptor socket;
    for (int n = 0; !socket && n < 10000; ++n, usleep(1000)) socket = channel::connect_to(where, error);
    PinClient client;
    _exit(client.open(std::move(socket), "adder").empty() ? 1 : 0);
  }
  Simulator simulator;
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "it was refused";
  PinClient client;
  EXPECT_EQ(client.connect("adder", address()), "");
}

// Answers of a simulator that lies.
std::string refusal(std::vector<PinRecord> records, std::size_t bytes_less = 0) {
  int pair[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  channel::Descriptor theirs(pair[1]);
  dpi::send_packet(theirs.get(), records.data(), records.size() * sizeof(PinRecord) - bytes_less);
  PinClient client;
  return client.open(channel::Descriptor(pair[0]), "adder");
}
PinRecord record(const char* name, PinKind kind, std::uint64_t value) {
  PinRecord r;
  EXPECT_TRUE(set_name(r, name));
  r.kind = kind;
  r.value = value;
  return r;
}

TEST(Pins, AClientRefusesDescriptionsThatAreNone) {
  const PinRecord module = record("adder", PinKind::kModule, dpi::kPinsVersion);
  const PinRecord clock = record("clk_i", PinKind::kInput, 1);
  EXPECT_EQ(refusal({module, clock}), "");
  EXPECT_EQ(refusal({module, clock}, 1), "found something else than bridge/dpi");
  EXPECT_EQ(refusal({clock, module}), "found something else than bridge/dpi");
  EXPECT_EQ(refusal({}), "found something else than bridge/dpi");
  EXPECT_EQ(refusal({record("adder", PinKind::kModule, 9)}), "found version 9 of bridge/dpi; expected 1");
  EXPECT_EQ(refusal({module, record("a", PinKind{7}, 1)}), "a: found neither a parameter nor a signal");
  EXPECT_EQ(refusal({module, record("a", PinKind::kOutput, 0)}),
            "a: found 0 bits; expected 1 or more, with the others 524288 at most");
  EXPECT_EQ(refusal({module, record("a", PinKind::kInput, ~0ull)}),
            "a: found 18446744073709551615 bits; expected 1 or more, with the others 524288 at most");
  EXPECT_EQ(refusal({module, record("a", PinKind::kInput, 524288), clock}),
            "clk_i: found 1 bits; expected 1 or more, with the others 524288 at most");
  PinRecord endless = clock;
  endless.name.fill('x');
  EXPECT_EQ(refusal({module, endless}), "found a parameter or signal without a name");
}

TEST(Pins, AnAnswerOfAnotherSizeEndsIt) {  // R3
  for (const std::size_t words : {1u, 2u, 3u, 4u}) {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    channel::Descriptor theirs(pair[1]);
    const std::vector<PinRecord> records{record("adder", PinKind::kModule, dpi::kPinsVersion),
                                         record("sum_o", PinKind::kOutput, 40), record("a_i", PinKind::kInput, 40)};
    dpi::send_packet(theirs.get(), records.data(), records.size() * sizeof(PinRecord));
    std::vector<std::uint32_t> answer(words, ~0u);
    answer[0] = 0;
    dpi::send_packet(theirs.get(), answer.data(), words * dpi::kWordBytes);
    PinClient client;
    ASSERT_EQ(client.open(channel::Descriptor(pair[0]), "adder"), "");
    client.exchange();
    if (words == 3) {
      EXPECT_EQ(client.failure(), "");
      EXPECT_EQ(client.words(0)[0], ~0u);
      EXPECT_EQ(client.words(0)[1], 0xffu) << "bits above a signal are 0, whatever comes";
      continue;
    }
    EXPECT_EQ(client.failure(),
              "found an answer of " + std::to_string(words * dpi::kWordBytes) + " bytes; expected 12");
  }
  // And none at all.
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  const std::vector<PinRecord> records{record("adder", PinKind::kModule, dpi::kPinsVersion),
                                       record("sum_o", PinKind::kOutput, 40)};
  dpi::send_packet(pair[1], records.data(), records.size() * sizeof(PinRecord));
  PinClient client;
  ASSERT_EQ(client.open(channel::Descriptor(pair[0]), "adder"), "");
  close(pair[1]);
  client.exchange();
  EXPECT_EQ(client.failure(), "the simulator has ended");
}

}  // namespace
}  // namespace rxnic::pins_test
