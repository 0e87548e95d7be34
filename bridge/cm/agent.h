// SPDX-License-Identifier: Apache-2.0
// The agent: a process with a Manager, QP 1 of each NIC, and a socket for each /dev/infiniband/rdma_cm that a program
// has opened (cm_channel.h). `rxnic run` and `rxnic serve` start it when the first is opened.
//
//   R1  The agent ends when no file is open and every message is answered, or when nobody has opened a file for kIdle.
//       It also ends when a NIC is gone, and when it is sent SIGTERM.
//   R2  A packet that is no Call of this version, or with descriptors that it has no use for, ends its connection. So
//       does silence for kSilence, before the Hello.
//   R3  Programs of its own user alone are served; of a program kMostOfProgram connections at once. No program makes
//       the agent wait: its descriptors do not get here (doorkeeper.h), and without one left to accept with it
//       turns programs away (acceptor.h).
//   R4  A Hello of a program that sees a NIC which is not there: ENODEV.
//   R5  MIGRATE_ID takes an ID from the file whose descriptor comes with it, as of a kernel: EINVAL when it is none. A
//       file's number gives nobody its IDs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bridge/channel/acceptor.h"
#include "bridge/channel/doorkeeper.h"
#include "bridge/channel/socket.h"
#include "bridge/cm/cm_channel.h"
#include "bridge/cm/management_qp.h"

namespace rxnic::cm {

class Agent final : public Surroundings {
 public:
  static constexpr std::chrono::seconds kIdle{10}, kSilence{10};
  static constexpr std::size_t kMostOfProgram = 1024;  // what bridge/device_files has, too
  // `listener`: a socket that listens, non-blocking. Throws std::runtime_error when a NIC cannot be opened.
  explicit Agent(channel::Descriptor listener);
  ~Agent() override;
  void run();

  void send(std::uint32_t nic, std::uint8_t gid_index, const GidBytes& to, const Mad& mad) override;
  void notify(File file) override;
  void retract(File file, std::size_t left) override;
  bool is_of_host(const GidBytes& ip) const override;

 private:
  struct Open {
    channel::Descriptor socket, events;  // events: the end that is written
    bool greeted = false;
    std::uint64_t program = 0;  // its process
    channel::FileIdentity pipe;
  };
  void watch(int descriptor, std::uint64_t what);
  bool is_watched(int descriptor, std::uint64_t what);
  void accept_all();
  bool take_packet(File file, Open& open);
  bool greet(File file, Open& open, std::span<const std::uint8_t> packet);
  bool carry_out(File file, Open& open, std::span<std::uint8_t> packet, const channel::Passed& passed);
  std::optional<File> file_of(const channel::FileIdentity& file) const;
  void close_silent();
  void close(File file);
  Time now() const;
  int wait_ms() const;

  channel::Descriptor listener_, poll_, signals_;
  std::vector<std::unique_ptr<ManagementQp>> ports_;
  std::unique_ptr<Manager> manager_;
  std::map<File, Open> files_;
  std::map<std::uint64_t, std::size_t> programs_;  // connections of each
  std::deque<std::pair<Time, File>> silent_;       // when they have to have said Hello
  channel::Doorkeeper doorkeeper_;
  channel::Acceptor acceptor_;
  std::uint32_t last_file_ = 0;
  Time idle_since_{};
  bool ends_ = false;
};

}  // namespace rxnic::cm
