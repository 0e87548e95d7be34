// SPDX-License-Identifier: Apache-2.0
// A simulator of the channel alone, without packets. It replies to every request with success and with numbers that it
// counts up, and keeps the requests. A test may change the replies.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bridge/channel/protocol.h"
#include "bridge/channel/socket.h"

namespace rxnic {

class FakeSimulator {
 public:
  using Message = channel::Message;
  using Request = channel::Request;

  // Listens, and sets RXNIC_SOCKET for this process and its children.
  explicit FakeSimulator(std::uint32_t nics = 2) : nics_(nics) {
    static std::atomic<int> count{0};
    address_ = "@rxnic-test-" + std::to_string(getpid()) + "-" + std::to_string(count++);
    std::string error;
    if (!listener_.open(address_, error) || pipe(stop_) != 0) std::abort();
    setenv(channel::kSocketVariable, address_.c_str(), 1);
    unsetenv(channel::kNicVariable);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeSimulator() {
    die();
    unsetenv(channel::kSocketVariable);
    close(stop_[0]);
    close(stop_[1]);
  }

  // Like a process that is killed: closes every descriptor.
  void die() {
    if (!thread_.joinable()) return;
    [[maybe_unused]] const auto written = write(stop_[1], "x", 1);
    thread_.join();
  }
  // Called in the simulator's thread for each reply before it is sent. To be set while no request is in flight.
  std::function<void(Message&)> edit_reply;
  // The requests of one type, in order.
  std::vector<Message> asked(Request type) {
    const std::lock_guard guard(lock_);
    std::vector<Message> found;
    for (const Message& m : requests_) {
      if (m.type == type) found.push_back(m);
    }
    return found;
  }
  // A descriptor of the newest kOpen (0..3) and kCreateChannel (4), duplicated, since the simulator's thread may close
  // its own meanwhile.
  channel::Descriptor duplicate(std::size_t index) {
    const std::lock_guard guard(lock_);
    return channel::Descriptor(dup(descriptors_[index].get()));
  }
  int descriptor(std::size_t index) {
    const std::lock_guard guard(lock_);
    return descriptors_[index].get();
  }
  static channel::DeviceAttributes attributes(std::uint32_t nic) {
    channel::DeviceAttributes a;
    a.mac = {0x02, 0x72, 0x78, 0, 0, static_cast<std::uint8_t>(nic + 1)};
    const std::array<std::uint8_t, 16> link_local{
        0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x72, 0x78, 0xff, 0xfe, 0, 0, static_cast<std::uint8_t>(nic + 1)};
    std::array<std::uint8_t, 16> ipv4{0, 0, 0,    0,    0,   0,  0, 0,
                                      0, 0, 0xff, 0xff, 198, 18, 0, static_cast<std::uint8_t>(nic + 1)};
    a.gids[0] = {link_local, channel::GidType::kRoceV1};
    a.gids[1] = {link_local, channel::GidType::kRoceV2};
    a.gids[2] = {ipv4, channel::GidType::kRoceV2};
    a.node_guid = guid(nic);
    a.link_mbps = 100'000;
    a.max_qps = a.max_cqs = a.max_mrs = a.max_pds = a.max_srqs = a.max_ahs = 1024;
    a.max_qp_wrs = a.max_srq_wrs = 16384;
    a.max_sge = a.max_srq_sge = 32;
    a.max_cqes = 1u << 16;
    a.max_inline = 960;
    a.max_tso = 1u << 18;
    a.max_rd_atomic = 16;
    a.max_responder_resources = 4096;
    a.max_multicast_groups = 100;
    a.srq_linked_list = 1;
    a.core_clock_khz = 1'000'000;
    a.timestamp_period_ps = 2325;
    return a;
  }

 private:
  static std::uint64_t guid(std::uint32_t nic) { return 0x010000feff787200 + (std::uint64_t{nic} << 56); }

  void serve() {
    std::vector<channel::Descriptor> clients;
    for (;;) {
      std::vector<pollfd> polled{{stop_[0], POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      for (const auto& client : clients) polled.push_back({client.get(), POLLIN, 0});
      if (poll(polled.data(), polled.size(), -1) < 0) continue;
      if (polled[0].revents != 0) break;
      for (std::size_t i = clients.size(); i-- > 0;) {
        if (polled[i + 2].revents != 0 && !answer(clients[i].get())) clients.erase(clients.begin() + std::ptrdiff_t(i));
      }
      if (polled[1].revents != 0) {
        if (auto client = listener_.accept()) clients.push_back(std::move(client));
      }
    }
    listener_.close();
    const std::lock_guard guard(lock_);
    for (auto& d : descriptors_) d.reset();
  }

  bool answer(int client) {
    channel::Received received;
    if (channel::receive_message(client, received, channel::Waiting::kNo) != 0) return false;
    Message& m = received.message;
    {
      const std::lock_guard guard(lock_);
      requests_.push_back(m);
      const std::size_t first = m.type == Request::kCreateChannel ? channel::kMaxDescriptors : 0;
      for (std::size_t i = 0; i < received.descriptor_count; ++i) {
        descriptors_[first + i] = std::move(received.descriptors[i]);
      }
    }
    fill(m);
    if (edit_reply) edit_reply(m);
    return channel::send_message(client, m, {}, channel::Waiting::kNo) == 0;
  }

  void fill(Message& m) {
    const std::uint32_t number = ++number_;
    switch (m.type) {
      case Request::kHello:
        m.body.hello.nics = nics_;
        m.body.hello.simulator_pid = static_cast<std::uint32_t>(getpid());
        for (std::uint32_t n = 0; n < nics_ && n < 16; ++n) m.body.hello.node_guids[n] = guid(n);
        break;
      case Request::kOpen:
        m.body.open.attributes = attributes(m.body.open.nic);
        break;
      case Request::kAllocatePd:
      case Request::kCreateChannel:
        m.body.handle.number = number;
        break;
      case Request::kRegisterMemory:
        m.body.memory.lkey = m.body.memory.rkey = number << 8;
        break;
      case Request::kCreateCq:
        m.body.cq.cqn = number;
        break;
      case Request::kResizeCq:
        m.body.cq.consumer = 0;
        break;
      case Request::kCreateSrq:
        m.body.srq.srqn = number;
        break;
      case Request::kCreateQp:
        m.body.qp.qpn = number;
        break;
      case Request::kResolve:
        m.body.resolve.path.destination_mac = {0x02, 0x72, 0x78, 0, 0, 9};
        break;
      case Request::kReadClock:
        m.body.clock.model_time_ps = 1'234'567'890;
        break;
      default:
        break;
    }
  }

  std::uint32_t nics_;
  std::uint32_t number_ = 0x10;
  std::string address_;
  channel::Listener listener_;
  int stop_[2] = {-1, -1};
  std::mutex lock_;
  std::vector<Message> requests_;
  std::array<channel::Descriptor, channel::kMaxDescriptors + 1> descriptors_;
  std::thread thread_;
};

}  // namespace rxnic
